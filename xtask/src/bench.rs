//! `cargo xtask bench [GROUP…]`: measures Squall beside other systems, in one run on one machine. `main` calls [`run`].
//!
//! Each folder of `benchmarks/` with a `group.toml` is a group of measurements. The command turns it into a plan, a
//! list of programs to build and to run. The programs' output contains samples, and tables are made from the samples.
//! All programs of a group run in turns, so a disturbance of the machine affects all of them.
//!
//! ```text
//! manifest ──plan──▶ programs ──measure──▶ output ──report──▶ samples ──table──▶ Markdown
//!   peers ─────┘
//! ```
//!
//! A program whose system is not installed is *left out*, and listed with the reason. A program that ends with an
//! error, answers a wrong result or takes too long has *failed*; then the command fails, too.

mod idle;
mod machine;
mod manifest;
mod measure;
mod peers;
mod plan;
pub mod readme;
mod report;
mod results;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use crate::builds::{self, absolute};
use crate::root;
use machine::Machine;
use manifest::Group;
use peers::Peers;
use plan::{Program, Settings};
use results::{Omission, Results};

/// The options of `cargo xtask bench`.
#[derive(Args)]
pub struct Arguments {
    /// Which groups, by the names of their folders; by default, all
    groups: Vec<String>,

    /// A checkout of are-we-fast-yet, for the group of that name
    #[arg(long, value_name = "PATH")]
    awfy: Option<PathBuf>,

    /// The command to measure; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,

    /// Only these systems, by the names of their columns
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Write all samples to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Measure nothing: publish the results in a file that `--json` has written, in benchmarks/results.json and README.md
    #[arg(long, value_name = "FILE")]
    readme: Option<PathBuf>,

    /// Small sizes and one repetition: whether everything runs, not how fast
    #[arg(long)]
    quick: bool,

    /// How often each program is run, instead of what its group says
    #[arg(long, value_name = "COUNT")]
    repetitions: Option<usize>,

    /// Hold each workload back until the machine is idle, for 20 seconds at most
    #[arg(long)]
    wait: bool,
}

/// Measures. Answers whether nothing failed.
pub fn run(arguments: &Arguments) -> bool {
    let result = match &arguments.readme {
        Some(path) => readme::write(path).map(|()| true),
        None => measure_all(arguments),
    };
    result.unwrap_or_else(|problem| {
        eprintln!("error: {problem}");
        false
    })
}

fn measure_all(arguments: &Arguments) -> Result<bool, String> {
    let groups = chosen(manifest::load_all(&root().join("benchmarks"))?, &arguments.groups)?;
    let given = arguments.squall.as_deref().map(absolute);
    let squall = given.map_or_else(builds::release, Ok)?;
    let peers = Peers::find(&squall);
    let scratch = Scratch::new()?;
    let settings = Settings {
        scratch: scratch.0.clone(),
        awfy: arguments.awfy.as_deref().map(absolute),
        quick: arguments.quick,
        repetitions: arguments.repetitions,
        only: arguments.only.clone(),
    };
    let mut results = Results::new(Machine::describe(), arguments.quick);
    println!("{}", results.machine.line());
    for group in &groups {
        let (programs, omissions) = plan::programs(group, &peers, &settings)?;
        let versions = programs.iter().flat_map(|program| &program.peers);
        results.note_versions(versions.map(|name| (name.clone(), peers.version(name))));
        results.omissions.extend(omissions);
        let programs = built(programs, &mut results);
        take_turns(&programs, arguments.wait, &mut results);
        println!("{}\nLoad at the end: {}", table::of_group(group, &results), machine::load());
    }
    print!("{}", table::of_versions(&results));
    print!("{}", table::of_omissions(&results));
    if let Some(path) = &arguments.json {
        std::fs::write(path, results.json()).map_err(|error| in_file(path, error))?;
    }
    Ok(!results.omissions.iter().any(|omission| omission.is_failure))
}

/// The groups with these names, in the order of the names; without names, all.
fn chosen(groups: Vec<Group>, names: &[String]) -> Result<Vec<Group>, String> {
    if names.is_empty() {
        return Ok(groups);
    }
    let list = groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>().join(", ");
    let mut groups: BTreeMap<_, _> =
        groups.into_iter().map(|group| (group.name.clone(), group)).collect();
    let choose = |name: &String| {
        groups.remove(name).ok_or_else(|| format!("there is no group `{name}`; there are {list}"))
    };
    names.iter().map(choose).collect()
}

/// Runs each build command once. Answers the programs that can run.
fn built(programs: Vec<Program>, results: &mut Results) -> Vec<Program> {
    let mut outcomes: BTreeMap<Vec<String>, Result<(), String>> = BTreeMap::new();
    let mut build = |program: &Program| {
        for line in &program.builds {
            let outcome = outcomes.entry(line.clone()).or_insert_with(|| {
                measure::run(&mut program.build_command(line), BUILD_LIMIT).map(drop)
            });
            outcome.clone().map_err(|problem| format!("the build failed: {problem}"))?;
        }
        Ok(())
    };
    let mut can_run = Vec::new();
    for program in programs {
        match build(&program) {
            Ok(()) => can_run.push(program),
            Err(reason) => results.omissions.push(Omission::failure(&program, reason)),
        }
    }
    can_run
}

const BUILD_LIMIT: Duration = Duration::from_secs(600);

/// Runs all programs once, then again, and so on. A program that failed is not repeated.
fn take_turns(programs: &[Program], wait: bool, results: &mut Results) {
    let mut failed = vec![false; programs.len()];
    let turns = programs.iter().map(|program| program.repetitions).max().unwrap_or(0);
    let mut now = None;
    for turn in 0..turns {
        for (program, failed) in programs.iter().zip(&mut failed) {
            if *failed || turn >= program.repetitions {
                continue;
            }
            if wait && now != Some((turn, &program.workload)) {
                machine::wait_until_idle();
            }
            now = Some((turn, &program.workload));
            eprintln!("{}, {} of {}", program.name(), turn + 1, program.repetitions);
            match report::tell(program) {
                Ok(told) => results.add(&program.group, told),
                Err(reason) => {
                    *failed = true;
                    results.forget(program);
                    results.omissions.push(Omission::failure(program, reason));
                }
            }
        }
    }
}

fn in_file(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// A temporary folder for build results. It is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, String> {
        let folder = std::env::temp_dir().join(format!("squall-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|error| in_file(&folder, error))?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
