//! Kinds of slots are tested only where they may have changed since the last test. [`crate::optimise`] runs this pass near the
//! end.
//!
//! All tests of a unit ask the same: whether the kinds that it relies on are still what they were. They are when the unit is
//! entered, for it is not entered afterwards. They stay so until a call, which may store anything, or until an `admit` of a slot
//! that the unit relies on. A test is dropped if the kinds are known to be unchanged on all paths to it.

use crate::ir::Unit;
use crate::ir::entities::{Block, Inst};
use crate::ir::operations::{Effect, Op};

/// Drops tests of kinds that nothing has widened.
pub fn currency(unit: &mut Unit) {
    if unit.reliances.is_empty() {
        return;
    }
    let order = unit.reverse_post_order();
    let at_begin = known_at_begin(unit, &order);
    for block in order {
        let mut is_known = at_begin[block.index()];
        let mut instructions = std::mem::take(&mut unit.blocks[block.index()].instructions);
        instructions.retain(|&inst| {
            let is_needless = is_known && matches!(unit.inst(inst).op, Op::GuardSlotKind(_));
            is_known = known_after(unit, inst, is_known);
            !is_needless
        });
        unit.blocks[block.index()].instructions = instructions;
    }
}

/// For each block whether the kinds are known to be unchanged where it begins. All are taken for known at first, and those to which
/// an unknown path leads are corrected, until there is none.
fn known_at_begin(unit: &Unit, order: &[Block]) -> Vec<bool> {
    let mut at_begin = vec![true; unit.blocks.len()];
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for &block in order {
            let data = unit.block(block);
            let known = |known, &inst| known_after(unit, inst, known);
            if data.instructions.iter().fold(at_begin[block.index()], known) {
                continue;
            }
            for jump in data.end.jumps() {
                is_changed |= std::mem::replace(&mut at_begin[jump.block.index()], false);
            }
        }
    }
    at_begin
}

/// Whether the kinds are known to be unchanged after an instruction.
fn known_after(unit: &Unit, inst: Inst, before: bool) -> bool {
    let op = unit.inst(inst).op;
    match op {
        Op::GuardSlotKind(_) => true,
        Op::Admit(kind) => before && !unit.relies_on_slot(kind),
        _ => before && op.effect() != Effect::Call,
    }
}
