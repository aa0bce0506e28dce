//! Transfer objects: makes deep copies that preserve sharing and cycles. Isolation calls it when such an object goes to
//! another vat.
//!
//! A copy starts with the words of its original. One after the other, the copies get their words wrapped: a word that
//! is a transfer object itself is replaced by its copy, which joins the queue if it is new. So deep structures do not
//! deepen the native stack.
//!
//! The array of originals and copies is on the heap, where the collector updates it. The table that
//! finds an original's place in it goes by identity hashes, which never change.

use hashbrown::HashTable;
use squall_heap::{Format, Object, RootHandle, Word};

use super::{Passage, is_copied_to, passage, pay, wrap};
use crate::concurrency::transactions::access;
use crate::model::behavior::SlotContent;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::objects::classes;
use crate::state::thread::{Thread, allocated};
use crate::state::vat::VatRef;

/// A copy of a transfer object and of all those it leads to. *GC point.*
pub fn copy(
    thread: &mut Thread,
    original: Object,
    from: VatRef,
    to: VatRef,
) -> Result<Word, Failure> {
    let depth = thread.mutator.root_depth();
    let copied = Copies::begin(thread, original, from, to).and_then(|mut copies| {
        copies.add(thread, original_of(thread, copies.first))?;
        copies.wrap_all(thread)
    });
    thread.mutator.truncate_roots(depth);
    copied
}

fn original_of(thread: &Thread, handle: RootHandle) -> Object {
    thread.mutator.get(handle).object()
}

/// The copies made so far.
struct Copies {
    /// The vat that the originals are in, and the one that gets the copies.
    from: VatRef,
    to: VatRef,
    /// The first original.
    first: RootHandle,
    /// An array in which each original is followed by its copy.
    pairs: RootHandle,
    /// How many pairs there are.
    count: usize,
    /// The pairs, by the identity hashes of their originals.
    places: HashTable<Place>,
    /// The class of the object that was looked at last, and whether its instances are copied.
    class: RootHandle,
    is_copied: bool,
}

/// The place of a pair.
struct Place {
    /// The identity hash of the original.
    hash: u32,
    /// The number of the pair.
    number: u32,
}

impl Place {
    /// For the table, which takes the upper bits for one purpose and the lower bits for another.
    fn spread(hash: u32) -> u64 {
        /// Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        const RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
        let product = u64::from(hash).wrapping_mul(RATIO);
        product ^ product >> 32
    }
}

/// The number of pairs that there is room for at first.
const FIRST_PAIRS: usize = 4;

impl Copies {
    fn begin(
        thread: &mut Thread,
        original: Object,
        from: VatRef,
        to: VatRef,
    ) -> Result<Copies, Failure> {
        let first = thread.mutator.push_root(original.word());
        let pairs = make_pairs(thread, FIRST_PAIRS)?;
        let pairs = thread.mutator.push_root(pairs.word());
        let class = thread.mutator.push_root(Word::NIL);
        let (places, is_copied) = (HashTable::new(), false);
        Ok(Copies { from, to, first, pairs, count: 0, places, class, is_copied })
    }

    fn pairs(&self, thread: &Thread) -> Object {
        thread.mutator.get(self.pairs).object()
    }

    fn copy_at(&self, thread: &Thread, place: usize) -> Object {
        self.pairs(thread).element(2 * place + 1).object()
    }

    /// Wraps the words of all copies; answers the first copy. *GC point.*
    fn wrap_all(&mut self, thread: &mut Thread) -> Result<Word, Failure> {
        let mut place = 0;
        while place < self.count {
            for index in 0..word_count(self.copy_at(thread, place)) {
                let word = word_at(self.copy_at(thread, place), index);
                if !word.is_pointer() {
                    continue;
                }
                let wrapped = self.wrap_word(thread, word)?;
                let copy = self.copy_at(thread, place);
                set_word(thread, copy, index, wrapped);
            }
            place += 1;
        }
        Ok(self.copy_at(thread, 0).word())
    }

    fn wrap_word(&mut self, thread: &mut Thread, word: Word) -> Result<Word, Failure> {
        let object = word.object();
        if !self.is_copied(thread, object) {
            return wrap(thread, word, self.from, self.to);
        }
        match self.find(thread, object) {
            Some(copy) => Ok(copy.word()),
            None => self.add(thread, object).map(Object::word),
        }
    }

    /// Whether an object goes as a copy. All instances of a class do, or none; many have the same class.
    fn is_copied(&mut self, thread: &mut Thread, object: Object) -> bool {
        let class = object.class();
        if thread.mutator.get(self.class) != class {
            self.is_copied = passage(thread.vm, object) == Passage::Copy
                && is_copied_to(thread.vm, object, self.from, self.to);
            thread.mutator.set(self.class, class);
        }
        self.is_copied
    }

    fn find(&self, thread: &Thread, original: Object) -> Option<Object> {
        let hash = original.assigned_hash()?;
        let pairs = self.pairs(thread);
        let is_place = |place: &Place| {
            place.hash == hash && pairs.element(2 * place.number as usize) == original.word()
        };
        let place = self.places.find(Place::spread(hash), is_place)?;
        Some(self.copy_at(thread, place.number as usize))
    }

    /// Copies an object unchanged; its words are wrapped later. *GC point.*
    fn add(&mut self, thread: &mut Thread, original: Object) -> Result<Object, Failure> {
        pay(thread, self.from, original.size() / size_of::<Word>())?;
        let hash = original.identity_hash();
        let number = u32::try_from(self.count).map_err(|_| Failure::out_of_memory())?;
        let depth = thread.mutator.root_depth();
        let original = thread.mutator.push_root(original.word());
        let made = self.make_room(thread).and_then(|()| clone(thread, original));
        let original = original_of(thread, original);
        thread.mutator.truncate_roots(depth);
        let copy = made?;
        let pairs = self.pairs(thread);
        pairs.set_element(&mut thread.mutator, 2 * self.count, original.word());
        pairs.set_element(&mut thread.mutator, 2 * self.count + 1, copy.word());
        let place = Place { hash, number };
        let spread = |place: &Place| Place::spread(place.hash);
        self.places.insert_unique(Place::spread(hash), place, spread);
        self.count += 1;
        Ok(copy)
    }

    fn make_room(&mut self, thread: &mut Thread) -> Result<(), Failure> {
        let capacity = self.pairs(thread).length() / 2;
        if self.count < capacity {
            return Ok(());
        }
        let larger = make_pairs(thread, 2 * capacity)?;
        let pairs = self.pairs(thread);
        larger.copy_elements(&mut thread.mutator, 0, pairs, 0, 2 * self.count);
        thread.mutator.set(self.pairs, larger.word());
        Ok(())
    }
}

fn make_pairs(thread: &mut Thread, count: usize) -> Result<Object, Failure> {
    let class = thread.vm.known_class(KnownClass::Array);
    allocated(thread.mutator.allocate_array(known::ARRAY, class, 2 * count, Word::NIL))
}

/// A shallow copy. Nested classes are left out: they are made anew around the copy. *GC point.*
fn clone(thread: &mut Thread, original: RootHandle) -> Result<Object, Failure> {
    let object = original_of(thread, original);
    let (layout, class) = (object.layout(), object.class());
    if layout.format() == Format::Array {
        let length = object.length();
        let copy = allocated(thread.mutator.allocate_array(layout, class, length, Word::NIL))?;
        let object = original_of(thread, original);
        for index in 0..length {
            copy.initialize_element(index, access::element(thread, object, index)?);
        }
        return Ok(copy);
    }
    let copy = allocated(thread.mutator.allocate_slots(layout, class))?;
    let object = original_of(thread, original);
    let behavior = classes::behavior_of(thread.vm, object);
    for index in 0..layout.slot_count() {
        let is_class = behavior.is_some_and(|behavior| {
            matches!(
                behavior.slots.get(index).map(|slot| slot.content),
                Some(SlotContent::Class(_))
            )
        });
        if !is_class {
            copy.initialize_slot(index, access::slot(thread, object, index)?);
        }
    }
    Ok(copy)
}

fn word_count(object: Object) -> usize {
    let layout = object.layout();
    if layout.format() == Format::Array { object.length() } else { layout.slot_count() }
}

fn word_at(object: Object, index: usize) -> Word {
    if object.layout().format() == Format::Array {
        object.element(index)
    } else {
        object.slot(index)
    }
}

fn set_word(thread: &mut Thread, object: Object, index: usize, word: Word) {
    if object.layout().format() == Format::Array {
        object.set_element(&mut thread.mutator, index, word);
    } else {
        object.set_slot(&mut thread.mutator, index, word);
    }
}
