//! Hash codes that cannot be foreseen: SipHash (Aumasson and Bernstein, *SipHash: a fast short-input PRF*, INDOCRYPT
//! 2012) under a key of the process. Strings and the primitives for numbers and objects take their hash codes from
//! here, and machine code its key. Texts and numbers from outside, such as the names in a form, cannot be chosen so that they collide. With a
//! seed, the key is that of the seed.
//!
//! The VM sets the key when it is made; before that, there are no objects.

use std::hash::Hasher;
use std::sync::OnceLock;

use siphasher::sip::SipHasher13;
use squall_data::random;

static KEY: OnceLock<[u64; 2]> = OnceLock::new();

/// The stream of a seed's random bytes that makes the key. Programs get the others.
const KEY_STREAM: u64 = u64::MAX;

/// Chooses the key of this process. Without a seed and without random bytes of the operating system, it is no secret.
pub fn choose_key(seed: Option<u64>) {
    let bytes = match seed {
        Some(seed) => Some(random::seeded_bytes(seed, KEY_STREAM, 16)),
        None => random::system_bytes(16),
    };
    let half = |bytes: &[u8]| bytes.iter().fold(0, |half, byte| half << 8 | u64::from(*byte));
    let (first, second) = bytes.as_deref().unwrap_or(&[0; 16]).split_at(8);
    _ = KEY.set([half(first), half(second)]);
}

fn hasher() -> SipHasher13 {
    let [first, second] = KEY.get().copied().unwrap_or_default();
    SipHasher13::new_with_keys(first, second)
}

/// A hash of bytes.
pub fn of_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = hasher();
    hasher.write(bytes);
    hasher.finish()
}

/// A hash of code points; that of the bytes if each fits into one.
pub fn of_code_points(code_points: impl Iterator<Item = u32> + Clone) -> u64 {
    let mut hasher = hasher();
    let is_narrow = code_points.clone().all(|code_point| code_point <= 0xFF);
    for code_point in code_points {
        match is_narrow {
            true => hasher.write(&[code_point as u8]),
            false => hasher.write(&code_point.to_le_bytes()),
        }
    }
    hasher.finish()
}

/// A hash of a number.
pub fn of_number(number: u64) -> u64 {
    of_bytes(&number.to_le_bytes())
}

/// What machine code for sandboxes hides constants by.
pub fn code_key() -> u64 {
    of_bytes(b"constants of machine code")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_of_a_text_does_not_matter() {
        let narrow = b"abc\xe4";
        assert_eq!(of_bytes(narrow), of_code_points(narrow.iter().map(|byte| u32::from(*byte))));
        assert_ne!(of_code_points([0x100].into_iter()), of_code_points([0, 1].into_iter()));
    }
}
