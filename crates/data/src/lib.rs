//! Data as Squall's library needs it: formats of text and bytes, digests, compression, randomness, patterns, calendars.
//! The runtime's primitives call this crate.
//!
//! Nothing here knows objects. Each function takes text or bytes and answers plain data, or a [`Problem`] with its place
//! in the input. All input is untrusted: each function takes time in proportion to its input, or has a limit.
//!
//! | module | subject |
//! |---|---|
//! | [`json`] | JSON, read as a sequence of parts, so that a builder makes objects without a tree in between |
//! | [`toml`] | TOML, read as a tree, and written from JSON |
//! | [`tables`] | CSV |
//! | [`patterns`] | regular expressions |
//! | [`calendar`] | instants, zones, dates, durations |
//! | [`encodings`] | base64, base32, hexadecimal digits |
//! | [`digests`] | SHA-2, BLAKE3, HMAC |
//! | [`compression`] | gzip, zlib, zstd |
//! | [`random`] | numbers from a seed, and bytes that nobody can foresee |
//! | [`links`] | addresses of the web |
//! | [`identifiers`] | UUIDs |
//! | [`text`] | case, replacement, lines, normal forms, characters as users see them |
//! | [`integers`] | products, quotients and text of large integers |
//! | [`pace`] | work in pieces, which all of the functions above that may take long are |

#![forbid(unsafe_code)]

pub mod calendar;
pub mod compression;
pub mod digests;
pub mod encodings;
pub mod identifiers;
pub mod integers;
pub mod json;
pub mod links;
pub mod pace;
pub mod patterns;
pub mod random;
pub mod tables;
pub mod text;
pub mod toml;

/// A mistake in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place, in bytes from the start of the input.
    pub at: usize,
    /// The mistake, in words.
    pub message: String,
}

impl Problem {
    /// A mistake at a place.
    pub fn at(at: usize, message: impl Into<String>) -> Problem {
        Problem { at, message: message.into() }
    }

    /// A mistake whose place the input's library does not tell.
    pub fn unlocated(message: impl ToString) -> Problem {
        Problem::at(0, message.to_string())
    }
}

/// A place in a text, for people: everything counts from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the code point.
    pub index: usize,
    /// The line.
    pub line: usize,
    /// The code point in its line.
    pub column: usize,
}

impl Place {
    /// The place of a byte in a text; a byte behind the end counts as the end.
    pub fn of(text: &str, at: usize) -> Place {
        let mut end = at.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        Place {
            index: before.chars().count() + 1,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_code_points() {
        assert_eq!(Place::of("é\nüx", 5), Place { index: 4, line: 2, column: 2 });
        assert_eq!(Place::of("é", 1), Place { index: 1, line: 1, column: 1 });
        assert_eq!(Place::of("", 9), Place { index: 1, line: 1, column: 1 });
    }
}
