//! Tuples of typed code: arrays of values, made once. The tier's instructions for tuples call this module.

use squall_heap::Word;

use super::{Registers, scalars};
use crate::model::outcome::Failure;
use crate::objects::array;
use crate::state::effort::FOR_AN_OBJECT;
use crate::state::thread::Thread;

/// A tuple, of the type of `destination`, of the registers from `start` on. *GC point.*
pub fn make(
    thread: &mut Thread,
    registers: Registers,
    destination: usize,
    start: usize,
) -> Result<Word, Failure> {
    let elements = registers.kind(destination).elements();
    thread.with_effort(|_, effort| effort.add(FOR_AN_OBJECT + elements.len()))?;
    array::make_value_of(thread, elements.len(), |thread, index| {
        // SAFETY: the verifier has shown that the register has this type.
        unsafe { scalars::to_word(thread, elements[index], registers.bits(start + index)) }
    })
}

/// The bits of an element. No GC point.
pub fn get(registers: Registers, tuple: usize, index: usize) -> u64 {
    let kind = registers.kind(tuple).elements()[index];
    scalars::from_word(kind, registers.word(tuple).object().element(index))
}

/// The tuple with another element. *GC point.*
pub fn set(
    thread: &mut Thread,
    registers: Registers,
    tuple: usize,
    value: usize,
    index: usize,
) -> Result<Word, Failure> {
    let elements = registers.kind(tuple).elements();
    thread.with_effort(|_, effort| effort.add(FOR_AN_OBJECT + elements.len()))?;
    array::make_value_of(thread, elements.len(), |thread, place| match place == index {
        // SAFETY: the verifier has shown that the register has this type.
        true => unsafe { scalars::to_word(thread, elements[index], registers.bits(value)) },
        false => Ok(registers.word(tuple).object().element(place)),
    })
}
