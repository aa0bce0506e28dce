//! Peered pooling: everything that is ready waits in one pool under a lock, and a worker takes one item at a
//! time.
//!
//! It is fair, and an idle worker finds work wherever there is some. The price is one lock that
//! all fight for, twice a switch; and whatever a strand has just written is read on another processor
//! half of the time.
//!
//! With as many workers as there may be native threads, it is the nearest thing to a thread for each process: an item
//! that becomes ready gets a thread of its own as long as there are some, and the operating system
//! decides which of them run.

use std::collections::VecDeque;

use super::{Local, Pool};
use crate::Scheduler;
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

/// The pool.
pub(super) struct Peered<T> {
    items: Mutex<VecDeque<T>>,
    /// How many there are. Written under the lock.
    count: AtomicUsize,
}

impl<T> Peered<T> {
    pub(super) fn new() -> Peered<T> {
        Peered { items: Mutex::new(VecDeque::new()), count: AtomicUsize::new(0) }
    }

    fn add(&self, item: T) {
        let mut items = lock(&self.items);
        items.push_back(item);
        // Release: who sees the number finds the item.
        self.count.store(items.len(), Ordering::Release);
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}

impl<T, P> Pool<T, P> for Peered<T>
where
    T: Copy + Send + 'static,
    P: Send + 'static,
{
    fn push(&self, scheduler: &'static Scheduler<T, P>, _local: Local<'_, T>, item: T) {
        self.inject(scheduler, item);
    }

    fn inject(&self, scheduler: &'static Scheduler<T, P>, item: T) {
        self.add(item);
        scheduler.wake();
    }

    fn take(&self, _scheduler: &'static Scheduler<T, P>, _local: Local<'_, T>) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut items = lock(&self.items);
        let item = items.pop_front();
        self.count.store(items.len(), Ordering::Release);
        item
    }

    fn has_shared(&self) -> bool {
        !self.is_empty()
    }

    fn lets_help(&self) -> bool {
        false
    }
}
