//! Doubles that only exits need as words are boxed there, if they need a box. [`crate::optimise`] runs this pass last
//! before `residence`.
//!
//! Parts of absent objects are needed by exits alone, too.
//!
//! The builder guards each result, so that its word is immediate. But most results are operands of the next operation,
//! and only states have their words. Such a word becomes a `box_double`, which costs nothing unless the unit is left.
//! Then the guards whose results nothing tags any more are dropped.

use crate::ir::doubles::with_sources;
use crate::ir::entities::{Block, Inst, Value};
use crate::ir::operations::Op;
use crate::ir::{End, Unit};
use crate::passes::simplify::drop_unused;

/// Moves the boxing of doubles into exits.
pub fn boxes(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    let are_used = words_in_use(unit, &order);
    let mut tagged = Vec::new();
    for inst in instructions(unit, &order) {
        let data = unit.inst(inst);
        let Some(word) = data.result.filter(|_| data.op == Op::TagDouble) else { continue };
        if are_used[word.index()] {
            tagged.push(data.arguments[0]);
        } else {
            unit.instructions[inst.index()].op = Op::BoxDouble;
        }
    }
    let are_tagged = with_sources(unit, tagged);
    for block in order {
        let mut instructions = std::mem::take(&mut unit.blocks[block.index()].instructions);
        instructions.retain(|&inst| !drop_guard(unit, inst, &are_tagged));
        unit.blocks[block.index()].instructions = instructions;
    }
    unit.resolve_all();
    drop_unused(unit);
}

fn instructions(unit: &Unit, order: &[Block]) -> Vec<Inst> {
    order.iter().flat_map(|&block| unit.block(block).instructions.iter().copied()).collect()
}

/// Drops the guard on a result that nothing tags.
fn drop_guard(unit: &mut Unit, inst: Inst, are_tagged: &[bool]) -> bool {
    let data = unit.inst(inst);
    let Some(result) = data.result.filter(|_| data.op == Op::GuardImmediate) else { return false };
    if are_tagged[result.index()] {
        return false;
    }
    let raw = data.arguments[0];
    unit.replace(result, raw);
    true
}

/// For each value whether anything but the states of exits and absent objects uses it.
fn words_in_use(unit: &Unit, order: &[Block]) -> Vec<bool> {
    let mut are_used = vec![false; unit.values.len()];
    let mut add = |value: Value| are_used[unit.resolve(value).index()] = true;
    for &block in order {
        for &inst in &unit.block(block).instructions {
            let data = unit.inst(inst);
            if !data.op.is_absent() {
                data.arguments.iter().copied().for_each(&mut add);
            }
            let state = data.state.filter(|_| data.op.may_collect());
            let states = state.into_iter().flat_map(|state| unit.chain(state));
            states.for_each(|each| each.registers.iter().for_each(|&(_, value)| add(value)));
        }
        let end = &unit.block(block).end;
        end.jumps().flat_map(|jump| &jump.arguments).copied().for_each(&mut add);
        if let End::Branch(value, ..) | End::Return(value) = end {
            add(*value);
        }
    }
    are_used
}
