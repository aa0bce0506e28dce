//! The rules for tuples, lists, maps and function values beyond the instruction table: the relations between the types
//! of their registers. `code.rs` applies them to each typed instruction.

use super::code::{Check, CodeChecker};
use crate::decode::Instruction;
use crate::entities::Register;
use crate::instructions::{Field, Opcode, OperandKind};
use crate::module::{Constant, Function, FunctionKind};
use crate::types::{RegisterType, TypeDefinition, text_of};

impl CodeChecker<'_> {
    /// An instruction from `make_tuple` to `call_indirect`, whose registers follow the table's rules.
    pub(super) fn check_typed(&self, instruction: &Instruction) -> Check {
        let [a, b, c] = [Field::A, Field::B, Field::C].map(|field| instruction.register(field));
        match instruction.opcode {
            Opcode::MakeTuple | Opcode::MakeList => self.check_parts(instruction),
            Opcode::TupleGet => self.has(a, self.element(b, c.index())?),
            Opcode::TupleSet => self.has(b, self.element(a, c.index())?),
            Opcode::FillList | Opcode::ListSet | Opcode::ListInsert => {
                self.has(c, self.element(a, 0)?)
            }
            Opcode::ListAppend => self.has(b, self.element(a, 0)?),
            Opcode::ListGet => self.has(a, self.element(b, 0)?),
            Opcode::LoadBytes => self.check_bytes(instruction, a),
            Opcode::MapGet => {
                self.has(c, self.element(b, 0)?)?;
                self.has(a, self.element(b, 1)?)
            }
            Opcode::MapPut => {
                self.has(b, self.element(a, 0)?)?;
                self.has(c, self.element(a, 1)?)
            }
            Opcode::MapRemove => self.has(b, self.element(a, 0)?),
            Opcode::MapHas => self.has(c, self.element(b, 0)?),
            Opcode::MapKey => self.has(a, self.element(b, 0)?),
            Opcode::MapValue => self.has(a, self.element(b, 1)?),
            Opcode::LoadFunction => self.check_function_value(instruction, a),
            Opcode::CallIndirect => self.check_indirect_call(instruction, a, c),
            _ => Ok(()),
        }
    }

    fn definition(&self, register: Register) -> Result<&TypeDefinition, String> {
        let kind = self.register_type(register)?;
        let definition = self.facts.module.definition(kind);
        definition.ok_or_else(|| format!("{register} is `{}`", self.facts.show(kind)))
    }

    /// The type of a part of a register's value: a tuple's element, a list's element, a map's key or value.
    fn element(&self, register: Register, index: usize) -> Result<RegisterType, String> {
        let definition = self.definition(register)?;
        let part = definition.parts().nth(index);
        part.ok_or_else(|| match definition.parts().count() {
            1 => format!("{register} has 1 element"),
            count => format!("{register} has {count} elements"),
        })
    }

    fn has(&self, register: Register, wanted: RegisterType) -> Check {
        let kind = self.register_type(register)?;
        if kind == wanted {
            return Ok(());
        }
        let [kind, wanted] = [kind, wanted].map(|kind| self.facts.show(kind));
        Err(format!("{register} is `{kind}`, not `{wanted}`"))
    }

    /// The types of a run of registers.
    fn run(&self, start: Register, count: usize) -> Result<&[RegisterType], String> {
        self.check_run("range", start, count)?;
        Ok(&self.function.registers[start.index()..start.index() + count])
    }

    fn check_parts(&self, instruction: &Instruction) -> Check {
        let count = instruction.count().unwrap_or(0);
        let start = instruction.register(Field::B);
        let destination = instruction.register(Field::A);
        // An empty list takes nothing from anywhere.
        let given = if count == 0 { &[] } else { self.run(start, count)? };
        match self.definition(destination)? {
            TypeDefinition::Tuple(elements) if elements.len() != count => {
                Err(format!("{destination} has {} elements, not {count}", elements.len()))
            }
            TypeDefinition::Tuple(elements) => {
                self.check_elements(start, given, |place| elements[place])
            }
            TypeDefinition::List(element) => self.check_elements(start, given, |_| *element),
            _ => Err(format!("{destination} is neither a tuple nor a list")),
        }
    }

    /// The registers from `start` on have the types of the elements.
    fn check_elements(
        &self,
        start: Register,
        given: &[RegisterType],
        element: impl Fn(usize) -> RegisterType,
    ) -> Check {
        let mut places = 0..given.len();
        match places.find(|&place| given[place] != element(place)) {
            None => Ok(()),
            Some(place) => self.has(Register((start.index() + place) as u8), element(place)),
        }
    }

    fn check_bytes(&self, instruction: &Instruction, destination: Register) -> Check {
        if self.element(destination, 0)? != RegisterType::U8 {
            return Err(format!("{destination} is no list of `u8`"));
        }
        let id = instruction.constant().map_or(0, |id| id.index());
        match self.function.constants[id] {
            Constant::String(_) => Ok(()),
            _ => Err(format!("k{id} is no string")),
        }
    }

    fn check_function_value(&self, instruction: &Instruction, destination: Register) -> Check {
        let (id, function) = self.function_operand(instruction);
        let parameters = function.registers.get(..function.arguments()).unwrap_or_default();
        let fits = match (self.definition(destination)?, function.kind) {
            (TypeDefinition::Function { parameters: wanted, result }, FunctionKind::Plain) => {
                (&wanted[..], *result) == (parameters, function.result)
            }
            (TypeDefinition::Process { parameters: wanted }, FunctionKind::Process) => {
                wanted == parameters
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let wanted = self.facts.show(self.register_type(destination)?);
        Err(format!("{id} is {}, not `{wanted}`", self.signature(function)))
    }

    /// The type of a function or process as a value; for other kinds of functions, the kind.
    fn signature(&self, function: &Function) -> String {
        let parameters = function.registers.get(..function.arguments()).unwrap_or_default();
        let parameters = parameters.to_vec();
        let show = |kind| self.facts.show(kind);
        let definition = match function.kind {
            FunctionKind::Plain => TypeDefinition::Function { parameters, result: function.result },
            FunctionKind::Process => TypeDefinition::Process { parameters },
            kind => return format!("a {}", kind.name()),
        };
        const LONGEST: usize = 8;
        match function.arguments() > LONGEST {
            true => format!("a {} of {} parameters", function.kind.name(), function.arguments()),
            false => format!("`{}`", text_of(&definition, show)),
        }
    }

    fn check_indirect_call(
        &self,
        instruction: &Instruction,
        destination: Register,
        function: Register,
    ) -> Check {
        let count = instruction.info().operand(OperandKind::Count);
        let count = count.map_or(0, |operand| instruction.value(operand) as usize);
        let window = instruction.window().unwrap_or(Register(0));
        let TypeDefinition::Function { parameters, result } = self.definition(function)? else {
            return Err(format!("{function} is no function"));
        };
        let given = self.run(window, count)?;
        self.check_given(window.index(), given, &function.to_string(), parameters)?;
        self.check_answer(destination, &function.to_string(), *result)
    }
}
