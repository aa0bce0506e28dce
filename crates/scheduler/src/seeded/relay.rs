//! The baton of a seeded run, and the places where native threads wait for it. The worker with the baton passes it
//! through the relay of another worker; `succession.rs` decides which worker is next.
//!
//! The worker with the baton runs; all others wait. An ordinary worker with the baton decides which item is next. If that
//! item is bound to another worker, the baton goes there with the item, and comes back when the item has run.

use crate::Parked;
use crate::seeded::Seeded;
use crate::sync::{Condvar, Mutex, lock};

/// The state of the decisions; and for a bound worker, the item that it is to run.
pub(crate) struct Baton<T> {
    pub(crate) seeded: Box<Seeded<T>>,
    pub(crate) item: Option<T>,
}

/// The place where one worker waits for the baton.
pub(crate) struct Relay<T> {
    state: Mutex<State<T>>,
    given: Condvar,
}

struct State<T> {
    baton: Option<Baton<T>>,
    /// The reason why the baton does not come any more, if that is so.
    is_over: Option<Parked>,
}

impl<T> Relay<T> {
    pub(crate) fn new() -> Relay<T> {
        let state = State { baton: None, is_over: None };
        Relay { state: Mutex::new(state), given: Condvar::new() }
    }

    pub(crate) fn give(&self, baton: Baton<T>) {
        lock(&self.state).baton = Some(baton);
        self.given.notify_one();
    }

    /// Waits for the baton. The error is the reason why the baton does not come any more.
    pub(crate) fn wait(&self) -> Result<Baton<T>, Parked> {
        let mut state = lock(&self.state);
        loop {
            if let Some(baton) = state.baton.take() {
                return Ok(baton);
            }
            if let Some(reason) = state.is_over {
                return Err(reason);
            }
            state = self.given.wait(state).unwrap_or_else(|poison| poison.into_inner());
        }
    }

    /// Ends the worker's waits, since the scheduler was stopped.
    pub(crate) fn stop(&self) {
        self.end(Parked::Stopped);
    }

    /// Ends the worker's waits, since it is not needed any more.
    pub(crate) fn dismiss(&self) {
        self.end(Parked::Surplus);
    }

    fn end(&self, reason: Parked) {
        lock(&self.state).is_over.get_or_insert(reason);
        self.given.notify_one();
    }

    /// Another worker will wait here.
    pub(crate) fn reopen(&self) {
        let mut state = lock(&self.state);
        state.is_over = state.is_over.filter(|reason| *reason == Parked::Stopped);
    }
}
