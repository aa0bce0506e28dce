//! Makes a unit smaller without moving anything: folds operations, decides branches, merges blocks, and drops
//! parameters and instructions that nothing needs. [`crate::optimise`] runs this pass after the builder and after each
//! pass that makes new chances.

use std::collections::HashMap;

use crate::ir::entities::{Block, Inst, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::types::{Representation, Type};
use crate::ir::{End, InstData, Jump, Unit};
use crate::passes::fold::{self, Folded};
use crate::passes::infer;
use crate::passes::kinds;

/// More rounds find next to nothing.
const MOST_ROUNDS: usize = 4;

/// Simplifies until nothing changes.
pub fn simplify(unit: &mut Unit) {
    for _ in 0..MOST_ROUNDS {
        infer::infer(unit);
        let mut changed = fold_all(unit);
        changed |= decide_branches(unit);
        changed |= drop_parameters(unit);
        changed |= merge_blocks(unit);
        unit.resolve_all();
        changed |= drop_unused(unit);
        if !changed {
            break;
        }
    }
}

fn fold_all(unit: &mut Unit) -> bool {
    let mut changed = false;
    for block in unit.reverse_post_order() {
        let instructions = std::mem::take(&mut unit.blocks[block.index()].instructions);
        let mut kept = Vec::with_capacity(instructions.len());
        for inst in instructions {
            changed |= fold_instruction(unit, inst, &mut kept);
        }
        unit.blocks[block.index()].instructions = kept;
    }
    changed
}

/// Folds an instruction until it does not change; keeps what is left of it.
fn fold_instruction(unit: &mut Unit, inst: Inst, kept: &mut Vec<Inst>) -> bool {
    let mut changed = false;
    loop {
        let arguments: Vec<Value> =
            unit.inst(inst).arguments.iter().map(|&value| unit.resolve(value)).collect();
        let (op, result) = (unit.inst(inst).op, unit.inst(inst).result);
        let folded = fold::fold(unit, op, &arguments);
        unit.instructions[inst.index()].arguments = arguments;
        match folded {
            None => break kept.push(inst),
            Some(Folded::Nothing) => return true,
            Some(Folded::Value(value)) => {
                if let Some(result) = result {
                    unit.replace(result, value);
                }
                return true;
            }
            Some(Folded::Op(op, arguments)) => {
                let data = &mut unit.instructions[inst.index()];
                let state = data.state.filter(|_| op.needs_state());
                *data = InstData { op, arguments, state, result, origin: data.origin };
                if let Some(result) = result {
                    let given = unit.kind(result);
                    let kind = kinds::result_kind(unit, op, &unit.inst(inst).arguments, given);
                    unit.values[result.index()].kind = kind;
                }
                changed = true;
            }
        }
    }
    changed
}

/// Branches whose condition is known become jumps.
fn decide_branches(unit: &mut Unit) -> bool {
    let mut changed = false;
    for block in unit.reverse_post_order() {
        let End::Branch(condition, then, otherwise) = &unit.block(block).end else { continue };
        let (condition, then, otherwise) =
            (unit.resolve(*condition), then.clone(), otherwise.clone());
        let inner = unit.definition(condition).filter(|inst| inst.op == Op::Not);
        let end = match (unit.kind(condition), inner) {
            (Type::TRUE, _) => End::Jump(then),
            (Type::FALSE, _) => End::Jump(otherwise),
            (_, Some(inner)) => End::Branch(unit.resolve(inner.arguments[0]), otherwise, then),
            _ if then == otherwise => End::Jump(then),
            _ => continue,
        };
        unit.blocks[block.index()].end = end;
        changed = true;
    }
    changed
}

/// A parameter that always gets the same value, or nothing but itself, is that value.
fn drop_parameters(unit: &mut Unit) -> bool {
    let mut changed = false;
    let order = unit.reverse_post_order();
    let mut jumps: Vec<Vec<(Block, usize)>> = vec![Vec::new(); unit.blocks.len()];
    for &block in &order {
        for (index, jump) in unit.block(block).end.jumps().enumerate() {
            jumps[jump.block.index()].push((block, index));
        }
    }
    for &block in &order {
        let mut index = 0;
        while index < unit.block(block).parameters.len() {
            let parameter = unit.block(block).parameters[index];
            let sources = &jumps[block.index()];
            match only_argument(unit, parameter, sources, index) {
                Some(value) => {
                    unit.replace(parameter, value);
                    remove_parameter(unit, block, sources, index);
                    changed = true;
                }
                None => index += 1,
            }
        }
    }
    changed
}

/// The one value that all jumps give to a parameter, itself apart. Refinements of it are the same word, so if they differ
/// their common root is.
fn only_argument(
    unit: &Unit,
    parameter: Value,
    sources: &[(Block, usize)],
    index: usize,
) -> Option<Value> {
    let mut only = None;
    for &(block, number) in sources {
        let jump = unit.block(block).end.jumps().nth(number)?;
        let argument = unit.resolve(jump.arguments[index]);
        match only {
            _ if unit.root(argument) == parameter => {}
            None => only = Some(argument),
            Some(other) if other == argument => {}
            Some(other) if unit.root(other) == unit.root(argument) => {
                only = Some(unit.root(argument));
            }
            Some(_) => return None,
        }
    }
    only
}

fn remove_parameter(unit: &mut Unit, block: Block, sources: &[(Block, usize)], index: usize) {
    unit.blocks[block.index()].parameters.remove(index);
    for &(source, number) in sources {
        if let Some(jump) = unit.blocks[source.index()].end.jumps_mut().nth(number) {
            jump.arguments.remove(index);
        }
    }
}

/// A block with one predecessor, which goes nowhere else, becomes its end.
fn merge_blocks(unit: &mut Unit) -> bool {
    let predecessors = unit.predecessors();
    let mut changed = false;
    for block in unit.reverse_post_order() {
        while let End::Jump(Jump { block: next, arguments }) = &unit.block(block).end {
            let next = *next;
            if predecessors[next.index()].len() != 1 || next == block || next == Unit::ENTRY {
                break;
            }
            let arguments = arguments.clone();
            let data = std::mem::take(&mut unit.blocks[next.index()]);
            for (parameter, argument) in data.parameters.into_iter().zip(arguments) {
                unit.replace(parameter, argument);
            }
            let current = &mut unit.blocks[block.index()];
            current.instructions.extend(data.instructions);
            current.end = data.end;
            current.leave = data.leave;
            changed = true;
        }
    }
    changed
}

/// Drops instructions without effect whose results nothing uses, and parameters that nothing uses.
pub fn drop_unused(unit: &mut Unit) -> bool {
    let order = unit.reverse_post_order();
    let used = used_values(unit, &order);
    let mut changed = false;
    for &block in &order {
        let mut instructions = std::mem::take(&mut unit.blocks[block.index()].instructions);
        let before = instructions.len();
        instructions.retain(|&inst| {
            let data = unit.inst(inst);
            if let Some(object) = written_object(unit, data) {
                return used[object.index()];
            }
            let is_used = data.result.is_none_or(|result| used[result.index()]);
            is_used || !data.op.is_removable()
        });
        changed |= instructions.len() != before;
        unit.blocks[block.index()].instructions = instructions;
    }
    changed | drop_unused_parameters(unit, &order, &used)
}

fn drop_unused_parameters(unit: &mut Unit, order: &[Block], used: &[bool]) -> bool {
    let mut changed = false;
    let keeps: Vec<Vec<bool>> = unit
        .blocks
        .iter()
        .map(|block| block.parameters.iter().map(|value| used[value.index()]).collect())
        .collect();
    for &block in order {
        let data = &mut unit.blocks[block.index()];
        let mut keep = keeps[block.index()].iter();
        let before = data.parameters.len();
        data.parameters.retain(|_| keep.next() == Some(&true));
        changed |= data.parameters.len() != before;
        for jump in data.end.jumps_mut() {
            let mut keep = keeps[jump.block.index()].iter();
            jump.arguments.retain(|_| keep.next() == Some(&true));
        }
    }
    changed
}

/// The values that are needed, found backwards from what has an effect.
fn used_values(unit: &Unit, order: &[Block]) -> Vec<bool> {
    let mut search = Search::new(unit);
    for &block in order {
        let data = unit.block(block);
        for &inst in &data.instructions {
            let data = unit.inst(inst);
            match written_object(unit, data) {
                Some(object) => search.stores.entry(object).or_default().push(inst),
                None if data.op.is_removable() => {}
                None => search.instruction(data),
            }
        }
        match &data.end {
            End::Branch(value, ..) | End::Return(value) => search.value(*value),
            End::Exit(state) => search.state(*state),
            _ => {}
        }
        if let Some(state) = data.leave {
            search.state(state);
        }
    }
    let predecessors = unit.predecessors();
    while let Some(value) = search.pending.pop() {
        for inst in search.stores.remove(&value).into_iter().flatten() {
            search.instruction(unit.inst(inst));
        }
        match unit.values[value.index()].definition {
            crate::ir::Definition::Result(inst) => search.instruction(unit.inst(inst)),
            crate::ir::Definition::Parameter(block) => {
                let parameters = &unit.block(block).parameters;
                let Some(index) = parameters.iter().position(|each| *each == value) else {
                    continue;
                };
                for &from in &predecessors[block.index()] {
                    for jump in unit.block(from).end.jumps().filter(|jump| jump.block == block) {
                        search.value(jump.arguments[index]);
                    }
                }
            }
            crate::ir::Definition::Alias(_) => {}
        }
    }
    search.used
}

/// The object that an instruction writes into and that the unit has made. If nothing else uses the object, the store is
/// not needed either.
fn written_object(unit: &Unit, inst: &InstData) -> Option<Value> {
    if inst.op.effect() != Effect::Write || matches!(inst.op, Op::TryShort(_)) {
        return None;
    }
    let object = unit.root(inst.arguments[0]);
    unit.definition(object)?.op.allocates().then_some(object)
}

struct Search<'u> {
    unit: &'u Unit,
    /// Stores that are needed if their object is.
    stores: HashMap<Value, Vec<Inst>>,
    used: Vec<bool>,
    pending: Vec<Value>,
    states: Vec<bool>,
}

impl<'u> Search<'u> {
    fn new(unit: &'u Unit) -> Search<'u> {
        Search {
            unit,
            stores: HashMap::new(),
            used: vec![false; unit.values.len()],
            pending: Vec::new(),
            states: vec![false; unit.states.len()],
        }
    }

    fn value(&mut self, value: Value) {
        let value = self.unit.resolve(value);
        if !std::mem::replace(&mut self.used[value.index()], true) {
            self.pending.push(value);
        }
    }

    fn instruction(&mut self, inst: &InstData) {
        inst.arguments.iter().for_each(|&value| self.value(value));
        if let Some(state) = inst.state {
            self.state(state);
        }
    }

    fn state(&mut self, state: crate::ir::entities::StateId) {
        let mut next = Some(state);
        while let Some(state) = next {
            if std::mem::replace(&mut self.states[state.index()], true) {
                break;
            }
            let data = self.unit.state(state);
            data.registers.iter().for_each(|&(_, value)| self.value(value));
            next = data.parent;
        }
    }
}

/// Makes a conversion of a value to a representation, in a block that is being extended.
pub(crate) fn convert(unit: &mut Unit, value: Value, to: Representation) -> Option<Inst> {
    let op = match to {
        Representation::I64 => Op::UntagInteger,
        Representation::F64 => Op::UntagDouble,
        Representation::Bool => Op::UntagBoolean,
        Representation::Word => return None,
    };
    let kind = kinds::result_kind(unit, op, &[value], unit.kind(value));
    Some(unit.make_typed(op, &[value], None, kind))
}
