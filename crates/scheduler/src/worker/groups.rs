//! Groups of items: a worker shares its time between them. The runtime puts the items of each sandbox into a group, and
//! leaves its own ungrouped; [`Scheduler::divide`](crate::Scheduler::divide) switches groups on.
//!
//! While no worker is idle, a worker that meets a grouped item in its queues puts it aside, and goes on to the next one. It
//! takes an item of a group if no ungrouped item waits, or if ungrouped items alone have run for a whole interval of the
//! monitor; then groups run for an interval. So the ungrouped items have half of the time at least if they need it, and
//! one that becomes ready while they need less waits for one grouped item at most, however many of these are ready. That
//! item runs only because nothing else waited: it is *spare*, and the monitor ends its slice at its next look.
//!
//! Groups take turns (Nagle, *On packet switches with infinite storage*, RFC 970, 1985). A turn lasts until the monitor
//! looks, or until the group has no item: a group with many items gets no more time than one with few.
//!
//! If a worker is idle, it steals what is too much here, so there is nothing to share.

use std::collections::{HashMap, VecDeque};

/// The items of groups that were put aside, and whose turn it is.
pub(super) struct Groups<T> {
    queues: HashMap<usize, VecDeque<T>>,
    /// The groups that have items. The first one has its turn.
    order: VecDeque<usize>,
    /// The monitor's look when the turn began; none if no turn has.
    turn: Option<u64>,
    phase: Phase,
}

/// The items that run while both kinds wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Ungrouped ones, since this look.
    Ungrouped(u64),
    /// Grouped ones, until a look other than this one.
    Grouped(u64),
    /// Grouped ones, since no others waited. They have no right to the time that they use, so a phase of ungrouped items
    /// begins with the next one.
    Spare,
}

/// How many of the monitor's looks end the phase of ungrouped items: at least one whole interval is between two.
const UNGROUPED_LOOKS: u64 = 2;

impl<T> Groups<T> {
    pub(super) fn new() -> Groups<T> {
        Groups {
            queues: HashMap::new(),
            order: VecDeque::new(),
            turn: None,
            phase: Phase::Ungrouped(0),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn put(&mut self, group: usize, item: T) {
        let queue = self.queues.entry(group).or_default();
        if queue.is_empty() {
            self.order.push_back(group);
        }
        queue.push_back(item);
    }

    /// Whether an item of a group comes before ungrouped ones now.
    pub(super) fn comes_first(&mut self, look: u64) -> bool {
        self.phase = match self.phase {
            _ if self.is_empty() => Phase::Ungrouped(look),
            Phase::Spare => Phase::Ungrouped(look),
            Phase::Grouped(since) if look != since => Phase::Ungrouped(look),
            Phase::Ungrouped(since) if look >= since + UNGROUPED_LOOKS => Phase::Grouped(look),
            phase => phase,
        };
        matches!(self.phase, Phase::Grouped(_))
    }

    /// No ungrouped item waits now.
    pub(super) fn are_alone(&mut self) {
        self.phase = Phase::Spare;
    }

    /// An item of the group whose turn it is.
    pub(super) fn take(&mut self, look: u64) -> Option<T> {
        if self.turn.is_some_and(|turn| turn != look) && self.order.len() > 1 {
            self.order.rotate_left(1);
            self.turn = None;
        }
        let group = *self.order.front()?;
        self.turn.get_or_insert(look);
        let queue = self.queues.get_mut(&group)?;
        let item = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&group);
            self.order.pop_front();
            self.turn = None;
        }
        item
    }

    /// All items, those of one group after those of another one.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = T> {
        self.turn = None;
        let mut queues = std::mem::take(&mut self.queues);
        let order = std::mem::take(&mut self.order);
        order.into_iter().flat_map(move |group| queues.remove(&group).unwrap_or_default())
    }
}
