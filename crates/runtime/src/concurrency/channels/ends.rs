//! The choice between ends of channels of both directions: a strand reads from one of several channels or writes to one
//! of several others, whichever is possible first. The primitive for `Alternative` of `lib/Processes.ns` calls it, if
//! there is an end to write to; the choice between reading ends alone is in the parent module.
//!
//! A strand that waits is in the queue of readers of some channels and in the queue of writers of others, with the same
//! ticket. The first strand that claims the ticket completes the choice. Two strands that choose between the same
//! channels may meet, too: a strand looks for partners before it waits, and once more while it enters each queue.
//!
//! The waiter in a queue of writers has the value to write, and the number of its alternative. The pair that the
//! choice answers is where the strand waits for it, in `WAITS_FOR`: the strand that takes the value fills the pair
//! (`answer_of_writer`).
//!
//! Invariant: no channel is in a choice as both, so no strand meets itself.

use squall_heap::{Object, Word};

use super::slots::{BUFFER, HELD, POISONED, READERS, WRITERS};
use super::{
    Look, Patience, answer, channel, element_for, element_type, fill, get, index_slot, index_word,
    is_ready, kept_inside, may_carry_out, may_leave, object_for, order_of_choice, try_read,
    try_write,
};
use crate::concurrency::sandbox::metering;
use crate::concurrency::values::is_value;
use crate::concurrency::{timers, waiting};
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::types::Type;
use crate::objects::rights::{self, Kind};
use crate::objects::string::make_string;
use crate::objects::{array, classes};
use crate::state::strand::{self, waiter};
use crate::state::thread::{Thread, Window, allocated};

/// Where the parts of an alternative are in the thread's message, behind the place of the pair.
const CHANNEL: usize = 1;
const WAITER: usize = 2;
const VALUE: usize = 3;
/// How many words an alternative has there.
const WORDS: usize = 3;

/// An alternative, beside its words in the thread's message.
#[derive(Clone, Copy)]
enum Direction {
    Read,
    /// The type of the channel's elements when the value was converted; and whether the value may leave the sandbox, if the channel
    /// carries it out.
    Write {
        kind: Option<Type>,
        leaves: Option<bool>,
    },
}

/// The result of a look at all alternatives.
enum Found {
    /// This is the outcome.
    Outcome(Outcome),
    /// A channel has another type by now, or carries elements out of a sandbox: everything begins anew.
    Changed,
    /// One has to wait.
    Nothing,
}

/// Reads from or writes to whichever of several channels allows it first: answers an array of the alternative's index,
/// from 1, and of the element that was read, or nil; or answers nil if patience ends. The window has an array of rights to
/// read or write, and an array of the values to write. *GC point.*
pub fn choose(
    thread: &mut Thread,
    window: Window,
    is_fair: bool,
    patience: Patience,
) -> Result<Outcome, Failure> {
    metering::count_message(thread)?;
    loop {
        let alternatives = prepare(thread, window)?;
        let order = order_of_choice(thread, alternatives.len(), is_fair);
        match look_at_all(thread, &alternatives, &order)? {
            Found::Outcome(outcome) => return Ok(outcome),
            Found::Changed => continue,
            Found::Nothing => {}
        }
        if matches!(patience, Patience::None) {
            return Ok(Outcome::Return(Word::NIL));
        }
        if let Some(outcome) = wait_for_all(thread, &alternatives, &order, patience) {
            return Ok(outcome);
        }
    }
}

fn word(thread: &Thread, index: usize, part: usize) -> Word {
    thread.message[WORDS * index + part]
}

/// Puts the pair, and for each alternative the channel, a waiter and the converted value into the thread's message. *GC
/// point.*
fn prepare(thread: &mut Thread, window: Window) -> Result<Vec<Direction>, Failure> {
    let rights = array::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let count = rights.length();
    let values = array::of(window.get(1)).filter(|values| values.length() == count);
    let values = values.ok_or(Failure::argument(window.get(1)))?;
    thread.message.clear();
    thread.message.push(Word::NIL);
    let mut writes = Vec::with_capacity(count);
    for index in 0..count {
        let right = rights.element(index);
        let (channel, is_write) = match rights::subject(thread, right, Kind::Writing) {
            Ok(channel) => (channel, true),
            Err(_) => (rights::subject(thread, right, Kind::Reading)?, false),
        };
        thread.message.extend([channel, Word::NIL, values.element(index)]);
        writes.push(is_write);
    }
    check_no_channel_twice(thread, &writes)?;
    make_pair(thread, count)?;
    let mut alternatives = Vec::with_capacity(count);
    for (index, is_write) in writes.into_iter().enumerate() {
        let waiter = waiting::make_waiter(thread)?;
        waiter.initialize_slot(waiter::INDEX, index_word(index + 1));
        thread.message[WORDS * index + WAITER] = waiter.word();
        alternatives.push(match is_write {
            true => convert(thread, index)?,
            false => Direction::Read,
        });
    }
    Ok(alternatives)
}

/// A channel that is read and written by one choice is an ArgumentError.
fn check_no_channel_twice(thread: &Thread, writes: &[bool]) -> Result<(), Failure> {
    let of = |wanted: bool| {
        let indices = (0..writes.len()).filter(move |&index| writes[index] == wanted);
        indices.map(|index| word(thread, index, CHANNEL).bits())
    };
    let read: std::collections::HashSet<u64> = of(false).collect();
    for index in (0..writes.len()).filter(|&index| writes[index]) {
        let written = word(thread, index, CHANNEL);
        channel(written)?;
        if read.contains(&written.bits()) {
            return Err(Failure::argument(written));
        }
    }
    Ok(())
}

/// Makes the pair for the answer; as long as there is none, its second element is an array of the channels, for reports.
/// *GC point.*
fn make_pair(thread: &mut Thread, count: usize) -> Result<(), Failure> {
    let class = thread.vm.known_class(KnownClass::Array);
    let pair = allocated(thread.mutator.allocate_array(known::ARRAY, class, 2, Word::NIL))?;
    thread.message[0] = pair.word();
    let class = thread.vm.known_class(KnownClass::Array);
    let channels = allocated(thread.mutator.allocate_array(known::ARRAY, class, count, Word::NIL))?;
    for index in 0..count {
        channels.initialize_element(index, word(thread, index, CHANNEL));
    }
    let pair = thread.message[0].object();
    pair.set_element(&mut thread.mutator, 1, channels.word());
    Ok(())
}

/// Converts the value of an alternative to the type of its channel. *GC point.*
fn convert(thread: &mut Thread, index: usize) -> Result<Direction, Failure> {
    let value = word(thread, index, VALUE);
    if !is_value(thread, value) {
        return Err(classes::not_a_value(thread, value));
    }
    let kind = element_type(word(thread, index, CHANNEL).object());
    if let Some(element) = kind {
        match element_for(thread, value, element)? {
            Some(converted) => thread.message[WORDS * index + VALUE] = converted,
            None => {
                let wanted = make_string(thread, &element.text())?;
                let value = word(thread, index, VALUE);
                return Err(Failure::with(FailureReason::WrongElement, value, wanted));
            }
        }
    }
    let value = word(thread, index, VALUE);
    let carries_out = may_carry_out(thread, word(thread, index, CHANNEL).object());
    let leaves = carries_out.then(|| may_leave(thread, kind, value));
    Ok(Direction::Write { kind, leaves })
}

/// Takes the first alternative that need not wait. *GC point* if there is one.
fn look_at_all(
    thread: &mut Thread,
    alternatives: &[Direction],
    order: &[usize],
) -> Result<Found, Failure> {
    for &index in order {
        let channel = word(thread, index, CHANNEL).object();
        waiting::lock(&mut thread.mutator, channel);
        let element = element_type(channel);
        let look = match alternatives[index] {
            Direction::Read => try_read(thread, channel),
            Direction::Write { kind, .. } if element != kind => {
                waiting::unlock(&mut thread.mutator, channel);
                return Ok(Found::Changed);
            }
            Direction::Write { leaves: Some(false), .. } => {
                waiting::unlock(&mut thread.mutator, channel);
                return Err(kept_inside(thread));
            }
            // A strand outside has read from the channel for the first time.
            Direction::Write { leaves: None, .. } if may_carry_out(thread, channel) => {
                waiting::unlock(&mut thread.mutator, channel);
                return Ok(Found::Changed);
            }
            Direction::Write { .. } => {
                let (value, waiter) = (word(thread, index, VALUE), word(thread, index, WAITER));
                try_write(thread, channel, value, waiter.object())
            }
        };
        match look {
            Look::Wait => waiting::unlock(&mut thread.mutator, channel),
            Look::Accepted => return Ok(Found::Outcome(Outcome::Park)),
            Look::Done(value) => {
                let value = match alternatives[index] {
                    Direction::Read => object_for(thread, element, value)?,
                    Direction::Write { .. } => Word::NIL,
                };
                let pair = thread.message[0].object();
                fill(thread, pair, index_word(index + 1), value);
                return Ok(Found::Outcome(Outcome::Return(pair.word())));
            }
            look => return Ok(Found::Outcome(answer(thread, look, channel))),
        }
    }
    Ok(Found::Nothing)
}

/// Parks the strand in the queues of all channels. Answers nothing if one of them has become ready meanwhile and the
/// strand is to look again.
fn wait_for_all(
    thread: &mut Thread,
    alternatives: &[Direction],
    order: &[usize],
    patience: Patience,
) -> Option<Outcome> {
    // From here on there is no GC point, and another thread may take the frame at any moment.
    let strand = thread.strand().object();
    let timer = match patience {
        Patience::Until(delay) => Some((timers::reserve(thread), delay)),
        _ => None,
    };
    let pair = thread.message[0];
    let ticket = waiting::park(thread, pair);
    for &index in order {
        let channel = word(thread, index, CHANNEL).object();
        let waiter = word(thread, index, WAITER).object();
        waiting::lock(&mut thread.mutator, channel);
        let (is_ready, queue, value) = match alternatives[index] {
            Direction::Read => (is_ready(channel), READERS, pair),
            Direction::Write { kind, .. } => {
                let is_ready = is_ready_to_write(channel) || element_type(channel) != kind;
                (is_ready, WRITERS, word(thread, index, VALUE))
            }
        };
        if is_ready {
            waiting::unlock(&mut thread.mutator, channel);
            return match waiting::unpark(thread, ticket) {
                true => None,
                false => Some(Outcome::Park),
            };
        }
        waiting::enqueue(thread, channel, queue, waiter, ticket, value);
        waiting::unlock(&mut thread.mutator, channel);
    }
    if let Some((timer, delay)) = timer {
        timers::wake_after(thread, (timer, delay), strand, ticket, Word::NIL);
    }
    Some(Outcome::Park)
}

/// Whether a write to this locked channel would not wait.
fn is_ready_to_write(channel: Object) -> bool {
    let buffer = get(channel, BUFFER).as_object();
    get(channel, POISONED) == Word::TRUE
        || buffer.is_some_and(|buffer| index_slot(channel, HELD) < buffer.length())
        || waiting::has_waiters(channel, READERS)
}

/// Whether a waiter in a queue of writers belongs to a choice.
pub(super) fn is_of_choice(writer: Object) -> bool {
    writer.layout() == known::WAITER && get(writer, waiter::INDEX) != index_word(0)
}

/// The answer for the strand of a waiter in a queue of writers, whose value was taken: the value, or the pair of a choice.
/// The caller has claimed the strand.
pub(super) fn answer_of_writer(thread: &mut Thread, writer: Object) -> Word {
    if !is_of_choice(writer) {
        return get(writer, waiter::VALUE);
    }
    let pair = get(waiting::strand_object_of(writer), strand::slots::WAITS_FOR);
    fill(thread, pair.object(), get(writer, waiter::INDEX), Word::NIL);
    pair
}
