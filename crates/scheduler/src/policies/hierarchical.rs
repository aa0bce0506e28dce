//! The strictly hierarchical approach: what a worker makes ready stays with it, in the order in which it became
//! so. If the worker has too much already, the item goes to whoever has nothing, and what follows
//! from it stays there.
//!
//! Strands that talk to each other thus stay together, and nothing is shared but what was too much. But a
//! worker whose items are few and long shares nothing at all, however idle the others are.
//!
//! Without a limit and with one worker it is *interleaving*: one thread, one queue.

use super::{Local, Pool, injected};
use crate::Scheduler;

/// How many items wait at most behind one that makes another ready, for that to stay.
const LIMIT: usize = 32;

/// A pool that has nothing of its own: items are in the workers' queues, and in the injector.
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

impl<T, P> Pool<T, P> for Hierarchical
where
    T: Copy + Send + 'static,
    P: Send + 'static,
{
    fn push(&self, scheduler: &'static Scheduler<T, P>, local: Local<'_, T>, item: T) {
        if local.queue.len() < self.limit {
            local.queue.push(item);
        } else {
            self.inject(scheduler, item);
        }
    }

    fn take(&self, scheduler: &'static Scheduler<T, P>, local: Local<'_, T>) -> Option<T> {
        local
            .injected_in_turn(&scheduler.injector)
            .or_else(|| local.queue.pop())
            .or_else(|| injected(&scheduler.injector))
    }

    fn lets_help(&self) -> bool {
        false
    }
}
