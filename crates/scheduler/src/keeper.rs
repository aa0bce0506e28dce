//! Who has the baton of a seeded run next, if it is not simply who has it now.
//!
//! One native thread at a time has the baton and runs anything. It gives it away
//!
//! - to a bound worker, with an item for it;
//! - to a worker that *claims* it: whose item was outside, or whose item's turn has come;
//! - to the first worker, if that is *spare*: at its relay, without anything to do.
//!
//! Who gives it away is spare from then on. Bound workers give it to a spare worker when they have run
//! their item.
//!
//! # Outside
//!
//! A worker whose item goes outside *lays the baton down*, and takes it up again when it comes back. Usually nobody
//! touches it meanwhile: the item's call is part of the schedule, however long it takes. But foreign code may wait for
//! something that the machine has to do for it, such as the answer of a callback on a thread of its own. Who
//! wants that *relieves* the worker: a spare worker gets the baton, or a new one, and goes on with the schedule. When the
//! call returns, its worker claims the baton.
//!
//! ```text
//!   has it ──go_outside──▶ laid down ──come_back──▶ has it
//!                              │ relieve                ▲
//!                              ▼                        │ whoever has it: at the next item
//!                       another one has it ── claims ───┘
//! ```

use std::collections::VecDeque;

use crate::relay::Baton;
use crate::seeded::Seeded;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::{Parked, Return, Scheduler, Worker, WorkerId};

/// The worker that the embedder waits for.
const FIRST: WorkerId = WorkerId(0);

/// What is known of the baton beside who has it.
pub(crate) struct Keeper<T> {
    state: Mutex<State<T>>,
    /// Whether somebody claims it. Written under the lock; a hint.
    is_claimed: AtomicBool,
}

struct State<T> {
    /// The baton, if it is laid down, and by whom.
    laid: Option<(WorkerId, Box<Seeded<T>>)>,
    /// How often it was laid down.
    count: u64,
    /// Who claims it, in order.
    claims: VecDeque<WorkerId>,
    /// Who waits at the relay without anything to do.
    spare: Vec<WorkerId>,
    /// For a worker that is being started.
    kept: Option<Box<Seeded<T>>>,
}

/// The laying down of a baton, as who may relieve that worker has seen it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Laying(u64);

impl<T> Keeper<T> {
    pub(crate) fn new() -> Keeper<T> {
        let state =
            State { laid: None, count: 0, claims: VecDeque::new(), spare: Vec::new(), kept: None };
        Keeper { state: Mutex::new(state), is_claimed: AtomicBool::new(false) }
    }

    /// Whether somebody claims the baton. A hint, which is right for who was woken for it.
    pub(crate) fn is_claimed(&self) -> bool {
        self.is_claimed.load(Ordering::Relaxed)
    }

    /// The baton that was kept for a new worker.
    pub(crate) fn take_kept(&self) -> Option<Box<Seeded<T>>> {
        lock(&self.state).kept.take()
    }

    fn lay_down(&self, by: WorkerId, seeded: Box<Seeded<T>>) {
        let mut state = lock(&self.state);
        state.laid = Some((by, seeded));
        state.count += 1;
    }

    /// The baton, if it is where this worker has laid it down; otherwise the worker claims it.
    fn take_up(&self, by: WorkerId) -> Option<Box<Seeded<T>>> {
        let mut state = lock(&self.state);
        match state.laid.take_if(|(laid_by, _)| *laid_by == by) {
            Some((_, seeded)) => Some(seeded),
            None => {
                self.claim(&mut state, by);
                None
            }
        }
    }

    fn claim(&self, state: &mut State<T>, by: WorkerId) {
        state.claims.push_back(by);
        self.is_claimed.store(true, Ordering::Relaxed);
    }

    /// Has a spare worker claim the baton; whether it is spare.
    fn claim_for(&self, spare: WorkerId) -> bool {
        let mut state = lock(&self.state);
        let is_spare = state.remove_spare(spare);
        if is_spare {
            self.claim(&mut state, spare);
        }
        is_spare
    }

    /// Who gets the baton from a worker that is at the end of an item.
    fn next(&self, from: WorkerId) -> Option<WorkerId> {
        let mut state = lock(&self.state);
        let next = state.claims.pop_front();
        self.is_claimed.store(!state.claims.is_empty(), Ordering::Relaxed);
        next.or_else(|| Some(FIRST).filter(|first| *first != from && state.remove_spare(FIRST)))
    }

    fn add_spare(&self, id: WorkerId) {
        lock(&self.state).spare.push(id);
    }

    fn remove_spare(&self, id: WorkerId) {
        lock(&self.state).remove_spare(id);
    }
}

impl<T> State<T> {
    fn remove_spare(&mut self, id: WorkerId) -> bool {
        let before = self.spare.len();
        self.spare.retain(|spare| *spare != id);
        self.spare.len() < before
    }

    /// A spare worker, best the first one.
    fn take_spare(&mut self) -> Option<WorkerId> {
        if self.remove_spare(FIRST) { Some(FIRST) } else { self.spare.pop() }
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// With a seed: if the item that has the right to run is outside, and was so already when `seen` was answered,
    /// another one gets the right. Answers what to ask with the next time.
    ///
    /// For who is in foreign code, and waits for something that the machine does.
    pub fn relieve_outside(&'static self, seen: Option<Laying>) -> Option<Laying> {
        let mut state = lock(&self.keeper.state);
        let laying = state.laid.as_ref().map(|_| Laying(state.count));
        if laying.is_none() || laying != seen {
            return laying;
        }
        let (id, seeded) = state.laid.take()?;
        drop(state);
        self.hooks.replaced(id);
        self.parking.begin_absence();
        if self.inbox(id).is_none() {
            self.parking.step_aside();
        }
        self.give_to_spare(seeded);
        None
    }

    /// With a seed: has a spare worker go on, since what it waits for has come.
    pub fn resume_spare(&'static self, worker: WorkerId) {
        if self.keeper.claim_for(worker) {
            self.wake();
        }
    }

    /// Gives the baton to a worker that has nothing to do, or a new one.
    pub(crate) fn give_to_spare(&self, seeded: Box<Seeded<T>>) {
        let mut state = lock(&self.keeper.state);
        match state.take_spare() {
            Some(spare) => {
                drop(state);
                self.relays[spare.0].give(Baton { seeded, item: None });
            }
            None => {
                state.kept = Some(seeded);
                drop(state);
                self.hooks.start_worker();
            }
        }
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    /// With a seed: the item goes outside.
    pub(crate) fn lay_baton_down(&mut self) {
        self.give_up_search();
        if let Some(seeded) = self.seeded.take() {
            self.has_laid = true;
            self.scheduler.watch(self.id()).place.leave_for_long();
            self.scheduler.keeper.lay_down(self.id(), seeded);
        }
    }

    /// With a seed: the item comes back, and waits until it has the right to run again.
    pub(crate) fn take_baton_up(&mut self) -> Return {
        if !std::mem::take(&mut self.has_laid) {
            return Return::Undisturbed;
        }
        self.scheduler.watch(self.id()).place.return_replaced();
        self.seeded = self.scheduler.keeper.take_up(self.id());
        if self.seeded.is_some() {
            return Return::Undisturbed;
        }
        self.scheduler.wake();
        self.receive_baton();
        if self.inbox.is_none() {
            self.scheduler.parking.step_in();
        }
        self.scheduler.parking.end_absence(|| self.scheduler.has_injected());
        Return::Replaced
    }

    /// Who gets the baton from this worker, which is at the end of an item.
    pub(crate) fn next_holder(&self) -> Option<WorkerId> {
        self.seeded.as_ref().and_then(|_| self.scheduler.keeper.next(self.id()))
    }

    /// Gives the baton to another worker, with an item if that is bound and to run it, and waits at the relay.
    pub(crate) fn pass_baton(&mut self, to: WorkerId, item: Option<T>) -> Parked {
        let (id, scheduler) = (self.id(), self.scheduler);
        // Others are woken instead of this one from now on.
        self.give_up_search();
        let Some(seeded) = self.seeded.take() else { return Parked::Stopped };
        scheduler.parking.step_aside();
        scheduler.keeper.add_spare(id);
        scheduler.relays[to.0].give(Baton { seeded, item });
        let parked = self.receive_baton();
        // Who gave it has done so; without it, all is over.
        scheduler.keeper.remove_spare(id);
        scheduler.parking.step_in();
        parked
    }
}
