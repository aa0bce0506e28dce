//! Unpacks archives of others. `cache` and `git` call it.
//!
//! An archive may be made by an enemy. So nothing of it is believed:
//!
//! - names are relative, of plain components, in UTF-8, and each is there once, whatever the letters' case;
//! - entries are files and folders: links, devices and the like are refused;
//! - the number of entries, the size of each file and that of all together are limited, and so are the bytes that are read at
//!   all, which bounds what compression can hide;
//! - modes, owners and times are dropped.
//!
//! The folder must be new: nothing that is there already can then be a link.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Component, Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType};

use crate::manifest;
use crate::problem::{Problem, Result};

/// The limits of archives.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most bytes of an archive as it is fetched.
    pub packed: u64,
    /// The most bytes that it unpacks to.
    pub unpacked: u64,
    /// The most bytes of one file.
    pub file: u64,
    /// The most files and folders.
    pub entries: usize,
    /// The most bytes of a name.
    pub name: usize,
    /// The most components of a name.
    pub depth: usize,
}

/// The limits of packages.
pub const LIMITS: Limits = Limits {
    packed: 64 << 20,
    unpacked: 256 << 20,
    file: 64 << 20,
    entries: 20_000,
    name: 400,
    depth: 32,
};

/// Unpacks a `.tar.gz` into a new folder.
pub fn unpack_gzip(bytes: &[u8], folder: &Path, limits: &Limits) -> Result<()> {
    if bytes.len() as u64 > limits.packed {
        return Err(too_large(&format!("it has more than {} bytes", limits.packed)));
    }
    unpack(MultiGzDecoder::new(bytes), folder, limits)
}

/// Unpacks a `.tar` into a new folder.
pub fn unpack(source: impl Read, folder: &Path, limits: &Limits) -> Result<()> {
    let limited = Limited { source, left: limits.unpacked, most: limits.unpacked };
    let mut unpacker = Unpacker { folder, limits, names: HashSet::new(), left: limits.unpacked };
    let mut archive = Archive::new(limited);
    for entry in archive.entries().map_err(unreadable)? {
        unpacker.unpack(entry.map_err(unreadable)?)?;
    }
    match unpacker.names.is_empty() {
        true => Err(Problem::invalid("the archive is empty")),
        false => Ok(()),
    }
}

/// The folder of the package in a folder that was unpacked: that with the manifest, which may be the only folder on top.
pub fn package_in(folder: &Path) -> Result<PathBuf> {
    if folder.join(manifest::FILE).is_file() {
        return Ok(folder.to_owned());
    }
    let entries = folder.read_dir().map_err(|error| Problem::unread(folder, &error))?;
    let entries: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    match &entries[..] {
        [only] if only.join(manifest::FILE).is_file() => Ok(only.clone()),
        _ => {
            let text = format!("there is no {} in it, nor in its only folder", manifest::FILE);
            Err(Problem::invalid(text)
                .hint("an archive holds one package, with its manifest on top"))
        }
    }
}

/// Reads no more than it may: a gzip stream of some kilobytes can stand for gigabytes.
struct Limited<R> {
    source: R,
    left: u64,
    most: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let text = format!("it unpacks to more than {} bytes", self.most);
            io::Error::new(ErrorKind::FileTooLarge, text)
        })?;
        Ok(count)
    }
}

struct Unpacker<'u> {
    folder: &'u Path,
    limits: &'u Limits,
    /// The names so far, in small letters: some systems know no others.
    names: HashSet<String>,
    left: u64,
}

impl Unpacker<'_> {
    fn unpack(&mut self, mut entry: Entry<'_, impl Read>) -> Result<()> {
        let kind = entry.header().entry_type();
        // A comment for the whole archive, such as the name of a commit.
        if kind == EntryType::XGlobalHeader {
            return Ok(());
        }
        let name = entry.path_bytes().into_owned();
        let Some(path) = self.path(&name)? else { return Ok(()) };
        let shown = path.display().to_string();
        if self.names.len() >= self.limits.entries {
            return Err(too_large(&format!("it has more than {} entries", self.limits.entries)));
        }
        let target = self.folder.join(&path);
        match kind {
            EntryType::Directory => {
                // Folders may be listed twice, and after their contents.
                self.names.insert(shown.to_lowercase() + "/");
                make_folder(&target)
            }
            EntryType::Regular | EntryType::Continuous => {
                if !self.names.insert(shown.to_lowercase()) {
                    return Err(refused(&name, "it is there twice"));
                }
                make_folder(target.parent().unwrap_or(self.folder))?;
                self.write(&mut entry, &target, &name)
            }
            EntryType::Symlink | EntryType::Link => Err(refused(&name, "it is a link")),
            _ => Err(refused(&name, "it is neither a file nor a folder")),
        }
    }

    /// The path of a name; none for the folder itself.
    fn path(&self, name: &[u8]) -> Result<Option<PathBuf>> {
        let text = std::str::from_utf8(name).map_err(|_| refused(name, "it is not UTF-8"))?;
        if text.len() > self.limits.name {
            return Err(refused(name, "the name is too long"));
        }
        if text.contains(['\\', '\0', ':']) || text.chars().any(char::is_control) {
            return Err(refused(name, "it has characters that names do not have everywhere"));
        }
        let mut path = PathBuf::new();
        for component in Path::new(text).components() {
            match component {
                Component::CurDir => {}
                Component::Normal(part) => path.push(part),
                Component::ParentDir => return Err(refused(name, "it leads out by `..`")),
                Component::RootDir | Component::Prefix(_) => {
                    return Err(refused(name, "it is an absolute path"));
                }
            }
        }
        if path.components().count() > self.limits.depth {
            return Err(refused(name, "it is too deep"));
        }
        Ok((path != Path::new("")).then_some(path))
    }

    fn write(
        &mut self,
        entry: &mut Entry<'_, impl Read>,
        target: &Path,
        name: &[u8],
    ) -> Result<()> {
        // An entry has no more bytes than it declares: what is refused takes no room on the disk.
        if entry.size() > self.limits.file.min(self.left) {
            return Err(refused(name, "it is too large"));
        }
        let unwritten = |error: io::Error| Problem::unwritten(target, &error);
        let file = File::options().write(true).create_new(true).open(target);
        // A file may be in the place of a folder, or the other way round.
        let mut file = file.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => refused(name, "a folder has that name"),
            _ => unwritten(error),
        })?;
        let mut buffer = [0; 16 << 10];
        loop {
            let count = entry.read(&mut buffer).map_err(unreadable)?;
            if count == 0 {
                break;
            }
            self.left = self.left.saturating_sub(count as u64);
            file.write_all(&buffer[..count]).map_err(unwritten)?;
        }
        Ok(())
    }
}

fn make_folder(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            Problem::invalid(format!("{} is a file and a folder in the archive", path.display()))
        }
        _ => Problem::unwritten(path, &error),
    })
}

fn refused(name: &[u8], reason: &str) -> Problem {
    let name = String::from_utf8_lossy(name);
    let name: String = name.chars().take(120).collect();
    Problem::invalid(format!("the archive is refused: `{}`: {reason}", name.escape_debug()))
}

fn too_large(reason: &str) -> Problem {
    Problem::invalid(format!("the archive is refused: {reason}"))
}

fn unreadable(error: io::Error) -> Problem {
    match error.kind() {
        ErrorKind::FileTooLarge => too_large(&error.to_string()),
        _ => Problem::invalid(format!("this is no .tar.gz that can be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, Header};

    /// The name as it is, the kind, the content.
    type Raw<'r> = (&'r [u8], EntryType, &'r [u8]);

    /// An archive of entries.
    fn archive(entries: &[Raw]) -> Vec<u8> {
        let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (name, kind, content) in entries {
            let mut header = Header::new_gnu();
            header.as_mut_bytes()[..name.len()].copy_from_slice(name);
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o7777);
            if matches!(kind, EntryType::Symlink | EntryType::Link) {
                header.set_link_name("/etc/passwd").expect("a short name");
            }
            header.set_cksum();
            builder.append(&header, *content).expect("written");
        }
        builder.into_inner().and_then(GzEncoder::finish).expect("finished")
    }

    fn unpacked(bytes: &[u8], limits: &Limits) -> std::result::Result<Vec<String>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).expect("made");
        let result = unpack_gzip(bytes, &inner, limits).map_err(|problem| problem.text);
        let outside = std::fs::read_dir(folder.path()).expect("read").count();
        assert_eq!(outside, 1, "something was written outside");
        let files = crate::digest::files_of(&inner).expect("files");
        result.map(|()| files.into_iter().map(|(name, _)| name).collect())
    }

    const FILE: EntryType = EntryType::Regular;

    #[test]
    fn files_and_folders_are_unpacked() {
        let bytes = archive(&[
            (b"./", EntryType::Directory, b""),
            (b"./a/", EntryType::Directory, b""),
            (b"./a/b.ns", FILE, b"1"),
            (b"c/d.ns", FILE, b"2"),
        ]);
        assert_eq!(unpacked(&bytes, &LIMITS), Ok(vec!["a/b.ns".into(), "c/d.ns".into()]));
    }

    #[test]
    fn hostile_entries_are_refused() {
        let cases: &[(&[Raw], &str)] = &[
            (&[], "empty"),
            (&[(b"../x", FILE, b"")], "leads out by `..`"),
            (&[(b"a/../../x", FILE, b"")], "leads out by `..`"),
            (&[(b"/etc/x", FILE, b"")], "absolute path"),
            (&[(b"../x/", EntryType::Directory, b"")], "leads out by `..`"),
            (&[(b"x", EntryType::Symlink, b"")], "it is a link"),
            (&[(b"x", EntryType::Link, b"")], "it is a link"),
            (&[(b"x", EntryType::Fifo, b"")], "neither a file nor a folder"),
            (&[(b"x", EntryType::Char, b"")], "neither a file nor a folder"),
            (&[(b"x", EntryType::GNUSparse, b"")], "can be read"),
            (&[(b"x", FILE, b""), (b"./x", FILE, b"")], "there twice"),
            (&[(b"x", FILE, b""), (b"X", FILE, b"")], "there twice"),
            (&[(b"x", FILE, b""), (b"x/y", FILE, b"")], "a file and a folder"),
            (&[(b"x/y", FILE, b""), (b"x", FILE, b"")], "a folder has that name"),
            (&[(b"a\\b", FILE, b"")], "characters"),
            (&[(b"c:x", FILE, b"")], "characters"),
            (&[(b"a\x1b[2J", FILE, b"")], "characters"),
            (&[(b"\xff", FILE, b"")], "not UTF-8"),
            (&[(b"x", FILE, &[0; 101])], "too large"),
            (&[(b"a/b/c/d/e", FILE, b"")], "too deep"),
            (
                &[(b"a", FILE, b""), (b"b", FILE, b""), (b"c", FILE, b""), (b"d", FILE, b"")],
                "entries",
            ),
        ];
        let limits = Limits { file: 100, depth: 4, entries: 3, ..LIMITS };
        for (entries, part) in cases {
            let problem = unpacked(&archive(entries), &limits).expect_err(part);
            assert!(problem.contains(part), "{part}: {problem}");
        }
    }

    #[test]
    fn sizes_are_limited_whatever_is_said_about_them() {
        let zeros = vec![0; 1 << 20];
        let bytes = archive(&[(b"x", FILE, &zeros)]);
        let limits = Limits { unpacked: 1 << 19, ..LIMITS };
        let problem = unpacked(&bytes, &limits).expect_err("it is a bomb");
        assert!(problem.contains("unpacks to more") || problem.contains("too large"), "{problem}");
        let limits = Limits { packed: 100, ..LIMITS };
        assert!(unpacked(&bytes, &limits).expect_err("it is large").contains("more than 100"));
        let many: Vec<Raw> = vec![(b"a", EntryType::Directory, b""); 5000];
        let limits = Limits { unpacked: 1 << 19, ..LIMITS };
        assert!(unpacked(&archive(&many), &limits).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_damage_makes_it_panic(at in 0usize..2000, bytes in proptest::collection::vec(0u8.., 1..20)) {
            let whole = archive(&[(b"a/b.ns", FILE, b"text"), (b"c", EntryType::Symlink, b"")]);
            let mut raw = Vec::new();
            MultiGzDecoder::new(&whole[..]).read_to_end(&mut raw).expect("it is whole");
            let at = at.min(raw.len() - 20);
            raw[at..at + bytes.len()].copy_from_slice(&bytes);
            let folder = tempfile::tempdir().expect("a folder");
            _ = unpack(&raw[..], folder.path(), &LIMITS);
            let at = at % whole.len();
            _ = unpack_gzip(&[&whole[..at], &bytes, &whole[at..]].concat(), folder.path(), &LIMITS);
        }
    }
}
