//! What a group is, as its `group.toml` says; `benchmarks/README.md` explains the keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::in_file;

/// Workloads and the systems that run them.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Group {
    /// The name of its folder.
    #[serde(skip)]
    pub name: String,
    /// Its folder.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The heading of its table.
    pub title: String,
    /// The system that the others are divided by.
    pub baseline: Option<String>,
    /// Columns of another table of ratios: of the first to the second, for systems that are not compared with
    /// each other but with themselves.
    #[serde(default)]
    pub pairs: Vec<[String; 2]>,
    /// Whether there is another table of how much faster more threads are, by details that end with `th=N`.
    #[serde(default)]
    pub speedups: bool,
    /// What the rows of its table are.
    #[serde(default)]
    pub rows: Rows,
    /// Whether the ratios end with their geometric mean.
    #[serde(default)]
    pub geomean: bool,
    /// How often each program is run.
    #[serde(default = "once")]
    pub repetitions: usize,
    /// The same for `--quick`.
    #[serde(default = "once")]
    pub quick_repetitions: usize,
    /// What is to be done; without any, one of the group's name.
    #[serde(default, rename = "workload")]
    pub workloads: Vec<Workload>,
    /// Who does it.
    #[serde(rename = "system")]
    pub systems: Vec<System>,
}

/// What the rows of a table are; the columns are the other.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Rows {
    /// Workloads, with one table of times and one of ratios.
    #[default]
    Workloads,
    /// Systems, with a column of times and one of ratios for each workload.
    Systems,
}

/// Something to be done.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// `{workload}` in commands.
    pub name: String,
    /// `{size}` in commands.
    #[serde(default)]
    pub size: u64,
    /// The same for `--quick`.
    pub quick_size: Option<u64>,
}

/// How a system does the workloads.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct System {
    /// The heading of its column.
    pub name: String,
    /// Commands to run once before.
    #[serde(default)]
    pub build: Vec<Vec<String>>,
    /// The command that is measured.
    pub command: Vec<String>,
    /// Where it runs; by default, the group's folder.
    pub folder: Option<String>,
    /// How it tells the results.
    pub report: Report,
    /// What is set in its environment.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The workloads that it does; by default, all.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// The processors that it may use; by default, all.
    #[serde(default)]
    pub cores: Cores,
    /// `{iterations}` in commands.
    #[serde(default = "once")]
    pub iterations: usize,
    /// Other numbers of iterations for some workloads.
    #[serde(default)]
    pub fewer: BTreeMap<String, usize>,
    /// How many iterations of each run do not count.
    #[serde(default)]
    pub warm_up: usize,
    /// How often it is run, if not as often as the others.
    pub repetitions: Option<usize>,
    /// The most seconds that one run may take.
    #[serde(default = "five_minutes")]
    pub limit: u64,
}

/// Sets of processors, as `taskset -c` takes them: none, one, or several to be compared.
#[derive(Deserialize, Clone, Default, Debug)]
#[serde(untagged)]
pub enum Cores {
    /// It runs wherever the operating system lets it.
    #[default]
    All,
    /// It runs on these processors.
    Some(String),
    /// It runs once on these, once on those, and so on.
    Each(Vec<String>),
}

/// How a program tells its results.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// Lines of `RESULT`, workload, system, detail, value and unit, with tabs between.
    Lines,
    /// The same, and the process's memory at its peak.
    LinesAndPeak,
    /// The lines of are-we-fast-yet's harnesses, one for each iteration.
    Harness,
    /// Nothing: the process itself is measured.
    Process,
    /// A line when it has nothing left to do: what it uses from then on is measured.
    Idle,
    /// A text of its own, which is shown as it is.
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
    /// The sets, of which `None` stands for all processors.
    pub fn sets(&self) -> Vec<Option<&str>> {
        match self {
            Cores::All => vec![None],
            Cores::Some(set) => vec![Some(set)],
            Cores::Each(sets) => sets.iter().map(|set| Some(set.as_str())).collect(),
        }
    }
}

impl System {
    /// Whether it does a workload.
    pub fn does(&self, workload: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|name| name == workload)
    }

    /// How many iterations it does of a workload, and how many of them do not count.
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

/// The group that a text describes, without name and folder.
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
