//! Sweeps over all strands: the rows that a client asks for, and the counts, groups and cycles of all. [`crate::answers`]
//! makes JSON of them.
//!
//! With a million strands a sweep takes some hundredths of a second of one core, so it is not made for each request: a sweep
//! serves all requests with the same question for some [time](crate::rested). Only the rows that a client sees are
//! looked at closely each time. A row may thus be at the place where it belonged a moment ago; what it shows is new.
//!
//! A sweep keeps as many strands as were asked for, and those that wait for a strand, and no others.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_events::table::Reason;
use squall_runtime::library::observation::{self, Activity, Glance, Kind, Origin, Suspects};
use squall_runtime::state::vm::Vm;

use crate::rested::{Last, Timed};

/// A key that strands are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// The number.
    Number,
    /// The kind.
    Kind,
    /// The activity, and what is waited for.
    Activity,
    /// The vat.
    Vat,
    /// The time of the wait.
    Waited,
    /// The priority.
    Priority,
    /// The worker.
    Worker,
    /// The place of origin.
    Origin,
}

impl Key {
    /// The names of all in requests.
    const NAMES: [(&str, Key); 8] = [
        ("number", Key::Number),
        ("kind", Key::Kind),
        ("state", Key::Activity),
        ("vat", Key::Vat),
        ("waited", Key::Waited),
        ("priority", Key::Priority),
        ("worker", Key::Worker),
        ("origin", Key::Origin),
    ];

    /// The key with this name.
    pub fn named(name: &str) -> Option<Key> {
        Key::NAMES.iter().find(|(other, _)| *other == name).map(|(_, key)| *key)
    }

    fn compare(self, one: &Glance, other: &Glance) -> Ordering {
        match self {
            Key::Number => Ordering::Equal,
            Key::Kind => one.kind.cmp(&other.kind),
            Key::Activity => one.activity.cmp(&other.activity),
            Key::Vat => one.vat.cmp(&other.vat),
            Key::Waited => one.waited.cmp(&other.waited),
            Key::Priority => one.priority.cmp(&other.priority),
            Key::Worker => one.worker.cmp(&other.worker),
            Key::Origin => one.origin.cmp(&other.origin),
        }
    }
}

/// Which strands a client wants, and in which order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// What they are sorted by.
    pub key: Key,
    /// Whether the greatest comes first.
    pub descends: bool,
    /// How many of the first are wanted.
    pub count: usize,
    /// Their activity, by its name, or any.
    pub activity: Option<&'static str>,
    /// What they wait for, or anything.
    pub reason: Option<Reason>,
    /// Their kind, by its name, or any.
    pub kind: Option<&'static str>,
    /// Their vat, or any.
    pub vat: Option<u64>,
    /// Their place of origin, or any.
    pub origin: Option<Option<Origin>>,
}

/// The most strands that a client can page through; then it must say more about what it wants.
pub const MOST: usize = 10_000;

impl Default for Question {
    fn default() -> Question {
        Question {
            key: Key::Number,
            descends: false,
            count: 0,
            activity: None,
            reason: None,
            kind: None,
            vat: None,
            origin: None,
        }
    }
}

impl Question {
    fn matches(&self, glance: &Glance) -> bool {
        let is_reason = |reason| glance.activity == Activity::Waits(reason);
        self.activity.is_none_or(|name| glance.activity.name() == name)
            && self.reason.is_none_or(is_reason)
            && self.kind.is_none_or(|name| glance.kind.name() == name)
            && self.vat.is_none_or(|vat| glance.vat == vat)
            && self.origin.is_none_or(|origin| glance.origin == origin)
    }

    fn compare(&self, one: &Glance, other: &Glance) -> Ordering {
        let by_key = self.key.compare(one, other);
        let by_number = one.number.cmp(&other.number);
        let order = by_key.then(by_number);
        if self.descends { order.reverse() } else { order }
    }
}

/// Strands of one kind that were made at one place: a node of the system's graph.
pub type Group = (Kind, Option<Origin>);

/// An arrow of the graph: from a group, why, and to which group, if that is known.
pub type Arrow = (Group, Reason, Option<Group>);

/// The result of a sweep.
pub struct Swept {
    /// How many strands there are.
    pub total: usize,
    /// How many of them match the question.
    pub matching: usize,
    /// The first of those, in order.
    pub rows: Vec<Glance>,
    /// The count of strands for each activity.
    pub activities: HashMap<&'static str, usize>,
    /// The same for each reason to wait.
    pub reasons: HashMap<&'static str, usize>,
    /// The same for each kind.
    pub kinds: HashMap<&'static str, usize>,
    /// The same for each group, and how many of them wait.
    pub groups: HashMap<Group, (usize, usize)>,
    /// The count for each arrow.
    pub arrows: HashMap<Arrow, usize>,
    /// Strands that wait for each other.
    pub cycles: Vec<Vec<Glance>>,
}

/// The last sweep.
#[derive(Default)]
pub struct Sweeper(Mutex<Last<Question, Swept>>);

impl Sweeper {
    /// The strands for a question. One client sweeps, and others wait for the result.
    pub fn ask(&self, vm: &Vm, question: &Question) -> Arc<Timed<Swept>> {
        self.0.lock().ask(question, |known| known == question, |question| sweep(vm, question))
    }

    /// The counts of all strands. If there was no question before, the sweep also answers the one that the page begins with.
    pub fn counts(&self, vm: &Vm) -> Arc<Timed<Swept>> {
        let first = Question { key: Key::Waited, descends: true, count: 50, ..Question::default() };
        self.0.lock().ask(&first, |_| true, |question| sweep(vm, question))
    }
}

/// What is being counted. Strands that were made one after the other are often of one kind and do the same, so counts are
/// gathered for a run of equal ones, and the tables are touched at its end.
struct Counts<'q> {
    question: &'q Question,
    rows: Vec<Glance>,
    /// A strand that comes after all rows that will be sent.
    bound: Option<Glance>,
    matching: usize,
    groups: HashMap<Group, (usize, usize)>,
    arrows: HashMap<Arrow, usize>,
    activities: HashMap<Activity, usize>,
    run: Option<(Run, usize)>,
    suspects: Suspects,
}

/// What strands of a run have in common: the group, the activity, and the group of the strand that they wait for.
type Run = (Group, Activity, Option<Group>);

impl Counts<'_> {
    fn see(&mut self, glance: &Glance) {
        let to = glance.waker().map(|(kind, _, origin)| (kind, origin));
        let run = ((glance.kind, glance.origin), glance.activity, to);
        match &mut self.run {
            Some((known, count)) if *known == run => *count += 1,
            _ => {
                self.end_run();
                self.run = Some((run, 1));
            }
        }
        if to.is_some() {
            self.suspects.note(glance);
        }
        if self.question.matches(glance) {
            self.matching += 1;
            self.keep(glance);
        }
    }

    fn end_run(&mut self) {
        let Some(((group, activity, to), count)) = self.run.take() else { return };
        *self.activities.entry(activity).or_default() += count;
        let (all, waiting) = self.groups.entry(group).or_default();
        *all += count;
        if let Activity::Waits(reason) = activity {
            *waiting += count;
            *self.arrows.entry((group, reason, to)).or_default() += count;
        }
    }

    /// Keeps a row, and drops those that come too late whenever there are twice as many as wanted.
    fn keep(&mut self, glance: &Glance) {
        let count = self.question.count;
        let comes_too_late =
            |bound: Glance| self.question.compare(glance, &bound) == Ordering::Greater;
        if count == 0 || self.bound.is_some_and(comes_too_late) {
            return;
        }
        self.rows.push(*glance);
        if self.rows.len() >= 2 * count.max(512) {
            self.rows.select_nth_unstable_by(count, |a, b| self.question.compare(a, b));
            self.bound = self.rows.get(count).copied();
            self.rows.truncate(count);
        }
    }
}

fn sweep(vm: &Vm, question: &Question) -> Swept {
    let mut counts = Counts {
        question,
        rows: Vec::new(),
        bound: None,
        matching: 0,
        groups: HashMap::new(),
        arrows: HashMap::new(),
        activities: HashMap::new(),
        run: None,
        suspects: Suspects::default(),
    };
    observation::strands(vm, &mut |glance| counts.see(glance));
    counts.end_run();
    let cycles = observation::cycles(vm, &counts.suspects.cycles());
    counts.rows.sort_unstable_by(|a, b| question.compare(a, b));
    counts.rows.truncate(question.count);
    let (mut activities, mut reasons) = (HashMap::new(), HashMap::new());
    for (activity, count) in &counts.activities {
        *activities.entry(activity.name()).or_default() += count;
        if let Activity::Waits(reason) = activity {
            *reasons.entry(reason.text()).or_default() += count;
        }
    }
    let mut kinds = HashMap::new();
    for ((kind, _), (count, _)) in &counts.groups {
        *kinds.entry(kind.name()).or_default() += count;
    }
    Swept {
        total: counts.activities.values().sum(),
        matching: counts.matching,
        rows: counts.rows,
        activities,
        reasons,
        kinds,
        groups: counts.groups,
        arrows: counts.arrows,
        cycles,
    }
}
