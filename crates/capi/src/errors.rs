//! Errors, as values with a code, a message, and for exceptions their class and trace.

use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Arc;

use machine::embedding::Error;

use crate::handles;

/// An error. Who gets one frees it.
pub struct squall_error {
    _incomplete: [u8; 0],
}

/// Kinds of errors.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum squall_code {
    /// No error: the code of a null pointer.
    Ok = 0,
    /// A null pointer, or a handle that is none, was freed, or is of another kind.
    Handle = 1,
    /// An argument makes no sense: text that is not UTF-8, an object that is no value where one is needed, a wrong number of
    /// arguments.
    Argument = 2,
    /// The process has had its machine.
    AlreadyStarted = 3,
    /// The machine does not start.
    Start = 4,
    /// The machine has ended.
    Ended = 5,
    /// A module has mistakes; the message has the diagnostics.
    Compile = 6,
    /// An exception that nothing caught; the error has its class and its trace.
    Exception = 7,
    /// The channel is poisoned.
    Poisoned = 8,
    /// Nothing is left that could run; the message says what every strand waits for.
    Deadlock = 9,
    /// The strand that was to answer was ended.
    Terminated = 10,
    /// The sandbox is over; the message says why and where.
    SandboxEnded = 11,
    /// The heap is full.
    OutOfMemory = 12,
    /// A value is not of the kind that was asked for.
    Kind = 13,
    /// An error that a function of the embedder has made.
    Host = 14,
    /// A mistake in Squall.
    Internal = 15,
}

/// What an error says.
pub struct ErrorEntry {
    code: squall_code,
    message: CString,
    class: CString,
    trace: CString,
}

/// An error that has no handle yet.
pub struct Problem {
    code: squall_code,
    message: String,
    class: String,
    trace: String,
}

impl Problem {
    /// A problem of this kind.
    pub fn new(code: squall_code, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into(), class: String::new(), trace: String::new() }
    }

    /// A wrong handle.
    pub fn handle(message: String) -> Problem {
        Problem::new(squall_code::Handle, message)
    }

    /// A wrong argument.
    pub fn argument(message: &str) -> Problem {
        Problem::new(squall_code::Argument, message)
    }

    /// A handle for it.
    pub fn into_handle(self) -> *mut squall_error {
        handles::new::<squall_error>(Arc::new(ErrorEntry {
            code: self.code,
            message: c_text(self.message),
            class: c_text(self.class),
            trace: c_text(self.trace),
        }))
    }
}

/// Text for C, which ends at the first NUL.
fn c_text(text: String) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

impl From<Error> for Problem {
    fn from(error: Error) -> Problem {
        let code = match &error {
            Error::AlreadyStarted => squall_code::AlreadyStarted,
            Error::Start(_) => squall_code::Start,
            Error::Ended(_) => squall_code::Ended,
            Error::Compile(_) => squall_code::Compile,
            Error::Exception { .. } => squall_code::Exception,
            Error::Poisoned => squall_code::Poisoned,
            Error::Deadlock(_) => squall_code::Deadlock,
            Error::Terminated => squall_code::Terminated,
            Error::SandboxEnded(_) => squall_code::SandboxEnded,
            Error::Argument => squall_code::Argument,
            Error::OutOfMemory => squall_code::OutOfMemory,
            Error::Kind(_) => squall_code::Kind,
        };
        let mut problem = Problem::new(code, error.to_string());
        if let Error::Exception { class, trace, .. } = error {
            (problem.class, problem.trace) = (class, trace);
        }
        problem
    }
}

/// Does what a function of the interface is for. Nothing unwinds into C.
pub fn guarded(work: impl FnOnce() -> Result<(), Problem>) -> *mut squall_error {
    match caught(work) {
        Ok(()) => null_mut(),
        Err(problem) => problem.into_handle(),
    }
}

/// The same, for what answers something else than an error.
pub fn caught<R>(work: impl FnOnce() -> Result<R, Problem>) -> Result<R, Problem> {
    // What was left half-done is native memory, which locks without poison protect.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Problem::new(squall_code::Internal, text.unwrap_or("a panic")))
    })
}

/// A new error with this message, for functions of the embedder that fail. The message ends with a NUL; null stands for
/// no message.
///
/// # Safety
///
/// The message is null or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn squall_error_new(message: *const c_char) -> *mut squall_error {
    let made = caught(|| {
        // SAFETY: the caller's promise.
        let message = unsafe { crate::text::optional(message) }?;
        Ok(Problem::new(squall_code::Host, message.unwrap_or_default()))
    });
    made.unwrap_or_else(|problem| problem).into_handle()
}

/// The kind of an error; `SQUALL_CODE_OK` for null, `SQUALL_CODE_HANDLE` for what is no error.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_code(error: *const squall_error) -> squall_code {
    if error.is_null() {
        return squall_code::Ok;
    }
    caught(|| handles::get(error)).map_or(squall_code::Handle, |entry| entry.code)
}

/// What is wrong, in words. The text lives as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_message(error: *const squall_error) -> *const c_char {
    text(error, |entry| &entry.message)
}

/// The name of the exception's class; empty if the error is none. The text lives as long as the error.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_class(error: *const squall_error) -> *const c_char {
    text(error, |entry| &entry.class)
}

/// The activations that led to the exception, a line each; empty if the error is none. The text lives as long as the
/// error.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_trace(error: *const squall_error) -> *const c_char {
    text(error, |entry| &entry.trace)
}

fn text(error: *const squall_error, part: fn(&ErrorEntry) -> &CString) -> *const c_char {
    // The table keeps the entry until the error is freed.
    let entry = caught(|| handles::get(error));
    entry.map_or(c"".as_ptr(), |entry| part(&entry).as_ptr())
}

/// The message of an error, if it is one.
pub(crate) fn message(error: *const squall_error) -> Option<String> {
    let entry = handles::get(error).ok()?;
    Some(entry.message.to_string_lossy().into_owned())
}

/// Frees an error. Null is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn squall_error_free(error: *mut squall_error) {
    drop(caught(|| Ok(handles::free(error))));
}
