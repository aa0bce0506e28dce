//! Functions whose code consists of random instructions with targets on instructions, in frames of a few registers:
//! small enough to explore every path through them. The tests of the flow analyses call it.

use super::Entropy;
use crate::entities::{Register, StringId};
use crate::flow::Nesting;
use crate::instructions::{Opcode, OperandKind};
use crate::module::{Fault, Function, FunctionKind, Region, RegionKind};
use crate::types::RegisterType;

/// Registers of a random function: few, so that instructions get in each other's way.
const REGISTERS: usize = 6;

/// A function of fewer than `length` instructions.
pub(crate) fn random_function(random: &mut Entropy, length: usize) -> Function {
    let opcodes = random.list(length, |random| random.choose(Opcode::ALL));
    let opcodes: Vec<Opcode> =
        opcodes.into_iter().filter(|opcode| !is_structural(*opcode)).collect();
    let mut starts = vec![0];
    for opcode in &opcodes {
        starts.push(starts[starts.len() - 1] + opcode.info().words());
    }
    let mut code = vec![0; starts[opcodes.len()]];
    for (index, &opcode) in opcodes.iter().enumerate() {
        encode(random, opcode, &starts, index, &mut code);
    }
    let registers = (0..REGISTERS).map(|_| match random.below(4) {
        3 => RegisterType::F64,
        _ => RegisterType::Any,
    });
    let registers = registers.collect();
    let kind = random.choose(&FunctionKind::ALL);
    Function {
        name: StringId(0),
        kind,
        parameters: random.below(3) as u8,
        captured: 0,
        registers,
        result: RegisterType::Any,
        home: random.one_in(3).then(|| register(random)),
        constants: Vec::new(),
        sites: Vec::new(),
        regions: regions(random, &starts),
        code,
        lines: Vec::new(),
    }
}

/// Whether an instruction must stand in a certain place among others.
fn is_structural(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(opcode, Par | ParFor | Branch | EndBranch | Accept | EndAccept)
}

fn register(random: &mut Entropy) -> Register {
    Register(random.below(REGISTERS) as u8)
}

fn encode(random: &mut Entropy, opcode: Opcode, starts: &[usize], index: usize, code: &mut [u32]) {
    let words = &mut code[starts[index]..starts[index + 1]];
    words[0] = opcode as u32;
    for operand in opcode.info().operands {
        let value = match operand.kind {
            OperandKind::Target => random.choose(starts) as i64 - starts[index] as i64,
            OperandKind::Window => 1 + random.below(REGISTERS - 1) as i64,
            OperandKind::Immediate => i64::from(random.byte() as i8),
            OperandKind::Count | OperandKind::Special => random.below(3) as i64,
            _ => i64::from(register(random).0),
        };
        operand.field.insert(words, value as u32);
    }
}

/// A few regions, properly nested.
fn regions(random: &mut Entropy, starts: &[usize]) -> Vec<Region> {
    let mut regions = Vec::new();
    for _ in 0..random.below(4) {
        let [start, end, handler] = [(); 3].map(|_| random.choose(starts) as u32);
        let kind = match random.below(3) {
            0 => RegionKind::Ensure,
            1 => RegionKind::Fault(Fault::Any),
            _ => RegionKind::Catch(register(random)),
        };
        regions.push(Region { start, end, handler, value: register(random), kind });
        if Nesting::of(&regions).is_err() {
            regions.pop();
        }
    }
    regions
}
