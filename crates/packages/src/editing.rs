//! Changes of manifests that keep their comments and layout. The commands `new`, `add` and `remove` call it.

use std::path::Path;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

use crate::lock::write_whole;
use crate::manifest::{self, FILE, Manifest, is_name, no_name};
use crate::problem::{Problem, Result};
use crate::source::{Reference, Source};

/// A dependency that is to be written.
#[derive(Clone, Debug)]
pub struct NewDependency {
    /// The name under which the package's code knows it.
    pub alias: String,
    /// Its own name.
    pub package: String,
    /// The requirement, as text.
    pub requirement: Option<String>,
    /// Where it is.
    pub source: Option<Source>,
    /// The capabilities it is granted.
    pub grants: Vec<String>,
}

/// Writes a dependency into the manifest in a folder; replaces one of that name. The new text must be a manifest. Answers
/// the old text.
pub fn add(folder: &Path, shown: &Path, dependency: &NewDependency) -> Result<String> {
    let old = text_of(folder, shown)?;
    let mut document = document(&old, shown)?;
    let table = document.entry("dependencies").or_insert_with(|| Item::Table(Table::new()));
    let table = table.as_table_like_mut().ok_or_else(|| {
        Problem::invalid(format!("{}: `dependencies` is no table", shown.display()))
    })?;
    table.insert(&dependency.alias, dependency.item());
    write(folder, shown, &document.to_string())?;
    Ok(old)
}

/// Removes a dependency.
pub fn remove(folder: &Path, shown: &Path, alias: &str) -> Result<String> {
    let old = text_of(folder, shown)?;
    let manifest = Manifest::parse(&old, shown)?;
    if !manifest.dependencies.contains_key(alias) {
        let names: Vec<&str> = manifest.dependencies.keys().map(String::as_str).collect();
        let text = format!("{} has no dependency `{}`", shown.display(), alias.escape_debug());
        return Err(Problem::failed(text).hint(match names.is_empty() {
            true => "it has none at all".to_owned(),
            false => format!("it has {}", names.join(", ")),
        }));
    }
    let mut document = document(&old, shown)?;
    if let Some(table) = document.get_mut("dependencies").and_then(Item::as_table_like_mut) {
        table.remove(alias);
    }
    write(folder, shown, &document.to_string())?;
    Ok(old)
}

/// Puts an earlier text back.
pub fn restore(folder: &Path, shown: &Path, text: &str) -> Result<()> {
    write_whole(folder, FILE, text.as_bytes(), shown)
}

/// Makes a package in a new folder, or in one without a manifest: the manifest and a main module.
pub fn create(folder: &Path, name: &str, is_library: bool) -> Result<()> {
    if !is_name(name) {
        return Err(no_name(name));
    }
    let manifest_path = folder.join(FILE);
    if manifest_path.exists() {
        let text = format!("{} is there already", manifest_path.display());
        return Err(Problem::failed(text).hint("choose another name"));
    }
    let class = class_name(name);
    let file = if is_library { format!("{class}.ns") } else { "main.ns".to_owned() };
    let main_path = folder.join(&file);
    if main_path.exists() {
        return Err(Problem::failed(format!("{} is there already", main_path.display())));
    }
    std::fs::create_dir_all(folder).map_err(|error| Problem::unwritten(folder, &error))?;
    let main = if is_library { library(&class) } else { program(&class, name) };
    std::fs::write(&main_path, main).map_err(|error| Problem::unwritten(&main_path, &error))?;
    let text = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nmain = \"{file}\"\n\n[dependencies]\n"
    );
    std::fs::write(&manifest_path, text).map_err(|error| Problem::unwritten(&manifest_path, &error))
}

/// The name of the class of a package: `text-tools` becomes `TextTools`.
fn class_name(name: &str) -> String {
    let words = name.split(['-', '_']).filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect()
}

fn program(class: &str, name: &str) -> String {
    format!(
        "(* The program {name}. *)\nclass {class} usingPlatform: platform = Value ()(\n\n  \
         (* Greets; the exit code is 0. *)\n  public main: arguments = (\n    'Hello from {name}' \
         println.\n    ^ 0\n  )\n)\n"
    )
}

fn library(class: &str) -> String {
    format!(
        "(* What this package offers. *)\nclass {class} usingPlatform: platform = Value ()(\n\n  (* \
         A greeting. *)\n  public greet: name = ( ^ 'Hello, ' + name )\n)\n"
    )
}

impl NewDependency {
    fn item(&self) -> Item {
        let mut table = InlineTable::new();
        if self.package != self.alias {
            table.insert("package", self.package.as_str().into());
        }
        let mut insert = |key: &str, text: &str| _ = table.insert(key, text.into());
        match &self.source {
            Some(Source::Path(path)) => insert("path", &path.display().to_string()),
            Some(Source::Git { address, reference }) => {
                insert("git", address);
                match reference {
                    Reference::Commit(commit) => insert("commit", commit),
                    Reference::Branch(name) => insert("branch", name),
                    Reference::Tag(name) => insert("tag", name),
                    Reference::Head => {}
                }
            }
            Some(Source::Archive { address, sha256 }) => {
                insert("archive", address);
                sha256.iter().for_each(|digest| insert("sha256", digest));
            }
            None => {}
        }
        if let Some(requirement) = &self.requirement {
            insert("version", requirement);
        }
        if !self.grants.is_empty() {
            table.insert("grants", self.grants.iter().collect::<Array>().into());
        }
        value(table)
    }
}

fn text_of(folder: &Path, shown: &Path) -> Result<String> {
    Manifest::read(folder, shown)?;
    manifest::read_text(&folder.join(FILE), shown, u64::MAX)
}

fn document(text: &str, shown: &Path) -> Result<DocumentMut> {
    manifest::parse_toml(text, shown).map(toml_edit::Document::into_mut)
}

/// Writes a manifest, if it is one.
fn write(folder: &Path, shown: &Path, text: &str) -> Result<()> {
    Manifest::parse(text, shown)?;
    write_whole(folder, FILE, text.as_bytes(), shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_layout_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        create(folder.path(), "text-tools", false).expect("made");
        let path = folder.path().join(FILE);
        let text = std::fs::read_to_string(&path).expect("read");
        let text = text.replace("[dependencies]", "# Ours.\n[dependencies]\nb   = \"^1\" # why");
        std::fs::write(&path, &text).expect("written");
        let dependency = NewDependency {
            alias: "c".into(),
            package: "other".into(),
            requirement: None,
            source: Some(Source::Path("../c".into())),
            grants: vec!["files".into()],
        };
        let old = add(folder.path(), Path::new(FILE), &dependency).expect("added");
        assert_eq!(old, text);
        let added = std::fs::read_to_string(&path).expect("read");
        let line = "c = { package = \"other\", path = \"../c\", grants = [\"files\"] }\n";
        assert_eq!(added, format!("{text}{line}"));
        remove(folder.path(), Path::new(FILE), "c").expect("removed");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), text);
        let problem = remove(folder.path(), Path::new(FILE), "c").expect_err("it is gone");
        assert!(problem.text.contains("it has b"), "{problem}");
    }

    #[test]
    fn a_package_is_not_made_twice() {
        let folder = tempfile::tempdir().expect("a folder");
        create(folder.path(), "a", true).expect("made");
        assert!(folder.path().join("A.ns").exists());
        assert!(create(folder.path(), "a", true).is_err());
        assert!(create(&folder.path().join("b"), "../b", true).is_err());
    }
}
