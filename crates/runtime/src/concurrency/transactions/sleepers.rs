//! Strands that wait because of a transaction.
//!
//! | a strand waits for | because | woken by |
//! |---|---|---|
//! | a change | its transaction said `retry` | the next change of something that it had read |
//! | the right to be inevitable | another strand has it | that one, when its transaction has ended; in the order in which they came |
//! | the end of the inevitable transaction | it wants to write what that has read | the same |
//!
//! A strand is parked *before* the instruction in its saved state, which it executes again; a turn that consists of
//! one assignment has no instruction, and begins anew with its message. The strand parks, puts
//! itself into the list, and then looks whether what it waits for has come meanwhile: who makes it come
//! looks into the list afterwards.
//!
//! Very many may wait for a change, each of something else: they are found by the stripes that they have read. The others,
//! and those who have read very much, are looked for among all of their kind.
//!
//! Whoever may wake the strands of the list is some strand that runs and can reach what they have read, which
//! the collector cannot see; so they are roots.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use squall_heap::Word;
use squall_transactions::Stripe;

use super::memory::Memory;
use crate::concurrency::messages;
use crate::concurrency::waiting;
use crate::execution::calls;
use crate::model::outcome::Outcome;
use crate::state::strand::{Delivery, StrandRef};
use crate::state::thread::{Stop, Thread};

/// What a strand's object says that it waits for: a change.
pub const FOR_CHANGE: Word = Word::TRUE;
/// What a strand's object says that it waits for: the end of an inevitable transaction.
pub const FOR_INEVITABLE: Word = Word::FALSE;

/// What a strand waits for.
enum Awaited {
    Change(Vec<Stripe>),
    Right,
    End,
}

struct Sleeper {
    memory: &'static Memory,
    strand: StrandRef,
    ticket: u64,
    awaits: Awaited,
}

/// The list. Sleepers have numbers, in the order in which they came.
#[derive(Default)]
pub struct Sleepers(Mutex<List>);

#[derive(Default)]
struct List {
    sleepers: BTreeMap<u64, Sleeper>,
    /// Who waits for a change of few stripes, by memory and stripe: of very many sleepers, a change concerns few.
    by_stripe: BTreeSet<(u64, Stripe, u64)>,
    /// The others.
    scanned: BTreeSet<u64>,
    next: u64,
    /// How many there were after those had been dropped that were ended while they waited.
    dropped_at: usize,
}

/// Who waits for a change of more stripes is looked for among all.
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
    fn take(&mut self, numbers: Vec<u64>) -> Vec<StrandRef> {
        let taken = numbers.into_iter().filter_map(|number| self.remove(number));
        let claimed = taken.filter(|sleeper| sleeper.strand.claim(sleeper.ticket));
        claimed.map(|sleeper| sleeper.strand).collect()
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
    fn add(&self, sleeper: Sleeper) -> u64 {
        self.0.lock().add(sleeper)
    }

    fn remove(&self, number: u64) {
        _ = self.0.lock().remove(number);
    }

    /// Takes those that wait for no change and satisfy a condition, and claims them.
    fn take(&self, mut wakes: impl FnMut(&Sleeper) -> bool) -> Vec<StrandRef> {
        let mut list = self.0.lock();
        let numbers = list.scan(|sleeper| sleeper.stripes().is_empty() && wakes(sleeper)).collect();
        list.take(numbers)
    }

    fn take_changed(&self, memory: &Memory, changed: &[Stripe]) -> Vec<StrandRef> {
        let mut list = self.0.lock();
        let numbers = list.awaiting_change(memory, changed);
        list.take(numbers)
    }

    /// Shows the objects of those that still wait to the collector.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(&mut Word)) {
        for sleeper in self.0.lock().sleepers.values().filter(|sleeper| sleeper.is_asleep()) {
            sleeper.strand.object.visit(visit);
        }
    }
}

impl Sleeper {
    fn is_asleep(&self) -> bool {
        self.strand.current_ticket() == self.ticket
    }

    fn is_of(&self, memory: &Memory) -> bool {
        std::ptr::eq(self.memory, memory)
    }

    /// The stripes that it waits for.
    fn stripes(&self) -> &[Stripe] {
        match &self.awaits {
            Awaited::Change(stripes) => stripes,
            Awaited::Right | Awaited::End => &[],
        }
    }

    /// The same, if it is found by them.
    fn few_stripes(&self) -> &[Stripe] {
        let stripes = self.stripes();
        if stripes.len() <= FEW { stripes } else { &[] }
    }
}

/// Where a strand sleeps: its ticket, and its number in the list.
type Bed = (u64, u64);

/// Parks the strand that runs before the instruction in the saved state, or before its begin.
fn sleep(thread: &mut Thread, memory: &'static Memory, awaits: Awaited) -> Bed {
    let what = if matches!(awaits, Awaited::Change(_)) { FOR_CHANGE } else { FOR_INEVITABLE };
    let strand = thread.strand();
    let ticket = if thread.innermost().is_some() {
        waiting::park_before(thread, what)
    } else {
        messages::hand_back(thread);
        waiting::park_to_begin(thread, what)
    };
    let number = thread.vm.transactions.sleepers.add(Sleeper { memory, strand, ticket, awaits });
    (ticket, number)
}

/// Undoes [`sleep`], for what was awaited has come; or the strand was woken already.
fn wake_up(thread: &mut Thread, (ticket, number): Bed) -> Outcome {
    if !waiting::unpark(thread, ticket) {
        return Outcome::Park;
    }
    thread.vm.transactions.sleepers.remove(number);
    if thread.innermost().is_none() {
        messages::take_again(thread);
    }
    Outcome::Resume
}

/// Waits until one of these stripes is newer than a snapshot.
pub(super) fn wait_for_change(
    thread: &mut Thread,
    memory: &'static Memory,
    mut stripes: Vec<Stripe>,
    snapshot: u64,
) -> Outcome {
    stripes.iter_mut().for_each(|stripe| *stripe = memory.space.own_number(*stripe));
    stripes.sort_unstable();
    stripes.dedup();
    let bed = sleep(thread, memory, Awaited::Change(stripes.clone()));
    if memory.space.watch(&stripes, snapshot) { Outcome::Park } else { wake_up(thread, bed) }
}

/// Waits until the strand has the right to be inevitable.
pub(super) fn wait_for_right(thread: &mut Thread, memory: &'static Memory) -> Outcome {
    let strand = thread.strand();
    let bed = sleep(thread, memory, Awaited::Right);
    if memory.hold(strand) { wake_up(thread, bed) } else { Outcome::Park }
}

/// Parks the strand until the inevitable transaction has ended, unless it has by now; whether it is parked. No GC
/// point.
pub(super) fn wait_for_inevitable(thread: &mut Thread, memory: &'static Memory) -> bool {
    let bed = sleep(thread, memory, Awaited::End);
    let outcome = if memory.is_held() { Outcome::Park } else { wake_up(thread, bed) };
    let is_parked = matches!(outcome, Outcome::Park);
    if is_parked {
        calls::stop(thread, Stop::Parked);
    }
    is_parked
}

/// Wakes the strands that wait for a change of one of these stripes, which have changed.
#[cold]
pub(super) fn wake_changed(thread: &mut Thread, memory: &Memory, changed: &[Stripe]) {
    let woken = thread.vm.transactions.sleepers.take_changed(memory, changed);
    wake(thread, woken);
}

/// Gives the right to be inevitable to the one who has waited for it longest, if somebody does, and wakes
/// those who waited for the end.
pub(super) fn pass_right(thread: &mut Thread, memory: &Memory) {
    let sleepers = &thread.vm.transactions.sleepers;
    let next = loop {
        let mut is_first = true;
        let first = sleepers.take(|sleeper| {
            let is_next = sleeper.is_of(memory) && matches!(sleeper.awaits, Awaited::Right);
            is_next && std::mem::take(&mut is_first)
        });
        // One that was ended while it waited is taken, but not claimed.
        if is_first || !first.is_empty() {
            break first;
        }
    };
    memory.pass_to(next.first().copied());
    wake(thread, next);
    // Whoever asks for the right from now on and does not get it finds that somebody has it.
    let sleepers = &thread.vm.transactions.sleepers;
    let waited = sleepers.take(|sleeper| {
        sleeper.is_of(memory)
            && (matches!(sleeper.awaits, Awaited::End) || !memory.is_held())
            && !matches!(sleeper.awaits, Awaited::Change(_))
    });
    wake(thread, waited);
}

fn wake(thread: &mut Thread, strands: Vec<StrandRef>) {
    for strand in strands {
        waiting::wake_strand(thread, strand, Delivery::Value, Word::NIL);
    }
}
