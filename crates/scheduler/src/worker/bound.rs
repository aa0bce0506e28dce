//! Bound workers: native threads that run the items handed to them, and no others. The runtime joins one for each strand
//! or vat with a home, and hands items to it from any worker.
//!
//! A bound worker takes no place of an ordinary worker, takes no part in searching, and is not replaced by another
//! thread: the items in its inbox wait for it. The monitor watches it like the others: it ends slices, and makes the
//! runtime give away the property of an item that is outside for long.
//!
//! The items that a bound worker makes ready go to the injector, or to another inbox.
//!
//! With a seed, the items for bound workers wait among all others. When the generator picks one of them, its worker gets
//! the baton with the item, runs the item, and gives the baton back (`baton.rs`).

use crossbeam_deque::Worker as Queue;

use super::Worker;
use crate::inbox::{Awaited, Inbox};
use crate::{Parked, Scheduler, WorkerId};

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// The calling thread becomes the bound worker with this number, which was reserved for it.
    pub fn join_bound(&'static self, id: WorkerId) -> Worker<T, P> {
        let inbox = self.inbox(id).expect("the number was reserved");
        let mut worker = Worker::new(self, id, Queue::new_fifo(), None);
        worker.is_ordinary = false;
        worker.is_plain = false;
        (worker.uses_slot, worker.uses_near) = (false, false);
        worker.inbox = Some(inbox);
        // Other threads withdraw the excuse, too: the worker does not rely on its own copy.
        worker.is_excused = false;
        worker
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    /// Hands an item to a bound worker, which may be this one: `item` if that worker is idle or free; otherwise `queued`,
    /// which then waits there for its turn. Answers whether it was `item`.
    pub fn hand_to(&mut self, bound: WorkerId, item: T, queued: T) -> bool {
        let runs = bound == self.id && self.is_running;
        match &mut self.seeded {
            Some(seeded) => seeded.hand_to(bound, item, queued, runs),
            None => self.scheduler.hand_to(bound, item, queued),
        }
    }

    /// The running item of a bound worker is about to end, or to be given away: from now on, an offer finds the worker
    /// free.
    pub fn end_run(&mut self) {
        if let Some(inbox) = self.inbox {
            self.is_running = false;
            inbox.end_run();
        }
    }

    /// The running item of a bound worker goes on after all, unless an item has arrived meanwhile, which should then
    /// run next. Answers whether the running item goes on.
    pub fn resume_run(&mut self) -> bool {
        let goes_on = self.inbox.is_none_or(Inbox::resume_run);
        self.is_running |= goes_on;
        goes_on
    }

    /// Whether this worker is bound.
    pub fn is_bound(&self) -> bool {
        self.inbox.is_some()
    }

    /// The next item of a bound worker.
    pub(super) fn next_bound(&mut self, inbox: &Inbox<T>) -> Option<T> {
        let item = if self.scheduler.is_seeded() { self.relayed.take() } else { inbox.take() };
        match item {
            Some(item) => Some(self.begin(item)),
            None => {
                self.publish();
                None
            }
        }
    }

    /// Blocks a bound worker until an item is handed to it.
    pub(super) fn park_bound(&mut self, inbox: &Inbox<T>) -> Parked {
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
        self.watch.excuse();
        self.give_back_baton();
        self.scheduler.release_bound(self.id);
    }
}
