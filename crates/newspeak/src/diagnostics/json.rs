//! Diagnostics for programs: one JSON object each. `squall check` and `squall test` write them with `--json`.
//!
//! The field names are a promise:
//!
//! | field | what it holds |
//! |---|---|
//! | `severity` | `"error"` or `"warning"` |
//! | `code` | the stable name of the kind of mistake, see [`Code`](super::Code) |
//! | `message` | what is wrong, in one line |
//! | `file` | the source's name |
//! | `line`, `column`, `end_line`, `end_column` | the principal place, as in its label |
//! | `labels` | the places, principal one first; at least one |
//! | `labels[].text` | what is there; may be empty |
//! | `labels[].start`, `.end` | byte offsets, end exclusive |
//! | `labels[].line`, `.column` | where it starts; both from 1, columns in characters |
//! | `labels[].end_line`, `.end_column` | where it ends, exclusive |
//! | `hint` | what to do about it, or `null` |

use serde::Serialize;

use super::{Diagnostic, Label};
use crate::source::{Source, Span};

/// The diagnostics as JSON, one object per line.
pub fn to_json_lines(source: &Source, diagnostics: &[Diagnostic]) -> String {
    let mut lines = String::new();
    for diagnostic in diagnostics {
        lines += &to_json(source, diagnostic).to_string();
        lines.push('\n');
    }
    lines
}

/// One diagnostic as a JSON object.
pub fn to_json(source: &Source, diagnostic: &Diagnostic) -> serde_json::Value {
    let range = range(source, diagnostic.span());
    let report = Report {
        severity: diagnostic.severity.name(),
        code: diagnostic.code.name(),
        message: &diagnostic.message,
        file: source.name(),
        range,
        labels: diagnostic.labels.iter().map(|label| place(source, label)).collect(),
        hint: diagnostic.hint.as_deref(),
    };
    serde_json::to_value(report).expect("a report has string keys and no failing parts")
}

#[derive(Serialize)]
struct Report<'a> {
    severity: &'static str,
    code: &'static str,
    message: &'a str,
    file: &'a str,
    #[serde(flatten)]
    range: Range,
    labels: Vec<Place<'a>>,
    hint: Option<&'a str>,
}

#[derive(Serialize)]
struct Place<'a> {
    text: &'a str,
    start: u32,
    end: u32,
    #[serde(flatten)]
    range: Range,
}

#[derive(Serialize)]
struct Range {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

fn place<'a>(source: &Source, label: &'a Label) -> Place<'a> {
    let Span { start, end } = label.span;
    Place { text: &label.text, start, end, range: range(source, label.span) }
}

fn range(source: &Source, span: Span) -> Range {
    let (start, end) = (source.position(span.start), source.position(span.end));
    Range { line: start.line, column: start.column, end_line: end.line, end_column: end.column }
}
