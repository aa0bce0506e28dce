//! Grants: the access of a sandbox's strands to the world. Primitives and the linker check them.
//!
//! A sandbox is granted modules by their names when it is made, and none by default. A strand's access needs the grant
//! of its sandbox and of all those around it, in addition to the permissions of the program
//! ([`crate::model::permissions`]). It does not matter how the strand got the object that it asks: authority is checked
//! where the machine meets the world, in the primitives, and where imports are linked.
//!
//! | name | needed for |
//! |---|---|
//! | `host:…` | importing that module of the host, and calling its functions |
//! | `host:clock` | the time, also in Newspeak |
//! | `host:console` | the standard output, also in Newspeak; without it, what goes to the standard error output is dropped |
//! | `bytecode` | reading modules of bytecode from files |
//! | `ffi` | C: functions, memory, databases |
//! | `files` | files and folders |
//! | `host` | functions and objects that an embedder has registered |
//! | `nativeThreads` | native threads of one's own, and blocking those of the machine |
//! | `net` | connections, names of hosts |
//! | `os` | processes of the system, signals, the environment |
//! | `system` | ending the program, its arguments, reading modules from files, collections |
//!
//! A strand that wants to end the program without the grant ends its sandbox.

use squall_heap::Word;

use crate::model::linking::{self, HOST_PREFIX, LinkError};
use crate::model::module::LoadedModule;
use crate::model::modules::ModuleTable;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::string::make_string;
use crate::state::sandbox::{Grants, SandboxRef};
use crate::state::thread::Thread;

/// The clock.
pub const CLOCK: &str = "host:clock";

/// The end and the state of the program.
pub const SYSTEM: &str = "system";

/// Where output goes.
pub const CONSOLE: &str = "host:console";

/// The sandbox because of which the strand that runs may not use a module.
#[inline]
pub fn refusing(thread: &Thread, module: &str) -> Option<SandboxRef> {
    thread.sandbox?.refusing(module)
}

/// Whether the strand that runs may use a module.
#[inline]
pub fn allows(thread: &Thread, module: &str) -> bool {
    refusing(thread, module).is_none()
}

/// Fails unless the strand that runs may use a module, for this. *GC point* if it fails.
#[inline]
pub fn check(thread: &mut Thread, module: &str, what: &str) -> Result<(), Failure> {
    match refusing(thread, module) {
        None => Ok(()),
        Some(_) => Err(failure(thread, module, what)),
    }
}

#[cold]
fn failure(thread: &mut Thread, module: &str, what: &str) -> Failure {
    let depth = thread.mutator.root_depth();
    let texts = make_string(thread, what).and_then(|what| {
        let what = thread.mutator.push_root(what);
        let module = make_string(thread, module)?;
        Ok((module, thread.mutator.get(what)))
    });
    thread.mutator.truncate_roots(depth);
    match texts {
        Ok((module, what)) => Failure::with(FailureReason::NotGranted, module, what),
        Err(failure) => failure,
    }
}

/// The module of the host that a function of an embedder belongs to, by the name under which it is registered; that of
/// all others is `host`.
pub fn module_of(function: &str) -> &str {
    let module = function.rsplit_once('.').map(|(module, _)| module);
    module.filter(|module| module.starts_with(HOST_PREFIX)).unwrap_or("host")
}

/// The grants in a guest array of names. An array with other objects is refused.
pub(crate) fn of_array(array: Word) -> Result<Grants, Failure> {
    let object = array.as_object().filter(|object| object.layout().format().has_elements());
    let object = object.ok_or(Failure::argument(array))?;
    let names = (0..object.length())
        .map(|index| crate::objects::string::text_argument(object.element(index)));
    let names = names.collect::<Result<Vec<String>, Failure>>()?;
    Grants::of(names).map_err(|_| Failure::argument(array))
}

/// Sees to it that a module, and the modules it imports, import no modules of the host but those that a sandbox is granted.
pub fn check_imports(
    modules: &'static ModuleTable,
    module: &'static LoadedModule,
    path: &str,
    sandbox: SandboxRef,
) -> Result<(), Vec<LinkError>> {
    linking::check_host_imports(modules, module, path, |name| {
        let refusing = sandbox.refusing(name)?;
        Some(format!("{} is not granted it", refusing.name()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules_are_granted_and_others_refused() {
        let of = |names: &[&str]| Grants::of(names.iter().map(|&name| name.to_owned()));
        let some = of(&["files", "host:geometry"]).expect("these are modules");
        assert!(some.include("files") && some.include("host:geometry"));
        assert!(!some.include("net") && !some.include("host") && !some.include("host:clock"));
        assert_eq!(of(&["files", "file"]), Err("file".to_owned()));
        assert!(Grants::All.include("net"));
        assert!(!Grants::default().include("net"));
    }

    #[test]
    fn functions_of_modules_belong_to_these() {
        assert_eq!(module_of("host:geometry.area"), "host:geometry");
        assert_eq!(module_of("host:a.b.c"), "host:a.b");
        assert_eq!(module_of("area"), "host");
        assert_eq!(module_of("a.b"), "host");
    }
}
