//! Interruption: ends the strands of one piece of the embedder's work, such as the evaluation of an input in
//! `squall repl`. Sessions of the crate `squall` begin and interrupt such work.
//!
//! Any native thread may ask for it. An errand ends all strands that were made since the work began: it wakes those that
//! are parked, to end, and makes those poll that run; and it drops the messages that were to come later. Then the
//! embedder's thread is summoned, because it may wait for timers only.
//!
//! ```text
//! Closed -- begin --> Open -- interrupt --> Asked -- errand --> Done
//!   ^                  |                      ^                  |
//!   +------ end -------+                      +---- interrupt ---+
//!   +------ end -------------------------------------------------+
//! ```
//!
//! A strand that runs goes on to its next poll, and may make another strand until then. So errands follow each other until
//! one finds nothing that runs and no strand that the one before has not found. A strand in a long call of C does not end
//! meanwhile, so their number is bounded.
//!
//! The work is not closed while an errand is on its way, so an errand ends no strand of later work.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_heap::Word;
use squall_system::poller::Wait;

use crate::concurrency::embedding::errands;
use crate::concurrency::strands;
use crate::state::strand::{StrandRef, slots};
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// Work that may be interrupted.
#[derive(Default)]
pub struct Interruptible(Mutex<State>);

#[derive(Default)]
struct State {
    stage: Stage,
    older: Arc<Older>,
}

/// What there was when the work began.
#[derive(Default)]
struct Older {
    /// The identities of strands.
    strands: HashSet<u64>,
    /// Messages that were due later.
    messages: HashSet<Wait>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Closed,
    Open,
    Asked,
    Done,
}

impl Interruptible {
    /// The work begins.
    pub fn begin(&self, vm: &Vm) {
        // Identities are atomic.
        let strands = vm.strands.all().into_iter().map(StrandRef::identity).collect();
        let older = Older { strands, messages: vm.concurrency().timers.messages() };
        *self.0.lock() = State { stage: Stage::Open, older: Arc::new(older) };
    }

    /// Whether it was interrupted, and its strands were ended.
    pub fn is_interrupted(&self) -> bool {
        self.0.lock().stage == Stage::Done
    }

    /// The work ends; answers whether it was interrupted, or `None` if an errand is on its way, which has to come first.
    pub fn end(&self) -> Option<bool> {
        let mut state = self.0.lock();
        if state.stage == Stage::Asked {
            return None;
        }
        let stage = std::mem::replace(&mut state.stage, Stage::Closed);
        Some(stage == Stage::Done)
    }

    /// Asks for an interruption; answers whether the caller has to leave the errand.
    fn ask(&self) -> bool {
        let mut state = self.0.lock();
        let is_first = matches!(state.stage, Stage::Open | Stage::Done);
        if is_first {
            state.stage = Stage::Asked;
        }
        is_first
    }
}

/// Interrupts the work, if there is any. May be called by any native thread.
pub fn interrupt(vm: &'static Vm, work: &Arc<Interruptible>) {
    if !work.ask() {
        return;
    }
    let work = work.clone();
    errands::leave(vm, move |thread| end_work(thread, work, HashSet::new(), MOST_ERRANDS));
}

/// An interruption takes at most this many errands.
const MOST_ERRANDS: u32 = 1000;

/// The errand: ends the strands of the work, of which the errands before have found some, and leaves another errand if there
/// may be more. *GC point.*
fn end_work(thread: &mut Thread, work: Arc<Interruptible>, mut found: HashSet<u64>, left: u32) {
    let vm = thread.vm;
    let older = work.0.lock().older.clone();
    let may_make_more = end_strands(thread, &older.strands, &mut found);
    if may_make_more && left > 0 {
        std::thread::yield_now();
        return errands::leave(vm, move |thread| end_work(thread, work, found, left - 1));
    }
    vm.concurrency().timers.drop_messages_since(vm, &older.messages);
    work.0.lock().stage = Stage::Done;
    vm.summon_embedder();
}

/// Ends all strands but the older ones. Answers whether there may be more soon: whether one of them is not among those that
/// were found before, or still runs elsewhere. *GC point.*
fn end_strands(thread: &mut Thread, older: &HashSet<u64>, found: &mut HashSet<u64>) -> bool {
    let vm = thread.vm;
    let here = thread.running_strand();
    let mut may_make_more = false;
    thread.message.clear();
    let Thread { mutator, message, .. } = thread;
    // While nothing runs, strands and their objects belong together; and the message is a root.
    mutator.native(|| {
        vm.heap.while_stopped(|| {
            let strands = vm.strands.all().into_iter();
            let strands = strands.filter(|strand| !older.contains(&strand.identity()));
            let strands = strands.filter(|strand| !is_kept(*strand));
            message.extend(strands.map(|strand| {
                let runs = strand.is_running() && Some(strand) != here;
                may_make_more |= found.insert(strand.identity()) || runs;
                strand.object.get()
            }));
        });
    });
    for index in 0..thread.message.len() {
        if let Some(object) = thread.message[index].as_object() {
            _ = strands::terminate(thread, object);
        }
    }
    thread.message.clear();
    may_make_more
}

/// Whether a strand has ended, and a worker keeps it for the next turn, which must not end with it.
fn is_kept(strand: StrandRef) -> bool {
    strand.vat().is_none() && strand.slot(slots::TASK) == Word::NIL
}
