//! Random programs of typed code: straight lines, branches and loops over a fixed set of registers.
//!
//! A program is a list of steps, which `text` writes as an assembly function and `reference`
//! evaluates. Every register has a value from the start, so any order of steps is well-typed.

/// The type of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// An integer: whether it is signed, and its width in bits.
    Integer(bool, u32),
    /// `bool`
    Bool,
    /// `f64`
    Real,
    /// `list<i64>`
    Numbers,
    /// `list<u8>`
    Bytes,
    /// `map<i64, f64>`
    Table,
    /// `tuple<i64, f64, u8>`
    Triple,
    /// `list<list<i64>>`
    Lists,
}

use Kind::*;

/// `i64`
pub const I64: Kind = Integer(true, 64);
/// `u8`
pub const U8: Kind = Integer(false, 8);

/// Every type, each with its name.
pub const KINDS: [(Kind, &str); 15] = [
    (Integer(true, 8), "i8"),
    (Integer(true, 16), "i16"),
    (Integer(true, 32), "i32"),
    (I64, "i64"),
    (U8, "u8"),
    (Integer(false, 16), "u16"),
    (Integer(false, 32), "u32"),
    (Integer(false, 64), "u64"),
    (Bool, "bool"),
    (Real, "f64"),
    (Numbers, "list<i64>"),
    (Bytes, "list<u8>"),
    (Table, "map<i64, f64>"),
    (Triple, "tuple<i64, f64, u8>"),
    (Lists, "list<list<i64>>"),
];

/// Registers of each type.
pub const EACH: usize = 3;

/// A register: its type, and which of those it is.
pub type Register = (Kind, usize);

/// What is done to registers.
#[derive(Clone, Debug)]
pub enum Step {
    /// A raw constant.
    Constant(Register, u64),
    /// A mnemonic, its destination, and one or two operands of the same type.
    Arithmetic(&'static str, Register, Vec<Register>),
    /// `eq`, `ne`, `lt` or `le`.
    Compare(&'static str, Register, [Register; 2]),
    /// `convert`
    Convert(Register, Register),
    /// `convert_exact`, and what is done if there is no exact value.
    ConvertExact(Register, Register, Vec<Step>),
    /// `move`
    Move(Register, Register),
    /// An instruction on containers, with its operands in order.
    Container(&'static str, Vec<Register>),
    /// `map_get`, and what is done if there is no such key.
    MapGet(Vec<Register>, Vec<Step>),
    /// `make_tuple` of these.
    Tuple(Register, [Register; 3]),
    /// `tuple_get` or `tuple_set` of the element with this index.
    Element(&'static str, Register, Register, usize),
    /// What is done if a register is true, and otherwise.
    If(Register, Vec<Step>, Vec<Step>),
    /// Steps that are repeated so many times.
    Repeat(u64, Vec<Step>),
}

/// Makes a program of random choices: numbers below a limit.
pub struct Generator<'c> {
    /// Answers a number below its argument.
    pub choose: &'c mut dyn FnMut(usize) -> usize,
}

/// Where loops are no deeper.
const DEEPEST: usize = 2;

impl Generator<'_> {
    /// A program of up to so many steps on its highest level.
    pub fn program(&mut self, most: usize) -> Vec<Step> {
        self.steps(most, 0)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.choose)(limit)
    }

    fn steps(&mut self, most: usize, depth: usize) -> Vec<Step> {
        let count = self.below(most) + 1;
        (0..count).map(|_| self.step(depth)).collect()
    }

    fn register(&mut self, kind: Kind) -> Register {
        (kind, self.below(EACH))
    }

    fn integer(&mut self) -> Kind {
        KINDS[self.below(8)].0
    }

    fn number(&mut self) -> Kind {
        if self.below(4) == 0 { Real } else { self.integer() }
    }

    fn any(&mut self) -> Kind {
        KINDS[self.below(KINDS.len())].0
    }

    fn step(&mut self, depth: usize) -> Step {
        match self.below(if depth < DEEPEST { 16 } else { 13 }) {
            0 | 1 => self.constant(),
            2 | 3 => self.arithmetic(),
            4 => {
                let kind = self.any();
                let operator = ["eq", "ne"][self.below(2)];
                self.comparison(operator, kind)
            }
            5 => {
                let kind = [I64, Real, Numbers, Bytes, Triple, Lists][self.below(6)];
                let operator = ["lt", "le"][self.below(2)];
                self.comparison(operator, kind)
            }
            6 => {
                let (to, from) = (self.number(), self.number());
                Step::Convert(self.register(to), self.register(from))
            }
            7 => {
                let kind = self.any();
                Step::Move(self.register(kind), self.register(kind))
            }
            8 | 9 => self.list(),
            10 => self.map(),
            11 => self.tuple(),
            12 => Step::Constant(self.register(I64), self.below(5) as u64),
            13 => {
                let (to, from) = (self.number(), self.number());
                let (to, from) = (self.register(to), self.register(from));
                Step::ConvertExact(to, from, self.steps(3, depth + 1))
            }
            14 => {
                let condition = self.register(Bool);
                Step::If(condition, self.steps(4, depth + 1), self.steps(4, depth + 1))
            }
            _ => {
                let turns = self.below(5) as u64 + 1;
                Step::Repeat(turns, self.steps(5, depth + 1))
            }
        }
    }

    fn constant(&mut self) -> Step {
        let kind = [self.integer(), Bool, Real, I64][self.below(4)];
        let bits = match kind {
            Integer(signed, width) => {
                let extremes = [0, 1, 2, u64::MAX, 1 << (width - 1), (1 << (width - 1)) - 1, 100];
                normalize(signed, width, extremes[self.below(extremes.len())])
            }
            Bool => self.below(2) as u64,
            _ => {
                const REALS: [f64; 9] =
                    [0.0, -0.0, 1.0, -2.5, 1e18, 1e300, f64::INFINITY, f64::NAN, 5e-324];
                REALS[self.below(REALS.len())].to_bits()
            }
        };
        Step::Constant(self.register(kind), bits)
    }

    fn arithmetic(&mut self) -> Step {
        const WHOLE: [&str; 9] = ["add", "sub", "mul", "and", "or", "xor", "shl", "shr", "neg"];
        const FAULTY: [&str; 7] = [
            "div",
            "rem",
            "add_checked",
            "sub_checked",
            "mul_checked",
            "div_checked",
            "neg_checked",
        ];
        const REALS: [&str; 6] = ["add", "sub", "mul", "div", "rem", "neg"];
        let (kind, operator) = match self.below(8) {
            0 => (self.integer(), FAULTY[self.below(FAULTY.len())]),
            1 | 2 => (Real, REALS[self.below(REALS.len())]),
            _ => (self.integer(), WHOLE[self.below(WHOLE.len())]),
        };
        let operands = if operator.starts_with("neg") { 1 } else { 2 };
        let operands = (0..operands).map(|_| self.register(kind)).collect();
        Step::Arithmetic(operator, self.register(kind), operands)
    }

    fn comparison(&mut self, operator: &'static str, kind: Kind) -> Step {
        let operands = [self.register(kind), self.register(kind)];
        Step::Compare(operator, self.register(Bool), operands)
    }

    fn list(&mut self) -> Step {
        let (list, element) = [(Numbers, I64), (Bytes, U8), (Lists, Numbers)][self.below(3)];
        let (mnemonic, kinds): (&'static str, Vec<Kind>) = match self.below(13) {
            0..=3 => ("list_append", vec![list, element]),
            4 => ("list_get", vec![element, list, I64]),
            5 => ("list_set", vec![list, I64, element]),
            6 => ("list_insert", vec![list, I64, element]),
            7 => ("list_remove", vec![list, I64]),
            8 => ("list_exchange", vec![list, I64, I64]),
            9 => ("list_slice", vec![list, list, I64, I64]),
            10 => ("list_concatenate", vec![list, list, list]),
            11 => ("length", vec![I64, list]),
            _ => ("empty", vec![list]),
        };
        let operands = kinds.into_iter().map(|kind| self.register(kind)).collect();
        Step::Container(mnemonic, operands)
    }

    fn map(&mut self) -> Step {
        let (mnemonic, kinds): (&'static str, Vec<Kind>) = match self.below(10) {
            0..=3 => ("map_put", vec![Table, I64, Real]),
            4 => ("map_remove", vec![Table, I64]),
            5 => ("map_has", vec![Bool, Table, I64]),
            6 => ("map_key", vec![I64, Table, I64]),
            7 => ("map_value", vec![Real, Table, I64]),
            8 => ("length", vec![I64, Table]),
            _ => {
                let operands = [Real, Table, I64].map(|kind| self.register(kind)).to_vec();
                return Step::MapGet(operands, vec![self.constant()]);
            }
        };
        let operands = kinds.into_iter().map(|kind| self.register(kind)).collect();
        Step::Container(mnemonic, operands)
    }

    fn tuple(&mut self) -> Step {
        let tuple = self.register(Triple);
        let index = self.below(3);
        let part = self.register([I64, Real, U8][index]);
        match self.below(3) {
            0 => Step::Tuple(tuple, [I64, Real, U8].map(|kind| self.register(kind))),
            1 => Step::Element("tuple_get", part, tuple, index),
            _ => Step::Element("tuple_set", tuple, part, index),
        }
    }
}

/// Cuts an integer to its width and extends it again.
pub fn normalize(signed: bool, width: u32, bits: u64) -> u64 {
    let unused = 64 - width;
    match signed {
        true => ((bits << unused) as i64 >> unused) as u64,
        false => bits << unused >> unused,
    }
}
