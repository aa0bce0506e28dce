//! The one place that decides how a slot or an element is accessed. Tiers and primitives call it for everything that
//! guests can write.
//!
//! | the strand's vat | in a transaction | access |
//! |---|---|---|
//! | plain | – | a bare load or store |
//! | guarded | no | a load that waits for commits; a store that locks the stripe for a moment |
//! | guarded | yes | through the transaction |
//!
//! Interpreters choose between the first row and the others by how they were compiled, and then call
//! [`load`] and [`store`]; everything else calls [`element`], [`set_element`] and so on, which look at
//! [`Thread::is_guarded`].
//!
//! An access that answers `None`, `false` or [`Failure::elsewhere`] did not happen: execution continues at the saved
//! state, which is the begin of the transaction or, after a wait, this very access.
//!
//! No access is a GC point: a strand that has to wait is parked, and repeats the access when it continues. So words
//! that a caller has read before an access are valid after it.

use std::sync::atomic::{Ordering, fence};

use squall_heap::{Object, Word};
use squall_transactions::{Reserved, Stripe};

use super::sleepers;
use crate::model::outcome::Failure;
use crate::state::thread::{Thread, allocated};
use crate::state::transactions::memory::{
    Memory, stripe_of_element, stripe_of_slots, stripes_of_elements,
};

/// A place in an object that guests can write. The functions here that take a place are `unsafe`, and do not check that
/// the object has it: tiers have compared the object's layout or length before.
pub trait Place: Copy {
    /// The contents.
    ///
    /// # Safety
    ///
    /// The object has the place.
    unsafe fn load(self, object: Object) -> Word;
    /// Puts a word there.
    ///
    /// # Safety
    ///
    /// The object has the place.
    unsafe fn store(self, thread: &mut Thread, object: Object, value: Word);
    /// The stripe that protects the place in an object with this hash.
    fn stripe(self, hash: u32) -> Stripe;
    /// Its index among the places of the object.
    fn index(self) -> usize;
}

/// The slot with this index.
#[derive(Clone, Copy)]
pub struct Slot(pub usize);

/// The element with this index, counted from 0.
#[derive(Clone, Copy)]
pub struct Element(pub usize);

impl Place for Slot {
    #[inline(always)]
    unsafe fn load(self, object: Object) -> Word {
        // SAFETY: as the caller promises.
        unsafe { object.slot_unchecked(self.0) }
    }

    #[inline(always)]
    unsafe fn store(self, thread: &mut Thread, object: Object, value: Word) {
        // SAFETY: as the caller promises.
        unsafe { object.set_slot_unchecked(&mut thread.mutator, self.0, value) };
    }

    #[inline(always)]
    fn stripe(self, hash: u32) -> Stripe {
        stripe_of_slots(hash)
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.0
    }
}

impl Place for Element {
    #[inline(always)]
    unsafe fn load(self, object: Object) -> Word {
        // SAFETY: as the caller promises.
        unsafe { object.element_unchecked(self.0) }
    }

    #[inline(always)]
    unsafe fn store(self, thread: &mut Thread, object: Object, value: Word) {
        // SAFETY: as the caller promises.
        unsafe { object.set_element_unchecked(&mut thread.mutator, self.0, value) };
    }

    #[inline(always)]
    fn stripe(self, hash: u32) -> Stripe {
        stripe_of_element(hash, self.0)
    }

    #[inline(always)]
    fn index(self) -> usize {
        self.0
    }
}

/// Reads a place of an object of a guarded vat, for the instruction at this address, if nothing is in the way of
/// that: no other strand, and nothing that is rare. Needs no saved state.
///
/// # Safety
///
/// The object has the place.
#[inline(always)]
pub unsafe fn try_load(
    thread: &mut Thread,
    object: Object,
    place: impl Place,
    pc: usize,
) -> Option<Word> {
    let memory = thread.memory?;
    if let Some(transaction) = thread.transaction.as_deref_mut() {
        // SAFETY: as the caller promises.
        return unsafe { super::transaction::try_read(transaction, memory, object, place, pc) };
    }
    // SAFETY: as the caller promises.
    let value = unsafe { place.load(object) };
    // As in `load`.
    fence(Ordering::Acquire);
    match object.assigned_hash() {
        None => Some(value),
        // SAFETY: as the caller promises.
        Some(hash) => memory.space.try_read(place.stripe(hash), || unsafe { place.load(object) }),
    }
}

/// Writes a place of an object of a guarded vat, for the instruction at this address, if the strand is in a
/// transaction and nothing is in the way of that; whether that is done. Needs no saved state.
///
/// # Safety
///
/// The object has the place.
#[inline(always)]
pub unsafe fn try_store(
    thread: &mut Thread,
    object: Object,
    place: impl Place,
    value: Word,
    pc: usize,
) -> bool {
    let transaction = thread.transaction.as_deref_mut();
    // SAFETY: as the caller promises.
    let write = |it| unsafe { super::transaction::try_write(it, object, place, value, pc) };
    transaction.is_some_and(write)
}

/// As [`try_load`], but also for objects that no transaction knows yet, and for what this one has written.
///
/// # Safety
///
/// The object has the place.
pub unsafe fn attempt_load(
    thread: &mut Thread,
    object: Object,
    place: impl Place,
    pc: usize,
) -> Option<Word> {
    // SAFETY: as the caller promises.
    let value = unsafe { try_load(thread, object, place, pc) };
    if value.is_some() {
        return value;
    }
    let (hash, transaction) = (object.identity_hash(), thread.transaction.as_deref()?);
    let written = transaction.writes.find(object, hash, place.index());
    // SAFETY: as the caller promises.
    written.or_else(|| unsafe { try_load(thread, object, place, pc) })
}

/// As [`try_store`], but also outside of transactions, for objects that no transaction knows yet, and for places that
/// this one has written.
///
/// # Safety
///
/// The object has the place.
pub unsafe fn attempt_store(
    thread: &mut Thread,
    object: Object,
    place: impl Place,
    value: Word,
    pc: usize,
) -> bool {
    // SAFETY: as the caller promises.
    if unsafe { try_store(thread, object, place, value, pc) } {
        return true;
    }
    let Some(transaction) = thread.transaction.as_deref_mut() else {
        // SAFETY: as the caller promises.
        return unsafe { store_at_once(thread, object, place, value, pc) }.is_ok();
    };
    let has_room = !transaction.attempt.is_inevitable() && !transaction.writes.is_full();
    if has_room {
        let hash = object.identity_hash();
        transaction.writes.set(object, hash, place.index(), value, (place.stripe(hash), pc));
    }
    has_room
}

/// Reads a place of an object of a guarded vat, for the instruction in the saved state.
///
/// # Safety
///
/// The object has the place.
#[inline]
pub unsafe fn load(thread: &mut Thread, object: Object, place: impl Place) -> Option<Word> {
    if thread.transaction.is_some() {
        // SAFETY: as the caller promises.
        return unsafe { super::transaction::read(thread, object, place) };
    }
    // SAFETY: as the caller promises.
    let value = unsafe { place.load(object) };
    // Pairs with the release of the store that the value comes from: had a transaction made it, the
    // object would have had a hash before.
    fence(Ordering::Acquire);
    match object.assigned_hash() {
        None => Some(value),
        // SAFETY: as the caller promises.
        Some(hash) => Some(unsafe { load_shared(memory(thread), hash, object, place) }),
    }
}

/// Reads a place of an object that transactions may know.
///
/// # Safety
///
/// The object has the place.
unsafe fn load_shared(memory: &Memory, hash: u32, object: Object, place: impl Place) -> Word {
    // SAFETY: as the caller promises.
    memory.space.read(place.stripe(hash), || unsafe { place.load(object) })
}

/// Writes a place of an object of a guarded vat, for the instruction in the saved state; whether that is
/// done.
///
/// # Safety
///
/// The object has the place.
#[inline]
#[must_use]
pub unsafe fn store(thread: &mut Thread, object: Object, place: impl Place, value: Word) -> bool {
    if thread.transaction.is_some() {
        // SAFETY: as the caller promises.
        return unsafe { super::transaction::write(thread, object, place, value) };
    }
    let (memory, pc) = (memory(thread), thread.state.pc as usize);
    loop {
        // SAFETY: as the caller promises.
        match unsafe { store_at_once(thread, object, place, value, pc) } {
            Ok(()) => return true,
            Err(_) if sleepers::wait_for_inevitable(thread, memory) => return false,
            Err(_) => {}
        }
    }
}

/// Writes a place outside of transactions, unless an inevitable one has reserved it.
///
/// # Safety
///
/// The object has the place.
unsafe fn store_at_once(
    thread: &mut Thread,
    object: Object,
    place: impl Place,
    value: Word,
    pc: usize,
) -> Result<(), Reserved> {
    let memory = memory(thread);
    let stripe = place.stripe(object.identity_hash());
    memory.set_writer(stripe, pc, thread.strand());
    let seat = thread.seat;
    // SAFETY: as the caller promises.
    let put = |thread: &mut Thread| unsafe { place.store(thread, object, value) };
    if seat.if_sole(memory, || memory.space.write_alone(stripe, || put(thread))) {
        return Ok(());
    }
    if memory.space.write(stripe, || put(thread))? {
        sleepers::wake_changed(thread, memory, &[stripe]);
    }
    Ok(())
}

/// The memory of the guarded vat whose strand runs.
#[inline(always)]
pub(super) fn memory(thread: &Thread) -> &'static Memory {
    thread.memory.expect("a guarded vat has a memory")
}

/// Reads a place, for any vat.
///
/// # Safety
///
/// The object has the place.
#[inline]
unsafe fn read(thread: &mut Thread, object: Object, place: impl Place) -> Result<Word, Failure> {
    if !thread.is_guarded {
        // SAFETY: as the caller promises.
        return Ok(unsafe { place.load(object) });
    }
    // SAFETY: as the caller promises.
    unsafe { load(thread, object, place) }.ok_or(Failure::elsewhere())
}

/// Writes a place, for any vat.
///
/// # Safety
///
/// The object has the place.
#[inline]
unsafe fn write(
    thread: &mut Thread,
    object: Object,
    place: impl Place,
    value: Word,
) -> Result<(), Failure> {
    if !thread.is_guarded {
        // SAFETY: as the caller promises.
        unsafe { place.store(thread, object, value) };
        return Ok(());
    }
    // SAFETY: as the caller promises.
    if unsafe { store(thread, object, place, value) } { Ok(()) } else { Err(Failure::elsewhere()) }
}

/// The contents of a slot, for any vat. Panics if the object has none, like the next three functions.
#[inline]
pub fn slot(thread: &mut Thread, object: Object, index: usize) -> Result<Word, Failure> {
    assert!(object.has_slot(index), "the object has the slot");
    // SAFETY: the object has the slot.
    unsafe { read(thread, object, Slot(index)) }
}

/// Writes a slot, for any vat.
#[inline]
pub fn set_slot(
    thread: &mut Thread,
    object: Object,
    index: usize,
    value: Word,
) -> Result<(), Failure> {
    assert!(object.has_slot(index), "the object has the slot");
    // SAFETY: the object has the slot.
    unsafe { write(thread, object, Slot(index), value) }
}

/// The contents of an element, counted from 0, for any vat.
#[inline]
pub fn element(thread: &mut Thread, array: Object, index: usize) -> Result<Word, Failure> {
    assert!(array.has_element(index), "the object has the element");
    // SAFETY: the object has the element.
    unsafe { read(thread, array, Element(index)) }
}

/// Writes an element, counted from 0, for any vat.
#[inline]
pub fn set_element(
    thread: &mut Thread,
    array: Object,
    index: usize,
    value: Word,
) -> Result<(), Failure> {
    assert!(array.has_element(index), "the object has the element");
    // SAFETY: the object has the element.
    unsafe { write(thread, array, Element(index), value) }
}

/// Appends the elements of an array to the thread's message.
pub fn extend_message(thread: &mut Thread, array: Object) -> Result<(), Failure> {
    for index in 0..array.length() {
        let word = element(thread, array, index)?;
        thread.message.push(word);
    }
    Ok(())
}

/// Makes a new array of a range of elements of the array in a word, which is a root and has this layout
/// and class. *GC point.*
pub fn copy_range(
    thread: &mut Thread,
    source: impl Fn() -> Object,
    (layout, class): (squall_heap::LayoutId, Word),
    start: usize,
    length: usize,
) -> Result<Object, Failure> {
    let copy = allocated(thread.mutator.allocate_array(layout, class, length, Word::NIL))?;
    let source = source();
    if !thread.is_guarded {
        copy.copy_elements(&mut thread.mutator, 0, source, start, length);
        return Ok(copy);
    }
    for index in 0..length {
        // No GC point: a conflict leaves the copy to the collector.
        let word = element(thread, source, start + index)?;
        copy.set_element(&mut thread.mutator, index, word);
    }
    Ok(copy)
}

/// Copies elements from one array to another, or within one, as if at once.
pub fn copy_elements(
    thread: &mut Thread,
    (target, to): (Object, usize),
    (source, from): (Object, usize),
    count: usize,
) -> Result<(), Failure> {
    if !thread.is_guarded {
        target.copy_elements(&mut thread.mutator, to, source, from, count);
        return Ok(());
    }
    if thread.transaction.is_none() {
        return store_range(thread, target, to, count, |thread| {
            target.copy_elements(&mut thread.mutator, to, source, from, count);
        });
    }
    let copy = |thread: &mut Thread, index: usize| {
        let word = element(thread, source, from + index)?;
        set_element(thread, target, to + index, word)
    };
    if to <= from {
        (0..count).try_for_each(|index| copy(thread, index))
    } else {
        (0..count).rev().try_for_each(|index| copy(thread, index))
    }
}

/// Makes all elements of an array the same word.
pub fn fill(thread: &mut Thread, array: Object, value: Word) -> Result<(), Failure> {
    let store = |thread: &mut Thread| {
        for index in 0..array.length() {
            array.set_element(&mut thread.mutator, index, value);
        }
    };
    match (thread.is_guarded, thread.transaction.is_some()) {
        (false, _) => store(thread),
        (true, false) => return store_range(thread, array, 0, array.length(), store),
        (true, true) => {
            for index in 0..array.length() {
                set_element(thread, array, index, value)?;
            }
        }
    }
    Ok(())
}

/// Stores into a range of elements, outside of transactions: all of them or, if that has to wait, none.
fn store_range(
    thread: &mut Thread,
    array: Object,
    start: usize,
    count: usize,
    store: impl Fn(&mut Thread),
) -> Result<(), Failure> {
    let memory = memory(thread);
    let mut stripes = stripes_of_elements(array, start, count);
    let (pc, strand) = (thread.state.pc as usize, thread.strand());
    stripes.iter().for_each(|&stripe| memory.set_writer(stripe, pc, strand));
    let is_watched = loop {
        match memory.space.write_all(&mut stripes, || store(thread)) {
            Ok(is_watched) => break is_watched,
            Err(_) if sleepers::wait_for_inevitable(thread, memory) => {
                return Err(Failure::elsewhere());
            }
            Err(_) => {}
        }
    };
    if is_watched {
        sleepers::wake_changed(thread, memory, &stripes);
    }
    Ok(())
}
