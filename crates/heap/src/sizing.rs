//! The size of the heap: when to collect everything, and when memory is exhausted. MMTk's trigger and the allocation
//! paths ask this module.
//!
//! The *limit* is the size at which everything is collected. A full collection sets it to three times the surviving
//! bytes; it leaves room for at least [`MIN_NURSERIES`] nurseries, and is neither below [`MIN_LIMIT`] nor above the
//! user's maximum. The first limit is larger, and outlives the full collection that follows the evacuation of the
//! [cradle](crate::cradle): that one comes early, whatever the program keeps. During a full collection the limit is the
//! maximum: MMTk decides about the next collection with the memory that it has just released, before the new limit is
//! known.
//!
//! This module decides about exhaustion earlier than MMTk would: MMTk goes on until no page is left, with ever more
//! full collections for ever less memory. Two marks below the maximum divide it:
//!
//! ```text
//!   0              soft mark                hard mark                    maximum
//!   ├──────────────────┼────────────────────────┼───────────────────────────┤
//!     survivors: fine     exhaustion is reported  nothing more but what is
//!                         once; then the handler  asked for as overcommit;
//!                         has this much room      copying takes place here
//! ```
//!
//! After a full collection, the surviving bytes are compared with the marks. Once they are below the soft mark again,
//! the exhaustion is forgotten. Until they are above it, the limit makes a full collection happen at the soft mark:
//! otherwise the first one could happen beyond the hard mark, and leave no room for handlers.
//!
//! The *nursery* is what is allocated between two nursery collections. It begins small: its memory stays in the caches,
//! and what survives is copied in a short pause. If more than a trace survives, it doubles, so that objects have more time
//! to die; if next to nothing does, it halves. It grows only while the survivors expected are below [`MOST_SURVIVORS`], which
//! bounds the pause. MMTk collects at the greatest nursery; smaller ones are this module's, through the trigger.
//!
//! Memory is used in blocks, and each collection with survivors leaves some blocks that hold little. The next full
//! collection frees empty blocks only. Without *compaction*, a program that keeps one object of each nursery would pay
//! a block for each. So after a full collection that leaves memory *sparse*, another one moves all live objects into
//! new blocks, if there is room for both. For that time the heap may be a third larger than the maximum. All other full
//! collections leave objects in place, which takes no memory and less time.

use crate::options::CollectionKind;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

/// The least limit, unless the maximum is lower.
const MIN_LIMIT: usize = 64 << 20;
/// The limit before the first full collection is at least this fraction of the maximum, so that the objects which a
/// program keeps from its start are not traced again while it starts. The default maximum is three quarters of the
/// machine's memory, so this makes a 64th of it, as is usual (HotSpot's initial heap).
const FIRST_LIMIT_FRACTION: usize = 48;
/// The limit is this multiple of the surviving bytes.
const GROWTH: usize = 3;
/// The limit leaves room for this many nurseries that survive as a whole.
const MIN_NURSERIES: usize = 8;
/// The same for nurseries that have grown.
const MIN_GROWN_NURSERIES: usize = 4;
/// A nursery grows if more than this fraction survives.
const GROWING_FRACTION: usize = 64;
/// A nursery shrinks if less than this fraction survives.
const SHRINKING_FRACTION: usize = 512;
/// A nursery does not grow if more than this would survive.
const MOST_SURVIVORS: usize = 8 << 20;
/// The nursery grows by this factor at most.
const MOST_GROWTH: usize = 8;
/// The nursery takes at most this fraction of the maximum.
const NURSERY_FRACTION: usize = 16;
/// The room for the handlers of exhaustion is at least this fraction of the maximum.
const HANDLER_FRACTION: usize = 16;
/// Memory is sparse if the bytes in use, without the objects and a nursery, exceed this fraction of the objects' bytes.
const SPARSE_FRACTION: usize = 2;
/// During a compaction the heap may exceed the maximum by this fraction. The default maximum is three quarters of the
/// machine's memory.
const COMPACTION_FRACTION: usize = 3;

/// The sizing policy of a heap, in bytes. All fields are hints or change while mutators stand
/// still, so that relaxed accesses suffice.
#[derive(Debug)]
pub(crate) struct Sizing {
    maximum: usize,
    /// The least nursery.
    nursery: usize,
    /// The nursery now.
    current: AtomicUsize,
    limit: AtomicUsize,
    /// Bytes of large objects whose allocation waits for a collection.
    pending: AtomicUsize,
    pressure: AtomicU8,
    /// Whether the next full collection compacts, because the last one has left memory sparse without compacting.
    must_compact: AtomicBool,
    /// Whether the next full collection is the one after the cradle's evacuation.
    is_first: AtomicBool,
    /// Whether exhaustion was reported since survivors were last below the soft mark.
    reported: AtomicBool,
}

/// The survivors of the last full collection, compared with the marks.
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
        let nursery = nursery.min(maximum / NURSERY_FRACTION);
        let sizing = Sizing {
            maximum,
            nursery,
            current: AtomicUsize::new(nursery),
            limit: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            pressure: AtomicU8::new(Pressure::Low as u8),
            must_compact: AtomicBool::new(false),
            is_first: AtomicBool::new(false),
            reported: AtomicBool::new(false),
        };
        sizing.set_limit_for(0, sizing.least_first_limit());
        sizing
    }

    fn least_first_limit(&self) -> usize {
        MIN_LIMIT.max(self.maximum / FIRST_LIMIT_FRACTION)
    }

    /// The cradle was evacuated: the next full collection keeps the first limit.
    pub(crate) fn cradle_was_left(&self) {
        self.is_first.store(true, Ordering::Relaxed);
    }

    /// The least and the greatest nursery.
    pub(crate) fn nurseries(&self) -> (usize, usize) {
        let most = (self.maximum / NURSERY_FRACTION).min(MOST_GROWTH * self.nursery);
        (self.nursery, most.max(self.nursery))
    }

    /// Whether a nursery of so many bytes is full.
    pub(crate) fn is_nursery_full(&self, bytes: usize) -> bool {
        bytes >= self.current()
    }

    fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Chooses the next nursery, after a nursery collection with these survivors.
    fn resize_nursery(&self, survivors: usize) {
        let (least, most) = self.nurseries();
        let current = self.current();
        let next = if survivors > current / GROWING_FRACTION && 2 * survivors <= MOST_SURVIVORS {
            2 * current
        } else if survivors < current / SHRINKING_FRACTION {
            current / 2
        } else {
            return;
        };
        self.current.store(next.clamp(least, most), Ordering::Relaxed);
    }

    pub(crate) fn maximum(&self) -> usize {
        self.maximum
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    /// Records that a large object of this size waits for a collection.
    pub(crate) fn allocation_pends(&self, bytes: usize) {
        self.pending.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Called before a collection traces. A full one moves as many objects as there is room for below the limit.
    pub(crate) fn collection_traces(&self, kind: CollectionKind) {
        if kind == CollectionKind::Full {
            let limit = if self.must_compact() { self.highest() } else { 0 };
            self.limit.store(limit, Ordering::Relaxed);
        }
    }

    /// Called before a collection releases memory.
    pub(crate) fn collection_releases(&self, kind: CollectionKind) {
        if kind == CollectionKind::Full {
            self.limit.store(self.maximum, Ordering::Relaxed);
        }
    }

    /// Called when a collection has ended, with `used` bytes in use; `live` is the size of the objects that it has traced.
    pub(crate) fn collection_ended(&self, kind: CollectionKind, used: usize, live: usize) {
        // MMTk announces small allocations here, too. An allocation that still waits announces itself again.
        let pending = self.pending.swap(0, Ordering::Relaxed);
        if kind == CollectionKind::Nursery {
            return self.resize_nursery(live);
        }
        if used + MIN_GROWN_NURSERIES * self.current() > self.maximum {
            self.current.store(self.nursery, Ordering::Relaxed);
        }
        let has_compacted = self.must_compact();
        let is_sparse = used > live + live / SPARSE_FRACTION + self.nursery;
        let has_room = used + live + self.copy_reserve() <= self.highest();
        self.must_compact.store(is_sparse && has_room && !has_compacted, Ordering::Relaxed);
        let is_first = self.is_first.swap(false, Ordering::Relaxed);
        let least = if is_first { self.least_first_limit() } else { MIN_LIMIT };
        self.set_limit_for(used.saturating_add(pending), least);
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

    /// Whether a compacting full collection is necessary.
    #[inline]
    pub(crate) fn must_compact(&self) -> bool {
        self.must_compact.load(Ordering::Relaxed)
    }

    /// Makes the next full collection compact.
    pub(crate) fn compact_next(&self) {
        self.must_compact.store(true, Ordering::Relaxed);
    }

    /// Whether an allocation must run a full collection first, to find out whether there is memory.
    #[inline]
    pub(crate) fn must_check(&self) -> bool {
        match self.pressure() {
            Pressure::Low => false,
            Pressure::High => !self.reported.load(Ordering::Relaxed),
            Pressure::Exhausted => true,
        }
    }

    /// Whether memory is exhausted, just after a full collection. Between the marks, reports it once.
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
        let nurseries = (MIN_NURSERIES * self.nursery).max(MIN_GROWN_NURSERIES * self.current());
        let room = survivors.saturating_add(nurseries);
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

    /// The memory that MMTk sets aside: it collects everything when two nurseries no longer fit below the limit.
    fn copy_reserve(&self) -> usize {
        2 * self.nursery
    }

    /// The greatest size of the heap during a compaction.
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
    fn the_first_limit_outlives_the_evacuation_of_the_cradle() {
        let sizing = Sizing::new(48 * 100 * MIB, 4 * MIB);
        assert_eq!(sizing.limit(), 100 * MIB);
        sizing.cradle_was_left();
        for limit in [100 * MIB, 64 * MIB] {
            sizing.collection_releases(CollectionKind::Full);
            sizing.collection_ended(CollectionKind::Full, 2 * MIB, 2 * MIB);
            assert_eq!(sizing.limit(), limit);
        }
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
        assert_eq!(Sizing::new(16 * MIB, 4 * MIB).nurseries(), (MIB, MIB));
        assert_eq!(Sizing::new(1024 * MIB, 4 * MIB).nurseries(), (4 * MIB, 32 * MIB));
        assert_eq!(Sizing::new(128 * MIB, 4 * MIB).nurseries(), (4 * MIB, 8 * MIB));
    }

    /// The nursery after nursery collections with these survivors.
    fn nursery_after(maximum: usize, survivors: &[usize]) -> usize {
        let sizing = Sizing::new(maximum, 4 * MIB);
        for &live in survivors {
            sizing.collection_ended(CollectionKind::Nursery, 10 * MIB, live);
        }
        sizing.current()
    }

    #[test]
    fn the_nursery_grows_while_some_survives_and_the_pause_stays_short() {
        assert_eq!(nursery_after(1024 * MIB, &[MIB / 32]), 4 * MIB);
        assert_eq!(nursery_after(1024 * MIB, &[MIB / 8]), 8 * MIB);
        assert_eq!(nursery_after(1024 * MIB, &[3 * MIB; 9]), 32 * MIB);
        assert_eq!(nursery_after(1024 * MIB, &[4 * MIB, 8 * MIB, 8 * MIB]), 8 * MIB);
        assert_eq!(nursery_after(64 * MIB, &[4 * MIB]), 4 * MIB);
    }

    #[test]
    fn the_nursery_shrinks_if_little_survives() {
        assert_eq!(nursery_after(1024 * MIB, &[2 * MIB, 2 * MIB, 0]), 8 * MIB);
        assert_eq!(nursery_after(1024 * MIB, &[2 * MIB, 0, 0, 0]), 4 * MIB);
    }

    #[test]
    fn a_full_heap_has_a_small_nursery_again() {
        let sizing = Sizing::new(512 * MIB, 4 * MIB);
        for _ in 0..3 {
            sizing.collection_ended(CollectionKind::Nursery, 400 * MIB, 2 * MIB);
        }
        assert_eq!(sizing.current(), 32 * MIB);
        sizing.collection_ended(CollectionKind::Full, 460 * MIB, 450 * MIB);
        assert_eq!(sizing.current(), 4 * MIB);
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

    /// Whether a full collection with this result is followed by a compacting one.
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
