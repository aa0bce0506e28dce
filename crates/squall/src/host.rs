//! The embedder's surroundings in the form that the runtime needs: sources are compiled to modules on the way. The
//! machine makes this form at its start, and the runtime calls it.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use squall_bytecode::assembler::Read;
use squall_bytecode::module::Module;
use squall_bytecode::verifier::Place;
use squall_newspeak::diagnostics::render::Colour;
use squall_runtime::model::host::{CompileError, Host};
use squall_runtime::model::packages::Packages;
use squall_runtime::model::permissions::Permissions;
use squall_runtime::model::text::ModuleText;
use squall_runtime::state::vm::Vm;

use crate::Replays;
use crate::compiler::{Assembly, FileKind, RunnableModule, module_with_includes};
use crate::library;
use crate::surroundings::Surroundings;

/// The runtime's host.
pub(crate) struct Embedding {
    pub surroundings: Box<dyn Surroundings>,
    pub verify_all: bool,
    /// Folders of modules that all others can import.
    pub module_path: Vec<PathBuf>,
    /// The files that modules may include.
    pub permissions: Permissions,
    /// The program's file.
    pub program: Option<PathBuf>,
    /// The packages of the program.
    pub packages: Packages,
    /// Whether the run is recorded, or repeats a recording.
    pub replays: Option<&'static Replays>,
    /// Modules that the embedder compiled before the program asks for them, by path.
    pub prepared: Mutex<HashMap<String, Module>>,
}

impl Embedding {
    /// The file in a folder that is the module with this name.
    fn module_in(&self, folder: &Path, name: &str) -> Option<String> {
        let mut paths = [FileKind::Binary, FileKind::Assembly].into_iter().map(|kind| {
            let path = folder.join(name).with_extension(kind.extension());
            path.to_string_lossy().into_owned()
        });
        paths.find(|path| {
            self.prepared.lock().contains_key(path) || self.surroundings.read_module(path).is_ok()
        })
    }

    /// Whether the module at a path may import or include a file: as for loading, the file must be part of the program,
    /// or the program must have the permission to read it. Without a program, the embedder has loaded the module, and
    /// the files next to it are part of it. A module of a package that the program depends on may only import and include what
    /// is in the package's folder.
    fn may_read(&self, path: &Path, module: &str) -> bool {
        let application = self.packages.parts.first();
        let owner = self.packages.owner(Path::new(module));
        match owner {
            Some(package) if owner != application => return package.holds(path),
            Some(application) if application.holds(path) => return true,
            _ => {}
        }
        let program = self.program.as_deref().unwrap_or(Path::new(module));
        self.permissions.allows_module(Some(program), path)
    }

    /// The text of a file that the module at a path includes. Diagnostics quote the file.
    fn read_included(&self, included: &Path, module: &str) -> Result<String, String> {
        if !self.may_read(included, module) {
            return Err("reading it needs the flag --allow-read".to_owned());
        }
        let bytes = self.surroundings.read_module(&included.to_string_lossy());
        let bytes = bytes.map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The runtime's reference to an [`Embedding`]; the facade has one as well.
pub(crate) struct EmbeddingRef(pub &'static Embedding);

impl Host for EmbeddingRef {
    fn read_input(&self, most: usize) -> std::io::Result<Vec<u8>> {
        self.0.surroundings.read_input(most)
    }

    fn write_output(&self, text: &str) {
        self.0.surroundings.write_output(text);
    }

    fn write_error(&self, text: &str) {
        self.0.surroundings.write_error(text);
    }

    fn flush(&self) {
        self.0.surroundings.flush();
    }

    fn abandon(&self, code: i32) {
        // A recording is as complete as it can be.
        Vm::of_process().events.end();
        self.0.surroundings.abandon(code);
    }

    fn library_module(&self, name: &str) -> Option<ModuleText> {
        library::image(name).map(ModuleText::from)
    }

    /// The file of an imported module has the module's name. It is next to the importing one, or in the first folder of
    /// the search path that has one.
    fn import(&self, name: &str, importer: &str) -> Result<String, String> {
        if !is_plain(name) {
            return Err("a module is imported by a plain name, such as `geometry`".to_owned());
        }
        let own = Path::new(importer).parent().unwrap_or(Path::new(""));
        let others = self.0.module_path.iter().map(PathBuf::as_path);
        let beside = self.0.module_in(own, name);
        let beside = beside.filter(|path| {
            self.0.prepared.lock().contains_key(path) || self.0.may_read(Path::new(path), importer)
        });
        let found =
            beside.or_else(|| others.clone().find_map(|folder| self.0.module_in(folder, name)));
        found.ok_or_else(|| {
            let place = if own.as_os_str().is_empty() { Path::new(".") } else { own };
            let others = self.0.module_path.iter().map(|folder| format!(", {}", folder.display()));
            let others: String = others.collect();
            format!("there is no {name}.sqb or {name}.sqasm in {}{others}", place.display())
        })
    }

    /// A line that is very long shows nothing.
    fn source_line(&self, path: &str, line: u32) -> Option<String> {
        const LONGEST: usize = 200;
        if FileKind::of_path(path) != Some(FileKind::Newspeak) {
            return None;
        }
        let bytes = self.0.surroundings.read_module(path).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let source = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
        (source.chars().count() <= LONGEST).then(|| source.to_owned())
    }

    fn show_import(&self, path: &str, place: Place, message: &str) -> Option<String> {
        if FileKind::of_path(path) != Some(FileKind::Assembly) {
            return None;
        }
        let bytes = self.0.surroundings.read_module(path).ok()?;
        let assembly =
            Assembly::of(path, &bytes, &|included| self.0.read_included(included, path)).ok()?;
        assembly.show_import(place, message, Colour::None)
    }

    fn has_prepared(&self, path: &str) -> bool {
        self.0.prepared.lock().contains_key(path)
    }

    /// Programs may name files that they have no permission to read. The extension limits the quotations in a compile
    /// error to files of source text.
    fn compile(&self, path: &str) -> Result<Module, CompileError> {
        if let Some(module) = self.0.prepared.lock().remove(path) {
            return Ok(module);
        }
        let kind = FileKind::of_path(path).ok_or_else(|| {
            CompileError::Invalid(format!("{path} is no module: its name does not end in .ns\n"))
        })?;
        let bytes = self.0.surroundings.read_module(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => CompileError::NotFound,
            _ => CompileError::Invalid(format!("{path} cannot be read: {error}\n")),
        })?;
        match self.0.replays {
            Some(Replays::Record(recorder)) => recorder.module(path, &bytes),
            Some(Replays::Replay(player)) if player.refuses_module(path, &bytes) => {
                let text = format!("{path} has changed since the run was recorded\n");
                return Err(CompileError::Invalid(text));
            }
            _ => {}
        }
        let read: Read = &|included| self.0.read_included(included, path);
        module_with_includes(path, kind, &bytes, self.0.verify_all, read)
            .map(RunnableModule::into_module)
            .map_err(|problem| CompileError::Invalid(problem.render(Colour::None)))
    }
}

/// Whether a module's name is a file's name and nothing else.
fn is_plain(name: &str) -> bool {
    let suits = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    !name.is_empty() && name.chars().all(suits)
}
