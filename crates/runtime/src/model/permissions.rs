//! Permissions: the rights that the command line or an embedder gives to a program, and the authority behind
//! `platform`. Primitives check them.
//!
//! Everything is denied unless the embedder allows it; a denied access is a guest exception that
//! names the command-line flag to allow it with.

use std::path::{Component, Path, PathBuf};

use squall_system::places::Place;

/// One kind of access.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Grant {
    /// Nothing.
    #[default]
    Denied,
    /// Only the files at or below one of these paths.
    Below(Vec<PathBuf>),
    /// Everything.
    Allowed,
}

/// Which hosts the program may talk to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum NetworkGrant {
    /// None.
    #[default]
    Denied,
    /// These.
    Only(Vec<HostGrant>),
    /// All.
    Allowed,
}

/// A host, a port, or both, that the program may connect to, listen at, and exchange datagrams with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostGrant {
    /// The name or address as the program has to write it, in small letters; any, if there is none.
    host: Option<String>,
    /// The port; any, if there is none.
    port: Option<u16>,
}

impl HostGrant {
    /// The grant of a text such as `example.org`, `127.0.0.1:8080`, `[::1]:80` or `*:443`.
    pub fn parse(text: &str) -> Option<HostGrant> {
        let (host, port) = match text.rsplit_once(':') {
            // An address with several colons stands in brackets if a port follows.
            Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = port.map(str::parse).transpose().ok()?;
        let host = host_name(host);
        match host.as_str() {
            "" => None,
            "*" => Some(HostGrant { host: None, port }),
            _ => Some(HostGrant { host: Some(host), port }),
        }
    }

    /// Whether it grants everything.
    pub fn is_unlimited(&self) -> bool {
        self.host.is_none() && self.port.is_none()
    }

    /// The port that it grants; any, if there is none.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    fn covers(&self, host: &str, port: u16) -> bool {
        self.host.as_deref().is_none_or(|granted| granted == host)
            && self.port.is_none_or(|granted| granted == port)
    }
}

/// The text of a host in the form in which it is compared.
fn host_name(host: &str) -> String {
    let inner = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.unwrap_or(host).to_ascii_lowercase()
}

/// The rights of a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Permissions {
    /// Reading files and folders.
    pub reading: Grant,
    /// Making, writing, moving and deleting them.
    pub writing: Grant,
    /// Connecting, listening, and looking for addresses.
    pub network: NetworkGrant,
    /// Calling foreign functions.
    pub foreign_functions: bool,
    /// Starting processes.
    pub processes: bool,
}

impl Permissions {
    /// Everything is allowed.
    pub fn all() -> Permissions {
        Permissions {
            reading: Grant::Allowed,
            writing: Grant::Allowed,
            network: NetworkGrant::Allowed,
            foreign_functions: true,
            processes: true,
        }
    }

    /// Whether the program may connect to this host at this port, or accept connections there. Names are compared in
    /// their written form; their addresses do not matter.
    pub fn allows_host(&self, host: &str, port: u16) -> bool {
        match &self.network {
            NetworkGrant::Denied => false,
            NetworkGrant::Allowed => true,
            NetworkGrant::Only(grants) => {
                let host = host_name(host);
                grants.iter().any(|grant| grant.covers(&host, port))
            }
        }
    }

    /// The place at a path, if the program may use it so. Operations on the place lead nowhere else, whatever happens to
    /// links meanwhile.
    pub fn place(&self, path: &Path, access: Access) -> Option<Place> {
        match access {
            Access::Reading => place_in(&self.reading, path, resolve),
            Access::Writing => place_in(&self.writing, path, resolve),
            Access::Entry => place_in(&self.writing, path, resolve_entry),
            Access::Both => {
                let reading = place_in(&self.reading, path, resolve)?;
                let writing = place_in(&self.writing, path, resolve)?;
                Some(if let Place::Anywhere(_) = writing { reading } else { writing })
            }
        }
    }

    /// The flag that would allow an access.
    pub fn flag(&self, access: Access) -> &'static str {
        match access {
            _ if self.reading == self.writing => "--allow-files",
            Access::Reading => "--allow-read",
            Access::Writing | Access::Entry => "--allow-write",
            Access::Both => "--allow-files",
        }
    }

    /// Whether the program in a file may load the module in another one. Files in the program's folder, or below, are
    /// part of it; for other files the program needs the permission to read.
    pub fn allows_module(&self, program: Option<&Path>, path: &Path) -> bool {
        let folder = program.map(|program| match program.parent() {
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        });
        let own = Permissions {
            reading: folder.map_or(Grant::Denied, |folder| Grant::Below(vec![folder])),
            ..Permissions::default()
        };
        let allows = |it: &Permissions| it.place(path, Access::Reading).is_some();
        allows(&own) || allows(self)
    }
}

/// The use of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Reading the file or folder.
    Reading,
    /// Making or writing it.
    Writing,
    /// Both.
    Both,
    /// Deleting or replacing the entry itself, which may be a link.
    Entry,
}

fn place_in(
    grant: &Grant,
    path: &Path,
    resolve_path: fn(&Path) -> Option<PathBuf>,
) -> Option<Place> {
    let roots = match grant {
        Grant::Denied => return None,
        Grant::Allowed => return Some(Place::Anywhere(path.to_owned())),
        Grant::Below(roots) => roots,
    };
    let path = resolve_path(path)?;
    roots.iter().filter_map(|root| resolve(root)).find_map(|root| {
        let rest = path.strip_prefix(&root).ok()?.to_owned();
        Some(Place::Beneath { root, rest })
    })
}

/// The path of an entry of a folder: of the folder, links are resolved; the entry may be one.
fn resolve_entry(path: &Path) -> Option<PathBuf> {
    let absolute = std::path::absolute(path).ok()?;
    match (absolute.parent(), absolute.file_name()) {
        (Some(folder), Some(name)) => Some(resolve(folder)?.join(name)),
        _ => resolve(path),
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
            // A `..` after a missing component could lead anywhere.
            _ => return None,
        }
        existing = existing.parent()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_granted_with_and_without_a_port() {
        let only = |text: &str| Permissions {
            network: NetworkGrant::Only(vec![HostGrant::parse(text).expect(text)]),
            ..Permissions::default()
        };
        let cases = [
            ("example.org", "Example.ORG", 80, true),
            ("example.org", "www.example.org", 80, false),
            ("example.org:80", "example.org", 80, true),
            ("example.org:80", "example.org", 81, false),
            ("::1", "[::1]", 5, true),
            ("[::1]:80", "::1", 80, true),
            ("[::1]:80", "::1", 81, false),
            ("*:443", "anything", 443, true),
            ("*:443", "anything", 80, false),
            ("127.0.0.1", "localhost", 80, false),
        ];
        for (grant, host, port, expected) in cases {
            assert_eq!(only(grant).allows_host(host, port), expected, "{grant} {host}:{port}");
        }
        assert!(!Permissions::default().allows_host("localhost", 80));
        assert!(Permissions::all().allows_host("localhost", 80));
    }

    #[test]
    fn modules_beside_a_program_are_part_of_it() {
        let none = Permissions::default();
        let allows = |program: &str, path: &str| {
            none.allows_module(Some(Path::new(program)), Path::new(path))
        };
        assert!(allows("a/main.ns", "a/part.sqasm"));
        assert!(allows("a/main.ns", "a/b/part.sqasm"));
        assert!(allows("main.ns", "part.sqasm"));
        assert!(!allows("a/main.ns", "part.sqasm"));
        assert!(!allows("a/main.ns", "a/../part.sqasm"));
        assert!(!allows("main.ns", "/etc/passwd"));
        assert!(!none.allows_module(None, Path::new("part.sqasm")));
        assert!(Permissions::all().allows_module(None, Path::new("part.sqasm")));
    }

    #[test]
    fn what_grants_no_host_is_refused() {
        for wrong in ["", ":80", "a:b", "a:65536", "a:"] {
            assert_eq!(HostGrant::parse(wrong), None, "{wrong}");
        }
    }
}
