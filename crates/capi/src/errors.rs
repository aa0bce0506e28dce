//! Errors for C: a handle of an error's code and message and, for an exception, of its class and trace. Each function
//! of the interface ends through [`guarded`].

use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

use crate::handles::{self, Handle, Kind};
use crate::problem::{Problem, squall_code};
use crate::text;

/// An error. The function's caller frees it.
pub struct squall_error {
    _incomplete: [u8; 0],
}

/// The contents of an error.
pub struct ErrorEntry {
    code: squall_code,
    message: CString,
    class: CString,
    trace: CString,
}

impl Handle for squall_error {
    type Entry = ErrorEntry;
    const KIND: Kind = Kind::Error;
    const NAME: &'static str = "squall_error";
}

impl Problem {
    /// Makes a handle for it.
    pub fn into_handle(self) -> *mut squall_error {
        handles::new::<squall_error>(ErrorEntry {
            code: self.code,
            message: c_text(self.message),
            class: c_text(self.class),
            trace: c_text(self.trace),
        })
    }
}

/// Text for C, which ends at the first NUL.
fn c_text(text: String) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Runs the body of a function of the interface. No panic unwinds into C.
pub fn guarded(work: impl FnOnce() -> Result<(), Problem>) -> *mut squall_error {
    match caught(work) {
        Ok(()) => null_mut(),
        Err(problem) => problem.into_handle(),
    }
}

/// Runs the body of a function that answers something other than an error.
pub fn caught<R>(work: impl FnOnce() -> Result<R, Problem>) -> Result<R, Problem> {
    // A panic may leave native memory half-changed; poison-free locks protect it.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Problem::new(squall_code::Internal, text.unwrap_or("a panic")))
    })
}

/// Makes a new error with this message, for functions of the embedder that fail. The message ends with a NUL; null
/// means an empty message.
///
/// # Safety
///
/// The message is null or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_error_new(message: *const c_char) -> *mut squall_error {
    let made = caught(|| {
        // SAFETY: the caller's promise.
        let message = unsafe { text::optional(message) }?;
        Ok(Problem::new(squall_code::Host, message.unwrap_or_default()))
    });
    made.unwrap_or_else(|problem| problem).into_handle()
}

/// The kind of an error; `SQUALL_CODE_OK` for null, `SQUALL_CODE_HANDLE` for any other pointer that is no error.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_code(error: *const squall_error) -> squall_code {
    if error.is_null() {
        return squall_code::Ok;
    }
    caught(|| handles::get(error)).map_or(squall_code::Handle, |entry| entry.code)
}

/// The message. The text lives as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_message(error: *const squall_error) -> *const c_char {
    part_of(error, |entry| &entry.message)
}

/// The name of the exception's class; empty if the error is no exception. The text lives as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_class(error: *const squall_error) -> *const c_char {
    part_of(error, |entry| &entry.class)
}

/// The activations that led to the exception, one in a line; empty if the error is no exception. The text lives as long
/// as the error.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_trace(error: *const squall_error) -> *const c_char {
    part_of(error, |entry| &entry.trace)
}

fn part_of(error: *const squall_error, part: fn(&ErrorEntry) -> &CString) -> *const c_char {
    // The table keeps the entry until the error is freed.
    let entry = caught(|| handles::get(error));
    entry.map_or(c"".as_ptr(), |entry| part(&entry).as_ptr())
}

/// The message of an error; `None` for any other pointer.
pub(crate) fn message(error: *const squall_error) -> Option<String> {
    let entry = handles::get(error).ok()?;
    Some(entry.message.to_string_lossy().into_owned())
}

/// Frees an error. Null is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_free(error: *mut squall_error) {
    drop(caught(|| Ok(handles::free(error))));
}
