//! The baton of a seeded run, and where native threads wait for it.
//!
//! Who has the baton runs; all others wait. Workers that are not bound take the decisions about what is next. If that
//! is bound to another worker, the baton goes there with the item, and comes back when the item has run. Who has
//! the baton otherwise is `keeper.rs`'s affair.

use crate::seeded::Seeded;
use crate::sync::{Condvar, Mutex, lock};
use crate::{Parked, Scheduler, Worker, WorkerId};

/// Everything that decides, and for a bound worker the item that it is to run.
pub(crate) struct Baton<T> {
    pub(crate) seeded: Box<Seeded<T>>,
    pub(crate) item: Option<T>,
}

/// Where one worker gets the baton.
pub(crate) struct Relay<T> {
    state: Mutex<State<T>>,
    given: Condvar,
}

struct State<T> {
    baton: Option<Baton<T>>,
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

    /// Waits for the baton, or says why it does not come any more.
    fn wait(&self) -> Result<Baton<T>, Parked> {
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

    /// Nobody waits here any more, since the scheduler was stopped.
    pub(crate) fn stop(&self) {
        self.end(Parked::Stopped);
    }

    /// The worker that waits here is not needed any more.
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

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// Where a worker of a seeded run waits for the baton.
    pub(crate) fn relay(&self, id: WorkerId) -> Option<&Relay<T>> {
        self.relays.get(id.0)
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    /// A bound worker gives the baton back, and waits for the next one.
    pub(crate) fn await_baton(&mut self) -> Parked {
        self.give_back_baton();
        self.receive_baton()
    }

    /// Gives the baton back, if this bound worker has it.
    pub(crate) fn give_back_baton(&mut self) {
        let item = self.relayed.take();
        let Some(mut seeded) = self.seeded.take() else { return };
        // It was not run, since all is over.
        item.into_iter().for_each(|item| seeded.push(item));
        self.scheduler.give_to_spare(seeded);
    }

    /// Waits for the baton.
    pub(crate) fn receive_baton(&mut self) -> Parked {
        let Some(relay) = self.scheduler.relay(self.id()) else { return Parked::Stopped };
        match relay.wait() {
            Ok(Baton { seeded, item }) => {
                self.seeded = Some(seeded);
                self.relayed = item;
                Parked::Woken
            }
            Err(reason) => reason,
        }
    }
}
