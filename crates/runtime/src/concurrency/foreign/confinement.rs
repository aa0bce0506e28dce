//! Libraries that only one native thread may call. Callouts ask here where their strand is, and move it to that native
//! thread.
//!
//! A library is declared so once, by `confinedTo:`; all functions that are taken from it obey. This is the one
//! place where a call asks whether it is on that native thread, and goes there if it is not. The handle of
//! the function keeps the object that was given to `confinedTo:` in its slot
//! [`KEPT`](super::slots::KEPT).
//!
//! A strand that C has called elsewhere cannot go there before it has returned to C: that is a failure.

use squall_heap::Object;

use super::slots;
use crate::concurrency::native_threads;
use crate::model::outcome::{Failure, Outcome};
use crate::objects::array;
use crate::state::thread::{Thread, Window};

/// Whether the native thread that the handle keeps is the one that runs this.
pub fn is_here(thread: &Thread, handle: Object) -> bool {
    native_threads::is_here(thread, handle.slot(slots::KEPT))
}

/// Makes a call that only the native thread in the handle may make, by asking that to do it. The window has the
/// function and its arguments, one by one or in an array. *GC point.*
pub fn call(thread: &mut Thread, window: Window, in_array: bool) -> Outcome {
    if thread.strand().anchor().is_some() {
        let text = "the function may be called on another native thread only, and C has called this strand here";
        return super::failure(thread, "Confined", text).into();
    }
    let arguments = match in_array {
        true => Ok(window.get(1)),
        false => array::make_of(thread, window.len() - 1, |_, index| Ok(window.get(index + 1))),
    };
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(failure) => return failure.into(),
    };
    let Some(handle) = super::handle(window.get(0)) else {
        return Failure::argument(window.get(0)).into();
    };
    thread.message.clear();
    thread.message.extend([handle.slot(slots::KEPT), window.get(0), arguments]);
    Outcome::Send(thread.vm.symbol("do:withArguments:"))
}
