//! The text form of bytecode: mistakes, symbols, instructions. The server's loop calls this module for texts in that
//! form.

use lsp_types::{
    CompletionItem, CompletionItemKind, Diagnostic, DiagnosticSeverity, DocumentSymbol, Hover,
    HoverContents, Location, MarkupContent, MarkupKind, Position, Range, SymbolKind,
};
use squall_bytecode::assembler::{self, assemble_with_places};
use squall_bytecode::instructions::Opcode;
use squall_bytecode::verifier::{Trust, verify};
use squall_newspeak::Source;

use crate::document::Document;
use crate::text;

/// The mistakes that the assembler finds; if there are none, those that the verifier finds. A text that includes others is
/// not known as a whole, so nothing is said about it.
pub fn mistakes(source: &Source) -> Vec<Diagnostic> {
    let text = source.text();
    if text.lines().any(|line| line.trim_start().starts_with("include ")) {
        return Vec::new();
    }
    let problems = match assemble_with_places(text) {
        Err(problems) => problems,
        Ok((module, places)) => match verify(&module, Trust::Untrusted) {
            Ok(()) => return Vec::new(),
            Err(errors) => errors.iter().map(|error| places.diagnostic(error)).collect(),
        },
    };
    problems.iter().map(|problem| published(source, problem)).collect()
}

fn published(source: &Source, problem: &assembler::Diagnostic) -> Diagnostic {
    let mut message = problem.message.clone();
    for part in [Some(&problem.label), problem.hint.as_ref()].into_iter().flatten() {
        if !part.is_empty() {
            message += &format!("\n{part}");
        }
    }
    Diagnostic {
        range: range_of(source, problem.span),
        severity: Some(DiagnosticSeverity::ERROR),
        source: Some("squall".to_owned()),
        message,
        ..Diagnostic::default()
    }
}

/// The range of a place, whose columns count characters.
fn range_of(source: &Source, span: assembler::Span) -> Range {
    let last = source.line(source.end().start);
    let line = (span.line as usize).clamp(1, last);
    let whole = source.line_span(line);
    let characters = source.slice(whole);
    let offset = |count: u32| {
        let place = characters
            .char_indices()
            .nth(count as usize)
            .map_or(characters.len(), |(place, _)| place);
        whole.start + place as u32
    };
    let start = span.column.saturating_sub(1);
    let (start, end) = (offset(start), offset(start.saturating_add(span.length)));
    text::range(source, squall_newspeak::Span { start, end })
}

/// The words that begin an item with a name.
const ITEMS: [(&str, SymbolKind); 7] = [
    ("function", SymbolKind::FUNCTION),
    ("method", SymbolKind::METHOD),
    ("block", SymbolKind::FUNCTION),
    ("process", SymbolKind::FUNCTION),
    ("class", SymbolKind::CLASS),
    ("type", SymbolKind::TYPE_PARAMETER),
    ("import", SymbolKind::MODULE),
];

/// The functions, classes and types of a text.
#[allow(
    deprecated,
    reason = "the protocol's type has a field that is deprecated, and no constructor"
)]
pub fn outline(document: &Document) -> Vec<DocumentSymbol> {
    let mut symbols: Vec<DocumentSymbol> = Vec::new();
    for (number, line) in (0..).zip(document.source.text().lines()) {
        let whole = |line: u32, text: &str| Range {
            start: Position { line, character: 0 },
            end: Position { line, character: text.encode_utf16().count() as u32 },
        };
        if line.starts_with('}') {
            if let Some(last) = symbols.last_mut() {
                last.range.end = whole(number, line).end;
            }
            continue;
        }
        let mut words = line.split_whitespace();
        let Some((_, kind)) =
            words.next().and_then(|word| ITEMS.iter().find(|item| item.0 == word))
        else {
            continue;
        };
        if line.starts_with(char::is_whitespace) {
            continue;
        }
        let quoted = line.split('"').nth(1).filter(|name| !name.is_empty());
        let Some(name) = quoted.or_else(|| words.next()) else { continue };
        symbols.push(DocumentSymbol {
            name: name.to_owned(),
            detail: None,
            kind: *kind,
            tags: None,
            deprecated: None,
            range: whole(number, line),
            selection_range: whole(number, line),
            children: None,
        });
    }
    symbols
}

/// The word at a position, with its range.
fn word(document: &Document, position: Position) -> Option<(String, Range)> {
    let offset = text::offset(&document.source, position) as usize;
    let whole = document.source.text();
    let is_part = |letter: char| letter.is_alphanumeric() || "_$".contains(letter);
    let start = whole[..offset]
        .rfind(|letter| !is_part(letter))
        .map_or(0, |place| place + whole[place..].chars().next().map_or(1, char::len_utf8));
    let end = whole[offset..]
        .find(|letter| !is_part(letter))
        .map_or(whole.len(), |length| offset + length);
    let span = squall_newspeak::Span::from(start..end);
    (start < end).then(|| (whole[start..end].to_owned(), text::range(&document.source, span)))
}

/// The meaning of the instruction at a position.
pub fn hover(document: &Document, position: Position) -> Option<Hover> {
    let (word, range) = word(document, position)?;
    let opcode = Opcode::from_mnemonic(&word)?;
    let value = format!("`{word}` {}", summary(opcode));
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
        range: Some(range),
    })
}

/// The definition of the name at a position: where the word follows `function`, `type` and so on, or ends with a colon.
pub fn definition(document: &Document, position: Position) -> Vec<Location> {
    let Some((word, _)) = word(document, position) else { return Vec::new() };
    let location = |line: u32, text: &str| {
        let column = text.find(&word).unwrap_or(0);
        let start = text[..column].encode_utf16().count() as u32;
        let end = start + word.encode_utf16().count() as u32;
        Location {
            uri: document.uri.clone(),
            range: Range {
                start: Position { line, character: start },
                end: Position { line, character: end },
            },
        }
    };
    let defines = |line: &str| {
        let mut words = line.split(|end: char| end.is_whitespace() || "(=".contains(end));
        let first = words.next().unwrap_or_default();
        line.trim() == format!("{word}:")
            || ITEMS.iter().any(|item| item.0 == first) && words.next() == Some(&word)
    };
    let lines = (0..).zip(document.source.text().lines());
    lines.filter(|(_, line)| defines(line)).map(|(number, line)| location(number, line)).collect()
}

/// The instructions.
pub fn completion() -> Vec<CompletionItem> {
    let item = |opcode: Opcode| CompletionItem {
        label: opcode.info().mnemonic.to_owned(),
        kind: Some(CompletionItemKind::KEYWORD),
        detail: Some(summary(opcode)),
        ..CompletionItem::default()
    };
    Opcode::ALL.iter().copied().map(item).collect()
}

/// The operands and the meaning of an instruction.
fn summary(opcode: Opcode) -> String {
    let info = opcode.info();
    let operands: Vec<&str> = info.operands.iter().map(|operand| operand.name).collect();
    let notes = if info.notes.is_empty() { String::new() } else { format!(" – {}", info.notes) };
    format!("{} : {}{notes}", operands.join(", "), info.semantics)
}
