//! Mutators: the heap's view of the threads that run guest code. The scheduler's workers own them, through the runtime.
//!
//! A [`Mutator`] may be moved. It has a *record* at a fixed address (`record.rs`), with its status and its root stack,
//! which the collector reads while the mutator stands still. The `Mutator` itself holds pointers to the record and into
//! the collector's part of the mutator, for fast paths.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | attaching, stops, the root stack |
//! | `allocation` | new objects |
//! | `barrier` | the write barrier, and the stores that need it |
//! | `root_handles` | roots that Rust code holds |
//! | `meter` | counting allocated bytes |

mod allocation;
mod barrier;
mod meter;
mod root_handles;

pub use root_handles::{RootHandle, RootScope};

use crate::collector::MutatorBinding;
use crate::evacuation;
use crate::heap::Heap;
use crate::options::CollectionKind;
use crate::record::{AllocationWindow, RecordPointer};
use crate::representation::Word;
use barrier::Remembered;
use meter::Meter;
use std::ptr::NonNull;

/// An attached thread: allocates, stores, and takes part in stops. Dropping it detaches the thread.
pub struct Mutator {
    /// The place of the next small object, or an empty window if each allocation is to be slow.
    window: NonNull<AllocationWindow>,
    record: RecordPointer,
    /// The collector's part; `None` while there is no collector.
    binding: Option<MutatorBinding>,
    heap: &'static Heap,
    /// The number of allocations, if some of them are to collect.
    stressed: u64,
    /// Whether the runtime wants to know of the memory that it gets.
    reports: bool,
    /// Whether allocations may go beyond the heap's limit.
    overcommits: bool,
    /// Slots of large arrays remembered since the collection with this number.
    remembered: Remembered,
    /// The bytes allocated since metering began.
    meter: Meter,
}

// SAFETY: a mutator has one owner, and nothing in it depends on the native thread. It is not `Sync`: the window and the
// record are accessed without synchronisation.
unsafe impl Send for Mutator {}

impl Mutator {
    /// Where the address of the window for small objects is in this structure, in bytes. The window has the address of the
    /// next object, and then that of its end. Machine code takes memory from it as [`Mutator::allocate_slots`] does, and
    /// asks the runtime where it is too small.
    pub const WINDOW: usize = std::mem::offset_of!(Mutator, window);

    pub(crate) fn attach(heap: &'static Heap, context: usize) -> Mutator {
        let spare = heap.take_spare();
        let record = heap.safepoints.join(|| {
            if let Some(spare) = spare {
                // SAFETY: its mutator has left, and nothing else has the pointer.
                unsafe { spare.renew(context) };
                return spare;
            }
            let record = RecordPointer::new(context);
            if heap.cradle.is_closed() {
                MutatorBinding::make(record);
            }
            record
        });
        let mut mutator = Mutator {
            window: cradle_window(record),
            record,
            binding: None,
            heap,
            stressed: 0,
            reports: false,
            overcommits: false,
            remembered: Remembered::default(),
            meter: Meter::default(),
        };
        mutator.meet_collector();
        mutator
    }

    /// From now on, the runtime is told of the memory that this mutator gets, by
    /// [`RootSource::memory_taken`](crate::RootSource::memory_taken).
    pub fn report_memory(&mut self) {
        self.reports = true;
    }

    /// Uses the collector's part, if that has been made. Called wherever the mutator has been away.
    #[inline]
    fn meet_collector(&mut self) {
        if self.binding.is_none()
            && let Some(binding) = MutatorBinding::if_made(self.record)
        {
            self.use_collector(binding);
        }
    }

    #[cold]
    fn use_collector(&mut self, binding: MutatorBinding) {
        self.binding = Some(binding);
        self.window = match self.heap.stress {
            None => binding.window(),
            Some(_) => AllocationWindow::empty(),
        };
    }

    /// The collector's part. Leaves the cradle, if there is no collector. *GC point.*
    fn binding(&mut self) -> MutatorBinding {
        loop {
            if let Some(binding) = self.binding {
                return binding;
            }
            let (heap, record) = (self.heap, self.record);
            self.native(|| evacuation::leave_cradle(heap, record));
        }
    }

    /// The heap this mutator is attached to.
    pub fn heap(&self) -> &'static Heap {
        self.heap
    }

    /// The number that the mutator was attached with.
    pub fn context(&self) -> usize {
        self.record.get().context
    }
}

/// The window in a record.
fn cradle_window(record: RecordPointer) -> NonNull<AllocationWindow> {
    NonNull::new(record.get().cradle_window.get()).expect("a field has an address")
}

impl Drop for Mutator {
    fn drop(&mut self) {
        let (heap, record) = (self.heap, self.record);
        heap.safepoints.leave(record, || {
            if let Some(binding) = MutatorBinding::if_made(record) {
                binding.retire();
            }
        });
        match MutatorBinding::if_made(record) {
            Some(_) => heap.keep_spare(record),
            // SAFETY: the mutator has left and is being dropped, so no other thread has the pointer.
            None => unsafe { record.free() },
        }
    }
}

/// Stops.
impl Mutator {
    /// Lets a requested collection happen now. *GC point.*
    #[inline(always)]
    pub fn safepoint(&mut self) {
        if self.is_stop_requested() {
            self.heap.safepoints.stop_here(&self.record.get().status);
            self.meet_collector();
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
        self.meet_collector();
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
        let binding = self.binding();
        let full_collections = self.heap.full_collections();
        binding.collect(self.record, kind);
        // A nursery collection that was under way may have answered this request.
        while kind == CollectionKind::Full && self.heap.full_collections() == full_collections {
            binding.collect(self.record, kind);
        }
    }
}

/// The root stack.
impl Mutator {
    #[inline(always)]
    fn roots(&self) -> &Vec<Word> {
        // SAFETY: this mutator runs, or it stands and another thread walks, which stops all mutators and collections; so the
        // collector does not access its roots, and `&self` keeps `roots_mut` away.
        unsafe { &*self.record.get().roots.get() }
    }

    #[inline(always)]
    fn roots_mut(&mut self) -> &mut Vec<Word> {
        // SAFETY: as above, with `&mut self`.
        unsafe { &mut *self.record.get().roots.get() }
    }
}
