//! The object model: MMTk asks here for the size of an object, for the places of its metadata, and how to copy it.
//!
//! The two lowest bits of the header are MMTk's forwarding bits, and the whole header becomes the
//! forwarding pointer of a moved object. The bit of the write barrier is in the header as well. Mark bits lie in side
//! tables.

use super::{Binding, from_usize, object, reference};
use crate::representation::{COLLECTOR_BITS, Object, UNLOGGED_BIT, WORD_BYTES};
use mmtk::util::copy::{CopySemantics, GCWorkerCopyContext};
use mmtk::util::{Address, ObjectReference};
use mmtk::vm::{
    VMGlobalLogBitSpec, VMLocalForwardingBitsSpec, VMLocalForwardingPointerSpec,
    VMLocalLOSMarkNurserySpec, VMLocalMarkBitSpec,
};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct ObjectModel;

impl mmtk::vm::ObjectModel<Binding> for ObjectModel {
    const GLOBAL_LOG_BIT_SPEC: VMGlobalLogBitSpec =
        VMGlobalLogBitSpec::in_header(UNLOGGED_BIT as isize);
    const LOCAL_FORWARDING_POINTER_SPEC: VMLocalForwardingPointerSpec =
        VMLocalForwardingPointerSpec::in_header(0);
    const LOCAL_FORWARDING_BITS_SPEC: VMLocalForwardingBitsSpec =
        VMLocalForwardingBitsSpec::in_header(0);
    const LOCAL_MARK_BIT_SPEC: VMLocalMarkBitSpec = VMLocalMarkBitSpec::side_first();
    const LOCAL_LOS_MARK_NURSERY_SPEC: VMLocalLOSMarkNurserySpec =
        VMLocalLOSMarkNurserySpec::side_after(Self::LOCAL_MARK_BIT_SPEC.as_spec());

    const OBJECT_REF_OFFSET_LOWER_BOUND: isize = 0;
    const UNIFIED_OBJECT_REFERENCE_ADDRESS: bool = true;
    const VM_WORST_CASE_COPY_EXPANSION: f64 = 1.0;

    #[inline(always)]
    fn copy(
        from: ObjectReference,
        semantics: CopySemantics,
        context: &mut GCWorkerCopyContext<Binding>,
    ) -> ObjectReference {
        let source = object(from);
        let size = source.size();
        let address = context.alloc_copy(from, size, WORD_BYTES, 0, semantics);
        // SAFETY: the collector has reserved the memory for the copy.
        let target = unsafe { Object::from_address(address.as_usize()) };
        copy_words(source, target, size);
        let to = reference(target);
        context.post_copy(to, size, semantics);
        to
    }

    fn get_current_size(reference: ObjectReference) -> usize {
        object(reference).size()
    }

    fn get_size_when_copied(reference: ObjectReference) -> usize {
        Self::get_current_size(reference)
    }

    fn get_align_when_copied(_: ObjectReference) -> usize {
        WORD_BYTES
    }

    fn get_align_offset_when_copied(_: ObjectReference) -> usize {
        0
    }

    fn get_reference_when_copied_to(_: ObjectReference, to: Address) -> ObjectReference {
        // SAFETY: the object was copied to this address.
        reference(unsafe { Object::from_address(to.as_usize()) })
    }

    fn copy_to(_: ObjectReference, _: ObjectReference, _: Address) -> Address {
        unreachable!("only compacting plans copy to given places")
    }

    fn get_type_descriptor(_: ObjectReference) -> &'static [i8] {
        unreachable!("only the Java binding has type descriptors")
    }

    fn ref_to_object_start(reference: ObjectReference) -> Address {
        reference.to_raw_address()
    }

    fn ref_to_header(reference: ObjectReference) -> Address {
        reference.to_raw_address()
    }

    fn dump_object(_: ObjectReference) {
        // For MMTk's debugging output. Nothing below the command line prints.
    }
}

/// Copies an object. This collector thread has won the right to copy it.
#[inline(always)]
fn copy_words(source: Object, target: Object, size: usize) {
    let header_address = from_usize(source.address());
    let header = header_address.to_ptr::<AtomicU64>();
    // SAFETY: `source` is an object of `size` bytes, `target` is as much fresh memory. Other
    // collector threads compare and exchange the header of `source`, which is therefore read as an
    // atom; they do not touch the rest until this thread has published the copy.
    unsafe {
        let header = (*header).load(Ordering::Relaxed) & !u64::from(COLLECTOR_BITS);
        let words = size / WORD_BYTES;
        let from = source.address() as *const u64;
        let to = target.address() as *mut u64;
        to.write(header);
        std::ptr::copy_nonoverlapping(from.add(1), to.add(1), words - 1);
    }
}
