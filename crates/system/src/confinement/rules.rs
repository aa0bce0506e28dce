//! The rules of Landlock for a confined process: the files and folders that it can open, and the ports of TCP.
//! [`super::Confinement::begin`] calls this module.
//!
//! All that is not named in a rule is refused. A rule belongs to a file or folder, not to its name: it follows a folder
//! that is moved. Beside the files that the caller names, there are those that the machine, the C library and programs
//! need to work at all; they are left out if they do not exist.
//!
//! Landlock does not refuse to look at a file's size, owner and times, nor to follow a link. It knows no hosts, and UDP
//! only in its latest versions.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, PathFdError, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    Scope,
};

use super::{Confinement, Network, Problem};

/// The version that files need: it is the first that can move files between folders. It came with Linux 5.19.
const LEAST: ABI = ABI::V2;

/// The version up to which rights of files, and scopes, are refused if the kernel knows them. Later rights need a look at
/// what the machine does.
const LATEST: ABI = ABI::V6;

/// The first version that knows ports. It came with Linux 6.7.
const PORTS: ABI = ABI::V4;

/// The port at which names are looked up, for answers that are too long for a datagram.
const NAMES: u16 = 53;

/// Files that everything may read: they say what the machine has.
const ALWAYS: &[&str] = &["/sys/fs/cgroup", "/proc/self/cgroup", "/sys/devices/system/cpu"];

/// Files that libraries of C need, and their folders.
const LIBRARIES: &[&str] = &[
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
];

/// Files that the lookup of names reads, and the certificates of authorities.
const LOOKUP: &[&str] = &[
    "/etc/resolv.conf",
    "/run/systemd/resolve",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/ca-trust/extracted",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
];

/// Folders of programs, and files that many programs read. The folders in `PATH` are added.
const PROGRAMS: &[&str] =
    &["/bin", "/sbin", "/usr", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"];

/// Confines the calling thread and those that it starts.
pub fn begin(confinement: &Confinement) -> Result<(), Problem> {
    // A path that is missing is told on every system.
    let readable = opened(&confinement.readable)?;
    let writable = opened(&confinement.writable)?;
    let rules = with_network(ruleset()?, &confinement.network)?;
    let mut rules = rules.create().map_err(refused)?;
    let mut reading = AccessFs::ReadFile | AccessFs::ReadDir;
    if confinement.processes {
        reading |= AccessFs::Execute;
    }
    let writing = AccessFs::from_write(LATEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    rules = add(rules, readable, reading)?;
    rules = add(rules, writable, writing)?;
    rules = add(rules, existing(needed(confinement)), reading)?;
    rules = add(rules, existing(["/dev/null".into()]), AccessFs::ReadFile | AccessFs::WriteFile)?;
    if let Network::Ports(ports) = &confinement.network {
        for port in ports.iter().copied().chain([NAMES]) {
            rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp)).map_err(refused)?;
        }
        for port in ports {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::BindTcp)).map_err(refused)?;
        }
    }
    let status = rules.restrict_self().map_err(refused)?;
    match status.ruleset {
        landlock::RulesetStatus::NotEnforced => Err(NO_FILES),
        _ => Ok(()),
    }
}

const NO_FILES: Problem =
    Problem::System("files: it needs Linux 5.19 or later, with Landlock enabled");

/// Rules that refuse all use of files and, where the kernel knows that, to reach processes outside.
fn ruleset() -> Result<Ruleset, Problem> {
    let needed = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let needed = needed.handle_access(AccessFs::from_all(LEAST)).map_err(|_| NO_FILES)?;
    let wanted = needed.set_compatibility(CompatLevel::BestEffort);
    let wanted = wanted.handle_access(AccessFs::from_all(LATEST)).map_err(refused)?;
    wanted.scope(Scope::from_all(LATEST)).map_err(refused)
}

/// The rules, with those about ports. Without a network there are no sockets at all; this is for those that are open.
fn with_network(rules: Ruleset, network: &Network) -> Result<Ruleset, Problem> {
    let ports = AccessNet::from_all(PORTS);
    match network {
        Network::All => Ok(rules),
        Network::None => rules.handle_access(ports).map_err(refused),
        Network::Ports(_) => {
            let rules = rules.set_compatibility(CompatLevel::HardRequirement);
            let rules = rules.handle_access(ports).map_err(|_| {
                Problem::System(
                    "connections to ports: it needs Linux 6.7 or later; allow the whole network by --allow-net",
                )
            })?;
            Ok(rules.set_compatibility(CompatLevel::BestEffort))
        }
    }
}

/// The files beside those that the caller names.
fn needed(confinement: &Confinement) -> Vec<PathBuf> {
    let Confinement { network, processes, libraries, .. } = confinement;
    let lists = [
        (true, ALWAYS),
        // The lookup of names loads libraries.
        (*libraries || *processes || *network != Network::None, LIBRARIES),
        (*network != Network::None, LOOKUP),
        (*processes, PROGRAMS),
    ];
    let variables = [
        (*libraries || *processes, "LD_LIBRARY_PATH"),
        (*processes, "PATH"),
        (*network != Network::None, "SSL_CERT_FILE"),
        (*network != Network::None, "SSL_CERT_DIR"),
    ];
    let lists = lists.into_iter().filter(|(is_needed, _)| *is_needed);
    let listed = lists.flat_map(|(_, paths)| paths.iter().map(PathBuf::from));
    let variables = variables.into_iter().filter(|(is_needed, _)| *is_needed);
    let values = variables.filter_map(|(_, name)| env::var_os(name));
    let folders = values.flat_map(|value: OsString| env::split_paths(&value).collect::<Vec<_>>());
    // Another path would depend on the current folder.
    listed.chain(folders.filter(|path| path.is_absolute())).collect()
}

fn opened(paths: &[PathBuf]) -> Result<Vec<PathFd>, Problem> {
    let open = |path: &PathBuf| {
        PathFd::new(path).map_err(|error| match error {
            PathFdError::OpenCall { source, .. } => Problem::Missing(path.clone(), source),
            error => Problem::Kernel(error.to_string()),
        })
    };
    paths.iter().map(open).collect()
}

fn existing(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathFd> {
    paths.into_iter().filter_map(|path| PathFd::new(path).ok()).collect()
}

/// Adds a rule for each of these files or folders.
fn add(
    mut rules: RulesetCreated,
    files: Vec<PathFd>,
    access: impl Into<BitFlags<AccessFs>>,
) -> Result<RulesetCreated, Problem> {
    let access = access.into();
    for file in files {
        // The rights of folders are dropped for a file.
        rules = rules.add_rule(PathBeneath::new(file, access)).map_err(refused)?;
    }
    Ok(rules)
}

fn refused(error: RulesetError) -> Problem {
    Problem::Kernel(error.to_string())
}
