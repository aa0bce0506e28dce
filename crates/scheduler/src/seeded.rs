//! The only worker of a seeded run: everything is repeatable, so nothing is left to chance.
//!
//! There is no monitor and no second worker. Ready items are a list from which the generator picks.
//! Time is virtual: it passes a little with each decision, and when nothing is ready it jumps to the
//! next deadline. While something is outside it does not jump but waits, in [`Worker::park`], as long
//! as the way to the deadline is; such a run is repeatable only as far as the outside is.
//!
//! [`Worker::park`]: crate::Worker::park

use crossbeam_deque::Steal;

use crate::Scheduler;
use crate::decisions::{Decisions, TIME_PER_DECISION};

/// What a seeded worker has instead of a queue.
pub(crate) struct Seeded<T> {
    decisions: Decisions,
    /// The item that was made ready last, if that was honoured.
    next: Option<T>,
    ready: Vec<T>,
}

impl<T: Copy + Send + 'static> Seeded<T> {
    pub(crate) fn new(seed: u64) -> Seeded<T> {
        Seeded { decisions: Decisions::new(seed), next: None, ready: Vec::new() }
    }

    pub(crate) fn push(&mut self, item: T) {
        self.ready.push(item);
    }

    pub(crate) fn push_next(&mut self, item: T) {
        match self.decisions.honours_next() {
            true => self.ready.extend(self.next.replace(item)),
            false => self.ready.push(item),
        }
    }

    pub(crate) fn has_waiting(&self) -> bool {
        self.next.is_some() || !self.ready.is_empty()
    }

    /// The item to run now. Delivers timers before, and jumps to them if nothing else is ready.
    pub(crate) fn next<P: Send + 'static>(
        &mut self,
        scheduler: &'static Scheduler<T, P>,
    ) -> Option<T> {
        scheduler.clock.advance(TIME_PER_DECISION);
        loop {
            self.take_injected(scheduler);
            let delays = self.has_waiting() && self.decisions.delays_timers();
            if !delays {
                scheduler.deliver_timers(scheduler.clock.now());
                self.take_injected(scheduler);
            }
            if self.has_waiting() {
                return self.pick();
            }
            if scheduler.is_stopped() || !self.jump(scheduler) {
                return None;
            }
        }
    }

    pub(crate) fn should_preempt<P: Send + 'static>(
        &mut self,
        scheduler: &'static Scheduler<T, P>,
    ) -> bool {
        scheduler.clock.advance(TIME_PER_DECISION);
        self.decisions.preempts()
    }

    pub(crate) fn into_items(self) -> Vec<T> {
        self.next.into_iter().chain(self.ready).collect()
    }

    fn take_injected<P: Send + 'static>(&mut self, scheduler: &'static Scheduler<T, P>) {
        loop {
            match scheduler.injector.steal() {
                Steal::Success(item) => self.ready.push(item),
                Steal::Empty => return,
                Steal::Retry => {}
            }
        }
    }

    /// Any of the ready items. The one that is to be next is so mostly, so that the others get their
    /// turn, too.
    fn pick(&mut self) -> Option<T> {
        if self.ready.is_empty() || self.next.is_some() && self.decisions.honours_next() {
            return self.next.take();
        }
        let index = self.decisions.choose(self.ready.len());
        Some(self.ready.swap_remove(index))
    }

    /// Lets time go on to the next deadline; whether there is one and it may be jumped to.
    fn jump<P: Send + 'static>(&self, scheduler: &'static Scheduler<T, P>) -> bool {
        let deadline = scheduler.timers.next_deadline();
        let is_alone = scheduler.parking.sources() == scheduler.timers.count();
        let deadline = deadline.filter(|_| is_alone);
        deadline.inspect(|deadline| scheduler.clock.advance_to(*deadline)).is_some()
    }
}
