//! What an operation is equal to, if that is simpler. The builder asks before it makes an instruction, and `simplify`
//! asks again. Constants are computed, conversions there and back vanish, and guards that hold fall away.
//!
//! A folded operation gives the same result for all values that its arguments' types allow, and has no effect that the
//! operation does not have.

use crate::ir::doubles::is_immediate;
use crate::ir::entities::Value;
use crate::ir::operations::Op;
use crate::ir::types::{Layouts, Range, Type};
use crate::ir::values::{Bits, Condition, WordBits};
use crate::ir::{InstData, Unit};
use crate::passes::kinds;
use crate::words::{self, layouts};

/// What an operation folds to.
#[derive(Clone, PartialEq, Debug)]
pub enum Folded {
    /// It is this value.
    Value(Value),
    /// It is the same as this simpler operation, which needs no state if the operation needs none.
    Op(Op, Vec<Value>),
    /// It has no effect and no result.
    Nothing,
}

/// Folds an operation with these arguments, which are resolved.
pub fn fold(unit: &Unit, op: Op, arguments: &[Value]) -> Option<Folded> {
    match op {
        _ if op.refines() => refinement(unit, op, arguments[0]).map(Folded::Value),
        Op::Guard => condition_guard(unit, arguments[0], true),
        Op::GuardNot => condition_guard(unit, arguments[0], false),
        Op::TagInteger
        | Op::UntagInteger
        | Op::TagDouble
        | Op::UntagDouble
        | Op::TagBoolean
        | Op::UntagBoolean => conversion(unit, op, arguments[0]),
        Op::Admit(slot) => {
            let fits = unit.kind(arguments[0]).is(kinds::of_layouts(slot.layouts()));
            fits.then_some(Folded::Nothing)
        }
        // The builder knew less of the word.
        Op::Barrier if !unit.kind(arguments[1]).may_be_object() => Some(Folded::Nothing),
        Op::GuardImmediate => {
            is_immediate(unit, arguments[0]).then_some(Folded::Value(arguments[0]))
        }
        Op::Extend | Op::Test | Op::Not | Op::Same | Op::Identical(_) | Op::HasLayout(_) => {
            truth(unit, op, arguments)
        }
        Op::Compare(condition) => compare(unit, condition, arguments[0], arguments[1]),
        Op::LoadCaptured(index) => {
            let closure = unit.definition(unit.root(arguments[0]))?;
            let is_new = matches!(closure.op, Op::NewClosure(_));
            let captured = closure.arguments.get(index.0 as usize).filter(|_| is_new)?;
            Some(Folded::Value(*captured))
        }
        Op::AssumeWithin(range) => {
            let holds = unit.kind(arguments[0]).is(Type::integers(range));
            holds.then_some(Folded::Value(arguments[0]))
        }
        Op::Wrap(_) => {
            let range = unit.kind(arguments[0]).range()?;
            let wrapped = kinds::result_kind(unit, op, arguments, Type::RAW).range()?;
            (wrapped == range).then_some(Folded::Value(arguments[0]))
        }
        Op::ToDouble => {
            let value = unit.integer(arguments[0])?;
            Some(constant(Op::Float(Bits((value as f64).to_bits()))))
        }
        _ if arguments.len() == 2 => arithmetic(unit, op, arguments),
        _ => None,
    }
}

fn constant(op: Op) -> Folded {
    Folded::Op(op, Vec::new())
}

/// A guard that refines a word falls away if its type says so already.
fn refinement(unit: &Unit, op: Op, word: Value) -> Option<Value> {
    let kind = unit.kind(word);
    let holds = match op {
        Op::GuardFunction(function) => {
            let closure = unit.definition(unit.root(word));
            closure.is_some_and(|closure| closure.op == Op::NewClosure(function))
        }
        Op::GuardPlain => are_plain(kind.object_layouts()),
        Op::GuardNotNil => !kind.may_be(Type::NIL),
        _ => kinds::result_kind(unit, op, &[word], kind) == kind,
    };
    (holds && kind != Type::NONE).then_some(word)
}

/// Whether no object of these layouts has a class that redefines what compiled code inlines.
pub fn are_plain(layouts: Layouts) -> bool {
    layouts.list().is_some_and(|list| list.iter().all(|each| each & words::CONTROL_FLAG == 0))
}

fn condition_guard(unit: &Unit, condition: Value, wanted: bool) -> Option<Folded> {
    if let Some(inner) = defined_by(unit, condition, Op::Not) {
        let op = if wanted { Op::GuardNot } else { Op::Guard };
        return Some(Folded::Op(op, vec![inner.arguments[0]]));
    }
    (boolean(unit, condition)? == wanted).then_some(Folded::Nothing)
}

/// The instruction that defines a value, if it has this operation.
fn defined_by(unit: &Unit, value: Value, op: Op) -> Option<&InstData> {
    unit.definition(value).filter(|inst| inst.op == op)
}

/// The truth value that a constant is.
fn boolean(unit: &Unit, value: Value) -> Option<bool> {
    match unit.kind(value) {
        Type::TRUE => Some(true),
        Type::FALSE => Some(false),
        _ => None,
    }
}

fn conversion(unit: &Unit, op: Op, value: Value) -> Option<Folded> {
    let inverse = match op {
        Op::TagInteger => Op::UntagInteger,
        Op::UntagInteger => Op::TagInteger,
        Op::TagDouble => Op::UntagDouble,
        Op::UntagDouble => Op::TagDouble,
        Op::TagBoolean => Op::UntagBoolean,
        _ => Op::TagBoolean,
    };
    // A refinement of a tagged value is the same word.
    let root = if op.arguments() == "w" { unit.root(value) } else { value };
    if let Some(inst) = defined_by(unit, root, inverse) {
        return Some(Folded::Value(inst.arguments[0]));
    }
    let folded = match (op, unit.definition(root)?.op) {
        (Op::TagInteger, Op::Integer(value)) => Op::Word(WordBits(words::integer_word(value)?)),
        (Op::UntagInteger, Op::Word(word)) => Op::Integer(words::word_integer(word.0)?),
        (Op::TagDouble, Op::Float(bits)) => {
            Op::Word(WordBits(words::double_word(f64::from_bits(bits.0))?))
        }
        (Op::UntagDouble, Op::Word(word)) => Op::Float(Bits(words::word_double(word.0)?.to_bits())),
        (Op::TagBoolean, Op::Boolean(value)) => Op::Word(WordBits(words::boolean_word(value))),
        (Op::UntagBoolean, Op::Word(word)) => Op::Boolean(word.0 == words::TRUE),
        _ => return None,
    };
    Some(constant(folded))
}

fn truth(unit: &Unit, op: Op, arguments: &[Value]) -> Option<Folded> {
    let value = arguments[0];
    match op {
        Op::Extend => Some(constant(Op::Integer(i64::from(boolean(unit, value)?)))),
        Op::Test => match defined_by(unit, value, Op::Extend) {
            Some(inst) => Some(Folded::Value(inst.arguments[0])),
            None => Some(constant(Op::Boolean(unit.integer(value)? != 0))),
        },
        Op::Not => {
            if let Some(known) = boolean(unit, value) {
                return Some(constant(Op::Boolean(!known)));
            }
            let inst = unit.definition(value)?;
            match inst.op {
                Op::Not => Some(Folded::Value(inst.arguments[0])),
                Op::Compare(condition) => {
                    Some(Folded::Op(Op::Compare(condition.negated()?), inst.arguments.clone()))
                }
                _ => None,
            }
        }
        Op::Same => same(unit, value, arguments[1]),
        Op::Identical(_) => identical(unit, value, arguments[1]),
        Op::HasLayout(layouts) => {
            let wanted = kinds::of_layouts(layouts);
            let kind = unit.kind(value);
            let known = if kind.is(wanted) { Some(true) } else { None };
            let known = known.or(if kind.may_be(wanted) { None } else { Some(false) });
            known.map(|known| constant(Op::Boolean(known)))
        }
        _ => None,
    }
}

/// Objects that are identical by contents: boxed numbers, and far references.
pub fn boxed() -> Type {
    let boxed = [layouts::LARGE_INTEGER, layouts::BOXED_DOUBLE, layouts::FAR_REFERENCE];
    Type::objects(boxed.into_iter().fold(Layouts::NONE, Layouts::with))
}

/// Words compare unless both may be boxed.
fn identical(unit: &Unit, left: Value, right: Value) -> Option<Folded> {
    let is_boxed = |value| unit.kind(value).may_be(boxed());
    if is_boxed(left) && is_boxed(right) {
        let is_one = unit.root(left) == unit.root(right);
        return is_one.then(|| constant(Op::Boolean(true)));
    }
    same(unit, left, right).or_else(|| Some(Folded::Op(Op::Same, vec![left, right])))
}

fn same(unit: &Unit, left: Value, right: Value) -> Option<Folded> {
    if unit.root(left) == unit.root(right) {
        return Some(constant(Op::Boolean(true)));
    }
    let (left_kind, right_kind) = (unit.kind(left), unit.kind(right));
    if !left_kind.may_be(right_kind) {
        return Some(constant(Op::Boolean(false)));
    }
    let both = [left_kind, right_kind];
    let is_one = |kind: Type| both.iter().all(|each| *each == kind);
    [Type::NIL, Type::TRUE, Type::FALSE]
        .into_iter()
        .any(is_one)
        .then(|| constant(Op::Boolean(true)))
}

fn compare(unit: &Unit, condition: Condition, left: Value, right: Value) -> Option<Folded> {
    let (left, right) = (unit.resolve(left), unit.resolve(right));
    if left == right {
        return Some(constant(Op::Boolean(condition.holds(0, 0))));
    }
    let (a, b) = (unit.kind(left).integer_part()?, unit.kind(right).integer_part()?);
    known_comparison(condition, a, b).map(|known| constant(Op::Boolean(known)))
}

/// Whether a condition holds for all, or for none, of the pairs from two ranges.
pub fn known_comparison(condition: Condition, left: Range, right: Range) -> Option<bool> {
    let always = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
    let less = (left.greatest < right.least, left.least >= right.greatest);
    let at_most = (left.greatest <= right.least, left.least > right.greatest);
    let is_natural = left.least >= 0 && right.least >= 0;
    match condition {
        Condition::Less => always(less.0, less.1),
        Condition::LessOrEqual => always(at_most.0, at_most.1),
        Condition::Greater => always(at_most.1, at_most.0),
        Condition::GreaterOrEqual => always(less.1, less.0),
        Condition::UnsignedLess if is_natural => always(less.0, less.1),
        Condition::UnsignedLessOrEqual if is_natural => always(at_most.0, at_most.1),
        Condition::UnsignedLess | Condition::UnsignedLessOrEqual => None,
        Condition::Equal | Condition::NotEqual => {
            let apart = less.0 || at_most.1;
            let one = left == right && left.least == left.greatest;
            let equal = always(one, apart)?;
            Some(equal == (condition == Condition::Equal))
        }
    }
}

/// The remainder of a division that rounds down: it has the divisor's sign.
pub fn modulo(left: i64, right: i64) -> i64 {
    let remainder = left.wrapping_rem(right);
    if remainder != 0 && (remainder ^ right) < 0 { remainder + right } else { remainder }
}

fn arithmetic(unit: &Unit, op: Op, arguments: &[Value]) -> Option<Folded> {
    let (left, right) = (unit.integer(arguments[0]), unit.integer(arguments[1]));
    if let (Some(left), Some(right)) = (left, right)
        && let Some(value) = compute(op, left, right)
    {
        return Some(constant(Op::Integer(value)));
    }
    let plain = match op {
        Op::AddSmall => Op::Add,
        Op::SubtractSmall => Op::Subtract,
        Op::MultiplySmall => Op::Multiply,
        _ => return identity(op, arguments[0], left, right).map(Folded::Value),
    };
    if let Some(value) = identity(plain, arguments[0], left, right)
        && unit.kind(value).is(Type::INTEGER)
    {
        return Some(Folded::Value(value));
    }
    let range = |index: usize| unit.kind(arguments[index]).range();
    let result = kinds::integer_range(plain, range(0)?, range(1)?);
    Range::SMALL.includes(result).then(|| Folded::Op(plain, arguments.to_vec()))
}

/// The left argument, if the right one changes nothing.
fn identity(op: Op, value: Value, left: Option<i64>, right: Option<i64>) -> Option<Value> {
    let is_neutral = match op {
        Op::Add | Op::Subtract | Op::Or | Op::Xor => right == Some(0),
        Op::ShiftLeft | Op::ShiftRight | Op::ShiftRightUnsigned => right == Some(0),
        Op::Multiply | Op::Quotient => right == Some(1),
        Op::And => right == Some(-1),
        _ => false,
    };
    (is_neutral && left.is_none()).then_some(value)
}

/// The result for two integers; nothing if the operation leaves the unit, or is not defined.
pub fn compute(op: Op, left: i64, right: i64) -> Option<i64> {
    let small = |value: Option<i64>| value.filter(|&value| words::integer_word(value).is_some());
    Some(match op {
        Op::Add => left.wrapping_add(right),
        Op::Subtract => left.wrapping_sub(right),
        Op::Multiply => left.wrapping_mul(right),
        Op::AddSmall => small(left.checked_add(right))?,
        Op::SubtractSmall => small(left.checked_sub(right))?,
        Op::MultiplySmall => small(left.checked_mul(right))?,
        Op::Quotient if right != 0 => left.wrapping_div(right),
        Op::Remainder if right != 0 => left.wrapping_rem(right),
        Op::Modulo if right != 0 => modulo(left, right),
        Op::And => left & right,
        Op::Or => left | right,
        Op::Xor => left ^ right,
        Op::ShiftLeft => left.wrapping_shl(right as u32),
        Op::ShiftRight => left.wrapping_shr(right as u32),
        Op::ShiftRightUnsigned => (left as u64).wrapping_shr(right as u32) as i64,
        _ => return None,
    })
}
