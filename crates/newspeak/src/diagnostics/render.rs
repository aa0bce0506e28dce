//! Diagnostics for people: message, source excerpt with carets, hint. `squall::compiler`, `squall check` and the build
//! call it.
//!
//! Only the lines that carry a label are shown, each clipped some way behind its first label,
//! so that a data file of very long lines is still reported in a screenful.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Diagnostic, Label, Severity};
use crate::source::{Source, Span};

/// Whether to mark parts of a report by terminal colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    /// ANSI escape codes.
    Ansi,
    /// Plain text.
    None,
}

/// The diagnostics as text, with a blank line between two of them.
pub fn to_text(source: &Source, diagnostics: &[Diagnostic], colour: Colour) -> String {
    let reports: Vec<_> =
        diagnostics.iter().map(|diagnostic| report(source, diagnostic, colour)).collect();
    reports.join("\n")
}

/// One diagnostic as text.
fn report(source: &Source, diagnostic: &Diagnostic, colour: Colour) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(&*diagnostic.message).id(diagnostic.code.name());
    let mut group = title.elements(excerpts(source, &diagnostic.labels));
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(&**hint));
    }
    let mut text = render(group, colour);
    text.push('\n');
    text
}

fn render(group: Group<'_>, colour: Colour) -> String {
    let renderer = match colour {
        Colour::Ansi => Renderer::styled(),
        Colour::None => Renderer::plain(),
    };
    renderer.render(&[group])
}

/// One snippet per line that has labels, the principal label's line first.
fn excerpts<'a>(source: &'a Source, labels: &'a [Label]) -> Vec<Snippet<'a, Annotation<'a>>> {
    let mut lines: Vec<(usize, Vec<usize>)> = Vec::new();
    for (index, label) in labels.iter().enumerate() {
        let line = source.line(label.span.start);
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, members)) => members.push(index),
            None => lines.push((line, vec![index])),
        }
    }
    lines.into_iter().map(|(line, members)| excerpt(source, labels, line, &members)).collect()
}

fn excerpt<'a>(
    source: &'a Source,
    labels: &'a [Label],
    line: usize,
    members: &[usize],
) -> Snippet<'a, Annotation<'a>> {
    let window = window(source, line, labels[members[0]].span);
    let annotations = members.iter().map(|&index| {
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let annotation = kind.span(within(window, labels[index].span).range());
        match &*labels[index].text {
            "" => annotation,
            text => annotation.label(text),
        }
    });
    Snippet::source(source.slice(window))
        .path(source.name())
        .line_start(line)
        .annotations(annotations)
}

/// How many bytes of a line are shown behind a label's start.
const WINDOW_BYTES: usize = 200;

/// The part of a line worth showing: all of it, unless very much follows the label. The
/// beginning always belongs to it, or the columns shown would be wrong; the renderer itself
/// clips what does not fit the terminal.
fn window(source: &Source, line: usize, focus: Span) -> Span {
    let whole = source.line_span(line);
    let end = (focus.start as usize + WINDOW_BYTES).min(whole.end as usize);
    let end = (end..).find(|&end| source.text().is_char_boundary(end)).unwrap_or(end);
    whole.to(Span::from(end..end))
}

/// A span relative to a window, clipped to it.
fn within(window: Span, span: Span) -> Span {
    let clip = |offset: u32| offset.clamp(window.start, window.end) - window.start;
    Span { start: clip(span.start), end: clip(span.end) }
}
