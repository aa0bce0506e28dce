//! Trees: the objects for the parts of a document, such as the values of JSON or the rows of a table, made piece by
//! piece. The primitives for JSON, other documents and texts call this module.
//!
//! Values that are finished, but belong to a list or object that is not, are in a heap array that is used as a stack. When
//! the list or object ends, its values leave the stack for an array, which becomes the only value in their place. The
//! names of members are made once for each document, in an array, too. The *desk* is an array that holds both, and the
//! class of dictionaries: the subject of the work's right.

use std::collections::HashMap;

use num_bigint::BigInt;
use squall_data::json::Builder;
use squall_heap::{Format, Object, RootHandle, Word};

use crate::library::work;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, Outcome};
use crate::objects::classes::behavior_of_class;
use crate::objects::number::{make_big, make_double, make_integer};
use crate::objects::rights;
use crate::objects::string::make_string;
use crate::state::effort::PIECE;
use crate::state::thread::{Thread, Window, allocated};
use crate::state::work::{Step, Work};

/// The parts of a document, in order.
pub trait Parts: Send {
    /// Passes some parts on, up to about so many units of work. *GC point.*
    fn pass_on(&mut self, objects: &mut Objects<'_>, units: usize) -> Result<Rest, Failure>;

    /// How many bytes of native memory it holds, about.
    fn bytes(&self) -> usize;
}

/// How far the parts of a document have been passed on.
pub enum Rest {
    /// There are no more.
    Nothing,
    /// There are more.
    More,
    /// There are more, and others should go first.
    Wait,
}

/// Makes the object for a document. The dictionaries are of a class, or there are none. *GC point.*
pub fn make(thread: &mut Thread, class: Word, parts: impl Parts + 'static) -> Outcome {
    let depth = thread.mutator.root_depth();
    let class = thread.mutator.push_root(class);
    let mut making = Making { parts, notes: Notes::default() };
    let outcome = match make_desk(thread, class) {
        Err(failure) => failure.into(),
        Ok(desk) => {
            let desk = thread.mutator.push_root(desk);
            match making.begin(thread, desk) {
                Ok(Step::Done(made)) => Outcome::Return(made),
                Ok(_) => {
                    let desk = thread.mutator.get(desk);
                    work::start(thread, Box::new(making), desk)
                }
                Err(failure) => failure.into(),
            }
        }
    };
    thread.mutator.truncate_roots(depth);
    outcome
}

/// The elements of the desk.
mod desk {
    pub const CLASS: usize = 0;
    pub const NAMES: usize = 1;
    pub const VALUES: usize = 2;
    pub const SIZE: usize = 3;
}

/// The names of members that are shared; more are made anew each time.
const SHARED_NAMES: usize = 256;

/// The stack's size at first.
const FIRST_ROOM: usize = 16;

/// *GC point.*
fn make_desk(thread: &mut Thread, class: RootHandle) -> Result<Word, Failure> {
    let desk = make_array(thread, desk::SIZE)?;
    let desk = thread.mutator.push_root(desk);
    let class = thread.mutator.get(class);
    thread.mutator.get(desk).object().set_element(&mut thread.mutator, desk::CLASS, class);
    for (place, size) in [(desk::NAMES, SHARED_NAMES), (desk::VALUES, FIRST_ROOM)] {
        let array = make_array(thread, size)?;
        let owner = thread.mutator.get(desk).object();
        // No other strand knows these arrays.
        owner.set_element(&mut thread.mutator, place, array);
    }
    Ok(thread.mutator.get(desk))
}

/// An array of nil. *GC point.*
fn make_array(thread: &mut Thread, length: usize) -> Result<Word, Failure> {
    let class = thread.vm.known_class(KnownClass::Array);
    let array = thread.mutator.allocate_array(known::ARRAY, class, length, Word::NIL);
    allocated(array).map(Object::word)
}

/// A document whose object is being made.
struct Making<P> {
    parts: P,
    notes: Notes,
}

/// What is known about the values on the desk.
#[derive(Default)]
struct Notes {
    /// The number of each name that has occurred.
    numbers: HashMap<Box<str>, u32>,
    /// The names of the members of all open objects, by their numbers.
    members: Vec<u32>,
    /// For each open list or object: how many values and members there were when it began.
    starts: Vec<(usize, usize)>,
    /// How many values are on the stack.
    count: usize,
}

impl<P: Parts> Making<P> {
    /// Makes the first objects: all of them, if there are few. *GC point.*
    fn begin(&mut self, thread: &mut Thread, desk: RootHandle) -> Result<Step, Failure> {
        // Some parts come from a reading that has to be finished before.
        match self.go_on(thread, desk)? {
            Step::More => self.go_on(thread, desk),
            step => Ok(step),
        }
    }

    /// Makes the next objects. *GC point.*
    fn go_on(&mut self, thread: &mut Thread, desk: RootHandle) -> Result<Step, Failure> {
        let mut objects = Objects { thread, notes: &mut self.notes, desk };
        Ok(match self.parts.pass_on(&mut objects, PIECE)? {
            Rest::Nothing => Step::Done(objects.values().element(0)),
            Rest::More => Step::More,
            Rest::Wait => Step::Wait,
        })
    }
}

impl<P: Parts> Work for Making<P> {
    fn step(&mut self, thread: &mut Thread, window: Window) -> Result<Step, Failure> {
        let depth = thread.mutator.root_depth();
        let desk = rights::subject_of(window.get(0).object());
        let desk = thread.mutator.push_root(desk);
        let step = self.go_on(thread, desk);
        thread.mutator.truncate_roots(depth);
        step
    }

    fn bytes(&self) -> usize {
        /// A name, its number, and its place in a table.
        const NAME: usize = 64;
        let Notes { numbers, members, starts, .. } = &self.notes;
        self.parts.bytes() + numbers.len() * NAME + 4 * members.capacity() + 16 * starts.capacity()
    }
}

/// Makes objects of parts.
pub struct Objects<'t> {
    /// The thread.
    pub thread: &'t mut Thread,
    notes: &'t mut Notes,
    desk: RootHandle,
}

impl Objects<'_> {
    fn on_desk(&self, place: usize) -> Word {
        self.thread.mutator.get(self.desk).object().element(place)
    }

    /// The stack.
    fn values(&self) -> Object {
        self.on_desk(desk::VALUES).object()
    }

    /// Puts a finished value on the stack. *GC point.*
    pub fn add_value(&mut self, made: Result<Word, Failure>) -> Result<(), Failure> {
        let value = made?;
        let depth = self.thread.mutator.root_depth();
        let value = self.thread.mutator.push_root(value);
        let has_room =
            if self.notes.count == self.values().length() { self.widen() } else { Ok(()) };
        let value = self.thread.mutator.get(value);
        self.thread.mutator.truncate_roots(depth);
        has_room?;
        let values = self.values();
        // No other strand knows the array.
        values.set_element(&mut self.thread.mutator, self.notes.count, value);
        self.notes.count += 1;
        Ok(())
    }

    /// Doubles the stack. *GC point.*
    fn widen(&mut self) -> Result<(), Failure> {
        let count = self.notes.count;
        let stack = self.copy_of(0..count, 2 * count)?;
        let desk = self.thread.mutator.get(self.desk).object();
        desk.set_element(&mut self.thread.mutator, desk::VALUES, stack);
        Ok(())
    }

    /// An array of this length that begins with some of the values. *GC point.*
    fn copy_of(
        &mut self,
        chosen: impl ExactSizeIterator<Item = usize>,
        length: usize,
    ) -> Result<Word, Failure> {
        let class = self.thread.vm.known_class(KnownClass::Array);
        self.thread.charge_copy(length * squall_heap::WORD_BYTES);
        let mutator = &mut self.thread.mutator;
        let array = allocated(mutator.allocate_array(known::ARRAY, class, length, Word::NIL))?;
        let depth = mutator.root_depth();
        let root = mutator.push_root(array.word());
        for (place, value) in chosen.enumerate() {
            let desk = mutator.get(self.desk).object();
            let value = desk.element(desk::VALUES).object().element(value);
            // No other strand knows the array yet.
            mutator.get(root).object().set_element(mutator, place, value);
        }
        let array = mutator.get(root);
        mutator.truncate_roots(depth);
        Ok(array)
    }

    /// The places of the members' names and values from these starts on. Of members with the same name, the last one's
    /// value counts, in the place of the first one.
    fn chosen(&self, start: usize, members: &[u32]) -> Vec<usize> {
        if !has_duplicates(members) {
            return (start..self.notes.count).collect();
        }
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut chosen = Vec::new();
        for (name, pair) in members.iter().zip((start..).step_by(2)) {
            match places.get(name) {
                Some(place) => chosen[place + 1] = pair + 1,
                None => {
                    places.insert(*name, chosen.len());
                    chosen.extend([pair, pair + 1]);
                }
            }
        }
        chosen
    }

    /// The string of a name with this number. *GC point.*
    fn name(&mut self, number: u32, text: &str) -> Result<Word, Failure> {
        let number = number as usize;
        if number >= SHARED_NAMES {
            return make_string(self.thread, text);
        }
        let known = self.on_desk(desk::NAMES).object().element(number);
        if known != Word::NIL {
            return Ok(known);
        }
        let made = make_string(self.thread, text)?;
        let names = self.on_desk(desk::NAMES).object();
        // No other strand knows the array.
        names.set_element(&mut self.thread.mutator, number, made);
        Ok(self.on_desk(desk::NAMES).object().element(number))
    }
}

fn has_duplicates(members: &[u32]) -> bool {
    if members.len() <= 8 {
        return (1..members.len()).any(|index| members[..index].contains(&members[index]));
    }
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

impl Builder for Objects<'_> {
    type Failure = Failure;

    fn null(&mut self) -> Result<(), Failure> {
        self.add_value(Ok(Word::NIL))
    }

    fn boolean(&mut self, value: bool) -> Result<(), Failure> {
        self.add_value(Ok(Word::from_bool(value)))
    }

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        let made = make_integer(self.thread, value);
        self.add_value(made)
    }

    fn large(&mut self, value: BigInt) -> Result<(), Failure> {
        let made = make_big(self.thread, value);
        self.add_value(made)
    }

    fn double(&mut self, value: f64) -> Result<(), Failure> {
        let made = make_double(self.thread, value);
        self.add_value(made)
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        let made = make_string(self.thread, value);
        self.add_value(made)
    }

    fn key(&mut self, name: &str) -> Result<(), Failure> {
        let next = self.notes.numbers.len() as u32;
        let number = match self.notes.numbers.get(name) {
            Some(number) => *number,
            None => *self.notes.numbers.entry(name.into()).or_insert(next),
        };
        self.notes.members.push(number);
        let made = self.name(number, name);
        self.add_value(made)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.notes.starts.push((self.notes.count, self.notes.members.len()));
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), Failure> {
        let (start, _) = self.notes.starts.pop().expect("each end has a beginning");
        let list = self.copy_of(start..self.notes.count, self.notes.count - start);
        self.notes.count = start;
        self.add_value(list)
    }

    fn end_object(&mut self) -> Result<(), Failure> {
        let (start, members) = self.notes.starts.pop().expect("each end has a beginning");
        let members = self.notes.members.split_off(members);
        let chosen = self.chosen(start, &members);
        let length = chosen.len();
        let pairs = self.copy_of(chosen.into_iter(), length)?;
        self.notes.count = start;
        let class = self.on_desk(desk::CLASS);
        let object = make_instance(self.thread, class, pairs);
        self.add_value(object)
    }
}

/// Fails unless the word is a class whose instances can be made of an array.
pub fn check_dictionary(thread: &Thread, class: Word) -> Result<(), Failure> {
    let layout = behavior_of_class(thread.vm, class).map(|behavior| behavior.layout);
    let is_suitable =
        layout.is_some_and(|layout| layout.format() == Format::Slots && layout.slot_count() > 0);
    if is_suitable { Ok(()) } else { Err(Failure::argument(class)) }
}

/// An instance of a class of the library, with this word in its first slot. *GC point.*
fn make_instance(thread: &mut Thread, class: Word, first: Word) -> Result<Word, Failure> {
    check_dictionary(thread, class)?;
    let behavior = behavior_of_class(thread.vm, class).ok_or(Failure::argument(class))?;
    let mut scope = thread.mutator.scope();
    let first = scope.root(first);
    let made = allocated(scope.allocate_slots(behavior.layout, class))?;
    made.initialize_slot(0, scope.get(first));
    Ok(made.word())
}
