//! The primitives of a run that is recorded, or that repeats a recording. `layers` gives these to the machine in place of the
//! others; so a run that is neither pays nothing.
//!
//! - A primitive that depends on what is outside (*input*) is recorded with its answer, and answers that in the replay without
//!   doing anything.
//! - A text is written in the order of the recording.
//! - A primitive that a recording cannot hold yet ends the program with a report.
//! - All others depend on their arguments and on the objects of the vat.

use squall_heap::{Format, Word};

use crate::concurrency::waiting;
use crate::execution::stack_traces;
use crate::library::primitives::{
    self, bytecode, channels, embedding, files, foreign, foreign_memory, locks, native_threads,
    network, processes, resources, sandboxes, strands, transactions,
};
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{integer_argument, make_integer};
use crate::objects::string::{self, make_string, text_argument};
use crate::state::replays::{Answer, REFUSED};
use crate::state::thread::{Thread, Window};

/// The primitive with this name.
pub fn find(name: &str) -> &'static Primitive {
    if let Some(special) = SPECIAL.iter().find(|primitive| primitive.name == name) {
        return special;
    }
    let is_allowed = ALLOWED.contains(&name);
    let of_group = |group: &&(&[Primitive], Primitive)| {
        !is_allowed && group.0.iter().any(|primitive| primitive.name == name)
    };
    match REFUSED_GROUPS.iter().find(of_group) {
        Some((_, refusing)) => refusing,
        None => primitives::find(name),
    }
}

/// The primitives of refused groups that concern the strand itself, or a moment.
const ALLOWED: &[&str] = &[
    "sleep:",
    "yield",
    "currentStrand",
    "strandLocal",
    "strandLocal:",
    "isBytecode:",
    "failStrand:",
];

/// Declares the inputs.
macro_rules! inputs {
    ($($number:literal $name:literal;)*) => {
        const INPUTS: &[&str] = &[$($name),*];

        static SPECIAL: &[Primitive] = &[
            Primitive::ordinary("printString:", |thread, window| {
                print(thread, window, "printString:", false)
            }),
            Primitive::ordinary("printError:", |thread, window| {
                print(thread, window, "printError:", true)
            }),
            Primitive::ordinary("printStackTrace", |thread, window| {
                let text = stack_traces::render(thread.activations());
                write(thread, window, "printStackTrace", text, true)
            }),
            Primitive::ordinary("exit:", exit),
            Primitive::ordinary("createActor:mailbox:", |thread, _| {
                refuse(thread, "bounded mailboxes")
            }),
            Primitive::ordinary("createActor:on:", |thread, _| refuse(thread, "native threads")),
            $(Primitive::ordinary($name, |thread, window| input(thread, window, $number)),)*
        ];
    };
}

inputs! {
    0 "identityHash:";
    1 "milliseconds";
    2 "microseconds";
    3 "memoryStatistics";
    4 "randomBytes:";
    5 "fileExists:";
    6 "fileIsDirectory:";
    7 "fileSize:";
    8 "fileLastModified:";
    9 "directoryEntries:";
    10 "createDirectory:";
    11 "deleteFile:";
    12 "deleteDirectory:";
    13 "copyFile:to:";
    14 "moveFile:to:";
    15 "readFile:";
    16 "file:put:append:";
    17 "readInput:";
    18 "ownProcessId";
    19 "environmentAt:";
    20 "environmentNames";
    21 "currentFolder";
}

/// Declares a primitive that ends the program since it uses this.
macro_rules! refusing {
    ($what:literal) => {
        Primitive::ordinary("", |thread, _| refuse(thread, $what))
    };
}

static REFUSED_GROUPS: &[(&[Primitive], Primitive)] = &[
    (bytecode::PRIMITIVES, refusing!("modules of bytecode")),
    (channels::PRIMITIVES, refusing!("channels")),
    (embedding::PRIMITIVES, refusing!("functions of the embedder")),
    (files::PRIMITIVES, refusing!("open files")),
    (foreign::PRIMITIVES, refusing!("C")),
    (foreign_memory::PRIMITIVES, refusing!("memory of C")),
    (locks::PRIMITIVES, refusing!("locks, barriers or buckets")),
    (native_threads::PRIMITIVES, refusing!("native threads")),
    (network::PRIMITIVES, refusing!("the network")),
    (processes::PRIMITIVES, refusing!("processes of the system, or signals")),
    (resources::PRIMITIVES, refusing!("connections or processes of the system")),
    (sandboxes::PRIMITIVES, refusing!("sandboxes")),
    (strands::PRIMITIVES, refusing!("processes, threads or tasks")),
    (transactions::PRIMITIVES, refusing!("transactions")),
];

/// Ends the program, which cannot be recorded.
fn refuse(thread: &mut Thread, what: &str) -> Outcome {
    if thread.turn_recorder().is_none() {
        thread.diverge(&format!("the turn uses {what}, which no recording holds"));
        return Outcome::Exit(REFUSED);
    }
    let place = thread.place();
    let text = format!(
        "{place}this run cannot be recorded: it uses {what}, which recordings do not hold yet\n"
    );
    thread.vm.host().write_error(&text);
    Outcome::Exit(REFUSED)
}

/// A primitive that depends on what is outside. *GC point.*
fn input(thread: &mut Thread, window: Window, number: usize) -> Outcome {
    let original = primitives::find(INPUTS[number]);
    match thread.input(number as u64) {
        Answer::Outside => original.run(thread, window),
        Answer::Over => Outcome::Exit(REFUSED),
        Answer::Known(bytes) => {
            let outcome = decode(thread, &bytes);
            if INPUTS[number] == "identityHash:"
                && let Outcome::Return(hash) = outcome
                && let (Some(object), Some(hash)) =
                    (window.get(0).as_object(), hash.as_small_integer())
            {
                object.assign_identity_hash(hash as u32);
            }
            outcome
        }
        Answer::Ask => {
            let outcome = original.run(thread, window);
            match encode(&outcome) {
                Some(bytes) => thread.note_input(number as u64, &bytes),
                None => return refuse(thread, "an answer from outside of this kind"),
            }
            outcome
        }
    }
}

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
}

/// The answer as bytes; none if it is of another kind.
fn encode(outcome: &Outcome) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    match outcome {
        Outcome::Return(word) => encode_word(*word, &mut bytes)?,
        Outcome::Fail(failure) => {
            let mut all = FailureReason::SIGNALLED.iter();
            bytes.push(kind::FAILURE);
            bytes.push(all.position(|(reason, _)| *reason == failure.reason)? as u8);
            encode_word(failure.first, &mut bytes)?;
            encode_word(failure.second, &mut bytes)?;
        }
        _ => return None,
    }
    Some(bytes)
}

fn encode_word(word: Word, bytes: &mut Vec<u8>) -> Option<()> {
    match word {
        Word::NIL => bytes.push(kind::NIL),
        Word::TRUE => bytes.push(kind::TRUE),
        Word::FALSE => bytes.push(kind::FALSE),
        _ => {}
    }
    if [Word::NIL, Word::TRUE, Word::FALSE].contains(&word) {
        return Some(());
    }
    if let Ok(integer) = integer_argument(word) {
        bytes.push(kind::INTEGER);
        bytes.extend(integer.to_le_bytes());
        return Some(());
    }
    if let Some(text) = string::Text::of(word) {
        let text = text.to_rust();
        bytes.push(if string::is_string(word) { kind::STRING } else { kind::SYMBOL });
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        return Some(());
    }
    let object = word.as_object().filter(|object| object.layout().format() == Format::Array)?;
    bytes.push(kind::ARRAY);
    bytes.extend((object.length() as u32).to_le_bytes());
    (0..object.length()).try_for_each(|index| encode_word(object.element(index), bytes))
}

/// An answer in a recording.
enum Value {
    Word(Word),
    Integer(i64),
    String(String),
    Symbol(String),
    Array(Vec<Value>),
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
        let [kind] = self.take()?;
        Some(match kind {
            kind::NIL => Value::Word(Word::NIL),
            kind::TRUE => Value::Word(Word::TRUE),
            kind::FALSE => Value::Word(Word::FALSE),
            kind::INTEGER => Value::Integer(i64::from_le_bytes(self.take()?)),
            kind::STRING => Value::String(self.text()?),
            kind::SYMBOL => Value::Symbol(self.text()?),
            // Arrays in arrays are in no answer.
            kind::ARRAY => {
                let count = u32::from_le_bytes(self.take()?);
                let element = |_| self.value().filter(|value| !matches!(value, Value::Array(_)));
                Value::Array((0..count).map(element).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    fn text(&mut self) -> Option<String> {
        let length = u32::from_le_bytes(self.take()?) as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

/// The answer that a recording has. *GC point.*
fn decode(thread: &mut Thread, bytes: &[u8]) -> Outcome {
    let answered = match bytes.split_first() {
        Some((&kind::FAILURE, rest)) => decode_failure(thread, rest),
        _ => Bytes(bytes).value().map(|value| make(thread, &value).into()),
    };
    answered.unwrap_or_else(|| {
        thread.diverge("the recording has no sensible answer to this");
        Outcome::Exit(REFUSED)
    })
}

fn decode_failure(thread: &mut Thread, bytes: &[u8]) -> Option<Outcome> {
    let (index, rest) = bytes.split_first()?;
    let (reason, _) = FailureReason::SIGNALLED.get(usize::from(*index))?;
    let mut rest = Bytes(rest);
    let (first, second) = (rest.value()?, rest.value()?);
    let depth = thread.mutator.root_depth();
    let failure = make(thread, &first).and_then(|first| {
        let first = thread.mutator.push_root(first);
        let second = make(thread, &second)?;
        Ok(Failure::with(*reason, thread.mutator.get(first), second))
    });
    thread.mutator.truncate_roots(depth);
    Some(failure.unwrap_or_else(|failure| failure).into())
}

/// The object that an answer is. *GC point.*
fn make(thread: &mut Thread, value: &Value) -> Result<Word, Failure> {
    match value {
        Value::Word(word) => Ok(*word),
        Value::Integer(integer) => make_integer(thread, *integer),
        Value::String(text) => make_string(thread, text),
        Value::Symbol(text) => {
            let vm = thread.vm;
            vm.name_word(thread, vm.symbol(text))
        }
        Value::Array(values) => {
            array::make_of(thread, values.len(), |thread, index| make(thread, &values[index]))
        }
    }
}

/// Writes the text in the window. *GC point.*
fn print(thread: &mut Thread, window: Window, name: &str, is_error: bool) -> Outcome {
    match text_argument(window.get(0)) {
        Ok(text) => write(thread, window, name, text, is_error),
        Err(failure) => failure.into(),
    }
}

/// Writes a text as the primitive with this name does. *GC point.*
fn write(thread: &mut Thread, window: Window, name: &str, text: String, is_error: bool) -> Outcome {
    if let Some(due) = thread.replay_output(&text, is_error) {
        let host = thread.vm.host();
        thread.mutator.native(|| {
            for (text, is_error) in due {
                if is_error { host.write_error(&text) } else { host.write_output(&text) }
            }
        });
        return Outcome::Return(Word::NIL);
    }
    let original = primitives::find(name);
    let Some(recorder) = thread.turn_recorder() else { return original.run(thread, window) };
    let mut outputs = thread.mutator.native(|| recorder.outputs.lock());
    thread.note_output(*outputs, &text);
    *outputs += 1;
    original.run(thread, window)
}

/// Ends the program; in a replay, when all others have done what the recording has. *GC point.*
fn exit(thread: &mut Thread, window: Window) -> Outcome {
    if let Some(code) = window.get(0).as_small_integer().and_then(|code| u8::try_from(code).ok())
        && thread.waits_to_end(i32::from(code))
    {
        waiting::park(thread, Word::NIL);
        return Outcome::Park;
    }
    primitives::find("exit:").run(thread, window)
}
