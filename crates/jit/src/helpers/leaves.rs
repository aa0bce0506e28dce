//! Leaves: helpers that move no object, reach no GC point and never leave the code. Machine code calls them with its state not
//! saved. `helpers` puts them into its table.
//!
//! # Safety
//!
//! As the head of [`helpers`](super) says.

use std::num::NonZeroUsize;
use std::sync::atomic::AtomicU32;

use squall_compiler::words::NO_ANSWER;
use squall_heap::{Word, slot_kinds};
use squall_runtime::tiers::access::{self, Element, Slot};
use squall_runtime::tiers::metering;
use squall_runtime::tiers::primitive::Primitive;
use squall_runtime::tiers::thread::Thread;

use crate::chaos;

/// The leaf of a primitive, for optimised code; [`NO_ANSWER`] if it has no answer.
///
/// # Safety
///
/// As the [module's head](super) says; both words are operands of the primitive's message.
pub unsafe extern "C" fn leaf(
    thread: &Thread,
    primitive: &'static Primitive,
    first: Word,
    second: Word,
) -> u64 {
    let answer = primitive.leaf().and_then(|leaf| leaf(thread.vm, first, second));
    answer.map_or(NO_ANSWER, Word::bits)
}

/// The short form of a primitive, for optimised code; [`NO_ANSWER`], and nothing has happened, if it has no answer.
///
/// # Safety
///
/// As the [module's head](super) says; the words are operands of the primitive's message, or any others beyond those.
pub unsafe extern "C" fn short_form(
    thread: &mut Thread,
    primitive: &'static Primitive,
    first: Word,
    second: Word,
    third: Word,
    fourth: Word,
) -> u64 {
    let words = [first, second, third, fourth];
    run_short_form(thread, primitive, words).map_or(NO_ANSWER, Word::bits)
}

/// The same, for all machine code. A transaction must be told of an effect before that happens.
#[inline]
pub fn run_short_form(
    thread: &mut Thread,
    primitive: &'static Primitive,
    words: [Word; 4],
) -> Option<Word> {
    let short = primitive.short_form()?;
    let is_possible = thread.transaction.is_none() && !chaos::strikes();
    if is_possible { short(thread, words) } else { None }
}

/// Guarded accesses: the functions answer [`NO_ANSWER`] or false if something is in the way of the access, which the
/// interpreter does then.
macro_rules! guarded_accesses {
    ($($(#[doc = $doc:literal])* $load:ident, $store:ident, $place:expr;)*) => {
        $($(#[doc = $doc])*
        ///
        /// # Safety
        ///
        /// As the [module's head](super) says; the word is an object's, which has the place.
        pub unsafe extern "C" fn $load(
            thread: &mut Thread,
            object: Word,
            index: usize,
            pc: usize,
        ) -> u64 {
            // SAFETY: as the caller promises.
            let value = unsafe { access::attempt_load(thread, object.object_unchecked(), $place(index), pc) };
            value.filter(|_| !chaos::strikes()).map_or(NO_ANSWER, Word::bits)
        }

        /// Writes there.
        ///
        /// # Safety
        ///
        /// As for the load.
        pub unsafe extern "C" fn $store(
            thread: &mut Thread,
            object: Word,
            index: usize,
            value: Word,
            pc: usize,
        ) -> u64 {
            if chaos::strikes() {
                return 0;
            }
            // SAFETY: as the caller promises.
            let is_done = unsafe {
                access::attempt_store(thread, object.object_unchecked(), $place(index), value, pc)
            };
            u64::from(is_done)
        })*
    };
}

guarded_accesses! {
    /// Reads a slot.
    load_slot, store_slot, Slot;
    /// Reads an element.
    load_element, store_element, Element;
}

/// The rest of the barrier after a store into a slot.
///
/// # Safety
///
/// As the [module's head](super) says.
pub unsafe extern "C" fn slot_written(thread: &mut Thread, object: Word, value: Word) {
    // SAFETY: machine code has stored into the object.
    let object = unsafe { object.object_unchecked() };
    thread.mutator.slot_written(object, value);
}

/// Takes memory for an object that the caller makes; 0 if the collector has to run first, or somebody counts.
pub extern "C" fn take_memory(thread: &mut Thread, bytes: usize) -> usize {
    thread.mutator.take_at_once(bytes).map_or(0, NonZeroUsize::get)
}

/// Counts so many bytes of a new array as fuel, if the strand is in a sandbox, as the primitive does.
pub extern "C" fn charge_copy(thread: &mut Thread, bytes: usize) -> u64 {
    thread.charge_copy(bytes);
    0
}

/// Draws fuel for polls that the code has counted; whether there was enough. Otherwise so many polls are counted again.
pub extern "C" fn draw_fuel(thread: &mut Thread, again: u64) -> u64 {
    let is_paid = metering::draw_fuel(thread);
    if !is_paid {
        thread.metering.fuel += again as i32;
    }
    u64::from(is_paid)
}

/// Widens the kind of a slot so that it admits a word.
pub extern "C" fn admit(_thread: &mut Thread, kind: &'static AtomicU32, value: Word) {
    slot_kinds::admit(kind, value);
}

/// The rest of the barrier after a store into an element.
///
/// # Safety
///
/// As the [module's head](super) says.
pub unsafe extern "C" fn element_written(
    thread: &mut Thread,
    array: Word,
    index: usize,
    value: Word,
) {
    // SAFETY: machine code has stored into the array.
    let array = unsafe { array.object_unchecked() };
    thread.mutator.element_was_written(array, index, value);
}
