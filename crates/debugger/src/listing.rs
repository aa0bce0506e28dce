//! The bytecode of functions as text, for the protocol's `disassemble`; and the places of a text where code begins. `looks`
//! calls this module.
//!
//! The address of an instruction is that of its first code word. Code words never move.

use squall_bytecode::decode::{Instruction, instructions};
use squall_bytecode::instructions::{OperandKind, Special};
use squall_bytecode::module::{Constant, Site};
use squall_runtime::model::function::Function;
use squall_runtime::model::module::LoadedModule;
use squall_runtime::state::debugging::Place;
use squall_runtime::state::vm::Vm;

use crate::places::{functions, key};

/// The instruction at an address; `None` if none begins there.
pub fn place_at(vm: &'static Vm, address: usize) -> Option<Place> {
    let modules = vm.modules.all();
    modules.flat_map(functions).find_map(|function| {
        let start = function.code.as_ptr().addr();
        let pc = address.checked_sub(start)? / size_of_val(function.code.first()?);
        let code = &function.bytecode().code;
        let begins = |instruction: Instruction| instruction.pc == pc;
        let is_there = pc < code.len() && instructions(code).any(begins);
        (is_there && key((function, pc)) == address).then_some((function, pc))
    })
}

/// The instructions of a function.
pub fn lines(function: &'static Function) -> Vec<(Place, String)> {
    let all = instructions(&function.bytecode().code);
    all.map(|instruction| ((function, instruction.pc), text(function, &instruction))).collect()
}

/// An instruction as text.
fn text(function: &'static Function, instruction: &Instruction) -> String {
    let operands = instruction.operands().filter(|(operand, _)| operand.kind != OperandKind::Link);
    let operands: Vec<String> = operands
        .map(|(operand, value)| operand_text(function, instruction, operand.kind, value))
        .collect();
    format!("{:<18} {}", instruction.info().mnemonic, operands.join(", ")).trim_end().to_owned()
}

fn operand_text(
    function: &'static Function,
    instruction: &Instruction,
    kind: OperandKind,
    value: i64,
) -> String {
    let bytecode = function.bytecode();
    let module = &function.module.bytecode;
    let index = value as usize;
    match kind {
        OperandKind::Define(_)
        | OperandKind::Use(_)
        | OperandKind::Update(_)
        | OperandKind::Window
        | OperandKind::Range => format!("r{value}"),
        OperandKind::Special => {
            Special::ALL.get(index).map_or("?", |special| special.name()).to_owned()
        }
        OperandKind::Target => format!("→{}", instruction.pc as i64 + value),
        OperandKind::Constant => match bytecode.constants.get(index) {
            Some(Constant::Integer(value)) => value.to_string(),
            Some(Constant::Double(value)) => value.to_string(),
            Some(Constant::String(id)) => format!("{:?}", module.string(*id)),
            Some(Constant::Symbol(id)) => format!("#{}", module.string(*id)),
            Some(Constant::Raw(_, bits)) => format!("{bits:#x}"),
            None => "?".into(),
        },
        OperandKind::Site(_) => match bytecode.sites.get(index) {
            Some(Site::Send { selector, .. }) => format!("{:?}", module.string(*selector)),
            Some(Site::InitializeSlot(_, name)) => format!("slot {:?}", module.string(*name)),
            _ => format!("site{value}"),
        },
        OperandKind::Function => format!("fn{value}"),
        OperandKind::Class => format!("class{value}"),
        OperandKind::Primitive => {
            let name = u32::try_from(value).map(squall_bytecode::entities::StringId);
            format!("{:?}", name.map_or("?", |name| module.string(name)))
        }
        OperandKind::Count | OperandKind::Immediate | OperandKind::Index | OperandKind::Link => {
            value.to_string()
        }
    }
}

/// Lines and columns of a module's text where code begins, from one line to another.
pub fn locations(module: &'static LoadedModule, from: u32, to: u32) -> Vec<(u32, u32)> {
    let entries = functions(module).flat_map(|function| &function.bytecode().lines);
    let inside = entries.filter(|entry| (from..=to).contains(&entry.line));
    let mut locations: Vec<(u32, u32)> = inside.map(|entry| (entry.line, entry.column)).collect();
    locations.sort_unstable();
    locations.dedup();
    locations
}

/// The instructions of a function where code of a line begins, in order.
pub fn places_of_line(function: &'static Function, line: u32) -> Vec<usize> {
    let entries = function.bytecode().lines.iter().filter(|entry| entry.line == line);
    entries.map(|entry| entry.pc as usize).collect()
}
