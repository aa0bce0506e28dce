//! Which blocks come before others on every path. The verifier and the passes ask.

use crate::ir::Unit;
use crate::ir::entities::Block;

/// For each block its immediate dominator (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", 2001).
/// Blocks that cannot be reached, and the first one, have none.
pub fn dominators(unit: &Unit, order: &[Block]) -> Vec<Option<Block>> {
    let mut position = vec![usize::MAX; unit.blocks.len()];
    for (index, block) in order.iter().enumerate() {
        position[block.index()] = index;
    }
    let predecessors = unit.predecessors();
    let mut parents: Vec<Option<Block>> = vec![None; unit.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for &block in &order[1..] {
            let known = predecessors[block.index()]
                .iter()
                .copied()
                .filter(|each| *each == Unit::ENTRY || parents[each.index()].is_some());
            let common = known.reduce(|left, right| intersect(&parents, &position, left, right));
            if parents[block.index()] != common {
                parents[block.index()] = common;
                changed = true;
            }
        }
    }
    parents
}

fn intersect(
    parents: &[Option<Block>],
    position: &[usize],
    mut left: Block,
    mut right: Block,
) -> Block {
    while left != right {
        let later =
            if position[left.index()] > position[right.index()] { &mut left } else { &mut right };
        *later = parents[later.index()].expect("the first block dominates all");
    }
    left
}

/// For each block the blocks whose immediate dominator it is.
pub fn dominated(parents: &[Option<Block>], order: &[Block]) -> Vec<Vec<Block>> {
    let mut children = vec![Vec::new(); parents.len()];
    for &block in order {
        if let Some(parent) = parents[block.index()] {
            children[parent.index()].push(block);
        }
    }
    children
}

/// Whether each path to the other block goes through a block.
pub fn dominates(parents: &[Option<Block>], block: Block, mut other: Block) -> bool {
    while other != block {
        match parents[other.index()] {
            Some(parent) => other = parent,
            None => return false,
        }
    }
    true
}
