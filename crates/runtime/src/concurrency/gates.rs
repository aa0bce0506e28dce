//! Waits in a replay: a strand that comes too early parks before its call, and makes the call again. The primitives of
//! recorded runs and transactions call this module.

use squall_heap::Word;

use crate::concurrency::waiting::{self, Place};
use crate::execution::unwind;
use crate::model::outcome::Outcome;
use crate::state::replays::REFUSED;
use crate::state::strand::StrandRef;
use crate::state::thread::Thread;

/// The strand waits until it is its turn by the recording, at this place or never, and makes its call again then. If the strand was
/// ended by another one, which it should have noticed before this call, it ends.
pub fn wait(thread: &mut Thread, place: Option<u64>) -> Outcome {
    if place.is_none() && thread.ends_by_tape() {
        return unwind::end_at_once(thread);
    }
    if !can_ask_again(thread) {
        return Outcome::Exit(REFUSED);
    }
    let strand = thread.strand().object.get();
    let ticket = park_at_gate(thread);
    thread.wait_by_tape(place, strand, ticket);
    Outcome::Park
}

/// Others of the vat go on, and the strand makes its call again when the recording goes on with it.
pub fn ask_later(thread: &mut Thread) -> Outcome {
    if !can_ask_again(thread) {
        return Outcome::Exit(REFUSED);
    }
    let strand = thread.strand();
    let ticket = waiting::park_before(thread, Word::NIL);
    go_last(thread, strand, ticket)
}

/// Others run for a while, but none of the strand's vat, and the strand executes the instruction in the saved state again.
pub fn begin_again(thread: &mut Thread) -> Outcome {
    let strand = thread.strand();
    let ticket = park_at_gate(thread);
    go_last(thread, strand, ticket)
}

/// Parks the strand, with its vat kept for it; answers the ticket.
fn park_at_gate(thread: &mut Thread) -> u64 {
    thread.set_at_gate(true);
    let ticket = waiting::park_before(thread, Word::NIL);
    thread.set_at_gate(false);
    ticket
}

/// The strand that was parked with this ticket is ready again, behind others.
fn go_last(thread: &mut Thread, strand: StrandRef, ticket: u64) -> Outcome {
    if let Some(claimed) = strand.claim(ticket) {
        waiting::make_ready(thread, claimed, Place::Last);
    }
    Outcome::Park
}

/// Whether the strand can make its call again.
fn can_ask_again(thread: &Thread) -> bool {
    let can = !thread.state.function.is_null();
    if !can {
        thread.diverge("a strand that begins with this call cannot wait for its turn");
    }
    can
}
