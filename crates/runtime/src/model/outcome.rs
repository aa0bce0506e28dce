//! Outcomes: the answers of primitives, which never call back into a tier. `calls` acts on them.
//!
//! A primitive gets the calling thread and its window: the arguments, which are roots while it runs. It answers an
//! [`Outcome`], which describes the guest code that must run next; the tier runs it. So nothing recurses on the native
//! stack, and a strand can stop anywhere.

use squall_heap::Word;

use crate::model::function::Function;
use crate::model::symbols::Symbol;

/// The continuation after a primitive.
#[must_use]
pub enum Outcome {
    /// It answers this.
    Return(Word),
    /// A message is sent instead, as an ordinary send would, and its result answered: receiver and
    /// arguments are in [`crate::state::thread::Thread::message`].
    Send(Symbol),
    /// A function is run instead, and its result answered: its arguments, as many as it takes, are
    /// in [`crate::state::thread::Thread::message`].
    Call(&'static Function),
    /// A closure is run instead, and its result answered: closure and arguments are in
    /// [`crate::state::thread::Thread::message`].
    Evaluate,
    /// It failed, for this reason: the kernel signals the exception that goes with it.
    Fail(Failure),
    /// The stack was cut: execution continues at [`crate::state::thread::Thread::state`].
    Resume,
    /// The strand was parked: it continues with the delivery of the strand that wakes it.
    Park,
    /// It answers this, after other strands of the vat had their turn.
    Yield(Word),
    /// It answers this, on the native thread where the strand is at home.
    Move(Word),
    /// The program ends with this exit code.
    Exit(i32),
    /// It answers this; from then on, accesses are guarded: see [`crate::concurrency::transactions`].
    Guard(Word),
}

/// How the direct form of a primitive went, which may wait for other strands.
#[must_use]
pub enum Meeting {
    /// It is done, and answers this.
    Done(Word),
    /// The strand was parked: it continues with the delivery of the strand that wakes it.
    Waits,
    /// It answers nil, after other strands had their turn.
    Yields,
    /// Nothing has happened.
    Unusual,
}

impl Meeting {
    /// The outcome of the primitive; nothing if its general form has to follow.
    #[inline(always)]
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Meeting::Done(value) => Some(Outcome::Return(value)),
            Meeting::Waits => Some(Outcome::Park),
            Meeting::Yields => Some(Outcome::Yield(Word::NIL)),
            Meeting::Unusual => None,
        }
    }
}

/// Declares [`FailureReason`] with the kernel's method for each.
macro_rules! failure_reasons {
    ($($(#[doc = $doc:literal])* $name:ident $selector:literal;)*) => {
        /// Why something failed. The kernel library has a method for each reason, which signals the exception that goes
        /// with it and takes as many of the failure's two details as its selector has arguments.
        ///
        /// It is as wide as a word, so an [`Outcome`] has no padding. Padding beside a byte is copied as two overlapping
        /// halves, and the next copy waits until both are in the cache: 7 ns for each message through a channel.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u64)]
        pub enum FailureReason {
            $($(#[doc = $doc])* $name,)*
            /// The operation did not happen, and no exception is to be signalled: execution continues at the saved
            /// state. See [`crate::concurrency::transactions`].
            Elsewhere,
        }

        impl FailureReason {
            /// Every reason that the kernel has a method for, with its selector.
            pub const SIGNALLED: &[(FailureReason, &str)] =
                &[$((FailureReason::$name, $selector)),*];

            /// The selector of the kernel's method; empty for [`FailureReason::Elsewhere`].
            pub fn selector(self) -> &'static str {
                match self {
                    $(FailureReason::$name => $selector,)*
                    FailureReason::Elsewhere => "",
                }
            }
        }
    };
}

failure_reasons! {
    /// An index is outside of a collection: the collection, the index.
    IndexOutOfBounds "signalIndexOutOfBounds:index:";
    /// An argument is of the wrong kind, or has a value that makes no sense: the argument.
    Argument "signalArgumentError:";
    /// A typed container or channel got an object of another type: the object, the wanted type.
    WrongElement "signalWrongElement:wanted:";
    /// A channel has elements of another type: the channel, the wanted type.
    WrongChannel "signalWrongChannel:wanted:";
    /// A closure was evaluated with the wrong number of arguments: the closure, and the number given.
    ArgumentCount "signalArgumentCount:given:";
    /// Division by zero.
    ZeroDivide "signalZeroDivide";
    /// A result does not fit its type.
    Overflow "signalOverflow";
    /// A typed list has no such element: the index, the size.
    IndexError "signalIndexError:size:";
    /// A value was required: the class of the object that is none.
    NotAValue "signalNotAValue:";
    /// An instance of a class of values holds an object that is none: the class, and the place of that object as a text.
    HoldsNoValue "signalNotAValue:because:";
    /// An object was given to an actor that its initializer made, and then was no value: its class.
    GivenAway "signalGivenAway:";
    /// An object that does not understand a message does not understand `doesNotUnderstand:arguments:` either.
    NotUnderstood "signalNotUnderstood:selector:";
    /// A class is to be a value and travel by copy: its name.
    TransferObjectsCannotBeValues "signalTransferObjectsCannotBeValues:";
    /// The stack may not grow.
    StackOverflow "signalStackOverflow";
    /// The heap is full.
    OutOfMemory "signalOutOfMemory";
    /// A message of a sandbox would take more objects to another vat than one message may.
    MessageTooLarge "signalMessageTooLarge";
    /// The command line does not permit it: the flag, and the attempted operation.
    PermissionDenied "signalPermissionDenied:what:";
    /// The sandbox is not granted it: the module, and the attempted operation.
    NotGranted "signalNotGranted:what:";
    /// The machine does not support it: the name of the operation.
    NotSupported "signalNotSupported:";
    /// A primitive has this name in the library only: an older machine, or a mistake in the library.
    UnknownPrimitive "signalUnknownPrimitive";
    /// A channel or barrier is poisoned.
    Poisoned "signalPoisoned";
    /// Typed code raised a value: the value.
    Raised "signalRaised:";
    /// A choice has no alternative.
    NoAlternative "signalNoAlternative";
    /// A strand gives up an object that another strand holds, or none.
    NotHolder "signalNotHolder";
    /// Retrying or choosing outside of a transaction.
    NoTransaction "signalNoTransaction";
    /// Retrying in a transaction that cannot be undone any more.
    Inevitable "signalInevitable";
    /// The file system refused: a symbol that says why, the path.
    File "signalIOError:path:";
    /// The network refused: a symbol that says why, a text.
    Network "signalNetworkError:text:";
    /// The system refused about a process: a symbol that says why, a text.
    Process "signalProcessError:text:";
    /// The embedder's function refused: its message.
    Host "signalHostError:";
    /// A call of C failed: a symbol that says why, a text.
    Foreign "signalForeignError:text:";
    /// There is no module at the path.
    ModuleNotFound "signalModuleNotFound:";
    /// A text or some bytes are not of the format that they should have: the place, an array of the code point, the line
    /// and the column; the mistake.
    Parse "signalParseError:text:";
    /// A module does not compile: the diagnostics, the path.
    Compile "signalCompileError:path:";
}

/// The reason of a failure, with the arguments for the kernel's method.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// The reason.
    pub reason: FailureReason,
    /// The first detail.
    pub first: Word,
    /// The second detail.
    pub second: Word,
}

impl Failure {
    /// A failure without details.
    pub fn new(reason: FailureReason) -> Failure {
        Failure { reason, first: Word::NIL, second: Word::NIL }
    }

    /// A failure with two details.
    pub fn with(reason: FailureReason, first: Word, second: Word) -> Failure {
        Failure { reason, first, second }
    }

    /// An argument is of the wrong kind, or has a value that makes no sense.
    pub fn argument(argument: Word) -> Failure {
        Failure::with(FailureReason::Argument, argument, Word::NIL)
    }

    /// An index is outside of a collection.
    pub fn index(collection: Word, index: Word) -> Failure {
        Failure::with(FailureReason::IndexOutOfBounds, collection, index)
    }

    /// See [`FailureReason::Elsewhere`].
    pub fn elsewhere() -> Failure {
        Failure::new(FailureReason::Elsewhere)
    }

    /// Whether this is [`Failure::elsewhere`].
    #[inline]
    pub fn is_elsewhere(&self) -> bool {
        self.reason == FailureReason::Elsewhere
    }

    /// The heap is full.
    pub fn out_of_memory() -> Failure {
        Failure::new(FailureReason::OutOfMemory)
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
