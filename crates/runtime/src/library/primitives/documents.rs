//! Tables, settings and addresses: the primitives for CSV, TOML and addresses of the web. `lib/Csv.ns`, `lib/Toml.ns`
//! and `lib/Urls.ns` call them.

use squall_data::json::Builder;
use squall_data::pace::Pieces;
use squall_data::tables::{Rows, Writer};
use squall_data::toml::{self, Value};
use squall_data::{Problem, links, tables};
use squall_heap::Word;

use super::trees::{self, Objects, Parts, Rest};
use super::{answer, problems};
use crate::concurrency::sandbox::metering;
use crate::concurrency::transactions::access;
use crate::library::work;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::rights;
use crate::objects::string::{make_string, text_argument};
use crate::state::sandbox;
use crate::state::thread::{Thread, Window};
use crate::state::work::{Step, Work};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("csvRows:delimiter:", csv_rows).in_pieces(),
    Primitive::ordinary("csvText:delimiter:", csv_text).in_pieces(),
    Primitive::ordinary("toml:dictionary:", toml_tree).in_pieces(),
    Primitive::ordinary("tomlFromJson:", toml_text).in_pieces(),
    Primitive::ordinary("url:base:", |thread, window| answer(url(thread, window))).by_few_bytes(),
    Primitive::ordinary("url:part:put:", |thread, window| answer(url_with(thread, window)))
        .by_few_bytes(),
];

/// The delimiter in an argument: one ASCII character, other than a quote or a line end.
fn delimiter(window: Window) -> Result<u8, Failure> {
    let text = text_argument(window.get(1))?;
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => Err(Failure::argument(window.get(1))),
    }
}

/// An array of rows, each an array of strings. *GC point.*
fn csv_rows(thread: &mut Thread, window: Window) -> Outcome {
    let arguments = text_argument(window.get(0)).and_then(|text| Ok((text, delimiter(window)?)));
    let (text, delimiter) = match arguments {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let size = text.len();
    let reading = Pieces::of(async move {
        let rows = tables::read(&text, delimiter).await;
        rows.map_err(|problem| (text, problem))
    });
    trees::make(thread, Word::NIL, Table::Reading { reading, size })
}

/// A table that is being read, and its rows then.
enum Table {
    Reading { reading: Pieces<Result<Rows, (String, Problem)>>, size: usize },
    Read { rows: Rows, row: usize, field: usize },
}

impl Parts for Table {
    fn pass_on(&mut self, objects: &mut Objects<'_>, units: usize) -> Result<Rest, Failure> {
        match self {
            Table::Reading { reading, .. } => {
                let (result, units) = reading.step(units);
                objects.thread.charge(units);
                match result {
                    None => {}
                    Some(Ok(rows)) => {
                        objects.begin()?;
                        *self = Table::Read { rows, row: 0, field: 0 };
                    }
                    Some(Err((text, problem))) => {
                        return Err(problems::in_text(objects.thread, &text, &problem));
                    }
                }
                Ok(Rest::More)
            }
            Table::Read { rows, row, field } => fields(objects, units / 4, rows, (row, field)),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Table::Reading { reading, size } => size + reading.held(),
            Table::Read { rows, .. } => rows.bytes(),
        }
    }
}

/// Passes on so many fields of a table, and ends of rows. *GC point.*
fn fields(
    objects: &mut Objects<'_>,
    count: usize,
    rows: &Rows,
    (row, field): (&mut usize, &mut usize),
) -> Result<Rest, Failure> {
    for passed in 0..count {
        if *row == rows.len() {
            objects.thread.charge(passed * 4);
            return objects.end_list().map(|()| Rest::Nothing);
        }
        let range = rows.row(*row);
        if *field == range.start {
            objects.begin()?;
        }
        if *field < range.end {
            objects.text(rows.field(*field))?;
            *field += 1;
        }
        if *field == range.end {
            objects.end_list()?;
            *row += 1;
        }
    }
    objects.thread.charge(count * 4);
    Ok(Rest::More)
}

/// *GC point.*
fn csv_text(thread: &mut Thread, window: Window) -> Outcome {
    match delimiter(window) {
        Ok(delimiter) if array::of(window.get(0)).is_some() => {
            let rows = window.get(0);
            let writing = Writing { text: Writer::new(delimiter), row: 0, field: 0 };
            work::start(thread, Box::new(writing), rows)
        }
        Ok(_) => Failure::argument(window.get(0)).into(),
        Err(failure) => failure.into(),
    }
}

/// A table that is being written, whose array of rows is the subject.
struct Writing {
    text: Writer,
    /// The place of the next field.
    row: usize,
    field: usize,
}

impl Work for Writing {
    fn step(&mut self, thread: &mut Thread, window: Window) -> Result<Step, Failure> {
        /// The units of a piece.
        const MANY: usize = 20_000;
        const BYTES_IN_UNIT: usize = 4;
        /// The units for a field, and for the end of a row.
        const FIELD: usize = 5;
        let longest = sandbox::largest_result(thread).unwrap_or(usize::MAX);
        let mut units = 0;
        while units < MANY {
            let Some(size) = self.add(thread, window)? else {
                thread.charge(units);
                let text = std::mem::replace(&mut self.text, Writer::new(b',')).finish();
                return make_string(thread, &text).map(Step::Done);
            };
            units += size / BYTES_IN_UNIT + FIELD;
            if self.text.bytes() > longest {
                return Err(metering::refuse_result(thread));
            }
        }
        thread.charge(units);
        Ok(Step::More)
    }

    fn bytes(&self) -> usize {
        self.text.bytes()
    }
}

impl Writing {
    /// Adds the next field, or the end of a row. Answers the bytes of the field, or none behind the last row. *GC point.*
    fn add(&mut self, thread: &mut Thread, window: Window) -> Result<Option<usize>, Failure> {
        let rows = rights::subject_of(window.get(0).object());
        let rows = array::of(rows).ok_or(Failure::argument(rows))?;
        if self.row >= rows.length() {
            return Ok(None);
        }
        let row = access::element(thread, rows, self.row)?;
        let row = array::of(row).ok_or(Failure::argument(row))?;
        if self.field >= row.length() {
            self.text.end_row();
            (self.row, self.field) = (self.row + 1, 0);
            return Ok(Some(0));
        }
        let field = text_argument(access::element(thread, row, self.field)?)?;
        self.text.add_field(&field);
        self.field += 1;
        Ok(Some(field.len()))
    }
}

/// How many units of work a byte of TOML is.
const UNITS_OF_BYTE: usize = 8;

/// The dictionary of a document. *GC point.*
fn toml_tree(thread: &mut Thread, window: Window) -> Outcome {
    let text = match text_argument(window.get(0)) {
        Ok(text) => text,
        Err(failure) => return failure.into(),
    };
    if let Err(failure) = trees::check_dictionary(thread, window.get(1)) {
        return failure.into();
    }
    if text.len() > LONGEST_TOML {
        let problem = Problem::unlocated(format!("this is longer than {LONGEST_TOML} bytes"));
        return problems::in_text(thread, &text, &problem).into();
    }
    trees::make(thread, window.get(1), Settings::New(text))
}

/// The most bytes of a document: it is read in one piece.
const LONGEST_TOML: usize = 128 << 10;

/// A part of a document; ends have none of their own.
enum Part {
    Key(String),
    Plain(Value),
    Begin,
    EndList,
    EndTable,
}

/// The parts of a value, whose depth the reader limits.
fn flatten(value: Value, into: &mut Vec<Part>) {
    match value {
        Value::Array(elements) => {
            into.push(Part::Begin);
            elements.into_iter().for_each(|element| flatten(element, into));
            into.push(Part::EndList);
        }
        Value::Table(table) => {
            into.push(Part::Begin);
            for (key, value) in table {
                into.push(Part::Key(key));
                flatten(value, into);
            }
            into.push(Part::EndTable);
        }
        plain => into.push(Part::Plain(plain)),
    }
}

/// A document of settings.
enum Settings {
    New(String),
    /// A long one, which is read outside: not in the primitive, but in a step of the work.
    Unread(String),
    /// Its parts that have not been passed on.
    Read(std::vec::IntoIter<Part>),
}

impl Settings {
    /// Reads the document. *GC point.*
    fn read(&mut self, thread: &mut Thread, text: &str) -> Result<Rest, Failure> {
        let read = || {
            let mut parts = Vec::new();
            flatten(Value::Table(toml::read(text)?), &mut parts);
            Ok(parts)
        };
        let read =
            if text.len() <= work::SMALL { Some(read()) } else { work::beside(thread, read) };
        let Some(read) = read else {
            *self = Settings::Unread(text.to_owned());
            return Ok(Rest::Wait);
        };
        thread.charge(text.len() * UNITS_OF_BYTE);
        match read {
            Ok(parts) => *self = Settings::Read(parts.into_iter()),
            Err(problem) => return Err(problems::in_text(thread, text, &problem)),
        }
        Ok(Rest::More)
    }
}

impl Parts for Settings {
    fn pass_on(&mut self, objects: &mut Objects<'_>, units: usize) -> Result<Rest, Failure> {
        let parts = match self {
            Settings::New(text) if text.len() > work::SMALL => {
                *self = Settings::Unread(std::mem::take(text));
                return Ok(Rest::Wait);
            }
            Settings::New(text) | Settings::Unread(text) => {
                let text = std::mem::take(text);
                return self.read(objects.thread, &text);
            }
            Settings::Read(parts) => parts,
        };
        for part in parts.by_ref().take(units / 4) {
            match part {
                Part::Key(name) => objects.key(&name)?,
                Part::Begin => objects.begin()?,
                Part::EndList => objects.end_list()?,
                Part::EndTable => objects.end_object()?,
                Part::Plain(Value::String(text)) => objects.text(&text)?,
                Part::Plain(Value::Integer(integer)) => objects.integer(integer)?,
                Part::Plain(Value::Float(double)) => objects.double(double)?,
                Part::Plain(Value::Boolean(boolean)) => objects.boolean(boolean)?,
                Part::Plain(other) => objects.text(&other.to_string())?,
            }
        }
        Ok(if parts.len() > 0 { Rest::More } else { Rest::Nothing })
    }

    fn bytes(&self) -> usize {
        match self {
            Settings::New(text) | Settings::Unread(text) => text.len(),
            Settings::Read(parts) => size_of_val(parts.as_slice()),
        }
    }
}

/// *GC point.*
fn toml_text(thread: &mut Thread, window: Window) -> Outcome {
    let json = match text_argument(window.get(0)) {
        Ok(json) if json.len() <= 4 * LONGEST_TOML => json,
        Ok(_) => return Failure::argument(window.get(0)).into(),
        Err(failure) => return failure.into(),
    };
    let size = json.len();
    thread.charge(size * UNITS_OF_BYTE);
    let work = async move { toml::written(&json) };
    work::compute_beside(thread, size, work, |thread, written| match written {
        Ok(text) => make_string(thread, &text),
        Err(problem) => Err(problems::in_text(thread, "", &problem)),
    })
}

/// An array of the parts of an address. *GC point.*
fn url(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = text_argument(window.get(0))?;
    let base = match window.get(1) {
        Word::NIL => None,
        base => Some(text_argument(base)?),
    };
    let parts = match links::read(&text, base.as_deref()) {
        Ok(parts) => parts,
        Err(problem) => return Err(problems::in_text(thread, &text, &problem)),
    };
    let count = parts.parts.len();
    array::make_of(thread, count + 3, |thread, index| match parts.parts.get(index) {
        Some(Some(part)) => make_string(thread, part),
        Some(None) => Ok(Word::NIL),
        None if index == count + 2 => make_string(thread, &parts.text),
        None => {
            let port = if index == count { parts.port } else { parts.effective_port };
            Ok(port.map_or(Word::NIL, |port| Word::from_small_integer_unchecked(port.into())))
        }
    })
}

/// *GC point.*
fn url_with(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (text, part) = (text_argument(window.get(0))?, text_argument(window.get(1))?);
    let value = match window.get(2) {
        Word::NIL => None,
        value => Some(text_argument(value)?),
    };
    let changed = links::changed(&text, &part, value.as_deref());
    let changed: Result<String, Problem> = changed.ok_or(Failure::argument(window.get(1)))?;
    match changed {
        Ok(text) => make_string(thread, &text),
        Err(problem) => Err(problems::in_text(thread, &text, &problem)),
    }
}
