//! Types of all values, by abstract interpretation over the whole unit. `simplify` runs it first, since the builder knows
//! nothing of what a loop's end brings back to its head.
//!
//! The pass is optimistic: values have no type at first, and parameters get the join of what jumps bring, until nothing
//! changes. Ranges of parameters are widened when they grow a second time, so this ends after a few rounds. Some are
//! wider than they need be then: a counter that is compared with 100 before it grows has no more than 101. So in two more
//! rounds, parameters get the join of what jumps bring now, which can only be less, and is right in each round.

use crate::ir::entities::{Block, Inst, Value};
use crate::ir::operations::Results;
use crate::ir::types::{Range, Representation, Type};
use crate::ir::{Definition, Unit};
use crate::passes::kinds;

/// After this many changes of a parameter its range is widened.
const PATIENCE: u8 = 2;

/// How often types are computed again from types that are wide enough.
const NARROWINGS: usize = 2;

/// Computes the types of all values in reachable blocks.
pub fn infer(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    let given: Vec<Type> = unit.values.iter().map(|value| value.kind).collect();
    forget(unit, &order);
    let mut changes = vec![0u8; unit.values.len()];
    loop {
        let mut changed = false;
        for &block in &order {
            for index in 0..unit.block(block).instructions.len() {
                let inst = unit.block(block).instructions[index];
                changed |= infer_instruction(unit, inst, &given);
            }
            changed |= pass_to_parameters(unit, block, &mut changes);
        }
        if !changed {
            break;
        }
    }
    for _ in 0..NARROWINGS {
        narrow(unit, &order, &given);
    }
}

/// Computes all types once more, from what they are.
fn narrow(unit: &mut Unit, order: &[Block], given: &[Type]) {
    let mut joined = vec![Type::NONE; unit.values.len()];
    for jump in order.iter().flat_map(|&block| unit.block(block).end.jumps()) {
        let parameters = &unit.block(jump.block).parameters;
        for (parameter, &argument) in parameters.iter().zip(&jump.arguments) {
            let kind = &mut joined[parameter.index()];
            *kind = kind.join(unit.kind(argument));
        }
    }
    for &block in order {
        for index in 0..unit.block(block).parameters.len() {
            let parameter = unit.block(block).parameters[index];
            let data = &mut unit.values[parameter.index()];
            if !matches!(data.definition, Definition::Alias(_)) {
                data.kind = data.kind.meet(joined[parameter.index()]);
            }
        }
        for index in 0..unit.block(block).instructions.len() {
            infer_instruction(unit, unit.block(block).instructions[index], given);
        }
    }
}

/// Begins without types.
fn forget(unit: &mut Unit, order: &[Block]) {
    for &block in order {
        let data = &unit.blocks[block.index()];
        let results =
            data.instructions.iter().filter_map(|inst| unit.instructions[inst.index()].result);
        let values: Vec<Value> = results.chain(data.parameters.iter().copied()).collect();
        for value in values {
            unit.values[value.index()].kind = Type::NONE;
        }
    }
}

fn infer_instruction(unit: &mut Unit, inst: Inst, given: &[Type]) -> bool {
    let data = unit.inst(inst);
    let Some(result) = data.result else { return false };
    // Before all arguments have a type, there is no result.
    let is_ready = data.arguments.iter().all(|&value| unit.kind(value) != Type::NONE);
    let is_any = data.op.results() == Results::Any;
    if !is_ready && !is_any {
        return false;
    }
    let kind = kinds::result_kind(unit, data.op, &data.arguments, given[result.index()]);
    std::mem::replace(&mut unit.values[result.index()].kind, kind) != kind
}

/// Joins the types of a block's jump arguments into the parameters they go to.
fn pass_to_parameters(unit: &mut Unit, block: Block, changes: &mut [u8]) -> bool {
    let jumps: Vec<(Value, Type)> = unit
        .block(block)
        .end
        .jumps()
        .flat_map(|jump| {
            let parameters = unit.block(jump.block).parameters.iter().copied();
            parameters.zip(jump.arguments.iter().map(|&value| unit.kind(value)))
        })
        .collect();
    let mut changed = false;
    for (parameter, kind) in jumps {
        if matches!(unit.values[parameter.index()].definition, Definition::Alias(_)) {
            continue;
        }
        let data = &mut unit.values[parameter.index()];
        let mut joined = data.kind.join(kind);
        if joined == data.kind {
            continue;
        }
        changes[parameter.index()] = changes[parameter.index()].saturating_add(1);
        if changes[parameter.index()] > PATIENCE {
            joined = widen(joined, data.kind, data.representation);
        }
        data.kind = joined;
        changed = true;
    }
    changed
}

/// Makes a range that grew as large as it can get at that end; zero is a last stop below.
fn widen(kind: Type, before: Type, repr: Representation) -> Type {
    let (Some(new), Some(old)) = (kind.integer_part(), before.integer_part()) else { return kind };
    let all = if repr == Representation::I64 && !Range::SMALL.includes(new) {
        Range::ALL
    } else {
        Range::SMALL
    };
    let least = match new.least < old.least {
        true if new.least >= 0 => 0,
        true => all.least,
        false => new.least,
    };
    let greatest = if new.greatest > old.greatest { all.greatest } else { new.greatest };
    kind.without_integers().join(Type::integers(Range::new(least, greatest)))
}
