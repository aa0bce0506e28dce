//! Checks the properties 23, 24 and 38: they hold on every path through the code. `function.rs` calls this module for
//! functions that have the properties of their shape and of each instruction.

use super::report::{Place, Report};
use crate::decode::Instruction;
use crate::entities::{FunctionId, Register};
use crate::flow::FlowGraph;
use crate::initialisation::{Initialisation, Initialised};
use crate::instructions::Opcode;
use crate::module::{Function, RegionKind};
use crate::register_set::RegisterSet;

/// Checks the paths of a function that has all the other properties.
pub(super) fn check(id: FunctionId, function: &Function, report: &mut Report) {
    let graph = FlowGraph::build(function);
    let initialisation = Initialisation::compute(function, &graph);
    for (index, block) in graph.blocks.iter().enumerate() {
        let Some(mut state) = initialisation.at_block(index) else { continue };
        let instructions = graph.instructions_of(block);
        if let Some(home) = function.home.filter(|home| depends_on_path(&state, *home)) {
            let message =
                format!("whether there is a home marker in {home} depends on the path here");
            report.error(Place::Instruction(id, instructions[0].pc), message);
        }
        for instruction in instructions {
            if let Err(message) = check_instruction(function, instruction, &state) {
                let mnemonic = instruction.info().mnemonic;
                let message = format!("`{mnemonic}`: {message}");
                report.error(Place::Instruction(id, instruction.pc), message);
            }
            state = state.after(instruction);
        }
        if report.is_full() {
            return;
        }
    }
    check_classes(id, function, &initialisation, report);
}

fn depends_on_path(state: &Initialised, register: Register) -> bool {
    state.definitely.contains(register) != state.possibly.contains(register)
}

fn check_instruction(
    function: &Function,
    instruction: &Instruction,
    state: &Initialised,
) -> Result<(), String> {
    let (opcode, effects) = (instruction.opcode, instruction.effects());
    let missing: RegisterSet = effects.uses - state.definitely;
    if let Some(register) = missing.iter().next() {
        let here =
            if state.possibly.contains(register) { "on every path to this place" } else { "here" };
        return Err(format!("{register} is not initialised {here}"));
    }
    let tokens = effects.uses & state.tokens;
    if let Some(token) = tokens.iter().next().filter(|_| opcode != Opcode::ResumeUnwind) {
        return Err(format!(
            "{token} may hold the token of an unwinding, which only `resume_unwind` reads"
        ));
    }
    let at_home = function.home.is_some_and(|home| state.possibly.contains(home));
    match opcode {
        Opcode::MakeHome if at_home => Err("there is a home marker already".into()),
        Opcode::Return if at_home => {
            Err("where there is a home marker, a function is left by return_home".into())
        }
        _ if at_home && function.home.is_some_and(|home| effects.destroyed().contains(home)) => {
            Err("the call destroys the home marker".into())
        }
        _ => Ok(()),
    }
}

/// The unwinder reads the class register of a region wherever an exception leaves it.
fn check_classes(
    id: FunctionId,
    function: &Function,
    initialisation: &Initialisation,
    report: &mut Report,
) {
    for (index, region) in function.regions.iter().enumerate() {
        let (RegionKind::Catch(class), Some(state)) =
            (region.kind, initialisation.in_region(index))
        else {
            continue;
        };
        if !state.definitely.contains(class) {
            let message = format!(
                "the class register {class} of region {index} is not initialised in all of it"
            );
            report.error(Place::Function(id), message);
        }
    }
}
