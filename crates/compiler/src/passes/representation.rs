//! Chooses raw representations for parameters: a loop's counter that is tagged at the end of each turn and untagged at
//! its beginning is a raw integer all the time. [`crate::optimise`] runs this pass after `entries`. The passes before
//! leave conversions everywhere; the ones that face each other fold away once the parameters between them are raw.
//!
//! A word parameter becomes raw if its type allows that and some code takes it untagged. Its arguments are untagged
//! where the jumps are, which costs nothing for those that were tagged before. States keep words: the tagging is done
//! where a state is stored, as the lowering makes pure operations where they are used.

use crate::ir::entities::{Block, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Representation, Type};
use crate::ir::{Unit, ValueData};
use crate::passes::simplify::{convert, simplify};

/// Makes parameters raw, as long as there are some that gain.
pub fn representation(unit: &mut Unit) {
    loop {
        let chosen = choose(unit);
        if chosen.is_empty() {
            break;
        }
        for (block, parameter, repr) in chosen {
            make_raw(unit, block, parameter, repr);
        }
        simplify(unit);
    }
}

/// The parameters that become raw.
fn choose(unit: &Unit) -> Vec<(Block, Value, Representation)> {
    let untagged = untagged_values(unit);
    let order = unit.reverse_post_order();
    let parameters = order.into_iter().flat_map(|block| {
        unit.block(block).parameters.iter().map(move |&parameter| (block, parameter))
    });
    let suitable = parameters.filter_map(|(block, parameter)| {
        let ValueData { representation, kind, .. } = unit.values[parameter.index()];
        if representation != Representation::Word || kind == Type::NONE {
            return None;
        }
        let repr = [
            (Type::INTEGER, Representation::I64),
            (Type::DOUBLE, Representation::F64),
            (Type::BOOLEAN, Representation::Bool),
        ];
        let repr = repr.into_iter().find(|(all, _)| kind.is(*all))?.1;
        untagged[parameter.index()].then_some((block, parameter, repr))
    });
    suitable.collect()
}

/// For each value whether code takes it untagged: directly, by a refinement, or as an argument of a parameter that is
/// taken so.
fn untagged_values(unit: &Unit) -> Vec<bool> {
    let mut untagged = vec![false; unit.values.len()];
    let order = unit.reverse_post_order();
    for &block in &order {
        for &inst in &unit.block(block).instructions {
            let data = unit.inst(inst);
            if matches!(data.op, Op::UntagInteger | Op::UntagDouble | Op::UntagBoolean) {
                untagged[unit.root(data.arguments[0]).index()] = true;
            }
        }
    }
    untagged
}

fn make_raw(unit: &mut Unit, block: Block, parameter: Value, repr: Representation) {
    let kind = unit.kind(parameter);
    let parameters = &unit.block(block).parameters;
    let index = parameters.iter().position(|each| *each == parameter);
    let index = index.expect("the parameter was found in the block");
    let raw = unit.add_parameter(block, repr, kind);
    unit.blocks[block.index()].parameters.pop();
    unit.blocks[block.index()].parameters[index] = raw;
    let op = match repr {
        Representation::I64 => Op::TagInteger,
        Representation::F64 => Op::TagDouble,
        _ => Op::TagBoolean,
    };
    let tagged = unit.make_typed(op, &[raw], None, kind);
    unit.blocks[block.index()].instructions.insert(0, tagged);
    let word = unit.inst(tagged).result.expect("a conversion has a result");
    unit.replace(parameter, word);
    for source in unit.predecessors()[block.index()].clone() {
        convert_arguments(unit, source, block, index, repr);
    }
    unit.resolve_all();
}

/// Untags the argument of each jump from a block to another one.
fn convert_arguments(
    unit: &mut Unit,
    source: Block,
    block: Block,
    index: usize,
    repr: Representation,
) {
    for number in 0..2 {
        let jump = unit.block(source).end.jumps().nth(number);
        let Some(jump) = jump.filter(|jump| jump.block == block) else { continue };
        let argument = unit.resolve(jump.arguments[index]);
        if unit.representation(argument) == repr {
            continue;
        }
        let inst = convert(unit, argument, repr).expect("the representation is raw");
        unit.blocks[source.index()].instructions.push(inst);
        let value = unit.inst(inst).result.expect("a conversion has a result");
        if let Some(jump) = unit.blocks[source.index()].end.jumps_mut().nth(number) {
            jump.arguments[index] = value;
        }
    }
}
