//! Slots: the places where MMTk finds and updates references. Each slot, element and root is one tagged [`Word`]; MMTk
//! ignores all words but pointers.

use super::{from_usize, object, reference};
use crate::representation::{WORD_BYTES, Word};
use mmtk::util::{Address, ObjectReference};
use mmtk::vm::slot::{MemorySlice, Slot};
use std::sync::atomic::{AtomicU64, Ordering};

/// The address of a word that may hold a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(super) struct WordSlot(usize);

impl WordSlot {
    /// The slot at `address`. The address must hold a word while the slot is used.
    #[inline(always)]
    pub(super) fn at(address: usize) -> WordSlot {
        WordSlot(address)
    }

    #[inline(always)]
    pub(super) fn word(self) -> Word {
        // SAFETY: the slot holds a word.
        unsafe { Word::from_bits(self.atom().load(Ordering::Relaxed)) }
    }

    #[inline(always)]
    fn atom<'a>(self) -> &'a AtomicU64 {
        // SAFETY: slots are made of addresses of live words: slots and elements of live objects,
        // and roots, which stay in place during a collection by the contract of `RootSource`.
        // Collector threads may update one slot at the same time, with the same value.
        unsafe { &*(self.0 as *const AtomicU64) }
    }
}

impl Slot for WordSlot {
    #[inline(always)]
    fn load(&self) -> Option<ObjectReference> {
        self.word().as_object().map(reference)
    }

    #[inline(always)]
    fn store(&self, target: ObjectReference) {
        // Relaxed: mutators stand still, and their resumption publishes all stores.
        self.atom().store(object(target).word().bits(), Ordering::Relaxed);
    }
}

/// Consecutive elements of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ElementSlice {
    pub(super) start: usize,
    pub(super) count: usize,
}

impl MemorySlice for ElementSlice {
    type SlotType = WordSlot;
    type SlotIterator = Slots;

    fn iter_slots(&self) -> Slots {
        Slots { next: self.start, end: self.start + self.bytes() }
    }

    fn object(&self) -> Option<ObjectReference> {
        // MMTk asks only to find the space, and the address suffices for that.
        None
    }

    fn start(&self) -> Address {
        from_usize(self.start)
    }

    fn bytes(&self) -> usize {
        self.count * WORD_BYTES
    }

    fn copy(_source: &ElementSlice, _target: &ElementSlice) {
        unreachable!("elements are copied by their objects, and the slice is only remembered")
    }
}

/// The slots of a slice.
pub(super) struct Slots {
    next: usize,
    end: usize,
}

impl Iterator for Slots {
    type Item = WordSlot;

    #[inline]
    fn next(&mut self) -> Option<WordSlot> {
        if self.next == self.end {
            return None;
        }
        let slot = WordSlot::at(self.next);
        self.next += WORD_BYTES;
        Some(slot)
    }
}
