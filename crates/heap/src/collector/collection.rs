//! Stopping and resuming mutators, MMTk's threads, and the traits of which it wants little.

use super::mutator::{mmtk_mutator, record_of};
use super::{Binding, collector_thread, current_kind, heap, instance, trigger};
use mmtk::scheduler::GCWorker;
use mmtk::util::ObjectReference;
use mmtk::util::alloc::AllocationError;
use mmtk::util::heap::GCTriggerPolicy;
use mmtk::util::opaque_pointer::{VMMutatorThread, VMThread, VMWorkerThread};
use mmtk::vm::GCThreadContext;
use mmtk::{Mutator, memory_manager};

pub(super) struct Collection;

impl mmtk::vm::Collection<Binding> for Collection {
    fn stop_all_mutators<F>(_: VMWorkerThread, mut visit: F)
    where
        F: FnMut(&'static mut Mutator<Binding>),
    {
        let heap = heap();
        heap.stop_begins();
        heap.safepoints.stop();
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
        let GCThreadContext::Worker(worker) = context;
        let spawned = std::thread::Builder::new()
            .name("collector".to_owned())
            .spawn(move || run_collector_thread(worker));
        spawned.expect("the operating system grants a thread for the collector");
    }

    fn out_of_memory(_: VMThread, error: AllocationError) {
        match error {
            // The allocation answers `None`.
            AllocationError::HeapOutOfMemory => (),
            AllocationError::MmapOutOfMemory => {
                panic!("the operating system has no memory left for the heap")
            }
        }
    }

    fn create_gc_trigger() -> Box<dyn GCTriggerPolicy<Binding>> {
        Box::new(trigger::Trigger)
    }
}

/// A collector thread that fails leaves a heap that nobody can use: the process ends, rather than
/// wait for a collection that never does.
fn run_collector_thread(worker: Box<GCWorker<Binding>>) {
    let abort_on_panic = AbortOnDrop;
    memory_manager::start_worker(instance(), collector_thread(), worker);
    std::mem::forget(abort_on_panic);
}

struct AbortOnDrop;

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        std::process::abort();
    }
}

pub(super) struct ActivePlan;

impl mmtk::vm::ActivePlan<Binding> for ActivePlan {
    fn number_of_mutators() -> usize {
        heap().safepoints.count()
    }

    fn is_mutator(thread: VMThread) -> bool {
        thread != collector_thread().0
    }

    fn mutator(thread: VMMutatorThread) -> &'static mut Mutator<Binding> {
        // SAFETY: MMTk asks for mutators that are attached, during collections.
        unsafe { mmtk_mutator(record_of(thread)) }
    }

    fn mutators<'a>() -> Box<dyn Iterator<Item = &'a mut Mutator<Binding>> + 'a> {
        let records = heap().safepoints.participants();
        // SAFETY: MMTk asks during collections: all mutators are away, and none can leave.
        Box::new(
            records
                .into_iter()
                .map(|record| unsafe { mmtk_mutator(record) }),
        )
    }
}

/// MMTk's own weak references and finalisers, which are switched off.
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
