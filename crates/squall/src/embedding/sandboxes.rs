//! Sandboxes for embedders: code that runs under budgets. Embedders in Rust and `squall-capi` make sandboxes by this
//! module.

use squall_runtime::concurrency::sandbox;
use squall_runtime::concurrency::sandbox::grants::check_imports;
use squall_runtime::model::linking::{self, render};
use squall_runtime::model::outcome::Failure;
use squall_runtime::state::sandbox::{Budgets, Grants, Reason, SandboxRef};

use super::{Error, Object, Value, Vm};
use crate::compiler::FileKind;

/// A sandbox: its actors, and all strands that they start, have budgets. See chapter 22 of the guide.
#[derive(Clone)]
pub struct Sandbox {
    vm: Vm,
    object: Object,
}

impl Vm {
    /// Makes a sandbox with these budgets. Reports call it by this name. Access to the world needs grants of modules
    /// (`host:console`, `files` … : see chapter 22 of the guide); an unknown name is [`Error::Argument`].
    pub fn sandbox(
        &self,
        name: &str,
        budgets: Budgets,
        granted: &[&str],
    ) -> Result<Sandbox, Error> {
        let name = name.to_owned();
        let grants = Grants::of(granted.iter().map(|&name| name.to_owned()));
        let grants = grants.map_err(|_| Error::Argument)?;
        let object = self.do_inside(move |thread| {
            let object = sandbox::make(thread, name, budgets, grants, None)?;
            Ok(thread.vm.concurrency().embedding.kept.keep(object.word()))
        })?;
        let object = object.map_err(|_: Failure| Error::OutOfMemory)?;
        Ok(Sandbox { vm: self.clone(), object })
    }
}

impl Sandbox {
    /// Makes an actor in the sandbox, whose root object is the value; answers a far reference to it. [`Vm::call`] sends
    /// messages to it; if the sandbox ends before the answer, that is [`Error::SandboxEnded`]. A far reference is
    /// answered unchanged, so answers of [`Vm::call`] may be passed here. A message to a value runs outside of the
    /// sandbox; a value that the sandbox answers has no code of the sandbox.
    pub fn actor(&self, value: &Value) -> Result<Value, Error> {
        let sandbox = Value::Object(self.object.clone());
        self.vm.ask("sandbox:actor:", &[sandbox, value.clone()])
    }

    /// Loads a module like [`Vm::load`], but in a new actor of the sandbox; answers a far reference to the result. An
    /// import without a grant is [`Error::Compile`]. The code that makes the module's class runs in the sandbox; with
    /// [`Vm::load`] and [`Sandbox::actor`] it does not.
    pub fn load(&self, path: &str, kind: FileKind, bytes: &[u8]) -> Result<Value, Error> {
        let prepared = self.vm.prepare(path, kind, bytes)?;
        self.check_imports(prepared.key.clone())?;
        if prepared.has_class {
            let sandbox = Value::Object(self.object.clone());
            let loader = self.vm.ask("sandbox:loader:", &[sandbox, Value::Text(prepared.key)])?;
            return self.vm.call(&loader, "load", &[]);
        }
        self.actor(&self.vm.load_prepared(&prepared)?)
    }

    fn check_imports(&self, key: String) -> Result<(), Error> {
        let checked =
            self.inspect(move |vm, sandbox| match linking::program_module(&vm.modules, &key) {
                Ok(module) => check_imports(&vm.modules, module, &key, sandbox),
                // The caller of `load` gets the error.
                Err(_) => Ok(()),
            })?;
        checked.map_err(|errors| Error::Compile(render(self.vm.runtime().host(), &errors)))
    }

    /// Ends the sandbox; false if it was over.
    pub fn terminate(&self) -> Result<bool, Error> {
        self.inspect(sandbox::terminate)
    }

    /// The reason why it is over, or the reason that says it is not.
    pub fn reason(&self) -> Result<Reason, Error> {
        self.inspect(|_, sandbox| sandbox.reason())
    }

    /// The report about its end; empty if it is not over.
    pub fn report(&self) -> Result<String, Error> {
        self.inspect(|_, sandbox| sandbox.report())
    }

    /// Its consumption: fuel; bytes at the last measurement; strands now; messages; milliseconds. Resources without a
    /// budget are not counted, except strands.
    pub fn usage(&self) -> Result<[u64; 5], Error> {
        self.inspect(|_, sandbox| sandbox.usage())
    }

    fn inspect<R: Send + 'static>(
        &self,
        look: impl FnOnce(&'static squall_runtime::state::vm::Vm, SandboxRef) -> R + Send + 'static,
    ) -> Result<R, Error> {
        let object = self.object.clone();
        self.vm.do_inside(move |thread| {
            let word = thread.vm.concurrency().embedding.kept.word(&object);
            look(thread.vm, SandboxRef::of_object(word.object()))
        })
    }
}
