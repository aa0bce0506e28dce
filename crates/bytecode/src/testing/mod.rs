//! Random modules and functions for property tests.
//!
//! Everything is made from a list of bytes, which the property-testing library makes and shrinks.
//! When the bytes are used up, every choice is the first one, so shorter lists make smaller things.

mod arbitrary;
mod code;
mod correct;
pub(crate) mod seeds;

pub(crate) use arbitrary::arbitrary_module;
pub(crate) use code::random_function;
pub(crate) use correct::correct_module;

use proptest::prelude::*;

/// Where random choices come from.
#[derive(Clone, Debug)]
pub(crate) struct Entropy {
    bytes: std::vec::IntoIter<u8>,
}

impl Entropy {
    /// A strategy for at most `length` bytes.
    pub fn up_to(length: usize) -> impl Strategy<Value = Entropy> {
        proptest::collection::vec(any::<u8>(), 0..length).prop_map(Entropy::of)
    }

    /// Choices made by these bytes.
    pub fn of(bytes: Vec<u8>) -> Entropy {
        Entropy { bytes: bytes.into_iter() }
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.bytes.next().unwrap_or(0)
    }

    /// A number below `limit`, which is small.
    pub fn below(&mut self, limit: usize) -> usize {
        let byte = usize::from(self.byte());
        if limit <= 256 { byte % limit } else { (byte << 8 | usize::from(self.byte())) % limit }
    }

    /// Whether something happens that does so once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// One of these.
    pub fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number of any size, often a small or an extreme one.
    pub fn number(&mut self) -> u64 {
        let bits = self.choose(&[4, 8, 16, 31, 32, 33, 63, 64]);
        let value = (0..8).fold(0, |value, _| value << 8 | u64::from(self.byte()));
        let value = value >> (64 - bits);
        if self.one_in(8) { u64::MAX >> (64 - bits) } else { value }
    }

    /// A list of fewer than `limit` elements.
    pub fn list<T>(&mut self, limit: usize, mut element: impl FnMut(&mut Entropy) -> T) -> Vec<T> {
        let count = self.below(limit);
        (0..count).map(|_| element(self)).collect()
    }
}
