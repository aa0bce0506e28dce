//! The cradle: the memory of the first objects, before there is a collector. The heap makes it, and mutators take their
//! memory from it until it is used up.
//!
//! To create the collector takes some milliseconds and megabytes, more than most short programs need for all of their
//! objects. So the heap begins with a plain piece of memory, and has neither a collector nor collections. Mutators take
//! *windows* of it, one after the other, and allocate from them as they do from the nursery's. When the cradle is used
//! up, or a mutator wants anything that it does not have (a large object, a collection), the collector is created, the
//! objects that live in the cradle move into the nursery, and the cradle is *closed* for good: see
//! [`crate::evacuation`].
//!
//! Nothing in the cradle is old, so no store is logged.
//!
//! ```text
//!   start                     start + taken             start + BYTES
//!  ┌──────────┬──────────┬──────────┬───────────────────────┐
//!  │ window   │ window   │ window   │ not taken, untouched  │
//!  └──────────┴──────────┴──────────┴───────────────────────┘
//! ```

use crate::record::AllocationWindow;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The bytes of a cradle.
const BYTES: usize = 1 << 20;
/// The bytes of a window. No object of the cradle is larger.
const WINDOW_BYTES: usize = 32 << 10;
/// A heap with a smaller nursery than this has no cradle: the nursery must have room for what lives there.
pub(crate) const LEAST_NURSERY: usize = 4 * BYTES;

/// The memory of the first objects.
#[derive(Debug)]
pub(crate) struct Cradle {
    start: usize,
    /// The bytes of the windows that mutators have taken.
    taken: AtomicUsize,
    /// Changes once, while all mutators stand.
    is_closed: AtomicBool,
}

impl Cradle {
    /// A cradle; a closed one if the operating system gives no memory.
    pub(crate) fn open() -> Cradle {
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at an address that the operating system chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), BYTES, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Cradle::closed();
        }
        Cradle {
            start: start as usize,
            taken: AtomicUsize::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// No cradle.
    pub(crate) fn closed() -> Cradle {
        Cradle { start: 0, taken: AtomicUsize::new(0), is_closed: AtomicBool::new(true) }
    }

    /// Whether the objects have left. Does not change while the calling mutator runs.
    pub(crate) fn is_closed(&self) -> bool {
        // Relaxed: the stop in which it changes orders this.
        self.is_closed.load(Ordering::Relaxed)
    }

    /// New zeroed memory for one mutator; `None` if the cradle is used up.
    pub(crate) fn take_window(&self) -> Option<AllocationWindow> {
        // Relaxed: nothing but the numbers is shared.
        let taken = self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            (taken + WINDOW_BYTES <= BYTES).then_some(taken + WINDOW_BYTES)
        });
        let cursor = self.start + taken.ok()?;
        Some(AllocationWindow { cursor, limit: cursor + WINDOW_BYTES })
    }

    /// The bytes of all windows taken.
    pub(crate) fn used(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Whether there may be an object of the cradle at an address.
    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < BYTES
    }

    /// Gives the memory back. All mutators stand, and no object is left.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        // SAFETY: the memory was mapped by `open`, and nothing refers to it any more. A failure keeps it mapped.
        unsafe { libc::munmap(self.start as *mut libc::c_void, BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_disjoint_and_zeroed_until_none_is_left() {
        let cradle = Cradle::open();
        let mut last = 0;
        for count in 1..=BYTES / WINDOW_BYTES {
            let AllocationWindow { cursor, limit } = cradle.take_window().unwrap();
            assert!(cursor >= last && limit - cursor == WINDOW_BYTES);
            assert!(cradle.contains(cursor) && cradle.contains(limit - 1));
            assert_eq!(cradle.used(), count * WINDOW_BYTES);
            // SAFETY: the window is memory of the cradle, which this test alone uses.
            unsafe {
                assert_eq!((cursor as *const u64).read(), 0);
                (cursor as *mut u64).write(7);
            }
            last = limit;
        }
        assert!(cradle.take_window().is_none());
        assert!(!cradle.contains(last));
        cradle.close();
        assert!(cradle.is_closed());
    }
}
