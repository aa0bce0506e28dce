//! The monitor's sleep: where its thread pauses and rests, and how other threads end that. The monitor calls `pause` and
//! `rest`; workers and threads that add timers call `recall` and `kick`.
//!
//! The monitor *pauses* between two looks at busy workers, and *rests* when all workers have excused it. A *kick* ends
//! either. A kick that comes too early is remembered under the lock and ends the next sleep. So a thread that changes
//! something for the monitor (adds the earliest timer, stops the scheduler) first makes the change, then kicks; the
//! monitor first takes the kick, then looks.
//!
//! Workers do not kick a monitor that pauses, since it looks soon anyway. `resting` tells them which of the two it does;
//! `watch.rs` has the protocol.

use std::time::Duration;

use crate::sync::{AtomicBool, Condvar, Mutex, Ordering, fence, lock};

#[cfg(all(test, feature = "loom"))]
mod model;

/// The monitor's sleep.
pub(crate) struct Gate {
    state: Mutex<State>,
    kicked: Condvar,
    /// Whether the monitor needs a kick to notice a worker. True also before the monitor is started.
    resting: AtomicBool,
}

struct State {
    is_kicked: bool,
    is_started: bool,
}

/// The duty of a thread that needs the monitor.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kick {
    /// Nothing: the monitor will look.
    Done,
    /// Start the monitor's thread.
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

    /// Makes the monitor look. The first caller has to start its thread.
    pub(crate) fn kick(&self) -> Kick {
        let mut state = lock(&self.state);
        state.is_kicked = true;
        if !state.is_started {
            state.is_started = true;
            return Kick::Start;
        }
        // Without the lock: the monitor takes it as soon as it wakes.
        drop(state);
        self.kicked.notify_one();
        Kick::Done
    }

    /// Makes the monitor look if its thread was started.
    pub(crate) fn kick_if_started(&self) {
        let mut state = lock(&self.state);
        state.is_kicked = true;
        self.kicked.notify_one();
    }

    /// Makes the monitor look if it rests. The caller has made its change before.
    pub(crate) fn recall(&self) -> Kick {
        // R2 and R3 of the protocol in `watch.rs`. The swap lets only one of several callers kick.
        fence(Ordering::SeqCst);
        let is_resting = || self.resting.load(Ordering::Relaxed);
        if is_resting() && self.resting.swap(false, Ordering::Relaxed) {
            return self.kick();
        }
        Kick::Done
    }

    /// Called by the monitor. Sleeps until a kick or the timeout, unless it `is_needed`. Answers whether there was a
    /// kick or a need.
    pub(crate) fn rest(&self, is_needed: impl Fn() -> bool, timeout: Option<Duration>) -> bool {
        // M1 and M2 of the protocol in `watch.rs`.
        self.resting.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_wanted = is_needed() || self.pause(timeout);
        self.resting.store(false, Ordering::Relaxed);
        is_wanted
    }

    /// Called by the monitor. Sleeps until a kick or the timeout; answers whether it was a kick.
    pub(crate) fn pause(&self, timeout: Option<Duration>) -> bool {
        let mut state = lock(&self.state);
        while !state.is_kicked {
            let Some(timeout) = timeout else {
                state = self.kicked.wait(state).unwrap_or_else(|poison| poison.into_inner());
                continue;
            };
            let waited = self.kicked.wait_timeout(state, timeout);
            // A spurious wake-up costs one look.
            state = waited.unwrap_or_else(|poison| poison.into_inner()).0;
            break;
        }
        std::mem::take(&mut state.is_kicked)
    }
}

/// States that tests wait for.
#[cfg(all(test, not(feature = "loom")))]
impl Gate {
    pub(crate) fn is_started(&self) -> bool {
        lock(&self.state).is_started
    }

    pub(crate) fn is_resting(&self) -> bool {
        self.resting.load(Ordering::Relaxed)
    }
}
