//! Metering: counts the consumption of the running strand. Polls, calls and the heap draw through it.
//!
//! Strands outside of sandboxes are not counted, and nothing is done for them but to look at that when one is entered and
//! left. While a strand of a sandbox with a budget of fuel runs, each call and each turn of a loop costs a unit of fuel.
//! Machine code of the kind [`Sandboxed`](crate::model::native_code::CodeKind::Sandboxed) counts them itself, and comes to a slow
//! poll when nothing is left; while anything else runs, the thread's frame limit is 0, so that each poll is a slow one, which
//! counts. [`Metering::is_counted_by_code`](crate::state::sandbox::Metering) says which of them counts. Without a budget of
//! fuel, machine code counts, too, from a supply that is always filled up. A budget of processor time is charged at the polls
//! that the [pacer](crate::state::pacing) asks for.
//!
//! Fuel is drawn in portions, from the sandbox and those around it. The rest of a portion is given back when the strand
//! stops. Primitives that do more work than a call [charge](Thread::charge) for it, and the next poll draws that.
//!
//! So if several strands of a sandbox run in parallel, the sandbox may be over while they still have some fuel,
//! at most a portion each.
//!
//! The heap counts memory ([`squall_heap::Mutator::begin_meter`]), also in portions.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::{exhaust, memory};
use crate::concurrency::timers;
use crate::execution::unwind;
use crate::model::outcome::Failure;
use crate::state::items::{Item, ItemKind};
use crate::state::pacing;
use crate::state::sandbox::{Budgets, Metering, OVERDRAFT, Reason, SandboxRef, give_back, is_over};
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// How much fuel is drawn at a time.
const FUEL_PORTION: i64 = 1000;

/// How many bytes are drawn at a time.
const HEAP_PORTION: i64 = 64 << 10;

/// Draws up to `wanted` from a sandbox and those around it that have a budget; answers the amount, or the sandbox whose
/// budget is used up.
fn draw(
    sandbox: SandboxRef,
    wanted: i64,
    budget: impl Fn(Budgets) -> Option<u64>,
    of: impl Fn(&SandboxRef) -> &'static AtomicI64,
) -> Result<i64, SandboxRef> {
    let mut amount = wanted;
    for sandbox in sandbox.chain().filter(|sandbox| budget(sandbox.budgets()).is_some()) {
        let left = of(&sandbox).load(Ordering::Relaxed);
        if left <= 0 {
            return Err(sandbox);
        }
        amount = amount.min(left);
    }
    // Several threads may draw at the same time: then the rest is negative for a while.
    sandbox.chain().for_each(|sandbox| _ = of(&sandbox).fetch_sub(amount, Ordering::Relaxed));
    Ok(amount)
}

/// Counts a poll of a strand that belongs to a sandbox; whether that is all there is to do.
#[inline]
pub fn count_poll(thread: &mut Thread) -> bool {
    let asked = thread.requests.has_new()
        || thread.mutator.is_stop_requested()
        || thread.mutator.is_overdrawn();
    let is_counted = thread.metering.is_counted_by_code;
    thread.metering.fuel -= i32::from(!is_counted);
    if thread.metering.fuel >= 0 && !asked && !is_counted && thread.metering.counts_polls {
        return !thread.vm.options.polls_always;
    }
    count_slowly(thread);
    false
}

/// Draws fuel for polls that machine code has counted; whether there was enough.
pub fn draw_fuel(thread: &mut Thread) -> bool {
    if thread.metering.is_for_tape {
        thread.draw_polls();
    }
    thread.sandbox.is_none_or(|sandbox| pay(thread, sandbox).is_ok())
}

/// Draws fuel until all that was used is paid; answers the sandbox that has none.
fn pay(thread: &mut Thread, sandbox: SandboxRef) -> Result<(), SandboxRef> {
    if !thread.metering.counts_polls {
        (thread.metering.fuel, thread.metering.owed) = (Metering::UNLIMITED, 0);
    }
    while thread.metering.fuel < 0 {
        let owed = i64::try_from(thread.metering.owed).unwrap_or(i64::MAX);
        let used = i64::from(thread.metering.fuel).abs();
        let wanted = owed.saturating_add(used).max(FUEL_PORTION);
        let amount = draw(sandbox, wanted, |budgets| budgets.fuel, |sandbox| &sandbox.0.fuel)?;
        let paid = owed.min(amount);
        thread.metering.owed -= paid as u64;
        // What is left is at most a portion, and what was used.
        thread.metering.fuel += (amount - paid) as i32;
    }
    Ok(())
}

/// Draws fuel, and memory that was used without asking. If there is none, the sandbox is over.
#[cold]
fn count_slowly(thread: &mut Thread) {
    let Some(sandbox) = thread.sandbox else { return };
    if thread.metering.is_timed.load(Ordering::Relaxed)
        && let Err(empty) = pacing::charge(thread, sandbox)
    {
        return exhaust(thread, empty, Reason::Time);
    }
    if let Err(empty) = pay(thread, sandbox) {
        return exhaust(thread, empty, Reason::Fuel);
    }
    if thread.mutator.is_overdrawn() {
        // If there is no more, the sandbox is over.
        _ = thread.mutator.settle_meter();
    }
}

/// A message is about to be sent, or a channel to be written to. If there may be no more, the strand has been ended.
#[inline]
pub fn count_message(thread: &mut Thread) -> Result<(), Failure> {
    match thread.sandbox {
        None => Ok(()),
        Some(sandbox) => count_message_of(thread, sandbox),
    }
}

#[cold]
fn count_message_of(thread: &mut Thread, sandbox: SandboxRef) -> Result<(), Failure> {
    refuse_by_tape(thread)?;
    match draw(sandbox, 1, |budgets| budgets.messages, |sandbox| &sandbox.0.messages) {
        Ok(_) => Ok(()),
        Err(empty) => Err(refuse(thread, empty, Reason::Messages)),
    }
}

/// In a replay, there are no budgets. If one was exceeded by the message or strand that is about to be made, the strand that runs here
/// ends now. *GC point.*
fn refuse_by_tape(thread: &mut Thread) -> Result<(), Failure> {
    if !thread.watch.is_on
        || thread.running_strand().is_none()
        || thread.over_by_tape() != Some(true)
    {
        return Ok(());
    }
    unwind::kill(thread);
    Err(Failure::elsewhere())
}

/// A strand of this sandbox is about to be made. *GC point* if there may be none: then the strand that runs here has
/// been ended.
pub fn count_strand(thread: &mut Thread, sandbox: SandboxRef) -> Result<(), Failure> {
    refuse_by_tape(thread)?;
    sandbox.chain().for_each(|sandbox| _ = sandbox.0.strands.fetch_add(1, Ordering::Relaxed));
    let is_full = |sandbox: &SandboxRef| {
        let count = sandbox.0.strands.load(Ordering::Relaxed);
        sandbox
            .budgets()
            .strands
            .is_some_and(|most| count > i64::try_from(most).unwrap_or(i64::MAX))
    };
    let Some(full) = sandbox.chain().find(is_full) else { return Ok(()) };
    sandbox.remove_strand();
    Err(refuse(thread, full, Reason::Strands))
}

/// The result of a primitive would take more bytes than a sandbox around the running strand may have: that is over, and the strand ends
/// at its next poll. Without a budget, the memory of the system does not suffice.
pub fn refuse_result(thread: &mut Thread) -> Failure {
    let limited = |sandbox: &SandboxRef| sandbox.budgets().heap.is_some();
    let chain = thread.sandbox.into_iter().flat_map(SandboxRef::chain);
    if let Some(sandbox) = chain.filter(limited).min_by_key(|sandbox| sandbox.budgets().heap) {
        exhaust(thread, sandbox, Reason::Heap);
        thread.request_poll();
    }
    Failure::out_of_memory()
}

/// The sandbox is over, and the strand that runs here has been ended, if it belongs to it.
fn refuse(thread: &mut Thread, sandbox: SandboxRef, reason: Reason) -> Failure {
    exhaust(thread, sandbox, reason);
    if is_over(thread) && thread.running_strand().is_some() {
        unwind::kill(thread);
    }
    Failure::elsewhere()
}

/// The number of bytes that the strand on a thread, which has used up its allowance, may allocate in addition: its
/// sandboxes are asked. `None` if the sandbox must be measured first.
pub(crate) fn draw_memory(thread: &Thread, wanted: usize) -> Option<u64> {
    let sandbox = thread.sandbox?;
    if sandbox.is_over() {
        // The handling of the end needs some memory.
        return Some(HEAP_PORTION as u64);
    }
    let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
    let portion = wanted.max(HEAP_PORTION);
    let drawn = draw(sandbox, portion, |budgets| budgets.heap, |sandbox| &sandbox.0.allowance);
    match drawn {
        Ok(amount) if amount >= wanted => return Some(amount as u64),
        Ok(amount) => give_back(sandbox, amount, |sandbox| &sandbox.0.allowance),
        Err(_) => {}
    }
    overdraw(thread, sandbox, portion)
}

/// If it is no time to measure, and the sandboxes may overdraw so much, that is the allowance, and the strand is to give way.
fn overdraw(thread: &Thread, sandbox: SandboxRef, portion: i64) -> Option<u64> {
    rest(thread.vm)?;
    let limited = || sandbox.chain().filter(|sandbox| sandbox.budgets().heap.is_some());
    if limited().any(|sandbox| sandbox.0.overdraft.load(Ordering::Relaxed) < portion) {
        return None;
    }
    for sandbox in limited() {
        sandbox.0.overdraft.fetch_sub(portion, Ordering::Relaxed);
        sandbox.0.allowance.fetch_sub(portion, Ordering::Relaxed);
        if sandbox.0.allowance.load(Ordering::Relaxed) <= 0 {
            thread.vm.sandboxes.set_due(sandbox);
        }
    }
    thread.ask_to_poll();
    Some(portion as u64)
}

/// How long no sandbox is to be measured.
fn rest(vm: &Vm) -> Option<Duration> {
    let is_unseeded = !vm.scheduler.is_seeded();
    is_unseeded.then(|| vm.sandboxes.rests.left(vm.scheduler.elapsed())).flatten()
}

/// The item, which would be run now, unless it is one of a sandbox that waits to be measured: then it is kept until it is
/// time for that.
#[inline]
pub fn unless_it_rests(thread: &mut Thread, item: Item) -> Option<Item> {
    match thread.vm.sandboxes.rests.is_any_due() {
        false => Some(item),
        true => keep_back(thread, item),
    }
}

#[cold]
fn keep_back(thread: &mut Thread, item: Item) -> Option<Item> {
    let vm = thread.vm;
    let sandbox = match item.kind() {
        ItemKind::Vat(vat) => vat.sandbox(),
        ItemKind::Strand(strand) | ItemKind::StrandWithVat(strand) => strand.sandbox(),
        _ => None,
    };
    let is_due = |sandbox: SandboxRef| sandbox.0.is_due.load(Ordering::Relaxed);
    let waits = |sandbox: &SandboxRef| !sandbox.is_over() && sandbox.chain().any(is_due);
    let Some(rest) = sandbox.filter(waits).and_then(|_| rest(vm)) else { return Some(item) };
    if vm.sandboxes.rests.keep(item) {
        timers::end_rest_after(vm, rest);
    }
    None
}

/// The rest is over: the items that were kept are ready again.
pub fn end_rest(vm: &'static Vm) {
    vm.sandboxes.rests.take_kept().into_iter().for_each(|item| vm.scheduler.inject(item));
}

/// Measures the sandboxes around the strand that runs on a thread, while everything stands. How much it may
/// allocate; nothing if one of them is over now.
pub(crate) fn measure(vm: &'static Vm, thread: &Thread, wanted: usize) -> Option<u64> {
    let wanted_bytes = wanted as u64;
    let begin = vm.scheduler.elapsed();
    let _rest = Rest { vm, begin };
    for sandbox in thread.sandbox?.chain() {
        let Some(budget) = sandbox.budgets().heap else { continue };
        let kept = sandbox.0.kept.load(Ordering::Relaxed).max(0) as u64;
        let reachable = memory::reachable(vm, sandbox).saturating_add(kept);
        sandbox.0.measured.store(i64::try_from(reachable).unwrap_or(i64::MAX), Ordering::Relaxed);
        if reachable.saturating_add(wanted_bytes) > budget {
            exhaust(thread, sandbox, Reason::Heap);
            return None;
        }
        let allowance = (budget - reachable).max(budget / 4).max(wanted_bytes);
        let allowance = i64::try_from(allowance).unwrap_or(i64::MAX);
        sandbox.0.allowance.store(allowance, Ordering::Relaxed);
        let overdraft = i64::try_from(budget).unwrap_or(i64::MAX) / OVERDRAFT;
        sandbox.0.overdraft.store(overdraft, Ordering::Relaxed);
        vm.sandboxes.set_not_due(sandbox);
    }
    draw_memory(thread, wanted)
}

/// A measurement that goes on. At its end, a rest begins.
struct Rest {
    vm: &'static Vm,
    begin: Duration,
}

impl Drop for Rest {
    fn drop(&mut self) {
        let now = self.vm.scheduler.elapsed();
        self.vm.sandboxes.rests.begin(now, now.saturating_sub(self.begin));
    }
}
