//! The reasons why a value does not fit a type. Calls, callbacks and memory answer them.

use std::fmt;

/// The reason why a value does not fit a type.
#[derive(Clone, PartialEq, Debug)]
pub enum Mismatch {
    /// The value has another kind, which this names.
    Kind(&'static str),
    /// The integer is outside of the type's range.
    Range {
        /// The integer.
        value: i128,
        /// The least integer that fits.
        least: i64,
        /// The greatest integer that fits.
        greatest: u64,
    },
    /// No floating-point number of this type equals the integer.
    Inexact(i128),
    /// The number is outside of the range of `float`.
    Magnitude(f64),
    /// The structure has another number of bytes.
    Size {
        /// The bytes given.
        given: usize,
        /// The bytes expected.
        expected: usize,
    },
    /// The memory has been released.
    Released,
    /// The string contains a NUL, which C would take for its end.
    InnerNul,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Kind(kind) => write!(f, "{kind} cannot be passed as this type"),
            Mismatch::Range { value, least, greatest } => {
                write!(f, "{value} is not between {least} and {greatest}")
            }
            Mismatch::Inexact(value) => write!(f, "no number of this type equals {value}"),
            Mismatch::Magnitude(value) => write!(f, "{value:e} is too large for a float"),
            Mismatch::Size { given, expected } => {
                write!(f, "the structure has {expected} bytes, but {given} are given")
            }
            Mismatch::Released => write!(f, "this memory has been released"),
            Mismatch::InnerNul => write!(f, "the string contains a NUL, which would end it"),
        }
    }
}

impl std::error::Error for Mismatch {}
