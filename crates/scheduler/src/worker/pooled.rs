//! A worker under a policy with a pool: it pushes ready items into the pool, and takes its next item from there. The
//! worker's `push` and `try_next` call these functions in their cold paths.

use super::Worker;
use crate::policies::{Local, Pool};

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    /// The pool, unless the policy has none or this worker is bound.
    pub(super) fn pool(&self) -> Option<&'static dyn Pool<T>> {
        self.scheduler.pool.as_deref().filter(|_| self.inbox.is_none())
    }

    /// Makes an item ready that waits in a pool.
    pub(super) fn push_to(&mut self, pool: &dyn Pool<T>, item: T) {
        pool.push(self.scheduler, self.local(), item);
        self.recall_if_waiting();
    }

    /// The item to run now, from a pool.
    pub(super) fn next_from(&mut self, pool: &dyn Pool<T>) -> Option<T> {
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
        // The next worker takes the other items; no worker was woken for them while this one had the token.
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
