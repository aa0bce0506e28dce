//! Modules: the primitives that load them, and the kernel's registry of the library's modules. `lib/Kernel.ns`,
//! `lib/System.ns` and other modules of the library call them.
//!
//! A module is compiled once, but each load answers a new class object. The accessor of the module's class makes it;
//! the accessor is guest code, so the outcome is a call of it. A program that does not trust a module compiles it here,
//! and makes the class in a sandbox.

use std::path::Path;

use squall_heap::Word;

use super::answer;
use super::reflection::{definition, make_right};
use super::resources::denied;
use crate::concurrency::sandbox::{blocking, grants};
use crate::model::host::CompileError;
use crate::model::linking;
use crate::model::module::LoadedModule;
use crate::model::modules::is_computing;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::Primitive;
use crate::model::symbols::Symbol;
use crate::objects::string::{Text, make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("loadModule:", |thread, window| {
        let path = text_argument(window.get(0));
        path.map_or_else(Outcome::Fail, |path| load(thread, &path))
    }),
    Primitive::ordinary("loadModule:nextTo:", |thread, window| {
        match path_next_to(thread, window) {
            Ok(path) => load(thread, &path),
            Err(failure) => failure.into(),
        }
    }),
    Primitive::ordinary("definitionOfModule:", |thread, window| answer(define(thread, window))),
    Primitive::ordinary("classOfModule:", |thread, window| {
        match definition(thread, window.get(0)) {
            Ok(definition) => {
                let module = definition.module.loaded();
                make_class(thread, module, module.bytecode.path_text())
            }
            Err(failure) => failure.into(),
        }
    }),
    Primitive::ordinary("libraryModule:", load_library),
    Primitive::ordinary("libraryInstance:", library_instance),
    Primitive::ordinary("isComputingModule:", |_, window| {
        answer(text_argument(window.get(0)).map(|name| Word::from_bool(is_computing(&name))))
    }),
    Primitive::ordinary("registryAt:", |thread, window| {
        answer(Text::of(window.get(0)).ok_or(Failure::argument(window.get(0))).map(|name| {
            let name = name.known(thread.vm.modules.symbols);
            name.and_then(|name| thread.vm.roots.registered(name)).unwrap_or(Word::NIL)
        }))
    }),
    Primitive::ordinary("registryAt:put:", |thread, window| {
        answer(
            name_argument(thread, window).map(|name| thread.vm.roots.register(name, window.get(1))),
        )
    }),
];

/// The name of a module, the first argument.
pub fn name_argument(thread: &Thread, window: Window) -> Result<Symbol, Failure> {
    let name = Text::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    Ok(name.intern(thread.vm.modules.symbols))
}

/// A path relative to the directory of a definition's source file.
fn path_next_to(thread: &Thread, window: Window) -> Result<String, Failure> {
    let path = text_argument(window.get(0))?;
    let definition = definition(thread, window.get(1))?;
    let directory = Path::new(definition.module.bytecode.path_text()).parent();
    Ok(match directory {
        Some(directory) => directory.join(&path).to_string_lossy().into_owned(),
        None => path,
    })
}

/// Fails unless the program may read the module in a file. Texts in Newspeak may be anywhere: a compile error quotes
/// only the text of a program. *GC point* if it fails.
pub(super) fn check_permission(thread: &mut Thread, path: &str) -> Result<(), Failure> {
    let is_text = Path::new(path).extension().is_some_and(|extension| extension == "ns");
    match is_text || thread.vm.may_load(path) {
        true => Ok(()),
        false => Err(denied(thread, "--allow-files", path)),
    }
}

/// Makes a class object of the module in a source file.
fn load(thread: &mut Thread, path: &str) -> Outcome {
    let is_guest = thread.sandbox.is_some();
    match read(thread, path, is_guest) {
        Ok(module) => make_class(thread, module, path),
        Err(failure) => failure.into(),
    }
}

/// A right to the definition of the class of the module in a source file, for a sandbox.
fn define(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let path = text_argument(window.get(0))?;
    let module = read(thread, &path, true)?;
    match module.main_definition() {
        Some(definition) => make_right(thread, definition),
        None => Err(without_class(thread, &path)),
    }
}

/// The module in a source file, compiled: the program's, or that of sandboxes. *GC point.*
fn read(thread: &mut Thread, path: &str, is_guest: bool) -> Result<&'static LoadedModule, Failure> {
    grants::check(thread, "system", path)?;
    check_permission(thread, path)?;
    let vm = thread.vm;
    // Reading and compiling takes its time, and touches no object.
    let load = if is_guest { linking::guest_module } else { linking::program_module };
    let loaded = blocking::outside(thread, || load(&vm.modules, path))?;
    loaded.map_err(|error| failure_for(thread, error, path))
}

fn load_library(thread: &mut Thread, window: Window) -> Outcome {
    let name = match text_argument(window.get(0)) {
        Ok(name) => name,
        Err(failure) => return failure.into(),
    };
    let vm = thread.vm;
    match thread.mutator.native(|| vm.modules.of_library(&name)) {
        Some(module) => make_class(thread, module, &name),
        None => not_found(thread, &name).into(),
    }
}

/// The instance of a library module, which the kernel makes at the first request. The kernel's method for that is
/// private, so no program reaches the library's modules through the kernel.
fn library_instance(thread: &mut Thread, window: Window) -> Outcome {
    let name = match name_argument(thread, window) {
        Ok(name) => name,
        Err(failure) => return failure.into(),
    };
    if let Some(instance) = thread.vm.roots.registered(name) {
        return Outcome::Return(instance);
    }
    call_kernel(thread, "instanceOf:", window.get(0))
}

/// Calls a method of the kernel that programs cannot reach.
pub(super) fn call_kernel(thread: &mut Thread, selector: &str, argument: Word) -> Outcome {
    let Some(method) = thread.vm.kernel_method(selector) else {
        return Failure::new(FailureReason::UnknownPrimitive).into();
    };
    thread.message.clear();
    thread.message.extend([thread.vm.roots.kernel.get(), argument]);
    Outcome::Call(method)
}

/// Runs the accessor of the module's class, which nothing encloses.
fn make_class(thread: &mut Thread, module: &'static LoadedModule, path: &str) -> Outcome {
    let class = module.main_definition().map(|definition| definition.bytecode());
    let Some(accessor) = class.and_then(|class| class.accessor) else {
        return without_class(thread, path).into();
    };
    thread.message.clear();
    thread.message.push(Word::NIL);
    Outcome::Call(module.function(accessor))
}

/// The failure for a module that cannot be had. *GC point.*
pub(super) fn failure_for(thread: &mut Thread, error: CompileError, path: &str) -> Failure {
    match error {
        CompileError::NotFound => not_found(thread, path),
        CompileError::Invalid(diagnostics) => invalid(thread, &diagnostics, path),
    }
}

fn not_found(thread: &mut Thread, path: &str) -> Failure {
    let path = make_string(thread, path);
    path.map_or_else(
        |failure| failure,
        |path| Failure::with(FailureReason::ModuleNotFound, path, Word::NIL),
    )
}

fn without_class(thread: &mut Thread, path: &str) -> Failure {
    invalid(thread, "the module has no class", path)
}

fn invalid(thread: &mut Thread, diagnostics: &str, path: &str) -> Failure {
    let diagnostics = match make_string(thread, diagnostics) {
        Ok(diagnostics) => diagnostics,
        Err(failure) => return failure,
    };
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(diagnostics);
    let path = make_string(thread, path);
    let diagnostics = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    path.map_or_else(
        |failure| failure,
        |path| Failure::with(FailureReason::Compile, diagnostics, path),
    )
}
