//! The mistakes of a declaration text, with their places. The runtime shows them to programs.

use std::fmt;
use std::ops::Range;

/// A mistake in a text, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeclarationError {
    /// The message.
    pub message: String,
    /// The bytes of the text that it concerns.
    pub span: Range<usize>,
    /// The line of its beginning, from 1.
    pub line: usize,
    /// The column of its beginning, in characters, from 1.
    pub column: usize,
}

/// A message about a part of a text.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) message: String,
    pub(super) span: Range<usize>,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>, span: Range<usize>) -> Problem {
        Problem { message: message.into(), span }
    }

    /// Finds the line and the column in `text`.
    pub(super) fn located(self, text: &str) -> DeclarationError {
        let before = &text[..self.span.start];
        let line_start = before.rfind('\n').map_or(0, |index| index + 1);
        DeclarationError {
            message: self.message,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            span: self.span,
        }
    }
}

impl DeclarationError {
    /// The line of `text` with the mistake, and a line that marks the place:
    ///
    /// ```text
    /// int add(int, itn);
    ///              ^^^
    /// ```
    pub fn excerpt(&self, text: &str) -> String {
        let start = text[..self.span.start].rfind('\n').map_or(0, |index| index + 1);
        let line = text[start..].lines().next().unwrap_or_default();
        let end = self.span.end.min(start + line.len()).max(self.span.start);
        // Tabs stay tabs, so that the mark is below its place.
        let blank = |character: char| if character == '\t' { '\t' } else { ' ' };
        let margin: String = text[start..self.span.start].chars().map(blank).collect();
        let width = text[self.span.start..end].chars().count().max(1);
        format!("{line}\n{margin}{}", "^".repeat(width))
    }
}

impl fmt::Display for DeclarationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for DeclarationError {}
