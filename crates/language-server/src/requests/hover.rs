//! Information about a name for an author that reads or writes it: comments, parameters, values that are known. The
//! server's loop calls this module.

use lsp_types::{
    Hover, HoverContents, InlayHint, InlayHintKind, InlayHintLabel, MarkupContent, MarkupKind,
    ParameterInformation, ParameterLabel, Position, SignatureHelp, SignatureInformation,
};
use squall_newspeak::Span;
use squall_newspeak::ast::ExpressionKind;
use squall_newspeak::check::classes::{Classes, Known};
use squall_newspeak::comments::markdown;
use squall_newspeak::token::TokenKind;

use super::navigation::{Subject, meant, subject};
use crate::document::Document;
use crate::model::{SymbolKind, Target};
use crate::text;
use crate::workspace::{Definition, Description, Workspace, name_of_known};

/// How many definitions of a name are described.
const MOST_DESCRIBED: usize = 4;

/// `textDocument/hover`.
pub fn hover(workspace: &Workspace<'_>, document: &Document, position: Position) -> Option<Hover> {
    let definitions = meant(workspace, document, position);
    let described = definitions.iter().filter_map(|definition| workspace.description(definition));
    let texts: Vec<String> = described.take(MOST_DESCRIBED).map(in_markdown).collect();
    if texts.is_empty() {
        return None;
    }
    let mut text = texts.join("\n\n---\n\n");
    if definitions.len() > MOST_DESCRIBED {
        text +=
            &format!("\n\n---\n\n{} more classes declare it", definitions.len() - MOST_DESCRIBED);
    }
    if let Some(known) = known_value(workspace, document, position) {
        text += &format!("\n\nvalue: `{known}`");
    }
    let span = match subject(document, position)? {
        Subject::Symbol(number) => document.model.symbols[number].parts[0],
        Subject::Use(number) => {
            let offset = text::offset(&document.source, position);
            let parts = &document.model.uses[number].parts;
            *parts.iter().find(|part| crate::model::touches(**part, offset))?
        }
    };
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value: text }),
        range: Some(text::range(&document.source, span)),
    })
}

/// A description for clients that show Markdown.
pub fn in_markdown(description: Description) -> String {
    let Description { head, place, comment } = description;
    let mut text = format!("```newspeak\n{head}\n```\n*{place}*");
    if let Some(comment) = comment {
        text += "\n\n";
        text += &markdown(&comment);
    }
    text
}

/// The class of the variable or slot at a place.
fn known_value(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
) -> Option<String> {
    let symbol = match meant(workspace, document, position).as_slice() {
        [Definition::Text(uri, symbol)] if uri == document.uri.as_str() => *symbol,
        _ => return None,
    };
    let symbol = &document.model.symbols[symbol];
    match symbol.kind {
        SymbolKind::Class => None,
        _ => {
            let classes = Classes::of(document.ast.as_ref()?, workspace.host.library());
            name_of_known(&classes, symbol.known)
        }
    }
}

// Signatures

/// `textDocument/signatureHelp`: the messages with the keywords before the cursor, also in a statement that is not
/// complete.
pub fn signature(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
) -> Option<SignatureHelp> {
    let offset = text::offset(&document.source, position);
    let keywords = keywords_before(document, offset)?;
    let typed: String = keywords.iter().map(|span| document.source.slice(*span)).collect();
    let mut selectors: Vec<&str> = workspace
        .programs()
        .flat_map(|program| program.definitions.keys().map(String::as_str))
        .chain(workspace.host.library().selectors().map(|(selector, _)| selector))
        .filter(|selector| selector.starts_with(&typed))
        .collect();
    selectors.sort_unstable();
    selectors.dedup();
    let known = known_use(document, keywords[0]);
    let mut signatures = Vec::new();
    for selector in selectors {
        let definitions = match known {
            Some(target) => workspace.definitions(document, selector, target),
            None => workspace.implementors(selector),
        };
        let described = definitions.iter().find_map(|definition| workspace.description(definition));
        signatures.extend(described.map(|description| signature_of(selector, description)));
    }
    let active = keywords.len() as u32 - 1;
    (!signatures.is_empty()).then_some(SignatureHelp {
        signatures,
        active_signature: Some(0),
        active_parameter: Some(active),
    })
}

fn known_use(document: &Document, keyword: Span) -> Option<Target> {
    let uses = document.model.uses.iter();
    uses.filter(|name| name.parts[0] == keyword).map(|name| name.target).next()
}

fn signature_of(selector: &str, description: Description) -> SignatureInformation {
    let words: Vec<&str> = description.head.split_whitespace().collect();
    let parameters = selector.split_inclusive(':').map(|keyword| {
        let index = words.iter().position(|word| *word == keyword);
        let name = index.and_then(|index| words.get(index + 1)).copied().unwrap_or(keyword);
        ParameterInformation { label: ParameterLabel::Simple(name.to_owned()), documentation: None }
    });
    SignatureInformation {
        parameters: Some(parameters.collect()),
        label: description.head.clone(),
        documentation: description.comment.map(|comment| {
            lsp_types::Documentation::MarkupContent(MarkupContent {
                kind: MarkupKind::Markdown,
                value: markdown(&comment),
            })
        }),
        active_parameter: None,
    }
}

/// The keywords of the innermost message around an offset that are written before it.
fn keywords_before(document: &Document, offset: u32) -> Option<Vec<Span>> {
    let count = document.tokens.partition_point(|token| token.span.end <= offset);
    let (mut depth, mut keywords) = (0, Vec::new());
    for token in document.tokens[..count].iter().rev() {
        match token.kind {
            kind if kind.is_closer() => depth += 1,
            kind if kind.closer().is_some() && depth == 0 => break,
            kind if kind.closer().is_some() => depth -= 1,
            TokenKind::Keyword if depth == 0 => keywords.push(token.span),
            TokenKind::Period
            | TokenKind::Semicolon
            | TokenKind::Setter
            | TokenKind::Caret
            | TokenKind::Bar
            | TokenKind::MutableEquals
                if depth == 0 =>
            {
                break;
            }
            _ => {}
        }
    }
    keywords.reverse();
    (!keywords.is_empty()).then_some(keywords)
}

// Hints

/// `textDocument/inlayHint`: the classes of slots and locals whose initial values are messages.
pub fn hints(workspace: &Workspace<'_>, document: &Document, part: Span) -> Vec<InlayHint> {
    let Some(ast) = &document.ast else { return Vec::new() };
    let slots = ast.nodes.slots.iter().map(|(_, slot)| (slot.name, slot.initializer));
    let methods = ast.nodes.methods.iter().flat_map(|(_, method)| &method.body.locals);
    let blocks = ast.nodes.blocks.iter().flat_map(|(_, block)| &block.body.locals);
    let locals = methods.chain(blocks).map(|local| (local.name, local.initializer));
    let symbols = &document.model.symbols;
    let by_place: std::collections::HashMap<u32, Known> =
        symbols.iter().map(|symbol| (symbol.parts[0].start, symbol.known)).collect();
    let classes = Classes::of(ast, workspace.host.library());
    let mut hints = Vec::new();
    for (name, value) in slots.chain(locals) {
        let is_message =
            value.is_some_and(|value| matches!(ast[value].kind, ExpressionKind::Send { .. }));
        if !is_message || name.span.end < part.start || part.end < name.span.start {
            continue;
        }
        let known = by_place.get(&name.span.start).copied().unwrap_or(Known::Nothing);
        if let Some(class) = name_of_known(&classes, known)
            && class.trim_start_matches("class ") != &ast[name.name]
        {
            hints.push(InlayHint {
                position: text::position(&document.source, name.span.end),
                label: InlayHintLabel::String(format!(": {class}")),
                kind: Some(InlayHintKind::TYPE),
                text_edits: None,
                tooltip: None,
                padding_left: None,
                padding_right: None,
                data: None,
            });
        }
    }
    hints
}
