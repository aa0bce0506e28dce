//! Rests between measurements of memory. A measurement of a sandbox stops all threads, so sandboxes that are near their
//! budgets could stop the program for most of the time. After each one there is a rest of three times its duration, for all
//! sandboxes. With a seed there are none: how long something takes is not repeatable.
//!
//! ```text
//!   heap:     no allowance is left, and it is a rest: an overdraft, the sandbox is *due*, its strand is asked to give way
//!   worker:   takes an item of a due sandbox, and it is a rest: keeps the item; the first one starts a timer
//!   timer:    the rest is over: the items are ready again
//!   heap:     no allowance is left, and it is no rest: measures, so the sandbox is due no more
//! ```
//!
//! The overdraft is for what a strand does up to its next poll. If it is used up, too, the sandbox is measured at once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::state::items::Item;

/// How long a rest is, for each measurement's duration.
const REST: u32 = 3;

/// The rests of a machine.
#[derive(Default)]
pub(crate) struct Rests {
    /// When the last one ends, in nanoseconds of the scheduler's time.
    until: AtomicU64,
    /// How many sandboxes are due.
    due: AtomicUsize,
    /// The items that wait for the end of the rest.
    kept: Mutex<Vec<Item>>,
}

impl Rests {
    /// A measurement has ended now.
    pub(crate) fn begin(&self, now: Duration, duration: Duration) {
        let until = (now + REST * duration).as_nanos();
        // Relaxed: a rest orders nothing.
        self.until.store(u64::try_from(until).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// What is left of the rest, if it is one.
    pub(crate) fn left(&self, now: Duration) -> Option<Duration> {
        let until = Duration::from_nanos(self.until.load(Ordering::Relaxed));
        until.checked_sub(now).filter(|left| !left.is_zero())
    }

    /// Whether an item may have to wait.
    #[inline(always)]
    pub(crate) fn is_any_due(&self) -> bool {
        self.due.load(Ordering::Relaxed) != 0
    }

    /// A sandbox has become due.
    pub(crate) fn add_due(&self) {
        self.due.fetch_add(1, Ordering::Relaxed);
    }

    /// A sandbox is due no more.
    pub(crate) fn remove_due(&self) {
        self.due.fetch_sub(1, Ordering::Relaxed);
    }

    /// Keeps an item until the rest is over; whether it is the first.
    pub(crate) fn keep(&self, item: Item) -> bool {
        let mut kept = self.kept.lock();
        kept.push(item);
        kept.len() == 1
    }

    /// Takes the kept items.
    pub(crate) fn take_kept(&self) -> Vec<Item> {
        std::mem::take(&mut *self.kept.lock())
    }
}
