//! Linking of modules: finds the imports of a module in other modules, by name, version and type, before any code of it
//! runs. Loading calls it.
//!
//! An imported function is a function of the importing module without code. Linking fills its cell
//! with the provider's function; from then on a call of it is like any other. Providers are
//!
//! - for names that begin with `host:`, the modules given to [`ModuleTable::provide`], and after them the modules that
//!   come with the VM;
//! - for all other names, the modules that the host finds, next to the importing one or in the folders of its search
//!   path ([`Host::import`]).
//!
//! A module is loaded once per file, for all importers. Providers are linked with their importers; they may import each
//! other in a circle, since linking only fills in functions and runs nothing.
//!
//! A module whose linking failed, or was left out, is safe all the same: a call of a function that was
//! not found signals `NotSupported`.

use std::collections::BTreeSet;
use std::fmt;

use parking_lot::Mutex;
use semver::{Version, VersionReq};
use squall_bytecode::entities::FunctionId;
use squall_bytecode::module::{Function, FunctionKind};
use squall_bytecode::verifier::Place;

use crate::model::host::{CompileError, Host, ImportError};
use crate::model::module::LoadedModule;
use crate::model::modules::{ModuleTable, Provider};
use crate::model::types::{Type, of_register};

/// The prefix of the names of host modules.
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
    /// The import, or the function that it lists.
    pub place: Place,
    /// The mistake.
    pub message: String,
    /// The mistakes in the imported module, for humans; can be empty.
    pub details: String,
}

impl LinkError {
    /// How many errors are reported at once: to show one, the text is read again.
    pub const MOST: usize = 20;

    /// One about the import at an index of the module at a path.
    fn of_import(module: &LoadedModule, path: &str, index: usize, problem: Problem) -> LinkError {
        let import = &module.bytecode.imports()[index];
        let name = module.bytecode.string(import.module).escape_debug();
        let import = match import.requirement {
            Some(requirement) => format!("`{name}` {}", module.bytecode.string(requirement)),
            None => format!("`{name}`"),
        };
        let Problem { message, details } = problem;
        let place = Place::Import(index);
        LinkError { path: path.to_owned(), import, function: None, place, message, details }
    }

    /// The mistake, and the import.
    fn text(&self) -> String {
        let function = self.function.as_ref();
        let function = function.map(|name| format!(", function `{}`", name.escape_debug()));
        format!("import of {}{}: {}", self.import, function.unwrap_or_default(), self.message)
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text())?;
        match &*self.details {
            "" => Ok(()),
            details => write!(f, "\n{}", details.trim_end()),
        }
    }
}

impl std::error::Error for LinkError {}

/// The module in the source file at this path, compiled and linked.
pub fn program_module(
    modules: &'static ModuleTable,
    path: &str,
) -> Result<&'static LoadedModule, CompileError> {
    let module = modules.of_file(path)?;
    let linked = link(modules, module, path);
    linked.map_err(|errors| CompileError::Invalid(render(modules.host, &errors)))?;
    Ok(module)
}

/// The same for sandboxes: the copy that they have of the module.
pub fn guest_module(
    modules: &'static ModuleTable,
    path: &str,
) -> Result<&'static LoadedModule, CompileError> {
    let module = modules.for_guests(modules.of_file(path)?);
    let linked = link(modules, module, path);
    linked.map_err(|errors| CompileError::Invalid(render(modules.host, &errors)))?;
    Ok(module)
}

/// Links a module, and the modules it imports, as far as they were not linked before.
pub fn link(
    modules: &'static ModuleTable,
    module: &'static LoadedModule,
    path: &str,
) -> Result<(), Vec<LinkError>> {
    // A thread that finds a linked module may run it.
    static LINKING: Mutex<()> = Mutex::new(());
    let _linking = LINKING.lock();
    let mut linker = Linker { modules, errors: Vec::new() };
    let mut waiting = vec![(module, path.to_owned())];
    let mut visited = Vec::new();
    while let Some((module, path)) = waiting.pop() {
        if !module.begin_linking() {
            continue;
        }
        visited.push(path.clone());
        for index in 0..module.bytecode.imports().len() {
            if linker.errors.len() >= LinkError::MOST {
                break;
            }
            if let Some(provider) = linker.import(module, &path, index) {
                waiting.push((provider.module, provider.path.to_owned()));
            }
        }
    }
    if linker.errors.is_empty() {
        return Ok(());
    }
    // A later request for one of them reports the missing import again.
    visited.iter().for_each(|path| modules.forget_file(path));
    Err(linker.errors)
}

/// Asks `refuse` about each module of the host that a module, or a module that it imports, imports; it answers why the import is
/// refused, if it is. Modules are linked once, for every program and sandbox that loads them, so this is asked for each of those.
pub fn check_host_imports(
    modules: &'static ModuleTable,
    module: &'static LoadedModule,
    path: &str,
    refuse: impl Fn(&str) -> Option<String>,
) -> Result<(), Vec<LinkError>> {
    let mut errors = Vec::new();
    let mut waiting = vec![(module, path.to_owned())];
    let mut visited = BTreeSet::from([path.to_owned()]);
    while let Some((module, path)) = waiting.pop() {
        for (index, import) in module.bytecode.imports().iter().enumerate() {
            let name = module.bytecode.string(import.module);
            if !name.starts_with(HOST_PREFIX) {
                let provider = modules.imported(name, &path).ok();
                let provider = provider.filter(|found| visited.insert(found.path.to_owned()));
                waiting.extend(provider.map(|found| (found.module, found.path.to_owned())));
            } else if let Some(message) = refuse(name) {
                errors.push(LinkError::of_import(module, &path, index, message.into()));
            }
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// The errors as the text of a compile error: with an excerpt of the importing module's text, if it has one.
pub fn render(host: &dyn Host, errors: &[LinkError]) -> String {
    let reports = errors.iter().take(LinkError::MOST).map(|error| {
        match host.show_import(&error.path, error.place, &error.text()) {
            Some(excerpt) if error.details.is_empty() => excerpt,
            Some(excerpt) => format!("{excerpt}\n{}", error.details),
            None => format!("error: {error}\n"),
        }
    });
    reports.collect::<Vec<_>>().join("\n")
}

struct Linker {
    modules: &'static ModuleTable,
    errors: Vec<LinkError>,
}

impl Linker {
    /// Fills the cells of one import; answers the provider.
    fn import(
        &mut self,
        module: &'static LoadedModule,
        path: &str,
        index: usize,
    ) -> Option<Provider> {
        let import = &module.bytecode.imports()[index];
        let name = module.bytecode.string(import.module);
        let requirement = import.requirement.map(|id| module.bytecode.string(id));
        let found = find(self.modules, name, path, module.is_for_guests())
            .and_then(|found| check_identity(found, name, requirement).map(|()| found));
        let provider = match found {
            Ok(provider) => provider,
            Err(problem) => {
                self.errors.push(LinkError::of_import(module, path, index, problem));
                return None;
            }
        };
        for (number, &id) in import.functions.iter().enumerate() {
            if self.errors.len() >= LinkError::MOST {
                break;
            }
            let wanted = module.bytecode.function(id);
            let export = module.bytecode.string(wanted.name);
            match exported(provider.module, export, &Signature::of(module, wanted)) {
                Ok(found) => module.provide(id, provider.module.function(found)),
                Err(problem) => self.errors.push(LinkError {
                    function: Some(export.to_owned()),
                    place: Place::Imported(index, number),
                    ..LinkError::of_import(module, path, index, problem)
                }),
            }
        }
        Some(provider)
    }
}

/// Why something cannot be imported.
struct Problem {
    message: String,
    details: String,
}

impl From<String> for Problem {
    fn from(message: String) -> Problem {
        Problem { message, details: String::new() }
    }
}

/// The provider of the module with this name for the module at this path, which sandboxes may have loaded.
fn find(
    modules: &'static ModuleTable,
    name: &str,
    path: &str,
    is_for_guests: bool,
) -> Result<Provider, Problem> {
    if name.starts_with(HOST_PREFIX) {
        let provided = modules.of_host(name);
        return provided.ok_or_else(|| "the host provides no such module".to_owned().into());
    }
    let found = modules.imported(name, path).map_err(|error| match error {
        ImportError::Refused(message) => Problem::from(message),
        ImportError::Invalid(path, details) => {
            Problem { message: format!("{path} is no module that can run"), details }
        }
    })?;
    let Provider { module, path } = found;
    let module = if is_for_guests { modules.for_guests(module) } else { module };
    Ok(Provider { module, path })
}

/// Checks that a provider has the expected name, and a version that satisfies the import.
fn check_identity(
    provider: Provider,
    name: &str,
    requirement: Option<&str>,
) -> Result<(), Problem> {
    let Provider { module, path } = provider;
    match module.bytecode.name() {
        Some(own) if own == name => {}
        Some(own) => return Err(format!("{path} calls itself `{}`", own.escape_debug()).into()),
        None => return Err(format!("{path} has no name").into()),
    }
    let Some(requirement) = requirement.and_then(|text| VersionReq::parse(text).ok()) else {
        return Ok(());
    };
    match module.bytecode.version().and_then(|text| Version::parse(text).ok()) {
        Some(version) if requirement.matches(&version) => Ok(()),
        Some(version) => Err(format!("{path} has version {version}").into()),
        None => Err(format!("{path} has no version").into()),
    }
}

/// The properties that a call must agree with.
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

    /// As an import declares it.
    fn text(&self) -> String {
        let parameters: Vec<String> = self.parameters.iter().map(|kind| kind.text()).collect();
        let head = format!("`{} ({})", self.kind.name(), parameters.join(", "));
        match self.result.is_any() {
            true => head + "`",
            false => format!("{head} -> {}`", self.result.text()),
        }
    }
}

/// The function that a module exports under a name, if it is of that type.
fn exported(
    provider: &'static LoadedModule,
    name: &str,
    wanted: &Signature,
) -> Result<FunctionId, Problem> {
    let text = &provider.bytecode;
    let missing = || Problem::from("the module does not export it".to_owned());
    let id = text.exports()[provider.export(name).ok_or_else(missing)?].function;
    let found = Signature::of(provider, text.function(id));
    if found == *wanted {
        return Ok(id);
    }
    let (wanted, found) = (wanted.text(), found.text());
    Err(format!("it is imported as {wanted}, but exported as {found}").into())
}
