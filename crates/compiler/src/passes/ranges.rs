//! What comparisons show of integers: where `k <= n` is known to hold, `k` is at most the greatest `n`, so sums need no
//! test for overflow, and indices that were in bounds stay small. [`crate::optimise`] runs this pass after `loops`.
//!
//! A comparison decides a branch or is the condition of a guard. In the blocks behind it that it dominates, and behind
//! the guard, uses of an operand become uses of an `assume_within`, whose type has the narrower range. So do uses of what
//! the operand differs from by a constant: where `i - 1` is an index in bounds, `i` is small, too. States keep the
//! operand itself. The pass comes after `loops`, because what is assumed stays where it is.

use std::collections::HashMap;

use crate::ir::dominance::{dominated, dominators};
use crate::ir::entities::{Block, Inst, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Range, Representation, Type};
use crate::ir::values::Condition;
use crate::ir::{End, Unit};

/// Gives operands of comparisons the ranges that these show.
pub fn ranges(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    let parents = dominators(unit, &order);
    let predecessors = unit.predecessors();
    let children = dominated(&parents, &order);
    let mut walk = Walk { unit, narrowed: HashMap::new() };
    let mut pending = vec![Step::Enter(Unit::ENTRY)];
    while let Some(step) = pending.pop() {
        match step {
            Step::Leave(narrowed) => walk.narrowed = narrowed,
            Step::Enter(block) => {
                pending.push(Step::Leave(walk.narrowed.clone()));
                walk.block(block, &predecessors[block.index()]);
                pending.extend(children[block.index()].iter().map(|&child| Step::Enter(child)));
            }
        }
    }
    unit.resolve_all();
}

enum Step {
    Enter(Block),
    /// What was known before a block is known again.
    Leave(HashMap<Value, Value>),
}

struct Walk<'u> {
    unit: &'u mut Unit,
    /// For values of which more is known here: the value that says it.
    narrowed: HashMap<Value, Value>,
}

/// The value whose range an `assume_within` narrows.
pub fn unnarrowed(unit: &Unit, value: Value) -> Value {
    let mut value = unit.resolve(value);
    while let Some(inst) = unit.definition(value).filter(|inst| inst.op.narrows()) {
        value = unit.resolve(inst.arguments[0]);
    }
    value
}

impl Walk<'_> {
    fn block(&mut self, block: Block, predecessors: &[Block]) {
        let instructions = std::mem::take(&mut self.unit.blocks[block.index()].instructions);
        let mut placed = Vec::with_capacity(instructions.len());
        if let [from] = *predecessors
            && let End::Branch(condition, then, _) = &self.unit.block(from).end
        {
            let (condition, holds) = (*condition, then.block == block);
            self.note(condition, holds, &mut placed);
        }
        for inst in instructions {
            let arguments = self.unit.inst(inst).arguments.clone();
            let arguments: Vec<Value> =
                arguments.into_iter().map(|value| self.here(value)).collect();
            let (op, condition) = (self.unit.inst(inst).op, arguments.first().copied());
            self.unit.instructions[inst.index()].arguments = arguments;
            placed.push(inst);
            if let (Op::Guard | Op::GuardNot, Some(condition)) = (op, condition) {
                self.note(condition, op == Op::Guard, &mut placed);
            }
        }
        self.unit.blocks[block.index()].instructions = placed;
        let mut end = std::mem::take(&mut self.unit.blocks[block.index()].end);
        for jump in end.jumps_mut() {
            jump.arguments.iter_mut().for_each(|value| *value = self.here(*value));
        }
        self.unit.blocks[block.index()].end = end;
    }

    /// A value, with all that is known of it here.
    fn here(&self, value: Value) -> Value {
        if self.unit.representation(value) != Representation::I64 {
            return value;
        }
        self.narrowed.get(&unnarrowed(self.unit, value)).copied().unwrap_or(value)
    }

    /// Uses that a condition holds, or that it does not.
    fn note(&mut self, condition: Value, holds: bool, placed: &mut Vec<Inst>) {
        let Some(inst) = self.unit.definition(condition) else { return };
        let (Op::Compare(test), &[left, right]) = (inst.op, &inst.arguments[..]) else { return };
        let Some(test) = (if holds { Some(test) } else { test.negated() }) else { return };
        let [left, right] = [left, right].map(|value| self.here(value));
        let range = |value| self.unit.kind(value).range();
        let (Some(a), Some(b)) = (range(left), range(right)) else { return };
        let (for_left, for_right) = shown(test, a, b);
        self.narrow(left, for_left, placed);
        self.narrow(right, for_right, placed);
    }

    fn narrow(&mut self, value: Value, range: Option<Range>, placed: &mut Vec<Inst>) {
        let Some(range) = range.filter(|_| self.unit.integer(value).is_none()) else { return };
        let before = self.unit.kind(value);
        let kind = before.meet(Type::integers(range));
        // Nothing new, or code that never runs.
        if kind == before || kind == Type::NONE {
            return;
        }
        let root = unnarrowed(self.unit, value);
        let inst = self.unit.make_typed(Op::AssumeWithin(range), &[value], None, kind);
        placed.push(inst);
        let narrowed = self.unit.inst(inst).result.expect("an assumption has a value");
        self.narrowed.insert(root, narrowed);
        if let Some((source, range)) = self.source(root, kind.range()) {
            self.narrow(source, Some(range), placed);
        }
    }

    /// The value that differs by a constant from one in a range, and the range that it has.
    fn source(&self, value: Value, range: Option<Range>) -> Option<(Value, Range)> {
        let (inst, range) = (self.unit.definition(value)?, range?);
        let &[left, right] = &inst.arguments[..] else { return None };
        let (source, distance) = match (inst.op, self.unit.integer(left), self.unit.integer(right))
        {
            (Op::Add | Op::AddSmall, None, Some(right)) => (left, right.checked_neg()?),
            (Op::Add | Op::AddSmall, Some(left), None) => (right, left.checked_neg()?),
            (Op::Subtract | Op::SubtractSmall, None, Some(right)) => (left, right),
            _ => return None,
        };
        let source = self.here(source);
        let before = self.unit.kind(source).range()?;
        let is_exact = |end: i64| end.checked_sub(distance).is_some();
        if !is_exact(before.least) || !is_exact(before.greatest) {
            return None;
        }
        let moved = |end: i64| end.saturating_add(distance);
        Some((source, Range::new(moved(range.least), moved(range.greatest))))
    }
}

/// The ranges that two integers from two ranges have if a condition holds for them.
fn shown(test: Condition, a: Range, b: Range) -> (Option<Range>, Option<Range>) {
    let at_most = |greatest: i64| Some(Range::new(i64::MIN, greatest));
    let at_least = |least: i64| Some(Range::new(least, i64::MAX));
    match test {
        Condition::Less => {
            (at_most(b.greatest.saturating_sub(1)), at_least(a.least.saturating_add(1)))
        }
        Condition::LessOrEqual => (at_most(b.greatest), at_least(a.least)),
        Condition::Greater => {
            (at_least(b.least.saturating_add(1)), at_most(a.greatest.saturating_sub(1)))
        }
        Condition::GreaterOrEqual => (at_least(b.least), at_most(a.greatest)),
        Condition::Equal => (Some(b), Some(a)),
        Condition::NotEqual => (None, None),
        // A natural number is greater than all negative ones.
        Condition::UnsignedLess if b.least >= 0 && b.greatest > 0 => {
            (Some(Range::new(0, b.greatest - 1)), None)
        }
        Condition::UnsignedLessOrEqual if b.least >= 0 => (Some(Range::new(0, b.greatest)), None),
        Condition::UnsignedLess | Condition::UnsignedLessOrEqual => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs that fulfil a condition are in the ranges that it shows.
    #[test]
    fn ranges_hold_what_fulfils_the_condition() {
        let samples = [i64::MIN, -5, -1, 0, 1, 7, i64::MAX];
        let ranges = || {
            let pairs =
                samples.iter().flat_map(|&least| samples.iter().map(move |&most| (least, most)));
            pairs.filter(|(least, most)| least <= most).map(|(least, most)| Range::new(least, most))
        };
        let tests = [
            Condition::Equal,
            Condition::NotEqual,
            Condition::Less,
            Condition::LessOrEqual,
            Condition::Greater,
            Condition::GreaterOrEqual,
            Condition::UnsignedLess,
            Condition::UnsignedLessOrEqual,
        ];
        for (test, a, b) in
            tests.iter().flat_map(|&t| ranges().flat_map(move |a| ranges().map(move |b| (t, a, b))))
        {
            let (for_left, for_right) = shown(test, a, b);
            let is_in = |range: Option<Range>, value: i64| {
                range.is_none_or(|range| range.includes(Range::new(value, value)))
            };
            for (left, right) in samples.iter().flat_map(|&l| samples.iter().map(move |&r| (l, r)))
            {
                let are_there = is_in(Some(a), left) && is_in(Some(b), right);
                if are_there && test.holds(left, right) {
                    assert!(is_in(for_left, left), "{test} {left} {right} in {a:?} {b:?}");
                    assert!(is_in(for_right, right), "{test} {left} {right} in {a:?} {b:?}");
                }
            }
        }
    }
}
