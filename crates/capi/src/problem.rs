//! Errors before they have a handle. The functions of the interface fail with a [`Problem`], and `errors` makes a
//! handle of it.

use machine::embedding::Error;

/// Kinds of errors.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum squall_code {
    /// No error: the code of a null pointer.
    Ok = 0,
    /// A pointer that is no handle of the right kind: null, another pointer, a freed handle, or a handle of another
    /// kind.
    Handle = 1,
    /// An invalid argument: text that is not UTF-8, an object that is no value where a value is needed, or a wrong
    /// number of arguments.
    Argument = 2,
    /// The process has had its machine already.
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
    /// No strand can run any more; the message says what every strand waits for.
    Deadlock = 9,
    /// The strand that was to give the answer was ended.
    Terminated = 10,
    /// The sandbox is over; the message says why and where.
    SandboxEnded = 11,
    /// The heap is full.
    OutOfMemory = 12,
    /// A value has another kind than the function needs.
    Kind = 13,
    /// An error made by a function of the embedder.
    Host = 14,
    /// A bug in Squall.
    Internal = 15,
    /// The caller's process is a fork of the machine's, and has none of its native threads.
    Forked = 16,
}

/// An error that has no handle yet.
pub struct Problem {
    /// Its kind.
    pub code: squall_code,
    /// The message.
    pub message: String,
    /// The name of the exception's class; empty if there is none.
    pub class: String,
    /// The activations that led to the exception; empty if there is none.
    pub trace: String,
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
            Error::Forked => squall_code::Forked,
        };
        let mut problem = Problem::new(code, error.to_string());
        if let Error::Exception { class, trace, .. } = error {
            (problem.class, problem.trace) = (class, trace);
        }
        problem
    }
}
