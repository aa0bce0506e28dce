//! What the runtime needs from a tier: something that runs guest code.

use squall_heap::Word;

use crate::function::Function;
use crate::thread::Thread;

/// How running guest code ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunResult {
    /// It answered this.
    Value(Word),
    /// The program asked to end with this exit code.
    Exit(i32),
}

/// An engine that executes functions on a thread's stack.
///
/// Tiers share frames, sites and unwinding, and know nothing of each other.
pub trait Tier: Sync {
    /// Runs a function as the first activation of the thread's strand.
    ///
    /// The arguments include the receiver; there are as many as the function takes. The thread's
    /// stack must be empty. *GC point.*
    fn run(
        &self,
        thread: &mut Thread,
        function: &'static Function,
        arguments: &[Word],
    ) -> RunResult;
}
