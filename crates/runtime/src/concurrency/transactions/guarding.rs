//! Guarding: makes the strands of a vat take part in transactions. The first transaction of a vat calls it.
//!
//! A vat without transactions is plain: its accesses are bare. Its first transaction gives it a memory, and
//! begins only when no strand of the vat accesses anything bare any more:
//!
//! 1. the strand that begins the transaction sets the vat's memory;
//! 2. it stops all threads for a moment. From then on a thread that begins to run a strand, or comes back from outside,
//!    finds the memory; a thread that has begun before has noted that in
//!    [`Thread::plain_in`](crate::state::thread::Thread::plain_in);
//! 3. it asks every thread that runs a strand of the vat with bare accesses to poll, and waits until there is none;
//! 4. a thread that polls and finds a memory continues with guarded accesses. A thread that does so, or stops running a
//!    strand, [tells](Thread::leave_plain) the waiting one.
//!
//! A thread whose strand is outside, in the system or in C, accesses nothing, and looks when it comes back. If
//! C has called guest code that has made the vat guarded, the loop below that of the callback is *out of
//! step*, and changes when C returns to it.

use crate::model::outcome::Failure;
use crate::state::thread::Thread;
use crate::state::transactions::memory::Memory;
use crate::state::transactions::presence;
use crate::state::vat;

/// Makes the vat of the running strand guarded, unless it is; the thread continues with guarded accesses after the call
/// in progress. *GC point.*
pub fn take_part(thread: &mut Thread) -> Result<&'static Memory, Failure> {
    if let Some(memory) = thread.memory {
        return Ok(memory);
    }
    let vat = vat::current(thread)?;
    let memory = vat.make_memory(thread.vm);
    thread.leave_plain();
    let vm = thread.vm;
    thread.mutator.native(|| {
        vm.heap.while_stopped(|| {});
        vm.transactions.became_guarded.wait_until(|| !vm.asks_plain_threads(vat));
    });
    presence::enter(thread, Some(memory));
    Ok(memory)
}
