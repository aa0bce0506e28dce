//! Where a structure's fields are: the rules of the platforms' C compilers.
//!
//! A field is put at the next multiple of its alignment. A structure is aligned like its strictest
//! field, and its size is a multiple of that, so that arrays need no rules of their own. All fields
//! of a union are at offset 0. There are no exceptions on the platforms we know, as long as nothing
//! is packed and there are no bit-fields, which declarations refuse.

use super::TypeError;

/// The largest size of a type, in bytes: what one allocation can have.
pub(super) const LARGEST: usize = isize::MAX as usize;

/// How much memory a value takes, and where it may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// In bytes; a multiple of the alignment.
    pub size: usize,
    /// Addresses are multiples of this power of two.
    pub alignment: usize,
}

impl Layout {
    /// `count` of these, one after the other.
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

    /// The layout of the whole.
    pub(super) fn finish(self) -> Result<Layout, TypeError> {
        Ok(Layout { size: aligned(self.end, self.alignment)?, alignment: self.alignment })
    }
}

fn aligned(offset: usize, alignment: usize) -> Result<usize, TypeError> {
    let end = offset.checked_next_multiple_of(alignment);
    end.filter(|end| *end <= LARGEST).ok_or(TypeError::TooBig)
}
