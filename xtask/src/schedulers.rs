//! `cargo xtask schedulers`: runs the tests of guest programs under each scheduler. `main` calls [`run`], and so does
//! `cargo xtask checks`.
//!
//! The result of a program does not depend on the scheduler, so all programs must pass under each. The command runs the
//! integration tests and the tests of `crates/squall`. It leaves out the tests about damaged modules, which concern the
//! compiler and the verifier, and the selection of programs that the integration tests themselves run under all
//! schedulers. Runs with a seed have no scheduler.

use std::time::Instant;

use clap::Args;

use crate::cargo;

/// All schedulers.
const SCHEDULERS: [&str; 7] =
    ["stealing", "interleaving", "threads", "hierarchical", "peered", "dictated", "balanced"];

/// The integration tests that are left out, by the beginnings of their names.
const OTHERS: [&str; 2] = ["hostile/", "schedulers/"];

/// The options of `cargo xtask schedulers`.
#[derive(Args)]
pub struct Arguments {
    /// Which schedulers; by default, all of them
    schedulers: Vec<String>,

    /// Only integration tests whose names contain this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

impl Arguments {
    /// The arguments that run all tests under all schedulers.
    pub const fn all() -> Arguments {
        Arguments { schedulers: Vec::new(), filter: None }
    }
}

/// Runs all tests. Answers whether all passed.
pub fn run(arguments: &Arguments) -> bool {
    let schedulers: Vec<&str> = match arguments.schedulers.is_empty() {
        true => SCHEDULERS.to_vec(),
        false => arguments.schedulers.iter().map(String::as_str).collect(),
    };
    let failed: Vec<&str> =
        schedulers.into_iter().filter(|name| !passes(name, arguments.filter.as_deref())).collect();
    for name in &failed {
        println!("FAILED under {name}; repeat with\n  cargo xtask schedulers {name}");
    }
    failed.is_empty()
}

/// Whether the tests pass under a scheduler.
fn passes(scheduler: &str, filter: Option<&str>) -> bool {
    println!("\n{scheduler}");
    let begin = Instant::now();
    let mut arguments = vec!["--package", "squall-cli", "--test", "all", "--"];
    arguments.extend(filter);
    arguments.extend(OTHERS.iter().flat_map(|other| ["--skip", other]));
    let programs = succeeds(&arguments, scheduler);
    let embedding =
        filter.is_some() || succeeds(&["--package", "squall", "--test", "embedding"], scheduler);
    println!("{scheduler}: {} s", begin.elapsed().as_secs());
    programs && embedding
}

fn succeeds(arguments: &[&str], scheduler: &str) -> bool {
    let mut command = cargo();
    command.args(["test", "--quiet"]).args(arguments).env("SQUALL_SCHEDULER", scheduler);
    command.status().is_ok_and(|status| status.success())
}
