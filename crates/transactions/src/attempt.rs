//! One attempt of a transaction. The runtime has one per strand, and calls it for the accesses of `atomic:` blocks.
//!
//! ```text
//!   begin ─▶ read … read ─▶ acquire ─▶ prepare ─▶ (the caller stores) ─▶ publish
//!              │               │          │
//!              └── conflict ───┴──────────┴──▶ release: as if nothing had been
//! ```
//!
//! With each read, the caller passes a *note*. If that read makes the attempt fail, the conflict holds its note.
//!
//! Attempts do not wait for one another while they hold locks. A reader waits while a stripe is locked, and the holder
//! of the lock is about to unlock it. An attempt that wants to lock a stripe but finds it locked fails after a while.
//! So there are no deadlocks. The caller ensures progress: it backs off, and in the end becomes inevitable.

use crate::space::{Space, Stripe};
use crate::sync::{Ordering, fence, spin};
use crate::word::Word;

/// The reason why an attempt fails. The attempt has released all that it held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conflict<N> {
    /// A stripe that the attempt has read was changed since; with the note of the read.
    Changed(Stripe, N),
    /// Another attempt holds a stripe that this one wants to write.
    Busy(Stripe),
    /// An inevitable attempt has reserved a stripe that this one wants to write.
    Reserved(Stripe),
}

/// How often an attempt looks at a lock that another attempt holds. Commits are short.
const PATIENCE: u32 = if cfg!(all(test, feature = "loom")) { 2 } else { 200 };

/// The number of reads that an attempt has room for at first.
const FEW: usize = 64;

/// A stripe that was read.
#[derive(Clone, Copy)]
struct Read<N> {
    stripe: Stripe,
    note: N,
}

/// A locked stripe, and its word before the lock.
#[derive(Clone, Copy)]
struct Held {
    stripe: Stripe,
    before: Word,
}

/// Whether an attempt can fail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It can.
    Open,
    /// It cannot, since it has reserved what it has read.
    Inevitable,
    /// It cannot, since nothing else happens.
    Alone,
}

/// One attempt of a transaction. The same `Attempt` serves the transaction's next attempt.
///
/// All that it has read is current as of its snapshot: at that time, no stripe had a later version.
pub struct Attempt<N> {
    snapshot: u64,
    reads: Vec<Read<N>>,
    /// The stripe of the last read, since objects are often read several times in succession.
    last: Stripe,
    held: Vec<Held>,
    reserved: Vec<Stripe>,
    fate: Fate,
    /// Whether the attempt has met a version ahead of the clock.
    was_ahead: bool,
}

/// No stripe has this number.
const NO_STRIPE: Stripe = Stripe(u32::MAX);

impl<N> Default for Attempt<N> {
    fn default() -> Attempt<N> {
        Attempt {
            snapshot: 0,
            reads: Vec::new(),
            last: NO_STRIPE,
            held: Vec::new(),
            reserved: Vec::new(),
            fate: Fate::Open,
            was_ahead: false,
        }
    }
}

impl<N: Copy> Attempt<N> {
    /// How many bytes the reads take.
    pub fn bytes(&self) -> usize {
        size_of_val(self.reads.as_slice())
    }

    /// Begins: from now on, all reads are current as of one time.
    #[inline]
    pub fn begin(&mut self, space: &Space) {
        debug_assert!(self.held.is_empty() && self.reserved.is_empty(), "an attempt has ended");
        self.reads.clear();
        self.last = NO_STRIPE;
        self.fate = Fate::Open;
        self.was_ahead = false;
        self.snapshot = space.now();
    }

    /// The number of remembered reads. A stripe may be among them several times.
    pub fn reads(&self) -> usize {
        self.reads.len()
    }

    /// The bytes of memory that the attempt has for its reads and locks.
    pub fn capacity(&self) -> usize {
        self.reads.capacity() * size_of::<Read<N>>()
            + self.held.capacity() * size_of::<Held>()
            + self.reserved.capacity() * size_of::<Stripe>()
    }

    /// The stripes that were read. A stripe may be among them several times.
    pub fn stripes(&self) -> impl Iterator<Item = Stripe> {
        self.reads.iter().map(|read| read.stripe)
    }

    /// The notes of the reads, in their order.
    pub fn notes(&self) -> impl Iterator<Item = &N> {
        self.reads.iter().map(|read| &read.note)
    }

    /// The time as of which all reads are current.
    pub fn snapshot(&self) -> u64 {
        self.snapshot
    }

    /// Reads a place of this stripe if the stripe is free and not newer than the snapshot, the attempt is not
    /// inevitable, and there is memory to remember the read. Otherwise does nothing and answers `None`.
    #[inline(always)]
    pub fn try_read<V>(
        &mut self,
        space: &Space,
        stripe: Stripe,
        note: N,
        load: impl FnOnce() -> V,
    ) -> Option<V> {
        let before = space.load(stripe);
        if before > Word::newest(self.snapshot) || self.is_inevitable() {
            return None;
        }
        let value = load();
        // Pairs with the same stores as the fence in `read`.
        fence(Ordering::Acquire);
        if space.load(stripe) != before {
            return None;
        }
        if self.last != stripe {
            if self.is_full() {
                return None;
            }
            self.note(stripe, note);
        }
        Some(value)
    }

    /// Whether the next read needs more memory.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.reads.len() == self.reads.capacity()
    }

    /// The number of bytes that [`Attempt::grow`] adds.
    pub fn growth(&self) -> usize {
        self.reads.capacity().max(FEW) * size_of::<Read<N>>()
    }

    /// Makes room for twice as many reads.
    pub fn grow(&mut self) {
        let capacity = self.reads.capacity();
        self.reads.reserve_exact(capacity + capacity.max(FEW) - self.reads.len());
    }

    /// Forgets repeated reads, if they are at least half of all reads. So there is never room for more than twice as
    /// many reads as there are stripes.
    pub fn condense(&mut self) -> bool {
        let before = self.reads.len();
        self.reads.sort_unstable_by_key(|read| read.stripe);
        self.reads.dedup_by_key(|read| read.stripe);
        self.last = NO_STRIPE;
        self.reads.len() <= before / 2
    }

    /// Reads a place of this stripe.
    #[inline]
    pub fn read<V>(
        &mut self,
        space: &Space,
        stripe: Stripe,
        note: N,
        mut load: impl FnMut() -> V,
    ) -> Result<V, Conflict<N>> {
        if self.is_inevitable() {
            self.reserve(space, stripe);
            return Ok(load());
        }
        loop {
            let before = space.load_free(stripe);
            let value = load();
            // Pairs with the release of the store that the value comes from. The storing thread had locked the stripe
            // before.
            fence(Ordering::Acquire);
            let after = space.load(stripe);
            if after.is_locked() || after.version() != before.version() {
                continue;
            }
            let version = before.version();
            if version > self.snapshot {
                self.extend(space, version)?;
                continue;
            }
            if self.last != stripe {
                self.note(stripe, note);
            }
            return Ok(value);
        }
    }

    /// Remembers a read.
    #[inline(always)]
    fn note(&mut self, stripe: Stripe, note: N) {
        self.last = stripe;
        self.reads.push(Read { stripe, note });
    }

    /// Moves the snapshot forward, at least to this version.
    #[cold]
    fn extend(&mut self, space: &Space, version: u64) -> Result<(), Conflict<N>> {
        self.was_ahead |= space.advance_to(version);
        let now = space.now();
        // Nothing is held yet, so it is safe to wait for attempts that are about to commit.
        for read in &self.reads {
            if space.load_free(read.stripe).version() > self.snapshot {
                return Err(Conflict::Changed(read.stripe, read.note));
            }
        }
        self.snapshot = now;
        Ok(())
    }

    /// Checks that all reads are current at this moment.
    pub fn validate(&mut self, space: &Space) -> Result<(), Conflict<N>> {
        if self.is_inevitable() { Ok(()) } else { self.extend(space, 0) }
    }

    /// Locks the stripes that are to be written.
    pub fn acquire(
        &mut self,
        space: &Space,
        stripes: impl IntoIterator<Item = Stripe>,
    ) -> Result<(), Conflict<N>> {
        for stripe in stripes {
            if let Err(conflict) = self.acquire_one(space, stripe) {
                self.release(space);
                return Err(conflict);
            }
        }
        Ok(())
    }

    fn acquire_one(&mut self, space: &Space, stripe: Stripe) -> Result<(), Conflict<N>> {
        let mut spins = 0;
        loop {
            let word = space.load(stripe);
            if word.is_locked() {
                if self.holder(space, stripe, word).is_some() {
                    return Ok(());
                }
                if spins == PATIENCE {
                    return Err(Conflict::Busy(stripe));
                }
                spin(&mut spins);
            } else if word.is_reserved() && !self.is_inevitable() {
                return Err(Conflict::Reserved(stripe));
            } else if space.exchange(stripe, word, word.locked(self.held.len())) {
                self.held.push(Held { stripe, before: word });
                return Ok(());
            }
        }
    }

    /// Commits without locks, if none of the reads is newer than the snapshot, and if no strand waits for a change of
    /// the written stripes or has reserved or locked one. Then `store` runs, and the attempt has ended. Otherwise does
    /// nothing and answers false. The caller has the [space for itself](crate::sole).
    #[inline]
    pub fn commit_alone(
        &mut self,
        space: &Space,
        stripes: impl Iterator<Item = Stripe> + Clone,
        store: impl FnOnce(),
    ) -> bool {
        let is_current = |read: &Read<N>| space.load(read.stripe) <= Word::newest(self.snapshot);
        let is_plain = |stripe: Stripe| space.load(stripe).is_plain();
        if self.is_inevitable()
            || !self.reads.iter().all(is_current)
            || !stripes.clone().all(is_plain)
        {
            return false;
        }
        store();
        let time = space.tick_alone();
        stripes.for_each(|stripe| space.unlock(stripe, Word::free(time)));
        self.end(space);
        true
    }

    /// Whether a strand waits for a change of a held stripe.
    #[inline(always)]
    pub fn is_watched(&self) -> bool {
        self.held.iter().any(|held| held.before.is_watched())
    }

    /// The record of a locked stripe, if this attempt holds it.
    #[inline]
    fn holder(&self, space: &Space, stripe: Stripe, word: Word) -> Option<&Held> {
        // The word of another holder may have any place. The record at that place has this stripe only if this attempt
        // holds it.
        self.held.get(word.place()).filter(|held| space.is_same(held.stripe, stripe))
    }

    /// Takes the time of the commit, and checks that all reads are still current.
    #[inline]
    pub fn prepare(&mut self, space: &Space) -> Result<u64, Conflict<N>> {
        let time = if self.was_ahead { space.tick() } else { space.now() + 1 };
        if !self.is_inevitable()
            && let Err(conflict) = self.check_reads(space)
        {
            self.release(space);
            return Err(conflict);
        }
        Ok(time)
    }

    #[inline]
    fn check_reads(&self, space: &Space) -> Result<(), Conflict<N>> {
        for read in &self.reads {
            let word = space.load(read.stripe);
            let current = match word.is_locked() {
                // Another holder is about to change the stripe; waiting might last for ever.
                true => self.holder(space, read.stripe, word).map(|held| held.before.version()),
                false => Some(word.version()),
            };
            if current.is_none_or(|version| version > self.snapshot) {
                return Err(Conflict::Changed(read.stripe, read.note));
            }
        }
        Ok(())
    }

    /// Unlocks the written stripes, with this time as their version, and ends the attempt. Calls `changed` for each
    /// stripe for whose change a strand waits.
    #[inline]
    pub fn publish(&mut self, space: &Space, time: u64, mut changed: impl FnMut(Stripe)) {
        for held in &self.held {
            if held.before.is_watched() {
                changed(held.stripe);
            }
            space.unlock(held.stripe, Word::free(time));
        }
        self.end(space);
    }

    /// Unlocks all stripes, none of which was written, and ends the attempt.
    #[inline]
    pub fn release(&mut self, space: &Space) {
        for held in &self.held {
            space.unlock(held.stripe, held.before.unreserved());
        }
        self.end(space);
    }

    #[inline]
    fn end(&mut self, space: &Space) {
        self.held.clear();
        self.fate = Fate::Open;
        if !self.reserved.is_empty() {
            self.give_up_reserved(space);
        }
    }

    #[cold]
    fn give_up_reserved(&mut self, space: &Space) {
        for stripe in self.reserved.drain(..) {
            // A stripe that was written is unlocked by now; other strands may have changed or locked it.
            loop {
                let word = space.load_free(stripe);
                if !word.is_reserved() || space.exchange(stripe, word, word.unreserved()) {
                    break;
                }
            }
        }
    }
}

/// Inevitability.
impl<N: Copy> Attempt<N> {
    /// Whether the attempt cannot fail.
    #[inline(always)]
    pub fn is_inevitable(&self) -> bool {
        self.fate != Fate::Open
    }

    /// Begins, as the only attempt until it ends: nothing changes that it reads. It cannot fail, and reserves nothing.
    pub fn begin_alone(&mut self, space: &Space) {
        self.begin(space);
        self.fate = Fate::Alone;
    }

    /// For an inevitable attempt: all that it has read is current as of now.
    pub fn follow(&mut self, space: &Space) {
        debug_assert!(self.is_inevitable(), "what it has read is reserved");
        self.snapshot = space.now();
    }

    /// Whether this stripe is newer than the snapshot.
    pub fn is_news(&self, space: &Space, stripe: Stripe) -> bool {
        space.load(stripe).version() > self.snapshot
    }

    /// Makes sure that the attempt will not fail: reserves all stripes that it has read and is about to write. The
    /// caller ensures that the space has one inevitable attempt at a time.
    pub fn make_inevitable(
        &mut self,
        space: &Space,
        writes: impl IntoIterator<Item = Stripe>,
    ) -> Result<(), Conflict<N>> {
        debug_assert!(self.held.is_empty(), "an attempt becomes inevitable before it commits");
        for index in 0..self.reads.len() {
            let Read { stripe, note } = self.reads[index];
            self.reserve(space, stripe);
            // The stripe is reserved, so its version does not change any more.
            if space.load(stripe).version() > self.snapshot {
                self.release(space);
                return Err(Conflict::Changed(stripe, note));
            }
        }
        self.fate = Fate::Inevitable;
        writes.into_iter().for_each(|stripe| self.reserve(space, stripe));
        Ok(())
    }

    /// Reserves a stripe.
    #[inline]
    pub fn reserve(&mut self, space: &Space, stripe: Stripe) {
        if self.fate == Fate::Alone {
            return;
        }
        loop {
            let word = space.load_free(stripe);
            // Only this attempt reserves stripes.
            if word.is_reserved() {
                return;
            }
            if space.exchange(stripe, word, word.reserved()) {
                return self.reserved.push(stripe);
            }
        }
    }
}
