//! What a register holds, as a word in a container and back.
//!
//! A boolean or number becomes the object that stands for it; any other word is the same inside of
//! a container, but a list is shared from then on.

use num_bigint::BigInt;
use squall_bytecode::types::RegisterType;
use squall_heap::Word;

use super::lists;
use super::types::{Shape, Type};
use crate::known;
use crate::objects::number;
use crate::outcome::Failure;
use crate::thread::Thread;

/// The word in a container for what a register of this type holds. *GC point* for numbers that
/// need a box.
#[inline]
pub fn to_word(thread: &mut Thread, kind: Type, bits: u64) -> Result<Word, Failure> {
    match kind.shape() {
        Shape::Basic(basic) => basic_to_word(thread, *basic, bits),
        Shape::List(_) => {
            lists::share(Word::from_bits(bits));
            Ok(Word::from_bits(bits))
        }
        _ => Ok(Word::from_bits(bits)),
    }
}

/// The object for the bits of a register of a basic type. *GC point* for numbers that need a box.
pub fn basic_to_word(thread: &mut Thread, kind: RegisterType, bits: u64) -> Result<Word, Failure> {
    match kind {
        RegisterType::Any | RegisterType::Defined(_) => Ok(Word::from_bits(bits)),
        RegisterType::Bool => Ok(Word::from_bool(bits != 0)),
        RegisterType::F64 => number::make_double(thread, f64::from_bits(bits)),
        RegisterType::F32 => number::make_double(thread, f64::from(f32::from_bits(bits as u32))),
        RegisterType::U64 if bits > i64::MAX as u64 => number::make_big(thread, BigInt::from(bits)),
        _ => number::make_integer(thread, bits as i64),
    }
}

/// What a register of this type holds for a word of a container.
#[inline]
pub fn from_word(kind: Type, word: Word) -> u64 {
    match kind.shape() {
        Shape::Basic(basic) => basic_from_word(*basic, word),
        _ => word.bits(),
    }
}

/// The bits of a register of a basic type for the object that stands for them.
pub fn basic_from_word(kind: RegisterType, word: Word) -> u64 {
    match kind {
        RegisterType::Any | RegisterType::Defined(_) => word.bits(),
        RegisterType::Bool => u64::from(word == Word::TRUE),
        RegisterType::F64 => double(word).to_bits(),
        RegisterType::F32 => u64::from((double(word) as f32).to_bits()),
        _ => integer(word),
    }
}

fn double(word: Word) -> f64 {
    word.as_double().unwrap_or_else(|| word.object_unchecked().double())
}

/// The low 64 bits of an integer that has no more than 65.
fn integer(word: Word) -> u64 {
    if let Some(value) = word.as_small_integer() {
        return value as u64;
    }
    let object = word.object_unchecked();
    debug_assert_eq!(object.layout(), known::LARGE_INTEGER);
    let length = object.length().min(size_of::<u64>());
    let mut bytes = [0; size_of::<u64>()];
    object.read_bytes(0, &mut bytes[..length]);
    // A large integer has 61 bits at least, so eight digits; a ninth is the sign of a `u64`.
    u64::from_le_bytes(bytes)
}
