//! Sources: where a package comes from. `manifest` reads them, `project` locates them, `lock` and `cache` keep their
//! identities.
//!
//! A [`Source`] is what a manifest says; it may leave open which commit or content that is. An [`Origin`] leaves nothing
//! open, and its text is its identity: two dependencies with the same origin have the same package.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::problem::{Problem, Result};

/// Where a manifest says that a package is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// In a folder, relative to that of the manifest.
    Path(PathBuf),
    /// In a repository.
    Git {
        /// Its address.
        address: String,
        /// What of it.
        reference: Reference,
    },
    /// In an archive, `.tar.gz`.
    Archive {
        /// Its address, or its path relative to the manifest's folder.
        address: String,
        /// The digest of its bytes.
        sha256: Option<String>,
    },
}

/// Which commit of a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reference {
    /// This one.
    Commit(String),
    /// The newest one of a branch.
    Branch(String),
    /// The one with a tag.
    Tag(String),
    /// The one that the repository shows first.
    Head,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Commit(commit) => write!(f, "commit {commit}"),
            Reference::Branch(name) => write!(f, "branch {name}"),
            Reference::Tag(name) => write!(f, "tag {name}"),
            Reference::Head => f.write_str("head"),
        }
    }
}

/// Where a package is, exactly.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Origin {
    /// In a folder, relative to the application's, without superfluous `..`; `.` is the application's.
    Path(PathBuf),
    /// In a commit.
    Git {
        /// The repository.
        address: String,
        /// The commit.
        commit: String,
    },
    /// In an archive with this digest. A path is relative to the application's folder.
    Archive {
        /// The address or path.
        address: String,
        /// The digest.
        sha256: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Path(path) => write!(f, "path {}", path.display()),
            Origin::Git { address, commit } => write!(f, "git {address}#{commit}"),
            Origin::Archive { address, sha256 } => write!(f, "archive {address}#{sha256}"),
        }
    }
}

impl Origin {
    /// The origin that has this text.
    pub fn parse(text: &str) -> Option<Origin> {
        let (kind, rest) = text.split_once(' ')?;
        if kind == "path" {
            return (!rest.is_empty()).then(|| Origin::Path(PathBuf::from(rest)));
        }
        let (address, digest) = rest.rsplit_once('#')?;
        let address = address.to_owned();
        match kind {
            "git" if crate::digest::is_commit(digest) => {
                Some(Origin::Git { address, commit: digest.to_owned() })
            }
            "archive" if crate::digest::is_sha256(digest) => {
                Some(Origin::Archive { address, sha256: digest.to_owned() })
            }
            _ => None,
        }
    }

    /// A short form for people.
    pub fn short(&self) -> String {
        match self {
            Origin::Path(path) => path.display().to_string(),
            Origin::Git { address, commit } => {
                format!("{address}#{}", commit.get(..8).unwrap_or(commit))
            }
            Origin::Archive { address, .. } => address.clone(),
        }
    }
}

/// Whether an address of an archive or repository is one of the network, not a path.
pub fn is_remote(address: &str) -> bool {
    let scheme = address.split_once("://").map(|(scheme, _)| scheme);
    matches!(scheme, Some("http" | "https" | "ssh" | "git")) || is_of_ssh(address)
}

/// Whether an address has the form `user@host:path`.
fn is_of_ssh(address: &str) -> bool {
    let Some((host, path)) = address.split_once(':') else { return false };
    host.contains('@') && !host.contains('/') && !path.starts_with("//")
}

/// A path with `.` and superfluous `..` left out, without looking at the disk. The empty path is `.`.
pub fn normal(path: &Path) -> PathBuf {
    let mut parts: Vec<Component> = Vec::new();
    for component in path.components() {
        match (component, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => _ = parts.pop(),
            (Component::ParentDir, Some(Component::RootDir | Component::Prefix(_))) => {}
            _ => parts.push(component),
        }
    }
    match parts.is_empty() {
        true => PathBuf::from("."),
        false => parts.iter().collect(),
    }
}

/// A path within a package: relative, and not leading out of it.
pub fn path_within(text: &str) -> Option<PathBuf> {
    let path = Path::new(text);
    let is_plain = |component: Component| matches!(component, Component::Normal(_));
    let suits = !text.is_empty() && !text.contains(['\0', '\\']) && path.components().all(is_plain);
    suits.then(|| path.to_owned())
}

/// Refuses an address that the command `git` would take for something else.
pub fn check_address(address: &str) -> Result<()> {
    let is_plain = |character: char| !character.is_control() && character != '#';
    let is_command = address.starts_with('-') || address.contains("::");
    if address.is_empty() || is_command || !address.chars().all(is_plain) {
        return Err(Problem::invalid(format!(
            "`{}` is no address of a repository or an archive",
            address.escape_debug()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_as_they_are_written() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let sha256 = crate::digest::of_bytes(b"");
        let origins = [
            Origin::Path("../a b".into()),
            Origin::Git { address: "https://example.org/x.git".into(), commit: commit.into() },
            Origin::Archive { address: "../x.tar.gz".into(), sha256 },
        ];
        for origin in origins {
            assert_eq!(Origin::parse(&origin.to_string()), Some(origin));
        }
        for wrong in ["", "path", "path ", "git x", "git x#12", "archive x#zz", "hg x#12"] {
            assert_eq!(Origin::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn superfluous_parts_of_paths_are_left_out() {
        let cases = [("", "."), ("./a/../b", "b"), ("../a/../../b", "../../b"), ("/../a", "/a")];
        for (path, expected) in cases {
            assert_eq!(normal(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn paths_within_a_package_do_not_lead_out() {
        for right in ["main.ns", "parts/Wind.ns"] {
            assert!(path_within(right).is_some(), "{right}");
        }
        for wrong in ["", "/main.ns", "../main.ns", "a/../../b", "a\\b", "a\0b"] {
            assert!(path_within(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn addresses_are_no_options_of_git() {
        for wrong in ["", "--upload-pack=x", "ext::sh", "a\nb", "a#b"] {
            assert!(check_address(wrong).is_err(), "{wrong}");
        }
        for right in ["https://example.org/x", "git@example.org:x.git", "../x", "file:///x"] {
            assert!(check_address(right).is_ok(), "{right}");
        }
        assert!(
            is_remote("git@example.org:x.git") && !is_remote("../x") && !is_remote("file:///x")
        );
    }
}
