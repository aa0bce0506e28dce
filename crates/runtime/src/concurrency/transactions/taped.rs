//! Transactions in recordings and replays. The primitives of recorded runs call it, and so does a transaction that has its
//! first effect.
//!
//! A transaction happens at one moment for all other strands, so a recording needs that moment, and nothing of attempts that
//! came to nothing. It is a place in the order of operations on shared objects:
//!
//! ```text
//!   recorded                                        replayed
//!   begin … attempt fails; begin … waits for a      the begin waits until all before place 7 is done
//!   change; begin … reads, writes
//!   commit: note place 7, then the attempt's        reads, writes; commit: place 7 is done
//!   inputs
//! ```
//!
//! A commit holds the order. It checks that all that was read is current, even if nothing was written. So the transaction
//! reads at its place what it has read before it, and in a replay, where all transactions before it have committed and none
//! behind it has begun to store, it cannot lose: it is [alone](squall_transactions::Attempt::begin_alone).
//!
//! A transaction with an effect beyond memory waits for others in its midst, perhaps. It has two places: one at its first
//! effect, up to which it is as above, and one at its commit. In between others commit, but nothing that it has read changes.
//! If it reads what has changed since the first place, the recording has a place behind that change, and the replay reads
//! behind that as well. It may read earlier reads late, since they are the same up to the commit.
//!
//! A strand that says `retry`, has lost, or waits for the right to be inevitable lets others of its vat run, which ends its
//! item. The replay has no such waits: at the begin, it lets others run as long as the item has no transaction.
//!
//! An attempt of a replay that says `retry` waits for a store outside of transactions that has not happened yet: its begin lets
//! others run, and the place stays the next one.
//!
//! Strands of a vat that read or write outside of transactions what these use at the same time are a race that no recording
//! holds.

use smallvec::SmallVec;
use squall_bytecode::entities::Register;
use squall_events::replay::Extent;
use squall_transactions::Stripe;

use super::transaction::{self, running};
use crate::concurrency::gates;
use crate::concurrency::timers;
use crate::execution::calls;
use crate::model::outcome::Outcome;
use crate::state::replays::{Atomicity, Commit, Order, REFUSED};
use crate::state::thread::{Stop, Thread};
use crate::state::transactions::memory::Memory;
use crate::state::transactions::record::Stage;
use crate::state::vat;

/// Begins a transaction, or a part of the one that runs. *GC point.*
pub fn begin(thread: &mut Thread) -> Outcome {
    if thread.transaction.as_ref().is_some_and(|transaction| transaction.depth > 0) {
        return transaction::begin(thread);
    }
    // The recording has the vat before the transaction, which may come later.
    if let Err(failure) = vat::current(thread) {
        return failure.into();
    }
    match thread.atomic_by_tape() {
        Atomicity::Unknown => transaction::begin(thread),
        Atomicity::Open(extent) => open(thread, extent),
        Atomicity::Closed(place) => gates::wait(thread, Some(place)),
        Atomicity::Later => gates::ask_later(thread),
        Atomicity::Never => gates::wait(thread, None),
    }
}

/// In a replay: begins a transaction whose place it is. *GC point.*
fn open(thread: &mut Thread, extent: Extent) -> Outcome {
    let outcome = transaction::begin(thread);
    if matches!(outcome, Outcome::Return(_) | Outcome::Guard(_)) {
        let memory = super::access::memory(thread);
        let transaction = running(thread);
        transaction.attempt.begin_alone(&memory.space);
        transaction.taped.get_or_insert_default().stage = Stage::Open(extent);
    }
    outcome
}

/// Ends a transaction, or a part of one. *GC point.*
pub fn commit(thread: &mut Thread) -> Outcome {
    let Some(transaction) = thread.transaction.as_deref().filter(|it| it.depth == 1) else {
        return transaction::commit(thread);
    };
    let stage = transaction.taped.as_ref().map_or(Stage::Attempt, |taped| taped.stage);
    if !thread.repeats() {
        return commit_in_order(thread);
    }
    match stage {
        Stage::Attempt => transaction::commit(thread),
        Stage::Open(Extent::Whole) => commit_at_place(thread),
        Stage::Open(Extent::UpToEffect) => {
            thread.diverge("the transaction ends without the effect that it has in the recording");
            Outcome::Exit(REFUSED)
        }
        Stage::Placed => match thread.order() {
            Order::Open => commit_at_place(thread),
            Order::Closed(place) => gates::wait(thread, Some(place)),
            Order::Finished => gates::wait(thread, None),
            Order::Over => Outcome::Exit(REFUSED),
            Order::Outside | Order::Recorded(_) => transaction::commit(thread),
        },
    }
}

/// In a recorded run: the commit gets a place. *GC point.*
fn commit_in_order(thread: &mut Thread) -> Outcome {
    let Some(mut order) = order_to_commit(thread) else { return transaction::commit(thread) };
    let memory = super::access::memory(thread);
    let transaction = running(thread);
    let checked = match transaction.writes.is_empty() {
        // What was read was current at some time, and has to be so at this place.
        true => transaction.attempt.validate(&memory.space),
        false => Ok(()),
    };
    let mut changed = Vec::new();
    let written = checked.and_then(|()| transaction::write_back(thread, memory, &mut changed));
    if let Err(conflict) = written {
        drop(order);
        transaction::lose(thread, conflict);
        return Outcome::Resume;
    }
    let taped = running(thread).taped.take();
    thread.note_atomic(&mut order, taped, Extent::Whole);
    drop(order);
    transaction::committed(thread, memory, &changed)
}

/// The right to commit. If the transaction loses, execution goes on where it began, with registers that are needed there, but
/// not at its end: the collector must not leave them out. *GC point.*
fn order_to_commit(thread: &mut Thread) -> Option<Commit> {
    let home = running(thread).home.activation().expect("a transaction begins in an activation");
    let depth = thread.mutator.root_depth();
    let registers = home.function.frame_maps().before(home.pc);
    // SAFETY: the frame map names registers of this function's frame.
    let place = |register: Register| unsafe { home.register(register.index()) };
    let registers: SmallVec<[_; 8]> = registers.iter().map(place).collect();
    let kept: SmallVec<[_; 8]> = registers
        .iter()
        // SAFETY: the register is in an activation of this thread's strand, and held a word where the transaction began. It
        // does since then, or the transaction could not begin again.
        .map(|&register| thread.mutator.push_root(unsafe { register.read() }))
        .collect();
    let order = thread.order_to_commit();
    for (register, word) in registers.into_iter().zip(kept) {
        // SAFETY: as above; this thread alone uses the frame.
        unsafe { register.write(thread.mutator.get(word)) };
    }
    thread.mutator.truncate_roots(depth);
    order
}

/// In a replay: a transaction commits whose place it is. *GC point.*
fn commit_at_place(thread: &mut Thread) -> Outcome {
    let outcome = transaction::commit(thread);
    thread.advance();
    timers::wake_by_tape(thread);
    outcome
}

/// The running transaction is about to have its first effect. Answers whether this is a replay, in which it is alone. Otherwise
/// it has yet to become inevitable.
pub(super) fn has_effect_now(thread: &mut Thread) -> Result<bool, Outcome> {
    let taped = running(thread).taped.as_deref_mut();
    let Some(taped) = taped.filter(|taped| matches!(taped.stage, Stage::Open(_))) else {
        return Ok(false);
    };
    let stage = std::mem::replace(&mut taped.stage, Stage::Placed);
    if stage == Stage::Open(Extent::Whole) {
        thread.diverge("the transaction has an effect beyond memory, and none in the recording");
        return Err(Outcome::Exit(REFUSED));
    }
    thread.advance();
    timers::wake_by_tape(thread);
    Ok(true)
}

/// In a recorded run: the transaction has become inevitable for its first effect.
pub(super) fn note_effect(thread: &mut Thread, memory: &Memory, mut order: Commit) {
    let transaction = running(thread);
    transaction.attempt.follow(&memory.space);
    let taped = transaction.taped.take();
    thread.note_atomic(&mut order, taped, Extent::UpToEffect);
    running(thread).taped.get_or_insert_default().stage = Stage::Placed;
}

/// Whether the running transaction has had an effect, and its commit has a place of its own.
fn is_placed(thread: &mut Thread) -> bool {
    running(thread).taped.as_ref().is_some_and(|taped| taped.stage == Stage::Placed)
}

/// In a recorded run: the transaction has read this stripe, and has had an effect. Notes that if it is newer than that.
#[cold]
pub(super) fn note_read(thread: &mut Thread, memory: &Memory, stripe: Stripe) {
    if thread.repeats() || !is_placed(thread) {
        return;
    }
    let attempt = &mut running(thread).attempt;
    if attempt.is_news(&memory.space, stripe) {
        attempt.follow(&memory.space);
        thread.note_after();
    }
}

/// In a replay: whether the transaction, which has had an effect, is to read something later, and is parked. No GC point.
#[cold]
pub(super) fn waits_to_read(thread: &mut Thread) -> bool {
    if !thread.repeats() || !is_placed(thread) {
        return false;
    }
    let Some(place) = thread.reads_after() else { return false };
    let strand = thread.strand();
    let ticket = gates::park_at_gate(thread);
    thread.read_by_tape(place, strand, ticket);
    calls::stop(thread, Stop::Parked);
    true
}

/// In a replay: the attempt, which is undone, has said `retry` at its place. It begins again when others have run.
pub(super) fn wait_to_begin(thread: &mut Thread) -> Outcome {
    if thread.put_attempt_back() {
        return gates::begin_again(thread);
    }
    thread.diverge("the transaction waits, and does not in the recording");
    Outcome::Exit(REFUSED)
}

/// In a replay: whether the strand executes a transaction up to its place, and lets no others run meanwhile.
pub fn keeps_others_out(thread: &Thread) -> bool {
    let transaction = thread.transaction.as_deref();
    let taped = transaction.and_then(|transaction| transaction.taped.as_ref());
    taped.is_some_and(|taped| matches!(taped.stage, Stage::Open(_)))
}
