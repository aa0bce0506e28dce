//! Packages that were fetched: the cache of the user, and the folder `vendor` beside a manifest. `project` asks for folders.
//!
//! A package is stored under what identifies its content, the digest of its archive or its commit, in a folder that never
//! changes:
//!
//! ```text
//! $SQUALL_CACHE                  else $XDG_CACHE_HOME/squall/packages, else ~/.cache/squall/packages
//!   archive-<SHA-256 of the archive>/
//!   git-<commit>/
//! vendor/                        the same names
//! ```
//!
//! A folder appears at once or not at all: it is made under another name, then renamed, so that several processes can
//! fetch the same package. What is in the folders is compared with the lock by `project` before anything is used.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::digest;
use crate::problem::{Problem, Result};
use crate::source::{Origin, is_remote, normal};
use crate::unpacking::{LIMITS, package_in, unpack_gzip};
use crate::{download, git};

/// The variable that names the cache.
pub const VARIABLE: &str = "SQUALL_CACHE";

/// The folder of packages beside a manifest.
pub const VENDOR: &str = "vendor";

/// A folder of fetched packages.
#[derive(Clone, Debug)]
pub struct Cache {
    /// The folder. A user without one can have packages in folders.
    folder: Option<PathBuf>,
}

impl Cache {
    /// The cache in a folder, which need not exist.
    pub fn at(folder: PathBuf) -> Cache {
        Cache { folder: Some(folder) }
    }

    /// The user's cache.
    pub fn of_user() -> Cache {
        let variable = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let folder = variable(VARIABLE)
            .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("squall/packages")))
            .or_else(|| Some(variable("HOME")?.join(".cache/squall/packages")));
        Cache { folder }
    }

    fn folder(&self) -> Result<&Path> {
        self.folder.as_deref().ok_or_else(|| {
            let problem = Problem::missing("there is no folder for the cache of packages");
            problem.hint(format!("set {VARIABLE} to the path of one"))
        })
    }

    /// The folder of a package that was fetched before. A package in a folder of its own is never fetched.
    pub fn find(&self, origin: &Origin) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?.join(slot(origin)?);
        folder.is_dir().then_some(folder)
    }

    /// Stores the package in the bytes of an archive; answers its folder.
    pub fn store_archive(&self, origin: &Origin, bytes: &[u8]) -> Result<PathBuf> {
        self.store(origin, |folder| unpack_gzip(bytes, folder, &LIMITS))
    }

    /// Fetches and stores the package in a commit; answers its folder.
    pub fn store_commit(&self, origin: &Origin, address: &str, commit: &str) -> Result<PathBuf> {
        let scratch = self.scratch()?;
        self.store(origin, |folder| git::unpack_commit(address, commit, folder, scratch.path()))
    }

    /// Stores a copy of a folder; answers the copy.
    pub fn store_copy(&self, origin: &Origin, folder: &Path) -> Result<PathBuf> {
        self.store(origin, |target| copy(folder, target))
    }

    fn store(&self, origin: &Origin, fill: impl Fn(&Path) -> Result<()>) -> Result<PathBuf> {
        let slot = slot(origin).expect("only fetched packages are stored");
        let folder = self.folder()?.join(slot);
        let scratch = self.scratch()?;
        let filled = scratch.path().join("package");
        std::fs::create_dir(&filled).map_err(|error| Problem::unwritten(&filled, &error))?;
        fill(&filled)?;
        let package = package_in(&filled)?;
        match std::fs::rename(&package, &folder) {
            Ok(()) => Ok(folder),
            // Another process was faster.
            Err(_) if folder.is_dir() => Ok(folder),
            Err(error) => Err(Problem::unwritten(&folder, &error)),
        }
    }

    /// A new folder on the disk of the cache.
    fn scratch(&self) -> Result<TempDir> {
        let folder = self.folder()?;
        let make = || {
            std::fs::create_dir_all(folder)?;
            tempfile::Builder::new().prefix(".new-").tempdir_in(folder)
        };
        make().map_err(|error| {
            let problem = Problem::unwritten(folder, &error);
            problem.hint(format!("{VARIABLE} names the folder of the cache"))
        })
    }
}

/// The name of the folder for a package that can be fetched.
pub fn slot(origin: &Origin) -> Option<String> {
    match origin {
        Origin::Path(_) => None,
        Origin::Git { commit, .. } => Some(format!("git-{commit}")),
        Origin::Archive { sha256, .. } => Some(format!("archive-{sha256}")),
    }
}

/// The bytes of an archive at an address, or at a path relative to a folder.
pub fn archive_bytes(address: &str, folder: &Path) -> Result<Vec<u8>> {
    if is_remote(address) {
        return download::fetch(address, LIMITS.packed);
    }
    let path = normal(&folder.join(address.strip_prefix("file://").unwrap_or(address)));
    let length = std::fs::metadata(&path).map_err(|error| Problem::unread(&path, &error))?.len();
    if length > LIMITS.packed {
        let text = format!("{} has more than {} bytes", path.display(), LIMITS.packed);
        return Err(Problem::invalid(text));
    }
    std::fs::read(&path).map_err(|error| Problem::unread(&path, &error))
}

/// Copies all files of a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    for (name, path) in digest::files_of(from)? {
        let target = to.join(&name);
        let write = || {
            std::fs::create_dir_all(target.parent().unwrap_or(to))?;
            std::fs::write(&target, std::fs::read(&path)?)
        };
        write().map_err(|error| Problem::unwritten(&target, &error))?;
    }
    Ok(())
}
