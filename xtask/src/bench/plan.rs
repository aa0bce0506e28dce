//! Makes programs of a group: one for each workload, system and set of processors. [`super::run`] calls [`programs`];
//! in the commands, it replaces the words in braces:
//!
//! | in braces | |
//! |---|---|
//! | a tool | its file; if it is not installed, the system is left out |
//! | `awfy` | the checkout of are-we-fast-yet; without it, the system is left out |
//! | `workload`, `size`, `iterations` | of the workload and the system |
//! | `cores` | how many processors the program may use |
//! | `build` | a temporary folder of the group |
//! | `root` | the project's folder |

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::in_file;
use super::manifest::{Group, Report, System, Workload};
use super::peers::{Peers, on_path};
use super::results::Omission;
use crate::root;

/// Settings from the command line, for all groups.
pub struct Settings {
    /// A folder for build results.
    pub scratch: PathBuf,
    /// The checkout of are-we-fast-yet.
    pub awfy: Option<PathBuf>,
    /// Whether to use small sizes.
    pub quick: bool,
    /// The number of runs of each program, if the command line says one.
    pub repetitions: Option<usize>,
    /// The systems to run; if empty, all.
    pub only: Vec<String>,
}

/// A program: one workload on one system.
#[derive(Clone, Debug)]
pub struct Program {
    /// The group's name.
    pub group: String,
    /// The workload's name.
    pub workload: String,
    /// The system's name.
    pub system: String,
    /// Commands to run once before the measurements.
    pub builds: Vec<Vec<String>>,
    /// The command to measure.
    pub line: Vec<String>,
    /// The folder in which the command runs.
    pub folder: PathBuf,
    /// Variables to set in its environment.
    pub environment: BTreeMap<String, String>,
    /// The number of processors that the program may use.
    pub cores: usize,
    /// Whether the program also runs on other numbers of processors.
    pub is_one_of_several: bool,
    /// The format of its results.
    pub report: Report,
    /// The workload's size.
    pub size: u64,
    /// The number of iterations.
    pub iterations: usize,
    /// The number of iterations that do not count.
    pub warm_up: usize,
    /// The number of runs.
    pub repetitions: usize,
    /// The longest time that a run may take.
    pub limit: Duration,
    /// The names of the tools that it needs.
    pub peers: BTreeSet<String>,
}

impl Program {
    /// The program's name in messages.
    pub fn name(&self) -> String {
        let name = format!("{}: {} by {}", self.group, self.workload, self.system);
        match self.is_one_of_several {
            true => format!("{name} on {}", cores_in_words(self.cores)),
            false => name,
        }
    }

    /// The command to measure.
    pub fn command(&self) -> Command {
        self.in_place(&self.line)
    }

    /// The same command under GNU time, which appends a line to the standard error; nothing if GNU time is not
    /// installed.
    pub fn command_with_usage(&self, format: &str) -> Option<Command> {
        let time = on_path("time")?.to_string_lossy().into_owned();
        let options = ["--format".to_owned(), format.to_owned()];
        let line: Vec<_> = [time].into_iter().chain(options).chain(self.line.clone()).collect();
        Some(self.in_place(&line))
    }

    /// One of the build commands.
    pub fn build_command(&self, line: &[String]) -> Command {
        self.in_place(line)
    }

    fn in_place(&self, line: &[String]) -> Command {
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).current_dir(&self.folder).envs(&self.environment);
        command
    }
}

/// A number of cores in words.
pub fn cores_in_words(count: usize) -> String {
    if count == 1 { "1 core".to_owned() } else { format!("{count} cores") }
}

/// The programs of a group, in the order of its workloads, and the systems that are left out.
pub fn programs(
    group: &Group,
    peers: &Peers,
    settings: &Settings,
) -> Result<(Vec<Program>, Vec<Omission>), String> {
    let folder = settings.scratch.join(&group.name);
    std::fs::create_dir_all(&folder).map_err(|error| in_file(&folder, error))?;
    let (mut programs, mut omissions) = (Vec::new(), Vec::new());
    let is_wanted =
        |system: &&System| settings.only.is_empty() || settings.only.contains(&system.name);
    for workload in &group.workloads {
        let systems = group.systems.iter().filter(is_wanted);
        let systems = systems.filter(|system| system.does(&workload.name));
        let sets = systems
            .flat_map(|system| system.cores.sets().into_iter().map(move |set| (system, set)));
        for (system, set) in sets {
            let words = Words { group, workload, system, set, peers, settings };
            match words.program() {
                Ok(program) => programs.push(program),
                Err(Gap::LeftOut(reason)) => {
                    omissions.push(Omission::left_out(&group.name, &system.name, reason));
                }
                Err(Gap::Unknown(name)) => {
                    let file = group.folder.join("group.toml");
                    return Err(in_file(&file, format!("nobody knows what `{{{name}}}` is")));
                }
            }
        }
    }
    omissions.dedup();
    Ok((programs, omissions))
}

/// The reason why a command cannot be made.
#[derive(PartialEq, Eq, Debug)]
enum Gap {
    /// A tool is not installed, or the system is not selected.
    LeftOut(String),
    /// The manifest is wrong.
    Unknown(String),
}

/// The texts for the words in braces.
struct Words<'p> {
    group: &'p Group,
    workload: &'p Workload,
    system: &'p System,
    set: Option<&'p str>,
    peers: &'p Peers,
    settings: &'p Settings,
}

impl Words<'_> {
    fn program(&self) -> Result<Program, Gap> {
        let Words { group, workload, system, settings, .. } = *self;
        if settings.quick && system.report == Report::Text {
            return Err(Gap::LeftOut("it has no small size for --quick".to_owned()));
        }
        let cores = self.cores();
        if cores > processors() {
            return Err(Gap::LeftOut(format!("there are no {}", cores_in_words(cores))));
        }
        let (iterations, warm_up) = system.iterations_of(&workload.name, settings.quick);
        let folder = match &system.folder {
            Some(text) => PathBuf::from(self.fill(text)?),
            None => group.folder.clone(),
        };
        let builds = system.build.iter().map(|line| self.fill_all(line));
        let environment = system.environment.iter();
        let environment = environment.map(|(name, value)| Ok((name.clone(), self.fill(value)?)));
        let repetitions = match settings.quick {
            true => group.quick_repetitions,
            false => system.repetitions.unwrap_or(group.repetitions),
        };
        Ok(Program {
            group: group.name.clone(),
            workload: workload.name.clone(),
            system: system.name.clone(),
            builds: builds.collect::<Result<_, _>>()?,
            line: self.pinned(self.fill_all(&system.command)?),
            folder,
            environment: environment.collect::<Result<_, _>>()?,
            cores,
            is_one_of_several: system.cores.sets().len() > 1,
            report: system.report,
            size: self.size(),
            iterations,
            warm_up,
            repetitions: settings.repetitions.unwrap_or(repetitions),
            limit: Duration::from_secs(system.limit),
            peers: self.tools(),
        })
    }

    /// The command, restricted to its processors if `taskset` is installed.
    fn pinned(&self, line: Vec<String>) -> Vec<String> {
        let (Some(set), Some(taskset)) = (self.set, on_path("taskset")) else { return line };
        let taskset = taskset.to_string_lossy().into_owned();
        [taskset, "-c".to_owned(), set.to_owned()].into_iter().chain(line).collect()
    }

    /// The number of processors that the program may use.
    fn cores(&self) -> usize {
        let count_of = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let [first, last] = [first, last].map(|text| text.trim().parse().unwrap_or(0_usize));
            (last + 1).saturating_sub(first)
        };
        self.set.map_or_else(processors, |set| set.split(',').map(count_of).sum())
    }

    fn size(&self) -> u64 {
        let quick = self.workload.quick_size.filter(|_| self.settings.quick);
        quick.unwrap_or(self.workload.size)
    }

    /// The tools that the system's commands mention.
    fn tools(&self) -> BTreeSet<String> {
        let words = self.system.build.iter().flatten().chain(&self.system.command);
        let names = words.filter_map(|word| word.strip_prefix('{')?.strip_suffix('}'));
        names.filter(|name| self.peers.is_known(name)).map(str::to_owned).collect()
    }

    fn fill_all(&self, words: &[String]) -> Result<Vec<String>, Gap> {
        words.iter().map(|word| self.fill(word)).collect()
    }

    /// Replaces every `{name}` in a text.
    fn fill(&self, text: &str) -> Result<String, Gap> {
        let mut parts = text.split('{');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}').ok_or_else(|| Gap::Unknown(part.to_owned()))?;
            filled.push_str(&self.meaning(name)?);
            filled.push_str(rest);
        }
        Ok(filled)
    }

    fn meaning(&self, name: &str) -> Result<String, Gap> {
        let Words { group, workload, system, settings, .. } = self;
        let text = |path: PathBuf| Ok(path.to_string_lossy().into_owned());
        match name {
            "workload" => Ok(workload.name.clone()),
            "size" => Ok(self.size().to_string()),
            "cores" => Ok(self.cores().to_string()),
            "iterations" => Ok(system.iterations_of(&workload.name, settings.quick).0.to_string()),
            "build" => text(settings.scratch.join(&group.name)),
            "root" => text(root()),
            "awfy" => match &settings.awfy {
                Some(path) => text(path.clone()),
                None => Err(Gap::LeftOut("name a checkout with --awfy".to_owned())),
            },
            tool if self.peers.is_known(tool) => match self.peers.file(tool) {
                Some(file) => text(file.to_owned()),
                None => Err(Gap::LeftOut(format!("{tool} is not installed"))),
            },
            _ => Err(Gap::Unknown(name.to_owned())),
        }
    }
}

/// The number of processors of this machine.
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::bench::manifest;

    const MANIFEST: &str = "
        title = 'A group'
        repetitions = 3
        [[workload]]
        name = 'Queens'
        size = 1000
        quick-size = 5
        [[system]]
        name = 'ours'
        build = [['{squall}', 'check', '{build}/x']]
        command = ['{squall}', '{workload}', '{iterations}x{size}']
        folder = '{root}/y'
        report = 'lines'
        iterations = 7
        [[system]]
        name = 'theirs'
        command = ['{squall}', COMMAND]
        report = 'text'
    ";

    fn plan(word: &str, quick: bool) -> Result<(Vec<Program>, Vec<Omission>), String> {
        let text = MANIFEST.replace("COMMAND", word);
        let group = manifest::parse(&text).expect("well-formed");
        let settings = Settings {
            scratch: std::env::temp_dir(),
            awfy: None,
            quick,
            repetitions: None,
            only: Vec::new(),
        };
        programs(&group, &Peers::find(Path::new("/bin/squall")), &settings)
    }

    #[test]
    fn braces_are_filled_in() {
        let (programs, omissions) = plan("'x'", false).expect("a plan");
        assert_eq!(omissions, []);
        let ours = &programs[0];
        assert_eq!(ours.line, ["/bin/squall", "Queens", "7x1000"]);
        assert!(ours.builds[0][2].ends_with("/x"), "{ours:?}");
        assert_eq!(ours.folder, root().join("y"));
        assert_eq!(ours.repetitions, 3);
        assert_eq!(ours.peers, BTreeSet::from(["squall".to_owned()]));
    }

    #[test]
    fn quick_is_smaller() {
        let (programs, omissions) = plan("'x'", true).expect("a plan");
        assert_eq!(programs[0].line[2], "3x5");
        assert_eq!(programs[0].repetitions, 1);
        assert_eq!(omissions.len(), 1);
    }

    #[test]
    fn what_is_missing_is_left_out_and_what_is_unknown_is_an_error() {
        let (programs, omissions) = plan("'{awfy}/x'", false).expect("a plan");
        assert_eq!(programs.len(), 1);
        assert!(omissions[0].reason.contains("--awfy"), "{omissions:?}");
        assert!(plan("'{colour}'", false).expect_err("no colour").contains("{colour}"));
        assert!(plan("'{'", false).is_err());
    }
}
