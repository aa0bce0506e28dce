//! Searches with a program, in steps that can be interrupted, and whose work is counted: bytes that were looked at, and
//! states that were made.
//!
//! - A short text is searched by the backtracker, which visits each pair of a state and a place once.
//! - In a longer one, a deterministic automaton reads forwards to the end of the first match, and another one backwards
//!   to its start. If a match has groups, the backtracker finds them, or the simulation in a long match.
//! - Where those automata do not know the words of Unicode, the simulation searches.
//!
//! The automata of a guest's search begin without states, so what it pays depends on the program and the text alone. Other
//! searches go on with the states that earlier ones made, and count bytes only.

use std::ops::Range;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::backtrack;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input};

use super::Groups;
use super::program::{Program, TABLES};
use super::simulation::Simulation;
use crate::pace::{hold, spend};

/// Searches with a program in a text.
pub struct Search<'a> {
    program: &'a Program,
    text: &'a str,
    is_guests: bool,
    notes: Notes,
    /// How many bytes the caller holds.
    beside: usize,
}

/// What a search keeps for the next one with the same program.
pub struct Notes {
    forwards: Option<Tables>,
    backwards: Option<Tables>,
    backtracks: backtrack::Cache,
}

impl Notes {
    fn of(program: &Program) -> Notes {
        let backtracks = program.backtracker.create_cache();
        Notes { forwards: None, backwards: None, backtracks }
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        let tables = [&self.forwards, &self.backwards].into_iter().flatten();
        let made: usize = tables.map(|tables| tables.cache.memory_usage()).sum();
        made + self.backtracks.memory_usage()
    }
}

/// An automaton has come to a byte that it does not know.
struct Unknown;

impl Drop for Search<'_> {
    fn drop(&mut self) {
        if !self.is_guests {
            self.program.notes.keep(std::mem::replace(&mut self.notes, Notes::of(self.program)));
        }
    }
}

impl<'a> Search<'a> {
    pub fn of(program: &'a Program, text: &'a str, is_guests: bool) -> Search<'a> {
        let notes = if is_guests { None } else { program.notes.take() };
        let notes = notes.unwrap_or_else(|| Notes::of(program));
        Search { program, text, is_guests, notes, beside: 0 }
    }

    /// The first match that begins at this byte or behind.
    pub async fn first(&mut self, from: usize) -> Option<Groups> {
        /// The most pairs of a state and a place of a short text.
        const SHORT: usize = 1 << 11;
        let (len, states) = (self.text.len(), self.program.states.states().len());
        if self.is_guests && states.saturating_mul(len - from + 1) <= SHORT {
            return self.first_in_short(from).await;
        }
        match self.part(from).await {
            Ok(Some(part)) => self.groups(part).await,
            Ok(None) => None,
            Err(Unknown) => self.simulate(from..len, Anchored::No).await,
        }
    }

    /// The caller holds so many bytes now.
    pub fn hold_beside(&mut self, bytes: usize) {
        self.beside = bytes;
        hold(self.beside + self.notes.bytes());
    }

    /// The same in a short text: making states of an automaton does not pay.
    async fn first_in_short(&mut self, from: usize) -> Option<Groups> {
        let part = from..self.text.len();
        let candidate = match &self.program.candidates {
            Some(candidates) => candidates.find(self.text.as_bytes(), part.clone().into()),
            None => Some(part.clone().into()),
        };
        match candidate {
            Some(found) => self.backtrack(found.start..part.end, Anchored::No).await,
            None => {
                spend(10 + part.len() / 16).await;
                None
            }
        }
    }

    /// Where the first match is that begins at this byte or behind.
    async fn part(&mut self, mut from: usize) -> Result<Option<Range<usize>>, Unknown> {
        loop {
            let Some(end) = self.end(from).await? else { return Ok(None) };
            if self.text.is_char_boundary(end) {
                return Ok(Some(self.start(from, end).await?..end));
            }
            // An empty match in the middle of a character is none.
            from = (end..).find(|&at| self.text.is_char_boundary(at)).unwrap_or(end);
        }
    }

    /// The end of the first match that begins at this byte or behind.
    async fn end(&mut self, from: usize) -> Result<Option<usize>, Unknown> {
        let beside = self.beside;
        let tables = tables(&mut self.notes.forwards, &self.program.forwards, self.is_guests);
        let mut run = Forwards::begin(self.program, self.text, tables, from)?;
        while !run.step()? {
            run.pay(beside).await;
        }
        run.pay(beside).await;
        Ok(run.found)
    }

    /// The start of the match that ends at this byte, and begins at `from` or behind.
    async fn start(&mut self, from: usize, end: usize) -> Result<usize, Unknown> {
        if from == end || self.program.states.is_always_start_anchored() {
            return Ok(from);
        }
        let beside = self.beside;
        let tables = tables(&mut self.notes.backwards, &self.program.backwards, self.is_guests);
        let mut run = Backwards::begin(self.program, self.text, tables, from..end)?;
        while !run.step()? {
            run.pay(beside).await;
        }
        run.pay(beside).await;
        // A match that has an end has a start.
        run.found.ok_or(Unknown)
    }

    /// The groups of the match that is this part of the text.
    async fn groups(&mut self, part: Range<usize>) -> Option<Groups> {
        if self.program.places() == 2 {
            return Some(vec![Some((part.start, part.end))]);
        }
        if part.len() <= self.program.backtracker.max_haystack_len() {
            return self.backtrack(part, Anchored::Yes).await;
        }
        self.simulate(part, Anchored::Yes).await
    }

    /// The first match in this part of the text.
    async fn simulate(&mut self, part: Range<usize>, anchored: Anchored) -> Option<Groups> {
        let states = &self.program.states;
        hold(self.beside + self.notes.bytes() + Simulation::bytes(states));
        Simulation::of(states, self.text).first(part, anchored.is_anchored()).await
    }

    /// The first match in this part of the text, which is short.
    async fn backtrack(&mut self, part: Range<usize>, anchored: Anchored) -> Option<Groups> {
        const PAIRS_IN_UNIT: usize = 16;
        spend(20 + self.program.states.states().len() * (part.len() + 1) / PAIRS_IN_UNIT).await;
        let mut places: Vec<Option<NonMaxUsize>> = vec![None; self.program.places()];
        let input = Input::new(self.text).span(part).anchored(anchored);
        let found = self.program.backtracker.try_search_slots(
            &mut self.notes.backtracks,
            &input,
            &mut places,
        );
        found.expect("the part is short")?;
        let place = |[start, end]: [Option<NonMaxUsize>; 2]| Some((start?.get(), end?.get()));
        Some(places.as_chunks().0.iter().map(|&pair| place(pair)).collect())
    }
}

/// The states of an automaton that were made so far.
struct Tables {
    cache: Cache,
    /// With more bytes than this, they are made anew.
    capacity: usize,
    /// How many bytes of them were paid for; none if states are not counted.
    paid: Option<usize>,
}

/// Those of a search.
fn tables<'t>(tables: &'t mut Option<Tables>, automaton: &DFA, is_guests: bool) -> &'t mut Tables {
    tables.get_or_insert_with(|| {
        let (cache, paid) = (automaton.create_cache(), is_guests.then_some(0));
        let least = automaton.get_config().get_minimum_cache_capacity(automaton.get_nfa());
        Tables { cache, capacity: least.map_or(TABLES, |least| least.max(TABLES)), paid }
    })
}

impl Tables {
    /// Pays for looking at so many bytes, and for the states that were made meanwhile.
    async fn pay(&mut self, bytes: usize, beside: usize) {
        const BYTES_IN_UNIT: usize = 4;
        const BYTES_OF_STATES: usize = 2;
        let new = self.paid.map_or(0, |paid| {
            let made = self.cache.memory_usage() + self.cache.clear_count() * self.capacity;
            self.paid = Some(made);
            made.saturating_sub(paid)
        });
        hold(beside + self.cache.memory_usage());
        spend(bytes / BYTES_IN_UNIT + new / BYTES_OF_STATES).await;
    }
}

/// The automaton on its way to the end of a match.
struct Forwards<'s> {
    program: &'s Program,
    text: &'s str,
    tables: &'s mut Tables,
    state: LazyStateID,
    at: usize,
    /// The place up to which was paid.
    paid: usize,
    /// The end of the best match so far.
    found: Option<usize>,
}

impl<'s> Forwards<'s> {
    fn begin(
        program: &'s Program,
        text: &'s str,
        tables: &'s mut Tables,
        from: usize,
    ) -> Result<Forwards<'s>, Unknown> {
        let state = start_of(program, text, tables, from)?;
        Ok(Forwards { program, text, tables, state, at: from, paid: from, found: None })
    }

    /// Reads some bytes. Answers whether there is no more to read.
    fn step(&mut self) -> Result<bool, Unknown> {
        let (automaton, text) = (&self.program.forwards, self.text.as_bytes());
        let limit = text.len().min(self.at + self.program.stride());
        while self.at < limit {
            if self.state.is_start() && self.found.is_none() && self.skip()? {
                return Ok(self.at == text.len());
            }
            let cache = &mut self.tables.cache;
            self.state =
                automaton.next_state(cache, self.state, text[self.at]).map_err(|_| Unknown)?;
            if self.state.is_tagged() {
                // A match is known when the byte behind it is read.
                if self.state.is_match() {
                    self.found = Some(self.at);
                } else if self.state.is_dead() {
                    return Ok(true);
                } else if self.state.is_quit() {
                    return Err(Unknown);
                }
            }
            self.at += 1;
        }
        if self.at < text.len() {
            return Ok(false);
        }
        let cache = &mut self.tables.cache;
        self.state = automaton.next_eoi_state(cache, self.state).map_err(|_| Unknown)?;
        if self.state.is_match() {
            self.found = Some(self.at);
        }
        Ok(true)
    }

    /// Goes on to the next place where a match may start. Answers whether there is none so near.
    fn skip(&mut self) -> Result<bool, Unknown> {
        /// The bytes that are looked at together.
        const NEAR: usize = 64 << 10;
        let Some(candidates) = &self.program.candidates else { return Ok(false) };
        let near = self.text.len().min(self.at + NEAR);
        // The last one may begin near and end behind.
        let end = self.text.len().min(near + candidates.max_needle_len());
        let found = candidates.find(self.text.as_bytes(), (self.at..end).into());
        let to = found.map_or(near, |found| found.start);
        if to > self.at {
            self.at = to;
            // What is before the place may matter.
            if !self.program.states.look_set_prefix_any().is_empty() {
                self.state = start_of(self.program, self.text, self.tables, to)?;
            }
        }
        Ok(found.is_none())
    }

    /// Pays for what was read, while the caller holds so many bytes.
    async fn pay(&mut self, beside: usize) {
        let bytes = self.at - std::mem::replace(&mut self.paid, self.at);
        self.tables.pay(bytes + 1, beside).await;
    }
}

/// The state before the byte at this place.
fn start_of(
    program: &Program,
    text: &str,
    tables: &mut Tables,
    at: usize,
) -> Result<LazyStateID, Unknown> {
    let input = Input::new(text).range(at..);
    program.forwards.start_state_forward(&mut tables.cache, &input).map_err(|_| Unknown)
}

/// The automaton on its way to the start of a match.
struct Backwards<'s> {
    automaton: &'s DFA,
    text: &'s [u8],
    tables: &'s mut Tables,
    stride: usize,
    state: LazyStateID,
    /// The first byte that may belong to the match.
    from: usize,
    at: usize,
    paid: usize,
    /// The leftmost start so far.
    found: Option<usize>,
}

impl<'s> Backwards<'s> {
    fn begin(
        program: &'s Program,
        text: &'s str,
        tables: &'s mut Tables,
        part: Range<usize>,
    ) -> Result<Backwards<'s>, Unknown> {
        let (automaton, stride) = (&program.backwards, program.stride());
        let input = Input::new(text).span(part.clone()).anchored(Anchored::Yes);
        let state =
            automaton.start_state_reverse(&mut tables.cache, &input).map_err(|_| Unknown)?;
        let (text, from, at) = (text.as_bytes(), part.start, part.end);
        Ok(Backwards { automaton, text, tables, stride, state, from, at, paid: at, found: None })
    }

    /// Reads some bytes. Answers whether there is no more to read.
    fn step(&mut self) -> Result<bool, Unknown> {
        let limit = self.from.max(self.at.saturating_sub(self.stride));
        while self.at > limit {
            if !self.read(self.text[self.at - 1])? {
                return Ok(true);
            }
            self.at -= 1;
        }
        if self.at > self.from {
            return Ok(false);
        }
        match self.from.checked_sub(1) {
            Some(before) => {
                self.read(self.text[before])?;
            }
            None => {
                let cache = &mut self.tables.cache;
                self.state =
                    self.automaton.next_eoi_state(cache, self.state).map_err(|_| Unknown)?;
                self.note();
            }
        }
        Ok(true)
    }

    /// Reads a byte. Answers whether a match may still begin further to the left.
    fn read(&mut self, byte: u8) -> Result<bool, Unknown> {
        let cache = &mut self.tables.cache;
        self.state = self.automaton.next_state(cache, self.state, byte).map_err(|_| Unknown)?;
        match self.state.is_quit() {
            true => Err(Unknown),
            false => Ok(self.note()),
        }
    }

    /// A match is known when the byte before it is read. Answers whether there may be more.
    fn note(&mut self) -> bool {
        if self.state.is_match() {
            self.found = Some(self.at);
        }
        !self.state.is_dead()
    }

    /// Pays for what was read, while the caller holds so many bytes.
    async fn pay(&mut self, beside: usize) {
        let bytes = std::mem::replace(&mut self.paid, self.at) - self.at;
        self.tables.pay(bytes + 1, beside).await;
    }
}
