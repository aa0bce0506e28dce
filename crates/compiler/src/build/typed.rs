//! Typed registers: raw operations without guards. `control` calls this module for the bytecodes that it has no case
//! for, and leaves those without an operation here to the runtime's helper.

use squall_bytecode::instructions::{Field, Opcode};
use squall_bytecode::types::RegisterType;

use crate::build::body::Body;
use crate::ir::entities::Value;
use crate::ir::operations::Op;
use crate::ir::types::{Range, Type};
use crate::ir::values::{Condition, Width};

impl Body<'_, '_> {
    /// Builds the current instruction, if it is one on integers, Booleans or doubles of 64 bits.
    pub fn typed(&mut self) -> bool {
        use Opcode::*;
        let opcode = self.instruction.opcode;
        let value = match opcode {
            Add | Subtract | Multiply | And | Or | Xor | ShiftLeft | ShiftRight | Divide
            | Remainder => self.binary(opcode),
            Negate | Not => self.unary(opcode),
            AddChecked | SubtractChecked | MultiplyChecked => self.checked(opcode),
            Equal | NotEqual | Less | LessOrEqual => self.comparison(opcode),
            Convert => self.convert(),
            Box => self.box_value(),
            Take => self.take(),
            _ => None,
        };
        if let Some(value) = value {
            self.define(value);
        }
        value.is_some()
    }

    fn binary(&mut self, opcode: Opcode) -> Option<Value> {
        let kind = self.register_type(self.register(Field::A));
        let (left, right) = (self.operand(Field::B), self.operand(Field::C));
        if kind == RegisterType::F64 {
            let op = match opcode {
                Opcode::Add => Op::FloatAdd,
                Opcode::Subtract => Op::FloatSubtract,
                Opcode::Multiply => Op::FloatMultiply,
                Opcode::Divide => Op::FloatDivide,
                _ => return None,
            };
            return Some(self.emit(op, &[left, right]));
        }
        let width = width(kind)?;
        let op = match opcode {
            Opcode::Add => Op::Add,
            Opcode::Subtract => Op::Subtract,
            Opcode::Multiply => Op::Multiply,
            Opcode::And => return Some(self.emit(Op::And, &[left, right])),
            Opcode::Or => return Some(self.emit(Op::Or, &[left, right])),
            Opcode::Xor => return Some(self.emit(Op::Xor, &[left, right])),
            Opcode::ShiftLeft | Opcode::ShiftRight => return self.shift(opcode, width),
            _ => return self.division(opcode, width),
        };
        let whole = self.emit(op, &[left, right]);
        Some(self.wrap(width, whole))
    }

    fn wrap(&mut self, width: Width, value: Value) -> Value {
        if width.bits == 64 { value } else { self.emit(Op::Wrap(width), &[value]) }
    }

    /// The distance is taken modulo the width.
    fn shift(&mut self, opcode: Opcode, width: Width) -> Option<Value> {
        let (value, distance) = (self.operand(Field::B), self.operand(Field::C));
        let mask = self.integer(i64::from(width.bits) - 1);
        let distance = self.emit(Op::And, &[distance, mask]);
        let op = match (opcode, width.is_signed) {
            (Opcode::ShiftLeft, _) => Op::ShiftLeft,
            (_, true) => Op::ShiftRight,
            (_, false) => Op::ShiftRightUnsigned,
        };
        let whole = self.emit(op, &[value, distance]);
        Some(self.wrap(width, whole))
    }

    /// A divisor of zero, and the division that overflows, leave the unit: the lower tier signals, or wraps around.
    fn division(&mut self, opcode: Opcode, width: Width) -> Option<Value> {
        if !width.is_signed {
            return None;
        }
        let (left, right) = (self.operand(Field::B), self.operand(Field::C));
        for (excluded, operand) in [(0, right), (-1, right)] {
            let constant = self.integer(excluded);
            let is_excluded = self.emit(Op::Compare(Condition::Equal), &[operand, constant]);
            self.check(Op::GuardNot, is_excluded);
        }
        let op = if opcode == Opcode::Divide { Op::Quotient } else { Op::Remainder };
        Some(self.emit(op, &[left, right]))
    }

    fn unary(&mut self, opcode: Opcode) -> Option<Value> {
        let kind = self.register_type(self.register(Field::A));
        let operand = self.operand(Field::B);
        if kind == RegisterType::F64 {
            return Some(self.emit(Op::FloatNegate, &[operand]));
        }
        if kind == RegisterType::Bool {
            let one = self.integer(1);
            return Some(self.emit(Op::Xor, &[operand, one]));
        }
        let width = width(kind)?;
        let (op, constant) = if opcode == Opcode::Not { (Op::Xor, -1) } else { (Op::Subtract, 0) };
        let constant = self.integer(constant);
        let whole = self.emit(op, &[constant, operand]);
        Some(self.wrap(width, whole))
    }

    /// Arithmetic that signals an overflow, of types whose results fit 64 bits: a result that its type cannot hold
    /// leaves the unit.
    fn checked(&mut self, opcode: Opcode) -> Option<Value> {
        let width = width(self.register_type(self.register(Field::A)))?;
        if width.bits > 32 {
            return None;
        }
        let op = match opcode {
            Opcode::AddChecked => Op::Add,
            Opcode::SubtractChecked => Op::Subtract,
            _ if width.bits == 32 && !width.is_signed => return None,
            _ => Op::Multiply,
        };
        let (left, right) = (self.operand(Field::B), self.operand(Field::C));
        let whole = self.emit(op, &[left, right]);
        let wrapped = self.wrap(width, whole);
        let fits = self.emit(Op::Compare(Condition::Equal), &[whole, wrapped]);
        self.check(Op::Guard, fits);
        Some(wrapped)
    }

    fn comparison(&mut self, opcode: Opcode) -> Option<Value> {
        let kind = self.register_type(self.register(Field::B));
        let condition = match opcode {
            Opcode::Equal => Condition::Equal,
            Opcode::NotEqual => Condition::NotEqual,
            Opcode::Less => Condition::Less,
            _ => Condition::LessOrEqual,
        };
        let op = match (kind, condition) {
            (RegisterType::F64, _) => Op::FloatCompare(condition),
            (RegisterType::U64, Condition::Less) => Op::Compare(Condition::UnsignedLess),
            (RegisterType::U64, Condition::LessOrEqual) => {
                Op::Compare(Condition::UnsignedLessOrEqual)
            }
            _ if is_raw_integer(kind) => Op::Compare(condition),
            _ => return None,
        };
        let (left, right) = (self.operand(Field::B), self.operand(Field::C));
        let result = self.emit(op, &[left, right]);
        Some(self.emit(Op::Extend, &[result]))
    }

    fn convert(&mut self) -> Option<Value> {
        let to = self.register_type(self.register(Field::A));
        let from = self.register_type(self.register(Field::B));
        let value = self.operand(Field::B);
        match (to, from) {
            (RegisterType::F64, RegisterType::U64) => None,
            (RegisterType::F64, from) if from.is_integer() => {
                Some(self.emit(Op::ToDouble, &[value]))
            }
            (to, from) if to.is_integer() && from.is_integer() => {
                Some(self.wrap(width(to)?, value))
            }
            (to, from) if to == from => Some(value),
            _ => None,
        }
    }

    /// The object of a raw integer that fits a word, or of a Boolean.
    fn box_value(&mut self) -> Option<Value> {
        let kind = self.register_type(self.register(Field::B));
        let value = self.operand(Field::B);
        if kind == RegisterType::Bool {
            let condition = self.emit(Op::Test, &[value]);
            return Some(self.emit(Op::TagBoolean, &[condition]));
        }
        if !kind.is_integer() || kind == RegisterType::U64 {
            return None;
        }
        let range = self.kind(value).range();
        let fits = range.is_some_and(|range| Range::SMALL.includes(range));
        let small = if fits {
            value
        } else {
            let zero = self.integer(0);
            self.guard(Op::AddSmall, &[value, zero])
        };
        debug_assert!(self.kind(small).is(Type::INTEGER));
        Some(self.emit(Op::TagInteger, &[small]))
    }

    /// The source holds nothing afterwards.
    fn take(&mut self) -> Option<Value> {
        let value = self.operand(Field::B);
        let source = self.register(Field::B);
        self.registers[source.index()] = None;
        Some(value)
    }
}

fn is_raw_integer(kind: RegisterType) -> bool {
    kind.is_integer() || kind == RegisterType::Bool
}

/// The width of an integer type.
fn width(kind: RegisterType) -> Option<Width> {
    match kind {
        RegisterType::Bool => Some(Width { bits: 64, is_signed: true }),
        kind if kind.is_integer() => {
            Some(Width { bits: kind.bits() as u8, is_signed: kind.is_signed() })
        }
        _ => None,
    }
}
