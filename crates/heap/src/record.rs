//! The record of a mutator: the part that the collector reads while the mutator stands still.
//!
//! The record stays at one address while the mutator is attached. The mutator's own thread accesses it while the
//! mutator runs, and the collector's threads while the mutator is away (see [`crate::safepoint`]); only the status is
//! shared.

use crate::representation::Word;
use crate::safepoint::Status;
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The collector's part of a mutator, whose type only the collector knows.
pub(crate) enum CollectorPart {}

/// The part of a mutator that the collector reads.
pub(crate) struct MutatorRecord {
    pub(crate) status: Status,
    pub(crate) context: usize,
    pub(crate) roots: UnsafeCell<Vec<Word>>,
    /// Null until the collector has made it.
    collector_part: AtomicPtr<CollectorPart>,
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
        let record = MutatorRecord {
            status: Status::running(),
            context,
            roots: UnsafeCell::new(Vec::new()),
            collector_part: AtomicPtr::new(ptr::null_mut()),
        };
        RecordPointer(NonNull::from(Box::leak(Box::new(record))))
    }

    #[inline(always)]
    pub(crate) fn get<'r>(self) -> &'r MutatorRecord {
        // SAFETY: the record lives until its mutator, or the collector during a stop in which the
        // mutator is attached, has used this pointer for the last time. Changes after its creation
        // go through cells.
        unsafe { self.0.as_ref() }
    }

    /// Stores the collector's part. Called once, before the record is shared.
    pub(crate) fn set_collector_part(self, part: NonNull<CollectorPart>) {
        // Relaxed: the operation that shares the record orders this store before all uses.
        self.get().collector_part.store(part.as_ptr(), Ordering::Relaxed);
    }

    pub(crate) fn collector_part(self) -> NonNull<CollectorPart> {
        // Relaxed: as above.
        let part = self.get().collector_part.load(Ordering::Relaxed);
        NonNull::new(part).expect("the collector makes its part together with the record")
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
