//! Calendars: the primitives for instants, zones and durations. `lib/Time.ns` calls them. Instants and durations are
//! nanoseconds.

use num_bigint::BigInt;
use num_traits::ToPrimitive;
use squall_data::{Problem, calendar};
use squall_heap::Word;

use super::{answer, problems};
use crate::concurrency::transactions::access;
use crate::model::outcome::Failure;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{Number, integer_argument, make_big, make_integer};
use crate::objects::string::{make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("timeFields:zone:", |thread, window| answer(fields(thread, window)))
        .by_few_bytes(),
    Primitive::ordinary("timeOf:zone:choice:", |thread, window| answer(instant(thread, window)))
        .by_few_bytes(),
    Primitive::ordinary("time:zone:shiftedBy:", |thread, window| answer(shifted(thread, window))),
    Primitive::ordinary("time:zone:format:", |thread, window| answer(formatted(thread, window)))
        .by_few_bytes(),
    Primitive::ordinary("timeFrom:format:zone:", |thread, window| answer(parsed(thread, window)))
        .by_few_bytes(),
    Primitive::ordinary("zoneNames", |thread, _| answer(zone_names(thread))),
    Primitive::ordinary("zoneName:", |thread, window| {
        let text = text_argument(window.get(0));
        answer(text.and_then(|text| {
            let name = calendar::zone_name(&text);
            let name = name.map_err(|problem| problems::in_text(thread, &text, &problem))?;
            make_string(thread, &name)
        }))
    }),
    Primitive::ordinary("durationText:", |thread, window| answer(duration_text(thread, window))),
    Primitive::ordinary("durationFrom:", |thread, window| answer(duration(thread, window)))
        .by_few_bytes(),
];

/// Nanoseconds, which need more than 64 bits outside of the years 1677 to 2262.
fn nanoseconds(word: Word) -> Result<i128, Failure> {
    let number = Number::of(word).and_then(|number| number.to_integer());
    number.and_then(|number| number.to_i128()).ok_or(Failure::argument(word))
}

/// *GC point.*
fn made(thread: &mut Thread, text: &str, result: Result<i128, Problem>) -> Result<Word, Failure> {
    match result {
        Ok(nanoseconds) => make_big(thread, BigInt::from(nanoseconds)),
        Err(problem) => Err(problems::in_text(thread, text, &problem)),
    }
}

/// The integers in an array of this length.
fn integers<const N: usize>(
    thread: &mut Thread,
    window: Window,
    index: usize,
) -> Result<[i64; N], Failure> {
    let array = array::of(window.get(index)).filter(|array| array.length() == N);
    if array.is_none() {
        return Err(Failure::argument(window.get(index)));
    }
    let mut integers = [0; N];
    for (element, integer) in integers.iter_mut().enumerate() {
        let array = array::of(window.get(index)).ok_or(Failure::argument(window.get(index)))?;
        *integer = integer_argument(access::element(thread, array, element)?)?;
    }
    Ok(integers)
}

/// An array of twelve numbers, whether daylight saving time is in force, and the offset's abbreviation. *GC point.*
fn fields(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (instant, zone) = (nanoseconds(window.get(0))?, text_argument(window.get(1))?);
    let fields = match calendar::fields(instant, &zone) {
        Ok(fields) => fields,
        Err(problem) => return Err(problems::in_text(thread, &zone, &problem)),
    };
    let count = fields.numbers.len();
    array::make_of(thread, count + 2, |thread, index| match fields.numbers.get(index) {
        Some(number) => make_integer(thread, *number),
        None if index == count => Ok(Word::from_bool(fields.is_saving)),
        None => make_string(thread, &fields.abbreviation),
    })
}

/// *GC point.*
fn instant(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let numbers = integers::<7>(thread, window, 0)?;
    let (zone, choice) = (text_argument(window.get(1))?, text_argument(window.get(2))?);
    let instant = calendar::instant(numbers, &zone, &choice);
    made(thread, "", instant)
}

/// *GC point.*
fn shifted(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let span = integers::<4>(thread, window, 2)?;
    let (instant, zone) = (nanoseconds(window.get(0))?, text_argument(window.get(1))?);
    let shifted = calendar::shifted(instant, &zone, span);
    made(thread, "", shifted)
}

/// *GC point.*
fn formatted(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (instant, zone) = (nanoseconds(window.get(0))?, text_argument(window.get(1))?);
    let format = text_argument(window.get(2))?;
    match calendar::formatted(instant, &zone, &format) {
        Ok(text) => make_string(thread, &text),
        Err(problem) => Err(problems::in_text(thread, &format, &problem)),
    }
}

/// *GC point.*
fn parsed(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (text, format) = (text_argument(window.get(0))?, text_argument(window.get(1))?);
    let zone = text_argument(window.get(2))?;
    let parsed = calendar::parsed(&text, &format, &zone);
    made(thread, &text, parsed)
}

/// *GC point.*
fn zone_names(thread: &mut Thread) -> Result<Word, Failure> {
    // There are some six hundred.
    thread.charge(30_000);
    let names = calendar::zone_names();
    array::make_of(thread, names.len(), |thread, index| make_string(thread, &names[index]))
}

/// *GC point.*
fn duration_text(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = calendar::duration_text(nanoseconds(window.get(0))?);
    make_string(thread, &text.ok_or(Failure::argument(window.get(0)))?)
}

/// *GC point.*
fn duration(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = text_argument(window.get(0))?;
    let duration = calendar::duration_of(&text);
    made(thread, &text, duration)
}
