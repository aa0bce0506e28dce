//! The form in which the values of a type are passed between guest and C. Calls and callbacks convert by it.

use std::ops::RangeInclusive;

use super::CallError;
use crate::types::{Kind, Primitive, Type};

/// The largest structure that is passed or answered by value, in bytes. C has no limit, but copies the structure to the
/// stack.
pub const LARGEST_BY_VALUE: usize = 1 << 16;

/// The form in which the values of a type are passed between guest and C.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// No value.
    Void,
    /// A word.
    Word(Primitive),
    /// An address, which may be that of a string that is copied for the call.
    Text,
    /// This many bytes.
    Record(usize),
}

impl Form {
    pub(crate) fn of(c_type: &Type) -> Result<Form, CallError> {
        if let Some(primitive) = c_type.primitive() {
            return Ok(if c_type.takes_text() { Form::Text } else { Form::Word(primitive) });
        }
        match (c_type.kind(), c_type.layout()) {
            (Kind::Record(_), Some(layout)) if layout.size <= LARGEST_BY_VALUE => {
                Ok(Form::Record(layout.size))
            }
            (Kind::Record(_), _) => Err(CallError::TooLarge { c_type: c_type.to_string() }),
            _ => Ok(Form::Void),
        }
    }

    /// The integers whose words are the integers themselves; empty if integers are passed in another way.
    pub(crate) fn integers(self) -> RangeInclusive<i64> {
        match self {
            Form::Word(primitive)
                if !primitive.is_floating() && primitive != Primitive::Pointer =>
            {
                let (least, greatest) = primitive.range();
                least..=greatest.min(i64::MAX as u64) as i64
            }
            #[expect(clippy::reversed_empty_ranges, reason = "there are none")]
            _ => 1..=0,
        }
    }

    /// The bytes that a value takes in memory.
    pub(crate) fn size(self) -> usize {
        match self {
            Form::Void => 0,
            Form::Word(primitive) => primitive.size(),
            Form::Text => Primitive::Pointer.size(),
            Form::Record(size) => size,
        }
    }

    /// The primitive that a word of this form holds.
    pub(crate) fn primitive(self) -> Option<Primitive> {
        match self {
            Form::Word(primitive) => Some(primitive),
            Form::Text => Some(Primitive::Pointer),
            Form::Void | Form::Record(_) => None,
        }
    }
}
