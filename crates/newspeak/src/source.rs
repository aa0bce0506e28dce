//! Source text and places in it. All parts of the compiler and its callers name places by them.
//!
//! A [`Source`] is always valid UTF-8 of at most [`MAX_SOURCE_BYTES`]. Bytes that are not
//! UTF-8 are replaced one for one by spaces and remembered, so that every offset still
//! means the same place in the caller's file.
//!
//! A [`Span`] is a range of byte offsets. Lines and columns are only for people: both count
//! from 1, and a column counts characters, not bytes.

use std::fmt;
use std::ops::Range;

/// Longer sources are refused. A limit far below 4 GiB lets spans be two `u32`.
pub const MAX_SOURCE_BYTES: usize = 64 << 20;

/// A named text, with its lines.
#[derive(Clone, Debug)]
pub struct Source {
    name: Box<str>,
    text: Box<str>,
    defects: Box<[Defect]>,
    line_starts: Box<[u32]>,
    /// How many characters begin before each stretch of [`STRETCH`] bytes: a line may be as long as the text.
    characters: Box<[u32]>,
}

/// The number of bytes between two counts of characters.
const STRETCH: usize = 512;

/// A reason why a source's bytes could not be taken unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// A stretch of bytes that is not UTF-8.
    NotUtf8(Span),
    /// The source has this many bytes, more than [`MAX_SOURCE_BYTES`]; its text was dropped.
    TooLarge(usize),
}

impl Source {
    /// A source from text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        let text = text.into();
        if text.len() > MAX_SOURCE_BYTES {
            return Source::too_large(name.into(), text.len());
        }
        Source::with_defects(name.into(), text, Vec::new())
    }

    /// A source from the bytes of a file, even invalid ones.
    pub fn from_bytes(name: impl Into<String>, bytes: &[u8]) -> Source {
        if bytes.len() > MAX_SOURCE_BYTES {
            return Source::too_large(name.into(), bytes.len());
        }
        let mut text = String::with_capacity(bytes.len());
        let mut defects = Vec::new();
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                let start = text.len();
                text.extend(chunk.invalid().iter().map(|_| ' '));
                note_invalid(&mut defects, Span::from(start..text.len()));
            }
        }
        Source::with_defects(name.into(), text, defects)
    }

    fn too_large(name: String, length: usize) -> Source {
        Source::with_defects(name, String::new(), vec![Defect::TooLarge(length)])
    }

    fn with_defects(name: String, text: String, defects: Vec<Defect>) -> Source {
        // A line ends with LF, CR LF or CR, as editors count lines.
        let is_line_end = |&(offset, byte): &(usize, u8)| match byte {
            b'\n' => true,
            b'\r' => text.as_bytes().get(offset + 1) != Some(&b'\n'),
            _ => false,
        };
        let line_ends = text.bytes().enumerate().filter(is_line_end);
        let line_starts =
            std::iter::once(0).chain(line_ends.map(|(offset, _)| offset as u32 + 1)).collect();
        let characters = text.as_bytes().chunks(STRETCH).scan(0, |count, stretch| {
            let before = *count;
            *count += characters_in(stretch);
            Some(before)
        });
        let characters = characters.collect();
        let (name, text, defects) = (name.into(), text.into(), defects.into());
        Source { name, text, defects, line_starts, characters }
    }

    /// The name under which diagnostics cite the source, usually a path.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parts of the caller's bytes that were replaced or refused.
    pub fn defects(&self) -> &[Defect] {
        &self.defects
    }

    /// The text of a span of this source.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    /// The line, counted from 1, that holds a byte offset.
    pub fn line(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }

    /// The line and column of a byte offset.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.line_starts[line - 1];
        let column = self.characters_before(offset) - self.characters_before(start) + 1;
        Position { line, column: column as usize }
    }

    /// How many characters begin before a byte offset.
    fn characters_before(&self, offset: u32) -> u32 {
        let (offset, stretch) = (offset as usize, offset as usize / STRETCH);
        let rest = &self.text.as_bytes()[stretch * STRETCH..offset];
        let counted = self.characters.get(stretch).copied();
        // The text ends where a stretch would begin.
        let counted = counted.unwrap_or_else(|| {
            let last = self.text.as_bytes().chunks(STRETCH).next_back().unwrap_or_default();
            self.characters.last().copied().unwrap_or(0) + characters_in(last)
        });
        counted + characters_in(rest)
    }

    /// The span of a line, counted from 1, without its line end.
    pub fn line_span(&self, line: usize) -> Span {
        let start = self.line_starts[line - 1];
        let end = match self.line_starts.get(line) {
            Some(&next) => next - 1,
            None => self.text.len() as u32,
        };
        Span { start, end }
    }

    /// The empty span after the last character.
    pub fn end(&self) -> Span {
        Span::from(self.text.len()..self.text.len())
    }
}

/// How many characters begin in a part of a text.
fn characters_in(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| u32::from(byte & 0xC0 != 0x80)).sum()
}

/// Adjacent invalid stretches are one defect; a binary file would have thousands otherwise.
fn note_invalid(defects: &mut Vec<Defect>, span: Span) {
    if let Some(Defect::NotUtf8(last)) = defects.last_mut()
        && last.end == span.start
    {
        last.end = span.end;
        return;
    }
    defects.push(Defect::NotUtf8(span));
}

/// A place for people to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A range of byte offsets in one source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// From the start of `self` to the end of `last`.
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }

    /// The empty span before this one.
    pub fn before(self) -> Span {
        Span { start: self.start, end: self.start }
    }

    /// The empty span after this one.
    pub fn after(self) -> Span {
        Span { start: self.end, end: self.end }
    }

    /// The span as a range for indexing text.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl From<Range<usize>> for Span {
    /// Offsets fit since [`MAX_SOURCE_BYTES`] does.
    fn from(range: Range<usize>) -> Span {
        Span { start: range.start as u32, end: range.end as u32 }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
