//! Regular expressions: matching takes time in proportion to the pattern's size times the text's. The primitives of
//! `lib/Regex.ns` call this module. Places are numbers of code points, from 0.
//!
//! - `estimate`: how much work it is to read a pattern; that is one [piece](crate::pace) of work, as compiling is.
//! - `program`: what a pattern is compiled to.
//! - `search` and `simulation`: searches, piece by piece.
//!
//! Compiled patterns are kept in tables for the whole process, so that a program's object for a pattern is just its
//! text.

mod estimate;
mod program;
mod search;
mod simulation;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex_automata::util::interpolate;

use crate::Problem;
use crate::pace::spend;
pub use program::Program;
use program::Shelf;
use search::Search;
use simulation::Simulation;

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

    /// The most bytes of a template, which is expanded in one piece.
    fn longest_template(self) -> usize {
        if self.is_guests { 256 << 10 } else { usize::MAX }
    }

    /// The most bytes of a compiled pattern.
    fn largest_program(self) -> usize {
        if self.is_guests { 1 << 20 } else { 10 << 20 }
    }

    /// The most bytes that a search may take for the places of groups.
    fn most_memory(self) -> usize {
        const MOST: usize = 128 << 20;
        if self.is_guests { self.longest.min(MOST) } else { MOST }
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
    programs: Option<HashMap<String, Arc<Program>>>,
    /// What they take.
    bytes: usize,
    /// With more patterns than this, or more bytes, the table is emptied.
    most: usize,
    most_bytes: usize,
}

impl Table {
    const fn holding(most: usize, most_bytes: usize) -> Table {
        Table { programs: None, bytes: 0, most, most_bytes }
    }

    fn find(&self, text: &str) -> Option<Arc<Program>> {
        self.programs.as_ref()?.get(text).cloned()
    }

    fn keep(&mut self, text: &str, program: &Arc<Program>) {
        let bytes = program.bytes() + Shelf::LARGEST + text.len();
        if bytes > self.most_bytes / 2 {
            return;
        }
        let is_full = self.programs.as_ref().is_some_and(|all| all.len() == self.most);
        if is_full || self.bytes + bytes > self.most_bytes {
            (self.programs, self.bytes) = (None, 0);
        }
        self.bytes += bytes;
        self.programs.get_or_insert_default().insert(text.to_owned(), program.clone());
    }
}

/// The start and end of each group of a match; none for a group that has no part in it. The first group is the match.
pub type Groups = Vec<Option<(usize, usize)>>;

/// A pattern as a program uses it: its text, and what it is compiled to.
pub struct Pattern {
    text: String,
    bounds: Bounds,
    form: Form,
}

enum Form {
    Known(Arc<Program>),
    /// It is so much work to read the pattern.
    Unread(usize),
}

impl Pattern {
    /// The pattern with this text.
    pub fn of(text: String, bounds: Bounds) -> Pattern {
        let table = bounds.table().lock().unwrap_or_else(PoisonError::into_inner);
        let known = table.find(&text);
        drop(table);
        let form = known.map_or_else(|| Form::Unread(estimate::reading(&text)), Form::Known);
        Pattern { text, bounds, form }
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is little work to compile the pattern, or none.
    pub fn is_quick(&self) -> bool {
        const SHORT: usize = 100;
        /// With large classes, the program is not small.
        const FEW: usize = 1000;
        match &self.form {
            Form::Known(_) => true,
            // A repetition with a count is as long as what it stands for.
            Form::Unread(work) => {
                self.text.len() <= SHORT && !self.text.contains('{') && *work <= FEW
            }
        }
    }

    /// The compiled form.
    pub async fn compiled(&self) -> Result<Arc<Program>, Problem> {
        const BYTES_IN_UNIT: usize = 8;
        let reading = match &self.form {
            Form::Known(program) => return Ok(program.clone()),
            Form::Unread(work) => *work,
        };
        if reading > self.bounds.most_reading() {
            return refuse("there are too many large classes of characters in the pattern");
        }
        spend(reading + self.text.len()).await;
        let compiled = Program::of(&self.text, self.bounds.largest_program());
        let bytes =
            compiled.as_ref().map_or_else(|_| self.bounds.largest_program(), Program::bytes);
        spend(bytes / BYTES_IN_UNIT).await;
        let compiled = Arc::new(compiled?);
        if Simulation::bytes(&compiled.states) > self.bounds.most_memory() {
            return refuse("there are too many groups in so large a pattern");
        }
        let mut table = self.bounds.table().lock().unwrap_or_else(PoisonError::into_inner);
        table.keep(&self.text, &compiled);
        Ok(compiled)
    }

    /// The first match that begins at `from` or behind.
    pub async fn first(&self, text: &str, from: usize) -> Result<Option<Groups>, Problem> {
        let program = self.compiled().await?;
        let start = match text.is_ascii() {
            true => Some(from).filter(|&from| from <= text.len()),
            false => byte_of(text, from),
        };
        let Some(start) = start else { return Ok(None) };
        let mut found = Search::of(&program, text, self.bounds.is_guests).first(start).await;
        to_code_points(text, found.iter_mut().flatten().flatten());
        Ok(found)
    }

    /// All matches that do not overlap, from left to right, at most `limit`.
    pub async fn all(&self, text: &str, limit: usize) -> Result<Vec<Groups>, Problem> {
        let program = self.compiled().await?;
        let mut matches: Vec<Groups> = Vec::new();
        let keep = |groups: Groups| {
            // The groups of all matches are as many.
            let bytes = size_of::<Groups>() + size_of_val(&*groups);
            matches.push(groups);
            Some(Found { held: matches.len() * bytes, work: 0 })
        };
        self.each(&program, text, limit, keep).await;
        to_code_points(text, matches.iter_mut().flatten().flatten());
        Ok(matches)
    }

    /// The text with at most `limit` matches replaced by a template, in which `$1` and `${name}` stand for groups; none if
    /// it would be too long.
    pub async fn replaced(
        &self,
        text: &str,
        template: &str,
        limit: usize,
    ) -> Result<Option<String>, Problem> {
        if template.len() > self.bounds.longest_template() {
            return refuse("the template is too long");
        }
        let (program, longest) = (self.compiled().await?, self.bounds.longest);
        let names = program.group_names().enumerate();
        let names: HashMap<&str, usize> =
            names.filter_map(|(index, name)| Some((name?, index))).collect();
        let (mut replaced, mut end) = (String::new(), 0);
        let replace = |groups: Groups| {
            let Some(Some(whole)) = groups.first() else { return None };
            replaced.push_str(&text[end..whole.0]);
            let append = |group: usize, result: &mut String| {
                if let Some(&Some((start, end))) = groups.get(group)
                    && result.len() <= longest
                {
                    result.push_str(&text[start..end]);
                }
            };
            let group = |name: &str| names.get(name).copied();
            interpolate::string(template, append, group, &mut replaced);
            end = whole.1;
            let work = template.len() / 4 + (whole.1 - whole.0) / 4;
            Some(Found { held: replaced.capacity(), work }).filter(|_| replaced.len() <= longest)
        };
        self.each(&program, text, limit, replace).await;
        if replaced.len() > longest {
            return Ok(None);
        }
        replaced.push_str(&text[end..]);
        Ok(Some(replaced))
    }

    /// Calls `found` with all matches that do not overlap, from left to right, at most `limit`. It answers nothing for an end.
    async fn each(
        &self,
        program: &Program,
        text: &str,
        limit: usize,
        mut found: impl FnMut(Groups) -> Option<Found>,
    ) {
        let mut search = Search::of(program, text, self.bounds.is_guests);
        let (mut start, mut last) = (0, None);
        for _ in 0..limit {
            let groups = match search.first(start).await {
                // An empty match directly behind the last one is none.
                Some(groups) if groups[0] == last.map(|place| (place, place)) => {
                    let Some(step) = text[start..].chars().next().map(char::len_utf8) else {
                        return;
                    };
                    start += step;
                    search.first(start).await
                }
                groups => groups,
            };
            let Some(groups) = groups else { return };
            let end = groups[0].map_or(start, |whole| whole.1);
            let Some(Found { held, work }) = found(groups) else { return };
            search.hold_beside(held);
            spend(work).await;
            (start, last) = (end, Some(end));
        }
    }
}

/// What the user of a match tells.
struct Found {
    /// So many bytes it holds.
    held: usize,
    /// So many units of work it has done.
    work: usize,
}

fn refuse<T>(why: &str) -> Result<T, Problem> {
    Err(Problem::unlocated(why.to_owned()))
}

/// The pattern that matches just this text.
pub fn quoted(text: &str) -> String {
    regex_syntax::escape(text)
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

    use proptest::prelude::*;
    use regex::Regex;

    use crate::pace::{at_once, counted};

    const HOSTS: Bounds = Bounds::HOSTS;
    const GUESTS: Bounds = Bounds { is_guests: true, longest: 1 << 20 };

    fn pattern(text: &str, bounds: Bounds) -> Pattern {
        Pattern::of(text.to_owned(), bounds)
    }

    /// Why a pattern is refused, and the work of it.
    fn refused(text: &str, bounds: Bounds) -> Option<(String, usize)> {
        let (compiled, units) = counted(pattern(text, bounds).compiled());
        compiled.err().map(|problem| (problem.message, units))
    }

    #[test]
    fn places_are_code_points() {
        let pattern = pattern("(?P<last>ü)|(b+)", HOSTS);
        let first = |text, from| at_once(pattern.first(text, from)).expect("it is a pattern");
        assert_eq!(first("éabbü", 0), Some(vec![Some((2, 4)), None, Some((2, 4))]));
        assert_eq!(first("éabbü", 4), Some(vec![Some((4, 5)), Some((4, 5)), None]));
        assert_eq!(first("éabbü", 6), None);
        assert_eq!(at_once(pattern.all("übü", 9)).map(|all| all.len()), Ok(3));
    }

    /// All groups of all matches, as the crate `regex` finds them.
    fn expected(pattern: &str, text: &str) -> Vec<Groups> {
        let place =
            |group: Option<regex::Match<'_>>| group.map(|found| (found.start(), found.end()));
        let library = Regex::new(pattern).expect("it is a pattern");
        library.captures_iter(text).map(|found| found.iter().map(place).collect()).collect()
    }

    /// The same by a search of ours.
    fn found(expression: &str, text: &str, bounds: Bounds) -> Vec<Groups> {
        let pattern = pattern(expression, bounds);
        let program = at_once(pattern.compiled()).expect("it is a pattern");
        let mut found = Vec::new();
        at_once(pattern.each(&program, text, usize::MAX, |groups| {
            found.push(groups);
            Some(Found { held: 0, work: 0 })
        }));
        found
    }

    /// The same by the simulation.
    fn simulated(pattern: &str, text: &str) -> Option<Groups> {
        let program = Program::of(pattern, 10 << 20).expect("it is a pattern");
        at_once(Simulation::of(&program.states, text).first(0..text.len(), false))
    }

    #[test]
    fn matches_are_those_of_the_library() {
        let patterns = [
            "a*",
            "",
            "b|",
            "é*",
            "(?m)^",
            "$",
            r"\b",
            "ab|b*",
            "a{0,2}",
            r"(?-u:\B)",
            "(a|ab)(c|bcd)?(d*)",
            r"\b(\w+)\s",
            "^b",
            r"(?m)^(a+)$",
            "(?i)AB",
            "(b)|(a)",
            r"(?:(a)|b)*",
            "(a*?)(b??)",
            "ba+",
            ".*b",
        ];
        let texts = ["", "baac", "éaaé", "ab\nab", "aaaa b éé", "abcd abcdd", "xé ab Ab"];
        for pattern in patterns {
            for text in texts {
                // The long text is searched by the automata.
                for text in [text.to_owned(), (text.to_owned() + &"-".repeat(9)).repeat(2000)] {
                    let expected = expected(pattern, &text);
                    for bounds in [HOSTS, GUESTS] {
                        let found = found(pattern, &text, bounds);
                        assert_eq!(found, expected, "{pattern} in {text:.20}");
                    }
                    assert_eq!(simulated(pattern, &text), expected.first().cloned(), "{pattern}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn any_matches_are_those_of_the_library(
            pattern in r"(\(?[ab.é]([*+?]|\{0,3\}|\*\?)?\)?|\^|\$|\\b|\\w|\||\(b\)){1,6}",
            text in "[abé \n]{0,30}",
            times in prop::sample::select(vec![1usize, 500]),
        ) {
            let text = text.repeat(times);
            if Regex::new(&pattern).is_ok() {
                let expected = expected(&pattern, &text);
                prop_assert_eq!(simulated(&pattern, &text), expected.first().cloned());
                prop_assert_eq!(&found(&pattern, &text, HOSTS), &expected);
                prop_assert_eq!(found(&pattern, &text, GUESTS), expected);
            }
        }
    }

    #[test]
    fn templates_are_expanded_as_by_the_library() {
        let text = "ab-c de-";
        let expression = r"(?<name>\w+)-(\w)?";
        let replaced = |template: &str, bounds| {
            at_once(pattern(expression, bounds).replaced(text, template, 9))
        };
        for template in ["$2 of $name", "${name}x", "$$1", "$", "$9${", "$namex"] {
            let library = Regex::new(expression).unwrap();
            let expected = library.replace_all(text, template).into_owned();
            assert_eq!(replaced(template, HOSTS), Ok(Some(expected)), "{template}");
        }
        let long = replaced(&"$name".repeat(1 << 20), GUESTS);
        assert!(long.is_err_and(|problem| problem.message.contains("template")));
        let pattern = pattern("(a+)", GUESTS);
        let wide = at_once(pattern.replaced(&"a".repeat(1000), &"$1".repeat(2000), 9));
        assert_eq!(wide, Ok(None));
    }

    #[test]
    fn large_patterns_are_refused() {
        let (message, units) = refused(r"\w{9999}", HOSTS).expect("it is too large");
        assert!(message.contains("more than 10485760 bytes"), "{message}");
        assert!(units > counted(pattern(r"\w{21}", HOSTS).compiled()).1);
        assert!(refused(r"\w{200}", HOSTS).is_none());
        assert!(refused(r"\w{400}", GUESTS).is_some());
        let groups = "(a|b)?".repeat(2000);
        let (message, _) = refused(&groups, HOSTS).expect("it takes too much memory");
        assert!(message.contains("groups"), "{message}");
        let classes = format!("(?i){}", r"[\w\W\w\W]".repeat(700));
        let (message, units) = refused(&classes, HOSTS).expect("they are too many");
        assert!(message.contains("classes") && units == 0, "{message} {units}");
    }

    /// So many letters, as if by chance.
    fn mixed(count: usize) -> String {
        let mut state = 1_u64;
        let mut letter = || {
            // Marsaglia's xorshift.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state & 1 == 1 { 'a' } else { 'b' }
        };
        (0..count).map(|_| letter()).collect()
    }

    #[test]
    fn searches_pay_for_what_they_look_at() {
        let units = |expression: &str, text: &str| {
            let pattern = pattern(expression, GUESTS);
            at_once(pattern.compiled()).expect("it is a pattern");
            counted(pattern.all(text, usize::MAX)).1
        };
        let text = "a".repeat(1 << 12);
        let (little, much) = (units("a", &text), units("a(?:.*z)?", &text));
        assert!(much > 20 * little, "each match looks at all that follows: {little} {much}");
        let states = units("(?:a|b)*a(?:a|b){12}c", &mixed(40000));
        assert!(states > 200_000, "there are many states: {states}");
    }

    #[test]
    fn searches_go_in_pieces_whose_work_is_repeated() {
        for expression in [r"(?:a|b)*a(?:a|b){12}c", r"\b(é|b)*c", "((a|b)(a|b))*c", "xyz"] {
            let text = mixed(20_000) + "é" + &mixed(20_000);
            let pattern = pattern(expression, GUESTS);
            at_once(pattern.compiled()).expect("it is a pattern");
            let whole = counted(pattern.first(&text, 0)).1;
            let mut pieces =
                crate::pace::Pieces::of(async move { pattern.first(&text, 0).await.is_ok() });
            let (mut units, mut count) = (0, 0);
            loop {
                let (done, spent) = pieces.step(1000);
                (units, count) = (units + spent, count + 1);
                assert!(spent < 100_000, "{expression}: {spent}");
                if done.is_some() {
                    break;
                }
            }
            assert_eq!(units, whole, "{expression}");
            assert!(count > 1, "{expression}: {count}");
        }
    }

    #[test]
    fn tables_stay_small() {
        for number in 0..40 {
            at_once(pattern(&format!("a{number}"), GUESTS).compiled()).expect("it is a pattern");
            let table = OF_GUESTS.lock().unwrap();
            assert!(table.bytes <= table.most_bytes);
            assert!(table.programs.as_ref().is_some_and(|all| all.len() <= table.most));
        }
    }
}
