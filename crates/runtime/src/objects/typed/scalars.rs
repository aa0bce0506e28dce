//! Conversions between the contents of a register and the word in a container. The operations on lists, maps and
//! tuples, and channels, convert here.
//!
//! A boolean or number becomes the object that stands for it; any other word is the same inside of
//! a container, but a list is shared from then on.

use num_bigint::BigInt;
use num_traits::{FromPrimitive, ToPrimitive};
use squall_bytecode::types::RegisterType;
use squall_heap::Word;

use super::lists;
use crate::model::known;
use crate::model::outcome::Failure;
use crate::model::types::{Shape, Type};
use crate::objects::number::{self, Number};
use crate::state::thread::Thread;

/// The word in a container for the contents of a register of this type. *GC point* for numbers that need a box.
///
/// # Safety
///
/// The bits are the contents of such a register since the last GC point.
#[inline]
pub unsafe fn to_word(thread: &mut Thread, kind: Type, bits: u64) -> Result<Word, Failure> {
    if let Shape::Basic(basic) = kind.shape() {
        // SAFETY: as the caller promises.
        return unsafe { basic_to_word(thread, *basic, bits) };
    }
    // SAFETY: registers of all other types hold words.
    let word = unsafe { Word::from_bits(bits) };
    if kind.is_list() {
        lists::share(word);
    }
    Ok(word)
}

/// The object for the bits of a register of a basic type. *GC point* for numbers that need a box.
///
/// # Safety
///
/// The bits are the contents of such a register since the last GC point.
pub unsafe fn basic_to_word(
    thread: &mut Thread,
    kind: RegisterType,
    bits: u64,
) -> Result<Word, Failure> {
    match kind {
        // SAFETY: registers of these types hold words.
        RegisterType::Any | RegisterType::Defined(_) => Ok(unsafe { Word::from_bits(bits) }),
        RegisterType::Bool => Ok(Word::from_bool(bits != 0)),
        RegisterType::F64 => number::make_double(thread, f64::from_bits(bits)),
        RegisterType::F32 => number::make_double(thread, f64::from(f32::from_bits(bits as u32))),
        RegisterType::U64 if bits > i64::MAX as u64 => number::make_big(thread, BigInt::from(bits)),
        _ => number::make_integer(thread, bits as i64),
    }
}

/// The word for the bits of a register of a type of numbers or truth values, if the word is no pointer: what
/// [`basic_to_word`] answers then.
#[inline]
pub fn immediate(kind: RegisterType, bits: u64) -> Option<Word> {
    match kind {
        RegisterType::Any | RegisterType::Defined(_) => None,
        RegisterType::Bool => Some(Word::from_bool(bits != 0)),
        RegisterType::F64 => Word::from_double(f64::from_bits(bits)),
        RegisterType::F32 => Word::from_double(f64::from(f32::from_bits(bits as u32))),
        RegisterType::U64 if bits > i64::MAX as u64 => None,
        _ => Word::from_small_integer(bits as i64),
    }
}

/// The contents of a register of this type for a word of a container.
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
    word.as_double().unwrap_or_else(|| word.object().double())
}

/// The low 64 bits of an integer that has no more than 65.
fn integer(word: Word) -> u64 {
    if let Some(value) = word.as_small_integer() {
        return value as u64;
    }
    let object = word.object();
    debug_assert_eq!(object.layout(), known::LARGE_INTEGER);
    let length = object.length().min(size_of::<u64>());
    let mut bytes = [0; size_of::<u64>()];
    object.read_bytes(0, &mut bytes[..length]);
    // A large integer has 61 bits at least, so eight digits; a ninth is the sign of a `u64`.
    u64::from_le_bytes(bytes)
}

/// Cuts an integer to its type's width and extends it again.
pub fn normalize(kind: RegisterType, bits: u64) -> u64 {
    use RegisterType::*;
    match kind {
        I8 => bits as i8 as i64 as u64,
        I16 => bits as i16 as i64 as u64,
        I32 => bits as i32 as i64 as u64,
        U8 => u64::from(bits as u8),
        U16 => u64::from(bits as u16),
        U32 => u64::from(bits as u32),
        Bool => bits & 1,
        _ => bits,
    }
}

/// The bits for an object, if it has an exact value of that type.
pub fn unbox(kind: RegisterType, word: Word) -> Option<u64> {
    if kind == RegisterType::Bool {
        return word.as_bool().map(u64::from);
    }
    match Number::of(word)? {
        Number::Double(value) if kind == RegisterType::F64 => Some(value.to_bits()),
        Number::Double(value) if kind == RegisterType::F32 => {
            let single = value as f32;
            let exact = f64::from(single) == value || value.is_nan();
            exact.then_some(u64::from(single.to_bits()))
        }
        Number::Double(_) => None,
        integer => unbox_integer(kind, &integer.to_integer()?),
    }
}

fn unbox_integer(kind: RegisterType, value: &BigInt) -> Option<u64> {
    if kind.is_float() {
        let double =
            value.to_f64().filter(|double| BigInt::from_f64(*double).as_ref() == Some(value))?;
        return unbox_exact_float(kind, double);
    }
    let bits = if kind.is_signed() { value.to_i64()? as u64 } else { value.to_u64()? };
    (normalize(kind, bits) == bits).then_some(bits)
}

fn unbox_exact_float(kind: RegisterType, value: f64) -> Option<u64> {
    match kind {
        RegisterType::F64 => Some(value.to_bits()),
        _ => {
            let single = value as f32;
            (f64::from(single) == value).then_some(u64::from(single.to_bits()))
        }
    }
}
