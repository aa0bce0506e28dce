//! What runs next in a seeded run: everything is repeatable, so nothing is left to chance.
//!
//! There is no monitor, and one worker that is not bound. Ready items are a list from which the generator picks.
//! Time is virtual: it passes a little with each decision, and when nothing is ready it jumps to the
//! next deadline. While something is outside it does not jump but waits, in [`Worker::park`], as long
//! as the way to the deadline is; such a run is repeatable only as far as the outside is.
//!
//! Inboxes of bound workers are in the same list, once for each item. Such a worker gets all of this together
//! with the item that it is to run, and gives it back afterwards (`relay.rs`). As it would be without a seed,
//! it is busy as long as it has not run what it has.
//!
//! [`Worker::park`]: crate::Worker::park

use std::collections::{BTreeMap, VecDeque};

use crossbeam_deque::Steal;

use crate::decisions::{Decisions, TIME_PER_DECISION};
use crate::{Scheduler, WorkerId};

/// What a seeded worker has instead of a queue.
pub(crate) struct Seeded<T> {
    decisions: Decisions,
    /// The item that was made ready last, if that was honoured.
    next: Option<T>,
    ready: Vec<Ready<T>>,
    /// What was handed to bound workers, oldest first.
    inboxes: BTreeMap<usize, VecDeque<T>>,
}

/// Something to choose.
enum Ready<T> {
    /// An item for the ordinary worker.
    Item(T),
    /// The oldest item in the inbox of a bound worker.
    Inbox(WorkerId),
}

/// What was chosen.
pub(crate) struct Chosen<T> {
    pub(crate) item: T,
    /// The only worker that may run it, if it is bound to one.
    pub(crate) bound: Option<WorkerId>,
}

impl<T: Copy + Send + 'static> Seeded<T> {
    pub(crate) fn new(seed: u64) -> Seeded<T> {
        Seeded {
            decisions: Decisions::new(seed),
            next: None,
            ready: Vec::new(),
            inboxes: BTreeMap::new(),
        }
    }

    pub(crate) fn push(&mut self, item: T) {
        self.ready.push(Ready::Item(item));
    }

    /// Hands a bound worker the first of these items if it is idle, else the other one; whether it was the
    /// first. The worker may be one that runs something now.
    pub(crate) fn hand_to(&mut self, bound: WorkerId, item: T, queued: T, runs: bool) -> bool {
        let inbox = self.inboxes.entry(bound.0).or_default();
        let is_idle = !runs && inbox.is_empty();
        inbox.push_back(if is_idle { item } else { queued });
        self.ready.push(Ready::Inbox(bound));
        is_idle
    }

    pub(crate) fn push_next(&mut self, item: T) {
        match self.decisions.honours_next() {
            true => self.ready.extend(self.next.replace(item).map(Ready::Item)),
            false => self.push(item),
        }
    }

    pub(crate) fn has_waiting(&self) -> bool {
        self.next.is_some() || !self.ready.is_empty()
    }

    /// The item to run now. Delivers timers before, and jumps to them if nothing else is ready.
    pub(crate) fn next<P: Send + 'static>(
        &mut self,
        scheduler: &'static Scheduler<T, P>,
    ) -> Option<Chosen<T>> {
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
        let items = self.ready.into_iter().filter_map(|ready| match ready {
            Ready::Item(item) => Some(item),
            Ready::Inbox(_) => None,
        });
        self.next.into_iter().chain(items).collect()
    }

    fn take_injected<P: Send + 'static>(&mut self, scheduler: &'static Scheduler<T, P>) {
        loop {
            match scheduler.injector.steal() {
                Steal::Success(item) => self.push(item),
                Steal::Empty => return,
                Steal::Retry => {}
            }
        }
    }

    /// Any of the ready items. The one that is to be next is so mostly, so that the others get their
    /// turn, too.
    fn pick(&mut self) -> Option<Chosen<T>> {
        if self.ready.is_empty() || self.next.is_some() && self.decisions.honours_next() {
            return self.next.take().map(|item| Chosen { item, bound: None });
        }
        let index = self.decisions.choose(self.ready.len());
        Some(match self.ready.swap_remove(index) {
            Ready::Item(item) => Chosen { item, bound: None },
            Ready::Inbox(bound) => {
                let item = self.inboxes.get_mut(&bound.0)?.pop_front()?;
                Chosen { item, bound: Some(bound) }
            }
        })
    }

    /// Lets time go on to the next deadline; whether there is one and it may be jumped to.
    fn jump<P: Send + 'static>(&self, scheduler: &'static Scheduler<T, P>) -> bool {
        let deadline = scheduler.timers.next_deadline();
        let is_alone = scheduler.parking.sources() == scheduler.timers.count();
        let deadline = deadline.filter(|_| is_alone);
        deadline.inspect(|deadline| scheduler.clock.advance_to(*deadline)).is_some()
    }
}
