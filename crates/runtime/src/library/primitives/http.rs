//! HTTP: the primitives for heads of messages, percent encoding, forms and addresses. `lib/Http.ns` and
//! `lib/Encodings.ns` call them.

use squall_heap::Word;
use squall_system::http::{self, Head, Parsed};
use squall_system::url;

use super::answer;
use super::strings::byte_argument;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{integer_argument, make_integer, size_argument};
use crate::objects::string::{make_byte_string, make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("httpRequest:fields:", |thread, window| {
        answer(parse(thread, window, http::parse_request))
    })
    .by_bytes(),
    Primitive::ordinary("httpResponse:fields:", |thread, window| {
        answer(parse(thread, window, http::parse_response))
    })
    .by_bytes(),
    Primitive::ordinary("httpChunkSize:", |thread, window| answer(chunk_size(thread, window)))
        .by_bytes(),
    Primitive::ordinary("httpIsField:value:", is_field).by_bytes(),
    Primitive::ordinary("httpDate:", |thread, window| answer(date(thread, window))),
    Primitive::ordinary("httpDecoded:", |thread, window| answer(decoded(thread, window)))
        .by_few_bytes(),
    Primitive::ordinary("httpEncoded:", |thread, window| answer(encoded(thread, window)))
        .by_few_bytes(),
    Primitive::ordinary("httpParameters:", |thread, window| answer(parameters(thread, window)))
        .by_few_bytes(),
    Primitive::ordinary("httpUrl:", |thread, window| answer(parse_url(thread, window)))
        .by_few_bytes(),
];

/// More fields than this, no head has.
const MOST_FIELDS: usize = 10_000;

/// Parses a head: answers nil if there is more to come, the status to refuse it with, or an array. *GC
/// point.*
fn parse(
    thread: &mut Thread,
    window: Window,
    parse: fn(&[u8], usize) -> Parsed,
) -> Result<Word, Failure> {
    let most_fields = size_argument(window.get(1))?.min(MOST_FIELDS);
    match parse(byte_argument(&thread.mutator, window.get(0))?, most_fields) {
        Parsed::Partial => Ok(Word::NIL),
        Parsed::Refused(status) => Ok(Word::from_small_integer_unchecked(i64::from(status))),
        Parsed::Head(head) => make_head(thread, &head),
    }
}

/// An array of the two parts of the first line, the minor version, the fields' names and values in one
/// array, and the length. *GC point.*
fn make_head(thread: &mut Thread, head: &Head) -> Result<Word, Failure> {
    array::make_of(thread, 5, |thread, index| match index {
        0 | 1 => make_byte_string(thread, &head.start[index]),
        2 => make_integer(thread, i64::from(head.minor_version)),
        3 => array::make_of(thread, head.fields.len() * 2, |thread, index| {
            make_byte_string(thread, &head.fields[index / 2][index % 2])
        }),
        _ => make_integer(thread, head.length as i64),
    })
}

/// The size in the line before a chunk, or nil. *GC point.*
fn chunk_size(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let size = http::chunk_size(byte_argument(&thread.mutator, window.get(0))?);
    size.map_or(Ok(Word::NIL), |size| make_integer(thread, size as i64))
}

/// Whether two strings may be the name and value of a field.
fn is_field(thread: &mut Thread, window: Window) -> Outcome {
    let (name, value) = (
        byte_argument(&thread.mutator, window.get(0)),
        byte_argument(&thread.mutator, window.get(1)),
    );
    let is_field = matches!((name, value), (Ok(name), Ok(value)) if http::is_field(name, value));
    Outcome::Return(Word::from_bool(is_field))
}

/// The text of a time, given in milliseconds. *GC point.*
fn date(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let milliseconds = integer_argument(window.get(0))?;
    let seconds = u64::try_from(milliseconds / 1000).ok();
    let date = seconds.and_then(http::date).ok_or(Failure::argument(window.get(0)))?;
    make_string(thread, &date)
}

/// The text of percent-encoded bytes. *GC point.*
fn decoded(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = url::decoded(byte_argument(&thread.mutator, window.get(0))?);
    make_string(thread, &text)
}

/// The percent-encoded form of a text. *GC point.*
fn encoded(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let encoded = url::encoded(&text_argument(window.get(0))?);
    make_string(thread, &encoded)
}

/// The parameters of a query or a form: each name, followed by its value. *GC point.*
fn parameters(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let pairs = url::parameters(byte_argument(&thread.mutator, window.get(0))?);
    array::make_of(thread, pairs.len() * 2, |thread, index| {
        make_string(thread, &pairs[index / 2][index % 2])
    })
}

/// The parts of an address: whether it is encrypted, host, port, authority and target. *GC point.*
fn parse_url(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let url = url::parse(&text_argument(window.get(0))?);
    let url = url.ok_or(Failure::argument(window.get(0)))?;
    array::make_of(thread, 5, |thread, index| match index {
        0 => Ok(Word::from_bool(url.is_secure)),
        1 => make_string(thread, &url.host),
        2 => make_integer(thread, i64::from(url.port)),
        3 => make_string(thread, &url.authority),
        _ => make_string(thread, &url.target),
    })
}
