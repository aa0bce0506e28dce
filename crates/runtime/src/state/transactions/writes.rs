//! The uncommitted writes of a transaction, by place. Reads look here first, and the commit stores them.
//!
//! A list of *entries*, one for each place, and an index to find them: a table with open addressing, by a
//! hash of the object's identity hash and the place. Nothing in it depends on addresses, so a collection
//! only updates the words of the entries. As long as there are few entries, the list is searched without
//! an index.
//!
//! To go back to a mark, a *journal* has the overwritten values since the mark, once for each entry that existed before
//! it; later entries are dropped.

use squall_heap::{Format, LayoutId, Mutator, Object, RootAddress, Word};
use squall_transactions::Stripe;

/// A place that was written.
#[derive(Clone, Copy)]
pub struct Entry {
    object: Word,
    value: Word,
    index: u32,
    hash: u32,
    /// How long the journal was when this was put into it last, with it; 0 if it never was.
    saved: u32,
    /// The stripe that protects it.
    pub stripe: Stripe,
    /// The address of the instruction that wrote it last.
    pub pc: usize,
}

impl Entry {
    /// The layout of the object.
    pub fn layout(&self) -> LayoutId {
        self.object.object().layout()
    }

    /// Stores the value into the object.
    pub fn store(&self, mutator: &mut Mutator) {
        let (object, index) = (self.object.object(), self.index as usize);
        match object.layout().format() {
            Format::Array => object.set_element(mutator, index, self.value),
            _ => object.set_slot(mutator, index, self.value),
        }
    }
}

/// A value that was overwritten.
#[derive(Clone, Copy)]
struct Overwritten {
    entry: u32,
    saved: u32,
    value: Word,
    pc: usize,
}

/// How many entries are searched without an index.
const FEW: usize = 8;

/// In the index: no entry.
const NONE: u32 = u32::MAX;

/// Entries by place.
#[derive(Default)]
pub struct Writes {
    entries: Vec<Entry>,
    /// The numbers of entries, by their hashes; empty as long as there are few.
    index: Vec<u32>,
    journal: Vec<Overwritten>,
    /// How many entries are older than the last mark.
    marked: usize,
    /// How long the journal was at the last mark.
    marked_journal: usize,
    /// A bit for each hash, so that most places that were not written are told at once.
    filter: u64,
}

/// Where [`Writes::go_back`] goes.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    entries: usize,
    journal: usize,
    /// Those of the mark before.
    marked: usize,
    marked_journal: usize,
}

impl Writes {
    /// Whether nothing was written.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many places were written.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many bytes they take, with the journal.
    pub fn bytes(&self) -> usize {
        self.entries.len() * (size_of::<Entry>() + size_of::<[u32; 8]>())
            + size_of_val(self.journal.as_slice())
    }

    /// The objects and values, those of the journal included.
    pub fn words(&self) -> impl Iterator<Item = Word> {
        let entries = self.entries.iter().flat_map(|entry| [entry.object, entry.value]);
        entries.chain(self.journal.iter().map(|overwritten| overwritten.value))
    }

    /// Whether the next write may need more memory.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.entries.len() == self.entries.capacity()
            || self.journal.len() == self.journal.capacity() && self.marked > 0
    }

    /// How many more bytes [`Writes::grow`] takes, with those of the index.
    pub fn growth(&self) -> usize {
        let journal = if self.marked > 0 { size_of::<Overwritten>() } else { 0 };
        self.grown() * (size_of::<Entry>() + size_of::<[u32; 8]>() + journal)
    }

    /// Makes room for twice as many.
    pub fn grow(&mut self) {
        let grown = self.grown();
        self.entries.reserve_exact(self.entries.capacity() + grown - self.entries.len());
        if self.marked > 0 {
            self.journal.reserve_exact(self.journal.capacity() + grown - self.journal.len());
        }
    }

    fn grown(&self) -> usize {
        self.entries.capacity().max(2 * FEW)
    }

    /// Whether a place may have been written; most that were not are told at once.
    #[inline(always)]
    pub fn may_have(&self, identity: u32, index: usize) -> bool {
        self.filter != 0 && self.filter & bit(mix(identity, index)) != 0
    }

    /// The places, in the order in which they were first written.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The stripes that protect them, some of them perhaps several times.
    pub fn stripes(&self) -> impl Iterator<Item = Stripe> + Clone {
        self.entries.iter().map(|entry| entry.stripe)
    }

    /// The written value of a place, if there is one.
    #[inline]
    pub fn find(&self, object: Object, identity: u32, index: usize) -> Option<Word> {
        if !self.may_have(identity, index) {
            return None;
        }
        let entry = self.position(object, mix(identity, index), index as u32)?;
        Some(self.entries[entry].value)
    }

    /// Writes to a place.
    pub fn set(
        &mut self,
        object: Object,
        identity: u32,
        index: usize,
        value: Word,
        (stripe, pc): (Stripe, usize),
    ) {
        let hash = mix(identity, index);
        let found = if self.filter & bit(hash) == 0 {
            None
        } else {
            self.position(object, hash, index as u32)
        };
        let Some(number) = found else {
            let (object, index) = (object.word(), index as u32);
            return self.add(Entry { object, value, index, hash, saved: 0, stripe, pc });
        };
        let entry = &mut self.entries[number];
        if number < self.marked && entry.saved as usize <= self.marked_journal {
            let Entry { value, pc, saved, .. } = *entry;
            self.journal.push(Overwritten { entry: number as u32, saved, value, pc });
            entry.saved = self.journal.len() as u32;
        }
        (entry.value, entry.pc) = (value, pc);
    }

    /// Writes to a place that was surely not written before, if few were and there is room; whether that is
    /// done.
    #[inline(always)]
    pub fn try_add(
        &mut self,
        object: Object,
        identity: u32,
        index: usize,
        value: Word,
        (stripe, pc): (Stripe, usize),
    ) -> bool {
        let hash = mix(identity, index);
        if self.filter & bit(hash) != 0 || self.entries.len() >= FEW || self.is_full() {
            return false;
        }
        self.filter |= bit(hash);
        let (object, index) = (object.word(), index as u32);
        self.entries.push(Entry { object, value, index, hash, saved: 0, stripe, pc });
        true
    }

    fn position(&self, object: Object, hash: u32, index: u32) -> Option<usize> {
        let is_it = |entry: &Entry| entry.object == object.word() && entry.index == index;
        if self.index.is_empty() {
            return self.entries.iter().position(is_it);
        }
        let mask = self.index.len() - 1;
        let mut place = hash as usize & mask;
        loop {
            match self.index[place] {
                NONE => return None,
                number if is_it(&self.entries[number as usize]) => return Some(number as usize),
                _ => place = (place + 1) & mask,
            }
        }
    }

    fn add(&mut self, entry: Entry) {
        self.filter |= bit(entry.hash);
        self.entries.push(entry);
        if self.entries.len() <= FEW {
            return;
        }
        if self.entries.len() * 2 > self.index.len() {
            return self.build_index();
        }
        insert(&mut self.index, entry.hash, self.entries.len() - 1);
    }

    fn build_index(&mut self) {
        self.index.clear();
        if self.entries.len() > FEW {
            self.index.resize((self.entries.len() * 4).next_power_of_two(), NONE);
            for (number, entry) in self.entries.iter().enumerate() {
                insert(&mut self.index, entry.hash, number);
            }
        }
    }

    /// Forgets everything.
    #[inline]
    pub fn clear(&mut self) {
        self.entries.clear();
        self.index.clear();
        self.journal.clear();
        (self.marked, self.marked_journal, self.filter) = (0, 0, 0);
    }

    /// A mark to go back to.
    pub fn mark(&mut self) -> Mark {
        let mark = Mark {
            entries: self.entries.len(),
            journal: self.journal.len(),
            marked: self.marked,
            marked_journal: self.marked_journal,
        };
        (self.marked, self.marked_journal) = (mark.entries, mark.journal);
        mark
    }

    /// Forgets a mark, but not the writes since. Later marks have been forgotten before.
    pub fn unmark(&mut self, mark: Mark) {
        (self.marked, self.marked_journal) = (mark.marked, mark.marked_journal);
    }

    /// Undoes the writes since the mark, and forgets the mark. It takes as long as the writes did, however many were
    /// before them.
    pub fn go_back(&mut self, mark: Mark) {
        for overwritten in self.journal.drain(mark.journal..).rev() {
            let entry = &mut self.entries[overwritten.entry as usize];
            (entry.value, entry.pc) = (overwritten.value, overwritten.pc);
            entry.saved = overwritten.saved;
        }
        if mark.entries > FEW {
            (mark.entries..self.entries.len())
                .rev()
                .for_each(|number| self.remove_from_index(number));
            // The filter may know places that are not written any more.
        } else {
            self.index.clear();
            let left = self.entries[..mark.entries].iter();
            self.filter = left.fold(0, |filter, entry| filter | bit(entry.hash));
        }
        self.entries.truncate(mark.entries);
        (self.marked, self.marked_journal) = (mark.marked, mark.marked_journal);
    }

    /// Takes the last entry that is in the index out of it. No other one was put behind it, so its place was the end of
    /// its search, and is free again.
    fn remove_from_index(&mut self, number: usize) {
        let mask = self.index.len() - 1;
        let mut place = self.entries[number].hash as usize & mask;
        while self.index[place] != number as u32 {
            place = (place + 1) & mask;
        }
        self.index[place] = NONE;
    }

    /// Shows the words to the collector.
    pub(crate) fn visit(&mut self, visit: &mut dyn FnMut(RootAddress)) {
        let (entries, journal) = (self.entries.as_mut_ptr(), self.journal.as_mut_ptr());
        for index in 0..self.entries.len() {
            // SAFETY: the vector has this entry. No reference to it is made: another collector thread may be updating
            // the words, after it has visited the same strand.
            unsafe {
                visit(RootAddress::new(&raw mut (*entries.add(index)).object));
                visit(RootAddress::new(&raw mut (*entries.add(index)).value));
            }
        }
        for index in 0..self.journal.len() {
            // SAFETY: as above.
            visit(unsafe { RootAddress::new(&raw mut (*journal.add(index)).value) });
        }
    }
}

fn insert(index: &mut [u32], hash: u32, number: usize) {
    let mask = index.len() - 1;
    let mut place = hash as usize & mask;
    while index[place] != NONE {
        place = (place + 1) & mask;
    }
    index[place] = number as u32;
}

/// Spreads object and place over all bits.
#[inline(always)]
fn mix(identity: u32, index: usize) -> u32 {
    let mixed = (identity ^ (index as u32).wrapping_mul(0x9E37_79B1)).wrapping_mul(0x85EB_CA6B);
    mixed ^ mixed >> 15
}

#[inline(always)]
fn bit(hash: u32) -> u64 {
    1 << (hash >> 26)
}
