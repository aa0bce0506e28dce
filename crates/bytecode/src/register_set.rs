//! Sets of registers, one bit per register. All flow analyses compute with them.
//!
//! A frame has at most [`RegisterSet::CAPACITY`] registers, because an operand names one in eight bits. The set is four
//! machine words, so a meet or join is four operations for every size of the frame.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub, SubAssign};

use crate::entities::Register;

/// A set of registers of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegisterSet([u64; 4]);

impl RegisterSet {
    /// The number of registers that a frame can have at most.
    pub const CAPACITY: usize = 256;

    /// No register.
    pub const EMPTY: RegisterSet = RegisterSet([0; 4]);

    /// Every register.
    pub const ALL: RegisterSet = RegisterSet([u64::MAX; 4]);

    /// The registers `r0 .. r(end-1)`; ends beyond the capacity stand for all registers.
    pub fn below(end: usize) -> RegisterSet {
        RegisterSet(std::array::from_fn(|word| match end.saturating_sub(word * 64) {
            0 => 0,
            bits @ 1..=63 => (1 << bits) - 1,
            _ => u64::MAX,
        }))
    }

    /// The registers from `start` up to, but not with, `end`.
    pub fn range(start: usize, end: usize) -> RegisterSet {
        RegisterSet::below(end) - RegisterSet::below(start)
    }

    /// The set of this one register.
    pub fn of(register: Register) -> RegisterSet {
        let mut set = RegisterSet::EMPTY;
        set.insert(register);
        set
    }

    /// Whether the register is in the set.
    #[inline]
    pub fn contains(&self, register: Register) -> bool {
        self.0[register.index() / 64] >> (register.index() % 64) & 1 != 0
    }

    /// Whether every register of `other` is in this set.
    pub fn includes(&self, other: &RegisterSet) -> bool {
        (*other - *self).is_empty()
    }

    /// Whether there is no register in the set.
    pub fn is_empty(&self) -> bool {
        *self == RegisterSet::EMPTY
    }

    /// How many registers are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Adds a register.
    pub fn insert(&mut self, register: Register) {
        self.0[register.index() / 64] |= 1 << (register.index() % 64);
    }

    /// Takes a register out.
    pub fn remove(&mut self, register: Register) {
        self.0[register.index() / 64] &= !(1 << (register.index() % 64));
    }

    /// The bits: register `n` is bit `n % 64` of word `n / 64`.
    #[inline]
    pub fn words(&self) -> &[u64; 4] {
        &self.0
    }

    /// The registers in ascending order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Register> + use<> {
        self.0
            .into_iter()
            .enumerate()
            .flat_map(|(index, word)| Bits(word).map(move |bit| Register((index * 64) as u8 + bit)))
    }

    fn zip(self, other: RegisterSet, combine: impl Fn(u64, u64) -> u64) -> RegisterSet {
        RegisterSet(std::array::from_fn(|word| combine(self.0[word], other.0[word])))
    }
}

/// The positions of the ones in a word, ascending.
struct Bits(u64);

impl Iterator for Bits {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let lowest = (self.0 != 0).then(|| self.0.trailing_zeros() as u8)?;
        self.0 &= self.0 - 1;
        Some(lowest)
    }
}

impl BitOr for RegisterSet {
    type Output = RegisterSet;
    fn bitor(self, other: RegisterSet) -> RegisterSet {
        self.zip(other, |left, right| left | right)
    }
}

impl BitAnd for RegisterSet {
    type Output = RegisterSet;
    fn bitand(self, other: RegisterSet) -> RegisterSet {
        self.zip(other, |left, right| left & right)
    }
}

impl Sub for RegisterSet {
    type Output = RegisterSet;
    fn sub(self, other: RegisterSet) -> RegisterSet {
        self.zip(other, |left, right| left & !right)
    }
}

impl BitOrAssign for RegisterSet {
    fn bitor_assign(&mut self, other: RegisterSet) {
        *self = *self | other;
    }
}

impl BitAndAssign for RegisterSet {
    fn bitand_assign(&mut self, other: RegisterSet) {
        *self = *self & other;
    }
}

impl SubAssign for RegisterSet {
    fn sub_assign(&mut self, other: RegisterSet) {
        *self = *self - other;
    }
}

impl FromIterator<Register> for RegisterSet {
    fn from_iter<I: IntoIterator<Item = Register>>(registers: I) -> RegisterSet {
        let mut set = RegisterSet::EMPTY;
        registers.into_iter().for_each(|register| set.insert(register));
        set
    }
}

impl fmt::Debug for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bounds() {
        assert_eq!(RegisterSet::below(0), RegisterSet::EMPTY);
        assert_eq!(RegisterSet::below(256), RegisterSet::ALL);
        assert_eq!(RegisterSet::below(1000), RegisterSet::ALL);
        assert_eq!(RegisterSet::range(5, 3), RegisterSet::EMPTY);
        assert_eq!(
            RegisterSet::range(63, 66).iter().map(|r| r.0).collect::<Vec<_>>(),
            [63, 64, 65]
        );
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_set(left: std::collections::BTreeSet<u8>, right: std::collections::BTreeSet<u8>) {
            let set = |items: &std::collections::BTreeSet<u8>| items.iter().copied().map(Register).collect::<RegisterSet>();
            let (a, b) = (set(&left), set(&right));
            prop_assert_eq!(a.len(), left.len());
            prop_assert_eq!(a.iter().map(|r| r.0).collect::<Vec<_>>(), left.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(a | b, set(&(&left | &right)));
            prop_assert_eq!(a & b, set(&(&left & &right)));
            prop_assert_eq!(a - b, set(&(&left - &right)));
            prop_assert_eq!(a.includes(&b), left.is_superset(&right));
        }

        #[test]
        fn ranges_hold_what_they_say(start in 0usize..300, end in 0usize..300, register: u8) {
            let set = RegisterSet::range(start, end);
            prop_assert_eq!(set.contains(Register(register)), (start..end).contains(&usize::from(register)));
        }
    }
}
