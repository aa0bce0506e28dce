//! `cargo xtask histories`: runs random histories of transactions under many schedules, and on real threads. `main`
//! calls [`run`].
//!
//! Some programs run transactions on cells, collections and accounts, and check that the results equal those of some
//! serial order of the transactions. The others are litmus programs, which count results that must not occur. Each
//! program runs with the seeds 1 to N, which decide about the schedule, and M times without a seed, on several native
//! threads. The command that repeats a failure is printed; without a seed, it may take several attempts.

use std::path::Path;
use std::time::Duration;

use clap::Args;

use crate::corpus::row::{Expectation, Row};
use crate::seeds::{Schedules, Table};
use crate::{builds, root};

/// A program, the argument that makes it short, and the last line of its output.
type Program = (&'static str, &'static str, &'static str);

const PROGRAMS: [Program; 3] = [
    ("tests/language/transactions/histories.ns", "12", "serialisable"),
    ("tests/language/transactions/collection_histories.ns", "10", "serialisable"),
    ("tests/language/litmus/transactions.ns", "10", "nothing that is forbidden was seen"),
];

/// The options of `cargo xtask histories`.
#[derive(Args)]
pub struct Arguments {
    /// The number of seeds
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    seeds: u64,

    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    from: u64,

    /// The number of runs without a seed
    #[arg(long, value_name = "M", default_value_t = 1000)]
    runs: u64,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<std::path::PathBuf>,
}

/// Runs all programs. Answers whether all runs passed.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let seeds = arguments.from..arguments.from + arguments.seeds;
    let patience = Duration::from_secs(60);
    let schedules = Schedules { seeds, runs: arguments.runs, patience };
    Table::new("program").judge(PROGRAMS.map(row).iter(), &squall, &schedules)
}

fn row((path, argument, line): Program) -> Row {
    let name = Path::new(path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = Path::new(path).parent().and_then(Path::file_name).unwrap_or_default();
    Row {
        group: "transactions",
        name: format!("{}: {name}", folder.to_string_lossy()),
        folder: root(),
        arguments: vec![path.to_owned(), argument.to_owned()],
        expectation: Expectation::AllLines(line.to_owned()),
    }
}
