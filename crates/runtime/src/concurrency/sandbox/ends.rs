//! What is done when sandboxes have ended: their strands end, promises break, the ends are reported, and the promises for them
//! are settled. The parent module says what an end is.
//!
//! An *errand* (`embedding/errands.rs`) does this for several sandboxes together. It stops the machine, and walks over all strands, vats
//! and sandboxes: a guest that makes and ends thousands of sandboxes would keep others waiting if each had an errand of its own.

use std::sync::atomic::Ordering;

use hashbrown::HashSet;
use squall_events::Kind;
use squall_heap::{Object, Tracer, Word};

use super::grants;
use crate::concurrency::embedding::errands;
use crate::concurrency::outputs;
use crate::concurrency::promises::{self, Awaited};
use crate::concurrency::strands;
use crate::model::known;
use crate::objects::string::symbol_object;
use crate::state::recording;
use crate::state::sandbox::{self as state, Reason, SandboxRef, slots};
use crate::state::strand::{Ending, Standing, StrandRef};
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// How many ends one errand deals with.
const TOGETHER: usize = 256;

/// A sandbox is over: an errand will deal with that.
pub(super) fn leave(vm: &'static Vm, sandbox: SandboxRef) {
    // The errand counts as a member: nothing else may refer to the sandbox any more.
    sandbox.add_member();
    if vm.sandboxes.add_ending(sandbox) {
        errands::leave(vm, deal_with_some);
    }
}

/// *GC point.*
fn deal_with_some(thread: &mut Thread) {
    let (ended, is_last) = thread.vm.sandboxes.take_ending(TOGETHER);
    if !is_last {
        errands::leave(thread.vm, deal_with_some);
    }
    deal_with(thread, &Ended::of(&ended));
    ended.into_iter().for_each(SandboxRef::remove_member);
}

/// Sandboxes that are over.
struct Ended {
    sandboxes: Vec<SandboxRef>,
    addresses: HashSet<usize>,
}

impl Ended {
    fn of(sandboxes: &[SandboxRef]) -> Ended {
        let addresses = sandboxes.iter().map(|sandbox| sandbox.address()).collect();
        Ended { sandboxes: sandboxes.to_vec(), addresses }
    }

    /// The outermost of them that a sandbox is in, if it is in any.
    fn around(&self, sandbox: Option<SandboxRef>) -> Option<SandboxRef> {
        let is_ended = |sandbox: &SandboxRef| self.addresses.contains(&sandbox.address());
        sandbox?.chain().filter(is_ended).last()
    }

    fn has(&self, sandbox: Option<SandboxRef>) -> bool {
        self.around(sandbox).is_some()
    }
}

/// Ends the strands of sandboxes that are over, reports that, and settles the promises for it. *GC point.*
fn deal_with(thread: &mut Thread, ended: &Ended) {
    let vm = thread.vm;
    for &sandbox in &ended.sandboxes {
        thread.note(Kind::SandboxEnded, || [recording::number_of_object(sandbox.object())]);
        // A guest that may not write writes no reports of its own sandboxes, either.
        let around = sandbox.chain().nth(1);
        let is_shown = around.is_none_or(|around| around.refusing(grants::CONSOLE).is_none());
        let is_reported = reason_of(sandbox) != Reason::Terminated && is_shown;
        outputs::write_report(thread, sandbox, is_reported);
    }
    let inner = vm.sandboxes.used().into_iter().filter(|other| ended.has(Some(*other)));
    inner.for_each(|inner| vm.sandboxes.set_not_due(inner));
    end_strands(thread, ended);
    break_lost(thread, ended);
    drop_timers(thread, &ended.sandboxes);
    for &sandbox in &ended.sandboxes {
        conclude(thread, sandbox);
    }
}

fn reason_of(sandbox: SandboxRef) -> Reason {
    Reason::of(sandbox.0.reason.load(Ordering::Acquire))
}

/// Settles the promise for the end, or ends the program. *GC point.*
fn conclude(thread: &mut Thread, sandbox: SandboxRef) {
    let vm = thread.vm;
    if let Some(code) = sandbox.0.exit_code.get() {
        return vm.end(code);
    }
    let symbol = vm.symbol(reason_of(sandbox).name());
    // Without memory for the word, that there is an end is news enough.
    let word = symbol_object(thread, symbol).unwrap_or(Word::TRUE);
    let object = sandbox.0.object.get().object();
    if let Some(promise) = object.slot(slots::PROMISE).as_object() {
        promises::resolve(thread, promises::owner(promise), promise, word);
    }
}

/// Drops the messages that are due later and that strands of these sandboxes have sent, some at a time.
fn drop_timers(thread: &mut Thread, ended: &[SandboxRef]) {
    let (vm, ended) = (thread.vm, ended.to_vec());
    let is_done = vm.concurrency().timers.drop_messages_of(vm, &ended);
    if !is_done {
        ended.iter().for_each(|sandbox| sandbox.add_member());
        errands::leave_here(thread, move |thread| {
            drop_timers(thread, &ended);
            ended.into_iter().for_each(SandboxRef::remove_member);
        });
    }
}

/// Wakes the strands that are parked, to end, and makes those poll that run.
fn end_strands(thread: &mut Thread, ended: &Ended) {
    let vm = thread.vm;
    thread.message.clear();
    let Thread { mutator, message, .. } = thread;
    // While nothing runs, strands and their objects belong together; and the message is a root.
    mutator.native(|| {
        vm.heap.while_stopped(|| {
            let all = vm.strands.all().into_iter();
            let strands = all.filter(|strand| ended.has(strand.sandbox()));
            message.extend(strands.map(|strand| strand.object.get()));
        });
    });
    for index in 0..thread.message.len() {
        let object = thread.message[index].object();
        // In a replay, some have still to do what they have done in the recording.
        if StrandRef::of_object(object).is_none_or(|strand| thread.ends_now(strand)) {
            _ = strands::terminate(thread, object);
        }
    }
    thread.message.clear();
}

/// The collector found a strand to be lost. If its sandbox ends, its result breaks, should anything wait for it.
pub(crate) fn lose(strand: StrandRef, tracer: &mut Tracer<'_>) {
    let Some(sandbox) = strand.sandbox().filter(|_| strand.standing() != Standing::New) else {
        return;
    };
    let Some(mut result) = strands::result_of(strand) else { return };
    if tracer.update(&mut result) {
        sandbox.add_orphan(result);
    }
}

/// Ends the waiting for an orphan of a sandbox that is over. If the orphan was decided, another promise of the sandbox is broken: the
/// one that it waits for, or one of a circle. *GC point.*
fn settle_orphan(thread: &mut Thread, orphan: Word, ended: &Ended, error: Word) {
    let promise = orphan.as_object().filter(|object| object.layout() == known::PROMISE);
    let is_in = |promise: &Object| ended.has(promises::owner(*promise).sandbox());
    let result = match promise.map(Awaited::by) {
        Some(Awaited::One(last)) if is_in(&last) => last.word(),
        Some(Awaited::Circle(first)) => {
            return if let Some(broken) = promises::circle(first).find(is_in) {
                promises::break_circle(thread, broken, error);
            };
        }
        Some(Awaited::One(_)) | None => orphan,
    };
    promises::settle_result(thread, None, result, Ending::Killed, error);
}

/// As [`end_lost_turns`]; in a replay, when the guests have done what comes before their ends, or after so many looks: they may settle
/// some of the promises. *GC point.*
fn break_lost(thread: &mut Thread, ended: &Ended) {
    let waits = |sandbox: &SandboxRef| thread.has_guests_to_run(*sandbox);
    let (waiting, ready): (Vec<SandboxRef>, Vec<SandboxRef>) =
        ended.sandboxes.iter().partition(|&sandbox| waits(sandbox));
    end_lost_turns(thread, &Ended::of(&ready));
    for sandbox in waiting {
        break_lost_later(thread, sandbox, PATIENCE);
    }
}

/// In a replay: the same for one sandbox, after other work. *GC point.*
fn break_lost_later(thread: &mut Thread, sandbox: SandboxRef, looks: u32) {
    if looks == 0 || !thread.has_guests_to_run(sandbox) {
        return end_lost_turns(thread, &Ended::of(&[sandbox]));
    }
    sandbox.add_member();
    errands::leave_here(thread, move |thread| {
        break_lost_later(thread, sandbox, looks - 1);
        sandbox.remove_member();
    });
}

/// How often a replay looks whether guests have something to do.
const PATIENCE: u32 = 4096;

/// Breaks the results of strands that were lost, and the promises that others wait for, and lets the vats go on whose turns these
/// were, or that have not begun: the messages that wait there find the sandbox over. *GC point.*
fn end_lost_turns(thread: &mut Thread, ended: &Ended) {
    let vm = thread.vm;
    for inner in vm.sandboxes.used() {
        let Some(sandbox) = ended.around(Some(inner)) else { continue };
        while let Some(orphan) = inner.take_orphan() {
            settle_orphan(thread, orphan, ended, state::error(sandbox));
        }
    }
    for vat in vm.vats.all().into_iter().filter(|vat| ended.has(vat.sandbox())) {
        vat.forget_lost_turn(thread);
        // The actor of an object whose initializer does not end: its messages find the sandbox over.
        vat.release(thread);
    }
}

/// Somebody outside waits from now on for a promise of this sandbox. If that is over, the promise breaks.
pub fn add_awaited(thread: &Thread, sandbox: SandboxRef, promise: Word) {
    sandbox.add_awaited(promise, promises::is_pending);
    // The end may have come before.
    if sandbox.is_over() {
        errands::leave(thread.vm, move |thread| break_lost_later(thread, sandbox, PATIENCE));
    }
}
