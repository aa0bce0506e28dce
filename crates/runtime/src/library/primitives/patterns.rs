//! Regular expressions: the primitives for searches and replacements. `lib/Regex.ns` calls them. A pattern is given as
//! its text; compiled patterns are kept in a table.

use std::sync::Arc;

use squall_data::Problem;
use squall_data::patterns::{self, Groups, Pattern};
use squall_heap::Word;

use super::{answer, problems};
use crate::library::work;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::size_argument;
use crate::objects::string::{make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("regexNames:", |thread, window| answer(names(thread, window))).by_bytes(),
    Primitive::ordinary("regex:in:from:", first).in_pieces(),
    Primitive::ordinary("regex:in:most:", all).in_pieces(),
    Primitive::ordinary("regex:in:replaceBy:most:", replaced).in_pieces(),
    Primitive::ordinary("regexQuoted:", |thread, window| answer(quoted(thread, window))).by_bytes(),
];

/// The compiled form of the pattern in the first argument. *GC point.*
fn compiled(thread: &mut Thread, window: Window) -> Result<Arc<Pattern>, Failure> {
    let pattern = text_argument(window.get(0))?;
    if pattern.len() > LONGEST_PATTERN {
        return Err(Failure::argument(window.get(0)));
    }
    let (compiled, units) = thread.mutator.native(|| patterns::compiled(&pattern));
    thread.charge(units);
    compiled.map_err(|problem| problems::in_text(thread, &pattern, &problem))
}

/// The pattern in the first argument, and the text in the second one. *GC point.*
fn pattern_and_text(
    thread: &mut Thread,
    window: Window,
) -> Result<(Arc<Pattern>, String), Failure> {
    let pattern = compiled(thread, window)?;
    let text = text_argument(window.get(1))?;
    if !pattern.fits(&text) {
        let problem = Problem::unlocated("the pattern is too large for so long a text".to_owned());
        return Err(problems::in_text(thread, "", &problem));
    }
    Ok((pattern, text))
}

/// The most bytes of a pattern: it is compiled in one piece.
const LONGEST_PATTERN: usize = 64 << 10;

/// An array of the groups' names, nil for those without one. *GC point.*
fn names(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let pattern = compiled(thread, window)?;
    let names: Vec<Option<&str>> = pattern.group_names().collect();
    array::make_of(thread, names.len(), |thread, index| match names[index] {
        Some(name) => make_string(thread, name),
        None => Ok(Word::NIL),
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
    let work = async move { patterns::first(&pattern, &text, from).await };
    work::compute_beside(thread, size, work, |thread, found| match found {
        Some(groups) => make_groups(thread, &groups),
        None => Ok(Word::NIL),
    })
}

/// An array of all matches, each as for the first one. *GC point.*
fn all(thread: &mut Thread, window: Window) -> Outcome {
    let arguments = pattern_and_text(thread, window)
        .and_then(|(pattern, text)| Ok((pattern, text, size_argument(window.get(2))?)));
    let (pattern, text, most) = match arguments {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let size = text.len();
    let work = async move { patterns::all(&pattern, &text, most).await };
    work::compute_beside(thread, size, work, |thread, matches| {
        array::make_of(thread, matches.len(), |thread, index| make_groups(thread, &matches[index]))
    })
}

/// Index of the first code point, and of the last one, of each group; nil twice for one without a part. *GC point.*
fn make_groups(thread: &mut Thread, groups: &Groups) -> Result<Word, Failure> {
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
    let work = async move { patterns::replaced(&pattern, &text, &template, most).await };
    work::compute_beside(thread, size, work, |thread, replaced| match replaced {
        Some(replaced) => make_string(thread, &replaced),
        None => Err(Failure::out_of_memory()),
    })
}

/// The pattern that matches just the text. *GC point.*
fn quoted(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let quoted = patterns::quoted(&text_argument(window.get(0))?);
    make_string(thread, &quoted)
}
