//! Well-typed programs with a known result, for fuzz targets and tests.
//!
//! A program is a list of steps over registers of many types, with helper functions that it calls by name and as
//! values. [`generate`] makes programs, [`text`] writes them as assembly, and [`evaluate`] computes their answer: a
//! number that all registers are mixed into, or a fault.
//!
//! Every register has a value from the start, so any order of steps is well-typed. The results of branches, processes,
//! channels, barriers and buckets do not depend on the order of events, so they are the same under every schedule:
//! branches write registers of their own, and values from several processes are added up.

pub mod evaluate;
pub mod generate;
pub mod text;
mod values;

pub use values::{Type, Value};

/// Registers of each type. In branches the first one is only read, and each of the others belongs to
/// one branch.
pub const EACH: usize = 3;

/// A register: the index of its type in the program's list, and its number among those of its type.
pub type Register = (usize, usize);

/// The index of `i64` in every program's list of types.
pub const I64: usize = 3;
/// That of `u8`.
pub const U8: usize = 4;
/// That of `bool`.
pub const BOOL: usize = 8;
/// The number of types at the beginning of every list that are `bool` and numbers.
pub const SCALARS: usize = 11;
/// The index of `list<u8>`.
pub const BYTES: usize = 11;
/// The first types of every list: numbers, and the types that the indices above name.
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
    /// Its steps.
    pub main: Vec<Step>,
}

/// A kind of exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// All faults; only to be caught.
    Any = 0,
    /// A division by zero.
    ZeroDivide = 1,
    /// An integer that does not fit.
    Overflow = 2,
    /// A wrong index.
    IndexError = 6,
    /// A value raised by `raise`.
    Raised = 8,
}

impl Fault {
    /// The faults that can be caught.
    pub const ALL: [Fault; 5] =
        [Fault::Any, Fault::ZeroDivide, Fault::Overflow, Fault::IndexError, Fault::Raised];

    /// The fault's name in the text form, and the name of the class of such exceptions.
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

/// Work of several processes whose result is a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// A `par_for` whose copies call the helper, beside a branch that adds up their results.
    Copies,
    /// A source calls the helper this many times, and so does each stage with its inputs; the results are read in order
    /// until the channel is poisoned. The number of stages, and the way of reading.
    Pipeline(usize, Reading),
    /// A source of lists, which it changes after having sent them.
    Lists,
    /// Two sources; an `alt` chooses among their values.
    Choice,
    /// Workers in step with a barrier.
    Steps,
    /// Processes in a bucket, which is flushed until all have gone on.
    Bucket,
    /// A process value is started.
    Indirect,
    /// An `alt` whose time limit ends first.
    Timeout,
}

/// A way of reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reading {
    /// By `read`.
    Read,
    /// By an extended rendezvous.
    Accept,
    /// By an `alt` with one alternative.
    Alt,
}

/// A step on registers.
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
    /// The steps if a register is true, and the steps if it is false.
    If(Register, Vec<Step>, Vec<Step>),
    /// Steps that are repeated this many times.
    Repeat(u64, Vec<Step>),
    /// Steps in a region, and the steps after a fault. The register gets the fault's number and, after `raise`, the
    /// value as well.
    Try(Fault, Register, Vec<Step>, Vec<Step>),
    /// `raise`
    Raise(Register),
    /// A call of the helper with this index; as a value if the flag is set.
    Call(Register, usize, [Register; 2], bool),
    /// Two branches.
    Par([Vec<Step>; 2]),
    /// Work for the helper with this index: its amount, and its argument.
    Work(Work, Register, usize, u64, Register),
}

impl Step {
    /// Whether this step, or a step inside of it, has branches.
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
