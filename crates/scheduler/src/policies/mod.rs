//! Pools: the places of ready items under the policies other than stealing. The scheduler makes the pool of its policy;
//! its workers, the monitor and other threads put items into it and take them out.
//!
//! Under [`Policy::Stealing`], ready items are in the next slot and the queue of the worker that made them ready
//! (`worker/`), and there is no pool, so the other policies do not slow it down. Under another policy, a worker keeps
//! no item in its next slot; it pushes ready items into a [`Pool`], and takes its next item from the pool.
//!
//! A pool decides where items wait and which worker gets them, and nothing else. Parking, stalls, the monitor, bound
//! workers and replacement are the same under each policy. They ask a pool two questions: how many items wait *for one
//! worker*, and do items wait *for any worker*.
//!
//! | policy | file | its name in Rain |
//! |---|---|---|
//! | `stealing` | `worker/mod.rs`, `worker/search.rs` | – |
//! | `interleaving` | `hierarchical.rs`, with one worker and no limit | interleaving |
//! | `threads` | `peered.rs`, with as many workers as there may be threads | thread per process |
//! | `hierarchical` | `hierarchical.rs` | strictly hierarchical many-to-many |
//! | `peered` | `peered.rs` | peered pooling |
//! | `dictated` | `dictated.rs` | dictated pooling |
//! | `balanced` | `balanced.rs` | Linux 2.6 |
//!
//! The names on the right are those of N. C. C. Brown, *Rain VM: portable concurrency through managing code* (CPA 2006),
//! section 8. A seeded run has no policy: the generator chooses the next item.

mod balanced;
mod dictated;
mod hierarchical;
mod peered;

use crossbeam_deque::{Injector, Steal, Worker as Queue};

use crate::{Policy, SchedulerOptions, WorkerId};
use balanced::Balanced;
use dictated::Dictated;
use hierarchical::Hierarchical;
use peered::Peered;

/// After how many items a worker looks into the injector first. A prime, as in the scheduler of Go, so that it is not in
/// step with the program's own rhythm.
pub(crate) const INJECTOR_INTERVAL: u64 = 61;

/// The pool of a policy, for `threads` workers of which at most `places` are active; `None` if workers keep their items.
pub(crate) fn pool<T>(
    options: &SchedulerOptions,
    threads: usize,
    places: usize,
) -> Option<Box<dyn Pool<T>>>
where
    T: Copy + Send + 'static,
{
    if options.seed.is_some() {
        return None;
    }
    Some(match options.policy {
        Policy::Stealing => return None,
        Policy::Interleaving => Box::new(Hierarchical::without_limit()),
        Policy::Hierarchical => Box::new(Hierarchical::new()),
        Policy::Threads | Policy::Peered => Box::new(Peered::new()),
        Policy::Dictated => Box::new(Dictated::new(threads, places)),
        Policy::Balanced => Box::new(Balanced::new(threads)),
    })
}

/// The scheduler, as far as a pool uses it.
pub(crate) trait Host<T>: Sync {
    /// The items for any worker that are in no pool.
    fn injector(&self) -> &Injector<T>;

    /// The least number that no worker has had.
    fn joined(&self) -> usize;

    /// How often the monitor has looked.
    fn looks(&self) -> u64;

    /// Wakes a worker, or has one started, to look for items that became visible before.
    fn wake(&'static self);

    /// Makes a worker look for items: wakes it, or lets its next `park` return at once.
    fn summon(&self, worker: WorkerId);

    /// The pool has items that no worker knows of: a source begins (`parking.rs`).
    fn begin_source(&self);

    /// The pool has no such items any more.
    fn end_source(&self);
}

/// A worker, as far as a pool uses it.
#[derive(Clone, Copy)]
pub(crate) struct Local<'a, T> {
    pub(crate) id: WorkerId,
    /// The worker's own queue, which other threads can empty.
    pub(crate) queue: &'a Queue<T>,
    /// How many items the worker has begun.
    pub(crate) count: u64,
    /// Whether the worker was woken to look for work.
    pub(crate) is_woken: bool,
}

impl<T> Local<'_, T> {
    /// An item for any worker, if this worker has not looked into the injector for long.
    fn injected_in_turn(&self, injector: &Injector<T>) -> Option<T> {
        if self.count.is_multiple_of(INJECTOR_INTERVAL) { injected(injector) } else { None }
    }
}

/// An item for any worker.
fn injected<T>(injector: &Injector<T>) -> Option<T> {
    loop {
        match injector.steal() {
            Steal::Success(item) => return Some(item),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

/// The place of ready items under a policy other than stealing, beside the workers' queues and the injector.
///
/// An item is in one place. A thread that makes an item visible to workers that may be about to park calls
/// [`Host::wake`] afterwards (`parking.rs`).
pub(crate) trait Pool<T>: Send + Sync {
    /// A worker makes an item ready.
    fn push(&self, host: &'static dyn Host<T>, local: Local<'_, T>, item: T);

    /// Any thread makes an item ready.
    fn inject(&self, host: &'static dyn Host<T>, item: T) {
        host.injector().push(item);
        host.wake();
    }

    /// The item that a worker is to run now.
    fn take(&self, host: &'static dyn Host<T>, local: Local<'_, T>) -> Option<T>;

    /// How many items wait here for this worker.
    fn waiting(&self, _worker: WorkerId) -> usize {
        0
    }

    /// Whether items wait here for any worker.
    fn has_shared(&self) -> bool {
        false
    }

    /// Whether a worker that is about to park should look once more.
    fn is_worth_a_look(&self, _worker: WorkerId) -> bool {
        self.has_shared()
    }

    /// Makes the items that wait here for this worker wait for any worker. The caller wakes a worker afterwards.
    fn release(&self, _host: &'static dyn Host<T>, _worker: WorkerId) {}

    /// Whether an idle worker can take items that wait for a busy worker.
    fn lets_help(&self) -> bool;

    /// Called by the monitor: an item has waited for this worker, while another worker is idle.
    fn call_help(&self, host: &'static dyn Host<T>, _worker: WorkerId) {
        host.wake();
    }

    /// The scheduler has been stopped.
    fn stop(&self) {}
}
