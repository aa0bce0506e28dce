//! The collection as MMTk controls it: MMTk calls these traits to stop and resume the mutators, to start the
//! collector's threads and to report exhaustion.

use super::mutator::{mmtk_mutator, record_of};
use super::worker::AbortOnDrop;
use super::{Binding, current_kind, heap, trigger, worker};
use mmtk::Mutator;
use mmtk::util::ObjectReference;
use mmtk::util::alloc::AllocationError;
use mmtk::util::heap::GCTriggerPolicy;
use mmtk::util::opaque_pointer::{VMMutatorThread, VMThread, VMWorkerThread};
use mmtk::vm::GCThreadContext;

pub(super) struct Collection;

impl mmtk::vm::Collection<Binding> for Collection {
    fn stop_all_mutators<F>(_: VMWorkerThread, mut visit: F)
    where
        F: FnMut(&'static mut Mutator<Binding>),
    {
        let heap = heap();
        heap.stop_begins();
        heap.safepoints.stop();
        heap.sizing.collection_traces(current_kind());
        for record in heap.safepoints.participants() {
            // SAFETY: all mutators are away, and none can leave.
            visit(unsafe { mmtk_mutator(record) });
        }
    }

    fn resume_mutators(_: VMWorkerThread) {
        let heap = heap();
        heap.stop_ends(current_kind());
        heap.safepoints.resume();
    }

    fn block_for_gc(thread: VMMutatorThread) {
        // SAFETY: the calling mutator is attached.
        let record = unsafe { record_of(thread) };
        heap().safepoints.wait_for_collection(&record.get().status);
    }

    fn spawn_gc_thread(_: VMThread, context: GCThreadContext<Binding>) {
        let GCThreadContext::Worker(worker_context) = context;
        if let Err(error) = worker::spawn(worker_context) {
            heap().roots().lacks_thread(&error);
        }
    }

    fn out_of_memory(_: VMThread, error: AllocationError) {
        match error {
            // The allocation answers `None`.
            AllocationError::HeapOutOfMemory => (),
            AllocationError::MmapOutOfMemory => {
                // After a panic here, MMTk's state is half-changed: no thread may continue with it.
                let _abort = AbortOnDrop;
                panic!("the operating system has no memory left for the heap")
            }
        }
    }

    fn create_gc_trigger() -> Box<dyn GCTriggerPolicy<Binding>> {
        Box::new(trigger::Trigger)
    }
}

pub(super) struct ActivePlan;

impl mmtk::vm::ActivePlan<Binding> for ActivePlan {
    fn number_of_mutators() -> usize {
        heap().safepoints.count()
    }

    fn is_mutator(thread: VMThread) -> bool {
        !worker::is_collector(thread)
    }

    fn mutator(thread: VMMutatorThread) -> &'static mut Mutator<Binding> {
        // SAFETY: MMTk asks for mutators that are attached, during collections.
        unsafe { mmtk_mutator(record_of(thread)) }
    }

    fn mutators<'a>() -> Box<dyn Iterator<Item = &'a mut Mutator<Binding>> + 'a> {
        let records = heap().safepoints.participants();
        // SAFETY: MMTk asks during collections: all mutators are away, and none can leave.
        Box::new(records.into_iter().map(|record| unsafe { mmtk_mutator(record) }))
    }
}

/// MMTk's own weak references and finalisers. They are switched off: see [`crate::weak`].
pub(super) struct ReferenceGlue;

impl mmtk::vm::ReferenceGlue<Binding> for ReferenceGlue {
    type FinalizableType = ObjectReference;

    fn get_referent(_: ObjectReference) -> Option<ObjectReference> {
        None
    }

    fn set_referent(_: ObjectReference, _: ObjectReference) {}

    fn clear_referent(_: ObjectReference) {}

    fn enqueue_references(_: &[ObjectReference], _: VMWorkerThread) {}
}
