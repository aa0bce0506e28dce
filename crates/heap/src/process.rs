//! The creation of the process's heap, the threads that attach to it, and its statistics. The runtime calls it at boot
//! and when a worker starts.

use crate::collector;
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::options::{HeapError, HeapOptions};
use crate::statistics::HeapStatistics;

impl Heap {
    /// The name of the collector's threads.
    pub const COLLECTOR: &str = "collector";

    /// Creates the heap. The collector is created when the cradle is left, and its threads start with the first
    /// collection.
    pub fn new(options: HeapOptions) -> Result<&'static Heap, HeapError> {
        let maximum = options.max_heap.unwrap_or_else(default_max_heap);
        check(&options, maximum)?;
        let HeapOptions { nursery_bytes, gc_threads, stress, .. } = options;
        let heap = Heap::store(maximum, nursery_bytes, gc_threads, stress)?;
        if heap.cradle.is_closed() {
            collector::create(heap.threads, &heap.sizing);
        }
        Ok(heap)
    }

    /// The heap of the process, if it has been created.
    pub fn get() -> Option<&'static Heap> {
        Heap::stored()
    }

    /// Attaches the calling thread as a mutator. The root source gets `context` as the mutator's name. Waits for the
    /// end of a collection under way.
    ///
    /// # Safety
    ///
    /// Until the mutator is dropped, its users follow the rooting discipline: no [`Word`](crate::Word) that points to
    /// an object, and no [`Object`](crate::Object), that was obtained before a GC point of this mutator is used after
    /// it, unless it was read again from a root; objects are accessed only while an attached mutator runs, that is, not
    /// in native sections; slots and elements are accessed within their bounds and according to the object's format.
    pub unsafe fn attach(&'static self, context: usize) -> Mutator {
        Mutator::attach(self, context)
    }

    /// Ends the collector's threads, so that the process can be copied: a copy has the calling thread alone. False, without an
    /// effect, if there is another mutator than the caller's, which runs. Nothing is allocated before
    /// [`Heap::begin_collector`], which each of the processes calls.
    pub fn end_collector(&self) -> bool {
        let is_alone = self.safepoints.count() == 1;
        if is_alone && self.cradle.is_closed() {
            collector::end_threads();
        }
        is_alone
    }

    /// Starts the collector's threads again.
    pub fn begin_collector(&self) {
        if self.cradle.is_closed() {
            collector::begin_threads();
        }
    }

    /// A summary of all collections.
    pub fn statistics(&self) -> HeapStatistics {
        self.statistics_with(|| match self.cradle.is_closed() {
            true => collector::used_bytes(),
            false => self.cradle.used(),
        })
    }
}

fn check(options: &HeapOptions, maximum: usize) -> Result<(), HeapError> {
    if maximum < HeapOptions::MIN_MAX_HEAP {
        return Err(HeapError::HeapTooSmall);
    }
    if options.nursery_bytes < HeapOptions::MIN_NURSERY {
        return Err(HeapError::NurseryTooSmall);
    }
    if options.gc_threads == Some(0) {
        return Err(HeapError::NoThreads);
    }
    if options.stress.is_some_and(|stress| stress.every == 0) {
        return Err(HeapError::NoStressInterval);
    }
    match address_space() {
        Some(limit) if limit < HeapOptions::ADDRESS_SPACE => Err(HeapError::AddressSpace(limit)),
        _ => Ok(()),
    }
}

/// How much address space the process may have in bytes, if there is a limit.
fn address_space() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure has room for the answer.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) } == 0;
    (is_known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Three quarters of the machine's memory.
fn default_max_heap() -> usize {
    // SAFETY: `sysconf` has no preconditions; it answers -1 for an unknown value.
    let (pages, page_bytes) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let memory = usize::try_from(pages).unwrap_or(0) * usize::try_from(page_bytes).unwrap_or(0);
    (memory / 4 * 3).max(HeapOptions::MIN_MAX_HEAP)
}
