//! Operations of strands on each other: wait for the end, end, suspend, resume. The primitives of `lib/Threading.ns`
//! and `lib/Scheduling.ns` call this module.

use std::time::Duration;

use squall_heap::{Object, Word};

use crate::concurrency::processes::forks;
use crate::concurrency::sandbox::metering;
use crate::concurrency::timers;
use crate::concurrency::waiting::{self, Place};
use crate::concurrency::worker;
use crate::execution::unwind;
use crate::model::outcome::{Failure, Outcome};
use crate::state::sandbox::SandboxRef;
use crate::state::strand::status::{Killed, Resumed};
use crate::state::strand::{self, Claimed, Delivery, Ending, Life, StrandRef, Wait, slots};
use crate::state::strand::{Model, Role};
use crate::state::thread::{Thread, Window};
use crate::state::vat::VatRef;

/// What a strand that has begun gives its result to, as in its message; none if it has no result.
pub fn result_of(strand: StrandRef) -> Option<Word> {
    let has_none =
        matches!(strand.role(), Role::Maker | Role::Process | Role::Typed | Role::Branch);
    (!has_none).then(|| strand.slot(slots::TASK))
}

/// Waits for the end of the strand in the window's first word; answers its result, or signals the
/// exception that ended it. After a time, if one is given, answers false. *GC point.*
pub fn join(
    thread: &mut Thread,
    window: Window,
    patience: Option<Duration>,
) -> Result<Outcome, Failure> {
    let waiter = waiting::own_waiter(thread)?;
    let object = window.get(0).as_object();
    let object = object.filter(|object| object.layout() == crate::model::known::STRAND);
    let object = object.ok_or(Failure::argument(window.get(0)))?;
    waiting::lock(&mut thread.mutator, object);
    let ending = strand::ending(object);
    if ending == Ending::Live {
        let joiner = thread.strand().object();
        let timer = patience.map(|delay| (timers::reserve(thread), delay));
        let ticket = waiting::park(thread, object.word());
        waiting::enqueue(thread, object, slots::JOINERS, waiter, ticket, Word::NIL);
        waiting::unlock(&mut thread.mutator, object);
        if let Some(timer) = timer {
            timers::wake_after(thread, timer, joiner, ticket, Word::FALSE);
        }
        return Ok(Outcome::Park);
    }
    waiting::unlock(&mut thread.mutator, object);
    let value = object.slot(slots::VALUE);
    Ok(match ending {
        Ending::Failed => unwind::signal(thread, value),
        _ => Outcome::Return(value),
    })
}

/// Makes the strand of this object end: its `ensure:` blocks run, and nothing else. Answers whether
/// it had not ended.
pub fn terminate(thread: &mut Thread, object: Object) -> Word {
    let Some(life) = Life::of_object(object) else { return Word::FALSE };
    match life.kill() {
        None => return Word::FALSE,
        Some(Killed::Claimed(strand)) => waiting::cut(thread, strand, Delivery::Kill, Word::NIL),
        Some(Killed::Owned) => ask_to_poll(thread, life.strand()),
        Some(Killed::Patient) => {
            // A strand that waits for the ends of branches ends after them.
            for branch in forks::branches_awaited(thread, object) {
                terminate(thread, branch);
            }
        }
    }
    Word::TRUE
}

/// Ends the strand of this object as guest code asks for it: at once, if it is the one that asks. Answers whether it
/// had not ended.
pub fn terminate_or_end(thread: &mut Thread, object: Object) -> Outcome {
    match StrandRef::of_object(object) {
        Some(strand) if thread.running_strand() == Some(strand) => unwind::end_at_once(thread),
        _ => Outcome::Return(terminate(thread, object)),
    }
}

/// Makes a strand that runs come to its next poll.
fn ask_to_poll(thread: &mut Thread, strand: StrandRef) {
    if thread.running_strand() == Some(strand) {
        return thread.ask_to_poll();
    }
    thread.vm.preempt_strand(strand);
}

/// Suspends the strand of this object until it is resumed: the calling strand at once, a ready or waiting one at the
/// moment when it would continue.
pub fn suspend(thread: &mut Thread, object: Object) -> Outcome {
    let Some(life) = Life::of_object(object) else { return Outcome::Return(Word::FALSE) };
    if thread.running_strand() == Some(life.strand()) {
        waiting::park_in(thread, Word::NIL, Wait::Suspension);
        return Outcome::Park;
    }
    let is_live = life.suspend();
    if is_live {
        ask_to_poll(thread, life.strand());
    }
    Outcome::Return(Word::from_bool(is_live))
}

/// Lets a suspended strand go on; answers whether it was suspended.
pub fn resume(thread: &mut Thread, object: Object) -> Word {
    let Some(life) = Life::of_object(object) else { return Word::FALSE };
    match life.resume() {
        Some(Resumed::Claimed(strand)) => waiting::make_ready(thread, strand, Place::Last),
        Some(Resumed::Unnoticed) => {}
        Some(Resumed::NotSuspended) | None => return Word::FALSE,
    }
    Word::TRUE
}

/// The priority of a strand; 0 if it has ended.
pub fn priority(object: Object) -> Word {
    let priority = StrandRef::of_object(object).map_or(0, StrandRef::priority);
    Word::from_small_integer_unchecked(i64::from(priority))
}

/// Changes the priority of a strand.
pub fn set_priority(thread: &mut Thread, object: Object, priority: u8) {
    let Some(life) = Life::of_object(object).filter(|life| life.set_priority(priority)) else {
        return;
    };
    if thread.running_strand() == Some(life.strand()) {
        thread.ask_to_poll();
    } else if let Some(vat) = worker::vat_of_exclusive(life.strand()) {
        vat.reposition(thread, life.strand());
    }
}

/// Makes a strand, of one of the [`SIZES`](strand::SIZES), that will begin with the message in `thread.message[0]`.
/// *GC point.*
pub fn make(
    thread: &mut Thread,
    vat: Option<VatRef>,
    model: Model,
    size: usize,
) -> Result<Claimed, Failure> {
    let sandbox = sandbox_for_new(thread, vat);
    if let Some(sandbox) = sandbox {
        metering::count_strand(thread, sandbox)?;
    }
    let made = strand::make_counted(thread, vat, model, size, sandbox);
    if let (Err(_), Some(sandbox)) = (&made, sandbox) {
        sandbox.remove_strand();
    }
    made
}

/// The sandbox that a strand belongs to which is made here: that of the strand that runs, else that of its vat.
fn sandbox_for_new(thread: &Thread, vat: Option<VatRef>) -> Option<SandboxRef> {
    match thread.running_strand() {
        Some(_) => thread.sandbox,
        None => vat.and_then(VatRef::sandbox),
    }
}
