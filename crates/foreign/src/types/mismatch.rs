//! Why a value is none of a type.

use std::fmt;

/// Why a value is none of a type.
#[derive(Clone, PartialEq, Debug)]
pub enum Mismatch {
    /// It is of the wrong kind altogether; this is what it is.
    Kind(&'static str),
    /// It is an integer outside of the range from the one to the other.
    Range {
        /// The integer.
        value: i128,
        /// The least one that fits.
        least: i64,
        /// The greatest one that fits.
        greatest: u64,
    },
    /// It is an integer that no floating-point number of this type equals.
    Inexact(i128),
    /// It is a number that a `float` cannot have.
    Magnitude(f64),
    /// It is a structure with this number of bytes instead of that.
    Size {
        /// How many there are.
        given: usize,
        /// How many there should be.
        expected: usize,
    },
    /// It is memory that has been released.
    Released,
    /// It is a string with a NUL inside, which C would take for its end.
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
