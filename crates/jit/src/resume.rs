//! Resumption: where the saved state goes on in machine code, and the native frames of the activations around it. The
//! tier enters machine code with it, and helpers after which the strand is elsewhere, or another strand runs.
//!
//! An activation that was abandoned has no native frame. If it went on by itself, its return would lead through the tier
//! to its caller. So the native frames of some callers are made first: each is a return address in the caller's base code,
//! and the caller's frame. This is done for a few activations only: a strand that waits for others all the time returns
//! through few of them before it waits again.

use std::sync::atomic::Ordering;

use squall_bytecode::codes::internal::HALT;
use squall_heap::Word;
use squall_runtime::tiers::function::{CodeKind, Function, Site};
use squall_runtime::tiers::stack::halt_code;
use squall_runtime::tiers::thread::{Around, State, Thread};

use crate::code::Code;
use crate::compiler;

/// How a state goes on.
pub enum Place {
    /// The strand has stopped, or C's call is over.
    End,
    /// In machine code, at this address.
    Machine(usize),
    /// Inside an instruction, or at the end of a chunk: the interpreter comes to the next one.
    Inside,
    /// In the interpreter.
    Cold,
}

/// How the saved state of a thread goes on.
#[inline]
pub fn place(thread: &Thread) -> Place {
    let (state, kind) = (thread.state, thread.code_kind());
    let Some(function) = function_of(state) else { return below_chunk(state) };
    if std::ptr::eq(state.pc, halt_code()) {
        return Place::End;
    }
    let is_start = std::ptr::eq(state.pc, function.code.as_ptr());
    let code = match is_start {
        true => compiler::of_hot(thread.vm, function, kind),
        false => Code::of(function, kind),
    };
    match code {
        None => Place::Cold,
        Some(code) => code.address(state).map_or(Place::Inside, Place::Machine),
    }
}

/// How a state without a function goes on.
#[cold]
fn below_chunk(state: State) -> Place {
    // SAFETY: a state's pc points at a code word.
    let word = unsafe { &*state.pc }.load(Ordering::Relaxed);
    if word as u8 == HALT { Place::End } else { Place::Inside }
}

/// The function of a state, unless nothing runs.
pub fn function_of(state: State) -> Option<&'static Function> {
    // SAFETY: functions are immortal, and states hold their addresses or null.
    unsafe { state.function.as_ref() }
}

/// Notes the activations around the one in the state that get native frames when the state goes on in machine code.
#[inline]
pub fn note_around(thread: &mut Thread) {
    match thread.code_kind() {
        CodeKind::Bare => note_around_bare(thread),
        kind => {
            thread.begin_code();
            note_each(thread, |site| {
                // SAFETY: functions are immortal, and the special sites have none.
                let caller = unsafe { site.function.as_ref() }?;
                Code::of(caller, kind)?.return_place(site.pc as usize)
            });
        }
    }
}

/// As [`note_around`], for bare code.
#[inline(always)]
pub fn note_around_bare(thread: &mut Thread) {
    thread.end_code();
    let code = thread.native_stack.code;
    note_each(thread, |site| {
        let resumption = site.resumption();
        (resumption != 0).then(|| code + resumption as usize)
    });
}

/// Notes the activations for whose calls there is a return address.
#[inline(always)]
fn note_each(thread: &mut Thread, return_address: impl Fn(&'static Site) -> Option<usize>) {
    let mut frame = thread.state.frame;
    let mut count = 0;
    for around in &mut thread.native_stack.around {
        // SAFETY: below each active frame is the site of its call; sites are immortal.
        let site: &'static Site = unsafe { &*frame.sub(1).cast::<*const Site>().read() };
        let Some(return_address) = return_address(site) else { break };
        *around = Around { return_address, inner: frame.cast() };
        frame = frame.wrapping_sub(usize::from(site.window));
        count += 1;
    }
    thread.native_stack.is_outdated = false;
    thread.native_stack.depth = count;
    thread.native_stack.outermost = frame.cast::<Word>();
}
