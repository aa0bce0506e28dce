//! JSON: the primitives that read and print it. `lib/Json.ns` calls them. Both reading and printing are done in pieces.

use std::convert::Infallible;
use std::sync::Arc;

use num_bigint::BigInt;
use parking_lot::Mutex;
use squall_data::json::{self, Builder, Stopped};
use squall_data::pace::Pieces;
use squall_heap::{Object, RootHandle, Word};

use super::trees::{self, Objects, Parts, Rest};
use super::{answer, problems};
use crate::concurrency::transactions::access;
use crate::library::work;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::classes::behavior_of_class;
use crate::objects::number::{Number, size_argument};
use crate::objects::rights;
use crate::objects::string::{Text, make_string, text_argument};
use crate::state::thread::{Thread, Window};
use crate::state::work::{Step, Work};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("json:dictionary:", parse).in_pieces(),
    Primitive::ordinary("jsonText:dictionary:indent:", print).in_pieces(),
    Primitive::ordinary("jsonQuoted:", |thread, window| answer(quoted(thread, window))).by_bytes(),
];

/// The value of a text. *GC point.*
fn parse(thread: &mut Thread, window: Window) -> Outcome {
    let text = match text_argument(window.get(0)) {
        Ok(text) => text,
        Err(failure) => return failure.into(),
    };
    if let Err(failure) = trees::check_dictionary(thread, window.get(1)) {
        return failure.into();
    }
    let (size, parts) = (text.len(), Arc::default());
    let mut recorder = Recorder(Arc::clone(&parts));
    let reading = Pieces::of(async move {
        let read = json::read(&text, &mut recorder).await;
        read.map_err(|stopped| (text, stopped))
    });
    trees::make(thread, window.get(1), Document { reading, parts, size })
}

/// A part of a text.
enum Part {
    Null,
    Boolean(bool),
    Integer(i64),
    Large(BigInt),
    Double(f64),
    Text(String),
    Key(String),
    Begin,
    EndList,
    EndObject,
}

/// Notes the parts of a piece of text, since objects cannot be made while that is read.
struct Recorder(Arc<Mutex<Vec<Part>>>);

impl Recorder {
    fn note(&mut self, part: Part) -> Result<(), Infallible> {
        self.0.lock().push(part);
        Ok(())
    }
}

impl Builder for Recorder {
    type Failure = Infallible;

    fn null(&mut self) -> Result<(), Infallible> {
        self.note(Part::Null)
    }

    fn boolean(&mut self, value: bool) -> Result<(), Infallible> {
        self.note(Part::Boolean(value))
    }

    fn integer(&mut self, value: i64) -> Result<(), Infallible> {
        self.note(Part::Integer(value))
    }

    fn large(&mut self, value: BigInt) -> Result<(), Infallible> {
        self.note(Part::Large(value))
    }

    fn double(&mut self, value: f64) -> Result<(), Infallible> {
        self.note(Part::Double(value))
    }

    fn text(&mut self, value: &str) -> Result<(), Infallible> {
        self.note(Part::Text(value.to_owned()))
    }

    fn key(&mut self, name: &str) -> Result<(), Infallible> {
        self.note(Part::Key(name.to_owned()))
    }

    fn begin(&mut self) -> Result<(), Infallible> {
        self.note(Part::Begin)
    }

    fn end_list(&mut self) -> Result<(), Infallible> {
        self.note(Part::EndList)
    }

    fn end_object(&mut self) -> Result<(), Infallible> {
        self.note(Part::EndObject)
    }
}

/// Why a text was not read to its end, and the text.
type Mistake = (String, Stopped<Infallible>);

/// A text that is being read.
struct Document {
    reading: Pieces<Result<(), Mistake>>,
    /// The parts of the present piece.
    parts: Arc<Mutex<Vec<Part>>>,
    /// The size of the text.
    size: usize,
}

impl Parts for Document {
    fn pass_on(&mut self, objects: &mut Objects<'_>, units: usize) -> Result<Rest, Failure> {
        let (result, units) = self.reading.step(units);
        objects.thread.charge(units);
        let parts = std::mem::take(&mut *self.parts.lock());
        parts.into_iter().try_for_each(|part| build(objects, part))?;
        match result {
            None => Ok(Rest::More),
            Some(Ok(())) => Ok(Rest::Nothing),
            Some(Err((text, Stopped::Problem(problem)))) => {
                Err(problems::in_text(objects.thread, &text, &problem))
            }
        }
    }

    fn bytes(&self) -> usize {
        self.size
    }
}

/// *GC point.*
fn build(objects: &mut Objects<'_>, part: Part) -> Result<(), Failure> {
    match part {
        Part::Null => objects.null(),
        Part::Boolean(value) => objects.boolean(value),
        Part::Integer(value) => objects.integer(value),
        Part::Large(value) => objects.large(value),
        Part::Double(value) => objects.double(value),
        Part::Text(text) => objects.text(&text),
        Part::Key(name) => objects.key(&name),
        Part::Begin => objects.begin(),
        Part::EndList => objects.end_list(),
        Part::EndObject => objects.end_object(),
    }
}

/// The most spaces for a level.
const WIDEST: usize = 16;

/// The text of an object that consists of arrays, dictionaries, strings, numbers, booleans and nil; nil for another
/// one. *GC point.*
fn print(thread: &mut Thread, window: Window) -> Outcome {
    match make_printer(thread, window) {
        Err(failure) => failure.into(),
        Ok((mut printer, desk)) => {
            let depth = thread.mutator.root_depth();
            let desk = thread.mutator.push_root(desk);
            let printed = printer.go_on(thread, desk);
            let desk = thread.mutator.get(desk);
            thread.mutator.truncate_roots(depth);
            match printed {
                Ok(Step::Done(text)) => Outcome::Return(text),
                Ok(_) => work::start(thread, Box::new(printer), desk),
                Err(failure) => failure.into(),
            }
        }
    }
}

/// The elements of the printer's desk, the subject of its right.
mod desk {
    /// The class of dictionaries.
    pub const CLASS: usize = 0;
    /// The object to be printed.
    pub const WHOLE: usize = 1;
    /// The arrays of the open lists and dictionaries, the outermost first.
    pub const OPEN: usize = 2;
    /// The string that is being printed, if it is long.
    pub const LONG: usize = 3;
    pub const SIZE: usize = 4;
}

/// The printer and its desk. *GC point.*
fn make_printer(thread: &mut Thread, window: Window) -> Result<(Printer, Word), Failure> {
    let indent = size_argument(window.get(2))?;
    if indent > WIDEST {
        return Err(Failure::argument(window.get(2)));
    }
    trees::check_dictionary(thread, window.get(1))?;
    let desk = array::make_of(thread, desk::SIZE, |thread, place| match place {
        desk::CLASS => Ok(window.get(1)),
        desk::WHOLE => Ok(window.get(0)),
        desk::LONG => Ok(Word::NIL),
        _ => array::make_of(thread, FEW, |_, _| Ok(Word::NIL)),
    })?;
    Ok((
        Printer { text: String::new(), indent, open: Vec::new(), long: None, has_begun: false },
        desk,
    ))
}

/// So many open lists there is room for at first.
const FEW: usize = 16;

/// The most bits of an integer: 4,300 decimal digits, which is what the reader takes.
const LONGEST_INTEGER: u64 = 14_284;

/// How many parts are printed in a piece.
const PARTS: usize = 2000;

/// How long the text of a piece is, in bytes.
const LONG: usize = 128 << 10;

/// A list or dictionary that is being printed.
struct Open {
    is_list: bool,
    next: usize,
    length: usize,
}

struct Printer {
    text: String,
    /// Spaces for each level; 0 for no lines.
    indent: usize,
    open: Vec<Open>,
    /// How much of a long string is printed.
    long: Option<usize>,
    /// Whether it has printed something.
    has_begun: bool,
}

impl Work for Printer {
    fn step(&mut self, thread: &mut Thread, window: Window) -> Result<Step, Failure> {
        let depth = thread.mutator.root_depth();
        let desk = rights::subject_of(window.get(0).object());
        let desk = thread.mutator.push_root(desk);
        let step = self.go_on(thread, desk);
        thread.mutator.truncate_roots(depth);
        step
    }

    fn bytes(&self) -> usize {
        self.text.capacity()
    }
}

impl Printer {
    /// Prints the next parts. *GC point.*
    fn go_on(&mut self, thread: &mut Thread, desk: RootHandle) -> Result<Step, Failure> {
        let start = self.text.len();
        for _ in 0..PARTS {
            if self.has_begun && self.open.is_empty() && self.long.is_none() {
                return make_string(thread, &self.text).map(Step::Done);
            }
            if self.text.len() - start > LONG {
                break;
            }
            if !self.part(thread, desk)? {
                return Ok(Step::Done(Word::NIL));
            }
            thread.charge(4);
        }
        thread.charge_bytes(8 * (self.text.len() - start));
        Ok(Step::More)
    }

    /// Prints the next part; answers whether it could. *GC point.*
    fn part(&mut self, thread: &mut Thread, desk: RootHandle) -> Result<bool, Failure> {
        if !std::mem::replace(&mut self.has_begun, true) {
            let whole = thread.mutator.get(desk).object().element(desk::WHOLE);
            return self.value(thread, desk, whole);
        }
        if let Some(start) = self.long {
            self.continue_string(thread.mutator.get(desk).object(), start);
            return Ok(true);
        }
        let level = self.open.len();
        let Some(open) = self.open.last_mut() else { return Ok(true) };
        if open.next == open.length {
            self.close();
            return Ok(true);
        }
        let (index, is_list) = (open.next, open.is_list);
        open.next += 1;
        let is_value = is_list || index % 2 == 1;
        if is_list || index % 2 == 0 {
            self.separate(index > 0);
        } else {
            self.text.push_str(if self.indent > 0 { ": " } else { ":" });
        }
        let arrays = thread.mutator.get(desk).object().element(desk::OPEN).object();
        let array = arrays.element(level - 1).object();
        let element = access::element(thread, array, index)?;
        match is_value {
            true => self.value(thread, desk, element),
            false => Ok(self.string(thread, desk, element)),
        }
    }

    /// Prints a plain value, or the start of a list or dictionary. *GC point.*
    fn value(
        &mut self,
        thread: &mut Thread,
        desk: RootHandle,
        value: Word,
    ) -> Result<bool, Failure> {
        match value {
            Word::NIL => self.text.push_str("null"),
            Word::TRUE => self.text.push_str("true"),
            Word::FALSE => self.text.push_str("false"),
            _ if self.string(thread, desk, value) => {}
            _ => {
                if let Some(number) = Number::of(value) {
                    return Ok(self.number(&number));
                }
                return self.begin(thread, desk, value);
            }
        }
        Ok(true)
    }

    /// Prints a string, or its first part; false for anything else.
    fn string(&mut self, thread: &mut Thread, desk: RootHandle, value: Word) -> bool {
        let Some(text) = Text::of(value) else {
            return false;
        };
        if text.len() <= LONG {
            json::quote(text.code_points(), &mut self.text);
            return true;
        }
        let desk = thread.mutator.get(desk).object();
        desk.set_element(&mut thread.mutator, desk::LONG, value);
        self.text.push('"');
        self.continue_string(desk, 0);
        true
    }

    /// Prints the next part of the long string.
    fn continue_string(&mut self, desk: Object, start: usize) {
        let text = Text::of(desk.element(desk::LONG)).expect("only strings are long");
        let end = text.len().min(start + LONG / 4);
        json::escape((start..end).map(|index| text.code_point(index)), &mut self.text);
        self.long = Some(end).filter(|&end| end < text.len());
        if self.long.is_none() {
            self.text.push('"');
        }
    }

    fn number(&mut self, number: &Number) -> bool {
        use std::fmt::Write;
        let written = match number {
            Number::Small(integer) => write!(self.text, "{integer}"),
            // As long as one that is read may be.
            Number::Large(integer) if integer.bits() > LONGEST_INTEGER => return false,
            Number::Large(integer) => write!(self.text, "{integer}"),
            Number::Double(double) if double.is_finite() => write!(self.text, "{double:?}"),
            Number::Double(_) => return false,
        };
        written.is_ok()
    }

    /// *GC point.*
    fn begin(
        &mut self,
        thread: &mut Thread,
        desk: RootHandle,
        value: Word,
    ) -> Result<bool, Failure> {
        let is_list = array::of(value).is_some();
        let class = thread.mutator.get(desk).object().element(desk::CLASS);
        let Some((array, length)) = elements(thread, class, value)? else {
            return Ok(false);
        };
        if self.open.len() == json::DEEPEST {
            return Ok(false);
        }
        self.keep_open(thread, desk, array.word())?;
        self.text.push(if is_list { '[' } else { '{' });
        self.open.push(Open { is_list, next: 0, length });
        Ok(true)
    }

    /// Puts the array of a list or dictionary that begins on the desk. *GC point.*
    fn keep_open(
        &mut self,
        thread: &mut Thread,
        desk: RootHandle,
        array: Word,
    ) -> Result<(), Failure> {
        let level = self.open.len();
        let depth = thread.mutator.root_depth();
        let array = thread.mutator.push_root(array);
        let arrays = thread.mutator.get(desk).object().element(desk::OPEN).object();
        let room = arrays.length();
        if level == room {
            let made = array::make_of(thread, 2 * room, |thread, place| {
                let arrays = thread.mutator.get(desk).object().element(desk::OPEN).object();
                Ok(if place < room { arrays.element(place) } else { Word::NIL })
            });
            let made = made.inspect_err(|_| thread.mutator.truncate_roots(depth))?;
            let desk = thread.mutator.get(desk).object();
            desk.set_element(&mut thread.mutator, desk::OPEN, made);
        }
        let arrays = thread.mutator.get(desk).object().element(desk::OPEN).object();
        let array = thread.mutator.get(array);
        // No other strand knows the desk.
        arrays.set_element(&mut thread.mutator, level, array);
        thread.mutator.truncate_roots(depth);
        Ok(())
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

    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
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
    class: Word,
    value: Word,
) -> Result<Option<(Object, usize)>, Failure> {
    if let Some(array) = array::of(value) {
        return Ok(Some((array, array.length())));
    }
    let Some(object) = value.as_object() else {
        return Ok(None);
    };
    let behavior = behavior_of_class(thread.vm, class);
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
