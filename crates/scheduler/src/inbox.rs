//! Inboxes: what one native thread alone may run.
//!
//! A *bound worker* runs the items that are handed to it, one after the other, and nothing else. It is
//! *idle* while it waits at its empty inbox, or has not come to it yet. It is *free* from when it has ended, or
//! given away, what it ran until it looks into its inbox; otherwise it is *busy*.
//!
//! Who hands over brings two items: one for an idle worker, and one that a busy worker finds in its
//! inbox later. So the runtime can give away more together with an item that runs at once (a whole
//! vat) than with one that has to wait. Which of the two it is is decided under the inbox's lock:
//!
//! ```text
//!            offer: the item            end_run             wait, nothing there
//!    IDLE ─────────────────────▶ BUSY ───────────▶ FREE ─────────────────────────▶ IDLE
//!                                 │ ▲               │
//!          offer: what is queued  └─┘ ◀─────────────┘ offer: the item; resume_run
//! ```
//!
//! So two strands that hand something to each other find each other, however slow one is to come to its rest.
//!
//! A bound worker that is not idle is a source (`parking.rs`), from the offer that ended its rest to the next one.
//! Who offers is itself a worker that runs something, or a source, so no stall is told in between.
//!
//! The monitor must be awake while an item waits behind one that runs. The worker excuses it under the lock
//! and only if nothing waits; who queues an item withdraws that under the same lock, and calls it.

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

/// What the worker does, in the words of the file's head.
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
    /// The inbox of a worker that may come later.
    pub(crate) fn new() -> Inbox<T> {
        let state = State {
            items: VecDeque::new(),
            rest: Rest::Idle,
            is_dismissed: false,
            is_stopped: false,
        };
        Inbox { state: Mutex::new(state), filled: Condvar::new() }
    }

    /// Hands over `item` unless the worker is busy, and otherwise queues the other one; whether it was
    /// `item`. The closures are called under the lock.
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

    /// What runs is about to end, or to be given away. Called by the worker.
    pub(crate) fn end_run(&self) {
        let mut state = lock(&self.state);
        if state.items.is_empty() {
            state.rest = Rest::Free;
        }
    }

    /// What runs goes on after all, unless there is an item; whether it does. Called by the worker.
    pub(crate) fn resume_run(&self) -> bool {
        let mut state = lock(&self.state);
        let goes_on = state.rest == Rest::Free || state.items.is_empty();
        state.rest = Rest::Busy;
        goes_on
    }

    /// The oldest item, which runs from now on. Called by the worker.
    pub(crate) fn take(&self) -> Option<T> {
        let mut state = lock(&self.state);
        let item = state.items.pop_front();
        // Who has not been offered anything since it was free is so still.
        if item.is_some() {
            state.rest = Rest::Busy;
        }
        item
    }

    /// How many items wait.
    pub(crate) fn len(&self) -> usize {
        lock(&self.state).items.len()
    }

    /// Calls `excuse` under the lock if nothing waits.
    pub(crate) fn excuse(&self, excuse: impl FnOnce()) {
        let state = lock(&self.state);
        if state.items.is_empty() {
            excuse();
        }
    }

    /// Waits until there is an item, or nothing is to come any more. If the worker is idle from now on,
    /// `rest` is called, without the lock. Called by the worker.
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

    /// Sends the worker home, for ever.
    pub(crate) fn stop(&self) {
        lock(&self.state).is_stopped = true;
        self.filled.notify_one();
    }

    /// Sends the worker home as soon as it is idle. Nobody offers anything any more.
    pub(crate) fn dismiss(&self) {
        lock(&self.state).is_dismissed = true;
        self.filled.notify_one();
    }

    /// The worker was dismissed and has left; another one will come.
    pub(crate) fn reopen(&self) {
        let mut state = lock(&self.state);
        state.is_dismissed = false;
        state.rest = Rest::Idle;
    }
}

impl<T> State<T> {
    /// What the worker waits for, if it has come.
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
