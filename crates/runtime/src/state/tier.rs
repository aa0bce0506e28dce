//! The runtime's interface to a tier, which runs guest code. The interpreter implements it, and workers call it.

use crate::state::thread::Thread;

/// An engine that executes functions on a thread's stack.
///
/// Tiers share frames, sites and unwinding, and know nothing of each other.
pub trait Tier: Sync {
    /// Runs the strand of this thread from its saved state until it stops; [`Thread::stop`] then
    /// says why. *GC point.*
    fn run(&self, thread: &mut Thread);
}
