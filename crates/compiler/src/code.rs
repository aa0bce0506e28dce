//! The border towards the runtime, outwards: compiled code, and the conventions that it keeps. The tier that installs
//! code reads [`CompiledCode`].
//!
//! # Machine conventions
//!
//! | what | x86-64 | aarch64 |
//! |---|---|---|
//! | thread, kept by all code | `r15` | `x21` |
//! | frame of the callee | `rdi` | `x0` |
//! | function of the callee, second argument of stubs | `rsi` | `x1` |
//! | third argument of stubs | `rdx` | `x2` |
//! | result | `rax` | `x0` |
//!
//! - A unit is `fn(frame, function) -> word` in Cranelift's *Tail* convention, which has the argument registers and callee-saved
//!   registers of System V. So machine code of other tiers calls it as a C function. *Tail* is needed since the unit
//!   leaves by jumps.
//! - Helpers and stubs are called as `fn(argument, ...) -> word` in the System V convention, except `Exit` and
//!   `Enter`, which the unit *jumps* to: its native frame is gone by then, and the return address of its caller is on
//!   top of the native stack. `Log` keeps all registers (Cranelift's *PreserveAll*).
//! - A word is in a general register, tagged; raw results of typed code are in the same register.
//! - Nothing in the code depends on its place: addresses are 64-bit immediates, and calls are indirect.
//!
//! # Frame discipline
//!
//! The frame is an interpreter's frame wherever anybody else may look at it:
//!
//! - On entry the arguments are in their registers' places.
//! - During a call, each live register that [`FrameMaps`](squall_bytecode::liveness::FrameMaps) lists for the
//!   instruction holds its value, for inlined activations, too. Their registers lie where the interpreter would have put
//!   them: an inlined callee's frame begins at the call's window. The word below each frame holds the site of its call.
//! - After a call, words that may be pointers are loaded again.
//! - An exit stores all that the state needs, and then jumps to `Exit` with the address of the exit's record. The stub
//!   finds the innermost activation's pc and frame by what [`Exit`] says, and the activations around it by the sites in
//!   the frame.
//! - An *instruction* that the runtime executes ([`Helper::Instruction`](crate::facts::Helper)) has its operands in the
//!   frame. The helper leaves the result in the destination register, and answers it.
//!
//! A unit checks its greatest extent once, on entry: no later store needs a new chunk. The same test is the poll of a
//! call. If it fails, a function's unit jumps to `Enter`, and a loop's unit leaves by its first exit. A unit with calls
//! also checks there that the native stack has room.

use std::fmt;
use std::ops::Range;

use squall_bytecode::entities::Register;

use crate::ir::entities::FunctionRef;
use crate::ir::types::Type;
use crate::ir::values::SlotKind;
use crate::ir::{Origin, Remark};

/// What to compile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The function.
    pub function: FunctionRef,
    /// Where the unit starts.
    pub start: Start,
    /// What is certain of registers at the start, without a test: the layout of the receiver, if the unit is entered by
    /// the cache entries of that layout alone.
    pub certain: Vec<(Register, Type)>,
    /// What is likely of registers at the start: the unit is left there if it does not hold. For the head of a loop, the
    /// types of the words that are in the frame now.
    pub likely: Vec<(Register, Type)>,
}

impl Request {
    /// The whole function, for all receivers.
    pub fn function(function: FunctionRef) -> Request {
        let (certain, likely) = (Vec::new(), Vec::new());
        Request { function, start: Start::Function, certain, likely }
    }
}

/// Machine code of a unit, not yet installed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompiledCode {
    /// The instructions; the first is the entry.
    pub bytes: Vec<u8>,
    /// What was asked for.
    pub request: Request,
    /// The words of the frame, with all inlined activations.
    pub extent: u32,
    /// The exits, by their numbers.
    pub exits: Vec<Exit>,
    /// The functions whose code is part of the unit beside its own.
    pub inlined: Vec<FunctionRef>,
    /// The calls and messages that are inlined, and those that are not part of the unit, and why.
    pub remarks: Vec<Remark>,
    /// Which instruction of bytecode the instructions are for, in the order of their places.
    pub lines: Vec<Line>,
    /// Where loops are in which there is no other loop, in bytes from the entry.
    pub inner_loops: Vec<Range<u32>>,
    /// The kinds of slots that the code relies on. Before one of them widens, the word at
    /// [`Symbol::Notice`](crate::facts::Symbol) becomes other than 0, and the code must not be entered any more.
    pub reliances: Vec<SlotKind>,
}

/// The instructions from a place on are for this instruction of bytecode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// The place, in bytes from the entry.
    pub offset: u32,
    /// The instruction of bytecode.
    pub origin: Origin,
}

/// Where a unit starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Start {
    /// At the function's first instruction.
    Function,
    /// At the head of a loop, with all live registers in the frame: a frame of a lower tier goes on here.
    Loop(u32),
}

/// A place where the unit can be left.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Exit {
    /// The function of the innermost activation.
    pub function: FunctionRef,
    /// The instruction to go on with.
    pub pc: u32,
    /// The words between the unit's frame and that activation's.
    pub offset: u32,
    /// The activations around that one, the outermost first: each stands in a call.
    pub around: Vec<Outer>,
    /// The places of the unit's frame that have raw doubles if one of these needs a box, or an object is to be made.
    pub doubles: Vec<u32>,
    /// The objects that are to be made, each after those that it holds.
    pub objects: Vec<AbsentObject>,
    /// The first place of the unit's frame for these objects and their parts, and how many there are.
    pub parts: (u32, u32),
    /// Why the unit is left.
    pub reason: Reason,
    /// The instruction whose guard failed. It comes after the one to go on with, or is that.
    pub cause: Origin,
}

/// An object that an exit makes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AbsentObject {
    /// What it is.
    pub form: Form,
    /// The places of the unit's frame with its words after the class; of a closure with those after its function.
    pub parts: Vec<u32>,
    /// The places of the unit's frame that get it.
    pub places: Vec<u32>,
}

/// What an object that an exit makes is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// An object with slots: its layout, and the place that has its class.
    #[allow(missing_docs, reason = "the line above explains them")]
    Slots { layout: u32, class: u32 },
    /// A context.
    Context,
    /// A closure of a function.
    Closure(FunctionRef),
}

/// An activation of a unit with another one inside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Outer {
    /// Its function.
    pub function: FunctionRef,
    /// The instruction that calls.
    pub pc: u32,
    /// The words from its frame to the inner one's.
    pub distance: u32,
}

/// Why a unit is left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reason {
    /// The code behind was never executed.
    Cold,
    /// Only base code executes the instruction.
    Baseline,
    /// A value was not of the kind that the feedback shows.
    Kind,
    /// A result was out of range.
    Overflow,
    /// The thread must poll.
    Poll,
    /// A condition did not hold, such as an index in its bounds.
    Condition,
    /// Another strand was in the way of an access.
    Conflict,
    /// An object needs a collection first.
    Room,
    /// The kind of a slot has widened since the code was made.
    Slot,
    /// The thread must draw fuel for the polls that it has counted.
    Fuel,
}

impl Reason {
    /// Whether it says nothing about the code, which is entered again.
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Reason::Baseline | Reason::Poll | Reason::Conflict | Reason::Room | Reason::Fuel
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Cold => "code that was never executed",
            Reason::Baseline => "an instruction for base code",
            Reason::Kind => "a value of another kind",
            Reason::Overflow => "a result out of range",
            Reason::Poll => "a request to the thread",
            Reason::Condition => "a condition that does not hold",
            Reason::Conflict => "a conflict with another strand",
            Reason::Room => "no room for an object",
            Reason::Slot => "a slot that has held something else",
            Reason::Fuel => "no fuel",
        })
    }
}

/// Why a unit was not compiled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompileError {
    /// The function has code that units cannot begin in.
    Unsupported(&'static str),
    /// The backend refused the code: a mistake of this crate.
    Backend(String),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Unsupported(why) => write!(f, "cannot be compiled: {why}"),
            CompileError::Backend(error) => write!(f, "the backend refused the code: {error}"),
        }
    }
}

impl std::error::Error for CompileError {}
