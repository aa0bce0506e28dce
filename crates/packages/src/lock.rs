//! The lock: `squall.lock`, what was chosen, and the digests of what was fetched. `project` reads and writes it.
//!
//! ```toml
//! version = 1
//!
//! [[source]]
//! origin = "git https://example.org/storage.git#…"
//! reference = "branch main"
//! sha256 = "…"
//!
//! [[package]]
//! name = "notes"
//! version = "1.2.0"
//! origin = "path ."
//! dependencies = { storage = "storage 2.0.0" }
//! ```
//!
//! A *source* is listed if it was fetched, whether its package was chosen or not. `reference` is what the manifest says
//! where that names no commit or digest; `sha256` is the digest of the package's files. The text is the same for the same
//! choices.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use semver::Version;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, value};

use crate::digest;
use crate::manifest::{is_name, parse_toml, read_text};
use crate::problem::{Problem, Result};
use crate::source::Origin;

/// The file's name.
pub const FILE: &str = "squall.lock";

/// The most bytes that a lock may have.
const LONGEST: u64 = 16 << 20;

/// The form that is written.
const FORM: i64 = 1;

/// What was chosen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lock {
    /// What was fetched.
    pub sources: BTreeMap<Origin, Fetched>,
    /// The chosen packages, in the order of their names and versions.
    pub packages: BTreeMap<(String, Version), Locked>,
}

/// A source that was fetched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fetched {
    /// What the manifest says: `commit …`, `branch …`, `sha256` and so on.
    pub reference: String,
    /// The digest of the files.
    pub sha256: String,
}

/// A chosen package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locked {
    /// Where it is.
    pub origin: Origin,
    /// The packages it gets, by the names under which it knows them.
    pub dependencies: BTreeMap<String, (String, Version)>,
}

impl Lock {
    /// Reads the lock in a folder, if there is one; `shown` is the file's path in problems.
    pub fn read(folder: &Path, shown: &Path) -> Result<Option<Lock>> {
        let path = folder.join(FILE);
        match path.try_exists() {
            Ok(false) => Ok(None),
            _ => read_text(&path, shown, LONGEST)
                .and_then(|text| Lock::parse(&text, shown))
                .map(Some),
        }
    }

    /// Reads a lock's text.
    pub fn parse(text: &str, shown: &Path) -> Result<Lock> {
        let document = parse_toml(text, shown)?;
        let broken = |what: String| {
            let problem = Problem::invalid(format!("{}: {what}", shown.display()));
            problem.hint("restore the file, or delete it: `squall update` makes a new one")
        };
        let form = document.get("version").and_then(Item::as_integer);
        if form != Some(FORM) {
            return Err(broken(match form {
                Some(form) => format!("the form {form} of the lock is not known"),
                None => "there is no `version`".to_owned(),
            }));
        }
        Reader(document.as_table()).lock().map_err(broken)
    }

    /// The versions that were chosen, for the resolution.
    pub fn versions(&self) -> BTreeSet<(String, Version)> {
        self.packages.keys().cloned().collect()
    }

    /// The text.
    pub fn text(&self) -> String {
        let mut document = DocumentMut::new();
        document.insert("version", value(FORM));
        let sources = self.sources.iter().map(|(origin, fetched)| fetched.table(origin));
        let packages = self.packages.iter().map(|(name, locked)| locked.table(name));
        for (key, tables) in
            [("source", sources.collect::<Vec<_>>()), ("package", packages.collect())]
        {
            if !tables.is_empty() {
                let tables: ArrayOfTables = tables.into_iter().collect();
                document.insert(key, Item::ArrayOfTables(tables));
            }
        }
        format!("# Made by squall; keep it beside {}.\n{document}", crate::manifest::FILE)
    }

    /// Writes the lock into a folder, at once or not at all.
    pub fn write(&self, folder: &Path, shown: &Path) -> Result<()> {
        write_whole(folder, FILE, self.text().as_bytes(), shown)
    }
}

/// Writes a file, at once or not at all.
pub(crate) fn write_whole(folder: &Path, name: &str, bytes: &[u8], shown: &Path) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".squall-").tempfile_in(folder)?;
        std::io::Write::write_all(&mut file, bytes)?;
        make_readable(&file)?;
        file.persist(folder.join(name)).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Problem::unwritten(shown, &error))
}

/// Temporary files are for their owner only; this one is to be like any other.
#[cfg(unix)]
fn make_readable(file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &tempfile::NamedTempFile) -> std::io::Result<()> {
    Ok(())
}

impl Fetched {
    fn table(&self, origin: &Origin) -> Table {
        let mut table = Table::new();
        table.insert("origin", value(origin.to_string()));
        table.insert("reference", value(&self.reference));
        table.insert("sha256", value(&self.sha256));
        table
    }
}

impl Locked {
    fn table(&self, (name, version): &(String, Version)) -> Table {
        let mut table = Table::new();
        table.insert("name", value(name));
        table.insert("version", value(version.to_string()));
        table.insert("origin", value(self.origin.to_string()));
        if !self.dependencies.is_empty() {
            let mut dependencies = InlineTable::new();
            for (alias, (name, version)) in &self.dependencies {
                dependencies.insert(alias, format!("{name} {version}").into());
            }
            table.insert("dependencies", value(dependencies));
        }
        table
    }
}

type Read<T> = std::result::Result<T, String>;

struct Reader<'d>(&'d Table);

impl Reader<'_> {
    fn lock(&self) -> Read<Lock> {
        let mut lock = Lock::default();
        for table in self.tables("source")? {
            let origin = origin(table)?;
            let sha256 = text(table, "sha256")?;
            if !digest::is_sha256(&sha256) {
                return Err(format!("`{}` is no SHA-256", sha256.escape_debug()));
            }
            let fetched = Fetched { reference: text(table, "reference")?, sha256 };
            if lock.sources.insert(origin, fetched).is_some() {
                return Err("a source is there twice".to_owned());
            }
        }
        for table in self.tables("package")? {
            let key = named_version(&text(table, "name")?, &text(table, "version")?)?;
            let locked = Locked { origin: origin(table)?, dependencies: dependencies(table)? };
            if lock.packages.insert(key, locked).is_some() {
                return Err("a package is there twice".to_owned());
            }
        }
        Ok(lock)
    }

    fn tables(&self, key: &str) -> Read<Vec<&dyn TableLike>> {
        match self.0.get(key) {
            None => Ok(Vec::new()),
            Some(Item::ArrayOfTables(tables)) => {
                Ok(tables.iter().map(|table| table as &dyn TableLike).collect())
            }
            Some(item) if item.as_array().is_some_and(Array::is_empty) => Ok(Vec::new()),
            Some(_) => Err(format!("`{key}` is no list of tables")),
        }
    }
}

fn text(table: &dyn TableLike, key: &str) -> Read<String> {
    let text = table.get(key).and_then(Item::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("an entry has no text `{key}`"))
}

fn origin(table: &dyn TableLike) -> Read<Origin> {
    let text = text(table, "origin")?;
    Origin::parse(&text).ok_or_else(|| format!("`{}` is no origin", text.escape_debug()))
}

fn named_version(name: &str, version: &str) -> Read<(String, Version)> {
    let parsed = Version::parse(version).ok().filter(|_| is_name(name));
    let parsed = parsed.map(|version| (name.to_owned(), version));
    parsed.ok_or_else(|| {
        let text = format!("{name} {version}");
        format!("`{}` is no package and version", text.escape_debug())
    })
}

fn dependencies(table: &dyn TableLike) -> Read<BTreeMap<String, (String, Version)>> {
    let Some(item) = table.get("dependencies") else { return Ok(BTreeMap::new()) };
    let table = item.as_table_like().ok_or("`dependencies` is no table")?;
    let entries = table.iter().map(|(alias, item)| {
        let text = item.as_str().unwrap_or_default();
        let (name, version) = text.split_once(' ').unwrap_or((text, ""));
        Ok((alias.to_owned(), named_version(name, version)?))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Lock {
        let version = |text: &str| Version::parse(text).expect("a version");
        let commit = "0123456789abcdef0123456789abcdef01234567".to_owned();
        let origin = Origin::Git { address: "https://example.org/b.git".into(), commit };
        let fetched = Fetched { reference: "branch main".into(), sha256: digest::of_bytes(b"") };
        let key = ("b".to_owned(), version("2.0.0-beta+1"));
        let application = Locked {
            origin: Origin::Path(".".into()),
            dependencies: [("c".to_owned(), key.clone())].into(),
        };
        let other = Locked { origin: origin.clone(), dependencies: BTreeMap::new() };
        Lock {
            sources: [(origin, fetched)].into(),
            packages: [(("a".to_owned(), version("1.0.0")), application), (key, other)].into(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = example().text();
        assert_eq!(Lock::parse(&text, Path::new("l")).expect(&text), example());
        assert_eq!(Lock::parse(&Lock::default().text(), Path::new("l")), Ok(Lock::default()));
    }

    #[test]
    fn mistakes_are_refused() {
        let text = example().text();
        let cases = [
            ("version = 1", "version = 2", "the form 2"),
            ("version = 1", "", "no `version`"),
            ("[[source]]", "[source]", "no list"),
            ("sha256 = \"e3", "sha256 = \"x3", "no SHA-256"),
            ("#0123", "#x123", "no origin"),
            ("2.0.0-beta+1\"\norigin", "2.0\"\norigin", "no package and version"),
            ("\"b 2.0.0-beta+1\"", "7", "no package and version"),
            ("name = \"a\"", "name = \"a/b\"", "no package and version"),
            ("reference = ", "references = ", "no text `reference`"),
        ];
        for (from, to, part) in cases {
            assert!(text.contains(from), "{from}");
            let problem = Lock::parse(&text.replace(from, to), Path::new("l")).expect_err(to).text;
            assert!(problem.contains(part) && problem.contains("squall update"), "{problem}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_damage_makes_it_panic(at in 0usize..500, text in "\\PC{0,8}") {
            let mut damaged = example().text();
            let at = (0..=at.min(damaged.len())).rev().find(|at| damaged.is_char_boundary(*at));
            damaged.insert_str(at.unwrap_or(0), &text);
            _ = Lock::parse(&damaged, Path::new("l"));
        }
    }
}
