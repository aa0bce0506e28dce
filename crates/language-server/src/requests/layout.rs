//! `textDocument/formatting` and `textDocument/rangeFormatting`: lays out a text, or a part of it. The server's loop
//! calls this module. A text with mistakes stays as it is.

use lsp_types::TextEdit;
use squall_bytecode::assembler;
use squall_newspeak::Span;
use squall_newspeak::format;

use crate::document::{Document, Language};
use crate::text;

/// The edits that lay out a text; none if it has mistakes.
pub fn whole(document: &Document) -> Option<Vec<TextEdit>> {
    let old = document.source.text();
    let new = match document.language {
        Language::Newspeak => format::format(&document.source).ok()?,
        Language::Assembly => assembler::format(old).ok()?,
    };
    Some(difference(document, old, &new))
}

/// The edits that lay out the lines of a part.
pub fn part(document: &Document, part: Span) -> Option<Vec<TextEdit>> {
    if document.language == Language::Assembly {
        return None;
    }
    let edit = format::format_range(&document.source, part).ok()?;
    let edit = edit.map(|edit| TextEdit {
        range: text::range(&document.source, edit.span),
        new_text: edit.text,
    });
    Some(edit.into_iter().collect())
}

/// One edit for the lines between the equal lines at the start and at the end.
fn difference(document: &Document, old: &str, new: &str) -> Vec<TextEdit> {
    if old == new {
        return Vec::new();
    }
    let equal = old.split_inclusive('\n').zip(new.split_inclusive('\n'));
    let start: usize = equal.take_while(|(old, new)| old == new).map(|(line, _)| line.len()).sum();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let equal = old_rest.rsplit('\n').zip(new_rest.rsplit('\n'));
    let end: usize =
        equal.take_while(|(old, new)| old == new).map(|(line, _)| line.len() + 1).sum();
    // The part of a line in front of its line end may differ, so the line end belongs to the edit.
    let end = end.saturating_sub(1).min(old_rest.len()).min(new_rest.len());
    let span = Span::from(start..old.len() - end);
    let new_text = new_rest[..new_rest.len() - end].to_owned();
    vec![TextEdit { range: text::range(&document.source, span), new_text }]
}
