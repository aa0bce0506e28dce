//! Typed registers: the handlers of arithmetic without tags or checks, by the register types of the function. The
//! dispatch loop calls them.
//!
//! Integers are kept extended to 64 bits. Addition and similar operations are done in 64 bits and cut back to the
//! type's width.

use std::cmp::Ordering;

use squall_bytecode::types::RegisterType;
use squall_heap::Word;
use squall_runtime::tiers::calls;
use squall_runtime::tiers::outcome::{Failure, FailureReason};
use squall_runtime::tiers::polls;
use squall_runtime::tiers::specialise::JUMPS_IF;
use squall_runtime::tiers::typed::compare::compare_bits;
use squall_runtime::tiers::typed::scalars::{basic_to_word, normalize, unbox};

use crate::machine::{Machine, a, b, bc_signed, c};

/// An operator on registers of one type.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the instruction table")]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Negate,
    And,
    Or,
    Xor,
    Not,
    ShiftLeft,
    ShiftRight,
}

/// A comparison of registers of one type.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the instruction table")]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
}

impl<const MODE: u8> Machine<'_, MODE> {
    /// `destination := left operation right`; unary ones read `left` only.
    #[inline(always)]
    pub(crate) fn typed(&mut self, word: u32, operation: Operation) {
        let kind = self.register_type(a(word));
        let left = self.raw(b(word));
        // The field of a unary operation's missing operand is zero, and register 0 exists.
        let right = self.raw(c(word));
        match operate(operation, kind, left, right) {
            Some(result) => {
                self.set_raw(a(word), result);
                self.jump(1);
            }
            None => self
                .slowly(|thread| calls::fail_here(thread, Failure::new(FailureReason::ZeroDivide))),
        }
    }

    /// Does the same as [`typed`](Machine::typed) for integers whose result must fit.
    #[inline(always)]
    pub(crate) fn typed_checked(&mut self, word: u32, operation: Operation) {
        let kind = self.register_type(a(word));
        match checked(operation, kind, self.raw(b(word)), self.raw(c(word))) {
            Ok(result) => {
                self.set_raw(a(word), result);
                self.jump(1);
            }
            Err(reason) => self.slowly(|thread| calls::fail_here(thread, Failure::new(reason))),
        }
    }

    #[inline(always)]
    pub(crate) fn typed_comparison(&mut self, word: u32, comparison: Comparison) {
        let kind = self.register_type(b(word));
        if kind.is_tagged() {
            return self.defined_comparison(word, comparison);
        }
        let result = compare(comparison, kind, self.raw(b(word)), self.raw(c(word)));
        self.set_raw(a(word), u64::from(result));
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn convert(&mut self, word: u32) {
        let (to, from) = (self.register_type(a(word)), self.register_type(b(word)));
        self.set_raw(a(word), convert(to, from, self.raw(b(word))));
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn box_value(&mut self, word: u32) {
        let (kind, bits) = (self.register_type(b(word)), self.raw(b(word)));
        if kind.is_tagged() {
            return self.box_defined(word);
        }
        self.slowly(|thread| {
            // SAFETY: the verifier has shown that the register has this type; no GC point came between.
            let boxed = unsafe { basic_to_word(thread, kind, bits) };
            calls::complete_here(thread, a(word), 1, boxed);
        });
    }

    #[inline(always)]
    pub(crate) fn unbox_value(&mut self, word: u32) {
        let kind = self.register_type(a(word));
        if kind.is_tagged() {
            return self.unbox_defined(word);
        }
        match unbox(kind, self.get(b(word))) {
            Some(bits) => {
                self.set_raw(a(word), bits);
                self.jump(2);
            }
            None => self.jump(self.word(1) as i32 as isize),
        }
    }

    #[inline(always)]
    pub(crate) fn convert_exact(&mut self, word: u32) {
        let (to, from) = (self.register_type(a(word)), self.register_type(b(word)));
        match convert_exactly(to, from, self.raw(b(word))) {
            Some(bits) => {
                self.set_raw(a(word), bits);
                self.jump(2);
            }
            None => self.jump(self.word(1) as i32 as isize),
        }
    }

    #[inline(always)]
    pub(crate) fn loop_if<const CONDITION: bool>(&mut self, word: u32) {
        match (self.raw(a(word)) != 0) == CONDITION {
            true => self.jump_and_poll(bc_signed(word)),
            false => self.jump(1),
        }
    }

    #[inline(always)]
    pub(crate) fn jump_if<const CONDITION: bool>(&mut self, word: u32) {
        let holds = (self.raw(a(word)) != 0) == CONDITION;
        self.jump(if holds { bc_signed(word) } else { 1 });
    }

    /// A comparison of tuples, lists, maps and the like.
    #[inline(always)]
    fn defined_comparison(&mut self, word: u32, comparison: Comparison) {
        // SAFETY: the verifier has shown the register to be one of the function's.
        let kind = unsafe { *self.function().types.get_unchecked(b(word)) };
        let holds = move |order: Ordering| match comparison {
            Comparison::Equal => order.is_eq(),
            Comparison::NotEqual => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::LessOrEqual => order.is_le(),
        };
        let (left, right) = (self.raw(b(word)), self.raw(c(word)));
        self.slowly(|thread| {
            // SAFETY: the verifier has shown that both registers have this type.
            let order = unsafe { compare_bits(thread, kind, left, right) };
            // SAFETY: the destination is a register of Booleans (verifier), so it takes raw bits.
            let content = order.map(|it| unsafe { Word::from_bits(u64::from(holds(it))) });
            calls::complete_here(thread, a(word), 1, content);
            polls::after_effort(thread);
        });
    }

    #[inline(always)]
    pub(crate) fn register_type(&self, register: usize) -> RegisterType {
        // SAFETY: the verifier has shown the register to be one of the function's.
        unsafe { *self.function().register_types.get_unchecked(register) }
    }
}

/// The forms for one type: see [`squall_bytecode::codes::typed_forms`].
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn whole(&mut self, word: u32, operate: impl Fn(u64, u64) -> u64) {
        self.set_raw(a(word), operate(self.raw(b(word)), self.raw(c(word))));
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn half(&mut self, word: u32, operate: impl Fn(i32, i32) -> i32) {
        let result = operate(self.raw(b(word)) as i32, self.raw(c(word)) as i32);
        self.set_raw(a(word), i64::from(result) as u64);
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn double(&mut self, word: u32, operate: impl Fn(f64, f64) -> f64) {
        let [left, right] = [b(word), c(word)].map(|register| f64::from_bits(self.raw(register)));
        self.set_raw(a(word), operate(left, right).to_bits());
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn bits_comparison(&mut self, word: u32, compare: impl Fn(i64, i64) -> bool) {
        self.compare_bits(word, compare);
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn bits_jump(&mut self, word: u32, compare: impl Fn(i64, i64) -> bool) {
        let holds = self.compare_bits(word, compare);
        self.jump_on(holds);
    }

    #[inline(always)]
    pub(crate) fn double_jump(&mut self, word: u32, compare: impl Fn(f64, f64) -> bool) {
        let [left, right] = [b(word), c(word)].map(|register| f64::from_bits(self.raw(register)));
        let holds = compare(left, right);
        self.set_raw(a(word), u64::from(holds));
        self.jump_on(holds);
    }

    #[inline(always)]
    pub(crate) fn bits_loop(&mut self, word: u32, compare: impl Fn(i64, i64) -> bool) {
        let holds = self.compare_bits(word, compare);
        let (taken, distance) = self.fused_jump(holds);
        if taken { self.jump_and_poll(distance) } else { self.jump(2) }
    }

    #[inline(always)]
    fn compare_bits(&mut self, word: u32, compare: impl Fn(i64, i64) -> bool) -> bool {
        let holds = compare(self.raw(b(word)) as i64, self.raw(c(word)) as i64);
        self.set_raw(a(word), u64::from(holds));
        holds
    }

    /// Does the jump that follows a comparison.
    #[inline(always)]
    fn jump_on(&mut self, holds: bool) {
        let (taken, distance) = self.fused_jump(holds);
        self.jump(if taken { distance } else { 2 });
    }

    /// Whether the jump after a comparison is taken, and its distance.
    #[inline(always)]
    fn fused_jump(&self, holds: bool) -> (bool, isize) {
        let jump = self.word(1);
        (holds == (jump as u8 & JUMPS_IF != 0), 1 + bc_signed(jump))
    }
}

#[inline(always)]
fn operate(operation: Operation, kind: RegisterType, left: u64, right: u64) -> Option<u64> {
    match kind {
        RegisterType::F64 => {
            let result = float(operation, f64::from_bits(left), f64::from_bits(right));
            Some(result.to_bits())
        }
        RegisterType::F32 => {
            let single = |bits: u64| f64::from(f32::from_bits(bits as u32));
            // Doubles hold the exact results of single operations closely enough that rounding
            // twice equals rounding once (Figueroa, "When is double rounding innocuous?", 1995).
            let result = float(operation, single(left), single(right)) as f32;
            Some(u64::from(result.to_bits()))
        }
        _ => integer(operation, kind, left, right).map(|result| normalize(kind, result)),
    }
}

fn float(operation: Operation, left: f64, right: f64) -> f64 {
    match operation {
        Operation::Add => left + right,
        Operation::Subtract => left - right,
        Operation::Multiply => left * right,
        Operation::Divide => left / right,
        Operation::Remainder => left % right,
        // The verifier lets no other operation have floats.
        _ => -left,
    }
}

#[inline(always)]
fn integer(operation: Operation, kind: RegisterType, left: u64, right: u64) -> Option<u64> {
    let distance = right as u32 % kind.bits();
    Some(match operation {
        Operation::Add => left.wrapping_add(right),
        Operation::Subtract => left.wrapping_sub(right),
        Operation::Multiply => left.wrapping_mul(right),
        Operation::Divide if right == 0 => return None,
        Operation::Remainder if right == 0 => return None,
        Operation::Divide if kind.is_signed() => (left as i64).wrapping_div(right as i64) as u64,
        Operation::Divide => left / right,
        Operation::Remainder if kind.is_signed() => (left as i64).wrapping_rem(right as i64) as u64,
        Operation::Remainder => left % right,
        Operation::Negate => left.wrapping_neg(),
        Operation::And => left & right,
        Operation::Or => left | right,
        Operation::Xor => left ^ right,
        Operation::Not => !left,
        Operation::ShiftLeft => left << distance,
        Operation::ShiftRight if kind.is_signed() => (left as i64 >> distance) as u64,
        Operation::ShiftRight => left >> distance,
    })
}

/// An operation on integers that checks whether the type can hold the result; the fault if not.
#[inline(always)]
fn checked(
    operation: Operation,
    kind: RegisterType,
    left: u64,
    right: u64,
) -> Result<u64, FailureReason> {
    let [left, right] = [left, right].map(|bits| whole_number(kind, bits));
    let result = match operation {
        Operation::Add => Some(left + right),
        Operation::Subtract => Some(left - right),
        Operation::Multiply => left.checked_mul(right),
        Operation::Negate => Some(-left),
        _ if right == 0 => return Err(FailureReason::ZeroDivide),
        // No other operation has a checked form.
        _ => Some(left / right),
    };
    result.and_then(|result| fitting(kind, result)).ok_or(FailureReason::Overflow)
}

/// The integer that a register of an integer type holds.
fn whole_number(kind: RegisterType, bits: u64) -> i128 {
    if kind.is_signed() { i128::from(bits as i64) } else { i128::from(bits) }
}

/// The bits of an integer, if a register of this type can hold it.
fn fitting(kind: RegisterType, value: i128) -> Option<u64> {
    let bits = normalize(kind, value as u64);
    (whole_number(kind, bits) == value).then_some(bits)
}

/// The bits of the same number in another type, if there is one.
fn convert_exactly(to: RegisterType, from: RegisterType, bits: u64) -> Option<u64> {
    let float = match from {
        RegisterType::F64 => f64::from_bits(bits),
        RegisterType::F32 => f64::from(f32::from_bits(bits as u32)),
        _ if to.is_integer() => return fitting(to, whole_number(from, bits)),
        _ => {
            let converted = convert(to, from, bits);
            let back = match to {
                RegisterType::F64 => f64::from_bits(converted) as i128,
                _ => f32::from_bits(converted as u32) as i128,
            };
            return (back == whole_number(from, bits)).then_some(converted);
        }
    };
    match to {
        RegisterType::F64 => Some(float.to_bits()),
        RegisterType::F32 => {
            let single = float as f32;
            let is_same = f64::from(single) == float || float.is_nan();
            is_same.then_some(u64::from(single.to_bits()))
        }
        // The conversion saturates far beyond all types' values; NaN differs from its whole part.
        _ if float.trunc() == float => fitting(to, float as i128),
        _ => None,
    }
}

#[inline(always)]
fn compare(comparison: Comparison, kind: RegisterType, left: u64, right: u64) -> bool {
    fn holds<T: PartialOrd>(comparison: Comparison, left: T, right: T) -> bool {
        match comparison {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
        }
    }
    let single = |bits: u64| f32::from_bits(bits as u32);
    match kind {
        RegisterType::F64 => holds(comparison, f64::from_bits(left), f64::from_bits(right)),
        RegisterType::F32 => holds(comparison, single(left), single(right)),
        kind if kind.is_signed() => holds(comparison, left as i64, right as i64),
        _ => holds(comparison, left, right),
    }
}

fn convert(to: RegisterType, from: RegisterType, bits: u64) -> u64 {
    use RegisterType::*;
    let float = match from {
        F64 => Some(f64::from_bits(bits)),
        F32 => Some(f64::from(f32::from_bits(bits as u32))),
        _ => None,
    };
    match (to, float) {
        (F64, Some(value)) => value.to_bits(),
        (F32, Some(value)) => u64::from((value as f32).to_bits()),
        (F64, None) if from.is_signed() => (bits as i64 as f64).to_bits(),
        (F64, None) => (bits as f64).to_bits(),
        (F32, None) if from.is_signed() => u64::from((bits as i64 as f32).to_bits()),
        (F32, None) => u64::from((bits as f32).to_bits()),
        (_, Some(value)) => float_to_integer(to, value),
        (_, None) => normalize(to, bits),
    }
}

/// Truncates and saturates; NaN gives zero, as Rust's casts do.
fn float_to_integer(to: RegisterType, value: f64) -> u64 {
    use RegisterType::*;
    match to {
        I8 => value as i8 as i64 as u64,
        I16 => value as i16 as i64 as u64,
        I32 => value as i32 as i64 as u64,
        I64 => value as i64 as u64,
        U8 => u64::from(value as u8),
        U16 => u64::from(value as u16),
        U32 => u64::from(value as u32),
        _ => value as u64,
    }
}
