//! What a worker and the monitor know of each other.
//!
//! The worker writes its *progress*: how many items it has begun to run, whether it runs one, and
//! whether it keeps something that nobody can steal. One relaxed store to a line of its own per switch; the monitor
//! reads it a few times per slice and sees whether the worker has got on. No worker reads a clock.
//!
//! The monitor writes a *request*, and has the runtime bring the worker to the slow path of a poll.
//! A request names the item that it is about (by its number), so it needs no taking back: after a
//! switch it means nothing.
//!
//! # Excused
//!
//! The monitor must be awake while an item waits behind one that runs, and shall sleep otherwise. Had
//! it to find out by itself that nothing waits, each push would need a fence between making an item
//! visible and looking whether the monitor sleeps. So the decision is the worker's: it *excuses*
//! the monitor when asked and nothing waits, and *recalls* it when something does. In between it
//! knows, from a field of its own, that it has to recall; a push on a watched worker costs nothing.
//!
//! ```text
//!   EXCUSED ──── recall: an item runs and another waits ────▶ WATCHED
//!      ▲                                                        │
//!      └─ excuse: asked in a poll, and nothing waits; parking ──┘
//!
//!   worker, recalling                    monitor, about to rest
//!   R1  excused := false                 M1  resting := true
//!   R2  fence (SeqCst)                   M2  fence (SeqCst)
//!   R3  resting? then kick               M3  is anybody not excused? then go on
//!                                        M4  wait for a kick
//! ```
//!
//! One of R3 and M3 sees the other's store. If it is R3, it also takes `resting` back, so that others
//! need not kick as well: the monitor comes to its next M1 after that, hence they are seen by its
//! next M3. A kick is remembered under the gate's lock, so it does
//! not matter whether M4 has begun. `gate/model.rs` explores this.

use crate::outside::Whereabouts;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

const HAS_PRIVATE: u64 = 1;
const RUNS: u64 = 2;
const COUNT_SHIFT: u32 = 2;

/// The words that one worker and the monitor share.
pub(crate) struct Watch {
    progress: AtomicU64,
    /// The number of an item shifted by one, and whether its slice is over.
    request: AtomicU64,
    excused: AtomicBool,
    /// Whether the item that runs is in foreign code.
    pub(crate) place: Whereabouts,
}

/// How far a worker has got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Progress {
    /// How many items have been begun, by all workers that have had this number.
    pub(crate) count: u64,
    /// Whether the last of them still runs.
    pub(crate) runs: bool,
    /// Whether something waits that nobody can steal: in the next slot, or behind.
    pub(crate) has_private: bool,
}

/// What the monitor wants of a worker, as long as it runs the same item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request {
    /// Nothing, or it was about an earlier item.
    None,
    /// Let others take what waits; or, if nothing waits, excuse the monitor.
    Share,
    /// End the item's slice.
    Preempt,
}

impl Watch {
    /// A worker that runs nothing.
    pub(crate) fn new() -> Watch {
        Watch {
            progress: AtomicU64::new(0),
            request: AtomicU64::new(0),
            excused: AtomicBool::new(true),
            place: Whereabouts::new(),
        }
    }

    // Relaxed, all of progress and request: they are hints about one thread, each a word of its own.

    /// Called by the worker.
    #[inline(always)]
    pub(crate) fn set_progress(&self, progress: Progress) {
        let Progress { count, runs, has_private } = progress;
        let word = count << COUNT_SHIFT | u64::from(runs) << 1 | u64::from(has_private);
        self.progress.store(word, Ordering::Relaxed);
    }

    /// Called by the monitor.
    pub(crate) fn progress(&self) -> Progress {
        let word = self.progress.load(Ordering::Relaxed);
        Progress {
            count: word >> COUNT_SHIFT,
            runs: word & RUNS != 0,
            has_private: word & HAS_PRIVATE != 0,
        }
    }

    /// Called by the monitor: asks for something about the item number `count`.
    pub(crate) fn ask(&self, count: u64, request: Request) {
        let is_over = request == Request::Preempt;
        self.request.store(count << 1 | u64::from(is_over), Ordering::Relaxed);
    }

    /// Called by the worker: what is asked of it, while it runs the item number `count`.
    pub(crate) fn request(&self, count: u64) -> Request {
        let word = self.request.load(Ordering::Relaxed);
        match (word >> 1 == count, word & 1 != 0) {
            (false, _) => Request::None,
            (true, false) => Request::Share,
            (true, true) => Request::Preempt,
        }
    }

    pub(crate) fn excuse(&self) {
        // Release: the monitor that reads it sees what the worker has begun before.
        self.excused.store(true, Ordering::Release);
    }

    /// The worker must look whether the monitor rests, with [`Gate::recall`](crate::gate::Gate).
    pub(crate) fn withdraw_excuse(&self) {
        // The fence of `Gate::recall` orders it.
        self.excused.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_excused(&self) -> bool {
        self.excused.load(Ordering::Acquire)
    }
}
