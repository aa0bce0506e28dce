//! The collector's questions to the runtime: where the roots are, and how to stop the mutators. The runtime implements
//! [`RootSource`], and the collector calls it.
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
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The address of a word that is a root.
///
/// It is no reference: the collector keeps it after the visit, and several collector threads may update the word at the
/// same time, with the same value. They access the word as an atom, and no reference to it exists meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct RootAddress(NonNull<Word>);

impl RootAddress {
    /// The root at an address.
    ///
    /// # Safety
    ///
    /// A word is there, of which no reference exists. That stays so until the collection ends.
    #[inline(always)]
    pub unsafe fn new(address: *mut Word) -> RootAddress {
        debug_assert!(!address.is_null());
        // SAFETY: no word is at address zero.
        RootAddress(unsafe { NonNull::new_unchecked(address) })
    }

    /// The root that is an atom.
    ///
    /// # Safety
    ///
    /// It holds the bits of a word, and lives until the collection ends.
    #[inline(always)]
    pub unsafe fn of_atom(atom: &AtomicU64) -> RootAddress {
        // SAFETY: the address of an atom is not null.
        RootAddress(unsafe { NonNull::new_unchecked(atom.as_ptr().cast()) })
    }

    /// The words of a vector. No reference to one of them is made.
    #[inline]
    pub fn of_all(words: &mut Vec<Word>) -> impl Iterator<Item = RootAddress> + use<> {
        let (first, count) = (words.as_mut_ptr(), words.len());
        // SAFETY: the vector has these words, and so none of them is at address zero.
        (0..count)
            .map(move |index| RootAddress(unsafe { NonNull::new_unchecked(first.add(index)) }))
    }

    /// The word.
    ///
    /// # Safety
    ///
    /// The root is still in its place: the collection has not ended, or the thread that has the root stands.
    #[inline(always)]
    pub unsafe fn word(self) -> Word {
        // SAFETY: a word is there, and all accesses that may race with this one are atomic. Its bits are those of a word.
        unsafe { Word::from_bits(self.0.cast::<AtomicU64>().as_ref().load(Ordering::Relaxed)) }
    }

    /// The address.
    #[inline(always)]
    pub(crate) fn address(self) -> usize {
        self.0.as_ptr() as usize
    }
}

/// The root in a table of which the visiting collector thread has the lock. The reference ends when the visit begins.
impl From<&mut Word> for RootAddress {
    #[inline(always)]
    fn from(word: &mut Word) -> RootAddress {
        RootAddress(NonNull::from(word))
    }
}

/// The runtime as the collector sees it. Registered once, with
/// [`Heap::set_root_source`](crate::Heap::set_root_source).
///
/// No method may allocate from the heap or wait for a lock that a mutator holds at a GC point.
///
/// # Safety
///
/// A visited word must stay in its place until the collection ends, and until then no thread but the collector's may
/// access it, and no reference to it may exist: the collector keeps its address and updates it when the object moves. Every word through which a mutator can reach an
/// object must be a root, or be reachable from one.
pub unsafe trait RootSource: Send + Sync {
    /// Visits the roots that belong to no mutator. A nursery collection does not need the words that cannot hold an
    /// object allocated since the last collection.
    fn visit_roots(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress));

    /// Visits the roots of the mutator that attached with `context`.
    fn visit_mutator_roots(
        &self,
        context: usize,
        kind: CollectionKind,
        visit: &mut dyn FnMut(RootAddress),
    );

    /// Visits the words outside of the heap that belong to `strand`, an object of the format
    /// [`Strand`](crate::Format::Strand). If the strand runs, these words are roots of its mutator, and this visits
    /// none.
    ///
    /// Called for each scan of the object, at times by several collector threads at once. A nursery collection scans it
    /// if it is young, or was [remembered](crate::Mutator::remember) since the last collection.
    fn visit_frames(&self, _strand: Object, _visit: &mut dyn FnMut(RootAddress)) {}

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

    /// The mutator with `context`, which [reports] that, has got so many bytes of memory for its next objects.
    ///
    /// [reports]: crate::Mutator::report_memory
    fn memory_taken(&self, _context: usize, _bytes: usize) {}

    /// The operating system grants no thread for the collector, without which the process cannot go on.
    fn lacks_thread(&self, error: &std::io::Error) {
        panic!("there is no thread for the collector: {error}");
    }

    /// Receives the report of a collection.
    fn collected(&self, _report: &CollectionReport) {}
}
