//! Travel: positions in a run, and runs that are repeated up to a position. `control` asks here at polls, steps, breakpoints and
//! stops; the server begins repetitions; `front.rs` says which.
//!
//! # Positions
//!
//! Under a seed a run can be repeated, so a place in it has a name: the *moment*, which is the number of polls and of
//! resumptions of strands so far, and the place in code. All tiers poll alike. Between two polls a strand calls nothing and
//! makes no turn of a loop, so no place in code comes twice at one moment, but in returns from a recursion: the depth of the
//! stack tells those apart.
//!
//! # Repetitions
//!
//! ```text
//! full speed ──moment is near──▶ single instructions ──position reached──▶ stops there, or tells the finding and waits for its end
//! ```
//!
//! A repetition has an *errand*: it arrives at a position and stops; or it passes all stops and tells the last one before the
//! position; or it tells where the last line began before the position, in the same activation or one that has called it; or the last write of a
//! slot or variable. Which object that is, is known at the position only, so the last writes of all objects are kept. For lines
//! the strand goes by single instructions from an earlier moment on, and at full speed through all that its activation calls.
//!
//! Invariant: a repetition changes nothing that the program sees, so it never stops before its errand is over, and takes no step
//! of the user's. Until then nobody sees what it writes that no other run has written.
//!
//! A strand that the user moves makes the rest of the run one that is not repeated, so travels lead to before the first move.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use squall_heap::Word;
use squall_runtime::library::inspection;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::{self, Place};
use squall_runtime::state::recording;
use squall_runtime::state::roots::RootWord;
use squall_runtime::state::thread::Thread;
use squall_runtime::state::vm::Vm;

use super::after::{After, Happened};
use super::introductions::Passed;
use super::steps::{is_of_library, number, place_of, set_steps};
use super::{Control, Event};
use crate::evaluation;
use crate::forms::of_breakpoint;
use crate::places::{functions, key};
use crate::reasons::{Reason, of_stop};
use crate::stopped::Stopped;
use crate::watches::{self, Sought};

/// How many moments before its end a repetition goes by single instructions.
const NEAR: u64 = 2;
/// Of how many objects a repetition knows the last write.
const MOST_WRITTEN: usize = 1024;

/// A position in a run under a seed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The number of polls and resumptions so far.
    pub moment: u64,
    /// The number of the strand.
    pub strand: u64,
    /// The path of the module whose code is executed.
    pub module: String,
    /// The number of the function there.
    pub function: u32,
    /// The index of the instruction.
    pub pc: usize,
    /// The number of frames, or 0 if it is not known.
    pub depth: usize,
}

impl Position {
    /// The position in a message.
    pub fn to_json(&self) -> Json {
        json!({
            "moment": self.moment, "strand": self.strand, "module": self.module,
            "function": self.function, "pc": self.pc, "depth": self.depth,
        })
    }

    /// The position of a message.
    pub fn from_json(json: &Json) -> Option<Position> {
        Some(Position {
            moment: json["moment"].as_u64()?,
            strand: json["strand"].as_u64()?,
            module: json["module"].as_str()?.to_owned(),
            function: u32::try_from(json["function"].as_u64()?).ok()?,
            pc: usize::try_from(json["pc"].as_u64()?).ok()?,
            depth: usize::try_from(json["depth"].as_u64()?).ok()?,
        })
    }

    pub(super) fn is_at(&self, moment: u64, thread: &Thread, (function, pc): Place) -> bool {
        (self.moment, self.pc, self.function) == (moment, pc, function.index)
            && self.strand == number(thread)
            && self.module == function.module.bytecode.path_text()
            && (self.depth == 0 || self.depth == depth_of(thread))
    }
}

/// The place of a position, if it is in this module.
pub(super) fn place_in(module: &'static LoadedModule, position: &Position) -> Option<Place> {
    if module.bytecode.path_text() != position.module {
        return None;
    }
    let function = functions(module).find(|function| function.index == position.function)?;
    (position.pc < function.bytecode().code.len()).then_some((function, position.pc))
}

fn depth_of(thread: &Thread) -> usize {
    inspection::frames(thread).count()
}

/// What a repetition is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seek {
    /// It stops at the position, with this body for the client.
    Arrive(Json),
    /// It tells the last stop before the position; or before this moment, if one is given.
    Stop(Option<u64>),
    /// It tells where the last line began before the position.
    Line {
        /// The moment from which it looks.
        from: u64,
        /// The number of frames around the innermost one of the program, that included.
        depth: usize,
    },
    /// It tells the last write, before the position, of what an expression means there in a frame.
    Write(Sought, usize, String),
}

/// A position, and what is sought there or before.
#[derive(Clone, Debug)]
pub struct Errand {
    /// The position at which the repetition ends.
    pub to: Position,
    /// What it is for.
    pub seek: Seek,
}

impl Errand {
    /// The moment from which a repetition looks at each poll; before, it only has to pass stops.
    fn looks_from(&self) -> u64 {
        let end = self.to.moment.saturating_sub(NEAR);
        match self.seek {
            Seek::Line { from, .. } => end.min(from),
            Seek::Stop(Some(until)) => end.min(until),
            _ => end,
        }
    }
}

/// The beginning of a line in an activation.
struct Beginning {
    depth: usize,
    line: u32,
    /// `None` if the activation was in the middle of the line when the repetition began to look.
    position: Option<Position>,
    /// The beginning of the line before, if the activation has come from one.
    before: Option<Position>,
    /// The column of the first instruction.
    column: u32,
}

/// A repetition under way.
struct Repetition {
    errand: Errand,
    /// The last stop so far.
    stop: Option<Passed>,
    /// The beginnings of the lines that the activations of the strand are in, outermost first.
    lines: Vec<Beginning>,
    /// The last write of each object or context that was written, the latest one last.
    writes: VecDeque<(Position, Arc<RootWord>)>,
    /// The frame and the place to which a call is to return that runs at full speed.
    awaits: Option<(usize, Place)>,
}

/// The state of travels.
#[derive(Default)]
pub(crate) struct Travel {
    moment: AtomicU64,
    is_repeating: AtomicBool,
    repetition: Mutex<Option<Repetition>>,
    /// The moment from which the repetition looks at each poll.
    looks_from: AtomicU64,
    /// The program is to stop where its own code begins.
    begins: AtomicBool,
    /// Where a repetition has arrived: no stop is told twice there.
    arrived: Mutex<Option<Position>>,
    /// Where a strand was moved first: no repetition comes beyond that.
    moved: Mutex<Option<Moved>>,
}

/// A strand was moved, which no repetition does.
#[derive(Clone)]
pub(crate) struct Moved {
    /// Where it stood.
    pub from: Position,
    /// What the program had written.
    pub printed: [u64; 2],
}

/// Where the last line began that is not the one that the strand stands at the beginning of.
fn last_beginning(lines: &mut Vec<Beginning>, thread: &Thread) -> Option<Position> {
    let last = lines.pop()?;
    let (function, pc) = place_of(thread)?.1;
    let (_, line, column) = function.position(pc);
    // Several instructions may be for one place in the text.
    let is_here = (last.depth, last.line, last.column) == (depth_of(thread), line, column);
    match is_here {
        true => last.before.or_else(|| lines.pop().and_then(|outer| outer.position)),
        false => last.position,
    }
}

impl Travel {
    /// A moment has passed.
    pub(super) fn pass(&self) {
        self.moment.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn moment(&self) -> u64 {
        self.moment.load(Ordering::Relaxed)
    }

    /// The run is to be repeated from here, for another errand.
    pub(super) fn forget(&self) {
        *self.repetition.lock() = None;
        *self.arrived.lock() = None;
        self.is_repeating.store(false, Ordering::SeqCst);
        self.begins.store(false, Ordering::SeqCst);
    }

    /// Where a strand was moved first.
    pub(crate) fn moved(&self) -> Option<Moved> {
        self.moved.lock().clone()
    }

    /// Whether this run is a repetition whose errand is not over.
    #[inline]
    pub(super) fn is_repeating(&self) -> bool {
        self.is_repeating.load(Ordering::Relaxed)
    }
}

impl Control {
    /// The moment at which the run is.
    pub fn moment(&self) -> u64 {
        self.travel.moment()
    }

    /// The position of a stopped strand.
    pub fn position(&self, thread: &Thread) -> Option<Position> {
        let (function, pc) = place_of(thread)?.1;
        Some(Position {
            moment: self.travel.moment(),
            strand: number(thread),
            module: function.module.bytecode.path_text().to_owned(),
            function: function.index,
            pc,
            depth: depth_of(thread),
        })
    }

    /// The strand, which has stood at this position, was moved.
    pub(crate) fn note_move(&self, from: Option<Position>) {
        if let Some(from) = from {
            let printed = (self.printed.count)();
            self.travel.moved.lock().get_or_insert(Moved { from, printed });
        }
    }

    /// The number of frames around the innermost one of the program, that included; without one, of all.
    pub fn own_depth(&self, thread: &Thread) -> usize {
        let is_own = |frame: inspection::Frame| {
            let place = frame.place();
            !is_of_library((place.function, place.pc))
        };
        let inner = inspection::frames(thread).position(is_own);
        depth_of(thread) - inner.unwrap_or_default()
    }

    /// Makes this run, which has not begun or stands at a checkpoint, a repetition.
    pub fn repeat(&self, errand: Errand) {
        let (stop, lines, writes, awaits) = (None, Vec::new(), VecDeque::new(), None);
        self.travel.looks_from.store(errand.looks_from(), Ordering::Relaxed);
        *self.travel.repetition.lock() = Some(Repetition { errand, stop, lines, writes, awaits });
        self.travel.is_repeating.store(true, Ordering::SeqCst);
        // If the run does not repeat itself, nobody sees what it does.
        (self.printed.hold)(true);
        let modules = Vm::of_process().modules.all();
        let places: Vec<Place> = modules.flat_map(|module| self.sought_writers(module)).collect();
        debugging::change(Vm::of_process(), &places, &[]);
    }

    /// Makes the program, which has not begun, stop where its own code begins.
    pub fn stop_at_start(&self) {
        self.travel.begins.store(true, Ordering::SeqCst);
    }

    /// The places of a module that may write what the repetition looks for.
    pub(super) fn sought_writers(&self, module: &'static LoadedModule) -> Vec<Place> {
        let slot = self.travel.repetition.lock();
        let Some(Seek::Write(sought, ..)) = slot.as_ref().map(|it| &it.errand.seek) else {
            return Vec::new();
        };
        let places = watches::writers_of(module, std::slice::from_ref(sought));
        drop(slot);
        self.breakpoints.lock().add_writers(places)
    }

    /// A strand begins or goes on here. Nothing may stop.
    pub(super) fn resumed(&self, thread: &Thread) {
        self.travel.pass();
        let Some(strand) = thread.running_strand() else { return };
        if self.travel.begins.load(Ordering::Relaxed)
            && self.travel.begins.swap(false, Ordering::SeqCst)
        {
            let body = json!({ "reason": "entry", "description": "the start of the run" });
            let after = After::Stop(Reason::Back(body));
            let strand = Some(recording::number_of(strand));
            self.happened.lock().push(Happened { after, strand, worker: thread.worker_index() });
            self.has_happened.store(true, Ordering::Relaxed);
        }
        if self.travel.is_repeating() && self.is_near() {
            thread.vm.debugging.set_stepping(strand, true);
        }
    }

    /// Whether the end of the repetition is near.
    fn is_near(&self) -> bool {
        let repetition = self.travel.repetition.lock();
        repetition.as_ref().is_some_and(|it| self.travel.moment() + NEAR >= it.errand.to.moment)
    }

    /// The strand polls in a repetition. *GC point.*
    pub(super) fn repeat_poll(&self, thread: &mut Thread) {
        if self.travel.moment() < self.travel.looks_from.load(Ordering::Relaxed) {
            return;
        }
        let over = {
            let mut slot = self.travel.repetition.lock();
            slot.take_if(
                |it| matches!(it.errand.seek, Seek::Stop(Some(end)) if end <= self.travel.moment()),
            )
        };
        if let Some(repetition) = over {
            return self.wait_for_end(thread, Ok(repetition.stop.map(Passed::told)));
        }
        let looks = {
            let repetition = self.travel.repetition.lock();
            repetition.as_ref().is_some_and(|it| match it.errand.seek {
                Seek::Line { from, .. } => {
                    let is_after = self.travel.moment() >= from && it.awaits.is_none();
                    is_after && it.errand.to.strand == number(thread)
                }
                _ => false,
            })
        };
        if (looks || self.is_near()) && !thread.watch.steps {
            set_steps(thread, true);
        }
        self.repeat_instruction(thread);
        self.pass_breakpoint(thread);
    }

    /// Single instructions do not ask at breakpoints, so this does. *GC point.*
    pub(super) fn pass_breakpoint(&self, thread: &mut Thread) {
        let Some((_, place)) = place_of(thread) else { return };
        if self.travel.is_repeating() && thread.watch.steps && self.breakpoints.lock().has(place) {
            self.introduce_here(thread, place);
            self.note_write(thread, place);
            self.stop_at(thread, place);
            if self.travel.is_repeating() {
                self.stop_before_write(thread, place);
            }
        }
    }

    /// Notes a write by the instruction at a place, if it is one that the repetition looks for.
    pub(super) fn note_write(&self, thread: &Thread, place: Place) {
        let Some(frame) = inspection::frames(thread).next() else { return };
        let holder = {
            let slot = self.travel.repetition.lock();
            let Some(Seek::Write(sought, ..)) = slot.as_ref().map(|it| &it.errand.seek) else {
                return;
            };
            watches::written_at(thread.vm, frame, place, sought)
        };
        if let Some(holder) = holder {
            self.note_written(thread, holder);
        }
    }

    /// Notes a write of a slot that no instruction names.
    pub(super) fn note_store(&self, thread: &Thread, slot: usize, holder: Word) {
        let is_sought = match self.travel.repetition.lock().as_ref().map(|it| &it.errand.seek) {
            Some(Seek::Write(sought, ..)) => sought.is_slot && sought.index == slot,
            _ => false,
        };
        if is_sought {
            self.note_written(thread, holder);
        }
    }

    fn note_written(&self, thread: &Thread, holder: Word) {
        let Some(here) = self.position(thread) else { return };
        let mut slot = self.travel.repetition.lock();
        let Some(repetition) = slot.as_mut() else { return };
        let writes = &mut repetition.writes;
        let known = writes.iter().rposition(|(_, other)| other.get() == holder);
        let root = match known.and_then(|index| writes.remove(index)) {
            Some((_, root)) => root,
            None => thread.vm.debugging.keep(holder),
        };
        if writes.len() == MOST_WRITTEN {
            writes.pop_front();
        }
        writes.push_back((here, root));
    }

    /// The strand stands before an instruction in a repetition. *GC point.*
    pub(super) fn repeat_instruction(&self, thread: &mut Thread) {
        let moment = self.travel.moment();
        let Some((frame, place)) = place_of(thread) else { return };
        self.has_returned(thread, frame, place);
        let mut slot = self.travel.repetition.lock();
        let Some(repetition) = slot.as_mut() else { return };
        let to = &repetition.errand.to;
        if moment > to.moment {
            drop(slot);
            return self.wait_for_end(thread, Err("the run does not repeat itself"));
        }
        if moment == to.moment && to.is_at(moment, thread, place) {
            drop(slot);
            return self.reach(thread);
        }
        let Seek::Line { from, depth } = repetition.errand.seek else { return };
        let is_looking =
            moment >= from && to.strand == number(thread) && repetition.awaits.is_none();
        drop(slot);
        if is_looking && depth_of(thread) > depth {
            self.run_to_return(thread, depth);
        } else if is_looking && !is_of_library(place) {
            self.note_line(thread, place, from);
        }
    }

    /// Notes where a line begins.
    fn note_line(&self, thread: &Thread, place: Place, from: u64) {
        let depth = depth_of(thread);
        let (_, line, column) = place.0.position(place.1);
        if line == 0 {
            return;
        }
        let here = self.position(thread);
        let mut slot = self.travel.repetition.lock();
        let Some(repetition) = slot.as_mut() else { return };
        let lines = &mut repetition.lines;
        let is_first = lines.is_empty();
        while lines.last().is_some_and(|other| other.depth > depth) {
            lines.pop();
        }
        // An activation that was under way when the repetition began to look is in the middle of a line.
        let is_whole =
            from == 0 || !is_first && lines.first().is_some_and(|other| other.depth <= depth);
        match lines.last_mut().filter(|other| other.depth == depth) {
            Some(same) if same.line == line => {}
            Some(same) => {
                let before = same.position.take();
                *same = Beginning { depth, line, position: here, before, column };
            }
            None => {
                let (position, before) = (here.filter(|_| is_whole), None);
                lines.push(Beginning { depth, line, position, before, column });
            }
        }
    }

    /// Runs at full speed until the strand returns to an activation at this depth.
    fn run_to_return(&self, thread: &mut Thread, depth: usize) {
        let count = depth_of(thread);
        let Some(caller) = inspection::frames(thread).nth(count - depth) else { return };
        let back = (caller.place().function, caller.next_pc());
        if let Some(repetition) = self.travel.repetition.lock().as_mut() {
            repetition.awaits = Some((caller.address(), back));
        }
        if !self.is_near() {
            set_steps(thread, false);
        }
        let vm = thread.vm;
        thread.mutator.native(|| debugging::change(vm, &[back], &[]));
    }

    /// The strand has come to a breakpoint in a repetition. Whether no more is to be done there. *GC point.*
    pub(super) fn repeat_breakpoint(&self, thread: &mut Thread) -> bool {
        self.repeat_instruction(thread);
        !self.travel.is_repeating()
    }

    /// If a call that runs at full speed has returned to this place, the strand goes on by single instructions. *GC point.*
    fn has_returned(&self, thread: &mut Thread, frame: usize, place: Place) {
        {
            let mut slot = self.travel.repetition.lock();
            let Some(repetition) = slot.as_mut() else { return };
            let is_back = repetition
                .awaits
                .is_some_and(|(awaited, back)| awaited == frame && key(back) == key(place));
            if !is_back || repetition.errand.to.strand != number(thread) {
                return;
            }
            repetition.awaits = None;
        }
        set_steps(thread, true);
        if !self.breakpoints.lock().has(place) {
            let vm = thread.vm;
            thread.mutator.native(|| debugging::change(vm, &[], &[place]));
        }
    }

    /// The strand has left activations in a repetition.
    pub(super) fn repeat_leaving(&self, thread: &mut Thread) {
        let is_gone = {
            let mut slot = self.travel.repetition.lock();
            let Some(repetition) = slot.as_mut() else { return };
            let is_own = repetition.errand.to.strand == number(thread);
            let gone = repetition.awaits.filter(|&(awaited, _)| {
                is_own && !inspection::frames(thread).any(|frame| frame.address() == awaited)
            });
            gone.is_some_and(|_| repetition.awaits.take().is_some())
        };
        if is_gone {
            set_steps(thread, true);
        }
    }

    /// The repetition passes a stop, or its errand is over there.
    pub(super) fn pass_stop(&self, thread: &mut Thread, reason: &Reason) {
        self.forget_step(thread);
        let Some(here) = self.position(thread) else { return };
        let mut slot = self.travel.repetition.lock();
        let Some(repetition) = slot.as_mut() else { return };
        if repetition.errand.to == here {
            drop(slot);
            return self.reach(thread);
        }
        let body = of_stop(Some(here.strand), reason, true);
        let order = self.introductions.lock().count();
        repetition.stop = Some(Passed { order, position: here, body });
        drop(slot);
        if self.is_near() {
            set_steps(thread, true);
        }
    }

    /// The repetition has reached its position. *GC point.*
    fn reach(&self, thread: &mut Thread) {
        if let Some((_, place)) = place_of(thread) {
            self.introduce_here(thread, place);
            self.count(thread, place);
        }
        let Some(mut repetition) = self.travel.repetition.lock().take() else { return };
        match repetition.errand.seek {
            Seek::Arrive(mut body) => {
                body["lost"] = self.lost_watches().iter().map(of_breakpoint).collect();
                self.travel.is_repeating.store(false, Ordering::SeqCst);
                (self.printed.hold)(false);
                set_steps(thread, false);
                self.stop_here(thread, Reason::Back(body));
                *self.travel.arrived.lock() = Some(repetition.errand.to);
            }
            Seek::Stop(_) => {
                let last = self.last_passed(repetition.stop);
                self.wait_for_end(thread, Ok(last.map(Passed::told)));
            }
            Seek::Write(_, frame, expression) => {
                let stopped = Stopped::new(thread, &self.names);
                let found = evaluation::target(&stopped, frame, &expression);
                let found = found.ok().and_then(|target| {
                    let holder = target.holder.get();
                    repetition.writes.into_iter().rfind(|(_, other)| other.get() == holder)
                });
                let text = format!("the last write of {expression}");
                let body = json!({ "reason": "step", "description": text });
                let found = found.map(|(position, _)| (position, body));
                drop(stopped);
                self.wait_for_end(thread, Ok(found));
            }
            Seek::Line { .. } => {
                let body = json!({ "reason": "step" });
                let last = last_beginning(&mut repetition.lines, thread);
                self.wait_for_end(thread, Ok(last.map(|position| (position, body))));
            }
        }
    }

    /// Tells the finding; the repetition has no other use.
    fn wait_for_end(
        &self,
        thread: &mut Thread,
        found: Result<Option<(Position, Json)>, &'static str>,
    ) {
        let writes = self.introductions.lock().last_writes();
        self.tell(Event::Repeated(found, writes));
        thread.mutator.native(|| {
            loop {
                std::thread::park();
            }
        });
    }

    /// Whether the user knows already that the strand has stopped here: a repetition has arrived here.
    pub(super) fn is_known_stop(&self, thread: &Thread) -> bool {
        let mut arrived = self.travel.arrived.lock();
        if arrived.is_none() {
            return false;
        }
        arrived.take() == self.position(thread)
    }
}
