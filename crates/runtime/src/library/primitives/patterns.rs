//! Regular expressions: the primitives for searches and replacements. `lib/Regex.ns` calls them. A pattern is given as
//! its text; compiled patterns are kept in a table.

use std::sync::Arc;

use squall_data::Problem;
use squall_data::patterns::{self, Bounds, Pattern};
use squall_heap::Word;

use super::{answer, problems};
use crate::concurrency::sandbox::metering;
use crate::library::work;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::size_argument;
use crate::objects::string::{make_string, text_argument};
use crate::state::sandbox;
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("regexNames:", names).in_pieces(),
    Primitive::ordinary("regex:in:from:", first).in_pieces(),
    Primitive::ordinary("regex:in:most:", all).in_pieces(),
    Primitive::ordinary("regex:in:replaceBy:most:", replaced).in_pieces(),
    Primitive::ordinary("regexQuoted:", |thread, window| answer(quoted(thread, window)))
        .by_few_bytes(),
];

/// What the pattern of the strand that runs here may take.
fn bounds(thread: &Thread) -> Bounds {
    let longest = sandbox::largest_result(thread).unwrap_or(Bounds::LONGEST).min(Bounds::LONGEST);
    Bounds { is_guests: thread.sandbox.is_some(), longest }
}

/// The pattern in the first argument.
fn pattern_argument(thread: &mut Thread, window: Window) -> Result<Pattern, Failure> {
    let pattern = text_argument(window.get(0))?;
    thread.charge(UNITS_OF_BYTE * pattern.len());
    match pattern.len() <= LONGEST_PATTERN {
        true => Ok(Pattern::of(pattern, bounds(thread))),
        false => Err(Failure::argument(window.get(0))),
    }
}

/// The pattern, and the text in the second argument.
fn pattern_and_text(thread: &mut Thread, window: Window) -> Result<(Pattern, String), Failure> {
    Ok((pattern_argument(thread, window)?, text_argument(window.get(1))?))
}

/// The most bytes of a pattern: it is compiled in one piece.
const LONGEST_PATTERN: usize = 64 << 10;

/// The units of work to look at a byte of a pattern.
const UNITS_OF_BYTE: usize = 2;

/// Does work with a pattern, in a text of this size. Outside, if compiling may be long. *GC point.*
fn with_pattern<T, W>(
    thread: &mut Thread,
    (pattern, size): (Pattern, usize),
    work: impl FnOnce(Arc<Pattern>) -> W,
    conclude: impl FnOnce(&mut Thread, T) -> Result<Word, Failure> + Send + 'static,
) -> Outcome
where
    T: 'static,
    W: Future<Output = Result<T, Problem>> + Send + 'static,
{
    let size = if pattern.is_quick() { size } else { size.max(work::SMALL + 1) };
    let pattern = Arc::new(pattern);
    let work = work(pattern.clone());
    work::compute_beside(thread, size, work, move |thread, done| match done {
        Ok(done) => conclude(thread, done),
        Err(problem) => Err(problems::in_text(thread, pattern.text(), &problem)),
    })
}

/// An array of the groups' names, nil for those without one. *GC point.*
fn names(thread: &mut Thread, window: Window) -> Outcome {
    let pattern = match pattern_argument(thread, window) {
        Ok(pattern) => pattern,
        Err(failure) => return failure.into(),
    };
    let work = |pattern: Arc<Pattern>| async move { pattern.compiled().await };
    with_pattern(thread, (pattern, 0), work, |thread, compiled| {
        let names: Vec<Option<&str>> = compiled.group_names().collect();
        array::make_of(thread, names.len(), |thread, index| match names[index] {
            Some(name) => make_string(thread, name),
            None => Ok(Word::NIL),
        })
    })
}

/// The first match from an index on: an array of the groups' starts and ends, or nil. *GC point.*
fn first(thread: &mut Thread, window: Window) -> Outcome {
    let arguments = pattern_and_text(thread, window).and_then(|(pattern, text)| {
        let from = size_argument(window.get(2))?.checked_sub(1);
        Ok((pattern, text, from.ok_or(Failure::index(window.get(1), window.get(2)))?))
    });
    let (pattern, text, from) = match arguments {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let size = text.len();
    let work = |pattern: Arc<Pattern>| async move { pattern.first(&text, from).await };
    with_pattern(thread, (pattern, size), work, |thread, found| match found {
        Some(groups) => make_groups(thread, &groups),
        None => Ok(Word::NIL),
    })
}

/// An array of the groups' starts and ends of all matches, one match behind the other. *GC point.*
fn all(thread: &mut Thread, window: Window) -> Outcome {
    let arguments = pattern_and_text(thread, window)
        .and_then(|(pattern, text)| Ok((pattern, text, size_argument(window.get(2))?)));
    let (pattern, text, most) = match arguments {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let size = text.len();
    let work = |pattern: Arc<Pattern>| async move { pattern.all(&text, most).await };
    with_pattern(thread, (pattern, size), work, |thread, matches| {
        make_groups(thread, &matches.concat())
    })
}

/// Index of the first code point, and of the last one, of each group; nil twice for one without a part. *GC point.*
fn make_groups(thread: &mut Thread, groups: &[Option<(usize, usize)>]) -> Result<Word, Failure> {
    array::make_of(thread, groups.len() * 2, |_, index| {
        let Some((start, end)) = groups[index / 2] else {
            return Ok(Word::NIL);
        };
        let place = if index % 2 == 0 { start + 1 } else { end };
        Ok(Word::from_small_integer_unchecked(place as i64))
    })
}

/// *GC point.*
fn replaced(thread: &mut Thread, window: Window) -> Outcome {
    let arguments = pattern_and_text(thread, window).and_then(|(pattern, text)| {
        Ok((pattern, text, text_argument(window.get(2))?, size_argument(window.get(3))?))
    });
    let (pattern, text, template, most) = match arguments {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let size = text.len() + template.len();
    let work =
        |pattern: Arc<Pattern>| async move { pattern.replaced(&text, &template, most).await };
    with_pattern(thread, (pattern, size), work, |thread, replaced| match replaced {
        Some(replaced) => make_string(thread, &replaced),
        None => Err(metering::refuse_result(thread)),
    })
}

/// The pattern that matches just the text. *GC point.*
fn quoted(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let quoted = patterns::quoted(&text_argument(window.get(0))?);
    make_string(thread, &quoted)
}
