//! Answers of primitives as bytes: what a recording has of the world outside.
//!
//! Words are nil, booleans, numbers, texts, arrays of them, [rights], arguments of the call, and pointers and structures of C. A
//! right in a replay has the number that it had, and a pointer its address, and nothing is behind them: each primitive that would
//! use that is answered from the recording, too.
//!
//! Invariant: no bytes make [`decode`] panic.

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use squall_foreign::Address;
use squall_heap::{Format, Word};

use crate::concurrency::foreign::{self, ForeignMemory, callouts, convert};
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::objects::array;
use crate::objects::number::{Number, make_big, make_double, make_integer};
use crate::objects::rights::{self, Kind};
use crate::objects::string::{self, make_string};
use crate::state::thread::{Thread, Window};
use crate::state::vm::Vm;

/// The kinds of words in answers.
mod kind {
    pub const NIL: u8 = 0;
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const INTEGER: u8 = 3;
    pub const STRING: u8 = 4;
    pub const SYMBOL: u8 = 5;
    pub const ARRAY: u8 = 6;
    pub const FAILURE: u8 = 7;
    pub const RIGHT: u8 = 8;
    pub const ARGUMENT: u8 = 9;
    /// An integer beyond those of 64 bits with a sign.
    pub const UNSIGNED: u8 = 10;
    pub const DOUBLE: u8 = 11;
    pub const POINTER: u8 = 12;
    pub const STRUCTURE: u8 = 13;
    pub const LEFT: u8 = 14;
}

/// In place of an answer: an exception or a return has left a callback of this call of C.
pub const LEFT: &[u8] = &[kind::LEFT];

/// The answer of a primitive with so many arguments as bytes; none if it is of another kind.
pub fn encode(vm: &Vm, outcome: &Outcome, window: Window, arguments: usize) -> Option<Vec<u8>> {
    let mut encoder = Encoder { vm, bytes: Vec::new(), window, arguments };
    match outcome {
        Outcome::Return(word) => encoder.word(*word)?,
        Outcome::Fail(failure) => {
            let mut all = FailureReason::SIGNALLED.iter();
            encoder.bytes.push(kind::FAILURE);
            encoder.bytes.push(all.position(|(reason, _)| *reason == failure.reason)? as u8);
            encoder.word(failure.first)?;
            encoder.word(failure.second)?;
        }
        _ => return None,
    }
    Some(encoder.bytes)
}

struct Encoder<'a> {
    vm: &'a Vm,
    bytes: Vec<u8>,
    window: Window,
    arguments: usize,
}

impl Encoder<'_> {
    fn word(&mut self, word: Word) -> Option<()> {
        match word {
            Word::NIL => self.bytes.push(kind::NIL),
            Word::TRUE => self.bytes.push(kind::TRUE),
            Word::FALSE => self.bytes.push(kind::FALSE),
            _ => return self.other(word),
        }
        Some(())
    }

    fn other(&mut self, word: Word) -> Option<()> {
        let argument = (0..self.arguments).find(|index| self.window.get(*index) == word);
        if let Some(index) = argument.filter(|_| word.is_pointer()) {
            self.bytes.extend([kind::ARGUMENT, index as u8]);
            return Some(());
        }
        if let Some(number) = Number::of(word) {
            return self.number(&number);
        }
        if let Some(address) = convert::address_of_pointer(self.vm, word) {
            self.integer(kind::POINTER, address.0 as i64);
            return Some(());
        }
        if let Ok(ForeignMemory { memory, .. }) = foreign::memory(word) {
            let mut bytes = vec![0; memory.size()];
            memory.read_bytes(0, &mut bytes).ok()?;
            self.bytes.push(kind::STRUCTURE);
            self.count(bytes.len());
            self.bytes.extend(bytes);
            return Some(());
        }
        if let Some(text) = string::Text::of(word) {
            let text = text.to_rust();
            self.bytes.push(if known::layout_of(word) == known::SYMBOL {
                kind::SYMBOL
            } else {
                kind::STRING
            });
            self.count(text.len());
            self.bytes.extend(text.as_bytes());
            return Some(());
        }
        if let Some((kind, number, subject)) = rights::parts(word) {
            self.integer(kind::RIGHT, number);
            self.bytes.push(kind as u8);
            return self.word(subject);
        }
        let array = word.as_object().filter(|object| object.layout().format() == Format::Array)?;
        self.bytes.push(kind::ARRAY);
        self.count(array.length());
        (0..array.length()).try_for_each(|index| self.word(array.element(index)))
    }

    fn number(&mut self, number: &Number) -> Option<()> {
        match number {
            Number::Small(integer) => self.integer(kind::INTEGER, *integer),
            Number::Large(integer) => self.integer(kind::UNSIGNED, integer.to_u64()? as i64),
            Number::Double(double) => self.integer(kind::DOUBLE, double.to_bits() as i64),
        }
        Some(())
    }

    fn integer(&mut self, kind: u8, integer: i64) {
        self.bytes.push(kind);
        self.bytes.extend(integer.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        self.bytes.extend((count as u32).to_le_bytes());
    }
}

/// An answer in a recording.
enum Value {
    Word(Word),
    Integer(i64),
    Unsigned(u64),
    Double(f64),
    Pointer(Address),
    Structure(Vec<u8>),
    String(String),
    Symbol(String),
    Array(Vec<Value>),
    Right(Kind, i64, Box<Value>),
    Argument(usize),
}

/// The bytes of an answer, from the next one on.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn value(&mut self) -> Option<Value> {
        Some(match self.take()? {
            // Arrays in arrays are in no answer.
            [kind::ARRAY] => {
                let count = u32::from_le_bytes(self.take()?);
                Value::Array((0..count).map(|_| self.simple()).collect::<Option<_>>()?)
            }
            [kind] => self.simple_of(kind)?,
        })
    }

    fn simple(&mut self) -> Option<Value> {
        let [kind] = self.take()?;
        self.simple_of(kind)
    }

    fn simple_of(&mut self, kind: u8) -> Option<Value> {
        Some(match kind {
            kind::RIGHT => {
                let number = i64::from_le_bytes(self.take()?);
                let [kind] = self.take()?;
                let [of_subject] = self.take()?;
                Value::Right(Kind::of(kind)?, number, Box::new(self.plain(of_subject)?))
            }
            kind => self.plain(kind)?,
        })
    }

    fn plain(&mut self, kind: u8) -> Option<Value> {
        Some(match kind {
            kind::NIL => Value::Word(Word::NIL),
            kind::TRUE => Value::Word(Word::TRUE),
            kind::FALSE => Value::Word(Word::FALSE),
            kind::INTEGER => Value::Integer(i64::from_le_bytes(self.take()?)),
            kind::UNSIGNED => Value::Unsigned(u64::from_le_bytes(self.take()?)),
            kind::DOUBLE => Value::Double(f64::from_le_bytes(self.take()?)),
            kind::POINTER => Value::Pointer(Address(usize::from_le_bytes(self.take()?))),
            kind::STRUCTURE => Value::Structure(self.bytes()?.to_vec()),
            kind::STRING => Value::String(self.text()?),
            kind::SYMBOL => Value::Symbol(self.text()?),
            kind::ARGUMENT => Value::Argument(usize::from(self.take::<1>()?[0])),
            _ => return None,
        })
    }

    fn bytes(&mut self) -> Option<&[u8]> {
        let length = u32::from_le_bytes(self.take()?) as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}

/// The answer that a recording has to a call with these arguments, and the bytes behind it; none if it has none. *GC point.*
pub fn decode<'a>(
    thread: &mut Thread,
    window: Window,
    bytes: &'a [u8],
) -> Option<(Outcome, &'a [u8])> {
    let mut rest = Bytes(bytes);
    let outcome = match bytes.split_first() {
        Some((&kind::FAILURE, behind)) => {
            rest = Bytes(behind);
            failure(thread, window, &mut rest)?
        }
        _ => {
            let value = rest.value()?;
            make(thread, window, &value).into()
        }
    };
    Some((outcome, rest.0))
}

fn failure(thread: &mut Thread, window: Window, bytes: &mut Bytes<'_>) -> Option<Outcome> {
    let [index] = bytes.take()?;
    let (reason, _) = FailureReason::SIGNALLED.get(usize::from(index))?;
    let (first, second) = (bytes.value()?, bytes.value()?);
    let depth = thread.mutator.root_depth();
    let failure = make(thread, window, &first).and_then(|first| {
        let first = thread.mutator.push_root(first);
        let second = make(thread, window, &second)?;
        Ok(Failure::with(*reason, thread.mutator.get(first), second))
    });
    thread.mutator.truncate_roots(depth);
    Some(failure.unwrap_or_else(|failure| failure).into())
}

/// The object that an answer is. *GC point.*
fn make(thread: &mut Thread, window: Window, value: &Value) -> Result<Word, Failure> {
    // STAYS: values: they are no objects.
    match value {
        Value::Word(word) => Ok(*word),
        Value::Integer(integer) => make_integer(thread, *integer),
        Value::Unsigned(integer) => make_big(thread, BigInt::from(*integer)),
        Value::Double(double) => make_double(thread, *double),
        Value::Pointer(address) => convert::make_pointer(thread, *address),
        Value::Structure(bytes) => callouts::make_result(thread, window.get(0), bytes),
        Value::String(text) => make_string(thread, text),
        Value::Symbol(text) => {
            let vm = thread.vm;
            vm.name_word(thread, vm.symbol(text))
        }
        Value::Array(values) => array::make_of(thread, values.len(), |thread, index| {
            make(thread, window, &values[index])
        }),
        Value::Right(kind, number, subject) => {
            let subject = make(thread, window, subject)?;
            rights::make_with(thread, *kind, *number, subject)
        }
        Value::Argument(index) => Ok(window.get(*index)),
    }
}
