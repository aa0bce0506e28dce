//! `--confine`: the system's kernel refuses, too, all that the options do not allow. `main` calls [`begin`] while the
//! process has one thread only.
//!
//! The machine checks permissions before it does something for a program. This is a second line behind that: it holds for C,
//! for processes that the program starts, and if the machine has a mistake. It follows from the same options.
//!
//! | from | readable | writable |
//! |---|---|---|
//! | the files that the command line names, and their folders | yes | |
//! | the packages of the program, which are found before | yes | |
//! | `--module-path` | yes | |
//! | `--allow-read`, `--allow-files` | yes | |
//! | `--allow-write`, `--allow-files` | | yes |

use std::path::{Path, PathBuf};

use squall::options::Options;
use squall::{Grant, NetworkGrant};
use squall_system::confinement::{Confinement, Network, Problem};

use crate::arguments::{Bench, Command, MachineArguments, Test};
use crate::console::complain;
use crate::exit::Exit;
use crate::files::STANDARD_INPUT;
use crate::packages;

/// Confines the process if its command wants that; complains if the system cannot.
pub fn begin(command: &Command) -> Result<(), Exit> {
    let Some((machine, files)) = confined(command) else { return Ok(()) };
    let packages = package_folders(command)?;
    // This looks at files of the system, for the number of cores.
    _ = Options::default();
    let mut confinement = confinement(machine, files);
    confinement.readable.extend(packages);
    match command {
        Command::Test(test) => confinement.writable.extend(test.events.clone()),
        Command::Bench(bench) => confinement.readable.extend(bench.against.clone()),
        _ => {}
    }
    confinement.begin().map_err(|problem| {
        complain(&problem.to_string());
        match problem {
            Problem::Missing(..) => Exit::NoInput,
            Problem::System(_) | Problem::Kernel(_) => Exit::Failure,
        }
    })
}

/// The options and the files of a command that is to be confined.
fn confined(command: &Command) -> Option<(&MachineArguments, &[String])> {
    let (machine, files): (_, &[String]) = match command {
        Command::Run(run) => (&run.machine, run.program.get(..1).unwrap_or_default()),
        Command::Profile(profile) => {
            (&profile.machine, profile.program.get(..1).unwrap_or_default())
        }
        Command::Eval(eval) => (&eval.machine, &[]),
        Command::Repl(repl) => (&repl.machine, &[]),
        // The processes that run the tests are confined, each for itself.
        Command::Test(test) if test.only.is_some() => (&test.modules.machine, &test.modules.files),
        Command::Bench(bench) => (&bench.modules.machine, &bench.modules.files),
        _ => return None,
    };
    machine.confine.then_some((machine, files))
}

/// The folders of the packages of the program. What must be fetched is fetched now: the confined process may not do that.
fn package_folders(command: &Command) -> Result<Vec<PathBuf>, Exit> {
    let (words, arguments) = match command {
        Command::Run(run) => (&run.program, &run.packages),
        Command::Profile(profile) => (&profile.program, &profile.packages),
        Command::Test(Test { modules, .. }) | Command::Bench(Bench { modules, .. }) => {
            (&modules.files, &modules.packages)
        }
        _ => return Ok(Vec::new()),
    };
    packages::folders_of(words.first().map(String::as_str), arguments)
}

fn confinement(machine: &MachineArguments, files: &[String]) -> Confinement {
    let permissions = machine.permissions();
    let mut readable = own_files(files);
    readable.extend(machine.module_path.iter().cloned());
    readable.extend(paths(&permissions.reading));
    Confinement {
        readable,
        writable: paths(&permissions.writing),
        network: network(&permissions.network),
        processes: permissions.processes,
        libraries: permissions.foreign_functions,
    }
}

/// The files that are run, and the folders that they may load modules from. A program that is not in a file is in the
/// current folder.
fn own_files(files: &[String]) -> Vec<PathBuf> {
    let mut own = Vec::new();
    for file in files.iter().map(Path::new).filter(|file| *file != Path::new(STANDARD_INPUT)) {
        // A link may lead to a file elsewhere. The command itself complains about a file that is missing.
        let paths = [file.to_owned(), folder_of(file)];
        own.extend(paths.into_iter().filter(|path| path.exists()));
    }
    if own.is_empty() {
        own.push(PathBuf::from("."));
    }
    own
}

fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The roots of what is granted.
fn paths(grant: &Grant) -> Vec<PathBuf> {
    match grant {
        Grant::Denied => Vec::new(),
        Grant::Below(paths) => paths.clone(),
        Grant::Allowed => vec![PathBuf::from("/")],
    }
}

/// The kernel knows no names of hosts: what is granted for a host is granted for its port.
fn network(grant: &NetworkGrant) -> Network {
    match grant {
        NetworkGrant::Denied => Network::None,
        NetworkGrant::Allowed => Network::All,
        NetworkGrant::Only(hosts) => {
            let ports: Option<Vec<u16>> = hosts.iter().map(|host| host.port()).collect();
            ports.map_or(Network::All, Network::Ports)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::Arguments;

    fn of(line: &str) -> Option<Confinement> {
        let arguments = Arguments::try_parse_from(line.split(' ')).expect("a command line");
        confined(&arguments.command).map(|(machine, files)| confinement(machine, files))
    }

    #[test]
    fn it_follows_from_the_options() {
        assert_eq!(of("squall run -A a.ns"), None);
        assert_eq!(of("squall test --confine --schedules 2 a.ns"), None);
        assert_eq!(of("squall run a.ns --confine"), None);
        let plain = of("squall run --confine src/a.ns --allow-ffi").expect("confined");
        assert_eq!(plain.readable, [PathBuf::from("src")]);
        assert!(plain.writable.is_empty() && !plain.processes && !plain.libraries);
        let all = of("squall repl -A --confine").expect("confined");
        assert_eq!(all.writable, [PathBuf::from("/")]);
        assert!(all.network == Network::All && all.processes && all.libraries);
    }

    #[test]
    fn hosts_are_granted_by_their_ports() {
        let network = |hosts: &str| {
            of(&format!("squall eval --confine --allow-net={hosts} 1")).expect("confined").network
        };
        assert_eq!(network("a:1,*:2"), Network::Ports(vec![1, 2]));
        assert_eq!(network("a:1,b"), Network::All);
    }
}
