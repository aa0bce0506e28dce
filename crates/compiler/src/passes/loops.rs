//! Moves what does not change out of loops, guards above all: a receiver's layout is tested once before the loop.
//! [`crate::optimise`] runs this pass after `gvn`.
//!
//! An instruction is moved to the block that enters the loop if its arguments are defined outside of it and each turn
//! executes it. A moved guard leaves in the state there: before the loop, where the lower tier goes on. A load is moved if
//! nothing in the loop writes its region or calls, and a word that may be an object only if nothing calls or
//! allocates, because no register of the interpreter holds it meanwhile.
//!
//! A load of something that other strands may write is moved out of counted loops only, unless it decides about the end
//! (`counting`). A loop that waits for another strand's store must see it.
//!
//! Moving is speculation: a loop may end before it comes to the instruction. That is safe. A guard that leaves early
//! changes nothing, and an operation that needs a guard has the same arguments, so that its guard was moved before.

use crate::ir::Unit;
use crate::ir::dominance::{dominates, dominators, loop_body};
use crate::ir::entities::{Block, Inst, StateId, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::{Definition, End};
use crate::passes::counting::Counting;

/// Moves invariant instructions out of all loops, inner ones first.
pub fn loops(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    let parents = dominators(unit, &order);
    let predecessors = unit.predecessors();
    for &head in order.iter().rev() {
        if let Some(found) = Loop::at(unit, head, &parents, &predecessors) {
            found.hoist(unit, &order, &parents);
        }
    }
    for block in &mut unit.blocks {
        block.leave = None;
    }
}

/// A loop with one entry.
struct Loop {
    /// The first block.
    head: Block,
    /// The block before the loop.
    entry: Block,
    /// The state at its end.
    leave: StateId,
    /// The blocks that jump back.
    ends: Vec<Block>,
    /// For each block of the unit whether it is in the loop.
    body: Vec<bool>,
}

impl Loop {
    /// The loop with this head, if it is one and a state is known before it.
    fn at(
        unit: &Unit,
        head: Block,
        parents: &[Option<Block>],
        predecessors: &[Vec<Block>],
    ) -> Option<Loop> {
        let from = predecessors[head.index()].iter().copied();
        let (ends, entries): (Vec<Block>, Vec<Block>) =
            from.partition(|&block| dominates(parents, head, block));
        let [entry] = entries[..] else { return None };
        if ends.is_empty() || !matches!(unit.block(entry).end, End::Jump(_)) {
            return None;
        }
        let leave = unit.block(entry).leave?;
        let body = loop_body(predecessors, head, &ends);
        Some(Loop { head, entry, leave, ends, body })
    }

    fn hoist(&self, unit: &mut Unit, order: &[Block], parents: &[Option<Block>]) {
        let inside: Vec<Block> =
            order.iter().copied().filter(|block| self.body[block.index()]).collect();
        let mut written = Written::of(unit, &inside);
        let mut is_inside = self.values_inside(unit, &inside);
        self.consider(unit, &inside, parents, &mut written, &is_inside);
        for &block in &inside {
            if !self.ends.iter().all(|&end| dominates(parents, block, end)) {
                continue;
            }
            let instructions = std::mem::take(&mut unit.blocks[block.index()].instructions);
            let (moved, kept): (Vec<Inst>, Vec<Inst>) = instructions
                .into_iter()
                .partition(|&inst| self.may_move(unit, inst, &written, &mut is_inside));
            unit.blocks[block.index()].instructions = kept;
            unit.blocks[self.entry.index()].instructions.extend(moved);
        }
    }

    /// Finds out whether the loop ends whatever other strands do, and which loads they may want it to see.
    fn consider(
        &self,
        unit: &Unit,
        inside: &[Block],
        parents: &[Option<Block>],
        written: &mut Written,
        is_inside: &[bool],
    ) {
        let is_same = |op| written.is_same(op);
        let counting = Counting {
            unit,
            head: self.head,
            ends: &self.ends,
            body: &self.body,
            is_inside,
            is_same: &is_same,
        };
        let in_each_turn =
            |&block: &Block| self.ends.iter().all(|&end| dominates(parents, block, end));
        let mut blocks = inside.iter().copied().filter(in_each_turn);
        if blocks.any(|block| counting.ends_at(block)) {
            let awaited = counting.awaited(inside);
            (written.is_counted, written.awaited) = (true, awaited);
        }
    }

    /// For each value whether the loop defines it.
    fn values_inside(&self, unit: &Unit, inside: &[Block]) -> Vec<bool> {
        let mut is_inside = vec![false; unit.values.len()];
        for &block in inside {
            let data = unit.block(block);
            let results = data.instructions.iter().filter_map(|&inst| unit.inst(inst).result);
            for value in results.chain(data.parameters.iter().copied()) {
                is_inside[value.index()] = true;
            }
        }
        is_inside
    }

    /// Whether an instruction is moved; a guard then gets its new state.
    fn may_move(
        &self,
        unit: &mut Unit,
        inst: Inst,
        written: &Written,
        is_inside: &mut [bool],
    ) -> bool {
        let data = unit.inst(inst);
        let (op, result) = (data.op, data.result);
        let is_variant = |value: &Value| {
            let value = unit.resolve(*value);
            debug_assert!(!matches!(unit.values[value.index()].definition, Definition::Alias(_)));
            is_inside[value.index()]
        };
        if data.arguments.iter().any(is_variant) || !written.allows(unit, op, result) {
            return false;
        }
        if op.effect() == Effect::Guard {
            unit.instructions[inst.index()].state = Some(self.leave);
        }
        if let Some(result) = result {
            is_inside[result.index()] = false;
        }
        true
    }
}

/// What a loop does to memory.
struct Written {
    /// Whether it ends whatever other strands do.
    is_counted: bool,
    /// If it does, for each value whether it decides about another end.
    awaited: Vec<bool>,
    calls: bool,
    /// Whether objects may move in it.
    moves: bool,
    /// The indices of slots that it stores into.
    slots: Vec<u32>,
    /// Whether it stores elements.
    elements: bool,
    /// Whether kinds of slots may widen.
    kinds: bool,
}

impl Written {
    fn of(unit: &Unit, inside: &[Block]) -> Written {
        let mut written = Written {
            is_counted: false,
            awaited: Vec::new(),
            calls: false,
            moves: false,
            slots: Vec::new(),
            elements: false,
            kinds: false,
        };
        for &block in inside {
            for &inst in &unit.block(block).instructions {
                match unit.inst(inst).op {
                    Op::StoreSlot(index) => written.slots.push(index.0),
                    Op::StoreElement => written.elements = true,
                    Op::Admit(kind) => written.kinds |= unit.relies_on_slot(kind),
                    op => {
                        written.calls |= op.effect() == Effect::Call;
                        written.moves |= op.may_collect();
                    }
                }
            }
        }
        written
    }

    /// Whether an operation gives the same result in each turn.
    fn allows(&self, unit: &Unit, op: Op, result: Option<Value>) -> bool {
        let moves = result.is_some_and(|value| unit.kind(value).may_be_object());
        if self.moves && moves && !op.refines() && !op.is_constant() {
            return false;
        }
        let is_awaited = |value: Value| self.awaited[value.index()];
        let may_read = || self.is_counted && !result.is_some_and(is_awaited);
        self.is_same(op) && (op.effect() != Effect::Read || may_read())
    }

    /// Whether an operation on the same arguments gives the same result in each turn, if no other strand writes.
    fn is_same(&self, op: Op) -> bool {
        match op {
            Op::LoadSlot(index) => !self.calls && !self.slots.contains(&index.0),
            Op::LoadElement => !self.calls && !self.elements,
            Op::GuardSlotKind(_) | Op::AssumeKept(_) => !self.calls && !self.kinds,
            _ if op.is_pinned() => false,
            _ => matches!(op.effect(), Effect::Pure | Effect::Guard),
        }
    }
}
