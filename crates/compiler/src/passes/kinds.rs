//! The type of an operation's result, from the types of its arguments. The builder asks for each instruction that it
//! makes, and `infer` asks again until nothing changes.

use crate::ir::Unit;
use crate::ir::entities::Value;
use crate::ir::operations::Op;
use crate::ir::types::{Layouts, Range, Type};
use crate::words::{self, layouts};

/// The longest array or text that an object can be.
const MOST_ELEMENTS: i64 = 1 << 44;

/// The type of the result for these arguments. For operations whose result is in no way bound by them, `given` is the
/// type that the instruction has already.
pub fn result_kind(unit: &Unit, op: Op, arguments: &[Value], given: Type) -> Type {
    let kind = |index: usize| unit.kind(arguments[index]);
    match op {
        Op::Integer(value) => Type::integers(Range::new(value, value)),
        Op::Float(_) => Type::DOUBLE,
        Op::Boolean(true) => Type::TRUE,
        Op::Boolean(false) => Type::FALSE,
        Op::Word(word) => word_kind(word.0),
        Op::TagInteger | Op::UntagInteger => kind(0).meet(Type::INTEGER),
        Op::AssumeWithin(range) => kind(0).meet(Type::integers(range)),
        Op::TagDouble | Op::UntagDouble | Op::GuardImmediate => Type::DOUBLE,
        Op::TagBoolean | Op::UntagBoolean => kind(0).meet(Type::BOOLEAN),
        Op::GuardInteger => kind(0).meet(Type::INTEGER),
        Op::GuardDouble => kind(0).meet(Type::DOUBLE),
        Op::GuardBoolean => kind(0).meet(Type::BOOLEAN),
        Op::GuardLayout(layouts) => kind(0).meet(Type::objects(layouts)),
        Op::Assume(layouts) => kind(0).meet(of_layouts(layouts)),
        Op::AssumeKept(slot) => kind(0).meet(of_layouts(slot.layouts())),
        Op::GuardNil => kind(0).meet(Type::NIL),
        Op::GuardNotNil => kind(0).without_nil(),
        Op::GuardPlain => kind(0),
        Op::GuardFunction(_) => kind(0).meet(Type::of_layout(layouts::BLOCK)),
        Op::FrameWord(_) | Op::StrandWord => Type::INTEGER,
        Op::Extend => Type::integers(Range::new(0, 1)),
        Op::Length | Op::TextLength(_) => Type::integers(Range::new(0, MOST_ELEMENTS)),
        Op::CharacterAt(_) => Type::objects(Layouts::of(layouts::STRING)),
        Op::NewClosure(_) | Op::AbsentClosure(_) => Type::objects(Layouts::of(layouts::BLOCK)),
        Op::NewContext(_) | Op::AbsentContext => Type::objects(Layouts::of(layouts::CONTEXT)),
        Op::NewArray(_) | Op::NewArrayOf(_) => Type::objects(Layouts::of(layouts::ARRAY)),
        Op::NewObject(layout) | Op::AbsentObject(layout) => Type::objects(Layouts::of(layout)),
        _ if arguments.len() == 2 && is_integer_arithmetic(op) => {
            let range = |index| kind(index).integer_part().unwrap_or(Range::ALL);
            Type::integers(integer_range(op, range(0), range(1)))
        }
        Op::Wrap(width) => {
            let whole = Range::new(wrapped_least(width), wrapped_greatest(width));
            let given = kind(0).range().filter(|range| whole.includes(*range));
            Type::integers(given.unwrap_or(whole))
        }
        _ => given,
    }
}

/// The values whose layout for inline caches is one of these.
pub fn of_layouts(layouts: Layouts) -> Type {
    match layouts.list() {
        None => Type::ANY,
        Some(list) => {
            list.iter().fold(Type::NONE, |all, &layout| all.join(Type::of_layout(layout)))
        }
    }
}

fn wrapped_least(width: crate::ir::values::Width) -> i64 {
    if width.is_signed { i64::MIN >> (64 - width.bits) } else { 0 }
}

fn wrapped_greatest(width: crate::ir::values::Width) -> i64 {
    match (width.is_signed, width.bits) {
        (true, bits) => i64::MAX >> (64 - bits),
        // Unsigned integers of 64 bits have the same bits as signed ones: their range is that of the bits.
        (false, 64) => i64::MAX,
        (false, bits) => (1 << bits) - 1,
    }
}

/// The type of an immediate word.
pub fn word_kind(word: u64) -> Type {
    match (word, words::word_integer(word)) {
        (_, Some(value)) => Type::integers(Range::new(value, value)),
        (words::NIL, _) => Type::NIL,
        (words::TRUE, _) => Type::TRUE,
        (words::FALSE, _) => Type::FALSE,
        _ if words::is_double(word) => Type::DOUBLE,
        _ => Type::ANY,
    }
}

fn is_integer_arithmetic(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Subtract
            | Op::Multiply
            | Op::AddSmall
            | Op::SubtractSmall
            | Op::MultiplySmall
            | Op::Quotient
            | Op::Remainder
            | Op::Modulo
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::ShiftLeft
            | Op::ShiftRight
            | Op::ShiftRightUnsigned
    )
}

/// The range of an operation's results; everything, if that does not fit 64 bits.
pub fn integer_range(op: Op, left: Range, right: Range) -> Range {
    match op {
        Op::Add => corners(left, right, i64::checked_add).unwrap_or(Range::ALL),
        Op::Subtract => corners(left, right, i64::checked_sub).unwrap_or(Range::ALL),
        Op::Multiply => corners(left, right, i64::checked_mul).unwrap_or(Range::ALL),
        Op::AddSmall => small(integer_range(Op::Add, left, right)),
        Op::SubtractSmall => small(integer_range(Op::Subtract, left, right)),
        Op::MultiplySmall => small(integer_range(Op::Multiply, left, right)),
        Op::Quotient if right.least > 0 || right.greatest < -1 => {
            corners(left, right, i64::checked_div).map_or(Range::ALL, with_zero)
        }
        Op::Quotient if left.least > i64::MIN => {
            let most = left.least.saturating_abs().max(left.greatest.saturating_abs());
            Range::new(-most, most)
        }
        Op::Modulo if right.least > 0 => Range::new(0, right.greatest - 1),
        Op::Modulo if right.greatest < 0 => Range::new(right.least + 1, 0),
        Op::Remainder if right.least > 0 => {
            let most = right.greatest - 1;
            Range::new(
                if left.least < 0 { -most } else { 0 },
                if left.greatest > 0 { most } else { 0 },
            )
        }
        Op::And if left.least >= 0 && right.least >= 0 => {
            Range::new(0, left.greatest.min(right.greatest))
        }
        Op::And if right.least >= 0 => Range::new(0, right.greatest),
        Op::And if left.least >= 0 => Range::new(0, left.greatest),
        Op::And | Op::Or | Op::Xor => bits_range(left, right),
        Op::ShiftRight if right.least == right.greatest && (0..64).contains(&right.least) => {
            Range::new(left.least >> right.least, left.greatest >> right.least)
        }
        Op::ShiftRight if right.least >= 0 && right.greatest < 64 => {
            Range::new(left.least.min(0), left.greatest.max(0))
        }
        _ => Range::ALL,
    }
}

/// The range of `and`, `or` and `xor`: as many bits as the wider of the two.
fn bits_range(left: Range, right: Range) -> Range {
    let bits = |value: i64| 64 - (value ^ (value >> 63)).leading_zeros();
    let most = [left.least, left.greatest, right.least, right.greatest].map(bits);
    let most = most.into_iter().max().unwrap_or(63).min(63);
    let greatest = ((1u64 << most) - 1) as i64;
    let least = if left.least >= 0 && right.least >= 0 { 0 } else { -greatest - 1 };
    Range::new(least, greatest)
}

fn with_zero(range: Range) -> Range {
    Range::new(range.least.min(0), range.greatest.max(0))
}

/// The least and greatest of an operation that is monotonic in each argument.
fn corners(left: Range, right: Range, op: fn(i64, i64) -> Option<i64>) -> Option<Range> {
    let mut least = i64::MAX;
    let mut greatest = i64::MIN;
    for left in [left.least, left.greatest] {
        for right in [right.least, right.greatest] {
            let value = op(left, right)?;
            (least, greatest) = (least.min(value), greatest.max(value));
        }
    }
    Some(Range::new(least, greatest))
}

/// The small integers of a range; all small ones if there are none, where the guard always leaves.
fn small(range: Range) -> Range {
    Type::integers(range).meet(Type::INTEGER).range().unwrap_or(Range::SMALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every result of an operation on some integers is in the range that the ranges of its operands give.
    #[test]
    fn ranges_hold_the_results() {
        let samples = [-9, -3, -1, 0, 1, 2, 7, 100];
        type Compute = fn(i64, i64) -> Option<i64>;
        let ops: [(Op, Compute); 9] = [
            (Op::Add, i64::checked_add),
            (Op::Subtract, i64::checked_sub),
            (Op::Multiply, i64::checked_mul),
            (Op::Quotient, i64::checked_div),
            (Op::Remainder, i64::checked_rem),
            (Op::Modulo, |l, r| (r != 0).then(|| crate::passes::fold::modulo(l, r))),
            (Op::And, |l, r| Some(l & r)),
            (Op::Or, |l, r| Some(l | r)),
            (Op::Xor, |l, r| Some(l ^ r)),
        ];
        for (op, compute) in ops {
            for (a, b) in samples.iter().flat_map(|&a| samples.iter().map(move |&b| (a, b))) {
                for (c, d) in samples.iter().flat_map(|&c| samples.iter().map(move |&d| (c, d))) {
                    if a > b || c > d {
                        continue;
                    }
                    let range = integer_range(op, Range::new(a, b), Range::new(c, d));
                    for (left, right) in [(a, c), (a, d), (b, c), (b, d)] {
                        let Some(value) = compute(left, right) else { continue };
                        let within = range.includes(Range::new(value, value));
                        assert!(within, "{op} {left} {right} = {value} not in {range:?}");
                    }
                }
            }
        }
    }
}
