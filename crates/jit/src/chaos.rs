//! Chaos: makes rare ways common, to find mistakes of the compiler. Helpers ask here whether to abandon the native stack
//! although nothing asks for it. Off, it is one load.

use std::sync::atomic::{AtomicU64, Ordering};

/// The state of the sequence of draws, or 0 if there is no chaos.
static STATE: AtomicU64 = AtomicU64::new(0);

/// One of this many draws says yes.
const ONE_OF: u64 = 4;

/// Begins with a seed. Threads share the sequence, so with one worker, or a seed of the scheduler, a run is repeatable.
pub fn begin(seed: u64) {
    STATE.store(seed.wrapping_mul(2) | 1, Ordering::Relaxed);
}

/// Whether the native stack is to be abandoned here.
#[inline]
pub fn strikes() -> bool {
    let state = STATE.load(Ordering::Relaxed);
    state != 0 && draw(state)
}

/// Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (2003).
#[cold]
fn draw(mut state: u64) -> bool {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    STATE.store(state, Ordering::Relaxed);
    (state >> 33).is_multiple_of(ONE_OF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_both_answers() {
        assert!(!strikes());
        begin(7);
        let strikes: Vec<bool> = (0..100).map(|_| strikes()).collect();
        assert!(strikes.contains(&true) && strikes.contains(&false));
        STATE.store(0, Ordering::Relaxed);
    }
}
