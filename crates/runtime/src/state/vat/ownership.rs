//! The ownership of a vat: one word, which is a lock as well, and the data under the lock. `vat.rs` and the workers
//! make its transitions.
//!
//! ```text
//!  63            32 31        5    4       3       2         1         0
//! ┌────────────────┬───────────┬────────┬───────┬───────┬───────────┬────────┐
//! │ owner          │ –         │expected│ ready │ owned │ scheduled │ locked │
//! └────────────────┴───────────┴────────┴───────┴───────┴───────────┴────────┘
//! ```
//!
//! ```text
//!    ┌────────────────── own_if_idle ──────────────────┐
//!    │                                                 ▼
//!  IDLE ──schedule──▶ SCHEDULED ───────own─────────▶ OWNED ──hand_over──▶ OWNED by another
//!    ▲                 │     ▲                       │   │
//!    └─────let_go──────┴─────│────────let_go─────────┘   │
//!                            └────────take_away──────────┘
//! ```
//!
//! - *idle*: the vat has no work, or the holder of the lock is about to schedule it.
//! - *scheduled*: the vat is in a run queue, once, or on its way to a worker.
//! - *owned*: a worker, the owner, runs the vat's exclusive strands.
//! - *expected*: the vat is in the inbox of its home, which will visit it. This is independent of the other flags.
//! - *ready*: the data under the lock is not empty. The release of the lock sets this.
//!
//! The owner of a vat that is flooded with messages takes turns without the lock, while others take the lock for each
//! message. So that the owner needs not look at the word, there is a [copy of *ready*](Ready), which changes seldom and is
//! elsewhere.
//!
//! Invariants: word and copy change only under the lock, and the data is reached only through [`Locked`], the token for the
//! lock. The lock is held for a few instructions, so waiters spin.

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering;

use crate::state::sync::{AtomicBool, AtomicU64, spin};

#[cfg(all(test, feature = "loom"))]
mod model;

const LOCKED: u64 = 1;
const SCHEDULED: u64 = 1 << 1;
const OWNED: u64 = 1 << 2;
const READY: u64 = 1 << 3;
const EXPECTED: u64 = 1 << 4;
const OWNER_SHIFT: u32 = 32;
const OWNER: u64 = !0 << OWNER_SHIFT;

/// The data under the lock.
pub trait Content {
    /// Whether there is nothing for an owner to do.
    fn is_empty(&self) -> bool;
}

/// See the head of the file.
#[derive(Default)]
pub struct Ownership<T> {
    word: AtomicU64,
    content: UnsafeCell<T>,
}

// SAFETY: the content is reached through `Locked` only, which one thread has at a time: the lock hands it over.
unsafe impl<T: Send> Sync for Ownership<T> {}

/// A copy of the flag *ready*.
#[derive(Default)]
pub struct Ready(AtomicBool);

impl Ready {
    /// Whether there was something in the content a moment ago.
    #[inline]
    pub fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The lock, which is given back when this is dropped.
pub struct Locked<'a, T: Content> {
    ownership: &'a Ownership<T>,
    ready: &'a Ready,
    /// The word to be, but for *ready*.
    word: u64,
}

impl<T: Content> Ownership<T> {
    /// Takes the lock; the copy of *ready* is always the same one.
    #[inline]
    pub fn lock<'a>(&'a self, ready: &'a Ready) -> Locked<'a, T> {
        let mut spins = 0;
        loop {
            let word = self.word.load(Ordering::Relaxed) & !LOCKED;
            let (locked, ordering) = (word | LOCKED, (Ordering::Acquire, Ordering::Relaxed));
            if self.word.compare_exchange_weak(word, locked, ordering.0, ordering.1).is_ok() {
                return Locked { ownership: self, ready, word };
            }
            spin(&mut spins);
        }
    }

    /// Makes a new vat idle. No other thread knows it yet.
    pub fn begin(&self) {
        self.word.store(0, Ordering::Relaxed);
    }

    /// Makes this worker the owner of a new vat. No other thread knows it yet.
    pub fn begin_owned(&self, worker: u32) {
        self.word.store(owned_by(worker), Ordering::Relaxed);
    }

    /// Whether a worker runs it, will run it or will visit it. All mutators stand.
    pub fn is_active(&self) -> bool {
        self.word.load(Ordering::Relaxed) & (SCHEDULED | OWNED | EXPECTED) != 0
    }
}

fn owned_by(worker: u32) -> u64 {
    OWNED | u64::from(worker) << OWNER_SHIFT
}

impl<T: Content> Locked<'_, T> {
    /// The data under the lock.
    #[inline]
    pub fn content(&mut self) -> &mut T {
        // SAFETY: the lock is held, so no other thread has a reference; and this one's live as long as `self` is
        // borrowed.
        unsafe { &mut *self.ownership.content.get() }
    }

    /// Whether it is idle.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.word & (SCHEDULED | OWNED) == 0
    }

    /// The worker that owns it.
    #[inline]
    pub fn owner(&self) -> Option<u32> {
        (self.word & OWNED != 0).then_some((self.word >> OWNER_SHIFT) as u32)
    }

    /// The holder of the lock puts the vat into a run queue, or sends it to a worker, after it has released the lock.
    #[inline]
    pub fn schedule(&mut self) {
        debug_assert!(self.is_idle(), "it is idle");
        self.word |= SCHEDULED;
    }

    /// The worker that has received the vat owns it.
    #[inline]
    pub fn own(&mut self, worker: u32) {
        debug_assert!(self.word & (SCHEDULED | OWNED) == SCHEDULED, "it is on its way");
        self.set_owner(worker);
    }

    /// The worker owns the vat if it is idle; whether it was.
    pub fn own_if_idle(&mut self, worker: u32) -> bool {
        let is_idle = self.is_idle();
        if is_idle {
            self.set_owner(worker);
        }
        is_idle
    }

    /// The owner makes another worker the owner.
    pub fn hand_over(&mut self, worker: u32) {
        debug_assert!(self.word & OWNED != 0, "it is owned");
        self.set_owner(worker);
    }

    fn set_owner(&mut self, worker: u32) {
        self.word = self.word & !(SCHEDULED | OWNER) | owned_by(worker);
    }

    /// Takes the vat from its owner, which is outside, for a run queue; whether it had one.
    pub fn take_away(&mut self) -> bool {
        let is_owned = self.word & OWNED != 0;
        if is_owned {
            self.let_go();
            self.schedule();
        }
        is_owned
    }

    /// The vat is idle from now on.
    #[inline]
    pub fn let_go(&mut self) {
        debug_assert!(!self.is_idle(), "it is not idle");
        self.word &= !(SCHEDULED | OWNED | OWNER);
    }

    /// Its home will visit it; whether this is news.
    pub fn expect(&mut self) -> bool {
        let is_new = self.word & EXPECTED == 0;
        self.word |= EXPECTED;
        is_new
    }

    /// Its home visits it.
    pub fn arrive(&mut self) {
        self.word &= !EXPECTED;
    }
}

impl<T: Content> Drop for Locked<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let ready = if self.content().is_empty() { 0 } else { READY };
        if ready != self.word & READY {
            self.ready.0.store(ready != 0, Ordering::Relaxed);
        }
        self.ownership.word.store(self.word & !READY | ready, Ordering::Release);
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    impl Content for Vec<u32> {
        fn is_empty(&self) -> bool {
            Vec::is_empty(self)
        }
    }

    #[test]
    fn one_has_it_at_a_time() {
        let (ownership, ready) = (Ownership::<Vec<u32>>::default(), Ready::default());
        ownership.lock(&ready).schedule();
        assert!(!ownership.lock(&ready).own_if_idle(7));
        ownership.lock(&ready).own(7);
        assert_eq!(ownership.lock(&ready).owner(), Some(7));
        ownership.lock(&ready).hand_over(8);
        assert_eq!(ownership.lock(&ready).owner(), Some(8));
        assert!(ownership.lock(&ready).take_away() && !ownership.lock(&ready).take_away());
        ownership.lock(&ready).let_go();
        assert!(ownership.lock(&ready).own_if_idle(u32::MAX));
        assert_eq!(ownership.lock(&ready).owner(), Some(u32::MAX));
        ownership.lock(&ready).let_go();
        assert!(!ownership.is_active());
    }

    #[test]
    fn flags_stay_beside_the_owner() {
        let (ownership, ready) = (Ownership::<Vec<u32>>::default(), Ready::default());
        ownership.begin_owned(3);
        let mut locked = ownership.lock(&ready);
        locked.content().push(1);
        assert!(locked.expect() && !locked.expect());
        drop(locked);
        assert!(ready.get());
        ownership.lock(&ready).content().clear();
        ownership.lock(&ready).let_go();
        assert!(!ready.get() && ownership.is_active());
        ownership.lock(&ready).arrive();
        assert!(!ownership.is_active());
    }
}
