//! The heap of the process: the state that mutators and the collector share, and the operations that each side calls.
//! `process.rs`, above both sides, creates it and attaches threads.

use crate::cradle::{self, Cradle};
use crate::options::{CollectionKind, HeapError, Stress};
use crate::record::RecordPointer;
use crate::representation::Object;
use crate::roots::{RootAddress, RootSource};
use crate::safepoint::{Participant, Safepoints, Status};
use crate::sizing::Sizing;
use crate::statistics::{CollectionReport, HeapStatistics, Pauses};
use crate::weak::{Finalizable, WeakObjects};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The heap of this process. Created once, never dropped.
pub struct Heap {
    pub(crate) safepoints: Safepoints<RecordPointer>,
    pub(crate) sizing: Sizing,
    pub(crate) weak: WeakObjects,
    pub(crate) stress: Option<Stress>,
    pub(crate) cradle: Cradle,
    /// The number of collector threads, if the embedder has chosen one.
    pub(crate) threads: Option<usize>,
    roots: OnceLock<Box<dyn RootSource>>,
    nursery_collections: AtomicU64,
    full_collections: AtomicU64,
    record: Mutex<Record>,
    native_parts: NativeParts,
    /// The records of mutators that have left, with their collector's parts, for other mutators.
    spare: Mutex<Vec<RecordPointer>>,
}

/// The native parts of objects that only full collections find dead: of sandboxes. They take memory outside of the heap, of
/// which the heap's size says nothing: a program that makes one after the other would have native memory for as many as
/// fit into the heap. A sandbox goes one collection after its vats, so the parts of several periods are there at a time.
struct NativeParts {
    /// How many there are, those of dead objects included.
    count: AtomicUsize,
    /// Above how many everything is collected.
    limit: AtomicUsize,
}

impl NativeParts {
    /// So many more than there were after a full collection make the next one, at least.
    const LEAST_GROWTH: usize = 8192;

    /// One more for so many bytes of live objects: dead parts may take as much memory as live objects, so that a
    /// large heap is not collected for a few parts.
    const BYTES: usize = 1024;
}

/// Data that collections leave for the statistics.
struct Record {
    nursery: Pauses,
    full: Pauses,
    /// When the collection under way began to stop the mutators.
    began: Option<Instant>,
    /// Bytes allocated before the last collection, and how many were told of.
    allocated: u64,
    told: u64,
    /// Whether a collection copies objects: those in use are there twice, then.
    copies: bool,
    /// Bytes in use before the last collection.
    before: usize,
    /// Bytes in use after the last collection.
    used: usize,
    /// Bytes of the objects that lived at the last full collection.
    live: usize,
}

static HEAP: OnceLock<Heap> = OnceLock::new();

impl Heap {
    /// Stores the heap of the process. The process cannot get another one.
    pub(crate) fn store(
        maximum: usize,
        nursery: usize,
        threads: Option<usize>,
        stress: Option<Stress>,
    ) -> Result<&'static Heap, HeapError> {
        if HEAP.get().is_some() {
            return Err(HeapError::AlreadyCreated);
        }
        let sizing = Sizing::new(maximum, nursery);
        // Under stress, the first allocation may collect.
        let has_cradle = stress.is_none() && sizing.nurseries().0 >= cradle::LEAST_NURSERY;
        let heap = Heap {
            safepoints: Safepoints::new(),
            sizing,
            weak: WeakObjects::new(),
            stress,
            cradle: if has_cradle { Cradle::open() } else { Cradle::closed() },
            threads,
            roots: OnceLock::new(),
            nursery_collections: AtomicU64::new(0),
            full_collections: AtomicU64::new(0),
            record: Mutex::new(Record::new()),
            spare: Mutex::default(),
            native_parts: NativeParts {
                count: AtomicUsize::new(0),
                limit: AtomicUsize::new(NativeParts::LEAST_GROWTH),
            },
        };
        HEAP.set(heap).map_err(|_| HeapError::AlreadyCreated)?;
        Ok(Heap::of_process())
    }

    /// The heap that [`Heap::store`] keeps.
    pub(crate) fn stored() -> Option<&'static Heap> {
        HEAP.get()
    }

    /// Registers the runtime. Only the first call has an effect; it must precede the first
    /// allocation. Answers whether this was the first call.
    pub fn set_root_source(&self, source: Box<dyn RootSource>) -> bool {
        self.roots.set(source).is_ok()
    }

    /// Runs `work` while all mutators stand at safepoints or are in native sections, so that `work` may read objects
    /// and the mutators' data. The calling thread has no mutator, or is in a native section.
    pub fn while_stopped<R>(&self, work: impl FnOnce() -> R) -> R {
        self.safepoints.stop();
        let result = work();
        self.safepoints.resume_without_collection();
        result
    }

    /// Runs `work` while objects stay in their places and no collection begins. Mutators run meanwhile, so `work` reads only
    /// what they change atomically, and each word that it finds in an object is that of an object. A mutator that needs a
    /// collection waits, so `work` takes less than a millisecond. The calling thread has no mutator, or is in a native section;
    /// `work` holds no lock that a thread may hold while it waits for a collection.
    pub fn without_collection<R>(&self, work: impl FnOnce() -> R) -> R {
        self.safepoints.while_open(work)
    }

    /// Registers `object` for finalisation: when nothing else references it, it appears in the
    /// queue of [`take_finalizable`](Heap::take_finalizable) once, with this tag.
    pub fn register_finalizable(&self, object: Object, tag: u64) {
        self.weak.register_finalizable(object, tag);
    }

    /// Takes an object from the finalisation queue. It is a root until taken.
    pub fn take_finalizable(&self) -> Option<Finalizable> {
        self.weak.take_finalizable()
    }

    /// Whether the finalisation queue is not empty.
    pub fn has_finalizable(&self) -> bool {
        self.weak.has_finalizable()
    }

    /// An object has got a native part that is freed when a full collection has found the object dead. *No GC point.*
    pub fn native_part_made(&self) {
        self.native_parts.count.fetch_add(1, Ordering::Relaxed);
    }

    /// A full collection is freeing so many native parts, which are all that it has found. *No GC point.*
    pub fn native_parts_freed(&self, freed: usize) {
        let (parts, live) = (&self.native_parts, self.record().live);
        let left = parts.count.fetch_sub(freed, Ordering::Relaxed) - freed;
        let growth = NativeParts::LEAST_GROWTH.max(live / NativeParts::BYTES);
        parts.limit.store(left + growth, Ordering::Relaxed);
    }

    /// The number of collections so far, of both kinds. It changes only while mutators stand still, so a comparison
    /// with an earlier value tells whether data derived from addresses is still valid.
    pub fn collections(&self) -> u64 {
        self.nursery_collections.load(Ordering::Relaxed) + self.full_collections()
    }
}

/// The collector's side: its reports and its questions.
impl Heap {
    /// The record of a mutator that has left, if there is one. Its collector's part is retired.
    pub(crate) fn take_spare(&self) -> Option<RecordPointer> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps the record of a mutator that has left, with its collector's part. No other thread uses it.
    pub(crate) fn keep_spare(&self, record: RecordPointer) {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }

    /// Whether so many native parts were made that the next collection should be a full one.
    pub(crate) fn has_many_native_parts(&self) -> bool {
        let NativeParts { count, limit } = &self.native_parts;
        count.load(Ordering::Relaxed) > limit.load(Ordering::Relaxed)
    }

    /// The heap, even while it is being created.
    pub(crate) fn of_process() -> &'static Heap {
        HEAP.get().expect("the heap is stored before the collector is created")
    }

    pub(crate) fn roots(&self) -> &dyn RootSource {
        match self.roots.get() {
            Some(source) => &**source,
            None => &NoRoots,
        }
    }

    pub(crate) fn full_collections(&self) -> u64 {
        self.full_collections.load(Ordering::Relaxed)
    }

    pub(crate) fn collection_begins(&self, used: usize) {
        self.weak.begin_collection();
        let mut record = self.record();
        record.allocated += used.saturating_sub(record.used) as u64;
        record.before = used;
        record.copies = true;
    }

    /// The objects have left the cradle, but for so many bytes of dead ones.
    pub(crate) fn cradle_is_left(&self, garbage: usize) {
        self.record().allocated += garbage as u64;
    }

    pub(crate) fn stop_begins(&self) {
        self.record().began = Some(Instant::now());
    }

    pub(crate) fn collection_ended(&self, kind: CollectionKind, used: usize, live: usize) {
        self.sizing.collection_ended(kind, used, live);
        let mut record = self.record();
        record.used = used;
        record.copies = false;
        if kind == CollectionKind::Full {
            record.live = live;
        }
    }

    pub(crate) fn stop_ends(&self, kind: CollectionKind) {
        let mut record = self.record();
        let pause = record.began.take().map_or(Duration::ZERO, |began| began.elapsed());
        match kind {
            CollectionKind::Nursery => {
                record.nursery.record(pause);
                self.nursery_collections.fetch_add(1, Ordering::Relaxed);
            }
            CollectionKind::Full => {
                record.full.record(pause);
                self.full_collections.fetch_add(1, Ordering::Relaxed);
            }
        }
        let (bytes_before, bytes_after) = (record.before, record.used);
        drop(record);
        self.roots().collected(&CollectionReport { kind, pause, bytes_before, bytes_after });
    }

    /// A summary of all collections, when so many bytes are in use. The count of allocated bytes never falls.
    pub(crate) fn statistics_with(&self, used: impl FnOnce() -> usize) -> HeapStatistics {
        let mut record = self.record();
        // No collection begins or ends from here on.
        let used_bytes = used();
        let since = if record.copies { 0 } else { used_bytes.saturating_sub(record.used) };
        record.told = record.told.max(record.allocated + since as u64);
        HeapStatistics {
            nursery: record.nursery.summary(),
            full: record.full.summary(),
            allocated_bytes: record.told,
            used_bytes,
            live_bytes: record.live,
            heap_bytes: self.sizing.limit(),
            max_heap_bytes: self.sizing.maximum(),
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Record {
    const fn new() -> Record {
        Record {
            nursery: Pauses::new(),
            full: Pauses::new(),
            began: None,
            allocated: 0,
            told: 0,
            copies: false,
            before: 0,
            used: 0,
            live: 0,
        }
    }
}

/// The root source before the runtime has registered: it has no roots but the root handles of mutators.
struct NoRoots;

// SAFETY: no words are visited. Mutators whose threads hold words elsewhere break the discipline of
// `Heap::attach`, not this contract.
unsafe impl RootSource for NoRoots {
    fn visit_roots(&self, _: CollectionKind, _: &mut dyn FnMut(RootAddress)) {}
    fn visit_mutator_roots(&self, _: usize, _: CollectionKind, _: &mut dyn FnMut(RootAddress)) {}
    fn request_stop(&self, _: usize) {}
    fn stop_ended(&self, _: usize) {}
}

impl Participant for RecordPointer {
    fn status(&self) -> &Status {
        &self.get().status
    }

    fn stop_requested(&self) {
        Heap::of_process().roots().request_stop(self.get().context);
    }

    fn stop_ended(&self) {
        Heap::of_process().roots().stop_ended(self.get().context);
    }
}
