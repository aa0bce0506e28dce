//! The strictly hierarchical approach: an item stays with the worker that made it ready, first in, first out. The
//! policy `hierarchical` uses this pool. If too many items wait at that worker already, any worker without items takes
//! the new item, and the items that the new item makes ready stay with the worker that took it.
//!
//! Strands that communicate thus stay together, and workers share only surplus items. But a worker with few long items
//! shares none of them, however idle the other workers are.
//!
//! Without a limit and with one worker, this pool is the policy `interleaving`: one thread, one queue.

use super::{Host, Local, Pool, injected};

/// With how many items in a worker's queue the next one goes to the injector.
const LIMIT: usize = 32;

/// A pool without items of its own: they are in the workers' queues, and in the injector.
pub(super) struct Hierarchical {
    limit: usize,
}

impl Hierarchical {
    pub(super) fn new() -> Hierarchical {
        Hierarchical { limit: LIMIT }
    }

    pub(super) fn without_limit() -> Hierarchical {
        Hierarchical { limit: usize::MAX }
    }
}

impl<T: Copy + Send + 'static> Pool<T> for Hierarchical {
    fn push(&self, host: &'static dyn Host<T>, local: Local<'_, T>, item: T) {
        if local.queue.len() < self.limit {
            local.queue.push(item);
        } else {
            self.inject(host, item);
        }
    }

    fn take(&self, host: &'static dyn Host<T>, local: Local<'_, T>) -> Option<T> {
        local
            .injected_in_turn(host.injector())
            .or_else(|| local.queue.pop())
            .or_else(|| injected(host.injector()))
    }

    fn lets_help(&self) -> bool {
        false
    }
}
