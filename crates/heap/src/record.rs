//! The record of a mutator: the part that the collector reads while the mutator stands still.
//!
//! The record stays at one address while the mutator is attached. Afterwards, another mutator gets it with the collector's part,
//! which knows that address; a record without such a part is freed. The mutator's own thread accesses it while the
//! mutator runs, and the collector's threads while the mutator is away (see [`crate::safepoint`]); only the status is
//! shared.

use crate::representation::Word;
use crate::safepoint::Status;
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The memory from which a mutator takes its next small objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct AllocationWindow {
    /// Where the next object goes.
    pub(crate) cursor: usize,
    /// Where the window ends.
    pub(crate) limit: usize,
}

impl AllocationWindow {
    /// A window in which nothing fits.
    pub(crate) const NOTHING: AllocationWindow = AllocationWindow { cursor: 0, limit: 0 };

    /// Such a window that all mutators may share: nothing is ever written to it.
    pub(crate) fn empty() -> NonNull<AllocationWindow> {
        static EMPTY: AllocationWindow = AllocationWindow::NOTHING;
        NonNull::from(&EMPTY)
    }
}

/// The collector's part of a mutator, whose type only the collector knows.
pub(crate) enum CollectorPart {}

/// The part of a mutator that the collector reads.
pub(crate) struct MutatorRecord {
    pub(crate) status: Status,
    pub(crate) context: usize,
    pub(crate) roots: UnsafeCell<Vec<Word>>,
    /// The mutator's part of the cradle; afterwards, the window is the collector's.
    pub(crate) cradle_window: UnsafeCell<AllocationWindow>,
    /// Null until the collector has made it.
    collector_part: AtomicPtr<CollectorPart>,
}

impl MutatorRecord {
    fn new(context: usize, collector_part: *mut CollectorPart) -> MutatorRecord {
        MutatorRecord {
            status: Status::running(),
            context,
            roots: UnsafeCell::new(Vec::new()),
            cradle_window: UnsafeCell::new(AllocationWindow::NOTHING),
            collector_part: AtomicPtr::new(collector_part),
        }
    }
}

/// The address of a record, for as long as its mutator is attached.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordPointer(NonNull<MutatorRecord>);

// SAFETY: the record is shared under the protocol of `crate::safepoint`.
unsafe impl Send for RecordPointer {}
// SAFETY: as above.
unsafe impl Sync for RecordPointer {}

impl RecordPointer {
    pub(crate) fn new(context: usize) -> RecordPointer {
        let record = MutatorRecord::new(context, ptr::null_mut());
        RecordPointer(NonNull::from(Box::leak(Box::new(record))))
    }

    /// The record of a mutator that has left, for another mutator: as if it were new, but with its collector's part.
    ///
    /// # Safety
    ///
    /// No other thread uses the record.
    pub(crate) unsafe fn renew(self, context: usize) {
        let collector_part = self.collector_part().map_or(ptr::null_mut(), NonNull::as_ptr);
        // SAFETY: made by `Box::leak` in `new`; the caller ensures the rest.
        let record = unsafe { &mut *self.0.as_ptr() };
        *record = MutatorRecord::new(context, collector_part);
    }

    #[inline(always)]
    pub(crate) fn get<'r>(self) -> &'r MutatorRecord {
        // SAFETY: the record lives until its mutator, or the collector during a stop in which the
        // mutator is attached, has used this pointer for the last time. Changes after its creation
        // go through cells.
        unsafe { self.0.as_ref() }
    }

    /// Stores the collector's part. Called once, before the record is shared, or while the mutator is away.
    pub(crate) fn set_collector_part(self, part: NonNull<CollectorPart>) {
        // Relaxed: the operation that shares the record, or ends the stop, orders this store before all uses.
        self.get().collector_part.store(part.as_ptr(), Ordering::Relaxed);
    }

    /// The collector's part; `None` while there is no collector.
    pub(crate) fn collector_part(self) -> Option<NonNull<CollectorPart>> {
        // Relaxed: as above.
        NonNull::new(self.get().collector_part.load(Ordering::Relaxed))
    }

    /// The address by which the collector knows the mutator.
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

    /// Frees the record of a mutator that has left.
    ///
    /// # Safety
    ///
    /// No thread uses the record from now on.
    pub(crate) unsafe fn free(self) {
        // SAFETY: made by `Box::leak` in `new`; the caller ensures the rest.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
