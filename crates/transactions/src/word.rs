//! The word of a stripe: its version or its lock, and two flags. [`space`](crate::space) and
//! [`attempt`](crate::attempt) exchange it.
//!
//! ```text
//!   63  62                              2   1   0
//!  ┌───┬─────────────────────────────────┬───┬───┐
//!  │ 0 │ version                         │ r │ w │   free
//!  ├───┼─────────────────────────────────┼───┼───┤
//!  │ 1 │ place among what the holder has │ r │ w │   locked
//!  └───┴─────────────────────────────────┴───┴───┘
//! ```
//!
//! One comparison tells whether a stripe is free and old enough: see [`Word::newest`].
//!
//! - *watched* (w): a strand waits for a change of the stripe. The next change clears the flag, and the changing thread
//!   learns of it.
//! - *reserved* (r): an inevitable attempt has read the stripe, and no other attempt locks it.
//!
//! A word is changed by compare-and-exchange while it is free, and by its holder alone while it is locked.

const LOCKED: u64 = 1 << 63;
const WATCHED: u64 = 1;
const RESERVED: u64 = 2;
const SHIFT: u32 = 2;

/// The state of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Word(u64);

/// The place in the word of a holder that is no attempt.
pub const NO_PLACE: usize = (!LOCKED >> SHIFT) as usize;

impl Word {
    /// The word with these bits, which [`Word::bits`] answered.
    #[inline(always)]
    pub fn from_bits(bits: u64) -> Word {
        Word(bits)
    }

    /// The word's bits.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// A free stripe that was last changed at this time.
    #[inline(always)]
    pub fn free(version: u64) -> Word {
        Word(version << SHIFT)
    }

    /// The word for a holder that keeps the previous word at this place. The flags stay.
    #[inline(always)]
    pub fn locked(self, place: usize) -> Word {
        Word((place as u64) << SHIFT | self.0 & (WATCHED | RESERVED) | LOCKED)
    }

    /// Whether the stripe is locked.
    #[inline(always)]
    pub fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Whether the stripe is reserved.
    #[inline(always)]
    pub fn is_reserved(self) -> bool {
        self.0 & RESERVED != 0
    }

    /// Whether a strand waits for a change.
    #[inline(always)]
    pub fn is_watched(self) -> bool {
        self.0 & WATCHED != 0
    }

    /// Whether the word is a version without lock and flags.
    #[inline(always)]
    pub fn is_plain(self) -> bool {
        self.0 & (LOCKED | WATCHED | RESERVED) == 0
    }

    /// The time of the last change. The stripe is free.
    #[inline(always)]
    pub fn version(self) -> u64 {
        self.0 >> SHIFT
    }

    /// The place where the holder keeps the previous word. The stripe is locked.
    #[inline(always)]
    pub fn place(self) -> usize {
        ((self.0 & !LOCKED) >> SHIFT) as usize
    }

    /// The greatest word of a free stripe whose version is not beyond this one.
    #[inline(always)]
    pub fn newest(version: u64) -> Word {
        Word(version << SHIFT | WATCHED | RESERVED)
    }

    /// The same word, watched.
    #[inline(always)]
    pub fn watched(self) -> Word {
        Word(self.0 | WATCHED)
    }

    /// The same word, reserved.
    #[inline(always)]
    pub fn reserved(self) -> Word {
        Word(self.0 | RESERVED)
    }

    /// The same word, not reserved.
    #[inline(always)]
    pub fn unreserved(self) -> Word {
        Word(self.0 & !RESERVED)
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_kept() {
        let word = Word::free(77);
        assert!(!word.is_locked() && !word.is_watched() && !word.is_reserved());
        assert_eq!(word.version(), 77);
        let marked = word.watched().reserved();
        assert!(marked.is_watched() && marked.is_reserved() && !marked.is_locked());
        assert_eq!(marked.version(), 77);
        assert_eq!(marked.unreserved(), word.watched());
        assert!(word.is_plain() && !word.watched().is_plain() && !word.reserved().is_plain());
        assert!(!word.locked(0).is_plain());
        assert!(marked <= Word::newest(77) && marked > Word::newest(76));
        for place in [0, 1, 1 << 40, NO_PLACE] {
            let locked = marked.locked(place);
            assert!(locked > Word::newest(1 << 60), "a locked word is beyond every version");
            assert!(locked.is_locked() && locked.is_watched() && locked.is_reserved());
            assert_eq!(locked.place(), place);
        }
    }
}
