//! A worker of a seeded run: getting the baton, passing it on, laying it down while its item is outside. The worker's
//! ordinary operations call these functions if there is a seed.
//!
//! `seeded/` has the baton and the succession; only the worker with the baton runs.

use super::Worker;
use crate::outside::Return;
use crate::seeded::{Baton, Chosen, Seeded};
use crate::{Parked, Scheduler, WorkerId};

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// With a seed, the baton for a worker that joins: the first worker begins, others are started to continue.
    pub(super) fn baton_for(&self, id: WorkerId) -> Option<Box<Seeded<T>>> {
        match self.options.seed {
            Some(seed) if id == WorkerId::FIRST => Some(Box::new(Seeded::new(seed))),
            _ => self.succession.take_kept(),
        }
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    /// The item to run now, as the generator decides. `None` if this worker has to pass the baton first, in its
    /// next `park`.
    pub(super) fn next_by_decision(&mut self) -> Option<T> {
        if self.passed.is_some() {
            return None;
        }
        let seeded = self.seeded.as_mut()?;
        if let Some(successor) = self.scheduler.succession.next(self.id) {
            self.passed = Some((successor, None));
            return None;
        }
        let Chosen { item, bound } = self.scheduler.choose(seeded)?;
        if let Some(bound) = bound {
            self.passed = Some((bound, Some(item)));
            return None;
        }
        self.count += 1;
        Some(item)
    }

    /// Gives the baton to another worker, with the item if that worker is bound, and waits at the relay.
    pub(super) fn pass_baton(&mut self, to: WorkerId, item: Option<T>) -> Parked {
        let (id, scheduler) = (self.id, self.scheduler);
        // Wakers choose other workers from now on.
        self.give_up_search();
        let Some(seeded) = self.seeded.take() else { return Parked::Stopped };
        scheduler.parking.step_aside();
        scheduler.succession.add_spare(id);
        scheduler.relays[to.0].give(Baton { seeded, item });
        let parked = self.receive_baton();
        // The giver has removed this worker already; without a baton, the scheduler was stopped.
        scheduler.succession.remove_spare(id);
        scheduler.parking.step_in();
        parked
    }

    /// A bound worker gives the baton back, and waits for the next one.
    pub(super) fn await_baton(&mut self) -> Parked {
        self.give_back_baton();
        self.receive_baton()
    }

    /// Gives the baton back, if this bound worker has it.
    pub(super) fn give_back_baton(&mut self) {
        let item = self.relayed.take();
        let Some(mut seeded) = self.seeded.take() else { return };
        // An item is left only if the scheduler was stopped.
        item.into_iter().for_each(|item| seeded.push(item));
        self.scheduler.give_to_spare(seeded);
    }

    /// The item goes outside: lays the baton down.
    #[cold]
    #[inline(never)]
    pub(super) fn lay_baton_down(&mut self) {
        self.give_up_search();
        if let Some(seeded) = self.seeded.take() {
            self.has_laid = true;
            self.watch.place.leave_for_long();
            self.scheduler.succession.lay_down(self.id, seeded);
        }
    }

    /// The item comes back: takes the baton up, or claims it and waits for it.
    #[cold]
    #[inline(never)]
    pub(super) fn take_baton_up(&mut self) -> Return {
        if !std::mem::take(&mut self.has_laid) {
            return Return::Undisturbed;
        }
        self.watch.place.return_replaced();
        self.seeded = self.scheduler.succession.take_up(self.id);
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

    /// A worker leaves: injects its ready items, if it has the baton.
    pub(super) fn inject_seeded(&mut self) {
        let ready = self.seeded.take().map_or_else(Vec::new, |seeded| seeded.into_items());
        let passed = self.passed.take().and_then(|(_, item)| item);
        ready.into_iter().chain(passed).for_each(|item| self.scheduler.injector.push(item));
    }

    /// Waits for the baton.
    fn receive_baton(&mut self) -> Parked {
        let Some(relay) = self.scheduler.relay(self.id) else { return Parked::Stopped };
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
