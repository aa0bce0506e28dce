//! Sandboxes, for embedders.

use squall_runtime::linking::{self, render};
use squall_runtime::outcome::Failure;
use squall_runtime::sandbox::grants::Grants;
use squall_runtime::sandbox::grants::check_imports;
use squall_runtime::sandbox::{self, Budgets, Reason, SandboxRef};

use super::{Error, Object, Value, Vm};
use crate::compiler::FileKind;

/// A sandbox: what its actors do, and all that they start, has budgets. See chapter 22 of the guide.
#[derive(Clone)]
pub struct Sandbox {
    vm: Vm,
    object: Object,
}

impl Vm {
    /// A new sandbox with these budgets. Reports call it by this name. What it does to the world needs the
    /// grant of the modules for that (`host:console`, `files` … : see chapter 22 of the guide); a name that is none is
    /// [`Error::Argument`].
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
            Ok(thread.vm.embedding.kept.keep(object.word()))
        })?;
        let object = object.map_err(|_: Failure| Error::OutOfMemory)?;
        Ok(Sandbox { vm: self.clone(), object })
    }
}

impl Sandbox {
    /// Makes an actor in the sandbox, whose root object is the value; answers a far reference to it. [`Vm::call`] sends
    /// messages to that; if the sandbox ends before it has answered, that is [`Error::SandboxEnded`]. A far reference is answered
    /// as it is, so what [`Vm::call`] has answered may be given to this: a message to a value runs outside, whoever made the value.
    pub fn actor(&self, value: &Value) -> Result<Value, Error> {
        let sandbox = Value::Object(self.object.clone());
        self.vm.ask("sandbox:actor:", &[sandbox, value.clone()])
    }

    /// Loads a module for the sandbox, as [`Vm::load`] does; a module that imports what the sandbox is not granted is
    /// [`Error::Compile`]. Answers a far reference to what [`Vm::load`] would answer, in an actor of the sandbox. What a module
    /// runs to make its class runs in the sandbox, which it does not with [`Vm::load`] and [`Sandbox::actor`].
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
                // Who loads it is told.
                Err(_) => Ok(()),
            })?;
        checked.map_err(|errors| Error::Compile(render(self.vm.runtime().host, &errors)))
    }

    /// Ends it; whether it was not over.
    pub fn terminate(&self) -> Result<bool, Error> {
        self.inspect(sandbox::terminate)
    }

    /// Why it is over, or that it is not.
    pub fn reason(&self) -> Result<Reason, Error> {
        self.inspect(|_, sandbox| sandbox.reason())
    }

    /// What was reported about its end; empty if it is not over.
    pub fn report(&self) -> Result<String, Error> {
        self.inspect(|_, sandbox| sandbox.report())
    }

    /// What it has used: fuel; bytes, when they were last measured; strands now; messages. What has no budget is
    /// not counted, but for strands.
    pub fn usage(&self) -> Result<[u64; 4], Error> {
        self.inspect(|_, sandbox| sandbox.usage())
    }

    fn inspect<R: Send + 'static>(
        &self,
        look: impl FnOnce(&'static squall_runtime::vm::Vm, SandboxRef) -> R + Send + 'static,
    ) -> Result<R, Error> {
        let object = self.object.clone();
        self.vm.do_inside(move |thread| {
            let word = thread.vm.embedding.kept.word(&object);
            look(thread.vm, SandboxRef::of_object(word.object_unchecked()))
        })
    }
}
