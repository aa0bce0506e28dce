//! Text: the primitives for case, trimming, replacement, lines and normal forms, for `lib/Kernel.ns` and `lib/Text.ns`; and
//! the border between text and bytes.
//!
//! Each takes time in proportion to the text and the result.

use squall_data::{Problem, text};
use squall_heap::Word;

use super::strings::{byte_argument, from_symbol_or_same};
use super::{answer, problems};
use crate::model::outcome::Failure;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::size_argument;
use crate::objects::string::{NewString, Text, make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("stringUppercase:", |thread, window| {
        answer(changed(thread, window, |text| text.to_uppercase()))
    }),
    Primitive::ordinary("stringLowercase:", |thread, window| {
        answer(changed(thread, window, |text| text.to_lowercase()))
    }),
    Primitive::ordinary("stringTrimmed:", |thread, window| {
        answer(changed(thread, window, |text| text.trim().to_owned()))
    }),
    Primitive::ordinary("stringTrimmedLeft:", |thread, window| {
        answer(changed(thread, window, |text| text.trim_start().to_owned()))
    }),
    Primitive::ordinary("stringTrimmedRight:", |thread, window| {
        answer(changed(thread, window, |text| text.trim_end().to_owned()))
    }),
    Primitive::ordinary("stringReversed:", |thread, window| {
        answer(changed(thread, window, |text| text.chars().rev().collect()))
    }),
    Primitive::ordinary("string:replace:with:", |thread, window| answer(replaced(thread, window))),
    Primitive::ordinary("string:times:", |thread, window| answer(repeated(thread, window))),
    Primitive::ordinary("string:normalized:", |thread, window| answer(normalized(thread, window))),
    Primitive::ordinary("string:is:", |_, window| answer(is_of_kind(window))),
    Primitive::ordinary("stringLines:", |thread, window| {
        answer(pieces(thread, window, text::lines))
    }),
    Primitive::ordinary("stringWords:", |thread, window| {
        answer(pieces(thread, window, |text| text.split_whitespace().collect()))
    }),
    Primitive::ordinary("stringGraphemes:", |thread, window| {
        answer(pieces(thread, window, text::graphemes))
    }),
    Primitive::ordinary("stringAsBytes:", |thread, window| answer(as_bytes(thread, window))),
    Primitive::ordinary("stringFromUtf8Exactly:", |thread, window| {
        answer(from_utf8_exactly(thread, window))
    }),
];

/// The string that a function makes of the text. *GC point.*
fn changed(
    thread: &mut Thread,
    window: Window,
    change: impl FnOnce(&str) -> String,
) -> Result<Word, Failure> {
    let text = change(&text_argument(window.get(0))?);
    make_string(thread, &text)
}

/// *GC point.*
fn replaced(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (text, part) = (text_argument(window.get(0))?, text_argument(window.get(1))?);
    let replacement = text_argument(window.get(2))?;
    if part.is_empty() {
        return Err(Failure::argument(window.get(1)));
    }
    let count = text.matches(&part).count();
    // The result may be longer than memory: its length is checked before it is made.
    let length =
        (text.len() - count * part.len()).checked_add(count.saturating_mul(replacement.len()));
    if length.is_none_or(|length| length > LONGEST) {
        return Err(Failure::out_of_memory());
    }
    make_string(thread, &text.replace(&part, &replacement))
}

/// Longer results than this, in bytes, are not made.
const LONGEST: usize = 1 << 31;

/// The text so many times. *GC point.*
fn repeated(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let count = size_argument(window.get(1))?;
    let text = Text::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let (length, width) = (text.len(), text.width());
    // Nothing, however often: the copies are counted below.
    let count = if length == 0 { 0 } else { count };
    if count > 0 && length > LONGEST / 4 / count {
        return Err(Failure::out_of_memory());
    }
    let mut made = NewString::allocate(thread, length * count, width)?;
    let text = Text::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let filled = (0..count).all(|_| made.append(text, 0, length));
    let string = if filled { made.finish() } else { None };
    string.ok_or(Failure::argument(window.get(0)))
}

/// *GC point.*
fn normalized(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (text, form) = (text_argument(window.get(0))?, text_argument(window.get(1))?);
    let normalized = text::normalized(&text, &form).ok_or(Failure::argument(window.get(1)))?;
    make_string(thread, &normalized)
}

/// Whether all code points are of a kind.
fn is_of_kind(window: Window) -> Result<Word, Failure> {
    let (text, kind) = (text_argument(window.get(0))?, text_argument(window.get(1))?);
    let is: fn(char) -> bool = match kind.as_str() {
        "letter" => char::is_alphabetic,
        "digit" => |character| character.is_ascii_digit(),
        "alphanumeric" => char::is_alphanumeric,
        "space" => char::is_whitespace,
        "uppercase" => char::is_uppercase,
        "lowercase" => char::is_lowercase,
        "ascii" => |character| character.is_ascii(),
        _ => return Err(Failure::argument(window.get(1))),
    };
    Ok(Word::from_bool(text.chars().all(is)))
}

/// An array of parts of a text. *GC point.*
fn pieces(
    thread: &mut Thread,
    window: Window,
    split: impl for<'a> FnOnce(&'a str) -> Vec<&'a str>,
) -> Result<Word, Failure> {
    let text = text_argument(window.get(0))?;
    let pieces = split(&text);
    array::make_of(thread, pieces.len(), |thread, index| make_string(thread, pieces[index]))
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
