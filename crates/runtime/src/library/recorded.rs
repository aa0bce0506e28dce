//! The primitives of a run that is recorded, or that repeats a recording. `layers` gives these to the machine in place of the
//! others; so a run that is neither pays nothing.
//!
//! - A primitive that depends on what is outside (*input*) is recorded with its answer, and answers that in the replay without
//!   doing anything.
//! - A text is written in the order of the recording.
//! - An operation on an object that strands share (*ordered*) has a place among all of them, and waits for that in a replay.
//! - A primitive that a recording cannot hold yet ends the program with a report.
//! - All others depend on their arguments and on the objects of the vat.

use squall_heap::{Format, Word};

use crate::concurrency::{timers, waiting};
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
use crate::state::replays::{Answer, Order, REFUSED};
use crate::state::strand::{Model, ORDINARY_PRIORITY, StrandRef};
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

/// The primitives of refused groups that concern the strand itself, or make something; and those that give the same in
/// whatever order strands do them.
const ALLOWED: &[&str] = &[
    "yield",
    "currentStrand",
    "strandLocal",
    "strandLocal:",
    "isBytecode:",
    "failStrand:",
    "spawnParallel:with:",
    "spawnProcess:with:",
    "strandPriority:",
    "newChannel:",
    "rightToRead:",
    "rightToWrite:",
    "newBarrier:",
    "newBucket",
    "newMutex",
    "newSharedMutex",
    "newCondition",
    "newSemaphore:",
    "mutexDepth:",
    "currentNativeThread",
    "mainNativeThread:",
];

/// Declares the inputs.
macro_rules! inputs {
    ($($number:literal $name:literal;)* ordered $($ordered:literal)*) => {
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
            Primitive::effect("spawnExclusive:with:priority:", |thread, window| {
                spawn(thread, window, "spawnExclusive:with:priority:", Some(2), None)
            }),
            Primitive::effect("activity:spawnParallel:with:on:", |thread, window| {
                spawn(thread, window, "activity:spawnParallel:with:on:", None, Some(3))
            }),
            Primitive::effect("activity:spawnExclusive:with:priority:on:", |thread, window| {
                spawn(thread, window, "activity:spawnExclusive:with:priority:on:", Some(3), Some(4))
            }),
            Primitive::effect("spawnProcess:with:on:", |thread, window| {
                spawn(thread, window, "spawnProcess:with:on:", None, Some(2))
            }),
            $(Primitive::effect($ordered, |thread, window| ordered(thread, window, $ordered)),)*
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

    ordered
    "sleep:"
    "strandJoin:"
    "strandJoin:within:"
    "strandHasEnded:"
    "strandHasFailed:"
    "strandTerminate:"
    "readChannel:"
    "channel:write:"
    "poisonReading:"
    "poisonWriting:"
    "chooseOf:fairly:within:"
    "chooseOf:writing:fairly:within:"
    "barrierSynchronize:"
    "barrierEnrol:"
    "barrierResign:"
    "bucketFallInto:"
    "bucketFlush:"
    "mutex:lock:"
    "mutex:lock:within:"
    "mutex:relock:"
    "mutexUnlock:"
    "mutexIsLocked:"
    "condition:await:within:"
    "conditionSignalOne:"
    "conditionSignalAll:"
    "semaphoreWait:"
    "semaphoreWait:within:"
    "semaphoreSignal:"
}

/// The number of the input that is the state of the thread's generator, for choices among channels.
const RANDOM: u64 = 1 << 20;

/// Declares a primitive that ends the program since it uses this.
macro_rules! refusing {
    ($what:literal) => {
        Primitive::ordinary("", |thread, _| refuse(thread, $what))
    };
}

static REFUSED_GROUPS: &[(&[Primitive], Primitive)] = &[
    (bytecode::PRIMITIVES, refusing!("modules of bytecode")),
    (channels::PRIMITIVES, refusing!("this operation on channels")),
    (embedding::PRIMITIVES, refusing!("functions of the embedder")),
    (files::PRIMITIVES, refusing!("open files")),
    (foreign::PRIMITIVES, refusing!("C")),
    (foreign_memory::PRIMITIVES, refusing!("memory of C")),
    (locks::PRIMITIVES, refusing!("this operation on locks")),
    (native_threads::PRIMITIVES, refusing!("native threads")),
    (network::PRIMITIVES, refusing!("the network")),
    (processes::PRIMITIVES, refusing!("processes of the system, or signals")),
    (resources::PRIMITIVES, refusing!("connections or processes of the system")),
    (sandboxes::PRIMITIVES, refusing!("sandboxes")),
    (strands::PRIMITIVES, refusing!("suspended strands or priorities")),
    (transactions::PRIMITIVES, refusing!("transactions")),
];

/// Ends the program, which cannot be recorded.
fn refuse(thread: &mut Thread, what: &str) -> Outcome {
    if thread.recorder().is_none() {
        thread.diverge(&format!("the strand uses {what}, which no recording holds"));
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
        Answer::Finished => wait(thread, None),
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

/// The primitive that ends a strand.
const TERMINATE: &str = "strandTerminate:";

/// An operation on an object that strands share. *GC point.*
fn ordered(thread: &mut Thread, window: Window, name: &str) -> Outcome {
    let original = primitives::find(name);
    match thread.order() {
        Order::Outside => original.run(thread, window),
        // At which poll a strand ends that runs is not recorded.
        Order::Recorded(_) if name == TERMINATE && runs_beside(thread, window.get(0)) => {
            refuse(thread, "the end of a strand that runs")
        }
        Order::Recorded(guard) => {
            choose_seed(thread, name);
            let outcome = original.run(thread, window);
            drop(guard);
            outcome
        }
        Order::Open => {
            choose_seed(thread, name);
            let outcome = original.run(thread, window);
            thread.advance();
            timers::wake_by_tape(thread);
            outcome
        }
        Order::Closed(place) => wait(thread, Some(place)),
        Order::Finished => wait(thread, None),
        Order::Over => Outcome::Exit(REFUSED),
    }
}

/// A choice is about to be made, which may be a random one: the recording has the seed.
fn choose_seed(thread: &mut Thread, name: &str) {
    if !name.starts_with("chooseOf:") {
        return;
    }
    match thread.input(RANDOM) {
        Answer::Ask => {
            let seed = thread.random();
            thread.seed_random(seed);
            thread.note_input(RANDOM, &seed.to_le_bytes());
        }
        Answer::Known(bytes) => {
            if let Ok(seed) = bytes.try_into() {
                thread.seed_random(u64::from_le_bytes(seed));
            }
        }
        _ => {}
    }
}

/// The strand waits until it is its turn by the recording, at this place or never, and makes its call again then.
fn wait(thread: &mut Thread, place: Option<u64>) -> Outcome {
    if thread.state.function.is_null() {
        thread.diverge("a strand that begins with this call cannot wait for its turn");
        return Outcome::Exit(REFUSED);
    }
    let strand = thread.strand().object.get();
    thread.set_at_gate(true);
    let ticket = waiting::park_before(thread, Word::NIL);
    thread.set_at_gate(false);
    thread.wait_by_tape(place, strand, ticket);
    Outcome::Park
}

/// Starts a strand, if its priority is the ordinary one and it is bound to no native thread; their arguments have these
/// indices. *GC point.*
fn spawn(
    thread: &mut Thread,
    window: Window,
    name: &str,
    priority: Option<usize>,
    home: Option<usize>,
) -> Outcome {
    let ordinary = Word::from_small_integer_unchecked(i64::from(ORDINARY_PRIORITY));
    if priority.is_some_and(|index| window.get(index) != ordinary) {
        return refuse(thread, "priorities");
    }
    if home.is_some_and(|index| window.get(index) != Word::NIL) {
        return refuse(thread, "native threads");
    }
    primitives::find(name).run(thread, window)
}

/// Whether a strand may run at the same time as the one that runs here.
fn runs_beside(thread: &Thread, strand: Word) -> bool {
    let here = thread.strand();
    strand.as_object().and_then(StrandRef::of_object).is_some_and(|strand| {
        let are_exclusive = [strand, here].iter().all(|each| each.model() == Model::Exclusive);
        let are_of_vat = are_exclusive && strand.vat().is_some() && strand.vat() == here.vat();
        strand != here && !are_of_vat && !strand.is_parked()
    })
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
    // STAYS: values: they are no objects.
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
    let Some(recorder) = thread.recorder() else { return original.run(thread, window) };
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
