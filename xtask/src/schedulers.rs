//! `cargo xtask schedulers`: the tests that run guest programs, under each scheduler.
//!
//! What a program means does not depend on who gets which strand, so all of them have to pass as they do by
//! default.

use clap::Args;

use crate::cargo;

/// The schedulers beside the default one, which all other tests run under.
const SCHEDULERS: [&str; 6] =
    ["interleaving", "threads", "hierarchical", "peered", "dictated", "balanced"];

/// Which tests run guest programs, by what their names contain.
const TESTS: [&str; 5] = ["language/", "examples/", "bytecode/run", "foreign/", "native_threads/"];

/// The options of `cargo xtask schedulers`.
#[derive(Args)]
pub struct Arguments {
    /// Which schedulers; by default, all but the default one
    schedulers: Vec<String>,

    /// Only tests whose names contain this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

/// Runs them all; answers whether all passed.
pub fn run(arguments: &Arguments) -> bool {
    let schedulers: Vec<&str> = match arguments.schedulers.is_empty() {
        true => SCHEDULERS.to_vec(),
        false => arguments.schedulers.iter().map(String::as_str).collect(),
    };
    let filters = arguments.filter.as_deref().map_or(TESTS.to_vec(), |filter| vec![filter]);
    let runs =
        schedulers.iter().flat_map(|name| filters.iter().map(move |filter| (*name, *filter)));
    let failed = runs.filter(|(name, filter)| !passes(name, filter)).collect::<Vec<_>>();
    for (name, filter) in &failed {
        println!("FAILED: {filter} under {name}; repeat with");
        println!("  cargo xtask schedulers {name} --filter {filter}");
    }
    failed.is_empty()
}

/// Whether the tests whose names contain `filter` pass under a scheduler.
fn passes(name: &str, filter: &str) -> bool {
    println!("\n{name}: {filter}");
    let mut command = cargo();
    command.args(["test", "--quiet", "--package", "squall-cli", "--test", "all", "--", filter]);
    // Damaged programs are about the compiler.
    command.args(["--skip", "hostile/"]);
    command.env("SQUALL_SCHEDULER", name);
    command.status().is_ok_and(|status| status.success())
}
