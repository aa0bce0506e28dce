//! The list of the strands that wait because of a transaction. The layer above adds and wakes them
//! ([`crate::concurrency::transactions::sleepers`]).
//!
//! Many strands may wait for different changes, so a commit finds them by the stripes that they have read. All
//! other strands are in one set, which is searched: those that wait for another event, and those that have read very
//! many stripes.
//!
//! A strand in the list is woken by a strand that runs and can reach the objects that it has read. The collector cannot
//! see this relation, so strands in the list are roots. The leader of a transaction that waits for its parts is no root:
//! the participants that execute the parts keep it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_heap::{CollectionKind, RootAddress, Tracer};
use squall_transactions::Stripe;

use super::memory::Memory;
use super::record::Note;
use super::shared::Shared;
use super::statistics::Line;
use crate::model::function::Site;
use crate::state::strand::{Claimed, StrandRef};
use crate::state::vm::Vm;

/// The event that a strand waits for.
pub(crate) enum Awaited {
    Change(Vec<Stripe>, Retry),
    Right,
    End,
    /// The end of the parts of the transaction that it leads.
    Parts(Arc<Shared>),
}

/// Why a strand waits for a change, for reports.
pub(crate) struct Retry {
    /// The first places that have read something.
    pub(crate) reads: Vec<Note>,
    /// The program's call that said `retry`.
    pub(crate) retried: Option<&'static Site>,
    /// The program's call that began the transaction.
    pub(crate) begun: Option<&'static Site>,
}

pub(crate) struct Sleeper {
    pub(crate) memory: &'static Memory,
    pub(crate) strand: StrandRef,
    pub(crate) ticket: u64,
    pub(crate) awaits: Awaited,
}

/// The list. Sleepers have numbers, in the order in which they came.
#[derive(Default)]
pub struct Sleepers(Mutex<List>);

#[derive(Default)]
struct List {
    sleepers: BTreeMap<u64, Sleeper>,
    /// The strands that wait for a change of few stripes, by memory and stripe: of very many sleepers, a change
    /// concerns few.
    by_stripe: BTreeSet<(u64, Stripe, u64)>,
    /// The others.
    scanned: BTreeSet<u64>,
    next: u64,
    /// How many there were after those had been dropped that were ended while they waited.
    dropped_at: usize,
}

/// A strand that waits for a change of more stripes is found by a search of all.
const FEW: usize = 256;

impl List {
    fn add(&mut self, sleeper: Sleeper) -> u64 {
        const LEAST: usize = 16;
        if self.sleepers.len() >= 2 * self.dropped_at.max(LEAST) {
            self.drop_ended();
        }
        let number = self.next;
        self.next += 1;
        match sleeper.few_stripes() {
            [] => _ = self.scanned.insert(number),
            stripes => {
                let key = sleeper.memory.key();
                self.by_stripe.extend(stripes.iter().map(|&stripe| (key, stripe, number)));
            }
        }
        self.sleepers.insert(number, sleeper);
        number
    }

    fn remove(&mut self, number: u64) -> Option<Sleeper> {
        let sleeper = self.sleepers.remove(&number)?;
        self.scanned.remove(&number);
        for &stripe in sleeper.few_stripes() {
            self.by_stripe.remove(&(sleeper.memory.key(), stripe, number));
        }
        Some(sleeper)
    }

    #[cold]
    fn drop_ended(&mut self) {
        let is_ended =
            |(&number, sleeper): (&u64, &Sleeper)| (!sleeper.is_asleep()).then_some(number);
        let ended: Vec<u64> = self.sleepers.iter().filter_map(is_ended).collect();
        ended.into_iter().for_each(|number| _ = self.remove(number));
        self.dropped_at = self.sleepers.len();
    }

    /// Removes sleepers, and claims them.
    fn take(&mut self, numbers: Vec<u64>) -> Vec<Claimed> {
        let taken = numbers.into_iter().filter_map(|number| self.remove(number));
        taken.filter_map(|sleeper| sleeper.strand.claim(sleeper.ticket)).collect()
    }

    /// Those that are in no index and satisfy a condition.
    fn scan(&self, mut wakes: impl FnMut(&Sleeper) -> bool) -> impl Iterator<Item = u64> {
        self.scanned.iter().copied().filter(move |number| wakes(&self.sleepers[number]))
    }

    /// Those that wait for a change of one of these stripes of a memory, in the order in which they came.
    fn awaiting_change(&self, memory: &Memory, changed: &[Stripe]) -> Vec<u64> {
        let key = memory.key();
        let is_changed =
            |stripe: &Stripe| changed.iter().any(|&other| memory.space.is_same(*stripe, other));
        let wide =
            self.scan(|sleeper| sleeper.is_of(memory) && sleeper.stripes().iter().any(is_changed));
        let mut numbers: Vec<u64> = wide.collect();
        for stripe in changed.iter().map(|&stripe| memory.space.own_number(stripe)) {
            let range = (key, stripe, 0)..=(key, stripe, u64::MAX);
            numbers.extend(self.by_stripe.range(range).map(|(_, _, number)| number));
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }
}

impl Sleepers {
    pub(crate) fn add(&self, sleeper: Sleeper) -> u64 {
        self.0.lock().add(sleeper)
    }

    pub(crate) fn remove(&self, number: u64) {
        _ = self.0.lock().remove(number);
    }

    /// Takes those that wait for no change and satisfy a condition, and claims them.
    pub(crate) fn take(&self, mut wakes: impl FnMut(&Sleeper) -> bool) -> Vec<Claimed> {
        let mut list = self.0.lock();
        let numbers = list.scan(|sleeper| sleeper.stripes().is_empty() && wakes(sleeper)).collect();
        list.take(numbers)
    }

    pub(crate) fn take_changed(&self, memory: &Memory, changed: &[Stripe]) -> Vec<Claimed> {
        let mut list = self.0.lock();
        let numbers = list.awaiting_change(memory, changed);
        list.take(numbers)
    }

    /// Whether a strand waits for the right to be inevitable, or for the end of the transaction that has it.
    pub(crate) fn await_right(&self) -> bool {
        let list = self.0.lock();
        let mut asleep = list.sleepers.values().filter(|sleeper| sleeper.is_asleep());
        asleep.any(|sleeper| matches!(sleeper.awaits, Awaited::Right | Awaited::End))
    }

    /// Describes why a strand waits for a change, if it does.
    pub(crate) fn describe_retry(&self, vm: &Vm, strand: StrandRef, text: &mut String) {
        let list = self.0.lock();
        let is_it = |sleeper: &&Sleeper| sleeper.strand == strand && sleeper.is_asleep();
        if let Some(Sleeper { awaits: Awaited::Change(_, retry), .. }) =
            list.sleepers.values().find(is_it)
        {
            retry.describe(vm, text);
        }
    }

    /// Shows the objects of those that still wait to the collector; in a full collection, without the leaders that
    /// wait for parts ([`Sleepers::keep`]).
    pub(crate) fn visit(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        for sleeper in self.0.lock().sleepers.values().filter(|sleeper| sleeper.is_asleep()) {
            if kind == CollectionKind::Nursery || !matches!(sleeper.awaits, Awaited::Parts(_)) {
                sleeper.strand.object.visit(visit);
            }
        }
    }

    /// Keeps the leaders that wait for parts of which one can end. The others are lost.
    pub(crate) fn keep(&self, tracer: &mut Tracer<'_>) {
        for sleeper in self.0.lock().sleepers.values().filter(|sleeper| sleeper.is_asleep()) {
            if let Awaited::Parts(shared) = &sleeper.awaits {
                shared.keep_leader(tracer);
            }
        }
    }
}

impl Retry {
    fn describe(&self, vm: &Vm, text: &mut String) {
        for note in &self.reads {
            let class = vm.behavior_of_layout(note.layout).map_or("an object", |it| it.name());
            if let Some(line) = Line::at(vm, note.pc()) {
                _ = writeln!(text, "  has read {class} {} at {}", line.what(vm), line.describe());
            }
        }
        for (what, site) in [("retried", self.retried), ("began", self.begun)] {
            if let Some(site) = site {
                let (function, pc) = (site.function(), site.pc as usize);
                let (path, line, column) = function.position(pc);
                _ = writeln!(text, "  {what} at {path}:{line}:{column} in {}", function.name());
            }
        }
    }
}

impl Sleeper {
    pub(crate) fn is_asleep(&self) -> bool {
        self.strand.current_ticket() == self.ticket
    }

    pub(crate) fn is_of(&self, memory: &Memory) -> bool {
        std::ptr::eq(self.memory, memory)
    }

    /// The stripes that it waits for.
    pub(crate) fn stripes(&self) -> &[Stripe] {
        match &self.awaits {
            Awaited::Change(stripes, _) => stripes,
            Awaited::Right | Awaited::End | Awaited::Parts(_) => &[],
        }
    }

    /// Its stripes, if it is found by them.
    pub(crate) fn few_stripes(&self) -> &[Stripe] {
        let stripes = self.stripes();
        if stripes.len() <= FEW { stripes } else { &[] }
    }
}
