//! The exit codes of `squall`, as `docs/cli.md` lists them. Commands answer one to `main`.

/// The reason for the end of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Success.
    Success,
    /// The program, a test or an evaluation failed.
    Failure,
    /// The command line asks for something impossible.
    Usage,
    /// A file is no program, or one with mistakes.
    Invalid,
    /// A file does not exist or cannot be read.
    NoInput,
    /// A bug in Squall.
    Internal,
    /// Output cannot be written.
    Output,
    /// The output's pipe has no reader any more.
    BrokenPipe,
    /// The program's own exit code.
    Program(i32),
}

impl Exit {
    /// The number.
    pub fn code(self) -> i32 {
        match self {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Invalid => 65,
            Exit::NoInput => 66,
            Exit::Internal => squall::machine::INTERNAL_ERROR,
            Exit::Output => 74,
            Exit::BrokenPipe => 141,
            Exit::Program(code) => code,
        }
    }

    /// The worse of two results, for commands that go through several files.
    pub fn and(self, other: Exit) -> Exit {
        match self {
            Exit::Success => other,
            _ => self,
        }
    }
}
