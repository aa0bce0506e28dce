//! Callouts: guest code calls C. The primitives for `lib/Foreign.ns` call this module.
//!
//! A call has three parts: its arguments are checked and put in place, which reads guest objects; C runs, which touches
//! none; its result becomes a word. A *light* call, of integers and addresses, does the first in registers; others need
//! room for their arguments. Around the middle part the native thread gives up its vat ([`worker::go_outside`]), so
//! that a function which takes a day delays only its strand. A *leaf* call omits that: it is for functions that neither
//! wait nor call back.
//!
//! While C runs, [`CALLOUT`](callbacks) leads callbacks to the thread, by a pointer made from the thread's exclusive
//! reference; nothing else uses the thread until the call is over.

use squall_foreign::{
    CallError, CallSpace, CompletedCall, Function, LightCall, LightResult, NarrowResult, Value,
};
use squall_heap::{Object, Word};

use super::callbacks::{self, Callout};
use super::convert::{self, Encoded};
use super::{Body, ForeignFunction, KnownType, confinement};
use crate::concurrency::transactions::access;
use crate::concurrency::worker;
use crate::model::outcome::{Failure, Outcome};
use crate::objects::array;
use crate::state::thread::{Thread, Window};

/// Calls the function in the window's first word with the `N` words that follow. *GC point.*
#[inline]
pub fn call<const N: usize>(thread: &mut Thread, window: Window) -> Outcome {
    if let Err(failure) = check_grant(thread) {
        return failure.into();
    }
    let Some((handle, function)) = callee(window.get(0)) else {
        return Failure::argument(window.get(0)).into();
    };
    let is_here = !function.is_confined || confinement::is_here(thread, handle);
    if is_here && let Some(call) = light_call::<N>(thread, function, |index| window.get(index)) {
        return match call.narrow() {
            // SAFETY: see `perform`.
            Ok(narrow) => conclude(thread, function, || unsafe { narrow.invoke() }),
            // SAFETY: see `perform`.
            Err(wide) => conclude(thread, function, || unsafe { wide.invoke() }),
        };
    }
    call_prepared::<N>(thread, window)
}

/// The short form of [`call`] for leaves: makes narrow calls, and answers none for others.
///
/// If the leaf has called back, which it may not, the answer is none as well, also when this is tried again; and [`call`]
/// signals that.
pub fn call_leaf<const N: usize>(thread: &mut Thread, words: [Word; 4]) -> Option<Word> {
    let (_, function) = callee(words[0])?;
    let is_barred = function.is_confined || thread.sandbox.is_some() || callbacks::is_refused();
    if !function.is_leaf || is_barred {
        return None;
    }
    let call = light_call::<N>(thread, function, |index| words[index])?.narrow().ok()?;
    // SAFETY: see `perform`.
    let completed = unsafe { call.invoke() };
    thread.running().set_errno(completed.errno());
    if callbacks::is_refused() {
        return None;
    }
    Some(convert::narrow_to_guest(completed.value()))
}

/// The call, if it is a [light](squall_foreign::LightCall) one: of integers, nil, pointers and functions. The arguments are
/// the words from 1 on.
#[inline]
fn light_call<const N: usize>(
    thread: &Thread,
    function: &'static ForeignFunction,
    word_at: impl Fn(usize) -> Word,
) -> Option<LightCall<'static, N>> {
    let mut call = function.function.light::<N>()?;
    for index in 0..N {
        let word = word_at(index + 1);
        let fits = match word.as_small_integer() {
            Some(integer) => call.put_integer(index, integer),
            None => {
                let address = convert::lasting_address(thread.vm, word)?;
                call.put_address(index, address)
            }
        };
        if !fits {
            return None;
        }
    }
    Some(call)
}

/// As [`call`], for calls that are not light, and those that cannot be made.
#[inline(never)]
fn call_prepared<const N: usize>(thread: &mut Thread, window: Window) -> Outcome {
    let mut encoded = Encoded::new();
    let mut values = [Value::Void; N];
    for (index, value) in values.iter_mut().enumerate() {
        let word = window.get(index + 1);
        // SAFETY: there is no GC point before the call is prepared, which copies texts; `encoded` lives longer. The
        // window keeps memory objects reachable during the call.
        match unsafe { convert::to_c(thread.vm, word, &mut encoded) } {
            Some(converted) => *value = converted,
            None => return refuse(thread, window.get(0), index, word),
        }
    }
    perform(thread, window, &values, false)
}

/// Calls the function in the window's first word with the elements of the array in the second. *GC point.*
pub fn call_with_array(thread: &mut Thread, window: Window) -> Outcome {
    if let Err(failure) = check_grant(thread) {
        return failure.into();
    }
    let Some(array) = array::of(window.get(1)) else {
        return Failure::argument(window.get(1)).into();
    };
    let mut encoded = Encoded::new();
    let mut values = Vec::with_capacity(array.length());
    for index in 0..array.length() {
        let word = match access::element(thread, array, index) {
            Ok(word) => word,
            Err(failure) => return failure.into(),
        };
        // SAFETY: there is no GC point before the call is prepared, which copies texts; `encoded` lives longer. The
        // window keeps memory objects reachable during the call.
        match unsafe { convert::to_c(thread.vm, word, &mut encoded) } {
            Some(value) => values.push(value),
            None => return refuse(thread, window.get(0), index, word),
        }
    }
    perform(thread, window, &values, true)
}

/// Others may have opened a library that a sandbox could not.
#[inline]
fn check_grant(thread: &mut Thread) -> Result<(), Failure> {
    match thread.sandbox {
        None => Ok(()),
        Some(_) => super::check_permission(thread, "a call of C"),
    }
}

/// The function in a word, and its handle.
#[inline]
fn callee(word: Word) -> Option<(Object, &'static ForeignFunction)> {
    let handle = super::handle(word)?;
    match &super::native_of(handle).body {
        Body::Function(function) => Some((handle, function)),
        _ => None,
    }
}

fn perform(
    thread: &mut Thread,
    window: Window,
    values: &[Value<'static>],
    in_array: bool,
) -> Outcome {
    let Some((handle, function)) = callee(window.get(0)) else {
        return Failure::argument(window.get(0)).into();
    };
    if function.is_confined && !confinement::is_here(thread, handle) {
        return confinement::call(thread, window, in_array);
    }
    let mut space = CallSpace::new();
    let prepared = match function.function.prepare(&mut space, values) {
        Ok(prepared) => prepared,
        Err(error) => return call_failure(thread, &error).into(),
    };
    // SAFETY: the user who started the program with `--allow-ffi` vouches for declarations and arguments. The
    // arguments' memory is pinned. Functions that only one native thread may call are called there.
    conclude(thread, function, || unsafe { prepared.invoke() })
}

/// A call that has returned.
trait Completed {
    fn errno(&self) -> i32;
    /// The guest's word for the result. *GC point.*
    fn answer(&self, thread: &mut Thread, function: &ForeignFunction) -> Outcome;
}

impl Completed for CompletedCall<'_, '_> {
    fn errno(&self) -> i32 {
        CompletedCall::errno(self)
    }

    fn answer(&self, thread: &mut Thread, function: &ForeignFunction) -> Outcome {
        answer(thread, function, self.value())
    }
}

impl Completed for LightResult {
    #[inline]
    fn errno(&self) -> i32 {
        LightResult::errno(self)
    }

    #[inline]
    fn answer(&self, thread: &mut Thread, function: &ForeignFunction) -> Outcome {
        answer(thread, function, self.value())
    }
}

impl Completed for NarrowResult {
    #[inline]
    fn errno(&self) -> i32 {
        NarrowResult::errno(self)
    }

    #[inline]
    fn answer(&self, _: &mut Thread, _: &ForeignFunction) -> Outcome {
        Outcome::Return(convert::narrow_to_guest(self.value()))
    }
}

/// Makes a call that is ready to be made.
#[inline]
fn conclude<C: Completed>(
    thread: &mut Thread,
    function: &ForeignFunction,
    invoke: impl FnOnce() -> C,
) -> Outcome {
    match function.is_leaf {
        true => call_inside(thread, function, invoke),
        false => call_outside(thread, function, invoke),
    }
}

#[inline]
fn call_inside<C: Completed>(
    thread: &mut Thread,
    function: &ForeignFunction,
    invoke: impl FnOnce() -> C,
) -> Outcome {
    // Otherwise, the function has been called already: see `call_leaf`.
    if !callbacks::is_refused() {
        let completed = invoke();
        thread.running().set_errno(completed.errno());
        if !callbacks::is_refused() {
            return completed.answer(thread, function);
        }
    }
    callbacks::forget_refusal();
    leaf_called_back(thread, &function.function).into()
}

#[inline]
fn call_outside<C: Completed>(
    thread: &mut Thread,
    function: &ForeignFunction,
    invoke: impl FnOnce() -> C,
) -> Outcome {
    let thread = std::ptr::from_mut(thread);
    let callout = Callout::new(thread);
    let before = callbacks::enter(&callout);
    // SAFETY: the pointer is from the exclusive reference, which is not used while C runs; callbacks use the
    // same pointer, and are over when C returns.
    worker::go_outside(unsafe { &mut *thread });
    let completed = invoke();
    // SAFETY: as above.
    let thread = unsafe { &mut *thread };
    worker::come_back(thread);
    callbacks::leave(before);
    thread.running().set_errno(completed.errno());
    match callout.has_failed() {
        true => callout.failure(thread),
        false => completed.answer(thread, function),
    }
}

/// The word for a structure that a function has answered before. *GC point.*
pub fn make_result(thread: &mut Thread, function: Word, bytes: &[u8]) -> Result<Word, Failure> {
    let (_, function) = callee(function).ok_or(Failure::argument(function))?;
    result(thread, function, Value::Record(bytes))
}

fn answer(thread: &mut Thread, function: &ForeignFunction, value: Value<'_>) -> Outcome {
    result(thread, function, value).into()
}

fn result(
    thread: &mut Thread,
    function: &ForeignFunction,
    value: Value<'_>,
) -> Result<Word, Failure> {
    let of = || {
        let result = function.function.signature().result();
        let declarations = function.declarations.clone();
        Some(KnownType { c_type: result.clone(), declarations })
    };
    convert::to_guest(thread, value, of)
}

/// The outcome of a call with an argument that C cannot have.
#[cold]
fn refuse(thread: &mut Thread, function: Word, index: usize, word: Word) -> Outcome {
    let Ok(Body::Function(function)) = super::body(function) else {
        return Failure::argument(function).into();
    };
    let what = convert::refused(thread.vm, word);
    let (number, name) = (index + 1, function.function.name());
    let text = format!("argument {number} of `{name}`: {what} cannot be passed to C");
    super::failure(thread, "Argument", &text).into()
}

#[cold]
fn leaf_called_back(thread: &mut Thread, function: &Function) -> Failure {
    let text = format!("`{}` is called as a leaf, but calls back", function.name());
    super::failure(thread, "Callback", &text)
}

/// The failure for a call that cannot be made. *GC point.*
#[cold]
pub fn call_failure(thread: &mut Thread, error: &CallError) -> Failure {
    let reason = match error {
        CallError::Library(error) => super::library_reason(error),
        CallError::Arity { .. } | CallError::TooMany => "Arity",
        CallError::Memory(error) => super::memory_reason(error),
        CallError::Argument { mismatch: squall_foreign::Mismatch::Released, .. } => "Released",
        CallError::Argument { .. } | CallError::TooLarge { .. } | CallError::Type(_) => "Argument",
    };
    super::failure(thread, reason, &error.to_string())
}
