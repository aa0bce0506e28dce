//! The hierarchy of calls: which methods send a message, and which messages a method sends. The server's loop calls
//! this module.

use std::collections::BTreeMap;

use lsp_types::{
    CallHierarchyIncomingCall, CallHierarchyItem, CallHierarchyOutgoingCall, Position, Range,
    SymbolKind,
};
use squall_newspeak::Span;

use super::navigation::{meant, uses_of};
use crate::document::Document;
use crate::model::Target;
use crate::text;
use crate::workspace::{Definition, Workspace};

/// How many definitions of a name are items.
const MOST_ITEMS: usize = 16;

/// `textDocument/prepareCallHierarchy`: the methods that are meant at a place.
pub fn prepare(
    workspace: &Workspace<'_>,
    document: &Document,
    position: Position,
) -> Vec<CallHierarchyItem> {
    let definitions = meant(workspace, document, position);
    let items = definitions.iter().filter(|definition| !is_variable(workspace, definition));
    items.take(MOST_ITEMS).filter_map(|definition| item(workspace, definition)).collect()
}

fn is_variable(workspace: &Workspace<'_>, definition: &Definition) -> bool {
    match definition {
        Definition::Text(uri, symbol) => {
            let document = workspace.documents.get(uri);
            document.is_none_or(|document| document.model.symbols[*symbol].kind.is_variable())
        }
        Definition::Library(_) => false,
    }
}

fn item(workspace: &Workspace<'_>, definition: &Definition) -> Option<CallHierarchyItem> {
    let location = workspace.location(definition)?;
    let description = workspace.description(definition)?;
    let (name, range) = match definition {
        Definition::Text(uri, symbol) => {
            let document = workspace.documents.get(uri)?;
            let symbol = &document.model.symbols[*symbol];
            (symbol.name.clone(), text::range(&document.source, symbol.span))
        }
        Definition::Library(item) => {
            let class = workspace.host.library().class(item.class);
            let member = crate::library::member(class, *item);
            (member.map_or(&class.factory, |member| &member.selector).clone(), location.range)
        }
    };
    Some(CallHierarchyItem {
        name,
        kind: SymbolKind::METHOD,
        tags: None,
        detail: Some(description.place),
        uri: location.uri,
        range,
        selection_range: location.range,
        data: None,
    })
}

/// `callHierarchy/incomingCalls`: the methods, slots and classes in whose text the message is sent.
pub fn incoming(
    workspace: &Workspace<'_>,
    called: &CallHierarchyItem,
) -> Vec<CallHierarchyIncomingCall> {
    let mut calls = Vec::new();
    for document in workspace.programs() {
        let mut by_symbol: BTreeMap<usize, Vec<Range>> = BTreeMap::new();
        for number in uses_of(document, &called.name) {
            let sent = &document.model.uses[number];
            if let Some(around) = sent.around {
                let range = text::range(&document.source, sent.parts[0]);
                by_symbol.entry(around).or_default().push(range);
            }
        }
        for (symbol, from_ranges) in by_symbol {
            let definition = Definition::Text(document.uri.as_str().to_owned(), symbol);
            let from = item(workspace, &definition);
            calls.extend(from.map(|from| CallHierarchyIncomingCall { from, from_ranges }));
        }
    }
    calls
}

/// `callHierarchy/outgoingCalls`: what the messages in a method's text may reach.
pub fn outgoing(
    workspace: &Workspace<'_>,
    caller: &CallHierarchyItem,
) -> Vec<CallHierarchyOutgoingCall> {
    let Some(document) = workspace.document(&caller.uri) else { return Vec::new() };
    let span = text::span(&document.source, caller.range);
    let is_inside = |part: Span| span.start <= part.start && part.end <= span.end;
    let mut by_name: BTreeMap<&str, (Target, Vec<Range>)> = BTreeMap::new();
    for sent in &document.model.uses {
        if !matches!(sent.target, Target::Variable(_)) && is_inside(sent.parts[0]) {
            let range = text::range(&document.source, sent.parts[0]);
            by_name.entry(&sent.name).or_insert((sent.target, Vec::new())).1.push(range);
        }
    }
    let mut calls = Vec::new();
    for (name, (target, ranges)) in by_name {
        for definition in workspace.definitions(document, name, target).iter().take(MOST_ITEMS) {
            let to = item(workspace, definition);
            let from_ranges = ranges.clone();
            calls.extend(to.map(|to| CallHierarchyOutgoingCall { to, from_ranges }));
        }
    }
    calls
}
