//! Values of the types that modules define: tuples, lists and maps. The tiers' instructions for these types, and
//! adapters, call this module.
//!
//! A register of a defined type holds a tagged word. The verifier has shown its type, so nothing here asks an object
//! for its kind.
//!
//! | type | the word |
//! |---|---|
//! | tuple | a `ValueArray` of its elements |
//! | list | an object with a length and room for elements: see [`lists`] |
//! | map | nil, or the root of a balanced tree that never changes: see [`maps`] |
//! | function, process | the address of the [`Function`](crate::model::function::Function) |
//!
//! Inside of tuples and maps a boolean or number is the object that stands for it, as everywhere in
//! the heap; lists of them are packed.
//!
//! # Value semantics
//!
//! An update through one register is not visible through another. Tuples and maps never change: an update makes a new
//! one. Lists change in place, unless they are *shared*: a mark in the header that is set when a second register or a
//! container gets the list ([`lists::share`]), and never cleared. An update of a shared list copies it first. So a list
//! that is not shared is in one register of one frame, and no other thread knows it.
//!
//! # Protocol
//!
//! An operation gets the running activation's [`Registers`] and reads its operands from there again
//! after each GC point: they are roots while the instruction is in progress. It answers the
//! destination's new content, a word or raw bits, and has changed nothing if it fails.

pub mod boxing;
pub mod compare;
pub mod lists;
pub mod maps;
pub mod scalars;
pub mod tuples;

use squall_heap::{Word, confine};

use crate::model::outcome::{Failure, FailureReason};
use crate::model::types::Type;
use crate::state::thread::Thread;

/// The registers of the running activation, whose instruction is in progress.
#[derive(Clone, Copy)]
pub struct Registers {
    frame: *mut Word,
    types: &'static [Type],
}

impl Registers {
    /// The registers of the activation in the thread's state.
    pub fn of(thread: &Thread) -> Registers {
        let activation = thread.activation();
        Registers { frame: activation.frame, types: activation.function.types }
    }

    /// The word in a register.
    #[inline(always)]
    pub fn word(self, register: usize) -> Word {
        debug_assert!(register < self.types.len());
        // SAFETY: the verifier has shown that operands are registers of the frame and initialised.
        unsafe { self.frame.add(register).read() }
    }

    /// The bits in a register.
    #[inline(always)]
    pub fn bits(self, register: usize) -> u64 {
        self.word(register).bits()
    }

    /// Writes a register, which must be one that the instruction updates.
    #[inline(always)]
    fn set(self, register: usize, word: Word) {
        debug_assert!(register < self.types.len());
        // SAFETY: as for `word`.
        unsafe { self.frame.add(register).write(word) }
    }

    /// The type of a register.
    #[inline(always)]
    pub fn kind(self, register: usize) -> Type {
        self.types[register]
    }
}

/// An index is none of something with this many elements.
#[cold]
pub fn index_error(index: i64, length: usize) -> Failure {
    let word = |value| Word::from_small_integer(value).unwrap_or(Word::NIL);
    Failure::with(FailureReason::IndexError, word(index), word(length as i64))
}

/// The position that an index names among `length` elements.
#[inline(always)]
pub fn position(index: u64, length: usize) -> Result<usize, Failure> {
    match index < length as u64 {
        true => Ok(confine(index as usize, length)),
        false => Err(index_error(index as i64, length)),
    }
}
