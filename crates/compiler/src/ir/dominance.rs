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

/// For each block whether it is in the loop with this head, which these blocks jump back to.
pub fn loop_body(predecessors: &[Vec<Block>], head: Block, ends: &[Block]) -> Vec<bool> {
    let mut body = vec![false; predecessors.len()];
    body[head.index()] = true;
    let mut pending = ends.to_vec();
    while let Some(block) = pending.pop() {
        if !std::mem::replace(&mut body[block.index()], true) {
            pending.extend(&predecessors[block.index()]);
        }
    }
    body
}

/// All loops: their heads, and the blocks that jump back there.
pub fn loops(unit: &Unit, order: &[Block]) -> Vec<(Block, Vec<Block>)> {
    let parents = dominators(unit, order);
    let predecessors = unit.predecessors();
    let ends = |&head: &Block| {
        let back = |&&block: &&Block| dominates(&parents, head, block);
        let ends: Vec<Block> = predecessors[head.index()].iter().filter(back).copied().collect();
        (!ends.is_empty()).then_some((head, ends))
    };
    order.iter().filter_map(ends).collect()
}
