//! Channels, barriers and buckets: the primitives for objects that processes share. `lib/Processes.ns`, `lib/Host.ns`
//! and `lib/Http.ns` call them.

use squall_heap::Word;

use super::answer;
use super::strands::duration_argument;
use crate::concurrency::channels::rendezvous::{self, Side};
use crate::concurrency::channels::{self, End, Patience, ends};
use crate::concurrency::locks;
use crate::concurrency::values::{is_known_value, is_value};
use crate::model::known;
use crate::model::outcome::{Failure, Meeting, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::classes;
use crate::objects::number::size_argument;
use crate::objects::rights::{self, Kind};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("newChannel:", |thread, window| {
        answer(capacity(window.get(0)).and_then(|capacity| {
            thread.charge(capacity / 8);
            channels::make(thread, capacity)
        }))
    }),
    Primitive::effect("readChannel:", |thread, window| {
        outcome(channels::read_object(thread, window))
    })
    .with_direct_form(|thread, window| rendezvous::read(thread, window.get(0), Side::Untyped)),
    Primitive::effect("channel:write:", write).with_direct_form(|thread, window| {
        match is_known_value(window.get(1)) {
            true => rendezvous::write(thread, window.get(0), window.get(1), Side::Untyped),
            false => Meeting::Unusual,
        }
    }),
    Primitive::effect("poisonReading:", |thread, window| {
        answer(channels::poison(thread, window.get(0), End::Reading))
    }),
    Primitive::effect("poisonWriting:", |thread, window| {
        answer(channels::poison(thread, window.get(0), End::Writing))
    }),
    Primitive::effect("chooseOf:fairly:within:", choose),
    Primitive::effect("chooseOf:writing:fairly:within:", choose_end),
    Primitive::ordinary("rightToRead:", |thread, window| {
        answer(
            channels::channel(window.get(0))
                .and_then(|channel| rights::make_with(thread, Kind::Reading, 0, channel.word())),
        )
    }),
    Primitive::ordinary("rightToWrite:", |thread, window| {
        answer(
            channels::channel(window.get(0))
                .and_then(|channel| rights::make_with(thread, Kind::Writing, 0, channel.word())),
        )
    }),
    Primitive::ordinary("newBarrier:", |thread, window| {
        answer(
            capacity(window.get(0))
                .and_then(|count| locks::make(thread, known::BARRIER, count as i64)),
        )
    }),
    Primitive::effect("barrierSynchronize:", |thread, window| {
        outcome(locks::synchronize(thread, window))
    }),
    Primitive::effect("barrierEnrol:", |thread, window| {
        answer(locks::enrol(thread, window.get(0), 1))
    }),
    Primitive::effect("barrierResign:", |thread, window| {
        answer(locks::enrol(thread, window.get(0), -1))
    }),
    Primitive::ordinary("newBucket", |thread, _| answer(locks::make(thread, known::BUCKET, 0))),
    Primitive::effect("bucketFallInto:", |thread, window| {
        outcome(locks::fall_into(thread, window))
    }),
    Primitive::effect("bucketFlush:", |thread, window| {
        answer(locks::signal_all(thread, window.get(0)))
    }),
];

/// The outcome of a primitive that may wait.
pub(super) fn outcome(result: Result<Outcome, Failure>) -> Outcome {
    result.unwrap_or_else(Outcome::Fail)
}

fn capacity(word: Word) -> Result<usize, Failure> {
    let capacity = size_argument(word)?;
    if capacity > channels::MAX_BUFFER { Err(Failure::argument(word)) } else { Ok(capacity) }
}

fn write(thread: &mut Thread, window: Window) -> Outcome {
    if !is_value(thread, window.get(1)) {
        return classes::not_a_value(thread, window.get(1)).into();
    }
    outcome(channels::write_object(thread, window))
}

/// A choice between reading ends.
fn choose(thread: &mut Thread, window: Window) -> Outcome {
    let is_fair = window.get(1) == Word::TRUE;
    let patience = patience(window.get(2));
    outcome(patience.and_then(|patience| channels::choose(thread, window, is_fair, patience)))
}

/// A choice between ends of both directions.
fn choose_end(thread: &mut Thread, window: Window) -> Outcome {
    let is_fair = window.get(2) == Word::TRUE;
    let patience = patience(window.get(3));
    outcome(patience.and_then(|patience| ends::choose(thread, window, is_fair, patience)))
}

/// Nil is for ever; otherwise these are milliseconds.
fn patience(limit: Word) -> Result<Patience, Failure> {
    match limit {
        Word::NIL => Ok(Patience::Endless),
        limit => duration_argument(limit).map(|time| match time.is_zero() {
            true => Patience::None,
            false => Patience::Until(time),
        }),
    }
}
