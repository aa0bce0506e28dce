//! Sandboxes: budgets for untrusted code, and the end of a sandbox that exceeds them. Guest programs and embedders make
//! sandboxes through the primitives.
//!
//! | module | subject |
//! |---|---|
//! | this one | sandboxes as a tree; the strands and vats of one; the end of one |
//! | [`grants`] | the access of a sandbox to the world |
//! | [`metering`] | the consumption of the running strand |
//! | [`ends`] | what is done when sandboxes have ended |
//! | [`blocking`] | the native threads that wait for the system |
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
//! continue: each entry into a strand checks whether its sandbox is over, and so does each poll. [`ends`] ends the
//! parked strands, reports, and settles the promise for the end. A strand that is ended in this way leaves all its
//! activations at once: no handler and no `ensure:` block runs, since it could run for ever. Only frames of C are left by
//! returning to them.
//!
//! Nothing else is touched. Promises for the results of its strands and of messages to its actors break. A strand that
//! waits at a channel which only the sandbox would have used waits on, and reports of deadlocks name the sandboxes that
//! are over.
//!
//! Native parts are never freed, but used again once nothing belongs to them and their object is dead.

pub mod backlog;
pub mod blocking;
pub mod ends;
pub mod grants;
pub mod memory;
pub mod metering;

use squall_events::Kind;
use squall_heap::{Object, Word};

use crate::concurrency::isolation;
use crate::execution::stack_traces;
use crate::execution::unwind;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::string::{make_string, symbol_object};
use crate::state::items::{Item, ItemKind};
use crate::state::recording;
use crate::state::replays;
use crate::state::sandbox::{Budgets, Grants, Reason, SandboxRef, slots};
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
        return Err(not_supported(thread, "a sandbox in so many sandboxes")?);
    }
    if !has_room(thread) {
        return Err(not_supported(thread, "another sandbox in one that has so many")?);
    }
    thread.charge(FUEL_OF_A_SANDBOX);
    thread.vm.scheduler.divide(group_of);
    make_in_program(thread, name, budgets, grants, window)
}

/// How many sandboxes there may be around a new one. A measurement of memory walks over the objects of each.
const MOST_NESTED: usize = 8;

/// What a guest pays for a sandbox: its native part is free again when a full collection has found it to be dead.
const FUEL_OF_A_SANDBOX: usize = 1000;

/// How many that are not over there may be in another one, at any depth. Collections and ends walk over all sandboxes.
const MOST_INNER: usize = 1000;

/// Whether the sandboxes around the running strand have room for another one.
fn has_room(thread: &Thread) -> bool {
    let around = thread.sandbox.into_iter().flat_map(SandboxRef::chain);
    // The program itself may have any number.
    let mut guests = around.filter(|sandbox| sandbox.0.exit_code.get().is_none());
    guests.all(|sandbox| sandbox.inner_count() < MOST_INNER)
}

/// *GC point.*
fn not_supported(thread: &mut Thread, what: &str) -> Result<Failure, Failure> {
    let what = make_string(thread, what)?;
    Ok(Failure::with(FailureReason::NotSupported, what, Word::NIL))
}

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
        ends::leave(vm, sandbox);
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
