//! Libraries that only one native thread may call.
//!
//! A library is declared so once, by `confinedTo:`; all functions that are taken from it obey. This is the one
//! place where a call asks whether it is on that native thread, and goes there if it is not. The handle of
//! the function keeps the object that was given to `confinedTo:` in its slot
//! [`KEPT`](super::slots::KEPT).

use squall_heap::Object;

use crate::outcome::{Failure, Outcome};
use crate::thread::{Thread, Window};

/// Whether the native thread that the handle keeps is the one that runs this.
pub fn is_here(_: &Thread, _: Object) -> bool {
    false
}

/// Makes a call that only the native thread in the handle may make. The window has the function and its
/// arguments. *GC point.*
pub fn call(thread: &mut Thread, _: Object, _: Window) -> Outcome {
    let text = "there is no native thread to confine calls to";
    let failure: Failure = super::failure(thread, "Confined", text);
    failure.into()
}
