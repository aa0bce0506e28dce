//! Turns, timers, and what belongs to a strand.
//!
//! There is one vat with one strand, so what needs a second one fails with `NotSupported`.

use std::time::Duration;

use squall_heap::Word;

use super::{Primitive, answer, arrays};
use crate::classes::is_value;
use crate::objects::block;
use crate::objects::number::Number;
use crate::objects::string::make_string;
use crate::outcome::{Failure, Outcome};
use crate::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("enqueueTurn:", |thread, window| {
        answer(block_argument(window.get(0)).map(|block| {
            thread.vm.turns.enqueue(block);
            Word::NIL
        }))
    }),
    Primitive::ordinary("after:enqueueTurn:", |thread, window| {
        answer(duration_argument(window.get(0)).and_then(|delay| {
            thread.vm.turns.enqueue_after(delay, block_argument(window.get(1))?);
            Ok(Word::NIL)
        }))
    }),
    Primitive::ordinary("sleep:", sleep),
    Primitive::ordinary("strandLocal", |thread, _| Outcome::Return(thread.strand_local)),
    Primitive::ordinary("strandLocal:", |thread, window| {
        thread.strand_local = window.get(0);
        Outcome::Return(Word::NIL)
    }),
    Primitive::ordinary("createActor:", create_actor),
    Primitive::ordinary("spawnProcess:", |thread, _| not_supported(thread, "processes")),
    Primitive::ordinary("newChannel", |thread, _| not_supported(thread, "channels")),
    Primitive::ordinary("readChannel:", |thread, _| not_supported(thread, "channels")),
    Primitive::ordinary("channel:write:", |thread, _| not_supported(thread, "channels")),
];

fn block_argument(word: Word) -> Result<Word, Failure> {
    block::closure(word).map(|_| word).ok_or(Failure::argument(word))
}

/// A number of milliseconds; less than none is none, and more than anybody waits is a century.
fn duration_argument(word: Word) -> Result<Duration, Failure> {
    const CENTURY: f64 = 100.0 * 365.25 * 24.0 * 60.0 * 60.0;
    let milliseconds = Number::of(word).ok_or(Failure::argument(word))?.to_double();
    if milliseconds.is_nan() {
        return Err(Failure::argument(word));
    }
    Ok(Duration::from_secs_f64((milliseconds / 1000.0).clamp(0.0, CENTURY)))
}

/// Waits; what was written so far can be read meanwhile.
fn sleep(thread: &mut Thread, window: Window) -> Outcome {
    let vm = thread.vm;
    answer(duration_argument(window.get(0)).map(|duration| {
        thread.mutator.native(|| {
            vm.host.flush();
            std::thread::sleep(duration);
        });
        Word::NIL
    }))
}

fn create_actor(thread: &mut Thread, window: Window) -> Outcome {
    if !is_value(thread.vm, window.get(0)) {
        return arrays::not_a_value(thread, window.get(0)).into();
    }
    not_supported(thread, "actors")
}

fn not_supported(thread: &mut Thread, feature: &str) -> Outcome {
    answer(
        make_string(thread, feature)
            .and_then(|feature| Err(Failure::with("NotSupported", feature, Word::NIL))),
    )
}
