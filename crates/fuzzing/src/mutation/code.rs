//! Inserts and removes instructions in the code of a function. `mutation` calls this module for some of its damages.
//! Jumps, regions and lines follow.

use std::collections::HashMap;

use squall_bytecode::decode::{Instruction, instructions};
use squall_bytecode::instructions::OperandKind;
use squall_bytecode::module::{Function, Module};

use crate::choices::Choices;

/// Repeats an instruction elsewhere, moves it, or takes it out.
pub(super) fn edit(choices: &mut Choices, module: &mut Module) {
    let Some(function) = choices.element_mut(&mut module.functions) else { return };
    let all: Vec<Instruction> = instructions(&function.code).collect();
    let (Some(from), Some(to)) = (choices.index(&all), choices.index(&all)) else { return };
    let mut order: Vec<usize> = (0..all.len()).collect();
    match choices.below(3) {
        0 => _ = order.remove(from),
        1 => order.insert(to, from),
        _ => {
            let moved = order.remove(from);
            order.insert(to, moved);
        }
    }
    rebuild(function, &all, &order);
}

/// Rewrites the code with these of its instructions, in this order.
fn rebuild(function: &mut Function, all: &[Instruction], order: &[usize]) {
    let end = all.last().map_or(0, Instruction::next_pc);
    let mut places = HashMap::new();
    let mut length = 0;
    for &index in order {
        places.entry(all[index].pc).or_insert(length);
        length += all[index].words().len();
    }
    places.insert(end, length);
    // The place of a removed instruction is now that of its successor.
    for instruction in all.iter().rev() {
        let next = places.get(&instruction.next_pc()).copied().unwrap_or(length);
        places.entry(instruction.pc).or_insert(next);
    }
    let place = |pc: usize| places.get(&pc).copied().unwrap_or(length);
    let mut code = Vec::with_capacity(length);
    for &index in order {
        let (instruction, start) = (&all[index], code.len());
        code.extend_from_slice(instruction.words());
        for (operand, distance) in instruction.operands() {
            if operand.kind == OperandKind::Target {
                let target = usize::try_from(instruction.pc as i64 + distance).unwrap_or(end);
                let distance = place(target) as i64 - start as i64;
                operand.field.insert(&mut code[start..], distance as u32);
            }
        }
    }
    function.code = code;
    for region in &mut function.regions {
        for pc in [&mut region.start, &mut region.end, &mut region.handler] {
            *pc = place(*pc as usize) as u32;
        }
    }
    function.lines.clear();
}
