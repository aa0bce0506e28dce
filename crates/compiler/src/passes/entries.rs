//! Tests at the entry of a loop what the loop tests of a variable in each turn, if what it brings back passes the test.
//! [`crate::optimise`] runs this pass after `gvn`.
//!
//! A variable that walks along a list is anything at first, and then what the slot of a list's node holds
//! (`assume_kept`). The loop compares its layout in each turn, for it meets both. With the comparison before the loop, the
//! types of both agree, and `simplify` drops it in the loop.
//!
//! The loop would have left the unit in the first turn, if that is not its last one. So the test goes to the entry only if
//! each turn makes it, and it admits the same objects, and nil besides.

use crate::ir::dominance::{dominates, dominators, loops};
use crate::ir::entities::{Block, Inst, StateId, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Layouts, Representation, Type};
use crate::ir::{End, Unit};
use crate::passes::kinds;
use crate::words::layouts;

/// Tests variables at the entries of all loops.
pub fn entries(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    let parents = dominators(unit, &order);
    let predecessors = unit.predecessors();
    for (head, ends) in loops(unit, &order) {
        let mut others = predecessors[head.index()].iter().filter(|block| !ends.contains(block));
        let (Some(&entry), None) = (others.next(), others.next()) else { continue };
        let Some(state) = unit.block(entry).leave else { continue };
        let each_turn = |block: &Block| ends.iter().all(|&end| dominates(&parents, *block, end));
        let always: Vec<Block> = order
            .iter()
            .copied()
            .filter(|block| dominates(&parents, head, *block) && each_turn(block))
            .collect();
        for index in 0..unit.block(head).parameters.len() {
            if let Some((guard, wanted)) = wanted(unit, head, &ends, &always, index) {
                test(unit, (entry, state), index, guard, wanted);
            }
        }
    }
    unit.resolve_all();
}

/// What to test a head's parameter for, and the guard that each turn makes.
fn wanted(
    unit: &Unit,
    head: Block,
    ends: &[Block],
    always: &[Block],
    index: usize,
) -> Option<(Inst, Layouts)> {
    let parameter = unit.block(head).parameters[index];
    if unit.representation(parameter) != Representation::Word {
        return None;
    }
    let back = ends.iter().flat_map(|&end| unit.block(end).end.jumps());
    let back = back.filter(|jump| jump.block == head).map(|jump| jump.arguments[index]);
    let kind = back.fold(Type::NONE, |all, value| all.join(unit.kind(value)));
    let objects = kind.object_layouts();
    let list = objects.list().filter(|list| !list.is_empty())?;
    let nil = Type::NIL.join(Type::objects(objects));
    if !kind.is(nil) || unit.kind(parameter).is(nil) {
        return None;
    }
    let instructions = always.iter().flat_map(|&block| &unit.block(block).instructions);
    let guard = instructions.copied().find(|&inst| {
        let data = unit.inst(inst);
        let Op::GuardLayout(tested) = data.op else { return false };
        unit.root(data.arguments[0]) == parameter
            && kinds::of_layouts(tested) == Type::objects(objects)
    })?;
    let with_nil = list.iter().fold(Layouts::of(layouts::NIL), |all, &each| all.with(each));
    with_nil.list().is_some().then_some((guard, with_nil))
}

/// Tests a variable before a loop.
fn test(
    unit: &mut Unit,
    (entry, state): (Block, StateId),
    index: usize,
    guard: Inst,
    wanted: Layouts,
) {
    let End::Jump(jump) = &unit.block(entry).end else { return };
    let value: Value = jump.arguments[index];
    unit.origin = unit.inst(guard).origin;
    let fits = unit.make_typed(Op::HasLayout(wanted), &[value], None, Type::BOOLEAN);
    let fits_value = unit.inst(fits).result.expect("a test has a result");
    let check = unit.make_typed(Op::Guard, &[fits_value], Some(state), Type::NONE);
    let kind = unit.kind(value).meet(kinds::of_layouts(wanted));
    let known = unit.make_typed(Op::Assume(wanted), &[value], None, kind);
    let known_value = unit.inst(known).result.expect("a refinement has a result");
    let data = &mut unit.blocks[entry.index()];
    data.instructions.extend([fits, check, known]);
    if let End::Jump(jump) = &mut data.end {
        jump.arguments[index] = known_value;
    }
}
