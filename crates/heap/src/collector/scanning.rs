//! Scanning: MMTk asks here for the references of an object, and for the roots.
//!
//! Objects are traced by *node*: MMTk hands an object over, and its slots are traced at once instead of being queued.
//! This made full collections about twice as fast. [`super::worker`] adds the tracing of long thin graphs. Weak arrays
//! and ephemerons are listed for later, and only their classes are traced.

use super::slot::WordSlot;
use super::tracer::MmtkTracing;
use super::worker::{Worker, trace_ahead, trace_slot};
use super::{Binding, LARGE_OBJECT, current_kind, heap, object};
use crate::options::CollectionKind;
use crate::record::RecordPointer;
use crate::representation::{
    CLASS_OFFSET, FIRST_ELEMENT_OFFSET, FIRST_SLOT_OFFSET, Format, Object, WORD_BYTES,
};
use crate::roots::RootAddress;
use crate::tracer::Tracer;
use mmtk::scheduler::GCWorker;
use mmtk::util::ObjectReference;
use mmtk::util::constants::BYTES_IN_PAGE;
use mmtk::util::opaque_pointer::VMWorkerThread;
use mmtk::vm::{ObjectTracer, ObjectTracerContext, RootsWorkFactory, SlotVisitor};
use mmtk::{Mutator, MutatorContext};
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) struct Scanning;

/// Whether tracing is over. After that, only MMTk's heap checker scans objects. The heap checker gets slots, because
/// MMTk 0.33.0 confuses parent and child there when objects are traced by node.
static IS_TRACED: AtomicBool = AtomicBool::new(false);

/// Records that tracing begins or has ended.
pub(super) fn set_traced(is_traced: bool) {
    IS_TRACED.store(is_traced, Ordering::Relaxed);
}

impl mmtk::vm::Scanning<Binding> for Scanning {
    #[inline(always)]
    fn support_slot_enqueuing(thread: VMWorkerThread, _: ObjectReference) -> bool {
        if cfg!(feature = "sanity") && IS_TRACED.load(Ordering::Relaxed) {
            return true;
        }
        match Worker::of(thread) {
            Some(worker) => {
                worker.announce();
                false
            }
            None => true,
        }
    }

    #[inline(always)]
    fn scan_object_and_trace_edges<T: ObjectTracer>(
        thread: VMWorkerThread,
        reference: ObjectReference,
        tracer: &mut T,
    ) {
        let object = object(reference);
        let worker = Worker::of(thread);
        let size = if worker.is_some_and(Worker::is_narrow) {
            trace_ahead(object, tracer, |object, visit| _ = for_each_slot(object, visit));
            object.size()
        } else {
            for_each_slot(object, |slot| trace_slot(slot, tracer))
        };
        if let Some(worker) = worker {
            worker.traced(occupied_bytes(size));
        }
    }

    /// For MMTk's heap checker only.
    fn scan_object<V: SlotVisitor<WordSlot>>(
        _: VMWorkerThread,
        reference: ObjectReference,
        visitor: &mut V,
    ) {
        for_each_slot(object(reference), |slot| visitor.visit_slot(slot));
    }

    fn scan_roots_in_mutator_thread(
        _: VMWorkerThread,
        mutator: &'static mut Mutator<Binding>,
        factory: impl RootsWorkFactory<WordSlot>,
    ) {
        // SAFETY: a mutator that MMTk knows has not left.
        let record = unsafe { super::mutator::record_of(mutator.get_tls()) };
        scan_mutator_roots(record, RootBuffer::new(factory));
    }

    fn scan_vm_specific_roots(_: VMWorkerThread, factory: impl RootsWorkFactory<WordSlot>) {
        let mut buffer = RootBuffer::new(factory);
        heap().weak.visit_roots(&mut |root| buffer.push(root));
        heap().roots().visit_roots(current_kind(), &mut |root| buffer.push(root));
    }

    fn process_weak_refs(
        worker: &mut GCWorker<Binding>,
        context: impl ObjectTracerContext<Binding>,
    ) -> bool {
        context.with_tracer(worker, |tracer| {
            let heap = heap();
            let mut tracing = MmtkTracing(tracer);
            heap.weak.process(current_kind(), heap.roots(), &mut Tracer::new(&mut tracing))
        })
    }

    fn notify_initial_thread_scan_complete(_: bool, _: VMWorkerThread) {}

    fn supports_return_barrier() -> bool {
        false
    }

    fn prepare_for_roots_re_scanning() {}
}

/// The bytes that an object of this size occupies: a large one has whole pages.
#[inline(always)]
fn occupied_bytes(size: usize) -> usize {
    if size > LARGE_OBJECT { size.next_multiple_of(BYTES_IN_PAGE) } else { size }
}

/// Visits the slots of `object` that hold strong references, its class first. Answers the size of the object in bytes.
#[inline(always)]
fn for_each_slot(object: Object, mut visit: impl FnMut(WordSlot)) -> usize {
    let address = object.address();
    visit(WordSlot::at(address + CLASS_OFFSET));
    let layout = object.layout();
    let (first, count) = match layout.format() {
        Format::Slots => (FIRST_SLOT_OFFSET, layout.slot_count()),
        // SAFETY: an array has a length.
        Format::Array => (FIRST_ELEMENT_OFFSET, unsafe { object.length_unchecked() }),
        Format::Bytes | Format::Raw => return object.size(),
        Format::WeakArray | Format::Ephemeron => {
            heap().weak.discover(object);
            return object.size();
        }
        Format::Strand => {
            heap().roots().visit_frames(object, &mut |root| visit(WordSlot::at(root.address())));
            (FIRST_SLOT_OFFSET, layout.slot_count())
        }
    };
    for index in 0..count {
        visit(WordSlot::at(address + first + index * WORD_BYTES));
    }
    first + count * WORD_BYTES
}

fn scan_mutator_roots(
    record: RecordPointer,
    mut buffer: RootBuffer<impl RootsWorkFactory<WordSlot>>,
) {
    let record = record.get();
    // SAFETY: the mutator is away, and only this collector thread scans its roots, so the reference to the vector has no
    // alias. The vector does not change until the mutator runs again, so the words stay in place.
    let roots = unsafe { &mut *record.roots.get() };
    RootAddress::of_all(roots).for_each(|root| buffer.push(root));
    let kind: CollectionKind = current_kind();
    heap().roots().visit_mutator_roots(record.context, kind, &mut |root| buffer.push(root));
}

/// The number of roots in one packet of work.
const ROOTS_PER_PACKET: usize = 4096;

/// Collects the roots that are pointers, and hands them to MMTk in packets.
struct RootBuffer<F: RootsWorkFactory<WordSlot>> {
    factory: F,
    slots: Vec<WordSlot>,
}

impl<F: RootsWorkFactory<WordSlot>> RootBuffer<F> {
    fn new(factory: F) -> RootBuffer<F> {
        RootBuffer { factory, slots: Vec::new() }
    }

    fn push(&mut self, root: RootAddress) {
        // SAFETY: the root was visited just now, in this collection.
        if unsafe { root.word() }.is_pointer() {
            self.slots.push(WordSlot::at(root.address()));
            if self.slots.len() == ROOTS_PER_PACKET {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        self.factory.create_process_roots_work(std::mem::take(&mut self.slots));
    }
}

impl<F: RootsWorkFactory<WordSlot>> Drop for RootBuffer<F> {
    fn drop(&mut self) {
        if !self.slots.is_empty() {
            self.flush();
        }
    }
}
