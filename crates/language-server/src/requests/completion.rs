//! `textDocument/completion`: the names and messages that may stand at the cursor. The server's loop calls this module.
//!
//! The text is parsed once more with a name of the server's own in place of the word at the cursor. Where the model then
//! has a use of that name, it says what is visible and what is known of the receiver. As the statement is often not
//! complete, this is tried with some ends for it.

use std::collections::{BTreeMap, HashSet};

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionItemLabelDetails, CompletionTextEdit,
    Documentation, InsertTextFormat, MarkupContent, MarkupKind, Position, TextEdit,
};
use squall_newspeak::Span;
use squall_newspeak::ast::Access;
use squall_newspeak::check::classes::{ClassRef, Classes, Known, Side};
use squall_newspeak::token::TokenKind;

use super::hover::in_markdown;
use crate::document::Document;
use crate::model::{SymbolKind, Target, Visible};
use crate::text;
use crate::workspace::Workspace;

/// A name that no program has.
const MARK: &str = "squallCompletesHere";

/// How many items are answered at most; a client asks again after more letters.
const MOST_ITEMS: usize = 400;

/// The items, and whether there are more.
pub struct Completion {
    /// The items.
    pub items: Vec<CompletionItem>,
    /// Whether a longer prefix gives other items.
    pub is_incomplete: bool,
}

/// The items for a position. `has_snippets` says whether the client can fill in arguments one after the other.
pub fn complete(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
    has_snippets: bool,
) -> Completion {
    let offset = text::offset(&document.source, position);
    let nothing = Completion { items: Vec::new(), is_incomplete: false };
    let Some(word) = word_at(document, offset) else { return nothing };
    let prefix = document.source.slice(Span { end: offset, ..word });
    let mut names = Names::new(prefix);
    match marked(workspace, document, word, offset) {
        Some((marked, visible)) => names.visible(workspace, &marked, &visible),
        None => names.all(workspace, document),
    }
    let range = text::range(&document.source, Span { end: offset.max(word.start), ..word });
    names.finish(range, has_snippets)
}

/// The word at an offset, empty between words; none in comments and literals.
fn word_at(document: &Document, offset: u32) -> Option<Span> {
    let index = document.tokens.partition_point(|token| token.span.end < offset);
    let token = document.tokens.get(index).filter(|token| token.span.start < offset);
    let Some(token) = token else {
        let is_comment = |span: &Span| span.start < offset && offset < span.end;
        let comments = squall_newspeak::comments::comments(&document.source, &document.tokens);
        return (!comments.iter().any(is_comment)).then_some(Span { start: offset, end: offset });
    };
    match token.kind {
        TokenKind::Identifier | TokenKind::Keyword | TokenKind::Setter => Some(token.span),
        TokenKind::String | TokenKind::Character | TokenKind::Numeral | TokenKind::Symbol => None,
        _ => Some(Span { start: offset, end: offset }),
    }
}

/// The text with the mark at the cursor, and what is visible there.
fn marked(
    workspace: &Workspace<'_>,
    document: &Document,
    word: Span,
    offset: u32,
) -> Option<(Document, Visible)> {
    let text = document.source.text();
    let (before, after) = (&text[..word.start as usize], &text[word.end.max(offset) as usize..]);
    let closers = closers(document, word.start);
    let ends = [String::new(), ".".to_owned(), format!("{}.", closers.0), closers.1];
    for (number, end) in ends.iter().enumerate() {
        // The last attempt is without the rest of the text.
        let after = if number + 1 == ends.len() { "" } else { after };
        let attempt = format!("{before} {MARK} {end}{after}");
        let library = workspace.host.library();
        let marked =
            Document::with_mark(document.uri.clone(), None, attempt.into_bytes(), library, MARK);
        if let Some(visible) = marked.model.visible.clone() {
            return Some((marked, visible));
        }
    }
    None
}

/// The brackets that are open at an offset: those of the statement, and all with what a class needs.
fn closers(document: &Document, offset: u32) -> (String, String) {
    let count = document.tokens.partition_point(|token| token.span.start < offset);
    let mut open: Vec<(char, bool)> = Vec::new();
    for token in &document.tokens[..count] {
        match token.kind {
            TokenKind::OpenParenthesis => open.push((')', true)),
            TokenKind::OpenBracket => open.push((']', true)),
            TokenKind::OpenBrace => open.push(('}', true)),
            kind if kind.is_closer() => _ = open.pop(),
            // Brackets around a statement are not part of it.
            TokenKind::Period => open.iter_mut().for_each(|(_, is_new)| *is_new = false),
            TokenKind::Equals => open.iter_mut().for_each(|(_, is_new)| *is_new = false),
            _ => {}
        }
    }
    let own: String =
        open.iter().rev().take_while(|(_, is_new)| *is_new).map(|(closer, _)| *closer).collect();
    // The innermost parentheses may be those of a method, which the rest of the text closes.
    let own = own.strip_suffix(')').unwrap_or(&own).to_owned();
    let all: String = open.iter().rev().map(|(closer, _)| *closer).collect();
    (own, all)
}

/// An item before it has its form.
struct Candidate {
    kind: CompletionItemKind,
    /// The class that declares it, or what it is.
    origin: String,
    /// The less, the nearer.
    rank: u8,
    documentation: Option<String>,
}

struct Names<'p> {
    prefix: &'p str,
    candidates: BTreeMap<String, Candidate>,
}

impl<'p> Names<'p> {
    fn new(prefix: &'p str) -> Names<'p> {
        Names { prefix, candidates: BTreeMap::new() }
    }

    fn add(&mut self, name: &str, kind: CompletionItemKind, origin: &str, rank: u8) {
        if name == MARK || !fits(name, self.prefix) {
            return;
        }
        let candidate = Candidate { kind, origin: origin.to_owned(), rank, documentation: None };
        match self.candidates.get(name) {
            Some(known) if known.rank <= rank => {}
            _ => _ = self.candidates.insert(name.to_owned(), candidate),
        }
    }

    /// What may stand at the mark.
    fn visible(&mut self, workspace: &Workspace<'_>, document: &Document, visible: &Visible) {
        let Some(ast) = &document.ast else { return };
        let classes = Classes::of(ast, workspace.host.library());
        match visible.target {
            Some(Target::Receiver(known)) => match known {
                Known::Instance(class) => self.members(&classes, class, Side::Instance, false, 0),
                Known::Class(class) => self.members(&classes, class, Side::Class, false, 0),
                Known::Promise => {
                    let promise = classes.library_class("Kernel.Promise");
                    promise
                        .into_iter()
                        .for_each(|class| self.members(&classes, class, Side::Instance, false, 0));
                }
                Known::Nothing => self.all_messages(workspace, document),
            },
            Some(Target::Super(class, side)) => {
                for parent in classes.parents(ClassRef::Text(class)).unwrap_or_default() {
                    self.members(&classes, parent, side, true, 0);
                }
            }
            Some(Target::ToSelf(class, side)) => {
                self.members(&classes, ClassRef::Text(class), side, true, 0);
            }
            _ => self.names(workspace, document, &classes, visible),
        }
        self.describe(workspace, document, visible);
    }

    fn names(
        &mut self,
        workspace: &Workspace<'_>,
        document: &Document,
        classes: &Classes<'_>,
        visible: &Visible,
    ) {
        for &number in &visible.variables {
            let symbol = &document.model.symbols[number];
            let origin = if symbol.kind == SymbolKind::Local { "local" } else { "parameter" };
            self.add(&symbol.name, CompletionItemKind::VARIABLE, origin, 0);
        }
        for (depth, &(class, side)) in visible.places.iter().rev().enumerate() {
            self.members(classes, ClassRef::Text(class), side, true, 1 + depth.min(5) as u8);
        }
        for word in ["self", "super", "outer", "nil", "true", "false", "objL"] {
            self.add(word, CompletionItemKind::KEYWORD, "", 8);
        }
        // Classes that a slot could make known.
        if !self.prefix.is_empty() {
            let library = workspace.host.library();
            for class in library.classes().filter(|class| class.access == Access::Public) {
                let ways = if fits(class.name(), self.prefix) {
                    library.ways_to(class.name())
                } else {
                    continue;
                };
                if let Some(way) = ways.first() {
                    self.add(class.name(), CompletionItemKind::CLASS, &format!("in `{way}`"), 9);
                }
            }
        }
    }

    /// The members of a class with those that it inherits; only public ones, unless the code is inside.
    fn members(
        &mut self,
        classes: &Classes<'_>,
        class: ClassRef,
        side: Side,
        is_inside: bool,
        rank: u8,
    ) {
        let mut pending = vec![(class, 0)];
        let mut visited = HashSet::new();
        while let Some((class, depth)) = pending.pop() {
            if !visited.insert(class) {
                continue;
            }
            let origin = classes.name(class);
            let is_root = ["Object", "Thing", "Top", "Value", "Class"].contains(&&*origin);
            let rank = if is_root { 7 } else { rank + u8::from(depth > 0) };
            for selector in classes.own_selectors(class, side) {
                let access = classes.own_member(class, side, &selector);
                let is_reachable = match access {
                    Some(Access::Public) => true,
                    Some(Access::Protected) => is_inside,
                    _ => is_inside && depth == 0,
                };
                let is_factory =
                    side == Side::Class && depth > 0 && classes.factory(class) == selector;
                if is_reachable && !is_factory {
                    self.add(&selector, kind_of(&selector), &origin, rank);
                }
            }
            let parents = classes.parents(class).unwrap_or_default();
            pending.extend(parents.into_iter().map(|parent| (parent, depth + 1)));
        }
        if side == Side::Class
            && let Some(all) = classes.library_class("Kernel.Class")
        {
            self.members(classes, all, Side::Instance, false, 7);
        }
    }

    /// All messages that something understands.
    fn all_messages(&mut self, workspace: &Workspace<'_>, document: &Document) {
        let own = document.definitions.keys();
        own.for_each(|name| self.add(name, kind_of(name), "this text", 1));
        for program in workspace.programs() {
            program
                .definitions
                .keys()
                .for_each(|name| self.add(name, kind_of(name), "the project", 2));
        }
        for (selector, access) in workspace.host.library().selectors() {
            if access == Access::Public {
                self.add(selector, kind_of(selector), "the library", 3);
            }
        }
    }

    /// All words, where nothing is known of the place.
    fn all(&mut self, workspace: &Workspace<'_>, document: &Document) {
        for token in document.tokens.iter().filter(|token| token.kind == TokenKind::Identifier) {
            self.add(document.source.slice(token.span), CompletionItemKind::TEXT, "this text", 4);
        }
        self.all_messages(workspace, document);
    }

    /// Adds comments, if there are few items.
    fn describe(&mut self, workspace: &Workspace<'_>, document: &Document, visible: &Visible) {
        const MOST_DESCRIBED: usize = 40;
        let Some(target) = visible.target else { return };
        if self.candidates.len() > MOST_DESCRIBED {
            return;
        }
        for (name, candidate) in &mut self.candidates {
            let is_member = candidate.kind != CompletionItemKind::VARIABLE
                && candidate.kind != CompletionItemKind::KEYWORD
                && candidate.rank < 9;
            if is_member && matches!(target, Target::Receiver(_)) {
                let definitions = workspace.definitions(document, name, target);
                let library = definitions
                    .iter()
                    .filter(|one| matches!(one, crate::workspace::Definition::Library(_)));
                let described = library.filter_map(|one| workspace.description(one)).next();
                candidate.documentation = described.map(in_markdown);
            }
        }
    }

    fn finish(self, range: lsp_types::Range, has_snippets: bool) -> Completion {
        let mut candidates: Vec<(String, Candidate)> = self.candidates.into_iter().collect();
        let prefix = self.prefix;
        candidates.sort_by_key(|(name, candidate)| (!name.starts_with(prefix), candidate.rank));
        let is_incomplete = candidates.len() > MOST_ITEMS;
        candidates.truncate(MOST_ITEMS);
        let items = candidates.into_iter().enumerate();
        let items = items
            .map(|(number, (name, candidate))| item(number, &name, candidate, range, has_snippets));
        Completion { items: items.collect(), is_incomplete }
    }
}

fn item(
    number: usize,
    name: &str,
    candidate: Candidate,
    range: lsp_types::Range,
    has_snippets: bool,
) -> CompletionItem {
    let is_keyword = name.contains(':');
    let new_text = match (is_keyword, has_snippets) {
        (true, true) => {
            let words = (1..)
                .zip(name.split_inclusive(':'))
                .map(|(number, word)| format!("{word} ${{{number}}}"));
            words.collect::<Vec<_>>().join(" ")
        }
        _ => name.to_owned(),
    };
    CompletionItem {
        label: name.to_owned(),
        label_details: Some(CompletionItemLabelDetails {
            detail: None,
            description: Some(candidate.origin.clone()),
        }),
        kind: Some(candidate.kind),
        detail: (!candidate.origin.is_empty()).then_some(candidate.origin),
        documentation: candidate.documentation.map(|value| {
            Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value })
        }),
        sort_text: Some(format!("{number:04}")),
        filter_text: Some(name.to_owned()),
        insert_text_format: (is_keyword && has_snippets).then_some(InsertTextFormat::SNIPPET),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit { range, new_text })),
        ..CompletionItem::default()
    }
}

fn kind_of(selector: &str) -> CompletionItemKind {
    match selector.chars().next() {
        Some(first) if first.is_uppercase() && !selector.contains(':') => CompletionItemKind::CLASS,
        Some(first) if first.is_alphabetic() => CompletionItemKind::METHOD,
        _ => CompletionItemKind::OPERATOR,
    }
}

/// Whether a name has the letters of the prefix in their order, and begins with the first one.
fn fits(name: &str, prefix: &str) -> bool {
    let mut letters = name.chars();
    let mut wanted = prefix.chars();
    let Some(first) = wanted.next() else { return true };
    letters.next().is_some_and(|letter| letter.eq_ignore_ascii_case(&first))
        && wanted.all(|wanted| letters.any(|letter| letter.eq_ignore_ascii_case(&wanted)))
}
