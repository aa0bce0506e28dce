//! One statement: the tokens of a line, read from left to right. All files of the assembler that know the grammar read
//! their operands from it.

use super::diagnostic::{Diagnostic, Span};
use super::lexer::{Token, TokenKind};

pub(super) type Result<T> = std::result::Result<T, Diagnostic>;

/// The tokens of a line that are not read yet. The last one is the end of the line.
#[derive(Clone)]
pub(super) struct Statement<'a, 't> {
    tokens: &'a [Token<'t>],
    /// Where the last token stands that was read.
    last: Span,
}

impl<'a, 't> Statement<'a, 't> {
    /// A statement from tokens of which the last is the end of the line.
    pub fn new(tokens: &'a [Token<'t>]) -> Statement<'a, 't> {
        Statement { tokens, last: tokens[0].span }
    }

    /// The next token.
    pub fn peek(&self) -> &'a Token<'t> {
        &self.tokens[0]
    }

    /// Where the next token stands.
    pub fn span(&self) -> Span {
        self.peek().span
    }

    /// The text read since a place.
    pub fn since(&self, start: Span) -> Span {
        start.to(self.last)
    }

    /// Reads the next token; the end of the line stays.
    pub fn next(&mut self) -> &'a Token<'t> {
        let token = &self.tokens[0];
        self.last = token.span;
        if self.tokens.len() > 1 {
            self.tokens = &self.tokens[1..];
        }
        token
    }

    /// An error at the next token.
    pub fn expected<T>(&self, what: &str) -> Result<T> {
        let token = self.peek();
        let found = match &token.kind {
            TokenKind::LineEnd => "the line ends here".to_owned(),
            TokenKind::Name(text) | TokenKind::Number(text) => format!("not `{text}`"),
            TokenKind::Symbolic(text) => format!("not `${text}`"),
            TokenKind::Text(_) => "not a text".to_owned(),
            TokenKind::Mark(mark) => format!("not `{mark}`"),
        };
        Err(Diagnostic::new(token.span, format!("expected {what}")).label(found))
    }

    /// Reads this mark, if it is next.
    pub fn accept(&mut self, mark: char) -> bool {
        let found = self.peek().kind == TokenKind::Mark(mark);
        if found {
            self.next();
        }
        found
    }

    /// Reads this mark.
    pub fn mark(&mut self, mark: char) -> Result<()> {
        if self.accept(mark) { Ok(()) } else { self.expected(&format!("`{mark}`")) }
    }

    /// Reads this keyword, if it is next.
    pub fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek().kind == TokenKind::Name(word);
        if found {
            self.next();
        }
        found
    }

    /// Reads this keyword.
    pub fn word(&mut self, word: &str) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// Reads a name.
    pub fn name(&mut self, what: &str) -> Result<&'t str> {
        match self.peek().kind {
            TokenKind::Name(name) => {
                self.next();
                Ok(name)
            }
            _ => self.expected(what),
        }
    }

    /// Reads one of a few names; answers its index.
    pub fn one_of(&mut self, what: &str, names: &[&str]) -> Result<usize> {
        let found = match self.peek().kind {
            TokenKind::Name(name) => names.iter().position(|known| *known == name),
            _ => None,
        };
        match found {
            Some(index) => {
                self.next();
                Ok(index)
            }
            None => self.expected(what).map_err(|problem: Diagnostic| {
                problem.hint(format!("one of: {}", names.join(", ")))
            }),
        }
    }

    /// The number after a prefix, as in `r12`, if the next token is of this form.
    pub fn peek_indexed(&self, prefix: &str) -> Option<u32> {
        match self.peek().kind {
            TokenKind::Name(name) => {
                let digits = name.strip_prefix(prefix)?;
                let canonical = digits == "0" || !digits.starts_with('0');
                digits.parse().ok().filter(|_| canonical)
            }
            _ => None,
        }
    }

    /// Reads a number, if that is next and in range.
    pub fn integer<T: TryFrom<i128>>(&mut self, what: &str) -> Result<T> {
        let TokenKind::Number(text) = self.peek().kind else { return self.expected(what) };
        let Some(value) = parse_integer(text).and_then(|value| T::try_from(value).ok()) else {
            return Err(Diagnostic::new(self.span(), format!("{text} is no possible {what}")));
        };
        self.next();
        Ok(value)
    }

    /// Fails unless the whole line was read.
    pub fn finish(&self) -> Result<()> {
        match self.peek().kind {
            TokenKind::LineEnd => Ok(()),
            _ => self.expected("the end of the line"),
        }
    }
}

/// A decimal or hexadecimal number.
fn parse_integer(text: &str) -> Option<i128> {
    match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with(['+', '-']) => i128::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}
