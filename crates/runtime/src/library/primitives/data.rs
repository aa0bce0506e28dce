//! Bytes: the primitives for encodings, digests, compression, randomness and UUIDs, for `lib/Encodings.ns`,
//! `lib/Digests.ns`, `lib/Random.ns` and others. Bytes are strings with a code point for each.

use std::sync::atomic::Ordering;

use squall_data::{compression, digests, encodings, identifiers, random};
use squall_heap::Word;

use super::strings::byte_argument;
use super::{answer, problems};
use crate::model::outcome::{Failure, FailureReason};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{integer_argument, make_integer, size_argument};
use crate::objects::string::{make_byte_string, make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("bytes:encodedAs:", |thread, window| answer(encoded(thread, window))),
    Primitive::ordinary("string:decodedFrom:", |thread, window| answer(decoded(thread, window))),
    Primitive::ordinary("bytes:digest:", |thread, window| answer(digest(thread, window))),
    Primitive::ordinary("bytes:digest:key:", |thread, window| answer(keyed(thread, window))),
    Primitive::ordinary("bytes:compressedAs:level:", |thread, window| {
        answer(compressed(thread, window))
    }),
    Primitive::ordinary("bytes:decompressedFrom:limit:", |thread, window| {
        answer(decompressed(thread, window))
    }),
    Primitive::ordinary("randomNumbers:from:count:", |thread, window| {
        answer(numbers(thread, window))
    }),
    Primitive::ordinary("randomBytes:", |thread, window| answer(random_bytes(thread, window))),
    Primitive::ordinary("uuid:milliseconds:", |thread, window| answer(uuid(thread, window))),
    Primitive::ordinary("uuidText:", |thread, window| answer(uuid_text(thread, window))),
];

/// A copy of the bytes in an argument.
fn bytes(thread: &Thread, window: Window, index: usize) -> Result<Vec<u8>, Failure> {
    byte_argument(&thread.mutator, window.get(index)).map(<[u8]>::to_vec)
}

/// *GC point.*
fn encoded(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (bytes, name) = (bytes(thread, window, 0)?, text_argument(window.get(1))?);
    let text = encodings::encoded(&name, &bytes).ok_or(Failure::argument(window.get(1)))?;
    make_string(thread, &text)
}

/// *GC point.*
fn decoded(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (text, name) = (text_argument(window.get(0))?, text_argument(window.get(1))?);
    match encodings::decoded(&name, &text) {
        None => Err(Failure::argument(window.get(1))),
        Some(Ok(bytes)) => make_byte_string(thread, &bytes),
        Some(Err(problem)) => Err(problems::in_text(thread, &text, &problem)),
    }
}

/// *GC point.*
fn digest(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (bytes, name) = (bytes(thread, window, 0)?, text_argument(window.get(1))?);
    let digest = thread.mutator.native(|| digests::digest(&name, &bytes));
    make_byte_string(thread, &digest.ok_or(Failure::argument(window.get(1)))?)
}

/// *GC point.*
fn keyed(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (data, name) = (bytes(thread, window, 0)?, text_argument(window.get(1))?);
    let key = bytes(thread, window, 2)?;
    let digest = thread.mutator.native(|| digests::keyed(&name, &key, &data));
    make_byte_string(thread, &digest.ok_or(Failure::argument(window.get(1)))?)
}

/// *GC point.*
fn compressed(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (bytes, format) = (bytes(thread, window, 0)?, text_argument(window.get(1))?);
    // No format has so high a level.
    let level: u32 = size_argument(window.get(2))?.try_into().unwrap_or(u32::MAX);
    let compressed = thread.mutator.native(|| compression::compressed(&format, &bytes, level));
    make_byte_string(thread, &compressed.ok_or(Failure::argument(window.get(2)))?)
}

/// *GC point.*
fn decompressed(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (bytes, format) = (bytes(thread, window, 0)?, text_argument(window.get(1))?);
    let limit = size_argument(window.get(2))?;
    match thread.mutator.native(|| compression::decompressed(&format, &bytes, limit)) {
        None => Err(Failure::argument(window.get(1))),
        Some(Ok(bytes)) => make_byte_string(thread, &bytes),
        Some(Err(problem)) => Err(problems::in_bytes(thread, &problem)),
    }
}

/// The most numbers or bytes of one call.
const MOST: usize = 1 << 20;

/// An array of numbers of 60 bits from the sequence of a seed. *GC point.*
fn numbers(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let seed = byte_argument(&thread.mutator, window.get(0))?;
    let seed: [u8; random::SEED] = seed.try_into().map_err(|_| Failure::argument(window.get(0)))?;
    let (position, count) = (size_argument(window.get(1))?, size_argument(window.get(2))?);
    if count > MOST {
        return Err(Failure::argument(window.get(2)));
    }
    let numbers = random::numbers(seed, position as u64, count);
    array::make_of(thread, count, |thread, index| make_integer(thread, numbers[index] as i64))
}

/// Random bytes: of the operating system, or with a seed, of the seed. *GC point.*
fn random_bytes(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let count = size_argument(window.get(0))?;
    if count > MOST {
        return Err(Failure::argument(window.get(0)));
    }
    let bytes = entropy(thread, count);
    match bytes {
        Some(bytes) => make_byte_string(thread, &bytes),
        None => Err(Failure::new(FailureReason::NotSupported)),
    }
}

/// Random bytes; none if the operating system has none.
fn entropy(thread: &Thread, count: usize) -> Option<Vec<u8>> {
    match thread.vm.scheduler.seed() {
        // Relaxed: in a seeded run, one strand runs at a time.
        Some(seed) => {
            let stream = thread.vm.entropy.fetch_add(1, Ordering::Relaxed);
            Some(random::seeded_bytes(seed, stream, count))
        }
        None => random::system_bytes(count),
    }
}

/// A UUID of random bytes, by time if there are milliseconds. *GC point.*
fn uuid(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let bytes = byte_argument(&thread.mutator, window.get(0))?;
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| Failure::argument(window.get(0)))?;
    let text = match window.get(1) {
        Word::NIL => identifiers::random(bytes),
        time => {
            let time =
                u64::try_from(integer_argument(time)?).map_err(|_| Failure::argument(time))?;
            let mut rest = [0; 10];
            rest.copy_from_slice(&bytes[..10]);
            identifiers::by_time(time, rest)
        }
    };
    make_string(thread, &text)
}

/// The usual form of a UUID. *GC point.*
fn uuid_text(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = text_argument(window.get(0))?;
    match identifiers::read(&text) {
        Ok(uuid) => make_string(thread, &uuid.to_string()),
        Err(problem) => Err(problems::in_text(thread, &text, &problem)),
    }
}
