//! Declarations, and the parts that the other files of the parser share. `Declarations` calls it for each text.
//!
//! The parser works by recursive descent over a list of tokens, with one token of lookahead. It stops at the first
//! mistake.

use std::ops::Range;
use std::sync::Arc;

use super::error::Problem;
use super::lexer::{Token, TokenKind, tokens};
use super::scope::Scope;
use super::{Declaration, Declarations, Meaning};
use crate::types::Signature;
use crate::types::{Kind, Tag, Type, TypeError};

/// How deeply brackets, braces and operators may be nested.
pub(super) const DEEPEST: usize = 64;

pub(super) type Parsed<T> = Result<T, Problem>;

pub(super) struct Parser<'t, 'd> {
    tokens: Vec<Token<'t>>,
    position: usize,
    depth: usize,
    pub(super) scope: Scope<'d>,
}

impl<'t, 'd> Parser<'t, 'd> {
    pub(super) fn new(text: &'t str, known: &'d Declarations) -> Parsed<Parser<'t, 'd>> {
        Ok(Parser { tokens: tokens(text)?, position: 0, depth: 0, scope: Scope::new(known) })
    }

    /// A whole text: declarations to the end.
    pub(super) fn declarations(mut self) -> Parsed<(Declarations, Vec<Declaration>)> {
        while !self.is_at_end() {
            if !self.eat(";") {
                self.declaration()?;
            }
        }
        Ok(self.scope.finish())
    }

    /// A text that is one type.
    pub(super) fn lone_type(mut self) -> Parsed<Type> {
        let c_type = self.type_name()?;
        match self.is_at_end() {
            true => Ok(c_type),
            false => Err(self.expected("the end of the type")),
        }
    }

    /// A text that declares one function.
    pub(super) fn lone_function(self) -> Parsed<(Arc<str>, Signature)> {
        let whole = 0..self.tokens.last().map_or(0, |end| end.span.end);
        let (_, declared) = self.declarations()?;
        let mut functions =
            declared.into_iter().filter_map(|declaration| match declaration.meaning {
                Meaning::Function(signature) => Some((declaration.name, signature)),
                _ => None,
            });
        match (functions.next(), functions.next()) {
            (Some(function), None) => Ok(function),
            _ => Err(Problem::new("this is not the declaration of one function", whole)),
        }
    }

    /// One declaration with its semicolon, which the last one of a text may lack.
    fn declaration(&mut self) -> Parsed<()> {
        let specifiers = self.specifiers()?;
        if specifiers.has_definition && self.ends_declaration() {
            return Ok(());
        }
        loop {
            let declarator = self.declarator()?;
            let span = declarator.span.clone();
            let Some(name) = declarator.name else {
                return Err(self.expected("a name"));
            };
            let c_type = declarator.applied_to(specifiers.base.clone())?;
            let meaning = self.meaning(specifiers.is_typedef, c_type, span.clone())?;
            self.scope.declare(name, meaning).map_err(|message| Problem::new(message, span))?;
            if self.ends_declaration() {
                return Ok(());
            }
            if !self.eat(",") {
                return Err(self.after_declarator());
            }
        }
    }

    /// Whether a declaration ends here. If so, takes the semicolon.
    fn ends_declaration(&mut self) -> bool {
        self.eat(";") || self.is_at_end()
    }

    fn meaning(&self, is_typedef: bool, c_type: Type, span: Range<usize>) -> Parsed<Meaning> {
        match c_type.kind() {
            Kind::Opaque(Tag::Alias(_)) => return Err(self.no_values(&c_type, span)),
            Kind::Function(signature) if !is_typedef => {
                return Ok(Meaning::Function(signature.clone()));
            }
            _ if is_typedef => return Ok(Meaning::Type(c_type)),
            _ => self.needs_values(&c_type, span)?,
        }
        Ok(Meaning::Variable(c_type))
    }

    fn after_declarator(&self) -> Problem {
        let token = self.peek();
        let message = match token.kind {
            TokenKind::Symbol("{") => {
                "a declaration ends with `;` here: bodies belong to the library"
            }
            TokenKind::Symbol("=") => {
                "a declaration ends with `;` here: initial values belong to the library"
            }
            TokenKind::Word("__attribute__" | "__asm__" | "asm") => "attributes are not supported",
            _ => return self.expected("`;`"),
        };
        Problem::new(message, token.span.clone())
    }

    /// A type without a name.
    pub(super) fn type_name(&mut self) -> Parsed<Type> {
        let specifiers = self.plain_specifiers()?;
        let declarator = self.declarator()?;
        match declarator.name {
            Some(name) => Err(Problem::new(
                format!("a type is needed here, without the name `{name}`"),
                declarator.span,
            )),
            None => declarator.applied_to(specifiers.base),
        }
    }

    /// Reports a type without values, such as a name that was never defined.
    pub(super) fn needs_values(&self, c_type: &Type, span: Range<usize>) -> Parsed<()> {
        match c_type.layout() {
            Some(_) => Ok(()),
            None => Err(self.no_values(c_type, span)),
        }
    }

    pub(super) fn no_values(&self, c_type: &Type, span: Range<usize>) -> Problem {
        let mut message = TypeError::NoValues(c_type.to_string()).to_string();
        if let Kind::Opaque(tag) = c_type.kind() {
            message = format!("`{tag}` is not declared, so that only pointers to it can be used");
            if let Some(similar) = self.scope.similar(&tag.to_string()) {
                message += &format!("; did you mean `{similar}`?");
            }
        }
        Problem::new(message, span)
    }

    /// Runs `parse` one level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            let span = self.peek().span.clone();
            return Err(Problem::new(
                format!("this is nested more than {DEEPEST} levels deep"),
                span,
            ));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    pub(super) fn peek(&self) -> &Token<'t> {
        &self.tokens[self.position]
    }

    /// The token after the next one.
    pub(super) fn peek_second(&self) -> &Token<'t> {
        &self.tokens[(self.position + 1).min(self.tokens.len() - 1)]
    }

    pub(super) fn advance(&mut self) -> Token<'t> {
        let token = self.peek().clone();
        // At the end of the text, the end stays the next token.
        self.position = (self.position + 1).min(self.tokens.len() - 1);
        token
    }

    /// Takes `symbol` if it is next; answers whether it was.
    pub(super) fn eat(&mut self, symbol: &'static str) -> bool {
        let is_next = self.peek().kind == TokenKind::Symbol(symbol);
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn expect(&mut self, symbol: &'static str) -> Parsed<()> {
        match self.eat(symbol) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{symbol}`"))),
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.peek().kind == TokenKind::End
    }

    /// The complaint that another token stands here.
    pub(super) fn expected(&self, what: &str) -> Problem {
        let token = self.peek();
        let found = match token.kind {
            TokenKind::Word(word) => format!("`{word}`"),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::Integer(_) => "a number".to_owned(),
            TokenKind::End => "the end of the text".to_owned(),
        };
        Problem::new(format!("{what} is expected here, not {found}"), token.span.clone())
    }

    /// The bytes from `start` to the end of the token before the next one.
    pub(super) fn since(&self, start: usize) -> Range<usize> {
        let end = self.position.checked_sub(1).map_or(start, |last| self.tokens[last].span.end);
        start..end.max(start)
    }
}
