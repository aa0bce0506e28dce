//! Turns, timers, and what belongs to a strand.

use std::time::Duration;

use squall_heap::Word;

use super::{Primitive, answer};
use crate::messages;
use crate::objects::block;
use crate::objects::number::Number;
use crate::outcome::{Failure, Outcome};
use crate::strand;
use crate::thread::{Thread, Window};
use crate::{timers, vat, waiting};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("enqueueTurn:", |thread, window| answer(enqueue_turn(thread, window))),
    Primitive::ordinary("after:enqueueTurn:", |thread, window| {
        answer(enqueue_turn_after(thread, window))
    }),
    Primitive::ordinary("sleep:", sleep),
    Primitive::ordinary("yield", |_, _| Outcome::Yield(Word::NIL)),
    Primitive::ordinary("strandLocal", |thread, _| {
        Outcome::Return(thread.strand().object().slot(strand::slots::LOCAL))
    }),
    Primitive::ordinary("strandLocal:", |thread, window| {
        let object = thread.strand().object();
        object.set_slot(&mut thread.mutator, strand::slots::LOCAL, window.get(0));
        Outcome::Return(Word::NIL)
    }),
];

fn enqueue_turn(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    block::closure(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let vat = vat::current(thread)?;
    let message = messages::make(thread, Word::NIL, Word::NIL, window)?;
    vat.post(thread, message);
    Ok(Word::NIL)
}

fn enqueue_turn_after(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let delay = duration_argument(window.get(0))?;
    block::closure(window.get(1)).ok_or(Failure::argument(window.get(1)))?;
    let vat = vat::current(thread)?;
    // SAFETY: the words from the second on are part of the window.
    let closure = unsafe { Window::new(window.start().add(1), 1) };
    let message = messages::make(thread, Word::NIL, Word::NIL, closure)?;
    timers::post_after(thread, delay, vat, message);
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
    let ticket = waiting::park(thread, window.get(0));
    timers::wake_after(thread, delay, object, ticket, Word::NIL);
    Outcome::Park
}
