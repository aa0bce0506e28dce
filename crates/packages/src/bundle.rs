//! Bundles: a program with all its packages in one file, alone or behind the binary of the machine. `squall build` makes
//! them; `squall run`, and the machine's binary at its start, open them.
//!
//! ```text
//! [the machine's binary]   modules.tar.gz   trailer
//!
//! trailer, 56 bytes:   "squall bundle 1\n"   length of modules.tar.gz, 8 bytes   its SHA-256, 32 bytes
//! ```
//!
//! The trailer is at the end, so one form serves both, and a binary without a bundle is recognised by its last bytes. The
//! archive holds `bundle.toml`, the table of parts ([`Table`]), and the modules in folders of their packages. The same
//! modules, flags and version of Squall give the same bytes: files are in the order of their names, and without times or
//! owners.
//!
//! A bundle is checked as a whole when it is opened: its digest first, then each name in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Component, Path};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use tar::{Archive, Builder, EntryType, Header};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table as TomlTable, value};

use crate::authority::{Table, TablePart};
use crate::digest;
use crate::manifest::{FILE, is_module};
use crate::problem::{Problem, Result};
use crate::project::{Package, Project};
use crate::unpacking::LIMITS;

/// The extension of bundles.
pub const EXTENSION: &str = "sqar";

/// The beginning of the trailer.
const MAGIC: &[u8; 16] = b"squall bundle 1\n";

/// The length of the trailer.
const TRAILER: usize = 16 + 8 + 32;

/// The name of the table in the archive.
const TABLE: &str = "bundle.toml";

/// A program in one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bundle {
    /// The options of the machine with which an executable file runs.
    pub flags: Vec<String>,
    /// The parts; their folders are those in the bundle.
    pub table: Table,
    /// The modules, by their paths in the bundle.
    pub modules: BTreeMap<String, Vec<u8>>,
}

impl Bundle {
    /// The bundle of a project.
    pub fn of(
        project: &Project,
        authority: &crate::authority::Authority,
        flags: Vec<String>,
    ) -> Result<Bundle> {
        let folders: Vec<String> = folders(project);
        let mut modules = BTreeMap::new();
        for (package, folder) in project.packages.iter().zip(&folders) {
            for name in modules_of(package)? {
                let path = package.folder.join(&name);
                let bytes = std::fs::read(&path).map_err(|error| Problem::unread(&path, &error))?;
                modules.insert(format!("{folder}/{name}"), bytes);
            }
        }
        let table = Table::of(project, authority, &folders);
        for part in &table.parts {
            if !modules.contains_key(&part.main) {
                let text = format!("{} has no module {}", part.title, part.main);
                return Err(Problem::missing(text).hint("`main` in its manifest names it"));
            }
        }
        Ok(Bundle { flags, table, modules })
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let archive = self.archive().expect("memory can be written");
        let digest = Sha256::digest(&archive);
        let length = (archive.len() as u64).to_le_bytes();
        [&archive, &MAGIC[..], &length, digest.as_slice()].concat()
    }

    /// The bytes of the archive, which has the table and the modules.
    pub fn archive(&self) -> std::io::Result<Vec<u8>> {
        // The header of gzip has neither time nor system.
        let packed = GzBuilder::new().mtime(0).operating_system(255);
        let packed: GzEncoder<Vec<u8>> = packed.write(Vec::new(), Compression::best());
        let mut builder = Builder::new(packed);
        let mut add = |name: &str, bytes: &[u8]| {
            let mut header = Header::new_ustar();
            header.set_entry_type(EntryType::Regular);
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(0);
            builder.append_data(&mut header, name, bytes)
        };
        add(TABLE, self.table_text().as_bytes())?;
        for (name, bytes) in &self.modules {
            add(name, bytes)?;
        }
        builder.into_inner()?.finish()
    }

    /// The bundle at the end of a file; `None` if there is none.
    pub fn read(path: &Path) -> Result<Option<Bundle>> {
        let unread = |error| Problem::unread(path, &error);
        let mut file = File::open(path).map_err(unread)?;
        let Some((length, expected)) = trailer(&mut file).map_err(unread)? else { return Ok(None) };
        let broken = |reason: &str| {
            let problem = Problem::invalid(format!("{} is damaged: {reason}", path.display()));
            problem.hint("make it again by `squall build`")
        };
        if length > LIMITS.packed {
            return Err(broken("it is too large"));
        }
        let back = -(length as i64) - TRAILER as i64;
        let mut archive = vec![0; length as usize];
        let read = file.seek(SeekFrom::End(back)).and_then(|_| file.read_exact(&mut archive));
        read.map_err(|_| broken("it is shorter than it says"))?;
        let found = digest::of_bytes(&archive);
        if found != expected {
            let text = format!("\n  it says sha256 {expected}\n  it has  sha256 {found}");
            return Err(broken(&text));
        }
        Bundle::of_archive(&archive).map(Some).map_err(|reason| broken(&reason))
    }

    /// Whether a bundle is at the end of a file: a look at a few bytes.
    pub fn is_in(path: &Path) -> bool {
        let found = File::open(path).and_then(|mut file| trailer(&mut file));
        matches!(found, Ok(Some(_)))
    }

    /// The bundle in the bytes of an archive.
    pub fn of_archive(archive: &[u8]) -> std::result::Result<Bundle, String> {
        let mut archive = Archive::new(GzDecoder::new(archive).take(LIMITS.unpacked));
        let mut bundle = Bundle::default();
        let mut table = None;
        for entry in archive.entries().map_err(|error| error.to_string())? {
            let mut entry = entry.map_err(|error| error.to_string())?;
            let name = String::from_utf8(entry.path_bytes().into_owned());
            let name = name.map_err(|_| "a name in it is not UTF-8")?;
            if entry.header().entry_type() != EntryType::Regular || !is_plain(&name) {
                return Err(format!("it has an entry `{}`", name.escape_debug()));
            }
            if bundle.modules.len() >= LIMITS.entries {
                return Err("it has too many entries".to_owned());
            }
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
            if name == TABLE {
                table = Some(String::from_utf8(bytes).map_err(|_| "its table is not UTF-8")?);
            } else if bundle.modules.insert(name, bytes).is_some() {
                return Err("a module is there twice".to_owned());
            }
        }
        bundle.read_table(&table.ok_or("it has no table")?)?;
        Ok(bundle)
    }

    fn table_text(&self) -> String {
        let mut document = DocumentMut::new();
        document.insert("flags", value(self.flags.iter().collect::<Array>()));
        let parts = self.table.parts.iter().map(part_table);
        document.insert("part", Item::ArrayOfTables(parts.collect::<ArrayOfTables>()));
        document.to_string()
    }

    fn read_table(&mut self, text: &str) -> std::result::Result<(), String> {
        let document: DocumentMut = text.parse().map_err(|_| "its table is no TOML")?;
        self.flags = texts(document.get("flags")).ok_or("its table has no flags")?;
        let parts = document.get("part").and_then(Item::as_array_of_tables);
        for table in parts.ok_or("its table has no parts")? {
            let part = read_part(table).ok_or("a part in its table is wrong")?;
            self.table.parts.push(part);
        }
        let count = self.table.parts.len();
        for part in &self.table.parts {
            if !self.modules.contains_key(&part.main) {
                return Err(format!("it lacks the module `{}`", part.main.escape_debug()));
            }
            if !is_plain(&part.folder) {
                return Err(format!("it has a folder `{}`", part.folder.escape_debug()));
            }
            if part.dependencies.iter().any(|(_, number)| *number >= count) {
                return Err("a part in its table needs one that is not there".to_owned());
            }
        }
        if count == 0 { Err("its table has no parts".to_owned()) } else { Ok(()) }
    }

    /// Puts all paths below the path of the bundle itself: no file can be there, so a path is that of a module here and of
    /// nothing else.
    pub fn below(self, path: &str) -> Bundle {
        let mut table = self.table;
        for part in &mut table.parts {
            part.folder = format!("{path}/{}", part.folder);
            part.main = format!("{path}/{}", part.main);
        }
        let modules = self.modules.into_iter();
        let modules = modules.map(|(name, bytes)| (format!("{path}/{name}"), bytes)).collect();
        Bundle { table, modules, flags: self.flags }
    }
}

/// The length and digest of the archive before a trailer, if a file ends with one.
fn trailer(file: &mut File) -> std::io::Result<Option<(u64, String)>> {
    if file.seek(SeekFrom::End(0))? < TRAILER as u64 {
        return Ok(None);
    }
    let mut bytes = [0; TRAILER];
    file.seek(SeekFrom::End(-(TRAILER as i64)))?;
    file.read_exact(&mut bytes)?;
    let (magic, rest) = bytes.split_at(MAGIC.len());
    let (length, digest) = rest.split_at(8);
    let length = length.iter().rev().fold(0, |length, byte| length << 8 | u64::from(*byte));
    Ok((magic == MAGIC).then(|| (length, digest::hexadecimal(digest))))
}

/// Writes a bundle into a file; with the binary of a machine in front, the file can be executed.
pub fn write(path: &Path, machine: Option<&Path>, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".squall-").tempfile_in(folder)?;
        if let Some(machine) = machine {
            let mut machine = File::open(machine)?;
            let length = machine_length(&mut machine)?;
            machine.seek(SeekFrom::Start(0))?;
            std::io::copy(&mut machine.take(length), &mut file)?;
        }
        file.write_all(bytes)?;
        set_mode(&file, machine.is_some())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Problem::unwritten(path, &error))
}

/// The length of a machine's binary without the bundle that it may have.
fn machine_length(file: &mut File) -> std::io::Result<u64> {
    let bundle = trailer(file)?.map_or(0, |(length, _)| length.saturating_add(TRAILER as u64));
    Ok(file.seek(SeekFrom::End(0))?.saturating_sub(bundle))
}

#[cfg(unix)]
fn set_mode(file: &tempfile::NamedTempFile, is_executable: bool) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = if is_executable { 0o755 } else { 0o644 };
    file.as_file().set_permissions(std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn set_mode(_: &tempfile::NamedTempFile, _: bool) -> std::io::Result<()> {
    Ok(())
}

/// The folder of each package in the bundle.
fn folders(project: &Project) -> Vec<String> {
    // The solver chooses one package for a name and a version; the application may have those of another one.
    let mut taken = BTreeSet::new();
    let folder = |package: &Package| {
        let (name, version) = package.key();
        let mut folder = format!("{name}-{version}");
        while !taken.insert(folder.clone()) {
            folder.push('_');
        }
        folder
    };
    project.packages.iter().map(folder).collect()
}

/// The modules of a package, by their paths in its folder. Hidden folders, those of other packages, and `vendor` belong to
/// no package.
pub fn modules_of(package: &Package) -> Result<Vec<String>> {
    let mut modules = Vec::new();
    collect(&package.folder, "", &mut modules)?;
    modules.sort();
    Ok(modules)
}

fn collect(folder: &Path, prefix: &str, modules: &mut Vec<String>) -> Result<()> {
    let unread = |error: std::io::Error| Problem::unread(folder, &error);
    for entry in folder.read_dir().map_err(unread)? {
        let entry = entry.map_err(unread)?;
        let path = entry.path();
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        // Links to folders are left out: they may go round in a circle.
        if entry.file_type().map_err(unread)?.is_dir() {
            let is_vendor = prefix.is_empty() && name == crate::cache::VENDOR;
            if !name.starts_with('.') && !is_vendor && !path.join(FILE).is_file() {
                collect(&path, &format!("{prefix}{name}/"), modules)?;
            }
        } else if is_module(&path) && path.is_file() {
            modules.push(format!("{prefix}{name}"));
        }
    }
    Ok(())
}

/// Whether a path in a bundle has plain components only.
fn is_plain(name: &str) -> bool {
    let path = Path::new(name);
    !name.is_empty() && path.components().all(|component| matches!(component, Component::Normal(_)))
}

fn part_table(part: &TablePart) -> TomlTable {
    let mut table = TomlTable::new();
    table.insert("title", value(&part.title));
    table.insert("folder", value(&part.folder));
    table.insert("main", value(&part.main));
    table.insert("capabilities", value(part.capabilities.iter().collect::<Array>()));
    let mut reasons = InlineTable::new();
    for (name, reason) in &part.reasons {
        reasons.insert(name, reason.as_str().into());
    }
    table.insert("reasons", value(reasons));
    let mut dependencies = InlineTable::new();
    for (alias, number) in &part.dependencies {
        dependencies.insert(alias, (*number as i64).into());
    }
    table.insert("dependencies", value(dependencies));
    table
}

fn read_part(table: &TomlTable) -> Option<TablePart> {
    let text = |key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
    let pairs = |key: &str| table.get(key).and_then(Item::as_table_like);
    let reasons = pairs("reasons")?
        .iter()
        .map(|(name, reason)| Some((name.to_owned(), reason.as_str()?.to_owned())));
    let dependencies = pairs("dependencies")?.iter().map(|(alias, number)| {
        Some((alias.to_owned(), usize::try_from(number.as_integer()?).ok()?))
    });
    Some(TablePart {
        title: text("title")?,
        folder: text("folder")?,
        main: text("main")?,
        capabilities: texts(table.get("capabilities"))?,
        reasons: reasons.collect::<Option<_>>()?,
        dependencies: dependencies.collect::<Option<_>>()?,
    })
}

fn texts(item: Option<&Item>) -> Option<Vec<String>> {
    item?.as_array()?.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Bundle {
        let part = TablePart {
            title: "a 1.0.0".into(),
            folder: "a-1.0.0".into(),
            main: "a-1.0.0/main.ns".into(),
            capabilities: vec!["files".into()],
            reasons: vec![("net".into(), "squall.toml:1 \"does\" not\nwant it".into())],
            dependencies: vec![("self".into(), 0)],
        };
        Bundle {
            flags: vec!["--allow-files=x y".into()],
            table: Table { parts: vec![part] },
            modules: [("a-1.0.0/main.ns".to_owned(), b"class".to_vec())].into(),
        }
    }

    fn read(bytes: &[u8]) -> Result<Option<Bundle>> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("written");
        Bundle::read(file.path())
    }

    #[test]
    fn what_is_written_is_read_behind_anything() {
        let bytes = example().bytes();
        assert_eq!(bytes, example().bytes());
        for front in [&b""[..], b"a machine"] {
            assert_eq!(read(&[front, &bytes].concat()), Ok(Some(example())));
        }
        assert_eq!(read(b"a machine"), Ok(None));
        assert_eq!(read(&[0; 1000]), Ok(None));
    }

    #[test]
    fn changes_and_cuts_are_refused_with_both_digests() {
        let bytes = example().bytes();
        let mut changed = bytes.clone();
        changed[20] ^= 1;
        let problem = read(&changed).expect_err("it was changed").text;
        assert!(problem.contains("it says sha256") && problem.contains("it has  sha256"));
        let problem = read(&bytes[10..]).expect_err("it was cut").text;
        assert!(problem.contains("shorter"), "{problem}");
    }

    #[test]
    fn a_hostile_bundle_is_refused() {
        let mut cases: Vec<(Bundle, &str)> = Vec::new();
        let mut change = |part: &str, change: &dyn Fn(&mut Bundle)| {
            let mut bundle = example();
            change(&mut bundle);
            cases.push((bundle, Box::leak(part.to_owned().into_boxed_str())));
        };
        change("no parts", &|bundle| bundle.table.parts.clear());
        change("lacks the module", &|bundle| bundle.modules.clear());
        change("not there", &|bundle| bundle.table.parts[0].dependencies[0].1 = 1);
        change("a folder", &|bundle| bundle.table.parts[0].folder = "../x".into());
        for (bundle, part) in cases {
            let problem = read(&bundle.bytes()).expect_err(part).text;
            assert!(problem.contains(part), "{problem}");
        }
        assert!(!is_plain("../x") && !is_plain("/x") && !is_plain(""));
    }

    proptest::proptest! {
        #[test]
        fn no_archive_makes_it_panic(bytes in proptest::collection::vec(0u8.., 0..300), at in 0usize..300) {
            _ = Bundle::of_archive(&bytes);
            let mut archive = example().archive().expect("written");
            let at = at % archive.len();
            archive.splice(at..at, bytes);
            _ = Bundle::of_archive(&archive);
            let text = example().table_text();
            let cut = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            _ = example().read_table(&text[cut.unwrap_or(0)..]);
        }
    }
}
