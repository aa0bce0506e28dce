//! Modules of typed bytecode: primitives that load them and call their exports. `lib/Bytecode.ns` calls them.
//!
//! A [right](rights) stands for a module. The called function is an adapter, which takes and answers objects
//! ([`squall_bytecode::adapters`]).

use squall_bytecode::adapters::{self, Adapter};
use squall_bytecode::types::TypeDefinition;
use squall_heap::Word;

use super::answer;
use crate::concurrency::processes::crossing;
use crate::concurrency::sandbox::{blocking, grants};
use crate::concurrency::transactions::access;
use crate::model::host::CompileError;
use crate::model::linking;
use crate::model::module::LoadedModule;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::array;
use crate::objects::rights::{self, Kind};
use crate::objects::string::{make_string, symbol_object, text_argument};
use crate::state::sandbox::SandboxRef;
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("loadBytecode:", |thread, window| answer(load(thread, window))),
    Primitive::ordinary("loadBytecode:for:", |thread, window| answer(load_for(thread, window))),
    Primitive::ordinary("isBytecode:", |thread, window| answer(is_bytecode(thread, window))),
    Primitive::ordinary("bytecodeExports:", |thread, window| answer(exports(thread, window))),
    Primitive::ordinary("bytecodeTakesArguments:of:", |thread, window| {
        answer(takes_arguments(thread, window))
    }),
    Primitive::ordinary("bytecodeResult:of:", |thread, window| answer(result_end(thread, window))),
    Primitive::effect("bytecode:call:with:spawning:", |thread, window| {
        call(thread, window).unwrap_or_else(Outcome::Fail)
    }),
    Primitive::ordinary("argumentsAsBytes", |thread, _| answer(arguments_as_bytes(thread))),
];

/// The module in a file: a right to it. *GC point.*
fn load(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let sandbox = thread.sandbox;
    load_granted(thread, window, sandbox)
}

/// Loads a module for the sandbox in the window's second word. *GC point.*
fn load_for(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let sandbox = super::sandboxes::sandbox_argument(window.get(1))?;
    load_granted(thread, window, Some(sandbox))
}

/// Loads a module, unless it imports a module that the sandbox is not granted. *GC point.*
fn load_granted(
    thread: &mut Thread,
    window: Window,
    sandbox: Option<SandboxRef>,
) -> Result<Word, Failure> {
    let path = text_argument(window.get(0))?;
    grants::check(thread, "bytecode", &path)?;
    super::modules::check_permission(thread, &path)?;
    let vm = thread.vm;
    // Reading and verifying takes its time, and touches no object.
    let loaded = blocking::outside(thread, || {
        let load = if sandbox.is_some() { linking::guest_module } else { linking::program_module };
        let module = load(&vm.modules, &path)?;
        let checked = sandbox
            .map_or(Ok(()), |sandbox| grants::check_imports(&vm.modules, module, &path, sandbox));
        checked.map_err(|errors| CompileError::Invalid(linking::render(vm.host(), &errors)))?;
        Ok(module)
    })?;
    match loaded {
        Ok(module) => right_to(thread, module),
        Err(error) => Err(super::modules::failure_for(thread, error, &path)),
    }
}

/// A right to a module. *GC point.*
fn right_to(thread: &mut Thread, module: &'static LoadedModule) -> Result<Word, Failure> {
    let number = thread.vm.modules.number(module).unwrap_or_default();
    rights::make(thread, Kind::Module, number as i64)
}

/// Whether the program in a file is one of typed bytecode: without a class, but with exports. *GC point.*
fn is_bytecode(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let path = text_argument(window.get(0))?;
    let vm = thread.vm;
    let module = blocking::outside(thread, || linking::program_module(&vm.modules, &path).ok())?;
    Ok(Word::from_bool(module.is_some_and(|module| {
        module.main_definition().is_none() && !module.bytecode.whole().exports.is_empty()
    })))
}

/// The module that a right stands for.
fn module(thread: &Thread, right: Word) -> Result<&'static LoadedModule, Failure> {
    let number = rights::number(thread, right, Kind::Module)?;
    let module = usize::try_from(number).ok().and_then(|number| thread.vm.modules.at(number));
    module.ok_or(Failure::argument(right))
}

fn exports(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let text = module(thread, window.get(0))?.bytecode.whole();
    array::make_value_of(thread, text.exports.len(), |thread, index| {
        make_string(thread, text.string(text.exports[index].name))
    })
}

/// The index of the export with the name in a word.
fn export(module: &LoadedModule, name: Word) -> Result<usize, Failure> {
    module.export(&text_argument(name)?).ok_or(Failure::argument(name))
}

fn takes_arguments(thread: &Thread, window: Window) -> Result<Word, Failure> {
    let module = module(thread, window.get(1))?;
    let text = module.bytecode.whole();
    let function = text.exports[export(module, window.get(0))?].function;
    Ok(Word::from_bool(text.functions[function.index()].parameters > 0))
}

/// Calls or starts an export with the elements of an array. *GC point.*
fn call(thread: &mut Thread, window: Window) -> Result<Outcome, Failure> {
    let module = module(thread, window.get(0))?;
    let text = module.bytecode.whole();
    let index = export(module, window.get(1))?;
    let adapter = if window.get(3) == Word::TRUE { Adapter::Spawn } else { Adapter::Call };
    let first = module.bytecode.first_adapter().ok_or(Failure::argument(window.get(1)))?;
    let function = module.function(adapters::id(first, index, adapter));
    let arguments = array::of(window.get(2)).ok_or(Failure::argument(window.get(2)))?;
    if arguments.length() != function.arguments as usize {
        return Err(Failure::argument(window.get(2)));
    }
    thread.message.clear();
    access::extend_message(thread, arguments)?;
    let called = module.function(text.exports[index].function);
    for place in 0..thread.message.len() {
        thread.message[place] =
            crossing::unwrapped(thread, called.types[place], thread.message[place])?;
    }
    Ok(Outcome::Call(function))
}

/// Which end of a channel an export answers: a symbol, or nil if it answers none.
fn result_end(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let module = module(thread, window.get(1))?;
    let text = module.bytecode.whole();
    let result =
        text.functions[text.exports[export(module, window.get(0))?].function.index()].result;
    let end = match text.definition(result) {
        Some(TypeDefinition::Reader(_)) => "reading",
        Some(TypeDefinition::Writer(_)) => "writing",
        _ => return Ok(Word::NIL),
    };
    let symbol = thread.vm.symbol(end);
    symbol_object(thread, symbol)
}

/// The arguments of the command line after the program's file, as arrays of bytes. *GC point.*
fn arguments_as_bytes(thread: &mut Thread) -> Result<Word, Failure> {
    let arguments = thread.vm.options.arguments.get(1..).unwrap_or_default();
    array::make_value_of(thread, arguments.len(), |thread, index| {
        let bytes = arguments[index].as_bytes();
        array::make_value_of(thread, bytes.len(), |_, index| {
            Ok(Word::from_small_integer_unchecked(i64::from(bytes[index])))
        })
    })
}
