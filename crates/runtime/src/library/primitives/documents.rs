//! Tables, settings and addresses: the primitives for CSV, TOML and addresses of the web, for `lib/Csv.ns`, `lib/Toml.ns`
//! and `lib/Urls.ns`.

use squall_data::toml::{self, Value};
use squall_data::{Problem, links, tables};
use squall_heap::Word;

use super::json::make_instance;
use super::{answer, problems};
use crate::concurrency::transactions::access;
use crate::model::outcome::Failure;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{make_double, make_integer};
use crate::objects::string::{make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("csvRows:delimiter:", |thread, window| answer(csv_rows(thread, window))),
    Primitive::ordinary("csvText:delimiter:", |thread, window| answer(csv_text(thread, window))),
    Primitive::ordinary("toml:dictionary:", |thread, window| answer(toml_tree(thread, window))),
    Primitive::ordinary("tomlFromJson:", |thread, window| answer(toml_text(thread, window))),
    Primitive::ordinary("url:base:", |thread, window| answer(url(thread, window))),
    Primitive::ordinary("url:part:put:", |thread, window| answer(url_with(thread, window))),
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
fn csv_rows(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (text, delimiter) = (text_argument(window.get(0))?, delimiter(window)?);
    let rows = match thread.mutator.native(|| tables::read(&text, delimiter)) {
        Ok(rows) => rows,
        Err(problem) => return Err(problems::in_text(thread, &text, &problem)),
    };
    array::make_of(thread, rows.len(), |thread, row| {
        let row = &rows[row];
        array::make_of(thread, row.len(), |thread, index| make_string(thread, &row[index]))
    })
}

/// *GC point.*
fn csv_text(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let delimiter = delimiter(window)?;
    let count = array::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?.length();
    let mut rows = Vec::new();
    for index in 0..count {
        rows.push(csv_row(thread, window, index)?);
    }
    let text = tables::written(&rows, delimiter).ok_or(Failure::argument(window.get(0)))?;
    make_string(thread, &text)
}

fn csv_row(thread: &mut Thread, window: Window, index: usize) -> Result<Vec<String>, Failure> {
    let rows = array::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let row = access::element(thread, rows, index)?;
    let length = array::of(row).ok_or(Failure::argument(row))?.length();
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(row);
    let fields = (0..length).map(|field| {
        let row = thread.mutator.get(root).object();
        text_argument(access::element(thread, row, field)?)
    });
    let fields = fields.collect();
    thread.mutator.truncate_roots(depth);
    fields
}

/// The dictionary of a document. *GC point.*
fn toml_tree(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = text_argument(window.get(0))?;
    match toml::read(&text) {
        Ok(table) => make_value(thread, window, &Value::Table(table)),
        Err(problem) => Err(problems::in_text(thread, &text, &problem)),
    }
}

/// The object for a value; the reader limits its depth. *GC point.*
fn make_value(thread: &mut Thread, window: Window, value: &Value) -> Result<Word, Failure> {
    match value {
        Value::String(text) => make_string(thread, text),
        Value::Integer(integer) => make_integer(thread, *integer),
        Value::Float(double) => make_double(thread, *double),
        Value::Boolean(boolean) => Ok(Word::from_bool(*boolean)),
        Value::Datetime(time) => make_string(thread, &time.to_string()),
        Value::Array(elements) => array::make_of(thread, elements.len(), |thread, index| {
            make_value(thread, window, &elements[index])
        }),
        Value::Table(table) => {
            let members: Vec<(&String, &Value)> = table.iter().collect();
            let pairs = array::make_of(thread, members.len() * 2, |thread, index| {
                let (key, value) = members[index / 2];
                if index % 2 == 0 {
                    make_string(thread, key)
                } else {
                    make_value(thread, window, value)
                }
            })?;
            make_instance(thread, window.get(1), pairs)
        }
    }
}

/// *GC point.*
fn toml_text(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let json = text_argument(window.get(0))?;
    match toml::written(&json) {
        Ok(text) => make_string(thread, &text),
        Err(problem) => Err(problems::in_text(thread, "", &problem)),
    }
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
