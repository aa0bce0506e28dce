//! Damages the table of types, imports and exports. `mutation` calls it for some of its damages.

use squall_bytecode::entities::{FunctionId, StringId, TypeId};
use squall_bytecode::module::{Export, Import, Module};
use squall_bytecode::types::{RegisterType, TypeDefinition};

use crate::choices::Choices;

/// A type, mostly one that exists in a table with this many rows.
pub(super) fn any(choices: &mut Choices, rows: usize) -> RegisterType {
    if choices.one_in(2) {
        return RegisterType::Defined(TypeId(choices.below(rows + 1) as u16));
    }
    choices.of(&RegisterType::BASIC)
}

/// Changes the table of types, or a row of it.
pub(super) fn change(choices: &mut Choices, module: &mut Module) {
    let rows = module.types.len();
    let [left, right] = [any(choices, rows), any(choices, rows)];
    let new = match choices.below(12) {
        0 => TypeDefinition::Tuple(vec![left, right]),
        1 => TypeDefinition::List(left),
        2 => TypeDefinition::Map(left, right),
        3 => TypeDefinition::Channel(left),
        4 => TypeDefinition::Reader(left),
        5 => TypeDefinition::Writer(left),
        6 => TypeDefinition::Barrier,
        7 => TypeDefinition::Bucket,
        8 => TypeDefinition::Function { parameters: vec![left], result: right },
        9 => TypeDefinition::Process { parameters: vec![left, right] },
        _ => return part(choices, module, left),
    };
    match choices.index(&module.types) {
        Some(row) if choices.one_in(2) => module.types[row] = new,
        _ => module.types.push(new),
    }
}

/// Replaces one of the types that a row is made of.
fn part(choices: &mut Choices, module: &mut Module, new: RegisterType) {
    let Some(row) = choices.element_mut(&mut module.types) else { return };
    let replaced = choices.below(row.parts().count().max(1));
    let mut place = 0;
    *row = row.map(|old| {
        place += 1;
        if place == replaced + 1 { new } else { old }
    });
}

/// Changes an import or an export.
pub(super) fn links(choices: &mut Choices, module: &mut Module) {
    let function = FunctionId(choices.below(module.functions.len().max(1)) as u32);
    let name = StringId(choices.below(module.strings.len().max(1)) as u32);
    match choices.below(6) {
        0..3 => {
            module.exports.retain(|export| export.name != name);
            module.exports.push(Export { name, function });
        }
        3 => _ = module.exports.pop(),
        4 => {
            let import = Import { module: name, requirement: None, functions: vec![function] };
            match choices.element_mut(&mut module.imports) {
                Some(import) => import.functions.push(function),
                None => module.imports.push(import),
            }
        }
        _ => {
            if let Some(import) = choices.element_mut(&mut module.imports) {
                import.module = name;
            }
        }
    }
}
