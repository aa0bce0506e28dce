//! What the program may do to the world: the authority behind `platform`.
//!
//! Everything is denied unless the embedder allows it; a denied access is a guest exception that
//! names the command-line flag to allow it with.

use std::path::{Component, Path, PathBuf};

/// One kind of access.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Grant {
    /// Nothing.
    #[default]
    Denied,
    /// Only what is at or below one of these paths.
    Below(Vec<PathBuf>),
    /// Everything.
    Allowed,
}

/// What the program may do.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Permissions {
    /// Reading and writing files.
    pub files: Grant,
    /// Connecting and listening.
    pub network: bool,
    /// Calling foreign functions.
    pub foreign_functions: bool,
    /// Starting processes.
    pub processes: bool,
}

impl Permissions {
    /// Everything is allowed.
    pub fn all() -> Permissions {
        Permissions {
            files: Grant::Allowed,
            network: true,
            foreign_functions: true,
            processes: true,
        }
    }

    /// Whether the program may read or write the file at this path.
    ///
    /// `..` and links are resolved as far as the path exists, so that they lead nowhere else.
    pub fn allows_file(&self, path: &Path) -> bool {
        match &self.files {
            Grant::Denied => false,
            Grant::Allowed => true,
            Grant::Below(roots) => {
                let Some(path) = resolve(path) else { return false };
                roots.iter().filter_map(|root| resolve(root)).any(|root| path.starts_with(root))
            }
        }
    }
}

/// The path with links and `..` resolved, of which the end need not exist.
fn resolve(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    let mut missing = Vec::new();
    let mut existing = absolute.as_path();
    loop {
        if let Ok(resolved) = existing.canonicalize() {
            return Some(missing.iter().rev().fold(resolved, |path, name| path.join(name)));
        }
        match existing.components().next_back()? {
            Component::Normal(name) => missing.push(name.to_owned()),
            // A `..` behind something that does not exist leads who knows where.
            _ => return None,
        }
        existing = existing.parent()?;
    }
}
