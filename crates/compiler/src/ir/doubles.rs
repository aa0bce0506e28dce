//! Which doubles need no box. The verifier asks for those that are tagged, and the passes for those that are guarded.

use crate::ir::entities::Value;
use crate::ir::operations::Op;
use crate::ir::types::Type;
use crate::ir::{Definition, Unit};
use crate::words;

/// Whether a raw double is known to need no box.
pub fn is_immediate(unit: &Unit, value: Value) -> bool {
    let Some(inst) = unit.definition(value) else { return false };
    match inst.op {
        Op::UntagDouble | Op::NumberToDouble | Op::GuardImmediate => true,
        Op::ToDouble => unit.kind(inst.arguments[0]).is(Type::INTEGER),
        Op::FloatNegate => is_immediate(unit, inst.arguments[0]),
        Op::Float(bits) => words::double_word(f64::from_bits(bits.0)).is_some(),
        _ => false,
    }
}

/// Doubles, and those that they are the same as or come from by a change of sign, through parameters, too.
pub fn with_sources(unit: &Unit, mut pending: Vec<Value>) -> Vec<bool> {
    let predecessors = unit.predecessors();
    let mut all = vec![false; unit.values.len()];
    while let Some(value) = pending.pop() {
        let value = unit.resolve(value);
        if std::mem::replace(&mut all[value.index()], true) {
            continue;
        }
        match unit.values[value.index()].definition {
            Definition::Result(inst) if unit.inst(inst).op == Op::FloatNegate => {
                pending.push(unit.inst(inst).arguments[0]);
            }
            Definition::Parameter(block) => {
                let parameters = &unit.block(block).parameters;
                let index = parameters.iter().position(|each| *each == value);
                let index = index.expect("the block has its parameters");
                for &from in &predecessors[block.index()] {
                    let jumps = unit.block(from).end.jumps().filter(|jump| jump.block == block);
                    pending.extend(jumps.map(|jump| jump.arguments[index]));
                }
            }
            _ => {}
        }
    }
    all
}
