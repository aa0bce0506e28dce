//! The creation of the process's heap, the threads that attach to it, and its statistics. The runtime calls it at boot
//! and when a worker starts.

use crate::collector;
use crate::heap::Heap;
use crate::mutator::Mutator;
use crate::options::{HeapError, HeapOptions};
use crate::statistics::HeapStatistics;

impl Heap {
    /// Creates the heap. The collector's threads start with the first collection.
    pub fn new(options: HeapOptions) -> Result<&'static Heap, HeapError> {
        let maximum = options.max_heap.unwrap_or_else(default_max_heap);
        let threads = options.gc_threads.unwrap_or_else(default_threads);
        check(&options, maximum, threads)?;
        let heap = Heap::store(maximum, options.nursery_bytes, options.stress)?;
        collector::create(threads, &heap.sizing);
        Ok(heap)
    }

    /// The heap of the process, if it has been created.
    pub fn get() -> Option<&'static Heap> {
        Heap::stored().filter(|_| collector::is_created())
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

    /// A summary of all collections.
    pub fn statistics(&self) -> HeapStatistics {
        self.statistics_with(collector::used_bytes())
    }
}

fn check(options: &HeapOptions, maximum: usize, threads: usize) -> Result<(), HeapError> {
    if maximum < HeapOptions::MIN_MAX_HEAP {
        return Err(HeapError::HeapTooSmall);
    }
    if options.nursery_bytes < HeapOptions::MIN_NURSERY {
        return Err(HeapError::NurseryTooSmall);
    }
    if threads == 0 {
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

/// One thread for two cores. Most collections are of a nursery in which little survives; more threads would spend more
/// time on waking each other than they save.
fn default_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).clamp(1, HeapOptions::MAX_DEFAULT_THREADS)
}
