//! Collapsed stacks: a line for each stack, its frames from the outermost one on, and its weight. Makers of flame graphs
//! read that.

use std::collections::BTreeMap;

use super::samples::State;
use super::texts::Profile;

/// The frame that stands for time in C or in the system.
pub const OUTSIDE: &str = "(outside)";

/// The lines, sorted. Two places in one function make two stacks with one text, which has one line.
pub fn text(profile: &Profile) -> String {
    let mut weights: BTreeMap<String, u64> = BTreeMap::new();
    for (frames, state, weight) in profile.by_stack() {
        *weights.entry(names(profile, frames, state).join(";")).or_default() += weight;
    }
    weights.iter().map(|(stack, weight)| format!("{stack} {weight}\n")).collect()
}

/// The names of a stack's functions, the outermost first.
pub(super) fn names(profile: &Profile, frames: &[usize], state: State) -> Vec<String> {
    let names = frames.iter().rev().map(|&frame| name(&profile.frames[frame].function));
    let outside = (state == State::Outside).then(|| OUTSIDE.to_owned());
    names.chain(outside).collect()
}

/// A name without the character that separates frames.
fn name(function: &str) -> String {
    function.replace(';', ",").replace('\n', " ")
}
