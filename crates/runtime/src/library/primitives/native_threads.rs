//! Native threads: primitives that make them and bind strands to them. `lib/Threading.ns` calls them.

use squall_heap::Word;

use super::answer;
use super::strands::duration_argument;
use crate::concurrency::native_threads::{self as natives, NATIVE_THREADS};
use crate::concurrency::sandbox::{blocking, grants};
use crate::concurrency::waiting;
use crate::model::known;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::number::make_integer;
use crate::objects::string::text_argument;
use crate::state::affinity::Home;
use crate::state::strand::StrandRef;
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::effect("mainNativeThread:", |thread, window| {
        answer(natives::register_main(thread, window.get(0)).map(number))
    }),
    Primitive::effect("startNativeThread:owner:", |thread, window| answer(start(thread, window))),
    Primitive::effect("currentNativeThread", |thread, _| {
        Outcome::Return(thread.vm.native_threads.object(thread.strand().home()))
    }),
    Primitive::effect("confineStrand:", confine),
    Primitive::effect("strand:bindTo:", bind),
    Primitive::effect("systemThreadNumber", |thread, _| answer(system_number(thread))),
    Primitive::effect("blockNativeThread:", |thread, window| answer(block(thread, window))),
];

fn number(home: Home) -> Word {
    Word::from_small_integer_unchecked(home.number())
}

/// Starts a native thread with the name in the window, for as long as the object there lives.
fn start(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let name = text_argument(window.get(0))?;
    grants::check(thread, NATIVE_THREADS, "a native thread of one's own")?;
    if !window.get(1).is_pointer() {
        return Err(Failure::argument(window.get(1)));
    }
    natives::start(thread, name, window).map(number)
}

/// Confines the running strand to a native thread for a time, or to none; answers the object of the one
/// that it was confined to before, or nil.
fn confine(thread: &mut Thread, window: Window) -> Outcome {
    let home = match natives::home_argument(thread, window.get(0)) {
        Ok(home) => home,
        Err(failure) => return failure.into(),
    };
    let strand = thread.strand();
    if strand.anchor().is_some() && home != Home::ANYWHERE && home != thread.home {
        return natives::unsupported(thread, "leaving the native thread that C has called").into();
    }
    let before = strand.affinity.confine(home);
    let before = thread.vm.native_threads.object(before);
    if strand.is_at_home(thread.home) { Outcome::Return(before) } else { Outcome::Move(before) }
}

/// Binds a strand to a native thread for good, or to none.
fn bind(thread: &mut Thread, window: Window) -> Outcome {
    let home = match natives::home_argument(thread, window.get(1)) {
        Ok(home) => home,
        Err(failure) => return failure.into(),
    };
    let object = window.get(0).as_object().filter(|object| object.layout() == known::STRAND);
    let Some(object) = object else { return Failure::argument(window.get(0)).into() };
    // Under the lock it does not end.
    waiting::lock(&mut thread.mutator, object);
    let strand = StrandRef::of_object(object);
    strand.into_iter().for_each(|strand| strand.affinity.bind(home));
    waiting::unlock(&mut thread.mutator, object);
    let Some(strand) = strand else { return Outcome::Return(Word::NIL) };
    if thread.running_strand() != Some(strand) {
        // If it runs, it looks at its next poll where it is at home.
        thread.vm.preempt_strand(strand);
        return Outcome::Return(Word::NIL);
    }
    match strand.is_at_home(thread.home) {
        true => Outcome::Return(Word::NIL),
        false => Outcome::Move(Word::NIL),
    }
}

/// The number by which the system knows the calling native thread; nil if it does not tell.
fn system_number(thread: &mut Thread) -> Result<Word, Failure> {
    grants::check(thread, NATIVE_THREADS, "the number of a native thread")?;
    let path = std::fs::read_link("/proc/thread-self").ok();
    let name = path.as_deref().and_then(|path| path.file_name()?.to_str());
    match name.and_then(|name| name.parse().ok()) {
        Some(number) => make_integer(thread, number),
        None => Ok(Word::NIL),
    }
}

/// Blocks the calling native thread for this many milliseconds, like a long call of the system.
fn block(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let duration = duration_argument(window.get(0))?;
    grants::check(thread, NATIVE_THREADS, "blocking a native thread")?;
    blocking::outside(thread, || {
        if !duration.is_zero() {
            std::thread::sleep(duration);
        }
    })?;
    Ok(Word::NIL)
}
