//! Turns, timers, and what belongs to a strand.

use std::time::Duration;

use squall_heap::{Object, Word};

use super::channels::outcome;
use super::{Primitive, answer, arrays};
use crate::known;
use crate::messages;
use crate::objects::block;
use crate::objects::number::Number;
use crate::objects::string;
use crate::outcome::{Failure, Outcome};
use crate::strand::{self, Ending, Model, ORDINARY_PRIORITY, StrandRef};
use crate::thread::{Thread, Window};
use crate::values::{give_away, is_value};
use crate::vat::{self, VatRef};
use crate::{isolation, strands, timers, waiting};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("sleep:", sleep),
    Primitive::ordinary("yield", |_, _| Outcome::Yield(Word::NIL)),
    Primitive::ordinary("spawnParallel:with:", |thread, window| {
        answer(spawn(thread, window, Model::Parallel, ORDINARY_PRIORITY))
    }),
    Primitive::ordinary("spawnExclusive:with:priority:", |thread, window| {
        answer(spawn_exclusive(thread, window))
    }),
    Primitive::ordinary("spawnProcess:selector:with:", |thread, window| {
        answer(spawn_process(thread, window))
    }),
    Primitive::ordinary("strandJoin:", |thread, window| outcome(strands::join(thread, window))),
    Primitive::ordinary("strandHasEnded:", |_, window| {
        answer(
            strand_object(window.get(0))
                .map(|strand| Word::from_bool(strand::ending(strand) != Ending::Live)),
        )
    }),
    Primitive::ordinary("strandTerminate:", |thread, window| {
        answer(strand_object(window.get(0)).map(|strand| strands::terminate(thread, strand)))
    }),
    Primitive::ordinary("strandSuspend:", |thread, window| {
        outcome(strand_object(window.get(0)).map(|strand| strands::suspend(thread, strand)))
    }),
    Primitive::ordinary("strandResume:", |thread, window| {
        answer(strand_object(window.get(0)).map(|strand| strands::resume(thread, strand)))
    }),
    Primitive::ordinary("strandPriority:", |_, window| {
        answer(strand_object(window.get(0)).map(strands::priority))
    }),
    Primitive::ordinary("strand:priority:", |thread, window| answer(set_priority(thread, window))),
    Primitive::ordinary("currentStrand", |thread, _| {
        thread.strand().is_exposed.set(true);
        Outcome::Return(thread.strand().object.get())
    }),
    Primitive::ordinary("strandLocal", |thread, _| {
        Outcome::Return(thread.strand().object().slot(strand::slots::LOCAL))
    }),
    Primitive::ordinary("strandLocal:", |thread, window| {
        let object = thread.strand().object();
        object.set_slot(&mut thread.mutator, strand::slots::LOCAL, window.get(0));
        Outcome::Return(Word::NIL)
    }),
];

/// The strand object in a word.
fn strand_object(word: Word) -> Result<Object, Failure> {
    let object = word.as_object().filter(|object| object.layout() == known::STRAND);
    object.ok_or(Failure::argument(word))
}

/// Starts a strand of this vat that evaluates the closure in the window's first word with the
/// elements of the array in the second. *GC point.*
fn spawn(thread: &mut Thread, window: Window, model: Model, priority: u8) -> Result<Word, Failure> {
    let closure = window.get(0);
    let takes = block::closure(closure).map(block::closure_function);
    let takes = takes.ok_or(Failure::argument(closure))?.arguments as usize;
    let count = argument_count(window.get(1))?;
    if takes != 1 + count {
        return Err(Failure::argument(closure));
    }
    let vat = vat::current(thread)?;
    let strand = start(thread, window.get(0), Word::NIL, window.get(1), Some(vat), model)?;
    strand.priority.set(priority);
    let object = strand.object.get();
    waiting::make_ready(thread, strand, false);
    Ok(object)
}

/// Starts a green thread. *GC point.*
fn spawn_exclusive(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let priority = priority_argument(window.get(2))?;
    spawn(thread, window, Model::Exclusive, priority)
}

fn priority_argument(word: Word) -> Result<u8, Failure> {
    let priority = word.as_small_integer().and_then(|number| u8::try_from(number).ok());
    priority.filter(|priority| (1..=80).contains(priority)).ok_or(Failure::argument(word))
}

/// Starts a strand in a vat of its own that sends a message to a value, with the elements of an array
/// as arguments, which the caller has made fit for that. *GC point.*
fn spawn_process(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let receiver = window.get(0);
    if !give_away(thread.vm, receiver) {
        return Err(arrays::not_a_value(thread, receiver));
    }
    let count = argument_count(window.get(2))?;
    let symbol = window.get(1);
    let is_symbol = symbol.as_object().is_some_and(|object| object.layout() == known::SYMBOL);
    let takes = string::Text::of(symbol)
        .filter(|_| is_symbol)
        .map(|name| thread.vm.symbols().arity(thread.vm.symbol(&name.to_rust())));
    if takes != Some(count) {
        return Err(Failure::argument(symbol));
    }
    let vat = isolate(thread, window)?;
    let strand = start(thread, window.get(0), window.get(1), window.get(2), vat, Model::Exclusive)?;
    waiting::make_ready(thread, strand, false);
    Ok(Word::NIL)
}

/// Makes the elements of the last argument, an array that nobody else has, fit for another vat: that
/// vat is answered, if it took one. *GC point.*
fn isolate(thread: &mut Thread, window: Window) -> Result<Option<VatRef>, Failure> {
    let given = |window: Window| {
        let arguments = window.get(2).object_unchecked();
        let last = arguments.length().checked_sub(1).map(|last| arguments.element(last));
        last.and_then(arrays::array)
    };
    let Some(count) = given(window).map(Object::length) else { return Ok(None) };
    let element = |index| given(window).map_or(Word::NIL, |array| array.element(index));
    if (0..count).all(|index| is_value(thread.vm, element(index))) {
        return Ok(None);
    }
    let from = vat::current(thread)?;
    let to = vat::make(thread)?;
    // A vat without a strand is a root only for a while.
    thread.mutator.push_root(to.object.get());
    let mut result = Ok(Some(to));
    for index in 0..count {
        match isolation::wrap(thread, element(index), from, to) {
            Ok(wrapped) => {
                if let Some(array) = given(window) {
                    array.set_element(&mut thread.mutator, index, wrapped);
                }
            }
            Err(failure) => result = Err(failure),
        }
    }
    thread.mutator.pop_root();
    result
}

fn argument_count(array: Word) -> Result<usize, Failure> {
    let array = array.as_object().filter(|object| object.layout().format().has_elements());
    let count = array.ok_or(Failure::argument(Word::NIL))?.length();
    if count > MAX_ARGUMENTS { Err(Failure::argument(Word::NIL)) } else { Ok(count) }
}

/// As many as a message can have.
const MAX_ARGUMENTS: usize = 250;

/// Makes a strand with a message. *GC point.*
fn start(
    thread: &mut Thread,
    receiver: Word,
    kind: Word,
    arguments: Word,
    vat: Option<VatRef>,
    model: Model,
) -> Result<StrandRef, Failure> {
    thread.message.clear();
    thread.message.push(receiver);
    if let Some(array) = arguments.as_object() {
        thread.message.extend((0..array.length()).map(|index| array.element(index)));
    }
    let words = thread.message.len();
    // SAFETY: the message is not changed before its words were copied.
    let window = unsafe { Window::new(thread.message.as_mut_ptr(), words) };
    let message = messages::make(thread, kind, Word::NIL, window)?;
    thread.message.clear();
    thread.message.push(message.word());
    strand::make(thread, vat, model)
}

fn set_priority(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let priority = priority_argument(window.get(1))?;
    let object = strand_object(window.get(0))?;
    strands::set_priority(thread, object, priority);
    Ok(Word::NIL)
}

/// A number of milliseconds; less than none is none, and more than anybody waits is a century.
pub fn duration_argument(word: Word) -> Result<Duration, Failure> {
    const CENTURY: f64 = 100.0 * 365.25 * 24.0 * 60.0 * 60.0;
    let milliseconds = Number::of(word).ok_or(Failure::argument(word))?.to_double();
    if milliseconds.is_nan() {
        return Err(Failure::argument(word));
    }
    Ok(Duration::from_secs_f64((milliseconds / 1000.0).clamp(0.0, CENTURY)))
}

/// Parks the strand for a time.
fn sleep(thread: &mut Thread, window: Window) -> Outcome {
    let delay = match duration_argument(window.get(0)) {
        Ok(delay) => delay,
        Err(failure) => return failure.into(),
    };
    let object = thread.strand().object();
    let timer = timers::reserve(thread);
    let ticket = waiting::park(thread, window.get(0));
    timers::wake_after(thread, (timer, delay), object, ticket, Word::NIL);
    Outcome::Park
}
