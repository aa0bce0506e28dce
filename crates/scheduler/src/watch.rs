//! The words that a worker and the monitor share. The worker writes its progress in each switch; the monitor reads it a
//! few times in each slice, and leaves its requests here.
//!
//! *Progress* is one word in a cache line of the worker's own: how many items the worker has begun, whether an item runs,
//! and how many wait where no other worker can steal them. A switch costs one relaxed store. The monitor compares
//! the words of two looks, so no worker reads a clock.
//!
//! A *request* names the item that it concerns by the item's number, and the runtime then brings the worker to the slow
//! path of a poll. After a switch the request has no effect, so the monitor need not withdraw it.
//!
//! The *spare* word names an item, by its number, that runs only because nothing else waited when it began: the item of a
//! group (`worker/groups.rs`). Its slice ends as soon as an item without a group waits.
//!
//! # Excused
//!
//! The monitor must be awake while an item waits behind a running one, and should sleep otherwise. If the monitor
//! had to find out by itself that no item waits, each push would need a fence between making an item visible and checking
//! whether the monitor sleeps. So the worker decides: it *excuses* the monitor when it is asked and no item waits, and
//! *recalls* it when an item waits again. A field of the worker's own says whether a recall is necessary; a push on a
//! watched worker costs nothing.
//!
//! ```text
//!   EXCUSED ──── recall: an item runs and another waits ────▶ WATCHED
//!      ▲                                                        │
//!      └─ excuse: asked in a poll, and no item waits; parking ──┘
//!
//!   worker, recalling                    monitor, about to rest
//!   R1  excused := false                 M1  resting := true
//!   R2  fence (SeqCst)                   M2  fence (SeqCst)
//!   R3  resting? then kick               M3  is a worker not excused? then go on
//!                                        M4  wait for a kick
//! ```
//!
//! R3 sees the store of M1, or M3 sees the store of R1. In the first case, R3 also clears `resting`, so that other
//! workers need not kick as well: the monitor reaches its next M1 later, and its next M3 sees their stores. A kick is
//! remembered under the gate's lock, so it has an effect whether or not M4 has begun. `gate/model.rs` explores this.

use crate::outside::Whereabouts;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

const RUNS: u64 = 1;
const PRIVATE_SHIFT: u32 = 1;
/// The greatest count of private items.
pub(crate) const MOST_PRIVATE: usize = 0x1FF;
const COUNT_SHIFT: u32 = 10;

/// The words that one worker and the monitor share.
pub(crate) struct Watch {
    progress: AtomicU64,
    /// The number of an item, shifted by one, and a bit: whether the item's slice is over.
    request: AtomicU64,
    /// The number of the latest item that was begun only because nothing else waited.
    spare: AtomicU64,
    excused: AtomicBool,
    /// Whether the running item is outside.
    pub(crate) place: Whereabouts,
}

/// The progress of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Progress {
    /// How many items all workers with this number have begun.
    pub(crate) count: u64,
    /// Whether the last of them still runs.
    pub(crate) runs: bool,
    /// How many items wait that no other worker can steal; no more than [`MOST_PRIVATE`] are counted.
    pub(crate) private: usize,
}

/// A request of the monitor, valid as long as the worker runs the same item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// No request, or one that concerns an earlier item.
    None,
    /// Make the waiting items stealable; or, if no item waits, excuse the monitor.
    Share,
    /// End the item's slice.
    Preempt,
}

impl Watch {
    /// The words of a worker that runs no item.
    pub(crate) fn new() -> Watch {
        Watch {
            progress: AtomicU64::new(0),
            request: AtomicU64::new(0),
            spare: AtomicU64::new(0),
            excused: AtomicBool::new(true),
            place: Whereabouts::new(),
        }
    }

    // Progress, request and spare are relaxed: each is a hint in one word about one thread.

    /// Called by the worker.
    #[inline(always)]
    pub(crate) fn set_progress(&self, progress: Progress) {
        let Progress { count, runs, private } = progress;
        debug_assert!(private <= MOST_PRIVATE);
        let word = count << COUNT_SHIFT | (private as u64) << PRIVATE_SHIFT | u64::from(runs);
        self.progress.store(word, Ordering::Relaxed);
    }

    /// Called by the monitor.
    pub(crate) fn progress(&self) -> Progress {
        let word = self.progress.load(Ordering::Relaxed);
        Progress {
            count: word >> COUNT_SHIFT,
            runs: word & RUNS != 0,
            private: (word >> PRIVATE_SHIFT) as usize & MOST_PRIVATE,
        }
    }

    /// Called by the worker: item number `count` begins only because nothing else waits.
    pub(crate) fn set_spare(&self, count: u64) {
        self.spare.store(count, Ordering::Relaxed);
    }

    /// Called by the monitor: whether item number `count` was begun only because nothing else waited.
    pub(crate) fn is_spare(&self, count: u64) -> bool {
        self.spare.load(Ordering::Relaxed) == count
    }

    /// Called by the monitor: leaves a request that concerns item number `count`.
    pub(crate) fn ask(&self, count: u64, request: Request) {
        let is_over = request == Request::Preempt;
        self.request.store(count << 1 | u64::from(is_over), Ordering::Relaxed);
    }

    /// Called by the worker, which runs item number `count`: the request that concerns this item.
    pub(crate) fn request(&self, count: u64) -> Request {
        let word = self.request.load(Ordering::Relaxed);
        match (word >> 1 == count, word & 1 != 0) {
            (false, _) => Request::None,
            (true, false) => Request::Share,
            (true, true) => Request::Preempt,
        }
    }

    pub(crate) fn excuse(&self) {
        // Release: pairs with the load in `is_excused`, so that the monitor sees the worker's progress.
        self.excused.store(true, Ordering::Release);
    }

    /// The caller must check afterwards whether the monitor rests, with [`Gate::recall`](crate::gate::Gate).
    pub(crate) fn withdraw_excuse(&self) {
        // Relaxed: the fence of `Gate::recall` orders it.
        self.excused.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_excused(&self) -> bool {
        // Acquire: pairs with the store in `excuse`.
        self.excused.load(Ordering::Acquire)
    }
}
