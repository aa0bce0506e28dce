//! Transfer objects: makes deep copies that preserve sharing and cycles. Isolation calls it when such an object goes to
//! another vat.
//!
//! A copy starts with the words of its original. One after the other, the copies get their words wrapped: a word that
//! is a transfer object itself is replaced by its copy, which joins the queue if it is new. So deep structures do not
//! deepen the native stack.
//!
//! What leaves a sandbox must not be a maze. The receiver compares and hashes arrays by their contents, which visits an
//! array on each path that leads to it. So the arrays of a transfer that leaves count [as trees](Sharing).

use squall_heap::{Format, Object, RootHandle, Word};

use super::leaving::leaves;
use super::{Passage, is_copied_to, passage, pay, wrap};
use crate::concurrency::transactions::access;
use crate::model::behavior::SlotContent;
use crate::model::outcome::Failure;
use crate::objects::classes;
use crate::objects::counterparts::Counterparts;
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
    let original = thread.mutator.push_root(original.word());
    let mut copies = Copies::begin(thread, from, to);
    let original = original_of(thread, original);
    let copied = copies.add(thread, original).and_then(|_| copies.wrap_all(thread));
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
    copies: Counterparts,
    /// How the arrays contain each other, if they leave a sandbox.
    sharing: Option<Sharing>,
    /// The class of the object that was looked at last, and whether its instances are copied.
    class: RootHandle,
    is_copied: bool,
}

/// Objects have one role here.
const COPY: usize = 0;

impl Copies {
    fn begin(thread: &mut Thread, from: VatRef, to: VatRef) -> Copies {
        let copies = Counterparts::new(thread);
        let class = thread.mutator.push_root(Word::NIL);
        let sharing = leaves(from, to).then(Sharing::default);
        Copies { from, to, copies, sharing, class, is_copied: false }
    }

    fn copy_at(&self, thread: &Thread, number: usize) -> Object {
        self.copies.nth(thread, number).object()
    }

    /// Wraps the words of all copies; answers the first copy. *GC point.*
    fn wrap_all(&mut self, thread: &mut Thread) -> Result<Word, Failure> {
        let mut place = 0;
        while place < self.copies.count() {
            for index in 0..word_count(self.copy_at(thread, place)) {
                let word = word_at(self.copy_at(thread, place), index);
                if !word.is_pointer() {
                    continue;
                }
                let wrapped = self.wrap_word(thread, place, word)?;
                let copy = self.copy_at(thread, place);
                set_word(thread, copy, index, wrapped);
            }
            place += 1;
        }
        if let Some(sharing) = &self.sharing {
            let size = |number| self.copy_at(thread, number).size() / size_of::<Word>();
            let words = |number| size(number) + sharing.words_in(number);
            let repeated = sharing.repeated(self.copies.count(), words);
            if repeated > 0 {
                pay(thread, self.from, repeated)?;
            }
        }
        Ok(self.copy_at(thread, 0).word())
    }

    /// What goes in place of a word of the copy with this number. *GC point.*
    fn wrap_word(
        &mut self,
        thread: &mut Thread,
        place: usize,
        word: Word,
    ) -> Result<Word, Failure> {
        let object = word.object();
        if !self.is_copied(thread, object) {
            let before = thread.metering.passed;
            let wrapped = wrap(thread, word, self.from, self.to)?;
            if let Some(sharing) = &mut self.sharing {
                sharing.add_words(place, thread.metering.passed - before);
            }
            return Ok(wrapped);
        }
        let is_array = object.layout().format() == Format::Array;
        let found = self.copies.number_of(thread, object, COPY);
        let number = found.unwrap_or(self.copies.count());
        let copy = match found {
            Some(number) => self.copy_at(thread, number).word(),
            None => self.add(thread, object)?,
        };
        let is_in_array = self.copy_at(thread, place).layout().format() == Format::Array;
        if let Some(sharing) = self.sharing.as_mut().filter(|_| is_array && is_in_array) {
            sharing.contains.push([place, number]);
        }
        Ok(copy)
    }

    /// Whether an object goes as a copy. All instances of a class do, or none; many have the same class.
    fn is_copied(&mut self, thread: &mut Thread, object: Object) -> bool {
        let class = object.class();
        if thread.mutator.get(self.class) != class {
            self.is_copied = passage(thread, object) == Passage::Copy
                && is_copied_to(thread, object, self.from, self.to);
            thread.mutator.set(self.class, class);
        }
        self.is_copied
    }

    /// Copies an object unchanged; its words are wrapped later. *GC point.*
    fn add(&mut self, thread: &mut Thread, original: Object) -> Result<Word, Failure> {
        pay(thread, self.from, original.size() / size_of::<Word>())?;
        let depth = thread.mutator.root_depth();
        let original = thread.mutator.push_root(original.word());
        let added = clone(thread, original).and_then(|copy| {
            let copy = thread.mutator.push_root(copy.word());
            self.copies.add(thread, original, copy, COPY)?;
            Ok(thread.mutator.get(copy))
        });
        thread.mutator.truncate_roots(depth);
        added
    }
}

/// How arrays contain each other.
#[derive(Default)]
struct Sharing {
    /// The number of an array and that of an element, as often as it is one.
    contains: Vec<[usize; 2]>,
    /// What the values in an array have cost on their way.
    values: Vec<usize>,
}

impl Sharing {
    /// The array with this number has a value that has cost so much.
    fn add_words(&mut self, array: usize, words: usize) {
        if self.values.len() <= array {
            self.values.resize(array + 1, 0);
        }
        self.values[array] += words;
    }

    fn words_in(&self, array: usize) -> usize {
        self.values.get(array).copied().unwrap_or_default()
    }

    /// The words that a walk through trees meets again and again, of all arrays with numbers below `count`. Without end, if
    /// an array is in itself.
    fn repeated(&self, count: usize, words: impl Fn(usize) -> usize) -> usize {
        let mut elements = vec![Vec::new(); count];
        let mut containers = vec![0usize; count];
        for &[array, element] in &self.contains {
            elements[array].push(element);
            containers[element] += 1;
        }
        // From the containers to their elements, which are met on each path to each container.
        let mut ready: Vec<usize> = (0..count).filter(|&number| containers[number] == 0).collect();
        let mut paths: Vec<usize> =
            containers.iter().map(|&count| usize::from(count == 0)).collect();
        let (mut repeated, mut done) = (0usize, 0);
        while let Some(number) = ready.pop() {
            done += 1;
            repeated = repeated.saturating_add((paths[number] - 1).saturating_mul(words(number)));
            for &element in &elements[number] {
                paths[element] = paths[element].saturating_add(paths[number]);
                containers[element] -= 1;
                if containers[element] == 0 {
                    ready.push(element);
                }
            }
        }
        if done < count { usize::MAX } else { repeated }
    }
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
