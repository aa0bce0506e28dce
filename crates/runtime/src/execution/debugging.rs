//! Where strands ask the debugger: at breakpoints, after each instruction of the strand that steps, at signals and
//! unwindings. Tiers and unwinding call this module; [`state::debugging`](crate::state::debugging) has what it asks, and the
//! protocol.

use std::sync::atomic::{AtomicU32, Ordering};

use squall_bytecode::codes::internal::{HALT, LEAVE_CHUNK};
use squall_bytecode::register_set::RegisterSet;
use squall_heap::Word;

use crate::execution::{calls, guarded, unwind};
use crate::model::function::Site;
use crate::state::debugging::ask;
use crate::state::thread::{Stop, Thread, Window};
use crate::state::tier::Interpreter;
use crate::state::vm::Vm;

/// The strand of the thread, whose state is saved, has come to a breakpoint. The debugger is asked, and then the interpreter
/// executes the instruction behind the breakpoint, if the strand goes on with it. *GC point.*
#[cold]
pub fn at_breakpoint(thread: &mut Thread, interpreter: &dyn Interpreter) {
    let pc = thread.state.pc;
    ask(thread, |debugger, thread| debugger.breakpoint_reached(thread));
    if leave_if_disturbed(thread) {
        return;
    }
    if thread.was_moved {
        // Loops of other tiers may be on the native stack, with activations that are gone.
        return change_pace(thread);
    }
    if thread.stop != Stop::Returned || thread.state.pc != pc {
        return;
    }
    let is_paced_anew = execute_one(thread, interpreter);
    let is_step = counts_as_step(thread);
    if is_step {
        ask(thread, |debugger, thread| debugger.step_done(thread));
        if leave_if_disturbed(thread) {
            return;
        }
    }
    if is_paced_anew || is_step || thread.watch.steps {
        change_pace(thread);
    }
}

/// The first word of the instruction at which a breakpoint stands.
pub fn word_behind(place: &AtomicU32) -> u32 {
    let behind = Vm::of_process().debugging.word_behind(std::ptr::from_ref(place).addr());
    // A breakpoint that was just removed has its word back.
    behind.unwrap_or_else(|| place.load(Ordering::Relaxed))
}

/// Runs the strand that steps, until it stops or goes on without steps. *GC point.*
pub fn step_through(thread: &mut Thread, interpreter: &dyn Interpreter) {
    while thread.watch.steps && thread.is_guarded == thread.runs_guarded {
        let has_arrived = std::mem::take(&mut thread.watch.has_arrived);
        match has_arrived {
            true => leave_chunks(thread, interpreter),
            false => _ = execute_one(thread, interpreter),
        }
        if !goes_on(thread) {
            // After a poll at its entry, the strand arrives at the same place again.
            thread.watch.has_arrived = has_arrived;
            return;
        }
        if has_arrived || counts_as_step(thread) {
            ask(thread, |debugger, thread| debugger.step_done(thread));
            if leave_if_disturbed(thread) {
                return;
            }
        }
    }
    change_pace(thread);
}

/// Executes the next instruction of the strand. A return to the chunk below is complete when the caller goes on: between the
/// two, the strand is at no place of the program. Answers whether the tier is to go on anew, for a reason that came in the
/// instruction: a call polls in its callee, and an exception has left activations. *GC point.*
fn execute_one(thread: &mut Thread, interpreter: &dyn Interpreter) -> bool {
    let strand = thread.running_strand();
    thread.watch.is_new_step = false;
    interpreter.step(thread);
    let is_paced_anew = thread.stop == Stop::Switched && thread.running_strand() == strand;
    if is_paced_anew {
        // The debugger is to be asked first, as after any other instruction.
        thread.stop = Stop::Returned;
        thread.state = thread.resumption;
        thread.watch.has_arrived = false;
    }
    leave_chunks(thread, interpreter);
    is_paced_anew
}

/// Completes a return to the chunk below.
fn leave_chunks(thread: &mut Thread, interpreter: &dyn Interpreter) {
    while thread.stop == Stop::Returned && next_code(thread) == LEAVE_CHUNK {
        interpreter.step(thread);
    }
}

/// Whether the instruction just executed is one of the step, about which the debugger is asked: not if the step was begun
/// inside of it.
fn counts_as_step(thread: &Thread) -> bool {
    goes_on(thread) && thread.watch.steps && !thread.watch.is_new_step
}

/// Sees to what has happened to the vat while the debugger was asked and other strands ran: if the vat was given away, the
/// strand stops; if it became guarded, the strand goes on in another loop. Whether one of these is so.
fn leave_if_disturbed(thread: &mut Thread) -> bool {
    if thread.is_displaced {
        thread.must_look.set(false);
        calls::displace(thread);
        return true;
    }
    let is_disturbed = goes_on(thread) && guarded::is_out_of_step(thread);
    if is_disturbed {
        guarded::guard(thread);
    }
    is_disturbed
}

/// Has the strand go on before an instruction of one of its activations, whose number is given, the innermost being 0: those
/// above it are gone, and none of their `ensure:` blocks runs. The strand stands before an instruction. The registers of the
/// activation's variables may hold anything; the error says why the strand does not go.
pub fn move_to(
    thread: &mut Thread,
    depth: usize,
    pc: usize,
    variables: &RegisterSet,
) -> Result<(), &'static str> {
    unwind::leave_above(thread, depth, pc, variables)?;
    thread.native_stack.is_outdated = true;
    thread.was_moved = true;
    Ok(())
}

/// The action of a send is about to store into a slot of the object that is first in the window. *GC point.*
#[cold]
pub fn store_begins(thread: &mut Thread, site: &'static Site, slot: usize, window: Window) {
    if let Some(debugger) = thread.vm.debugging.debugger() {
        let outer = std::mem::replace(&mut thread.window, window);
        debugger.slot_stored(thread, site, slot, window);
        thread.window = outer;
    }
}

/// The thread polls. *GC point.*
pub fn poll(thread: &mut Thread) {
    let epoch = thread.vm.debugging.epoch();
    if thread.watch.epoch != epoch {
        thread.watch.epoch = epoch;
        thread.native_stack.is_outdated = true;
    }
    ask(thread, |debugger, thread| debugger.poll_reached(thread));
    leave_if_disturbed(thread);
}

/// A call is over in which an event was noted that the debugger waits for. *GC point.*
#[cold]
pub fn called(thread: &mut Thread) {
    ask(thread, |debugger, thread| debugger.call_ended(thread));
    if !leave_if_disturbed(thread) && (thread.watch.steps || thread.was_moved) {
        change_pace(thread);
    }
}

/// Whether the strand goes on at the saved state.
fn goes_on(thread: &Thread) -> bool {
    thread.stop == Stop::Returned && next_code(thread) != HALT
}

/// The code of the instruction at the saved state.
fn next_code(thread: &Thread) -> u8 {
    // SAFETY: a state's pc points at a code word.
    unsafe { &*thread.state.pc }.load(Ordering::Relaxed) as u8
}

/// Makes the tier go on anew at the saved state: by steps from now on, or without.
pub fn change_pace(thread: &mut Thread) {
    thread.was_moved = false;
    if goes_on(thread) {
        thread.resumption = thread.state;
        calls::stop(thread, Stop::Switched);
    }
}

/// An exception is signalled by the call in progress. Answers the exception. *GC point.*
#[cold]
pub fn signalled(thread: &mut Thread, exception: Word, is_caught: bool) -> Word {
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(exception);
    if let Some(debugger) = thread.vm.debugging.debugger() {
        debugger.exception_signalled(thread, exception, is_caught);
    }
    let exception = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    exception
}

/// The strand has left activations, and stands where it goes on.
#[cold]
pub fn unwound(thread: &mut Thread) {
    ask(thread, |debugger, thread| debugger.activations_left(thread));
    // It may have been asked inside of a call: the vat is seen to when that is over.
    if thread.watch.steps {
        thread.watch.has_arrived = true;
        thread.watch.is_new_step = false;
        change_pace(thread);
    }
}
