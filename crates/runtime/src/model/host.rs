//! The services of the embedder for the VM: the runtime itself neither prints nor reads source files. `squall`
//! implements the trait.

use squall_bytecode::module::Module;
use squall_bytecode::verifier::Place;

use crate::model::text::ModuleText;

/// The VM's questions to its embedder.
pub trait Host: Send + Sync {
    /// Writes to the program's standard output.
    fn write_output(&self, text: &str);

    /// Writes to the program's standard error.
    fn write_error(&self, text: &str);

    /// Reads from the program's standard input, at most so many bytes; none at its end. Waits for the first one.
    fn read_input(&self, most: usize) -> std::io::Result<Vec<u8>> {
        _ = most;
        Ok(Vec::new())
    }

    /// Sees to it that everything written so far is out.
    fn flush(&self);

    /// The program has ended with this exit code, but the embedder's native thread is in foreign code that does not
    /// return, so the embedder waits in vain.
    fn abandon(&self, code: i32) {
        _ = code;
    }

    /// The compiled library module with this name.
    fn library_module(&self, name: &str) -> Option<ModuleText>;

    /// Reads and compiles the source file at a path.
    fn compile(&self, path: &str) -> Result<Module, CompileError>;

    /// Whether the embedder has compiled the module at a path already.
    fn has_prepared(&self, path: &str) -> bool {
        _ = path;
        false
    }

    /// A line, counted from 1, of the source file of a module, for reports.
    fn source_line(&self, path: &str, line: u32) -> Option<String> {
        _ = (path, line);
        None
    }

    /// The file of the module with this name that the one at `importer` imports from; or why there is
    /// none.
    fn import(&self, name: &str, importer: &str) -> Result<String, String> {
        _ = (name, importer);
        Err("there are no modules to import from".to_owned())
    }

    /// A message about an import of the module at a path, or about a function that it lists, with an
    /// excerpt of the text that shows it; nothing if there is no such text.
    fn show_import(&self, path: &str, place: Place, message: &str) -> Option<String> {
        _ = (path, place, message);
        None
    }
}

/// Why a module cannot be imported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImportError {
    /// There is no file for it, for this reason.
    Refused(String),
    /// The file at this path is no module; the text gives the mistakes, for humans.
    Invalid(String, String),
}

/// Why there is no module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CompileError {
    /// There is no such file.
    NotFound,
    /// The file cannot be read or is no program; the text gives the reason, for humans.
    Invalid(String),
}
