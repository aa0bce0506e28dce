//! `cargo xtask seeds PATH`: runs SOMns's tests of actors, threads and processes under many schedules, and prints how
//! many runs passed. `main` calls [`run`].
//!
//! PATH is a checkout of SOMns. Each test module runs with the seeds 1 to N, which decide about the schedule, and M
//! times without a seed, on several native threads. The command that repeats a failure is printed; without a seed, it
//! may take several attempts.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::builds;
use crate::corpus::row::{Row, Verdict};
use crate::corpus::rows::Scope;
use crate::corpus::{self, rows};

/// The test modules about concurrency.
const SUITES: [&str; 4] = ["ActorTests", "TransferObjectTests", "ThreadingTests", "ProcessTests"];

/// How many failures of a module are shown, with a seed and without.
const SHOWN: usize = 5;

/// The options of `cargo xtask seeds`.
#[derive(Args)]
pub struct Arguments {
    /// A checkout of SOMns
    somns: PathBuf,

    /// How many seeds there are
    #[arg(long, value_name = "N", default_value_t = 200)]
    seeds: u64,

    /// How many runs without a seed
    #[arg(long, value_name = "M", default_value_t = 50)]
    runs: u64,

    /// Seconds that a run may take
    #[arg(long, default_value_t = 60)]
    patience: u64,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
}

/// Runs all test modules. Answers whether all runs passed.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let scope = Scope { workers: &[], standard_sizes: false };
    let mut rows = rows::somns(&builds::absolute(&arguments.somns), &scope);
    rows.retain(|row| SUITES.contains(&row.name.as_str()));
    let patience = Duration::from_secs(arguments.patience);
    let schedules = Schedules { seeds: 1..arguments.seeds + 1, runs: arguments.runs, patience };
    Table::new("module").judge(rows.iter(), &squall, &schedules)
}

/// The schedules that programs run under.
pub struct Schedules {
    /// The seeds.
    pub seeds: Range<u64>,
    /// How many runs without a seed.
    pub runs: u64,
    /// The most time for a run.
    pub patience: Duration,
}

/// The printed table.
pub struct Table;

impl Table {
    /// Prints the head of a table. `what` is the title of the first column.
    pub fn new(what: &str) -> Table {
        println!("{what:<36} {:>13} {:>13} {:>9}", "seeds", "runs", "seconds");
        Table
    }

    /// Runs all programs. Answers whether all runs passed.
    pub fn judge<'r>(
        self,
        rows: impl Iterator<Item = &'r Row>,
        squall: &Path,
        schedules: &Schedules,
    ) -> bool {
        rows.filter(|row| !judge(row, squall, schedules)).count() == 0
    }
}

/// Runs a program under all schedules, and prints its row. Answers whether all runs passed.
fn judge(row: &Row, squall: &Path, schedules: &Schedules) -> bool {
    let verdicts = |options: Vec<Vec<String>>| {
        corpus::in_parallel(options.len(), |index| {
            row.judge(row.command(squall, &options[index]), schedules.patience)
        })
    };
    let with_seed = |seed: u64| vec![format!("--seed={seed}")];
    let seeded = verdicts(schedules.seeds.clone().map(with_seed).collect());
    let free = verdicts((0..schedules.runs).map(|_| Vec::new()).collect());
    let time: Duration = seeded.iter().chain(&free).map(|verdict| verdict.time).sum();
    let (name, seconds) = (&row.name, time.as_secs_f64());
    println!("{name:<36} {:>13} {:>13} {seconds:>9.1}", passed_of(&seeded), passed_of(&free));
    show_failures(&seeded);
    show_failures(&free);
    seeded.iter().chain(&free).all(|verdict| verdict.problem.is_none())
}

fn passed_of(verdicts: &[Verdict]) -> String {
    let passed = verdicts.iter().filter(|verdict| verdict.problem.is_none()).count();
    format!("{passed}/{}", verdicts.len())
}

fn show_failures(verdicts: &[Verdict]) {
    let failures = verdicts.iter().filter_map(|verdict| Some((verdict.problem.as_ref()?, verdict)));
    for (problem, verdict) in failures.take(SHOWN) {
        println!("  FAILED: {problem}\n  repeat with {}", verdict.line);
    }
}
