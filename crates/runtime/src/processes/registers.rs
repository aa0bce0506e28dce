//! Registers of the activation in the state, and their contents as words of any register.

use std::ops::Range;

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use squall_bytecode::types::RegisterType;
use squall_heap::Word;

use crate::objects::number::{self, Number};
use crate::outcome::Failure;
use crate::thread::Thread;

/// What a register holds.
#[inline]
pub fn get(thread: &Thread, register: usize) -> Word {
    // SAFETY: the instruction in progress names the register, so it is in the frame.
    unsafe { thread.state.frame.add(register).read() }
}

/// Replaces what a register holds.
#[inline]
pub fn set(thread: &mut Thread, register: usize, content: Word) {
    // SAFETY: as for `get`.
    unsafe { thread.state.frame.add(register).write(content) }
}

/// The type of a register.
#[inline]
pub fn kind_of(thread: &Thread, register: usize) -> RegisterType {
    // SAFETY: the state is that of an instruction, whose function is immortal.
    let types = unsafe { (*thread.state.function).register_types };
    types[register]
}

/// What a register holds, as a word. *GC point* if that needs a box.
#[inline]
pub fn to_word(thread: &mut Thread, register: usize) -> Result<Word, Failure> {
    let (kind, content) = (kind_of(thread, register), get(thread, register));
    if kind.is_signed()
        && let Some(word) = Word::from_small_integer(content.bits() as i64)
    {
        return Ok(word);
    }
    if kind.is_tagged() {
        return Ok(content);
    }
    boxed(thread, kind, content.bits())
}

fn boxed(thread: &mut Thread, kind: RegisterType, bits: u64) -> Result<Word, Failure> {
    match kind {
        RegisterType::Bool => Ok(Word::from_bool(bits != 0)),
        RegisterType::F64 => number::make_double(thread, f64::from_bits(bits)),
        RegisterType::F32 => number::make_double(thread, f64::from(f32::from_bits(bits as u32))),
        kind if kind.is_signed() => number::make_integer(thread, bits as i64),
        _ => number::make_big(thread, BigInt::from(bits)),
    }
}

/// Puts a word into a register for whose type it was made.
#[inline]
pub fn set_word(thread: &mut Thread, register: usize, word: Word) {
    let kind = kind_of(thread, register);
    let content = if kind.is_tagged() { word } else { Word::from_bits(bits_of(kind, word)) };
    set(thread, register, content);
}

/// The bits of a scalar that was made a word.
pub fn bits_of(kind: RegisterType, word: Word) -> u64 {
    if let Some(integer) = word.as_small_integer()
        && !kind.is_float()
    {
        return integer as u64;
    }
    match (kind, Number::of(word)) {
        (RegisterType::Bool, _) => u64::from(word == Word::TRUE),
        (RegisterType::F64, Some(Number::Double(value))) => value.to_bits(),
        (RegisterType::F32, Some(Number::Double(value))) => u64::from((value as f32).to_bits()),
        (kind, Some(integer)) => {
            let value = integer.to_integer().unwrap_or_default();
            if kind.is_signed() {
                value.to_i64().unwrap_or(0) as u64
            } else {
                value.to_u64().unwrap_or(0)
            }
        }
        // Channels hold what their type says.
        (_, None) => 0,
    }
}

/// The value of a number in a register.
pub fn to_double(kind: RegisterType, bits: u64) -> f64 {
    match kind {
        RegisterType::F64 => f64::from_bits(bits),
        RegisterType::F32 => f64::from(f32::from_bits(bits as u32)),
        kind if kind.is_signed() => bits as i64 as f64,
        _ => bits as f64,
    }
}

/// What these registers hold is about to be held by others as well.
pub fn share(thread: &Thread, registers: Range<usize>) {
    for register in registers {
        if kind_of(thread, register).is_tagged() {
            share_word(get(thread, register));
        }
    }
}

/// Whoever updates this list copies it from now on.
fn share_word(_word: Word) {}
