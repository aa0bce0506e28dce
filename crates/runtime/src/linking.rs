//! Linking of modules: what one imports is found in others, by name, version and type, before
//! anything of it runs.
//!
//! An imported function is a function of the importing module without code. Linking fills its cell
//! with the provider's function; from then on a call of it is like any other. Providers are
//!
//! - for names that begin with `host:`, what [`Vm::provide`] was given, and after that the modules
//!   that come with the VM;
//! - for all other names the modules that the host finds next to the importing one
//!   ([`Host::import`](crate::host::Host::import)).
//!
//! A module is loaded once per file, whoever imports it. Providers are linked with their importers;
//! they may import each other in a circle, since only functions are linked, and nothing runs.
//!
//! A module whose linking failed, or was left out, is safe all the same: a call of a function that was
//! not found signals `NotSupported`.

use std::collections::BTreeSet;
use std::fmt;

use semver::{Version, VersionReq};
use squall_bytecode::entities::FunctionId;
use squall_bytecode::module::{Function, FunctionKind, Import};

use crate::host::CompileError;
use crate::module::LoadedModule;
use crate::sandbox::SandboxRef;
use crate::typed::types::{Type, of_register};
use crate::vm::Vm;

/// What the names of modules of the host begin with.
pub const HOST_PREFIX: &str = "host:";

/// Something that a module imports and cannot have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkError {
    /// The file of the importing module.
    pub path: String,
    /// The name of the imported module, and which version was asked for.
    pub import: String,
    /// The name of the function, if it is about one.
    pub function: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: import of {}", self.path, self.import)?;
        if let Some(function) = &self.function {
            write!(f, ", function `{}`", function.escape_debug())?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for LinkError {}

/// A module that others can import from, and where it was found.
#[derive(Clone, Copy)]
pub struct Provider {
    /// The module.
    pub module: &'static LoadedModule,
    /// The path of its file, or its name if it is one of the host.
    pub path: &'static str,
}

/// Links a module, and the modules it imports, as far as they were not linked before.
pub fn link(
    vm: &'static Vm,
    module: &'static LoadedModule,
    path: &str,
) -> Result<(), Vec<LinkError>> {
    let mut linker = Linker { vm, errors: Vec::new() };
    let mut waiting = vec![(module, path.to_owned())];
    let mut visited = Vec::new();
    while let Some((module, path)) = waiting.pop() {
        if !module.begin_linking() {
            continue;
        }
        visited.push(path.clone());
        for import in module.bytecode.imports() {
            if let Some(provider) = linker.import(module, &path, import) {
                waiting.push((provider.module, provider.path.to_owned()));
            }
        }
    }
    if linker.errors.is_empty() {
        return Ok(());
    }
    // Whoever asks for one of them again is told again what is missing.
    visited.iter().for_each(|path| vm.forget_module(path));
    Err(linker.errors)
}

/// Sees to it that a module, and the modules it imports, import no modules of the host but those that a
/// sandbox is granted. They are linked for all who load them, so this is looked at for each one who does.
pub fn check_grants(
    vm: &'static Vm,
    module: &'static LoadedModule,
    path: &str,
    sandbox: SandboxRef,
) -> Result<(), Vec<LinkError>> {
    let mut errors = Vec::new();
    let mut waiting = vec![(module, path.to_owned())];
    let mut visited = BTreeSet::from([path.to_owned()]);
    while let Some((module, path)) = waiting.pop() {
        for import in module.bytecode.imports() {
            let name = module.bytecode.string(import.module);
            if !name.starts_with(HOST_PREFIX) {
                let provider = vm.imported_module(name, &path).ok();
                let provider = provider.filter(|found| visited.insert(found.path.to_owned()));
                waiting.extend(provider.map(|found| (found.module, found.path.to_owned())));
            } else if let Some(refusing) = sandbox.refusing(name) {
                errors.push(LinkError {
                    path: path.clone(),
                    import: shown(module, import),
                    function: None,
                    message: format!("{} is not granted it", refusing.name()),
                });
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The errors as the text of a compile error.
pub fn render(errors: &[LinkError]) -> String {
    errors.iter().map(|error| format!("error: {error}\n")).collect()
}

/// An import, for messages: which module, and in which version.
fn shown(module: &LoadedModule, import: &Import) -> String {
    let name = module.bytecode.string(import.module).escape_debug();
    match import.requirement {
        Some(requirement) => format!("`{name}` {}", module.bytecode.string(requirement)),
        None => format!("`{name}`"),
    }
}

struct Linker {
    vm: &'static Vm,
    errors: Vec<LinkError>,
}

impl Linker {
    /// Fills the cells of one import; answers who provides for it.
    fn import(
        &mut self,
        module: &'static LoadedModule,
        path: &str,
        import: &Import,
    ) -> Option<Provider> {
        let name = module.bytecode.string(import.module);
        let requirement = import.requirement.map(|id| module.bytecode.string(id));
        let mut error = |function: Option<&str>, message| {
            let (path, function) = (path.to_owned(), function.map(str::to_owned));
            let import = shown(module, import);
            self.errors.push(LinkError { path, import, function, message });
        };
        let provider = match find(self.vm, name, path) {
            Ok(provider) => provider,
            Err(message) => {
                error(None, message);
                return None;
            }
        };
        if let Err(message) = check_identity(provider.module, name, requirement) {
            error(None, message);
            return None;
        }
        for &id in &import.functions {
            let wanted = module.bytecode.function(id);
            let export = module.bytecode.string(wanted.name);
            match exported(provider.module, export, &Signature::of(module, wanted)) {
                Ok(found) => module.provide(id, provider.module.function(found)),
                Err(message) => error(Some(export), message),
            }
        }
        Some(provider)
    }
}

/// Who provides the module of this name for one at this path.
fn find(vm: &'static Vm, name: &str, path: &str) -> Result<Provider, String> {
    if name.starts_with(HOST_PREFIX) {
        let provided = vm.host_module(name);
        return provided.ok_or_else(|| "the host provides no such module".to_owned());
    }
    vm.imported_module(name, path).map_err(|error| match error {
        CompileError::NotFound => "there is no such module next to this one".to_owned(),
        CompileError::Invalid(problem) => {
            problem.trim_end().trim_start_matches("error: ").to_owned()
        }
    })
}

/// A provider is who it was taken for, in a version that will do.
fn check_identity(
    provider: &LoadedModule,
    name: &str,
    requirement: Option<&str>,
) -> Result<(), String> {
    match provider.bytecode.name() {
        Some(own) if own == name => {}
        Some(own) => return Err(format!("the module found calls itself `{}`", own.escape_debug())),
        None => return Err("the module found has no name".into()),
    }
    let Some(requirement) = requirement.and_then(|text| VersionReq::parse(text).ok()) else {
        return Ok(());
    };
    match provider.bytecode.version().and_then(|text| Version::parse(text).ok()) {
        Some(version) if requirement.matches(&version) => Ok(()),
        Some(version) => Err(format!("the module found has version {version}")),
        None => Err("the module found has no version".into()),
    }
}

/// What a call must agree with.
#[derive(PartialEq, Eq)]
struct Signature {
    kind: FunctionKind,
    parameters: Vec<Type>,
    result: Type,
}

impl Signature {
    fn of(module: &LoadedModule, function: &Function) -> Signature {
        let table = module.types();
        let parameters = &function.registers[..function.arguments()];
        Signature {
            kind: function.kind,
            parameters: parameters.iter().map(|kind| of_register(*kind, table)).collect(),
            result: of_register(function.result, table),
        }
    }

    fn text(&self) -> String {
        let parameters: Vec<String> = self.parameters.iter().map(|kind| kind.text()).collect();
        format!("{} ({}) -> {}", self.kind.name(), parameters.join(", "), self.result.text())
    }
}

/// The function that a module exports under a name, if it is of that type.
fn exported(
    provider: &'static LoadedModule,
    name: &str,
    wanted: &Signature,
) -> Result<FunctionId, String> {
    let text = &provider.bytecode;
    let export = text.exports().iter().find(|export| text.string(export.name) == name);
    let id = export.ok_or("the module found does not export it")?.function;
    let found = Signature::of(provider, text.function(id));
    if found == *wanted {
        return Ok(id);
    }
    Err(format!("it is imported as {}, but exported as {}", wanted.text(), found.text()))
}
