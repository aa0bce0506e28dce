//! Native forms of guest values, and the conversions in both directions. Errands and the primitives for native
//! functions convert.
//!
//! Objects without identity are copied: numbers, text, `true`, `false`, `nil`, and value arrays of these. All others
//! stay in the heap, and native code holds them. A worker makes the copies, in an errand or a primitive.

use squall_heap::Word;

use super::kept::Object;
use crate::concurrency::isolation;
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::array;
use crate::objects::number::{Number, make_double, make_integer};
use crate::objects::string::{Text, make_string};
use crate::state::thread::Thread;
use crate::state::vat::VatRef;

/// A value as native code has it.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// `nil`.
    #[default]
    Nil,
    /// `true` or `false`.
    Boolean(bool),
    /// An integer that fits 64 bits; larger ones are objects.
    Integer(i64),
    /// A double.
    Double(f64),
    /// A string; symbols arrive as strings.
    Text(String),
    /// A value array.
    List(Vec<Value>),
    /// Anything else.
    Object(Object),
}

/// Lists in lists deeper than this are kept as objects, and may not come from outside.
const MAX_DEPTH: usize = 100;

/// The native form of an object of a vat. *GC point.*
pub fn to_native(thread: &mut Thread, word: Word, from: VatRef) -> Result<Value, Failure> {
    let main = thread.vm.main_vat().ok_or(Failure::new(FailureReason::NotSupported))?;
    isolation::begin(thread);
    let word = match from == main {
        true => word,
        false => isolation::wrap(thread, word, from, main)?,
    };
    Ok(native(thread, word, 0))
}

/// The native form of an object of the main vat, or of a value. This is no GC point.
pub fn native_of_main(thread: &Thread, word: Word) -> Value {
    native(thread, word, 0)
}

fn native(thread: &Thread, word: Word, depth: usize) -> Value {
    match word {
        Word::NIL => return Value::Nil,
        Word::TRUE => return Value::Boolean(true),
        Word::FALSE => return Value::Boolean(false),
        _ => {}
    }
    match Number::of(word) {
        Some(Number::Small(integer)) => return Value::Integer(integer),
        Some(Number::Double(double)) => return Value::Double(double),
        Some(Number::Large(_)) | None => {}
    }
    if let Some(text) = Text::of(word) {
        return Value::Text(text.to_rust());
    }
    let array = word.as_object().filter(|object| object.layout() == known::VALUE_ARRAY);
    match array.filter(|_| depth < MAX_DEPTH) {
        Some(array) => {
            let elements = (0..array.length()).map(|index| array.element(index));
            Value::List(elements.map(|element| native(thread, element, depth + 1)).collect())
        }
        None => Value::Object(thread.vm.concurrency().embedding.kept.keep(word)),
    }
}

/// The guest form of a native value, for a vat. *GC point.*
pub fn to_guest(thread: &mut Thread, value: &Value, to: VatRef) -> Result<Word, Failure> {
    let main = thread.vm.main_vat().ok_or(Failure::new(FailureReason::NotSupported))?;
    let Value::Object(object) = value else { return make(thread, value, 0) };
    let word = thread.vm.concurrency().embedding.kept.word(object);
    match to == main {
        true => Ok(word),
        // Only its own vat copies a transfer object.
        false if isolation::is_copied(thread, word) => Err(Failure::argument(Word::NIL)),
        false => isolation::wrap(thread, word, main, to),
    }
}

fn make(thread: &mut Thread, value: &Value, depth: usize) -> Result<Word, Failure> {
    Ok(match value {
        Value::Nil => Word::NIL,
        Value::Boolean(boolean) => Word::from_bool(*boolean),
        Value::Integer(integer) => make_integer(thread, *integer)?,
        Value::Double(double) => make_double(thread, *double)?,
        Value::Text(text) => make_string(thread, text)?,
        Value::List(_) if depth == MAX_DEPTH => return Err(Failure::argument(Word::NIL)),
        Value::List(values) => array::make_value_of(thread, values.len(), |thread, index| {
            make(thread, &values[index], depth + 1)
        })?,
        // An object in a list is a value, which every vat may have.
        Value::Object(object) => {
            let word = thread.vm.concurrency().embedding.kept.word(object);
            match crate::concurrency::values::is_value(thread, word) {
                true => word,
                false => return Err(Failure::argument(word)),
            }
        }
    })
}
