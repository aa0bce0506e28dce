//! Text: the primitives for case, trimming, replacement, lines and normal forms, and the border between text and bytes.
//! `lib/Kernel.ns`, `lib/Text.ns` and `lib/Encodings.ns` call them.
//!
//! Each takes time in proportion to the text and the result, and is done in pieces.

use std::ops::Range;
use std::sync::Arc;

use squall_data::json::Builder;
use squall_data::pace::Pieces;
use squall_data::{Problem, text};
use squall_heap::Word;

use super::strings::{byte_argument, from_symbol_or_same};
use super::trees::{self, Objects, Parts, Rest};
use super::{answer, problems};
use crate::library::work;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::number::size_argument;
use crate::objects::string::{NewString, Text, make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("stringUppercase:", |thread, window| {
        changed(thread, window, |text| async move { text::uppercase(&text).await })
    })
    .in_pieces(),
    Primitive::ordinary("stringLowercase:", |thread, window| {
        changed(thread, window, |text| async move { text::lowercase(&text).await })
    })
    .in_pieces(),
    Primitive::ordinary("stringTrimmed:", |thread, window| {
        answer(trimmed(thread, window, str::trim))
    })
    .by_bytes(),
    Primitive::ordinary("stringTrimmedLeft:", |thread, window| {
        answer(trimmed(thread, window, str::trim_start))
    })
    .by_bytes(),
    Primitive::ordinary("stringTrimmedRight:", |thread, window| {
        answer(trimmed(thread, window, str::trim_end))
    })
    .by_bytes(),
    Primitive::ordinary("stringReversed:", |thread, window| {
        changed(thread, window, |text| async move { text::reversed(&text).await })
    })
    .in_pieces(),
    Primitive::ordinary("string:replace:with:", replaced).in_pieces(),
    Primitive::ordinary("string:times:", |thread, window| answer(repeated(thread, window)))
        .by_bytes(),
    Primitive::ordinary("string:normalized:", normalized).in_pieces(),
    Primitive::ordinary("string:is:", is_of_kind).in_pieces(),
    Primitive::ordinary("stringLines:", |thread, window| {
        parts(thread, window, |text| async move { text::lines(&text).await })
    })
    .in_pieces(),
    Primitive::ordinary("stringWords:", |thread, window| {
        parts(thread, window, |text| async move { text::words(&text).await })
    })
    .in_pieces(),
    Primitive::ordinary("stringGraphemes:", |thread, window| {
        parts(thread, window, |text| async move { text::graphemes(&text).await })
    })
    .in_pieces(),
    Primitive::ordinary("stringAsBytes:", |thread, window| answer(as_bytes(thread, window)))
        .by_bytes(),
    Primitive::ordinary("stringFromUtf8Exactly:", |thread, window| {
        answer(from_utf8_exactly(thread, window))
    })
    .by_bytes(),
];

/// The string that a function makes of the text. *GC point.*
fn changed<F>(thread: &mut Thread, window: Window, change: fn(String) -> F) -> Outcome
where
    F: Future<Output = String> + Send + 'static,
{
    match text_argument(window.get(0)) {
        Ok(text) => work::compute(thread, text.len(), change(text), |thread, changed| {
            make_string(thread, &changed)
        }),
        Err(failure) => failure.into(),
    }
}

/// *GC point.*
fn trimmed(thread: &mut Thread, window: Window, trim: fn(&str) -> &str) -> Result<Word, Failure> {
    let text = text_argument(window.get(0))?;
    make_string(thread, trim(&text))
}

/// *GC point.*
fn replaced(thread: &mut Thread, window: Window) -> Outcome {
    let argument = |index| text_argument(window.get(index));
    let arguments = argument(0).and_then(|text| Ok((text, argument(1)?, argument(2)?)));
    let (text, part, by) = match arguments {
        Ok((_, part, _)) if part.is_empty() => return Failure::argument(window.get(1)).into(),
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let size = text.len() + by.len();
    let work = async move { text::replaced(&text, &part, &by).await };
    work::compute(thread, size, work, |thread, replaced| {
        make_string(thread, &replaced.ok_or_else(Failure::out_of_memory)?)
    })
}

/// The text so many times. *GC point.*
fn repeated(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let count = size_argument(window.get(1))?;
    let text = Text::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let (length, width) = (text.len(), text.width());
    // Nothing, however often: the copies are counted below.
    let count = if length == 0 { 0 } else { count };
    if count > 0 && length > text::LONGEST / 4 / count {
        return Err(Failure::out_of_memory());
    }
    let mut made = NewString::allocate(thread, length * count, width)?;
    let text = Text::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let filled = count == 0 || made.fill(text);
    let string = if filled { made.finish() } else { None };
    string.ok_or(Failure::argument(window.get(0)))
}

/// *GC point.*
fn normalized(thread: &mut Thread, window: Window) -> Outcome {
    let arguments =
        text_argument(window.get(0)).and_then(|text| Ok((text, text_argument(window.get(1))?)));
    let (text, form) = match arguments {
        Ok((_, form)) if !text::FORMS.contains(&form.as_str()) => {
            return Failure::argument(window.get(1)).into();
        }
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let (size, work) = (text.len(), async move { text::normalized(&text, &form).await });
    work::compute(thread, size, work, |thread, text| {
        make_string(thread, &text.expect("the form is known"))
    })
}

/// Whether all code points are of a kind. *GC point.*
fn is_of_kind(thread: &mut Thread, window: Window) -> Outcome {
    let arguments =
        text_argument(window.get(0)).and_then(|text| Ok((text, text_argument(window.get(1))?)));
    let (text, kind) = match arguments {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let is: fn(char) -> bool = match kind.as_str() {
        "letter" => char::is_alphabetic,
        "digit" => |character| character.is_ascii_digit(),
        "alphanumeric" => char::is_alphanumeric,
        "space" => char::is_whitespace,
        "uppercase" => char::is_uppercase,
        "lowercase" => char::is_lowercase,
        "ascii" => |character| character.is_ascii(),
        _ => return Failure::argument(window.get(1)).into(),
    };
    let (size, work) = (text.len(), async move { text::all_are(&text, is).await });
    work::compute(thread, size, work, |_, are| Ok(Word::from_bool(are)))
}

/// An array of parts of a text. *GC point.*
fn parts<F>(thread: &mut Thread, window: Window, split: fn(Arc<str>) -> F) -> Outcome
where
    F: Future<Output = Vec<Range<usize>>> + Send + 'static,
{
    let text: Arc<str> = match text_argument(window.get(0)) {
        Ok(text) => text.into(),
        Err(failure) => return failure.into(),
    };
    let ranges = Pieces::of(split(Arc::clone(&text)));
    trees::make(thread, Word::NIL, Splitting { text, ranges: Split::InProgress(ranges), next: 0 })
}

/// A text that is being split.
struct Splitting {
    text: Arc<str>,
    ranges: Split,
    /// The part to be made next.
    next: usize,
}

enum Split {
    InProgress(Pieces<Vec<Range<usize>>>),
    Done(Vec<Range<usize>>),
}

impl Parts for Splitting {
    fn pass_on(&mut self, objects: &mut Objects<'_>, units: usize) -> Result<Rest, Failure> {
        if let Split::InProgress(pieces) = &mut self.ranges {
            let (ranges, units) = pieces.step(units);
            objects.thread.charge(units);
            let Some(ranges) = ranges else { return Ok(Rest::More) };
            self.ranges = Split::Done(ranges);
            objects.begin()?;
        }
        let Split::Done(ranges) = &self.ranges else { return Ok(Rest::More) };
        // A string takes as long as some calls.
        let end = ranges.len().min(self.next + units / 4);
        objects.thread.charge((end - self.next) * 4);
        for range in &ranges[self.next..end] {
            objects.text(&self.text[range.clone()])?;
        }
        self.next = end;
        if end < ranges.len() {
            return Ok(Rest::More);
        }
        objects.end_list().map(|()| Rest::Nothing)
    }

    fn bytes(&self) -> usize {
        let ranges = match &self.ranges {
            Split::InProgress(pieces) => pieces.held(),
            Split::Done(ranges) => size_of_val(ranges.as_slice()),
        };
        self.text.len() + ranges
    }
}

/// The string itself, if each of its code points is a byte. *GC point.*
fn as_bytes(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    byte_argument(&thread.mutator, window.get(0))?;
    from_symbol_or_same(thread, window)
}

/// The text of bytes in UTF-8; a failure names the first byte that is no character. *GC point.*
fn from_utf8_exactly(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let bytes = byte_argument(&thread.mutator, window.get(0))?.to_vec();
    match std::str::from_utf8(&bytes) {
        Ok(text) => make_string(thread, text),
        Err(error) => {
            let problem = Problem::at(error.valid_up_to(), "this is not UTF-8");
            Err(problems::in_bytes(thread, &problem))
        }
    }
}
