//! Strands that wait because of a transaction.
//!
//! | a strand waits for | because | woken by |
//! |---|---|---|
//! | a change | its transaction said `retry` | the next change of something that it had read |
//! | the right to be inevitable | another strand has it | that one, when its transaction has ended; in the order in which they came |
//! | the end of the inevitable transaction | it wants to write what that has read | the same |
//!
//! A strand is parked *before* the instruction in its saved state, which it executes again. It parks, puts
//! itself into the list, and then looks whether what it waits for has come meanwhile: who makes it come
//! looks into the list afterwards.
//!
//! Whoever may wake the strands of the list is some strand that runs and can reach what they have read, which
//! the collector cannot see; so they are roots.

use parking_lot::Mutex;
use squall_heap::Word;
use squall_transactions::Stripe;

use super::memory::Memory;
use crate::calls;
use crate::outcome::Outcome;
use crate::strand::{Delivery, StrandRef};
use crate::thread::{Stop, Thread};
use crate::waiting;

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

/// The list.
#[derive(Default)]
pub struct Sleepers(Mutex<Vec<Sleeper>>);

impl Sleepers {
    fn add(&self, sleeper: Sleeper) {
        let mut list = self.0.lock();
        // Those that were ended while they waited.
        list.retain(Sleeper::is_asleep);
        list.push(sleeper);
    }

    fn remove(&self, strand: StrandRef, ticket: u64) {
        self.0.lock().retain(|sleeper| sleeper.strand != strand || sleeper.ticket != ticket);
    }

    /// Takes those that satisfy a condition, and claims them.
    fn take(&self, mut wakes: impl FnMut(&Sleeper) -> bool) -> Vec<StrandRef> {
        let mut list = self.0.lock();
        let taken: Vec<Sleeper> = list.extract_if(.., |sleeper| wakes(sleeper)).collect();
        drop(list);
        let claimed = taken.into_iter().filter(|sleeper| sleeper.strand.claim(sleeper.ticket));
        claimed.map(|sleeper| sleeper.strand).collect()
    }

    /// Shows the objects of those that still wait to the collector.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(&mut Word)) {
        for sleeper in self.0.lock().iter().filter(|sleeper| sleeper.is_asleep()) {
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
}

/// Parks the strand that runs before the instruction in the saved state; answers its ticket.
fn sleep(thread: &mut Thread, memory: &'static Memory, awaits: Awaited) -> u64 {
    let what = if matches!(awaits, Awaited::Change(_)) { FOR_CHANGE } else { FOR_INEVITABLE };
    let strand = thread.strand();
    let ticket = waiting::park_before(thread, what);
    thread.vm.transactions.sleepers.add(Sleeper { memory, strand, ticket, awaits });
    ticket
}

/// Undoes [`sleep`], for what was awaited has come; or the strand was woken already.
fn wake_up(thread: &mut Thread, ticket: u64) -> Outcome {
    let strand = thread.strand();
    if !waiting::unpark(thread, ticket) {
        return Outcome::Park;
    }
    thread.vm.transactions.sleepers.remove(strand, ticket);
    Outcome::Resume
}

/// Waits until one of these stripes is newer than a snapshot.
pub(super) fn wait_for_change(
    thread: &mut Thread,
    memory: &'static Memory,
    stripes: Vec<Stripe>,
    snapshot: u64,
) -> Outcome {
    let ticket = sleep(thread, memory, Awaited::Change(stripes.clone()));
    if memory.space.watch(&stripes, snapshot) { Outcome::Park } else { wake_up(thread, ticket) }
}

/// Waits until the strand has the right to be inevitable.
pub(super) fn wait_for_right(thread: &mut Thread, memory: &'static Memory) -> Outcome {
    let strand = thread.strand();
    let ticket = sleep(thread, memory, Awaited::Right);
    if memory.hold(strand) { wake_up(thread, ticket) } else { Outcome::Park }
}

/// Waits until the inevitable transaction has ended. Afterwards the saved state says where execution goes on.
pub(super) fn wait_for_inevitable(thread: &mut Thread, memory: &'static Memory) {
    let ticket = sleep(thread, memory, Awaited::End);
    let outcome = if memory.is_held() { Outcome::Park } else { wake_up(thread, ticket) };
    if matches!(outcome, Outcome::Park) {
        calls::stop(thread, Stop::Parked);
    }
}

/// Wakes the strands that wait for a change of one of these stripes, which have changed.
#[cold]
pub(super) fn wake_changed(thread: &mut Thread, memory: &Memory, changed: &[Stripe]) {
    let is_changed =
        |stripe: Stripe| changed.iter().any(|&changed| memory.space.is_same(stripe, changed));
    let woken = thread.vm.transactions.sleepers.take(|sleeper| match &sleeper.awaits {
        Awaited::Change(stripes) => {
            sleeper.is_of(memory) && stripes.iter().any(|&stripe| is_changed(stripe))
        }
        _ => false,
    });
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
