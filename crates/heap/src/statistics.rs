//! The collector's statistics: counts, pauses and bytes, cheap enough to be kept always. The runtime reports them to
//! programs and the embedder.
//!
//! A histogram with sixteen bins per power of two gives the median: exact to about 6% for any number of pauses.

use crate::options::CollectionKind;
use std::time::Duration;

/// A summary of all collections so far.
#[derive(Clone, Debug, PartialEq)]
pub struct HeapStatistics {
    /// The pauses of nursery collections.
    pub nursery: PauseStatistics,
    /// The pauses of full collections.
    pub full: PauseStatistics,
    /// Bytes ever allocated, exact to the blocks in which mutators take memory.
    pub allocated_bytes: u64,
    /// Bytes in use now, free memory inside used blocks included.
    pub used_bytes: usize,
    /// Bytes of the objects that lived at the last full collection; zero before the first.
    pub live_bytes: usize,
    /// The size to which the heap may grow before the next full collection.
    pub heap_bytes: usize,
    /// The size to which the heap may grow at all.
    pub max_heap_bytes: usize,
}

/// A summary of the pauses of one kind of collection, from the decision to stop the mutators to
/// their release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseStatistics {
    /// How many pauses there were.
    pub count: u64,
    /// The shortest.
    pub min: Duration,
    /// The one in the middle, to about 6%.
    pub median: Duration,
    /// The longest.
    pub max: Duration,
    /// All together.
    pub total: Duration,
}

/// One collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionReport {
    /// How much was collected.
    pub kind: CollectionKind,
    /// The time from the decision to stop the mutators to their release.
    pub pause: Duration,
    /// Bytes in use before.
    pub bytes_before: usize,
    /// Bytes in use after.
    pub bytes_after: usize,
}

/// Bins per power of two, as a power of two.
const BIN_BITS: u32 = 4;
const BINS_PER_OCTAVE: usize = 1 << BIN_BITS;
/// Enough octaves for every `u64`.
const BINS: usize = (u64::BITS as usize + 1) * BINS_PER_OCTAVE;

/// A record of pauses, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Pauses {
    count: u64,
    min: u64,
    max: u64,
    total: u64,
    /// Allocated at the first pause, so that a program without collections does not pay for it.
    bins: Vec<u32>,
}

impl Pauses {
    pub(crate) const fn new() -> Pauses {
        Pauses { count: 0, min: u64::MAX, max: 0, total: 0, bins: Vec::new() }
    }

    pub(crate) fn record(&mut self, pause: Duration) {
        let nanoseconds = pause.as_nanos().min(u128::from(u64::MAX)) as u64;
        if self.bins.is_empty() {
            self.bins = vec![0; BINS];
        }
        self.bins[bin_of(nanoseconds)] += 1;
        self.count += 1;
        self.min = self.min.min(nanoseconds);
        self.max = self.max.max(nanoseconds);
        self.total = self.total.saturating_add(nanoseconds);
    }

    pub(crate) fn summary(&self) -> PauseStatistics {
        let (min, median) = if self.count == 0 { (0, 0) } else { (self.min, self.median()) };
        PauseStatistics {
            count: self.count,
            min: Duration::from_nanos(min),
            median: Duration::from_nanos(median),
            max: Duration::from_nanos(self.max),
            total: Duration::from_nanos(self.total),
        }
    }

    fn median(&self) -> u64 {
        let middle = self.count.div_ceil(2);
        let mut seen = 0;
        for (bin, &count) in self.bins.iter().enumerate() {
            seen += u64::from(count);
            if seen >= middle {
                return start_of(bin).clamp(self.min, self.max);
            }
        }
        self.max
    }
}

/// The bin of a value: its power of two, and its next [`BIN_BITS`] bits.
fn bin_of(value: u64) -> usize {
    if value < BINS_PER_OCTAVE as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - BIN_BITS;
    (shift as usize + 1) * BINS_PER_OCTAVE + (value >> shift) as usize - BINS_PER_OCTAVE
}

/// The least value in a bin.
fn start_of(bin: usize) -> u64 {
    if bin < BINS_PER_OCTAVE {
        return bin as u64;
    }
    let shift = bin / BINS_PER_OCTAVE - 1;
    ((bin % BINS_PER_OCTAVE + BINS_PER_OCTAVE) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_pauses_are_all_zero() {
        let summary = Pauses::new().summary();
        assert_eq!(summary.count, 0);
        assert_eq!(summary.min, Duration::ZERO);
        assert_eq!(summary.median, Duration::ZERO);
        assert_eq!(summary.max, Duration::ZERO);
    }

    #[test]
    fn extremes_and_total_are_exact() {
        let mut pauses = Pauses::new();
        for milliseconds in [5, 1, 3] {
            pauses.record(Duration::from_millis(milliseconds));
        }
        let summary = pauses.summary();
        assert_eq!(summary.count, 3);
        assert_eq!(summary.min, Duration::from_millis(1));
        assert_eq!(summary.max, Duration::from_millis(5));
        assert_eq!(summary.total, Duration::from_millis(9));
    }

    proptest! {
        #[test]
        fn bins_start_at_or_just_below_their_values(value: u64) {
            let start = start_of(bin_of(value));
            prop_assert!(start <= value);
            prop_assert!(value - start <= value / BINS_PER_OCTAVE as u64);
        }

        #[test]
        fn median_is_close(mut values in prop::collection::vec(1u64..1 << 40, 1..200)) {
            let mut pauses = Pauses::new();
            for &value in &values {
                pauses.record(Duration::from_nanos(value));
            }
            values.sort_unstable();
            let exact = values[(values.len() - 1) / 2];
            let median = pauses.summary().median.as_nanos() as u64;
            prop_assert!(median <= exact && exact - median <= exact / BINS_PER_OCTAVE as u64);
        }
    }
}
