//! What a debugger has set in the machine: breakpoints in code, the strand that steps, and the debugger itself, which the
//! machine asks at each of these places.
//!
//! A *breakpoint* is a code word whose opcode is [`BREAKPOINT`]. The interpreter asks the debugger there, and then executes
//! the word that was there before, which this module keeps. A function with a breakpoint has no machine code
//! ([`Tier::forget`](crate::state::tier::Tier::forget)), so all its activations come to the interpreter.
//!
//! # Protocol
//!
//! - Code words change while all mutators stand ([`Heap::while_stopped`](squall_heap::Heap::while_stopped)). Machine code
//!   that was entered before is abandoned at the next poll: each thread compares the [epoch](Debugging::epoch) there.
//! - A thread asks the debugger where the state of its strand is saved, and stands before an instruction. The debugger may
//!   block there, in native state, so that collections go on.
//! - A strand that steps is run by single instructions of the interpreter, and the tier asks after each. The identities of
//!   such strands are in a list, where threads look when they enter a strand; an atomic says whether the list is empty.
//! - The words that the debugger keeps beyond a stop are roots here. Each is behind a lock of its own type only, so the
//!   collector visits them while all mutators stand.
//!
//! Without a debugger, all this costs nothing but the checks for events ([`Watch::is_on`](crate::state::recording::Watch::is_on)).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use squall_bytecode::codes::internal::BREAKPOINT;
use squall_events::Kind;
use squall_heap::{RootAddress, Word};

use crate::model::function::{Function, Site};
use crate::state::roots::RootWord;
use crate::state::strand::StrandRef;
use crate::state::thread::{Thread, Window};
use crate::state::vm::Vm;

/// The debugger, as the machine asks it. The state of the thread's strand is saved, and stands before an instruction.
pub trait Debugger: Send + Sync {
    /// The strand has come to a breakpoint. *GC point.*
    fn breakpoint_reached(&self, thread: &mut Thread);

    /// The strand, which steps, has executed an instruction. *GC point.*
    fn step_done(&self, thread: &mut Thread);

    /// The thread polls. *GC point.*
    fn poll_reached(&self, thread: &mut Thread);

    /// An exception is signalled by the call in progress; whether something catches it. *GC point.*
    fn exception_signalled(&self, thread: &mut Thread, exception: Word, is_caught: bool);

    /// An event of the thread is noted, with these fields. Nothing may stop here: a lock may be held.
    fn event_noted(&self, thread: &Thread, kind: Kind, fields: &[u64]);

    /// A message was put into a mailbox, or its turn begins: its number, and that of the promise for its result, or 0. Nothing
    /// may stop here: the vat may be locked.
    fn message_noted(&self, thread: &Thread, has_begun: bool, message: u64, promise: u64);

    /// Messages that have waited for the promise with this number are about to be put into mailboxes; one message, if that comes
    /// after the promise was settled. Nothing may stop here.
    fn promise_settling(&self, thread: &Thread, promise: u64, is_late: bool);

    /// The running strand has sent a message without a result at this site, which waits for its receiver, a promise. Nothing may
    /// stop here.
    fn message_deferred(&self, thread: &Thread, site: u64);

    /// The call in progress at this site, which is no send of the slot's writer, is about to store into a slot of the object
    /// that is the first word of the window. *GC point.*
    fn slot_stored(&self, thread: &mut Thread, site: &'static Site, slot: usize, window: Window);

    /// A call is over in which such an event was noted. *GC point.*
    fn call_ended(&self, thread: &mut Thread);

    /// The strand has left activations by an exception, or by a return from a block.
    fn activations_left(&self, thread: &mut Thread);
}

/// What a debugger has set.
#[derive(Default)]
pub struct Debugging {
    debugger: OnceLock<Box<dyn Debugger>>,
    /// The words that breakpoints replace, by the addresses of their places.
    replaced: RwLock<HashMap<usize, u32>>,
    /// How often code has changed.
    epoch: AtomicU32,
    /// The identities of the strands that step, and how many they are.
    stepping: RwLock<Vec<u64>>,
    steppers: AtomicU32,
    /// The objects that the debugger keeps.
    kept: Mutex<Vec<Arc<RootWord>>>,
    /// The first of the program's acts outside of the machine, which a repetition of the run would do again.
    acted: OnceLock<&'static str>,
}

impl Debugging {
    /// Sets the debugger, once, before the threads of the machine run code. Answers whether it is the first.
    pub fn attach(&self, debugger: Box<dyn Debugger>) -> bool {
        self.debugger.set(debugger).is_ok()
    }

    /// The debugger, if there is one.
    #[inline]
    pub fn debugger(&self) -> Option<&dyn Debugger> {
        self.debugger.get().map(|debugger| &**debugger)
    }

    /// How often code has changed so far.
    #[inline]
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// The word that a breakpoint has replaced there.
    pub fn word_behind(&self, place: usize) -> Option<u32> {
        self.replaced.read().get(&place).copied()
    }

    /// Makes a strand step from now on, or step no more.
    pub fn set_stepping(&self, strand: StrandRef, steps: bool) {
        let mut stepping = self.stepping.write();
        stepping.retain(|&other| other != strand.identity());
        if steps {
            stepping.push(strand.identity());
        }
        // Relaxed: the strand's own thread asks, or one to which the strand is handed over by a queue.
        self.steppers.store(stepping.len() as u32, Ordering::Relaxed);
    }

    /// Makes no strand step any more.
    pub fn forget_stepping(&self) {
        self.stepping.write().clear();
        self.steppers.store(0, Ordering::Relaxed);
    }

    /// Whether this strand steps.
    #[inline]
    pub fn steps(&self, strand: StrandRef) -> bool {
        self.steppers.load(Ordering::Relaxed) != 0
            && self.stepping.read().contains(&strand.identity())
    }

    /// The program acts outside of the machine, in such a way that acting twice is something else.
    pub fn act(&self, what: &'static str) {
        self.acted.get_or_init(|| what);
    }

    /// The first of the program's acts outside of the machine.
    pub fn acted(&self) -> Option<&'static str> {
        self.acted.get().copied()
    }

    /// Keeps an object until the last clone of the answer is dropped.
    pub fn keep(&self, word: Word) -> Arc<RootWord> {
        let root = Arc::new(RootWord::default());
        root.set(word);
        let mut kept = self.kept.lock();
        kept.retain(|root| Arc::strong_count(root) > 1);
        kept.push(Arc::clone(&root));
        root
    }

    /// Shows the kept objects to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        self.kept.lock().iter().for_each(|root| root.visit(visit));
    }
}

/// A function, and the index of an instruction there.
pub type Place = (&'static Function, usize);

/// Changes breakpoints: sets those at the places of the first list, and removes those of the second. The calling thread is
/// none of the machine's, or is in native state.
pub fn change(vm: &'static Vm, set: &[Place], removed: &[Place]) {
    if set.is_empty() && removed.is_empty() {
        return;
    }
    vm.heap.while_stopped(|| {
        let mut replaced = vm.debugging.replaced.write();
        for &(function, pc) in removed {
            let cell = &function.code[pc];
            if let Some(word) = replaced.remove(&std::ptr::from_ref(cell).addr()) {
                cell.store(word, Ordering::Relaxed);
            }
        }
        drop(replaced);
        set_unreached(vm, set);
        vm.debugging.epoch.fetch_add(1, Ordering::Relaxed);
    });
    vm.ask_all_to_look();
}

/// Sets breakpoints in functions that no thread runs: their module was just loaded, or all mutators stand.
pub fn set_unreached(vm: &'static Vm, set: &[Place]) {
    let mut replaced = vm.debugging.replaced.write();
    for &(function, pc) in set {
        let cell = &function.code[pc];
        let word = cell.load(Ordering::Relaxed);
        if word as u8 != BREAKPOINT {
            replaced.insert(std::ptr::from_ref(cell).addr(), word);
            cell.store(word & !0xFF | u32::from(BREAKPOINT), Ordering::Relaxed);
        }
    }
    let functions: Vec<_> = set.iter().map(|&(function, _)| function).collect();
    vm.tier.forget(&functions);
}

/// Asks the debugger, if there is one, where the strand stands before an instruction.
pub fn ask(thread: &mut Thread, question: impl FnOnce(&dyn Debugger, &mut Thread)) {
    let Some(debugger) = thread.vm.debugging.debugger() else { return };
    let outer = std::mem::replace(&mut thread.stands_before, true);
    question(debugger, thread);
    thread.stands_before = outer;
}

/// The thread runs this strand from now on: perhaps by steps. Under a seed the debugger is asked before its first instruction, for
/// a repetition of the run may look for it there.
#[inline(always)]
pub fn resumed(thread: &mut Thread, strand: StrandRef) {
    thread.watch.steps = thread.is_noting() && thread.vm.debugging.steps(strand);
    thread.watch.has_arrived = thread.watch.steps && thread.vm.events.is_seeded();
}
