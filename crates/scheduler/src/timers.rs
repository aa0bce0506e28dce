//! The timers: payloads in the order of their deadlines, and of their making where those agree.
//!
//! A balanced tree under a lock: adding, cancelling and taking are logarithmic, and an identifier is
//! a key. A million sleeping strands are well within its means; a timing wheel (Varghese and Lauck,
//! SOSP 1987) would be cheaper per timer but cancels and orders less exactly.
//!
//! Who adds the earliest timer must wake the monitor, so that its sleep is not too long: the answer
//! of [`Timers::add`] says so.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::sync::{Mutex, lock};

/// Denotes a timer of one scheduler, for ever.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId {
    deadline: Duration,
    /// Counts the timers that were made.
    number: u64,
}

/// The timers that are not due, or that nobody has taken yet.
pub(crate) struct Timers<P>(Mutex<Table<P>>);

struct Table<P> {
    payloads: BTreeMap<TimerId, P>,
    made: u64,
}

/// A new timer.
#[must_use]
pub(crate) struct Added {
    pub(crate) id: TimerId,
    /// No other timer is due before it.
    pub(crate) is_first: bool,
}

impl<P> Timers<P> {
    pub(crate) fn new() -> Timers<P> {
        Timers(Mutex::new(Table { payloads: BTreeMap::new(), made: 0 }))
    }

    pub(crate) fn add(&self, deadline: Duration, payload: P) -> Added {
        let mut table = lock(&self.0);
        let id = TimerId { deadline, number: table.made };
        table.made += 1;
        table.payloads.insert(id, payload);
        let first = table.payloads.first_key_value();
        Added { id, is_first: first.is_some_and(|(first, _)| *first == id) }
    }

    /// Removes a timer that was not taken yet.
    pub(crate) fn cancel(&self, id: TimerId) -> Option<P> {
        lock(&self.0).payloads.remove(&id)
    }

    /// Removes the first timer, if it is due.
    pub(crate) fn take_due(&self, now: Duration) -> Option<P> {
        let mut table = lock(&self.0);
        let first = table.payloads.first_entry()?;
        (first.key().deadline <= now).then(|| first.remove())
    }

    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        lock(&self.0).payloads.first_key_value().map(|(id, _)| id.deadline)
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.0).payloads.len()
    }

    pub(crate) fn for_each(&self, visit: &mut dyn FnMut(&mut P)) {
        lock(&self.0).payloads.values_mut().for_each(visit);
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    fn timers(milliseconds: &[u64]) -> (Timers<usize>, Vec<Added>) {
        let timers = Timers::new();
        let deadlines = milliseconds.iter().copied().map(Duration::from_millis);
        let added = deadlines.enumerate().map(|(n, deadline)| timers.add(deadline, n)).collect();
        (timers, added)
    }

    fn take_all(timers: &Timers<usize>, milliseconds: u64) -> Vec<usize> {
        let now = Duration::from_millis(milliseconds);
        std::iter::from_fn(|| timers.take_due(now)).collect()
    }

    #[test]
    fn timers_come_by_deadline_and_then_in_the_order_made() {
        let (timers, _) = timers(&[5, 3, 5, 1, 3, 9]);
        assert_eq!(take_all(&timers, 0), []);
        assert_eq!(take_all(&timers, 5), [3, 1, 4, 0, 2]);
        assert_eq!(timers.next_deadline(), Some(Duration::from_millis(9)));
        assert_eq!(take_all(&timers, 9), [5]);
        assert_eq!(timers.next_deadline(), None);
    }

    #[test]
    fn only_a_new_first_timer_is_first() {
        let (_, added) = timers(&[5, 6, 5, 4]);
        assert_eq!(
            added.iter().map(|a| a.is_first).collect::<Vec<_>>(),
            [true, false, false, true]
        );
    }

    #[test]
    fn a_cancelled_timer_never_comes_and_one_that_came_cannot_be_cancelled() {
        let (timers, added) = timers(&[1, 2, 2]);
        assert_eq!(timers.cancel(added[1].id), Some(1));
        assert_eq!(timers.cancel(added[1].id), None);
        assert_eq!(take_all(&timers, 2), [0, 2]);
        assert_eq!(timers.cancel(added[2].id), None);
    }

    #[test]
    fn payloads_are_visited_while_they_wait() {
        let (timers, _) = timers(&[2, 1]);
        timers.for_each(&mut |payload| *payload += 10);
        assert_eq!(take_all(&timers, 1), [11]);
        timers.for_each(&mut |payload| *payload += 10);
        assert_eq!(take_all(&timers, 2), [20]);
    }
}
