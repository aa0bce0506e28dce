//! Peered pooling: all ready items wait in one pool under a lock, and a worker takes one item at a time. The policies
//! `peered` and `threads` use this pool.
//!
//! It is fair, and an idle worker finds work wherever there is some. The price is one contended lock, taken twice in each
//! switch; and half of the time, a strand's latest data are read on another processor.
//!
//! With as many workers as there may be native threads, this is nearly a thread for each process: an item that becomes
//! ready gets a thread of its own as long as there are threads, and the operating system decides which of them run.

use std::collections::VecDeque;

use super::{Host, Local, Pool};
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
        // Release: pairs with the load in `is_empty`; a thread that sees the number finds the item.
        self.count.store(items.len(), Ordering::Release);
    }

    fn is_empty(&self) -> bool {
        // Acquire: pairs with the stores under the lock.
        self.count.load(Ordering::Acquire) == 0
    }
}

impl<T: Copy + Send + 'static> Pool<T> for Peered<T> {
    fn push(&self, host: &'static dyn Host<T>, _local: Local<'_, T>, item: T) {
        self.inject(host, item);
    }

    fn inject(&self, host: &'static dyn Host<T>, item: T) {
        self.add(item);
        host.wake();
    }

    fn take(&self, _host: &'static dyn Host<T>, _local: Local<'_, T>) -> Option<T> {
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
