//! The evacuation: the objects of the [cradle](crate::cradle) move into the nursery, when the collector is created.
//! Mutators call it where they need what the cradle has not.
//!
//! It is a copying collection by the calling thread alone (Cheney, "A Nonrecursive List Compacting Algorithm", 1970),
//! in which everything that weak words or conditional roots can reach counts as live: it is over before the first
//! object can have been lost for a reason. The header of a moved object becomes the address of its copy, with
//! [`FORWARDED`] added.
//!
//! Root sources treat this as a full collection, so they note that their objects are old. But the copies are young.
//! So the first collection is a full one, too.

use crate::collector::{self, MutatorBinding};
use crate::heap::Heap;
use crate::options::CollectionKind;
use crate::record::RecordPointer;
use crate::representation::{
    CLASS_OFFSET, COLLECTOR_BITS, FIRST_ELEMENT_OFFSET, FIRST_SLOT_OFFSET, Format, HEADER_OFFSET,
    Object, WORD_BYTES, Word,
};
use crate::roots::RootAddress;
use crate::tracer::{Tracer, Tracing};

/// In the collector's bits of a header: the rest is an address. Headers of objects have zeros there.
const FORWARDED: u64 = 1;

const _: () = assert!(FORWARDED & COLLECTOR_BITS as u64 == FORWARDED);

/// Creates the collector, unless there is one, and moves the objects there. `record` is that of the calling mutator, which
/// is in a native section. All objects of the cradle move.
pub(crate) fn leave_cradle(heap: &Heap, record: RecordPointer) {
    // This takes most of the time, and the other mutators run on.
    collector::create(heap.threads, &heap.sizing);
    heap.while_stopped(|| {
        if !heap.cradle.is_closed() {
            evacuate(heap, record);
        }
    });
}

/// Moves all objects out of the cradle, and closes it. All mutators stand.
fn evacuate(heap: &Heap, record: RecordPointer) {
    let participants = heap.safepoints.participants();
    participants.iter().for_each(|participant| MutatorBinding::make(*participant));
    let mut evacuation =
        Evacuation { heap, binding: MutatorBinding::of(record), unscanned: Vec::new(), copied: 0 };
    heap.weak.visit_all(&mut |root| evacuation.follow(root));
    heap.roots().visit_roots(CollectionKind::Full, &mut |root| evacuation.follow(root));
    participants.iter().for_each(|participant| evacuation.follow_mutator(*participant));
    evacuation.scan();
    heap.roots().visit_conditional_roots(CollectionKind::Full, &mut Tracer::new(&mut evacuation));
    evacuation.scan();
    heap.roots().visit_weak_roots(CollectionKind::Full, &mut Tracer::new(&mut evacuation));
    evacuation.scan();
    let garbage = heap.cradle.used().saturating_sub(evacuation.copied);
    heap.cradle.close();
    heap.cradle_is_left(garbage);
    heap.sizing.cradle_was_left();
    collector::collect_fully_next();
}

struct Evacuation<'h> {
    heap: &'h Heap,
    /// Where the copies are allocated.
    binding: MutatorBinding,
    /// Copies whose words still lead into the cradle.
    unscanned: Vec<Object>,
    copied: usize,
}

impl Evacuation<'_> {
    fn follow_mutator(&mut self, record: RecordPointer) {
        let heap = self.heap;
        let record = record.get();
        // SAFETY: the mutator is away, and only this thread scans its roots.
        let roots = unsafe { &mut *record.roots.get() };
        RootAddress::of_all(roots).for_each(|root| self.follow(root));
        let kind = CollectionKind::Full;
        heap.roots().visit_mutator_roots(record.context, kind, &mut |root| self.follow(root));
    }

    /// Moves the objects that the copies refer to, and so on.
    fn scan(&mut self) {
        while let Some(object) = self.unscanned.pop() {
            for_each_word(self.heap, object, &mut |word| self.follow(word));
        }
    }

    /// Moves the object that this word refers to, unless it has been moved, and replaces the word.
    fn follow(&mut self, root: RootAddress) {
        // SAFETY: the root was visited just now, and the thread that has it stands.
        let Some(object) = unsafe { root.word() }.as_object() else {
            return;
        };
        let place = self.place_of(object).word();
        // SAFETY: a word is there; no reference to it exists, and no other thread accesses it during the stop.
        unsafe { (root.address() as *mut u64).write(place.bits()) };
    }

    /// Where an object is now.
    fn place_of(&mut self, object: Object) -> Object {
        if !self.heap.cradle.contains(object.address()) {
            return object;
        }
        let header = header_of(object);
        // SAFETY: the header is that of an object in the cradle, and only this thread accesses it.
        match unsafe { header.read() } {
            forwarded if forwarded & FORWARDED != 0 => {
                // SAFETY: the copy is there.
                unsafe { Object::from_address((forwarded - FORWARDED) as usize) }
            }
            _ => self.copy(object, header),
        }
    }

    fn copy(&mut self, object: Object, header: *mut u64) -> Object {
        let size = object.size();
        let copy = self.binding.allocate_copy(size);
        // SAFETY: both have this size, and the copy is new memory. The header is that of the original.
        unsafe {
            let (from, to) = (object.address() as *const u64, copy.address() as *mut u64);
            to.copy_from_nonoverlapping(from, size / WORD_BYTES);
            header.write(copy.address() as u64 + FORWARDED);
        }
        self.copied += size;
        self.unscanned.push(copy);
        copy
    }
}

fn header_of(object: Object) -> *mut u64 {
    (object.address() + HEADER_OFFSET) as *mut u64
}

/// Visits all words of an object, weak ones, too.
fn for_each_word(heap: &Heap, object: Object, visit: &mut dyn FnMut(RootAddress)) {
    let layout = object.layout();
    let (first, count) = match layout.format() {
        Format::Bytes | Format::Raw => (FIRST_SLOT_OFFSET, 0),
        Format::Slots | Format::Ephemeron => (FIRST_SLOT_OFFSET, layout.slot_count()),
        Format::Array | Format::WeakArray => (FIRST_ELEMENT_OFFSET, object.length()),
        Format::Strand => {
            heap.roots().visit_frames(object, visit);
            (FIRST_SLOT_OFFSET, layout.slot_count())
        }
    };
    let words = (0..count).map(|index| first + index * WORD_BYTES);
    for offset in std::iter::once(CLASS_OFFSET).chain(words) {
        let word = (object.address() + offset) as *mut Word;
        // SAFETY: the object has a word there, and nothing refers to the words of a copy.
        visit(unsafe { RootAddress::new(word) });
    }
}

/// All objects count as live.
impl Tracing for Evacuation<'_> {
    fn is_live(&self, _: Object) -> bool {
        true
    }

    fn place(&mut self, object: Object) -> Option<Object> {
        Some(self.place_of(object))
    }

    fn trace(&mut self, object: Object) -> Object {
        self.place_of(object)
    }
}
