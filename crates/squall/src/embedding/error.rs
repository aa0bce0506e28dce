//! The errors that the calls of an embedder answer. The functions of the interface answer them to embedders in Rust,
//! and `squall-capi` makes errors for C of them.

use std::fmt;

use squall_newspeak::diagnostics::render::Colour;
use squall_runtime::concurrency::embedding::calls::Refusal;

use crate::compiler::CompileProblem;
use crate::machine::StartError;

/// The reason why a call of the embedder failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// This process has, or had, a machine.
    AlreadyStarted,
    /// The machine does not start; the reason.
    Start(String),
    /// The machine has ended, with this exit code if it is known.
    Ended(Option<i32>),
    /// A module has mistakes: the diagnostics.
    Compile(String),
    /// An exception that no handler caught.
    Exception {
        /// The name of the exception's class.
        class: String,
        /// Its message.
        text: String,
        /// The activations that led to it, one in a line.
        trace: String,
    },
    /// The channel was poisoned.
    Poisoned,
    /// No strand can run any more; the report of what every strand waits for.
    Deadlock(String),
    /// The strand that was to give the answer was ended.
    Terminated,
    /// The sandbox is over; the report about its end.
    SandboxEnded(String),
    /// An argument cannot be passed: it is no value where a value is needed, or a list that is nested too deeply.
    Argument,
    /// The heap is full.
    OutOfMemory,
    /// The answer has another kind than the call needs.
    Kind(&'static str),
    /// The caller's process is a fork of the machine's: the machine's native threads are not in it.
    Forked,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::AlreadyStarted => {
                f.write_str("this process has had its machine: there is one per process")
            }
            Error::Start(why) => write!(f, "the machine does not start: {why}"),
            Error::Ended(Some(code)) => write!(f, "the machine has ended with exit code {code}"),
            Error::Ended(None) => f.write_str("the machine has ended"),
            Error::Compile(text) | Error::Deadlock(text) => f.write_str(text.trim_end()),
            Error::Exception { text, .. } => f.write_str(text),
            Error::Poisoned => f.write_str("the channel is poisoned"),
            Error::Terminated => f.write_str("the strand was terminated"),
            Error::SandboxEnded(report) => f.write_str(report.trim_end()),
            Error::Argument => f.write_str("an argument is no value, or a list that is too deep"),
            Error::OutOfMemory => f.write_str("the heap is full"),
            Error::Kind(wanted) => write!(f, "the answer is not {wanted}"),
            Error::Forked => f.write_str(
                "the machine is that of the parent process: a fork has none of its native threads",
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<StartError> for Error {
    fn from(error: StartError) -> Error {
        match error {
            StartError::Heap(squall_heap::HeapError::AlreadyCreated) => Error::AlreadyStarted,
            error => Error::Start(error.to_string()),
        }
    }
}

impl From<CompileProblem> for Error {
    fn from(problem: CompileProblem) -> Error {
        Error::Compile(problem.render(Colour::None))
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::Exception { class, text, trace } => Error::Exception { class, text, trace },
            Refusal::Poisoned => Error::Poisoned,
            Refusal::Deadlock(report) => Error::Deadlock(report),
            Refusal::Terminated(report) if report.is_empty() => Error::Terminated,
            Refusal::Terminated(report) => Error::SandboxEnded(report),
            Refusal::Argument => Error::Argument,
            Refusal::OutOfMemory => Error::OutOfMemory,
        }
    }
}
