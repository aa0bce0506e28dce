//! What objects refer to, for walks that measure: of a sandbox, and of the census. All mutators stand meanwhile, so words and
//! frames stay in place.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use squall_heap::{Format, Object, WORD_BYTES, Word};

use crate::state::strand::StrandRef;
use crate::state::vm::Vm;

/// The addresses of the objects that a walk has seen: a bit for each word of the pages in which there is one, which
/// takes much less memory than a set of addresses.
#[derive(Default)]
pub(crate) struct Seen {
    /// The places of pages in `bits`, by their numbers.
    places: HashMap<usize, usize, BuildHasherDefault<PageHasher>>,
    bits: Vec<[u64; PAGE_WORDS / 64]>,
    /// The number of the page that was looked up last, and its place. Objects that belong together are near each other.
    last: Option<(usize, usize)>,
}

/// The words of a page.
const PAGE_WORDS: usize = 4096;

impl Seen {
    /// Adds an address; whether it is new.
    pub(crate) fn insert(&mut self, address: usize) -> bool {
        let word = address / WORD_BYTES;
        let (page, word) = (word / PAGE_WORDS, word % PAGE_WORDS);
        let place = match self.last {
            Some((last, place)) if last == page => place,
            _ => self.look_up(page),
        };
        let (bits, bit) = (&mut self.bits[place][word / 64], 1 << (word % 64));
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }

    fn look_up(&mut self, page: usize) -> usize {
        let bits = &mut self.bits;
        let place = *self.places.entry(page).or_insert_with(|| {
            bits.push([0; PAGE_WORDS / 64]);
            bits.len() - 1
        });
        self.last = Some((page, place));
        place
    }
}

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

/// A hash of numbers of pages: multiplication by an odd number without a pattern (Fibonacci hashing).
#[derive(Default)]
pub(crate) struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }

    fn write_usize(&mut self, number: usize) {
        let mixed = (self.0 ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_is_new_once() {
        let mut seen = Seen::default();
        let addresses =
            [8, 16, 8 * 63, 8 * 64, 8 * 4095, 8 * 4096, 8 * 4097, 1 << 45, usize::MAX & !7];
        assert!(addresses.iter().all(|&address| seen.insert(address)));
        assert!(addresses.iter().rev().all(|&address| !seen.insert(address)));
        assert!(seen.insert(24) && seen.insert(8 * 4098) && !seen.insert(24));
    }
}
