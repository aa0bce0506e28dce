//! The ready items of a seeded run, and the choice of the next one. The worker with the baton pushes ready items here;
//! the scheduler picks from here (`scheduler/seeded.rs`).
//!
//! Nothing is left to chance: there is no monitor, and one ordinary worker at a time. Ready items are a list from
//! which the generator picks. The inboxes of bound workers are in the same list, once for each item. When the generator
//! picks such an entry, the bound worker gets the baton (this state) together with its item, and gives it back afterwards
//! (`relay.rs`). As without a seed, a bound worker is busy as long as it has items that have not run.

mod decisions;
mod relay;
mod succession;

use std::collections::{BTreeMap, VecDeque};

use crate::WorkerId;
use decisions::Decisions;
pub(crate) use decisions::TIME_PER_DECISION;
pub(crate) use relay::{Baton, Relay};
pub use succession::Laying;
pub(crate) use succession::Succession;

/// The items and decisions that a seeded worker has instead of a queue.
pub(crate) struct Seeded<T> {
    decisions: Decisions,
    /// The item that was made ready last, if the generator has honoured that.
    next: Option<T>,
    ready: Vec<Ready<T>>,
    /// The items of bound workers, oldest first.
    inboxes: BTreeMap<usize, VecDeque<T>>,
}

/// A choice.
enum Ready<T> {
    /// An item for the ordinary worker.
    Item(T),
    /// The oldest item in the inbox of a bound worker.
    Inbox(WorkerId),
}

/// The chosen item.
pub(crate) struct Chosen<T> {
    pub(crate) item: T,
    /// The only worker that may run the item, if it is bound to one.
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

    pub(crate) fn push_next(&mut self, item: T) {
        match self.decisions.honours_next() {
            true => self.ready.extend(self.next.replace(item).map(Ready::Item)),
            false => self.push(item),
        }
    }

    /// Hands `item` to a bound worker if it is idle, else `queued`; answers whether it was `item`. `runs` says whether
    /// the bound worker runs an item now.
    pub(crate) fn hand_to(&mut self, bound: WorkerId, item: T, queued: T, runs: bool) -> bool {
        let inbox = self.inboxes.entry(bound.0).or_default();
        let is_idle = !runs && inbox.is_empty();
        inbox.push_back(if is_idle { item } else { queued });
        self.ready.push(Ready::Inbox(bound));
        is_idle
    }

    pub(crate) fn has_waiting(&self) -> bool {
        self.next.is_some() || !self.ready.is_empty()
    }

    /// Whether due timers are delivered later, because the generator says so and other items are ready.
    pub(crate) fn delays_timers(&mut self) -> bool {
        self.has_waiting() && self.decisions.delays_timers()
    }

    /// Whether this poll pre-empts.
    pub(crate) fn preempts(&mut self) -> bool {
        self.decisions.preempts()
    }

    /// One of the ready items. The item that is to be next is mostly the one, so that the others get their turn, too.
    pub(crate) fn pick(&mut self) -> Option<Chosen<T>> {
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

    /// The items for ordinary workers, when the last such worker leaves.
    pub(crate) fn into_items(self) -> Vec<T> {
        let items = self.ready.into_iter().filter_map(|ready| match ready {
            Ready::Item(item) => Some(item),
            Ready::Inbox(_) => None,
        });
        self.next.into_iter().chain(items).collect()
    }
}
