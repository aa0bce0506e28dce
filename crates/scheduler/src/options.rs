//! The embedder's choices: the policy, the number of workers, the length of a time slice, the seed. The embedder passes
//! them to [`Scheduler::new`](crate::Scheduler::new).

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

/// The parameters of a scheduler.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// Which worker runs which of the ready items.
    pub policy: Policy,
    /// How many workers run at a time, at least one. A seeded scheduler has one worker, whatever the value is; some
    /// policies have a number of their own.
    pub workers: usize,
    /// The greatest number of native threads for ordinary workers, including those whose items are outside. At least
    /// as many as `workers`.
    pub threads: usize,
    /// The greatest number of bound workers, in addition to `threads`.
    pub bound: usize,
    /// How long an item runs before other items get their turn.
    pub slice: Duration,
    /// How long an item may be outside before its worker is replaced.
    pub patience: Duration,
    /// How long an unneeded native thread is kept, since it may soon be needed again.
    pub kept: Duration,
    /// The seed of a repeatable run: every decision is drawn from the seed, and time is virtual.
    pub seed: Option<u64>,
}

impl Default for SchedulerOptions {
    /// Stealing, a worker for each core, 256 threads and as many bound workers, slices of ten milliseconds, a quarter of
    /// a millisecond for items outside, ten seconds for unneeded threads, no seed.
    fn default() -> SchedulerOptions {
        SchedulerOptions {
            policy: Policy::default(),
            workers: cores(),
            threads: 256,
            bound: 256,
            slice: Duration::from_millis(10),
            patience: Duration::from_micros(250),
            kept: Duration::from_secs(10),
            seed: None,
        }
    }
}

/// The number of cores that the process may use. The question takes two dozen system calls.
fn cores() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
    *CORES
}

/// Which worker runs which of the ready items. The meaning of a program does not depend on the policy.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Policy {
    /// Each worker has a slot for the item that it made ready last, and a queue from which idle workers steal.
    #[default]
    Stealing,
    /// One worker, one queue.
    Interleaving,
    /// One pool under a lock, and a native thread for each item in it, up to
    /// [`SchedulerOptions::threads`]: the operating system schedules.
    Threads,
    /// An item stays with the worker that made it ready, unless that worker has too many items.
    Hierarchical,
    /// One pool under a lock, from which each worker takes one item at a time.
    Peered,
    /// A thread that runs no items hands them out.
    Dictated,
    /// Each worker has a queue under a lock; workers balance the queues now and then, and when they are idle.
    Balanced,
}

impl Policy {
    /// All policies, the default one first.
    pub const ALL: [Policy; 7] = [
        Policy::Stealing,
        Policy::Interleaving,
        Policy::Threads,
        Policy::Hierarchical,
        Policy::Peered,
        Policy::Dictated,
        Policy::Balanced,
    ];

    /// The policy's name in options.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Stealing => "stealing",
            Policy::Interleaving => "interleaving",
            Policy::Threads => "threads",
            Policy::Hierarchical => "hierarchical",
            Policy::Peered => "peered",
            Policy::Dictated => "dictated",
            Policy::Balanced => "balanced",
        }
    }
}

impl SchedulerOptions {
    /// How many workers may be active at a time.
    pub(crate) fn places(&self) -> usize {
        match self.policy {
            _ if self.seed.is_some() => 1,
            Policy::Interleaving => 1,
            Policy::Threads => self.threads.max(self.workers).max(1),
            _ => self.workers.max(1),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(name: &str) -> Result<Policy, String> {
        Policy::ALL.into_iter().find(|policy| policy.name() == name).ok_or_else(|| {
            let names = Policy::ALL.map(Policy::name).join(", ");
            format!("there is no scheduler of this name; there are {names}")
        })
    }
}
