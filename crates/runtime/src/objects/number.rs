//! Numbers: integers of any size, and doubles, behind one word each. Tiers and the primitives for numbers read and make
//! them here.
//!
//! Integers of 61 bits are immediate, larger ones are byte objects: the two's complement digits,
//! least significant byte first, as few as possible. Doubles are immediate unless their exponent
//! is extreme; then they are boxes of one raw word. Arithmetic always answers the smallest form, so
//! equal integers have equal forms.

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use squall_heap::Word;

use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::state::thread::{Thread, allocated};

/// A number, taken out of its word.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// An integer that fits 64 bits.
    Small(i64),
    /// Any other integer.
    Large(BigInt),
    /// A double.
    Double(f64),
}

impl Number {
    /// The number in a word, if it is one.
    pub fn of(word: Word) -> Option<Number> {
        if let Some(value) = word.as_small_integer() {
            return Some(Number::Small(value));
        }
        if let Some(value) = word.as_double() {
            return Some(Number::Double(value));
        }
        let object = word.as_object()?;
        match object.layout() {
            known::BOXED_DOUBLE => Some(Number::Double(object.double())),
            known::LARGE_INTEGER => {
                let mut bytes = vec![0; object.length()];
                object.read_bytes(0, &mut bytes);
                Some(Number::from(BigInt::from_signed_bytes_le(&bytes)))
            }
            _ => None,
        }
    }

    /// How many bytes its digits take, beside the word.
    pub fn bytes(&self) -> usize {
        match self {
            Number::Large(value) => value.bits() as usize / 8,
            _ => 0,
        }
    }

    /// The value as a double, rounded to nearest.
    pub fn to_double(&self) -> f64 {
        match self {
            Number::Small(value) => *value as f64,
            Number::Large(value) => value.to_f64().unwrap_or(f64::NAN),
            Number::Double(value) => *value,
        }
    }

    /// The value as an integer, if it is one by kind.
    pub fn to_integer(&self) -> Option<BigInt> {
        match self {
            Number::Small(value) => Some(BigInt::from(*value)),
            Number::Large(value) => Some(value.clone()),
            Number::Double(_) => None,
        }
    }
}

impl From<BigInt> for Number {
    fn from(value: BigInt) -> Number {
        match value.to_i64() {
            Some(small) => Number::Small(small),
            None => Number::Large(value),
        }
    }
}

/// The integer in a word, or the failure for a wrong argument.
pub fn integer_argument(word: Word) -> Result<i64, Failure> {
    match Number::of(word) {
        Some(Number::Small(value)) => Ok(value),
        _ => Err(Failure::argument(word)),
    }
}

/// A number that must not be negative, as an index or size.
pub fn size_argument(word: Word) -> Result<usize, Failure> {
    integer_argument(word)?.try_into().map_err(|_| Failure::argument(word))
}

/// The word for a number. *GC point* if it needs a box.
pub fn make_number(thread: &mut Thread, number: &Number) -> Result<Word, Failure> {
    match number {
        Number::Small(value) => make_integer(thread, *value),
        Number::Large(value) => make_large(thread, value),
        Number::Double(value) => make_double(thread, *value),
    }
}

/// The word for a 64-bit integer. *GC point* if it needs a box.
#[inline]
pub fn make_integer(thread: &mut Thread, value: i64) -> Result<Word, Failure> {
    match Word::from_small_integer(value) {
        Some(word) => Ok(word),
        None => make_large(thread, &BigInt::from(value)),
    }
}

/// The word for an integer of any size. *GC point* if it needs a box.
pub fn make_big(thread: &mut Thread, value: BigInt) -> Result<Word, Failure> {
    make_number(thread, &Number::from(value))
}

fn make_large(thread: &mut Thread, value: &BigInt) -> Result<Word, Failure> {
    let bytes = value.to_signed_bytes_le();
    thread.charge_copy(bytes.len());
    let class = thread.vm.known_class(KnownClass::Integer);
    let object = thread.mutator.allocate_bytes(known::LARGE_INTEGER, class, bytes.len());
    let object = allocated(object)?;
    object.write_bytes(0, &bytes);
    Ok(object.word())
}

/// The word for a double. *GC point* if it needs a box.
#[inline]
pub fn make_double(thread: &mut Thread, value: f64) -> Result<Word, Failure> {
    match Word::from_double(value) {
        Some(word) => Ok(word),
        None => box_double(thread, value),
    }
}

#[cold]
fn box_double(thread: &mut Thread, value: f64) -> Result<Word, Failure> {
    let class = thread.vm.known_class(KnownClass::Double);
    let object = allocated(thread.mutator.allocate_raw(known::BOXED_DOUBLE, class))?;
    object.set_double(value);
    Ok(object.word())
}
