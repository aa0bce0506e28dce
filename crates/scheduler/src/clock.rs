//! Time since the scheduler was made: real, or virtual in a seeded run. The scheduler reads it for timers, and the
//! monitor for slices.
//!
//! Virtual time is a number that the worker with the baton advances, so a seeded run sees the same times again. The
//! number is an atomic only because other threads may read it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A source of time. Times are durations since the scheduler was made.
pub(crate) enum Clock {
    Real(Instant),
    /// Nanoseconds.
    Virtual(AtomicU64),
}

impl Clock {
    pub(crate) fn real() -> Clock {
        Clock::Real(Instant::now())
    }

    pub(crate) fn seeded() -> Clock {
        Clock::Virtual(AtomicU64::new(0))
    }

    pub(crate) fn now(&self) -> Duration {
        match self {
            Clock::Real(start) => start.elapsed(),
            // Relaxed: a time orders nothing.
            Clock::Virtual(nanoseconds) => {
                Duration::from_nanos(nanoseconds.load(Ordering::Relaxed))
            }
        }
    }

    /// Advances virtual time to `time`, unless it is later already. Has no effect on real time.
    pub(crate) fn advance_to(&self, time: Duration) {
        if let Clock::Virtual(nanoseconds) = self {
            let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            nanoseconds.fetch_max(time, Ordering::Relaxed);
        }
    }

    /// Advances virtual time by a duration.
    pub(crate) fn advance(&self, by: Duration) {
        self.advance_to(self.now().saturating_add(by));
    }
}
