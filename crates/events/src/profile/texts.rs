//! A profile with names: the samples of all threads, as stacks of functions and lines.

use std::collections::HashMap;

use super::samples::{Place, Samples, State};
use super::waits::{Waited, Waits};
use crate::record::Track;
use crate::table::Reason;

/// A place in the code, with its names.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Frame {
    /// The function.
    pub function: String,
    /// The file of its text.
    pub file: String,
    /// The line; 0 if it is not known.
    pub line: u32,
}

/// The names of places and sites. The runtime implements it.
pub trait Places {
    /// The names of a place; that with the function 0 stands for frames that were left out.
    fn frame(&self, place: Place) -> Frame;

    /// The names of the place of a site.
    fn site(&self, site: u64) -> Frame;
}

/// A stack that was sampled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stack {
    /// When.
    pub time: u64,
    /// How many periods it stands for.
    pub weight: u64,
    /// The worker.
    pub worker: u32,
    /// Whose it is.
    pub track: Track,
    /// How the time was spent.
    pub state: State,
    /// The numbers of its frames, the innermost first.
    pub frames: Vec<usize>,
}

/// Waits of one kind at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Why.
    pub reason: Reason,
    /// The number of the entity.
    pub entity: u64,
    /// The place of the call.
    pub place: Frame,
    /// How often, and how long.
    pub waited: Waited,
}

/// See the head of the file.
#[derive(Default)]
pub struct Profile {
    /// The time between two samples, in nanoseconds.
    pub period: u64,
    /// All frames.
    pub frames: Vec<Frame>,
    /// The stacks in the order of time.
    pub stacks: Vec<Stack>,
    /// Bytes by stack, the innermost frame first.
    pub allocated: Vec<(Vec<usize>, u64)>,
    /// Waits, the longest first.
    pub waits: Vec<Wait>,
    /// The periods without work, by worker.
    pub idle: Vec<(u32, u64)>,
}

impl Profile {
    /// The profile of these samples.
    pub fn new(period: u64, all: &[&Samples], places: &dyn Places) -> Profile {
        let mut profile = Profile { period, ..Profile::default() };
        let (mut known, mut waits) = (HashMap::new(), Waits::default());
        for samples in all {
            profile.add(samples, &mut known, places);
            waits.add_all(&samples.waits);
        }
        profile.stacks.sort_by_key(|stack| stack.time);
        profile.allocated.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        profile.waits = waits
            .iter()
            .map(|(cause, &waited)| Wait {
                reason: cause.reason(),
                entity: cause.entity,
                place: places.site(cause.site),
                waited,
            })
            .collect();
        let order =
            |wait: &Wait| (std::cmp::Reverse(wait.waited.time), wait.entity, wait.place.line);
        profile.waits.sort_by_key(order);
        profile
    }

    fn add(&mut self, samples: &Samples, known: &mut HashMap<Place, usize>, places: &dyn Places) {
        let mut number = |place: Place| {
            *known.entry(place).or_insert_with(|| {
                self.frames.push(places.frame(place));
                self.frames.len() - 1
            })
        };
        for sample in &samples.samples {
            self.stacks.push(Stack {
                time: sample.time,
                weight: u64::from(sample.weight),
                worker: samples.worker,
                track: sample.track,
                state: sample.state,
                frames: samples.frames(sample.node).map(&mut number).collect(),
            });
        }
        for (&node, &bytes) in &samples.allocated {
            self.allocated.push((samples.frames(node).map(&mut number).collect(), bytes));
        }
        self.idle.push((samples.worker, samples.idle));
    }

    /// The periods of all samples together.
    pub fn total(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.weight).sum()
    }

    /// Stacks with their weights, each different stack once, in the order of the first sample.
    pub fn by_stack(&self) -> Vec<(&[usize], State, u64)> {
        let mut places: HashMap<(&[usize], State), usize> = HashMap::new();
        let mut stacks: Vec<(&[usize], State, u64)> = Vec::new();
        for stack in &self.stacks {
            let key = (stack.frames.as_slice(), stack.state);
            let place = *places.entry(key).or_insert_with(|| {
                stacks.push((key.0, key.1, 0));
                stacks.len() - 1
            });
            stacks[place].2 += stack.weight;
        }
        stacks
    }
}

/// The name of a track.
pub fn name_of(track: Track) -> String {
    match track {
        Track::Worker => "the machine".to_owned(),
        Track::Vat(number) => format!("vat {number}"),
        Track::Strand(number) => format!("strand {number}"),
    }
}
