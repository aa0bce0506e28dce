//! Balanced queues, as in the Linux kernel since 2.6: each worker has a queue under a lock, what it makes ready
//! comes there, and items are moved from long queues to short ones.
//!
//! Who moves them is the worker with the short one: when it has nothing (it then takes from the longest queue),
//! and, busy or not, whenever the monitor has looked a few times since it did so last, for two
//! queues that never get empty may differ in length for ever. It takes half of what the other has more.
//!
//! A worker that goes idle by itself leaves a queue of one item alone: that is most often an item
//! that another one has just made ready and is about to run. One that the monitor had woken, since an item waits,
//! takes it.
//!
//! Locks are leaves: a worker holds one queue's at a time.

use std::collections::VecDeque;

use crossbeam_utils::CachePadded;

use super::{Local, Pool, injected};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use crate::{Scheduler, WorkerId};

/// After how many looks of the monitor a busy worker balances its queue.
const LOOKS_PER_BALANCE: u64 = 4;

/// How much longer another queue must be for a busy worker to take something.
const IMBALANCE: usize = 4;

/// A queue for each worker that there may be.
pub(super) struct Balanced<T> {
    queues: Box<[CachePadded<RunQueue<T>>]>,
}

struct RunQueue<T> {
    items: Mutex<VecDeque<T>>,
    /// How many there are. Written under the lock.
    length: AtomicUsize,
    /// At which look of the monitor the worker balanced it. The worker's own.
    balanced_at: AtomicU64,
}

impl<T: Copy> Balanced<T> {
    pub(super) fn new(threads: usize) -> Balanced<T> {
        Balanced { queues: (0..threads).map(|_| CachePadded::new(RunQueue::new())).collect() }
    }

    /// Moves half of what the longest queue has more than this worker's to this worker's. Nothing, if that is
    /// less than `imbalance`.
    fn pull(&self, worker: WorkerId, joined: usize, imbalance: usize) {
        let own = &self.queues[worker.index()];
        let others = self.queues[..joined].iter().filter(|queue| !std::ptr::eq(*queue, own));
        let Some(busiest) = others.max_by_key(|queue| queue.length()) else { return };
        let surplus = busiest.length().saturating_sub(own.length());
        if surplus >= imbalance.max(1) {
            own.extend(busiest.take(surplus.div_ceil(2)));
        }
    }

    /// Balances the queue of a worker that is busy, now and then.
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
        // Relaxed: for the owner it is exact, for others a hint.
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

impl<T, P> Pool<T, P> for Balanced<T>
where
    T: Copy + Send + 'static,
    P: Send + 'static,
{
    fn push(&self, _scheduler: &'static Scheduler<T, P>, local: Local<'_, T>, item: T) {
        self.queues[local.id.index()].extend([item]);
    }

    fn take(&self, scheduler: &'static Scheduler<T, P>, local: Local<'_, T>) -> Option<T> {
        let (own, joined) = (&self.queues[local.id.index()], scheduler.parking.joined());
        self.balance(local.id, joined, scheduler.looks());
        local
            .injected_in_turn(&scheduler.injector)
            .or_else(|| own.pop())
            .or_else(|| injected(&scheduler.injector))
            .or_else(|| {
                self.pull(local.id, joined, if local.is_woken { 1 } else { 2 });
                own.pop()
            })
    }

    fn waiting(&self, worker: WorkerId) -> usize {
        self.queues.get(worker.index()).map_or(0, |queue| queue.length())
    }

    fn release(&self, scheduler: &'static Scheduler<T, P>, worker: WorkerId) {
        let items = self.queues.get(worker.index()).map(|queue| queue.take(usize::MAX));
        items.into_iter().flatten().for_each(|item| scheduler.injector.push(item));
    }

    fn lets_help(&self) -> bool {
        true
    }
}
