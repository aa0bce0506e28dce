//! Damages modules: their bytes, or their parts. Fuzz targets and tests then decode, verify and run them.
//!
//! The decoder refuses most damaged bytes. Damaged parts make modules that can be decoded, and many of these pass the
//! verifier: senseless modules that may run.

use squall_bytecode::decode::instructions;
use squall_bytecode::entities::{ClassId, FunctionId, Register, StringId};
use squall_bytecode::format;
use squall_bytecode::instructions::{Opcode, OperandKind};
use squall_bytecode::module::*;
use squall_bytecode::types::RegisterType;

use crate::choices::Choices;

mod code;
mod types;

/// A damaged form of a module file, with the right checksum. `donor` is another module file.
pub fn damage_bytes(choices: &mut Choices, bytes: &[u8], donor: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=choices.below(3) {
        match choices.below(4) {
            0 => flip_bits(choices, &mut bytes),
            1 => bytes.truncate(choices.below(bytes.len() + 1)),
            2 => splice(choices, &mut bytes, donor),
            _ => swap_sections(choices, &mut bytes),
        }
    }
    format::seal(&mut bytes);
    bytes
}

fn flip_bits(choices: &mut Choices, bytes: &mut [u8]) {
    for _ in 0..=choices.below(4) {
        let bit = 1 << choices.below(8);
        if let Some(byte) = choices.element_mut(bytes) {
            *byte ^= bit;
        }
    }
}

/// Replaces a range by one of another file, or of this one.
fn splice(choices: &mut Choices, bytes: &mut Vec<u8>, donor: &[u8]) {
    let own = bytes.clone();
    let donor = if choices.below(2) == 0 { donor } else { &own };
    let (Some(from), Some(to)) = (choices.index(donor), choices.index(bytes)) else { return };
    let length = 1 + choices.below(64);
    let piece = &donor[from..donor.len().min(from + length)];
    let replaced = if choices.below(2) == 0 { piece.len() } else { choices.below(64) };
    let end = bytes.len().min(to + replaced);
    bytes.splice(to..end, piece.iter().copied());
}

/// Exchanges two of the sections.
fn swap_sections(choices: &mut Choices, bytes: &mut Vec<u8>) {
    let Some(mut sections) = sections_of(bytes) else { return };
    let (one, other) = (choices.below(sections.len()), choices.below(sections.len()));
    sections.swap(one, other);
    let header = bytes[..HEADER_LENGTH].to_vec();
    *bytes = [header, sections.concat()].concat();
}

const HEADER_LENGTH: usize = 12;

/// The sections with their headers: a number, and a length in LEB128.
fn sections_of(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut rest = bytes.get(HEADER_LENGTH..)?;
    let mut sections = Vec::new();
    while !rest.is_empty() {
        let mut length = 0usize;
        let mut at = 1;
        loop {
            let byte = *rest.get(at)?;
            length |= usize::from(byte & 127).checked_shl(7 * (at as u32 - 1))?;
            at += 1;
            if byte < 128 {
                break;
            }
        }
        let section = rest.get(..at.checked_add(length)?)?;
        sections.push(section.to_vec());
        rest = &rest[section.len()..];
    }
    (!sections.is_empty()).then_some(sections)
}

/// Damages some parts of a module.
pub fn damage_module(choices: &mut Choices, module: &mut Module, donor: &Module) {
    for _ in 0..=choices.below(3) {
        match choices.below(16) {
            0..4 => operand(choices, module),
            4 => opcode(choices, module),
            5 => swap_instructions(choices, module),
            6 => site(choices, module),
            7 => signature(choices, module),
            8 => region_or_constant(choices, module, donor),
            9 => class(choices, module),
            10 => string(choices, module, donor),
            11 => body(choices, module, donor),
            12 | 13 => code::edit(choices, module),
            14 => types::change(choices, module),
            _ => types::links(choices, module),
        }
    }
}

fn function<'m>(choices: &mut Choices, module: &'m mut Module) -> Option<&'m mut Function> {
    choices.element_mut(&mut module.functions)
}

/// Gives an operand another value, mostly one that another operand of its kind has.
fn operand(choices: &mut Choices, module: &mut Module) {
    let Some(function) = function(choices, module) else { return };
    let all: Vec<_> = instructions(&function.code).collect();
    let Some(instruction) = choices.element(&all) else { return };
    let Some((operand, value)) = choices.element(&instruction.operands().collect::<Vec<_>>())
    else {
        return;
    };
    let is_register = |kind| {
        use OperandKind::{Define, Update, Use};
        matches!(kind, Define(_) | Use(_) | Update(_))
    };
    let peers = all.iter().flat_map(|instruction| instruction.operands());
    let peers = peers.filter(|(peer, _)| {
        peer.kind == operand.kind || is_register(peer.kind) && is_register(operand.kind)
    });
    let peers: Vec<i64> = peers.map(|(_, value)| value).collect();
    let new = match choices.below(4) {
        0 => value + 1,
        1 => value - 1,
        2 if operand.kind == OperandKind::Target => {
            let target = choices.element(&all).map_or(0, |instruction| instruction.pc);
            target as i64 - instruction.pc as i64
        }
        _ => choices.element(&peers).unwrap_or_default(),
    };
    operand.field.insert(&mut function.code[instruction.pc..], new as u32);
}

/// Replaces an opcode by another one of an instruction of the same length.
fn opcode(choices: &mut Choices, module: &mut Module) {
    let Some(function) = function(choices, module) else { return };
    let all: Vec<_> = instructions(&function.code).collect();
    let Some(instruction) = choices.element(&all) else { return };
    let fitting = |opcode: &Opcode| opcode.info().words() == instruction.words().len();
    let opcodes: Vec<Opcode> = Opcode::ALL.iter().copied().filter(fitting).collect();
    if let Some(opcode) = choices.element(&opcodes) {
        let word = &mut function.code[instruction.pc];
        *word = *word & !0xff | opcode as u32;
    }
}

/// Exchanges two instructions of the same length.
fn swap_instructions(choices: &mut Choices, module: &mut Module) {
    let Some(function) = function(choices, module) else { return };
    let all: Vec<_> = instructions(&function.code).collect();
    let (Some(one), Some(other)) = (choices.element(&all), choices.element(&all)) else { return };
    if one.words().len() == other.words().len() {
        for word in 0..one.words().len() {
            function.code.swap(one.pc + word, other.pc + word);
        }
    }
}

fn site(choices: &mut Choices, module: &mut Module) {
    let (classes, strings) = (module.classes.len().max(1), module.strings.len().max(1));
    let Some(function) = function(choices, module) else { return };
    let other = choices.element(&function.sites);
    let class = ClassId(choices.below(classes) as u32);
    let side = if choices.below(3) == 0 { Side::Class } else { Side::Instance };
    let name = StringId(choices.below(strings) as u32);
    let Some(site) = choices.element_mut(&mut function.sites) else { return };
    match (site, choices.below(4)) {
        (site, 0) => *site = other.expect("there is one"),
        (Site::Send { selector, .. }, 1) => *selector = name,
        (Site::Send { access, .. }, _) => *access = any_access(choices, class, side),
        (Site::Enclosing(old, old_side), _) => (*old, *old_side) = (class, side),
        (Site::Captures(old) | Site::ClassSlot(old), _) => *old = class,
        (Site::InitializeSlot(old, old_name), _) => (*old, *old_name) = (class, name),
    }
}

fn any_access(choices: &mut Choices, class: ClassId, side: Side) -> Access {
    match choices.below(8) {
        0 => Access::Public,
        1 => Access::Lexical,
        2 => Access::Private(class, side),
        3 => Access::Super(class, side),
        4 => Access::Initializer(class),
        5 => Access::OwnInitializer(class),
        6 => Access::SuperInitializer(class),
        _ => Access::MixinInitializer(class, choices.below(2) as u8),
    }
}

fn signature(choices: &mut Choices, module: &mut Module) {
    let table = module.types.len();
    let Some(function) = function(choices, module) else { return };
    let register = Register(choices.below(function.registers.len().max(1)) as u8);
    match choices.below(7) {
        0 => function.registers.push(RegisterType::Any),
        1 => _ = function.registers.pop(),
        2 => {
            let new = types::any(choices, table);
            if let Some(old) = choices.element_mut(&mut function.registers) {
                *old = new;
            }
        }
        3 => function.parameters = function.parameters.wrapping_add([1, 255][choices.below(2)]),
        4 => function.captured = function.captured.wrapping_add([1, 65535][choices.below(2)]),
        5 => function.home = (choices.below(2) == 0).then_some(register),
        _ => function.kind = choices.of(&FunctionKind::ALL),
    }
}

fn region_or_constant(choices: &mut Choices, module: &mut Module, donor: &Module) {
    let given =
        choices.element(&donor.functions).and_then(|donor| choices.element(&donor.constants));
    let Some(function) = function(choices, module) else { return };
    if let Some(constant) = choices.element_mut(&mut function.constants) {
        *constant = match (given, choices.below(4)) {
            (Some(given), 0..2) => given,
            (_, 2) => Constant::Integer((u64::MAX - choices.below(9) as u64).into()),
            _ => Constant::Double(f64::from_bits(choices.bits())),
        };
    }
    let pc = choices.below(function.code.len().max(1)) as u32;
    let Some(at) = choices.index(&function.regions) else { return };
    match choices.below(6) {
        0 => function.regions[at].start = pc,
        1 => function.regions[at].end = pc,
        2 => function.regions[at].handler = pc,
        3 => function.regions[at].kind = RegionKind::Ensure,
        4 => function.regions[at].value = Register(choices.below(12) as u8),
        _ => _ = function.regions.remove(at),
    }
}

fn class(choices: &mut Choices, module: &mut Module) {
    let (strings, functions) = (module.strings.len().max(1), module.functions.len().max(1));
    let classes = module.classes.len().max(1);
    let Some(class) = choices.element_mut(&mut module.classes) else { return };
    let function = FunctionId(choices.below(functions) as u32);
    let name = StringId(choices.below(strings) as u32);
    match choices.below(12) {
        0 => class.factory = function,
        1 => class.initializer = function,
        2 => class.own_initializer = function,
        3 => class.accessor = (choices.below(4) > 0).then_some(function),
        4 => class.factory_selector = name,
        5 => class.outer = Some(ClassId(choices.below(classes) as u32)),
        6 => std::mem::swap(&mut class.initializer, &mut class.own_initializer),
        7 => std::mem::swap(&mut class.methods, &mut class.class_methods),
        8 => slots(choices, class, name),
        _ => methods(choices, class, name, function),
    }
}

fn slots(choices: &mut Choices, class: &mut ClassDefinition, name: StringId) {
    let visibility = Visibility::ALL[choices.below(3)];
    match (choices.below(4), choices.index(&class.slots)) {
        (0, _) | (_, None) => class.slots.push(Slot { name, mutable: true, visibility }),
        (1, Some(at)) => _ = class.slots.remove(at),
        (2, Some(at)) => class.slots[at].mutable ^= true,
        (_, Some(at)) => class.slots[at].visibility = visibility,
    }
}

fn methods(
    choices: &mut Choices,
    class: &mut ClassDefinition,
    name: StringId,
    function: FunctionId,
) {
    let other = choices.element(&class.methods);
    let Some(at) = choices.index(&class.methods) else { return };
    match choices.below(4) {
        0 => class.methods[at].function = function,
        1 => class.methods[at].selector = name,
        2 => class.methods[at].visibility = Visibility::ALL[choices.below(3)],
        _ => class.methods[at].function = other.expect("there is one").function,
    }
}

/// Selectors that mean something to the machine or to important classes of the library.
const SELECTORS: &[&str] = &[
    "Object",
    "Value",
    "Array",
    "new",
    "new:",
    "value",
    "value:",
    "signal",
    "class",
    "size",
    "at:",
    "at:put:",
    "resolve:",
    "asString",
    "println",
    "+",
    "=",
    "ifTrue:",
    "do:",
    "whenResolved:",
];

fn string(choices: &mut Choices, module: &mut Module, donor: &Module) {
    let known = SELECTORS[choices.below(SELECTORS.len())].to_owned();
    let given = choices.element(&donor.strings).unwrap_or_default();
    let own = choices.element(&module.strings).unwrap_or_default();
    let Some(at) = choices.index(&module.strings) else { return };
    let new = [known, given, own.clone() + ":", own][choices.below(4)].clone();
    match module.strings.iter().position(|string| *string == new) {
        Some(other) => module.strings.swap(at, other),
        None => module.strings[at] = new,
    }
}

/// Replaces the body of a function, or of a class, by that of another one.
fn body(choices: &mut Choices, module: &mut Module, donor: &Module) {
    let own = choices.element(&module.functions);
    let given = choices.element(&donor.functions);
    if choices.below(8) == 0 {
        let other = choices.element(&module.classes);
        if let (Some(class), Some(other)) = (choices.element_mut(&mut module.classes), other) {
            *class = other;
        }
        return;
    }
    let source = if choices.below(2) == 0 { own } else { given };
    let (Some(function), Some(source)) = (function(choices, module), source) else { return };
    let name = function.name;
    *function = Function { name, ..source };
}
