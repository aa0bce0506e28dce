//! What a pattern is compiled to: a nondeterministic automaton of Thompson's kind, and two deterministic ones that are made
//! of it while they run, one for each direction. All are those of the crate `regex-automata`; the searches are our own
//! (`search`), because those of the crate cannot be interrupted.
//!
//! Any number of searches share a program. What they note of it for the next one is behind a lock that nobody waits for
//! ([`Shelf`]).

use std::sync::Mutex;

use regex_automata::hybrid::dfa::{self, DFA};
use regex_automata::nfa::thompson::backtrack::{self, BoundedBacktracker};
use regex_automata::nfa::thompson::{self, BuildError, NFA, WhichCaptures};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{MatchKind, PatternID};

use super::search::Notes;
use crate::Problem;

/// The bytes of the tables that a deterministic automaton makes as it goes on.
pub const TABLES: usize = 256 << 10;

/// So many pairs of a state and a place are visited in one piece.
const PAIRS: usize = 1 << 16;

/// A compiled pattern.
pub struct Program {
    /// The states, and the ways between them.
    pub states: NFA,
    /// Finds the end of a match.
    pub forwards: DFA,
    /// Finds the start, from the end.
    pub backwards: DFA,
    /// Finds the groups of a short match.
    pub backtracker: BoundedBacktracker,
    /// Finds places where a match may start.
    pub candidates: Option<Prefilter>,
    /// The notes of searches that have ended.
    pub notes: Shelf,
}

/// Where searches leave their notes. One that finds the shelf in use goes without.
#[derive(Default)]
pub struct Shelf {
    notes: Mutex<Vec<Notes>>,
}

impl Shelf {
    /// The most notes that are kept.
    const MOST: usize = 2;

    /// The most bytes of one.
    pub const LARGEST: usize = 64 << 10;

    pub fn take(&self) -> Option<Notes> {
        self.notes.try_lock().ok()?.pop()
    }

    pub fn keep(&self, notes: Notes) {
        if notes.bytes() <= Shelf::LARGEST
            && let Ok(mut all) = self.notes.try_lock()
            && all.len() < Shelf::MOST
        {
            all.push(notes);
        }
    }
}

impl Program {
    /// Compiles a pattern to a program of at most so many bytes.
    pub fn of(text: &str, most_bytes: usize) -> Result<Program, Problem> {
        let tree = regex_syntax::parse(text);
        let tree = tree.map_err(|error| Problem::unlocated(error.to_string()))?;
        let program = |configuration: thompson::Config| {
            let configuration = configuration.nfa_size_limit(Some(most_bytes)).shrink(false);
            let built = thompson::Compiler::new().configure(configuration).build_from_hir(&tree);
            built.map_err(|error| Problem::unlocated(message(&error)))
        };
        let states = program(thompson::Config::new())?;
        let mirrored = thompson::Config::new().reverse(true).which_captures(WhichCaptures::None);
        let mirrored = program(mirrored)?;
        let candidates = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &tree);
        let shared = dfa::Config::new()
            .unicode_word_boundary(true)
            .cache_capacity(TABLES)
            .skip_cache_capacity_check(true);
        let forwards = shared.clone().specialize_start_states(candidates.is_some());
        let backwards = shared.match_kind(MatchKind::All);
        // Their only limits are far above those of the program.
        let automaton = |configuration, states| {
            DFA::builder()
                .configure(configuration)
                .build_from_nfa(states)
                .expect("states have numbers")
        };
        let short = backtrack::Config::new().visited_capacity(PAIRS / 8);
        Ok(Program {
            forwards: automaton(forwards, states.clone()),
            backwards: automaton(backwards, mirrored),
            backtracker: BoundedBacktracker::builder()
                .configure(short)
                .build_from_nfa(states.clone())
                .expect("any automaton will do"),
            states,
            candidates,
            notes: Shelf::default(),
        })
    }

    /// How many bytes the program takes.
    pub fn bytes(&self) -> usize {
        self.states.memory_usage() + self.backwards.get_nfa().memory_usage()
    }

    /// How many places a match has: the start and the end of each group.
    pub fn places(&self) -> usize {
        self.states.group_info().slot_len()
    }

    /// How many bytes of text a search may look at in one piece: each may visit all states.
    pub fn stride(&self) -> usize {
        (4 * PAIRS / self.states.states().len()).clamp(1, 1024)
    }

    /// The names of the groups, in order; none for those without one. The first group is the match.
    pub fn group_names(&self) -> impl Iterator<Item = Option<&str>> {
        self.states.group_info().pattern_names(PatternID::ZERO)
    }
}

/// Why there is no program.
fn message(error: &BuildError) -> String {
    match error.size_limit() {
        Some(limit) => {
            format!("the pattern is too large: its program has more than {limit} bytes")
        }
        None => error.to_string(),
    }
}
