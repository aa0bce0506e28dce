//! Regular expressions: matching takes time in proportion to the pattern's size times the text's. The primitives of
//! `lib/Regex.ns` call this module. Places are numbers of code points, from 0.
//!
//! Each search for a match is one [piece](crate::pace) of work, which does not stop in between.
//!
//! Compiled patterns are kept in a table for the whole process, so that a program's object for a pattern is just its
//! text.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex::Regex;
use regex::{Captures, RegexBuilder};

use crate::Problem;
use crate::pace::{hold, spend};

/// Compiled patterns take so many bytes; then the table is emptied.
const MOST_KEPT: usize = 64 << 20;

static COMPILED: Mutex<Table> = Mutex::new(Table { patterns: None, bytes: 0 });

/// The compiled patterns.
struct Table {
    patterns: Option<HashMap<String, Arc<Pattern>>>,
    /// What they take at most.
    bytes: usize,
}

/// The compiled form of a pattern.
pub struct Pattern {
    regex: Regex,
    /// How many bytes its program takes at most.
    size: usize,
    /// How much more than for a short pattern a byte of the text may take.
    weight: usize,
}

/// The largest programs of patterns, in bytes, and their weights. Larger patterns are refused.
const SIZES: [(usize, usize); 4] = [(64 << 10, 1), (256 << 10, 4), (1 << 20, 16), (10 << 20, 64)];

/// A search in more bytes than this, divided by the weight, is refused, since nothing interrupts it.
const LONGEST_SEARCH: usize = 1 << 28;

impl Pattern {
    fn of(pattern: &str) -> Result<Pattern, regex::Error> {
        for (size, weight) in &SIZES[..SIZES.len() - 1] {
            match RegexBuilder::new(pattern).size_limit(*size).build() {
                Err(regex::Error::CompiledTooBig(_)) => {}
                built => {
                    return built.map(|regex| Pattern { regex, size: *size, weight: *weight });
                }
            }
        }
        let (size, weight) = SIZES[SIZES.len() - 1];
        let built = RegexBuilder::new(pattern).size_limit(size).build();
        built.map(|regex| Pattern { regex, size, weight })
    }

    /// The names of the groups, in order; none for those without one.
    pub fn group_names(&self) -> impl Iterator<Item = Option<&str>> {
        self.regex.capture_names()
    }

    /// Whether a text is short enough to be searched.
    pub fn fits(&self, text: &str) -> bool {
        text.len() <= LONGEST_SEARCH / self.weight
    }

    /// How much work a search is that looks at so many bytes.
    fn units(&self, bytes: usize) -> usize {
        bytes / 4 * self.weight + self.regex.as_str().len() + 20
    }
}

/// The start and end of each group of a match; none for a group that has no part in it. The first group is the match.
pub type Groups = Vec<Option<(usize, usize)>>;

/// The compiled form of a pattern, or the problem; and how much work that was.
pub fn compiled(pattern: &str) -> (Result<Arc<Pattern>, Problem>, usize) {
    let table = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = table().patterns.as_ref().and_then(|table| table.get(pattern)) {
        return (Ok(known.clone()), 0);
    }
    let compiled = match Pattern::of(pattern) {
        Ok(compiled) => compiled,
        Err(error) => {
            // One that is too large was tried in all sizes.
            let is_large = matches!(error, regex::Error::CompiledTooBig(_));
            let tried = if is_large { SIZES.iter().map(|(size, _)| size).sum() } else { 0 };
            let problem = Problem::unlocated(error.to_string());
            return (Err(problem), (tried + pattern.len()) / BYTES_IN_UNIT);
        }
    };
    let bytes = compiled.size + pattern.len();
    let compiled = Arc::new(compiled);
    let mut table = table();
    table.bytes += bytes;
    if table.bytes > MOST_KEPT {
        (table.patterns, table.bytes) = (None, bytes);
    }
    table.patterns.get_or_insert_default().insert(pattern.to_owned(), compiled.clone());
    (Ok(compiled), bytes / BYTES_IN_UNIT)
}

/// How many bytes of a program are made in a unit of work.
const BYTES_IN_UNIT: usize = 8;

/// The first match that begins at `from` or behind.
pub async fn first(pattern: &Pattern, text: &str, from: usize) -> Option<Groups> {
    let start = match text.is_ascii() {
        true if from <= text.len() => from,
        true => return None,
        false => byte_of(text, from)?,
    };
    let captures = next(pattern, text, start, start).await?;
    let mut groups = groups(&captures);
    to_code_points(text, groups.iter_mut().flatten());
    Some(groups)
}

/// The first match that begins at `start` or behind; work is counted from `seen` on.
async fn next<'t>(
    pattern: &Pattern,
    text: &'t str,
    start: usize,
    seen: usize,
) -> Option<Captures<'t>> {
    let captures = pattern.regex.captures_at(text, start);
    let end = captures.as_ref().and_then(|found| found.get(0)).map_or(text.len(), |all| all.end());
    spend(pattern.units(end.saturating_sub(seen))).await;
    captures
}

/// Calls `found` with all matches that do not overlap, from left to right, at most `limit`, until it answers no.
async fn each<'t>(
    pattern: &Pattern,
    text: &'t str,
    limit: usize,
    mut found: impl FnMut(&Captures<'t>) -> bool,
) {
    let (mut start, mut last) = (0, None);
    for _ in 0..limit {
        let captures = match next(pattern, text, start, start).await {
            // An empty match directly behind the last one is none.
            Some(captures) if is_empty_at(&captures, last) => {
                let Some(step) = text[start..].chars().next().map(char::len_utf8) else { return };
                start += step;
                next(pattern, text, start, start).await
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
pub async fn all(pattern: &Pattern, text: &str, limit: usize) -> Vec<Groups> {
    let mut matches: Vec<Groups> = Vec::new();
    let keep = |captures: &Captures<'_>| {
        matches.push(groups(captures));
        // The groups of all matches are as many.
        let groups = captures.len() * size_of::<Option<(usize, usize)>>();
        hold(matches.len() * (size_of::<Groups>() + groups));
        true
    };
    each(pattern, text, limit, keep).await;
    to_code_points(text, matches.iter_mut().flatten().flatten());
    matches
}

/// Longer results than this, in bytes, are not made.
const LONGEST: usize = 1 << 31;

/// The text with at most `limit` matches replaced by a template, in which `$1` and `${name}` stand for groups; none if it
/// would be too long.
pub async fn replaced(
    pattern: &Pattern,
    text: &str,
    template: &str,
    limit: usize,
) -> Option<String> {
    let (mut replaced, mut end) = (String::new(), 0);
    let replace = |captures: &Captures<'_>| {
        let Some(whole) = captures.get(0) else { return false };
        replaced.push_str(&text[end..whole.start()]);
        captures.expand(template, &mut replaced);
        end = whole.end();
        hold(replaced.capacity());
        replaced.len() <= LONGEST
    };
    each(pattern, text, limit, replace).await;
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
        let pattern = compiled("(?P<last>ü)|(b+)").0.unwrap();
        let first = |text, from| at_once(first(&pattern, text, from));
        assert_eq!(first("éabbü", 0), Some(vec![Some((2, 4)), None, Some((2, 4))]));
        assert_eq!(first("éabbü", 4), Some(vec![Some((4, 5)), Some((4, 5)), None]));
        assert_eq!(first("éabbü", 6), None);
        assert_eq!(at_once(all(&pattern, "übü", 9)).len(), 3);
    }

    #[test]
    fn matches_are_those_of_the_library() {
        for pattern in ["a*", "", "b|", "é*", "(?m)^", "$", r"\b", "ab|b*", "a{0,2}"] {
            let compiled = compiled(pattern).0.unwrap();
            for text in ["", "baac", "éaaé", "ab\nab", "aaaa b éé"] {
                let expected: Vec<_> =
                    compiled.regex.find_iter(text).map(|found| found.range()).collect();
                let mut found = Vec::new();
                at_once(each(&compiled, text, 99, |captures| {
                    found.extend(captures.get(0).map(|whole| whole.range()));
                    true
                }));
                assert_eq!(found, expected, "{pattern} in {text}");
            }
        }
    }

    #[test]
    fn large_patterns_weigh_more() {
        let weight = |pattern: &str| compiled(pattern).0.unwrap().weight;
        assert_eq!((weight("a+b"), weight(r"\w{20}") > 1), (1, true));
        let (refused, units) = compiled(r"\w{9999}");
        assert!(refused.is_err());
        assert!(units > compiled(r"\w{20}").1, "it was tried in all sizes");
    }
}
