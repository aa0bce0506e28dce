//! Looking for work elsewhere: in the injector, and in other workers' queues.
//!
//! Stealing takes about half of a queue at once (Arora, Blumofe and Plaxton, SPAA 1998, steal single
//! items; batches suit items that are small) from a victim that is chosen at random (Blumofe and
//! Leiserson, *Scheduling multithreaded computations by work stealing*, JACM 1999).
//!
//! What a thief takes from a program whose items talk to each other is soon sent back, and both
//! caches have suffered. So the right to search is rationed: a worker that was woken has it, and so
//! has one that was busy for a while since it searched last, or whose program is coarse. Others park, and are
//! woken when the monitor sees that something waits.

use std::hint;

use crossbeam_deque::{Steal, Stealer};

use crate::sync::Ordering;
use crate::{Worker, WorkerId};

/// How many items a worker runs before it may search again while the monitor has not looked.
const ITEMS_PER_SEARCH: u64 = 8;

/// How often a searcher looks around, with short pauses, before it gives up: for some ten
/// microseconds, about what parking and waking would cost.
const ROUNDS: u32 = 64;

/// How long such a pause is, in the processor's own hints.
const PAUSE: u32 = 8;

/// Whether a worker may search, and where it begins.
pub(crate) struct SearchRight {
    /// Whether the worker has the token of the only searcher.
    pub(crate) has_token: bool,
    /// During which look of the monitor it searched last, and how many items it had run by then.
    searched: Option<(u64, u64)>,
    /// A generator for victims (Marsaglia, *Xorshift RNGs*, 2003). Never zero.
    random: u32,
}

impl SearchRight {
    pub(crate) fn new(id: WorkerId) -> SearchRight {
        let random = (id.0 as u32 + 1).wrapping_mul(0x9e37_79b9) | 1;
        SearchRight { has_token: false, searched: None, random }
    }

    /// The worker was woken.
    pub(crate) fn grant(&mut self, has_token: bool) {
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
    /// An item that is not this worker's yet. Called when it has none of its own.
    #[cold]
    pub(crate) fn next_elsewhere(&mut self) -> Option<T> {
        let found = self.injected().or_else(|| self.search());
        match found {
            Some(_) => self.conclude_search(),
            None => self.give_up_search(),
        }
        found
    }

    /// Gives the token back, if this worker has it, since something was found. If more is left, that is
    /// the next searcher's, which nobody has woken while there was this one.
    pub(crate) fn conclude_search(&mut self) {
        if self.search_right.has_token {
            self.give_up_search();
            if !self.queue.is_empty() || self.scheduler.has_injected() {
                self.scheduler.wake();
            }
        }
    }

    /// Gives the token back, if this worker has it.
    pub(crate) fn give_up_search(&mut self) {
        if self.search_right.has_token {
            self.search_right.has_token = false;
            self.scheduler.parking.end_search();
        }
    }

    fn search(&mut self) -> Option<T> {
        let look = self.scheduler.looks();
        // Relaxed: a hint.
        let is_coarse = self.scheduler.is_coarse.load(Ordering::Relaxed);
        let is_earned = is_coarse || self.search_right.is_earned(look, self.count);
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
            // Alone, there is nobody to wait for.
            if found.is_some() || self.scheduler.parking.active() < 2 || self.scheduler.is_stopped()
            {
                return found;
            }
            (0..PAUSE).for_each(|_| hint::spin_loop());
        }
        None
    }

    /// An item from the injector, with some more of them for the queue.
    fn injected(&mut self) -> Option<T> {
        if !self.scheduler.has_injected() {
            return None;
        }
        persist(|| self.scheduler.injector.steal_batch_and_pop(&self.queue))
    }

    /// An item of another worker, with some more of them for the queue.
    fn stolen(&mut self) -> Option<T> {
        let count = self.scheduler.parking.joined();
        let first = self.search_right.below(count);
        let victims = (first..count).chain(0..first).map(WorkerId);
        let victims = victims.filter_map(|victim| self.scheduler.stealer(victim));
        let occupied = victims.filter(|victim: &&Stealer<T>| !victim.is_empty());
        // The own queue is empty, so it is never among them.
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
