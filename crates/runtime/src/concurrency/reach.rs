//! What objects refer to, for walks that measure: of a sandbox, and of the census. All mutators stand meanwhile, so words and
//! frames stay in place.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use squall_heap::{Format, Object, WORD_BYTES, Word};

use crate::state::strand::StrandRef;
use crate::state::vm::Vm;

/// The addresses of the objects that a walk has seen.
pub(crate) type Seen = HashSet<usize, BuildHasherDefault<AddressHasher>>;

/// Visits what is shared: it belongs to no sandbox, and to no vat.
pub(crate) fn visit_shared(vm: &Vm, visit: &mut dyn FnMut(Word)) {
    vm.roots.visit_shared(visit);
    // SAFETY: the table is locked during the visit.
    vm.modules.symbols.visit_objects(&mut |root| visit(unsafe { root.word() }));
}

/// Visits the words in an object, but for its class, and those on the stack of a strand's object.
pub(crate) fn visit_words(object: Object, mut visit: impl FnMut(Word)) {
    let layout = object.layout();
    match layout.format() {
        Format::Slots | Format::Ephemeron | Format::Strand => {
            (0..layout.slot_count()).for_each(|index| visit(object.slot(index)));
        }
        Format::Array => (0..object.length()).for_each(|index| visit(object.element(index))),
        Format::Bytes | Format::Raw | Format::WeakArray => {}
    }
    if let Some(strand) = StrandRef::of_object(object) {
        // SAFETY: all mutators stand, so the frames stay in place.
        strand.visit_frames(&mut |root| visit(unsafe { root.word() }));
    }
}

/// A hash of addresses: multiplication by an odd number without a pattern (Fibonacci hashing).
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }

    fn write_usize(&mut self, number: usize) {
        let mixed = (self.0 ^ (number / WORD_BYTES) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}
