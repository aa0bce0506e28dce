//! The runtime's interface to a tier, which runs guest code. The interpreter implements it, and workers call it.

use crate::model::function::Function;
use crate::state::thread::Thread;

/// An engine that executes functions on a thread's stack.
///
/// Tiers share frames, sites and unwinding, and know nothing of each other.
pub trait Tier: Sync {
    /// Runs the strand of this thread from its saved state until it stops; [`Thread::stop`] then
    /// says why. *GC point.*
    fn run(&self, thread: &mut Thread);

    /// Drops the machine code of functions, and all that they are part of, for good: they have breakpoints. All mutators
    /// stand; what is on native stacks is abandoned at the next poll. A tier without machine code has nothing to drop.
    fn forget(&self, _functions: &[&'static Function]) {}

    /// The process is a copy of another one, and is to run: what both would write gets its own memory. No other thread runs
    /// yet.
    fn take_up(&self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The tier in which all code can run, as the tiers with machine code use it.
pub trait Interpreter: Tier {
    /// Runs the strand of this thread, with accesses of the kind that [`Thread::runs_guarded`] says, until it stops, or
    /// until it comes to a function that is hot: by a call, by a return, or at the turn of a loop. Then [`Thread::stop`] is
    /// [`Stop::Hot`](crate::state::thread::Stop::Hot). *GC point.*
    fn run_cold(&self, thread: &mut Thread);

    /// Runs one instruction, and those that are one with it in its form. *GC point.*
    fn step(&self, thread: &mut Thread);
}
