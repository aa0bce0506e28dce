//! The binding to the collector, MMTk with the plan GenImmix: a copying nursery, and an old generation of blocks and
//! lines that is marked, and compacted when it is sparse (Blackburn and McKinley, "Immix", PLDI 2008). The heap and its
//! mutators call the functions here, and MMTk calls the traits. Nothing outside of this folder names an `mmtk::` type.
//!
//! MMTk's traits consist of associated functions without a receiver. So the process has one MMTk instance, in a static,
//! as it has one [`Heap`].
//!
//! The collector's threads start just before the first collection ([`start_threads`]), so that short programs do not
//! pay for them. Only the trigger can require a first collection.

mod collection;
mod mutator;
mod object_model;
mod scanning;
mod slot;
mod tracer;
mod trigger;
mod worker;

pub(crate) use mutator::MutatorBinding;

use crate::heap::Heap;
use crate::options::{CollectionKind, HeapOptions};
use crate::representation::{Format, Object};
use crate::sizing::Sizing;
use mmtk::util::heap::vm_layout::VMLayout;
use mmtk::util::opaque_pointer::{OpaquePointer, VMThread};
use mmtk::util::options::{GCTriggerSelector, NurserySize, PlanSelector};
use mmtk::util::{Address, ObjectReference};
use mmtk::vm::VMBinding;
use mmtk::{MMTK, MMTKBuilder, memory_manager};
use std::sync::{Once, OnceLock};

/// The virtual machine, as a type for MMTk's traits.
#[derive(Default)]
struct Binding;

impl VMBinding for Binding {
    type VMObjectModel = object_model::ObjectModel;
    type VMScanning = scanning::Scanning;
    type VMCollection = collection::Collection;
    type VMActivePlan = collection::ActivePlan;
    type VMReferenceGlue = collection::ReferenceGlue;
    type VMSlot = slot::WordSlot;
    type VMMemorySlice = slot::ElementSlice;

    const MIN_ALIGNMENT: usize = 8;
    const MAX_ALIGNMENT: usize = 8;
    const USE_ALLOCATION_OFFSET: bool = false;
    /// Gaps need not be filled: nothing walks the heap linearly.
    const ALIGNMENT_VALUE: u8 = 0;
}

/// Objects of more bytes than this live in the space for large objects, where they never move.
pub const LARGE_OBJECT: usize = 8 << 10;

static INSTANCE: OnceLock<Box<MMTK<Binding>>> = OnceLock::new();

/// Creates the collector, unless there is one. Called after the heap has been stored in its static.
pub(crate) fn create(threads: Option<usize>, sizing: &Sizing) {
    INSTANCE.get_or_init(|| make(threads.unwrap_or_else(default_threads), sizing));
}

fn make(threads: usize, sizing: &Sizing) -> Box<MMTK<Binding>> {
    let mut builder = MMTKBuilder::new_no_env_vars();
    // Options are set by field: parsing them from text takes longer than the rest of this function.
    let options = &mut builder.options;
    let (min, max) = sizing.nurseries();
    let accepted = options.plan.set(PlanSelector::GenImmix)
        & options.gc_trigger.set(GCTriggerSelector::Delegated)
        & options.threads.set(threads)
        & options.nursery.set(NurserySize::Bounded { min, max })
        // The heap has weak references and finalisation of its own.
        & options.no_reference_types.set(true)
        & options.no_finalizer.set(true)
        // The limit at the time of a full collection determines how much the collection moves: objects of any block, as
        // long as there is room. By default, MMTk would move only the objects of blocks with several holes, and none of
        // blocks whose end alone is free.
        & options.immix_defrag_every_block.set(true)
        & options.immix_defrag_headroom_percent.set(0);
    assert!(accepted, "the heap's options are checked before they come here");
    builder.set_vm_layout(layout());
    let instance = memory_manager::mmtk_init::<Binding>(&builder);
    let constraints = instance.get_plan().constraints();
    assert_eq!(constraints.max_non_los_default_alloc_bytes, LARGE_OBJECT);
    instance
}

/// One thread for two cores. Most collections are of a nursery in which little survives; more threads would spend more
/// time on waking each other than they save.
fn default_threads() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (cores / 2).clamp(1, HeapOptions::MAX_DEFAULT_THREADS)
}

/// The address range of the spaces: above the shadow memory of the C sanitizers, so that they can check a process with
/// a machine in it, and below the addresses where programs are loaded. Each space may have 4 TiB of addresses, and
/// begins at a multiple of 4 TiB.
#[cfg(target_pointer_width = "64")]
fn layout() -> VMLayout {
    const LOG_SPACE: usize = 42;
    VMLayout {
        heap_start: from_usize(5 << LOG_SPACE),
        heap_end: from_usize(16 << LOG_SPACE),
        log_space_extent: LOG_SPACE,
        ..VMLayout::default()
    }
}

fn instance() -> &'static MMTK<Binding> {
    INSTANCE.get().expect("the collector is created when the cradle is left")
}

fn heap() -> &'static Heap {
    Heap::of_process()
}

/// Whether the collector's threads have been started.
static STARTED: Once = Once::new();

/// Starts the collector's threads, the first time.
fn start_threads() {
    STARTED.call_once(|| {
        memory_manager::initialize_collection(instance(), VMThread(OpaquePointer::UNINITIALIZED));
    });
}

/// Ends the collector's threads, until [`begin_threads`]. The caller is the only mutator, and runs, so no collection is under
/// way.
pub(crate) fn end_threads() {
    if STARTED.is_completed() {
        instance().prepare_to_fork();
        worker::wait_for_end();
    }
}

/// Starts the threads again that [`end_threads`] has ended.
pub(crate) fn begin_threads() {
    if STARTED.is_completed() {
        instance().after_fork(VMThread(OpaquePointer::UNINITIALIZED));
    }
}

/// Makes the next collection a full one.
pub(crate) fn collect_fully_next() {
    if let Some(plan) = instance().get_plan().generational() {
        plan.force_full_heap_collection();
    }
}

/// The kind of the collection under way; when there is none, the kind of the last one.
fn current_kind() -> CollectionKind {
    match instance().get_plan().generational() {
        Some(plan) if plan.is_current_gc_nursery() => CollectionKind::Nursery,
        _ => CollectionKind::Full,
    }
}

/// Bytes in use, free memory inside used blocks included.
pub(crate) fn used_bytes() -> usize {
    memory_manager::used_bytes(instance())
}

/// Whether the write barrier remembers stores into this array by element. For weak arrays it does not: a remembered
/// element would count as a strong reference.
pub(crate) fn remembers_elements(array: Object) -> bool {
    array.layout().format() == Format::Array && array.size() > LARGE_OBJECT
}

fn reference(object: Object) -> ObjectReference {
    let address = from_usize(object.address());
    // SAFETY: the address of an object is neither zero nor unaligned.
    unsafe { ObjectReference::from_raw_address_unchecked(address) }
}

fn object(reference: ObjectReference) -> Object {
    // SAFETY: the collector's references are addresses of objects (`UNIFIED_OBJECT_REFERENCE_ADDRESS`).
    unsafe { Object::from_address(reference.to_raw_address().as_usize()) }
}

fn from_usize(address: usize) -> Address {
    // SAFETY: an address is a number; only its uses need arguments.
    unsafe { Address::from_usize(address) }
}
