//! The registers of the activation in the saved state, and the conversion between a register's content and a word. The
//! instructions of typed code that communicate use it.

use std::ops::Range;

use squall_bytecode::types::RegisterType;
use squall_heap::Word;

use crate::model::outcome::Failure;
use crate::model::types::{Shape, Type};
use crate::objects::typed::{lists, scalars};
use crate::state::thread::Thread;

/// The contents of a register.
#[inline]
pub fn get(thread: &Thread, register: usize) -> Word {
    // SAFETY: the instruction in progress names the register, so it is in the frame.
    unsafe { thread.state.frame.add(register).read() }
}

/// Replaces the contents of a register.
#[inline]
pub fn set(thread: &mut Thread, register: usize, content: Word) {
    // SAFETY: as for `get`.
    unsafe { thread.state.frame.add(register).write(content) }
}

/// The type of a register.
#[inline]
pub fn kind_of(thread: &Thread, register: usize) -> Type {
    // SAFETY: the state is that of an instruction, whose function is immortal.
    let types = unsafe { (*thread.state.function).types };
    types[register]
}

/// Whether a register is `any`.
#[inline]
pub fn is_any(thread: &Thread, register: usize) -> bool {
    matches!(kind_of(thread, register).shape(), Shape::Basic(RegisterType::Any))
}

/// The contents of a register, as a word; a list is shared from now on. *GC point* if that needs a box.
#[inline]
pub fn to_word(thread: &mut Thread, register: usize) -> Result<Word, Failure> {
    let kind = kind_of(thread, register);
    // SAFETY: the bits are those of a register of this type.
    unsafe { scalars::to_word(thread, kind, get(thread, register).bits()) }
}

/// The contents of a register of a type of numbers or truth values, if its word is no pointer.
#[inline]
pub fn immediate(thread: &Thread, register: usize) -> Option<Word> {
    let Shape::Basic(kind) = *kind_of(thread, register).shape() else { return None };
    scalars::immediate(kind, get(thread, register).bits())
}

/// Puts a word into a register for whose type it was made.
#[inline]
pub fn set_word(thread: &mut Thread, register: usize, word: Word) {
    let bits = scalars::from_word(kind_of(thread, register), word);
    // SAFETY: the bits are for a register of this type, and go there.
    set(thread, register, unsafe { Word::from_bits(bits) });
}

/// The value of a number in a register.
pub fn to_double(thread: &Thread, register: usize) -> f64 {
    let bits = get(thread, register).bits();
    match kind_of(thread, register).shape() {
        Shape::Basic(RegisterType::F64) => f64::from_bits(bits),
        Shape::Basic(RegisterType::F32) => f64::from(f32::from_bits(bits as u32)),
        Shape::Basic(kind) if kind.is_signed() => bits as i64 as f64,
        _ => bits as f64,
    }
}

/// The contents of these registers are about to be held by other registers as well.
pub fn share(thread: &Thread, registers: Range<usize>) {
    for register in registers {
        if kind_of(thread, register).is_list() {
            lists::share(get(thread, register));
        }
    }
}
