//! Mutators: the threads that run guest code, as the heap sees them.
//!
//! A [`Mutator`] is two parts. The *record* stays at one address as long as the mutator is attached
//! and is what the collector reads while the mutator stands still: its status and its root stack.
//! The `Mutator` itself, which may be moved, holds pointers into the record and into the
//! collector's part of the mutator, for fast paths.
//!
//! Invariant: the record is accessed by the mutator's own thread while the mutator runs, and by the
//! collector's threads while it is away (see [`crate::safepoint`]); only the status is shared.

use crate::collector::{self, AllocationWindow, MutatorBinding};
use crate::heap::Heap;
use crate::meter::Meter;
use crate::object::Object;
use crate::options::CollectionKind;
use crate::safepoint::{Participant, Status};
use crate::word::Word;
use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

/// An attached thread: allocates, stores, and takes part in stops. Dropping it detaches the thread.
pub struct Mutator {
    /// Where the next small object goes, or an empty window if every allocation is to be slow.
    pub(crate) window: NonNull<AllocationWindow>,
    /// One bit per word of memory: set for objects whose next store must be logged.
    unlogged_bits: *const AtomicU8,
    record: RecordPointer,
    pub(crate) binding: MutatorBinding,
    pub(crate) heap: &'static Heap,
    /// How many allocations there were, if some of them are to collect.
    pub(crate) stressed: u64,
    /// Whether allocations may go beyond the heap's limit.
    pub(crate) overcommits: bool,
    /// Slots of large arrays remembered since the collection with this number.
    remembered: Remembered,
    /// What was allocated since metering began.
    pub(crate) meter: Meter,
}

// SAFETY: a mutator belongs to whoever owns it; nothing in it depends on the native thread. It is
// not `Sync`: the window and the record are accessed without synchronisation.
unsafe impl Send for Mutator {}

/// The part of a mutator that the collector reads.
pub(crate) struct MutatorRecord {
    pub(crate) status: Status,
    pub(crate) context: usize,
    pub(crate) roots: UnsafeCell<Vec<Word>>,
    pub(crate) binding: Option<MutatorBinding>,
}

/// The address of a record, for as long as its mutator is attached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordPointer(NonNull<MutatorRecord>);

// SAFETY: the record is shared under the protocol of `crate::safepoint`.
unsafe impl Send for RecordPointer {}
// SAFETY: as above.
unsafe impl Sync for RecordPointer {}

/// How many slots of large arrays a mutator remembers one by one between two collections, before
/// it logs whole arrays: bounds the memory of the remembered set.
const MAX_REMEMBERED: u32 = 1 << 16;

#[derive(Default)]
struct Remembered {
    since: u64,
    count: u32,
}

impl Mutator {
    pub(crate) fn attach(heap: &'static Heap, context: usize) -> Mutator {
        let record = heap.safepoints.join(|| RecordPointer::new(context));
        let binding = record.binding();
        let window = match heap.stress {
            None => binding.window(),
            Some(_) => AllocationWindow::empty(),
        };
        Mutator {
            window,
            unlogged_bits: collector::unlogged_bits(),
            record,
            binding,
            heap,
            stressed: 0,
            overcommits: false,
            remembered: Remembered::default(),
            meter: Meter::default(),
        }
    }

    /// The heap this mutator is attached to.
    pub fn heap(&self) -> &'static Heap {
        self.heap
    }

    /// What the mutator attached with.
    pub fn context(&self) -> usize {
        self.record.get().context
    }
}

impl Drop for Mutator {
    fn drop(&mut self) {
        self.heap.safepoints.leave(self.record, || self.binding.destroy());
        self.record.free();
    }
}

/// Stops.
impl Mutator {
    /// Lets a requested collection happen now. *GC point.*
    #[inline(always)]
    pub fn safepoint(&mut self) {
        if self.is_stop_requested() {
            self.heap.safepoints.stop_here(&self.record.get().status);
        }
    }

    /// Whether a collection waits for this mutator.
    #[inline(always)]
    pub fn is_stop_requested(&self) -> bool {
        self.record.get().status.is_stop_requested()
    }

    /// Begins a native section: until [`leave_native`](Mutator::leave_native), this thread touches
    /// no object, and collections do not wait for it. Sections do not nest. *GC point.*
    #[inline]
    pub fn enter_native(&mut self) {
        self.heap.safepoints.enter_native(&self.record.get().status);
    }

    /// Ends a native section; waits for the end of a collection under way. *GC point.*
    #[inline]
    pub fn leave_native(&mut self) {
        self.heap.safepoints.leave_native(&self.record.get().status);
    }

    /// Runs `work`, which touches no object, as a native section. *GC point.*
    pub fn native<R>(&mut self, work: impl FnOnce() -> R) -> R {
        self.enter_native();
        let result = work();
        self.leave_native();
        result
    }

    /// Collects now. *GC point.*
    pub fn collect(&mut self, kind: CollectionKind) {
        let full_collections = self.heap.full_collections();
        self.binding.collect(self.record, kind);
        // A nursery collection that was already on its way may have swallowed the request.
        while kind == CollectionKind::Full && self.heap.full_collections() == full_collections {
            self.binding.collect(self.record, kind);
        }
    }
}

/// The write barrier: after every store of a pointer into an object that may be old.
///
/// An object that survived a collection is *unlogged*. The first store into it since then logs it:
/// the next nursery collection looks at all of its slots. Of large arrays it is the slot that is
/// remembered, at every store, because looking at a million slots takes milliseconds.
impl Mutator {
    /// `value` was stored somewhere in `object`.
    #[inline(always)]
    pub(crate) fn object_written(&mut self, object: Object, value: Word) {
        if value.is_pointer() && self.is_unlogged(object) {
            self.log(object);
        }
    }

    /// `value` was stored as an element of `array`.
    #[inline(always)]
    pub(crate) fn element_written(&mut self, array: Object, index: usize, value: Word) {
        if value.is_pointer() && self.is_unlogged(array) {
            self.log_elements(array, index, 1);
        }
    }

    /// Any values were stored as `count` elements of `array`.
    #[inline]
    pub(crate) fn elements_written(&mut self, array: Object, index: usize, count: usize) {
        if count > 0 && self.is_unlogged(array) {
            self.log_elements(array, index, count);
        }
    }

    /// What belongs to `object` outside the heap has changed: the next collection is to scan it.
    #[inline(always)]
    pub fn remember(&mut self, object: Object) {
        if self.is_unlogged(object) {
            self.log(object);
        }
    }

    #[inline(always)]
    fn is_unlogged(&self, object: Object) -> bool {
        let address = object.address();
        // SAFETY: the table has a bit for every word of the heap's address range, mapped where
        // objects are.
        let byte = unsafe { &*self.unlogged_bits.add(address >> 6) };
        // Relaxed: bits are set by the collector only, and logging twice is harmless.
        byte.load(Ordering::Relaxed) >> (address >> 3 & 7) & 1 != 0
    }

    #[cold]
    fn log(&mut self, object: Object) {
        self.binding.log(object);
    }

    #[cold]
    fn log_elements(&mut self, array: Object, index: usize, count: usize) {
        if collector::remembers_elements(array) && self.can_remember() {
            self.binding.remember_elements(array, index, count);
        } else {
            self.binding.log(array);
        }
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

/// The root stack.
impl Mutator {
    #[inline(always)]
    pub(crate) fn roots(&self) -> &Vec<Word> {
        // SAFETY: this mutator runs, so the collector does not access its roots, and `&self` keeps
        // `roots_mut` away.
        unsafe { &*self.record.get().roots.get() }
    }

    #[inline(always)]
    pub(crate) fn roots_mut(&mut self) -> &mut Vec<Word> {
        // SAFETY: as above, with `&mut self`.
        unsafe { &mut *self.record.get().roots.get() }
    }
}

impl RecordPointer {
    fn new(context: usize) -> RecordPointer {
        let record = MutatorRecord {
            status: Status::running(),
            context,
            roots: UnsafeCell::new(Vec::new()),
            binding: None,
        };
        let mut pointer = NonNull::from(Box::leak(Box::new(record)));
        let binding = MutatorBinding::new(RecordPointer(pointer));
        // SAFETY: the record is not yet shared; binding it did not access it.
        unsafe { pointer.as_mut() }.binding = Some(binding);
        RecordPointer(pointer)
    }

    #[inline(always)]
    pub(crate) fn get<'r>(self) -> &'r MutatorRecord {
        // SAFETY: the record lives until its mutator, or the collector during a stop in which the
        // mutator is attached, has used this pointer for the last time. Changes after its creation
        // go through cells.
        unsafe { self.0.as_ref() }
    }

    pub(crate) fn binding(self) -> MutatorBinding {
        self.get().binding.expect("a record is bound when it is made")
    }

    /// The address, by which the collector knows the mutator.
    pub(crate) fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// The record at an address that [`RecordPointer::address`] answered.
    ///
    /// # Safety
    ///
    /// The mutator is still attached.
    pub(crate) unsafe fn from_address(address: usize) -> RecordPointer {
        RecordPointer(NonNull::new(address as *mut MutatorRecord).expect("a record's address"))
    }

    fn free(self) {
        // SAFETY: made by `Box::leak` in `new`; the mutator has left and is being dropped, so that
        // nobody else has the pointer.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Participant for RecordPointer {
    fn status(&self) -> &Status {
        &self.get().status
    }

    fn stop_requested(&self) {
        Heap::of_process().roots().request_stop(self.get().context);
    }

    fn stop_ended(&self) {
        Heap::of_process().roots().stop_ended(self.get().context);
    }
}
