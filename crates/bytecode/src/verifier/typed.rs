//! What the instruction table does not say about tuples, lists, maps and function values: how the
//! types of their registers belong together.

use super::code::{Check, CodeChecker};
use crate::decode::Instruction;
use crate::entities::Register;
use crate::instructions::{Field, Opcode, OperandKind};
use crate::module::{Constant, FunctionKind};
use crate::types::{RegisterType, TypeDefinition};

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
        self.facts.module.definition(kind).ok_or_else(|| format!("{register} is `{kind}`"))
    }

    /// The type of a part of what is in a register: a tuple's element, a list's element, a map's key
    /// or value.
    fn element(&self, register: Register, index: usize) -> Result<RegisterType, String> {
        let definition = self.definition(register)?;
        let part = definition.parts().nth(index);
        part.ok_or_else(|| format!("{register} has {} elements", definition.parts().count()))
    }

    fn has(&self, register: Register, wanted: RegisterType) -> Check {
        let kind = self.register_type(register)?;
        if kind == wanted { Ok(()) } else { Err(format!("{register} is `{kind}`, not `{wanted}`")) }
    }

    /// The types of a run of registers.
    fn run(&self, start: Register, count: usize) -> Result<&[RegisterType], String> {
        self.check_run("range", start, count)?;
        Ok(&self.function.registers[start.index()..start.index() + count])
    }

    fn check_parts(&self, instruction: &Instruction) -> Check {
        let count = instruction.count().unwrap_or(0);
        let given = self.run(instruction.register(Field::B), count)?;
        match self.definition(instruction.register(Field::A))? {
            TypeDefinition::Tuple(elements) if elements == given => Ok(()),
            TypeDefinition::Tuple(_) => Err("the elements are not those of the tuple".into()),
            TypeDefinition::List(element) if given.iter().all(|kind| kind == element) => Ok(()),
            _ => Err("the elements are not those of the list".into()),
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
        let fits = match self.definition(destination)? {
            TypeDefinition::Function { parameters: wanted, result } => {
                function.kind == FunctionKind::Plain
                    && (&wanted[..], *result) == (parameters, function.result)
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("{id} is not of the type of {destination}")) }
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
        if self.run(window, count)? != parameters {
            return Err(format!("the arguments are not what {function} takes"));
        }
        self.has(destination, *result)
    }
}
