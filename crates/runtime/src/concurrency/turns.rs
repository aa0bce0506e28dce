//! Turns in a row: the next turn of a vat begins on the strand of the last one, at once. Workers call [`go_on`] when a strand
//! has stopped.
//!
//! A turn usually ends in the worker's loop, which gives the strand back, looks for the vat's next work, and enters a strand
//! for that. In a vat that is flooded with messages this takes longer than the turns. Between two plain turns nothing of it is
//! needed: the first has no result to deliver, its strand is known to nobody, and the next message was taken from the
//! mailbox already.
//!
//! Invariants: the order of strands and turns is the one of the worker's loop, and each turn finds the strand as a new one
//! would be; so programs, and the schedule of a seed, do not depend on whether turns are in a row.

use squall_heap::{Object, Word};

use crate::concurrency::messages;
use crate::concurrency::sandbox::backlog;
use crate::concurrency::switches;
use crate::objects::far_reference::far_reference;
use crate::state::strand::{self, Role, StrandRef};
use crate::state::thread::{Stop, Thread};
use crate::state::vat::VatRef;
use crate::state::waits;

/// If the strand that runs here has ended a plain turn, and the vat's next turn is to follow, begins that. Answers whether it
/// did. *GC point.*
#[inline(always)]
pub(super) fn go_on(thread: &mut Thread) -> bool {
    let Some((vat, strand)) = ended(thread) else { return false };
    if !is_next(thread, vat) {
        return false;
    }
    let Some(message) = vat.take_message(thread) else { return false };
    if thread.watch.counts && !thread.only_records() {
        vat.count_taken();
    }
    waits::message_taken(thread, vat, message);
    if thread.is_recording() {
        thread.begin_tape(vat, message);
        thread.begin_counting(strand);
    }
    thread.schedule.batch -= 1;
    thread.schedule.switches_left = switches::IN_A_RUN;
    strand::begin_again(thread, strand);
    thread.begin_again();
    backlog::take(thread, vat, message);
    messages::begin(thread, message);
    true
}

/// The vat of the turn that has ended here, and its strand, if the turn was plain: it returns nothing, nobody knows its strand,
/// and no debugger, sandbox or transactions are about, nor events that are noted but for a recording.
#[inline(always)]
fn ended(thread: &mut Thread) -> Option<(VatRef, StrandRef)> {
    let strand = thread.strand();
    let vat = thread.schedule.owned?;
    if thread.stop != Stop::Returned || !thread.is_plain_or_recorded() || vat.turn() != Some(strand)
    {
        return None;
    }
    let running = thread.running();
    let is_unknown = !running.is_exposed() && strand.role() == Role::Other;
    let has_result = strand.slot(strand::slots::TASK) != Word::NIL;
    (is_unknown && !has_result && strand.anchor().is_none()).then_some((vat, strand))
}

/// Whether the worker's loop would begin a turn of this vat now, for a message that was taken and is a send.
#[inline(always)]
fn is_next(thread: &Thread, vat: VatRef) -> bool {
    let is_send = |message: Object| {
        let kind = message.element(messages::KIND);
        messages::is_of_site(kind) && far_reference(message.element(messages::RECEIVER)).is_none()
    };
    thread.schedule.batch > 0
        && !thread.was_preempted
        && !thread.is_displaced
        && !thread.must_look.get()
        && thread.vm.ended.code().is_none()
        && vat.home() == thread.home
        && !vat.is_ready()
        && vat.taken().as_object().is_some_and(is_send)
}
