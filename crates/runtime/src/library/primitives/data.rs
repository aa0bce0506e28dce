//! Bytes: the primitives for encodings, digests, compression, randomness and UUIDs. `lib/Encodings.ns`,
//! `lib/Digests.ns`, `lib/Compression.ns`, `lib/Random.ns` and `lib/Uuids.ns` call them. Bytes are strings with a code
//! point for each.

use std::sync::atomic::Ordering;

use squall_data::{compression, digests, encodings, identifiers, random};
use squall_heap::Word;

use super::strings::byte_argument;
use super::{answer, problems};
use crate::library::work;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{integer_argument, make_integer, size_argument};
use crate::objects::string::{make_byte_string, make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("bytes:encodedAs:", encoded).in_pieces(),
    Primitive::ordinary("string:decodedFrom:", decoded).in_pieces(),
    Primitive::ordinary("bytes:digest:", digest).in_pieces(),
    Primitive::ordinary("bytes:digest:key:", keyed).in_pieces(),
    Primitive::ordinary("bytes:compressedAs:level:", compressed).in_pieces(),
    Primitive::ordinary("bytes:decompressedFrom:limit:", decompressed).in_pieces(),
    Primitive::ordinary("randomNumbers:from:count:", |thread, window| {
        answer(numbers(thread, window))
    }),
    Primitive::ordinary("randomBytes:", |thread, window| answer(random_bytes(thread, window))),
    Primitive::ordinary("uuid:milliseconds:", |thread, window| answer(uuid(thread, window))),
    Primitive::ordinary("uuidText:", |thread, window| answer(uuid_text(thread, window)))
        .by_few_bytes(),
];

/// A copy of the bytes in an argument.
fn bytes(thread: &Thread, window: Window, index: usize) -> Result<Vec<u8>, Failure> {
    byte_argument(&thread.mutator, window.get(index)).map(<[u8]>::to_vec)
}

/// The bytes and the text in the first two arguments.
fn bytes_and_name(thread: &Thread, window: Window) -> Result<(Vec<u8>, String), Failure> {
    Ok((bytes(thread, window, 0)?, text_argument(window.get(1))?))
}

/// A computation on the bytes and the text in the first two arguments. *GC point.*
fn computed<T: 'static, F>(
    thread: &mut Thread,
    window: Window,
    work: impl FnOnce(Vec<u8>, String) -> F,
    conclude: impl FnOnce(&mut Thread, T) -> Result<Word, Failure> + Send + 'static,
) -> Outcome
where
    F: Future<Output = T> + Send + 'static,
{
    match bytes_and_name(thread, window) {
        Ok((bytes, name)) => work::compute(thread, bytes.len(), work(bytes, name), conclude),
        Err(failure) => failure.into(),
    }
}

/// Fails unless a name is known.
fn check_name(window: Window, is_known: fn(&str) -> bool) -> Result<(), Failure> {
    let name = text_argument(window.get(1))?;
    if is_known(&name) { Ok(()) } else { Err(Failure::argument(window.get(1))) }
}

/// *GC point.*
fn encoded(thread: &mut Thread, window: Window) -> Outcome {
    if let Err(failure) = check_name(window, encodings::is_known) {
        return failure.into();
    }
    computed(
        thread,
        window,
        |bytes, name| async move { encodings::encoded(&name, &bytes).await },
        |thread, text| make_string(thread, &text.expect("the encoding is known")),
    )
}

/// *GC point.*
fn decoded(thread: &mut Thread, window: Window) -> Outcome {
    let text = match text_argument(window.get(0)) {
        Ok(text) => text,
        Err(failure) => return failure.into(),
    };
    let name = match check_name(window, encodings::is_known) {
        Ok(()) => text_argument(window.get(1)).unwrap_or_default(),
        Err(failure) => return failure.into(),
    };
    let size = text.len();
    let work = async move {
        let decoded = encodings::decoded(&name, &text).await.expect("the encoding is known");
        decoded.map_err(|problem| (text, problem))
    };
    work::compute(thread, size, work, |thread, decoded| match decoded {
        Ok(bytes) => make_byte_string(thread, &bytes),
        Err((text, problem)) => Err(problems::in_text(thread, &text, &problem)),
    })
}

/// *GC point.*
fn digest(thread: &mut Thread, window: Window) -> Outcome {
    if let Err(failure) = check_name(window, digests::is_known) {
        return failure.into();
    }
    computed(
        thread,
        window,
        |bytes, name| async move { digests::digest(&name, &bytes).await },
        |thread, digest| make_byte_string(thread, &digest.expect("the function is known")),
    )
}

/// *GC point.*
fn keyed(thread: &mut Thread, window: Window) -> Outcome {
    let key = match bytes(thread, window, 2) {
        Ok(key) => key,
        Err(failure) => return failure.into(),
    };
    let fits = text_argument(window.get(1)).is_ok_and(|name| digests::takes_key(&name, &key));
    if byte_argument(&thread.mutator, window.get(0)).is_ok() && !fits {
        return Failure::argument(window.get(1)).into();
    }
    computed(
        thread,
        window,
        |bytes, name| async move { digests::keyed(&name, &key, &bytes).await },
        |thread, digest| make_byte_string(thread, &digest.expect("the function takes the key")),
    )
}

/// *GC point.*
fn compressed(thread: &mut Thread, window: Window) -> Outcome {
    let level = match size_argument(window.get(2)) {
        // No format has so high a level.
        Ok(level) => u32::try_from(level).unwrap_or(u32::MAX),
        Err(failure) => return failure.into(),
    };
    let fits = text_argument(window.get(1)).is_ok_and(|name| compression::has_level(&name, level));
    if byte_argument(&thread.mutator, window.get(0)).is_ok() && !fits {
        return Failure::argument(window.get(2)).into();
    }
    let (bytes, format) = match bytes_and_name(thread, window) {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let size = bytes.len();
    let work = async move { compression::compressed(&format, &bytes, level).await };
    let conclude = |thread: &mut Thread, bytes: Option<Vec<u8>>| {
        make_byte_string(thread, &bytes.ok_or_else(Failure::out_of_memory)?)
    };
    match compression::has_long_pieces(level) {
        true => work::compute_beside(thread, size, work, conclude),
        false => work::compute(thread, size, work, conclude),
    }
}

/// *GC point.*
fn decompressed(thread: &mut Thread, window: Window) -> Outcome {
    let limit = match size_argument(window.get(2)) {
        Ok(limit) => limit,
        Err(failure) => return failure.into(),
    };
    if byte_argument(&thread.mutator, window.get(0)).is_ok()
        && let Err(failure) = check_name(window, compression::is_known)
    {
        return failure.into();
    }
    let (bytes, format) = match bytes_and_name(thread, window) {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    // Few bytes can stand for many.
    let size = bytes.len().max(work::SMALL + 1);
    let work = async move { compression::decompressed(&format, &bytes, limit).await };
    work::compute(thread, size, work, |thread, result| match result.expect("the format is known") {
        Ok(bytes) => make_byte_string(thread, &bytes),
        Err(problem) => Err(problems::in_bytes(thread, &problem)),
    })
}

/// The most numbers or bytes of one call.
const MOST: usize = 1 << 20;

/// How many units of work a number is.
const UNITS_OF_NUMBER: usize = 3;

/// An array of numbers of 60 bits from the sequence of a seed. *GC point.*
fn numbers(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let seed = byte_argument(&thread.mutator, window.get(0))?;
    let seed: [u8; random::SEED] = seed.try_into().map_err(|_| Failure::argument(window.get(0)))?;
    let (position, count) = (size_argument(window.get(1))?, size_argument(window.get(2))?);
    if count > MOST {
        return Err(Failure::argument(window.get(2)));
    }
    thread.charge(count * UNITS_OF_NUMBER);
    let numbers = random::numbers(seed, position as u64, count);
    array::make_of(thread, count, |thread, index| make_integer(thread, numbers[index] as i64))
}

/// Random bytes: of the operating system, or with a seed, of the seed. *GC point.*
fn random_bytes(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let count = size_argument(window.get(0))?;
    if count > MOST {
        return Err(Failure::argument(window.get(0)));
    }
    thread.charge(count);
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
