//! SHA-256, of bytes and of folders. `cache` identifies packages by it, `lock` notes it, `bundle` checks itself with it.
//!
//! The digest of a folder is that of a text which lists its files in the order of their names:
//!
//! ```text
//! squall tree 1
//! <length of the name> <name> <length of the content> <SHA-256 of the content>      for each file
//! ```
//!
//! Lengths are decimal, so no two folders have the same text. Empty folders and the modes and times of files do not count.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::problem::{Problem, Result};

/// The digest in hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether a text is a SHA-256 in small hexadecimal digits.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && is_hexadecimal(text)
}

/// Whether a text is the name of a commit: SHA-1 or SHA-256.
pub fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hexadecimal(text)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The digest of a folder's files.
pub fn of_folder(folder: &Path) -> Result<String> {
    let mut list = "squall tree 1\n".to_owned();
    for (name, path) in files_of(folder)? {
        let bytes = std::fs::read(&path).map_err(|error| Problem::unread(&path, &error))?;
        _ = writeln!(list, "{} {name} {} {}", name.len(), bytes.len(), of_bytes(&bytes));
    }
    Ok(of_bytes(list.as_bytes()))
}

/// The files of a folder and of those below, with their names within the folder, in the order of these. A link is refused:
/// a package that was fetched has none.
pub fn files_of(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    collect(folder, "", &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> Result<()> {
    let unread = |error: std::io::Error| Problem::unread(folder, &error);
    for entry in folder.read_dir().map_err(unread)? {
        let entry = entry.map_err(unread)?;
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| not_text(&path))?;
        let name = format!("{prefix}{name}");
        let kind = entry.file_type().map_err(unread)?;
        if kind.is_dir() {
            collect(&path, &format!("{name}/"), files)?;
        } else if kind.is_file() {
            files.push((name, path));
        } else {
            let text = format!("{} is neither a file nor a folder", path.display());
            return Err(Problem::invalid(text));
        }
    }
    Ok(())
}

fn not_text(path: &Path) -> Problem {
    Problem::invalid(format!("{} has a name that is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folders_digest_depends_on_names_and_contents_only() {
        let digest = |files: &[(&str, &str)]| {
            let folder = tempfile::tempdir().expect("a folder");
            for (name, text) in files {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().expect("it is in the folder")).expect("made");
                std::fs::write(path, text).expect("written");
            }
            of_folder(folder.path()).expect("a digest")
        };
        let first = digest(&[("a/b.ns", "1"), ("c.ns", "2")]);
        assert_eq!(first, digest(&[("c.ns", "2"), ("a/b.ns", "1")]));
        let others: &[&[(&str, &str)]] = &[
            &[("a/b.ns", "1")],
            &[("a/b.ns", "2"), ("c.ns", "1")],
            &[("a/b", "1"), ("c.ns", "2")],
        ];
        for other in others {
            assert_ne!(first, digest(other));
        }
    }

    #[test]
    fn digests_have_small_digits() {
        let digest = of_bytes(b"");
        assert_eq!(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert!(is_sha256(&digest) && !is_sha256(&digest.to_uppercase()) && !is_sha256("e3"));
    }
}
