//! The search that works for all patterns and finds all groups: it follows all paths through the automaton side by side,
//! one byte of the text after the other (Pike's machine; Cox, "Regular Expression Matching: the Virtual Machine Approach").
//! Slow, so `search` comes here only when the faster ways do not go: for the groups of a long match, and where a pattern
//! asks for the words of Unicode.
//!
//! Invariants: `alive` holds each state once, in order of preference; a state's places are those of the path that came to it
//! first.

use std::ops::Range;

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use super::Groups;
use crate::pace::spend;

/// No place.
const NONE: usize = usize::MAX;

/// A search with this program in this text.
pub struct Simulation<'a> {
    program: &'a NFA,
    text: &'a str,
    /// The paths at the place that is looked at, and at the one behind.
    now: Paths,
    next: Paths,
    /// What is left to do for the path that is followed.
    stack: Vec<Task>,
    /// The places of the path that is followed.
    places: Vec<usize>,
    /// The work that is not paid for yet.
    units: usize,
}

/// The states that paths have come to, without reading on.
struct Paths {
    /// Those that read a byte or end a match, the preferred one first.
    alive: Vec<StateID>,
    /// For each state, one more than the place of the text at which a path came to it last.
    seen: Vec<usize>,
    /// The places of each state's path.
    places: Vec<usize>,
}

enum Task {
    Explore(StateID),
    /// The place gets this value again.
    Restore(usize, usize),
}

impl Paths {
    fn of(states: usize, places: usize) -> Paths {
        Paths { alive: Vec::new(), seen: vec![0; states], places: vec![NONE; states * places] }
    }

    /// Whether a path came to the state for the first time.
    fn is_new(&mut self, state: StateID, at: usize) -> bool {
        std::mem::replace(&mut self.seen[state.as_usize()], at + 1) != at + 1
    }
}

/// Which of the places are those of a state.
fn places_of(state: StateID, count: usize) -> Range<usize> {
    state.as_usize() * count..(state.as_usize() + 1) * count
}

impl<'a> Simulation<'a> {
    pub fn of(program: &'a NFA, text: &'a str) -> Simulation<'a> {
        let (states, places) = (program.states().len(), program.group_info().slot_len());
        let paths = || Paths::of(states, places);
        Simulation {
            program,
            text,
            now: paths(),
            next: paths(),
            stack: Vec::new(),
            places: vec![NONE; places],
            units: states * places / 8,
        }
    }

    /// How many bytes a simulation takes.
    pub fn bytes(program: &NFA) -> usize {
        let places = program.group_info().slot_len();
        let paths = size_of::<StateID>() + size_of::<usize>() * (1 + places);
        program.states().len() * (2 * paths + size_of::<Task>())
    }

    /// The first match in this part of the text; an anchored one begins where the part does.
    pub async fn first(mut self, part: Range<usize>, is_anchored: bool) -> Option<Groups> {
        let mut found = None;
        for at in part.start..=part.end {
            let may_begin = at == part.start || !is_anchored;
            if found.is_none() && may_begin {
                self.places.fill(NONE);
                self.follow(self.program.start_anchored(), at, false);
            }
            if self.now.alive.is_empty() && (found.is_some() || is_anchored) {
                break;
            }
            self.read(at, part.end, &mut found);
            std::mem::swap(&mut self.now, &mut self.next);
            self.next.alive.clear();
            spend(std::mem::take(&mut self.units)).await;
        }
        found
    }

    /// Takes all paths over the byte at this place. A match ends those of less preference.
    fn read(&mut self, at: usize, end: usize, found: &mut Option<Groups>) {
        let byte = self.text.as_bytes()[..end].get(at).copied();
        for index in 0..self.now.alive.len() {
            let state = self.now.alive[index];
            let places = places_of(state, self.places.len());
            let then = match self.program.state(state) {
                // An empty match in the middle of a character is none.
                State::Match { .. } if self.text.is_char_boundary(at) => {
                    *found = Some(groups(&self.now.places[places]));
                    return;
                }
                State::ByteRange { trans } => {
                    byte.filter(|&byte| trans.matches_byte(byte)).map(|_| trans.next)
                }
                State::Sparse(transitions) => byte.and_then(|byte| transitions.matches_byte(byte)),
                State::Dense(transitions) => byte.and_then(|byte| transitions.matches_byte(byte)),
                _ => None,
            };
            if let Some(then) = then {
                self.places.copy_from_slice(&self.now.places[places]);
                self.follow(then, at + 1, true);
            }
        }
    }

    /// Takes the path that is followed to all states that it comes to at this place without reading on.
    fn follow(&mut self, state: StateID, at: usize, is_next: bool) {
        self.stack.push(Task::Explore(state));
        while let Some(task) = self.stack.pop() {
            match task {
                Task::Restore(place, value) => self.places[place] = value,
                Task::Explore(state) => self.explore(state, at, is_next),
            }
        }
    }

    fn explore(&mut self, mut state: StateID, at: usize, is_next: bool) {
        let paths = if is_next { &mut self.next } else { &mut self.now };
        while paths.is_new(state, at) {
            self.units += 1;
            state = match self.program.state(state) {
                State::Look { look, next } => {
                    let looks = self.program.look_matcher();
                    if !looks.matches(*look, self.text.as_bytes(), at) {
                        return;
                    }
                    *next
                }
                State::Union { alternates } => {
                    let Some((first, others)) = alternates.split_first() else { return };
                    self.stack.extend(others.iter().rev().map(|&other| Task::Explore(other)));
                    *first
                }
                State::BinaryUnion { alt1, alt2 } => {
                    self.stack.push(Task::Explore(*alt2));
                    *alt1
                }
                State::Capture { next, slot, .. } => {
                    let place = &mut self.places[slot.as_usize()];
                    self.stack.push(Task::Restore(slot.as_usize(), std::mem::replace(place, at)));
                    *next
                }
                State::Fail => return,
                _ => {
                    paths.alive.push(state);
                    let places = places_of(state, self.places.len());
                    paths.places[places].copy_from_slice(&self.places);
                    self.units += self.places.len() / 4;
                    return;
                }
            };
        }
    }
}

/// The groups whose starts and ends are in turns at these places.
fn groups(places: &[usize]) -> Groups {
    let place =
        |[start, end]: [usize; 2]| Some((start, end)).filter(|_| start != NONE && end != NONE);
    places.as_chunks().0.iter().map(|&pair| place(pair)).collect()
}
