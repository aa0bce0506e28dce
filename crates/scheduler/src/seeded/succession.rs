//! The succession of the baton: which worker of a seeded run has the baton next. Workers ask at the end of each item and
//! around each call outside; the scheduler asks when foreign code wants relief.
//!
//! One native thread at a time has the baton and runs. It gives the baton
//!
//! - to a bound worker, with an item for that worker;
//! - to a worker that *claims* it: a worker that has come back from outside, or that the runtime has resumed;
//! - to the first worker, if that is *spare*: it waits at its relay without an item.
//!
//! A worker that has given the baton away is spare from then on. A bound worker that has run its item gives the baton to
//! a spare worker.
//!
//! # Outside
//!
//! A worker whose item goes outside *lays the baton down*, and takes it up when it comes back. Usually no other thread
//! touches the baton meanwhile: the call is part of the schedule, however long it takes. But foreign code may wait for
//! the machine, such as for the answer of a callback on another thread. The waiting thread then *relieves* the worker: a
//! spare worker, or a new one, gets the baton and continues the schedule. When the call returns, its worker claims the
//! baton.
//!
//! ```text
//!   has it ──go_outside──▶ laid down ──come_back──▶ has it
//!                              │ relieve               ▲
//!                              ▼                       │ at the end of that worker's item
//!                      another worker has it ─ claims ─┘
//! ```

use std::collections::VecDeque;

use crate::WorkerId;
use crate::seeded::Seeded;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};

/// The candidates for the baton, and the baton itself while no worker has it.
pub(crate) struct Succession<T> {
    state: Mutex<State<T>>,
    /// Whether a worker claims the baton. A hint, written under the lock.
    is_claimed: AtomicBool,
}

struct State<T> {
    /// The baton, if it is laid down, and the worker that has laid it down.
    laid: Option<(WorkerId, Box<Seeded<T>>)>,
    /// How often the baton was laid down.
    count: u64,
    /// The workers that claim the baton, in order.
    claims: VecDeque<WorkerId>,
    /// The workers that wait at their relays without an item.
    spare: Vec<WorkerId>,
    /// The baton, if it waits for a worker that is being started.
    kept: Option<Box<Seeded<T>>>,
}

/// A moment at which the baton was laid down. A thread that wants relief compares two of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Laying(u64);

impl<T> Succession<T> {
    pub(crate) fn new() -> Succession<T> {
        let state =
            State { laid: None, count: 0, claims: VecDeque::new(), spare: Vec::new(), kept: None };
        Succession { state: Mutex::new(state), is_claimed: AtomicBool::new(false) }
    }

    /// Whether a worker claims the baton. A hint, which is exact for a worker that was woken because of a claim.
    pub(crate) fn is_claimed(&self) -> bool {
        self.is_claimed.load(Ordering::Relaxed)
    }

    /// The baton that was kept for a new worker.
    pub(crate) fn take_kept(&self) -> Option<Box<Seeded<T>>> {
        lock(&self.state).kept.take()
    }

    /// A worker whose item goes outside lays the baton down.
    pub(crate) fn lay_down(&self, by: WorkerId, seeded: Box<Seeded<T>>) {
        let mut state = lock(&self.state);
        state.laid = Some((by, seeded));
        state.count += 1;
    }

    /// The baton, if this worker has laid it down and it is still there; otherwise the worker claims it.
    pub(crate) fn take_up(&self, by: WorkerId) -> Option<Box<Seeded<T>>> {
        let mut state = lock(&self.state);
        match state.laid.take_if(|(laid_by, _)| *laid_by == by) {
            Some((_, seeded)) => Some(seeded),
            None => {
                self.claim(&mut state, by);
                None
            }
        }
    }

    /// The baton and the worker that has laid it down, if that was so already at the moment `seen`; otherwise, the
    /// moment to ask with the next time.
    pub(crate) fn take_laid(
        &self,
        seen: Option<Laying>,
    ) -> Result<(WorkerId, Box<Seeded<T>>), Option<Laying>> {
        let mut state = lock(&self.state);
        let laying = state.laid.as_ref().map(|_| Laying(state.count));
        match state.laid.take_if(|_| laying == seen) {
            Some(laid) => Ok(laid),
            None => Err(laying),
        }
    }

    fn claim(&self, state: &mut State<T>, by: WorkerId) {
        state.claims.push_back(by);
        self.is_claimed.store(true, Ordering::Relaxed);
    }

    /// Has a worker claim the baton if it is spare; answers whether it is.
    pub(crate) fn claim_for(&self, spare: WorkerId) -> bool {
        let mut state = lock(&self.state);
        let is_spare = state.remove_spare(spare);
        if is_spare {
            self.claim(&mut state, spare);
        }
        is_spare
    }

    /// The worker that gets the baton from a worker at the end of an item.
    pub(crate) fn next(&self, from: WorkerId) -> Option<WorkerId> {
        let mut state = lock(&self.state);
        let next = state.claims.pop_front();
        self.is_claimed.store(!state.claims.is_empty(), Ordering::Relaxed);
        let first = WorkerId::FIRST;
        next.or_else(|| (first != from && state.remove_spare(first)).then_some(first))
    }

    /// A spare worker to give the baton to, and the baton; `None` if there is none: the baton is then kept for a new
    /// worker, which the caller has to start.
    pub(crate) fn spare_or_keep(
        &self,
        seeded: Box<Seeded<T>>,
    ) -> Option<(WorkerId, Box<Seeded<T>>)> {
        let mut state = lock(&self.state);
        match state.take_spare() {
            Some(spare) => Some((spare, seeded)),
            None => {
                state.kept = Some(seeded);
                None
            }
        }
    }

    pub(crate) fn add_spare(&self, id: WorkerId) {
        lock(&self.state).spare.push(id);
    }

    pub(crate) fn remove_spare(&self, id: WorkerId) {
        lock(&self.state).remove_spare(id);
    }
}

impl<T> State<T> {
    fn remove_spare(&mut self, id: WorkerId) -> bool {
        let before = self.spare.len();
        self.spare.retain(|spare| *spare != id);
        self.spare.len() < before
    }

    /// A spare worker; the first worker, if that is spare.
    fn take_spare(&mut self) -> Option<WorkerId> {
        if self.remove_spare(WorkerId::FIRST) { Some(WorkerId::FIRST) } else { self.spare.pop() }
    }
}
