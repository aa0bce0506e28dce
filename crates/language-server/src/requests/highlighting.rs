//! `textDocument/semanticTokens`: the words of a text by what they mean. The server's loop calls this module.

use lsp_types::{SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokensLegend};
use squall_newspeak::Span;
use squall_newspeak::comments::comments;
use squall_newspeak::token::TokenKind;

use crate::document::Document;
use crate::model::{SymbolKind, Target};
use crate::text;
use crate::workspace::{Definition, Workspace};

const TYPES: [SemanticTokenType; 12] = [
    SemanticTokenType::CLASS,
    SemanticTokenType::METHOD,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::KEYWORD,
    SemanticTokenType::STRING,
    SemanticTokenType::NUMBER,
    SemanticTokenType::COMMENT,
    SemanticTokenType::OPERATOR,
    SemanticTokenType::ENUM_MEMBER,
    SemanticTokenType::MODIFIER,
];

/// The numbers of the types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Class,
    Method,
    Property,
    Variable,
    Parameter,
    Keyword,
    String,
    Number,
    Comment,
    Operator,
    Symbol,
    Modifier,
}

/// The modifier of declarations, as a bit.
const DECLARATION: u32 = 1;

/// The meaning of the numbers in the answers.
pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TYPES.to_vec(),
        token_modifiers: vec![SemanticTokenModifier::DECLARATION],
    }
}

/// The tokens of a text, or of a part of it.
pub fn tokens(
    workspace: &Workspace<'_>,
    document: &Document,
    part: Option<Span>,
) -> Vec<SemanticToken> {
    let mut marks = words(workspace, document);
    marks.extend(
        comments(&document.source, &document.tokens)
            .into_iter()
            .map(|span| (span, Type::Comment, 0)),
    );
    for token in &document.tokens {
        let kind = match token.kind {
            TokenKind::String | TokenKind::Character => Type::String,
            TokenKind::Numeral => Type::Number,
            TokenKind::Symbol => Type::Symbol,
            TokenKind::Identifier => match document.source.slice(token.span) {
                "self" | "super" | "outer" | "nil" | "true" | "false" | "objL" | "class" => {
                    Type::Keyword
                }
                "public" | "private" | "protected" => Type::Modifier,
                _ => continue,
            },
            _ => continue,
        };
        marks.push((token.span, kind, 0));
    }
    if let Some(part) = part {
        marks.retain(|(span, ..)| span.start < part.end && part.start < span.end);
    }
    // A word with a meaning in the tree comes before the same word as a token.
    marks.sort_by_key(|(span, ..)| span.start);
    marks.dedup_by_key(|(span, ..)| span.start);
    encoded(document, &marks)
}

/// The words that the model knows.
fn words(workspace: &Workspace<'_>, document: &Document) -> Vec<(Span, Type, u32)> {
    let mut marks = Vec::new();
    let type_of = |kind| match kind {
        SymbolKind::Class => Type::Class,
        SymbolKind::Slot { .. } => Type::Property,
        SymbolKind::Factory | SymbolKind::Method => Type::Method,
        SymbolKind::Local => Type::Variable,
        SymbolKind::Parameter => Type::Parameter,
    };
    for symbol in &document.model.symbols {
        let kind = type_of(symbol.kind);
        marks.extend(symbol.parts.iter().map(|part| (*part, kind, DECLARATION)));
    }
    for name in &document.model.uses {
        let kind = match name.target {
            Target::Variable(symbol) => type_of(document.model.symbols[symbol].kind),
            Target::Lexical(..) => match workspace
                .definitions(document, &name.name, name.target)
                .first()
            {
                Some(Definition::Text(_, symbol)) => type_of(document.model.symbols[*symbol].kind),
                _ => Type::Method,
            },
            _ if name.name.starts_with(char::is_uppercase) && !name.name.contains(':') => {
                Type::Class
            }
            _ if name.name.starts_with(char::is_alphabetic) => Type::Method,
            _ => Type::Operator,
        };
        marks.extend(name.parts.iter().map(|part| (*part, kind, 0)));
    }
    marks
}

/// The form of the protocol: each token relative to the one before; one token for each line of a comment or string.
fn encoded(document: &Document, marks: &[(Span, Type, u32)]) -> Vec<SemanticToken> {
    let mut encoded = Vec::new();
    let (mut line, mut column, mut end) = (0, 0, 0);
    for &(span, kind, modifiers) in marks.iter().filter(|(span, ..)| span.start < span.end) {
        if span.start < end {
            continue;
        }
        end = span.end;
        let (first, last) = (document.source.line(span.start), document.source.line(span.end));
        for number in first..=last {
            let whole = document.source.line_span(number);
            let part = Span { start: whole.start.max(span.start), end: whole.end.min(span.end) };
            if part.start >= part.end {
                continue;
            }
            let range = text::range(&document.source, part);
            let start = range.start;
            encoded.push(SemanticToken {
                delta_line: start.line - line,
                delta_start: if start.line == line {
                    start.character - column
                } else {
                    start.character
                },
                length: range.end.character - start.character,
                token_type: kind as u32,
                token_modifiers_bitset: modifiers,
            });
            (line, column) = (start.line, start.character);
        }
    }
    encoded
}
