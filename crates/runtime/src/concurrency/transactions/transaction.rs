//! A transaction: begin, commit, conflict, marks to go back to. The primitives of `Transaction` call it, and guarded
//! accesses when they meet a conflict.
//!
//! `atomic:` of the library begins with the primitive [`begin`] and always ends with [`commit`] in a `finally` block. A
//! transaction within a transaction is part of it: the depth counts them. After a conflict, the stack is cut back to
//! the activation of the outermost `atomic:`, which executes [`begin`] again. Before the conflict all writes of the
//! transaction were in its list of writes, and its messages and output in its list of effects: they are emptied, and
//! nothing has happened.
//!
//! Strands that a transaction starts execute it, too ([`shared`]): the `atomic:` of such a strand is a part.
//!
//! Progress. A transaction that has lost `MANY` times begins as an inevitable one, which cannot lose. Strands get that
//! right in the order of their requests. Until such a transaction has an effect beyond memory, it can still go back,
//! and retry: no other strand has seen anything of it.

use std::sync::atomic::AtomicU32;

use squall_events::Kind;
use squall_heap::{Mutator, Object, Word};
use squall_transactions::{Attempt, Conflict, Stripe};

use super::access::Place;
use super::effects;
use super::guarding;
use super::shared;
use super::sleepers;
use super::taped;
use crate::execution::calls;
use crate::execution::stack_traces;
use crate::execution::unwind;
use crate::model::function::Function;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::state::stack::Activation;
use crate::state::strand::StrandRef;
use crate::state::thread::{State, Thread};
use crate::state::transactions::memory::Memory;
use crate::state::transactions::presence::{self, Seat};
use crate::state::transactions::record::{Mark, Note, Transaction};
use crate::state::transactions::sleepers::Retry;
use crate::state::transactions::statistics::Cause;
use crate::state::transactions::writes::Writes;

/// The number of losses after which a transaction begins as an inevitable one.
const MANY: u32 = 10;

/// The number of losses after which a strand lets others run before it tries again.
const SEVERAL: u32 = 3;

/// The time of one of this many transactions is measured from its begin.
const SAMPLED: u64 = 64;

/// The transaction of the strand that runs, which is in one.
pub(super) fn running(thread: &mut Thread) -> &mut Transaction {
    thread.transaction.as_deref_mut().expect("the strand is in a transaction")
}

/// Begins a transaction at this activation, if no rare case applies; answers whether it has. Needs no saved state. The
/// registers are passed one by one: a load of two that were stored one by one would wait for the stores.
#[inline(never)]
pub fn try_begin(
    thread: &mut Thread,
    pc: *const AtomicU32,
    frame: *mut Word,
    function: *const Function,
) -> bool {
    let (Some(memory), None) = (thread.memory, &thread.transaction) else { return false };
    let Some(transaction) = &mut thread.spare_transaction else { return false };
    let is_sample = thread.tally.will_begin().is_multiple_of(SAMPLED);
    if is_sample || memory.is_held() {
        return false;
    }
    thread.tally.begun();
    transaction.home = State { pc, frame, function };
    transaction.depth = 1;
    transaction.begun = None;
    transaction.attempt.begin(&memory.space);
    std::mem::swap(&mut thread.transaction, &mut thread.spare_transaction);
    thread.note(Kind::TransactionBegun, || []);
    true
}

/// Ends a transaction, if nothing about it is rare, and nothing is in its way; whether it has ended. Needs no
/// saved state. Otherwise nothing has happened.
#[inline(never)]
pub fn try_commit(thread: &mut Thread) -> bool {
    if thread.watch.is_on && thread.vm.debugging.debugger().is_some() {
        // A debugger may stop the strand after the call.
        return false;
    }
    let strand = thread.strand();
    let Thread { memory: Some(memory), transaction: Some(transaction), mutator, seat, .. } = thread
    else {
        return false;
    };
    let is_usual = transaction.depth == 1
        && !transaction.attempt.is_inevitable()
        && transaction.effects.is_empty()
        && transaction.marks.is_empty()
        && !transaction.is_large()
        && !memory.is_held();
    if !is_usual || !transaction.try_write_back(mutator, memory, (*seat, strand)) {
        return false;
    }
    thread.tally.committed(transaction.length());
    transaction.writes.clear();
    (transaction.depth, transaction.losses) = (0, 0);
    // There was no transaction: this one takes the spare one.
    std::mem::swap(&mut thread.transaction, &mut thread.spare_transaction);
    thread.transaction = None;
    thread.note(Kind::TransactionCommitted, || []);
    true
}

impl Transaction {
    /// Stores the writes, unless there is a conflict or a strand waits for a change; answers whether it has. No GC
    /// point.
    #[inline(always)]
    fn try_write_back(
        &mut self,
        mutator: &mut Mutator,
        memory: &Memory,
        (seat, strand): (Seat, StrandRef),
    ) -> bool {
        let Transaction { attempt, writes, .. } = self;
        let space = &memory.space;
        if writes.is_empty() {
            attempt.release(space);
            return true;
        }
        let mut store = || store_all(writes, mutator, memory, strand);
        if seat.if_sole(memory, || attempt.commit_alone(space, writes.stripes(), &mut store)) {
            return true;
        }
        if attempt.acquire(space, writes.stripes()).is_err() {
            return false;
        }
        if attempt.is_watched() {
            attempt.release(space);
            return false;
        }
        let Ok(time) = attempt.prepare(space) else { return false };
        store();
        attempt.publish(space, time, |_| {});
        true
    }
}

/// Stores the writes.
#[inline(always)]
fn store_all(writes: &Writes, mutator: &mut Mutator, memory: &Memory, strand: StrandRef) {
    for entry in writes.entries() {
        entry.store(mutator);
        memory.set_writer(entry.stripe, entry.pc, strand);
    }
}

/// Begins a transaction, or a part of the one that runs. *GC point.*
pub fn begin(thread: &mut Thread) -> Outcome {
    let strand = thread.strand();
    if let Some(transaction) = &mut thread.transaction
        && transaction.depth > 0
    {
        match &transaction.shared {
            Some(shared) if !shared.is_led_by(strand) => shared.begin_part(strand),
            _ => transaction.depth += 1,
        }
        return Outcome::Return(Word::NIL);
    }
    let memory = match guarding::take_part(thread) {
        Ok(memory) => memory,
        Err(failure) => return failure.into(),
    };
    let home = thread.state;
    let begun = thread.tally.begun();
    let sample = begun.is_multiple_of(SAMPLED);
    if sample {
        presence::claim_sometimes(thread, memory, begun);
    }
    let polls = if thread.watch.is_on { thread.polls_for_tape() } else { None };
    let spare = thread.transaction.take().or_else(|| thread.spare_transaction.take());
    let transactions = &thread.vm.transactions;
    let transaction = spare.unwrap_or_else(|| Transaction::new(transactions));
    let transaction = thread.transaction.insert(transaction);
    transaction.home = home;
    transaction.polls = transaction.polls.or(polls);
    let must_win = transaction.losses >= MANY || memory.is_held_by(strand);
    if must_win && !memory.hold(strand) {
        return sleepers::wait_for_right(thread, memory);
    }
    transaction.depth = 1;
    transaction.begun = match transaction.losses {
        0 if !sample => None,
        0 => Some((thread.vm.scheduler.elapsed(), SAMPLED)),
        _ => Some((thread.vm.scheduler.elapsed(), 1)),
    };
    transaction.attempt.begin(&memory.space);
    if must_win {
        // Nothing was read, so nothing can have changed.
        _ = transaction.attempt.make_inevitable(&memory.space, []);
        thread.tally.became_inevitable();
        thread.vm.transactions.statistics.note_inevitable(home.pc as usize, None);
    }
    thread.note(Kind::TransactionBegun, || []);
    if thread.is_guarded { Outcome::Return(Word::NIL) } else { Outcome::Guard(Word::NIL) }
}

/// Reads a place of an object for the transaction that runs, if nothing is in the way of that.
///
/// # Safety
///
/// The object has the place.
#[inline(always)]
pub(super) unsafe fn try_read(
    transaction: &mut Transaction,
    memory: &Memory,
    object: Object,
    place: impl Place,
    pc: usize,
) -> Option<Word> {
    let hash = object.assigned_hash()?;
    if transaction.writes.may_have(hash, place.index()) {
        return None;
    }
    let note = Note::new(pc, object.layout());
    // SAFETY: as the caller promises.
    let load = || unsafe { place.load(object) };
    transaction.attempt.try_read(&memory.space, place.stripe(hash), note, load)
}

/// Reads a place of an object for the transaction that runs.
///
/// # Safety
///
/// The object has the place.
pub(super) unsafe fn read(thread: &mut Thread, object: Object, place: impl Place) -> Option<Word> {
    let memory = super::access::memory(thread);
    let pc = thread.state.pc as usize;
    let transaction = running(thread);
    let hash = object.identity_hash();
    if let Some(value) = transaction.writes.find(object, hash, place.index()) {
        return Some(value);
    }
    if transaction.attempt.is_full() && !make_room(thread, Transaction::make_room_for_reads) {
        return None;
    }
    let transaction = running(thread);
    let is_taped = transaction.taped.is_some();
    if is_taped && taped::waits_to_read(thread) {
        return None;
    }
    let transaction = running(thread);
    let note = Note::new(pc, object.layout());
    let stripe = place.stripe(hash);
    // SAFETY: as the caller promises.
    let load = || unsafe { place.load(object) };
    match transaction.attempt.read(&memory.space, stripe, note, load) {
        Ok(value) => {
            if is_taped {
                taped::note_read(thread, memory, stripe);
            }
            Some(value)
        }
        Err(conflict) => {
            lose(thread, conflict);
            None
        }
    }
}

/// Writes a place of an object for the transaction that runs, if it is the first time and nothing is in the way
/// of that; whether that is done.
///
/// # Safety
///
/// The object has the place.
#[inline(always)]
pub(super) unsafe fn try_write(
    transaction: &mut Transaction,
    object: Object,
    place: impl Place,
    value: Word,
    pc: usize,
) -> bool {
    let Some(hash) = object.assigned_hash() else { return false };
    if transaction.attempt.is_inevitable() {
        return false;
    }
    let from = (place.stripe(hash), pc);
    transaction.writes.try_add(object, hash, place.index(), value, from)
}

/// Writes a place of an object for the running transaction; false if there was no room. Then execution continues at the
/// saved state.
///
/// # Safety
///
/// The object has the place.
#[must_use]
pub(super) unsafe fn write(
    thread: &mut Thread,
    object: Object,
    place: impl Place,
    value: Word,
) -> bool {
    let memory = super::access::memory(thread);
    let pc = thread.state.pc as usize;
    let transaction = running(thread);
    if transaction.writes.is_full() && !make_room(thread, Transaction::make_room_for_writes) {
        return false;
    }
    let transaction = running(thread);
    let hash = object.identity_hash();
    let stripe = place.stripe(hash);
    if transaction.attempt.is_inevitable() {
        transaction.attempt.reserve(&memory.space, stripe);
    }
    transaction.writes.set(object, hash, place.index(), value, (stripe, pc));
    true
}

/// Makes room in a list of the transaction that runs here, which counts as the memory of its sandbox; whether there is room. If not,
/// the instruction fails.
#[cold]
fn make_room(thread: &mut Thread, grow: fn(&mut Transaction) -> bool) -> bool {
    let transaction = running(thread);
    let before = transaction.account.bytes();
    if !grow(transaction) {
        calls::fail_here(thread, Failure::out_of_memory());
        return false;
    }
    let grown = transaction.account.bytes() - before;
    thread.charge_memory(grown);
    true
}

/// Memory.
impl Transaction {
    /// Makes room for more reads; whether there is.
    #[cold]
    fn make_room_for_reads(&mut self) -> bool {
        // Repeated reads are remembered repeatedly, which costs less than a search.
        const MANY: usize = 1 << 20;
        let is_rich = self.attempt.reads() < MANY;
        if !is_rich && self.attempt.condense() {
            return true;
        }
        if self.account.take(self.attempt.growth()) {
            self.attempt.grow();
            return true;
        }
        is_rich && self.attempt.condense()
    }

    /// Makes room for more writes; whether there is.
    #[cold]
    fn make_room_for_writes(&mut self) -> bool {
        let has_room = self.account.take(self.writes.growth());
        if has_room {
            self.writes.grow();
        }
        has_room
    }
}

/// Ends a transaction, or a part of one: its writes become visible, or it begins anew. *GC point.*
pub fn commit(thread: &mut Thread) -> Outcome {
    // One that was abandoned has ended, but its `finally` blocks run.
    let strand = thread.strand();
    let Some(transaction) = &mut thread.transaction else { return Outcome::Return(Word::NIL) };
    if transaction.is_of_other(strand) {
        return end_part(thread);
    }
    if transaction.depth > 1 {
        transaction.depth -= 1;
        return Outcome::Return(Word::NIL);
    }
    let with_parts = transaction.shared.as_ref().filter(|shared| shared.has_parts()).cloned();
    let memory = super::access::memory(thread);
    if let Some(shared) = with_parts {
        return sleepers::wait_for_parts(thread, memory, shared);
    }
    let mut changed = Vec::new();
    if let Err(conflict) = write_back(thread, memory, &mut changed) {
        lose(thread, conflict);
        return Outcome::Resume;
    }
    committed(thread, memory, &changed)
}

/// The transaction has stored its writes: it ends, strands wake that wait for a change of these stripes, and its effects
/// happen. *GC point.*
pub(super) fn committed(
    thread: &mut Thread,
    memory: &'static Memory,
    changed: &[Stripe],
) -> Outcome {
    let transaction = running(thread);
    let length = transaction.length();
    transaction.writes.clear();
    let effects =
        (!transaction.effects.is_empty()).then(|| std::mem::take(&mut transaction.effects));
    thread.tally.committed(length);
    thread.note(Kind::TransactionCommitted, || []);
    finish(thread, memory);
    if !changed.is_empty() {
        sleepers::wake_changed(thread, memory, changed);
    }
    effects.map_or(Outcome::Return(Word::NIL), |effects| effects.perform(thread))
}

/// The `atomic:` of a strand that takes part has ended; the leader may wait for the last one.
fn end_part(thread: &mut Thread) -> Outcome {
    let memory = super::access::memory(thread);
    let strand = thread.strand();
    let shared = running(thread).shared.as_ref();
    if let Some(leader) = shared.and_then(|shared| shared.end_part(strand)) {
        sleepers::wake_leader(thread, memory, leader);
    }
    Outcome::Return(Word::NIL)
}

/// Stores the transaction's writes. No GC point.
pub(super) fn write_back(
    thread: &mut Thread,
    memory: &Memory,
    changed: &mut Vec<Stripe>,
) -> Result<(), Conflict<Note>> {
    let strand = thread.strand();
    let Thread { transaction, mutator, .. } = thread;
    let Transaction { attempt, writes, .. } =
        transaction.as_deref_mut().expect("the strand is in a transaction");
    let space = &memory.space;
    if writes.is_empty() {
        // Everything that was read was current as of one time.
        attempt.release(space);
        return Ok(());
    }
    attempt.acquire(space, writes.stripes())?;
    let time = attempt.prepare(space)?;
    store_all(writes, mutator, memory, strand);
    attempt.publish(space, time, |stripe| changed.push(stripe));
    Ok(())
}

/// The transaction has ended, with its effect or without any: its memory is kept for the next one.
fn finish(thread: &mut Thread, memory: &'static Memory) {
    let strand = thread.strand();
    if let Some(mut transaction) = thread.transaction.take() {
        transaction.reset();
        transaction.losses = 0;
        if let Some(polls) = transaction.polls.take() {
            thread.forget_polls_since(polls);
        }
        if let Some(shared) = transaction.shared.take() {
            shared::end(thread, &shared);
        }
        thread.spare_transaction = Some(transaction).filter(|spare| !spare.is_large());
    }
    if memory.is_held_by(strand) {
        sleepers::pass_right(thread, memory);
    }
}

/// Ends the transaction of the strand that runs, if it is in one, as if it had not been: the strand is to
/// end. If the transaction is another strand's, it goes on.
pub fn abandon(thread: &mut Thread) {
    let strand = thread.strand();
    if let Some(transaction) = &mut thread.transaction
        && !transaction.is_of_other(strand)
    {
        let memory = thread.memory.expect("a guarded vat has a memory");
        transaction.attempt.release(&memory.space);
        thread.note(Kind::TransactionAborted, || []);
        finish(thread, memory);
    }
}

/// The transaction has lost: it begins anew, at once or after a wait. Execution continues at the saved state.
#[cold]
pub(super) fn lose(thread: &mut Thread, conflict: Conflict<Note>) {
    let memory = super::access::memory(thread);
    let transaction = running(thread);
    let losses = transaction.losses + 1;
    transaction.losses = losses;
    let (begun, written) = (transaction.begun, transaction.written(&conflict));
    let now = begun.map(|_| thread.vm.scheduler.elapsed());
    let took = begun.zip(now).map(|((begun, attempts), now)| (now.saturating_sub(begun), attempts));
    thread.tally.lost(Cause::of(&conflict), took);
    thread.note(Kind::TransactionAborted, || []);
    thread.vm.transactions.statistics.note_conflict(memory, written, &conflict);
    restart(thread, memory);
    match conflict {
        Conflict::Reserved(_) => _ = sleepers::wait_for_inevitable(thread, memory),
        _ if losses >= SEVERAL => {
            thread.yields = true;
            calls::preempt(thread);
        }
        _ => {}
    }
}

/// Forgets the attempt, and makes execution go on where the transaction began.
fn restart(thread: &mut Thread, memory: &Memory) {
    let transaction = running(thread);
    transaction.attempt.release(&memory.space);
    transaction.reset();
    let home = transaction.home;
    cut_to(thread, home);
}

/// Makes execution continue at an instruction of an activation further out, without running the `ensure:` blocks of
/// those above it.
fn cut_to(thread: &mut Thread, state: State) {
    let home = state.activation().expect("a transaction begins in an activation");
    let above: Vec<Activation> =
        thread.activations().take_while(|activation| activation.frame != home.frame).collect();
    for activation in above {
        unwind::leave(thread, activation);
    }
    thread.resume_at(home, home.pc);
}

/// Makes sure that the running transaction, if there is one, cannot lose any more, before the call in progress has an
/// effect that cannot be undone. Otherwise answers where execution continues. *GC point.*
pub fn make_inevitable(thread: &mut Thread, cause: &'static str) -> Result<(), Outcome> {
    match &thread.transaction {
        Some(transaction) if !transaction.has_effect => {}
        _ => return Ok(()),
    }
    let memory = super::access::memory(thread);
    let pc = thread.state.pc as usize;
    if !taped::has_effect_now(thread)? {
        secure(thread, memory)?;
    }
    running(thread).has_effect = true;
    thread.vm.transactions.statistics.note_inevitable(pc, Some(cause));
    effects::write_pending_output(thread);
    Ok(())
}

/// Makes the running transaction one that cannot lose. *GC point.*
fn secure(thread: &mut Thread, memory: &'static Memory) -> Result<(), Outcome> {
    if !memory.hold(thread.strand()) {
        return Err(sleepers::wait_for_right(thread, memory));
    }
    let order = thread.order_to_commit();
    let Transaction { attempt, writes, .. } = running(thread);
    if !attempt.is_inevitable() {
        if let Err(conflict) = attempt.make_inevitable(&memory.space, writes.stripes()) {
            drop(order);
            // The right stays with the strand, so that it does not lose again.
            lose(thread, conflict);
            return Err(Outcome::Resume);
        }
        thread.tally.became_inevitable();
    }
    if let Some(order) = order {
        taped::note_effect(thread, memory, order);
    }
    Ok(())
}

/// Marks.
///
/// A mark has a number: the count of marks around it.
pub fn mark(thread: &mut Thread) -> Outcome {
    set_mark(thread, None)
}

/// Marks the begin of a choice, and answers the mark; or nil if the first alternative was tried, and the
/// second is to be.
pub fn choose(thread: &mut Thread) -> Outcome {
    let state = thread.state;
    if let Some(transaction) = &mut thread.transaction
        && std::mem::take(&mut transaction.takes_second)
    {
        return Outcome::Return(Word::NIL);
    }
    set_mark(thread, Some(state))
}

fn set_mark(thread: &mut Thread, choice: Option<State>) -> Outcome {
    let Some(transaction) = &mut thread.transaction else { return outside().into() };
    let number = Word::from_small_integer_unchecked(transaction.marks.len() as i64);
    let writes = transaction.writes.mark();
    let (effects, depth) = (transaction.effects.len(), transaction.depth);
    transaction.marks.push(Mark { writes, effects, depth, choice });
    Outcome::Return(number)
}

/// Forgets a mark and later ones, but not the writes since.
pub fn forget_mark(thread: &mut Thread, number: Word) -> Outcome {
    if let Some(transaction) = &mut thread.transaction {
        let marks = marks_from(transaction, number);
        for mark in marks.into_iter().rev() {
            transaction.writes.unmark(mark.writes);
        }
    }
    Outcome::Return(Word::NIL)
}

/// Undoes the writes since a mark, and forgets the mark.
pub fn go_back(thread: &mut Thread, number: Word) -> Outcome {
    let Some(transaction) = &mut thread.transaction else { return Outcome::Return(Word::NIL) };
    if transaction.has_effect {
        return Outcome::Return(Word::FALSE);
    }
    for mark in marks_from(transaction, number).into_iter().rev() {
        undo(transaction, mark);
    }
    Outcome::Return(Word::TRUE)
}

fn marks_from(transaction: &mut Transaction, number: Word) -> Vec<Mark> {
    let number = number.as_small_integer().and_then(|number| usize::try_from(number).ok());
    let number = number.unwrap_or(usize::MAX).min(transaction.marks.len());
    transaction.marks.drain(number..).collect()
}

fn undo(transaction: &mut Transaction, mark: Mark) {
    transaction.writes.go_back(mark.writes);
    transaction.effects.truncate(mark.effects);
    transaction.depth = mark.depth;
}

/// Gives up the transaction's changes: for the second choice, or, if there is none, until a stripe that it has read is
/// changed.
pub fn retry(thread: &mut Thread) -> Outcome {
    let Some(transaction) = &mut thread.transaction else { return outside().into() };
    if transaction.has_effect {
        return Failure::new(FailureReason::Inevitable).into();
    }
    while let Some(mark) = transaction.marks.pop() {
        let choice = mark.choice;
        undo(transaction, mark);
        // A choice that was left is forgotten in a `finally` block.
        if let Some(choice) = choice {
            transaction.takes_second = true;
            thread.tally.chose_second();
            cut_to(thread, choice);
            return Outcome::Resume;
        }
    }
    thread.tally.retried();
    thread.note(Kind::TransactionRetried, || []);
    let memory = super::access::memory(thread);
    if taped::keeps_others_out(thread) {
        restart(thread, memory);
        return taped::wait_to_begin(thread);
    }
    let attempt = &running(thread).attempt;
    if attempt.is_inevitable() {
        return retry_as_ordinary(thread, memory);
    }
    let (stripes, snapshot) = (attempt.stripes().collect(), attempt.snapshot());
    let (reads, retried) = (places_read(attempt), stack_traces::call_of_library(thread));
    restart(thread, memory);
    let begun = stack_traces::call_of_library(thread);
    sleepers::wait_for_change(thread, memory, stripes, snapshot, Retry { reads, retried, begun })
}

/// The first places of the program that have read something, for reports.
fn places_read(attempt: &Attempt<Note>) -> Vec<Note> {
    const SHOWN: usize = 8;
    const LOOKED_AT: usize = 1024;
    let mut places: Vec<Note> = Vec::new();
    for &note in attempt.notes().take(LOOKED_AT) {
        let is_known = |other: &Note| (other.pc(), other.layout) == (note.pc(), note.layout);
        if places.len() < SHOWN && !places.iter().any(is_known) {
            places.push(note);
        }
    }
    places
}

/// A transaction that could not lose says `retry`: it gives up the right to be inevitable, and begins anew like any
/// other. So it remembers its reads, and if it says `retry` again, it waits for a change of them.
#[cold]
fn retry_as_ordinary(thread: &mut Thread, memory: &'static Memory) -> Outcome {
    restart(thread, memory);
    running(thread).losses = 0;
    sleepers::pass_right(thread, memory);
    Outcome::Resume
}

/// There is no transaction to do this in.
fn outside() -> Failure {
    Failure::new(FailureReason::NoTransaction)
}
