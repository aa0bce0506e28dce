//! Definitions, implementors, senders and other references, and new names. The server's loop calls this module, and
//! `calls` and `hover` find the subject of a name with it.

use std::collections::HashMap;

use lsp_types::{
    DocumentHighlight, DocumentHighlightKind, Location, Position, Range, TextEdit, Uri,
    WorkspaceEdit,
};
use squall_newspeak::Span;
use squall_newspeak::ast::Access;
use squall_newspeak::token::TokenKind;

use crate::document::Document;
use crate::model::{SymbolKind, Target, Use};
use crate::text;
use crate::workspace::{Definition, Workspace};

/// The thing at a place: a declared one, or a used one.
pub enum Subject {
    /// The declaration with this number.
    Symbol(usize),
    /// The use with this number.
    Use(usize),
}

/// The thing at a place of a text.
pub fn subject(document: &Document, position: Position) -> Option<Subject> {
    let offset = text::offset(&document.source, position);
    let symbol = || document.model.symbol_at(offset).map(Subject::Symbol);
    document.model.use_at(offset).map(Subject::Use).or_else(symbol)
}

/// The definitions that are meant at a place.
pub fn meant(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
) -> Vec<Definition> {
    match subject(document, position) {
        Some(Subject::Symbol(number)) => {
            vec![Definition::Text(document.uri.as_str().to_owned(), number)]
        }
        Some(Subject::Use(number)) => {
            let name = &document.model.uses[number];
            workspace.definitions(document, &name.name, name.target)
        }
        None => Vec::new(),
    }
}

/// `textDocument/definition`.
pub fn definition(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
) -> Vec<Location> {
    let definitions = meant(workspace, document, position);
    definitions.iter().filter_map(|definition| workspace.location(definition)).collect()
}

/// `textDocument/implementation`: all members with the name, whatever is known of the receiver.
pub fn implementation(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
) -> Vec<Location> {
    let definitions = match name_at(document, position) {
        Some(Name::Member(name)) => workspace.implementors(&name),
        _ => meant(workspace, document, position),
    };
    definitions.iter().filter_map(|definition| workspace.location(definition)).collect()
}

/// What a place names.
enum Name {
    Variable(usize),
    Member(String),
}

fn name_at(document: &Document, position: Position) -> Option<Name> {
    let (symbols, uses) = (&document.model.symbols, &document.model.uses);
    Some(match subject(document, position)? {
        Subject::Symbol(number) if symbols[number].kind.is_variable() => Name::Variable(number),
        Subject::Symbol(number) => Name::Member(symbols[number].name.clone()),
        Subject::Use(number) => match uses[number].target {
            Target::Variable(symbol) => Name::Variable(symbol),
            _ => Name::Member(uses[number].name.clone()),
        },
    })
}

/// `textDocument/references`: the uses of a variable, or all senders of a message in all texts.
pub fn references(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
    with_declarations: bool,
) -> Vec<Location> {
    let Some(name) = name_at(document, position) else { return Vec::new() };
    let mut places = Vec::new();
    match name {
        Name::Variable(symbol) => {
            let spans = places_of_variable(document, symbol, with_declarations);
            places.extend(spans.into_iter().map(|span| (document, span)));
        }
        Name::Member(name) => {
            for document in workspace.programs() {
                let uses = uses_of(document, &name);
                places.extend(uses.map(|number| (document, document.model.uses[number].parts[0])));
            }
        }
    }
    let location = |(document, span): (&Document, Span)| Location {
        uri: document.uri.clone(),
        range: text::range(&document.source, span),
    };
    let mut locations: Vec<Location> = places.into_iter().map(location).collect();
    if with_declarations && let Some(Name::Member(name)) = name_at(document, position) {
        let declared = workspace.implementors(&name);
        let declared = declared.iter().filter(|one| matches!(one, Definition::Text(..)));
        locations.extend(declared.filter_map(|definition| workspace.location(definition)));
    }
    locations
}

/// The uses that send a message, or assign the slot whose setter it is.
pub fn uses_of<'d>(document: &'d Document, name: &str) -> impl Iterator<Item = usize> + use<'d> {
    document.senders.get(name).into_iter().flatten().copied()
}

fn places_of_variable(document: &Document, symbol: usize, with_declaration: bool) -> Vec<Span> {
    let uses = document.model.uses.iter();
    let uses = uses.filter(|name| name.target == Target::Variable(symbol));
    let uses = uses.map(|name| without_setter(document, name.parts[0]));
    let declaration = document.model.symbols[symbol].parts[0];
    with_declaration.then_some(declaration).into_iter().chain(uses).collect()
}

/// The name in `name::`.
fn without_setter(document: &Document, span: Span) -> Span {
    match document.source.slice(span).ends_with("::") {
        true => Span { end: span.end - 2, ..span },
        false => span,
    }
}

/// `textDocument/documentHighlight`: the uses of a name in its text. Declarations and assignments write.
pub fn highlights(document: &Document, position: Position) -> Vec<DocumentHighlight> {
    let highlight = |span: Span, writes: bool| DocumentHighlight {
        range: text::range(&document.source, span),
        kind: Some(match writes {
            true => DocumentHighlightKind::WRITE,
            false => DocumentHighlightKind::READ,
        }),
    };
    let used = |used: &Use| {
        let parts = used.parts.iter().map(|part| without_setter(document, *part));
        parts.map(|part| highlight(part, used.is_assignment)).collect::<Vec<_>>()
    };
    match name_at(document, position) {
        None => Vec::new(),
        Some(Name::Variable(symbol)) => {
            let declaration = highlight(document.model.symbols[symbol].parts[0], true);
            let uses = document.model.uses.iter();
            let uses = uses.filter(|name| name.target == Target::Variable(symbol));
            std::iter::once(declaration).chain(uses.flat_map(used)).collect()
        }
        Some(Name::Member(name)) => {
            let uses = uses_of(document, &name).map(|number| &document.model.uses[number]);
            let symbols = document.definitions.get(&name).into_iter().flatten();
            let symbols = symbols.flat_map(|&number| &document.model.symbols[number].parts);
            let symbols = symbols.map(|part| highlight(*part, true));
            uses.flat_map(used).chain(symbols).collect()
        }
    }
}

// New names

/// `textDocument/prepareRename`: the word that gets another name.
pub fn renameable(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
) -> Option<Range> {
    let name = name_at(document, position)?;
    if let Name::Member(name) = &name
        && is_of_library(workspace, name)
    {
        return None;
    }
    let offset = text::offset(&document.source, position);
    let token = document.tokens.get(document.token_at(offset)?)?;
    let span = match token.kind {
        TokenKind::Identifier | TokenKind::Operator => token.span,
        TokenKind::Keyword => Span { end: token.span.end - 1, ..token.span },
        TokenKind::Setter => Span { end: token.span.end - 2, ..token.span },
        _ => return None,
    };
    Some(text::range(&document.source, span))
}

fn is_of_library(workspace: &Workspace<'_>, name: &str) -> bool {
    let library = workspace.host.library();
    !workspace.texts.implementors(library, name).is_empty()
}

/// `textDocument/rename`. A variable gets another name in its method; a member in all texts that declare or send it, as
/// only the running program knows which of them belong together. On failure answers the reason.
pub fn rename(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
    new_name: &str,
) -> Result<WorkspaceEdit, String> {
    let name = name_at(document, position).ok_or("there is no name here")?;
    let mut edits = Edits::default();
    match name {
        Name::Variable(symbol) => {
            check_word(new_name)?;
            for span in places_of_variable(document, symbol, true) {
                edits.add(document, span, new_name);
            }
        }
        Name::Member(name) => {
            // The name under the cursor may be the setter of a slot.
            let name = slot_of_setter(document, &name).unwrap_or(name);
            if is_of_library(workspace, &name) {
                return Err(format!("`{name}` belongs to the library, too"));
            }
            let mut packages = workspace.programs().filter(|it| workspace.is_of_package(it));
            if packages.any(|document| document.definitions.contains_key(&name)) {
                return Err(format!("`{name}` belongs to a package, too"));
            }
            let private = private_class(document, position);
            let words = words_of(&name, &whole_selector(document, position, &name, new_name))?;
            let has_setter = workspace.programs().any(|document| has_setter(document, &name));
            for document in workspace.programs().filter(|it| !workspace.is_of_package(it)) {
                if private.as_ref().is_none_or(|uri| *uri == document.uri) {
                    edits.rename_member(document, &name, &words, has_setter);
                }
            }
        }
    }
    Ok(WorkspaceEdit { changes: Some(edits.changes), ..WorkspaceEdit::default() })
}

/// The text in which a private member is known, if the place is one.
fn private_class(document: &Document, position: Position) -> Option<Uri> {
    let number = match subject(document, position)? {
        Subject::Symbol(number) => number,
        Subject::Use(number) => {
            let Target::Lexical(class, side) = document.model.uses[number].target else {
                return None;
            };
            let name = &document.model.uses[number].name;
            let numbers = document.definitions.get(name)?;
            let belongs = |number: &&usize| {
                let symbol = &document.model.symbols[**number];
                symbol.class == class && symbol.side == side
            };
            *numbers.iter().find(belongs)?
        }
    };
    (document.model.symbols[number].access == Access::Private).then(|| document.uri.clone())
}

fn slot_of_setter(document: &Document, name: &str) -> Option<String> {
    let slot = name.strip_suffix(':')?;
    has_setter(document, slot).then(|| slot.to_owned())
}

/// Whether the text declares a slot of this name that can be assigned.
fn has_setter(document: &Document, name: &str) -> bool {
    let mut numbers = document.definitions.get(name).into_iter().flatten();
    numbers
        .any(|&number| document.model.symbols[number].kind == SymbolKind::Slot { is_mutable: true })
}

/// The new selector as a whole: clients offer only the word under the cursor for editing.
fn whole_selector(document: &Document, position: Position, name: &str, new_name: &str) -> String {
    let parts: Vec<&str> = name.split_inclusive(':').collect();
    if parts.len() < 2 || new_name.contains(':') {
        return match name.ends_with(':') && !new_name.ends_with(':') {
            true => format!("{new_name}:"),
            false => new_name.to_owned(),
        };
    }
    let offset = text::offset(&document.source, position);
    let token =
        document.token_at(offset).map(|token| document.source.slice(document.tokens[token].span));
    let mut is_replaced = false;
    let replaced = parts.iter().map(|part| match Some(*part) == token && !is_replaced {
        true => {
            is_replaced = true;
            format!("{new_name}:")
        }
        false => (*part).to_owned(),
    });
    replaced.collect()
}

fn check_word(name: &str) -> Result<(), String> {
    let reserved = ["self", "super", "outer", "nil", "true", "false", "objL"];
    let mut letters = name.chars();
    let begins = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if begins
        && letters.all(|letter| letter.is_alphanumeric() || letter == '_')
        && !reserved.contains(&name)
    {
        Ok(())
    } else {
        Err(format!("`{name}` is no name"))
    }
}

/// The words of a new selector; it must have the form of the old one.
fn words_of(old: &str, new: &str) -> Result<Vec<String>, String> {
    let is_operator =
        |name: &str| !name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let count = |name: &str| name.matches(':').count();
    if is_operator(old) {
        let is_letter = |letter: char| "~&|*/\\+=><,@%-!".contains(letter);
        return match !new.is_empty() && new.chars().all(is_letter) {
            true => Ok(vec![new.to_owned()]),
            false => Err(format!("`{new}` is no operator")),
        };
    }
    if count(old) != count(new) {
        return Err(format!("`{new}` takes another number of arguments than `{old}`"));
    }
    let words: Vec<String> = new.split_inclusive(':').map(str::to_owned).collect();
    words.iter().try_for_each(|word| check_word(word.trim_end_matches(':')))?;
    Ok(words)
}

// The changes are a map of addresses in the protocol, too.
#[allow(
    clippy::mutable_key_type,
    reason = "the address has no interior that changes; the protocol's types want it as a key"
)]
#[derive(Default)]
struct Edits {
    changes: HashMap<Uri, Vec<TextEdit>>,
}

impl Edits {
    fn add(&mut self, document: &Document, span: Span, text: &str) {
        let range = text::range(&document.source, span);
        let edit = TextEdit { range, new_text: text.to_owned() };
        let edits = self.changes.entry(document.uri.clone()).or_default();
        if !edits.contains(&edit) {
            edits.push(edit);
        }
    }

    fn rename_member(&mut self, document: &Document, name: &str, words: &[String], is_slot: bool) {
        let symbols = document.definitions.get(name).into_iter().flatten();
        for symbol in symbols.map(|&number| &document.model.symbols[number]) {
            self.words(document, &symbol.parts, words);
        }
        for number in uses_of(document, name) {
            self.words(document, &document.model.uses[number].parts, words);
        }
        if !is_slot {
            return;
        }
        for number in uses_of(document, &format!("{name}:")) {
            let setter = &document.model.uses[number];
            let part = setter.parts[0];
            let colons = if setter.is_assignment { 0 } else { 1 };
            let span = Span { end: without_setter(document, part).end - colons, ..part };
            self.add(document, span, &words[0]);
        }
    }

    fn words(&mut self, document: &Document, parts: &[Span], words: &[String]) {
        for (part, word) in parts.iter().zip(words) {
            self.add(document, *part, word);
        }
    }
}
