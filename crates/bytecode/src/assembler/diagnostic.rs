//! The mistakes in a text, as plain data. The command line and embedders show them.

use std::fmt;

/// A part of one line of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The line, counting from 1.
    pub line: u32,
    /// The first character, counting from 1.
    pub column: u32,
    /// How many characters.
    pub length: u32,
}

impl Span {
    /// From the start of this span to the end of another one on the same line; for another line, this span.
    pub fn to(self, end: Span) -> Span {
        if end.line != self.line || end.column < self.column {
            return self;
        }
        Span { length: end.column + end.length - self.column, ..self }
    }
}

/// A problem in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Where.
    pub span: Span,
    /// The mistake, as a sentence without its end.
    pub message: String,
    /// The text next to the marked place; may be empty.
    pub label: String,
    /// The suggestion, if there is one.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// How many problems are reported for one text at most.
    pub const MOST: usize = 20;

    /// A problem with nothing but a message.
    pub fn new(span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { span, message: message.into(), label: String::new(), hint: None }
    }

    pub(super) fn label(self, label: impl Into<String>) -> Diagnostic {
        Diagnostic { label: label.into(), ..self }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Diagnostic {
        Diagnostic { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.span.line, self.span.column, self.message)?;
        if !self.label.is_empty() {
            write!(f, " ({})", self.label)?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// Collects problems.
#[derive(Default)]
pub(super) struct Diagnostics {
    problems: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds a problem. The first one of a line often causes others, so it is the only one.
    pub fn report(&mut self, problem: Diagnostic) {
        let line = problem.span.line;
        let is_first = self.problems.iter().all(|earlier| earlier.span.line != line);
        if is_first && !self.is_full() {
            self.problems.push(problem);
        }
    }

    /// Whether there is no point in looking for more.
    pub fn is_full(&self) -> bool {
        self.problems.len() >= Diagnostic::MOST
    }

    pub fn finish<T>(mut self, value: T) -> Result<T, Vec<Diagnostic>> {
        self.problems.sort_by_key(|problem| (problem.span.line, problem.span.column));
        if self.problems.is_empty() { Ok(value) } else { Err(self.problems) }
    }
}
