//! The trigger: MMTk asks it when to collect, and it answers by the sizing policy of [`crate::sizing`].

use super::mutator::allocates_large;
use super::{Binding, collect_fully_next, current_kind, heap, scanning, start_threads, worker};
use mmtk::util::heap::{GCTriggerPolicy, SpaceStats};
use mmtk::{MMTK, Plan};

/// The size of a page in MMTk's accounts.
const PAGE_BYTES: usize = mmtk::util::constants::BYTES_IN_PAGE;

pub(super) struct Trigger;

impl GCTriggerPolicy<Binding> for Trigger {
    fn is_gc_required(
        &self,
        space_full: bool,
        space: Option<SpaceStats<Binding>>,
        plan: &dyn Plan<VM = Binding>,
    ) -> bool {
        // Large objects are not in the nursery, whose smaller sizes MMTk does not know.
        let nursery = space.as_ref().filter(|_| !allocates_large());
        let nursery = nursery.map_or(0, |space| space.reserved_pages() * PAGE_BYTES);
        let has_parts = heap().has_many_native_parts();
        let required = has_parts
            || plan.collection_required(space_full, space)
            || heap().sizing.is_nursery_full(nursery);
        if required {
            // The asking mutator requests the collection right after this answer.
            start_threads();
            if has_parts {
                collect_fully_next();
            }
        }
        required
    }

    fn is_heap_full(&self, plan: &dyn Plan<VM = Binding>) -> bool {
        plan.get_reserved_pages() > self.get_current_heap_size_in_pages()
    }

    fn get_current_heap_size_in_pages(&self) -> usize {
        heap().sizing.limit() / PAGE_BYTES
    }

    fn get_max_heap_size_in_pages(&self) -> usize {
        heap().sizing.maximum() / PAGE_BYTES
    }

    fn can_heap_size_grow(&self) -> bool {
        // A full collection has set the limit as high as it can be for now. If that was not enough, MMTk must take
        // memory for exhausted: otherwise it would collect for ever.
        false
    }

    fn on_pending_allocation(&self, pages: usize) {
        heap().sizing.allocation_pends(pages * PAGE_BYTES);
    }

    fn on_gc_start(&self, mmtk: &'static MMTK<Binding>) {
        scanning::set_traced(false);
        heap().collection_begins(mmtk.get_plan().get_used_pages() * PAGE_BYTES);
    }

    fn on_gc_release(&self, _: &'static MMTK<Binding>) {
        scanning::set_traced(true);
        heap().sizing.collection_releases(current_kind());
    }

    fn on_gc_end(&self, mmtk: &'static MMTK<Binding>) {
        let used = mmtk.get_plan().get_used_pages() * PAGE_BYTES;
        heap().collection_ended(current_kind(), used, worker::take_traced_bytes());
    }
}
