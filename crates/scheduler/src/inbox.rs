//! Inboxes: the items that one bound worker alone may run. Any worker offers items to an inbox; the bound worker takes
//! them, one after the other, and runs no others.
//!
//! A bound worker is *idle* while it waits at its empty inbox, or has not reached it yet. It is *free* from the end of its
//! item, or from giving the item away, until it looks into its inbox. Otherwise it is *busy*.
//!
//! An offer consists of two items: one for an idle worker, and one for a busy worker to find later. So the runtime can
//! pass more with an item that runs at once (a whole vat) than with one that has to wait. The inbox chooses between
//! them under its lock:
//!
//! ```text
//!            offer: the item            end_run             wait, no item
//!    IDLE ─────────────────────▶ BUSY ───────────▶ FREE ─────────────────────────▶ IDLE
//!                                 │ ▲               │
//!          offer: the queued one  └─┘ ◀─────────────┘ offer: the item; resume_run
//! ```
//!
//! The state FREE exists for two strands that hand something to each other: each finds the other's worker free, even if
//! that worker is slow to reach its inbox.
//!
//! A bound worker that is not idle is a source (`parking.rs`): from the offer that ends its rest until its next rest. The
//! thread that offers is a worker with an item, or a source, so no stall is found in between.
//!
//! The monitor must be awake while an item waits behind a running one. The worker excuses the monitor under the lock, and
//! only if no item waits; a thread that queues an item withdraws the excuse under the same lock, and calls the monitor.

use std::collections::VecDeque;

use crate::sync::{Condvar, Mutex, MutexGuard, lock};

#[cfg(all(test, feature = "loom"))]
mod model;

/// The items of a bound worker.
pub(crate) struct Inbox<T> {
    state: Mutex<State<T>>,
    filled: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    rest: Rest,
    is_dismissed: bool,
    is_stopped: bool,
}

/// The state of the worker, as in the picture above.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Idle,
    Free,
    Busy,
}

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awaited {
    /// There is an item.
    Item,
    /// The scheduler was stopped.
    Stop,
    /// The worker is not needed any more.
    Dismissal,
}

impl<T> Inbox<T> {
    /// The inbox of a worker that has not joined yet.
    pub(crate) fn new() -> Inbox<T> {
        let state = State {
            items: VecDeque::new(),
            rest: Rest::Idle,
            is_dismissed: false,
            is_stopped: false,
        };
        Inbox { state: Mutex::new(state), filled: Condvar::new() }
    }

    /// Hands over `item` unless the worker is busy; otherwise queues `queued`. Answers whether it was `item`. The closures
    /// are called under the lock.
    pub(crate) fn offer(
        &self,
        item: T,
        queued: T,
        if_idle: impl FnOnce(),
        if_busy: impl FnOnce(),
    ) -> bool {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut state.rest, Rest::Busy) {
            Rest::Busy => {
                if_busy();
                state.items.push_back(queued);
                false
            }
            Rest::Free => {
                state.items.push_back(item);
                true
            }
            Rest::Idle => {
                if_idle();
                state.items.push_back(item);
                // The worker takes the lock as soon as it wakes.
                drop(state);
                self.filled.notify_one();
                true
            }
        }
    }

    /// Called by the worker: the running item is about to end, or to be given away.
    pub(crate) fn end_run(&self) {
        let mut state = lock(&self.state);
        if state.items.is_empty() {
            state.rest = Rest::Free;
        }
    }

    /// Called by the worker: the running item goes on after all, unless an item has arrived; answers whether it goes on.
    pub(crate) fn resume_run(&self) -> bool {
        let mut state = lock(&self.state);
        let goes_on = state.rest == Rest::Free || state.items.is_empty();
        state.rest = Rest::Busy;
        goes_on
    }

    /// Called by the worker: the oldest item, which runs from now on.
    pub(crate) fn take(&self) -> Option<T> {
        let mut state = lock(&self.state);
        let item = state.items.pop_front();
        // A free worker without an offer stays free.
        if item.is_some() {
            state.rest = Rest::Busy;
        }
        item
    }

    /// How many items wait.
    pub(crate) fn len(&self) -> usize {
        lock(&self.state).items.len()
    }

    /// Calls `excuse` under the lock if no item waits.
    pub(crate) fn excuse(&self, excuse: impl FnOnce()) {
        let state = lock(&self.state);
        if state.items.is_empty() {
            excuse();
        }
    }

    /// Called by the worker: waits until there is an item, or until no more items can come. If the worker becomes idle,
    /// calls `rest` without the lock.
    pub(crate) fn wait(&self, rest: impl FnOnce()) -> Awaited {
        let mut state = lock(&self.state);
        if !state.is_stopped && state.items.is_empty() && state.rest != Rest::Idle {
            state.rest = Rest::Idle;
            drop(state);
            rest();
            state = lock(&self.state);
        }
        loop {
            match state.news() {
                Some(awaited) => return awaited,
                None => state = self.sleep(state),
            }
        }
    }

    fn sleep<'a>(&'a self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.filled.wait(state).unwrap_or_else(|poison| poison.into_inner())
    }

    /// Ends the worker's waits, for ever.
    pub(crate) fn stop(&self) {
        lock(&self.state).is_stopped = true;
        self.filled.notify_one();
    }

    /// Ends the worker's wait as soon as it is idle. There are no more offers.
    pub(crate) fn dismiss(&self) {
        lock(&self.state).is_dismissed = true;
        self.filled.notify_one();
    }

    /// The dismissed worker has left; another one will join.
    pub(crate) fn reopen(&self) {
        let mut state = lock(&self.state);
        state.is_dismissed = false;
        state.rest = Rest::Idle;
    }
}

impl<T> State<T> {
    /// The reason to end a wait, if there is one.
    fn news(&self) -> Option<Awaited> {
        if self.is_stopped {
            Some(Awaited::Stop)
        } else if !self.items.is_empty() {
            Some(Awaited::Item)
        } else {
            self.is_dismissed.then_some(Awaited::Dismissal)
        }
    }
}
