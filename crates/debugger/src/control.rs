//! Control: the machine asks here at breakpoints, steps, polls and signals, and this decides whether the strand stops. The
//! server sets breakpoints here, and sends what the stopped thread is to do.
//!
//! # The pause
//!
//! ```text
//! running ──a strand stops──▶ paused ──the user resumes──▶ running
//! ```
//!
//! While the world is *paused*, the thread whose strand has stopped serves commands, and each other thread waits at its next
//! poll. If two strands come to breakpoints at once, the second stops when the first goes on. A pause that the user asks
//! for stops the first strand that polls; if none runs, the world is paused without one.
//!
//! # Steps
//!
//! The strand that steps executes single instructions until its line changes. Where it calls a function that the step is to
//! go over, a breakpoint of the debugger's own waits at the return, and the strand runs at full speed until then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use parking_lot::{Condvar, Mutex};
use squall_events::Kind;
use squall_heap::Word;
use squall_runtime::execution::stack_traces;
use squall_runtime::library::inspection;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::{self, Debugger, Place};
use squall_runtime::state::recording;
use squall_runtime::state::thread::Thread;
use squall_runtime::state::vm::Vm;

use crate::breakpoints::{Breakpoint, Breakpoints, key};
use crate::evaluation;
use crate::stopped::{Names, Stopped};

/// Why the world is paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The strand has come to these breakpoints.
    Breakpoint(Vec<u64>),
    /// A step is done.
    Step,
    /// The user has asked for it.
    Pause,
    /// An exception was signalled: its class, and its text.
    Exception(String, String),
    /// An event has happened, for which the user has set this breakpoint.
    Event(u64, Kind),
}

/// What the user hears of.
#[derive(Debug)]
pub enum Event {
    /// The world is paused, by the strand with this number if there is one.
    Stopped(Option<u64>, Reason),
    /// A text of a breakpoint that logs.
    Log(String),
    /// A breakpoint has found its code.
    Found(Breakpoint),
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
}

/// What a stopped thread does next.
pub enum Flow {
    /// It waits for the next command.
    Stay,
    /// It goes on, by a step if one is given.
    Resume(Option<Step>),
}

/// Work for the stopped thread.
pub struct Command(Box<dyn FnOnce(&mut Stopped) -> Flow + Send>);

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

/// A step in progress.
struct Stepping {
    /// The strand that steps.
    strand: u64,
    kind: Step,
    /// The address of the frame in which the step was last.
    frame: usize,
    /// The line where it began; 0 if it is to end as soon as it can.
    line: u32,
    /// Where the strand waits for the return to that frame, at full speed.
    awaits: Option<Place>,
    /// What the user is told at its end.
    reason: Reason,
}

/// An event with a breakpoint, after which a strand is to stop.
struct Happened {
    kind: Kind,
    /// The strand; if none ran, the next one of the worker.
    strand: Option<u64>,
    worker: u32,
}

/// The debugger of a machine.
pub struct Control {
    breakpoints: Mutex<Breakpoints>,
    exceptions: Mutex<Exceptions>,
    step: Mutex<Option<Stepping>>,
    /// Held by the thread whose strand has stopped.
    turn: Mutex<()>,
    is_paused: Mutex<bool>,
    resumed: Condvar,
    wants_pause: AtomicBool,
    /// A bit for each kind of event for which there is a breakpoint.
    wanted_events: AtomicU64,
    /// The events after which strands are to stop, as soon as they are in code of the program.
    happened: Mutex<Vec<Happened>>,
    is_detached: AtomicBool,
    events: Sender<Event>,
    commands: Mutex<Receiver<Command>>,
    /// The names of variables, and texts.
    pub names: Names,
}

/// What the server needs.
pub struct Ends {
    /// The control.
    pub control: Arc<Control>,
    /// What the user is told.
    pub events: Receiver<Event>,
    /// The way to the stopped thread.
    pub commands: Sender<Command>,
}

impl Control {
    /// The control of a machine that has not run yet.
    pub fn with_names(names: Names) -> Ends {
        let (events, received) = channel();
        let (commands, receiver) = channel();
        let control = Arc::new(Control {
            breakpoints: Mutex::default(),
            exceptions: Mutex::default(),
            step: Mutex::default(),
            turn: Mutex::default(),
            is_paused: Mutex::default(),
            resumed: Condvar::new(),
            wants_pause: AtomicBool::new(false),
            wanted_events: AtomicU64::new(0),
            happened: Mutex::default(),
            is_detached: AtomicBool::new(false),
            events,
            commands: Mutex::new(receiver),
            names,
        });
        Ends { control, events: received, commands }
    }

    /// A module was loaded: none of its code has run.
    pub fn loaded(&self, module: &'static LoadedModule) {
        let (new, found) = self.breakpoints.lock().search(module);
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

    /// Pauses the world soon; `Event::Stopped` says when.
    pub fn pause(&self) {
        self.wants_pause.store(true, Ordering::SeqCst);
        Vm::of_process().ask_all_to_look();
    }

    /// Pauses the world if it was asked for and no strand has polled since.
    pub fn pause_idle(&self) {
        if self.wants_pause.swap(false, Ordering::SeqCst) {
            *self.is_paused.lock() = true;
            self.tell(Event::Stopped(None, Reason::Pause));
        }
    }

    /// Ends a pause that has no stopped strand.
    pub fn resume_idle(&self) {
        *self.is_paused.lock() = false;
        self.resumed.notify_all();
    }

    /// The user has left: nothing stops any more.
    pub fn detach(&self) {
        self.is_detached.store(true, Ordering::SeqCst);
        self.wants_pause.store(false, Ordering::SeqCst);
        self.set_exceptions(Exceptions::default());
        self.set_events(std::iter::empty());
        self.change(|breakpoints, _| ((), breakpoints.clear()));
        self.resume_idle();
    }

    /// The program has ended. Returns when the user knows all that has happened.
    pub fn end(&self, code: i32) {
        let (known, is_known) = channel();
        self.tell(Event::Ended(code, known));
        // Without a server, nothing is to be known.
        _ = is_known.recv();
    }

    fn tell(&self, event: Event) {
        // The user may have left.
        _ = self.events.send(event);
    }

    /// Stops the strand of the thread until the user lets it go on. *GC point.*
    fn stop(&self, thread: &mut Thread, reason: Reason) {
        if self.is_detached.load(Ordering::SeqCst) {
            return;
        }
        let _turn = thread.mutator.native(|| self.turn.lock());
        self.forget_step(thread);
        *self.is_paused.lock() = true;
        thread.vm.ask_all_to_look();
        // What the program has written is seen before it stops.
        thread.vm.host().flush();
        self.tell(Event::Stopped(Some(number(thread)), reason));
        let depth = thread.mutator.root_depth();
        let step = self.serve(thread);
        thread.mutator.truncate_roots(depth);
        if let Some(step) = step {
            self.begin_step(thread, step);
        }
        self.resume_idle();
    }

    /// Does what the user asks, until the strand is to go on.
    fn serve(&self, thread: &mut Thread) -> Option<Step> {
        let mut stopped = Stopped::new(thread, &self.names);
        loop {
            let command = stopped.thread.mutator.native(|| self.commands.lock().recv());
            // Without a sender, the user has left.
            let Ok(command) = command else { return None };
            if let Flow::Resume(step) = (command.0)(&mut stopped) {
                return step;
            }
        }
    }

    /// Begins a step of the strand that has stopped on this thread.
    fn begin_step(&self, thread: &mut Thread, kind: Step) {
        let mut frames = inspection::frames(thread);
        let Some(frame) = frames.next() else { return };
        let line = frame.place().position().1;
        let strand = number(thread);
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
        }
        *self.step.lock() = Some(step);
    }

    /// Lets the strand run until it returns to a place in the step's frame.
    fn await_return(&self, thread: &mut Thread, step: &mut Stepping, place: Place) {
        step.awaits = Some(place);
        set_steps(thread, false);
        let vm = thread.vm;
        thread.mutator.native(|| debugging::change(vm, &[place], &[]));
    }

    /// Removes what a step has left.
    fn forget_step(&self, thread: &mut Thread) {
        let step = self.step.lock().take();
        if let Some(mut step) = step {
            if step.strand == number(thread) {
                set_steps(thread, false);
            } else {
                thread.vm.debugging.set_stepping(None);
            }
            self.remove_awaited(thread, &mut step);
        }
    }

    /// The strand goes on with this step by single instructions.
    fn step_on(&self, thread: &mut Thread, step: Stepping) {
        *self.step.lock() = Some(step);
        set_steps(thread, true);
    }

    fn remove_awaited(&self, thread: &mut Thread, step: &mut Stepping) {
        if let Some(place) = step.awaits.take()
            && !self.breakpoints.lock().has(place)
        {
            let vm = thread.vm;
            thread.mutator.native(|| debugging::change(vm, &[], &[place]));
        }
    }

    /// Takes the step of the strand that runs on this thread, if it has one and it is so.
    fn take_step(
        &self,
        thread: &Thread,
        is_so: impl FnOnce(&Stepping) -> bool,
    ) -> Option<Stepping> {
        let strand = number(thread);
        self.step.lock().take_if(|step| step.strand == strand && is_so(step))
    }

    /// Stops if an event with a breakpoint has happened since the last poll: here, or where the library returns to the
    /// program.
    fn stop_after_event(&self, thread: &mut Thread) {
        let (strand, worker) = (number(thread), thread.worker_index());
        let is_here = |happened: &Happened| match happened.strand {
            Some(other) => other == strand,
            None => happened.worker == worker,
        };
        let mut happened = self.happened.lock();
        let first = happened.iter().find(|happened| is_here(happened)).map(|first| first.kind);
        happened.retain(|happened| !is_here(happened));
        drop(happened);
        let Some(kind) = first else { return };
        let Some(id) = self.breakpoints.lock().of_event(kind) else { return };
        let (reason, Some((frame, place))) = (Reason::Event(id, kind), place_of(thread)) else {
            return;
        };
        if !is_of_library(place) {
            return self.stop(thread, reason);
        }
        self.forget_step(thread);
        let step = Stepping { strand, kind: Step::Over, frame, line: 0, awaits: None, reason };
        self.step_on(thread, step);
    }

    /// Handles the breakpoints of the user at the place where the strand stands.
    fn stop_at(&self, thread: &mut Thread, place: Place) {
        let reached = self.breakpoints.lock().reach(place);
        let mut ids = Vec::new();
        for breakpoint in reached {
            if self.counts(thread, &breakpoint) {
                match &breakpoint.request.log {
                    Some(log) => {
                        let text = self.log_text(thread, log);
                        self.tell(Event::Log(text));
                    }
                    None => ids.push(breakpoint.id),
                }
            }
        }
        if !ids.is_empty() {
            self.stop(thread, Reason::Breakpoint(ids));
        }
    }

    /// Whether a breakpoint's count and condition are met. A condition that cannot be computed counts as met, and is told.
    fn counts(&self, thread: &mut Thread, breakpoint: &Breakpoint) -> bool {
        if breakpoint.request.hits.is_some_and(|hits| breakpoint.reached < hits) {
            return false;
        }
        let Some(condition) = &breakpoint.request.condition else { return true };
        let stopped = Stopped::new(thread, &self.names);
        evaluation::holds(&stopped, 0, condition).unwrap_or_else(|problem| {
            self.tell(Event::Log(format!("condition {condition}: {problem}")));
            true
        })
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

fn number(thread: &Thread) -> u64 {
    recording::number_of(thread.strand())
}

/// Makes the strand of the thread step, or go on without steps.
fn set_steps(thread: &mut Thread, steps: bool) {
    thread.watch.steps = steps;
    let strand = thread.strand();
    thread.vm.debugging.set_stepping(steps.then_some(strand));
}

/// The innermost place of the strand of the thread.
fn place_of(thread: &Thread) -> Option<(usize, Place)> {
    let frame = inspection::frames(thread).next()?;
    let place = frame.place();
    Some((frame.address(), (place.function, place.pc)))
}

/// Whether functions are the library's, which steps do not enter.
fn is_of_library((function, _): Place) -> bool {
    function.module.bytecode.is_image()
}

/// The debugger as the machine asks it.
pub struct Asked(pub Arc<Control>);

impl Debugger for Asked {
    fn breakpoint_reached(&self, thread: &mut Thread) {
        let control = &self.0;
        let Some((frame, place)) = place_of(thread) else { return };
        let is_back = |step: &Stepping| {
            step.frame == frame && step.awaits.is_some_and(|awaited| key(awaited) == key(place))
        };
        if let Some(mut step) = control.take_step(thread, is_back) {
            control.remove_awaited(thread, &mut step);
            if step.kind == Step::Out {
                return control.stop(thread, step.reason);
            }
            control.step_on(thread, step);
        }
        control.stop_at(thread, place);
    }

    fn step_done(&self, thread: &mut Thread) {
        let control = &self.0;
        let Some((frame, place)) = place_of(thread) else { return };
        let Some(mut step) = control.take_step(thread, |_| true) else {
            return set_steps(thread, false);
        };
        if frame != step.frame {
            let caller = inspection::frames(thread).nth(1);
            let is_call = caller.is_some_and(|caller| caller.address() == step.frame);
            if let Some(caller) = caller.filter(|_| is_call) {
                if step.kind == Step::In && !is_of_library(place) {
                    return control.stop(thread, step.reason);
                }
                let back = (caller.place().function, caller.next_pc());
                control.await_return(thread, &mut step, back);
                *control.step.lock() = Some(step);
                // The call begins at a breakpoint, perhaps.
                return;
            }
            // It has returned, or was left.
            if !is_of_library(place) {
                return control.stop(thread, step.reason);
            }
            step.frame = frame;
            step.line = 0;
        }
        let (_, line, _) = place.0.position(place.1);
        if line != step.line && line != 0 && !is_of_library(place) {
            return control.stop(thread, step.reason);
        }
        *control.step.lock() = Some(step);
    }

    fn poll_reached(&self, thread: &mut Thread) {
        let control = &self.0;
        if control.wants_pause.load(Ordering::Relaxed)
            && control.wants_pause.swap(false, Ordering::SeqCst)
        {
            return control.stop(thread, Reason::Pause);
        }
        if control.wanted_events.load(Ordering::Relaxed) != 0 {
            control.stop_after_event(thread);
        }
        thread.mutator.native(|| {
            let mut is_paused = control.is_paused.lock();
            while *is_paused {
                control.resumed.wait(&mut is_paused);
            }
        });
    }

    fn call_ended(&self, thread: &mut Thread) {
        self.0.stop_after_event(thread);
    }

    fn event_noted(&self, thread: &Thread, kind: Kind) {
        let control = &self.0;
        if control.wanted_events.load(Ordering::Relaxed) & 1 << kind as u32 != 0 {
            let strand = thread.running_strand().map(recording::number_of);
            let worker = thread.worker_index();
            control.happened.lock().push(Happened { kind, strand, worker });
            if strand.is_some() {
                thread.must_look.set(true);
            }
            thread.look_soon();
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
        let is_gone = |step: &Stepping| {
            step.awaits.is_some()
                && !inspection::frames(thread).any(|frame| frame.address() == step.frame)
        };
        if let Some(mut step) = control.take_step(thread, is_gone) {
            control.remove_awaited(thread, &mut step);
            step.line = 0;
            step.frame = place_of(thread).map_or(0, |(frame, _)| frame);
            control.step_on(thread, step);
        }
    }
}
