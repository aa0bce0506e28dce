//! Bound workers, as the scheduler and other threads see them: their numbers, their inboxes, and handing items to them.
//! The runtime reserves a number, starts a native thread for it, and hands items to it.
//!
//! The numbers of bound workers follow those of the ordinary ones, so the monitor watches both in the same way.
//!
//! A number is taken from its reservation until its worker has left. A dismissed worker *is leaving* in between: a
//! reservation that finds no number waits for one of these ([`Scheduler::reserve_bound_of_leaving`]).

use std::sync::{MutexGuard, PoisonError};

use super::Scheduler;
use crate::WorkerId;
use crate::inbox::Inbox;
use crate::seeded::Relay;
use crate::sync::Ordering;

/// The numbers of bound workers, counted from 0.
#[derive(Default)]
pub(super) struct Numbers {
    /// The least number that no worker has had.
    next: usize,
    /// Smaller numbers, whose workers have left.
    vacant: Vec<usize>,
    /// The numbers of dismissed workers that have not left yet.
    leaving: Vec<usize>,
}

impl Numbers {
    /// Takes one of `count` numbers, if there is one.
    fn take(&mut self, count: usize) -> Option<usize> {
        self.vacant.pop().or_else(|| {
            let index = Some(self.next).filter(|index| *index < count)?;
            self.next += 1;
            Some(index)
        })
    }

    /// The worker with this number has left.
    fn give_back(&mut self, index: usize) {
        self.leaving.retain(|leaving| *leaving != index);
        self.vacant.push(index);
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// A number for a bound worker. Items may be handed to the number from now on; a native thread has to
    /// [become](Scheduler::join_bound) the worker. `None` if there are as many bound workers as there may be.
    pub fn reserve_bound(&self) -> Option<WorkerId> {
        let mut numbers = self.bound_numbers();
        let index = numbers.take(self.inboxes.len())?;
        Some(self.open_bound(index, &numbers))
    }

    /// As [`Scheduler::reserve_bound`], but if there is no number, waits until a dismissed worker has left. `None` if
    /// none is leaving. The caller keeps no worker from leaving meanwhile.
    pub fn reserve_bound_of_leaving(&self) -> Option<WorkerId> {
        let mut numbers = self.bound_numbers();
        loop {
            if let Some(index) = numbers.take(self.inboxes.len()) {
                return Some(self.open_bound(index, &numbers));
            }
            if numbers.leaving.is_empty() {
                return None;
            }
            numbers = self.vacated.wait(numbers).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Prepares the inbox of a number that was taken.
    fn open_bound(&self, index: usize, numbers: &Numbers) -> WorkerId {
        let id = WorkerId(self.first_bound() + index);
        self.inboxes[index].get_or_init(Inbox::new).reopen();
        self.relay(id).into_iter().for_each(Relay::reopen);
        // Release: pairs with the load in `bound_ids`; a thread that reads the number finds the inbox.
        self.bound_count.store(numbers.next, Ordering::Release);
        id
    }

    /// Gives back a number: its worker has left, or no native thread has become it.
    pub fn release_bound(&self, id: WorkerId) {
        self.bound_numbers().give_back(id.0 - self.first_bound());
        // All: for some of those that wait, it may have been the last worker to leave.
        self.vacated.notify_all();
    }

    fn bound_numbers(&self) -> MutexGuard<'_, Numbers> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the native thread of a bound worker end when it has no more items; its number is then used again. No thread
    /// may hand items to it from now on.
    pub fn dismiss_bound(&self, id: WorkerId) {
        // First: the worker may leave at once.
        self.bound_numbers().leaving.push(id.0 - self.first_bound());
        if let Some(inbox) = self.inbox(id) {
            inbox.dismiss();
        }
        if let Some(relay) = self.relay(id) {
            relay.dismiss();
        }
    }

    /// The number of the first bound worker.
    fn first_bound(&self) -> usize {
        self.stealers.len()
    }

    /// The inbox of a bound worker; `None` for an ordinary worker.
    pub(crate) fn inbox(&self, id: WorkerId) -> Option<&Inbox<T>> {
        self.inboxes.get(id.0.checked_sub(self.first_bound())?)?.get()
    }

    /// The numbers of bound workers, including some that have left.
    pub(super) fn bound_ids(&self) -> impl Iterator<Item = WorkerId> + use<T, P> {
        let first = self.first_bound();
        // Acquire: pairs with the store in `reserve_bound`.
        (first..first + self.bound_count.load(Ordering::Acquire)).map(WorkerId)
    }

    /// Hands `item` to a bound worker if it is idle or free, else `queued`; answers whether it was `item`.
    pub(crate) fn hand_to(&'static self, bound: WorkerId, item: T, queued: T) -> bool {
        let Some(inbox) = self.inbox(bound) else { return false };
        let begin = || self.parking.begin_source();
        let watch = self.watch(bound);
        let mut must_watch = false;
        let was_idle = inbox.offer(item, queued, begin, || {
            // A replaced worker looks into its inbox when it comes back.
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
