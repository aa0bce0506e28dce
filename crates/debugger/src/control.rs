//! Control: the machine asks here at breakpoints, steps, polls and signals, and this decides whether the strand stops. The
//! server sets breakpoints here, and sends what the stopped thread is to do.
//!
//! `pauses` has what happens while a strand is stopped, `steps` how it goes on by a step, `after` how it stops after an event,
//! `travel` how a run is repeated, `checkpoints` from where, and `introductions` how the objects of data breakpoints get known
//! in that.

mod after;
pub(crate) mod checkpoints;
pub mod introductions;
pub mod pauses;
mod steps;
pub mod travel;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError};

use parking_lot::Mutex;
use squall_events::{Kind, record};
use squall_heap::Word;
use squall_runtime::execution::stack_traces;
use squall_runtime::library::inspection;
use squall_runtime::model::function::Site;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::{self, Debugger, Place};
use squall_runtime::state::recording;
use squall_runtime::state::thread::{Stop, Thread, Window};
use squall_runtime::state::vm::Vm;

use after::{After, Happened};
use checkpoints::Checkpoints;
use introductions::Introductions;
use pauses::Pauses;
use steps::{Stepping, is_of_library, number, place_of, set_steps};
use travel::{Position, Travel};

use crate::breakpoints::{Breakpoint, Breakpoints, Request};
use crate::evaluation;
use crate::goals::{Goals, Seen};
use crate::origins::Origins;
use crate::places::key;
use crate::points;
use crate::reasons::Reason;
use crate::stopped::{Names, Stopped};
use crate::watches::{self, Watch, Watches, Write};

/// What the user hears of.
#[derive(Debug)]
pub enum Event {
    /// Strands are paused, by the strand with this number if there is one.
    Stopped(Option<u64>, Reason),
    /// A text of a breakpoint that logs.
    Log(String),
    /// A breakpoint has found its code.
    Found(Breakpoint),
    /// A repetition has come to its end: the last stop or line before it, with the body for the client; or why it does not.
    /// The last value has the last writes that data breakpoints have told.
    Repeated(Result<Option<(Position, serde_json::Value)>, &'static str>, serde_json::Value),
    /// The program has ended with this exit code; the sender hears when the user knows all.
    Ended(i32, Sender<()>),
}

/// How a step ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// At the next line, in functions that are called there as well.
    In,
    /// At the next line of the same function, or of its caller.
    Over,
    /// When the function returns.
    Out,
    /// After an instruction, and not in functions that are called there.
    Instruction,
    /// At the first line of the program, wherever that is called.
    Enter,
}

/// What a stopped thread does next.
pub enum Flow {
    /// It waits for the next command.
    Stay,
    /// It goes on, by a step if one is given.
    Resume(Option<Step>),
}

/// Work for the stopped thread.
pub struct Command(pub(crate) Box<dyn FnOnce(&mut Stopped) -> Flow + Send>);

impl Command {
    /// This work.
    pub fn new(work: impl FnOnce(&mut Stopped) -> Flow + Send + 'static) -> Command {
        Command(Box::new(work))
    }
}

/// Which exceptions stop the strand that signals them.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    /// Those that nothing catches.
    pub uncaught: bool,
    /// All.
    pub all: bool,
    /// Those of classes with these names, of those above.
    pub classes: Vec<String>,
}

impl Exceptions {
    /// Whether an exception of a class is one of them.
    fn include(&self, class: &str, is_caught: bool) -> bool {
        (self.all || self.uncaught && !is_caught)
            && (self.classes.is_empty() || self.classes.iter().any(|other| other == class))
    }
}

/// The debugger of a machine.
pub struct Control {
    pub(crate) breakpoints: Mutex<Breakpoints>,
    exceptions: Mutex<Exceptions>,
    /// The data breakpoints.
    pub watches: Mutex<Watches>,
    /// What a repetition has heard of the objects of data breakpoints.
    pub(crate) introductions: Mutex<Introductions>,
    /// Where messages and strands come from.
    pub origins: Origins,
    pub(crate) goals: Mutex<Goals>,
    has_goals: AtomicBool,
    pub(crate) steps: Mutex<Vec<Stepping>>,
    /// The keys of the places where the user has seen strands that have not gone on from there, by strand.
    seen: Mutex<HashMap<u64, usize>>,
    pub(crate) pauses: Pauses,
    pub(crate) travel: Travel,
    /// Where each worker has counted last: the strand, the moment, the frame and the place.
    counted: Mutex<HashMap<u32, (u64, u64, usize, usize)>>,
    /// What the program writes.
    pub(crate) printed: Printed,
    /// A bit for each kind of event for which there is a breakpoint.
    wanted_events: AtomicU64,
    /// What strands are to stop after, as soon as they are in code of the program.
    happened: Mutex<Vec<Happened>>,
    /// Whether that list has something.
    has_happened: AtomicBool,
    pub(crate) is_detached: AtomicBool,
    pub(crate) checkpoints: Checkpoints,
    /// Held by the threads of the server while they work, see [`checkpoints`]. A lock of the standard library keeps no list of
    /// waiting threads, which a copy of the process would not have.
    pub(crate) quiet: std::sync::Mutex<()>,
    events: Mutex<Sender<Event>>,
    /// The names of variables, and texts.
    pub names: Names,
}

/// The output of the program, on both standard streams, as a run that repeats another one needs it.
#[derive(Clone, Copy)]
pub struct Printed {
    /// The bytes so far.
    pub count: fn() -> [u64; 2],
    /// Leaves out so many first bytes, which another run has written.
    pub skip: fn([u64; 2]),
    /// Holds back what no other run has written, or lets it go.
    pub hold: fn(bool),
    /// Writes a text that is not the program's to where that writes, if the debugger has begun the program: so what a
    /// breakpoint logs stands between the lines that the program writes before and after it. Otherwise the client is told.
    pub log: Option<fn(&str)>,
    /// Runs something while no other thread writes.
    pub alone: fn(&mut dyn FnMut()),
    /// In a copy of the process, which has none of its threads: starts those again that write, and wait for signals.
    pub begin_again: fn(),
}

/// What the server needs.
pub struct Ends {
    /// The control.
    pub control: Arc<Control>,
    /// What the user is told.
    pub events: Receiver<Event>,
}

impl Control {
    /// The control of a machine that has not run yet.
    pub fn with_names(names: Names, printed: Printed) -> Ends {
        let (events, received) = channel();
        let control = Arc::new(Control {
            breakpoints: Mutex::new(Breakpoints::new(names.bodies())),
            exceptions: Mutex::default(),
            watches: Mutex::default(),
            introductions: Mutex::default(),
            origins: Origins::default(),
            goals: Mutex::default(),
            has_goals: AtomicBool::new(false),
            steps: Mutex::default(),
            seen: Mutex::default(),
            pauses: Pauses::default(),
            travel: Travel::default(),
            counted: Mutex::default(),
            printed,
            wanted_events: AtomicU64::new(0),
            happened: Mutex::default(),
            has_happened: AtomicBool::new(false),
            is_detached: AtomicBool::new(false),
            checkpoints: Checkpoints::default(),
            quiet: std::sync::Mutex::default(),
            events: Mutex::new(events),
            names,
        });
        Ends { control, events: received }
    }

    /// A module was loaded: none of its code has run.
    pub fn loaded(&self, module: &'static LoadedModule) {
        let (mut new, found) = self.breakpoints.lock().search(module);
        let mut writers = watches::writers(module, &self.watches.lock());
        writers.extend(self.introducing_places(module));
        new.extend(self.breakpoints.lock().add_writers(writers));
        new.extend(self.sought_writers(module));
        debugging::set_unreached(Vm::of_process(), &new);
        for breakpoint in found {
            self.tell(Event::Found(breakpoint));
        }
    }

    /// Changes breakpoints, from outside of the machine.
    pub fn change<R>(
        &self,
        change: impl FnOnce(&mut Breakpoints, &'static Vm) -> (R, crate::breakpoints::Changes),
    ) -> R {
        let vm = Vm::of_process();
        let (answer, changes) = change(&mut self.breakpoints.lock(), vm);
        debugging::change(vm, &changes.set, &changes.removed);
        answer
    }

    /// Chooses the events after which strands stop.
    pub fn set_events(&self, kinds: impl Iterator<Item = Kind>) {
        let bits = kinds.map(|kind| 1 << kind as u32).fold(0, |all, bit: u64| all | bit);
        self.wanted_events.store(bits, Ordering::SeqCst);
    }

    /// Chooses the exceptions that stop strands.
    pub fn set_exceptions(&self, exceptions: Exceptions) {
        *self.exceptions.lock() = exceptions;
    }

    /// Replaces the data breakpoints by those with these targets and requests. Answers them; the error says which identifier
    /// is not known.
    pub fn set_watches(&self, requests: Vec<(String, Request)>) -> Vec<Result<Breakpoint, String>> {
        self.change(|breakpoints, vm| {
            let mut watches = self.watches.lock();
            watches.set.clear();
            let mut set = Vec::new();
            for (id, request) in requests {
                let breakpoint = Breakpoint { line: Some(0), ..breakpoints.make(request) };
                match watches.target(&id) {
                    Some(target) => {
                        set.push(Ok(breakpoint.clone()));
                        watches.set.push(Watch { id, breakpoint, target });
                    }
                    None if self.await_watch(&id, &breakpoint) => set.push(Ok(breakpoint)),
                    None => set.push(Err(format!("{id} is not known any more"))),
                }
            }
            let mut writers = Vec::new();
            for module in vm.modules.all() {
                writers.extend(watches::writers(module, &watches));
                writers.extend(self.introducing_places(module));
            }
            (set, breakpoints.set_writers(writers))
        })
    }

    /// The user has left: nothing stops any more.
    pub fn detach(&self) {
        self.is_detached.store(true, Ordering::SeqCst);
        self.origins.clear();
        self.forget_client();
    }

    /// Forgets all that the user has set, and lets everything go on that stands.
    pub(crate) fn forget_client(&self) {
        self.set_exceptions(Exceptions::default());
        self.set_events(std::iter::empty());
        self.watches.lock().set.clear();
        self.change(|breakpoints, _| ((), breakpoints.clear()));
        self.goals.lock().clear();
        self.has_goals.store(false, Ordering::SeqCst);
        self.release_all();
    }

    /// The server's work begins, during which no copy of the process is made, until the answer is dropped.
    pub(crate) fn quiet(&self) -> std::sync::MutexGuard<'_, ()> {
        self.quiet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program has ended. Returns when the user knows all that has happened.
    pub fn end(&self, code: i32) {
        let (known, is_known) = channel();
        self.tell(Event::Ended(code, known));
        // Without a server, nothing is to be known.
        _ = is_known.recv();
    }

    /// Whether one of the breakpoints that are the reason of a stop still exists.
    pub(crate) fn is_wanted(&self, reason: &Reason) -> bool {
        match reason {
            Reason::Breakpoint(ids) | Reason::Event(ids, _) => {
                let breakpoints = self.breakpoints.lock();
                ids.iter().any(|id| breakpoints.knows(*id))
            }
            Reason::Write(id, _) => {
                self.watches.lock().set.iter().any(|watch| watch.breakpoint.id == *id)
            }
            _ => true,
        }
    }

    pub(crate) fn tell(&self, event: Event) {
        // The user may have left.
        _ = self.events.lock().send(event);
    }

    /// Tells the user a text, in the order of what the program writes.
    fn log(&self, text: String) {
        if self.travel.is_repeating() {
            // It was told the first time.
            return;
        }
        match self.printed.log {
            Some(log) => {
                Vm::of_process().host().flush();
                log(&format!("{text}\n"));
            }
            None => self.tell(Event::Log(text)),
        }
    }

    /// Handles the breakpoints of the user at the place where the strand stands.
    pub(crate) fn stop_at(&self, thread: &mut Thread, place: Place) {
        self.stop_at_new(thread, place, false);
    }

    /// The same, but does not stop the strand for breakpoints if the user has seen it there already. Answers whether it has
    /// stopped.
    fn stop_at_new(&self, thread: &mut Thread, place: Place, is_seen: bool) -> bool {
        let is_end = inspection::frames(thread).nth(1).is_none();
        let hidden = self.breakpoints.lock().take_hidden(place, number(thread), is_end);
        if let Some(changes) = hidden {
            let vm = thread.vm;
            thread.mutator.native(|| debugging::change(vm, &changes.set, &changes.removed));
            self.stop(thread, Reason::Step);
            return true;
        }
        self.count(thread, place);
        let reached = self.breakpoints.lock().at(place, is_end);
        let mut ids = Vec::new();
        for breakpoint in reached {
            if self.counts(thread, &breakpoint) {
                match &breakpoint.request.log {
                    Some(log) => {
                        let text = self.log_text(thread, log);
                        self.log(text);
                    }
                    None => ids.push(breakpoint.id),
                }
            }
        }
        if ids.is_empty() || is_seen {
            return false;
        }
        let names: Vec<String> = {
            let breakpoints = self.breakpoints.lock();
            ids.iter().filter_map(|id| breakpoints.point_name(*id)).collect()
        };
        self.stop(
            thread,
            match names.is_empty() {
                true => Reason::Breakpoint(ids),
                false => Reason::Event(ids, names),
            },
        );
        true
    }

    /// The breakpoints at a place count that the strand has come there, once.
    pub(crate) fn count(&self, thread: &mut Thread, place: Place) {
        let mut frames = inspection::frames(thread);
        let Some(frame) = frames.next() else { return };
        let is_end = frames.next().is_none();
        drop(frames);
        let here = (number(thread), self.travel.moment(), frame.address(), key(place));
        // Without a seed there are no moments, and steps do not count.
        let is_seeded = thread.vm.events.is_seeded();
        if is_seeded && self.counted.lock().insert(thread.worker_index(), here) == Some(here) {
            return;
        }
        let counting = self.breakpoints.lock().counting_at(place, is_end);
        let mut is_met = |condition: Option<String>| {
            let Some(condition) = condition else { return true };
            // Where the condition decides whether the strand stops, a problem with it is told.
            evaluation::holds(&Stopped::new(thread, &self.names), 0, &condition).unwrap_or(true)
        };
        let met: Vec<u64> = counting
            .into_iter()
            .filter_map(|(id, condition)| is_met(condition).then_some(id))
            .collect();
        self.breakpoints.lock().add_hits(&met);
    }

    /// Whether the breakpoint of an event, which has happened, is to stop the strand. If it logs, it does that.
    fn counts_event(&self, thread: &mut Thread, id: u64) -> bool {
        let Some(mut breakpoint) = self.breakpoints.lock().of_function(id) else { return false };
        let hits = breakpoint.request.hits.take();
        if !self.counts(thread, &breakpoint) {
            return false;
        }
        self.breakpoints.lock().add_hits(&[id]);
        if hits.is_some_and(|hits| breakpoint.reached + 1 < hits) {
            return false;
        }
        let Some(log) = &breakpoint.request.log else { return true };
        let text = self.log_text(thread, log);
        self.log(text);
        false
    }

    /// Handles the data breakpoints that the instruction at a place is about. *GC point.*
    fn stop_before_write(&self, thread: &mut Thread, place: Place) {
        if self.travel.is_repeating() {
            self.note_candidates(thread, place);
        }
        if self.watches.lock().set.is_empty() {
            return;
        }
        let Some(frame) = inspection::frames(thread).next() else { return };
        let writes = self.watches.lock().reach(thread.vm, frame, place);
        self.stop_at_writes(thread, writes);
    }

    /// Handles the data breakpoints whose targets are about to be written. *GC point.*
    fn stop_at_writes(&self, thread: &mut Thread, writes: Vec<(Watch, Write)>) {
        // All words come before the first GC point.
        let tell = |(watch, write): (Watch, Write)| {
            let counts = self.counts_write(thread, &watch, &write);
            let change = watch.told(thread.vm, &write);
            if counts {
                self.note_told(thread, &watch.id);
            }
            counts.then_some(Reason::Write(watch.breakpoint.id, change))
        };
        let reasons: Vec<Reason> = writes.into_iter().filter_map(tell).collect();
        for reason in reasons {
            self.stop(thread, reason);
        }
    }

    /// Whether the count and the condition of a data breakpoint are met. *No GC point.*
    fn counts_write(&self, thread: &mut Thread, watch: &Watch, write: &Write) -> bool {
        if let Some(condition) = &watch.breakpoint.request.condition {
            let mut stopped = Stopped::new(thread, &self.names);
            stopped.given = vec![("old", write.old), ("new", write.new)];
            if !self.holds(&stopped, condition) {
                return false;
            }
        }
        let count = self.watches.lock().count(watch.breakpoint.id);
        // A repetition need not begin where the data breakpoint was set.
        let hits = watch.breakpoint.request.hits.filter(|_| !self.travel.is_repeating());
        hits.is_none_or(|hits| count >= hits)
    }

    /// Whether a condition holds. One that cannot be computed counts as if it did, and is told.
    fn holds(&self, stopped: &Stopped, condition: &str) -> bool {
        evaluation::holds(stopped, 0, condition).unwrap_or_else(|problem| {
            self.log(format!("condition {condition}: {problem}"));
            true
        })
    }

    /// Whether a breakpoint's count and condition are met.
    fn counts(&self, thread: &mut Thread, breakpoint: &Breakpoint) -> bool {
        if breakpoint.request.hits.is_some_and(|hits| breakpoint.reached < hits) {
            return false;
        }
        let Some(condition) = &breakpoint.request.condition else { return true };
        let stopped = Stopped::new(thread, &self.names);
        self.holds(&stopped, condition)
    }

    /// The text of a breakpoint that logs, with the values of the expressions in braces.
    fn log_text(&self, thread: &mut Thread, log: &str) -> String {
        let stopped = Stopped::new(thread, &self.names);
        let mut text = String::new();
        let mut rest = log;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((expression, following)) = after.split_once('}') else { break };
            text.push_str(before);
            let value = evaluation::evaluate(&stopped, 0, expression);
            text.push_str(&value.map_or_else(|problem| problem, |value| value.text(&stopped)));
            rest = following;
        }
        text.push_str(rest);
        text
    }
}

/// The debugger as the machine asks it.
pub struct Asked(pub Arc<Control>);

impl Debugger for Asked {
    fn breakpoint_reached(&self, thread: &mut Thread) {
        let control = &self.0;
        let Some((frame, place)) = place_of(thread) else { return };
        let is_seen = control.has_seen(thread, place);
        if control.travel.is_repeating() {
            control.introduce_here(thread, place);
            if control.repeat_breakpoint(thread) {
                return;
            }
        }
        if control.pauses.passes(thread, place) {
            return;
        }
        let is_back = |step: &Stepping| {
            step.frame == frame && step.awaits.is_some_and(|awaited| key(awaited) == key(place))
        };
        // The step is over where it has returned to, unless a breakpoint stops the strand there.
        let mut over = None;
        if let Some(mut step) = control.take_step(thread, is_back) {
            control.remove_awaited(thread, &mut step);
            match step.kind == Step::Out || step.ends_at(place) {
                true => over = Some(step.reason),
                false => control.step_on(thread, step),
            }
        }
        let is_told = control.stop_at_new(thread, place, is_seen);
        if let Some(reason) = over.filter(|_| !is_told) {
            control.stop(thread, reason);
        }
        if control.travel.is_repeating() {
            control.note_write(thread, place);
        }
        if thread.stop == Stop::Returned {
            control.stop_before_write(thread, place);
        }
        if thread.was_moved {
            control.see_here(thread);
        }
    }

    fn step_done(&self, thread: &mut Thread) {
        let control = &self.0;
        if control.travel.is_repeating() {
            control.repeat_instruction(thread);
            control.pass_breakpoint(thread);
            if !control.has_step(thread) {
                return;
            }
        }
        let Some((frame, place)) = place_of(thread) else { return };
        if thread.vm.events.is_seeded() && control.breakpoints.lock().has(place) {
            // Single instructions do not ask at breakpoints, and a repetition may come here at full speed.
            control.count(thread, place);
        }
        let Some(mut step) = control.take_step(thread, |_| true) else {
            return set_steps(thread, false);
        };
        if frame != step.frame {
            let caller = inspection::frames(thread).nth(1);
            let is_call = caller.is_some_and(|caller| caller.address() == step.frame);
            if let Some(caller) = caller.filter(|_| is_call) {
                if matches!(step.kind, Step::In | Step::Enter) && !is_of_library(place) {
                    return control.end_step(thread, step.reason);
                }
                if step.kind == Step::Enter {
                    step.frame = frame;
                    return control.keep_step(step);
                }
                let back = (caller.place().function, caller.next_pc());
                control.await_return(thread, &mut step, back);
                control.keep_step(step);
                // The call begins at a breakpoint, perhaps.
                return;
            }
            // It has returned, or was left.
            if !is_of_library(place) {
                return control.end_step(thread, step.reason);
            }
            step.frame = frame;
            step.line = 0;
        }
        if step.ends_at(place) {
            return control.end_step(thread, step.reason);
        }
        control.keep_step(step);
    }

    fn poll_reached(&self, thread: &mut Thread) {
        let control = &self.0;
        control.travel.pass();
        control.keep_checkpoint(thread);
        if control.travel.is_repeating() {
            control.repeat_poll(thread);
        }
        if control.pauses.wants(number(thread)) {
            return control.stop(thread, Reason::Pause);
        }
        if control.has_happened.load(Ordering::Relaxed) {
            control.stop_after_event(thread);
        }
        control.wait_while_paused(thread);
    }

    fn call_ended(&self, thread: &mut Thread) {
        self.0.stop_after_event(thread);
    }

    fn event_noted(&self, thread: &Thread, kind: Kind, fields: &[u64]) {
        let control = &self.0;
        if control.is_detached.load(Ordering::Relaxed) {
            return;
        }
        let moment = control.travel.moment();
        match (kind, fields) {
            (Kind::PromiseCreated, &[promise, ..]) => {
                control.origins.promise_made(thread, moment, promise)
            }
            (Kind::StrandCreated, &[strand, ..]) => {
                control.origins.strand_made(thread, moment, strand)
            }
            (Kind::StrandResumed, _) => {
                control.resumed(thread);
                control.origins.resumed(thread);
                control.stop_resumed(thread);
                let strand = thread.running_strand().map(recording::number_of);
                if strand.is_some_and(|strand| control.pauses.awaits(strand)) {
                    // The request to look came when another strand ran.
                    thread.look_soon();
                }
            }
            (Kind::StrandStopped, &[strand]) => {
                control.origins.stopped(thread, strand);
                control.forget_happened(strand);
            }
            _ => {}
        }
        if control.wanted_events.load(Ordering::Relaxed) & 1 << kind as u32 != 0 {
            let wanted = control.breakpoints.lock().of_event(kind);
            for (id, name, which) in wanted {
                control.stop_soon(thread, After::Event(id, name, which));
            }
        }
        let strand = thread.running_strand().map(recording::number_of);
        let seen = Seen { strand, worker: thread.worker_index(), kind, fields };
        control.reach_goals(thread, |goals| goals.see(&seen, points::sends_message));
    }

    fn message_noted(&self, thread: &Thread, has_begun: bool, message: u64, promise: u64) {
        let control = &self.0;
        if control.is_detached.load(Ordering::Relaxed) {
            return;
        }
        match has_begun {
            true => {
                let vat = record::vat_of_message(message);
                control.origins.turn_begins(vat, message, promise);
            }
            false => {
                let moment = control.travel.moment();
                control.origins.message_sent(thread, moment, message, promise);
            }
        }
        let strand = thread.running_strand().map(recording::number_of);
        let worker = thread.worker_index();
        control.reach_goals(thread, |goals| {
            goals.see_message(strand, worker, has_begun, message, promise)
        });
    }

    fn promise_settling(&self, thread: &Thread, promise: u64, is_late: bool) {
        let worker = thread.worker_index();
        self.0.reach_goals(thread, |goals| {
            goals.see_settling(worker, promise, is_late);
            Vec::new()
        });
    }

    fn message_deferred(&self, thread: &Thread, site: u64) {
        let strand = thread.running_strand().map(recording::number_of);
        self.0.reach_goals(thread, |goals| {
            goals.see_deferred(strand, site);
            Vec::new()
        });
    }

    fn slot_stored(&self, thread: &mut Thread, site: &'static Site, slot: usize, window: Window) {
        let control = &self.0;
        if control.travel.is_repeating() {
            control.note_store(thread, slot, window.get(0));
        }
        if !control.travel.is_repeating() && control.watches.lock().set.is_empty() {
            return;
        }
        // The machine's own sites have no function.
        let is_named = !site.function.is_null()
            && control.breakpoints.lock().has_writer((site.function(), site.pc as usize));
        if !is_named {
            let (object, new) = (window.get(0), window.get(1));
            if control.travel.is_repeating() {
                control.note_stored_candidates(thread, slot, object, new);
            }
            let writes = control.watches.lock().reach_slot(object, slot, new);
            control.stop_at_writes(thread, writes);
        }
    }

    fn exception_signalled(&self, thread: &mut Thread, exception: Word, is_caught: bool) {
        let control = &self.0;
        let class = inspection::class_name(thread.vm, exception);
        if control.exceptions.lock().include(&class, is_caught) {
            let text = stack_traces::describe_exception(thread.vm, exception);
            control.stop(thread, Reason::Exception(class, text));
        }
    }

    fn activations_left(&self, thread: &mut Thread) {
        let control = &self.0;
        if control.travel.is_repeating() {
            control.repeat_leaving(thread);
        }
        let Some((frame, place)) = place_of(thread) else { return };
        let is_left = |step: &Stepping| {
            let is_active = inspection::frames(thread).any(|other| other.address() == step.frame);
            let is_elsewhere = step.awaits.is_some_and(|awaited| key(awaited) != key(place));
            // In the program, no frame has handlers: it is the return.
            !is_active || is_elsewhere && step.frame == frame && is_of_library(place)
        };
        if let Some(mut step) = control.take_step(thread, is_left) {
            control.remove_awaited(thread, &mut step);
            step.line = 0;
            step.frame = frame;
            if is_of_library(place) {
                // It is about to call the program's handler or `ensure:` block.
                step.kind = Step::Enter;
            }
            control.step_on(thread, step);
        }
    }
}
