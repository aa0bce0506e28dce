//! The world outside of the VM, as the embedder provides it: the runtime itself neither prints nor
//! reads source files.

use squall_bytecode::module::Module;

/// What the VM asks its embedder.
pub trait Host: Send + Sync {
    /// Writes to the program's standard output.
    fn write_output(&self, text: &str);

    /// Writes to the program's standard error.
    fn write_error(&self, text: &str);

    /// Sees to it that everything written so far is out.
    fn flush(&self);

    /// The compiled library module with this name.
    fn library_module(&self, name: &str) -> Option<Module>;

    /// Reads and compiles the source file at a path; the error says what is wrong, for humans.
    fn compile(&self, path: &str) -> Result<Module, String>;
}
