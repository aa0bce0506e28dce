//! Sandboxes: the primitives that make them and their actors, and ask for their state. `lib/Sandboxes.ns` calls them.

use squall_heap::{Object, Word};

use super::answer;
use super::promises::create_actor_in;
use crate::concurrency::isolation;
use crate::concurrency::promises;
use crate::concurrency::sandbox::{self, grants};
use crate::model::known;
use crate::model::outcome::Failure;
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::number::{Number, make_integer};
use crate::objects::string::{make_string, symbol_object, text_argument};
use crate::state::sandbox::{Budgets, Reason, SandboxRef, slots};
use crate::state::thread::{Thread, Window};
use crate::state::vat;

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::effect("newSandbox:granting:budgets:promise:error:", |thread, window| {
        answer(make(thread, window))
    }),
    Primitive::effect("sandbox:actor:", |thread, window| {
        let sandbox = sandbox_argument(window.get(0));
        answer(sandbox.and_then(|sandbox| create_actor_in(thread, window.get(1), sandbox)))
    }),
    Primitive::effect("sandboxTerminate:", |thread, window| {
        let sandbox = sandbox_argument(window.get(0));
        answer(sandbox.map(|sandbox| Word::from_bool(sandbox::terminate(thread.vm, sandbox))))
    }),
    Primitive::ordinary("sandboxReason:", |thread, window| answer(reason(thread, window))),
    Primitive::ordinary("sandboxReport:", |thread, window| {
        let report = sandbox_argument(window.get(0)).map(SandboxRef::report);
        answer(report.and_then(|report| make_string(thread, &report)))
    }),
    Primitive::ordinary("sandboxUsage:", |thread, window| answer(usage(thread, window))),
    Primitive::ordinary("sandboxEnd:", |thread, window| answer(promise(thread, window))),
];

fn sandbox_object(word: Word) -> Result<Object, Failure> {
    let object = word.as_object().filter(|object| object.layout() == known::SANDBOX);
    object.ok_or(Failure::argument(word))
}

pub(super) fn sandbox_argument(word: Word) -> Result<SandboxRef, Failure> {
    sandbox_object(word).map(SandboxRef::of_object)
}

/// The second word is an array of names of modules, the third one an array: fuel, bytes, strands, messages, milliseconds, each
/// nil for no limit. *GC point.*
fn make(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let name = text_argument(window.get(0))?;
    let grants = grants::of_array(window.get(1))?;
    let array = window.get(2).as_object().filter(|object| object.layout().format().has_elements());
    let array =
        array.filter(|array| array.length() == 5).ok_or(Failure::argument(window.get(2)))?;
    let budgets = Budgets {
        fuel: budget(array.element(0))?,
        heap: budget(array.element(1))?,
        strands: budget(array.element(2))?,
        messages: budget(array.element(3))?,
        time: budget(array.element(4))?,
    };
    // In a replay, its strands end where they have ended in the recording.
    let budgets = if thread.repeats() { Budgets::default() } else { budgets };
    sandbox::make(thread, name, budgets, grants, Some((window, 3))).map(Object::word)
}

/// More than there can be is as much as one likes.
fn budget(word: Word) -> Result<Option<u64>, Failure> {
    if word == Word::NIL {
        return Ok(None);
    }
    match Number::of(word) {
        Some(Number::Small(amount)) if amount >= 0 => Ok(Some(amount as u64)),
        _ => Err(Failure::argument(word)),
    }
}

/// Why a sandbox is over, a symbol; nil if it is not. *GC point.*
fn reason(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let reason = sandbox_argument(window.get(0))?.reason();
    if reason == Reason::Live {
        return Ok(Word::NIL);
    }
    let symbol = thread.vm.symbol(reason.name());
    symbol_object(thread, symbol)
}

fn usage(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let usage = sandbox_argument(window.get(0))?.usage();
    array::make_value_of(thread, usage.len(), |thread, index| {
        make_integer(thread, i64::try_from(usage[index]).unwrap_or(i64::MAX))
    })
}

/// The promise for the end, as this vat may have it. *GC point.*
fn promise(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let here = vat::current(thread)?;
    let promise = sandbox_object(window.get(0))?.slot(slots::PROMISE);
    let object = promise.as_object().ok_or(Failure::argument(window.get(0)))?;
    isolation::wrap(thread, promise, promises::owner(object), here)
}
