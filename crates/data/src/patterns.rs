//! Regular expressions: matching takes time in proportion to the pattern's size times the text's. Places are numbers of
//! code points, from 0.
//!
//! Each search for a match is one [piece](crate::pace) of work, which does not stop in between.
//!
//! Compiled patterns are kept in a table for the whole process, so that a program's object for a pattern is just its
//! text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use regex::Regex;
use regex::Captures;

use crate::Problem;
use crate::pace::spend;

/// So many patterns are kept; then the table is emptied.
const KEPT: usize = 500;

static COMPILED: Mutex<Option<HashMap<String, Arc<Regex>>>> = Mutex::new(None);

/// The start and end of each group of a match; none for a group that has no part in it. The first group is the match.
pub type Groups = Vec<Option<(usize, usize)>>;

/// The compiled form of a pattern.
pub fn compiled(pattern: &str) -> Result<Arc<Regex>, Problem> {
    let table = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = table().as_ref().and_then(|table| table.get(pattern)) {
        return Ok(known.clone());
    }
    let regex = Regex::new(pattern).map_err(|error| Problem::unlocated(error.to_string()))?;
    let regex = Arc::new(regex);
    let mut table = table();
    let table = table.get_or_insert_default();
    if table.len() == KEPT {
        table.clear();
    }
    table.insert(pattern.to_owned(), regex.clone());
    Ok(regex)
}

/// The first match that begins at `from` or behind.
pub async fn first(regex: &Regex, text: &str, from: usize) -> Option<Groups> {
    let start = match text.is_ascii() {
        true if from <= text.len() => from,
        true => return None,
        false => byte_of(text, from)?,
    };
    let captures = next(regex, text, start, start).await?;
    let mut groups = groups(&captures);
    to_code_points(text, groups.iter_mut().flatten());
    Some(groups)
}

/// The first match that begins at `start` or behind; work is counted from `seen` on.
async fn next<'t>(
    regex: &Regex,
    text: &'t str,
    start: usize,
    seen: usize,
) -> Option<Captures<'t>> {
    let captures = regex.captures_at(text, start);
    let end = captures.as_ref().and_then(|found| found.get(0)).map_or(text.len(), |all| all.end());
    let looked_at = end.saturating_sub(seen) / 4;
    spend(looked_at + regex.as_str().len() + 20).await;
    captures
}

/// Calls `found` with all matches that do not overlap, from left to right, at most `limit`, until it answers no.
async fn each<'t>(
    regex: &Regex,
    text: &'t str,
    limit: usize,
    mut found: impl FnMut(&Captures<'t>) -> bool,
) {
    let (mut start, mut last) = (0, None);
    for _ in 0..limit {
        let captures = match next(regex, text, start, start).await {
            // An empty match directly behind the last one is none.
            Some(captures) if is_empty_at(&captures, last) => {
                let Some(step) = text[start..].chars().next().map(char::len_utf8) else { return };
                start += step;
                next(regex, text, start, start).await
            }
            captures => captures,
        };
        let Some(captures) = captures else { return };
        let end = captures.get(0).map_or(start, |whole| whole.end());
        if !found(&captures) {
            return;
        }
        (start, last) = (end, Some(end));
    }
}

fn is_empty_at(captures: &Captures<'_>, place: Option<usize>) -> bool {
    captures.get(0).is_some_and(|whole| whole.is_empty() && Some(whole.end()) == place)
}

/// All matches that do not overlap, from left to right, at most `limit`.
pub async fn all(regex: &Regex, text: &str, limit: usize) -> Vec<Groups> {
    let mut matches: Vec<Groups> = Vec::new();
    let keep = |captures: &Captures<'_>| {
        matches.push(groups(captures));
        true
    };
    each(regex, text, limit, keep).await;
    to_code_points(text, matches.iter_mut().flatten().flatten());
    matches
}

/// Longer results than this, in bytes, are not made.
const LONGEST: usize = 1 << 31;

/// The text with at most `limit` matches replaced by a template, in which `$1` and `${name}` stand for groups; none if it
/// would be too long.
pub async fn replaced(regex: &Regex, text: &str, template: &str, limit: usize) -> Option<String> {
    let (mut replaced, mut end) = (String::new(), 0);
    let replace = |captures: &Captures<'_>| {
        let Some(whole) = captures.get(0) else { return false };
        replaced.push_str(&text[end..whole.start()]);
        captures.expand(template, &mut replaced);
        end = whole.end();
        replaced.len() <= LONGEST
    };
    each(regex, text, limit, replace).await;
    if replaced.len() > LONGEST {
        return None;
    }
    replaced.push_str(&text[end..]);
    Some(replaced)
}

/// The pattern that matches just this text.
pub fn quoted(text: &str) -> String {
    regex::escape(text)
}

fn groups(captures: &regex::Captures<'_>) -> Groups {
    captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect()
}

/// The byte of a code point, or the end of the text.
fn byte_of(text: &str, index: usize) -> Option<usize> {
    let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    starts.nth(index)
}

/// Makes numbers of code points of numbers of bytes, in one pass over the text.
fn to_code_points<'a>(text: &str, ranges: impl Iterator<Item = &'a mut (usize, usize)>) {
    if text.is_ascii() {
        return;
    }
    let mut places: Vec<&mut usize> = ranges.flat_map(|(start, end)| [start, end]).collect();
    places.sort_unstable();
    let (mut byte, mut count) = (0, 0);
    for place in places {
        count += text[byte..*place].chars().count();
        byte = *place;
        *place = count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::pace::at_once;

    #[test]
    fn places_are_code_points() {
        let regex = compiled("(?P<last>ü)|(b+)").unwrap();
        let first = |text, from| at_once(first(&regex, text, from));
        assert_eq!(first("éabbü", 0), Some(vec![Some((2, 4)), None, Some((2, 4))]));
        assert_eq!(first("éabbü", 4), Some(vec![Some((4, 5)), Some((4, 5)), None]));
        assert_eq!(first("éabbü", 6), None);
        assert_eq!(at_once(all(&regex, "übü", 9)).len(), 3);
    }

    #[test]
    fn matches_are_those_of_the_library() {
        for pattern in ["a*", "", "b|", "é*", "(?m)^", "$", r"\b", "ab|b*", "a{0,2}"] {
            let regex = compiled(pattern).unwrap();
            for text in ["", "baac", "éaaé", "ab\nab", "aaaa b éé"] {
                let expected: Vec<_> = regex.find_iter(text).map(|found| found.range()).collect();
                let mut found = Vec::new();
                at_once(each(&regex, text, 99, |captures| {
                    found.extend(captures.get(0).map(|whole| whole.range()));
                    true
                }));
                assert_eq!(found, expected, "{pattern} in {text}");
            }
        }
    }
}
