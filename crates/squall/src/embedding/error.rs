//! What can go wrong.

use std::fmt;

use squall_newspeak::diagnostics::render::Colour;
use squall_runtime::embedding::calls::Refusal;

use crate::compiler::CompileProblem;
use crate::machine::StartError;

/// Why the machine has not done what it was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// This process has, or had, a machine.
    AlreadyStarted,
    /// The machine does not start; why.
    Start(String),
    /// The machine has ended, with this exit code if it is known.
    Ended(Option<i32>),
    /// A module has mistakes: the diagnostics.
    Compile(String),
    /// An exception that nothing caught.
    Exception {
        /// The name of its class.
        class: String,
        /// What it says.
        text: String,
        /// The activations that led to it, a line each.
        trace: String,
    },
    /// The channel was poisoned.
    Poisoned,
    /// Nothing is left that could run; what every strand waits for.
    Deadlock(String),
    /// The strand that was to answer was ended.
    Terminated,
    /// The sandbox is over; what was reported.
    SandboxEnded(String),
    /// An argument cannot be given: it is no value where one is needed, or a list that is too deep.
    Argument,
    /// The heap is full.
    OutOfMemory,
    /// What was answered is not of the kind that was asked for.
    Kind(&'static str),
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
