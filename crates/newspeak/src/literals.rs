//! The values of string, character and symbol literals. Lexer and parser ask for them.
//!
//! In a string, two quotes stand for one, and a backslash begins an escape. An escape without a meaning stands for no
//! character, and the lexer warns of it. Character literals know no escapes but the doubled quote. All functions here
//! take the literal with its quotes, and answer a usable value for malformed ones, which the lexer has reported.

use std::borrow::Cow;

/// The character that a backslash and this character stand for.
pub fn escaped(character: char) -> Option<char> {
    match character {
        't' => Some('\t'),
        'b' => Some('\u{8}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        'f' => Some('\u{c}'),
        '\'' | '\\' => Some(character),
        _ => None,
    }
}

/// The value of `'text'`.
pub fn string_value(literal: &str) -> Cow<'_, str> {
    let text = literal.strip_prefix('\'').unwrap_or(literal);
    let text = text.strip_suffix('\'').unwrap_or(text);
    if !text.contains(['\'', '\\']) {
        return Cow::Borrowed(text);
    }
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().and_then(escaped)),
            '\'' => {
                characters.next();
                value.push('\'');
            }
            _ => value.push(character),
        }
    }
    Cow::Owned(value)
}

/// The value of `"c"`: a string of one character.
pub fn character_value(literal: &str) -> &str {
    let text = literal.strip_prefix('"').unwrap_or(literal);
    match text.chars().next() {
        Some(character) => &text[..character.len_utf8()],
        None => "",
    }
}

/// The selector or string of `#selector` or `#'text'`.
pub fn symbol_value(literal: &str) -> Cow<'_, str> {
    let text = literal.strip_prefix('#').unwrap_or(literal);
    if text.starts_with('\'') { string_value(text) } else { Cow::Borrowed(text) }
}
