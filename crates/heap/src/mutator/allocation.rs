//! Allocation: a mutator bumps a pointer, or asks the collector for memory. The runtime makes all objects
//! through the functions here.
//!
//! Each allocation is a *GC point*. It keeps the words passed to it in roots, so a caller has to root only the words
//! that it uses afterwards. `None` means that memory is exhausted. The runtime then raises an exception in the guest,
//! and allocates the objects for that inside [`Mutator::overcommit`].
//!
//! The collector's memory is zeroed, but zero is the small integer 0: slots and elements are filled with nil, or with
//! the caller's word.

use super::Mutator;
use crate::collector::{self, LARGE_OBJECT};
use crate::options::{CollectionKind, Stress};
use crate::representation::{
    Format, LayoutId, MAX_LENGTH, Object, Word, size_of_array, size_of_bytes, size_of_slots,
};
use std::num::NonZeroUsize;

/// No object without a length is large.
const _: () = assert!(size_of_slots(LayoutId::MAX_SLOTS as usize) <= LARGE_OBJECT);

impl Mutator {
    /// Allocates an object with slots, or an ephemeron, all nil. *GC point.*
    #[inline(always)]
    pub fn allocate_slots(&mut self, layout: LayoutId, class: Word) -> Option<Object> {
        assert!(layout.format().has_slots());
        let size = size_of_slots(layout.slot_count());
        let (object, class) = match self.bump(size) {
            Some(object) => (object, class),
            None => self.allocate_slowly(size, class)?,
        };
        object.initialize_header(layout, class);
        for index in 0..layout.slot_count() {
            // SAFETY: the memory is that of an object with this layout.
            unsafe { object.initialize_slot_unchecked(index, Word::NIL) };
        }
        Some(object)
    }

    /// Allocates an object of raw words, all zero. *GC point.*
    #[inline(always)]
    pub fn allocate_raw(&mut self, layout: LayoutId, class: Word) -> Option<Object> {
        assert!(layout.format() == Format::Raw);
        let size = size_of_slots(layout.slot_count());
        let (object, class) = match self.bump(size) {
            Some(object) => (object, class),
            None => self.allocate_slowly(size, class)?,
        };
        object.initialize_header(layout, class);
        Some(object)
    }

    /// Allocates an array or weak array of `length` times `fill`. *GC point.*
    #[inline]
    pub fn allocate_array(
        &mut self,
        layout: LayoutId,
        class: Word,
        length: usize,
        fill: Word,
    ) -> Option<Object> {
        if let Some(object) = self.allocate_array_if_room(layout, class, length, fill) {
            return Some(object);
        }
        if length > MAX_LENGTH {
            return None;
        }
        let depth = self.root_depth();
        let fill = self.push_root(fill);
        let allocated = self.allocate_slowly(size_of_array(length), class);
        let fill = self.get(fill);
        self.truncate_roots(depth);
        let (object, class) = allocated?;
        // SAFETY: the memory is new, and has this size.
        Some(unsafe { make_array(object, layout, class, length, fill) })
    }

    /// Allocates an array if there is room in the window; the collector is not asked. No GC point.
    #[inline]
    pub fn allocate_array_if_room(
        &mut self,
        layout: LayoutId,
        class: Word,
        length: usize,
        fill: Word,
    ) -> Option<Object> {
        assert!(layout.format().has_elements());
        if length > MAX_LENGTH {
            return None;
        }
        let object = self.bump_small(size_of_array(length))?;
        // SAFETY: the memory is new, and has this size.
        Some(unsafe { make_array(object, layout, class, length, fill) })
    }

    /// Allocates an object of `length` bytes, all zero. *GC point.*
    #[inline]
    pub fn allocate_bytes(
        &mut self,
        layout: LayoutId,
        class: Word,
        length: usize,
    ) -> Option<Object> {
        assert!(layout.format() == Format::Bytes);
        if length > MAX_LENGTH {
            return None;
        }
        let size = size_of_bytes(length);
        let (object, class) = match self.bump_small(size) {
            Some(object) => (object, class),
            None => self.allocate_slowly(size, class)?,
        };
        object.initialize_header(layout, class);
        // SAFETY: the memory is that of a byte object with this length.
        unsafe { object.initialize_length(length) };
        Some(object)
    }

    /// Takes memory for an object of this size, unless the collector has to run first or somebody counts: the address. The
    /// caller makes the object before the next GC point. No GC point.
    #[cold]
    pub fn take_at_once(&mut self, size: usize) -> Option<NonZeroUsize> {
        if self.heap.stress.is_some() || self.meter.is_on() || self.reports {
            return None;
        }
        let object = self.reserve_in_cradle(size).or_else(|| self.reserve_at_once(size))?;
        NonZeroUsize::new(object.address())
    }

    /// Runs `work`, whose small allocations may go beyond the limit of an exhausted heap: for the
    /// few objects that tell the guest about it.
    pub fn overcommit<R>(&mut self, work: impl FnOnce(&mut Mutator) -> R) -> R {
        let before = std::mem::replace(&mut self.overcommits, true);
        let result = work(self);
        self.overcommits = before;
        result
    }
}

impl Mutator {
    /// Takes memory for an object that is known to be small.
    #[inline(always)]
    fn bump(&mut self, size: usize) -> Option<Object> {
        let window = self.window.as_ptr();
        // SAFETY: the window is this mutator's, and the collector accesses it only while the mutator is away; or it is
        // the empty window, which all threads read and no thread writes. The memory taken is new, and the caller
        // initialises it.
        unsafe {
            let start = (*window).cursor;
            let end = start + size;
            if end > (*window).limit {
                return None;
            }
            (*window).cursor = end;
            Some(Object::from_address(start))
        }
    }

    /// Takes memory, unless the object is large: the window may be large enough for it, but the
    /// space behind the window is not the one for large objects.
    #[inline(always)]
    fn bump_small(&mut self, size: usize) -> Option<Object> {
        if size <= LARGE_OBJECT { self.bump(size) } else { None }
    }

    /// Takes memory from the collector, and answers it with the class, which may have moved.
    #[cold]
    #[inline(never)]
    fn allocate_slowly(&mut self, size: usize, class: Word) -> Option<(Object, Word)> {
        let depth = self.root_depth();
        let class = self.push_root(class);
        let object = self.reserve(size);
        let class = self.get(class);
        self.truncate_roots(depth);
        Some((object?, class))
    }

    fn reserve(&mut self, size: usize) -> Option<Object> {
        self.collect_for_stress();
        self.meter(size)?;
        if let Some(object) = self.reserve_in_cradle(size) {
            self.metered();
            self.tell_memory(size);
            return Some(object);
        }
        let binding = self.binding();
        self.compact_if_sparse();
        if size > LARGE_OBJECT {
            self.make_room_for(size)?;
        } else if self.heap.sizing.must_check() && !self.overcommits {
            self.make_room()?;
        }
        let object = binding.allocate(size, self.overcommits);
        self.metered();
        self.tell_memory(size);
        object
    }

    /// As [`Mutator::reserve`], but never collects.
    fn reserve_at_once(&mut self, size: usize) -> Option<Object> {
        // Without a binding, there is no collector yet to ask.
        let binding = self.binding?;
        let sizing = &self.heap.sizing;
        let is_at_odds = sizing.must_compact() || sizing.must_check();
        if is_at_odds || (size > LARGE_OBJECT && !sizing.fits(collector::used_bytes(), size)) {
            return None;
        }
        binding.allocate_at_once(size)
    }

    /// Tells the runtime of new memory, if it wants to know: of an object of this size, and of what is left of the window
    /// that it was taken from.
    fn tell_memory(&self, size: usize) {
        if !self.reports {
            return;
        }
        // SAFETY: as in `bump`.
        let left = unsafe { (*self.window.as_ptr()).limit - (*self.window.as_ptr()).cursor };
        let bytes = if size > LARGE_OBJECT { size } else { size + left };
        self.heap.roots().memory_taken(self.context(), bytes);
    }

    /// Takes memory of the cradle; `None` if that is closed or used up, or the object is large.
    fn reserve_in_cradle(&mut self, size: usize) -> Option<Object> {
        if self.binding.is_some() || size > LARGE_OBJECT {
            return None;
        }
        let window = self.heap.cradle.take_window()?;
        // SAFETY: while there is no collector, the window is the one in this mutator's record.
        unsafe { self.window.write(window) };
        self.bump(size)
    }

    /// Collects if a large object's allocation needs it; `None` if that has not made room.
    fn make_room_for(&mut self, size: usize) -> Option<()> {
        let fits = |mutator: &Mutator| mutator.heap.sizing.fits(collector::used_bytes(), size);
        if !fits(self) {
            self.collect_fully();
        }
        fits(self).then_some(())
    }

    /// Collects, and answers `None` if memory is still exhausted.
    fn make_room(&mut self) -> Option<()> {
        self.collect_fully();
        (!self.heap.sizing.report_exhaustion()).then_some(())
    }

    /// Collects everything, and compacts if the collection has left memory sparse.
    fn collect_fully(&mut self) {
        self.collect(CollectionKind::Full);
        self.compact_if_sparse();
    }

    /// Collects once more if the last full collection has left memory sparse.
    fn compact_if_sparse(&mut self) {
        if self.heap.sizing.must_compact() {
            self.collect(CollectionKind::Full);
        }
    }

    fn collect_for_stress(&mut self) {
        let Some(Stress { every, full }) = self.heap.stress else {
            return;
        };
        self.stressed += 1;
        if !self.stressed.is_multiple_of(u64::from(every)) {
            return;
        }
        // Zero is a multiple of zero only, so `full` = 0 never collects fully.
        if (self.stressed / u64::from(every)).is_multiple_of(u64::from(full)) {
            self.heap.sizing.compact_next();
            self.collect(CollectionKind::Full);
        } else {
            self.collect(CollectionKind::Nursery);
        }
    }
}

/// Makes an array of new memory.
///
/// # Safety
///
/// The memory is [that](size_of_array) of an array of this length.
#[inline(always)]
unsafe fn make_array(
    object: Object,
    layout: LayoutId,
    class: Word,
    length: usize,
    fill: Word,
) -> Object {
    object.initialize_header(layout, class);
    // SAFETY: as the caller promises.
    unsafe { object.initialize_array(length, fill) };
    object
}
