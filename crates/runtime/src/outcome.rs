//! What a primitive answers: primitives never call back into a tier.
//!
//! A primitive gets the calling thread and its window: the arguments, which are roots while it
//! runs. It answers an [`Outcome`]; whatever guest code must run next is described there and run
//! by the tier, so nothing recurses on the native stack and a strand can stop anywhere.

use squall_heap::Word;

use crate::function::Function;
use crate::symbols::Symbol;

/// What happens after a primitive.
#[must_use]
pub enum Outcome {
    /// It answers this.
    Return(Word),
    /// A message is sent instead, as an ordinary send would, and its result answered: receiver and
    /// arguments are in [`crate::thread::Thread::message`].
    Send(Symbol),
    /// A function is run instead, and its result answered: its arguments, as many as it takes, are
    /// in [`crate::thread::Thread::message`].
    Call(&'static Function),
    /// A closure is run instead, and its result answered: closure and arguments are in
    /// [`crate::thread::Thread::message`].
    Evaluate,
    /// It failed, for this reason: the kernel signals the exception that goes with it.
    Fail(Failure),
    /// The stack was cut: execution goes on at [`crate::thread::Thread::state`].
    Resume,
    /// The strand was parked: it goes on when somebody wakes it, with what that delivers.
    Park,
    /// It answers this, after other strands of the vat had their turn.
    Yield(Word),
    /// It answers this, on the native thread where the strand is at home.
    Move(Word),
    /// The program ends with this exit code.
    Exit(i32),
    /// It answers this; from then on, accesses are guarded: see [`crate::transactions`].
    Guard(Word),
}

/// Why something failed, in terms the kernel turns into an exception:
/// `signalFailure: reason with: first with: second`.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// The reason's name.
    pub reason: &'static str,
    /// The first detail.
    pub first: Word,
    /// The second detail.
    pub second: Word,
}

/// The reason of what has no reason.
static ELSEWHERE: &str = "Elsewhere";

impl Failure {
    /// A failure without details.
    pub fn new(reason: &'static str) -> Failure {
        Failure { reason, first: Word::NIL, second: Word::NIL }
    }

    /// A failure with two details.
    pub fn with(reason: &'static str, first: Word, second: Word) -> Failure {
        Failure { reason, first, second }
    }

    /// An argument is of the wrong kind, or has a value that makes no sense.
    pub fn argument(argument: Word) -> Failure {
        Failure::with("ArgumentError", argument, Word::NIL)
    }

    /// An index is outside of a collection.
    pub fn index(collection: Word, index: Word) -> Failure {
        Failure::with("IndexOutOfBounds", collection, index)
    }

    /// It did not happen, and nothing is to be signalled: execution goes on where the saved state says. See
    /// [`crate::transactions`].
    pub fn elsewhere() -> Failure {
        Failure::new(ELSEWHERE)
    }

    /// Whether this is [`Failure::elsewhere`].
    #[inline]
    pub fn is_elsewhere(&self) -> bool {
        std::ptr::eq(self.reason, ELSEWHERE)
    }

    /// The heap is full.
    pub fn out_of_memory() -> Failure {
        Failure::new("OutOfMemory")
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Outcome {
        Outcome::Fail(failure)
    }
}

/// So that primitives can use `?`.
impl From<Result<Word, Failure>> for Outcome {
    fn from(result: Result<Word, Failure>) -> Outcome {
        match result {
            Ok(word) => Outcome::Return(word),
            Err(failure) => Outcome::Fail(failure),
        }
    }
}
