//! Global value numbering: an operation that has been done before, on all paths, is not done again.
//!
//! The table of known operations follows the tree of dominators. Pure operations and guards are in it. A refinement also
//! stands for its word from then on, in the blocks that it dominates, so that later guards on the same word see what is
//! known.
//!
//! A pure operation may be found across a call only if its result is no object: objects move, and only registers of the
//! interpreter hold them meanwhile. So operations with a word that may be an object are forgotten at calls, and are not
//! known in a block that joins paths unless its dominator leads there directly.

use std::collections::HashMap;

use crate::ir::Unit;
use crate::ir::entities::{Block, Inst, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::verify::dominators;

/// Merges equal operations.
pub fn gvn(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    let parents = dominators(unit, &order);
    let predecessors = unit.predecessors();
    let mut children = vec![Vec::new(); unit.blocks.len()];
    for &block in &order {
        if let Some(parent) = parents[block.index()] {
            children[parent.index()].push(block);
        }
    }
    let mut numbering = Numbering { unit, known: HashMap::new(), calls: 0, stretches: 0 };
    let mut pending = vec![Step::Enter(Unit::ENTRY, 0)];
    while let Some(step) = pending.pop() {
        match step {
            Step::Leave(added) => numbering.forget(added),
            Step::Enter(block, calls) => {
                let is_direct = matches!(predecessors[block.index()][..], [_]);
                // Where paths join, any of them may have called.
                numbering.calls = if is_direct { calls } else { numbering.fresh() };
                let added = numbering.block(block);
                let calls = numbering.calls;
                pending.push(Step::Leave(added));
                let inner = children[block.index()].iter();
                pending.extend(inner.map(|&child| Step::Enter(child, calls)));
            }
        }
    }
    unit.resolve_all();
}

enum Step {
    /// A block, and the calls before it.
    Enter(Block, u32),
    /// What a block has added, with what was known before, is forgotten.
    Leave(Vec<(Key, Option<Known>)>),
}

type Key = (Op, Vec<Value>);

#[derive(Clone, Copy)]
struct Known {
    value: Option<Value>,
    /// The number of the stretch without calls where it is known.
    calls: u32,
}

struct Numbering<'u> {
    unit: &'u mut Unit,
    known: HashMap<Key, Known>,
    calls: u32,
    stretches: u32,
}

impl Numbering<'_> {
    /// The number of a stretch of code that begins after a call.
    fn fresh(&mut self) -> u32 {
        self.stretches += 1;
        self.stretches
    }

    fn forget(&mut self, added: Vec<(Key, Option<Known>)>) {
        for (key, before) in added.into_iter().rev() {
            match before {
                Some(known) => self.known.insert(key, known),
                None => self.known.remove(&key),
            };
        }
    }

    fn block(&mut self, block: Block) -> Vec<(Key, Option<Known>)> {
        let mut added = Vec::new();
        let instructions = std::mem::take(&mut self.unit.blocks[block.index()].instructions);
        let kept = instructions.into_iter().filter(|&inst| !self.is_known(inst, &mut added));
        let kept: Vec<Inst> = kept.collect();
        self.unit.blocks[block.index()].instructions = kept;
        added
    }

    /// Whether an instruction's work has been done, and its result replaced.
    fn is_known(&mut self, inst: Inst, added: &mut Vec<(Key, Option<Known>)>) -> bool {
        let data = self.unit.inst(inst);
        let (op, result) = (data.op, data.result);
        if op.effect() == Effect::Call {
            self.calls = self.fresh();
        }
        let is_numbered = matches!(op.effect(), Effect::Pure | Effect::Guard);
        if !is_numbered || op.is_pinned() || op == Op::Poll {
            return false;
        }
        let data = self.unit.inst(inst);
        let key = (op, data.arguments.iter().map(|&value| self.unit.resolve(value)).collect());
        let moves = result.is_some_and(|value| self.unit.kind(value).may_be_object());
        // A refinement is its argument's word, which lives as long as that.
        let moves = moves && !op.is_constant() && !op.refines();
        if let Some(known) =
            self.known.get(&key).filter(|known| !moves || known.calls == self.calls)
        {
            if let (Some(result), Some(value)) = (result, known.value) {
                self.unit.replace(result, value);
            }
            return true;
        }
        let known = Known { value: result, calls: self.calls };
        let before = self.known.insert(key.clone(), known);
        added.push((key, before));
        false
    }
}
