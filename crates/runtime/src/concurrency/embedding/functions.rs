//! Native functions and objects that guest code finds under a name. The embedder registers them, and the primitives of
//! `lib/Host.ns` call them.
//!
//! A native function is called on the native thread that runs the strand, *outside*: if it takes long, another worker
//! takes over that native thread's items. So it may block, and it may call the machine. Its arguments and its answer are
//! native values. If it panics, that is a guest exception like an error that it answers.

use std::cell::Cell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::RwLock;
use squall_heap::Word;

use super::value::{self, Value};
use crate::concurrency::sandbox::grants;
use crate::concurrency::worker::outside;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::string::{make_string, text_argument};
use crate::state::thread::{Thread, Window};
use crate::state::vat;

/// A function of the embedder.
pub type NativeFunction = Arc<dyn Fn(&[Value]) -> Result<Value, String> + Send + Sync>;

/// The functions and values that the embedder has registered.
#[derive(Default)]
pub struct Functions {
    functions: RwLock<HashMap<String, NativeFunction>>,
    values: RwLock<HashMap<String, Value>>,
}

impl Functions {
    /// Registers a function, in place of what had the name before.
    pub fn register(&self, name: &str, function: NativeFunction) {
        self.functions.write().insert(name.to_owned(), function);
    }

    /// Registers a value, in place of what had the name before.
    pub fn provide(&self, name: &str, value: Value) {
        self.values.write().insert(name.to_owned(), value);
    }

    /// The function with this name.
    pub fn function(&self, name: &str) -> Option<NativeFunction> {
        self.functions.read().get(name).cloned()
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.values.read().get(name).cloned()
    }
}

thread_local! {
    /// How many native functions run on this native thread, one inside of the other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Whether a native function runs on this native thread, called by guest code.
pub fn is_inside() -> bool {
    DEPTH.get() > 0
}

/// Calls the function that the window's first word names with the elements of the array in the second. *GC point.*
pub fn call(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let is_array = |word: Word| {
        word.as_object().filter(|object| object.layout().format().has_elements()).is_some()
    };
    if !is_array(window.get(1)) {
        return Err(Failure::argument(window.get(1)));
    }
    let array = || window.get(1).object();
    perform(thread, window, array().length(), |index| array().element(index))
}

/// Calls the function that the window's first word names with the others. *GC point.*
pub fn apply(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    perform(thread, window, window.len() - 1, |index| window.get(1 + index))
}

/// Calls the function that the window's first word names with `count` arguments, each of which is fetched when it is
/// needed. *GC point.*
fn perform(
    thread: &mut Thread,
    window: Window,
    count: usize,
    argument: impl Fn(usize) -> Word,
) -> Result<Word, Failure> {
    let name = text_argument(window.get(0))?;
    grants::check(thread, grants::module_of(&name), &name)?;
    let function = thread.vm.concurrency().embedding.functions.function(&name);
    let Some(function) = function else {
        return Err(failure(thread, &format!("the host has no function {name}")));
    };
    let here = vat::current(thread)?;
    let arguments = (0..count).map(|index| value::to_native(thread, argument(index), here));
    let arguments = arguments.collect::<Result<Vec<Value>, Failure>>()?;
    match outside(thread, || run(&function, &arguments)) {
        Ok(result) => value::to_guest(thread, &result, here),
        Err(text) => Err(failure(thread, &format!("{name}: {text}"))),
    }
}

fn run(function: &NativeFunction, arguments: &[Value]) -> Result<Value, String> {
    DEPTH.set(DEPTH.get() + 1);
    // The function is responsible for the state that it leaves after a panic.
    let result = catch_unwind(AssertUnwindSafe(|| function(arguments)));
    DEPTH.set(DEPTH.get() - 1);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(format!("the host's function panicked: {}", text.unwrap_or("no text")))
    })
}

/// The value that the window's first word names. *GC point.*
pub fn provided(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let name = text_argument(window.get(0))?;
    grants::check(thread, "host", &name)?;
    match thread.vm.concurrency().embedding.functions.value(&name) {
        Some(value) => {
            let here = vat::current(thread)?;
            value::to_guest(thread, &value, here)
        }
        None => Err(failure(thread, &format!("the host provides nothing called {name}"))),
    }
}

/// Whether there is a function that the window's first word names. *GC point.*
pub fn has_function(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let name = text_argument(window.get(0))?;
    grants::check(thread, grants::module_of(&name), &name)?;
    Ok(Word::from_bool(thread.vm.concurrency().embedding.functions.function(&name).is_some()))
}

/// The failure for which the kernel signals a `HostError`. *GC point.*
fn failure(thread: &mut Thread, text: &str) -> Failure {
    match make_string(thread, text) {
        Ok(text) => Failure::with(FailureReason::Host, text, Word::NIL),
        Err(failure) => failure,
    }
}
