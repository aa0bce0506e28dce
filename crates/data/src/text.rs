//! Text: case, replacement, lines, normal forms, and characters as users see them. The primitives for text, of
//! `lib/Kernel.ns` and `lib/Text.ns`, call this module. All of it is done in [pieces](crate::pace).

use std::ops::Range;

use memchr::memmem;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, decompose_compatible};
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

/// So many bytes behind a step belong to the same word.
const LONGEST_WORD: usize = 6 << 10;

/// So many bytes are looked at in one go where the text offers no better place to stop.
const LONGEST_STEP: usize = 64 << 10;

/// The first place from this byte on where a character begins, or the end.
fn boundary(text: &str, from: usize) -> usize {
    (from..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

/// The changed text, chunk by chunk; if a change depends on letters around it, chunks end behind spaces. A word of more
/// than 8 kB is cut, and its parts know that there are letters beyond.
async fn by_chunks(text: &str, is_by_words: bool, change: fn(&str) -> String) -> String {
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = STEP.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        if is_by_words {
            let longest = boundary(rest, end + LONGEST_WORD);
            end = rest[end..longest].find(' ').map_or(longest, |space| end + space + 1);
        }
        let (chunk, others) = rest.split_at(end);
        let before = &text[..text.len() - rest.len()];
        match is_by_words {
            true => changed.push_str(&between_letters(before, chunk, others, change)),
            false => changed.push_str(&change(chunk)),
        }
        rest = others;
        hold(changed.capacity());
        spend(if is_by_words { chunk.len() } else { chunk.len() / IN_UNIT }).await;
    }
    changed
}

fn ends_in_letter(text: &str) -> bool {
    text.chars().next_back().is_some_and(char::is_alphabetic)
}

fn begins_with_letter(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_alphabetic)
}

/// The changed chunk, between stand-ins for the letters around it, which the change leaves as they are.
fn between_letters(before: &str, chunk: &str, after: &str, change: fn(&str) -> String) -> String {
    let start = if ends_in_letter(before) { "a" } else { "" };
    let end = if begins_with_letter(after) { "a" } else { "" };
    let changed = change(&[start, chunk, end].concat());
    changed[start.len()..changed.len() - end.len()].to_owned()
}

/// The characters in the opposite order.
pub async fn reversed(text: &str) -> String {
    let mut reversed = String::with_capacity(text.len());
    collect(&mut reversed, text.chars().rev()).await;
    reversed
}

/// Appends the characters.
async fn collect(collected: &mut String, mut characters: impl Iterator<Item = char>) {
    loop {
        let before = collected.len();
        collected.extend(characters.by_ref().take(STEP));
        if collected.len() == before {
            return;
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
    let finder = memmem::Finder::new(part);
    // Without a match, a window is looked through in vain, so it is no shorter than the part.
    let window = LONGEST_STEP.max(part.len());
    let (mut replaced, mut end, mut from) = (String::new(), 0, 0);
    while from < text.len() {
        let last = text.len().min(from + window + part.len());
        let found = finder.find(&text.as_bytes()[from..last]);
        let work = found.map_or(last - from, |at| at + part.len() + by.len());
        spend(work / IN_UNIT + 1).await;
        let Some(at) = found.map(|at| from + at) else {
            from = if last == text.len() { last } else { last - (part.len() - 1) };
            continue;
        };
        replaced.push_str(&text[end..at]);
        replaced.push_str(by);
        hold(replaced.capacity());
        (end, from) = (at + part.len(), at + part.len());
        if replaced.len() > LONGEST {
            return None;
        }
    }
    replaced.push_str(&text[end..]);
    Some(replaced)
}

/// The lines of a text, without their ends: LF, CR LF or CR. A line end at the end begins no line.
pub async fn lines(text: &str) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let (mut start, mut from) = (0, 0);
    while from < text.len() {
        let last = text.len().min(from + LONGEST_STEP);
        let found = memchr::memchr2(b'\n', b'\r', &text.as_bytes()[from..last]);
        let end = found.map_or(last, |at| from + at);
        spend((end - from) / IN_UNIT + 1).await;
        from = end;
        if found.is_some() {
            lines.push(start..end);
            hold(lines.capacity() * size_of::<Range<usize>>());
            from += if text[end..].starts_with("\r\n") { 2 } else { 1 };
            start = from;
        }
    }
    if start < text.len() {
        lines.push(start..text.len());
    }
    lines
}

/// The parts between white space.
pub async fn words(text: &str) -> Vec<Range<usize>> {
    let (mut words, mut start) = (Vec::new(), None);
    let mut at = 0;
    while at < text.len() {
        let last = boundary(text, at + STEP);
        for (place, character) in text[at..last].char_indices() {
            match (character.is_whitespace(), start) {
                (true, Some(begun)) => {
                    words.push(begun..at + place);
                    start = None;
                }
                (false, None) => start = Some(at + place),
                _ => {}
            }
        }
        hold(words.capacity() * size_of::<Range<usize>>());
        spend(last - at).await;
        at = last;
    }
    words.extend(start.map(|begun| begun..text.len()));
    words
}

/// The characters as users see them: extended grapheme clusters. One of more than 64 kB is cut.
pub async fn graphemes(text: &str) -> Vec<Range<usize>> {
    let (mut ranges, mut start) = (Vec::new(), 0);
    while start < text.len() {
        let end = boundary(text, start + LONGEST_STEP);
        let part = &text[start..end];
        let from = start;
        let mut clusters = part.graphemes(true).peekable();
        while let Some(cluster) = clusters.next() {
            // The last one may go on behind the part; then the next part begins with it.
            if clusters.peek().is_none() && end < text.len() && start > from {
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

/// The names of the normal forms.
pub const FORMS: [&str; 4] = ["nfc", "nfd", "nfkc", "nfkd"];

/// A normal form of Unicode; none for a name that is not among [`FORMS`]. A run of marks on one character is cut behind
/// 16,384, since the marks of a run are sorted in one go.
pub async fn normalized(text: &str, form: &str) -> Option<String> {
    if !FORMS.contains(&form) {
        return None;
    }
    let mut normalized = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (part, others) = rest.split_at(end_of_runs(rest).await);
        match form {
            "nfc" => collect(&mut normalized, part.nfc()).await,
            "nfd" => collect(&mut normalized, part.nfd()).await,
            "nfkc" => collect(&mut normalized, part.nfkc()).await,
            _ => collect(&mut normalized, part.nfkd()).await,
        }
        rest = others;
    }
    Some(normalized)
}

/// Whether the character, or what it consists of, begins with a mark on the character before.
fn is_mark(character: char) -> bool {
    let mut first = None;
    decompose_compatible(character, |part| _ = first.get_or_insert(part));
    first.is_some_and(|first| canonical_combining_class(first) != 0)
}

/// Where the first run of marks that is too long is cut; the end of the text if there is none.
async fn end_of_runs(text: &str) -> usize {
    const LONGEST_RUN: usize = 16 << 10;
    let mut run = 0;
    let mut characters = text.char_indices();
    while !characters.as_str().is_empty() {
        for (at, character) in characters.by_ref().take(STEP) {
            run = if is_mark(character) { run + 1 } else { 0 };
            if run > LONGEST_RUN {
                return at;
            }
        }
        // To take a character apart takes as long as a unit.
        spend(STEP).await;
    }
    text.len()
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
        for length in [0, 1, LONGEST_STEP - 1, LONGEST_STEP, 2 * LONGEST_STEP + 7] {
            for part in ["ab", "b", &"a".repeat(LONGEST_STEP + 3), &("a".repeat(length) + "bü")] {
                let text = "a".repeat(length) + "büaab" + &"a".repeat(length) + "bü";
                let direct = text.replace(part, "é");
                assert_eq!(at_once(replaced(&text, part, "é")).unwrap(), direct, "{length}");
            }
        }
    }

    #[test]
    fn long_words_and_lines_are_found() {
        assert_eq!(at_once(words(" ü  b ")), [1..3, 5..6]);
        for length in [0, 1, STEP - 1, STEP, LONGEST_STEP - 2, LONGEST_STEP, LONGEST_STEP + 1] {
            let text =
                " ü".to_owned() + &"x".repeat(length) + "\u{2003}\r\né\n" + &"y".repeat(length);
            let found = at_once(words(&text)).into_iter().map(|word| &text[word]);
            assert_eq!(found.collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
            let found = at_once(lines(&text)).into_iter().map(|line| &text[line]);
            assert_eq!(found.collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
        }
    }

    #[test]
    fn runs_of_marks_are_cut_only_if_they_are_long() {
        let text = "e\u{301}\u{323} 각 ｱ".repeat(3000) + &"a\u{323}\u{301}".repeat(10);
        assert_eq!(at_once(normalized(&text, "nfc")).unwrap(), text.nfc().collect::<String>());
        assert_eq!(at_once(normalized(&text, "nfkd")).unwrap(), text.nfkd().collect::<String>());
        assert_eq!(at_once(normalized(&text, "nf")), None);
        let (_, units) =
            crate::pace::counted(end_of_runs(&("a".to_owned() + &"é".repeat(100_000))));
        assert!(units > 100_000 / IN_UNIT, "only {units}");
        let marks = "e".to_owned() + &"\u{301}\u{323}\u{f73}\u{ff9e}".repeat(50_000);
        let mut pieces =
            crate::pace::Pieces::of(async move { normalized(&marks, "nfd").await.unwrap().len() });
        let steps = std::iter::from_fn(|| pieces.step(5000).0.is_none().then_some(())).count();
        assert!(steps > 10, "only {steps}");
    }

    #[test]
    fn a_long_word_is_changed_in_pieces() {
        let word = "ΑΣ".repeat(100_000);
        let mut pieces = crate::pace::Pieces::of(async move { lowercase(&word).await });
        let steps = std::iter::from_fn(|| pieces.step(5000).0.is_none().then_some(())).count();
        assert!(steps > 5, "only {steps}");
    }
}
