//! A function under construction: its registers, its variables, and its captured items. The other modules of `lower`
//! emit code into it.
//!
//! Registers are used like a stack: receiver and arguments, then the variables of the open scopes,
//! then temporaries. A call's window lies above all of them; the register below it is left free for
//! the return address.
//!
//! A variable lives in a register, or in a context if it changes and closures use it. Contexts are
//! made when their scope is entered, so that each turn of a loop has fresh ones.

use squall_bytecode::builder::{Argument, FunctionBuilder, Label};
use squall_bytecode::entities::Register;
use squall_bytecode::instructions::{Opcode, Special};
use squall_bytecode::module::{FunctionKind, Side};

use super::analysis::Key;
use super::control::ColdPath;
use super::places::Noted;
use crate::entities::Name;
use crate::source::Span;

/// Variables of a scope beyond this many registers go to contexts.
const MOST_VARIABLES_IN_REGISTERS: usize = 160;
/// Variables per context: an index has eight bits.
const MOST_IN_CONTEXT: usize = 255;
/// Registers a function can have.
pub const MOST_REGISTERS: usize = 255;

/// The register `index` places after `first`; beyond the last register, the last one: the function's size then tells
/// that it cannot be encoded.
pub fn nth(first: Register, index: usize) -> Register {
    Register((usize::from(first.0) + index).min(MOST_REGISTERS) as u8)
}

/// Whether blocks of control structures are inlined; see [`super::control`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Blocks of control structures are inlined.
    Inlined,
    /// Every block is a closure.
    Plain,
}

/// Where a variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// In a register of the function that declares it.
    Register(Register),
    /// In a context of that function.
    Context(ContextId, u8),
}

/// A context, unique in the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContextId(pub u32);

/// A variable in scope.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Where it is declared.
    pub key: Key,
    /// Where it lives.
    pub place: Place,
    /// Whether programs may assign it; arguments they may not.
    pub is_assignable: bool,
}

/// An item that a closure, or the class of an object literal, takes from the function that makes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    /// The receiver; always the first item of a closure.
    SelfObject,
    /// The marker of the activation that `^` returns from.
    Home,
    /// The value of a variable that does not change.
    Value(Key),
    /// A context.
    Context(ContextId),
}

/// An item with the index of the function, in the stack of open ones, that it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Captured {
    /// The captured item.
    pub item: Item,
    /// The function that declares it.
    pub owner: usize,
}

/// The marker for `^` in closures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// No closure returns from this function.
    Unneeded,
    /// Made at entry, in this register.
    AtEntry(Register),
    /// Made by cold paths that need it, in this register.
    OnColdPaths(Register),
}

/// While a cold path's closures are compiled: the variables that they share with the function.
#[derive(Debug)]
pub struct ColdContext {
    /// The context that stands in for the registers.
    pub id: ContextId,
    /// The shared variables, in the order of their places.
    pub variables: Vec<(Key, Register)>,
    /// Where the context is, once it is made.
    pub register: Option<Register>,
    /// Whether a closure returns from the method.
    pub needs_home: bool,
}

/// A function under construction.
pub struct FunctionScope {
    /// Its code.
    pub builder: FunctionBuilder,
    /// The kind of register 0.
    pub kind: FunctionKind,
    /// Its name, for traces.
    pub name: String,
    /// The place for the error that the function is too large.
    pub span: Span,
    /// How deeply nested the class is whose text this is: an index into the open classes.
    pub class_depth: usize,
    /// Which side of that class.
    pub side: Side,
    /// Whether blocks are inlined.
    pub mode: Mode,
    /// The parameters beside the receiver.
    pub parameters: u8,
    /// The register with the receiver of the method.
    pub self_register: Register,
    /// Whether a block function's code uses its receiver.
    pub uses_self: bool,
    /// Variables in scope, innermost last.
    pub variables: Vec<Variable>,
    /// Contexts in scope and where they are.
    pub contexts: Vec<(ContextId, Register)>,
    /// The items that the closure holds.
    pub captured: Vec<Captured>,
    /// The marker for `^`.
    pub home: Home,
    /// The first free register.
    pub top: usize,
    /// The most registers in use at once.
    pub size: usize,
    /// Code to be placed after the function's end.
    pub cold_paths: Vec<ColdPath>,
    /// The cold path whose closures are being compiled.
    pub cold_context: Option<ColdContext>,
    /// All variables so far, for debuggers.
    pub noted: Vec<Noted>,
}

impl FunctionScope {
    /// An empty function whose receiver is in register 0.
    pub fn new(
        kind: FunctionKind,
        (name, span): (String, Span),
        class_depth: usize,
        side: Side,
    ) -> FunctionScope {
        FunctionScope {
            builder: FunctionBuilder::new(),
            kind,
            name,
            span,
            class_depth,
            side,
            mode: Mode::Inlined,
            parameters: 0,
            self_register: Register(0),
            uses_self: false,
            variables: Vec::new(),
            contexts: Vec::new(),
            captured: Vec::new(),
            home: Home::Unneeded,
            top: 1,
            size: 1,
            cold_paths: Vec::new(),
            cold_context: None,
            noted: Vec::new(),
        }
    }

    /// Takes the next free register.
    pub fn allocate(&mut self) -> Register {
        self.allocate_many(1)
    }

    /// Takes a run of registers; answers the first.
    ///
    /// Beyond the last register, others are answered twice; the function's size then tells that
    /// it cannot be encoded.
    pub fn allocate_many(&mut self, count: usize) -> Register {
        let first = self.top;
        self.top += count;
        self.size = self.size.max(self.top);
        Register(first.min(MOST_REGISTERS) as u8)
    }

    /// Frees the registers from this one on.
    pub fn release_to(&mut self, top: usize) {
        self.top = top;
    }

    /// Leaves room for a call of `words` words above the registers in use; answers the place of its window.
    pub fn reserve_window(&mut self, words: usize) -> Register {
        let window = self.top + 1;
        self.size = self.size.max(window + words);
        Register(window.min(MOST_REGISTERS) as u8)
    }

    /// Emits an instruction.
    pub fn emit(&mut self, opcode: Opcode, arguments: &[Argument]) {
        self.builder.emit(opcode, arguments);
    }

    /// Emits a move, unless it would move a register to itself.
    pub fn emit_move(&mut self, to: Register, from: Register) {
        if to != from {
            self.emit(Opcode::Move, &[to.into(), from.into()]);
        }
    }

    /// Emits the load of `nil`, `false` or `true`.
    pub fn emit_special(&mut self, to: Register, special: Special) {
        self.emit(Opcode::LoadSpecial, &[to.into(), (special as i64).into()]);
    }

    /// Emits a jump.
    pub fn emit_jump(&mut self, label: Label) {
        self.emit(Opcode::Jump, &[label.into()]);
    }

    /// The innermost variable of this name.
    pub fn variable(&self, name: Name) -> Option<&Variable> {
        self.variables.iter().rev().find(|variable| variable.name == name)
    }

    /// The variable declared at this place, if it is in scope.
    pub fn variable_with_key(&self, key: Key) -> Option<&Variable> {
        self.variables.iter().rev().find(|variable| variable.key == key)
    }

    /// The register of a context of this function.
    pub fn context_register(&self, id: ContextId) -> Option<Register> {
        let cold = self.cold_context.as_ref().filter(|cold| cold.id == id);
        match cold {
            Some(cold) => cold.register,
            None => self.contexts.iter().rev().find(|(other, _)| *other == id).map(|&(_, r)| r),
        }
    }

    /// The index of a captured item, added if it is new.
    pub fn capture(&mut self, captured: Captured) -> usize {
        if let Some(index) = self.captured.iter().position(|other| *other == captured) {
            return index;
        }
        self.captured.push(captured);
        self.captured.len() - 1
    }
}

/// A variable to be declared.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Its name.
    pub name: Name,
    /// Where it is declared.
    pub key: Key,
    /// Whether closures need it in a context.
    pub needs_context: bool,
    /// Whether programs may assign it.
    pub is_assignable: bool,
    /// Where its value is, for parameters; other variables start as nil.
    pub value: Option<Register>,
}

impl FunctionScope {
    /// Opens a scope: gives each variable a place, makes the contexts, and initialises all.
    pub fn declare(&mut self, declarations: &[Declaration], next_context: &mut u32) {
        let crowded = self.variables.len() + declarations.len() > MOST_VARIABLES_IN_REGISTERS;
        let in_context: Vec<&Declaration> = declarations
            .iter()
            .filter(|declaration| {
                declaration.needs_context || (crowded && declaration.value.is_none())
            })
            .collect();
        let mut places = Vec::new();
        for chunk in in_context.chunks(MOST_IN_CONTEXT) {
            let id = ContextId(*next_context);
            *next_context += 1;
            let register = self.allocate();
            self.emit(Opcode::MakeContext, &[register.into(), (chunk.len() as i64).into()]);
            self.contexts.push((id, register));
            for (index, declaration) in chunk.iter().enumerate() {
                places.push((declaration.key, Place::Context(id, index as u8)));
                if let Some(value) = declaration.value {
                    let index = (index as i64).into();
                    self.emit(Opcode::StoreContext, &[register.into(), index, value.into()]);
                }
            }
        }
        for declaration in declarations {
            let place = places.iter().find(|(key, _)| *key == declaration.key).map(|&(_, p)| p);
            let place = place.unwrap_or_else(|| Place::Register(self.register_for(declaration)));
            self.variables.push(Variable {
                name: declaration.name,
                key: declaration.key,
                place,
                is_assignable: declaration.is_assignable,
            });
        }
    }

    fn register_for(&mut self, declaration: &Declaration) -> Register {
        if let Some(register) = declaration.value {
            return register;
        }
        let register = self.allocate();
        self.emit_special(register, Special::Nil);
        register
    }
}
