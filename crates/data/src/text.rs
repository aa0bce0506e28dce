//! Text: lines, normal forms, and characters as users see them.

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The lines of a text, without their ends: LF, CR LF or CR. A line end at the end begins no line.
pub fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(end) = rest.find(['\n', '\r']) {
        lines.push(&rest[..end]);
        let length = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
        rest = &rest[end + length..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// A normal form of Unicode.
pub fn normalized(text: &str, form: &str) -> Option<String> {
    Some(match form {
        "nfc" => text.nfc().collect(),
        "nfd" => text.nfd().collect(),
        "nfkc" => text.nfkc().collect(),
        "nfkd" => text.nfkd().collect(),
        _ => return None,
    })
}

/// The characters as users see them: extended grapheme clusters.
pub fn graphemes(text: &str) -> Vec<&str> {
    text.graphemes(true).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_end_at_the_end_begins_no_line() {
        assert_eq!(lines("a\r\nb\n\rc\n"), ["a", "b", "", "c"]);
        assert!(lines("").is_empty());
        assert_eq!(lines("\n"), [""]);
    }
}
