//! Writes a module in its text form, which the assembler reads; see [`crate::assembler`]. `squall disasm` and the
//! formatter's tests call it.
//!
//! Every module has a text form, even a senseless one: assembling it gives an equal module. Parts in an unusual order,
//! repeated or unused parts are written by index; words that are no instruction are written as `word`. Usually the text
//! needs none of that: constants and sites are written in place as long as this gives them the same numbers again.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

use crate::builder::ConstantKey;
use crate::decode::Instruction;
use crate::entities::{ClassId, FunctionId, Register, StringId};
use crate::instructions::{Operand, OperandKind, Special};
use crate::module::{
    Access, ClassDefinition, Constant, Export, Function, LineEntry, Method, Module, RegionKind,
    Side, Site,
};
use crate::types::{RegisterType, short_texts, text_of};

/// The text form of a module.
pub fn disassemble(module: &Module) -> String {
    let mut printer = Printer::new(module, false);
    printer.module();
    printer.text
}

/// The text form of one function of a module, with the index of each instruction as a comment.
pub fn disassemble_function(module: &Module, id: FunctionId) -> String {
    let mut printer = Printer::new(module, true);
    if let Some(function) = module.functions.get(id.index()) {
        printer.function(id, function);
    }
    printer.text
}

/// Writes to any string; that cannot fail.
macro_rules! put {
    ($text:expr, $($argument:tt)*) => {{
        let _ = write!($text, $($argument)*);
    }};
}

/// Integers with more bits are written in hexadecimal, which takes linear time.
const LONGEST_DECIMAL: u64 = 1024;

struct Printer<'a> {
    module: &'a Module,
    text: String,
    with_pcs: bool,
    /// Which strings can be written as texts: those that are not the same as an earlier one.
    is_first: Vec<bool>,
    /// How many strings the assembler will know at this place of the text.
    known_strings: usize,
    /// Whether it will give all of them their numbers.
    strings_in_order: bool,
    /// For each row of the type table how it is written in place, if that is short and gives its number back.
    types_in_place: Vec<Option<String>>,
    /// Whether imports declare their functions, which then are the module's first ones.
    imports_in_place: bool,
}

impl<'a> Printer<'a> {
    fn new(module: &'a Module, with_pcs: bool) -> Printer<'a> {
        let mut seen = HashSet::new();
        Printer {
            module,
            text: String::new(),
            with_pcs,
            is_first: module.strings.iter().map(|text| seen.insert(text.as_str())).collect(),
            known_strings: 0,
            strings_in_order: true,
            types_in_place: types_in_place(module),
            imports_in_place: imports_in_place(module),
        }
    }

    fn module(&mut self) {
        if let Some(path) = self.module.path {
            let path = self.string(path);
            put!(self.text, "path {path}\n");
        }
        if let Some(main) = self.module.main_class {
            put!(self.text, "main {main}\n");
        }
        self.name();
        self.types();
        self.links();
        for (index, class) in self.module.classes.iter().enumerate() {
            self.class(ClassId(index as u32), class);
        }
        let declared = if self.imports_in_place { imported(self.module).count() } else { 0 };
        for (index, function) in self.module.functions.iter().enumerate().skip(declared) {
            self.function(FunctionId(index as u32), function);
        }
        if !self.strings_in_order || self.known_strings != self.module.strings.len() {
            self.strings();
        }
    }

    /// The module's name and version.
    fn name(&mut self) {
        let Module { name, version, .. } = self.module;
        if name.is_none() && version.is_none() {
            return;
        }
        self.text += "module";
        if let Some(name) = name {
            let name = self.string(*name);
            put!(self.text, " {name}");
        }
        if let Some(version) = version {
            let version = self.string(*version);
            put!(self.text, "{} {version}", if name.is_none() { " version" } else { "" });
        }
        self.text += "\n";
    }

    fn types(&mut self) {
        if !self.module.types.is_empty() {
            self.separate();
        }
        for (index, definition) in self.module.types.iter().enumerate() {
            let part = |part: RegisterType| self.part_type(part, index);
            put!(self.text, "type type{index} = {}\n", text_of(definition, part));
        }
    }

    /// The text of a type in the declaration of the row `before`.
    fn part_type(&self, kind: RegisterType, before: usize) -> String {
        let in_place = kind.defined().filter(|id| id.index() < before);
        in_place.and_then(|id| self.types_in_place[id.index()].clone()).unwrap_or(kind.to_string())
    }

    /// The text of a type after the declarations of all rows.
    fn register_type(&self, kind: RegisterType) -> String {
        self.part_type(kind, self.module.types.len())
    }

    fn links(&mut self) {
        for import in &self.module.imports {
            let module = self.string(import.module);
            let requirement = import.requirement.map(|id| self.string(id));
            self.separate();
            put!(self.text, "import {module} {}", requirement.unwrap_or_default());
            self.text.truncate(self.text.trim_end().len());
            self.text += " {\n";
            for &id in &import.functions {
                match self.imports_in_place {
                    true => self.imported_function(id),
                    false => put!(self.text, "    {id}\n"),
                }
            }
            self.text += "}\n";
        }
        if !self.module.exports.is_empty() {
            self.separate();
        }
        for Export { name, function } in &self.module.exports {
            let name = self.string(*name);
            put!(self.text, "export {name} {function}\n");
        }
    }

    fn imported_function(&mut self, id: FunctionId) {
        let function = &self.module.functions[id.index()];
        let name = self.string(function.name);
        let parameters: Vec<String> =
            function.registers.iter().map(|kind| self.register_type(*kind)).collect();
        let kind = function.kind.name();
        put!(
            self.text,
            "    {kind} {id} {name} ({}){}\n",
            parameters.join(", "),
            self.result(function)
        );
    }

    /// `-> type`, or nothing for `any`.
    fn result(&self, function: &Function) -> String {
        match function.result {
            RegisterType::Any => String::new(),
            kind => format!(" -> {}", self.register_type(kind)),
        }
    }

    /// Leaves a line free between items.
    fn separate(&mut self) {
        if !self.text.is_empty() {
            self.text += "\n";
        }
    }

    fn strings(&mut self) {
        self.separate();
        self.text += "strings {\n";
        for text in &self.module.strings {
            put!(self.text, "    {}\n", quote(text));
        }
        self.text += "}\n";
    }

    /// A reference to a string.
    fn string(&mut self, id: StringId) -> String {
        if self.is_first.get(id.index()) != Some(&true) {
            return id.to_string();
        }
        self.strings_in_order &= id.index() <= self.known_strings;
        self.known_strings = self.known_strings.max(id.index() + 1);
        quote(self.module.string(id))
    }

    fn class(&mut self, id: ClassId, class: &ClassDefinition) {
        let name = self.string(class.name);
        self.separate();
        put!(self.text, "class {id} {name} {} {{\n", class.visibility.name());
        if let Some(outer) = class.outer {
            put!(self.text, "    outer {outer}\n");
        }
        if class.position != (0, 0) {
            put!(self.text, "    position {}:{}\n", class.position.0, class.position.1);
        }
        if let Some(accessor) = class.accessor {
            put!(self.text, "    accessor {accessor}\n");
        }
        let selector = self.string(class.factory_selector);
        put!(self.text, "    factory {} {selector}\n", class.factory);
        put!(self.text, "    initializer {}\n", class.initializer);
        put!(self.text, "    own_initializer {}\n", class.own_initializer);
        for slot in &class.slots {
            let (name, mutable) =
                (self.string(slot.name), if slot.mutable { " mutable" } else { "" });
            put!(self.text, "    slot {name} {}{mutable}\n", slot.visibility.name());
        }
        for nested in &class.nested {
            put!(self.text, "    nested {nested}\n");
        }
        self.methods("method", &class.methods);
        self.methods("class_method", &class.class_methods);
        self.text += "}\n";
    }

    fn methods(&mut self, keyword: &str, methods: &[Method]) {
        for method in methods {
            let selector = self.string(method.selector);
            let (visibility, function) = (method.visibility.name(), method.function);
            put!(self.text, "    {keyword} {selector} {visibility} {function}\n");
        }
    }

    fn function(&mut self, id: FunctionId, function: &Function) {
        let layout = Layout::of(function);
        let name = self.string(function.name);
        self.separate();
        put!(self.text, "{} {id} {name} ({})", function.kind.name(), function.parameters);
        if function.captured != 0 {
            put!(self.text, " captures {}", function.captured);
        }
        put!(self.text, "{}", self.result(function));
        self.text += " {\n";
        self.declarations(function, &layout);
        self.code(function, &layout);
        self.text += "}\n";
    }

    /// `any*3, f64`
    fn register_runs(&self, registers: &[RegisterType]) -> String {
        let runs = registers.chunk_by(|left, right| left == right).map(|run| {
            let kind = self.register_type(run[0]);
            if run.len() == 1 { kind } else { format!("{kind}*{}", run.len()) }
        });
        runs.collect::<Vec<_>>().join(", ")
    }

    fn declarations(&mut self, function: &Function, layout: &Layout) {
        if !function.registers.is_empty() {
            put!(self.text, "    registers {}\n", self.register_runs(&function.registers));
        }
        if let Some(home) = function.home {
            put!(self.text, "    home {home}\n");
        }
        for (index, constant) in
            function.constants.iter().enumerate().filter(|_| !layout.constants_in_place)
        {
            let constant = self.constant(constant);
            put!(self.text, "    k{index} = {constant}\n");
        }
        for (index, site) in function.sites.iter().enumerate().filter(|_| !layout.sites_in_place) {
            let site = self.site(site);
            put!(self.text, "    site{index} = {site}\n");
        }
        for region in &function.regions {
            match region.kind {
                RegionKind::Catch(class) => {
                    put!(self.text, "    catch {class} into {}", region.value)
                }
                RegionKind::Fault(fault) => {
                    put!(self.text, "    catch_fault {} into {}", fault.name(), region.value)
                }
                RegionKind::Ensure => put!(self.text, "    ensure into {}", region.value),
            }
            let [start, end, handler] =
                [region.start, region.end, region.handler].map(|pc| layout.place(i64::from(pc)));
            put!(self.text, " from {start} to {end} handler {handler}\n");
        }
        for &LineEntry { pc, line, column } in
            function.lines.iter().filter(|_| !layout.lines_in_place)
        {
            put!(self.text, "    at @{pc} {line}:{column}\n");
        }
    }

    fn code(&mut self, function: &Function, layout: &Layout) {
        let mut lines = function.lines.iter().filter(|_| layout.lines_in_place).peekable();
        let mut up_to = |printer: &mut Self, pc: usize| {
            if layout.labels.contains_key(&pc) {
                put!(printer.text, "{}:\n", layout.place(pc as i64));
            }
            while let Some(entry) = lines.next_if(|entry| entry.pc as usize <= pc) {
                put!(printer.text, "    at {}:{}\n", entry.line, entry.column);
            }
        };
        for item in &layout.items {
            up_to(self, item.pc());
            match item {
                Item::Word(_, word) => put!(self.text, "    word {word:#010x}\n"),
                Item::Instruction(instruction) => self.instruction(function, layout, instruction),
            }
        }
        up_to(self, function.code.len());
    }

    fn instruction(&mut self, function: &Function, layout: &Layout, instruction: &Instruction) {
        let mut comment = String::new();
        let mut operands = Vec::new();
        let written = |operand: &Operand| operand.kind != OperandKind::Link;
        for (operand, value) in instruction.operands().filter(|(operand, _)| written(operand)) {
            operands.push(match operand.kind {
                OperandKind::Target => layout.place(instruction.pc as i64 + value),
                OperandKind::Constant if layout.constants_in_place => {
                    self.constant(&function.constants[value as usize])
                }
                OperandKind::Site(_) if layout.sites_in_place => {
                    self.site(&function.sites[value as usize])
                }
                _ => self.plain_operand(operand, value, &mut comment),
            });
        }
        if self.with_pcs {
            comment = if comment.is_empty() {
                format!("@{}", instruction.pc)
            } else {
                format!("@{} {comment}", instruction.pc)
            };
        }
        let line = format!("    {:<18} {}", instruction.info().mnemonic, operands.join(", "));
        self.text += &line;
        if !comment.is_empty() {
            put!(self.text, "  ; {comment}");
        }
        self.text += "\n";
    }

    /// An operand by its index; the name of its target goes into the comment.
    fn plain_operand(&mut self, operand: &Operand, value: i64, comment: &mut String) -> String {
        use OperandKind::*;
        let index = value as u32;
        match operand.kind {
            Define(_) | Use(_) | Update(_) | Window | Range => Register(value as u8).to_string(),
            Special => special(value),
            Constant => format!("k{value}"),
            Site(_) => format!("site{value}"),
            Primitive => self.string(StringId(index)),
            Function => {
                let name = self.module.functions.get(index as usize).map(|function| function.name);
                self.name_in_comment(name, comment);
                FunctionId(index).to_string()
            }
            Class => {
                let name = self.module.classes.get(index as usize).map(|class| class.name);
                self.name_in_comment(name, comment);
                ClassId(index).to_string()
            }
            Count | Immediate | Index | Target | Link => value.to_string(),
        }
    }

    fn name_in_comment(&self, name: Option<StringId>, comment: &mut String) {
        const LONGEST: usize = 60;
        let text = name.map_or("", |name| self.module.string(name));
        comment.extend(text.chars().take(LONGEST).flat_map(char::escape_debug));
    }

    fn constant(&mut self, constant: &Constant) -> String {
        match constant {
            Constant::Integer(value) if value.bits() > LONGEST_DECIMAL => format!("{value:#x}"),
            Constant::Integer(value) => value.to_string(),
            Constant::Double(value) if value.is_finite() => format!("{value:?}"),
            Constant::Double(value) => format!("double {:#x}", value.to_bits()),
            Constant::String(id) => match self.string(*id) {
                text if text.starts_with('"') => text,
                index => format!("string {index}"),
            },
            Constant::Symbol(id) => format!("#{}", self.string(*id)),
            Constant::Raw(kind, bits) => {
                format!("{} {}", self.register_type(*kind), raw_value(*kind, *bits))
            }
        }
    }

    fn site(&mut self, site: &Site) -> String {
        let (selector, access) = match *site {
            Site::Send { selector, access } => (selector, access),
            Site::Enclosing(class, side) => {
                return format!("enclosing {class} {}", side_name(side));
            }
            Site::Captures(class) => return format!("captures {class}"),
            Site::InitializeSlot(class, name) => {
                return format!("slot {class} {}", self.string(name));
            }
            Site::ClassSlot(class) => return format!("class_slot {class}"),
        };
        let selector = self.string(selector);
        match access {
            Access::Public => selector,
            Access::Lexical => format!("lexical {selector}"),
            Access::Private(class, side) => {
                format!("private {class} {} {selector}", side_name(side))
            }
            Access::Super(class, side) => format!("super {class} {} {selector}", side_name(side)),
            Access::Initializer(class) => format!("initializer {class} {selector}"),
            Access::OwnInitializer(class) => format!("own_initializer {class} {selector}"),
            Access::SuperInitializer(class) => format!("super_initializer {class} {selector}"),
            Access::MixinInitializer(class, index) => {
                format!("mixin_initializer {class} {index} {selector}")
            }
        }
    }
}

/// A text between quotes, with escapes for invisible characters.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '\'' => quoted.push(character),
            _ => quoted.extend(character.escape_debug()),
        }
    }
    quoted.push('"');
    quoted
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Instance => "instance",
        Side::Class => "class",
    }
}

fn special(value: i64) -> String {
    let known = usize::try_from(value).ok().and_then(|code| Special::ALL.get(code));
    known.map_or_else(|| value.to_string(), |special| special.name().to_owned())
}

/// For each row of the type table how it is written in place, if that is short and gives its number back.
/// Rows that are equal to earlier ones have only their numbers.
fn types_in_place(module: &Module) -> Vec<Option<String>> {
    let mut seen = HashSet::new();
    let is_first = module.types.iter().map(|definition| seen.insert(definition));
    let texts = short_texts(&module.types);
    // A text whose parts are such rows would not give their numbers back.
    let mut usable: Vec<bool> = Vec::with_capacity(texts.len());
    for (definition, is_first) in module.types.iter().zip(is_first) {
        let mut rows = definition.parts().filter_map(RegisterType::defined);
        let parts = rows.all(|id| usable.get(id.index()).copied().unwrap_or(false));
        usable.push(is_first && parts);
    }
    texts.into_iter().zip(usable).map(|(text, usable)| text.filter(|_| usable)).collect()
}

/// The functions that imports list.
fn imported(module: &Module) -> impl Iterator<Item = FunctionId> + '_ {
    module.imports.iter().flat_map(|import| import.functions.iter().copied())
}

/// Whether the imported functions are the first ones, in order, and have nothing but a signature.
fn imports_in_place(module: &Module) -> bool {
    imported(module).enumerate().all(|(index, id)| {
        let function = module.functions.get(id.index());
        id.index() == index && function.is_some_and(is_signature)
    })
}

fn is_signature(function: &Function) -> bool {
    function.kind.is_linkable()
        && usize::from(function.parameters) == function.registers.len()
        && function.captured == 0
        && function.home.is_none()
        && function.constants.is_empty()
        && function.sites.is_empty()
        && function.regions.is_empty()
        && function.code.is_empty()
        && function.lines.is_empty()
}

/// The value of a typed register, or its bits if no value of the type has them.
fn raw_value(kind: RegisterType, bits: u64) -> String {
    let extended = match 64 - kind.bits() {
        unused if kind.is_signed() => ((bits << unused) as i64 >> unused) as u64,
        unused => bits << unused >> unused,
    };
    match kind {
        RegisterType::Any | RegisterType::Defined(_) => {}
        _ if extended != bits => {}
        RegisterType::Bool => return (bits != 0).to_string(),
        RegisterType::F32 if f32::from_bits(bits as u32).is_finite() => {
            return format!("{:?}", f32::from_bits(bits as u32));
        }
        RegisterType::F64 if f64::from_bits(bits).is_finite() => {
            return format!("{:?}", f64::from_bits(bits));
        }
        RegisterType::F32 | RegisterType::F64 => {}
        _ if kind.is_signed() => return (bits as i64).to_string(),
        _ => return bits.to_string(),
    }
    format!("{bits:#x}")
}

/// A word or an instruction of the code.
enum Item {
    Word(usize, u32),
    Instruction(Instruction),
}

impl Item {
    fn pc(&self) -> usize {
        match self {
            Item::Word(pc, _) => *pc,
            Item::Instruction(instruction) => instruction.pc,
        }
    }
}

/// How a function's code is laid out as text.
struct Layout {
    items: Vec<Item>,
    /// The numbers of the labels.
    labels: BTreeMap<usize, usize>,
    constants_in_place: bool,
    sites_in_place: bool,
    lines_in_place: bool,
}

impl Layout {
    fn of(function: &Function) -> Layout {
        let items = items(&function.code);
        let end = function.code.len();
        let starts: HashSet<usize> = items.iter().map(Item::pc).chain([end]).collect();
        let labels = labels(function, &items, &starts);
        Layout {
            constants_in_place: constants_in_place(function, &items),
            sites_in_place: sites_in_place(function, &items),
            lines_in_place: function.lines.is_sorted_by_key(|line| line.pc)
                && function.lines.iter().all(|line| starts.contains(&(line.pc as usize))),
            items,
            labels,
        }
    }

    /// A place in the code: its label, or its index.
    fn place(&self, pc: i64) -> String {
        let label = usize::try_from(pc).ok().and_then(|pc| self.labels.get(&pc));
        label.map_or_else(|| format!("@{pc}"), |number| format!("L{number}"))
    }
}

/// Cuts the code into instructions, and words that are none or have stray bits.
fn items(code: &[u32]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut pc = 0;
    while pc < code.len() {
        match Instruction::decode(code, pc) {
            Ok(instruction) if instruction.is_canonical() && !has_link(&instruction) => {
                pc = instruction.next_pc();
                items.push(Item::Instruction(instruction));
            }
            _ => {
                items.push(Item::Word(pc, code[pc]));
                pc += 1;
            }
        }
    }
    items
}

/// Whether the linker's room in an instruction is not empty, which the text form cannot say.
fn has_link(instruction: &Instruction) -> bool {
    instruction.operands().any(|(operand, value)| operand.kind == OperandKind::Link && value != 0)
}

fn instructions(items: &[Item]) -> impl Iterator<Item = &Instruction> {
    items.iter().filter_map(|item| match item {
        Item::Instruction(instruction) => Some(instruction),
        Item::Word(..) => None,
    })
}

fn labels(function: &Function, items: &[Item], starts: &HashSet<usize>) -> BTreeMap<usize, usize> {
    let targets = instructions(items).flat_map(Instruction::targets);
    let regions = &function.regions;
    let places = regions.iter().flat_map(|region| [region.start, region.end, region.handler]);
    let places = targets.chain(places.map(i64::from)).filter_map(|pc| usize::try_from(pc).ok());
    let mut labels: BTreeMap<usize, usize> =
        places.filter(|pc| starts.contains(pc)).map(|pc| (pc, 0)).collect();
    labels.values_mut().enumerate().for_each(|(number, label)| *label = number);
    labels
}

/// Whether the code names all constants, each first after those before it, and no two are equal.
fn constants_in_place(function: &Function, items: &[Item]) -> bool {
    let mut known = 0;
    for id in instructions(items).filter_map(Instruction::constant) {
        if id.index() > known {
            return false;
        }
        known = known.max(id.index() + 1);
    }
    let mut seen = HashSet::new();
    known == function.constants.len()
        && function.constants.iter().all(|constant| seen.insert(ConstantKey::from(constant)))
}

/// Whether each site belongs to one instruction, in the same order.
fn sites_in_place(function: &Function, items: &[Item]) -> bool {
    let named = instructions(items).filter_map(Instruction::site).map(|site| site.index());
    named.eq(0..function.sites.len())
}

#[cfg(test)]
mod tests;
