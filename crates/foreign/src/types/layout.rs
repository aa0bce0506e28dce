//! The layout of structures, by the rules of the platforms' C compilers. `record` applies them.
//!
//! A field is put at the next multiple of its alignment. A structure is aligned like its strictest field, and its size
//! is a multiple of that, so that arrays need no rules of their own. All fields of a union are at offset 0. The known
//! platforms have no exceptions except packed structures and bit-fields, which declarations refuse.

use super::TypeError;

/// The largest size of a type, in bytes: the largest allocation.
pub(super) const LARGEST: usize = isize::MAX as usize;

/// The memory that a value takes, and its alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The size in bytes; a multiple of the alignment.
    pub size: usize,
    /// The alignment: addresses are multiples of this power of two.
    pub alignment: usize,
}

impl Layout {
    /// The layout of `count` values, one after the other.
    pub(super) fn repeated(self, count: usize) -> Result<Layout, TypeError> {
        let size = self.size.checked_mul(count).filter(|size| *size <= LARGEST);
        Ok(Layout { size: size.ok_or(TypeError::TooBig)?, ..self })
    }
}

/// Puts fields one after the other, or over each other.
pub(super) struct Placement {
    is_union: bool,
    end: usize,
    alignment: usize,
}

impl Placement {
    pub(super) fn new(is_union: bool) -> Placement {
        Placement { is_union, end: 0, alignment: 1 }
    }

    /// The offset of the next field.
    pub(super) fn place(&mut self, field: Layout) -> Result<usize, TypeError> {
        let start = if self.is_union { 0 } else { aligned(self.end, field.alignment)? };
        let end = start.checked_add(field.size).filter(|end| *end <= LARGEST);
        self.end = self.end.max(end.ok_or(TypeError::TooBig)?);
        self.alignment = self.alignment.max(field.alignment);
        Ok(start)
    }

    /// The layout of the whole structure.
    pub(super) fn finish(self) -> Result<Layout, TypeError> {
        Ok(Layout { size: aligned(self.end, self.alignment)?, alignment: self.alignment })
    }
}

fn aligned(offset: usize, alignment: usize) -> Result<usize, TypeError> {
    let end = offset.checked_next_multiple_of(alignment);
    end.filter(|end| *end <= LARGEST).ok_or(TypeError::TooBig)
}
