//! JSON: the primitives for `lib/Json.ns`. Objects are made while the text is read, without a tree in between.
//!
//! Values that are finished, but belong to a list or object that is not, are on the mutator's root stack. When the list
//! or object ends, its values leave the stack for an array, which becomes the only value in their place. The names of
//! members are made once for each text, in a table that is a root, too.

use std::collections::HashMap;

use num_bigint::BigInt;
use squall_data::json::{self, Builder, Stopped};
use squall_heap::{Format, Object, RootHandle, Word};

use super::{answer, problems};
use crate::concurrency::transactions::access;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::classes::behavior_of_class;
use crate::objects::number::{Number, make_big, make_double, make_integer, size_argument};
use crate::objects::string::{Text, make_string, text_argument};
use crate::state::thread::{Thread, Window, allocated};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("json:dictionary:", |thread, window| answer(parse(thread, window))),
    Primitive::ordinary("jsonText:dictionary:indent:", |thread, window| {
        answer(print(thread, window))
    }),
    Primitive::ordinary("jsonQuoted:", |thread, window| answer(quoted(thread, window))),
];

/// The names of members that are shared; more are made anew each time.
const SHARED_NAMES: usize = 256;

/// The value of a text. *GC point.*
fn parse(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = text_argument(window.get(0))?;
    check_dictionary(thread, window.get(1))?;
    let depth = thread.mutator.root_depth();
    let result = Objects::new(thread, window).and_then(|mut objects| {
        let read = json::read(&text, &mut objects);
        match read {
            Ok(()) => Ok(objects.thread.mutator.get(objects.values[0])),
            Err(Stopped::Builder(failure)) => Err(failure),
            Err(Stopped::Problem(problem)) => {
                Err(problems::in_text(objects.thread, &text, &problem))
            }
        }
    });
    thread.mutator.truncate_roots(depth);
    result
}

/// Fails unless the word is a class whose instances can be made of an array.
fn check_dictionary(thread: &Thread, class: Word) -> Result<(), Failure> {
    let layout = behavior_of_class(thread.vm, class).map(|behavior| behavior.layout);
    let is_suitable =
        layout.is_some_and(|layout| layout.format() == Format::Slots && layout.slot_count() > 0);
    if is_suitable { Ok(()) } else { Err(Failure::argument(class)) }
}

/// An instance of a class of the library, with this word in its first slot. *GC point.*
pub(super) fn make_instance(
    thread: &mut Thread,
    class: Word,
    first: Word,
) -> Result<Word, Failure> {
    check_dictionary(thread, class)?;
    let behavior = behavior_of_class(thread.vm, class).ok_or(Failure::argument(class))?;
    let mut scope = thread.mutator.scope();
    let first = scope.root(first);
    let made = allocated(scope.allocate_slots(behavior.layout, class))?;
    made.initialize_slot(0, scope.get(first));
    Ok(made.word())
}

/// Makes objects of the parts of a text.
struct Objects<'t> {
    thread: &'t mut Thread,
    window: Window,
    /// The array of shared names.
    names: RootHandle,
    /// The number of each name that has occurred.
    numbers: HashMap<Box<str>, u32>,
    /// The names of the members of all open objects, by their numbers.
    members: Vec<u32>,
    /// Finished values, the members' names among them.
    values: Vec<RootHandle>,
    /// For each open list or object: how many values and members there were when it began.
    starts: Vec<(usize, usize)>,
    /// The root stack's depth below the values.
    depth: usize,
}

impl<'t> Objects<'t> {
    /// *GC point.*
    fn new(thread: &'t mut Thread, window: Window) -> Result<Objects<'t>, Failure> {
        let class = thread.vm.known_class(KnownClass::Array);
        let names = thread.mutator.allocate_array(known::ARRAY, class, SHARED_NAMES, Word::NIL);
        let names = thread.mutator.push_root(allocated(names)?.word());
        let depth = thread.mutator.root_depth();
        let (numbers, members, values, starts) = Default::default();
        Ok(Objects { thread, window, names, numbers, members, values, starts, depth })
    }

    /// Puts a finished value on the stack.
    fn push(&mut self, made: Result<Word, Failure>) -> Result<(), Failure> {
        let value = self.thread.mutator.push_root(made?);
        self.values.push(value);
        Ok(())
    }

    /// Replaces the values from `start` on by an array of those in `chosen`. *GC point.*
    fn gather(&mut self, start: usize, chosen: &[RootHandle]) -> Result<Word, Failure> {
        let class = self.thread.vm.known_class(KnownClass::Array);
        let mutator = &mut self.thread.mutator;
        let array =
            allocated(mutator.allocate_array(known::ARRAY, class, chosen.len(), Word::NIL))?;
        let root = mutator.push_root(array.word());
        for (index, value) in chosen.iter().enumerate() {
            let value = mutator.get(*value);
            let array = mutator.get(root).object();
            // No other strand knows the array yet.
            array.set_element(mutator, index, value);
        }
        let array = mutator.get(root);
        self.values.truncate(start);
        mutator.truncate_roots(self.depth + start);
        Ok(array)
    }

    /// The members' names and values from these starts on. Of members with the same name, the last one's value counts,
    /// in the place of the first one.
    fn chosen(&self, start: usize, members: &[u32]) -> Vec<RootHandle> {
        let values = &self.values[start..];
        if !has_duplicates(members) {
            return values.to_vec();
        }
        let mut places: HashMap<u32, usize> = HashMap::new();
        let mut chosen = Vec::new();
        for (name, pair) in members.iter().zip(values.chunks_exact(2)) {
            match places.get(name) {
                Some(place) => chosen[place + 1] = pair[1],
                None => {
                    places.insert(*name, chosen.len());
                    chosen.extend_from_slice(pair);
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
        let known = self.thread.mutator.get(self.names).object().element(number);
        if known != Word::NIL {
            return Ok(known);
        }
        let made = make_string(self.thread, text)?;
        let names = self.thread.mutator.get(self.names).object();
        // No other strand knows the array.
        names.set_element(&mut self.thread.mutator, number, made);
        Ok(self.thread.mutator.get(self.names).object().element(number))
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
        self.push(Ok(Word::NIL))
    }

    fn boolean(&mut self, value: bool) -> Result<(), Failure> {
        self.push(Ok(Word::from_bool(value)))
    }

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        let made = make_integer(self.thread, value);
        self.push(made)
    }

    fn large(&mut self, value: BigInt) -> Result<(), Failure> {
        let made = make_big(self.thread, value);
        self.push(made)
    }

    fn double(&mut self, value: f64) -> Result<(), Failure> {
        let made = make_double(self.thread, value);
        self.push(made)
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        let made = make_string(self.thread, value);
        self.push(made)
    }

    fn key(&mut self, name: &str) -> Result<(), Failure> {
        let next = self.numbers.len() as u32;
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => *self.numbers.entry(name.into()).or_insert(next),
        };
        self.members.push(number);
        let made = self.name(number, name);
        self.push(made)
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.starts.push((self.values.len(), self.members.len()));
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), Failure> {
        let (start, _) = self.starts.pop().expect("each end has a beginning");
        let elements = self.values[start..].to_vec();
        let list = self.gather(start, &elements);
        self.push(list)
    }

    fn end_object(&mut self) -> Result<(), Failure> {
        let (start, members) = self.starts.pop().expect("each end has a beginning");
        let members = self.members.split_off(members);
        let chosen = self.chosen(start, &members);
        let pairs = self.gather(start, &chosen)?;
        let class = self.window.get(1);
        let object = make_instance(self.thread, class, pairs);
        self.push(object)
    }
}

/// The most spaces for a level.
const WIDEST: usize = 16;

/// The text of an object that consists of arrays, dictionaries, strings, numbers, booleans and nil; nil for another
/// one. *GC point.*
fn print(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let indent = size_argument(window.get(2))?;
    if indent > WIDEST {
        return Err(Failure::argument(window.get(2)));
    }
    check_dictionary(thread, window.get(1))?;
    let depth = thread.mutator.root_depth();
    let mut printer = Printer { text: String::new(), indent, open: Vec::new() };
    let printed = printer.print(thread, window);
    thread.mutator.truncate_roots(depth);
    match printed? {
        true => make_string(thread, &printer.text),
        false => Ok(Word::NIL),
    }
}

/// A list or dictionary that is being printed.
struct Open {
    /// The array of the elements, or of the members' names and values.
    array: RootHandle,
    is_list: bool,
    next: usize,
    length: usize,
}

struct Printer {
    text: String,
    /// Spaces for each level; 0 for no lines.
    indent: usize,
    open: Vec<Open>,
}

impl Printer {
    /// Prints the first argument; answers whether it could.
    fn print(&mut self, thread: &mut Thread, window: Window) -> Result<bool, Failure> {
        if !self.value(thread, window, window.get(0))? {
            return Ok(false);
        }
        while let Some(open) = self.open.last_mut() {
            if open.next == open.length {
                self.close(thread);
                continue;
            }
            let (index, is_list, array) = (open.next, open.is_list, open.array);
            open.next += 1;
            let is_value = is_list || index % 2 == 1;
            if is_list || index % 2 == 0 {
                self.separate(index > 0);
            } else {
                self.text.push_str(if self.indent > 0 { ": " } else { ":" });
            }
            let array = thread.mutator.get(array).object();
            let element = access::element(thread, array, index)?;
            let printed = match is_value {
                true => self.value(thread, window, element)?,
                false => self.string(element),
            };
            if !printed {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Prints a plain value, or the start of a list or dictionary.
    fn value(&mut self, thread: &mut Thread, window: Window, value: Word) -> Result<bool, Failure> {
        match value {
            Word::NIL => self.text.push_str("null"),
            Word::TRUE => self.text.push_str("true"),
            Word::FALSE => self.text.push_str("false"),
            _ if self.string(value) => {}
            _ => {
                if let Some(number) = Number::of(value) {
                    return Ok(self.number(&number));
                }
                return self.begin(thread, window, value);
            }
        }
        Ok(true)
    }

    fn string(&mut self, value: Word) -> bool {
        let Some(text) = Text::of(value) else {
            return false;
        };
        json::quote(text.code_points(), &mut self.text);
        true
    }

    fn number(&mut self, number: &Number) -> bool {
        use std::fmt::Write;
        let written = match number {
            Number::Small(integer) => write!(self.text, "{integer}"),
            Number::Large(integer) => write!(self.text, "{integer}"),
            Number::Double(double) if double.is_finite() => write!(self.text, "{double:?}"),
            Number::Double(_) => return false,
        };
        written.is_ok()
    }

    fn begin(&mut self, thread: &mut Thread, window: Window, value: Word) -> Result<bool, Failure> {
        let is_list = array::of(value).is_some();
        let Some((array, length)) = elements(thread, window, value)? else {
            return Ok(false);
        };
        if self.open.len() == json::DEEPEST {
            return Ok(false);
        }
        let array = thread.mutator.push_root(array.word());
        self.text.push(if is_list { '[' } else { '{' });
        self.open.push(Open { array, is_list, next: 0, length });
        Ok(true)
    }

    fn separate(&mut self, is_next: bool) {
        if is_next {
            self.text.push(',');
        }
        self.line();
    }

    fn line(&mut self) {
        if self.indent > 0 {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', self.indent * self.open.len()));
        }
    }

    fn close(&mut self, thread: &mut Thread) {
        let Some(open) = self.open.pop() else { return };
        thread.mutator.pop_root();
        if open.length > 0 {
            self.line();
        }
        self.text.push(if open.is_list { ']' } else { '}' });
    }
}

/// The elements of an array, or the names and values of a dictionary, and their number. A dictionary has it in its second
/// slot; nil there means that the array is full.
fn elements(
    thread: &mut Thread,
    window: Window,
    value: Word,
) -> Result<Option<(Object, usize)>, Failure> {
    if let Some(array) = array::of(value) {
        return Ok(Some((array, array.length())));
    }
    let Some(object) = value.as_object() else {
        return Ok(None);
    };
    let behavior = behavior_of_class(thread.vm, window.get(1));
    let has_class = behavior.is_some_and(|behavior| behavior.layout == object.layout());
    if !has_class || object.layout().slot_count() < 2 {
        return Ok(None);
    }
    let filled = access::slot(thread, object, 1)?.as_small_integer();
    let pairs = array::of(access::slot(thread, object, 0)?);
    Ok(pairs.and_then(|pairs| {
        let length = filled.map_or(Some(pairs.length()), |filled| usize::try_from(filled).ok())?;
        (length <= pairs.length() && length % 2 == 0).then_some((pairs, length))
    }))
}

/// A text with quotes and escapes. *GC point.*
fn quoted(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = Text::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let mut quoted = String::with_capacity(text.len() + 2);
    json::quote(text.code_points(), &mut quoted);
    make_string(thread, &quoted)
}
