//! The search for items of other workers: in the injector, and in the queues of other workers. A worker searches when it
//! has no item of its own.
//!
//! Stealing takes about half of a queue at once (Arora, Blumofe and Plaxton, SPAA 1998, steal single items; batches suit
//! short items) from a victim that is chosen at random (Blumofe and Leiserson, *Scheduling multithreaded computations by
//! work stealing*, JACM 1999).
//!
//! In a program of communicating items, a stolen item is soon sent back, at the cost of misses in both caches. So the
//! right to search is rationed: a worker has it if it was woken, if it has run some items since its last search, if the
//! monitor has looked since, or if the program is coarse. A worker without the right parks, and is woken when the
//! monitor sees that an item waits.

use std::hint;

use crossbeam_deque::{Steal, Stealer};

use super::Worker;
use crate::WorkerId;

/// How many items a worker runs before it may search again while the monitor has not looked.
const ITEMS_PER_SEARCH: u64 = 8;

/// How many rounds, with short pauses, a searcher makes before it gives up. They take some ten microseconds, about the
/// time of parking and waking.
const ROUNDS: u32 = 64;

/// The length of such a pause, in hints to the processor.
const PAUSE: u32 = 8;

/// Whether a worker may search, and the generator for its victims.
pub(super) struct SearchRight {
    /// Whether the worker has the token of the only searcher.
    pub(super) has_token: bool,
    /// The number of the monitor's look at the last search, and how many items the worker had begun by then.
    searched: Option<(u64, u64)>,
    /// A generator for victims (Marsaglia, *Xorshift RNGs*, 2003). Never zero.
    random: u32,
}

impl SearchRight {
    pub(super) fn new(id: WorkerId) -> SearchRight {
        let random = (id.0 as u32 + 1).wrapping_mul(0x9e37_79b9) | 1;
        SearchRight { has_token: false, searched: None, random }
    }

    /// The worker was woken.
    pub(super) fn grant(&mut self, has_token: bool) {
        self.has_token = has_token;
        self.searched = None;
    }

    fn is_earned(&self, look: u64, count: u64) -> bool {
        self.has_token
            || self
                .searched
                .is_none_or(|(searched, at)| look != searched || count - at >= ITEMS_PER_SEARCH)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random as usize % bound
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    /// An item from the injector or from another worker. Called when this worker has none of its own.
    #[cold]
    pub(super) fn next_elsewhere(&mut self) -> Option<T> {
        self.heed_grain();
        let found = self.injected().or_else(|| self.search());
        match found {
            Some(_) => self.conclude_search(),
            None => self.give_up_search(),
        }
        found
    }

    /// Gives the token back, if this worker has it, since it has found an item. If items are left, wakes the next
    /// searcher: no worker was woken while this one searched.
    pub(super) fn conclude_search(&mut self) {
        if self.search_right.has_token {
            self.give_up_search();
            if !self.queue.is_empty() || self.scheduler.has_injected() {
                self.scheduler.wake();
            }
        }
    }

    /// Gives the token back, if this worker has it.
    pub(super) fn give_up_search(&mut self) {
        if self.search_right.has_token {
            self.search_right.has_token = false;
            self.scheduler.parking.end_search();
        }
    }

    fn search(&mut self) -> Option<T> {
        let look = self.scheduler.looks();
        let is_earned = self.scheduler.is_coarse() || self.search_right.is_earned(look, self.count);
        if self.scheduler.parking.joined() == 1 || !is_earned {
            return None;
        }
        if !self.search_right.has_token && !self.scheduler.parking.begin_search() {
            return None;
        }
        self.search_right.has_token = true;
        self.search_right.searched = Some((look, self.count));
        for _ in 0..ROUNDS {
            let found = self.stolen().or_else(|| self.injected());
            // If no other worker is active, no item will appear in a queue.
            if found.is_some() || self.scheduler.parking.active() < 2 || self.scheduler.is_stopped()
            {
                return found;
            }
            (0..PAUSE).for_each(|_| hint::spin_loop());
        }
        None
    }

    /// An item from the injector; more items from there go into the queue.
    fn injected(&mut self) -> Option<T> {
        if !self.scheduler.has_injected() {
            return None;
        }
        persist(|| self.scheduler.injector.steal_batch_and_pop(&self.queue))
    }

    /// An item of another worker; more of its items go into the queue.
    fn stolen(&mut self) -> Option<T> {
        let count = self.scheduler.parking.joined();
        let first = self.search_right.below(count);
        let victims = (first..count).chain(0..first).map(WorkerId);
        let victims = victims.filter_map(|victim| self.scheduler.stealer(victim));
        let occupied = victims.filter(|victim: &&Stealer<T>| !victim.is_empty());
        // This worker's own queue is empty, so it is not among them.
        occupied.filter_map(|victim| persist(|| victim.steal_batch_and_pop(&self.queue))).next()
    }
}

/// Steals until the answer is definite.
fn persist<T>(mut steal: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match steal() {
            Steal::Success(item) => return Some(item),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}
