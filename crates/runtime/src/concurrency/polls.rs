//! The slow path of polls. A tier calls it before an instruction if another thread has made a request of its thread.

use squall_events::profile::samples::State;
use squall_events::replay::AtPoll;

use crate::concurrency::sandbox::metering;
use crate::concurrency::worker;
use crate::execution::{calls, debugging, guarded, unwind};
use crate::state::effort::PIECE;
use crate::state::sampling;
use crate::state::sandbox;
use crate::state::strand::{Model, StrandRef};
use crate::state::thread::{Stop, Thread};
use crate::state::transactions::shared;

/// Serves the requests of other threads to this one, before the instruction in the state; no instruction is in
/// progress. Afterwards the state may be that of a strand that stopped. *GC point.*
#[cold]
pub fn poll(thread: &mut Thread) {
    thread.stands_before = true;
    if thread.sandbox.is_some() && metering::count_poll(thread) {
        thread.stands_before = false;
        return;
    }
    if thread.watch.is_on && thread.count_poll() {
        thread.stands_before = false;
        return;
    }
    thread.mutator.safepoint();
    // The limit comes first: a later request is heard at the next poll.
    thread.reset_limit();
    sampling::take(thread, State::Running);
    thread.follow_log();
    if thread.watch.is_on {
        debugging::poll(thread);
        if thread.stop != Stop::Returned {
            // Its vat is another worker's.
            thread.stands_before = false;
            return;
        }
    }
    let taped = if thread.watch.is_on { thread.poll_by_tape() } else { None };
    let strand = thread.strand();
    let is_over = sandbox::is_over(thread);
    let is_killed = strand.is_killed()
        || taped == Some(Some(AtPoll::Ends))
        || thread.watch.is_on && thread.ends_by_tape();
    if is_over || is_killed && !unwind::is_cleaning_up(thread) {
        thread.stands_before = false;
        return unwind::kill(thread);
    }
    if thread.vm.options.polls_always {
        worker::end_if_late(thread.vm);
    }
    serve_others(thread, strand, taped);
    thread.stands_before = false;
    if thread.watch.steps || thread.was_moved {
        debugging::change_pace(thread);
    }
}

/// An instruction is over, and the state is at the next one: the strand polls if its operations were so much effort that others
/// should not wait longer. The poll is not counted as fuel, since the effort was. *GC point.*
#[inline]
pub fn after_effort(thread: &mut Thread) {
    if thread.metering.effort >= PIECE {
        poll_after_effort(thread);
    }
}

#[cold]
fn poll_after_effort(thread: &mut Thread) {
    thread.metering.effort = 0;
    // An instruction that has failed, or stops the strand, has polled or will do so.
    if thread.stop == Stop::Returned && thread.sandbox.is_some() {
        if thread.metering.counts_polls && !thread.metering.is_counted_by_code {
            thread.metering.fuel = thread.metering.fuel.saturating_add(1);
        }
        poll(thread);
    }
}

/// Lets others run, if the strand that runs here is to: in a replay of a counted vat, the recording says so.
fn serve_others(thread: &mut Thread, strand: StrandRef, taped: Option<Option<AtPoll>>) {
    let asked = thread.requests.take();
    let held = strand.is_suspended();
    let gives_way = match taped {
        Some(what) => what == Some(AtPoll::GivesWay),
        None => must_give_way(strand) || !strand.is_at_home(thread.home),
    };
    if thread.watch.is_on && thread.stays_for_tape() && thread.vm.ended.code().is_none() {
        // The requests are served when the transaction is over.
        if asked || gives_way || held {
            thread.ask_to_poll();
        }
    } else if gives_way {
        thread.gives_way = true;
        stop(thread);
    } else if guarded::is_late(thread) {
        guarded::guard(thread);
    } else if asked || held || thread.vm.ended.code().is_some() || thread.worker.should_preempt() {
        stop(thread);
    } else if shared::gives_way(thread) {
        thread.yields = true;
        calls::preempt(thread);
    }
}

/// The strand stops before the instruction in the state, to go on later.
fn stop(thread: &mut Thread) {
    if thread.watch.is_on {
        thread.note_stop_at_poll();
    }
    calls::preempt(thread);
}

/// Whether another strand of the vat has a greater priority.
fn must_give_way(strand: StrandRef) -> bool {
    let vat = strand.vat().filter(|_| strand.model() == Model::Exclusive);
    vat.is_some_and(|vat| vat.has_ready_above(strand.priority()))
}
