//! Makes programs from choices. The fuzz target `programs` and the tests of this crate call it.

use super::values::{float_bits, normalize};
use super::{
    BOOL, BYTES, EACH, Fault, I64, Program, Reading, Register, SCALARS, Step, Type, Work,
    first_types,
};
use crate::choices::Choices;

/// The most container types beside `list<u8>`, and helper functions.
const CONTAINERS: usize = 4;
const HELPERS: usize = 3;

/// The depth at which steps contain no more steps.
const DEEPEST: usize = 3;

/// A program with at most this many steps on the highest level of a function.
pub fn program(choices: &mut Choices, most: usize) -> Program {
    let types = types(choices);
    let mut helpers = Vec::new();
    for _ in 0..choices.below(HELPERS + 1) {
        let body = Generator::new(choices, &types, helpers.len()).steps(most, 0);
        helpers.push(vec![Step::Try(Fault::Any, (I64, 2), body, Vec::new())]);
    }
    let mut generator = Generator::new(choices, &types, helpers.len());
    generator.is_guarded = false;
    let main = generator.steps(most, 0);
    Program { types, helpers, main }
}

/// The first types, and containers of earlier types.
fn types(choices: &mut Choices) -> Vec<Type> {
    let mut types = first_types();
    types.push(Type::List(Box::new(types[I64].clone())));
    for _ in 0..choices.below(CONTAINERS + 1) {
        let part = |choices: &mut Choices| choices.element(&types).unwrap_or(Type::Bool);
        let kind = match choices.below(4) {
            0 => Type::Tuple((0..=choices.below(4)).map(|_| part(choices)).collect()),
            1 => Type::List(Box::new(part(choices))),
            _ => {
                let ordered: Vec<&Type> = types.iter().filter(|kind| kind.is_ordered()).collect();
                let key = ordered[choices.below(ordered.len())].clone();
                Type::Map(Box::new(key), Box::new(part(choices)))
            }
        };
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    types
}

struct Generator<'g, 'b> {
    choices: &'g mut Choices<'b>,
    types: &'g [Type],
    /// The number of helpers that may be called.
    helpers: usize,
    /// The registers of each type that may be read, and written.
    readable: &'static [usize],
    writable: &'static [usize],
    /// Whether a handler could see registers without a value for a moment.
    is_guarded: bool,
    /// Whether a fault may leave the steps.
    may_fault: bool,
}

const ALL: &[usize] = &[0, 1, 2];
const _: () = assert!(EACH == ALL.len());

impl<'g, 'b> Generator<'g, 'b> {
    fn new(choices: &'g mut Choices<'b>, types: &'g [Type], helpers: usize) -> Generator<'g, 'b> {
        Generator {
            choices,
            types,
            helpers,
            readable: ALL,
            writable: ALL,
            is_guarded: true,
            may_fault: true,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.choices.below(limit)
    }

    fn steps(&mut self, most: usize, depth: usize) -> Vec<Step> {
        let count = self.below(most) + 1;
        (0..count).map(|_| self.step(depth)).collect()
    }

    /// A register to be read.
    fn source(&mut self, kind: usize) -> Register {
        let index = self.below(self.readable.len());
        (kind, self.readable[index])
    }

    /// A register to be written.
    fn target(&mut self, kind: usize) -> Register {
        let index = self.below(self.writable.len());
        (kind, self.writable[index])
    }

    /// A register to be read and written.
    fn both(&mut self, kind: usize) -> Register {
        self.target(kind)
    }

    fn integer(&mut self) -> usize {
        self.below(8)
    }

    fn number(&mut self) -> usize {
        match self.below(4) {
            0 => 9 + self.below(2),
            _ => self.integer(),
        }
    }

    fn any(&mut self) -> usize {
        self.below(self.types.len())
    }

    /// The index of a type.
    fn find(&self, kind: &Type) -> usize {
        self.types.iter().position(|other| other == kind).unwrap_or(BYTES)
    }

    /// The index of a container type that suits, or of `list<u8>`.
    fn container(&mut self, suits: impl Fn(&Type) -> bool) -> Option<usize> {
        let all: Vec<usize> =
            (SCALARS..self.types.len()).filter(|&index| suits(&self.types[index])).collect();
        self.choices.element(&all)
    }

    fn step(&mut self, depth: usize) -> Step {
        match self.below(if depth < DEEPEST { 30 } else { 20 }) {
            0..3 => self.constant(),
            3..6 => self.arithmetic(),
            6 => self.comparison(),
            7 => {
                let (to, from) = (self.number(), self.number());
                Step::Convert(self.target(to), self.source(from))
            }
            8 => self.copy(),
            9..13 => self.list(),
            13..15 => self.map().unwrap_or_else(|| self.constant()),
            15..17 => self.tuple().unwrap_or_else(|| self.constant()),
            17 => {
                let small = self.below(5) as u64;
                Step::Constant(self.target(I64), small)
            }
            18 => self.call(),
            19 => self.work(),
            20 => {
                let (to, from) = (self.number(), self.number());
                let (to, from) = (self.target(to), self.source(from));
                Step::ConvertExact(to, from, self.steps(3, depth + 1))
            }
            21 => self.map_get(depth),
            22 | 23 => {
                let condition = self.source(BOOL);
                Step::If(condition, self.steps(4, depth + 1), self.steps(4, depth + 1))
            }
            24 | 25 => {
                let turns = self.below(5) as u64 + 1;
                Step::Repeat(turns, self.steps(5, depth + 1))
            }
            26 | 27 => self.region(depth),
            28 if self.may_fault => Step::Raise(self.source(I64)),
            28 => self.comparison(),
            _ => self.branches(depth),
        }
    }

    fn constant(&mut self) -> Step {
        let kind = self.below(SCALARS);
        let bits = match self.types[kind] {
            Type::Integer(signed, width) => {
                let extremes = [0, 1, 2, u64::MAX, 1 << (width - 1), (1 << (width - 1)) - 1, 100];
                normalize(signed, width, self.choices.of(&extremes))
            }
            Type::Float(width) => {
                const REALS: [f64; 10] =
                    [0.0, -0.0, 1.0, -2.5, 0.1, 1e18, 1e300, f64::INFINITY, f64::NAN, 5e-324];
                float_bits(width, self.choices.of(&REALS))
            }
            _ => self.below(2) as u64,
        };
        Step::Constant(self.target(kind), bits)
    }

    fn arithmetic(&mut self) -> Step {
        const WHOLE: [&str; 10] =
            ["add", "sub", "mul", "and", "or", "xor", "shl", "shr", "neg", "not"];
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
        const LOGIC: [&str; 4] = ["and", "or", "xor", "not"];
        let (kind, operator) = match self.below(9) {
            0 | 1 if self.may_fault => (self.integer(), self.choices.of(&FAULTY)),
            2 | 3 => (9 + self.below(2), self.choices.of(&REALS)),
            4 => (BOOL, self.choices.of(&LOGIC)),
            _ => (self.integer(), self.choices.of(&WHOLE)),
        };
        let operands = if operator.starts_with('n') { 1 } else { 2 };
        let operands = (0..operands).map(|_| self.source(kind)).collect();
        Step::Arithmetic(operator, self.target(kind), operands)
    }

    fn comparison(&mut self) -> Step {
        let kind = self.any();
        let operators: &[&str] =
            if self.types[kind].is_ordered() { &["eq", "ne", "lt", "le"] } else { &["eq", "ne"] };
        let operator = self.choices.of(operators);
        let operands = [self.source(kind), self.source(kind)];
        Step::Compare(operator, self.target(BOOL), operands)
    }

    fn copy(&mut self) -> Step {
        let kind = self.any();
        match self.below(4) {
            0 if !self.is_guarded => {
                let (to, from) = (self.target(kind), self.both(kind));
                if to == from { Step::Move(to, from) } else { Step::Take(to, from) }
            }
            1 => Step::Box(self.target(kind), self.source(kind)),
            _ => Step::Move(self.target(kind), self.source(kind)),
        }
    }

    fn list(&mut self) -> Step {
        let list = self.container(|kind| matches!(kind, Type::List(_))).unwrap_or(BYTES);
        let Type::List(element) = &self.types[list] else { unreachable!("it is a list") };
        let element = self.find(element);
        let total = if self.may_fault { 17 } else { 11 };
        match self.below(total) {
            0..4 => Step::Container("list_append", vec![self.both(list), self.source(element)]),
            4 => {
                let lists = [self.source(list), self.source(list)];
                Step::Container("list_concatenate", [&[self.target(list)], &lists[..]].concat())
            }
            5 => Step::Container("length", vec![self.target(I64), self.source(list)]),
            6 => Step::Container("empty", vec![self.target(list)]),
            7 | 8 => {
                let count = self.below(4);
                let elements = (0..count).map(|_| self.source(element)).collect();
                Step::List(self.target(list), elements)
            }
            9 => {
                const TEXTS: [&str; 4] = ["", "a", "bytes", "é𝒳"];
                let text = self.choices.of(&TEXTS);
                Step::Bytes(self.target(BYTES), text)
            }
            10 => {
                let length = self.below(10) as i64 - i64::from(self.may_fault);
                Step::Fill(self.target(list), length, self.source(element))
            }
            11 => {
                let (list, index) = (self.source(list), self.source(I64));
                Step::Container("list_get", vec![self.target(element), list, index])
            }
            12 => self.update("list_set", list, Some(element)),
            13 => self.update("list_insert", list, Some(element)),
            14 => self.update("list_remove", list, None),
            15 => self.update("list_exchange", list, Some(I64)),
            _ => {
                let (to, from) = (self.target(list), self.source(list));
                let (start, end) = (self.source(I64), self.source(I64));
                Step::Container("list_slice", vec![to, from, start, end])
            }
        }
    }

    /// A change of a list at an index.
    fn update(&mut self, mnemonic: &'static str, list: usize, value: Option<usize>) -> Step {
        let mut operands = vec![self.both(list), self.source(I64)];
        operands.extend(value.map(|kind| self.source(kind)));
        Step::Container(mnemonic, operands)
    }

    /// The indices of a map type, of its keys, and of its values.
    fn map_types(&mut self) -> Option<[usize; 3]> {
        let map = self.container(|kind| matches!(kind, Type::Map(..)))?;
        let Type::Map(key, value) = &self.types[map] else { unreachable!("it is a map") };
        Some([map, self.find(key), self.find(value)])
    }

    fn map(&mut self) -> Option<Step> {
        let [map, key, value] = self.map_types()?;
        let total = if self.may_fault { 10 } else { 8 };
        Some(match self.below(total) {
            0..4 => {
                let operands = vec![self.both(map), self.source(key), self.source(value)];
                Step::Container("map_put", operands)
            }
            4 => Step::Container("map_remove", vec![self.both(map), self.source(key)]),
            5 => {
                let (map, key) = (self.source(map), self.source(key));
                Step::Container("map_has", vec![self.target(BOOL), map, key])
            }
            6 => Step::Container("length", vec![self.target(I64), self.source(map)]),
            7 => Step::Container("empty", vec![self.target(map)]),
            8 => {
                let (map, index) = (self.source(map), self.source(I64));
                Step::Container("map_key", vec![self.target(key), map, index])
            }
            _ => {
                let (map, index) = (self.source(map), self.source(I64));
                Step::Container("map_value", vec![self.target(value), map, index])
            }
        })
    }

    fn map_get(&mut self, depth: usize) -> Step {
        let Some([map, key, value]) = self.map_types() else { return self.constant() };
        let operands = [self.target(value), self.source(map), self.source(key)];
        Step::MapGet(operands, self.steps(3, depth + 1))
    }

    fn tuple(&mut self) -> Option<Step> {
        let tuple = self.container(|kind| matches!(kind, Type::Tuple(_)))?;
        let Type::Tuple(parts) = &self.types[tuple] else { unreachable!("it is a tuple") };
        let kinds: Vec<usize> = parts.iter().map(|part| self.find(part)).collect();
        let index = self.below(kinds.len());
        Some(match self.below(3) {
            0 => {
                let elements = kinds.into_iter().map(|kind| self.source(kind)).collect();
                Step::Tuple(self.target(tuple), elements)
            }
            1 => Step::Element(self.target(kinds[index]), self.source(tuple), index),
            _ => Step::SetElement(self.both(tuple), self.source(kinds[index]), index),
        })
    }

    fn call(&mut self) -> Step {
        if self.helpers == 0 {
            return self.arithmetic();
        }
        let helper = self.below(self.helpers);
        let arguments = [self.source(I64), self.source(I64)];
        let as_value = self.choices.one_in(3);
        Step::Call(self.target(I64), helper, arguments, as_value)
    }

    fn work(&mut self) -> Step {
        if self.helpers == 0 {
            return self.comparison();
        }
        let (work, most) = match self.below(9) {
            0 | 1 => (Work::Copies, 12),
            2 | 3 => (Work::Pipeline(self.below(3), self.choices.of(&Reading::ALL)), 6),
            4 => (Work::Lists, 5),
            5 => (Work::Choice, 4),
            6 => (Work::Steps, 3),
            7 => (Work::Bucket, 4),
            _ => (self.choices.of(&[Work::Indirect, Work::Timeout]), 1),
        };
        let (helper, amount) = (self.below(self.helpers), self.below(most) as u64 + 1);
        let argument = self.source(I64);
        Step::Work(work, self.target(I64), helper, amount, argument)
    }

    fn region(&mut self, depth: usize) -> Step {
        let fault = self.choices.of(&Fault::ALL);
        let before = (self.is_guarded, self.may_fault);
        self.is_guarded = true;
        self.may_fault |= fault == Fault::Any;
        let steps = self.steps(5, depth + 1);
        (self.is_guarded, self.may_fault) = before;
        let number = self.target(I64);
        Step::Try(fault, number, steps, self.steps(3, depth + 1))
    }

    /// Each branch writes registers of its own, and reads those and the registers that no branch writes. Only the first
    /// branch may fault, so that it is clear which fault is signalled.
    fn branches(&mut self, depth: usize) -> Step {
        if self.writable != ALL {
            return self.call();
        }
        let may_fault = self.may_fault;
        (self.readable, self.writable) = (&[0, 1], &[1]);
        let first = self.steps(5, depth + 1);
        (self.readable, self.writable) = (&[0, 2], &[2]);
        self.may_fault = false;
        let second = self.steps(5, depth + 1);
        (self.readable, self.writable, self.may_fault) = (ALL, ALL, may_fault);
        Step::Par([first, second])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_choices_programs_are_small() {
        let program = program(&mut Choices::Bytes(&[]), 40);
        assert_eq!(program.main.len(), 1);
    }
}
