//! Where the monitor sleeps.
//!
//! It *pauses* between two looks at working workers, and *rests* if they have all excused it. A
//! *kick* ends either, and one that comes too early ends the next: it is remembered under the lock. So
//! who changes what the monitor has to look at (adds the earliest timer, stops the scheduler) changes
//! it first, then kicks; the monitor takes the kick first, then looks.
//!
//! Workers do not kick a monitor that pauses: it looks soon anyway. `resting` tells them, and the
//! protocol in `watch.rs` says why it can be trusted.

use std::time::Duration;

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, fence, lock};

#[cfg(all(test, feature = "loom"))]
mod model;

pub(crate) struct Gate {
    state: Mutex<State>,
    kicked: Condvar,
    /// Whether the monitor needs a kick to notice a worker. Before it is started, too.
    resting: AtomicBool,
}

struct State {
    is_kicked: bool,
    is_started: bool,
}

/// What somebody who wants the monitor has to do.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kick {
    /// Nothing: it will look.
    Done,
    /// Start its thread.
    Start,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate {
            state: Mutex::new(State { is_kicked: false, is_started: false }),
            kicked: Condvar::new(),
            resting: AtomicBool::new(true),
        }
    }

    /// Makes the monitor look. The first caller has to start it.
    pub(crate) fn kick(&self) -> Kick {
        let mut state = lock(&self.state);
        state.is_kicked = true;
        if !state.is_started {
            state.is_started = true;
            return Kick::Start;
        }
        // Outside of the lock, which the monitor takes as soon as it wakes.
        drop(state);
        self.kicked.notify_one();
        Kick::Done
    }

    /// Makes the monitor look if it is there, without starting it.
    pub(crate) fn kick_if_started(&self) {
        let mut state = lock(&self.state);
        state.is_kicked = true;
        self.kicked.notify_one();
    }

    /// Makes the monitor look if it rests. What it has to see was written before.
    pub(crate) fn recall(&self) -> Kick {
        // R2 and R3 of the protocol in `watch.rs`. The swap lets one of several callers kick.
        fence(Ordering::SeqCst);
        let is_resting = || self.resting.load(Ordering::Relaxed);
        if is_resting() && self.resting.swap(false, Ordering::Relaxed) {
            return self.kick();
        }
        Kick::Done
    }

    /// Called by the monitor. Sleeps until a kick or the timeout, unless it `is_needed`. Whether there
    /// was a kick or a need.
    pub(crate) fn rest(&self, is_needed: impl Fn() -> bool, timeout: Option<Duration>) -> bool {
        // M1 and M2 of the protocol in `watch.rs`.
        self.resting.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_wanted = is_needed() || self.pause(timeout);
        self.resting.store(false, Ordering::Relaxed);
        is_wanted
    }

    /// Called by the monitor. Sleeps until a kick or the timeout; whether it was a kick.
    pub(crate) fn pause(&self, timeout: Option<Duration>) -> bool {
        let mut state = lock(&self.state);
        while !state.is_kicked {
            let Some(timeout) = timeout else {
                state = self.kicked.wait(state).unwrap_or_else(|poison| poison.into_inner());
                continue;
            };
            let waited = self.kicked.wait_timeout(state, timeout);
            // Too early a return costs one look.
            state = waited.unwrap_or_else(|poison| poison.into_inner()).0;
            break;
        }
        std::mem::take(&mut state.is_kicked)
    }
}

/// What tests wait for.
#[cfg(all(test, not(feature = "loom")))]
impl Gate {
    pub(crate) fn is_started(&self) -> bool {
        lock(&self.state).is_started
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.resting.load(Ordering::Relaxed)
    }
}
