//! Well-typed programs with a known result.
//!
//! A program is a list of steps over registers of many types, with helper functions that it calls,
//! by name and as values. [`generate`] makes programs, [`text`] writes them as assembly, and [`evaluate`] says
//! what they must answer: a number that all registers are mixed into, or a fault.
//!
//! Every register has a value from the start, so any order of steps is well-typed. Programs use
//! branches, processes, channels, barriers and buckets in ways whose result does not depend on who is
//! first, so that it is the same under every schedule: branches write registers of their own, and what
//! comes from several processes is added up.

pub mod evaluate;
pub mod generate;
pub mod text;
mod values;

pub use values::{Type, Value};

/// Registers of each type. In branches the first one is only read, and each of the others belongs to
/// one branch.
pub const EACH: usize = 3;

/// A register: the index of its type in the program's list, and which of those it is.
pub type Register = (usize, usize);

/// The index of `i64` in every program's list of types.
pub const I64: usize = 3;
/// That of `u8`.
pub const U8: usize = 4;
/// That of `bool`.
pub const BOOL: usize = 8;
/// How many types at the beginning of every list are `bool` and numbers.
pub const SCALARS: usize = 11;
/// The index of `list<u8>`.
pub const BYTES: usize = 11;
/// The first types of every list: numbers, and what the other indices above stand for.
pub fn first_types() -> Vec<Type> {
    let integers = [true, false].into_iter().flat_map(|signed| {
        [8, 16, 32, 64].into_iter().map(move |width| Type::Integer(signed, width))
    });
    let others = [Type::Bool, Type::Float(32), Type::Float(64)];
    let mut types: Vec<Type> = integers.chain(others).collect();
    types.push(Type::List(Box::new(types[U8].clone())));
    types
}

/// A program.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The types of its registers.
    pub types: Vec<Type>,
    /// Functions that never fault, of two `i64`s; each calls earlier ones only.
    pub helpers: Vec<Vec<Step>>,
    /// What it does.
    pub main: Vec<Step>,
}

/// A kind of exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Every one; only to be caught.
    Any = 0,
    /// A division by zero.
    ZeroDivide = 1,
    /// An integer that does not fit.
    Overflow = 2,
    /// A wrong index.
    IndexError = 6,
    /// What `raise` signals.
    Raised = 8,
}

impl Fault {
    /// Those that can be caught.
    pub const ALL: [Fault; 5] =
        [Fault::Any, Fault::ZeroDivide, Fault::Overflow, Fault::IndexError, Fault::Raised];

    /// The name in the text form, and of the class of such exceptions.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Any => "Any",
            Fault::ZeroDivide => "ZeroDivide",
            Fault::Overflow => "Overflow",
            Fault::IndexError => "IndexError",
            Fault::Raised => "Raised",
        }
    }
}

/// Something that processes do together, whose result is a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// A `par_for` whose copies call the helper, beside a branch that adds up what they say.
    Copies,
    /// A source calls the helper so many times, stages do it with what they get; the results are
    /// read in order until the channel is poisoned. How many stages, and how it is read.
    Pipeline(usize, Reading),
    /// A source of lists, which it changes after having sent them.
    Lists,
    /// Two sources; what comes is chosen by `alt`.
    Choice,
    /// Workers in step with a barrier.
    Steps,
    /// Processes in a bucket, which is flushed until all have gone on.
    Bucket,
    /// A process value is started.
    Indirect,
    /// An `alt` in which nothing comes in time.
    Timeout,
}

/// How something is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// By `read`.
    Read,
    /// By an extended rendezvous.
    Accept,
    /// By an `alt` with one guard.
    Alt,
}

/// What is done to registers.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// A raw constant.
    Constant(Register, u64),
    /// The bytes of a text.
    Bytes(Register, &'static str),
    /// A mnemonic, its destination, and one or two operands of the same type.
    Arithmetic(&'static str, Register, Vec<Register>),
    /// `eq`, `ne`, `lt` or `le`.
    Compare(&'static str, Register, [Register; 2]),
    /// `convert`
    Convert(Register, Register),
    /// `convert_exact`; 0 and these steps, if there is no exact value.
    ConvertExact(Register, Register, Vec<Step>),
    /// `move`
    Move(Register, Register),
    /// `take`; the source is empty afterwards.
    Take(Register, Register),
    /// `box` and `unbox`.
    Box(Register, Register),
    /// An instruction on lists and maps, with its operands in order.
    Container(&'static str, Vec<Register>),
    /// `make_list` of these.
    List(Register, Vec<Register>),
    /// `fill_list`: how many, and of what.
    Fill(Register, i64, Register),
    /// `map_get`; the empty value and these steps, if there is no such key.
    MapGet([Register; 3], Vec<Step>),
    /// `make_tuple` of these.
    Tuple(Register, Vec<Register>),
    /// `tuple_get` of the element with this index.
    Element(Register, Register, usize),
    /// `tuple_set`.
    SetElement(Register, Register, usize),
    /// What is done if a register is true, and otherwise.
    If(Register, Vec<Step>, Vec<Step>),
    /// Steps that are repeated so many times.
    Repeat(u64, Vec<Step>),
    /// Steps in a region, and what is done after a fault. The register gets the fault's number, and for what
    /// was raised the value as well.
    Try(Fault, Register, Vec<Step>, Vec<Step>),
    /// `raise`
    Raise(Register),
    /// A call of the helper with this index, as a value if so said.
    Call(Register, usize, [Register; 2], bool),
    /// Two branches.
    Par([Vec<Step>; 2]),
    /// Work for the helper with this index: so much of it, with this argument.
    Work(Work, Register, usize, u64, Register),
}

impl Step {
    /// Whether this, or something in it, has branches.
    pub fn forks(&self) -> bool {
        let any = |steps: &[Step]| steps.iter().any(Step::forks);
        match self {
            Step::Par(_) => true,
            Step::ConvertExact(_, _, steps) | Step::MapGet(_, steps) | Step::Repeat(_, steps) => {
                any(steps)
            }
            Step::If(_, then, otherwise) => any(then) || any(otherwise),
            Step::Try(_, _, steps, handler) => any(steps) || any(handler),
            _ => false,
        }
    }
}
