//! Bound workers, as the scheduler and other threads see them: their numbers, their inboxes, and handing items to them.
//! The runtime reserves a number, starts a native thread for it, and hands items to it.
//!
//! The numbers of bound workers follow those of the ordinary ones, so the monitor watches both in the same way.

use std::sync::PoisonError;

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
}

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// A number for a bound worker. Items may be handed to the number from now on; a native thread has to
    /// [become](Scheduler::join_bound) the worker. `None` if there are as many bound workers as there may be.
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
        // Release: pairs with the load in `bound_ids`; a thread that reads the number finds the inbox.
        self.bound_count.store(numbers.next, Ordering::Release);
        Some(id)
    }

    /// Gives back a number that no native thread has become.
    pub fn release_bound(&self, id: WorkerId) {
        let index = id.0 - self.first_bound();
        self.bound.lock().unwrap_or_else(PoisonError::into_inner).vacant.push(index);
    }

    /// Lets the native thread of a bound worker end when it has no more items; its number is then used again. No thread
    /// may hand items to it from now on.
    pub fn dismiss_bound(&self, id: WorkerId) {
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
