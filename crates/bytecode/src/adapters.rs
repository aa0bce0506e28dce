//! Adapters: functions through which callers that hold objects only call the functions that a module exports. The
//! runtime's linker adds them to a module, for the library and for embedders.
//!
//! An adapter is a function of the same module whose parameters and result are `any`. It unboxes its arguments, calls
//! the exported function and boxes the result. It passes channels, their ends, barriers and buckets on unchanged, so
//! its caller has to check them. For an exported process, one adapter runs the process's code in the caller's strand
//! and answers nil; another one starts the process. Adapters consist of ordinary instructions, and are added after the
//! module was verified: their safety rests on the verifier's rules alone.
//!
//! There are two adapters for each export, in the order of the exports, after all other functions.

use std::collections::HashMap;

use crate::builder::{FunctionBuilder, Signature};
use crate::entities::{FunctionId, Register, StringId};
use crate::instructions::{Opcode, Special};
use crate::module::{Constant, Function, FunctionKind, Module};
use crate::types::{RegisterType, TypeDefinition, boxable_rows};

/// Adapters of an export.
const PER_EXPORT: usize = 2;

/// The most parameters that an adapted function has: each needs two registers.
pub const MOST_PARAMETERS: usize = 120;

/// The task of an adapter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adapter {
    /// Calls the function and answers its result.
    Call = 0,
    /// Starts the process, and answers nil.
    Spawn = 1,
}

/// Adds adapters to a verified module, and answers where they begin.
pub fn add(module: &mut Module) -> usize {
    let first = module.functions.len();
    let boxable = boxable_rows(&module.types);
    let mut strings: Strings = module.strings.iter().cloned().zip(0..).collect();
    for index in 0..module.exports.len() {
        for adapter in [Adapter::Call, Adapter::Spawn] {
            let target = module.exports[index].function;
            let function = make(module, &boxable, &mut strings, target, adapter);
            module.functions.push(function);
        }
    }
    first
}

/// The adapter of the export with this index, if the adapters begin at `first`.
pub fn id(first: usize, export: usize, adapter: Adapter) -> FunctionId {
    FunctionId((first + PER_EXPORT * export + adapter as usize) as u32)
}

/// Whether values of a type can be made of objects, and objects of them; for channels and their ends, the same for the
/// values that go through them.
fn is_boxable(module: &Module, boxable: &[bool], kind: RegisterType) -> bool {
    let has_objects =
        |kind: RegisterType| kind.defined().is_none_or(|id| boxable.get(id.index()) == Some(&true));
    match module.definition(kind) {
        Some(definition) if definition.is_communication() => definition.parts().all(has_objects),
        _ => has_objects(kind),
    }
}

/// Whether a caller that holds objects can use a result of this type: the library cannot make objects of whole
/// channels, barriers and buckets.
fn is_answerable(module: &Module, kind: RegisterType) -> bool {
    use TypeDefinition::{Barrier, Bucket, Channel};
    !matches!(module.definition(kind), Some(Channel(_) | Barrier | Bucket))
}

/// Whether a register of this type holds the same as an `any` register. The caller of an adapter has checked that an
/// argument for the end of a channel or the like is one.
fn is_passed_on(module: &Module, kind: RegisterType) -> bool {
    let communicates = module.definition(kind).is_some_and(TypeDefinition::is_communication);
    kind == RegisterType::Any || communicates
}

/// The expected type, for the message about an argument of the wrong type.
fn describe(module: &Module, kind: RegisterType) -> &'static str {
    let keyword = module.definition(kind).map(TypeDefinition::keyword);
    keyword.or(kind.name()).unwrap_or("value")
}

fn make(
    module: &mut Module,
    boxable: &[bool],
    strings: &mut Strings,
    target: FunctionId,
    adapter: Adapter,
) -> Function {
    let callee = &module.functions[target.index()];
    let parameters = callee.registers[..usize::from(callee.parameters)].to_vec();
    let (result, kind, name) = (callee.result, callee.kind, module.string(callee.name).to_owned());
    let is_suitable = parameters.len() <= MOST_PARAMETERS
        && parameters.iter().chain([&result]).all(|&kind| is_boxable(module, boxable, kind))
        && is_answerable(module, result)
        && (adapter == Adapter::Call || kind == FunctionKind::Process);
    let mut maker = Maker { module, strings, code: FunctionBuilder::new(), parameters };
    match is_suitable {
        true => maker.adapt(target, adapter, result),
        false => maker.refuse(),
    }
    let name = match adapter {
        Adapter::Call => maker.string(&format!("call of {name}")),
        Adapter::Spawn => maker.string(&format!("start of {name}")),
    };
    maker.finish(name, result)
}

/// The strings of a module, with their numbers.
type Strings = HashMap<String, u32>;

struct Maker<'m> {
    module: &'m mut Module,
    strings: &'m mut Strings,
    code: FunctionBuilder,
    parameters: Vec<RegisterType>,
}

impl Maker<'_> {
    /// The registers: the arguments, as objects; the result, as an object; room for the return address;
    /// the arguments of the call; its result.
    fn result(&self) -> usize {
        self.parameters.len()
    }

    fn window(&self) -> usize {
        self.parameters.len() + 2
    }

    fn raw_result(&self) -> usize {
        self.window() + self.parameters.len()
    }

    fn adapt(&mut self, target: FunctionId, adapter: Adapter, result: RegisterType) {
        let register = |index: usize| Register(index as u8);
        let count = self.parameters.len();
        let wrong: Vec<_> = (0..count).map(|_| self.code.label()).collect();
        for (index, &label) in wrong.iter().enumerate() {
            let (from, to) = (register(index), register(self.window() + index));
            match is_passed_on(self.module, self.parameters[index]) {
                true => self.code.emit(Opcode::Move, &[to.into(), from.into()]),
                false => self.code.emit(Opcode::Unbox, &[to.into(), from.into(), label.into()]),
            }
        }
        let (answer, window) = (register(self.result()), register(self.window()));
        let number = |value: usize| crate::builder::Argument::Number(value as i64);
        let function = number(target.index());
        match adapter {
            Adapter::Call => {
                let raw = register(self.raw_result());
                self.code.emit(Opcode::Call, &[raw.into(), window.into(), number(count), function]);
                let passes = is_passed_on(self.module, result);
                let opcode = if passes { Opcode::Move } else { Opcode::Box };
                self.code.emit(opcode, &[answer.into(), raw.into()]);
            }
            Adapter::Spawn => {
                self.code.emit(Opcode::Spawn, &[window.into(), number(count), function]);
                let nil = number(Special::Nil as usize);
                self.code.emit(Opcode::LoadSpecial, &[answer.into(), nil]);
            }
        }
        self.code.emit(Opcode::Return, &[answer.into()]);
        for (index, label) in wrong.into_iter().enumerate() {
            self.code.bind(label);
            let kind = describe(self.module, self.parameters[index]);
            self.raise(&format!("argument {} is no {kind}", index + 1));
        }
    }

    fn refuse(&mut self) {
        self.raise("this function cannot be called with objects");
    }

    /// Signals an exception with a text.
    fn raise(&mut self, text: &str) {
        let text = self.string(text);
        let constant = self.code.constant(Constant::String(text));
        let register = Register(self.result() as u8);
        self.code.emit(Opcode::LoadConstant, &[register.into(), constant.into()]);
        self.code.emit(Opcode::Raise, &[register.into()]);
    }

    fn string(&mut self, text: &str) -> StringId {
        let strings = &mut self.module.strings;
        let index = *self.strings.entry(text.to_owned()).or_insert_with(|| {
            strings.push(text.to_owned());
            strings.len() as u32 - 1
        });
        StringId(index)
    }

    fn finish(self, name: StringId, result: RegisterType) -> Function {
        let count = self.parameters.len();
        let mut registers = vec![RegisterType::Any; count + 2];
        registers.extend(&self.parameters);
        registers.push(result);
        registers.truncate(crate::register_set::RegisterSet::CAPACITY);
        let signature = Signature {
            name,
            kind: FunctionKind::Plain,
            parameters: count as u8,
            captured: 0,
            registers,
            result: RegisterType::Any,
            home: None,
        };
        self.code.finish(signature).expect("an adapter is small")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembler::assemble;
    use crate::verifier::{Trust, verify};

    #[test]
    fn adapters_are_correct() {
        let text = "
            export \"add\" $add
            export \"produce\" $produce
            function $add \"add\" (2) -> f64 {
                registers f64*3
                add r2, r0, r1
                return r2
            }
            process $produce \"produce\" (2) {
                registers i64, bool
                yield
                end_process
            }";
        let mut module = assemble(text).unwrap();
        verify(&module, Trust::Untrusted).unwrap();
        let first = add(&mut module);
        assert_eq!(module.functions.len(), first + 4);
        // The verifier allows all of it but one thing: the call of a process in the caller's strand.
        module.functions.remove(id(first, 1, Adapter::Call).index());
        verify(&module, Trust::Untrusted).unwrap();
    }
}
