//! The scanner: source text to tokens. The parser, the formatter and the language server call it.
//!
//! Invariants: tokens lie in order and do not overlap; the last one is
//! [`TokenKind::EndOfFile`]; every byte between two tokens is white space, comment, or
//! reported. Whatever the text, scanning ends in linear time and reports what is wrong
//! instead of failing.
//!
//! Rules for the words of this dialect:
//!
//! - Comments `(* … *)` nest and may stand between any two tokens.
//! - Operators are as long as possible, but `<:`, `<-:`, `(*`, `*)` and a minus sign directly
//!   before a digit come first. So `a -1` is an operand and a numeral; the parser explains.
//! - `name:` written against a letter is no keyword, except in a symbol such as `#at:put:`.
//! - A backslash in a string escapes the next character.
//! - A first line that begins with `#!` is a comment.

use crate::diagnostics::{Code, Diagnostic, Reporter, quoted};
use crate::literals::escaped;
use crate::numerals::{LONGEST_RADIX_DOUBLE, Numeral, NumeralDefect};
use crate::source::{Defect, MAX_SOURCE_BYTES, Source, Span};
use crate::token::{Token, TokenKind};

/// The result of scanning a source.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// The tokens, the last of them [`TokenKind::EndOfFile`].
    pub list: Vec<Token>,
    /// The mistakes in the text.
    pub diagnostics: Reporter,
    /// Whether a string or comment swallowed the rest of the text, or the text was refused
    /// altogether, so that the tokens are not worth parsing.
    pub is_cut_short: bool,
}

/// Scans a source.
pub fn tokenize(source: &Source) -> Tokens {
    let mut lexer = Lexer::new(source);
    lexer.report_defects();
    lexer.skip_interpreter_line();
    while lexer.skip_blanks() {
        lexer.scan_token();
    }
    lexer.finish()
}

struct Lexer<'s> {
    source: &'s Source,
    text: &'s str,
    bytes: &'s [u8],
    position: usize,
    tokens: Vec<Token>,
    diagnostics: Reporter,
    is_cut_short: bool,
}

impl<'s> Lexer<'s> {
    fn new(source: &'s Source) -> Lexer<'s> {
        let text = source.text();
        Lexer {
            source,
            text,
            bytes: text.as_bytes(),
            position: 0,
            // Programs have a token for every six bytes or so.
            tokens: Vec::with_capacity(text.len() / 6 + 1),
            diagnostics: Reporter::default(),
            is_cut_short: false,
        }
    }

    fn finish(mut self) -> Tokens {
        self.tokens.push(Token { kind: TokenKind::EndOfFile, span: self.source.end() });
        Tokens { list: self.tokens, diagnostics: self.diagnostics, is_cut_short: self.is_cut_short }
    }

    /// Skips a first line such as `#!/usr/bin/env -S squall run`, which is for the system that starts the file.
    fn skip_interpreter_line(&mut self) {
        if self.text.starts_with("#!") {
            self.position = self.text.find('\n').unwrap_or(self.text.len());
        }
    }

    /// Scans the token that begins here. Consumes at least one byte.
    fn scan_token(&mut self) {
        let start = self.position;
        match self.bytes[start] {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.scan_word(),
            b'0'..=b'9' => self.scan_numeral(),
            b'-' if self.is_digit(1) => self.scan_numeral(),
            b'\'' => self.scan_string_literal(),
            b'"' => self.scan_character(),
            b'#' => self.scan_symbol(),
            b'(' => self.punctuation(TokenKind::OpenParenthesis, 1),
            b')' => self.punctuation(TokenKind::CloseParenthesis, 1),
            b'[' => self.punctuation(TokenKind::OpenBracket, 1),
            b']' => self.punctuation(TokenKind::CloseBracket, 1),
            b'{' => self.punctuation(TokenKind::OpenBrace, 1),
            b'}' => self.punctuation(TokenKind::CloseBrace, 1),
            b'.' => self.punctuation(TokenKind::Period, 1),
            b';' => self.punctuation(TokenKind::Semicolon, 1),
            b'^' => self.punctuation(TokenKind::Caret, 1),
            b':' if self.looking_at("::=") => self.punctuation(TokenKind::MutableEquals, 3),
            b':' => self.punctuation(TokenKind::Colon, 1),
            b'<' if self.looking_at("<:") => self.punctuation(TokenKind::MixinArrow, 2),
            b'<' if self.looking_at("<-:") => self.punctuation(TokenKind::EventualArrow, 3),
            b'*' if self.looking_at("*)") => self.stray_comment_end(),
            byte if is_operator(byte) => self.scan_operator(),
            b'$' => self.dollar_character(),
            _ if self.character().is_some_and(char::is_alphabetic) => self.scan_word(),
            _ => self.unexpected_characters(),
        }
        debug_assert!(self.position > start, "the lexer must make progress");
    }

    fn punctuation(&mut self, kind: TokenKind, length: usize) {
        let start = self.position;
        self.position += length;
        self.push(kind, start);
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        self.tokens.push(Token { kind, span: self.span_from(start) });
    }

    // Words, operators, numerals

    fn scan_word(&mut self) {
        let start = self.position;
        self.skip_word();
        let kind = match (self.byte(0), self.byte(1)) {
            (Some(b':'), Some(b':')) => TokenKind::Setter,
            (Some(b':'), _) => TokenKind::Keyword,
            _ => TokenKind::Identifier,
        };
        self.position += match kind {
            TokenKind::Setter => 2,
            TokenKind::Keyword => 1,
            _ => 0,
        };
        self.push(kind, start);
        if kind == TokenKind::Keyword && self.character().is_some_and(char::is_alphabetic) {
            self.report_keyword_without_space(start);
        }
    }

    fn skip_word(&mut self) {
        while let Some(byte) = self.byte(0) {
            if byte.is_ascii_alphanumeric() || byte == b'_' {
                self.position += 1;
            } else if !byte.is_ascii() && self.character().is_some_and(char::is_alphanumeric) {
                self.skip_character();
            } else {
                break;
            }
        }
    }

    /// The keyword stands as it is, so that the parser goes on as if the space were there.
    fn report_keyword_without_space(&mut self, start: usize) {
        let keyword = &self.text[start..self.position];
        let rest = &self.text[self.position..];
        let argument = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or(rest);
        let hint = format!("write {}", quoted(&format!("{keyword} {argument}")));
        let message = format!("the keyword {} needs a space before its argument", quoted(keyword));
        let span = self.span_from(start);
        self.report(Diagnostic::error(Code::KeywordWithoutSpace, message, span).with_hint(hint));
    }

    fn scan_operator(&mut self) {
        let start = self.position;
        self.skip_operator();
        self.push(TokenKind::of_operator(&self.text[start..self.position]), start);
    }

    fn skip_operator(&mut self) {
        while self.byte(0).is_some_and(is_operator) {
            self.position += 1;
        }
    }

    fn scan_numeral(&mut self) {
        let start = self.position;
        let numeral = Numeral::scan(&self.text[start..]);
        self.position += numeral.text().len();
        self.push(TokenKind::Numeral, start);
        if let Some(defect) = numeral.defect() {
            self.report(numeral_diagnostic(defect, self.span_from(start)));
        } else if self.character().is_some_and(|next| next.is_alphanumeric() || next == '_') {
            self.report_numeral_with_letters(start);
        }
    }

    /// `0x1F` and `1_000` would be numbers with messages.
    fn report_numeral_with_letters(&mut self, start: usize) {
        let after = self.position;
        self.skip_word();
        let span = self.span_from(start);
        let text = self.source.slice(span).to_lowercase();
        self.position = after;
        let radix = |digits: &str, radix: u32| {
            let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
            is_number
                .then(|| format!("write {}", quoted(&format!("{radix}r{}", digits.to_uppercase()))))
        };
        let hint = match text.as_bytes() {
            [b'0', b'x', ..] => radix(&text[2..], 16),
            [b'0', b'o', ..] => radix(&text[2..], 8),
            [b'0', b'b', ..] => radix(&text[2..], 2),
            _ if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') => {
                Some(format!("write {}", quoted(&text.replace('_', ""))))
            }
            _ => None,
        };
        let hint = hint.unwrap_or_else(|| "a message follows its receiver after a space".into());
        let message = format!("{} is no number", quoted(self.source.slice(span)));
        self.report(Diagnostic::warning(Code::MalformedNumeral, message, span).with_hint(hint));
    }

    // Strings, characters, symbols

    fn scan_string_literal(&mut self) {
        let start = self.position;
        self.skip_string();
        self.push(TokenKind::String, start);
    }

    /// Skips the string that begins here, to the end of the text if nothing closes it.
    fn skip_string(&mut self) {
        let start = self.position;
        self.position += 1;
        while let Some(byte) = self.byte(0) {
            match byte {
                b'\'' if self.byte(1) == Some(b'\'') => self.position += 2,
                b'\'' => {
                    self.position += 1;
                    return;
                }
                b'\\' => self.skip_escape(),
                _ => self.position += 1,
            }
        }
        self.report_unterminated_string(start);
    }

    fn skip_escape(&mut self) {
        let start = self.position;
        self.position += 1;
        let Some(character) = self.character() else {
            return;
        };
        self.position += character.len_utf8();
        if escaped(character).is_none() {
            let span = self.span_from(start);
            let message =
                format!("the escape {} stands for nothing", quoted(self.source.slice(span)));
            self.report(Diagnostic::warning(Code::UnknownEscape, message, span).with_hint(
                "a backslash itself is written \\\\; escapes are \\t \\b \\n \\r \\f \\' and \\\\",
            ));
        }
    }

    fn scan_character(&mut self) {
        let start = self.position;
        self.position += 1;
        let quoted = self.character();
        let length = match quoted {
            Some('"') if self.byte(1) == Some(b'"') => 2,
            Some('"') | None => 0,
            Some(character) => character.len_utf8(),
        };
        if length > 0 && self.byte(length) == Some(b'"') {
            self.position += length + 1;
            self.push(TokenKind::Character, start);
        } else {
            self.malformed_character(start);
        }
    }

    /// Skips to the closing quote if the line has one, else only the opening quote.
    fn malformed_character(&mut self, start: usize) {
        let rest = &self.text[self.position..];
        let line = rest.split('\n').next().unwrap_or(rest);
        if let Some(length) = line.find('"') {
            self.position += length + 1;
        }
        self.push(TokenKind::Character, start);
        let span = self.span_from(start);
        let message = "double quotes hold exactly one character";
        let hint = if span.range().len() == 1 {
            "a character is written \"c\", a string 'text'"
        } else {
            "write strings between single quotes: 'text'"
        };
        self.report(Diagnostic::error(Code::MalformedCharacter, message, span).with_hint(hint));
    }

    /// A `#` before something that is no symbol is left to the parser, which knows more.
    fn scan_symbol(&mut self) {
        let start = self.position;
        self.position += 1;
        match self.character() {
            Some('\'') => self.skip_string(),
            Some(c) if c.is_alphabetic() || c == '_' => self.skip_selector(),
            Some('<') if self.looking_at("<:") || self.looking_at("<-:") => {
                return self.malformed_symbol(start);
            }
            Some('-') if self.is_digit(1) => return self.malformed_symbol(start),
            Some('*') if self.looking_at("*)") => return self.push(TokenKind::Hash, start),
            Some(c) if c.is_ascii() && is_operator(c as u8) => self.skip_operator(),
            _ => return self.push(TokenKind::Hash, start),
        }
        self.push(TokenKind::Symbol, start);
    }

    /// Skips a name, or keywords written together. A colon joins only what a letter follows.
    fn skip_selector(&mut self) {
        self.skip_word();
        while self.byte(0) == Some(b':') && self.byte(1) != Some(b':') {
            self.position += 1;
            if !self.character().is_some_and(char::is_alphabetic) {
                break;
            }
            self.skip_word();
        }
    }

    fn malformed_symbol(&mut self, start: usize) {
        self.skip_operator();
        while self.byte(0) == Some(b':') || self.is_digit(0) {
            self.position += 1;
        }
        self.push(TokenKind::Symbol, start);
        let span = self.span_from(start);
        let text = &self.text[start + 1..self.position];
        let message = format!("{} is not a selector", quoted(text));
        let hint = "quote a symbol that is not a selector, as in #'<:'";
        self.report(Diagnostic::error(Code::MalformedSymbol, message, span).with_hint(hint));
    }

    // Blanks

    /// Skips white space and comments. Answers whether a token follows.
    fn skip_blanks(&mut self) -> bool {
        while let Some(byte) = self.byte(0) {
            match byte {
                b' ' | b'\t'..=b'\r' => self.position += 1,
                b'(' if self.byte(1) == Some(b'*') => self.skip_comment(),
                0..128 => return true,
                _ if self.character().is_some_and(is_blank) => self.skip_character(),
                _ => return true,
            }
        }
        false
    }

    fn skip_comment(&mut self) {
        let start = self.position;
        let mut depth = 0;
        while let Some(byte) = self.byte(0) {
            match (byte, self.byte(1)) {
                (b'(', Some(b'*')) => {
                    depth += 1;
                    self.position += 2;
                }
                (b'*', Some(b')')) => {
                    depth -= 1;
                    self.position += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.position += 1,
            }
        }
        self.report_unterminated_comment(start, depth);
    }

    // The cursor

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.position + ahead).copied()
    }

    fn is_digit(&self, ahead: usize) -> bool {
        self.byte(ahead).is_some_and(|byte| byte.is_ascii_digit())
    }

    fn looking_at(&self, text: &str) -> bool {
        self.bytes[self.position..].starts_with(text.as_bytes())
    }

    fn character(&self) -> Option<char> {
        self.text[self.position..].chars().next()
    }

    fn skip_character(&mut self) {
        self.position += self.character().map_or(0, char::len_utf8);
    }

    fn span_from(&self, start: usize) -> Span {
        Span::from(start..self.position)
    }
}

fn is_operator(byte: u8) -> bool {
    matches!(
        byte,
        b'~' | b'&'
            | b'|'
            | b'*'
            | b'/'
            | b'\\'
            | b'+'
            | b'='
            | b'>'
            | b'<'
            | b','
            | b'@'
            | b'%'
            | b'-'
            | b'!'
    )
}

/// A byte order mark is a blank, for the sake of editors that write one.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

/// Diagnostics.
impl Lexer<'_> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.report(diagnostic);
    }

    fn report_defects(&mut self) {
        let is_too_large = |defect: &Defect| matches!(defect, Defect::TooLarge(_));
        self.is_cut_short = self.source.defects().iter().any(is_too_large);
        for &defect in self.source.defects() {
            let diagnostic = match defect {
                Defect::NotUtf8(span) => {
                    Diagnostic::error(Code::InvalidUtf8, "the source is not UTF-8 here", span)
                }
                Defect::TooLarge(length) => {
                    let message = format!("the source has {length} bytes");
                    let hint = format!("a source has at most {MAX_SOURCE_BYTES} bytes");
                    Diagnostic::error(Code::SourceTooLarge, message, Span::default())
                        .with_hint(hint)
                }
            };
            self.report(diagnostic);
        }
    }

    /// A forgotten quote turns strings inside out down to the end of the text. The culprit is
    /// often the first string that spans lines and ends against a word.
    fn report_unterminated_string(&mut self, start: usize) {
        self.is_cut_short = true;
        let span = Span::from(start..start + 1);
        let mut diagnostic =
            Diagnostic::error(Code::UnterminatedString, "this string is never closed", span)
                .labelled("opened here")
                .with_hint("close it with ', and write '' for a quote inside a string");
        let suspect = self.tokens.windows(2).find(|pair| {
            pair[0].kind == TokenKind::String
                && pair[1].span.start == pair[0].span.end
                && self.source.slice(pair[0].span).contains('\n')
        });
        if let Some(pair) = suspect {
            let opening = Span::from(pair[0].span.range().start..pair[0].span.range().start + 1);
            diagnostic =
                diagnostic.and_label(opening, "perhaps because this one should end earlier");
        }
        self.report(diagnostic);
    }

    fn report_unterminated_comment(&mut self, start: usize, depth: usize) {
        self.is_cut_short = true;
        let span = Span::from(start..start + 2);
        let hint = match depth {
            1 => "close it with *)".to_string(),
            _ => format!("comments nest, and {depth} of them are open: each `(*` needs its `*)`"),
        };
        let message = "this comment is never closed";
        self.report(
            Diagnostic::error(Code::UnterminatedComment, message, span)
                .labelled("opened here")
                .with_hint(hint),
        );
    }

    fn stray_comment_end(&mut self) {
        let start = self.position;
        self.position += 2;
        let message = "this `*)` ends no comment";
        self.report(
            Diagnostic::error(Code::StrayCommentEnd, message, self.span_from(start))
                .with_hint("if it is the operator `*`, write a space before `)`"),
        );
    }

    /// Smalltalk's `$c`: reported, and taken for the character it means.
    fn dollar_character(&mut self) {
        let start = self.position;
        self.position += 1;
        self.skip_character();
        let character = &self.text[start + 1..self.position];
        let hint = format!("write {}", quoted(&format!("\"{character}\"")));
        let diagnostic = Diagnostic::error(
            Code::UnexpectedCharacter,
            "`$` begins no character literal",
            self.span_from(start),
        );
        self.push(TokenKind::Character, start);
        // `${name}` is a place in a text of other languages.
        self.report(if character == "{" { diagnostic } else { diagnostic.with_hint(hint) });
    }

    fn unexpected_characters(&mut self) {
        let start = self.position;
        let first = self.character().unwrap_or(char::REPLACEMENT_CHARACTER);
        while self.character() == Some(first) {
            self.skip_character();
        }
        let message = format!("the character {} begins no token", quoted(&first.to_string()));
        let span = self.span_from(start);
        let mut diagnostic = Diagnostic::error(Code::UnexpectedCharacter, message, span);
        diagnostic.hint = foreign_character(first).map(str::to_owned);
        self.report(diagnostic);
    }
}

/// The remedy for a character that begins something in other languages.
fn foreign_character(character: char) -> Option<&'static str> {
    match character {
        '?' => Some("write `condition ifTrue: [ … ] ifFalse: [ … ]`"),
        '`' => Some("a text stands in single quotes; `'hello {}' formatted: { name }` fills it in"),
        _ => None,
    }
}

fn numeral_diagnostic(defect: NumeralDefect, span: Span) -> Diagnostic {
    let error = |message| Diagnostic::error(Code::MalformedNumeral, message, span);
    match defect {
        NumeralDefect::NoDigits => error("this numeral has no digits after its radix".to_string())
            .with_hint("digits are 0 to 9 and A to Z, as in 16rFF"),
        NumeralDefect::ImpossibleRadix => error("a radix is between 1 and 9999".to_string()),
        NumeralDefect::TooLong => error(format!(
            "a radix numeral with a fraction or exponent has at most {LONGEST_RADIX_DOUBLE} \
             characters"
        )),
        NumeralDefect::DigitBeyondRadix(digit) => {
            let message = format!("the digit `{digit}` is not below the radix");
            Diagnostic::warning(Code::DigitBeyondRadix, message, span)
        }
        NumeralDefect::Infinite => {
            let message = "this numeral is beyond the doubles and reads as infinity";
            Diagnostic::warning(Code::InfiniteNumeral, message, span)
        }
    }
}
