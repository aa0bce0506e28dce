//! Third-party notices: the licences of the libraries that the binaries contain, with their texts. `cargo xtask dist` puts
//! them beside the binaries, and lists the same packages; the tests compare licences and sources with `deny.toml`.
//!
//! Cargo says which packages there are; the texts are in the packages' folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;

use crate::{builds, cargo};

/// The packages whose binaries are handed out.
const BINARIES: [&str; 2] = ["squall-cli", "squall-capi"];

/// What Cargo knows about packages.
#[derive(Deserialize)]
pub struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

/// A package.
#[derive(Deserialize)]
pub struct Package {
    id: String,
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    /// None for a package of this workspace.
    pub source: Option<String>,
    manifest_path: String,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// None for a dependency of the code itself.
    kind: Option<String>,
}

impl Package {
    /// Whether the package runs while others are compiled, and is in no binary.
    fn is_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }
}

impl Dependency {
    /// Whether the code itself has the dependency, not its tests or its build.
    fn is_contained(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind.is_none())
    }
}

impl Metadata {
    fn read() -> Result<Metadata, String> {
        Metadata::with(&[])
    }

    /// What is built for the platform on which this program runs.
    pub fn for_this_platform() -> Result<Metadata, String> {
        let version = builds::output_of(std::process::Command::new("rustc").arg("-vV"))?;
        let text = String::from_utf8_lossy(&version.stdout).into_owned();
        let host = text.lines().find_map(|line| line.strip_prefix("host: "));
        Metadata::with(&["--filter-platform", host.ok_or("rustc names no host")?])
    }

    fn with(options: &[&str]) -> Result<Metadata, String> {
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1"]).args(options);
        let output = builds::output_of(&mut command)?;
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
    }

    pub fn package(&self, id: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.id == id)
    }

    /// The packages in a binary, itself among them, sorted, and the identities of those that each one needs.
    pub fn parts_of(&self, binary: &str) -> Vec<(&Package, Vec<&str>)> {
        let mut parts = BTreeMap::new();
        let mut pending: Vec<_> =
            self.packages.iter().filter(|package| package.name == binary).collect();
        while let Some(package) = pending.pop() {
            let node = self.resolve.nodes.iter().find(|node| node.id == package.id);
            let contained = node.into_iter().flat_map(|node| &node.deps);
            let contained = contained.filter(|dependency| dependency.is_contained());
            let needed: Vec<_> = contained
                .filter_map(|dependency| self.package(&dependency.pkg))
                .filter(|package| !package.is_macro())
                .collect();
            let key = (&package.name, &package.version, package.id.as_str());
            let ids = needed.iter().map(|package| package.id.as_str()).collect();
            if parts.insert(key, (package, ids)).is_none() {
                pending.extend(needed);
            }
        }
        parts.into_values().collect()
    }

    /// The packages of others that the binaries contain, in the order of their names.
    fn contained(&self) -> Vec<&Package> {
        let mut seen = BTreeSet::new();
        let is_binary = |package: &&Package| BINARIES.contains(&package.name.as_str());
        let mut pending: Vec<_> =
            self.packages.iter().filter(is_binary).map(|package| package.id.as_str()).collect();
        while let Some(id) = pending.pop() {
            let node = self.resolve.nodes.iter().find(|node| node.id == id);
            if let Some(node) = node.filter(|_| seen.insert(id)) {
                let contained = node.deps.iter().filter(|dependency| dependency.is_contained());
                pending.extend(contained.map(|dependency| dependency.pkg.as_str()));
            }
        }
        let mut packages: Vec<_> =
            self.packages.iter().filter(|package| seen.contains(package.id.as_str())).collect();
        packages.retain(|package| package.source.is_some());
        packages
            .sort_by(|left, right| (&left.name, &left.version).cmp(&(&right.name, &right.version)));
        packages
    }
}

/// The notices, as the text of a file.
pub fn text() -> Result<String, String> {
    let metadata = Metadata::read()?;
    let mut text =
        "Squall contains these libraries. The texts of their licences follow.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in metadata.contained() {
        let name = format!("{} {}", package.name, package.version);
        _ = writeln!(text, "{name}: {}", package.license.as_deref().unwrap_or("see below"));
        for licence in licences(Path::new(&package.manifest_path)) {
            texts.entry(licence).or_default().push(name.clone());
        }
    }
    for (licence, packages) in texts {
        _ = write!(text, "\n{}\n\n{}\n", "-".repeat(80), packages.join(", "));
        _ = write!(text, "\n{}\n", licence.trim_end());
    }
    Ok(text)
}

/// The texts of licences and notices in a package's folder.
fn licences(manifest: &Path) -> Vec<String> {
    let folder = manifest.parent().unwrap_or(manifest);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_licence = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["licen", "copying", "notice", "copyright"].iter().any(|start| name.starts_with(start))
    };
    let mut paths: Vec<_> = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_licence))
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[derive(Deserialize)]
    struct Rules {
        licenses: Licences,
    }

    #[derive(Deserialize)]
    struct Licences {
        allow: Vec<String>,
    }

    /// Whether an expression of SPDX is satisfied by the permitted licences.
    fn is_permitted(expression: &str, allow: &[String]) -> bool {
        let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
        let alternatives = expression.split(" OR ");
        // Without brackets, AND binds closer. With brackets this asks for more, or for the same.
        let mut alternatives = alternatives.map(|all| {
            all.split(" AND ").all(|one| allow.iter().any(|allowed| allowed == one.trim()))
        });
        alternatives.any(|permitted| permitted)
    }

    #[test]
    fn each_dependency_has_a_permitted_licence_and_comes_from_the_registry() {
        let rules = std::fs::read_to_string(root().join("deny.toml")).expect("there are rules");
        let rules: Rules = toml::from_str(&rules).expect("they are read");
        let metadata = Metadata::read().expect("Cargo knows the packages");
        for package in metadata.packages.iter().filter(|package| package.source.is_some()) {
            let (name, licence) = (&package.name, package.license.as_deref().unwrap_or(""));
            assert!(is_permitted(licence, &rules.licenses.allow), "{name}: {licence}");
            let source = package.source.as_deref().unwrap_or("");
            assert!(source.starts_with("registry+"), "{name}: {source}");
        }
    }

    #[test]
    fn the_notices_name_what_the_binaries_contain() {
        let text = text().expect("they can be made");
        assert!(text.contains("\nmmtk 0.33.0: MIT OR Apache-2.0\n"), "{text}");
        assert!(text.contains("\ncranelift-codegen "));
        // A library of tests alone.
        assert!(!text.contains("\nproptest "));
        assert!(text.contains("Permission is hereby granted"));
    }
}
