//! The counters of probes, for the coverage of tests: how often the parts of programs have run. The primitive `cover:` counts,
//! and the embedder, who has programs compiled with probes, reads the counts at the end.
//!
//! The counters are those of the process, not of a machine: programs are compiled before there is one. They exist once
//! [`begin`] was called. Their number is limited, so that their places do not change; programs that need more get none.
//!
//! Invariant: a counter only grows. Threads count without order; whoever reads has joined them, or does not mind.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many counters there are.
const MOST: u32 = 1 << 20;

struct Counters {
    counts: Box<[AtomicU64]>,
    taken: AtomicU32,
}

static COUNTERS: OnceLock<Counters> = OnceLock::new();

/// From now on there are counters.
pub fn begin() {
    COUNTERS.get_or_init(|| Counters {
        counts: (0..MOST).map(|_| AtomicU64::new(0)).collect(),
        taken: AtomicU32::new(0),
    });
}

/// Whether there are counters.
pub fn has_begun() -> bool {
    COUNTERS.get().is_some()
}

/// The number of the next counter that [`take`] answers, if no other thread takes some.
pub fn next() -> u32 {
    COUNTERS.get().map_or(0, |counters| counters.taken.load(Ordering::Relaxed))
}

/// Takes so many counters from this number on; false if they were taken, or there are not as many.
pub fn take(first: u32, count: u32) -> bool {
    let Some(counters) = COUNTERS.get() else { return false };
    let Some(end) = first.checked_add(count).filter(|&end| end <= MOST) else { return false };
    let (then, otherwise) = (Ordering::Relaxed, Ordering::Relaxed);
    counters.taken.compare_exchange(first, end, then, otherwise).is_ok()
}

/// Counts once. Numbers that are no counter's count nothing.
#[inline]
pub fn count(number: i64) {
    let counter =
        COUNTERS.get().and_then(|counters| counters.counts.get(usize::try_from(number).ok()?));
    if let Some(counter) = counter {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// The count of a counter.
pub fn count_of(number: u32) -> u64 {
    let counter = COUNTERS.get().and_then(|counters| counters.counts.get(number as usize));
    counter.map_or(0, |counter| counter.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_taken_once() {
        begin();
        let first = next();
        assert!(take(first, 3) && !take(first, 3));
        assert_eq!(next(), first + 3);
        assert!(!take(next(), MOST));
        count(i64::from(first) + 1);
        count(-1);
        count(i64::MAX);
        assert_eq!((count_of(first), count_of(first + 1), count_of(u32::MAX)), (0, 1, 0));
    }
}
