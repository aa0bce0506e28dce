//! The description of a benchmark group: the types that a `group.toml` is read into. [`super::plan`] makes programs of
//! it; `benchmarks/README.md` explains the keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::in_file;

/// A group: workloads, and the systems that run them.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Group {
    /// The name of the group's folder.
    #[serde(skip)]
    pub name: String,
    /// The group's folder.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The heading of its table.
    pub title: String,
    /// The system that the ratios of the others refer to.
    pub baseline: Option<String>,
    /// Pairs of systems for another table of ratios, of the first to the second. They serve systems that are compared
    /// with a variant of themselves.
    #[serde(default)]
    pub pairs: Vec<[String; 2]>,
    /// Whether there is a table of speedups by threads. It needs details that end with `th=N`.
    #[serde(default)]
    pub speedups: bool,
    /// The dimension of the table's rows.
    #[serde(default)]
    pub rows: Rows,
    /// Whether the table of ratios ends with their geometric mean.
    #[serde(default)]
    pub geomean: bool,
    /// The number of runs of each program.
    #[serde(default = "once")]
    pub repetitions: usize,
    /// The number of runs with `--quick`.
    #[serde(default = "once")]
    pub quick_repetitions: usize,
    /// The workloads; by default, one with the group's name.
    #[serde(default, rename = "workload")]
    pub workloads: Vec<Workload>,
    /// The systems that run the workloads.
    #[serde(rename = "system")]
    pub systems: Vec<System>,
}

/// The rows of a group's table. The columns are the other dimension.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// A row for each workload; one table of times and one of ratios.
    #[default]
    Workloads,
    /// A row for each system; a column of times and a column of ratios for each workload.
    Systems,
}

/// A workload.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// The text for `{workload}` in commands.
    pub name: String,
    /// The number for `{size}` in commands.
    #[serde(default)]
    pub size: u64,
    /// The size with `--quick`.
    pub quick_size: Option<u64>,
}

/// A system, and how it runs the workloads.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct System {
    /// The heading of its column.
    pub name: String,
    /// Commands to run once before the measurements.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// The command that is measured.
    pub command: Vec<String>,
    /// The folder in which the command runs; by default, the group's folder.
    pub folder: Option<String>,
    /// The format of its results.
    pub report: Report,
    /// Variables to set in its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The workloads that it runs; by default, all.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// The processors that it may use; by default, all.
    #[serde(default)]
    pub cores: Cores,
    /// The number for `{iterations}` in commands.
    #[serde(default = "once")]
    pub iterations: usize,
    /// Other numbers of iterations, by workload.
    #[serde(default)]
    pub fewer: BTreeMap<String, usize>,
    /// The number of iterations at the beginning of each run that do not count.
    #[serde(default)]
    pub warm_up: usize,
    /// The number of runs of each program, if it is not the group's.
    pub repetitions: Option<usize>,
    /// The most seconds that a run may take.
    #[serde(default = "five_minutes")]
    pub limit: u64,
}

/// Sets of processors in the notation of `taskset -c`: none, one, or several that are compared.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(untagged)]
pub enum Cores {
    /// The operating system chooses the processors.
    #[default]
    All,
    /// The program runs on these processors.
    Some(String),
    /// The program runs on each of these sets in turn.
    Each(Vec<String>),
}

/// The format of a program's results.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// Lines that consist of `RESULT`, workload, system, detail, value and unit, separated by tabs.
    Lines,
    /// The same lines; the process's peak memory is measured, too.
    LinesAndPeak,
    /// The lines of are-we-fast-yet's harness, one for each iteration.
    Harness,
    /// No results: the time of the process is measured.
    Process,
    /// A line when the program has nothing left to do: its use of the processor is measured from then on.
    Idle,
    /// A text, which is shown unchanged.
    Text,
}

/// The most iterations for `--quick`.
const QUICK_ITERATIONS: usize = 3;

fn once() -> usize {
    1
}

fn five_minutes() -> u64 {
    300
}

impl Cores {
    /// The sets of processors; `None` stands for all processors.
    pub fn sets(&self) -> Vec<Option<&str>> {
        match self {
            Cores::All => vec![None],
            Cores::Some(set) => vec![Some(set)],
            Cores::Each(sets) => sets.iter().map(|set| Some(set.as_str())).collect(),
        }
    }
}

impl System {
    /// Whether the system runs a workload.
    pub fn does(&self, workload: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|name| name == workload)
    }

    /// The number of iterations of a workload, and how many of them do not count.
    pub fn iterations_of(&self, workload: &str, quick: bool) -> (usize, usize) {
        let standard = self.fewer.get(workload).copied().unwrap_or(self.iterations);
        let iterations = if quick { standard.min(QUICK_ITERATIONS) } else { standard };
        (iterations, self.warm_up * iterations / self.iterations.max(1))
    }
}

/// All groups, sorted by name.
pub fn load_all(folder: &Path) -> Result<Vec<Group>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| in_file(folder, error))?;
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut groups = folders
        .filter(|folder| folder.join(FILE).exists())
        .map(|folder| load(&folder))
        .collect::<Result<Vec<_>, _>>()?;
    groups.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(groups)
}

const FILE: &str = "group.toml";

fn load(folder: &Path) -> Result<Group, String> {
    let file = folder.join(FILE);
    let text = std::fs::read_to_string(&file).map_err(|error| in_file(&file, error))?;
    let mut group = parse(&text).map_err(|error| in_file(&file, error))?;
    group.name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    group.folder = folder.to_owned();
    if group.workloads.is_empty() {
        group.workloads = vec![Workload { name: group.name.clone(), size: 0, quick_size: None }];
    }
    Ok(group)
}

/// Parses a `group.toml`. The group has no name and folder yet.
pub fn parse(text: &str) -> Result<Group, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_the_project_are_well_formed() {
        let groups = load_all(&crate::root().join("benchmarks")).expect("they can be read");
        assert!(groups.len() >= 5, "{} groups", groups.len());
        for group in groups {
            let baseline = group.baseline.as_ref();
            let has_it = |name: &String| group.systems.iter().any(|system| system.name == *name);
            assert!(baseline.is_none_or(has_it), "{}: no system {baseline:?}", group.name);
            for system in &group.systems {
                assert!(!system.command.is_empty(), "{}: {}", group.name, system.name);
                let is_known = |name: &String| group.workloads.iter().any(|one| one.name == *name);
                assert!(system.workloads.iter().all(is_known), "{}: {}", group.name, system.name);
                for workload in &group.workloads {
                    let (all, dropped) = system.iterations_of(&workload.name, false);
                    assert!(dropped < all, "{}: {}: nothing counts", group.name, system.name);
                }
            }
        }
    }

    #[test]
    fn cores_are_none_or_one_set_or_several() {
        let sets = |line: &str| {
            let text = format!("name = 'a'\ncommand = []\nreport = 'lines'\n{line}");
            let system: System = toml::from_str(&text).expect("well-formed");
            system.cores.sets().into_iter().map(|set| set.map(str::to_owned)).collect::<Vec<_>>()
        };
        assert_eq!(sets(""), [None]);
        assert_eq!(sets("cores = '0-3'"), [Some("0-3".to_owned())]);
        assert_eq!(sets("cores = ['0', '0,1']"), [Some("0".to_owned()), Some("0,1".to_owned())]);
    }

    #[test]
    fn unknown_keys_are_refused() {
        let problem = parse("title = ''\nsystem = []\ncolour = 'red'").expect_err("a colour");
        assert!(problem.contains("colour"), "{problem}");
    }

    #[test]
    fn fewer_iterations_warm_up_less() {
        let text = "name = 'a'\ncommand = []\nreport = 'lines'\niterations = 12\nwarm-up = 4\n\
                    fewer = { slow = 3 }";
        let system: System = toml::from_str(text).expect("well-formed");
        assert_eq!(system.iterations_of("slow", false), (3, 1));
        assert_eq!(system.iterations_of("fast", false), (12, 4));
        assert_eq!(system.iterations_of("fast", true), (3, 1));
    }
}
