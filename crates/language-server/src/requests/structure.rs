//! Parts of a text by its structure: what can be folded, and what a selection grows to. The server's loop calls this
//! module.

use lsp_types::{FoldingRange, FoldingRangeKind, Position, SelectionRange};
use squall_newspeak::Span;
use squall_newspeak::comments::comments;

use crate::document::{Document, Language};
use crate::text;

/// `textDocument/foldingRange`: brackets and comments with several lines; also those of texts with mistakes.
pub fn folding(document: &Document) -> Vec<FoldingRange> {
    if document.language == Language::Assembly {
        return folding_of_assembly(document);
    }
    let mut ranges = Vec::new();
    for span in brackets(document) {
        ranges.extend(fold(document, span, None));
    }
    for comment in comments(&document.source, &document.tokens) {
        ranges.extend(fold(document, comment, Some(FoldingRangeKind::Comment)));
    }
    ranges.sort_by_key(|range| range.start_line);
    ranges.dedup_by_key(|range| range.start_line);
    ranges
}

fn fold(document: &Document, span: Span, kind: Option<FoldingRangeKind>) -> Option<FoldingRange> {
    let (first, last) = (document.source.line(span.start), document.source.line(span.end));
    // The line with the closing bracket stays, if nothing else is before the bracket.
    let closing = document.source.line_span(last);
    let before = &document.source.text()[closing.start as usize..span.end as usize];
    let last = match kind.is_none() && before.trim().len() == 1 {
        true => last - 1,
        false => last,
    };
    (first < last).then(|| FoldingRange {
        start_line: first as u32 - 1,
        end_line: last as u32 - 1,
        kind,
        ..FoldingRange::default()
    })
}

/// The brackets that match.
fn brackets(document: &Document) -> Vec<Span> {
    let (mut open, mut pairs): (Vec<usize>, Vec<Span>) = (Vec::new(), Vec::new());
    for (index, token) in document.tokens.iter().enumerate() {
        if token.kind.closer().is_some() {
            open.push(index);
        } else if token.kind.is_closer() {
            let opens = |&index: &usize| document.tokens[index].kind.closer() == Some(token.kind);
            if let Some(depth) = open.iter().rposition(opens) {
                pairs.push(document.tokens[open[depth]].span.to(token.span));
                open.truncate(depth);
            }
        }
    }
    pairs
}

fn folding_of_assembly(document: &Document) -> Vec<FoldingRange> {
    let (mut open, mut ranges) = (Vec::new(), Vec::new());
    for (number, line) in (0..).zip(document.source.text().lines()) {
        let code = line.split(';').next().unwrap_or_default().trim();
        if code.ends_with('{') {
            open.push(number);
        } else if code.starts_with('}')
            && let Some(start_line) = open.pop()
            && start_line + 1 < number
        {
            ranges.push(FoldingRange {
                start_line,
                end_line: number - 1,
                ..FoldingRange::default()
            });
        }
    }
    ranges
}

/// `textDocument/selectionRange`: for each position, the parts of the program around it, from the innermost on.
pub fn selections(document: &Document, positions: &[Position]) -> Vec<SelectionRange> {
    let spans = spans(document);
    positions.iter().map(|position| selection(document, &spans, *position)).collect()
}

fn selection(document: &Document, spans: &[Span], position: Position) -> SelectionRange {
    let offset = text::offset(&document.source, position);
    let contains = |span: &&Span| span.start <= offset && offset <= span.end;
    let mut around: Vec<Span> = spans.iter().filter(contains).copied().collect();
    around.sort_by_key(|span| (std::cmp::Reverse(span.end - span.start), span.start));
    around.dedup();
    let mut range: Option<SelectionRange> = None;
    for span in around {
        let is_inside = range.as_ref().is_none_or(|outer| {
            let outer = text::span(&document.source, outer.range);
            outer.start <= span.start && span.end <= outer.end
        });
        if is_inside {
            let parent = range.map(Box::new);
            range = Some(SelectionRange { range: text::range(&document.source, span), parent });
        }
    }
    let nothing = || SelectionRange {
        range: text::range(&document.source, Span { start: offset, end: offset }),
        parent: None,
    };
    range.unwrap_or_else(nothing)
}

/// All parts of a program.
fn spans(document: &Document) -> Vec<Span> {
    let mut spans: Vec<Span> = document.tokens.iter().map(|token| token.span).collect();
    spans.extend(comments(&document.source, &document.tokens));
    spans.extend(brackets(document));
    spans.push(Span { start: 0, end: document.source.end().end });
    if let Some(ast) = &document.ast {
        let nodes = &ast.nodes;
        spans.extend(nodes.classes.iter().map(|(_, class)| class.span));
        spans.extend(nodes.slots.iter().map(|(_, slot)| slot.span));
        spans.extend(nodes.methods.iter().map(|(_, method)| method.span));
        spans.extend(nodes.expressions.iter().map(|(_, expression)| expression.span));
        spans.extend(nodes.messages.iter().map(|(_, message)| message.span));
    }
    spans
}
