//! C's arithmetic types, and their representations on the machine. Declarations name the scalars, and calls, callbacks
//! and memory convert values by their primitives.
//!
//! A [`Scalar`] is a declared type; a [`Primitive`] is the way in which its bits are passed and stored on this
//! platform. Several scalars share one primitive: `long` and `long long` are both [`Primitive::I64`] on most platforms.

use std::ffi::{c_char, c_int, c_long, c_longlong, c_short};
use std::fmt;

use super::Layout;

/// An arithmetic type of C.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the variants are C's own names")]
pub enum Scalar {
    Bool,
    Char,
    SignedChar,
    UnsignedChar,
    Short,
    UnsignedShort,
    Int,
    UnsignedInt,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Float,
    Double,
}

/// The representation of a value in a register or in a few bytes of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "the variants are the names of Rust's types")]
pub enum Primitive {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    Pointer,
}

/// The name of each scalar in a declaration.
const NAMES: [(Scalar, &str); 14] = [
    (Scalar::Bool, "_Bool"),
    (Scalar::Char, "char"),
    (Scalar::SignedChar, "signed char"),
    (Scalar::UnsignedChar, "unsigned char"),
    (Scalar::Short, "short"),
    (Scalar::UnsignedShort, "unsigned short"),
    (Scalar::Int, "int"),
    (Scalar::UnsignedInt, "unsigned int"),
    (Scalar::Long, "long"),
    (Scalar::UnsignedLong, "unsigned long"),
    (Scalar::LongLong, "long long"),
    (Scalar::UnsignedLongLong, "unsigned long long"),
    (Scalar::Float, "float"),
    (Scalar::Double, "double"),
];

impl Scalar {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Scalar> {
        NAMES.iter().map(|(scalar, _)| *scalar)
    }

    /// Its representation on this platform.
    pub const fn primitive(self) -> Primitive {
        match self {
            Scalar::Bool => Primitive::Bool,
            Scalar::Char => Primitive::integer(1, c_char::MIN != 0),
            Scalar::SignedChar => Primitive::I8,
            Scalar::UnsignedChar => Primitive::U8,
            Scalar::Short => Primitive::integer(size_of::<c_short>(), true),
            Scalar::UnsignedShort => Primitive::integer(size_of::<c_short>(), false),
            Scalar::Int => Primitive::integer(size_of::<c_int>(), true),
            Scalar::UnsignedInt => Primitive::integer(size_of::<c_int>(), false),
            Scalar::Long => Primitive::integer(size_of::<c_long>(), true),
            Scalar::UnsignedLong => Primitive::integer(size_of::<c_long>(), false),
            Scalar::LongLong => Primitive::integer(size_of::<c_longlong>(), true),
            Scalar::UnsignedLongLong => Primitive::integer(size_of::<c_longlong>(), false),
            Scalar::Float => Primitive::F32,
            Scalar::Double => Primitive::F64,
        }
    }

    /// The integer type that platforms use for a type of the standard headers with this size: the
    /// least of `char`, `short`, `int`, `long`, `long long` that has it.
    pub(crate) const fn integer(size: usize, is_signed: bool) -> Scalar {
        match (size, is_signed) {
            (1, true) => Scalar::SignedChar,
            (1, false) => Scalar::UnsignedChar,
            (2, true) => Scalar::Short,
            (2, false) => Scalar::UnsignedShort,
            (4, true) => Scalar::Int,
            (4, false) => Scalar::UnsignedInt,
            (_, true) if size_of::<c_long>() == 8 => Scalar::Long,
            (_, false) if size_of::<c_long>() == 8 => Scalar::UnsignedLong,
            (_, true) => Scalar::LongLong,
            (_, false) => Scalar::UnsignedLongLong,
        }
    }

    /// Whether it is `char`, `signed char` or `unsigned char`, the types of a string's elements.
    pub const fn is_character(self) -> bool {
        matches!(self, Scalar::Char | Scalar::SignedChar | Scalar::UnsignedChar)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(scalar, _)| scalar == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl Primitive {
    /// The integer with `size` bytes: 1, 2, 4 or 8.
    pub(crate) const fn integer(size: usize, is_signed: bool) -> Primitive {
        match (size, is_signed) {
            (1, true) => Primitive::I8,
            (1, false) => Primitive::U8,
            (2, true) => Primitive::I16,
            (2, false) => Primitive::U16,
            (4, true) => Primitive::I32,
            (4, false) => Primitive::U32,
            (_, true) => Primitive::I64,
            (_, false) => Primitive::U64,
        }
    }

    /// Its size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Primitive::Bool | Primitive::I8 | Primitive::U8 => 1,
            Primitive::I16 | Primitive::U16 => 2,
            Primitive::I32 | Primitive::U32 | Primitive::F32 => 4,
            Primitive::I64 | Primitive::U64 | Primitive::F64 => 8,
            Primitive::Pointer => size_of::<usize>(),
        }
    }

    /// Its size, and its alignment inside a structure. (They differ on 32-bit x86, where a `double`
    /// is aligned to 4.)
    pub const fn layout(self) -> Layout {
        let alignment = match self {
            Primitive::I64 | Primitive::U64 => align_of::<u64>(),
            Primitive::F64 => align_of::<f64>(),
            _ => self.size(),
        };
        Layout { size: self.size(), alignment }
    }

    /// Whether it is passed in floating-point registers.
    pub const fn is_floating(self) -> bool {
        matches!(self, Primitive::F32 | Primitive::F64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_integer_with_a_size_has_that_size() {
        for size in [1, 2, 4, 8] {
            for is_signed in [false, true] {
                let scalar = Scalar::integer(size, is_signed);
                assert_eq!(scalar.primitive(), Primitive::integer(size, is_signed));
                assert_eq!(scalar.primitive().size(), size);
            }
        }
    }
}
