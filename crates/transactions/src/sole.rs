//! Whether one thread has a space for itself.
//!
//! While only one thread uses a space, it need not lock: what it does in a *section* is done before anybody else can look.
//! Whoever enters a space that another thread has for itself takes that away first, and waits for the end of its
//! section.
//!
//! ```text
//!   section:  busy := true;  [order]  sole = me?  … stores without locks …  busy := false
//!   enter:    entered := space;  [order]  sole = nobody or me?
//!             otherwise  sole := nobody soon;  BARRIER;  wait while that one is busy;  sole := nobody
//!   claim:    sole := me;  BARRIER;  has somebody else entered?  then sole := nobody
//! ```
//!
//! Entering and sections are frequent, claiming and taking away are rare. So the frequent sides only tell the *compiler*
//! to keep the order of a store and the load after it, and the rare ones have a barrier on all processors
//! that run threads of the process (`membarrier` of Linux; Dice, Huang, Yang, "Asymmetric Dekker Synchronization", 2001):
//! after it, each of the others has either shown its store, or will see what the rare side has stored before.
//!
//! Hence:
//!
//! 1. who is in a section and has seen that it is alone, is: who enters later waits for the end of the section, and so
//!    does who enters while another one waits;
//! 2. who claims a space and finds nobody in it, has it for itself until somebody enters, who will see that.

use crate::sync::{AtomicBool, AtomicU64, Ordering, barrier_of_compiler, spin};

/// What others know of a thread.
#[derive(Default)]
pub struct Presence {
    /// The key of the space that it uses, or 0.
    entered: AtomicU64,
    /// Whether it is in a section.
    busy: AtomicBool,
}

/// Who has a space for itself: the key of its presence, or 0; with a flag while that is being taken away.
#[derive(Default)]
pub struct Sole(AtomicU64);

const ENDING: u64 = 1 << 63;

impl Presence {
    /// Whether the thread uses the space with this key.
    pub fn is_in(&self, space: u64) -> bool {
        self.entered.load(Ordering::Acquire) == space
    }

    /// The thread begins to use a space. Answers who has that for itself, if it is another one: to be
    /// [taken away](Sole::take_away) before anything is accessed.
    #[inline]
    pub fn enter(&self, space: u64, sole: &Sole, own: u64) -> Option<u64> {
        self.entered.store(space, Ordering::Release);
        barrier_of_compiler();
        match sole.0.load(Ordering::Acquire) {
            0 => None,
            key => (key != own).then_some(key & !ENDING),
        }
    }

    /// The thread does not use a space any more.
    #[inline]
    pub fn leave(&self) {
        self.entered.store(0, Ordering::Release);
    }

    /// Begins a section, if the thread has the space for itself; whether it has. A section ends soon: it does not wait.
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

    /// Ends the section: others may see what was stored in it.
    #[inline(always)]
    pub fn end_section(&self) {
        // Pairs with the load of whoever takes the space away.
        self.busy.store(false, Ordering::Release);
    }
}

impl Sole {
    /// Whether somebody has the space for itself.
    #[inline]
    pub fn is_claimed(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// A thread that uses the space wants it for itself. `barrier` is one for all threads of the process, and `others_are_in`
    /// tells whether another one uses the space.
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
            // Unless it is being taken away already.
            _ = self.0.compare_exchange(own, 0, Ordering::SeqCst, Ordering::Relaxed);
        }
        is_alone
    }

    /// Takes the space away from the one who had it for itself, and waits for the end of its section.
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
        // Others may have begun before, or be done.
        _ = self.0.compare_exchange(key, key | ENDING, Ordering::SeqCst, Ordering::Relaxed);
    }
}
