//! Writes the binary form; the reader mirrors it function by function. `squall asm`, the build and the tests call
//! [`encode`].

use num_bigint::BigInt;

use super::error::{EncodeError, Section};
use super::{HEADER_LENGTH, MAGIC, MAXIMUM_REGISTERS, VERSION};
use crate::entities::FunctionId;
use crate::module::{
    Access, ClassDefinition, Constant, Export, Function, Import, LineEntry, Method, Module, Region,
    RegionKind, Side, Site, Slot,
};
use crate::types::{RegisterType, TypeDefinition};

/// The binary form of a module, which need not be a correct one.
pub fn encode(module: &Module) -> Result<Vec<u8>, EncodeError> {
    let oversized = |function: &Function| function.registers.len() > MAXIMUM_REGISTERS;
    if let Some(index) = module.functions.iter().position(oversized) {
        return Err(EncodeError::TooManyRegisters(FunctionId(index as u32)));
    }
    let mut file = Writer::default();
    file.bytes.extend(MAGIC);
    file.bytes.extend(VERSION.to_le_bytes());
    file.bytes.resize(HEADER_LENGTH, 0);
    file.section(Section::Module, |content| {
        content.optional(module.path.map(|id| id.0));
        content.optional(module.main_class.map(|id| id.0));
        content.optional(module.name.map(|id| id.0));
        content.optional(module.version.map(|id| id.0));
    });
    let strings = |text: &String, entry: &mut Writer| entry.bytes.extend(text.as_bytes());
    file.section(Section::Strings, |content| content.table(&module.strings, strings));
    file.section(Section::Functions, |content| content.table(&module.functions, write_function));
    file.section(Section::Classes, |content| content.table(&module.classes, write_class));
    file.section(Section::Types, |content| content.table(&module.types, write_definition));
    file.section(Section::Links, |content| {
        content.list(&module.imports, write_import);
        content.list(&module.exports, write_export);
    });
    let mut bytes = file.bytes;
    if u32::try_from(bytes.len()).is_err() {
        return Err(EncodeError::TooLarge);
    }
    super::seal(&mut bytes);
    Ok(bytes)
}

/// Bytes under construction.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    fn number(&mut self, value: impl Into<u64>) {
        let mut rest = value.into();
        while rest >= 0x80 {
            self.u8(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.u8(rest as u8);
    }

    fn signed(&mut self, value: i64) {
        self.number((value << 1 ^ value >> 63) as u64);
    }

    fn distance(&mut self, value: u32, base: u32) {
        self.signed(i64::from(value) - i64::from(base));
    }

    fn optional(&mut self, index: Option<u32>) {
        self.number(index.map_or(0, |index| u64::from(index) + 1));
    }

    fn list<T>(&mut self, elements: &[T], mut write: impl FnMut(&mut Writer, &T)) {
        self.number(elements.len() as u64);
        elements.iter().for_each(|element| write(self, element));
    }

    fn section(&mut self, section: Section, write: impl FnOnce(&mut Writer)) {
        let mut content = Writer::default();
        write(&mut content);
        self.u8(section as u8);
        self.number(content.bytes.len() as u64);
        self.bytes.append(&mut content.bytes);
    }

    fn table<T>(&mut self, entries: &[T], write: impl Fn(&T, &mut Writer)) {
        let mut content = Writer::default();
        self.number(entries.len() as u64);
        for entry in entries {
            let start = content.bytes.len();
            write(entry, &mut content);
            self.number((content.bytes.len() - start) as u64);
        }
        self.bytes.append(&mut content.bytes);
    }
}

fn write_type(out: &mut Writer, kind: &RegisterType) {
    out.number(kind.code());
}

fn write_definition(definition: &TypeDefinition, out: &mut Writer) {
    out.u8(definition.code());
    match definition {
        TypeDefinition::Tuple(parts) | TypeDefinition::Process { parameters: parts } => {
            out.list(parts, write_type);
        }
        TypeDefinition::Function { parameters, result } => {
            out.list(parameters, write_type);
            write_type(out, result);
        }
        one_or_two => one_or_two.parts().for_each(|part| write_type(out, &part)),
    }
}

fn write_import(out: &mut Writer, import: &Import) {
    out.number(import.module.0);
    out.optional(import.requirement.map(|id| id.0));
    out.list(&import.functions, |out, function| out.number(function.0));
}

fn write_export(out: &mut Writer, export: &Export) {
    out.number(export.name.0);
    out.number(export.function.0);
}

fn write_function(function: &Function, out: &mut Writer) {
    out.number(function.name.0);
    out.u8(function.kind as u8);
    out.u8(function.parameters);
    out.number(function.captured);
    write_registers(&function.registers, out);
    write_type(out, &function.result);
    out.optional(function.home.map(|register| u32::from(register.0)));
    out.list(&function.constants, write_constant);
    out.list(&function.sites, write_site);
    out.list(&function.regions, write_region);
    write_lines(&function.lines, out);
    out.number(function.code.len() as u64);
    out.bytes.extend(function.code.iter().flat_map(|word| word.to_le_bytes()));
}

fn write_registers(registers: &[RegisterType], out: &mut Writer) {
    out.number(registers.len() as u64);
    for run in registers.chunk_by(|left, right| left == right) {
        write_type(out, &run[0]);
        out.number(run.len() as u64);
    }
}

fn write_constant(out: &mut Writer, constant: &Constant) {
    match constant {
        Constant::Integer(value) => write_integer(out, value),
        Constant::Double(value) => {
            out.u8(2);
            out.bytes.extend(value.to_bits().to_le_bytes());
        }
        Constant::String(id) => {
            out.u8(3);
            out.number(id.0);
        }
        Constant::Symbol(id) => {
            out.u8(4);
            out.number(id.0);
        }
        Constant::Raw(kind, bits) => {
            out.u8(5);
            write_type(out, kind);
            out.number(*bits);
        }
    }
}

fn write_integer(out: &mut Writer, value: &BigInt) {
    match i64::try_from(value) {
        Ok(small) => {
            out.u8(0);
            out.signed(small);
        }
        Err(_) => {
            let bytes = value.to_signed_bytes_le();
            out.u8(1);
            out.number(bytes.len() as u64);
            out.bytes.extend(bytes);
        }
    }
}

fn write_site(out: &mut Writer, site: &Site) {
    match *site {
        Site::Send { selector, access } => {
            write_access(out, access);
            out.number(selector.0);
        }
        Site::Enclosing(class, side) => {
            out.u8(8);
            out.number(class.0);
            write_side(out, side);
        }
        Site::Captures(class) => {
            out.u8(9);
            out.number(class.0);
        }
        Site::InitializeSlot(class, name) => {
            out.u8(10);
            out.number(class.0);
            out.number(name.0);
        }
        Site::ClassSlot(class) => {
            out.u8(11);
            out.number(class.0);
        }
    }
}

fn write_access(out: &mut Writer, access: Access) {
    let (code, class) = match access {
        Access::Public => (0, None),
        Access::Lexical => (1, None),
        Access::Private(class, _) => (2, Some(class)),
        Access::Super(class, _) => (3, Some(class)),
        Access::Initializer(class) => (4, Some(class)),
        Access::OwnInitializer(class) => (5, Some(class)),
        Access::SuperInitializer(class) => (6, Some(class)),
        Access::MixinInitializer(class, _) => (7, Some(class)),
    };
    out.u8(code);
    class.into_iter().for_each(|class| out.number(class.0));
    match access {
        Access::Private(_, side) | Access::Super(_, side) => write_side(out, side),
        Access::MixinInitializer(_, index) => out.u8(index),
        _ => {}
    }
}

fn write_side(out: &mut Writer, side: Side) {
    out.u8(match side {
        Side::Instance => 0,
        Side::Class => 1,
    });
}

fn write_region(out: &mut Writer, region: &Region) {
    out.u8(match region.kind {
        RegionKind::Ensure => 0,
        RegionKind::Catch(_) => 1,
        RegionKind::Fault(_) => 2,
    });
    out.number(region.start);
    out.distance(region.end, region.start);
    out.distance(region.handler, region.start);
    out.u8(region.value.0);
    match region.kind {
        RegionKind::Catch(class) => out.u8(class.0),
        RegionKind::Fault(fault) => out.u8(fault as u8),
        RegionKind::Ensure => {}
    }
}

fn write_lines(lines: &[LineEntry], out: &mut Writer) {
    let (mut pc, mut line) = (0, 0);
    out.list(lines, |out, entry| {
        out.distance(entry.pc, pc);
        out.distance(entry.line, line);
        out.number(entry.column);
        (pc, line) = (entry.pc, entry.line);
    });
}

fn write_class(class: &ClassDefinition, out: &mut Writer) {
    out.number(class.name.0);
    out.optional(class.outer.map(|id| id.0));
    out.u8(class.visibility as u8);
    out.optional(class.accessor.map(|id| id.0));
    out.number(class.factory_selector.0);
    out.number(class.factory.0);
    out.number(class.initializer.0);
    out.number(class.own_initializer.0);
    out.list(&class.slots, write_slot);
    out.list(&class.nested, |out, nested| out.number(nested.0));
    out.list(&class.methods, write_method);
    out.list(&class.class_methods, write_method);
    out.number(class.position.0);
    out.number(class.position.1);
}

fn write_slot(out: &mut Writer, slot: &Slot) {
    out.number(slot.name.0);
    out.u8(slot.visibility as u8);
    out.u8(u8::from(slot.mutable));
}

fn write_method(out: &mut Writer, method: &Method) {
    out.number(method.selector.0);
    out.u8(method.visibility as u8);
    out.number(method.function.0);
}
