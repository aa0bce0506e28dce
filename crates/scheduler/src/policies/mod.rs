//! Policies: where items wait that are ready, and which worker gets which.
//!
//! Under [`Policy::Stealing`] they wait where the worker that made them ready has them at hand: in its
//! next slot and its queue (`worker.rs`, `search.rs`). Nothing is asked of a policy there, so a switch
//! costs what it costs. Under the others, a worker keeps nothing in its next slot; it gives what it makes ready
//! to a [`Pool`], and takes what is next from it.
//!
//! A pool decides where items wait and who gets them, and nothing else. Parking, stalls, the monitor, bound
//! workers and replacement are the same under each. What they have to know is the answer to two questions:
//! what waits *for one worker*, and what waits *for anybody*.
//!
//! | policy | file | Rain's name for it |
//! |---|---|---|
//! | `stealing` | `worker.rs`, `search.rs` | – |
//! | `interleaving` | `hierarchical.rs`, with one worker and no limit | interleaving |
//! | `threads` | `peered.rs`, with as many workers as there may be threads | thread per process |
//! | `hierarchical` | `hierarchical.rs` | strictly hierarchical many-to-many |
//! | `peered` | `peered.rs` | peered pooling |
//! | `dictated` | `dictated.rs` | dictated pooling |
//! | `balanced` | `balanced.rs` | Linux 2.6 |
//!
//! The names on the right are those of N. C. C. Brown, *Rain VM: portable concurrency through managing code*
//! (CPA 2006), section 8. With a seed there is no policy: the generator says what is next.

mod balanced;
mod dictated;
mod hierarchical;
mod peered;

use std::fmt;
use std::str::FromStr;

use crossbeam_deque::{Injector, Steal, Worker as Queue};

use crate::{Scheduler, SchedulerOptions, Worker, WorkerId};
use balanced::Balanced;
use dictated::Dictated;
use hierarchical::Hierarchical;
use peered::Peered;

/// After how many items the injector is looked at before what waits for the worker itself. A prime, as in the
/// scheduler of Go, so as not to go in step with the program's own rhythm.
pub(crate) const INJECTOR_INTERVAL: u64 = 61;

/// Who gets which of the items that are ready. What a program means does not depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Policy {
    /// Each worker has a slot for what it made ready last, and a queue from which idle ones steal.
    #[default]
    Stealing,
    /// One worker, one queue.
    Interleaving,
    /// One pool under a lock, and a native thread for each item in it, up to
    /// [`SchedulerOptions::threads`]: the operating system schedules.
    Threads,
    /// What a worker makes ready stays with it, unless it has too much already.
    Hierarchical,
    /// One pool under a lock, from which each worker takes one item at a time.
    Peered,
    /// A thread that runs no items hands them out.
    Dictated,
    /// Each worker has a queue under a lock; queues are balanced now and then, and by who is idle.
    Balanced,
}

impl Policy {
    /// All of them; the first is the one that is meant if nothing is said.
    pub const ALL: [Policy; 7] = [
        Policy::Stealing,
        Policy::Interleaving,
        Policy::Threads,
        Policy::Hierarchical,
        Policy::Peered,
        Policy::Dictated,
        Policy::Balanced,
    ];

    /// Its name, as options have it.
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

    /// How many workers may be active.
    pub(crate) fn places(self, options: &SchedulerOptions) -> usize {
        match self {
            Policy::Interleaving => 1,
            Policy::Threads => options.threads.max(options.workers).max(1),
            _ => options.workers.max(1),
        }
    }

    /// What items wait in, for so many workers of which at most `places` are active; none if workers keep
    /// them.
    pub(crate) fn pool<T, P>(self, threads: usize, places: usize) -> Option<Box<dyn Pool<T, P>>>
    where
        T: Copy + Send + 'static,
        P: Send + 'static,
    {
        Some(match self {
            Policy::Stealing => return None,
            Policy::Interleaving => Box::new(Hierarchical::without_limit()),
            Policy::Hierarchical => Box::new(Hierarchical::new()),
            Policy::Threads | Policy::Peered => Box::new(Peered::new()),
            Policy::Dictated => Box::new(Dictated::new(threads, places)),
            Policy::Balanced => Box::new(Balanced::new(threads)),
        })
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

/// The part of a worker that a pool may use.
#[derive(Clone, Copy)]
pub(crate) struct Local<'a, T> {
    pub(crate) id: WorkerId,
    /// The worker's own queue, which others can empty.
    pub(crate) queue: &'a Queue<T>,
    /// How many items it has begun.
    pub(crate) count: u64,
    /// Whether it was woken to look for work.
    pub(crate) is_woken: bool,
}

impl<T> Local<'_, T> {
    /// An item that waits for anybody, if the injector was not looked at for long.
    fn injected_in_turn(&self, injector: &Injector<T>) -> Option<T> {
        if self.count.is_multiple_of(INJECTOR_INTERVAL) { injected(injector) } else { None }
    }
}

/// An item that waits for anybody.
fn injected<T>(injector: &Injector<T>) -> Option<T> {
    loop {
        match injector.steal() {
            Steal::Success(item) => return Some(item),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

/// Where items wait under a policy other than stealing, beside the workers' queues and the injector.
///
/// An item is in one place. Who makes one visible to workers that may be about to park calls
/// [`Scheduler::wake`] afterwards (`parking.rs`).
pub(crate) trait Pool<T, P>: Send + Sync
where
    T: Copy + Send + 'static,
    P: Send + 'static,
{
    /// A worker makes an item ready.
    fn push(&self, scheduler: &'static Scheduler<T, P>, local: Local<'_, T>, item: T);

    /// Any thread makes an item ready.
    fn inject(&self, scheduler: &'static Scheduler<T, P>, item: T) {
        scheduler.injector.push(item);
        scheduler.wake();
    }

    /// The item that a worker is to run now.
    fn take(&self, scheduler: &'static Scheduler<T, P>, local: Local<'_, T>) -> Option<T>;

    /// How many items wait here for this worker.
    fn waiting(&self, _worker: WorkerId) -> usize {
        0
    }

    /// Whether items wait here for anybody.
    fn has_shared(&self) -> bool {
        false
    }

    /// Whether it is worth while for a worker that is about to park to look once more.
    fn is_worth_a_look(&self, _worker: WorkerId) -> bool {
        self.has_shared()
    }

    /// What waits here for this worker waits for anybody from now on. Who calls it wakes somebody afterwards.
    fn release(&self, _scheduler: &'static Scheduler<T, P>, _worker: WorkerId) {}

    /// Whether an idle worker can help a busy one behind whose item others wait.
    fn lets_help(&self) -> bool;

    /// An item has waited for this worker, while another one is idle. Called by the monitor.
    fn call_help(&self, scheduler: &'static Scheduler<T, P>, _worker: WorkerId) {
        scheduler.wake();
    }

    /// The scheduler has been stopped.
    fn stop(&self) {}
}

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    /// Where the policy has items wait, if that is not in this worker's slot and queue.
    pub(crate) fn pool(&self) -> Option<&'static dyn Pool<T, P>> {
        self.scheduler.pool.as_deref().filter(|_| self.inbox.is_none())
    }

    /// Makes an item ready that waits in a pool.
    pub(crate) fn push_to(&mut self, pool: &dyn Pool<T, P>, item: T) {
        pool.push(self.scheduler, self.local(), item);
        self.recall_if_waiting();
    }

    /// The item to run now, from a pool.
    pub(crate) fn next_from(&mut self, pool: &dyn Pool<T, P>) -> Option<T> {
        let parking = &self.scheduler.parking;
        let found =
            if parking.is_crowded() { None } else { pool.take(self.scheduler, self.local()) };
        let Some(item) = found else {
            self.give_up_search();
            self.publish();
            return None;
        };
        let lets_help = self.search_right.has_token && pool.lets_help();
        self.give_up_search();
        // What is left is the next one's, whom nobody has woken while there was this one.
        let is_surplus = self.scheduler.has_injected() || lets_help && self.has_own();
        if is_surplus && parking.has_idle() {
            self.scheduler.wake();
        }
        Some(self.begin(item))
    }

    fn local(&self) -> Local<'_, T> {
        let is_woken = self.search_right.has_token;
        Local { id: self.id, queue: &self.queue, count: self.count, is_woken }
    }
}
