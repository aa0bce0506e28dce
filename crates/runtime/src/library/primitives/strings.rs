//! Strings and symbols: the primitives for access, search and composition. `lib/Kernel.ns`, `lib/Text.ns` and
//! `lib/Encodings.ns` call them.
//!
//! A primitive that makes a string measures first, allocates once and then copies, so that it takes time in proportion
//! to the text. Between measuring and copying there is a GC point, after which all arguments are read again.

use std::cmp::Ordering;

use memchr::memmem;
use squall_data::encodings;
use squall_heap::{Mutator, Word};

use super::answer;
use crate::concurrency::transactions::access;
use crate::library::work;
use crate::model::known;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::integer_argument;
use crate::objects::string::{
    NewString, Text, Width, controls_nothing, is_string, loose_symbol, make_byte_string,
    make_character, make_string, symbol_object, text_argument, without_controls,
};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::with_leaf(
        "stringLength:",
        |_, string, _| Some(size_word(Text::of(string)?.len())),
        no_string,
    ),
    Primitive::with_leaf(
        "string:charAt:",
        |vm, string, index| vm.character(code_point_at(string, index).ok()?),
        |thread, window| {
            let code_point = code_point_at(window.get(0), window.get(1));
            answer(code_point.and_then(|code_point| make_character(thread, code_point)))
        },
    ),
    Primitive::with_leaf(
        "string:codepointAt:",
        |_, string, index| code_point_at(string, index).ok().map(|point| size_word(point as usize)),
        |_, window| answer(code_point_at(window.get(0), window.get(1)).map(|_| Word::NIL)),
    ),
    Primitive::ordinary("string:from:to:", |thread, window| answer(substring(thread, window))),
    Primitive::ordinary("string:concatenate:", |thread, window| {
        answer(concatenate(thread, window))
    }),
    // Machine code counts on an answer of this leaf, so comparing long texts counts as one call.
    Primitive::with_leaf(
        "string:equals:",
        |_, left, right| equals(short(left)?, right),
        |_, window| match equals(window.get(0), window.get(1)) {
            Some(answer) => Outcome::Return(answer),
            None => Failure::argument(window.get(0)).into(),
        },
    )
    .by_bytes(),
    Primitive::with_leaf(
        "string:compare:",
        |_, left, right| short(left).and_then(|left| compare(left, right).ok()),
        |_, window| answer(compare(window.get(0), window.get(1))),
    )
    .by_bytes(),
    Primitive::ordinary("string:indexOf:startingAt:", |thread, window| {
        answer(index_of(thread, window))
    }),
    Primitive::with_leaf(
        "stringHash:",
        |_, string, _| hash(short(string)?),
        |_, window| answer(hash(window.get(0)).ok_or(Failure::argument(window.get(0)))),
    )
    .by_bytes(),
    Primitive::ordinary("stringAsSymbol:", |thread, window| answer(as_symbol(thread, window)))
        .by_few_bytes(),
    Primitive::ordinary("escapeControls:exceptLines:", |thread, window| {
        answer(escape_controls(thread, window))
    })
    .by_bytes(),
    Primitive::ordinary("symbolAsString:", |thread, window| answer(from_symbol(thread, window)))
        .by_bytes(),
    Primitive::ordinary("stringFromArray:", |thread, window| answer(from_array(thread, window)))
        .by_bytes(),
    Primitive::ordinary("stringFromCodepoint:", |thread, window| {
        answer(
            code_point_argument(window.get(0))
                .and_then(|code_point| make_character(thread, code_point)),
        )
    }),
    Primitive::ordinary("stringAsUtf8:", |thread, window| answer(as_utf8(thread, window)))
        .by_bytes(),
    Primitive::ordinary("stringFromUtf8:", from_utf8).in_pieces(),
];

/// The bytes of the text in UTF-8, a code point for each. *GC point.*
fn as_utf8(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = text(window, 0)?;
    if text.width() == Width::One && text.bytes(&thread.mutator).is_ascii() {
        return from_symbol_or_same(thread, window);
    }
    make_byte_string(thread, text.to_rust().as_bytes())
}

/// The text of bytes in UTF-8; those that are no character become U+FFFD. *GC point.*
fn from_utf8(thread: &mut Thread, window: Window) -> Outcome {
    let bytes = match byte_argument(&thread.mutator, window.get(0)) {
        Ok(bytes) => bytes,
        Err(failure) => return failure.into(),
    };
    let (size, is_ascii) = (bytes.len(), bytes.is_ascii());
    if is_ascii {
        thread.charge_bytes(size);
        return answer(from_symbol_or_same(thread, window));
    }
    let bytes = bytes.to_vec();
    let work = async move { encodings::text(&bytes).await };
    work::compute(thread, size, work, |thread, text| make_string(thread, &text))
}

/// The string itself; for a symbol, the string of its text. *GC point.*
pub(super) fn from_symbol_or_same(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    match window.get(0).as_object().map(|object| object.layout()) {
        Some(known::SYMBOL) => from_symbol(thread, window),
        _ => Ok(window.get(0)),
    }
}

/// The bytes of a string whose code points are bytes; valid until the next GC point.
pub(super) fn byte_argument(mutator: &Mutator, word: Word) -> Result<&[u8], Failure> {
    let text = Text::of(word).filter(|text| text.width() == Width::One);
    text.map(|text| text.bytes(mutator)).ok_or(Failure::argument(word))
}

/// The text in a word of the window.
#[inline]
fn text(window: Window, index: usize) -> Result<Text, Failure> {
    text_of(window.get(index))
}

#[inline]
fn text_of(word: Word) -> Result<Text, Failure> {
    Text::of(word).ok_or(Failure::argument(word))
}

/// The receiver is no string.
fn no_string(_: &mut Thread, window: Window) -> Outcome {
    Failure::argument(window.get(0)).into()
}

fn size_word(size: usize) -> Word {
    Word::from_small_integer_unchecked(size as i64)
}

fn code_point_at(string: Word, index: Word) -> Result<u32, Failure> {
    let text = text_of(string)?;
    let position = array::position(string, text.len(), index)?;
    Ok(text.code_point(position))
}

fn code_point_argument(word: Word) -> Result<u32, Failure> {
    let code_point = u32::try_from(integer_argument(word)?).ok().and_then(char::from_u32);
    code_point.map(u32::from).ok_or(Failure::argument(word))
}

fn substring(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let source = text(window, 0)?;
    let range = array::range(window.get(0), source.len(), window.get(1), window.get(2));
    let (start, length) = range?;
    if length == 1 {
        return make_character(thread, source.code_point(start));
    }
    let width = match source.width() {
        Width::One => Width::One,
        _ => (start..start + length)
            .map(|index| Width::of(source.code_point(index)))
            .max()
            .unwrap_or(Width::One),
    };
    if width == source.width() {
        let mut made = NewString::allocate(thread, length, width)?;
        let copied = made.append(text(window, 0)?, start, length);
        return complete(made, copied, window);
    }
    let code_points: Vec<u32> =
        (start..start + length).map(|index| source.code_point(index)).collect();
    crate::objects::string::make_from_code_points(thread, &code_points)
}

/// The string, if it was filled; another strand may have changed an argument meanwhile.
fn complete(made: NewString, filled: bool, window: Window) -> Result<Word, Failure> {
    let string = if filled { made.finish() } else { None };
    string.ok_or(Failure::argument(window.get(0)))
}

fn concatenate(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (left, right) = (text(window, 0)?, text(window, 1)?);
    let width = left.width().max(right.width());
    let mut made = NewString::allocate(thread, left.len() + right.len(), width)?;
    let (left, right) = (text(window, 0)?, text(window, 1)?);
    let copied = made.append(left, 0, left.len()) && made.append(right, 0, right.len());
    complete(made, copied, window)
}

fn from_array(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let array = array::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let (mut length, mut width) = (0usize, Width::One);
    for index in 0..array.length() {
        let element = access::element(thread, array, index)?;
        let part = Text::of(element).ok_or(Failure::argument(element))?;
        length = length.saturating_add(part.len());
        width = width.max(part.width());
    }
    let mut made = NewString::allocate(thread, length, width)?;
    let array = array::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    // Another thread may have changed elements since they were measured.
    let mut copied = true;
    for index in 0..array.length() {
        let part = Text::of(access::element(thread, array, index)?);
        copied &= part.is_some_and(|part| made.append(part, 0, part.len()));
    }
    complete(made, copied, window)
}

/// A text [without control characters](without_controls). *GC point.*
fn escape_controls(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let keeps_lines = window.get(1) == Word::TRUE;
    let text = text_argument(window.get(0))?;
    if text.chars().all(|character| controls_nothing(character, keeps_lines)) {
        return Ok(window.get(0));
    }
    let escaped = without_controls(text.chars(), keeps_lines);
    make_string(thread, &escaped)
}

fn from_symbol(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let symbol = window.get(0);
    if known::layout_of(symbol) != known::SYMBOL {
        return Err(Failure::argument(symbol));
    }
    let source = text(window, 0)?;
    let mut made = NewString::allocate(thread, source.len(), source.width())?;
    let source = text(window, 0)?;
    let copied = made.append(source, 0, source.len());
    complete(made, copied, window)
}

fn as_symbol(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    if known::layout_of(window.get(0)) == known::SYMBOL {
        return Ok(window.get(0));
    }
    let (text, symbols) = (text(window, 0)?, thread.vm.modules.symbols);
    match text.known(symbols) {
        Some(symbol) => symbol_object(thread, symbol),
        None => {
            let text = text.to_rust();
            loose_symbol(thread, &text)
        }
    }
}

/// The word, unless it is a long text: leaves do not count their work.
#[inline]
fn short(word: Word) -> Option<Word> {
    const LONG: usize = 2 << 10;
    let is_long = Text::of(word).is_some_and(|text| text.len() > LONG);
    (!is_long).then_some(word)
}

fn hash(string: Word) -> Option<Word> {
    Some(size_word(Text::of(string)?.hash() as usize))
}

/// Whether two texts are the same; none if the first word is no text.
fn equals(left: Word, right: Word) -> Option<Word> {
    if left == right && is_string(left) {
        return Some(Word::TRUE);
    }
    Text::of(left).map(|left| Text::of(right).is_some_and(|right| left.equals(right)).into())
}

fn compare(left: Word, right: Word) -> Result<Word, Failure> {
    let order = match text_of(left)?.compare(text_of(right)?) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    };
    Ok(Word::from_small_integer_unchecked(order))
}

fn index_of(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (whole, part) = (text(window, 0)?, text(window, 1)?);
    let Some(start) = array::index_argument(window.get(2))?.checked_sub(1) else {
        return Err(Failure::index(window.get(0), window.get(2)));
    };
    let found = if start > whole.len() { None } else { find(&thread.mutator, whole, part, start) };
    let end = found.unwrap_or(whole.len());
    thread.charge_bytes((end.saturating_sub(start) + part.len()) * whole.width() as usize);
    Ok(size_word(found.map_or(0, |position| position + 1)))
}

/// Where `part` first occurs in `whole` at `start` or later; takes time in proportion to both.
fn find(mutator: &Mutator, whole: Text, part: Text, start: usize) -> Option<usize> {
    if whole.width() == Width::One && part.width() == Width::One {
        let (whole, part) = (&whole.bytes(mutator)[start..], part.bytes(mutator));
        return memmem::find(whole, part).map(|at| start + at);
    }
    // A string is stored as narrow as it can be, so a wider one has characters that are not here.
    if part.width() > whole.width() {
        return None;
    }
    let part: Vec<u32> = part.code_points().collect();
    let whole = (start..whole.len()).map(|index| whole.code_point(index));
    find_code_points(whole, &part).map(|at| start + at)
}

/// The algorithm of Knuth, Morris and Pratt ("Fast Pattern Matching in Strings", 1977).
fn find_code_points(whole: impl Iterator<Item = u32>, part: &[u32]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    let borders = borders(part);
    let mut matched = 0;
    for (index, code_point) in whole.enumerate() {
        while matched > 0 && part[matched] != code_point {
            matched = borders[matched - 1];
        }
        if part[matched] == code_point {
            matched += 1;
        }
        if matched == part.len() {
            return Some(index + 1 - matched);
        }
    }
    None
}

/// For each prefix of the text, the length of the longest shorter text that it starts and ends with.
fn borders(text: &[u32]) -> Vec<usize> {
    let mut borders = vec![0; text.len()];
    let mut length = 0;
    for index in 1..text.len() {
        while length > 0 && text[length] != text[index] {
            length = borders[length - 1];
        }
        if text[length] == text[index] {
            length += 1;
        }
        borders[index] = length;
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn search_finds_the_first_occurrence(whole in "[ab]{0,40}", part in "[ab]{0,6}") {
            let points = |text: &str| text.chars().map(u32::from).collect::<Vec<u32>>();
            let found = find_code_points(points(&whole).into_iter(), &points(&part));
            prop_assert_eq!(found, whole.find(&part));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes many steps on purpose")]
    fn search_takes_linear_time() {
        // A search that starts over at each position would take ten thousand million steps.
        let whole = std::iter::repeat_n(7, 200_000);
        let mut part = vec![7; 100_000];
        part.push(8);
        assert_eq!(find_code_points(whole, &part), None);
    }
}
