//! Bound workers: native threads that run what was handed to them, and nothing else.
//!
//! Their numbers come after those of all other workers, so the monitor watches them in the same way: it
//! ends their slices, and has the runtime give away what an item owns that is outside for long. They take
//! no place of an ordinary worker, take no part in searching, and nobody is started in their stead: what is
//! in their inbox waits for them.
//!
//! What an item on a bound worker makes ready goes to the injector, or to another inbox.
//!
//! With a seed, items that are handed over wait among all the others, and when one is chosen, its worker
//! gets the *baton*: the generator and the ready items. It runs the one item with it and gives it back,
//! so one native thread at a time does anything (`seeded.rs`).

use std::sync::PoisonError;

use crate::inbox::{Awaited, Inbox};
use crate::relay::Relay;
use crate::sync::Ordering;
use crate::{Parked, Scheduler, Worker, WorkerId};

/// Numbers of bound workers, counted from 0.
#[derive(Default)]
pub(crate) struct Numbers {
    /// The least that nobody has had.
    next: usize,
    /// Smaller ones whose workers have left.
    vacant: Vec<usize>,
}

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// A number for a bound worker, to which items may be handed from now on. A native thread has to
    /// [become](Scheduler::join_bound) it. `None` if there are as many as there may be.
    pub fn reserve_bound(&self) -> Option<WorkerId> {
        let mut numbers = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let index = numbers.vacant.pop().or_else(|| {
            let index = Some(numbers.next).filter(|index| *index < self.inboxes.len())?;
            numbers.next += 1;
            Some(index)
        })?;
        let id = WorkerId(self.first_bound() + index);
        self.inboxes[index].get_or_init(Inbox::new).reopen();
        self.relay(id).into_iter().for_each(Relay::reopen);
        // Release: who reads it finds the inbox.
        self.bound_count.store(numbers.next, Ordering::Release);
        Some(id)
    }

    /// Gives back a number that no native thread became.
    pub fn release_bound(&self, id: WorkerId) {
        let index = id.0 - self.first_bound();
        self.bound.lock().unwrap_or_else(PoisonError::into_inner).vacant.push(index);
    }

    /// The calling thread becomes the bound worker with this number, which was reserved for it.
    pub fn join_bound(&'static self, id: WorkerId) -> Worker<T, P> {
        let inbox = self.inbox(id).expect("the number was reserved");
        Worker::new_bound(self, id, inbox)
    }

    /// Lets the native thread of a bound worker end when it has nothing to do any more; its number is then
    /// used again. Nobody hands anything to it from now on.
    pub fn dismiss_bound(&self, id: WorkerId) {
        if let Some(inbox) = self.inbox(id) {
            inbox.dismiss();
        }
        if let Some(relay) = self.relay(id) {
            relay.dismiss();
        }
    }

    /// The number of the first bound worker.
    pub(crate) fn first_bound(&self) -> usize {
        self.stealers.len()
    }

    /// The inbox of a bound worker.
    pub(crate) fn inbox(&self, id: WorkerId) -> Option<&Inbox<T>> {
        self.inboxes.get(id.0.checked_sub(self.first_bound())?)?.get()
    }

    /// Numbers of bound workers, among them some that have left.
    pub(crate) fn bound_ids(&self) -> impl Iterator<Item = WorkerId> + use<T, P> {
        let first = self.first_bound();
        (first..first + self.bound_count.load(Ordering::Acquire)).map(WorkerId)
    }

    fn hand_to(&'static self, bound: WorkerId, item: T, queued: T) -> bool {
        let Some(inbox) = self.inbox(bound) else { return false };
        let begin = || self.parking.begin_source();
        let watch = self.watch(bound);
        let mut must_watch = false;
        let was_idle = inbox.offer(item, queued, begin, || {
            // If it is outside for long, it looks into its inbox when it comes back.
            must_watch = !watch.place.is_replaced();
            if must_watch {
                watch.withdraw_excuse();
            }
        });
        if must_watch {
            self.call_monitor();
        }
        was_idle
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    /// Hands an item to a bound worker, who may be this one: `item` if that has nothing to do, and
    /// otherwise `queued`, which then waits for its turn there. Whether it was `item`.
    pub fn hand_to(&mut self, bound: WorkerId, item: T, queued: T) -> bool {
        let runs = bound == self.id() && self.is_running;
        match &mut self.seeded {
            Some(seeded) => seeded.hand_to(bound, item, queued, runs),
            None => self.scheduler.hand_to(bound, item, queued),
        }
    }

    /// What runs on a bound worker is about to end, or to be handed on: what is handed to the worker from now
    /// on finds it idle.
    pub fn end_run(&mut self) {
        if let Some(inbox) = self.inbox {
            self.is_running = false;
            inbox.end_run();
        }
    }

    /// What runs on a bound worker goes on after all, unless something was handed to the worker meanwhile:
    /// then that should run next. Whether it goes on.
    pub fn resume_run(&mut self) -> bool {
        let goes_on = self.inbox.is_none_or(Inbox::resume_run);
        self.is_running |= goes_on;
        goes_on
    }

    /// Whether it runs only what is handed to it.
    pub fn is_bound(&self) -> bool {
        self.inbox.is_some()
    }

    /// The next item of a bound worker.
    pub(crate) fn next_bound(&mut self, inbox: &Inbox<T>) -> Option<T> {
        let item = if self.scheduler.is_seeded() { self.relayed.take() } else { inbox.take() };
        match item {
            Some(item) => Some(self.begin(item)),
            None => {
                self.publish();
                None
            }
        }
    }

    /// Blocks a bound worker until something is handed to it.
    pub(crate) fn park_bound(&mut self, inbox: &Inbox<T>) -> Parked {
        if self.scheduler.is_seeded() {
            return self.await_baton();
        }
        let scheduler = self.scheduler;
        self.excuse();
        match inbox.wait(|| scheduler.parking.end_bound(|| scheduler.has_injected())) {
            Awaited::Item => Parked::Woken,
            Awaited::Stop => Parked::Stopped,
            Awaited::Dismissal => Parked::Surplus,
        }
    }

    /// A bound worker leaves.
    pub(crate) fn leave_bound(&mut self) {
        self.scheduler.watch(self.id()).excuse();
        self.give_back_baton();
        self.scheduler.release_bound(self.id());
    }
}
