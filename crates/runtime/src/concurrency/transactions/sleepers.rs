//! Sleepers: strands that wait because of a transaction. Transactions put strands here, and committing strands wake
//! them.
//!
//! | a strand waits for | because | woken by |
//! |---|---|---|
//! | a change | its transaction said `retry` | the next change of a stripe that it had read |
//! | the right to be inevitable | another strand has it | the holder, when its transaction has ended; in the order of their requests |
//! | the end of the inevitable transaction | it wants to write a stripe that the inevitable transaction has read | the same |
//! | the parts of its transaction | another participant executes an `atomic:` | the end of the last part |
//!
//! A strand is parked *before* the instruction in its saved state, which it executes again; a turn that consists of one
//! assignment has no instruction, and begins anew with its message. The strand parks, puts itself into the list, and
//! then checks whether the awaited event has come meanwhile; a thread that causes the event looks into the list
//! afterwards.
//!
//! Very many strands may wait for a change, each of other stripes: they are found by the stripes that they have read.
//! Other sleepers, and those that have read very many stripes, are found by a search of all sleepers of their kind.
//!
//! A strand of the list may be woken by any running strand that can reach the objects it has read, which the collector
//! cannot see; so the strands of the list are roots. A leader that waits for parts is woken by the participants that
//! execute them, so it is a root only as long as one of these is live: without them it is lost.

use std::sync::Arc;

use squall_heap::Word;
use squall_transactions::Stripe;

use crate::concurrency::embedding::errands;
use crate::concurrency::messages;
use crate::concurrency::waiting;
use crate::execution::calls;
use crate::model::outcome::Outcome;
use crate::state::strand::{Claimed, Delivery, StrandRef};
use crate::state::thread::{Stop, Thread};
use crate::state::transactions::memory::Memory;
use crate::state::transactions::shared::Shared;
use crate::state::transactions::sleepers::{Awaited, Retry, Sleeper};
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// The word in a strand's object for a wait for a change.
pub const FOR_CHANGE: Word = Word::TRUE;
/// The word in a strand's object for a wait for the end of an inevitable transaction.
pub const FOR_INEVITABLE: Word = Word::FALSE;
/// The word in a strand's object for a wait for the parts of its transaction.
pub const FOR_PARTS: Word = Word::UNSET;

/// Where a strand sleeps: its ticket, and its number in the list.
type Bed = (u64, u64);

/// Parks the strand that runs before the instruction in the saved state, or before its begin.
fn sleep(thread: &mut Thread, memory: &'static Memory, awaits: Awaited) -> Bed {
    let what = match awaits {
        Awaited::Change(..) => FOR_CHANGE,
        Awaited::Right | Awaited::End => FOR_INEVITABLE,
        Awaited::Parts(_) => FOR_PARTS,
    };
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

/// Undoes [`sleep`], since the awaited event has come; or finds that the strand was woken already.
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
    retry: Retry,
) -> Outcome {
    stripes.iter_mut().for_each(|stripe| *stripe = memory.space.own_number(*stripe));
    stripes.sort_unstable();
    stripes.dedup();
    let bed = sleep(thread, memory, Awaited::Change(stripes.clone(), retry));
    if memory.space.watch(&stripes, snapshot) { Outcome::Park } else { wake_up(thread, bed) }
}

/// Waits until the strand may have the right to be inevitable: then it asks for it again.
pub(super) fn wait_for_right(thread: &mut Thread, memory: &'static Memory) -> Outcome {
    let bed = sleep(thread, memory, Awaited::Right);
    wait_for_holder(thread, memory, bed)
}

/// Leaves the strand, which is in the list, parked until the holder of the right wakes it, or resumes it if there is no
/// holder. In its name, nothing else may be done: it may have been woken by now, and have run to its end.
fn wait_for_holder(thread: &mut Thread, memory: &Memory, bed: Bed) -> Outcome {
    if memory.is_held() { Outcome::Park } else { wake_up(thread, bed) }
}

/// Waits until no other strand executes a part of the transaction. No strand can end one before this strand has stopped.
pub(super) fn wait_for_parts(
    thread: &mut Thread,
    memory: &'static Memory,
    shared: Arc<Shared>,
) -> Outcome {
    sleep(thread, memory, Awaited::Parts(shared));
    Outcome::Park
}

/// Wakes the leader of a transaction if it waits for the parts.
pub(super) fn wake_leader(thread: &mut Thread, memory: &Memory, leader: StrandRef) {
    let woken = thread.vm.transactions.sleepers.take(|sleeper| {
        sleeper.is_of(memory)
            && matches!(sleeper.awaits, Awaited::Parts(_))
            && sleeper.strand == leader
    });
    wake(thread, woken);
}

/// Parks the strand until the inevitable transaction has ended, unless it has by now; whether it is parked. No GC
/// point.
pub(super) fn wait_for_inevitable(thread: &mut Thread, memory: &'static Memory) -> bool {
    let bed = sleep(thread, memory, Awaited::End);
    let is_parked = matches!(wait_for_holder(thread, memory, bed), Outcome::Park);
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

/// Gives the right to be inevitable to the strand that has waited for it longest, if one waits, and wakes the strands
/// that wait for the end.
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
    memory.pass_to(next.first().map(|claimed| claimed.strand()));
    wake(thread, next);
    // A strand that asks for the right from now on and does not get it finds that another one has it.
    let sleepers = &thread.vm.transactions.sleepers;
    let waited = sleepers.take(|sleeper| {
        sleeper.is_of(memory)
            && (matches!(sleeper.awaits, Awaited::End) || !memory.is_held())
            && !matches!(sleeper.awaits, Awaited::Change(..) | Awaited::Parts(_))
    });
    wake(thread, waited);
}

/// A strand is lost. If it has the right to be inevitable, the right goes to the next strand, by an errand: the collector
/// wakes none. Called while all mutators stand.
pub(crate) fn lose_right(vm: &'static Vm, strand: StrandRef) {
    let memory = strand.vat().and_then(VatRef::memory);
    let Some(memory) = memory.filter(|memory| memory.is_held_by(strand)) else { return };
    let holder = memory.holder();
    errands::leave(vm, move |thread| {
        // The vat may have died as well, and its memory may be another vat's.
        if memory.holder() == holder {
            pass_right(thread, memory);
        }
    });
}

fn wake(thread: &mut Thread, strands: Vec<Claimed>) {
    for strand in strands {
        waiting::wake_strand(thread, strand, Delivery::Value, Word::NIL);
    }
}
