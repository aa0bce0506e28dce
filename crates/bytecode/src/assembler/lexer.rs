//! The lexer: cuts a text into tokens. The assembler and the formatter call it.

use super::diagnostic::{Diagnostic, Diagnostics, Span};

/// A token and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Token<'t> {
    pub kind: TokenKind<'t>,
    pub span: Span,
}

/// The kind of a token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum TokenKind<'t> {
    /// A keyword, mnemonic, label, or typed index such as `r3`.
    Name(&'t str),
    /// `$name`, without the dollar sign.
    Symbolic(&'t str),
    /// A number of any form, with its sign.
    Number(&'t str),
    /// A text between quotes, unescaped.
    Text(String),
    /// A character that is a token by itself, or the first one of `..` and `->`.
    Mark(char),
    /// The end of a line, or of the text.
    LineEnd,
}

/// Cuts the text into tokens. The last one is always the end of a line.
pub(super) fn tokenize<'t>(text: &'t str, diagnostics: &mut Diagnostics) -> Vec<Token<'t>> {
    let mut tokens = Vec::new();
    let mut last = 0;
    for (index, line) in text.lines().enumerate() {
        last = index as u32 + 1;
        let mut lexer = Lexer { rest: line, line: last, column: 1 };
        while let Some(result) = lexer.next_token() {
            match result {
                Ok(token) => tokens.push(token),
                Err(problem) => diagnostics.report(problem),
            }
        }
        tokens.push(Token { kind: TokenKind::LineEnd, span: lexer.span(0) });
    }
    let end = Span { line: last + 1, column: 1, length: 0 };
    tokens.push(Token { kind: TokenKind::LineEnd, span: end });
    tokens
}

/// The rest of a line.
struct Lexer<'t> {
    rest: &'t str,
    line: u32,
    column: u32,
}

impl<'t> Lexer<'t> {
    fn span(&self, length: u32) -> Span {
        Span { line: self.line, column: self.column, length }
    }

    /// Takes the characters from the start for which this holds.
    fn take_while(&mut self, mut holds: impl FnMut(char) -> bool) -> (&'t str, Span) {
        let end = self.rest.find(|character| !holds(character)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        let span = self.span(taken.chars().count() as u32);
        self.rest = rest;
        self.column += span.length;
        (taken, span)
    }

    fn next_token(&mut self) -> Option<Result<Token<'t>, Diagnostic>> {
        self.take_while(char::is_whitespace);
        let mut characters = self.rest.chars();
        let (first, second) = (characters.next()?, characters.next().unwrap_or(' '));
        Some(match first {
            ';' => return None,
            '"' => self.text(),
            '$' => {
                let (_, start) = self.take_exactly(1);
                let (name, span) = self.take_while(is_name);
                Ok(Token { kind: TokenKind::Symbolic(name), span: start.to(span) })
            }
            _ if is_name(first) && !first.is_ascii_digit() => {
                let (name, span) = self.take_while(is_name);
                Ok(Token { kind: TokenKind::Name(name), span })
            }
            _ if first.is_ascii_digit() || first == '-' && second.is_ascii_alphanumeric() => {
                Ok(self.number())
            }
            '.' if second == '.' => Ok(self.mark(first, 2)),
            '-' if second == '>' => Ok(self.mark(first, 2)),
            '{' | '}' | '(' | ')' | '<' | '>' | ',' | ':' | '*' | '=' | '@' | '#' => {
                Ok(self.mark(first, 1))
            }
            _ => {
                let (_, span) = self.take_exactly(1);
                Err(Diagnostic::new(span, format!("{first:?} cannot stand here")))
            }
        })
    }

    fn take_exactly(&mut self, mut count: u32) -> (&'t str, Span) {
        self.take_while(|_| {
            let more = count > 0;
            count = count.saturating_sub(1);
            more
        })
    }

    fn mark(&mut self, mark: char, length: u32) -> Token<'t> {
        let (_, span) = self.take_exactly(length);
        Token { kind: TokenKind::Mark(mark), span }
    }

    /// A number, with a sign at its start and after its exponent.
    fn number(&mut self) -> Token<'t> {
        let mut previous = ' ';
        let is_hexadecimal = self.rest.starts_with("0x");
        let (text, span) = self.take_while(|character| {
            let sign = matches!(character, '+' | '-')
                && (previous == ' ' || matches!(previous, 'e' | 'E') && !is_hexadecimal);
            previous = character;
            sign || character == '.' || is_name(character)
        });
        Token { kind: TokenKind::Number(text), span }
    }

    fn text(&mut self) -> Result<Token<'t>, Diagnostic> {
        let (_, start) = self.take_exactly(1);
        let mut text = String::new();
        loop {
            let (plain, _) = self.take_while(|character| !matches!(character, '"' | '\\'));
            text.push_str(plain);
            let (mark, end) = self.take_exactly(1);
            match mark {
                "\"" => return Ok(Token { kind: TokenKind::Text(text), span: start.to(end) }),
                "\\" => text.push(self.escape(end)?),
                _ => {
                    let problem = Diagnostic::new(start.to(end), "the text has no end");
                    return Err(problem.label("a quote is missing"));
                }
            }
        }
    }

    /// The character that an escape stands for, after its backslash.
    fn escape(&mut self, start: Span) -> Result<char, Diagnostic> {
        let (letter, end) = self.take_exactly(1);
        Ok(match letter {
            "n" => '\n',
            "r" => '\r',
            "t" => '\t',
            "0" => '\0',
            "\"" => '"',
            "\\" => '\\',
            "u" => {
                let (_, _) = self.take_while(|character| character == '{');
                let (digits, _) = self.take_while(|character| character.is_ascii_hexdigit());
                let (_, end) = self.take_exactly(1);
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                let problem = || Diagnostic::new(start.to(end), "this is no character code");
                code.ok_or_else(problem)?
            }
            _ => {
                let problem = Diagnostic::new(start.to(end), "there is no such escape");
                return Err(problem.hint(r#"write one of \n \r \t \0 \" \\ \u{1f600}"#));
            }
        })
    }
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
