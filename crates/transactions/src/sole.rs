//! Whether one thread has a space for itself. The runtime asks this before each access that could do without locks.
//!
//! While only one thread uses a space, it does not lock: its stores in a *section* are done before another thread can
//! look. A thread that enters a space that another thread has for itself first takes it away: it waits for the end of
//! that thread's section.
//!
//! ```text
//!   section:  busy := true;  [order]  sole = me?  … stores without locks …  busy := false
//!   enter:    entered := space;  [order]  sole = none or me?
//!             otherwise  sole := ending;  BARRIER;  wait while that thread is busy;  sole := none
//!   claim:    sole := me;  BARRIER;  has another thread entered?  then sole := none
//! ```
//!
//! Entering and sections are frequent; claiming and taking away are rare. So the frequent operations only tell the
//! *compiler* to keep the order of a store and the load after it, and the rare ones execute a barrier on all processors
//! that run threads of the process (`membarrier` of Linux; Dice, Huang, Yang, "Asymmetric Dekker Synchronization",
//! 2001). After the barrier, the store of each other thread is visible, or that thread will see the earlier store of
//! the rare operation.
//!
//! Hence:
//!
//! 1. a thread in a section that has seen that it is alone is alone: a thread that enters later waits for the end of
//!    the section, and so does a thread that enters while a third one waits;
//! 2. a thread that claims a space and finds no other thread in it has the space for itself until another thread
//!    enters, and that thread sees the claim.

use crate::sync::{AtomicBool, AtomicU64, Ordering, barrier_of_compiler, spin};

/// The part of a thread that other threads read.
#[derive(Default)]
pub struct Presence {
    /// The key of the space that the thread uses, or 0.
    entered: AtomicU64,
    /// Whether the thread is in a section.
    busy: AtomicBool,
}

/// The owner of a space: the key of the presence of the thread that has the space for itself, or 0. A flag is set while
/// the space is being taken away.
#[derive(Default)]
pub struct Sole(AtomicU64);

const ENDING: u64 = 1 << 63;

impl Presence {
    /// Whether the thread uses the space with this key.
    pub fn is_in(&self, space: u64) -> bool {
        self.entered.load(Ordering::Acquire) == space
    }

    /// The thread begins to use a space. If another thread has the space for itself, answers that thread's key: the
    /// caller [takes the space away](Sole::take_away) before any access.
    #[inline]
    pub fn enter(&self, space: u64, sole: &Sole, own: u64) -> Option<u64> {
        self.entered.store(space, Ordering::Release);
        barrier_of_compiler();
        match sole.0.load(Ordering::Acquire) {
            0 => None,
            key => (key != own).then_some(key & !ENDING),
        }
    }

    /// The thread stops using a space.
    #[inline]
    pub fn leave(&self) {
        self.entered.store(0, Ordering::Release);
    }

    /// Begins a section if the thread has the space for itself; true if it has. A section is short and does not wait.
    #[inline(always)]
    pub fn begin_section(&self, sole: &Sole, own: u64) -> bool {
        if sole.0.load(Ordering::Relaxed) != own {
            return false;
        }
        self.busy.store(true, Ordering::Relaxed);
        barrier_of_compiler();
        let is_alone = sole.0.load(Ordering::Acquire) == own;
        if !is_alone {
            self.end_section();
        }
        is_alone
    }

    /// Ends the section: other threads may see its stores.
    #[inline(always)]
    pub fn end_section(&self) {
        // Pairs with the load in `take_away`.
        self.busy.store(false, Ordering::Release);
    }
}

impl Sole {
    /// Whether a thread has the space for itself.
    #[inline]
    pub fn is_claimed(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Claims the space for a thread that uses it. `barrier` is a barrier for all threads of the process, and
    /// `others_are_in` tells whether another thread uses the space.
    pub fn claim(
        &self,
        own: u64,
        barrier: impl FnOnce(),
        others_are_in: impl FnOnce() -> bool,
    ) -> bool {
        if self.0.compare_exchange(0, own, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            return false;
        }
        barrier();
        let is_alone = !others_are_in();
        if !is_alone {
            // Fails if the space is being taken away already.
            _ = self.0.compare_exchange(own, 0, Ordering::SeqCst, Ordering::Relaxed);
        }
        is_alone
    }

    /// Takes the space away from the thread that has it for itself, and waits for the end of that thread's section.
    pub fn take_away(&self, key: u64, presence: &Presence, barrier: impl FnOnce()) {
        self.begin_to_take_away(key);
        barrier();
        let mut spins = 0;
        while presence.busy.load(Ordering::Acquire) {
            spin(&mut spins);
        }
        _ = self.0.compare_exchange(key | ENDING, 0, Ordering::SeqCst, Ordering::Relaxed);
    }
    pub(crate) fn begin_to_take_away(&self, key: u64) {
        // Fails if another thread has begun to take it away, or has finished.
        _ = self.0.compare_exchange(key, key | ENDING, Ordering::SeqCst, Ordering::Relaxed);
    }
}
