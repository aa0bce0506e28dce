//! Forks: `par` and `par_for`, whose branches are strands with copies of a frame. The interpreter's handlers for these
//! instructions call this module, and so do workers when a branch ends.
//!
//! The strand that forks is the *parent*. It makes a *join*, an object that all branches have, and parks until all
//! branches have ended. It must not be ended before: the branches write into its frame. A branch stands in the parent's
//! function, in a frame of its own, and leaves its results to the parent when it ends. The maps of the function tell
//! which registers these are ([`squall_bytecode::liveness`]); two branches never write the same one, so they need no
//! lock.
//!
//! The results of branches are not live in the parent's frame before they are left. Those that are words are nil from
//! the beginning, so that the collector finds words there at any time.
//!
//! If a branch ends with an exception, the parent gets the first one, after all have ended. A branch
//! that is killed kills the parent; a parent that is to be ended has its branches ended first. So the join
//! has a list of those that have not ended, linked through slots of their strand objects that branches have
//! no other use for.

use squall_bytecode::liveness::{BranchMap, ForkMap};
use squall_heap::{Object, Word};

use super::registers::{self, get, set};
use super::{begin_at, make_strand, place_frame};
use crate::concurrency::strands;
use crate::concurrency::transactions::transaction;
use crate::concurrency::waiting::{self, Place};
use crate::execution::calls;
use crate::model::function::{Function, Site};
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::state::stack::Activation;
use crate::state::strand::{self, Claimed, Delivery, Ending, Role, StrandRef, Wait};
use crate::state::thread::{Thread, allocated};

/// The slots of a join.
pub mod slots {
    /// The lock.
    pub const LOCK: usize = 0;
    /// The number of strands that have to end before the parent continues; the parent counts as one until it is parked.
    pub const REMAINING: usize = 1;
    /// The parent's strand object.
    pub const PARENT: usize = 2;
    /// The first exception that has ended a branch; nil if there is none, false if one was killed.
    pub const FAILURE: usize = 3;
    /// The strand object of the branch that was begun last and has not ended.
    pub const BRANCHES: usize = 4;

    const _: () = crate::model::known::assert_slots(crate::model::known::JOIN, BRANCHES + 1);
}

use slots::{BRANCHES, FAILURE, PARENT, REMAINING};

/// Where a branch's strand object has the one that was begun before it, and the one after it.
const EARLIER: usize = strand::slots::LOCAL;
const LATER: usize = strand::slots::JOINERS;

/// Runs the branches of the `par` in the state. *GC point.*
pub fn par(thread: &mut Thread, site: &'static Site) {
    let outcome = fork(thread, site, None, |thread, here, map| {
        let mut branches = Vec::with_capacity(map.branches.len());
        for branch in &map.branches {
            match begin_branch(thread, here, branch) {
                Ok(strand) => branches.push(strand),
                Err(failure) => {
                    // No other thread has seen them.
                    branches.into_iter().for_each(|strand| forget(thread, strand));
                    return Err(failure);
                }
            }
        }
        let join = thread.message[0].object();
        set_remaining(thread, join, 1 + branches.len() as i64);
        let outcome = wait(thread, join);
        for strand in branches {
            waiting::make_ready(thread, strand, Place::Last);
        }
        Ok(outcome)
    });
    calls::finish(thread, site, outcome);
}

/// Runs as many copies of the body of the `par_for` in the state as a register says. *GC point.*
pub fn par_for(thread: &mut Thread, site: &'static Site, index: usize, count: usize) {
    let copies = get(thread, count).bits() as i64;
    if copies <= 0 {
        thread.state.pc = site.return_pc;
        return;
    }
    let outcome = fork(thread, site, Some(copies as usize), |thread, here, map| {
        let body = &map.branches[0];
        let mut failure = None;
        for number in 0..copies {
            match begin_branch(thread, here, body) {
                Ok(strand) => {
                    let frame = strand.saved_state().frame;
                    // SAFETY: the branch has a frame of the function, and no other thread knows it yet. The register
                    // of a branch's number is an `i64` (verifier), so it takes raw bits.
                    unsafe { frame.add(index).write(Word::from_bits(number as u64)) };
                    let join = thread.message[0].object();
                    change_remaining(thread, join, 1);
                    waiting::make_ready(thread, strand, Place::Last);
                }
                Err(problem) => {
                    failure = Some(problem);
                    break;
                }
            }
        }
        if let Some(problem) = failure.filter(Failure::is_elsewhere) {
            // The strand has been ended, and so are the branches.
            return Err(problem);
        }
        let join = thread.message[0].object();
        if failure.is_some() {
            note_failure(thread, join, thread.vm.roots.out_of_memory.get());
        }
        Ok(wait(thread, join))
    });
    calls::finish(thread, site, outcome);
}

/// The effort of a branch: a microsecond at most.
const BRANCH: usize = 32;

/// The common part of all forks, with as many branches as the code has or so many copies of one: makes the join and the thread's message; `start` does the rest.
fn fork(
    thread: &mut Thread,
    site: &'static Site,
    copies: Option<usize>,
    start: impl FnOnce(&mut Thread, Activation, &'static ForkMap) -> Result<Outcome, Failure>,
) -> Outcome {
    thread.call_site = Some(site);
    if let Err(outcome) = transaction::make_inevitable(thread, "a par") {
        return outcome;
    }
    let here = thread.activation();
    let Some(map) = here.function.frame_maps().fork(here.pc) else {
        return Failure::new(FailureReason::NotSupported).into();
    };
    let count = copies.unwrap_or(map.branches.len());
    if let Err(too_large) = thread.with_effort(|_, effort| effort.add(count.saturating_mul(BRANCH)))
    {
        return Failure::from(too_large).into();
    }
    for register in map.cleared.iter() {
        set(thread, register.index(), Word::NIL);
    }
    for branch in &map.branches {
        for register in branch.reads.iter() {
            registers::share(thread, register.index()..register.index() + 1);
        }
    }
    let started = make_join(thread).and_then(|join| {
        thread.message.clear();
        thread.message.push(join);
        start(thread, here, map)
    });
    started.unwrap_or_else(Outcome::Fail)
}

fn make_join(thread: &mut Thread) -> Result<Word, Failure> {
    let class = thread.vm.known_class(KnownClass::Object);
    let join = allocated(thread.mutator.allocate_slots(known::JOIN, class))?;
    join.initialize_slot(slots::LOCK, Word::from_small_integer_unchecked(0));
    join.initialize_slot(REMAINING, Word::from_small_integer_unchecked(1));
    join.initialize_slot(PARENT, thread.strand().object.get());
    Ok(join.word())
}

/// Makes a strand for a branch, with a copy of the frame. Its object has the join, which is the thread's
/// message. *GC point.*
fn begin_branch(
    thread: &mut Thread,
    here: Activation,
    branch: &BranchMap,
) -> Result<Claimed, Failure> {
    let function = here.function;
    let mut strand = make_strand(thread, function, Role::Branch)?;
    let frame = match place_frame(&mut strand, function) {
        Ok(frame) => frame,
        Err(failure) => {
            strand::free(thread, strand);
            return Err(failure);
        }
    };
    // SAFETY: both frames have as many words, and do not overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(here.frame, frame, function.frame_words as usize);
    }
    begin_at(&strand, function, frame, branch.start);
    strand.set_origin(thread.call_site);
    let join = thread.message[0].object();
    add_to_list(thread, join, strand.object());
    Ok(strand)
}

/// Frees a branch that was not begun.
fn forget(thread: &mut Thread, strand: Claimed) {
    take_from_list(thread, strand.object());
    strand::forget(thread, strand);
}

fn add_to_list(thread: &mut Thread, join: Object, branch: Object) {
    let mutator = &mut thread.mutator;
    waiting::lock(mutator, join);
    let earlier = join.slot(BRANCHES);
    branch.set_slot(mutator, EARLIER, earlier);
    if let Some(earlier) = earlier.as_object() {
        earlier.set_slot(mutator, LATER, branch.word());
    }
    join.set_slot(mutator, BRANCHES, branch.word());
    waiting::unlock(mutator, join);
}

/// A branch is about to end, whose strand object this is.
pub fn take_from_list(thread: &mut Thread, branch: Object) {
    let Some(join) = branch.slot(strand::slots::TASK).as_object() else { return };
    let mutator = &mut thread.mutator;
    waiting::lock(mutator, join);
    let (earlier, later) = (branch.slot(EARLIER), branch.slot(LATER));
    match later.as_object() {
        Some(later) => later.set_slot(mutator, EARLIER, earlier),
        None => join.set_slot(mutator, BRANCHES, earlier),
    }
    if let Some(earlier) = earlier.as_object() {
        earlier.set_slot(mutator, LATER, later);
    }
    branch.set_slot(mutator, EARLIER, Word::NIL);
    branch.set_slot(mutator, LATER, Word::NIL);
    waiting::unlock(mutator, join);
}

/// The branches that a strand waits for, if it waits for the end of branches: a thread that ends the strand ends them
/// first.
pub fn branches_awaited(thread: &mut Thread, parent: Object) -> Vec<Object> {
    let what = parent.slot(strand::slots::WAITS_FOR).as_object();
    let Some(join) = what.filter(|what| what.layout() == known::JOIN) else { return Vec::new() };
    waiting::lock(&mut thread.mutator, join);
    let earlier = |branch: &Object| branch.slot(EARLIER).as_object();
    let branches = std::iter::successors(join.slot(BRANCHES).as_object(), earlier).collect();
    waiting::unlock(&mut thread.mutator, join);
    branches
}

/// Parks the parent, unless all branches have ended.
fn wait(thread: &mut Thread, join: Object) -> Outcome {
    let parent = thread.strand().object();
    waiting::lock(&mut thread.mutator, join);
    let parked = waiting::park_in(thread, join.word(), Wait::Patient);
    let remaining = remaining(join) - 1;
    set_remaining(thread, join, remaining);
    waiting::unlock(&mut thread.mutator, join);
    if remaining == 0 {
        wake_parent(thread, join);
    } else if parked.missed.is_some() {
        // A thread that kills the parent from now on finds that it waits.
        strands::terminate(thread, parent);
    }
    Outcome::Park
}

/// The branch at its `end_branch` leaves to its parent the registers that the parent will read.
pub fn leave_results(thread: &mut Thread) {
    let here = thread.activation();
    let Some(branch) = results_at(here.function, here.pc) else { return };
    let Some(join) = thread.strand().slot(strand::slots::TASK).as_object() else { return };
    let Some(parent) = StrandRef::of_object(join.slot(PARENT).object()) else { return };
    let frame = parent.saved_state().frame;
    for register in branch.left.iter() {
        let content = get(thread, register.index());
        // SAFETY: the parent is parked in the fork, and its frame is one of the same function. No other branch writes
        // the register, and nothing reads it before the parent continues.
        unsafe { frame.add(register.index()).write(content) };
    }
    // The collector looks at the frame of a strand that has changed.
    thread.mutator.remember(parent.object());
}

/// The map of the branch that ends at this pc; none if it leaves nothing.
fn results_at(function: &'static Function, pc: usize) -> Option<&'static BranchMap> {
    let scopes = &function.scopes;
    let index = scopes.innermost(pc)?;
    let fork = &scopes.forks[scopes.scopes[index].fork?];
    // They are in the order of the code.
    let number = fork.branches.binary_search(&index).ok()?;
    let map = function.frame_maps().fork(fork.pc)?;
    Some(&map.branches[number]).filter(|branch| !branch.left.is_empty())
}

/// A branch has ended, whose task is this join.
pub fn branch_ended(thread: &mut Thread, join: Word, ending: Ending, value: Word) {
    let Some(join) = join.as_object() else { return };
    match ending {
        Ending::Failed => note_failure(thread, join, value),
        Ending::Killed => note_failure(thread, join, Word::FALSE),
        _ => {}
    }
    if change_remaining(thread, join, -1) == 0 {
        wake_parent(thread, join);
    }
}

fn note_failure(thread: &mut Thread, join: Object, failure: Word) {
    waiting::lock(&mut thread.mutator, join);
    let known = join.slot(FAILURE);
    if known == Word::NIL || failure == Word::FALSE {
        join.set_slot(&mut thread.mutator, FAILURE, failure);
    }
    waiting::unlock(&mut thread.mutator, join);
}

/// How many branches of a join have not ended.
pub fn remaining(join: Object) -> i64 {
    join.slot(REMAINING).as_small_integer().unwrap_or(0)
}

/// The exception that the parent of a join will signal, as far as is known.
pub fn exception(join: Object) -> Option<Word> {
    let failure = join.slot(FAILURE);
    (failure != Word::NIL && failure != Word::FALSE).then_some(failure)
}

fn set_remaining(thread: &mut Thread, join: Object, count: i64) {
    let count = Word::from_small_integer_unchecked(count);
    join.set_slot(&mut thread.mutator, REMAINING, count);
}

fn change_remaining(thread: &mut Thread, join: Object, change: i64) -> i64 {
    waiting::lock(&mut thread.mutator, join);
    let count = remaining(join) + change;
    set_remaining(thread, join, count);
    waiting::unlock(&mut thread.mutator, join);
    count
}

/// Lets the parent go on, which is parked.
fn wake_parent(thread: &mut Thread, join: Object) {
    let Some(parent) = StrandRef::of_object(join.slot(PARENT).object()) else { return };
    let Some(parent) = parent.claim_patient() else { return };
    let (delivery, value) = match join.slot(FAILURE) {
        Word::NIL => (Delivery::Value, Word::NIL),
        Word::FALSE => (Delivery::Kill, Word::NIL),
        exception => (Delivery::Exception, exception),
    };
    waiting::wake_strand(thread, parent, delivery, value);
}
