//! Places in texts, as the protocol counts them: lines from 0, and columns in UTF-16 units; and addresses of files. The
//! server, the workspace and the requests convert places here.
//!
//! Positions of clients may be anywhere: behind the end of a line, behind the last line, inside of a character. They are
//! moved to the next place that exists.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use squall_newspeak::{Source, Span};

/// The position of a byte offset.
pub fn position(source: &Source, offset: u32) -> Position {
    let offset = offset.min(source.text().len() as u32);
    let line = source.line(offset);
    let start = source.line_span(line).start as usize;
    let before = &source.text()[start..offset as usize];
    Position { line: line as u32 - 1, character: before.encode_utf16().count() as u32 }
}

/// The range of a span.
pub fn range(source: &Source, span: Span) -> Range {
    Range { start: position(source, span.start), end: position(source, span.end) }
}

/// The byte offset of a position.
pub fn offset(source: &Source, position: Position) -> u32 {
    let last = source.line(source.end().start);
    let line = position.line as usize + 1;
    if line > last {
        return source.end().start;
    }
    let span = source.line_span(line);
    let mut units = position.character as usize;
    let mut offset = span.start;
    for character in source.slice(span).chars() {
        if units < character.len_utf16() {
            break;
        }
        units -= character.len_utf16();
        offset += character.len_utf8() as u32;
    }
    offset
}

/// The span of a range; an empty one if its ends are reversed.
pub fn span(source: &Source, range: Range) -> Span {
    let start = offset(source, range.start);
    Span { start, end: offset(source, range.end).max(start) }
}

/// The text after some changes.
pub fn changed(text: &str, changes: Vec<TextDocumentContentChangeEvent>) -> String {
    let mut text = text.to_owned();
    for change in changes {
        match change.range {
            None => text = change.text,
            Some(range) => {
                let source = Source::new("", text);
                let span = span(&source, range);
                text = source.text().to_owned();
                text.replace_range(span.range(), &change.text);
            }
        }
    }
    text
}

/// The path of a file, if the address is that of one.
pub fn path_of(uri: &Uri) -> Option<PathBuf> {
    let text = uri.as_str();
    let rest = text.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(rest);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        let digits = others.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &others[2..];
            }
            _ => {
                bytes.push(first);
                rest = others;
            }
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// The address of a file. None if the path is no text.
pub fn uri_of(path: &Path) -> Option<Uri> {
    let mut text = String::from("file://");
    for &byte in path.to_str()?.as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                text.push(byte as char);
            }
            _ => text += &format!("%{byte:02X}"),
        }
    }
    Uri::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_units() {
        let source = Source::new("t", "aä𝄞b\r\n\nlast");
        for (offset, line, character) in
            [(0, 0, 0), (1, 0, 1), (3, 0, 2), (7, 0, 4), (10, 1, 0), (15, 2, 4)]
        {
            let place = Position { line, character };
            assert_eq!(position(&source, offset), place);
            assert_eq!(super::offset(&source, place), offset);
        }
        // Inside of a character, behind a line, behind the text.
        assert_eq!(super::offset(&source, Position { line: 0, character: 3 }), 3);
        assert_eq!(super::offset(&source, Position { line: 0, character: 99 }), 9);
        assert_eq!(super::offset(&source, Position { line: 99, character: 0 }), 15);
    }

    #[test]
    fn lines_end_as_editors_count_them() {
        let source = Source::new("t", "a\rb\r\nc\n\r");
        for (offset, line, character) in
            [(0, 0, 0), (1, 0, 1), (2, 1, 0), (5, 2, 0), (7, 3, 0), (8, 4, 0)]
        {
            let place = Position { line, character };
            assert_eq!(position(&source, offset), place);
            assert_eq!(super::offset(&source, place), offset);
        }
    }

    #[test]
    fn changes_come_one_after_the_other() {
        let change = |start: u32, end: u32, text: &str| TextDocumentContentChangeEvent {
            range: Some(Range {
                start: Position { line: 0, character: start },
                end: Position { line: 0, character: end },
            }),
            range_length: None,
            text: text.to_owned(),
        };
        assert_eq!(
            changed("abc", vec![change(1, 2, "𝄞𝄞"), change(3, 5, "!"), change(9, 2, "?")]),
            "a𝄞!c?"
        );
    }

    #[test]
    fn addresses_of_files_are_encoded() {
        let path = Path::new("/a b/ü#%.ns");
        let uri = uri_of(path).expect("the path is text");
        assert_eq!(uri.as_str(), "file:///a%20b/%C3%BC%23%25.ns");
        assert_eq!(path_of(&uri).as_deref(), Some(path));
        let other = Uri::from_str("untitled:Untitled-1").expect("it is an address");
        assert_eq!(path_of(&other), None);
    }
}
