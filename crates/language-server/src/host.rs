//! The needs of the server from the command around it: files, and the library's texts. `squall lsp` implements the
//! trait. The server itself opens no files and writes nothing.

use std::path::{Path, PathBuf};

use squall_newspeak::Library;

/// The command around the server.
pub trait Host {
    /// The programs (.ns, .sqasm) at and below a folder.
    fn programs_below(&self, folder: &Path) -> Vec<PathBuf>;

    /// The folders of the packages that the programs at and below a folder depend on.
    fn packages_of(&self, folder: &Path) -> Vec<PathBuf>;

    /// The content of a file. None if it cannot be read.
    fn read(&self, path: &Path) -> Option<Vec<u8>>;

    /// The interfaces of the library's classes.
    fn library(&self) -> &Library;

    /// The text of a module of the library.
    fn library_text(&self, module: &str) -> Option<&str>;

    /// A file with that text, for editors to show.
    fn library_file(&self, module: &str) -> Option<PathBuf>;
}
