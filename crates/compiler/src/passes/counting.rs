//! Which loops end whatever other strands do, and which of their loads another strand may want to be seen. The pass
//! `loops` asks this module: it moves loads of what other strands may write out of counted loops alone, and not those
//! that decide about the end. A loop that waits for another strand's store must see it.
//!
//! A loop is counted if each turn compares a counter with a limit, and the loop ends if the comparison fails. The
//! counter is a parameter of the loop's head, which each turn moves towards the limit by at least one; the limit is the
//! same in all turns. That a turn compares integers is not enough: `[ sent < wanted ] whileTrue: [ ]` compares integers
//! of which another strand changes one.
//!
//! A load is awaited if its word decides whether the loop goes on, other than by its counter, as `stopped` does in
//! `1 to: 1 << 50 do: [:i | stopped ifTrue: [ ^ i ]. … ]`. A branch that has never been taken is a guard, so the loads of
//! conditions of guards count, too. A guard for bounds does not: it depends on an object's length, which never changes.

use crate::ir::entities::{Block, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::values::Condition;
use crate::ir::{Definition, End, Unit};

/// How many operations the value of a limit may take.
const DEEPEST: usize = 8;

/// A loop, and what is known of its values.
pub struct Counting<'a> {
    /// The unit.
    pub unit: &'a Unit,
    /// The loop's first block.
    pub head: Block,
    /// The blocks that jump back.
    pub ends: &'a [Block],
    /// For each block of the unit whether it is in the loop.
    pub body: &'a [bool],
    /// For each value whether the loop defines it.
    pub is_inside: &'a [bool],
    /// Whether an operation gives the same result in each turn if its arguments are the same.
    pub is_same: &'a dyn Fn(Op) -> bool,
}

impl Counting<'_> {
    /// Whether the loop is over at last if it is by the branch at the end of a block, which each turn executes.
    pub fn ends_at(&self, block: Block) -> bool {
        let End::Branch(condition, then, otherwise) = &self.unit.block(block).end else {
            return false;
        };
        let goes_on = [then, otherwise].map(|jump| self.body[jump.block.index()]);
        let compared = self.unit.definition(*condition);
        let Some((Op::Compare(test), &[left, right])) =
            compared.map(|inst| (inst.op, &inst.arguments[..]))
        else {
            return false;
        };
        let test = match goes_on {
            [true, false] => Some(test),
            [false, true] => test.negated(),
            _ => None,
        };
        match test {
            Some(Condition::Less | Condition::LessOrEqual) => {
                self.runs_out(left, right, true) || self.runs_out(right, left, false)
            }
            Some(Condition::Greater | Condition::GreaterOrEqual) => {
                self.runs_out(left, right, false) || self.runs_out(right, left, true)
            }
            _ => false,
        }
    }

    /// For each value whether it decides about the end of the loop in one of these blocks, though not as a counter does.
    pub fn awaited(&self, inside: &[Block]) -> Vec<bool> {
        let mut awaited = vec![false; self.unit.values.len()];
        let mut pending = self.decisions(inside);
        let passed = self.passed(inside);
        while let Some(value) = pending.pop() {
            let value = self.unit.resolve(value);
            if !self.is_inside[value.index()]
                || std::mem::replace(&mut awaited[value.index()], true)
            {
                continue;
            }
            match self.unit.definition(value) {
                Some(inst) if inst.op == Op::Length || inst.op.effect() == Effect::Read => {}
                Some(inst) => pending.extend(&inst.arguments),
                None => {
                    let sources = passed.iter().filter(|(parameter, _)| *parameter == value);
                    pending.extend(sources.map(|(_, argument)| *argument));
                }
            }
        }
        awaited
    }

    /// The conditions by which the loop may end, except that of its counter.
    fn decisions(&self, inside: &[Block]) -> Vec<Value> {
        let mut decisions = Vec::new();
        for &block in inside {
            let data = self.unit.block(block);
            let guards = data.instructions.iter().map(|&inst| self.unit.inst(inst));
            let is_decision =
                |op| matches!(op, Op::Guard | Op::GuardNot | Op::GuardNil | Op::GuardNotNil);
            decisions
                .extend(guards.filter(|inst| is_decision(inst.op)).map(|inst| inst.arguments[0]));
            if let End::Branch(condition, then, otherwise) = &data.end
                && [then, otherwise].iter().any(|jump| !self.body[jump.block.index()])
                && !self.ends_at(block)
            {
                decisions.push(*condition);
            }
        }
        decisions
    }

    /// The parameters of blocks, with the arguments that these blocks pass.
    fn passed(&self, inside: &[Block]) -> Vec<(Value, Value)> {
        let jumps = inside.iter().flat_map(|&block| self.unit.block(block).end.jumps());
        jumps
            .flat_map(|jump| {
                let parameters = self.unit.block(jump.block).parameters.iter();
                parameters.copied().zip(jump.arguments.iter().copied())
            })
            .collect()
    }

    /// Whether the counter moves up, or down, to a limit that stays.
    fn runs_out(&self, counter: Value, limit: Value, goes_up: bool) -> bool {
        self.stays(limit, DEEPEST) && self.moves(counter, goes_up)
    }

    /// Whether a value is the same in each turn.
    fn stays(&self, value: Value, depth: usize) -> bool {
        let value = self.unit.resolve(value);
        if !self.is_inside[value.index()] {
            return true;
        }
        let definition = self.unit.definition(value);
        depth > 0
            && definition.is_some_and(|inst| {
                (self.is_same)(inst.op)
                    && inst.arguments.iter().all(|&argument| self.stays(argument, depth - 1))
            })
    }

    /// Whether each turn makes a parameter of the loop's head greater, or less.
    fn moves(&self, counter: Value, goes_up: bool) -> bool {
        let counter = self.number(counter);
        if self.unit.values[counter.index()].definition != Definition::Parameter(self.head) {
            return false;
        }
        let parameters = &self.unit.block(self.head).parameters;
        let index = parameters.iter().position(|&each| self.unit.resolve(each) == counter);
        index.is_some_and(|index| {
            let ends = self.ends.iter().flat_map(|&end| self.unit.block(end).end.jumps());
            ends.filter(|jump| jump.block == self.head)
                .all(|jump| self.is_beyond(jump.arguments[index], counter, goes_up))
        })
    }

    /// Whether a number is another one and a step.
    fn is_beyond(&self, number: Value, counter: Value, goes_up: bool) -> bool {
        let Some(inst) = self.unit.definition(self.number(number)) else { return false };
        let adds = match inst.op {
            Op::Add | Op::AddSmall => true,
            Op::Subtract | Op::SubtractSmall => false,
            _ => return false,
        };
        let [left, right] = inst.arguments[..] else { return false };
        let step = match (self.number(left) == counter, self.number(right) == counter) {
            (true, _) => right,
            (_, true) if adds => left,
            _ => return false,
        };
        self.unit.kind(step).range().is_some_and(|range| match adds == goes_up {
            true => range.least > 0,
            false => range.greatest < 0,
        })
    }

    /// The value of which another one is a representation.
    fn number(&self, value: Value) -> Value {
        let mut value = self.unit.root(value);
        while let Some(inst) = self.unit.definition(value) {
            match inst.op {
                Op::TagInteger | Op::UntagInteger | Op::AssumeWithin(_) => {
                    value = self.unit.root(inst.arguments[0]);
                }
                _ => break,
            }
        }
        value
    }
}
