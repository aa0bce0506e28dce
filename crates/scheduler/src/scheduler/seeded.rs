//! The shared side of a seeded run: the choice of the next item, virtual time, and relief. The worker with the baton
//! asks for the next item; threads in foreign code ask for relief.
//!
//! Time is virtual: it passes a little with each decision, and if no item is ready it jumps to the next deadline. While
//! an operation outside is under way, time does not jump: the worker waits in [`Worker::park`](crate::Worker::park) for as
//! long as the deadline is away. Such a run is repeatable only as far as the operation is.

use crossbeam_deque::Steal;

use super::Scheduler;
use crate::WorkerId;
use crate::seeded::{Baton, Chosen, Laying, Relay, Seeded, TIME_PER_DECISION};

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// With a seed: if a worker's item is outside, and was so already when `seen` was answered, another worker gets the
    /// baton. Answers the argument for the next call.
    ///
    /// A thread in foreign code calls it repeatedly while it waits for the machine.
    pub fn relieve_outside(&'static self, seen: Option<Laying>) -> Option<Laying> {
        let (id, seeded) = match self.succession.take_laid(seen) {
            Ok(laid) => laid,
            Err(laying) => return laying,
        };
        self.hooks.replaced(id);
        self.parking.begin_absence();
        if self.inbox(id).is_none() {
            self.parking.step_aside();
        }
        self.give_to_spare(seeded);
        None
    }

    /// With a seed: has a spare worker continue, since the event that it waits for has come.
    pub fn resume_spare(&'static self, worker: WorkerId) {
        if self.succession.claim_for(worker) {
            self.wake();
        }
    }

    /// Gives the baton to a spare worker, or to a new one.
    pub(crate) fn give_to_spare(&self, seeded: Box<Seeded<T>>) {
        match self.succession.spare_or_keep(seeded) {
            Some((spare, seeded)) => self.relays[spare.0].give(Baton { seeded, item: None }),
            None => self.hooks.start_worker(),
        }
    }

    /// The place where a worker of a seeded run waits for the baton.
    pub(crate) fn relay(&self, id: WorkerId) -> Option<&Relay<T>> {
        self.relays.get(id.0)
    }

    /// The item to run now. Delivers timers before, and jumps to them if no item is ready.
    pub(crate) fn choose(&'static self, seeded: &mut Seeded<T>) -> Option<Chosen<T>> {
        self.clock.advance(TIME_PER_DECISION);
        loop {
            self.take_injected(seeded);
            if !seeded.delays_timers() {
                self.deliver_timers(self.clock.now());
                self.take_injected(seeded);
            }
            if seeded.has_waiting() {
                return seeded.pick();
            }
            if self.is_stopped() || !self.jump_to_deadline() {
                return None;
            }
        }
    }

    /// Whether this poll of a seeded run pre-empts.
    pub(crate) fn preempts(&self, seeded: &mut Seeded<T>) -> bool {
        self.clock.advance(TIME_PER_DECISION);
        seeded.preempts()
    }

    fn take_injected(&self, seeded: &mut Seeded<T>) {
        loop {
            match self.injector.steal() {
                Steal::Success(item) => seeded.push(item),
                Steal::Empty => return,
                Steal::Retry => {}
            }
        }
    }

    /// Advances time to the next deadline; answers whether there is one, and no source but the timers.
    fn jump_to_deadline(&self) -> bool {
        let deadline = self.timers.next_deadline();
        let is_alone = self.parking.sources() == self.timers.count();
        let deadline = deadline.filter(|_| is_alone);
        deadline.inspect(|deadline| self.clock.advance_to(*deadline)).is_some()
    }
}
