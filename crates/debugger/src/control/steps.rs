//! Steps of strands: how a strand that has stopped goes on to the next line. `control` asks here after each instruction of a
//! strand that steps, and at the breakpoints of the debugger's own.
//!
//! The strand executes single instructions until its line changes. Where it calls a function that the step is to go over, a
//! breakpoint of the debugger's own waits at the return, and the strand runs at full speed until then. Each strand has one
//! step at most.

use squall_runtime::library::inspection;
use squall_runtime::state::debugging::{self, Place};
use squall_runtime::state::recording;
use squall_runtime::state::thread::Thread;

use super::{Control, Step};
use crate::places::key;
use crate::reasons::Reason;

/// A step in progress.
pub(crate) struct Stepping {
    /// The strand that steps.
    pub(crate) strand: u64,
    pub(crate) kind: Step,
    /// The address of the frame in which the step was last.
    pub(crate) frame: usize,
    /// The line where it began; 0 if it is to end as soon as it can.
    pub(crate) line: u32,
    /// Where the strand waits for the return to that frame, at full speed.
    pub(crate) awaits: Option<Place>,
    /// What the user is told at its end.
    pub(crate) reason: Reason,
}

impl Stepping {
    /// Whether the step is over at a place in its frame: at another line of the program.
    pub(crate) fn ends_at(&self, place: Place) -> bool {
        let (_, line, _) = place.0.position(place.1);
        line != self.line && line != 0 && !is_of_library(place)
    }
}

impl Control {
    /// Begins a step of the strand that has stopped on this thread.
    pub(crate) fn begin_step(&self, thread: &mut Thread, kind: Step) {
        let mut frames = inspection::frames(thread);
        let Some(frame) = frames.next() else { return };
        let line = frame.place().position().1;
        let strand = number(thread);
        let line = if kind == Step::Instruction { 0 } else { line };
        let (frame, reason) = (frame.address(), Reason::Step);
        let mut step = Stepping { strand, kind, frame, line, awaits: None, reason };
        if kind == Step::Out {
            // Without a caller the strand ends, and nothing stops it.
            let Some(caller) = frames.next() else { return };
            drop(frames);
            step.frame = caller.address();
            self.await_return(thread, &mut step, (caller.place().function, caller.next_pc()));
        } else {
            drop(frames);
            set_steps(thread, true);
            thread.watch.is_new_step = true;
        }
        self.keep_step(step);
    }

    /// Lets the strand run until it returns to a place in the step's frame.
    pub(crate) fn await_return(&self, thread: &mut Thread, step: &mut Stepping, place: Place) {
        step.awaits = Some(place);
        set_steps(thread, false);
        let vm = thread.vm;
        thread.mutator.native(|| debugging::change(vm, &[place], &[]));
    }

    /// Stops the strand where it has come to by a step, or after an event. *GC point.*
    pub(crate) fn end_step(&self, thread: &mut Thread, reason: Reason) {
        self.stop(thread, reason);
        if thread.stands_before {
            self.see_here(thread);
        }
    }

    /// The user has seen the strand before its next instruction: the breakpoints there do not stop it once more.
    pub(crate) fn see_here(&self, thread: &Thread) {
        if thread.watch.steps {
            // Single instructions do not ask at breakpoints.
            return;
        }
        if let Some((_, place)) = place_of(thread)
            && self.breakpoints.lock().has(place)
        {
            self.seen.lock().insert(number(thread), key(place));
        }
    }

    /// Whether the user has seen the strand of the thread at this breakpoint before, from where it has not gone on.
    pub(crate) fn has_seen(&self, thread: &Thread, place: Place) -> bool {
        self.seen.lock().remove(&number(thread)) == Some(key(place))
    }

    /// Removes what a step of the strand has left.
    pub(crate) fn forget_step(&self, thread: &mut Thread) {
        if let Some(mut step) = self.take_step(thread, |_| true) {
            set_steps(thread, false);
            self.remove_awaited(thread, &mut step);
        }
    }

    /// The strand goes on with this step by single instructions.
    pub(crate) fn step_on(&self, thread: &mut Thread, step: Stepping) {
        self.keep_step(step);
        set_steps(thread, true);
    }

    pub(crate) fn remove_awaited(&self, thread: &mut Thread, step: &mut Stepping) {
        if let Some(place) = step.awaits.take()
            && !self.breakpoints.lock().has(place)
            && !self.is_awaited(place)
        {
            let vm = thread.vm;
            thread.mutator.native(|| debugging::change(vm, &[], &[place]));
        }
    }

    /// Takes the step of the strand that runs on this thread, if it has one and it is so.
    pub(crate) fn take_step(
        &self,
        thread: &Thread,
        is_so: impl FnOnce(&Stepping) -> bool,
    ) -> Option<Stepping> {
        let strand = number(thread);
        let mut steps = self.steps.lock();
        let index = steps.iter().position(|step| step.strand == strand)?;
        is_so(&steps[index]).then(|| steps.swap_remove(index))
    }

    /// Whether the strand of the thread goes by a step, and does not wait for a return.
    pub(crate) fn has_step(&self, thread: &Thread) -> bool {
        let strand = number(thread);
        self.steps.lock().iter().any(|step| step.strand == strand && step.awaits.is_none())
    }

    /// Whether a step waits for a return to a place.
    fn is_awaited(&self, place: Place) -> bool {
        let is_there = |other: Place| key(other) == key(place);
        self.steps.lock().iter().any(|step| step.awaits.is_some_and(is_there))
    }

    /// The step goes on.
    pub(crate) fn keep_step(&self, step: Stepping) {
        self.steps.lock().push(step);
    }
}

pub(crate) fn number(thread: &Thread) -> u64 {
    recording::number_of(thread.strand())
}

/// Makes the strand of the thread step, or go on without steps.
pub(crate) fn set_steps(thread: &mut Thread, steps: bool) {
    thread.watch.steps = steps;
    let strand = thread.strand();
    thread.vm.debugging.set_stepping(strand, steps);
}

/// The innermost place of the strand of the thread.
pub(crate) fn place_of(thread: &Thread) -> Option<(usize, Place)> {
    let frame = inspection::frames(thread).next()?;
    let place = frame.place();
    Some((frame.address(), (place.function, place.pc)))
}

/// Whether functions are the library's, which steps do not enter.
pub(crate) fn is_of_library((function, _): Place) -> bool {
    function.module.bytecode.is_image()
}
