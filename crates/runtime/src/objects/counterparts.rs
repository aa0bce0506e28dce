//! Which object stands for which, in a walk that makes an object for each one that it finds, and meets some of them many times:
//! transfers copy, conversions box and unbox.
//!
//! The originals and their counterparts are in an array on the heap, where the collector updates them. The table that finds an
//! original's place in it goes by identity hashes, which never change.

use hashbrown::HashTable;
use squall_heap::{Object, RootHandle, Word};

use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::state::thread::{Thread, allocated};

/// The counterparts that were made so far.
pub struct Counterparts {
    /// An array in which each original is followed by its counterpart; nil before the first one.
    pairs: RootHandle,
    /// How many pairs there are.
    count: usize,
    /// The pairs, by the identity hashes of their originals.
    places: HashTable<Place>,
}

/// The place of a pair.
struct Place {
    /// The identity hash of the original.
    hash: u32,
    /// The number of the pair.
    number: u32,
    /// As what the original is taken: it may have a counterpart for each role.
    role: usize,
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

impl Counterparts {
    /// None so far. They need a root, which the caller drops.
    pub fn new(thread: &mut Thread) -> Counterparts {
        let pairs = thread.mutator.push_root(Word::NIL);
        Counterparts { pairs, count: 0, places: HashTable::new() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The counterpart with this number, in the order in which they were added.
    pub fn nth(&self, thread: &Thread, number: usize) -> Word {
        thread.mutator.get(self.pairs).object().element(2 * number + 1)
    }

    /// The counterpart of an object in this role.
    pub fn find(&self, thread: &Thread, original: Object, role: usize) -> Option<Word> {
        Some(self.nth(thread, self.number_of(thread, original, role)?))
    }

    /// The number of the counterpart of an object in this role.
    pub fn number_of(&self, thread: &Thread, original: Object, role: usize) -> Option<usize> {
        let hash = original.assigned_hash().filter(|_| self.count > 0)?;
        let pairs = thread.mutator.get(self.pairs).object();
        let is_place = |place: &Place| {
            place.hash == hash
                && place.role == role
                && pairs.element(2 * place.number as usize) == original.word()
        };
        let place = self.places.find(Place::spread(hash), is_place)?;
        Some(place.number as usize)
    }

    /// Adds the counterpart of an object, both of which are in roots. *GC point.*
    pub fn add(
        &mut self,
        thread: &mut Thread,
        original: RootHandle,
        counterpart: RootHandle,
        role: usize,
    ) -> Result<(), Failure> {
        let number = u32::try_from(self.count).map_err(|_| Failure::out_of_memory())?;
        self.make_room(thread)?;
        let mutator = &mut thread.mutator;
        let [pairs, original, counterpart] =
            [self.pairs, original, counterpart].map(|handle| mutator.get(handle));
        let hash = original.object().hidden_hash();
        pairs.object().set_element(mutator, 2 * self.count, original);
        pairs.object().set_element(mutator, 2 * self.count + 1, counterpart);
        let place = Place { hash, number, role };
        let spread = |place: &Place| Place::spread(place.hash);
        self.places.insert_unique(Place::spread(hash), place, spread);
        self.count += 1;
        Ok(())
    }

    /// *GC point.*
    fn make_room(&mut self, thread: &mut Thread) -> Result<(), Failure> {
        let pairs = thread.mutator.get(self.pairs).as_object();
        let capacity = pairs.map_or(0, |pairs| pairs.length() / 2);
        if self.count < capacity {
            return Ok(());
        }
        let class = thread.vm.known_class(KnownClass::Array);
        let length = 2 * (2 * capacity).max(FIRST_PAIRS);
        let larger = thread.mutator.allocate_array(known::ARRAY, class, length, Word::NIL);
        let larger = allocated(larger)?;
        if let Some(pairs) = thread.mutator.get(self.pairs).as_object() {
            larger.copy_elements(&mut thread.mutator, 0, pairs, 0, 2 * self.count);
        }
        thread.mutator.set(self.pairs, larger.word());
        Ok(())
    }
}
