//! What an embedder chooses: which policy, how many workers, how long a time slice, and whether a seed decides.

use std::fmt;
use std::thread;
use std::time::Duration;

use crate::Policy;

/// How a scheduler works.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// Who gets which of the items that are ready.
    pub policy: Policy,
    /// How many workers run at a time, at least one. A seeded scheduler has one whatever this says, and some
    /// policies have a number of their own.
    pub workers: usize,
    /// How many native threads there may be, with those whose items are outside. At least as many as
    /// workers.
    pub threads: usize,
    /// How many native threads beyond those there may be that run only what is handed to them.
    pub bound: usize,
    /// How long an item runs before others get their turn.
    pub slice: Duration,
    /// How long an item may be outside before another native thread does what its own would have done.
    pub patience: Duration,
    /// How long a native thread that is not needed is kept, for it may soon be needed again.
    pub kept: Duration,
    /// The seed of a repeatable run: every decision is drawn from it, and time is virtual.
    pub seed: Option<u64>,
}

impl Default for SchedulerOptions {
    /// Stealing, a worker for each core, 256 threads and as many bound ones, slices of ten milliseconds, a quarter of
    /// one for what is outside, ten seconds for threads that are not needed, no seed.
    fn default() -> SchedulerOptions {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        SchedulerOptions {
            policy: Policy::default(),
            workers,
            threads: 256,
            bound: 256,
            slice: Duration::from_millis(10),
            patience: Duration::from_micros(250),
            kept: Duration::from_secs(10),
            seed: None,
        }
    }
}

/// The number of a worker, below [`SchedulerOptions::threads`], or from there on if it is bound. The first
/// to join is number 0; a number is used again when its thread has left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WorkerId(pub(crate) usize);

impl WorkerId {
    /// The worker with this number.
    pub fn from_index(index: usize) -> WorkerId {
        WorkerId(index)
    }

    /// The number, to index tables with.
    pub fn index(self) -> usize {
        self.0
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "worker {}", self.0)
    }
}
