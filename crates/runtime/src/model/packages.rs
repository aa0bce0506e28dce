//! The packages of a program, as the embedder gives them to the machine: which package gets which others, and what it may do.
//! The primitives for packages read this table, and so does the check whether a module may be loaded.
//!
//! A *part* is a package with one authority. The first one is the application: it has the platform itself, and so all that the
//! permissions allow. The others have a platform of their own, made by `lib/Packages.ns`, which asks this table.
//!
//! Nothing changes in the table while the program runs.

use std::path::{Path, PathBuf};

use crate::model::permissions::{Access, Grant, Permissions};

/// All parts; none, if the program has no packages.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Packages {
    /// The parts; the first is the application.
    pub parts: Vec<Part>,
}

/// A package with one authority.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// Its name and version.
    pub title: String,
    /// Its folder: it loads modules from nowhere else.
    pub folder: String,
    /// The path of its main module.
    pub main: String,
    /// The names of the platform's modules that it has been granted.
    pub capabilities: Vec<String>,
    /// For other modules, by their names, why it has not.
    pub reasons: Vec<(String, String)>,
    /// The numbers of the parts that it gets, by the names under which its code knows them.
    pub dependencies: Vec<(String, usize)>,
}

impl Packages {
    /// The part in whose folder a file is; of several, that with the innermost folder.
    pub fn owner(&self, path: &Path) -> Option<&Part> {
        let owners = self.parts.iter().filter(|part| part.holds(path));
        owners.max_by_key(|part| Path::new(&part.folder).components().count())
    }
}

impl Part {
    /// The number of the part that it gets under a name.
    pub fn dependency(&self, name: &str) -> Option<usize> {
        self.dependencies.iter().find(|(alias, _)| alias == name).map(|(_, number)| *number)
    }

    /// Why it may not use a module of the platform; nothing, if it may.
    pub fn refusal(&self, capability: &str) -> Option<String> {
        if self.capabilities.iter().any(|name| name == capability) {
            return None;
        }
        let reason = self.reasons.iter().find(|(name, _)| name == capability);
        Some(reason.map_or_else(
            || format!("package {} has no capability `{capability}`", self.title),
            |(_, reason)| reason.clone(),
        ))
    }

    /// Whether a file is in its folder, or below, when all links are followed.
    pub fn holds(&self, path: &Path) -> bool {
        let inside = Permissions {
            reading: Grant::Below(vec![PathBuf::from(&self.folder)]),
            ..Permissions::default()
        };
        inside.place(path, Access::Reading).is_some()
    }

    /// The path of a module in its folder: relative to a folder, by default the part's. Nothing, if it leads out.
    pub fn path(&self, path: &str, folder: Option<&Path>) -> Option<String> {
        let base = folder.unwrap_or(Path::new(&self.folder));
        let path = base.join(path);
        self.holds(&path).then(|| path.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_loads_from_its_folder_only() {
        let part = Part { folder: "src/model".into(), ..Part::default() };
        assert_eq!(part.path("host.rs", None).as_deref(), Some("src/model/host.rs"));
        assert!(part.path("new/part.ns", None).is_some());
        assert!(part.path("../model/host.rs", None).is_some());
        for wrong in ["../lib.rs", "/etc/passwd", "../../Cargo.toml", "missing/../../lib.rs"] {
            assert_eq!(part.path(wrong, None), None, "{wrong}");
        }
        assert_eq!(part.path("lib.rs", Some(Path::new("src"))), None);
    }

    #[test]
    fn the_innermost_folder_owns_a_file() {
        let part = |folder: &str| Part { folder: folder.into(), ..Part::default() };
        let packages = Packages { parts: vec![part("."), part("src/model"), part("src")] };
        let owner = |path: &str| packages.owner(Path::new(path)).map(|part| part.folder.as_str());
        assert_eq!(owner("src/model/host.rs"), Some("src/model"));
        assert_eq!(owner("src/lib.rs"), Some("src"));
        assert_eq!(owner("Cargo.toml"), Some("."));
        assert_eq!(owner("../Cargo.toml"), None);
    }

    #[test]
    fn a_refusal_has_its_reason() {
        let part = Part {
            title: "a 1.0.0".into(),
            capabilities: vec!["files".into()],
            reasons: vec![("net".into(), "why".into())],
            ..Part::default()
        };
        assert_eq!(part.refusal("files"), None);
        assert_eq!(part.refusal("net").as_deref(), Some("why"));
        let other = part.refusal("os").expect("it is not granted");
        assert_eq!(other, "package a 1.0.0 has no capability `os`");
    }
}
