//! The change from bare to guarded accesses while a strand runs. Calls, polls and workers ask here whether the tier must
//! go on in its loop for guarded accesses ([`crate::concurrency::transactions::guarding`] gives the reason).

use crate::execution::calls;
use crate::state::thread::{Stop, Thread};
use crate::state::transactions::presence;

/// Whether the strand that runs has bare accesses although its vat has become guarded.
#[inline]
pub fn is_late(thread: &Thread) -> bool {
    if thread.is_guarded {
        return false;
    }
    let vat = thread.running_strand().and_then(|strand| strand.vat());
    vat.is_some_and(|vat| vat.memory().is_some())
}

/// Whether the loop that executes the strand has other accesses than it should.
#[inline]
pub fn is_out_of_step(thread: &Thread) -> bool {
    thread.is_guarded != thread.runs_guarded || is_late(thread)
}

/// Makes the thread go on at the saved state with guarded accesses.
pub fn guard(thread: &mut Thread) {
    let vat = thread.strand().vat();
    presence::enter(thread, vat.and_then(|vat| vat.memory()));
    thread.is_guarded = thread.memory.is_some();
    thread.leave_plain();
    thread.resumption = thread.state;
    calls::stop(thread, Stop::Switched);
}
