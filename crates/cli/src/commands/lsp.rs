//! `squall lsp`: the language server, on the standard input and output. `commands` calls this module, and editors start
//! the command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use squall::compiler::FileKind;
use squall::library;
use squall_language_server::{Connection, Host, serve};
use squall_newspeak::Library;
use squall_packages::cache::Cache;
use squall_packages::project::{Mode, Project, Update, folder_above};

use crate::console::complain;
use crate::exit::Exit;
use crate::files;

/// The folders whose programs are those of other tools.
const FOREIGN: [&str; 2] = ["target", "node_modules"];

pub fn lsp() -> Result<Exit, Exit> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection, &Command { texts: texts_folder() });
    // The threads end when the connection does.
    drop(connection);
    let served = served.map_err(|error| error.to_string());
    match served.and_then(|()| threads.join().map_err(|error| error.to_string())) {
        Ok(()) => Ok(Exit::Success),
        Err(problem) => {
            complain(&problem);
            Err(Exit::Failure)
        }
    }
}

/// The files, and the embedded library.
struct Command {
    /// The folder for the library's texts, if there is one.
    texts: Option<PathBuf>,
}

/// A folder of the user for files that can be made again; one for each version.
fn texts_folder() -> Option<PathBuf> {
    let folder = |variable: &str| {
        let path = std::env::var_os(variable).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    Some(caches?.join(format!("squall/library-{}", env!("CARGO_PKG_VERSION"))))
}

impl Host for Command {
    fn programs_below(&self, folder: &Path) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        // Folders that cannot be read have nothing to know.
        _ = files::collect(folder, &[FileKind::Newspeak, FileKind::Assembly], &mut paths);
        let is_own = |path: &PathBuf| {
            let inside = path.strip_prefix(folder).unwrap_or(path);
            !inside.iter().any(|part| FOREIGN.iter().any(|foreign| part == *foreign))
        };
        paths.retain(is_own);
        paths
    }

    fn packages_of(&self, folder: &Path) -> Vec<PathBuf> {
        let programs = self.programs_below(folder);
        let places = programs.iter().filter_map(|path| path.parent()).chain([folder]);
        let places: BTreeSet<&Path> = places.collect();
        let projects: BTreeSet<PathBuf> = places.into_iter().filter_map(folder_above).collect();
        // What has mistakes, or was not fetched, is told by the commands that run programs.
        let mode = Mode { locked: false, offline: true, update: Update::None };
        let cache = Cache::of_user();
        let open = |project: &PathBuf| Project::open(project, &cache, &mode).ok();
        let packages = projects.iter().filter_map(open).flat_map(|project| project.packages);
        packages.filter_map(|package| std::fs::canonicalize(package.folder).ok()).collect()
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        std::fs::read(path).ok()
    }

    fn library(&self) -> &Library {
        library::outline()
    }

    fn library_text(&self, module: &str) -> Option<&str> {
        library::source(module)
    }

    fn library_file(&self, module: &str) -> Option<PathBuf> {
        let text = library::source(module)?;
        let path = self.texts.as_ref()?.join(format!("{module}.ns"));
        if std::fs::read(&path).is_ok_and(|bytes| bytes == text.as_bytes()) {
            return Some(path);
        }
        std::fs::create_dir_all(path.parent()?).ok()?;
        std::fs::write(&path, text).ok()?;
        Some(path)
    }
}
