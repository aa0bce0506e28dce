//! Reading and assigning variables, across closures and object literals. `expressions` calls this module for each
//! variable.
//!
//! A variable of the function itself is in a register or in one of its contexts. One of a function
//! around it reaches a closure as a captured item: the value if it never changes, otherwise the
//! context it is in. Every closure in between captures it as well. Methods of an object literal find
//! the variables around the literal through the class object, which holds the captured items in a
//! context of its own.

use squall_bytecode::entities::Register;
use squall_bytecode::instructions::Opcode;
use squall_bytecode::module::{FunctionKind, Site};

use super::Lowering;
use super::function::{Captured, ColdContext, ContextId, Item, Place, Variable};
use crate::entities::Name;

/// A variable found in the function with this index.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The variable.
    pub variable: Variable,
    /// The index of its function in the stack of open ones.
    pub owner: usize,
}

/// How the current function reaches an item.
#[derive(Clone, Copy, Debug)]
enum Access {
    /// The function declares it.
    Own,
    /// The closure holds it at this index.
    Captured(usize),
    /// The class of the object literal at this depth holds it at this index.
    Literal(usize, usize),
}

impl Lowering<'_> {
    /// The variable that a name means here, if it means one.
    pub fn find_variable(&self, name: Name) -> Option<Found> {
        let visible = self.functions.iter().enumerate().rev();
        for (owner, function) in visible {
            if let Some(&variable) = function.variable(name) {
                return Some(Found { variable, owner });
            }
            if !self.sees_variables_around(owner) {
                return None;
            }
        }
        None
    }

    /// Whether the function with this index is a block, or part of an object literal.
    fn sees_variables_around(&self, function: usize) -> bool {
        let function = &self.functions[function];
        function.kind == FunctionKind::Block
            || self.classes.get(function.class_depth).is_some_and(|class| class.literal.is_some())
    }

    /// Reads a variable; answers the register that holds it, `wanted` if that is given.
    pub fn read_variable(&mut self, found: Found, wanted: Option<Register>) -> Register {
        let current = self.functions.len() - 1;
        if let (Place::Register(register), true) = (found.variable.place, found.owner == current) {
            return self.place(register, wanted);
        }
        let destination = wanted.unwrap_or_else(|| self.function().allocate());
        match self.shared_place(found) {
            Some((context, index)) => {
                let register = self.read_context(context, found.owner);
                let index = i64::from(index).into();
                let operands = [destination.into(), register.into(), index];
                self.function().emit(Opcode::LoadContext, &operands);
            }
            None => {
                let item = Captured { item: Item::Value(found.variable.key), owner: found.owner };
                self.read_item(item, destination);
            }
        }
        destination
    }

    /// Assigns a variable.
    pub fn write_variable(&mut self, found: Found, value: Register) {
        let current = self.functions.len() - 1;
        match found.variable.place {
            Place::Register(register) if found.owner == current => {
                self.function().emit_move(register, value);
            }
            _ => {
                let top = self.function().top;
                if let Some((context, index)) = self.shared_place(found) {
                    let register = self.read_context(context, found.owner);
                    let index = i64::from(index).into();
                    let operands = [register.into(), index, value.into()];
                    self.function().emit(Opcode::StoreContext, &operands);
                }
                self.function().release_to(top);
            }
        }
    }

    /// The register that an assignment can compute its value into: that of a variable of this
    /// function.
    pub fn direct_target(&self, found: Found) -> Option<Register> {
        match found.variable.place {
            Place::Register(register) if found.owner == self.functions.len() - 1 => Some(register),
            _ => None,
        }
    }

    /// The context and index of a variable that is shared with other functions. A variable in a
    /// register that changes is shared while a cold path's closures are compiled.
    fn shared_place(&mut self, found: Found) -> Option<(ContextId, u8)> {
        let register = match found.variable.place {
            Place::Context(context, index) => return Some((context, index)),
            Place::Register(register) => register,
        };
        if !self.analysis.is_assigned(found.variable.key) {
            return None;
        }
        let cold = self.functions[found.owner].cold_context.as_mut()?;
        Some((cold.id, cold_index(cold, found.variable.key, register)))
    }

    /// The register of a context that the function with index `owner` made.
    fn read_context(&mut self, context: ContextId, owner: usize) -> Register {
        if owner == self.functions.len() - 1
            && let Some(register) = self.function().context_register(context)
        {
            return register;
        }
        let destination = self.function().allocate();
        self.read_item(Captured { item: Item::Context(context), owner }, destination);
        destination
    }

    /// Loads an item into a register.
    pub fn read_item(&mut self, captured: Captured, destination: Register) {
        let current = self.functions.len() - 1;
        match self.access(current, captured) {
            Access::Own => self.read_own_item(captured.item, destination),
            Access::Captured(index) => {
                let index = (index as i64).into();
                self.function().emit(Opcode::LoadCaptured, &[destination.into(), index]);
            }
            Access::Literal(depth, index) => self.read_from_literal(depth, index, destination),
        }
    }

    fn read_own_item(&mut self, item: Item, destination: Register) {
        match item {
            Item::SelfObject => {
                let register = self.self_register();
                self.function().emit_move(destination, register);
            }
            Item::Home => {
                if let Some(register) = self.home_register() {
                    self.function().emit_move(destination, register);
                }
            }
            Item::Context(context) => {
                if let Some(register) = self.function().context_register(context) {
                    self.function().emit_move(destination, register);
                }
            }
            Item::Value(key) => {
                let variable = self.function().variable_with_key(key).copied();
                if let Some(variable) = variable {
                    let owner = self.functions.len() - 1;
                    self.read_variable(Found { variable, owner }, Some(destination));
                }
            }
        }
    }

    /// How the function with index `reader` reaches an item; makes everything between it and the
    /// owner capture it.
    fn access(&mut self, reader: usize, captured: Captured) -> Access {
        if reader == captured.owner {
            return Access::Own;
        }
        if self.functions[reader].kind != FunctionKind::Block {
            // A method of an object literal: the class holds what the code around it captured.
            let depth = self.functions[reader].class_depth;
            let literal = self.classes[depth].literal.get_or_insert_default();
            let index = match literal.items.iter().position(|other| *other == captured) {
                Some(index) => index,
                None => {
                    literal.items.push(captured);
                    literal.items.len() - 1
                }
            };
            self.access(reader - 1, captured);
            return Access::Literal(depth, index);
        }
        match self.access(reader - 1, captured) {
            Access::Literal(depth, index) => Access::Literal(depth, index),
            _ => Access::Captured(self.functions[reader].capture(captured)),
        }
    }

    /// Loads what the class of the object literal at a depth holds at an index.
    fn read_from_literal(&mut self, depth: usize, index: usize, destination: Register) {
        let top = self.function().top;
        let class = self.classes[depth].id;
        let object = self.enclosing_object(depth);
        let site = self.function().builder.site(Site::Captures(class));
        let context = self.function().allocate();
        let operands = [context.into(), object.into(), site.into()];
        self.function().emit(Opcode::LoadCaptures, &operands);
        let operands = [destination.into(), context.into(), (index as i64).into()];
        self.function().emit(Opcode::LoadContext, &operands);
        self.function().release_to(top);
    }

    /// Puts the content of a register where it is wanted.
    pub fn place(&mut self, register: Register, wanted: Option<Register>) -> Register {
        match wanted {
            Some(wanted) => {
                self.function().emit_move(wanted, register);
                wanted
            }
            None => register,
        }
    }
}

/// The index of a variable in a cold path's context, added if it is new.
fn cold_index(cold: &mut ColdContext, key: super::analysis::Key, register: Register) -> u8 {
    let known = cold.variables.iter().position(|(other, _)| *other == key);
    let index = known.unwrap_or_else(|| {
        cold.variables.push((key, register));
        cold.variables.len() - 1
    });
    // Variables in registers are fewer than registers.
    index as u8
}
