//! The outline of a text, and the search for names in all texts. The server's loop calls this module.

use lsp_types::{DocumentSymbol, Location, SymbolInformation, SymbolKind as Kind};
use squall_newspeak::check::classes::Side;

use crate::document::Document;
use crate::model::{Symbol, SymbolKind};
use crate::text;
use crate::workspace::Workspace;

/// How many symbols a search answers at most.
const MOST_FOUND: usize = 256;

/// `textDocument/documentSymbol`: classes with their slots and methods.
pub fn outline(document: &Document) -> Vec<DocumentSymbol> {
    let symbols = &document.model.symbols;
    let mut children: Vec<Vec<DocumentSymbol>> = symbols.iter().map(|_| Vec::new()).collect();
    let mut roots = Vec::new();
    // The inner symbols come behind the ones around them.
    for (number, symbol) in symbols.iter().enumerate().rev() {
        if symbol.kind.is_variable() || symbol.kind == SymbolKind::Factory {
            continue;
        }
        let mut own = std::mem::take(&mut children[number]);
        own.reverse();
        let entry = entry(document, symbol, own);
        match symbol.parent {
            Some(parent) => children[parent].push(entry),
            None => roots.push(entry),
        }
    }
    roots.reverse();
    roots
}

#[allow(
    deprecated,
    reason = "the protocol's type has a field that is deprecated, and no constructor"
)]
fn entry(document: &Document, symbol: &Symbol, children: Vec<DocumentSymbol>) -> DocumentSymbol {
    let name = symbol.parts.first().copied().unwrap_or(symbol.span);
    // Clients refuse names outside of their declaration.
    let last = symbol.parts.last().copied().unwrap_or(name);
    DocumentSymbol {
        name: symbol.name.clone(),
        detail: (symbol.side == Side::Class).then(|| "class".to_owned()),
        kind: kind(symbol),
        tags: None,
        deprecated: None,
        range: text::range(&document.source, symbol.span),
        selection_range: text::range(&document.source, name.to(last)),
        children: (!children.is_empty()).then_some(children),
    }
}

fn kind(symbol: &Symbol) -> Kind {
    match symbol.kind {
        SymbolKind::Class if symbol.parent.is_none() => Kind::MODULE,
        SymbolKind::Class => Kind::CLASS,
        SymbolKind::Factory => Kind::CONSTRUCTOR,
        SymbolKind::Slot { is_mutable: true } => Kind::FIELD,
        SymbolKind::Slot { is_mutable: false } => Kind::CONSTANT,
        SymbolKind::Method if symbol.side == Side::Class => Kind::FUNCTION,
        SymbolKind::Method => Kind::METHOD,
        SymbolKind::Local | SymbolKind::Parameter => Kind::VARIABLE,
    }
}

/// `workspace/symbol`: the symbols whose names contain the letters of the query in their order.
#[allow(
    deprecated,
    reason = "the protocol's type has a field that is deprecated, and no constructor"
)]
pub fn search(workspace: &Workspace<'_>, query: &str) -> Vec<SymbolInformation> {
    let mut found = Vec::new();
    for document in workspace.programs() {
        let symbols = document.model.symbols.iter();
        let wanted = symbols
            .filter(|symbol| !symbol.kind.is_variable() && symbol.kind != SymbolKind::Factory);
        for symbol in wanted {
            if let Some(rank) = rank(&symbol.name, query) {
                found.push((rank, document, symbol));
            }
        }
    }
    found.sort_by_key(|(rank, _, symbol)| (*rank, symbol.name.len()));
    found.truncate(MOST_FOUND);
    let information = |(_, document, symbol): (usize, &Document, &Symbol)| SymbolInformation {
        name: symbol.name.clone(),
        kind: kind(symbol),
        tags: None,
        deprecated: None,
        location: Location {
            uri: document.uri.clone(),
            range: text::range(
                &document.source,
                symbol.parts.first().copied().unwrap_or(symbol.span),
            ),
        },
        container_name: symbol.parent.map(|parent| document.model.symbols[parent].name.clone()),
    };
    found.into_iter().map(information).collect()
}

/// How well a name fits a query: 0 for the same, 1 for a beginning, 2 for a part, 3 for letters in order.
fn rank(name: &str, query: &str) -> Option<usize> {
    let (name, query) = (name.to_lowercase(), query.to_lowercase());
    if name == query {
        Some(0)
    } else if name.starts_with(&query) {
        Some(1)
    } else if name.contains(&query) {
        Some(2)
    } else {
        let mut letters = name.chars();
        query.chars().all(|wanted| letters.any(|letter| letter == wanted)).then_some(3)
    }
}
