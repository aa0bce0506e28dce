//! Branches at the ends of blocks. `function` calls this module for each of them. A test of a word's layout that only a
//! branch asks for has no value: it becomes the branches themselves.
//!
//! Of a branch's two targets, the first one is that which leaves a loop or the unit. Cranelift follows the other one first,
//! and moves nothing out of a loop any more once it has seen a block outside of it
//! (`elaborate.rs` of `cranelift-codegen`: `start_block` pops the loop). In a loop that calls, the order is the other way
//! round: what is moved out would have to survive the calls, which costs more than to compute it again.

use std::collections::HashSet;

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{self, BlockArg, InstBuilder, InstructionData};

use crate::ir::dominance::{loop_body, loops};
use crate::ir::entities::{Block, Inst, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::types::{Layouts, Type};
use crate::ir::{End, Jump, Unit};
use crate::lower::function::Lowering;

/// Where a branch goes.
#[derive(Clone)]
struct Target {
    block: ir::Block,
    arguments: Vec<BlockArg>,
    /// In how many loops without calls the block is.
    depth: u32,
}

/// For each block in how many loops without calls it is.
pub(super) fn depths(unit: &Unit, order: &[Block]) -> Vec<u32> {
    let predecessors = unit.predecessors();
    let calls = |inst: &Inst| unit.inst(*inst).op.effect() == Effect::Call;
    let mut depths = vec![0; unit.blocks.len()];
    for (head, ends) in loops(unit, order) {
        let body = loop_body(&predecessors, head, &ends);
        let inside = || body.iter().enumerate().filter(|(_, inside)| **inside);
        if inside().any(|(block, _)| unit.blocks[block].instructions.iter().any(calls)) {
            continue;
        }
        inside().for_each(|(block, _)| depths[block] += 1);
    }
    depths
}

/// The tests of layouts that are the last instructions of their blocks, and that nothing but the branches there uses.
pub(super) fn tests_for_branches(unit: &Unit, order: &[Block]) -> HashSet<Inst> {
    let mut uses = vec![0u32; unit.values.len()];
    let mut add = |value: Value| uses[unit.resolve(value).index()] += 1;
    for &block in order {
        let data = unit.block(block);
        let operands = data.instructions.iter().flat_map(|&inst| &unit.inst(inst).arguments);
        operands.copied().for_each(&mut add);
        data.end.jumps().flat_map(|jump| &jump.arguments).copied().for_each(&mut add);
        if let End::Branch(value, ..) | End::Return(value) = data.end {
            add(value);
        }
    }
    let test_of = |&block: &Block| {
        let End::Branch(condition, ..) = unit.block(block).end else { return None };
        let &last = unit.block(block).instructions.last()?;
        let data = unit.inst(last);
        let is_asked = data.result.is_some_and(|result| result == unit.resolve(condition));
        let is_test = matches!(data.op, Op::HasLayout(_));
        (is_test && is_asked && uses[data.result?.index()] == 1).then_some(last)
    };
    order.iter().filter_map(test_of).collect()
}

impl Lowering<'_, '_> {
    /// Ends a block by a branch.
    pub fn branch(&mut self, condition: Value, then: &Jump, otherwise: &Jump) {
        let (then, otherwise) = (self.target(then), self.target(otherwise));
        let test = self.unit.block(self.current).instructions.last();
        if let Some(&test) = test.filter(|test| self.tests.contains(test))
            && let Op::HasLayout(layouts) = self.unit.inst(test).op
        {
            return self.branch_on_layout(test, layouts, &then, &otherwise);
        }
        let condition = self.get(condition);
        self.branch_to(condition, &then, &otherwise);
    }

    fn target(&mut self, jump: &Jump) -> Target {
        let arguments = self.arguments(jump);
        let depth = self.depths[jump.block.index()];
        Target { block: self.blocks[&jump.block], arguments, depth }
    }

    fn branch_to(&mut self, condition: ir::Value, then: &Target, otherwise: &Target) {
        if then.depth > otherwise.depth {
            let condition = self.complement(condition);
            return self.branch_in_order(condition, otherwise, then);
        }
        self.branch_in_order(condition, then, otherwise);
    }

    fn branch_in_order(&mut self, condition: ir::Value, first: &Target, second: &Target) {
        let (one, other) = (&first.arguments, &second.arguments);
        self.b.ins().brif(condition, first.block, one, second.block, other);
    }

    /// Goes to one of the targets, or on.
    fn branch_or_go_on(&mut self, condition: ir::Value, target: &Target) {
        let (block, depth) = (self.b.create_block(), self.depths[self.current.index()]);
        self.branch_to(condition, target, &Target { block, arguments: Vec::new(), depth });
        self.b.switch_to_block(block);
    }

    /// Goes to a target if a word has one of the layouts.
    fn branch_on_layout(
        &mut self,
        test: Inst,
        layouts: Layouts,
        then: &Target,
        otherwise: &Target,
    ) {
        let word = self.argument(test, 0);
        if let Some(fits) = self.differs_from_nil(test, layouts) {
            return self.branch_to(fits, then, otherwise);
        }
        let mut tests = Vec::new();
        let mut objects = Vec::new();
        for &layout in layouts.list().expect("a test names its layouts") {
            match self.has_immediate_layout(word, layout) {
                Some(test) => tests.push(test),
                None => objects.push(layout),
            }
        }
        let last = if objects.is_empty() { tests.pop() } else { None };
        for test in tests {
            self.branch_or_go_on(test, then);
        }
        if let Some(last) = last {
            return self.branch_to(last, then, otherwise);
        }
        let kind = self.unit.kind(self.unit.inst(test).arguments[0]);
        if !kind.is(Type::OBJECT) {
            let is_pointer = self.is_pointer(word);
            let is_none = self.complement(is_pointer);
            self.branch_or_go_on(is_none, otherwise);
        }
        let fits = self.is_object_of(word, &objects, false);
        self.branch_to(fits, then, otherwise);
    }

    /// Goes to `exit` if a condition does not have this truth, and on otherwise.
    pub fn go_on_if(&mut self, condition: ir::Value, wanted: bool, exit: ir::Block) {
        let next = self.b.create_block();
        let in_loop = self.depths[self.current.index()] > 0;
        if in_loop || !wanted {
            let fails = if wanted { self.complement(condition) } else { condition };
            self.b.ins().brif(fails, exit, &[], next, &[]);
        } else {
            self.b.ins().brif(condition, next, &[], exit, &[]);
        }
        self.b.switch_to_block(next);
    }

    /// The contrary of a condition.
    pub fn complement(&mut self, condition: ir::Value) -> ir::Value {
        let dfg = &self.b.func.dfg;
        match dfg.value_def(condition).inst().map(|inst| dfg.insts[inst]) {
            Some(InstructionData::IntCompare { cond, args: [left, right], .. }) => {
                self.b.ins().icmp(cond.complement(), left, right)
            }
            Some(InstructionData::FloatCompare { cond, args: [left, right], .. }) => {
                self.b.ins().fcmp(cond.complement(), left, right)
            }
            _ => self.b.ins().icmp_imm_u(IntCC::Equal, condition, 0),
        }
    }
}
