//! Pauses: what happens between the stop of a strand and the moment when the user lets it go on. `control` stops strands here;
//! the server sends commands to stopped strands, and lets them go on.
//!
//! # How much stops
//!
//! ```text
//! all      the stopped thread serves commands;  each other thread waits at its next poll
//! vat      the stopped thread serves commands outside of the scheduler, and keeps the vat;  the others run
//! strand   the same, and the vat is another worker's meanwhile
//! ```
//!
//! In the mode *all*, one strand is stopped at a time: if two come to breakpoints at once, the second stops when the first goes
//! on, if its breakpoint is still there. A pause that the user asks for stops the first strand that polls; if none runs, all are paused without one.
//!
//! In the other modes, a stopped strand is like one in a long call of C: a new worker takes the place of its worker, and the
//! detector of deadlocks takes the strand for one that can go on. If its vat has another owner when the user lets it go on,
//! the strand waits for the vat like one that comes back from C. It comes to its breakpoint once more then, which *passes* it.
//!
//! Under a seed the scheduler is in one place at a time, so all strands stop.
//!
//! Locks: the thread that is stopped holds none but `turn`, and that in the mode *all* alone.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use squall_runtime::concurrency::worker;
use squall_runtime::state::debugging::Place;
use squall_runtime::state::recording;
use squall_runtime::state::strand::StrandRef;
use squall_runtime::state::thread::Thread;
use squall_runtime::state::vm::Vm;

use super::steps::{number, place_of};
use super::{Command, Control, Event, Flow, Step};
use crate::places::key;
use crate::reasons::Reason;
use crate::stopped::Stopped;

/// What stops with a strand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// All strands.
    All,
    /// The strands of its vat.
    Vat,
    /// Nothing else.
    Strand,
}

impl Scope {
    /// The scope with a name.
    pub fn named(name: &str) -> Option<Scope> {
        match name {
            "all" => Some(Scope::All),
            "vat" => Some(Scope::Vat),
            "strand" => Some(Scope::Strand),
            _ => None,
        }
    }
}

/// The state of pauses.
pub(crate) struct Pauses {
    scope: AtomicU8,
    /// Held by the thread whose strand has stopped, if all stop with it.
    turn: Mutex<()>,
    is_paused: Mutex<bool>,
    resumed: Condvar,
    /// The user wants a strand to stop, whichever polls next: the number of the request, or 0.
    wants_any: AtomicU64,
    /// The number of the last such request.
    asked: AtomicU64,
    /// The user wants these strands to stop.
    wanted: Mutex<HashSet<u64>>,
    has_wanted: AtomicBool,
    /// The ways to the stopped strands.
    stopped: Mutex<HashMap<u64, Sender<Command>>>,
    /// The vats whose strands are to wait, by address, with how many strands have stopped in them.
    vats: Mutex<HashMap<usize, usize>>,
    has_vats: AtomicBool,
    /// The keys of breakpoints that strands come to a second time, by strand.
    passed: Mutex<HashMap<u64, usize>>,
}

impl Default for Pauses {
    fn default() -> Pauses {
        Pauses {
            scope: AtomicU8::new(Scope::All as u8),
            turn: Mutex::default(),
            is_paused: Mutex::default(),
            resumed: Condvar::new(),
            wants_any: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            wanted: Mutex::default(),
            has_wanted: AtomicBool::new(false),
            stopped: Mutex::default(),
            vats: Mutex::default(),
            has_vats: AtomicBool::new(false),
            passed: Mutex::default(),
        }
    }
}

impl Pauses {
    /// Whether a strand that polls is to stop since the user has asked for it.
    #[inline]
    pub(crate) fn wants(&self, strand: u64) -> bool {
        if self.wants_any.load(Ordering::Relaxed) != 0
            && self.wants_any.swap(0, Ordering::SeqCst) != 0
        {
            return true;
        }
        self.has_wanted.load(Ordering::Relaxed) && {
            let mut wanted = self.wanted.lock();
            let is_wanted = wanted.remove(&strand);
            self.has_wanted.store(!wanted.is_empty(), Ordering::SeqCst);
            is_wanted
        }
    }

    /// Whether a strand that goes on now is to stop at its next poll.
    #[inline]
    pub(crate) fn awaits(&self, strand: u64) -> bool {
        self.has_wanted.load(Ordering::Relaxed) && self.wanted.lock().contains(&strand)
    }

    /// Whether the strand has stopped at this breakpoint before, and comes to it once more.
    pub(crate) fn passes(&self, thread: &Thread, place: Place) -> bool {
        self.passed.lock().remove(&number(thread)) == Some(key(place))
    }
}

/// How often a thread whose strand is stopped looks whether the program has ended.
const LOOK_AT_END: Duration = Duration::from_millis(20);

impl Control {
    /// What stops with a strand.
    pub fn scope(&self) -> Scope {
        match self.pauses.scope.load(Ordering::Relaxed) {
            scope if scope == Scope::Strand as u8 => Scope::Strand,
            scope if scope == Scope::Vat as u8 => Scope::Vat,
            _ => Scope::All,
        }
    }

    /// Chooses what stops with a strand, before the program runs. Answers what does.
    pub fn set_scope(&self, scope: Scope) -> Scope {
        let scope = if Vm::of_process().events.is_seeded() { Scope::All } else { scope };
        self.pauses.scope.store(scope as u8, Ordering::Relaxed);
        scope
    }

    /// Pauses the strand with this number when it runs; `Event::Stopped` says when.
    pub fn pause_strand(&self, strand: u64) {
        self.pauses.wanted.lock().insert(strand);
        self.pauses.has_wanted.store(true, Ordering::SeqCst);
        Vm::of_process().ask_all_to_look();
    }

    /// Pauses the next strand that runs, and all others with it if all stop together; `Event::Stopped` says when. Answers the number
    /// of the request.
    pub fn pause_any(&self) -> u64 {
        let asked = self.pauses.asked.fetch_add(1, Ordering::SeqCst) + 1;
        self.pauses.wants_any.store(asked, Ordering::SeqCst);
        Vm::of_process().ask_all_to_look();
        asked
    }

    /// Pauses the world if no strand has polled since the request with this number, and there was no later one: that one waits, too.
    pub fn pause_idle(&self, asked: u64) {
        let wants_any = &self.pauses.wants_any;
        let was_wanted =
            wants_any.compare_exchange(asked, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if was_wanted && self.scope() == Scope::All {
            *self.pauses.is_paused.lock() = true;
            self.tell(Event::Stopped(None, Reason::Pause));
        }
    }

    /// Ends a pause that has no stopped strand.
    pub fn resume_idle(&self) {
        *self.pauses.is_paused.lock() = false;
        self.pauses.resumed.notify_all();
    }

    /// Sends a command to the thread of a stopped strand; whether there is one.
    pub fn command(&self, strand: u64, command: Command) -> bool {
        let way = self.pauses.stopped.lock().get(&strand).cloned();
        way.is_some_and(|way| way.send(command).is_ok())
    }

    /// Lets everything go on that stands.
    pub(crate) fn release_all(&self) {
        self.pauses.wants_any.store(0, Ordering::SeqCst);
        self.pauses.wanted.lock().clear();
        self.pauses.stopped.lock().clear();
        self.resume_idle();
    }

    /// Stops the strand of the thread until the user lets it go on. *GC point.*
    pub(crate) fn stop(&self, thread: &mut Thread, reason: Reason) {
        if self.is_detached.load(Ordering::SeqCst) {
            return;
        }
        if self.travel.is_repeating() {
            return self.pass_stop(thread, &reason);
        }
        if self.is_known_stop(thread) {
            return;
        }
        self.stop_here(thread, reason);
    }

    /// The same without a question. *GC point.*
    pub(super) fn stop_here(&self, thread: &mut Thread, reason: Reason) {
        self.forget_step(thread);
        let vat = thread.running_strand().and_then(StrandRef::vat);
        let vat = recording::number_of_vat(thread.vm, vat);
        self.goals.lock().stopped(number(thread), vat);
        let depth = thread.mutator.root_depth();
        match self.scope() {
            Scope::All => self.stop_all(thread, reason),
            scope => self.stop_part(thread, reason, scope),
        }
        thread.mutator.truncate_roots(depth);
    }

    /// Serves the user while all other threads wait.
    fn stop_all(&self, thread: &mut Thread, reason: Reason) {
        // The next strand stops when this one goes on, with its step begun.
        let _turn = thread.mutator.native(|| self.pauses.turn.lock());
        // The user may have taken the breakpoint away while another strand was stopped.
        if !self.is_wanted(&reason) {
            return;
        }
        *self.pauses.is_paused.lock() = true;
        thread.vm.ask_all_to_look();
        let commands = self.announce(thread, reason);
        self.go_on(thread, commands);
        self.resume_idle();
    }

    /// Serves the user, and begins the step by which the strand goes on.
    fn go_on(&self, thread: &mut Thread, commands: Option<Receiver<Command>>) {
        let step = commands.and_then(|commands| self.serve(thread, &commands));
        if let Some(step) = step {
            self.begin_step(thread, step);
        }
    }

    /// Serves the user while others run.
    fn stop_part(&self, thread: &mut Thread, reason: Reason, scope: Scope) {
        // A call in progress goes on with its vat.
        let keeps_vat = scope == Scope::Vat || !thread.stands_before;
        self.hold_vat(thread, scope, true);
        let commands = self.announce(thread, reason);
        worker::stand_aside(thread, keeps_vat);
        thread.mutator.leave_native();
        self.go_on(thread, commands);
        thread.mutator.enter_native();
        self.hold_vat(thread, scope, false);
        worker::stand_in(thread, keeps_vat);
        if thread.is_displaced
            && let Some((_, place)) = place_of(thread)
        {
            self.pauses.passed.lock().insert(number(thread), key(place));
        }
    }

    /// Tells the user that the strand has stopped; answers what the user sends, unless the user has left meanwhile.
    fn announce(&self, thread: &Thread, reason: Reason) -> Option<Receiver<Command>> {
        // What the program has written is seen before it stops.
        thread.vm.host().flush();
        let (sender, commands) = channel();
        self.pauses.stopped.lock().insert(number(thread), sender);
        if self.is_detached.load(Ordering::SeqCst) {
            return None;
        }
        self.tell(Event::Stopped(Some(number(thread)), reason));
        Some(commands)
    }

    /// Does what the user asks, until the strand is to go on.
    fn serve(&self, thread: &mut Thread, commands: &Receiver<Command>) -> Option<Step> {
        let strand = number(thread);
        let vm = thread.vm;
        let mut stopped = Stopped::new(thread, &self.names);
        let next = || loop {
            match commands.recv_timeout(LOOK_AT_END) {
                Ok(command) => return Some(command),
                Err(RecvTimeoutError::Timeout) if vm.ended.code().is_none() => {}
                // The user has left, or the program has ended.
                Err(_) => return None,
            }
        };
        let step = loop {
            let Some(command) = stopped.thread.mutator.native(next) else { break None };
            if let Flow::Resume(step) = (command.0)(&mut stopped) {
                break step;
            }
        };
        self.pauses.stopped.lock().remove(&strand);
        step
    }

    /// The strand of the thread has stopped its vat, or lets it go on.
    fn hold_vat(&self, thread: &Thread, scope: Scope, holds: bool) {
        let Some(vat) = thread.strand().vat().filter(|_| scope == Scope::Vat) else { return };
        let mut vats = self.pauses.vats.lock();
        let count = vats.entry(vat.address()).or_default();
        *count = if holds { *count + 1 } else { *count - 1 };
        if *count == 0 {
            vats.remove(&vat.address());
        }
        self.pauses.has_vats.store(!vats.is_empty(), Ordering::SeqCst);
        drop(vats);
        if holds {
            thread.vm.ask_all_to_look();
        }
        self.pauses.resumed.notify_all();
    }

    /// The thread polls: it waits as long as its strand is to stand, since all stand or its vat does. *GC point.*
    pub(crate) fn wait_while_paused(&self, thread: &mut Thread) {
        if self.pauses.has_vats.load(Ordering::Relaxed)
            && let Some(vat) = thread.strand().vat()
            && self.pauses.vats.lock().contains_key(&vat.address())
        {
            worker::stand_aside(thread, true);
            let mut is_paused = self.pauses.is_paused.lock();
            while self.pauses.vats.lock().contains_key(&vat.address()) {
                self.pauses.resumed.wait_for(&mut is_paused, LOOK_AT_END);
                if thread.vm.ended.code().is_some() {
                    break;
                }
            }
            drop(is_paused);
            worker::stand_in(thread, true);
        }
        thread.mutator.native(|| {
            let mut is_paused = self.pauses.is_paused.lock();
            while *is_paused {
                self.pauses.resumed.wait(&mut is_paused);
            }
        });
    }
}
