//! Text: case, replacement, lines, normal forms, and characters as users see them. The primitives for text, of
//! `lib/Kernel.ns` and `lib/Text.ns`, call this module. All of it is done in [pieces](crate::pace).

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use crate::pace::{hold, spend};

/// So many characters are a step of a loop over characters.
const STEP: usize = 2048;

/// How many characters a unit of work takes.
const IN_UNIT: usize = 4;

/// Longer results than this, in bytes, are not made.
pub const LONGEST: usize = 1 << 31;

/// The text in upper case.
pub async fn uppercase(text: &str) -> String {
    by_chunks(text, false, str::to_uppercase).await
}

/// The text in lower case.
pub async fn lowercase(text: &str) -> String {
    // The form of a sigma depends on the letters around it.
    by_chunks(text, text.contains('Σ'), str::to_lowercase).await
}

/// The changed text, chunk by chunk; if a change depends on letters around it, chunks end behind white space.
async fn by_chunks(text: &str, is_by_words: bool, change: fn(&str) -> String) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = STEP.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        if is_by_words {
            end += rest[end..].find(' ').map_or(rest.len() - end, |space| space + 1);
        }
        let (chunk, others) = rest.split_at(end);
        changed.push_str(&change(chunk));
        rest = others;
        hold(changed.capacity());
        spend(chunk.len() / IN_UNIT).await;
    }
    changed
}

/// The characters in the opposite order.
pub async fn reversed(text: &str) -> String {
    collected(text, text.chars().rev()).await
}

async fn collected(text: &str, mut characters: impl Iterator<Item = char>) -> String {
    let mut collected = String::with_capacity(text.len());
    loop {
        let before = collected.len();
        collected.extend(characters.by_ref().take(STEP));
        if collected.len() == before {
            return collected;
        }
        hold(collected.capacity());
        spend(STEP / IN_UNIT).await;
    }
}

/// Whether all characters are of a kind.
pub async fn all_are(text: &str, is: fn(char) -> bool) -> bool {
    let mut characters = text.chars();
    while !characters.as_str().is_empty() {
        if !characters.by_ref().take(STEP).all(is) {
            return false;
        }
        spend(STEP / IN_UNIT).await;
    }
    true
}

/// The text with each occurrence of a part replaced; none if that would be too long.
pub async fn replaced(text: &str, part: &str, by: &str) -> Option<String> {
    let (mut replaced, mut end) = (String::new(), 0);
    for (at, _) in text.match_indices(part) {
        replaced.push_str(&text[end..at]);
        replaced.push_str(by);
        hold(replaced.capacity());
        spend((at + part.len() - end + by.len()) / IN_UNIT + 1).await;
        end = at + part.len();
        if replaced.len() > LONGEST {
            return None;
        }
    }
    spend((text.len() - end) / IN_UNIT).await;
    replaced.push_str(&text[end..]);
    Some(replaced)
}

/// The lines of a text, without their ends: LF, CR LF or CR. A line end at the end begins no line.
pub async fn lines(text: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    while let Some(end) = text[start..].find(['\n', '\r']).map(|length| start + length) {
        lines.push(start..end);
        hold(lines.capacity() * size_of::<Range<usize>>());
        spend((end - start) / IN_UNIT + 1).await;
        start = end + if text[end..].starts_with("\r\n") { 2 } else { 1 };
    }
    if start < text.len() {
        lines.push(start..text.len());
    }
    lines
}

/// The parts between white space.
pub async fn words(text: &str) -> Vec<Range<usize>> {
    ranges(text, text.split_whitespace()).await
}

/// The characters as users see them: extended grapheme clusters. One of more than 64 kB is cut.
pub async fn graphemes(text: &str) -> Vec<Range<usize>> {
    const PART: usize = 64 << 10;
    let (mut ranges, mut start) = (Vec::new(), 0);
    while start < text.len() {
        let end = (start + PART..text.len()).find(|&end| text.is_char_boundary(end));
        let part = &text[start..end.unwrap_or(text.len())];
        let from = start;
        let mut clusters = part.graphemes(true).peekable();
        while let Some(cluster) = clusters.next() {
            // The last one may go on behind the part; then the next part begins with it.
            if clusters.peek().is_none() && end.is_some() && start > from {
                break;
            }
            ranges.push(start..start + cluster.len());
            start += cluster.len();
            hold(ranges.capacity() * size_of::<Range<usize>>());
            spend(cluster.len() + 1).await;
        }
    }
    ranges
}

async fn ranges<'t>(text: &'t str, parts: impl Iterator<Item = &'t str>) -> Vec<Range<usize>> {
    let (mut ranges, mut end) = (Vec::new(), 0);
    for part in parts {
        let start = part.as_ptr() as usize - text.as_ptr() as usize;
        hold(ranges.capacity() * size_of::<Range<usize>>());
        spend((start + part.len() - end) + 1).await;
        end = start + part.len();
        ranges.push(start..end);
    }
    ranges
}

/// The names of the normal forms.
pub const FORMS: [&str; 4] = ["nfc", "nfd", "nfkc", "nfkd"];

/// A normal form of Unicode; none for a name that is not among [`FORMS`].
pub async fn normalized(text: &str, form: &str) -> Option<String> {
    Some(match form {
        "nfc" => collected(text, text.nfc()).await,
        "nfd" => collected(text, text.nfd()).await,
        "nfkc" => collected(text, text.nfkc()).await,
        "nfkd" => collected(text, text.nfkd()).await,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::at_once;

    #[test]
    fn a_line_end_at_the_end_begins_no_line() {
        let lines =
            |text| at_once(lines(text)).into_iter().map(|line| &text[line]).collect::<Vec<_>>();
        assert_eq!(lines("a\r\nb\n\rc\n"), ["a", "b", "", "c"]);
        assert!(lines("").is_empty());
        assert_eq!(lines("\n"), [""]);
    }

    #[test]
    fn chunks_do_not_change_the_case_of_a_text() {
        for text in ["aß ΟΔΟΣ ".repeat(3000), "Σ".repeat(9000), "ΑΣ".repeat(4000) + " Σ"] {
            assert_eq!(at_once(lowercase(&text)), text.to_lowercase());
            assert_eq!(at_once(uppercase(&text)), text.to_uppercase());
        }
    }

    #[test]
    fn parts_do_not_change_the_characters_that_users_see() {
        for unit in ["a", "é\u{301}", "🇩🇪", "👩‍👩‍👧", "\r\n", "각", "क्षि", "\u{301}", "x\u{200d}"]
        {
            for (count, before) in [(3, ""), (30_000, ""), (20_000, "a"), (15_000, "👩\u{200d}")]
            {
                let text = before.to_owned() + &unit.repeat(count) + "e\u{301}";
                let expected: Vec<&str> = text.graphemes(true).collect();
                let found: Vec<&str> =
                    at_once(graphemes(&text)).into_iter().map(|range| &text[range]).collect();
                let is_cut = expected.iter().any(|cluster| cluster.len() > 60_000);
                assert!(is_cut || found == expected, "{unit:?} {count}");
                assert_eq!(found.concat(), text);
            }
        }
    }

    #[test]
    fn parts_are_replaced() {
        assert_eq!(at_once(replaced("abcab", "ab", "x")).unwrap(), "xcx");
        assert_eq!(at_once(replaced("aaa", "aa", "")).unwrap(), "a");
        let words = at_once(words(" ü  b "));
        assert_eq!(words, [1..3, 5..6]);
    }
}
