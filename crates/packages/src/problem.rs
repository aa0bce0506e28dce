//! Problems: why something about packages fails. Everything in this crate answers them; the command line shows the text and
//! ends with the exit code of the kind.

use std::fmt;
use std::path::Path;

/// What failed, where, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The kind.
    pub kind: Kind,
    /// The text, for people: one line, and perhaps indented lines below.
    pub text: String,
}

/// The kinds of problems, which have exit codes of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A text or an archive is not as it should be.
    Invalid,
    /// A file is not there, or cannot be read.
    Missing,
    /// A file cannot be written.
    Unwritable,
    /// Versions that do not fit, content that is not the expected one, a network that does not answer.
    Failed,
}

/// The answer of what can fail.
pub type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    /// One about a text or an archive.
    pub fn invalid(text: impl Into<String>) -> Problem {
        Problem { kind: Kind::Invalid, text: text.into() }
    }

    /// One about something that is not there.
    pub fn missing(text: impl Into<String>) -> Problem {
        Problem { kind: Kind::Missing, text: text.into() }
    }

    /// Any other.
    pub fn failed(text: impl Into<String>) -> Problem {
        Problem { kind: Kind::Failed, text: text.into() }
    }

    /// A file that cannot be read.
    pub fn unread(path: &Path, error: &std::io::Error) -> Problem {
        Problem::missing(format!("{} cannot be read: {error}", path.display()))
    }

    /// A file or folder that cannot be written.
    pub fn unwritten(path: &Path, error: &std::io::Error) -> Problem {
        // The library for temporary files adds the path of one, which is no help.
        let reason = error.to_string();
        let reason = reason.split(" at path ").next().unwrap_or_default();
        let text = format!("{} cannot be written: {reason}", path.display());
        Problem { kind: Kind::Unwritable, text }
    }

    /// The same with a line below that says what to do.
    pub fn hint(mut self, hint: impl fmt::Display) -> Problem {
        self.text += &format!("\n  hint: {hint}");
        self
    }

    /// The same with these words in front.
    pub fn of(mut self, what: impl fmt::Display) -> Problem {
        self.text = format!("{what}: {}", self.text);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Problem {}
