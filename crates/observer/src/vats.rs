//! Sweeps over all vats, as [`crate::sweep`] over strands: mailboxes, and the rates of messages. [`crate::answers`] makes
//! JSON of them.
//!
//! Vats count the messages that were ever put into their mailboxes. A rate is the difference of two counts, divided by the
//! time between; of vats beyond `MOST_RATED`, only the sum has a rate.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use squall_runtime::library::observation::{self, VatGlance};
use squall_runtime::state::vm::Vm;

use crate::rested::{Last, Timed};

/// The least time between the counts for a rate.
const SPAN: Duration = Duration::from_millis(500);
/// For how many vats counts are kept.
const MOST_RATED: usize = 200_000;

/// A key that vats are sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// The number.
    Number,
    /// The length of the mailbox.
    Length,
    /// All messages so far.
    Messages,
    /// Messages in a second.
    Rate,
    /// Whether something runs, or could.
    Active,
}

impl Key {
    /// The key with this name.
    pub fn named(name: &str) -> Option<Key> {
        Some(match name {
            "number" => Key::Number,
            "mailbox" => Key::Length,
            "messages" => Key::Messages,
            "rate" => Key::Rate,
            "state" => Key::Active,
            _ => return None,
        })
    }
}

/// Which vats a client wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// What they are sorted by.
    pub key: Key,
    /// Whether the greatest comes first.
    pub descends: bool,
    /// How many of the first are wanted.
    pub count: usize,
}

/// A vat with its rate.
#[derive(Clone, Copy)]
pub struct Row {
    /// The vat.
    pub vat: VatGlance,
    /// Messages in a second, if that is known.
    pub rate: Option<f64>,
}

/// The result of a sweep.
pub struct Swept {
    /// How many vats there are.
    pub total: usize,
    /// How many of them are active.
    pub active: usize,
    /// The messages in all mailboxes.
    pub waiting: u64,
    /// The length of the longest mailbox.
    pub longest: u64,
    /// The messages so far, as counted in the vats that there are.
    pub posted: u64,
    /// Messages in a second.
    pub rate: f64,
    /// The first vats, in order.
    pub rows: Vec<Row>,
}

/// The counts of messages at a moment.
struct Counts {
    made: Instant,
    posted: u64,
    each: HashMap<u64, u64>,
}

/// The last sweep, and the counts for rates.
#[derive(Default)]
pub struct Sweeper(Mutex<State>);

#[derive(Default)]
struct State {
    last: Last<Question, Swept>,
    counted: Counted,
}

#[derive(Default)]
struct Counted {
    /// The counts that rates are measured from, and newer ones that are too new for that.
    base: Option<Counts>,
    next: Option<Counts>,
}

impl Sweeper {
    /// The vats for a question.
    pub fn ask(&self, vm: &Vm, question: &Question) -> Arc<Timed<Swept>> {
        self.sweep(vm, question, |known| known == question)
    }

    /// The counts of all vats.
    pub fn counts(&self, vm: &Vm) -> Arc<Timed<Swept>> {
        let none = Question { key: Key::Number, descends: false, count: 0 };
        self.sweep(vm, &none, |_| true)
    }

    fn sweep(
        &self,
        vm: &Vm,
        question: &Question,
        serves: impl Fn(&Question) -> bool,
    ) -> Arc<Timed<Swept>> {
        let State { last, counted } = &mut *self.0.lock();
        last.ask(question, serves, |question| counted.sweep(vm, question))
    }
}

impl Counted {
    fn sweep(&mut self, vm: &Vm, question: &Question) -> Swept {
        let begin = Instant::now();
        let mut all = Vec::new();
        observation::vats(vm, &mut |vat| all.push(*vat));
        let posted = all.iter().map(|vat| vat.posted).sum();
        self.advance(begin, posted, &all);
        let rate =
            self.base.as_ref().map_or(0.0, |base| rate_since(base, begin, base.posted, posted));
        let mut swept = Swept {
            total: all.len(),
            active: all.iter().filter(|vat| vat.is_active).count(),
            waiting: all.iter().map(|vat| vat.length).sum(),
            longest: all.iter().map(|vat| vat.length).max().unwrap_or(0),
            posted,
            rate,
            rows: Vec::new(),
        };
        let rate = |vat: &VatGlance| {
            let base = self.base.as_ref()?;
            // A vat that is new has been sent its messages since.
            let before = if base.each.is_empty() { None } else { base.each.get(&vat.number) };
            let known = !base.each.is_empty() || base.posted == 0;
            known.then(|| rate_since(base, begin, before.copied().unwrap_or(0), vat.posted))
        };
        if question.count > 0 {
            swept.rows = all.iter().map(|vat| Row { vat: *vat, rate: rate(vat) }).collect();
            select(&mut swept.rows, question);
        }
        swept
    }

    /// Keeps counts: those for rates are between one and two spans old, once the program is as old as that.
    fn advance(&mut self, now: Instant, posted: u64, all: &[VatGlance]) {
        let is_old = |counts: &Option<Counts>| {
            counts.as_ref().is_none_or(|counts| now.duration_since(counts.made) >= SPAN)
        };
        if !is_old(&self.next) {
            return;
        }
        let each = match all.len() > MOST_RATED {
            true => HashMap::new(),
            false => all.iter().map(|vat| (vat.number, vat.posted)).collect(),
        };
        self.base = self.next.take();
        self.next = Some(Counts { made: now, posted, each });
    }
}

fn rate_since(base: &Counts, now: Instant, before: u64, after: u64) -> f64 {
    let seconds = now.duration_since(base.made).as_secs_f64();
    if seconds > 0.0 { after.saturating_sub(before) as f64 / seconds } else { 0.0 }
}

fn select(rows: &mut Vec<Row>, question: &Question) {
    let compare = |one: &Row, other: &Row| {
        let by_key = match question.key {
            Key::Number => std::cmp::Ordering::Equal,
            Key::Length => one.vat.length.cmp(&other.vat.length),
            Key::Messages => one.vat.posted.cmp(&other.vat.posted),
            Key::Rate => one.rate.unwrap_or(0.0).total_cmp(&other.rate.unwrap_or(0.0)),
            Key::Active => one.vat.is_active.cmp(&other.vat.is_active),
        };
        let order = by_key.then(one.vat.number.cmp(&other.vat.number));
        if question.descends { order.reverse() } else { order }
    };
    if question.count < rows.len() {
        rows.select_nth_unstable_by(question.count, compare);
        rows.truncate(question.count);
    }
    rows.sort_unstable_by(compare);
}
