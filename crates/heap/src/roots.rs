//! The collector's questions to the runtime: where the roots are, and how to stop the mutators.
//!
//! A collection runs these steps, on the collector's threads:
//!
//! 1. [`request_stop`](RootSource::request_stop) for each mutator; then the collector waits until all have reached a
//!    safepoint or are in native code;
//! 2. [`visit_roots`](RootSource::visit_roots) once and [`visit_mutator_roots`](RootSource::visit_mutator_roots) per
//!    mutator, in parallel; all objects that the visited words reach survive;
//! 3. [`visit_conditional_roots`](RootSource::visit_conditional_roots), repeatedly until neither it nor the ephemerons
//!    keep anything more alive;
//! 4. [`visit_weak_roots`](RootSource::visit_weak_roots): the runtime forgets dead objects;
//! 5. [`collected`](RootSource::collected) once;
//! 6. [`stop_ended`](RootSource::stop_ended) for each mutator, and they run again.

use crate::options::CollectionKind;
use crate::representation::{Object, Word};
use crate::statistics::CollectionReport;
use crate::tracer::Tracer;

/// The runtime as the collector sees it. Registered once, with
/// [`Heap::set_root_source`](crate::Heap::set_root_source).
///
/// No method may allocate from the heap or wait for a lock that a mutator holds at a GC point.
///
/// # Safety
///
/// A visited word must stay in its place, and must not be accessed by other threads, until the collection ends: the
/// collector keeps its address and updates it when the object moves. Every word through which a mutator can reach an
/// object must be a root, or be reachable from one.
pub unsafe trait RootSource: Send + Sync {
    /// Visits the roots that belong to no mutator. A nursery collection does not need the words that cannot hold an
    /// object allocated since the last collection.
    fn visit_roots(&self, kind: CollectionKind, visit: &mut dyn FnMut(&mut Word));

    /// Visits the roots of the mutator that attached with `context`.
    fn visit_mutator_roots(
        &self,
        context: usize,
        kind: CollectionKind,
        visit: &mut dyn FnMut(&mut Word),
    );

    /// Visits the words outside of the heap that belong to `strand`, an object of the format
    /// [`Strand`](crate::Format::Strand). If the strand runs, these words are roots of its mutator, and this visits
    /// none.
    ///
    /// Called for each scan of the object, at times by several collector threads at once. A nursery collection scans it
    /// if it is young, or was [remembered](crate::Mutator::remember) since the last collection.
    fn visit_frames(&self, _strand: Object, _visit: &mut dyn FnMut(&mut Word)) {}

    /// Makes the mutator that attached with `context` come to a safepoint soon. Not called for
    /// mutators in native code.
    fn request_stop(&self, context: usize);

    /// Undoes [`request_stop`](RootSource::request_stop). Called for every mutator.
    fn stop_ended(&self, context: usize);

    /// Visits the roots that count only if some object is live, for instance the frames of blocked strands. Called
    /// again as long as it, or an ephemeron, keeps a new object alive.
    fn visit_conditional_roots(&self, _kind: CollectionKind, _tracer: &mut Tracer<'_>) {}

    /// Visits words that keep nothing alive. [`Tracer::update`] tells for each word whether its object survives, and
    /// replaces the word by the object's new place.
    fn visit_weak_roots(&self, _kind: CollectionKind, _tracer: &mut Tracer<'_>) {}

    /// The number of bytes that the mutator with `context`, which is [metered], may allocate in addition. It needs at
    /// least `wanted` bytes. `None` if the answer takes a look at the heap.
    ///
    /// [metered]: crate::Mutator::begin_meter
    fn draw_memory(&self, _context: usize, wanted: usize) -> Option<u64> {
        Some(wanted as u64)
    }

    /// The same answer while all mutators stand; `None` if the mutator may not allocate.
    fn measure_memory(&self, _context: usize, wanted: usize) -> Option<u64> {
        Some(wanted as u64)
    }

    /// Receives the report of a collection.
    fn collected(&self, _report: &CollectionReport) {}
}
