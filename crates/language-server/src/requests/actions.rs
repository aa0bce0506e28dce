//! `textDocument/codeAction`: the checker's remedies as changes of the text. The server's loop calls this module.
//!
//! The checker says in its hints what to write; the text to write stands between backquotes there. A hint that was cut
//! short is no remedy.

use std::collections::HashMap;

use lsp_types::{CodeAction, CodeActionKind, TextEdit, WorkspaceEdit};
use squall_newspeak::ast::{Ast, Class};
use squall_newspeak::diagnostics::Code;
use squall_newspeak::entities::ClassId;
use squall_newspeak::token::TokenKind;
use squall_newspeak::{Diagnostic, Span};

use super::diagnostics::{mistakes, published_one};
use crate::document::{Document, Language};
use crate::model::SymbolKind;
use crate::text;
use crate::workspace::Workspace;

/// A change with the words that describe it.
type Remedy = (String, Vec<(Span, String)>);

/// The remedies for the mistakes that a part of a text touches.
pub fn actions(workspace: &Workspace<'_>, document: &Document, part: Span) -> Vec<CodeAction> {
    if document.language == Language::Assembly {
        return Vec::new();
    }
    let is_there = |mistake: &&Diagnostic| {
        mistake.span().start <= part.end && part.start <= mistake.span().end
    };
    let mut actions = Vec::new();
    for mistake in mistakes(workspace, document).iter().filter(is_there) {
        for (title, edits) in remedies(document, mistake) {
            actions.push(action(document, mistake, title, &edits));
        }
    }
    actions
}

// The changes are a map of addresses in the protocol, too.
#[allow(
    clippy::mutable_key_type,
    reason = "the address has no interior that changes; the protocol's types want it as a key"
)]
fn action(
    document: &Document,
    mistake: &Diagnostic,
    title: String,
    edits: &[(Span, String)],
) -> CodeAction {
    let edit = |(span, new_text): &(Span, String)| TextEdit {
        range: text::range(&document.source, *span),
        new_text: new_text.clone(),
    };
    let edits = edits.iter().map(edit).collect();
    let changes = HashMap::from([(document.uri.clone(), edits)]);
    CodeAction {
        title,
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![published_one(document, mistake)]),
        edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
        is_preferred: Some(true),
        ..CodeAction::default()
    }
}

fn remedies(document: &Document, mistake: &Diagnostic) -> Vec<Remedy> {
    let span = mistake.span();
    let hint = mistake.hint.as_deref().unwrap_or_default();
    let one = |title: &str, span: Span, text: &str| {
        vec![(title.to_owned(), vec![(span, text.to_owned())])]
    };
    let mut remedies = match mistake.code {
        Code::MissingPeriod => {
            let label = mistake.labels.iter().find(|label| label.text.contains("period"));
            label.map(|label| one("add the period", label.span.before(), ".")).unwrap_or_default()
        }
        Code::KeywordWithoutSpace => one("add the space", span.after(), " "),
        Code::NegativeNumeralAfterOperand => {
            let place = Span { start: span.start + 1, end: span.start + 1 };
            one("add the space", place, " ")
        }
        Code::PeriodInMessage => one("write a space", span, " "),
        Code::MalformedNumeral | Code::UnexpectedCharacter => match quoted_after(hint, "write `") {
            Some(text) => one(&format!("write `{text}`"), span, text),
            None => Vec::new(),
        },
        Code::NotABlock if hint.starts_with("put it into a block") => {
            let argument = document.source.slice(span);
            let inner = argument.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
            one("put it into a block", span, &format!("[ {} ]", inner.unwrap_or(argument).trim()))
        }
        Code::AssignedConstant => constant(document, mistake).into_iter().collect(),
        Code::UnusedName if mistake.message.starts_with("nothing uses the local") => {
            unused_local(document, span).into_iter().collect()
        }
        Code::UndeclaredName => undeclared(document, mistake, hint),
        _ => Vec::new(),
    };
    if let Some(name) = quoted_after(hint, "did you mean `") {
        remedies.extend(replacement(document, span, name));
    }
    remedies
}

/// The text between backquotes behind some words of a hint.
fn quoted_after<'h>(hint: &'h str, words: &str) -> Option<&'h str> {
    let start = hint.find(words)? + words.len();
    let text = &hint[start..start + hint[start..].find('`')?];
    (!text.is_empty() && !text.ends_with('…')).then_some(text)
}

/// Another name, word by word.
fn replacement(document: &Document, span: Span, name: &str) -> Option<Remedy> {
    let number = document.model.use_at(span.start)?;
    let used = &document.model.uses[number];
    let words: Vec<&str> = match name.contains(':') {
        true => name.split_inclusive(':').collect(),
        false => vec![name],
    };
    let edits = match used.is_assignment {
        true => vec![(span, name.to_owned())],
        false if words.len() == used.parts.len() => {
            let pairs = used.parts.iter().zip(words);
            pairs.map(|(part, word)| (*part, word.to_owned())).collect()
        }
        false => return None,
    };
    // The name of an assignment is a part of the token `name::`.
    let edits = edits.into_iter().map(|(part, word)| {
        let text = document.source.slice(part);
        match text.ends_with("::") && !word.ends_with("::") {
            true => (Span { end: part.end - 2, ..part }, word),
            false => (part, word),
        }
    });
    Some((format!("write `{name}`"), edits.collect()))
}

/// Makes the constant slot a variable.
fn constant(document: &Document, mistake: &Diagnostic) -> Option<Remedy> {
    let slot = mistake.labels.get(1)?.span;
    let mut tokens = document.tokens.iter().skip_while(|token| token.span.start < slot.end);
    let sign = tokens.find(|token| token.kind == TokenKind::Equals)?;
    Some(("declare the slot by `::=`".to_owned(), vec![(sign.span, "::=".to_owned())]))
}

fn unused_local(document: &Document, span: Span) -> Option<Remedy> {
    let number = document.model.symbol_at(span.start)?;
    let symbol = &document.model.symbols[number];
    let has_value = symbol.span.end != span.end;
    let is_typed = document.source.slice(symbol.span).contains('<');
    (symbol.kind == SymbolKind::Local && !has_value && !is_typed)
        .then(|| ("remove the local".to_owned(), vec![(symbol.span, String::new())]))
}

// Declarations

fn undeclared(document: &Document, mistake: &Diagnostic, hint: &str) -> Vec<Remedy> {
    let Some(ast) = &document.ast else { return Vec::new() };
    let mut remedies = Vec::new();
    if let Some(slot) = quoted_after(hint, "add `").filter(|slot| slot.starts_with("private ")) {
        let class = match hint.contains("argument of the factory") {
            true => class_with_parameter(document, ast, mistake, slot),
            false => Some(ast.module),
        };
        let needs_platform = hint.contains("usingPlatform: platform");
        remedies
            .extend(class.and_then(|class| add_slot(document, ast, class, slot, needs_platform)));
    } else if hint.starts_with("declare it:") {
        let name = document.source.slice(mistake.span()).trim_end_matches(':');
        remedies.extend(add_local(document, ast, mistake.span(), name));
        let class = innermost_class(ast, mistake.span());
        let slot = format!("private {name} ::= nil.");
        remedies.extend(add_slot(document, ast, class, &slot, false));
    }
    remedies
}

/// The class around the mistake whose factory has the parameter that the slot keeps.
fn class_with_parameter(
    document: &Document,
    ast: &Ast,
    mistake: &Diagnostic,
    slot: &str,
) -> Option<ClassId> {
    let name = slot.split_whitespace().nth(1)?;
    let has_parameter = |class: &Class| {
        class
            .factory
            .parameters
            .iter()
            .any(|parameter| document.source.slice(parameter.span) == name)
    };
    classes_around(ast, mistake.span()).into_iter().rev().find(|&id| has_parameter(&ast[id]))
}

/// The classes around a place, outermost first.
fn classes_around(ast: &Ast, place: Span) -> Vec<ClassId> {
    let contains = |span: Span| span.start <= place.start && place.end <= span.end;
    let classes = ast.nodes.classes.iter().filter(|(_, class)| contains(class.span));
    let mut classes: Vec<(u32, ClassId)> =
        classes.map(|(id, class)| (class.span.start, id)).collect();
    classes.sort_by_key(|(start, _)| *start);
    classes.into_iter().map(|(_, id)| id).collect()
}

fn innermost_class(ast: &Ast, place: Span) -> ClassId {
    classes_around(ast, place).pop().unwrap_or(ast.module)
}

/// Adds a slot behind the last one of a class.
fn add_slot(
    document: &Document,
    ast: &Ast,
    class: ClassId,
    slot: &str,
    needs_platform: bool,
) -> Option<Remedy> {
    let class = &ast[class];
    let mut edits = Vec::new();
    if needs_platform && class.factory.parameters.is_empty() {
        let name = class.name?;
        if class.factory.span == name.span {
            edits.push((name.span.after(), " usingPlatform: platform".to_owned()));
        }
    }
    match class.slots.last() {
        Some(&last) => {
            let last = ast[last].span;
            let column =
                text::position(&document.source, ast[*class.slots.first()?].span.start).character;
            let text = format!("\n{}{slot}", " ".repeat(column as usize));
            edits.push((last.after(), text));
        }
        None => {
            let opening = header(document, class)?;
            edits.push((opening.after(), format!("\n| {slot} |\n")));
        }
    }
    Some((format!("add the slot `{slot}`"), edits))
}

/// The first parenthesis of a class without slots.
fn header(document: &Document, class: &Class) -> Option<Span> {
    let clause = class.mixins.last().or(class.superclass.as_ref());
    let start = clause.map_or(class.factory.span.end, |clause| clause.span.end);
    let mut tokens = document.tokens.iter().filter(|token| token.span.start >= start);
    // Types in the head have parentheses, too.
    let is_next = clause.is_some();
    if !is_next {
        tokens.find(|token| token.kind == TokenKind::Equals)?;
    }
    tokens.next().filter(|token| token.kind == TokenKind::OpenParenthesis).map(|token| token.span)
}

/// Adds a local to the method around a place.
fn add_local(document: &Document, ast: &Ast, place: Span, name: &str) -> Option<Remedy> {
    let contains = |span: Span| span.start <= place.start && place.end <= span.end;
    let methods = ast.nodes.methods.iter().map(|(_, method)| method);
    let method =
        methods.filter(|method| contains(method.span)).max_by_key(|method| method.span.start)?;
    let edit = match method.body.locals.last() {
        Some(local) => (local.span.after(), format!(" {name}")),
        None => {
            let opening = Span { start: method.body.span.start, end: method.body.span.start + 1 };
            let column = |offset| text::position(&document.source, offset).character as usize;
            let indentation = " ".repeat(column(method.span.start) + 2);
            let is_one_line = document.source.line(method.body.span.start)
                == document.source.line(method.body.span.end);
            match is_one_line {
                true => (opening.after(), format!(" | {name} |")),
                false => (opening.after(), format!("\n{indentation}| {name} |")),
            }
        }
    };
    Some((format!("declare the local `{name}`"), vec![edit]))
}
