//! A text that the server knows: an open one, or a file of a folder that the client has opened. The workspace keeps
//! these texts, and the requests read them. A text is taken apart once, after each change.

use std::cell::OnceCell;
use std::collections::HashMap;

use lsp_types::Uri;
use squall_newspeak::ast::Ast;
use squall_newspeak::lexer::tokenize;
use squall_newspeak::token::{Token, TokenKind};
use squall_newspeak::{Diagnostic, Library, Source, Span, parse_partial};

use crate::model::Model;

/// The languages of texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// Newspeak.
    Newspeak,
    /// The text form of bytecode.
    Assembly,
}

impl Language {
    /// The language of a file, by its extension.
    pub fn of_uri(uri: &Uri) -> Language {
        match uri.as_str().ends_with(".sqasm") {
            true => Language::Assembly,
            false => Language::Newspeak,
        }
    }
}

/// A text.
pub struct Document {
    /// Its address.
    pub uri: Uri,
    /// Its language.
    pub language: Language,
    /// Its version, if it is open.
    pub version: Option<i32>,
    /// The text.
    pub source: Source,
    /// Its tokens, if it is Newspeak.
    pub tokens: Vec<Token>,
    /// Its tree without the parts that have mistakes.
    pub ast: Option<Ast>,
    /// The parser's mistakes.
    pub mistakes: Vec<Diagnostic>,
    /// All mistakes, if they were asked for since the last change.
    pub checked: OnceCell<Vec<Diagnostic>>,
    /// What it declares and uses.
    pub model: Model,
    /// The numbers of its symbols by name, without variables.
    pub definitions: HashMap<String, Vec<usize>>,
    /// The numbers of its uses by name, without variables.
    pub senders: HashMap<String, Vec<usize>>,
}

impl Document {
    /// Takes a text apart.
    pub fn new(uri: Uri, version: Option<i32>, text: Vec<u8>, library: &Library) -> Document {
        Document::with_mark(uri, version, text, library, "")
    }

    /// As [`Document::new`]; the model knows what is visible at the use of `mark`.
    pub fn with_mark(
        uri: Uri,
        version: Option<i32>,
        text: Vec<u8>,
        library: &Library,
        mark: &str,
    ) -> Document {
        let language = Language::of_uri(&uri);
        let source = Source::from_bytes(uri.as_str(), &text);
        let mut document = Document {
            uri,
            language,
            version,
            source,
            tokens: Vec::new(),
            ast: None,
            mistakes: Vec::new(),
            checked: OnceCell::new(),
            model: Model::default(),
            definitions: HashMap::new(),
            senders: HashMap::new(),
        };
        if language == Language::Newspeak {
            document.take_apart(library, mark);
        }
        document
    }

    fn take_apart(&mut self, library: &Library, mark: &str) {
        self.tokens = tokenize(&self.source).list;
        let parse = parse_partial(&self.source);
        self.mistakes = parse.diagnostics;
        if let Some(ast) = &parse.ast {
            self.model = Model::of(ast, library, &|offset| self.word_before(offset), mark);
        }
        self.ast = parse.ast;
        for (number, symbol) in self.model.symbols.iter().enumerate() {
            if !symbol.kind.is_variable() {
                self.definitions.entry(symbol.name.clone()).or_default().push(number);
            }
        }
        for (number, name) in self.model.uses.iter().enumerate() {
            if !matches!(name.target, crate::model::Target::Variable(_)) {
                self.senders.entry(name.name.clone()).or_default().push(number);
            }
        }
    }

    /// Whether the text has errors.
    pub fn has_errors(&self) -> bool {
        self.mistakes.iter().any(Diagnostic::is_error)
    }

    /// The token that ends at or before an offset.
    fn word_before(&self, offset: u32) -> Span {
        let next = self.tokens.partition_point(|token| token.span.end <= offset);
        next.checked_sub(1).map_or(Span::default(), |index| self.tokens[index].span)
    }

    /// The number of the token at an offset; that of a word, if one ends there.
    pub fn token_at(&self, offset: u32) -> Option<usize> {
        let next = self.tokens.partition_point(|token| token.span.end < offset);
        let is_there = |index: &usize| {
            self.tokens.get(*index).is_some_and(|token| {
                token.kind != TokenKind::EndOfFile
                    && token.span.start <= offset
                    && offset <= token.span.end
            })
        };
        let is_word = |index: &usize| {
            matches!(
                self.tokens[*index].kind,
                TokenKind::Identifier | TokenKind::Keyword | TokenKind::Setter
            )
        };
        let candidates = [next, next + 1];
        let words = candidates.iter().copied().filter(is_there);
        words.clone().find(is_word).or_else(|| words.clone().next_back())
    }
}
