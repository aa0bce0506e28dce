//! Checks the properties 32 to 37: forks, rendezvous and choices. `function.rs` calls this module.

use super::report::{Place, Report, VerifyError};
use crate::decode::{Instruction, instructions};
use crate::entities::{FunctionId, Register};
use crate::instructions::{Field, Opcode};
use crate::liveness::{ForkMap, FrameMaps};
use crate::module::{Function, FunctionKind};
use crate::register_set::RegisterSet;
use crate::scopes::{self, Scopes};
use crate::types::RegisterType;

/// A problem at a pc.
type Check = Result<(), (usize, String)>;

/// Checks how the instructions of a function follow each other, before its paths are.
pub(super) fn check_structure(id: FunctionId, function: &Function, report: &mut Report) {
    let scopes = match Scopes::find(&function.code) {
        Ok(scopes) => scopes,
        Err((pc, message)) => return report.error(Place::Instruction(id, pc), message),
    };
    let checks = [
        check_kind(function, &scopes),
        scopes::check(function, &scopes),
        check_alternatives(function),
        check_writers(function, &scopes),
    ];
    for (pc, message) in checks.into_iter().filter_map(Result::err) {
        report.error(Place::Instruction(id, pc), message);
    }
}

/// Only functions and processes have scopes: they have no receiver, no closure and no home.
fn check_kind(function: &Function, scopes: &Scopes) -> Check {
    let is_typed = matches!(function.kind, FunctionKind::Plain | FunctionKind::Process);
    match scopes.scopes.first() {
        Some(scope) if !is_typed || function.home.is_some() => {
            let kind = function.kind.name();
            Err((scope.opener, format!("a {kind} has no branches and no rendezvous")))
        }
        _ => Ok(()),
    }
}

/// The alternatives of an `alt` follow it without gaps, and nothing else leads there.
fn check_alternatives(function: &Function) -> Check {
    let mut alternatives = vec![false; function.code.len()];
    let mut is_open = false;
    let mut expects_alternative = false;
    for instruction in instructions(&function.code) {
        let (pc, opcode) = (instruction.pc, instruction.opcode);
        match opcode {
            Opcode::Alt | Opcode::AltPriority if !is_open => is_open = true,
            _ if !is_alternative(opcode) && is_open => {
                return Err((pc, "only alternatives can follow `alt`, up to `alt_end`".into()));
            }
            _ if is_alternative(opcode) && !is_open => {
                return Err((pc, "an alternative must follow `alt`".into()));
            }
            Opcode::AltIf | Opcode::AltEnd if expects_alternative => {
                return Err((pc, "an alternative must follow `alt_if`".into()));
            }
            _ => {}
        }
        alternatives[pc] = is_open && is_alternative(opcode);
        expects_alternative = opcode == Opcode::AltIf;
        is_open &= opcode != Opcode::AltEnd;
    }
    if is_open {
        return Err((function.code.len(), "`alt_end` is missing".into()));
    }
    check_ways_to(function, &alternatives)
}

fn is_alternative(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(opcode, AltIf | AltRead | AltAfter | AltSkip | AltEnd)
}

/// No jump, no region and no handler begins at an alternative.
fn check_ways_to(function: &Function, alternatives: &[bool]) -> Check {
    let is_alternative = |pc: usize| alternatives.get(pc).copied().unwrap_or(false);
    for instruction in instructions(&function.code) {
        if instruction.targets().any(|target| is_alternative(target as usize)) {
            return Err((instruction.pc, "the target is an alternative".into()));
        }
    }
    for region in &function.regions {
        for pc in [region.start, region.end, region.handler] {
            if is_alternative(pc as usize) {
                return Err((pc as usize, "a region cannot begin or end at an alternative".into()));
            }
        }
    }
    Ok(())
}

/// The register that `accept` puts the writer into does not change until `end_accept`.
fn check_writers(function: &Function, scopes: &Scopes) -> Check {
    if scopes.scopes.iter().all(|scope| scope.fork.is_some()) {
        return Ok(());
    }
    let writer = |scope: usize| {
        let opener = Instruction::decode(&function.code, scopes.scopes[scope].opener).ok()?;
        (opener.opcode == Opcode::Accept).then(|| opener.register(Field::B))
    };
    let kept = |pc: usize| -> RegisterSet { scopes.around(pc).filter_map(writer).collect() };
    for instruction in instructions(&function.code) {
        let (pc, effects) = (instruction.pc, instruction.effects());
        if instruction.opcode == Opcode::Accept
            && instruction.register(Field::A) == instruction.register(Field::B)
        {
            return Err((pc, "`accept` writes two different registers".into()));
        }
        let Some(innermost) = scopes.innermost(pc) else { continue };
        let lost = (effects.defined() | effects.destroyed()) & kept(pc);
        if let Some(register) = lost.iter().next() {
            return Err((pc, format!("{register} must be kept for `end_accept`")));
        }
        if instruction.opcode == Opcode::EndAccept
            && writer(innermost) != Some(instruction.register(Field::A))
        {
            return Err((pc, "this is not the writer that `accept` has named".into()));
        }
    }
    let values =
        function.regions.iter().find(|region| kept(region.start as usize).contains(region.value));
    match values {
        Some(region) => {
            let value = region.value;
            Err((region.start as usize, format!("{value} must be kept for `end_accept`")))
        }
        None => Ok(()),
    }
}

/// Checks that branches do not get in each other's way, in a function that has all other properties.
pub(super) fn check_forks(id: FunctionId, function: &Function, report: &mut Report) {
    let is_fork = |at: Instruction| matches!(at.opcode, Opcode::Par | Opcode::ParFor);
    if !instructions(&function.code).any(is_fork) {
        return;
    }
    let maps = FrameMaps::compute(function);
    let graph_writes = maps.forks();
    for fork in graph_writes {
        for message in races(function, fork) {
            report.error(Place::Instruction(id, fork.pc), message);
        }
    }
}

/// The mistakes of a fork, in words.
fn races(function: &Function, fork: &ForkMap) -> Vec<String> {
    let mut problems = Vec::new();
    for (number, branch) in fork.branches.iter().enumerate() {
        for register in words_of_objects(function, branch.reads) {
            problems.push(format!(
                "{register} is `any`, but branch {number} is a strand of its own, which shares no objects"
            ));
        }
        if fork.is_loop {
            for register in (branch.reads & branch.written).iter() {
                problems.push(format!(
                    "every copy of the body writes {register}, and reads it before: they would race"
                ));
            }
        }
    }
    problems.extend(meetings(fork));
    problems
}

/// Where branches of a fork meet, which would race: each register is looked at once per branch, however
/// many branches there are.
fn meetings(fork: &ForkMap) -> Vec<String> {
    // For each register the first two branches that write it.
    let mut writers: [[Option<usize>; 2]; RegisterSet::CAPACITY] =
        [[None; 2]; RegisterSet::CAPACITY];
    let mut problems = Vec::new();
    for (number, branch) in fork.branches.iter().enumerate() {
        for register in branch.results.iter() {
            let places = &mut writers[register.index()];
            if let Some(other) = places[0] {
                problems.push(format!(
                    "branches {other} and {number} both write {register}: they would race"
                ));
            }
            if let Some(place) = places.iter_mut().find(|place| place.is_none()) {
                *place = Some(number);
            }
        }
        if problems.len() >= VerifyError::MOST {
            return problems;
        }
    }
    for (reader, branch) in fork.branches.iter().enumerate() {
        for register in branch.reads.iter() {
            let mut others = writers[register.index()].iter().flatten();
            if let Some(writer) = others.find(|writer| **writer != reader) {
                problems.push(format!(
                    "branch {reader} reads {register}, which branch {writer} writes: they would race"
                ));
            }
        }
        if problems.len() >= VerifyError::MOST {
            break;
        }
    }
    problems
}

/// Those of the registers that are `any`.
fn words_of_objects(function: &Function, registers: RegisterSet) -> impl Iterator<Item = Register> {
    let all: Vec<Register> = registers.iter().collect();
    let kinds = &function.registers;
    all.into_iter().filter(|register| kinds.get(register.index()) == Some(&RegisterType::Any))
}
