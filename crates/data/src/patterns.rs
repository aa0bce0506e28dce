//! Regular expressions: matching takes time in proportion to the pattern's size times the text's. The primitives of
//! `lib/Regex.ns` call this module. Places are numbers of code points, from 0.
//!
//! Compiling a pattern, and each search for a match, is one [piece](crate::pace) of work, which does not stop in between.
//! So both have [bounds](Bounds): a pattern is estimated (`estimate`) before it is compiled, and a search before it begins.
//!
//! Compiled patterns are kept in tables for the whole process, so that a program's object for a pattern is just its
//! text.

mod estimate;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex::{Captures, Regex, RegexBuilder};
use regex_automata::util::interpolate;

use crate::Problem;
use crate::pace::{hold, spend};

/// What patterns may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Whether the pattern is that of a guest, which waits for the end of a piece with others.
    pub is_guests: bool,
    /// The most bytes of a text that is made.
    pub longest: usize,
}

impl Bounds {
    /// Longer texts than this, in bytes, are not made.
    pub const LONGEST: usize = 1 << 31;

    /// Those of a program outside of sandboxes.
    pub const HOSTS: Bounds = Bounds { is_guests: false, longest: Bounds::LONGEST };

    /// The most units of work to read a pattern.
    fn most_reading(self) -> usize {
        if self.is_guests { 5_000_000 } else { 500_000_000 }
    }

    /// The sizes of programs that are tried.
    fn sizes(self) -> &'static [(usize, usize)] {
        if self.is_guests { &SIZES[..SIZES.len() - 1] } else { &SIZES }
    }

    /// The most bytes of a text that is searched, for a pattern of weight 1.
    fn longest_search(self) -> usize {
        if self.is_guests { 1 << 20 } else { 1 << 28 }
    }

    fn table(self) -> &'static Mutex<Table> {
        if self.is_guests { &OF_GUESTS } else { &OF_HOSTS }
    }
}

/// The compiled patterns of programs outside of sandboxes.
static OF_HOSTS: Mutex<Table> = Mutex::new(Table::holding(1000, 64 << 20));

/// Those of guests, which leave little behind.
static OF_GUESTS: Mutex<Table> = Mutex::new(Table::holding(16, 2 << 20));

/// Compiled patterns.
struct Table {
    patterns: Option<HashMap<String, Arc<Pattern>>>,
    /// What they take at most.
    bytes: usize,
    /// With more patterns than this, or more bytes, the table is emptied.
    most: usize,
    most_bytes: usize,
}

impl Table {
    const fn holding(most: usize, most_bytes: usize) -> Table {
        Table { patterns: None, bytes: 0, most, most_bytes }
    }

    fn find(&self, text: &str) -> Option<Arc<Pattern>> {
        self.patterns.as_ref()?.get(text).cloned()
    }

    fn keep(&mut self, text: &str, pattern: &Arc<Pattern>) {
        let bytes = pattern.size + pattern.memory() + text.len();
        if bytes > self.most_bytes / 2 {
            return;
        }
        let is_full = self.patterns.as_ref().is_some_and(|all| all.len() == self.most);
        if is_full || self.bytes + bytes > self.most_bytes {
            (self.patterns, self.bytes) = (None, 0);
        }
        self.bytes += bytes;
        self.patterns.get_or_insert_default().insert(text.to_owned(), pattern.clone());
    }
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
const SIZES: [(usize, usize); 5] =
    [(SMALL, 1), (64 << 10, 1), (256 << 10, 4), (1 << 20, 16), (10 << 20, 64)];

/// A program of this size looks at a short text in a few milliseconds, whatever the text.
const SMALL: usize = 8 << 10;

/// How much memory a search may take for the places of groups.
const MOST_MEMORY: usize = 128 << 20;

/// The bytes of the tables that a search makes as it goes on.
const TABLES: usize = 256 << 10;

impl Pattern {
    /// Compiles a pattern. The second result is the work of it, in units.
    fn of(text: &str, bounds: Bounds) -> (Result<Pattern, Problem>, usize) {
        let problem = |error: regex::Error| Problem::unlocated(error.to_string());
        let mut units = text.len() / BYTES_IN_UNIT;
        let (last, smaller) = bounds.sizes().split_last().expect("there are sizes");
        for &(size, weight) in smaller {
            units += size / BYTES_IN_UNIT;
            match Pattern::build(text, size) {
                Err(regex::Error::CompiledTooBig(_)) => {}
                built => {
                    let pattern = built.map(|regex| Pattern { regex, size, weight });
                    return (pattern.map_err(problem).and_then(Pattern::bounded), units);
                }
            }
        }
        let &(size, weight) = last;
        let built = Pattern::build(text, size).map(|regex| Pattern { regex, size, weight });
        (built.map_err(problem).and_then(Pattern::bounded), units + size / BYTES_IN_UNIT)
    }

    fn build(text: &str, size: usize) -> Result<Regex, regex::Error> {
        RegexBuilder::new(text).size_limit(size).dfa_size_limit(TABLES).build()
    }

    /// The pattern, if a search does not take too much memory.
    fn bounded(self) -> Result<Pattern, Problem> {
        match self.memory() <= MOST_MEMORY {
            true => Ok(self),
            false => Err(Problem::unlocated(
                "there are too many groups in so large a pattern".to_owned(),
            )),
        }
    }

    /// The names of the groups, in order; none for those without one.
    pub fn group_names(&self) -> impl Iterator<Item = Option<&str>> {
        self.regex.capture_names()
    }

    /// How many bytes a search takes: the program's states, each with the places of all groups, two times.
    fn memory(&self) -> usize {
        const BYTES_OF_STATE: usize = 24;
        let groups = self.regex.captures_len() * size_of::<[usize; 2]>();
        self.size / BYTES_OF_STATE * groups * 2 + TABLES
    }

    /// How much work a search is that looks at so many bytes.
    fn units(&self, bytes: usize) -> usize {
        // The places of a few groups are copied with the rest.
        let groups = 1 + self.regex.captures_len() / 8;
        (bytes / 4 * self.weight).saturating_mul(groups) + self.regex.as_str().len() + 20
    }

    /// Refuses to search in a text that is too long.
    fn check(&self, bounds: Bounds, text: &str) -> Result<(), Problem> {
        let work = self.units(text.len()).saturating_mul(4);
        match work <= bounds.longest_search() {
            true => Ok(()),
            false => {
                Err(Problem::unlocated("the pattern is too large for so long a text".to_owned()))
            }
        }
    }
}

/// How many bytes of a program are made in a unit of work.
const BYTES_IN_UNIT: usize = 8;

/// Whether compiling the pattern, if it is not known, and a search in a short text are little work.
pub fn is_quick(text: &str, bounds: Bounds) -> bool {
    const SHORT: usize = 100;
    /// With large classes, the program is not small.
    const FEW: usize = 1000;
    let known = bounds.table().lock().unwrap_or_else(PoisonError::into_inner).find(text);
    if let Some(known) = known {
        return known.size <= SMALL || !bounds.is_guests;
    }
    // A repetition with a count is as long as what it stands for.
    let is_short = text.len() <= SHORT && !text.contains('{');
    is_short && estimate::reading(text) <= FEW
}

/// The compiled form of a pattern.
pub async fn compiled(text: &str, bounds: Bounds) -> Result<Arc<Pattern>, Problem> {
    let table = || bounds.table().lock().unwrap_or_else(PoisonError::into_inner);
    let known = table().find(text);
    if let Some(known) = known {
        return Ok(known);
    }
    let reading = estimate::reading(text);
    if reading > bounds.most_reading() {
        let message = "there are too many large classes of characters in the pattern";
        return Err(Problem::unlocated(message.to_owned()));
    }
    spend(reading).await;
    let (compiled, units) = Pattern::of(text, bounds);
    spend(units).await;
    let compiled = Arc::new(compiled?);
    table().keep(text, &compiled);
    Ok(compiled)
}

/// The compiled form of a pattern for a search in this text.
async fn compiled_for(pattern: &str, bounds: Bounds, text: &str) -> Result<Arc<Pattern>, Problem> {
    let pattern = compiled(pattern, bounds).await?;
    pattern.check(bounds, text)?;
    if bounds.is_guests && pattern.memory() - TABLES > bounds.longest {
        return Err(Problem::unlocated("a search takes more memory than there is".to_owned()));
    }
    hold(pattern.memory() - TABLES);
    Ok(pattern)
}

/// The start and end of each group of a match; none for a group that has no part in it. The first group is the match.
pub type Groups = Vec<Option<(usize, usize)>>;

/// The first match that begins at `from` or behind.
pub async fn first(
    pattern: &str,
    bounds: Bounds,
    text: &str,
    from: usize,
) -> Result<Option<Groups>, Problem> {
    let pattern = compiled_for(pattern, bounds, text).await?;
    let start = match text.is_ascii() {
        true => Some(from).filter(|&from| from <= text.len()),
        false => byte_of(text, from),
    };
    let Some(start) = start else { return Ok(None) };
    let Some(captures) = next(&pattern, text, start, start).await else { return Ok(None) };
    let mut groups = groups(&captures);
    to_code_points(text, groups.iter_mut().flatten());
    Ok(Some(groups))
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
pub async fn all(
    pattern: &str,
    bounds: Bounds,
    text: &str,
    limit: usize,
) -> Result<Vec<Groups>, Problem> {
    let pattern = compiled_for(pattern, bounds, text).await?;
    let mut matches: Vec<Groups> = Vec::new();
    let keep = |captures: &Captures<'_>| {
        matches.push(groups(captures));
        // The groups of all matches are as many.
        let groups = captures.len() * size_of::<Option<(usize, usize)>>();
        hold(pattern.memory() - TABLES + matches.len() * (size_of::<Groups>() + groups));
        true
    };
    each(&pattern, text, limit, keep).await;
    to_code_points(text, matches.iter_mut().flatten().flatten());
    Ok(matches)
}

/// The text with at most `limit` matches replaced by a template, in which `$1` and `${name}` stand for groups; none if it
/// would be too long.
pub async fn replaced(
    pattern: &str,
    bounds: Bounds,
    text: &str,
    template: &str,
    limit: usize,
) -> Result<Option<String>, Problem> {
    let pattern = compiled_for(pattern, bounds, text).await?;
    let (mut replaced, mut end) = (String::new(), 0);
    let replace = |captures: &Captures<'_>| {
        let Some(whole) = captures.get(0) else { return false };
        replaced.push_str(&text[end..whole.start()]);
        expand(&pattern, captures, template, bounds.longest, &mut replaced);
        end = whole.end();
        hold(pattern.memory() - TABLES + replaced.capacity());
        replaced.len() <= bounds.longest
    };
    each(&pattern, text, limit, replace).await;
    if replaced.len() > bounds.longest {
        return Ok(None);
    }
    replaced.push_str(&text[end..]);
    Ok(Some(replaced))
}

/// Appends the template with the parts of a match, up to the part that makes the result longer than `longest`.
fn expand(
    pattern: &Pattern,
    captures: &Captures<'_>,
    template: &str,
    longest: usize,
    result: &mut String,
) {
    let append = |group: usize, result: &mut String| {
        if let Some(part) = captures.get(group)
            && result.len() <= longest
        {
            result.push_str(part.as_str());
        }
    };
    let group = |name: &str| pattern.group_names().position(|each| each == Some(name));
    interpolate::string(template, append, group, result);
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

    use crate::pace::{at_once, counted};

    const HOSTS: Bounds = Bounds::HOSTS;
    const GUESTS: Bounds = Bounds { is_guests: true, longest: 1 << 20 };

    #[test]
    fn places_are_code_points() {
        let first = |text, from| {
            at_once(first("(?P<last>ü)|(b+)", HOSTS, text, from)).expect("it is a pattern")
        };
        assert_eq!(first("éabbü", 0), Some(vec![Some((2, 4)), None, Some((2, 4))]));
        assert_eq!(first("éabbü", 4), Some(vec![Some((4, 5)), Some((4, 5)), None]));
        assert_eq!(first("éabbü", 6), None);
        assert_eq!(at_once(all("ü", HOSTS, "übü", 9)).map(|all| all.len()), Ok(2));
    }

    #[test]
    fn matches_are_those_of_the_library() {
        for pattern in ["a*", "", "b|", "é*", "(?m)^", "$", r"\b", "ab|b*", "a{0,2}"] {
            let compiled = at_once(compiled(pattern, HOSTS)).expect("it is a pattern");
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
    fn templates_are_expanded_as_by_the_library() {
        let pattern = r"(?<name>\w+)-(\w)?";
        let text = "ab-c de-";
        for template in ["$2 of $name", "${name}x", "$$1", "$", "$9${", "$namex"] {
            let expected = Regex::new(pattern).unwrap().replace_all(text, template).into_owned();
            let found = at_once(replaced(pattern, HOSTS, text, template, 9));
            assert_eq!(found, Ok(Some(expected)), "{template}");
        }
        let template = "$name".repeat(1 << 20);
        assert_eq!(at_once(replaced(pattern, GUESTS, text, &template, 9)), Ok(None));
    }

    #[test]
    fn large_patterns_weigh_more_and_are_refused() {
        let weight = |text| at_once(compiled(text, HOSTS)).expect("it is a pattern").weight;
        assert_eq!((weight("a+b"), weight(r"\w{20}") > 1), (1, true));
        let refused = |text: &str, bounds| {
            let (compiled, units) = counted(compiled(text, bounds));
            compiled.err().map(|problem| (problem.message, units))
        };
        let (_, units) = refused(r"\w{9999}", HOSTS).expect("it is too large");
        assert!(units > counted(compiled(r"\w{21}", HOSTS)).1, "it was tried in all sizes");
        assert!(refused(r"\w{200}", HOSTS).is_none());
        assert!(refused(r"\w{200}", GUESTS).is_some());
        let groups = "(a|b)?".repeat(2000);
        let (message, _) = refused(&groups, HOSTS).expect("it takes too much memory");
        assert!(message.contains("groups"), "{message}");
        let classes = format!("(?i){}", r"[\w\W\w\W]".repeat(700));
        let (message, units) = refused(&classes, HOSTS).expect("they are too many");
        assert!(message.contains("classes") && units == 0, "{message} {units}");
    }

    #[test]
    fn tables_stay_small() {
        for number in 0..40 {
            at_once(compiled(&format!("a{number}"), GUESTS)).expect("it is a pattern");
            let table = OF_GUESTS.lock().unwrap();
            assert!(table.bytes <= table.most_bytes);
            assert!(table.patterns.as_ref().is_some_and(|all| all.len() <= table.most));
        }
        let text = "a".repeat(1 << 22);
        assert!(at_once(first("a(b)", GUESTS, &text, 0)).is_err());
        assert!(at_once(first("a(b)", HOSTS, &text, 0)).is_ok());
    }
}
