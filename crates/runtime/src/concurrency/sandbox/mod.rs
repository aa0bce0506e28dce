//! Sandboxes: budgets for untrusted code, and the end of a sandbox that exceeds them. Guest programs and embedders make
//! sandboxes through the primitives.
//!
//! | module | subject |
//! |---|---|
//! | this one | sandboxes as a tree; the strands and vats of one; the end of one |
//! | [`grants`] | the access of a sandbox to the world |
//! | [`metering`] | the consumption of the running strand |
//! | [`backlog`] | the messages that wait outside |
//! | [`memory`] | the bytes reachable from a sandbox |
//!
//! A strand or vat belongs to a sandbox, or to none. A new strand belongs to the sandbox of the strand that makes it,
//! and so does a new vat; a turn belongs to the sandbox of its vat. So strands that are started in a sandbox stay in
//! it, and the receiver of a message from a sandbox pays for its processing.
//!
//! A sandbox may be inside of another one: its consumption counts there as well, and it ends with the outer one.
//!
//! | budget | counts | checked |
//! |---|---|---|
//! | fuel | calls, and turns of loops | at each of them |
//! | heap | bytes that are reachable from strands and vats of the sandbox | when a quarter of the budget, or the rest of it, was allocated |
//! | strands | strands that have not ended, turns among them | when one is made |
//! | messages | eventual sends, messages after a delay, writes to channels | before each of them |
//! | time | processor time of its strands | every few milliseconds |
//!
//! # The end
//!
//! A strand that finds a budget used up reports that to the sandbox, which is *over* from then on. Its strands do not
//! continue: each entry into a strand checks whether its sandbox is over, and so does each poll. An *errand*
//! (`embedding/errands.rs`) ends the parked strands, reports, and settles the promise for the end. A strand that is
//! ended in this way leaves all its activations at once: no handler and no `ensure:` block runs, since it could run for
//! ever. Only frames of C are left by returning to them.
//!
//! Nothing else is touched. Promises for the results of its strands and of messages to its actors break. A strand that
//! waits at a channel which only the sandbox would have used waits on, and reports of deadlocks name the sandboxes that
//! are over.
//!
//! Native parts are never freed, but used again once nothing belongs to them and their object is dead.

pub mod backlog;
pub mod grants;
pub mod memory;
pub mod metering;

use std::sync::atomic::Ordering;

use squall_events::Kind;
use squall_heap::{Object, Tracer, Word};

use crate::concurrency::embedding::errands;
use crate::concurrency::isolation;
use crate::concurrency::outputs;
use crate::concurrency::promises;
use crate::concurrency::strands;
use crate::execution::stack_traces;
use crate::execution::unwind;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::string::{make_string, symbol_object};
use crate::state::items::{Item, ItemKind};
use crate::state::recording;
use crate::state::replays;
use crate::state::sandbox::{self as state, Budgets, Grants, Reason, SandboxRef, slots};
use crate::state::strand::{Ending, Standing, StrandRef};
use crate::state::thread::{Thread, Window, allocated};
use crate::state::vm::Vm;

/// Makes a sandbox inside of the one that the running strand belongs to. The window's words are the promise for its
/// end, and the exception for results that never come; or there are none. *GC point.*
pub fn make(
    thread: &mut Thread,
    name: String,
    budgets: Budgets,
    grants: Grants,
    window: Option<(Window, usize)>,
) -> Result<Object, Failure> {
    if thread.sandbox.is_some_and(|around| around.chain().count() >= MOST_NESTED) {
        let what = make_string(thread, "a sandbox in so many sandboxes")?;
        return Err(Failure::with(FailureReason::NotSupported, what, Word::NIL));
    }
    thread.vm.scheduler.divide(group_of);
    make_in_program(thread, name, budgets, grants, window)
}

/// How many sandboxes there may be around a new one. A measurement of memory walks over the objects of each.
const MOST_NESTED: usize = 8;

/// The group of an item for the scheduler, which shares time between groups: the outermost sandbox that it belongs to,
/// but the program's.
fn group_of(item: Item) -> Option<usize> {
    let sandbox = match item.kind() {
        ItemKind::Vat(vat) | ItemKind::Visit(vat) => vat.sandbox(),
        ItemKind::Strand(strand) | ItemKind::StrandWithVat(strand) => strand.sandbox(),
        _ => None,
    };
    let guests = sandbox?.chain().filter(|sandbox| sandbox.0.exit_code.get().is_none());
    guests.last().map(|sandbox| std::ptr::from_ref(sandbox.0).addr())
}

/// As [`make`], without consequences for the scheduler. *GC point.*
fn make_in_program(
    thread: &mut Thread,
    name: String,
    budgets: Budgets,
    grants: Grants,
    window: Option<(Window, usize)>,
) -> Result<Object, Failure> {
    let vm = thread.vm;
    // When a strand is ended, nothing can be made.
    symbol_object(thread, vm.symbol("terminated"))?;
    let error = match window {
        Some((window, first)) => {
            let here = crate::state::vat::current(thread)?;
            isolation::make_far_reference(thread, window.get(first + 1), here)?
        }
        None => Word::NIL,
    };
    let mut scope = thread.mutator.scope();
    let error = scope.root(error);
    let class = vm.known_class(KnownClass::Object);
    let object = allocated(scope.allocate_slots(known::SANDBOX, class))?;
    let error = scope.get(error);
    drop(scope);
    let sandbox = vm.sandboxes.take();
    // A strand of its last life may have overdrawn when that was over.
    vm.sandboxes.set_not_due(sandbox);
    vm.heap.native_part_made();
    let parent = thread.sandbox;
    sandbox.0.renew(name, budgets, grants, parent);
    if let Some(parent) = parent {
        parent.add_member();
    }
    let address = std::ptr::from_ref(sandbox.0) as usize;
    object.initialize_slot(slots::LOCK, Word::from_small_integer_unchecked(0));
    object.initialize_slot(slots::NATIVE, Word::from_address(address));
    object.initialize_slot(slots::ERROR, error);
    if let Some((window, first)) = window {
        object.initialize_slot(slots::PROMISE, window.get(first));
    }
    sandbox.0.object.set(object.word());
    thread.note(Kind::SandboxCreated, || [recording::number_of_object(object.word())]);
    Ok(object)
}

/// Puts the main vat, and so the program, into a sandbox whose end is that of the program, with this exit
/// code. *GC point.*
pub fn confine_program(
    thread: &mut Thread,
    budgets: Budgets,
    exit_code: i32,
) -> Result<(), Failure> {
    let object = make_in_program(thread, "the program".to_owned(), budgets, Grants::All, None)?;
    let sandbox = SandboxRef::of_object(object);
    sandbox.0.exit_code.set(Some(exit_code));
    if let Some(vat) = thread.vm.main_vat() {
        vat.enter_sandbox(sandbox);
    }
    Ok(())
}

/// A budget of a sandbox is used up, by the running strand if there is one. The caller may stop the machine for a
/// moment, and ensures that the strand does not continue.
pub fn exhaust(thread: &Thread, sandbox: SandboxRef, reason: Reason) {
    let budgets = sandbox.budgets();
    let amount = match reason {
        Reason::Fuel => budgets.fuel,
        Reason::Heap => budgets.heap,
        Reason::Strands => budgets.strands,
        Reason::Time => budgets.time,
        _ => budgets.messages,
    };
    let amount = amount.unwrap_or_default();
    let has = match reason {
        Reason::Fuel => format!("has used up its fuel of {amount}"),
        Reason::Heap => format!("has more than {amount} bytes of heap"),
        Reason::Strands => format!("was to have more than {amount} strands"),
        Reason::Time => format!("has used up its {amount} ms of processor time"),
        _ => format!("has sent {amount} messages, as many as it may"),
    };
    let mut report = format!("{} {has}\n", sandbox.name());
    if thread.running_strand().is_some() {
        report += &stack_traces::render(thread.activations());
    }
    end(thread.vm, sandbox, reason, report);
}

/// The strand that runs here wants to end the program, which its sandbox may not: that is over.
/// The strand has been ended.
pub fn exit(thread: &mut Thread, sandbox: SandboxRef) -> Failure {
    let report = format!("{} was to end the program\n", sandbox.name());
    let report = report + &stack_traces::render(thread.activations());
    end(thread.vm, sandbox, Reason::Exit, report);
    unwind::kill(thread);
    Failure::elsewhere()
}

/// Ends a sandbox from outside; whether it was not over.
pub fn terminate(vm: &'static Vm, sandbox: SandboxRef) -> bool {
    end(vm, sandbox, Reason::Terminated, format!("{} was ended\n", sandbox.name()))
}

fn end(vm: &'static Vm, sandbox: SandboxRef, reason: Reason, report: String) -> bool {
    let ended = sandbox.end(reason, report);
    if ended {
        // The errand counts as a member: nothing else may refer to the sandbox any more.
        sandbox.add_member();
        errands::leave(vm, move |thread| {
            clear(thread, sandbox);
            sandbox.remove_member();
        });
    }
    ended
}

/// The strand that runs here ends, or a turn does not begin, since its sandbox is over: a recording has that, and in a replay the
/// sandbox is over by it.
pub fn note_over(thread: &mut Thread) {
    let Some(sandbox) = thread.tape_over() else { return };
    let (reason, report) = match thread.end_by_tape(sandbox) {
        Some(recorded) => (replays::sandboxes::reason_of(&recorded), recorded.report),
        None => (Reason::Terminated, String::new()),
    };
    end(thread.vm, sandbox, reason, report);
}

/// Ends the strands of a sandbox that is over, reports that, and settles the promise for it. *GC point.*
fn clear(thread: &mut Thread, sandbox: SandboxRef) {
    thread.note(Kind::SandboxEnded, || [recording::number_of_object(sandbox.object())]);
    let vm = thread.vm;
    let reason = Reason::of(sandbox.0.reason.load(Ordering::Acquire));
    // A guest that may not write writes no reports of its own sandboxes, either.
    let around = sandbox.chain().nth(1);
    let is_shown = around.is_none_or(|around| around.refusing(grants::CONSOLE).is_none());
    outputs::write_report(thread, sandbox, reason != Reason::Terminated && is_shown);
    let inner = vm.sandboxes.used().into_iter().filter(|other| other.is_in(sandbox));
    inner.for_each(|inner| vm.sandboxes.set_not_due(inner));
    end_strands(thread, sandbox);
    break_lost(thread, sandbox, PATIENCE);
    vm.concurrency().timers.drop_messages_of(vm, sandbox);
    if let Some(code) = sandbox.0.exit_code.get() {
        return vm.end(code);
    }
    let symbol = vm.symbol(reason.name());
    // Without memory for the word, that there is an end is news enough.
    let word = symbol_object(thread, symbol).unwrap_or(Word::TRUE);
    let object = sandbox.0.object.get().object();
    if let Some(promise) = object.slot(slots::PROMISE).as_object() {
        promises::resolve(thread, promises::owner(promise), promise, word);
    }
}

/// Wakes the strands that are parked, to end, and makes those poll that run.
fn end_strands(thread: &mut Thread, sandbox: SandboxRef) {
    let vm = thread.vm;
    let is_in = |strand: &StrandRef| strand.sandbox().is_some_and(|other| other.is_in(sandbox));
    thread.message.clear();
    let Thread { mutator, message, .. } = thread;
    // While nothing runs, strands and their objects belong together; and the message is a root.
    mutator.native(|| {
        vm.heap.while_stopped(|| {
            let strands = vm.strands.all().into_iter().filter(is_in);
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

/// The promise of the sandbox that an orphan waits for: another one than that, if it was decided.
fn pending_part(orphan: Word, sandbox: SandboxRef) -> Word {
    let promise = orphan.as_object().filter(|object| object.layout() == known::PROMISE);
    let awaited = promise.map(promises::awaited);
    let is_in = |promise: &Object| {
        promises::owner(*promise).sandbox().is_some_and(|owner| owner.is_in(sandbox))
    };
    awaited.filter(is_in).map_or(orphan, Object::word)
}

/// As [`end_lost_turns`]; in a replay, when the guests have done what comes before their ends, or after so many looks: they may settle
/// some of the promises. *GC point.*
fn break_lost(thread: &mut Thread, sandbox: SandboxRef, looks: u32) {
    if looks > 0 && thread.has_guests_to_run(sandbox) {
        sandbox.add_member();
        errands::leave_here(thread, move |thread| {
            break_lost(thread, sandbox, looks - 1);
            sandbox.remove_member();
        });
    } else {
        end_lost_turns(thread, sandbox);
    }
}

/// How often a replay looks whether guests have something to do.
const PATIENCE: u32 = 4096;

/// Breaks the results of strands that were lost, and the promises that others wait for, and lets the vats go on whose turns these
/// were, or that have not begun: the messages that wait there find the sandbox over. *GC point.*
fn end_lost_turns(thread: &mut Thread, sandbox: SandboxRef) {
    let vm = thread.vm;
    let is_in = |other: &SandboxRef| other.is_in(sandbox);
    for inner in vm.sandboxes.used().into_iter().filter(is_in) {
        while let Some(orphan) = inner.take_orphan() {
            let result = pending_part(orphan, sandbox);
            let error = state::error(sandbox);
            promises::settle_result(thread, None, result, Ending::Killed, error);
        }
    }
    let vats = vm.vats.all().into_iter();
    for vat in vats.filter(|vat| vat.sandbox().as_ref().is_some_and(is_in)) {
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
        errands::leave(thread.vm, move |thread| break_lost(thread, sandbox, PATIENCE));
    }
}
