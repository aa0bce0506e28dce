//! The timers: payloads in the order of their deadlines; equal deadlines keep the order of insertion. Any thread adds
//! and cancels timers through the scheduler; the monitor takes the due ones.
//!
//! A balanced tree under a lock: adding, cancelling and taking are logarithmic, and an identifier is a key. The tree
//! copes with a million sleeping strands; a timing wheel (Varghese and Lauck, SOSP 1987) would be cheaper per timer but
//! cancels and orders less exactly.
//!
//! A thread that adds the earliest timer must wake the monitor, so that the monitor does not sleep past the deadline:
//! [`Timers::add`] tells the caller.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::sync::{Mutex, lock};

/// Identifies a timer of one scheduler. Identifiers are not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId {
    deadline: Duration,
    /// How many timers were made before this one.
    number: u64,
}

/// The timers that were neither taken nor cancelled.
pub(crate) struct Timers<P>(Mutex<Table<P>>);

struct Table<P> {
    payloads: BTreeMap<TimerId, P>,
    made: u64,
}

/// A new timer.
#[must_use]
pub(crate) struct Added {
    pub(crate) id: TimerId,
    /// Whether no other timer is due before this one.
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

    /// Removes a timer, unless it was taken already.
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
