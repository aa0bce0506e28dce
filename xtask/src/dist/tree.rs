//! Folders of files as data, and tar files of them. All forms of a release in `dist` are made of trees.
//!
//! Paths are relative, with `/`. The tar files list folders before their files, in the order of the paths, with the
//! owner 0, so that equal trees have equal bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// What a path stands for.
pub enum Entry {
    File { bytes: Vec<u8>, mode: u32 },
    Folder { mode: u32 },
}

/// Files by their paths.
#[derive(Default)]
pub struct Tree {
    pub entries: BTreeMap<String, Entry>,
}

/// The mode of files that are read, and of files that are run.
pub const PLAIN: u32 = 0o644;
pub const EXECUTABLE: u32 = 0o755;

impl Tree {
    pub fn add(&mut self, path: impl Into<String>, mode: u32, bytes: impl Into<Vec<u8>>) {
        self.entries.insert(path.into(), Entry::File { bytes: bytes.into(), mode });
    }

    pub fn add_folder(&mut self, path: impl Into<String>, mode: u32) {
        self.entries.insert(path.into(), Entry::Folder { mode });
    }

    /// The size of all files.
    pub fn size(&self) -> usize {
        let size = |entry: &Entry| match entry {
            Entry::File { bytes, .. } => bytes.len(),
            _ => 0,
        };
        self.entries.values().map(size).sum()
    }

    /// The tree as a tar file, with the folders above all entries.
    pub fn tar(&self, time: u64) -> Result<Vec<u8>, String> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut folders = BTreeSet::new();
        let written = self.entries.iter().try_for_each(|(path, entry)| {
            for folder in folders_above(path) {
                if folders.insert(folder.to_owned()) && !self.entries.contains_key(folder) {
                    append(&mut builder, folder, &Entry::Folder { mode: 0o755 }, time)?;
                }
            }
            append(&mut builder, path, entry, time)
        });
        written.and_then(|()| builder.into_inner()).map_err(|error| format!("tar: {error}"))
    }
}

/// The folders above a path, the highest first.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

fn append(
    builder: &mut tar::Builder<Vec<u8>>,
    path: &str,
    entry: &Entry,
    time: u64,
) -> std::io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    header.set_username("root")?;
    header.set_groupname("root")?;
    match entry {
        Entry::File { bytes, mode } => {
            header.set_mode(*mode);
            header.set_size(bytes.len() as u64);
            builder.append_data(&mut header, path, bytes.as_slice())
        }
        Entry::Folder { mode } => {
            header.set_mode(*mode);
            header.set_size(0);
            header.set_entry_type(tar::EntryType::Directory);
            builder.append_data(&mut header, format!("{path}/"), std::io::empty())
        }
    }
}

/// The bytes in the form of gzip, without a time.
pub fn compressed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(|error| format!("gzip: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_first_and_once() {
        let mut tree = Tree::default();
        tree.add("a/b/one", PLAIN, "1");
        tree.add("a/b/two", EXECUTABLE, "22");
        tree.add_folder("a/tmp", 0o1777);
        let bytes = tree.tar(7).expect("it is written");
        assert_eq!(bytes, tree.tar(7).expect("it is written"));
        let mut archive = tar::Archive::new(bytes.as_slice());
        let entries = archive.entries().expect("they are read").map(|entry| {
            let entry = entry.expect("it is read");
            let header = entry.header();
            let path = entry.path_bytes().into_owned();
            (String::from_utf8(path).expect("it is UTF-8"), header.mode().expect("it has one"))
        });
        let entries: Vec<_> = entries.collect();
        let expected = [
            ("a/", 0o755),
            ("a/b/", 0o755),
            ("a/b/one", 0o644),
            ("a/b/two", 0o755),
            ("a/tmp/", 0o1777),
        ];
        assert_eq!(entries, expected.map(|(path, mode)| (path.to_owned(), mode)));
        assert_eq!(tree.size(), 3);
    }
}
