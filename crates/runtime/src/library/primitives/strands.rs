//! Turns, timers, and strands: the primitives that start, end, join and suspend them. `lib/Scheduling.ns`,
//! `lib/Threading.ns` and `lib/Processes.ns` call them.

use std::time::Duration;

use squall_heap::{Format, Object, Word};

use super::answer;
use super::channels::outcome;
use crate::concurrency::early_actors::{self, Held};
use crate::concurrency::messages;
use crate::concurrency::native_threads::home_argument;
use crate::concurrency::transactions::access;
use crate::concurrency::values::{Gift, give_away, is_value};
use crate::concurrency::waiting::Place;
use crate::concurrency::{isolation, strands, timers, waiting};
use crate::execution::stack_traces;
use crate::execution::unwind;
use crate::model::known;
use crate::model::lookup::Action;
use crate::model::outcome::{Failure, Meeting, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::block;
use crate::objects::classes;
use crate::objects::number::Number;
use crate::state::affinity::Home;
use crate::state::strand::{self, Claimed, Ending, Model, ORDINARY_PRIORITY};
use crate::state::thread::{Thread, Window};
use crate::state::vat::{self, VatRef};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::effect("sleep:", sleep),
    Primitive::ordinary("yield", |_, _| Outcome::Yield(Word::NIL))
        .with_direct_form(|_, _| Meeting::Yields),
    Primitive::effect("spawnParallel:with:", |thread, window| {
        answer(spawn(thread, window, 0, PARALLEL))
    }),
    Primitive::effect("spawnExclusive:with:priority:", |thread, window| {
        answer(spawn_exclusive(thread, window))
    }),
    Primitive::effect("activity:spawnParallel:with:on:", |thread, window| {
        answer(start_parallel(thread, window))
    }),
    Primitive::effect("activity:spawnExclusive:with:priority:on:", |thread, window| {
        answer(start_exclusive(thread, window))
    }),
    Primitive::effect("spawnProcess:with:", |thread, window| {
        answer(spawn_process(thread, window, Word::NIL))
    }),
    Primitive::effect("spawnProcess:with:on:", |thread, window| {
        answer(spawn_process(thread, window, window.get(2)))
    }),
    Primitive::effect("failStrand:", |thread, window| unwind::fail_strand(thread, window.get(0))),
    Primitive::effect("strandJoin:", |thread, window| outcome(strands::join(thread, window, None))),
    Primitive::effect("strandJoin:within:", |thread, window| {
        let patience = patience(window.get(1));
        outcome(patience.and_then(|patience| strands::join(thread, window, patience)))
    }),
    Primitive::effect("strandHasEnded:", |_, window| {
        answer(
            strand_object(window.get(0))
                .map(|strand| Word::from_bool(strand::ending(strand) != Ending::Live)),
        )
    }),
    Primitive::effect("strandHasFailed:", |_, window| {
        answer(
            strand_object(window.get(0))
                .map(|strand| Word::from_bool(strand::ending(strand) == Ending::Failed)),
        )
    }),
    Primitive::effect("strandTerminate:", |thread, window| {
        let strand = strand_object(window.get(0));
        outcome(strand.map(|strand| strands::terminate_or_end(thread, strand)))
    }),
    Primitive::effect("strandSuspend:", |thread, window| {
        outcome(strand_object(window.get(0)).map(|strand| strands::suspend(thread, strand)))
    }),
    Primitive::effect("strandResume:", |thread, window| {
        answer(strand_object(window.get(0)).map(|strand| strands::resume(thread, strand)))
    }),
    Primitive::effect("strandPriority:", |_, window| {
        answer(strand_object(window.get(0)).map(strands::priority))
    }),
    Primitive::effect("strand:priority:", |thread, window| answer(set_priority(thread, window))),
    Primitive::ordinary("currentStrand", |thread, _| {
        thread.running().expose();
        Outcome::Return(thread.strand().object.get())
    }),
    Primitive::ordinary("strandLocal", |thread, _| {
        Outcome::Return(thread.strand().slot(strand::slots::LOCAL))
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

/// The kind of a strand that evaluates a closure.
#[derive(Clone, Copy)]
struct Kind {
    model: Model,
    priority: u8,
    home: Home,
}

const PARALLEL: Kind =
    Kind { model: Model::Parallel, priority: ORDINARY_PRIORITY, home: Home::ANYWHERE };

/// Starts a strand of this vat that evaluates the closure in the window's word with this index, with the elements of
/// the array in the next word. *GC point.*
fn spawn(thread: &mut Thread, window: Window, index: usize, kind: Kind) -> Result<Word, Failure> {
    let strand = make_evaluating(thread, window, index, kind)?;
    let object = strand.object.get();
    waiting::make_ready(thread, strand, Place::Last);
    Ok(object)
}

/// Starts a green thread. *GC point.*
fn spawn_exclusive(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let priority = priority_argument(window.get(2))?;
    spawn(thread, window, 0, Kind { model: Model::Exclusive, priority, home: Home::ANYWHERE })
}

/// Starts the activity in the window's first word as a thread, on this native thread if that is not nil.
/// *GC point.*
fn start_parallel(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let home = home_argument(thread, window.get(3))?;
    start_activity(thread, window, Kind { home, ..PARALLEL })
}

/// Starts the activity in the window's first word as a green thread, on this native thread if that is not nil.
/// *GC point.*
fn start_exclusive(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let priority = priority_argument(window.get(3))?;
    let home = home_argument(thread, window.get(4))?;
    start_activity(thread, window, Kind { model: Model::Exclusive, priority, home })
}

/// Starts the strand of an activity, unless it has one; answers whether it had none. Of several strands that start it
/// at the same time, one succeeds: the one that puts its strand into the activity's first slot, before the new strand
/// is ready.
///
/// Nothing else assigns that slot, so this is part of no transaction: a transaction that has started the strand, or has
/// read the slot, does not delay this. *GC point.*
fn start_activity(thread: &mut Thread, window: Window, kind: Kind) -> Result<Word, Failure> {
    if activity(window.get(0))?.slot(ACTIVITY_STRAND) != Word::NIL {
        return Ok(Word::FALSE);
    }
    let strand = make_evaluating(thread, window, 1, kind)?;
    let activity = activity(window.get(0))?;
    let word = strand.object.get();
    let mutator = &mut thread.mutator;
    if activity.compare_exchange_slot(mutator, ACTIVITY_STRAND, Word::NIL, word).is_err() {
        strand::forget(thread, strand);
        return Ok(Word::FALSE);
    }
    waiting::make_ready(thread, strand, Place::Last);
    Ok(Word::TRUE)
}

/// The slot in which an activity has its strand, or nil.
const ACTIVITY_STRAND: usize = 0;

/// The object that stands for a strand, in a word.
fn activity(word: Word) -> Result<Object, Failure> {
    let has_slot = |activity: &Object| {
        activity.layout().format() == Format::Slots && activity.layout().slot_count() > 0
    };
    word.as_object().filter(has_slot).ok_or(Failure::argument(word))
}

/// Makes a strand of this vat, which is not ready yet, for the closure in the window's word with this index and the
/// elements of the array in the next word. *GC point.*
fn make_evaluating(
    thread: &mut Thread,
    window: Window,
    index: usize,
    kind: Kind,
) -> Result<Claimed, Failure> {
    let closure = window.get(index);
    let function = block::closure(closure).map(block::closure_function);
    let function = function.ok_or(Failure::argument(closure))?;
    if function.arguments as usize != 1 + argument_count(window.get(index + 1))? {
        return Err(Failure::argument(closure));
    }
    let vat = vat::current(thread)?;
    let size = strand::size_for(function.frame_words as usize);
    fill_message(thread, window.get(index), window.get(index + 1))?;
    let strand = make_strand(thread, Word::NIL, Some(vat), kind.model, size)?;
    strand.set_priority(kind.priority);
    strand.affinity.bind(kind.home);
    strand.set_origin(stack_traces::call_of_library(thread));
    Ok(strand)
}

fn priority_argument(word: Word) -> Result<u8, Failure> {
    let priority = word.as_small_integer().and_then(|number| u8::try_from(number).ok());
    priority.filter(|priority| (1..=80).contains(priority)).ok_or(Failure::argument(word))
}

/// Starts a process: in a vat of its own, a strand that makes an instance of the class in the window,
/// with the elements of the array as arguments, and sends it `run`; on this native thread, if that is not
/// nil. Answers the strand. *GC point.*
fn spawn_process(thread: &mut Thread, window: Window, place: Word) -> Result<Word, Failure> {
    let home = home_argument(thread, place)?;
    let class = window.get(0);
    let behavior = classes::behavior_of_class(thread.vm, class);
    let factory = classes::factory(thread.vm, class);
    let (Some(behavior), Some(factory)) = (behavior, factory) else {
        return Err(Failure::argument(class));
    };
    let gift = give_away(thread, class);
    if matches!(gift, Gift::Refused) {
        return Err(classes::not_a_value(thread, class));
    }
    if factory.arguments as usize != 1 + argument_count(window.get(1))? {
        return Err(Failure::argument(window.get(1)));
    }
    let called = match messages::run_entry(thread, behavior).action {
        Action::Method(run) => run.frame_words,
        _ => 0,
    };
    let size = strand::size_for(factory.frame_words.max(called) as usize);
    fill_message(thread, window.get(0), window.get(1))?;
    let vat = isolate(thread)?;
    let strand = make_strand(thread, messages::PROCESS, vat, Model::Exclusive, size)?;
    strand.affinity.bind(home);
    strand.set_origin(stack_traces::call_of_library(thread));
    let object = strand.object.get();
    match gift {
        Gift::Early(key) => early_actors::hold(thread, key, Held::Strand(strand.hand_on())),
        _ => waiting::make_ready(thread, strand, Place::Last),
    }
    thread.made_work();
    Ok(object)
}

/// Makes the arguments in the thread's message fit for another vat: that is answered, if one had to be
/// made. *GC point.*
fn isolate(thread: &mut Thread) -> Result<Option<VatRef>, Failure> {
    if (1..thread.message.len()).all(|index| is_value(thread, thread.message[index])) {
        return Ok(None);
    }
    let from = vat::current(thread)?;
    let to = vat::make(thread)?;
    vat::keep(thread, to);
    isolation::begin(thread);
    let wrapped = (1..thread.message.len()).try_for_each(|index| {
        thread.message[index] = isolation::wrap(thread, thread.message[index], from, to)?;
        Ok(())
    });
    thread.mutator.pop_root();
    wrapped.map(|()| Some(to))
}

fn argument_count(array: Word) -> Result<usize, Failure> {
    let array = array.as_object().filter(|object| object.layout().format().has_elements());
    let count = array.ok_or(Failure::argument(Word::NIL))?.length();
    if count > MAX_ARGUMENTS { Err(Failure::argument(Word::NIL)) } else { Ok(count) }
}

/// As many as a message can have.
const MAX_ARGUMENTS: usize = 250;

/// Puts a receiver and the elements of an array into the thread's message.
fn fill_message(thread: &mut Thread, receiver: Word, arguments: Word) -> Result<(), Failure> {
    thread.message.clear();
    thread.message.push(receiver);
    match arguments.as_object() {
        Some(array) => access::extend_message(thread, array),
        None => Ok(()),
    }
}

/// Makes a strand that begins with the thread's message. *GC point.*
fn make_strand(
    thread: &mut Thread,
    kind: Word,
    vat: Option<VatRef>,
    model: Model,
    size: usize,
) -> Result<Claimed, Failure> {
    let words = thread.message.len();
    // SAFETY: the message is not changed before its words were copied.
    let window = unsafe { Window::new(thread.message.as_mut_ptr(), words) };
    let depth = thread.mutator.root_depth();
    vat.into_iter().for_each(|vat| vat::keep(thread, vat));
    let made = messages::make(thread, kind, Word::NIL, window).and_then(|message| {
        thread.message.clear();
        thread.message.push(message.word());
        strands::make(thread, vat, model, size)
    });
    thread.mutator.truncate_roots(depth);
    made
}

fn set_priority(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let priority = priority_argument(window.get(1))?;
    let object = strand_object(window.get(0))?;
    strands::set_priority(thread, object, priority);
    Ok(Word::NIL)
}

/// A number of milliseconds; negative numbers count as 0, and the greatest duration is a century.
pub fn duration_argument(word: Word) -> Result<Duration, Failure> {
    const CENTURY: f64 = 100.0 * 365.25 * 24.0 * 60.0 * 60.0;
    let milliseconds = Number::of(word).ok_or(Failure::argument(word))?.to_double();
    if milliseconds.is_nan() {
        return Err(Failure::argument(word));
    }
    Ok(Duration::from_secs_f64((milliseconds / 1000.0).clamp(0.0, CENTURY)))
}

/// The longest time of a wait: a number of milliseconds, or nil for ever.
pub fn patience(word: Word) -> Result<Option<Duration>, Failure> {
    match word {
        Word::NIL => Ok(None),
        limit => duration_argument(limit).map(Some),
    }
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
