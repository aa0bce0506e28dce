//! The slow path of polls. A tier calls it before an instruction if another thread has made a request of its thread.

use squall_events::profile::samples::State;

use crate::concurrency::sandbox::metering;
use crate::concurrency::worker;
use crate::execution::{calls, debugging, guarded, unwind};
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
    let strand = thread.strand();
    let is_over = sandbox::is_over(thread);
    let is_killed = strand.is_killed() || thread.watch.is_on && thread.ends_by_tape();
    if is_over || is_killed && !unwind::is_cleaning_up(thread) {
        thread.stands_before = false;
        return unwind::kill(thread);
    }
    if thread.vm.options.polls_always {
        worker::end_if_late(thread.vm);
    }
    let asked = thread.requests.take();
    let held = strand.is_suspended();
    if must_give_way(strand) || !strand.is_at_home(thread.home) {
        thread.gives_way = true;
        calls::preempt(thread);
    } else if guarded::is_late(thread) {
        guarded::guard(thread);
    } else if asked || held || thread.vm.ended.code().is_some() || thread.worker.should_preempt() {
        calls::preempt(thread);
    } else if shared::gives_way(thread) {
        thread.yields = true;
        calls::preempt(thread);
    }
    thread.stands_before = false;
    if thread.watch.steps || thread.was_moved {
        debugging::change_pace(thread);
    }
}

/// Whether another strand of the vat has a greater priority.
fn must_give_way(strand: StrandRef) -> bool {
    let vat = strand.vat().filter(|_| strand.model() == Model::Exclusive);
    vat.is_some_and(|vat| vat.has_ready_above(strand.priority()))
}
