//! The exit codes of `squall`, as `docs/cli.md` lists them.

/// How the process ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// All is well.
    Success,
    /// The program failed, or a test, or an evaluation.
    Failure,
    /// A file is no program, or one with mistakes.
    Invalid,
    /// A file is not there or cannot be read.
    NoInput,
    /// Squall itself made a mistake.
    Internal,
    /// Output cannot be written.
    Output,
    /// Nobody reads the output any more.
    BrokenPipe,
    /// What the program asked for.
    Program(i32),
}

impl Exit {
    /// The number.
    pub fn code(self) -> i32 {
        match self {
            Exit::Success => 0,
            Exit::Failure => 1,
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
