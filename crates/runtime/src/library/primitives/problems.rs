//! Failures for mistakes in texts and bytes that are not of the format that they should have. The primitives for such
//! formats, such as those for JSON and calendars, call this module.

use squall_data::{Place, Problem};
use squall_heap::Word;

use crate::model::outcome::{Failure, FailureReason};
use crate::objects::array;
use crate::objects::string::make_string;
use crate::state::thread::Thread;

/// The failure for a mistake in a text. *GC point.*
pub fn in_text(thread: &mut Thread, text: &str, problem: &Problem) -> Failure {
    failure(thread, Place::of(text, problem.at), &problem.message)
}

/// The failure for a mistake in bytes, which have no lines. *GC point.*
pub fn in_bytes(thread: &mut Thread, problem: &Problem) -> Failure {
    let index = problem.at + 1;
    failure(thread, Place { index, line: 1, column: index }, &problem.message)
}

/// *GC point.*
fn failure(thread: &mut Thread, place: Place, message: &str) -> Failure {
    let depth = thread.mutator.root_depth();
    let numbers = [place.index, place.line, place.column];
    let details = array::make_of(thread, numbers.len(), |_, index| {
        Ok(Word::from_small_integer_unchecked(numbers[index] as i64))
    });
    let details = details.and_then(|place| {
        let place = thread.mutator.push_root(place);
        let text = make_string(thread, message)?;
        Ok((thread.mutator.get(place), text))
    });
    thread.mutator.truncate_roots(depth);
    match details {
        Ok((place, text)) => Failure::with(FailureReason::Parse, place, text),
        Err(failure) => failure,
    }
}
