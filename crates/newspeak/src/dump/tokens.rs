//! Tokens, one per line: position, kind, text. `squall check --dump=tokens` prints them.

use std::fmt::Write;

use crate::source::{Position, Source};
use crate::token::Token;

/// The tokens as text.
///
/// ```text
/// 1:1     identifier   class
/// 1:7     identifier   Point
/// 1:13    keyword      x:
/// ```
pub fn tokens(source: &Source, tokens: &[Token]) -> String {
    let mut text = String::new();
    let mut cursor = Cursor { source, offset: 0, position: Position { line: 1, column: 1 } };
    for token in tokens {
        let position = cursor.advance(token.span.start).to_string();
        let shown = source.slice(token.span).escape_debug();
        let line = format!("{position:<8}{:<13}{shown}", token.kind.name());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Positions of ascending offsets, each found from the one before: a line may be long.
struct Cursor<'s> {
    source: &'s Source,
    offset: usize,
    position: Position,
}

impl Cursor<'_> {
    fn advance(&mut self, offset: u32) -> Position {
        let offset = offset as usize;
        for character in self.source.text()[self.offset..offset].chars() {
            match character {
                '\n' => self.position = Position { line: self.position.line + 1, column: 1 },
                _ => self.position.column += 1,
            }
        }
        self.offset = offset;
        self.position
    }
}
