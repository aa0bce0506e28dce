//! Loaded modules: bytecode with its run-time parts, linked on demand. `modules` loads them, and lookup links their
//! functions.
//!
//! Loading a module copies nothing but tables of empty cells. A function is linked when a lookup first finds it, a
//! class definition when it is first needed, a name when it is first compared: a program pays only for the parts that
//! it runs. Cells are filled once and immortal, so their contents are `&'static`.
//!
//! Code refers to its class by the definition, and runs for objects whose class includes the definition. If a chain of
//! superclasses includes the definition more than once, the code could not tell for which of them it runs. Therefore
//! each inclusion but the first gets a *variant* of the definition, whose functions are linked separately and refer to
//! the variant. A variant belongs to a *view* of the module: the same text, in which this definition and those nested
//! in it are replaced.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use squall_bytecode::codes::internal::NOT_LINKED;
use squall_bytecode::decode::instructions;
use squall_bytecode::entities::{ClassId, FunctionId, StringId};
use squall_bytecode::instructions::{Field, Opcode, OperandKind, SiteRule};
use squall_bytecode::module::{Constant as Literal, Visibility};
use squall_bytecode::types::RegisterType;
use squall_heap::Word;

use crate::model::behavior::{Behavior, SlotContent};
use crate::model::function::{Constant, Function, Shortcut, Site};
use crate::model::known::KnownClass;
use crate::model::links;
use crate::model::primitive::FindPrimitive;
use crate::model::specialise::specialise;
use crate::model::symbols::{Symbol, SymbolTable};
use crate::model::text::ModuleText;
use crate::model::types::{self, Type};

/// A module ready to run.
pub struct LoadedModule {
    /// The text, which is verified or trusted.
    pub bytecode: &'static ModuleText,
    symbols: &'static [OnceLock<Symbol>],
    functions: Box<[OnceLock<&'static Function>]>,
    definitions: Box<[OnceLock<&'static Definition>]>,
    table: &'static SymbolTable,
    find_primitive: FindPrimitive,
    /// The rows of the type table, interned.
    types: OnceLock<Box<[Type]>>,
    /// The exports by their names.
    exports: OnceLock<HashMap<&'static str, usize>>,
    /// Set when a thread begins to look for its imports.
    is_linked: AtomicBool,
    /// Whether sandboxes have loaded it.
    is_for_guests: bool,
    /// Of a view, the definition that it has a variant of; that definition is no variant itself.
    seen: Option<&'static Definition>,
}

impl LoadedModule {
    /// Loads a module, which the caller has verified or trusts.
    pub fn load(
        bytecode: ModuleText,
        table: &'static SymbolTable,
        find_primitive: FindPrimitive,
    ) -> &'static LoadedModule {
        let bytecode: &'static ModuleText = Box::leak(Box::new(bytecode));
        let symbols = Box::leak(cells(bytecode.string_count()));
        LoadedModule::new(bytecode, symbols, table, find_primitive).keep()
    }

    /// A module of which nothing is linked yet.
    fn new(
        bytecode: &'static ModuleText,
        symbols: &'static [OnceLock<Symbol>],
        table: &'static SymbolTable,
        find_primitive: FindPrimitive,
    ) -> LoadedModule {
        LoadedModule {
            symbols,
            functions: cells(bytecode.function_count()),
            definitions: cells(bytecode.class_count()),
            bytecode,
            table,
            find_primitive,
            types: OnceLock::new(),
            exports: OnceLock::new(),
            is_linked: AtomicBool::new(false),
            is_for_guests: false,
            seen: None,
        }
    }

    /// The same text with the same symbols, of which nothing is linked yet.
    fn unlinked(&self) -> LoadedModule {
        LoadedModule::new(self.bytecode, self.symbols, self.table, self.find_primitive)
    }

    fn keep(self) -> &'static LoadedModule {
        Box::leak(Box::new(self))
    }

    /// A copy for sandboxes: with the same text, but with definitions and functions of its own.
    pub(crate) fn for_guests(&'static self) -> &'static LoadedModule {
        LoadedModule { is_for_guests: true, ..self.unlinked() }.keep()
    }

    /// Whether sandboxes have loaded it, so that its code is not the host's.
    pub fn is_for_guests(&self) -> bool {
        self.is_for_guests
    }

    /// A view of a definition's module, with a variant of the definition.
    fn view(definition: &'static Definition) -> &'static LoadedModule {
        let LoadedModule { is_for_guests, .. } = *definition.module;
        LoadedModule { is_for_guests, seen: Some(definition), ..definition.module.unlinked() }
            .keep()
    }

    /// The module as it was loaded.
    pub fn loaded(&'static self) -> &'static LoadedModule {
        self.seen.map_or(self, |definition| definition.module.loaded())
    }

    /// The symbol for a string of the module.
    #[inline]
    pub fn symbol(&self, id: StringId) -> Symbol {
        *self.symbols[id.index()].get_or_init(|| self.table.intern(self.bytecode.string(id)))
    }

    /// The symbol with this text.
    pub fn intern(&self, text: &str) -> Symbol {
        self.table.intern(text)
    }

    /// A function, linked.
    pub fn function(&'static self, id: FunctionId) -> &'static Function {
        self.functions[id.index()].get_or_init(|| link(self, id))
    }

    /// True for the first caller, which links the module.
    pub(crate) fn begin_linking(&self) -> bool {
        !self.is_linked.swap(true, Ordering::Relaxed)
    }

    /// Sets the function of an import.
    pub(crate) fn provide(&self, id: FunctionId, function: &'static Function) {
        // An earlier caller has found the same function.
        _ = self.functions[id.index()].set(function);
    }

    /// The rows of the type table.
    pub fn types(&self) -> &[Type] {
        self.types.get_or_init(|| types::intern_table(self.bytecode.types()))
    }

    /// The types of a function's registers.
    fn types_of(&self, function: &squall_bytecode::module::Function) -> &'static [Type] {
        if function.registers.iter().all(|kind| *kind == RegisterType::Any) {
            return types::untyped(function.registers.len());
        }
        let table = self.types();
        let all = function.registers.iter().map(|kind| types::of_register(*kind, table));
        Box::leak(all.collect())
    }

    /// A class definition.
    pub fn definition(&'static self, id: ClassId) -> &'static Definition {
        if let Some(seen) = self.seen
            && !self.is_within(id, seen.id)
        {
            return seen.module.definition(id);
        }
        self.definitions[id.index()].get_or_init(|| Definition::new(self, id))
    }

    /// Whether a class is `outer` or nested in it.
    fn is_within(&self, class: ClassId, outer: ClassId) -> bool {
        let around = |class: &ClassId| self.bytecode.class(*class).outer;
        std::iter::successors(Some(class), around).any(|class| class == outer)
    }

    /// The definition that loading the module answers.
    pub fn main_definition(&'static self) -> Option<&'static Definition> {
        self.bytecode.main_class().map(|id| self.definition(id))
    }

    /// The index of the export of that name.
    pub fn export(&self, name: &str) -> Option<usize> {
        let text = self.bytecode;
        let exports = self.exports.get_or_init(|| {
            let names = text.exports().iter().map(|export| text.string(export.name));
            names.enumerate().map(|(index, name)| (name, index)).collect()
        });
        exports.get(name).copied()
    }

    /// Every function that was linked so far.
    pub fn linked_functions(&self) -> impl Iterator<Item = &'static Function> {
        self.functions.iter().filter_map(|cell| cell.get().copied())
    }
}

fn cells<T>(length: usize) -> Box<[OnceLock<T>]> {
    (0..length).map(|_| OnceLock::new()).collect()
}

/// A class definition with its names interned.
pub struct Definition {
    /// The module that contains it.
    pub module: &'static LoadedModule,
    /// Its index there.
    pub id: ClassId,
    /// Its name.
    pub name: Symbol,
    /// The definition around it.
    pub outer: Option<&'static Definition>,
    /// The visibility of the message that answers its class object.
    pub visibility: Visibility,
    /// The selector of the primary factory.
    pub factory_selector: Symbol,
    /// The slots, in textual order.
    pub slots: Box<[SlotDefinition]>,
    /// Set while the kernel boots, for the classes the VM knows.
    pub known: OnceLock<KnownClass>,
    /// The same text, for subclasses of a class that uses this definition.
    next_variant: OnceLock<&'static Definition>,
}

/// A slot declaration with its names interned.
pub struct SlotDefinition {
    /// The name, which is the reader's selector.
    pub name: Symbol,
    /// The setter's selector, for mutable slots.
    pub setter: Option<Symbol>,
    /// The visibility of the accessors.
    pub visibility: Visibility,
}

impl Definition {
    /// The function of the instance side's method with this name, whatever its visibility.
    pub fn method(&self, selector: Symbol) -> Option<&'static Function> {
        let methods = &self.bytecode().methods;
        let method = methods.iter().find(|it| self.module.symbol(it.selector) == selector)?;
        Some(self.module.function(method.function))
    }

    /// What the cell of a slot of this definition holds.
    pub fn slot_content(&self, slot: &SlotDefinition) -> SlotContent {
        match slot.visibility {
            Visibility::Private => {
                SlotContent::Private(slot.name, std::ptr::from_ref(self) as usize)
            }
            _ => SlotContent::Data(slot.name),
        }
    }

    /// What the cell of the slot with this name holds, if this definition declares one.
    pub fn slot_named(&self, name: Symbol) -> Option<SlotContent> {
        let slot = self.slots.iter().find(|slot| slot.name == name)?;
        Some(self.slot_content(slot))
    }

    fn new(module: &'static LoadedModule, id: ClassId) -> &'static Definition {
        let class = module.bytecode.class(id);
        let slots = class.slots.iter().map(|slot| SlotDefinition {
            name: module.symbol(slot.name),
            setter: slot
                .mutable
                .then(|| module.table.intern(&format!("{}:", module.bytecode.string(slot.name)))),
            visibility: slot.visibility,
        });
        Box::leak(Box::new(Definition {
            module,
            id,
            name: module.symbol(class.name),
            outer: class.outer.map(|outer| module.definition(outer)),
            visibility: class.visibility,
            factory_selector: module.symbol(class.factory_selector),
            slots: slots.collect(),
            known: OnceLock::new(),
            next_variant: OnceLock::new(),
        }))
    }

    /// This definition, or the variant of it that is no part of a superclass.
    pub fn for_subclass_of(
        &'static self,
        superclass: Option<&'static Behavior>,
    ) -> &'static Definition {
        let first = self.first_variant();
        let mut parts = superclass.into_iter().flat_map(Behavior::chain).flat_map(Behavior::parts);
        // Each occurrence has the variant after that of the next one above.
        let above = parts.find(|part| part.first_variant() == first);
        above.map_or(first, Definition::next_variant)
    }

    /// The definition that this one is a variant of, or itself. A definition nested in a variant is none.
    fn first_variant(&'static self) -> &'static Definition {
        match self.module.seen {
            Some(seen) if seen.id == self.id => seen,
            _ => self,
        }
    }

    fn next_variant(&'static self) -> &'static Definition {
        self.next_variant
            .get_or_init(|| LoadedModule::view(self.first_variant()).definition(self.id))
    }

    /// Whether two definitions have the same text.
    pub fn has_text_of(&self, other: &Definition) -> bool {
        self.id == other.id && std::ptr::eq(self.module.loaded(), other.module.loaded())
    }

    /// The definition as the module has it.
    pub fn bytecode(&self) -> &'static squall_bytecode::module::ClassDefinition {
        self.module.bytecode.class(self.id)
    }

    /// The name's text.
    pub fn name_text(&self) -> &'static str {
        self.module.bytecode.string(self.bytecode().name)
    }

    /// The VM's view of this class, if it has one.
    pub fn known(&self) -> Option<KnownClass> {
        self.known.get().copied()
    }

    /// The nested definition of this name.
    pub fn nested(&self, name: Symbol) -> Option<&'static Definition> {
        let mut nested = self.bytecode().nested.iter().map(|&id| self.module.definition(id));
        nested.find(|definition| definition.name == name)
    }
}

/// Two definitions are the same variant of the same text or not; names do not matter.
impl PartialEq for Definition {
    fn eq(&self, other: &Definition) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Definition {}

/// Copies a function's code and gives every instruction that needs one a site.
fn link(module: &'static LoadedModule, id: FunctionId) -> &'static Function {
    let bytecode = module.bytecode.function(id);
    let mut words = bytecode.code.clone();
    if bytecode.is_imported() {
        words.push(u32::from(NOT_LINKED));
    }
    let mut sites: Vec<Site> = bytecode.sites.iter().map(|_| Site::new()).collect();
    for instruction in instructions(&bytecode.code) {
        link_instruction(module, instruction.opcode, instruction.pc, &mut words, &mut sites);
        links::link(bytecode, &instruction, &mut words, &mut sites);
    }
    let types = module.types_of(bytecode);
    specialise(bytecode, types, &mut words);
    let scopes = links::scopes(bytecode);
    let shortcut = recognise_shortcut(module, bytecode);
    let code: Box<[AtomicU32]> = words.into_iter().map(AtomicU32::new).collect();
    let code: &'static [AtomicU32] = Box::leak(code);
    // The sites point at the function and the function at the sites, so its place comes first.
    let place: &'static mut MaybeUninit<Function> = Box::leak(Box::new_uninit());
    for site in &mut sites {
        let length =
            Opcode::of_word(bytecode.code[site.pc as usize]).map_or(0, |o| o.info().words());
        site.function = place.as_ptr();
        let next = site.pc as usize + length;
        let resumption = links::resumption(bytecode, site.pc as usize).unwrap_or(next);
        site.return_pc = &raw const code[resumption];
    }
    place.write(Function {
        code,
        sites: Box::leak(sites.into_boxed_slice()),
        constants: Box::leak(bytecode.constants.iter().map(initial_constant).collect()),
        register_types: &bytecode.registers,
        types,
        frame_words: bytecode.registers.len() as u32,
        arguments: bytecode.arguments() as u32,
        kind: bytecode.kind,
        home: bytecode.home,
        module,
        index: id.0,
        shortcut,
        scopes,
        native_codes: Default::default(),
        frame_maps: OnceLock::new(),
        fault_sites: Mutex::default(),
    })
}

/// Completes the site of an instruction, and makes one for calls that the module's table has none for.
fn link_instruction(
    module: &'static LoadedModule,
    opcode: Opcode,
    pc: usize,
    words: &mut [u32],
    sites: &mut Vec<Site>,
) {
    let words = &mut words[pc..];
    let operands = opcode.info().operands;
    let index = match opcode {
        Opcode::CallIndirect => {
            let arguments = Field::X.extract(words) as u8;
            sites.push(Site::new());
            let index = sites.len() - 1;
            sites[index].arguments = arguments;
            Field::X.insert(words, index as u32);
            index
        }
        Opcode::Call | Opcode::Primitive => {
            let operand = Field::X.extract(words);
            sites.push(Site::new());
            let index = sites.len() - 1;
            *sites[index].callee.get_mut() = match opcode {
                Opcode::Call => operand as usize,
                _ => (module.find_primitive)(module.bytecode.string(StringId(operand))) as *const _
                    as usize,
            };
            Field::X.insert(words, index as u32);
            index
        }
        _ => match operands.iter().find(|operand| matches!(operand.kind, OperandKind::Site(_))) {
            Some(operand) => operand.field.extract(words) as usize,
            None => return,
        },
    };
    let site = &mut sites[index];
    site.pc = pc as u32;
    for operand in operands {
        let value = operand.field.extract(words);
        match operand.kind {
            OperandKind::Window => site.window = value as u16,
            OperandKind::Define(_) => site.destination = value as u16,
            OperandKind::Count if opcode != Opcode::CallIndirect => site.arguments = value as u8,
            OperandKind::Site(SiteRule::Send(arguments)) => site.arguments = arguments + 1,
            _ => {}
        }
    }
}

/// The initial contents of a constant: the bits of a typed one; otherwise no object yet.
fn initial_constant(literal: &Literal) -> Constant {
    match literal {
        Literal::Raw(_, bits) => Constant::new(*bits),
        _ => Constant::new(Word::UNSET.bits()),
    }
}

/// Recognises bodies that are one primitive on the arguments, or answer an immediate object.
fn recognise_shortcut(
    module: &'static LoadedModule,
    function: &squall_bytecode::module::Function,
) -> Option<Shortcut> {
    let mut body = instructions(&function.code);
    let mut moved = 0;
    loop {
        let instruction = body.next()?;
        let words = &function.code[instruction.pc..];
        let (a, b, c) = (Field::A.extract(words), Field::B.extract(words), Field::C.extract(words));
        match instruction.opcode {
            // Arguments on their way into the window, in order.
            Opcode::Move if b == moved => moved += 1,
            Opcode::Primitive => {
                let next = body.next()?;
                let returned = Field::A.extract(&function.code[next.pc..]);
                let in_order = c as usize == function.arguments() && moved == c;
                let name = module.bytecode.string(StringId(Field::X.extract(words)));
                return (in_order && next.opcode == Opcode::Return && returned == a)
                    .then(|| Shortcut::Primitive((module.find_primitive)(name)));
            }
            Opcode::LoadSpecial if moved == 0 => {
                let next = body.next()?;
                let returned = Field::A.extract(&function.code[next.pc..]);
                let word = [Word::NIL, Word::FALSE, Word::TRUE][b as usize];
                return (next.opcode == Opcode::Return && returned == a)
                    .then_some(Shortcut::Immediate(word));
            }
            _ => return None,
        }
    }
}
