//! Type annotations: the parser checks their form and otherwise ignores them. `declarations`, `bodies` and `imports`
//! call it where an annotation may stand.
//!
//! ```text
//! type    = "<" union ">"
//! union   = term { ("|" | ":" | "/") term | tuple }
//! term    = factor { name }
//! factor  = name [ "[" union { "," union } "]" ] | tuple | block | "(" union ")"
//! tuple   = "{" [ union { "." union } ["."] ] "}"
//! block   = "[" { ":" term } [ "|" union ] "]"  |  "[" union "]"
//! ```
//!
//! The lexer knows nothing of types and may have made one operator of a type's closing `>` and the next characters, as
//! in `<E>|`; or of two bars. The parser splits such tokens.

use super::{Parsed, Parser};
use crate::token::TokenKind;

impl Parser<'_> {
    /// The type annotation that may stand here.
    pub(super) fn optional_type(&mut self) -> Parsed<()> {
        if self.at(TokenKind::Less) { self.type_annotation() } else { Ok(()) }
    }

    /// The return type that may stand here.
    pub(super) fn optional_return_type(&mut self) -> Parsed<()> {
        if !self.accept(TokenKind::Caret) {
            Ok(())
        } else if self.at(TokenKind::Less) {
            self.type_annotation()
        } else {
            Err(self.malformed_type("a type such as `<Integer>`"))
        }
    }

    fn type_annotation(&mut self) -> Parsed<()> {
        self.advance();
        self.type_union()?;
        if !self.at_operator_beginning_with('>') {
            return Err(self.malformed_type("`>`"));
        }
        let rest = TokenKind::of_operator(&self.current_text()[1..]);
        self.split(1, rest);
        Ok(())
    }

    fn type_union(&mut self) -> Parsed<()> {
        self.type_term()?;
        loop {
            match self.current.kind {
                TokenKind::Bar | TokenKind::Colon => _ = self.advance(),
                TokenKind::Operator if self.current_text() == "/" => _ = self.advance(),
                TokenKind::OpenBrace => {}
                _ => return Ok(()),
            }
            self.type_term()?;
        }
    }

    fn type_term(&mut self) -> Parsed<()> {
        match self.current.kind {
            TokenKind::Identifier => self.generic_type()?,
            TokenKind::OpenBrace => self.tuple_type()?,
            TokenKind::OpenBracket => self.block_type()?,
            TokenKind::OpenParenthesis => {
                self.open(TokenKind::OpenParenthesis, "`(`")?;
                self.type_union()?;
                self.close()?;
            }
            _ => return Err(self.malformed_type("a type")),
        }
        while self.accept(TokenKind::Identifier) {}
        Ok(())
    }

    fn generic_type(&mut self) -> Parsed<()> {
        self.advance();
        if !self.at(TokenKind::OpenBracket) {
            return Ok(());
        }
        self.open(TokenKind::OpenBracket, "`[`")?;
        self.type_union()?;
        while self.at(TokenKind::Operator) && self.current_text() == "," {
            self.advance();
            self.type_union()?;
        }
        self.close()
    }

    fn tuple_type(&mut self) -> Parsed<()> {
        self.open(TokenKind::OpenBrace, "`{`")?;
        while !self.at_end() {
            self.type_union()?;
            if !self.accept(TokenKind::Period) {
                break;
            }
        }
        self.close()
    }

    fn block_type(&mut self) -> Parsed<()> {
        self.open(TokenKind::OpenBracket, "`[`")?;
        if self.at(TokenKind::Colon) {
            while self.accept(TokenKind::Colon) {
                self.type_term()?;
            }
            if self.accept(TokenKind::Bar) {
                self.type_union()?;
            }
        } else if !self.at(TokenKind::CloseBracket) {
            self.type_union()?;
        }
        self.close()
    }

    fn at_operator_beginning_with(&self, character: char) -> bool {
        self.current.kind.is_operator() && self.current_text().starts_with(character)
    }
}
