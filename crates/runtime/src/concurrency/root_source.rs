//! The collector's view of the VM: the heap asks for roots through this trait implementation. The boot registers it
//! with the heap; the roots themselves are in [`crate::state::roots`].

use std::collections::BTreeSet;

use squall_heap::{CollectionKind, CollectionReport, Object, RootAddress, RootSource, Tracer};

use crate::concurrency::sandbox::metering;
use crate::state::recording;
use crate::state::replays;
use crate::state::sampling;
use crate::state::strand::StrandRef;
use crate::state::thread::Thread;
use crate::state::tracing;
use crate::state::vm::Vm;

/// The root source that the VM registers with its heap.
pub(crate) struct Roots {
    vm: &'static Vm,
}

impl Roots {
    pub(crate) fn new(vm: &'static Vm) -> Roots {
        Roots { vm }
    }

    /// The objects of native threads that are the home of a strand or a vat, and all others in nursery
    /// collections.
    fn visit_native_threads(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        let mut homes = BTreeSet::new();
        if kind == CollectionKind::Full && self.vm.native_threads.has_any() {
            let strands =
                self.vm.strands.all().into_iter().flat_map(|strand| strand.affinity.homes());
            let vats = self.vm.vats.all().into_iter().map(|vat| vat.home());
            homes.extend(strands.chain(vats));
        }
        self.vm.native_threads.visit(kind, |home| homes.contains(&home), visit);
    }
}

/// A mutator's context is the address of its [`Thread`], which does not move while attached.
fn thread_of(context: usize) -> *mut Thread {
    context as *mut Thread
}

// SAFETY: roots are in atomics, locked tables, or on VM stacks, none of which move or are touched by
// mutators while they stand; every other reference to an object is in an object.
unsafe impl RootSource for Roots {
    fn visit_roots(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        self.vm.roots.visit(kind, visit);
        self.vm.debugging.visit(visit);
        self.vm.strands.visit_roots(kind, visit);
        self.vm.vats.visit_roots(kind, visit);
        if let Some(vat) = self.vm.main_vat() {
            vat.object.visit(visit);
        }
        self.visit_native_threads(kind, visit);
        self.vm.concurrency().timers.visit(visit);
        self.vm.concurrency().stalls.visit(visit);
        self.vm.concurrency().early.visit(kind, visit);
        self.vm.concurrency().embedder.visit(visit);
        if let Some(player) = replays::player(self.vm) {
            player.visit(visit);
        }
        self.vm.concurrency().unhandled.visit(visit);
        self.vm.transactions.visit(kind, visit);
        self.vm.concurrency().foreign.visit(visit);
        self.vm.concurrency().embedding.visit(visit);
        self.vm.sandboxes.visit(kind, visit);
        self.vm.modules.symbols.visit_objects(visit);
    }

    fn visit_mutator_roots(
        &self,
        context: usize,
        kind: CollectionKind,
        visit: &mut dyn FnMut(RootAddress),
    ) {
        // SAFETY: the context is the address of an attached thread, which stands with its state saved; one collector
        // thread visits the roots of a mutator.
        unsafe { Thread::visit_roots(thread_of(context), kind, visit) };
    }

    fn visit_frames(&self, object: Object, visit: &mut dyn FnMut(RootAddress)) {
        if let Some(strand) = StrandRef::of_object(object) {
            strand.visit_frames(visit);
        }
    }

    fn visit_conditional_roots(&self, kind: CollectionKind, tracer: &mut Tracer<'_>) {
        if kind == CollectionKind::Full {
            self.vm.concurrency().early.keep(tracer);
            self.vm.transactions.sleepers.keep(tracer);
            self.vm.sandboxes.keep_orphans(tracer);
            if self.vm.options.replays.is_some() {
                self.vm.strands.keep_guests(tracer);
            }
        }
    }

    fn visit_weak_roots(&self, kind: CollectionKind, tracer: &mut Tracer<'_>) {
        self.vm.concurrency().foreign.update(kind, tracer);
        if kind == CollectionKind::Nursery {
            self.vm.modules.symbols.update_young(tracer);
        }
        if kind == CollectionKind::Full {
            self.vm.concurrency().early.update(tracer);
            let lost = self.vm.strands.update(tracer);
            self.vm.concurrency().stalls.lose(self.vm, lost, tracer);
            self.vm.vats.update(&self.vm.transactions, tracer);
            self.vm.native_threads.update(self.vm, tracer);
            let sandboxes = self.vm.sandboxes.update(tracer);
            self.vm.heap.native_parts_freed(sandboxes);
            self.vm.modules.symbols.update_loose(tracer);
        }
    }

    fn request_stop(&self, context: usize) {
        // SAFETY: the thread is attached; the limit is an atomic that others may set.
        unsafe { &(*thread_of(context)).limit }.ask_from_outside();
    }

    fn stop_ended(&self, _context: usize) {
        // The thread resets its limit when it has polled.
    }

    fn draw_memory(&self, context: usize, wanted: usize) -> Option<u64> {
        // SAFETY: the thread is attached, and is the one that asks; the part that it has borrowed, its mutator, is not
        // accessed.
        metering::draw_memory(unsafe { &*thread_of(context) }, wanted)
    }

    fn measure_memory(&self, context: usize, wanted: usize) -> Option<u64> {
        // SAFETY: as above, and it stands.
        metering::measure(self.vm, unsafe { &*thread_of(context) }, wanted)
    }

    fn memory_taken(&self, context: usize, bytes: usize) {
        // SAFETY: as above.
        sampling::memory_taken(unsafe { &*thread_of(context) }, bytes);
    }

    fn lacks_thread(&self, error: &std::io::Error) {
        self.vm.lacks_thread(error);
    }

    fn collected(&self, report: &CollectionReport) {
        recording::collected(self.vm, report);
        if self.vm.options.tracing.collections {
            tracing::collected(self.vm, report);
        }
    }
}
