//! Where strands ask the debugger: at breakpoints, after each instruction of the strand that steps, at signals and
//! unwindings. Tiers and unwinding call this module; [`state::debugging`](crate::state::debugging) has what it asks, and the
//! protocol.

use std::sync::atomic::{AtomicU32, Ordering};

use squall_bytecode::codes::internal::HALT;
use squall_heap::Word;

use crate::execution::calls;
use crate::state::debugging::ask;
use crate::state::thread::{Stop, Thread};
use crate::state::tier::Interpreter;
use crate::state::vm::Vm;

/// The strand of the thread, whose state is saved, has come to a breakpoint. The debugger is asked, and then the interpreter
/// executes the instruction behind the breakpoint, if the strand goes on with it. *GC point.*
#[cold]
pub fn at_breakpoint(thread: &mut Thread, interpreter: &dyn Interpreter) {
    let pc = thread.state.pc;
    ask(thread, |debugger, thread| debugger.breakpoint_reached(thread));
    if thread.stop != Stop::Returned || thread.state.pc != pc {
        return;
    }
    interpreter.step(thread);
    if goes_on(thread) && thread.watch.steps {
        ask(thread, |debugger, thread| debugger.step_done(thread));
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
        interpreter.step(thread);
        if !goes_on(thread) {
            return;
        }
        if thread.watch.steps {
            ask(thread, |debugger, thread| debugger.step_done(thread));
        }
    }
    change_pace(thread);
}

/// The thread polls. *GC point.*
pub fn poll(thread: &mut Thread) {
    let epoch = thread.vm.debugging.epoch();
    if thread.watch.epoch != epoch {
        thread.watch.epoch = epoch;
        thread.native_stack.is_outdated = true;
    }
    ask(thread, |debugger, thread| debugger.poll_reached(thread));
}

/// A call is over in which an event was noted that the debugger waits for. *GC point.*
#[cold]
pub fn called(thread: &mut Thread) {
    ask(thread, |debugger, thread| debugger.call_ended(thread));
    if thread.watch.steps {
        change_pace(thread);
    }
}

/// Whether the strand goes on at the saved state.
fn goes_on(thread: &Thread) -> bool {
    // SAFETY: a state's pc points at a code word.
    let word = unsafe { &*thread.state.pc }.load(Ordering::Relaxed);
    thread.stop == Stop::Returned && word as u8 != HALT
}

/// Makes the tier go on anew at the saved state: by steps from now on, or without.
pub fn change_pace(thread: &mut Thread) {
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
    if thread.watch.steps {
        change_pace(thread);
    }
}
