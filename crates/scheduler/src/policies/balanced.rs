//! Balanced queues, as in the Linux kernel since 2.6: each worker has a queue under a lock, which gets the items that
//! the worker makes ready; workers with short queues take items from long ones. The policy `balanced` uses this pool.
//!
//! A worker balances when it has no item: it then takes from the longest queue. A busy worker balances after every few
//! looks of the monitor, because two queues that never get empty could otherwise differ in length for ever. A worker
//! takes half of the difference.
//!
//! A worker that goes idle by itself leaves a queue of one item alone: most often, the queue's owner has just made this
//! item ready and is about to run it. A worker that the monitor has woken for a waiting item takes it.
//!
//! Locks are leaves: a worker holds the lock of one queue at a time.

use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use super::{Host, Local, Pool, injected};
use crate::WorkerId;
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering, lock};

/// After how many looks of the monitor a busy worker balances its queue.
const LOOKS_PER_BALANCE: u64 = 4;

/// How much longer another queue must be for a busy worker to take items from it.
const IMBALANCE: usize = 4;

/// A queue for each worker that there may be.
pub(super) struct Balanced<T> {
    queues: Box<[CachePadded<RunQueue<T>>]>,
}

struct RunQueue<T> {
    items: Mutex<VecDeque<T>>,
    /// How many there are. Written under the lock.
    length: AtomicUsize,
    /// The number of the monitor's look at which the worker has balanced. Only the worker uses it.
    balanced_at: AtomicU64,
}

impl<T: Copy> Balanced<T> {
    pub(super) fn new(threads: usize) -> Balanced<T> {
        Balanced { queues: (0..threads).map(|_| CachePadded::new(RunQueue::new())).collect() }
    }

    /// Moves half of the difference between the longest queue and this worker's queue to the latter, if the difference is
    /// at least `imbalance`.
    fn pull(&self, worker: WorkerId, joined: usize, imbalance: usize) {
        let own = &self.queues[worker.index()];
        let others = self.queues[..joined].iter().filter(|queue| !std::ptr::eq(*queue, own));
        let Some(busiest) = others.max_by_key(|queue| queue.length()) else { return };
        let surplus = busiest.length().saturating_sub(own.length());
        if surplus >= imbalance.max(1) {
            own.extend(busiest.take(surplus.div_ceil(2)));
        }
    }

    /// Balances the queue of a busy worker, after every few looks.
    fn balance(&self, worker: WorkerId, joined: usize, looks: u64) {
        let balanced_at = &self.queues[worker.index()].balanced_at;
        if looks >= balanced_at.load(Ordering::Relaxed) + LOOKS_PER_BALANCE {
            balanced_at.store(looks, Ordering::Relaxed);
            self.pull(worker, joined, IMBALANCE);
        }
    }
}

impl<T: Copy> RunQueue<T> {
    fn new() -> RunQueue<T> {
        RunQueue {
            items: Mutex::new(VecDeque::new()),
            length: AtomicUsize::new(0),
            balanced_at: AtomicU64::new(0),
        }
    }

    fn length(&self) -> usize {
        // Relaxed: exact for the owner, a hint for other threads.
        self.length.load(Ordering::Relaxed)
    }

    fn extend(&self, more: impl IntoIterator<Item = T>) {
        let mut items = lock(&self.items);
        items.extend(more);
        self.length.store(items.len(), Ordering::Relaxed);
    }

    /// The oldest items, at most `most` of them.
    fn take(&self, most: usize) -> Vec<T> {
        let mut items = lock(&self.items);
        let most = most.min(items.len());
        let taken = items.drain(..most).collect();
        self.length.store(items.len(), Ordering::Relaxed);
        taken
    }

    fn pop(&self) -> Option<T> {
        let mut items = lock(&self.items);
        let item = items.pop_front();
        self.length.store(items.len(), Ordering::Relaxed);
        item
    }
}

impl<T: Copy + Send + 'static> Pool<T> for Balanced<T> {
    fn push(&self, _host: &'static dyn Host<T>, local: Local<'_, T>, item: T) {
        self.queues[local.id.index()].extend([item]);
    }

    fn take(&self, host: &'static dyn Host<T>, local: Local<'_, T>) -> Option<T> {
        let (own, joined) = (&self.queues[local.id.index()], host.joined());
        self.balance(local.id, joined, host.looks());
        local
            .injected_in_turn(host.injector())
            .or_else(|| own.pop())
            .or_else(|| injected(host.injector()))
            .or_else(|| {
                self.pull(local.id, joined, if local.is_woken { 1 } else { 2 });
                own.pop()
            })
    }

    fn waiting(&self, worker: WorkerId) -> usize {
        self.queues.get(worker.index()).map_or(0, |queue| queue.length())
    }

    fn release(&self, host: &'static dyn Host<T>, worker: WorkerId) {
        let items = self.queues.get(worker.index()).map(|queue| queue.take(usize::MAX));
        items.into_iter().flatten().for_each(|item| host.injector().push(item));
    }

    fn lets_help(&self) -> bool {
        true
    }
}
