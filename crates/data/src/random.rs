//! Random numbers: a sequence that a seed determines (ChaCha with 12 rounds, whose numbers cannot be foretold without
//! the seed), and bytes of the operating system. The primitives of `lib/Random.ns` call this module, and the runtime
//! draws the key of its hash codes here.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The length of a seed in bytes.
pub const SEED: usize = 32;

/// Numbers of 60 bits, from a position of the sequence of a seed.
pub fn numbers(seed: [u8; SEED], position: u64, count: usize) -> Vec<u64> {
    let mut generator = ChaCha12Rng::from_seed(seed);
    generator.set_word_pos(u128::from(position) * 2);
    (0..count).map(|_| generator.next_u64() >> 4).collect()
}

/// Bytes from the sequence of a number and a stream.
pub fn seeded_bytes(seed: u64, stream: u64, count: usize) -> Vec<u8> {
    let mut generator = ChaCha12Rng::seed_from_u64(seed);
    generator.set_stream(stream);
    let mut bytes = vec![0; count];
    generator.fill_bytes(&mut bytes);
    bytes
}

/// Bytes of the operating system that nobody can foresee; none if it has none.
pub fn system_bytes(count: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes).ok().map(|()| bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_part_of_one_sequence() {
        let whole = numbers([7; SEED], 0, 20);
        assert_eq!(numbers([7; SEED], 13, 7), whole[13..]);
        assert!(whole.iter().all(|number| *number < 1 << 60));
        assert_ne!(numbers([8; SEED], 0, 20), whole);
    }
}
