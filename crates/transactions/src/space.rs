//! A space: the clock and the stripes of the memory that transactions share, and the accesses to it outside of
//! transactions. The runtime has one for each guarded vat.
//!
//! # Versions
//!
//! A thread that changes stripes gives them the *next* time and does not move the clock, so that unrelated changes do
//! not contend for it. A reader that meets a version ahead of the clock first moves the clock there
//! (`Space::advance_to`; this is the clock GV5 of TL2's authors). Hence
//!
//! 1. an attempt's snapshot is a time that the clock has had, and its reads have no later version;
//! 2. a new version is greater than the clock's time when its stripe was locked;
//! 3. so if a stripe is changed after an attempt has read it, its version is beyond the attempt's snapshot, and the
//!    attempt needs to remember no version but the snapshot.
//!
//! An attempt that has met a version ahead of the clock moves the clock when it commits, since its stripes are in
//! demand.
//!
//! # Orderings
//!
//! A stripe is read like a sequence lock (Boehm, MSPC 2012): its word, then the value, then an acquire fence, then its
//! word again. The holder of the lock stores values with release, so a reader that sees a new value sees the lock, or a
//! later word. The clock is sequentially consistent, and so are the stores that lock: a thread that locks a stripe
//! after a reader has seen it free reads a time that is not before the reader's time.

use crate::sync::{AtomicU64, Ordering, fence, order, spin};
use crate::word::{NO_PLACE, Word};

/// The number of a stripe of a space. Numbers beyond the last stripe wrap around.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stripe(pub u32);

/// A store found its stripe reserved by an inevitable attempt: nothing was stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reserved(pub Stripe);

/// A clock and stripes.
pub struct Space {
    clock: Clock,
    words: Box<[AtomicU64]>,
}

/// On a cache line of its own, since all attempts read it.
#[repr(align(128))]
struct Clock(AtomicU64);

impl Space {
    /// A space of 2 to the power of `bits` stripes.
    pub fn new(bits: u32) -> Space {
        Space { clock: Clock(AtomicU64::new(0)), words: zeroes(1 << bits) }
    }

    /// The number of stripes.
    pub fn stripes(&self) -> usize {
        self.words.len()
    }

    /// The word of a stripe.
    #[inline(always)]
    pub(crate) fn word(&self, stripe: Stripe) -> &AtomicU64 {
        &self.words[stripe.0 as usize & (self.words.len() - 1)]
    }

    #[inline(always)]
    pub(crate) fn load(&self, stripe: Stripe) -> Word {
        Word::from_bits(self.word(stripe).load(Ordering::SeqCst))
    }

    /// Whether two numbers denote the same stripe.
    #[inline(always)]
    pub fn is_same(&self, left: Stripe, right: Stripe) -> bool {
        (left.0 ^ right.0) as usize & (self.words.len() - 1) == 0
    }

    /// The number of the same stripe without wrapping.
    pub fn own_number(&self, stripe: Stripe) -> Stripe {
        Stripe(stripe.0 & (self.words.len() as u32 - 1))
    }

    /// The word of a stripe once it is free. If another thread has locked the stripe, waits for that thread.
    pub(crate) fn load_free(&self, stripe: Stripe) -> Word {
        let mut spins = 0;
        loop {
            let word = self.load(stripe);
            if !word.is_locked() {
                return word;
            }
            spin(&mut spins);
        }
    }

    /// Replaces the word of a stripe, if it is still the word that the caller has seen.
    #[inline(always)]
    pub(crate) fn exchange(&self, stripe: Stripe, seen: Word, new: Word) -> bool {
        let word = self.word(stripe);
        // The acquire makes the new holder see the previous holder's stores, and keeps the new holder's stores behind
        // the lock; see the file's head for the rest.
        let exchanged =
            word.compare_exchange(seen.bits(), new.bits(), Ordering::SeqCst, Ordering::Relaxed);
        order();
        exchanged.is_ok()
    }

    /// Unlocks a stripe.
    #[inline(always)]
    pub(crate) fn unlock(&self, stripe: Stripe, word: Word) {
        // Pairs with the next load of the word, by a reader or by the next holder.
        self.word(stripe).store(word.bits(), Ordering::Release);
    }

    /// The clock's time.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        let now = self.clock.0.load(Ordering::SeqCst);
        order();
        now
    }

    /// Moves the clock, and answers the new time, which no other thread gets.
    #[inline(always)]
    pub(crate) fn tick(&self) -> u64 {
        self.clock.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Does the same as [`Space::tick`], without an atomic addition. The caller has the space for itself.
    #[inline(always)]
    pub(crate) fn tick_alone(&self) -> u64 {
        let time = self.now() + 1;
        self.clock.0.store(time, Ordering::Release);
        time
    }

    /// Moves the clock to this version if the version is ahead of it; answers whether it was.
    #[inline]
    pub(crate) fn advance_to(&self, version: u64) -> bool {
        let is_ahead = version > self.now();
        if is_ahead {
            self.clock.0.fetch_max(version, Ordering::SeqCst);
        }
        is_ahead
    }
}

/// Accesses outside of transactions.
impl Space {
    /// Reads a place of this stripe.
    ///
    /// A commit that has locked the stripe may have checked its reads already, so the value before it is out of date:
    /// the reader waits *before* it reads. If a commit stores while the place is read, its new value may be seen before
    /// its other stores are done; a thread that looks for those finds their stripes locked.
    #[inline]
    pub fn read<V>(&self, stripe: Stripe, load: impl FnOnce() -> V) -> V {
        self.load_free(stripe);
        let value = load();
        // Pairs with the release of the store that the value comes from. If a commit made that store, it had locked all
        // its stripes before.
        fence(Ordering::Acquire);
        value
    }

    /// Reads a place of this stripe; `None` if the stripe is locked.
    #[inline(always)]
    pub fn try_read<V>(&self, stripe: Stripe, load: impl FnOnce() -> V) -> Option<V> {
        if self.load(stripe).is_locked() {
            return None;
        }
        let value = load();
        fence(Ordering::Acquire);
        Some(value)
    }

    /// Stores into a place of this stripe; answers whether a strand waits for its change.
    #[inline]
    pub fn write(&self, stripe: Stripe, store: impl FnOnce()) -> Result<bool, Reserved> {
        let word = self.lock(stripe)?;
        store();
        self.unlock(stripe, Word::free(self.now() + 1));
        Ok(word.is_watched())
    }

    /// Stores into a place of this stripe without a lock. Does nothing and answers false if an attempt has reserved the
    /// stripe or a strand waits for its change. The caller has the [space for itself](crate::sole).
    #[inline(always)]
    pub fn write_alone(&self, stripe: Stripe, store: impl FnOnce()) -> bool {
        let is_plain = self.load(stripe).is_plain();
        if is_plain {
            store();
            self.unlock(stripe, Word::free(self.tick_alone()));
        }
        is_plain
    }

    /// Stores into places of all these stripes, as one step for other threads; answers whether a strand waits for a
    /// change of one of them. Sorts the stripes.
    pub fn write_all(
        &self,
        stripes: &mut Vec<Stripe>,
        store: impl FnOnce(),
    ) -> Result<bool, Reserved> {
        let mask = self.words.len() as u32 - 1;
        stripes.iter_mut().for_each(|stripe| stripe.0 &= mask);
        // All threads that wait while they hold locks take the locks in this order.
        stripes.sort_unstable();
        stripes.dedup();
        let mut words = Vec::with_capacity(stripes.len());
        for &stripe in stripes.iter() {
            match self.lock(stripe) {
                Ok(word) => words.push(word),
                Err(reserved) => {
                    for (&stripe, &word) in stripes.iter().zip(&words) {
                        self.unlock(stripe, word);
                    }
                    return Err(reserved);
                }
            }
        }
        store();
        let version = self.now() + 1;
        stripes.iter().for_each(|&stripe| self.unlock(stripe, Word::free(version)));
        Ok(words.iter().any(|word| word.is_watched()))
    }

    fn lock(&self, stripe: Stripe) -> Result<Word, Reserved> {
        loop {
            let word = self.load_free(stripe);
            if word.is_reserved() {
                return Err(Reserved(stripe));
            }
            if self.exchange(stripe, word, word.locked(NO_PLACE)) {
                return Ok(word);
            }
        }
    }
}

/// Waiting for a change.
impl Space {
    /// Marks stripes as watched, for a strand that waits for their change. False if one was changed after the snapshot.
    /// Otherwise the thread that makes the next change learns that a strand waits for it.
    ///
    /// The caller has enqueued the strand before, where that thread finds it.
    pub fn watch(&self, stripes: &[Stripe], snapshot: u64) -> bool {
        stripes.iter().all(|&stripe| {
            loop {
                let word = self.load_free(stripe);
                if word.version() > snapshot {
                    return false;
                }
                if word.is_watched() || self.exchange(stripe, word, word.watched()) {
                    return true;
                }
            }
        })
    }
}

/// Zeroes as words. The memory comes zeroed from the system, which provides a page at its first use. So the words are
/// made in place, by a loop that compiles to nothing.
fn zeroes(count: usize) -> Box<[AtomicU64]> {
    vec![0; count].into_iter().map(AtomicU64::new).collect()
}
