//! MMTk's part of a mutator: the window that it allocates from, and its buffers of logged objects. [`crate::mutator`]
//! calls it.

use super::slot::ElementSlice;
use super::{Binding, LARGE_OBJECT, instance, reference, start_threads};
use crate::options::CollectionKind;
use crate::record::{AllocationWindow, RecordPointer};
use crate::representation::{FIRST_ELEMENT_OFFSET, Object, WORD_BYTES};
use mmtk::util::Address;
use mmtk::util::alloc::{AllocationOptions, AllocatorSelector, BumpAllocator, BumpPointer};
use mmtk::util::opaque_pointer::{OpaquePointer, VMMutatorThread, VMThread};
use mmtk::{AllocationSemantics, Mutator, MutatorContext, memory_manager};
use std::cell::Cell;
use std::mem::{offset_of, size_of};
use std::ptr::NonNull;

/// A window is MMTk's own bump pointer.
const _: () = {
    assert!(size_of::<AllocationWindow>() == size_of::<BumpPointer>());
    assert!(offset_of!(AllocationWindow, cursor) == offset_of!(BumpPointer, cursor));
    assert!(offset_of!(AllocationWindow, limit) == offset_of!(BumpPointer, limit));
};

/// The address of MMTk's part of a mutator, valid while the mutator is attached.
#[derive(Clone, Copy)]
pub(crate) struct MutatorBinding(NonNull<Mutator<Binding>>);

thread_local! {
    /// Whether this thread waits for memory for a large object. MMTk does not tell the trigger which space asks.
    static ALLOCATES_LARGE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the allocation of this thread is that of a large object, which is not in the nursery.
pub(super) fn allocates_large() -> bool {
    ALLOCATES_LARGE.get()
}

impl MutatorBinding {
    /// Makes MMTk's part of the mutator with this record. No other thread knows the record yet, or the mutator is away.
    pub(crate) fn make(record: RecordPointer) {
        let mutator = memory_manager::bind_mutator(instance(), thread(record));
        record.set_collector_part(NonNull::from(Box::leak(mutator)).cast());
    }

    /// MMTk's part of the mutator with this record.
    pub(crate) fn of(record: RecordPointer) -> MutatorBinding {
        MutatorBinding::if_made(record).expect("there is a collector")
    }

    /// The same; `None` while there is no collector.
    pub(crate) fn if_made(record: RecordPointer) -> Option<MutatorBinding> {
        record.collector_part().map(|part| MutatorBinding(part.cast()))
    }

    /// Where the mutator's window is.
    pub(crate) fn window(self) -> NonNull<AllocationWindow> {
        let selector =
            memory_manager::get_allocator_mapping(instance(), AllocationSemantics::Default);
        assert!(matches!(selector, AllocatorSelector::BumpPointer(_)), "the nursery is bumped");
        let offset = Mutator::<Binding>::get_allocator_base_offset(selector)
            + offset_of!(BumpAllocator<Binding>, bump_pointer);
        // SAFETY: MMTk's mutator holds the allocator at this offset; `AllocationWindow` has the
        // layout of its bump pointer.
        unsafe { self.0.byte_add(offset).cast() }
    }

    /// Allocates zeroed memory, collecting if there is none. *GC point.*
    pub(crate) fn allocate(self, size: usize, overcommit: bool) -> Option<Object> {
        let options = AllocationOptions {
            allow_overcommit: overcommit,
            at_safepoint: true,
            allow_oom_call: true,
        };
        self.allocate_with(size, options)
    }

    /// Allocates zeroed memory, unless a collection comes first: that is requested, but not awaited. No GC point.
    pub(crate) fn allocate_at_once(self, size: usize) -> Option<Object> {
        let options = AllocationOptions {
            allow_overcommit: false,
            at_safepoint: false,
            allow_oom_call: false,
        };
        self.allocate_with(size, options)
    }

    fn allocate_with(mut self, size: usize, options: AllocationOptions) -> Option<Object> {
        let large = size > LARGE_OBJECT;
        let semantics = if large { AllocationSemantics::Los } else { AllocationSemantics::Default };
        // SAFETY: only the thread that runs the mutator calls this, see `crate::record`.
        let mutator = unsafe { self.0.as_mut() };
        ALLOCATES_LARGE.set(large);
        let address =
            memory_manager::alloc_with_options(mutator, size, WORD_BYTES, 0, semantics, options);
        ALLOCATES_LARGE.set(false);
        if address.is_zero() {
            return None;
        }
        // SAFETY: this is new memory, and the caller initialises it.
        let object = unsafe { Object::from_address(address.as_usize()) };
        memory_manager::post_alloc(mutator, reference(object), size, semantics);
        Some(object)
    }

    /// Allocates memory for a small object while all mutators stand. Does not collect.
    pub(crate) fn allocate_copy(&mut self, size: usize) -> Object {
        let options =
            AllocationOptions { allow_overcommit: true, at_safepoint: false, allow_oom_call: true };
        let semantics = AllocationSemantics::Default;
        // SAFETY: the mutator is away, and only the calling thread uses its part.
        let mutator = unsafe { self.0.as_mut() };
        let address =
            memory_manager::alloc_with_options(mutator, size, WORD_BYTES, 0, semantics, options);
        assert!(!address.is_zero(), "the nursery has room for the cradle's objects");
        // SAFETY: this is new memory, and the caller initialises it.
        let object = unsafe { Object::from_address(address.as_usize()) };
        memory_manager::post_alloc(mutator, reference(object), size, semantics);
        object
    }

    /// Logs `object`, unless another thread has logged it before.
    pub(crate) fn log(mut self, object: Object) {
        let slot = super::slot::WordSlot::at(object.address());
        // SAFETY: as for `allocate`.
        let barrier = unsafe { self.0.as_mut() }.barrier();
        barrier.object_reference_write_slow(reference(object), slot, None);
    }

    /// Remembers some elements of an array.
    pub(crate) fn remember_elements(mut self, array: Object, index: usize, count: usize) {
        let start = array.address() + FIRST_ELEMENT_OFFSET + index * WORD_BYTES;
        let slice = ElementSlice { start, count };
        // SAFETY: as for `allocate`.
        let barrier = unsafe { self.0.as_mut() }.barrier();
        barrier.memory_region_copy_post(slice.clone(), slice);
    }

    /// Requests a collection and waits for its end. *GC point.*
    pub(crate) fn collect(self, record: RecordPointer, kind: CollectionKind) {
        start_threads();
        let full = kind == CollectionKind::Full;
        instance().handle_user_collection_request(thread(record), true, full);
    }

    /// Gives the window and the buffers back. The mutator leaves; the next one with its record uses the binding. It is not
    /// freed, because MMTk would free only a part of it.
    pub(crate) fn retire(mut self) {
        // SAFETY: as for `allocate`. The mutator is leaving and no stop is under way.
        unsafe {
            memory_manager::destroy_mutator(self.0.as_mut());
            // The next collection would not empty the window of a mutator that is not attached.
            self.window().write(AllocationWindow::NOTHING);
        }
    }
}

/// MMTk's name for a mutator: the address of its record.
fn thread(record: RecordPointer) -> VMMutatorThread {
    let address = Address::from_ptr(record.address() as *const u8);
    VMMutatorThread(VMThread(OpaquePointer::from_address(address)))
}

/// The record of a mutator.
///
/// # Safety
///
/// The mutator is attached.
pub(super) unsafe fn record_of(thread: VMMutatorThread) -> RecordPointer {
    // SAFETY: MMTk got the address from `thread`; the caller knows the mutator to be attached.
    unsafe { RecordPointer::from_address(thread.0.0.to_address().as_usize()) }
}

/// MMTk's part of a mutator.
///
/// # Safety
///
/// The mutator is away, and only the calling collector thread uses the reference.
pub(super) unsafe fn mmtk_mutator<'m>(record: RecordPointer) -> &'m mut Mutator<Binding> {
    // SAFETY: the mutator does not use its part while it is away.
    unsafe { &mut *MutatorBinding::of(record).0.as_ptr() }
}
