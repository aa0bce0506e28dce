//! The table of all loaded modules, and their loading from the library, from files and from the embedder. The
//! primitives for modules and the linker load modules here.
//!
//! | a module of | is found by | and comes from |
//! |---|---|---|
//! | the library, the host | its name | the embedder's [`Host`], or [`ModuleTable::provide`] |
//! | a program | the path of its file | the embedder, which compiles the file |
//!
//! Sandboxes have copies of the modules of programs, with the same text, so that the classes of a guest differ from
//! those that the host has loaded from the same file.
//!
//! A module is loaded when it is first asked for, once, and stays for good. No lock is held while the embedder works: two threads
//! that ask for the same module at the same time may both load it, and then both use the first.

use std::collections::HashMap;
use std::sync::OnceLock;

use parking_lot::Mutex;

use crate::model::host::{CompileError, Host, ImportError};
use crate::model::module::LoadedModule;
use crate::model::primitive::FindPrimitive;
use crate::model::symbols::SymbolTable;
use crate::model::text::ModuleText;

/// The modules of the library that only compute, so that every object may have them.
const COMPUTING: &[&str] = &[
    "Actors",
    "Collections",
    "Compression",
    "Csv",
    "Digests",
    "Encodings",
    "Json",
    "Persistent",
    "Processes",
    "Queues",
    "Regex",
    "Scheduling",
    "Sequences",
    "Sorted",
    "Streams",
    "Tables",
    "Text",
    "Threading",
    "Toml",
    "TransactionalCollections",
    "Transactions",
    "Urls",
];

/// Whether a module of the library only computes.
pub fn is_computing(name: &str) -> bool {
    COMPUTING.contains(&name)
}

/// Whether the values of a module of the library are only data.
pub fn is_data_module(name: &str) -> bool {
    is_computing(name) || matches!(name, "Kernel" | "Http")
}

/// All modules.
pub struct ModuleTable {
    /// The embedder, which knows texts and files.
    pub host: &'static dyn Host,
    /// The names of all modules.
    pub symbols: &'static SymbolTable,
    find_primitive: FindPrimitive,
    loaded: Mutex<Vec<&'static LoadedModule>>,
    library: Mutex<HashMap<String, &'static LoadedModule>>,
    programs: Mutex<HashMap<String, &'static LoadedModule>>,
    /// The copies for sandboxes, by the addresses of the modules.
    guests: Mutex<HashMap<usize, &'static LoadedModule>>,
    observer: OnceLock<Observer>,
}

/// What is called with each module that was loaded.
type Observer = Box<dyn Fn(&'static LoadedModule) + Send + Sync>;

/// A module that others can import from, and where it was found.
#[derive(Clone, Copy)]
pub struct Provider {
    /// The module.
    pub module: &'static LoadedModule,
    /// The path of its file, or its name if it is one of the host.
    pub path: &'static str,
}

impl ModuleTable {
    /// No modules so far.
    pub fn new(host: &'static dyn Host, find_primitive: FindPrimitive) -> ModuleTable {
        ModuleTable {
            host,
            symbols: Box::leak(Box::default()),
            find_primitive,
            loaded: Mutex::default(),
            library: Mutex::default(),
            programs: Mutex::default(),
            guests: Mutex::default(),
            observer: OnceLock::new(),
        }
    }

    /// Loads a module, which the caller has verified or trusts.
    pub fn load(&self, bytecode: impl Into<ModuleText>) -> &'static LoadedModule {
        let module = LoadedModule::load(bytecode.into(), self.symbols, self.find_primitive);
        self.loaded.lock().push(module);
        if let Some(observer) = self.observer.get() {
            observer(module);
        }
        module
    }

    /// From now on, this is called with each module that was loaded, before any code of it runs.
    pub fn observe(&self, observer: Observer) {
        _ = self.observer.set(observer);
    }

    /// The module of the library with this name.
    pub fn of_library(&self, name: &str) -> Option<&'static LoadedModule> {
        if let Some(&module) = self.library.lock().get(name) {
            return Some(module);
        }
        let module = self.load(self.host.library_module(name)?);
        Some(*self.library.lock().entry(name.to_owned()).or_insert(module))
    }

    /// The module in the source file at this path, compiled.
    pub fn of_file(&self, path: &str) -> Result<&'static LoadedModule, CompileError> {
        if let Some(&module) = self.programs.lock().get(path) {
            return Ok(module);
        }
        let module = self.load(self.host.compile(path)?);
        Ok(*self.programs.lock().entry(path.to_owned()).or_insert(module))
    }

    /// The copy of a module of a program that sandboxes have.
    pub fn for_guests(&self, module: &'static LoadedModule) -> &'static LoadedModule {
        if module.is_for_guests() {
            return module;
        }
        let mut guests = self.guests.lock();
        let copy = guests.entry(std::ptr::from_ref(module) as usize);
        copy.or_insert_with(|| {
            let copy = module.for_guests();
            self.loaded.lock().push(copy);
            copy
        })
    }

    /// Whether the module of this file was loaded, or compiled by the embedder.
    pub fn has_file(&self, path: &str) -> bool {
        self.programs.lock().contains_key(path) || self.host.has_prepared(path)
    }

    /// The module of a file will be compiled again when it is next asked for.
    pub fn forget_file(&self, path: &str) {
        self.programs.lock().remove(path);
    }

    /// The module of this name that the one at `importer` imports from.
    pub fn imported(&self, name: &str, importer: &str) -> Result<Provider, ImportError> {
        let path = self.host.import(name, importer).map_err(ImportError::Refused)?;
        match self.of_file(&path) {
            Ok(module) => Ok(Provider { module, path: String::leak(path) }),
            Err(CompileError::Invalid(problem)) => Err(ImportError::Invalid(path, problem)),
            Err(CompileError::NotFound) => {
                Err(ImportError::Refused(format!("{path} cannot be read any more")))
            }
        }
    }

    /// Makes a module of the host one that others can import from. Its name begins with `host:`, and
    /// it is trusted, so that its functions may use primitives. A later one takes the place of an
    /// earlier one, for modules that are linked from then on.
    pub fn provide(&self, module: impl Into<ModuleText>) -> &'static LoadedModule {
        let module = self.load(module);
        let name = module.bytecode.name().unwrap_or_default();
        self.library.lock().insert(name.to_owned(), module);
        module
    }

    /// The module of the host with this name.
    pub fn of_host(&self, name: &str) -> Option<Provider> {
        let module = self.of_library(name)?;
        Some(Provider { module, path: module.bytecode.name().unwrap_or_default() })
    }

    /// The loaded modules in the order of their numbers, with those that are loaded meanwhile.
    pub fn all(&self) -> impl Iterator<Item = &'static LoadedModule> {
        (0..).map_while(|number| self.at(number))
    }

    /// The loaded module with this number.
    pub fn at(&self, number: usize) -> Option<&'static LoadedModule> {
        self.loaded.lock().get(number).copied()
    }

    /// The number of a loaded module.
    pub fn number(&self, module: &'static LoadedModule) -> Option<usize> {
        self.loaded.lock().iter().position(|&loaded| std::ptr::eq(loaded, module))
    }
}
