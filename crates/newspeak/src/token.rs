//! Tokens: the words of the language, each a kind and a place. The lexer makes them for the parser.
//!
//! A token carries no value. Its text is the source's text at its span, and [`literals`](crate::literals) and
//! [`numerals`](crate::numerals) compute its value. White space and comments are not tokens.

use crate::source::Span;

/// One token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TokenKind {
    /// `name`; also the reserved words, which only some places treat specially.
    Identifier,
    /// `name:`
    Keyword,
    /// `name::`
    Setter,
    /// A binary selector without a kind of its own.
    Operator,
    /// `=`, a binary selector and the sign of definitions.
    Equals,
    /// `|`, a binary selector and the fence of declarations.
    Bar,
    /// `||`, a binary selector and an empty section of declarations.
    DoubleBar,
    /// `<`, a binary selector and the opening of a type.
    Less,
    /// `<:`
    MixinArrow,
    /// `<-:`
    EventualArrow,
    /// `::=`
    MutableEquals,
    /// `:`
    Colon,
    /// `.`
    Period,
    /// `;`
    Semicolon,
    /// `^`
    Caret,
    /// A number, its sign included.
    Numeral,
    /// `'text'`
    String,
    /// `"c"`
    Character,
    /// `#selector` or `#'text'`
    Symbol,
    /// A `#` that begins no symbol.
    Hash,
    /// `(`
    OpenParenthesis,
    /// `)`
    CloseParenthesis,
    /// `[`
    OpenBracket,
    /// `]`
    CloseBracket,
    /// `{`
    OpenBrace,
    /// `}`
    CloseBrace,
    /// The beginning of text that looks like the next member of a class, in a place where a closing bracket is missing.
    /// Only the parser makes these, to explain a mistake.
    Barrier,
    /// The place after the last token.
    EndOfFile,
}

impl TokenKind {
    /// Whether this is a binary selector.
    #[inline]
    pub fn is_operator(self) -> bool {
        use TokenKind::*;
        matches!(self, Operator | Equals | Bar | DoubleBar | Less)
    }

    /// The kind of an operator with this text.
    pub fn of_operator(text: &str) -> TokenKind {
        match text {
            "=" => TokenKind::Equals,
            "|" => TokenKind::Bar,
            "||" => TokenKind::DoubleBar,
            "<" => TokenKind::Less,
            _ => TokenKind::Operator,
        }
    }

    /// The bracket that closes this one, if this is an opening bracket.
    pub fn closer(self) -> Option<TokenKind> {
        match self {
            TokenKind::OpenParenthesis => Some(TokenKind::CloseParenthesis),
            TokenKind::OpenBracket => Some(TokenKind::CloseBracket),
            TokenKind::OpenBrace => Some(TokenKind::CloseBrace),
            _ => None,
        }
    }

    /// Whether this is a closing bracket.
    pub fn is_closer(self) -> bool {
        use TokenKind::*;
        matches!(self, CloseParenthesis | CloseBracket | CloseBrace)
    }

    /// The kind in words, as in the token dump.
    pub fn name(self) -> &'static str {
        match self {
            TokenKind::Identifier => "identifier",
            TokenKind::Keyword => "keyword",
            TokenKind::Setter => "setter",
            TokenKind::Operator
            | TokenKind::Equals
            | TokenKind::Bar
            | TokenKind::DoubleBar
            | TokenKind::Less => "operator",
            TokenKind::Numeral => "numeral",
            TokenKind::String => "string",
            TokenKind::Character => "character",
            TokenKind::Symbol => "symbol",
            TokenKind::Barrier => "barrier",
            TokenKind::EndOfFile => "end",
            _ => "punctuation",
        }
    }
}
