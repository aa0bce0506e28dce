//! One attempt of a transaction.
//!
//! ```text
//!   begin ─▶ read … read ─▶ acquire ─▶ prepare ─▶ (the caller stores) ─▶ publish
//!              │               │          │
//!              └── conflict ───┴──────────┴──▶ release: as if nothing had been
//! ```
//!
//! With each read goes a *note* of the caller's, which comes back if that read turns out to be the one that
//! fails the attempt.
//!
//! Attempts never wait for one another: a reader waits while a stripe is locked, and whoever has locked one
//! is about to unlock it; who finds a stripe locked that it wants to lock itself fails after a while. So
//! there are no deadlocks; that somebody gets on in the end is the caller's part (backing off, and
//! becoming inevitable).

use crate::space::{Space, Stripe};
use crate::sync::{Ordering, fence, spin};
use crate::word::Word;

/// Why an attempt fails. What it holds is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Conflict<N> {
    /// What it read in this stripe was changed since.
    Changed(Stripe, N),
    /// Another one holds a stripe that it wants to write.
    Busy(Stripe),
    /// An inevitable attempt has reserved a stripe that it wants to write.
    Reserved(Stripe),
}

/// How often an attempt looks at a lock that another one holds. Commits are short.
const PATIENCE: u32 = if cfg!(all(test, feature = "loom")) { 2 } else { 200 };

/// A stripe that was read.
#[derive(Clone, Copy)]
struct Read<N> {
    version: u64,
    stripe: Stripe,
    note: N,
}

/// A stripe that is locked, and its word before.
#[derive(Clone, Copy)]
struct Held {
    stripe: Stripe,
    before: Word,
}

/// One attempt of a transaction. It is used again for the next.
pub struct Attempt<N> {
    snapshot: u64,
    reads: Vec<Read<N>>,
    held: Vec<Held>,
    reserved: Vec<Stripe>,
    is_inevitable: bool,
}

impl<N> Default for Attempt<N> {
    fn default() -> Attempt<N> {
        Attempt {
            snapshot: 0,
            reads: Vec::new(),
            held: Vec::new(),
            reserved: Vec::new(),
            is_inevitable: false,
        }
    }
}

impl<N: Copy> Attempt<N> {
    /// Begins: from now on, everything that is read is current as of one time.
    #[inline]
    pub fn begin(&mut self, space: &Space) {
        debug_assert!(self.held.is_empty() && self.reserved.is_empty(), "an attempt has ended");
        self.reads.clear();
        self.is_inevitable = false;
        self.snapshot = space.now();
    }

    /// How many stripes were read, some of them perhaps several times.
    pub fn reads(&self) -> usize {
        self.reads.len()
    }

    /// The stripes that were read, some of them perhaps several times, with their versions.
    pub fn versions(&self) -> impl Iterator<Item = (Stripe, u64)> {
        self.reads.iter().map(|read| (read.stripe, read.version))
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
        if self.is_inevitable {
            self.reserve(space, stripe);
            return Ok(load());
        }
        loop {
            let before = space.load_free(stripe);
            let value = load();
            // Pairs with the release of the store that the value comes from, whose maker had locked the
            // stripe before.
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
            self.note(stripe, version, note);
            return Ok(value);
        }
    }

    /// Remembers a read. Objects are often read several times in succession.
    #[inline(always)]
    fn note(&mut self, stripe: Stripe, version: u64, note: N) {
        if self.reads.last().is_none_or(|last| last.stripe != stripe) {
            self.reads.push(Read { version, stripe, note });
        }
    }

    /// Moves the snapshot forward, at least to this version.
    #[cold]
    fn extend(&mut self, space: &Space, version: u64) -> Result<(), Conflict<N>> {
        space.advance_to(version);
        let now = space.now();
        // Nothing is held yet, so waiting for those who are about to commit is safe.
        for read in &self.reads {
            if space.load_free(read.stripe).version() != read.version {
                return Err(Conflict::Changed(read.stripe, read.note));
            }
        }
        self.snapshot = now;
        Ok(())
    }

    /// Checks that everything that was read is current at this moment.
    pub fn validate(&mut self, space: &Space) -> Result<(), Conflict<N>> {
        if self.is_inevitable { Ok(()) } else { self.extend(space, 0) }
    }

    /// Locks the stripes to be written.
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
            } else if word.is_reserved() && !self.is_inevitable {
                return Err(Conflict::Reserved(stripe));
            } else if space.exchange(stripe, word, word.locked(self.held.len())) {
                self.held.push(Held { stripe, before: word });
                return Ok(());
            }
        }
    }

    /// What is held of a locked stripe, if it is this attempt that holds it.
    #[inline]
    fn holder(&self, space: &Space, stripe: Stripe, word: Word) -> Option<&Held> {
        // Others' words may have any place, but what is there is this stripe only if it is held here.
        self.held.get(word.place()).filter(|held| space.is_same(held.stripe, stripe))
    }

    /// Takes the time of the commit, and checks that everything that was read is still current.
    pub fn prepare(&mut self, space: &Space) -> Result<u64, Conflict<N>> {
        let time = space.tick();
        if !self.is_inevitable
            && let Err(conflict) = self.check_reads(space)
        {
            self.release(space);
            return Err(conflict);
        }
        Ok(time)
    }

    fn check_reads(&self, space: &Space) -> Result<(), Conflict<N>> {
        for read in &self.reads {
            let word = space.load(read.stripe);
            let current = match word.is_locked() {
                // Who has locked it is about to change it; waiting might last for ever.
                true => self.holder(space, read.stripe, word).map(|held| held.before.version()),
                false => Some(word.version()),
            };
            if current != Some(read.version) {
                return Err(Conflict::Changed(read.stripe, read.note));
            }
        }
        Ok(())
    }

    /// Unlocks everything that was written, at this time, and ends the attempt. Tells of each stripe for
    /// whose change somebody waits.
    pub fn publish(&mut self, space: &Space, time: u64, mut changed: impl FnMut(Stripe)) {
        for held in self.held.drain(..) {
            if held.before.is_watched() {
                changed(held.stripe);
            }
            space.unlock(held.stripe, Word::free(time));
        }
        self.end(space);
    }

    /// Unlocks everything, nothing having been written, and ends the attempt.
    pub fn release(&mut self, space: &Space) {
        for held in self.held.drain(..) {
            space.unlock(held.stripe, held.before.unreserved());
        }
        self.end(space);
    }

    fn end(&mut self, space: &Space) {
        for stripe in self.reserved.drain(..) {
            // One that was written is free by now, and perhaps changed or locked by others.
            loop {
                let word = space.load_free(stripe);
                if !word.is_reserved() || space.exchange(stripe, word, word.unreserved()) {
                    break;
                }
            }
        }
        self.is_inevitable = false;
    }
}

/// Inevitability.
impl<N: Copy> Attempt<N> {
    /// Whether the attempt cannot fail.
    #[inline(always)]
    pub fn is_inevitable(&self) -> bool {
        self.is_inevitable
    }

    /// Makes sure that the attempt will not fail, by reserving everything that it has read and is about to
    /// write. The caller sees to it that it is the only one of its space.
    pub fn make_inevitable(
        &mut self,
        space: &Space,
        writes: impl IntoIterator<Item = Stripe>,
    ) -> Result<(), Conflict<N>> {
        debug_assert!(self.held.is_empty(), "an attempt becomes inevitable before it commits");
        for index in 0..self.reads.len() {
            let Read { version, stripe, note } = self.reads[index];
            self.reserve(space, stripe);
            // Nobody changes it any more.
            if space.load(stripe).version() != version {
                self.release(space);
                return Err(Conflict::Changed(stripe, note));
            }
        }
        self.is_inevitable = true;
        writes.into_iter().for_each(|stripe| self.reserve(space, stripe));
        Ok(())
    }

    /// Reserves a stripe.
    #[inline]
    pub fn reserve(&mut self, space: &Space, stripe: Stripe) {
        loop {
            let word = space.load_free(stripe);
            // The only one who reserves is this attempt.
            if word.is_reserved() {
                return;
            }
            if space.exchange(stripe, word, word.reserved()) {
                return self.reserved.push(stripe);
            }
        }
    }
}
