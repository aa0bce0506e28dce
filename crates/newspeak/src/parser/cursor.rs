//! The cursor: the parser looks at tokens and consumes them here.

use super::recovery::Opening;
use super::{Guesses, MOST_NESTED, Parsed, Parser};
use crate::ast::Identifier;
use crate::source::Span;
use crate::token::{Token, TokenKind};

impl<'s> Parser<'s> {
    #[inline]
    pub(super) fn at(&self, kind: TokenKind) -> bool {
        self.current.kind == kind
    }

    /// Whether the cursor is at this word, reserved or not.
    pub(super) fn at_word(&self, word: &str) -> bool {
        self.at(TokenKind::Identifier) && self.current_text() == word
    }

    /// The kind of the token this far ahead of the cursor.
    #[inline]
    pub(super) fn peek(&self, ahead: usize) -> TokenKind {
        self.kind_at(self.position + ahead)
    }

    pub(super) fn kind_at(&self, position: usize) -> TokenKind {
        self.tokens.get(position).map_or(TokenKind::EndOfFile, |token| token.kind)
    }

    pub(super) fn text_at(&self, position: usize) -> &'s str {
        self.tokens.get(position).map_or("", |token| &self.text[token.span.range()])
    }

    pub(super) fn current_text(&self) -> &'s str {
        &self.text[self.current.span.range()]
    }

    /// Whether the cursor's token directly follows the previous one.
    pub(super) fn is_adjacent(&self) -> bool {
        self.previous.span.end == self.current.span.start
    }

    /// Whether nothing more can follow in the innermost brackets.
    pub(super) fn at_end(&self) -> bool {
        let kind = self.current.kind;
        kind.is_closer() || kind == TokenKind::EndOfFile || kind == TokenKind::Barrier
    }

    /// Consumes the cursor's token and answers it.
    #[inline]
    pub(super) fn advance(&mut self) -> Token {
        self.previous = self.current;
        if self.position + 1 < self.tokens.len() {
            self.position += 1;
        }
        self.current = self.tokens[self.position];
        if self.guesses == Guesses::ByIndentation {
            self.raise_barrier();
        }
        self.previous
    }

    /// Goes back to the token consumed last.
    pub(super) fn retreat(&mut self) {
        self.position -= 1;
        self.current = self.tokens[self.position];
    }

    /// Goes back to a token consumed earlier, outside of the brackets since.
    pub(super) fn retreat_to(&mut self, position: usize) {
        self.position = position;
        self.current = self.tokens[position];
    }

    #[inline]
    pub(super) fn accept(&mut self, kind: TokenKind) -> bool {
        let accepted = self.at(kind);
        if accepted {
            self.advance();
        }
        accepted
    }

    pub(super) fn accept_word(&mut self, word: &str) -> bool {
        let accepted = self.at_word(word);
        if accepted {
            self.advance();
        }
        accepted
    }

    pub(super) fn expect(&mut self, kind: TokenKind, what: &str) -> Parsed<Token> {
        if self.at(kind) { Ok(self.advance()) } else { Err(self.expected(what)) }
    }

    pub(super) fn expect_identifier(&mut self, what: &str) -> Parsed<Identifier> {
        let token = self.expect(TokenKind::Identifier, what)?;
        Ok(self.identifier_at(token.span))
    }

    /// Consumes the first bytes of a token that the lexer took for one operator or numeral, though here it is two: the
    /// `>` of `>|`, the minus sign of `-1`.
    pub(super) fn split(&mut self, length: u32, rest: TokenKind) {
        let Span { start, end } = self.current.span;
        let middle = start + length;
        if middle == end {
            self.advance();
        } else {
            self.previous = Token { span: Span { start, end: middle }, ..self.current };
            self.current = Token { kind: rest, span: Span { start: middle, end } };
        }
    }

    // Brackets and depth

    /// Goes one level deeper. The caller also leaves the level, or fails.
    pub(super) fn enter(&mut self) -> Parsed<()> {
        if self.nesting == MOST_NESTED {
            return Err(self.nested_too_deeply());
        }
        self.nesting += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.nesting -= 1;
    }

    /// Consumes an opening bracket.
    pub(super) fn open(&mut self, kind: TokenKind, what: &str) -> Parsed<Span> {
        if !self.at(kind) {
            return Err(self.expected(what));
        }
        self.enter()?;
        let token = self.advance();
        self.brackets.push(token);
        Ok(token.span)
    }

    /// Consumes the bracket that closes the innermost open one. If another token ends the brackets here, complains and
    /// continues as if the bracket were there.
    pub(super) fn close(&mut self) -> Parsed<()> {
        let Some(opening) = self.brackets.innermost() else {
            return Err(self.expected("nothing more"));
        };
        if self.at(opening.closer) {
            self.advance();
        } else if self.at_mistyped_closer() {
            self.mistyped_closer(opening);
            self.advance();
        } else {
            let reported = self.unclosed(opening);
            if !self.ends_enclosing_bracket() {
                return Err(reported);
            }
        }
        self.brackets.pop();
        self.leave();
        Ok(())
    }

    /// Whether the cursor is at a closing bracket without an opening one.
    pub(super) fn at_stray_bracket(&self) -> bool {
        self.current.kind.is_closer() && self.brackets.find(self.current.kind).is_none()
    }

    /// Skips closing brackets without opening ones, with one complaint for all that follow each other.
    pub(super) fn skip_stray_brackets(&mut self) -> bool {
        let is_stray = self.at_stray_bracket();
        if is_stray {
            self.stray_bracket();
        }
        while self.at_stray_bracket() {
            self.advance();
        }
        is_stray
    }

    fn ends_enclosing_bracket(&self) -> bool {
        self.at_end() && !self.at_stray_bracket()
    }
}

/// The place of an opened bracket, and its closing bracket.
impl From<Token> for Opening {
    fn from(token: Token) -> Opening {
        let closer = token.kind.closer().unwrap_or(TokenKind::EndOfFile);
        Opening { closer, span: token.span }
    }
}
