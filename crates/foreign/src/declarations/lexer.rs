//! The lexer: makes tokens of a declaration text. The parser calls it.
//!
//! Preprocessor directives are refused with a message: the texts are small headers, written or cut out by hand.

use std::ops::Range;

use super::error::Problem;

/// A token of C, and its place.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) span: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TokenKind<'t> {
    /// A name or a keyword.
    Word(&'t str),
    /// An integer literal, a character's code included.
    Integer(Literal),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// An integer as it was written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Literal {
    pub(super) value: u64,
    /// Whether it has the suffix `u`.
    pub(super) is_unsigned: bool,
    /// Whether it has the suffix `l`.
    pub(super) is_long: bool,
    /// Whether it is decimal: then it becomes unsigned only by its suffix.
    pub(super) is_decimal: bool,
}

/// Operators and brackets, the longer ones first.
const SYMBOLS: &[&str] = &[
    "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "(", ")", "[", "]", "{", "}", ",", ";",
    ":", "*", "=", "+", "-", "/", "%", "&", "|", "^", "~", "!", "<", ">", "?", ".",
];

/// The tokens of a text; the last one is its end.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Problem> {
    let mut lexer = Lexer { text, position: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let start = lexer.position;
        let kind = lexer.next()?;
        tokens.push(Token { kind, span: start..lexer.position });
        if kind == TokenKind::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    position: usize,
}

impl<'t> Lexer<'t> {
    fn next(&mut self) -> Result<TokenKind<'t>, Problem> {
        let Some(first) = self.peek() else { return Ok(TokenKind::End) };
        match first {
            'a'..='z' | 'A'..='Z' | '_' => Ok(TokenKind::Word(self.word())),
            '0'..='9' => self.number(),
            '\'' => self.character(),
            _ => self.symbol(first),
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes `prefix` if it comes next; answers whether it does.
    fn eat(&mut self, prefix: &str) -> bool {
        let is_next = self.rest().starts_with(prefix);
        self.position += if is_next { prefix.len() } else { 0 };
        is_next
    }

    fn skip_blanks(&mut self) -> Result<(), Problem> {
        loop {
            self.take_while(|character| character.is_ascii_whitespace());
            let start = self.position;
            if self.eat("//") {
                self.take_while(|character| character != '\n');
            } else if self.eat("/*") {
                let Some(length) = self.rest().find("*/") else {
                    return Err(Problem::new("this comment has no end", start..start + 2));
                };
                self.position += length + 2;
            } else if !self.eat("\\\n") {
                return Ok(());
            }
        }
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        self.position += length;
        &rest[..length]
    }

    fn word(&mut self) -> &'t str {
        self.take_while(|character| character.is_ascii_alphanumeric() || character == '_')
    }

    fn number(&mut self) -> Result<TokenKind<'t>, Problem> {
        let start = self.position;
        let word = self.word();
        if self.rest().starts_with('.') {
            let message = "only whole numbers can be lengths and values of names";
            return Err(Problem::new(message, start..self.position + 1));
        }
        let literal =
            integer(word).map_err(|message| Problem::new(message, start..self.position))?;
        Ok(TokenKind::Integer(literal))
    }

    /// A character constant, which is an `int` in C.
    fn character(&mut self) -> Result<TokenKind<'t>, Problem> {
        let start = self.position;
        self.eat("'");
        let value = if self.eat("\\") { self.escape() } else { self.plain_character() };
        if let Some(value) = value.filter(|_| self.eat("'")) {
            let value = u64::from(value);
            let literal = Literal { value, is_unsigned: false, is_long: false, is_decimal: true };
            return Ok(TokenKind::Integer(literal));
        }
        let message = "a character is one ASCII letter or a simple escape between quotes";
        Err(Problem::new(message, start..start + 1))
    }

    fn plain_character(&mut self) -> Option<u8> {
        let character =
            self.peek().filter(|character| character.is_ascii() && !"'\n".contains(*character))?;
        self.position += 1;
        u8::try_from(character).ok()
    }

    fn escape(&mut self) -> Option<u8> {
        const ESCAPES: [(char, u8); 10] = [
            ('0', 0),
            ('a', 7),
            ('b', 8),
            ('t', 9),
            ('n', 10),
            ('v', 11),
            ('f', 12),
            ('r', 13),
            ('\\', b'\\'),
            ('\'', b'\''),
        ];
        let letter = self.peek()?;
        let (_, value) = ESCAPES.iter().find(|(escape, _)| *escape == letter)?;
        self.position += 1;
        Some(*value)
    }

    fn symbol(&mut self, first: char) -> Result<TokenKind<'t>, Problem> {
        let start = self.position;
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol)) {
            self.position += symbol.len();
            return Ok(TokenKind::Symbol(symbol));
        }
        let span = start..start + first.len_utf8();
        Err(match first {
            '#' => Problem::new(
                "there is no preprocessor here: leave `#` lines out, and write constants as an `enum`",
                span,
            ),
            '"' => Problem::new("there are no strings in declarations", span),
            _ => Problem::new(format!("{first:?} is no part of C"), span),
        })
    }
}

/// Reads an integer literal with its prefix and suffix.
fn integer(word: &str) -> Result<Literal, String> {
    let lower = word.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        _ => (10, &*lower),
    };
    let end = digits.find(|digit: char| !digit.is_digit(radix.max(10))).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    let (is_unsigned, is_long) = match suffix {
        "" => (false, false),
        "u" => (true, false),
        "l" | "ll" => (false, true),
        "ul" | "lu" | "ull" | "llu" => (true, true),
        _ => return Err(format!("`{word}` is no whole number")),
    };
    // `0u` has no digits after its prefix, since it has no prefix.
    let digits = if radix == 8 && digits.is_empty() { "0" } else { digits };
    let value = u64::from_str_radix(digits, radix).map_err(|error| match error.kind() {
        std::num::IntErrorKind::PosOverflow => format!("{word} has more than 64 bits"),
        _ => format!("`{word}` is no whole number"),
    })?;
    Ok(Literal { value, is_unsigned, is_long, is_decimal: radix == 10 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<u64, String> {
        integer(text).map(|literal| literal.value)
    }

    #[test]
    fn integers_have_prefixes_and_suffixes() {
        let cases = [
            ("0", 0),
            ("0u", 0),
            ("0L", 0),
            ("7", 7),
            ("017", 15),
            ("0x1F", 31),
            ("0xffULL", 255),
            ("0b101", 5),
            ("18446744073709551615u", u64::MAX),
            ("0xFFFFFFFFFFFFFFFF", u64::MAX),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        for text in ["08", "0x", "0b", "12a", "1lu2", "18446744073709551616", "0b2", "1ulul"] {
            assert!(value(text).is_err(), "{text}");
        }
    }

    #[test]
    fn characters_are_integers() {
        let one = |text| tokens(text).ok().map(|tokens| tokens[0].kind);
        for (text, expected) in [("'a'", 97), ("'\\n'", 10), ("'\\''", 39), ("'\\0'", 0)] {
            let Some(TokenKind::Integer(literal)) = one(text) else { panic!("{text}") };
            assert_eq!(literal.value, expected);
        }
        for text in ["'", "''", "'ab'", "'\\q'", "'ä'", "'a"] {
            assert!(one(text).is_none(), "{text}");
        }
    }

    #[test]
    fn comments_and_continued_lines_are_blanks() {
        let words: Vec<_> = tokens("a/**/b // c\n/* d */e\\\nf").unwrap_or_default();
        let words: Vec<_> = words.iter().map(|token| token.kind).collect();
        let word = TokenKind::Word;
        assert_eq!(words, [word("a"), word("b"), word("e"), word("f"), TokenKind::End]);
        assert!(tokens("a /* b").is_err());
    }
}
