//! Stops after something has happened: events with breakpoints, and goals that are reached. `control` calls this module.
//!
//! Nothing can stop where an event is noted. So the event is put into a list, and its strand looks there when the call in
//! progress is over, at its next poll, or when it goes on. In the library, the strand then steps until it is in code of the
//! program.

use std::sync::atomic::Ordering;

use squall_bytecode::module::FunctionKind;
use squall_runtime::library::inspection::{self, Frame};
use squall_runtime::state::debugging;
use squall_runtime::state::recording;
use squall_runtime::state::thread::Thread;

use super::steps::{Stepping, is_of_library, number, place_of};
use super::{Control, Step};
use crate::goals::{self, Aim, Goal, Goals};
use crate::points::{self, Which};
use crate::reasons::Reason;

/// What is to be done in a strand, as soon as that is in code.
#[derive(Clone)]
pub(super) enum After {
    /// It stops.
    Stop(Reason),
    /// It stops if the event of this breakpoint counts.
    Event(u64, String, Which),
    /// It stops before it returns from its bottom frame.
    End,
}

/// Something after which a strand is to stop.
pub(super) struct Happened {
    pub(super) after: After,
    /// The strand; if none ran, the next one of the worker.
    pub(super) strand: Option<u64>,
    pub(super) worker: u32,
}

impl Control {
    /// Something has happened after which the strand that runs here, or the next one, is to stop. Nothing may stop here.
    pub(super) fn stop_soon(&self, thread: &Thread, after: After) {
        let strand = thread.running_strand().map(recording::number_of);
        let worker = thread.worker_index();
        self.happened.lock().push(Happened { after, strand, worker });
        self.has_happened.store(true, Ordering::Relaxed);
        if strand.is_some() {
            thread.must_look.set(true);
        }
        thread.look_soon();
    }

    /// Stops if an event with a breakpoint has happened since the last poll: here, or where the library returns to the
    /// program.
    pub(super) fn stop_after_event(&self, thread: &mut Thread) {
        let (strand, worker) = (number(thread), thread.worker_index());
        let is_here = |happened: &Happened| match happened.strand {
            Some(other) => other == strand,
            None => happened.worker == worker,
        };
        let mut happened = self.happened.lock();
        let here: Vec<After> = happened
            .iter()
            .filter(|happened| is_here(happened))
            .map(|it| it.after.clone())
            .collect();
        happened.retain(|happened| !is_here(happened));
        self.has_happened.store(!happened.is_empty(), Ordering::Relaxed);
        drop(happened);
        let reasons: Vec<Reason> =
            here.into_iter().filter_map(|after| self.reason_after(thread, after)).collect();
        let Some(reason) = reasons.into_iter().reduce(Reason::with) else { return };
        let Some((frame, place)) = place_of(thread) else { return };
        if !is_of_library(place) {
            return self.end_step(thread, reason);
        }
        self.forget_step(thread);
        let kind = step_to_program(thread);
        let step = Stepping { strand, kind, frame, line: 0, awaits: None, reason };
        self.step_on(thread, step);
    }

    /// Why the strand stops, if it does, after something has happened to it.
    pub(super) fn reason_after(&self, thread: &mut Thread, after: After) -> Option<Reason> {
        let (id, name, which) = match after {
            After::Stop(reason) => return Some(reason),
            After::End => {
                let id = self.breakpoints.lock().hide(number(thread));
                self.stand_at_end(thread, id);
                return None;
            }
            After::Event(id, name, which) => (id, name, which),
        };
        let bottom = || inspection::frames(thread).last().map(|frame| frame.place().function);
        let counts = match which {
            Which::All => true,
            Which::Methods => bottom().is_some_and(|function| {
                let is_library = function.module.bytecode.is_image();
                function.kind == FunctionKind::Method && !is_library
            }),
            Which::Reactions => self.origins.is_reaction(number(thread)),
            Which::Ends => {
                self.stand_at_end(thread, id);
                false
            }
        };
        (counts && self.counts_event(thread, id)).then(|| Reason::Event(vec![id], vec![name]))
    }

    /// A breakpoint stands where the strand returns from its bottom frame.
    pub(super) fn stand_at_end(&self, thread: &mut Thread, id: u64) {
        let bottom = inspection::frames(thread).last();
        // What the library does for the program has no end that the program sees.
        let is_own = |frame: &Frame| !frame.place().function.module.bytecode.is_image();
        let Some(bottom) = bottom.filter(is_own) else { return };
        let places = points::returns((bottom.place().function, 0));
        let changes = self.breakpoints.lock().stand_at_ends(id, places);
        let vm = thread.vm;
        thread.mutator.native(|| debugging::change(vm, &changes.set, &changes.removed));
    }

    /// The strand, which has stopped, goes on to this aim; the error says why it does not.
    pub fn set_goal(&self, strand: u64, vat: u64, aim: Aim) -> Result<(), String> {
        let number = match aim {
            Aim::TurnNext if vat == 0 => return Err("the strand belongs to no vat".into()),
            Aim::TurnNext => vat,
            Aim::TurnReturn => {
                let promise = self.origins.promise_of(strand);
                promise.ok_or("no promise waits for the result of this turn")?
            }
            _ => 0,
        };
        if aim == Aim::TransactionCommit {
            let point = points::named(points::BEFORE_COMMIT).ok_or("there is no such point")?;
            self.change(|breakpoints, vm| {
                let id = breakpoints.hide(strand);
                ((), breakpoints.hide_at_point(vm, id, point))
            });
            return Ok(());
        }
        self.goals.lock().set(Goal::new(strand, aim, number));
        self.has_goals.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Has strands stop whose goals are reached.
    pub(super) fn reach_goals(
        &self,
        thread: &Thread,
        see: impl FnOnce(&mut Goals) -> Vec<goals::Stop>,
    ) {
        if !self.has_goals.load(Ordering::Relaxed) {
            return;
        }
        let mut goals = self.goals.lock();
        let stops = see(&mut goals);
        self.has_goals.store(!goals.is_empty(), Ordering::Relaxed);
        drop(goals);
        for stop in stops {
            match stop {
                goals::Stop::Here => self.stop_soon(thread, After::Stop(Reason::Step)),
                goals::Stop::AtEnd => self.stop_soon(thread, After::End),
                goals::Stop::Strand(strand) => {
                    let (after, worker) = (After::Stop(Reason::Step), thread.worker_index());
                    let happened = Happened { after, strand: Some(strand), worker };
                    self.happened.lock().push(happened);
                    self.has_happened.store(true, Ordering::Relaxed);
                    // It may run already.
                    thread.vm.ask_all_to_look();
                }
            }
        }
    }

    /// The code of a strand has ended, with or without a stop.
    pub(super) fn forget_happened(&self, strand: u64) {
        if self.has_happened.load(Ordering::Relaxed) {
            let mut happened = self.happened.lock();
            happened.retain(|happened| happened.strand != Some(strand));
            self.has_happened.store(!happened.is_empty(), Ordering::Relaxed);
        }
    }

    /// A strand goes on here. If it was to stop then, it steps until it is in code of the program; there may be no poll.
    pub(super) fn stop_resumed(&self, thread: &Thread) {
        if !self.has_happened.load(Ordering::Relaxed) {
            return;
        }
        let Some(strand) = thread.running_strand() else { return };
        let number = recording::number_of(strand);
        let mut happened = self.happened.lock();
        for happened in happened.iter_mut().filter(|it| it.strand.is_none()) {
            if happened.worker == thread.worker_index() {
                happened.strand = Some(number);
            }
        }
        let is_here = |happened: &Happened| {
            happened.strand == Some(number) && matches!(happened.after, After::Stop(_))
        };
        let Some(index) = happened.iter().position(is_here) else { return };
        let After::Stop(reason) = happened.swap_remove(index).after else { return };
        self.has_happened.store(!happened.is_empty(), Ordering::Relaxed);
        drop(happened);
        let kind = step_to_program(thread);
        let (frame, line, awaits) = (0, 0, None);
        self.steps.lock().retain(|step| step.strand != number);
        self.keep_step(Stepping { strand: number, kind, frame, line, awaits, reason });
        thread.vm.debugging.set_stepping(strand, true);
    }
}

/// The step by which a strand that is in the library comes to code of the program: if none waits, the library is about to
/// call some.
fn step_to_program(thread: &Thread) -> Step {
    let is_own = |frame: Frame| !frame.place().function.module.bytecode.is_image();
    if inspection::frames(thread).any(is_own) { Step::Over } else { Step::Enter }
}
