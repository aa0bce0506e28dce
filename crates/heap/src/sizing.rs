//! How large the heap is: when to collect everything, and when memory is exhausted.
//!
//! The *limit* is the size at which everything is collected. After a full collection it is set to
//! three times what survived, but leaves room for at least [`MIN_NURSERIES`] nurseries and is neither
//! below [`MIN_LIMIT`] nor above the maximum that the user allowed. The first limit is larger. During a
//! full collection the limit is the maximum, because the collector compares what it has just released
//! with it to decide about the next collection, before the new limit is known.
//!
//! Exhaustion is decided here, earlier than the collector would: it goes on until no page is left,
//! with ever more full collections for ever less memory. Two marks below the maximum divide it:
//!
//! ```text
//!   0              soft mark                hard mark                    maximum
//!   ├──────────────────┼────────────────────────┼───────────────────────────┤
//!     survivors: fine     exhaustion is reported  nothing more but what is
//!                         once; then the handler  asked for as overcommit;
//!                         has this much room      copying takes place here
//! ```
//!
//! What survives a full collection is compared with the marks. Once survivors are below the soft
//! mark again, exhaustion is forgotten. Until they are above it, the limit is such that a full
//! collection happens when the soft mark is reached: otherwise the first one could happen beyond
//! the hard mark, and leave no room for handlers.
//!
//! Memory is used in blocks, and each collection that finds survivors leaves some that hold little. The next full one frees the
//! blocks that have become empty, but no others: unless blocks are *compacted*, a program that keeps one object of each nursery
//! pays for a block each. So a full collection that leaves memory *sparse* is followed by one that moves everything that lives into
//! new blocks, if there is room for both. For that time the heap may be a third larger than the maximum. All other full collections
//! leave objects where they are, which takes no memory and less time.

use crate::options::CollectionKind;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// The least limit, unless the maximum is lower.
const MIN_LIMIT: usize = 64 << 20;
/// The limit before the first full collection is no less than this fraction of the maximum: what a
/// program keeps from its start need not be traced again while it starts. The default maximum is three
/// quarters of the machine's memory, so that makes a 64th of it, as is usual (HotSpot's initial heap).
const FIRST_LIMIT_FRACTION: usize = 48;
/// How many times what survived the limit is.
const GROWTH: usize = 3;
/// For how many nurseries, surviving as a whole, the limit leaves room.
const MIN_NURSERIES: usize = 8;
/// The nursery takes at most this fraction of the maximum.
const NURSERY_FRACTION: usize = 16;
/// The room for the handlers of exhaustion is at least this fraction of the maximum.
const HANDLER_FRACTION: usize = 16;
/// Memory is sparse if, beside the objects and a nursery, more is used than this fraction of the objects' bytes.
const SPARSE_FRACTION: usize = 2;
/// A compaction may use this fraction of the maximum beyond that. The default maximum is three quarters of the machine's memory.
const COMPACTION_FRACTION: usize = 3;

/// The sizing policy of a heap, in bytes. All fields are hints or change while mutators stand
/// still, so that relaxed accesses suffice.
#[derive(Debug)]
pub(crate) struct Sizing {
    maximum: usize,
    nursery: usize,
    limit: AtomicUsize,
    /// Bytes of large objects whose allocation waits for a collection.
    pending: AtomicUsize,
    pressure: AtomicU8,
    /// Whether the next full collection is to compact: the last one, which did not, has left memory sparse.
    must_compact: AtomicBool,
    /// Whether exhaustion was reported since survivors were last below the soft mark.
    reported: AtomicBool,
}

/// Where the survivors of the last full collection were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Pressure {
    /// Below the soft mark.
    Low = 0,
    /// Between the marks.
    High = 1,
    /// Above the hard mark.
    Exhausted = 2,
}

impl Sizing {
    pub(crate) fn new(maximum: usize, nursery: usize) -> Sizing {
        let sizing = Sizing {
            maximum,
            nursery: nursery.min(maximum / NURSERY_FRACTION),
            limit: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            pressure: AtomicU8::new(Pressure::Low as u8),
            must_compact: AtomicBool::new(false),
            reported: AtomicBool::new(false),
        };
        sizing.set_limit_for(0, MIN_LIMIT.max(maximum / FIRST_LIMIT_FRACTION));
        sizing
    }

    pub(crate) fn nursery(&self) -> usize {
        self.nursery
    }

    pub(crate) fn maximum(&self) -> usize {
        self.maximum
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// A large object of this size waits for a collection.
    pub(crate) fn allocation_pends(&self, bytes: usize) {
        self.pending.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A collection is about to trace. A full one moves as much as there is room for below the limit.
    pub(crate) fn collection_traces(&self, kind: CollectionKind) {
        if kind == CollectionKind::Full {
            let limit = if self.must_compact() { self.highest() } else { 0 };
            self.limit.store(limit, Ordering::Relaxed);
        }
    }

    /// A collection is about to release memory.
    pub(crate) fn collection_releases(&self, kind: CollectionKind) {
        if kind == CollectionKind::Full {
            self.limit.store(self.maximum, Ordering::Relaxed);
        }
    }

    /// A collection has ended, with `used` bytes surviving. If it was a full one, `live` of them are those of objects.
    pub(crate) fn collection_ended(&self, kind: CollectionKind, used: usize, live: usize) {
        // The collector announces small allocations, too. Who still has to wait announces his again.
        let pending = self.pending.swap(0, Ordering::Relaxed);
        if kind == CollectionKind::Nursery {
            return;
        }
        let has_compacted = self.must_compact();
        let is_sparse = used > live + live / SPARSE_FRACTION + self.nursery;
        let has_room = used + live + self.copy_reserve() <= self.highest();
        self.must_compact.store(is_sparse && has_room && !has_compacted, Ordering::Relaxed);
        self.set_limit_for(used.saturating_add(pending), MIN_LIMIT);
        let pressure = if used > self.hard_mark() {
            Pressure::Exhausted
        } else if used > self.soft_mark() {
            Pressure::High
        } else {
            self.reported.store(false, Ordering::Relaxed);
            Pressure::Low
        };
        self.pressure.store(pressure as u8, Ordering::Relaxed);
    }

    /// Whether there is to be another full collection, one that compacts.
    #[inline]
    pub(crate) fn must_compact(&self) -> bool {
        self.must_compact.load(Ordering::Relaxed)
    }

    /// Has the next full collection compact.
    pub(crate) fn compact_next(&self) {
        self.must_compact.store(true, Ordering::Relaxed);
    }

    /// Whether an allocation has to make sure, by a full collection, that there is memory.
    #[inline]
    pub(crate) fn must_check(&self) -> bool {
        match self.pressure() {
            Pressure::Low => false,
            Pressure::High => !self.reported.load(Ordering::Relaxed),
            Pressure::Exhausted => true,
        }
    }

    /// Whether memory is exhausted, just after a full collection. Reports it once for high pressure.
    pub(crate) fn report_exhaustion(&self) -> bool {
        match self.pressure() {
            Pressure::Low => false,
            Pressure::High => !self.reported.swap(true, Ordering::Relaxed),
            Pressure::Exhausted => {
                self.reported.store(true, Ordering::Relaxed);
                true
            }
        }
    }

    /// Whether a large object of this size can be allocated when `used` bytes are in use.
    pub(crate) fn fits(&self, used: usize, size: usize) -> bool {
        used.saturating_add(size) <= self.hard_mark()
    }

    fn set_limit_for(&self, survivors: usize, least: usize) {
        let room = survivors.saturating_add(MIN_NURSERIES * self.nursery);
        let wanted = survivors.saturating_mul(GROWTH).max(room).max(least);
        let highest = if survivors <= self.soft_mark() {
            self.soft_mark() + self.copy_reserve()
        } else {
            self.maximum
        };
        self.limit.store(wanted.min(highest), Ordering::Relaxed);
    }

    fn pressure(&self) -> Pressure {
        match self.pressure.load(Ordering::Relaxed) {
            0 => Pressure::Low,
            1 => Pressure::High,
            _ => Pressure::Exhausted,
        }
    }

    fn hard_mark(&self) -> usize {
        self.maximum - self.copy_reserve()
    }

    fn soft_mark(&self) -> usize {
        self.hard_mark() - (self.maximum / HANDLER_FRACTION).max(2 * self.nursery)
    }

    /// What the collector sets aside: it collects everything when no two nurseries fit below the limit any more.
    fn copy_reserve(&self) -> usize {
        2 * self.nursery
    }

    /// How large the heap may be during a compaction.
    fn highest(&self) -> usize {
        self.maximum.saturating_add(self.maximum / COMPACTION_FRACTION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn after_full_collections(maximum: usize, survivors: &[usize]) -> Sizing {
        let sizing = Sizing::new(maximum, 4 * MIB);
        for &used in survivors {
            sizing.collection_releases(CollectionKind::Full);
            sizing.collection_ended(CollectionKind::Full, used, used);
        }
        sizing
    }

    #[test]
    fn the_limit_is_three_times_the_survivors() {
        assert_eq!(after_full_collections(1024 * MIB, &[]).limit(), 64 * MIB);
        assert_eq!(after_full_collections(1024 * MIB, &[5 * MIB]).limit(), 64 * MIB);
        assert_eq!(after_full_collections(1024 * MIB, &[100 * MIB]).limit(), 300 * MIB);
        assert_eq!(after_full_collections(1024 * MIB, &[500 * MIB]).limit(), 960 * MIB);
        assert_eq!(after_full_collections(1024 * MIB, &[960 * MIB]).limit(), 1024 * MIB);
        assert_eq!(after_full_collections(16 * MIB, &[]).limit(), 14 * MIB);
    }

    #[test]
    fn the_limit_leaves_room_for_nurseries() {
        let sizing = Sizing::new(1024 * MIB, 32 * MIB);
        assert_eq!(sizing.limit(), 256 * MIB);
        sizing.collection_ended(CollectionKind::Full, 10 * MIB, 10 * MIB);
        assert_eq!(sizing.limit(), 266 * MIB);
    }

    #[test]
    fn a_pending_large_object_counts_as_a_survivor() {
        let sizing = after_full_collections(1024 * MIB, &[]);
        sizing.allocation_pends(50 * MIB);
        sizing.collection_ended(CollectionKind::Full, 10 * MIB, 10 * MIB);
        assert_eq!(sizing.limit(), 180 * MIB);
    }

    #[test]
    fn what_was_pending_at_nursery_collections_does_not_add_up() {
        let sizing = after_full_collections(1024 * MIB, &[10 * MIB]);
        for _ in 0..1000 {
            sizing.allocation_pends(MIB);
            sizing.collection_ended(CollectionKind::Nursery, 10 * MIB, 10 * MIB);
        }
        sizing.collection_ended(CollectionKind::Full, 30 * MIB, 30 * MIB);
        assert_eq!(sizing.limit(), 90 * MIB);
    }

    #[test]
    fn the_limit_is_the_maximum_while_a_full_collection_releases() {
        let sizing = after_full_collections(1024 * MIB, &[]);
        sizing.collection_releases(CollectionKind::Nursery);
        assert_eq!(sizing.limit(), 64 * MIB);
        sizing.collection_releases(CollectionKind::Full);
        assert_eq!(sizing.limit(), 1024 * MIB);
    }

    #[test]
    fn the_nursery_of_a_small_heap_is_small() {
        assert_eq!(Sizing::new(16 * MIB, 4 * MIB).nursery(), MIB);
        assert_eq!(Sizing::new(1024 * MIB, 4 * MIB).nursery(), 4 * MIB);
    }

    #[test]
    fn high_pressure_is_reported_once_until_it_falls() {
        let sizing = after_full_collections(128 * MIB, &[115 * MIB]);
        assert!(sizing.must_check());
        assert!(sizing.report_exhaustion());
        assert!(!sizing.must_check());
        assert!(!sizing.report_exhaustion());
        sizing.collection_ended(CollectionKind::Full, 10 * MIB, 10 * MIB);
        sizing.collection_ended(CollectionKind::Full, 115 * MIB, 115 * MIB);
        assert!(sizing.report_exhaustion());
    }

    #[test]
    fn exhaustion_is_reported_every_time() {
        let sizing = after_full_collections(128 * MIB, &[121 * MIB]);
        for _ in 0..3 {
            assert!(sizing.must_check());
            assert!(sizing.report_exhaustion());
        }
    }

    #[test]
    fn large_objects_fit_below_the_hard_mark() {
        let sizing = after_full_collections(128 * MIB, &[]);
        assert!(sizing.fits(100 * MIB, 20 * MIB));
        assert!(!sizing.fits(100 * MIB, 21 * MIB));
        assert!(!sizing.fits(0, usize::MAX));
    }

    /// Whether a full collection that leaves this much is followed by one that compacts.
    fn compacts(used: usize, live: usize) -> bool {
        let sizing = after_full_collections(1024 * MIB, &[]);
        sizing.collection_ended(CollectionKind::Full, used, live);
        sizing.must_compact()
    }

    #[test]
    fn sparse_memory_is_compacted() {
        assert!(!compacts(4 * MIB, 0), "a nursery's worth is not much");
        assert!(compacts(5 * MIB, 0));
        assert!(!compacts(154 * MIB, 100 * MIB));
        assert!(compacts(155 * MIB, 100 * MIB));
    }

    #[test]
    fn memory_is_compacted_if_there_is_room_for_a_third_more() {
        assert!(compacts(900 * MIB, 457 * MIB));
        assert!(!compacts(900 * MIB, 458 * MIB));
    }

    #[test]
    fn only_a_compaction_has_room_to_move_objects() {
        let sizing = after_full_collections(900 * MIB, &[]);
        sizing.collection_traces(CollectionKind::Nursery);
        assert_eq!(sizing.limit(), 64 * MIB);
        sizing.collection_traces(CollectionKind::Full);
        assert_eq!(sizing.limit(), 0);
        sizing.collection_ended(CollectionKind::Full, 60 * MIB, MIB);
        sizing.collection_traces(CollectionKind::Full);
        assert_eq!(sizing.limit(), 1200 * MIB);
    }

    #[test]
    fn there_are_no_two_compactions_in_a_row() {
        let sizing = after_full_collections(1024 * MIB, &[]);
        for must_compact in [true, false, true] {
            sizing.collection_ended(CollectionKind::Full, 60 * MIB, MIB);
            assert_eq!(sizing.must_compact(), must_compact);
        }
    }
}
