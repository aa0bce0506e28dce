//! The write barrier: it runs after each store of a pointer into an object that may be old. The runtime's access
//! functions call the stores here.
//!
//! An object that has survived a collection is *unlogged*, which a [bit](crate::UNLOGGED) of its header says: machine code
//! tests it, too, and calls [`Mutator::slot_written`] or [`Mutator::element_was_written`]. The first store into it logs it: the next nursery collection
//! visits all of its slots. For large arrays each store remembers the single slot instead, because a visit to a million
//! slots takes milliseconds.

use super::Mutator;
use crate::collector::{self, MutatorBinding};
use crate::representation::{
    CLASS_OFFSET, Object, Word, offset_of_element, offset_of_slot, slot_kinds,
};
use std::sync::atomic::Ordering;

/// The number of slots of large arrays that a mutator remembers one by one between two collections. After that it logs
/// whole arrays, which bounds the memory of the remembered set.
const MAX_REMEMBERED: u32 = 1 << 16;

/// The number of remembered slots of large arrays, since the collection with this number.
#[derive(Default)]
pub(super) struct Remembered {
    since: u64,
    count: u32,
}

/// Stores into objects that may be old.
impl Object {
    /// Replaces the class object.
    pub fn set_class(self, mutator: &mut Mutator, class: Word) {
        // SAFETY: each object has a class.
        unsafe { self.store(CLASS_OFFSET, class) };
        mutator.object_written(self, class);
    }

    /// Stores into the slot `index`. Panics if the object has none.
    #[inline(always)]
    pub fn set_slot(self, mutator: &mut Mutator, index: usize, value: Word) {
        let offset = self.slot_offset(index);
        slot_kinds::note(self, index, value);
        // SAFETY: the offset is that of a slot.
        unsafe { self.store(offset, value) };
        mutator.object_written(self, value);
    }

    /// Stores into the slot `index`.
    ///
    /// # Safety
    ///
    /// The object [has](Object::has_slot) it.
    #[inline(always)]
    pub unsafe fn set_slot_unchecked(self, mutator: &mut Mutator, index: usize, value: Word) {
        debug_assert!(self.has_slot(index));
        slot_kinds::note(self, index, value);
        // SAFETY: the offset is that of a slot.
        unsafe { self.store(offset_of_slot(index), value) };
        mutator.object_written(self, value);
    }

    /// Stores into the slot `index` of an object whose layout's slots have no [kinds](slot_kinds): one of the runtime's own,
    /// which no class describes.
    ///
    /// # Safety
    ///
    /// The object [has](Object::has_slot) it.
    #[inline(always)]
    pub unsafe fn set_own_slot_unchecked(self, mutator: &mut Mutator, index: usize, value: Word) {
        debug_assert!(self.has_slot(index) && !slot_kinds::are_known(self));
        // SAFETY: the offset is that of a slot.
        unsafe { self.store(offset_of_slot(index), value) };
        mutator.object_written(self, value);
    }

    /// As [`Object::set_own_slot_unchecked`], without the barrier.
    ///
    /// # Safety
    ///
    /// The object has the slot, and was [remembered](Mutator::remember) after the last GC point.
    #[inline(always)]
    pub unsafe fn set_remembered_slot_unchecked(self, index: usize, value: Word) {
        debug_assert!(self.has_slot(index) && !slot_kinds::are_known(self) && !self.is_unlogged());
        // SAFETY: the offset is that of a slot.
        unsafe { self.store(offset_of_slot(index), value) };
    }

    /// Stores `new` into the slot `index` if the slot holds `current`. Otherwise answers the slot's word.
    /// Panics if the object has no such slot.
    ///
    /// If several threads race to initialise a slot, one succeeds, and the others see all its earlier stores.
    #[inline]
    pub fn compare_exchange_slot(
        self,
        mutator: &mut Mutator,
        index: usize,
        current: Word,
        new: Word,
    ) -> Result<(), Word> {
        let offset = self.slot_offset(index);
        slot_kinds::note(self, index, new);
        // SAFETY: the offset is that of a slot.
        unsafe { self.exchange(offset, current, new) }?;
        mutator.object_written(self, new);
        Ok(())
    }

    /// As [`Object::compare_exchange_slot`], for an object as in [`Object::set_own_slot_unchecked`].
    ///
    /// # Safety
    ///
    /// The object [has](Object::has_slot) the slot.
    #[inline]
    pub unsafe fn compare_exchange_own_slot_unchecked(
        self,
        mutator: &mut Mutator,
        index: usize,
        current: Word,
        new: Word,
    ) -> Result<(), Word> {
        debug_assert!(self.has_slot(index) && !slot_kinds::are_known(self));
        // SAFETY: the offset is that of a slot.
        unsafe { self.exchange(offset_of_slot(index), current, new) }?;
        mutator.object_written(self, new);
        Ok(())
    }

    /// Stores `new` at an offset if that place holds `current`; otherwise answers its word. The caller runs the
    /// barrier.
    ///
    /// # Safety
    ///
    /// A tagged word of the object is there.
    #[inline]
    unsafe fn exchange(self, offset: usize, current: Word, new: Word) -> Result<(), Word> {
        let (current, new) = (current.bits(), new.bits());
        // SAFETY: as the caller promises.
        let atom = unsafe { self.atom(offset) };
        // The release pairs with the acquire of a later loser.
        match atom.compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            // SAFETY: the bits are those of a tagged word of a live object.
            Err(bits) => Err(unsafe { Word::from_bits(bits) }),
        }
    }

    /// Stores into the element `index`, counted from 0. Panics if the object has none.
    #[inline(always)]
    pub fn set_element(self, mutator: &mut Mutator, index: usize, value: Word) {
        // SAFETY: the offset is that of an element.
        unsafe { self.store(self.element_offset(index), value) };
        mutator.element_written(self, index, value);
    }

    /// Stores into the element `index`, counted from 0.
    ///
    /// # Safety
    ///
    /// The object [has](Object::has_element) it.
    #[inline(always)]
    pub unsafe fn set_element_unchecked(self, mutator: &mut Mutator, index: usize, value: Word) {
        debug_assert!(self.has_element(index));
        // SAFETY: the offset is that of an element.
        unsafe { self.store(offset_of_element(index), value) };
        mutator.element_written(self, index, value);
    }

    /// Stores `new` into the element `index` if the element holds `current`. Otherwise answers the element's word.
    /// Panics if the object has no such element.
    #[inline]
    pub fn compare_exchange_element(
        self,
        mutator: &mut Mutator,
        index: usize,
        current: Word,
        new: Word,
    ) -> Result<(), Word> {
        // SAFETY: the offset is that of an element.
        unsafe { self.exchange(self.element_offset(index), current, new) }?;
        mutator.element_written(self, index, new);
        Ok(())
    }

    /// Copies `count` elements of `source`, beginning at `from`, to the elements of this array that begin at `to`. The
    /// two arrays may be the same, and the ranges may overlap. Panics if one of the arrays is too short.
    pub fn copy_elements(
        self,
        mutator: &mut Mutator,
        to: usize,
        source: Object,
        from: usize,
        count: usize,
    ) {
        if count == 0 {
            return;
        }
        // The last elements exist, and so do the ones before them.
        let last = |start: usize| start.saturating_add(count - 1);
        _ = (self.element_offset(last(to)), source.element_offset(last(from)));
        let copy = |index| {
            // SAFETY: both are offsets of elements.
            unsafe {
                let word = source.load(offset_of_element(from + index));
                self.store(offset_of_element(to + index), word);
            }
        };
        if to <= from {
            (0..count).for_each(copy);
        } else {
            (0..count).rev().for_each(copy);
        }
        mutator.elements_written(self, to, count);
    }
}

impl Mutator {
    /// The barrier after a store into a slot by machine code.
    pub fn slot_written(&mut self, object: Object, value: Word) {
        self.object_written(object, value);
    }

    /// The barrier after a store into an element by machine code.
    pub fn element_was_written(&mut self, array: Object, index: usize, value: Word) {
        self.element_written(array, index, value);
    }

    /// The barrier after a store of `value` into any slot of `object`.
    #[inline(always)]
    fn object_written(&mut self, object: Object, value: Word) {
        if value.is_pointer() && object.is_unlogged() {
            self.log(object);
        }
    }

    /// The barrier after a store of `value` as an element of `array`.
    #[inline(always)]
    fn element_written(&mut self, array: Object, index: usize, value: Word) {
        if value.is_pointer() && array.is_unlogged() {
            self.log_elements(array, index, 1);
        }
    }

    /// The barrier after stores of any values as `count` elements of `array`.
    #[inline]
    fn elements_written(&mut self, array: Object, index: usize, count: usize) {
        if array.is_unlogged() {
            self.log_elements(array, index, count);
        }
    }

    /// Notes that data of `object` outside of the heap has changed: the next collection scans the object.
    #[inline(always)]
    pub fn remember(&mut self, object: Object) {
        if object.is_unlogged() {
            self.log(object);
        }
    }

    #[cold]
    fn log(&mut self, object: Object) {
        self.old_binding().log(object);
    }

    #[cold]
    fn log_elements(&mut self, array: Object, index: usize, count: usize) {
        if collector::remembers_elements(array) && self.can_remember() {
            self.old_binding().remember_elements(array, index, count);
        } else {
            self.old_binding().log(array);
        }
    }

    fn old_binding(&self) -> MutatorBinding {
        self.binding.expect("no object is old while there is no collector")
    }

    fn can_remember(&mut self) -> bool {
        let collections = self.heap.collections();
        if self.remembered.since != collections {
            self.remembered = Remembered { since: collections, count: 0 };
        }
        self.remembered.count += 1;
        self.remembered.count <= MAX_REMEMBERED
    }
}
