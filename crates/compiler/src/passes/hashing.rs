//! A hash for keys that the compiler makes itself: small numbers, and few of them. `gvn` uses it, whose time is mostly
//! that of its table. (The multiplicative hash of Fibonacci numbers: Knuth, "The Art of Computer Programming", 6.4.)

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map with this hash.
pub type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<Multiplying>>;

/// The hash of what was written so far.
#[derive(Default)]
pub struct Multiplying(u64);

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for Multiplying {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(FACTOR);
    }

    fn write_i64(&mut self, number: i64) {
        self.write_u64(number as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
}
