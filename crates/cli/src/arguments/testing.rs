//! The arguments of `squall test` and `squall bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{MachineArguments, PackageArguments, seconds};

/// What the commands have in common that run methods of test modules.
#[derive(Args, Debug)]
pub struct TestModules {
    #[command(flatten)]
    pub machine: MachineArguments,

    #[command(flatten)]
    pub packages: PackageArguments,

    /// Show results as JSON, one object per line
    #[arg(long)]
    pub json: bool,

    /// Test modules, and folders with test modules; by default, the current folder
    #[arg(value_name = "FILE", default_value = ".")]
    pub files: Vec<String>,
}

/// Run the tests in files.
///
/// A test module has the factory `usingPlatform:testFramework:`. Test contexts are classes in it
/// with a class-side method TEST_CONTEXT; tests are their methods whose names begin with `test`.
#[derive(Args, Debug)]
pub struct Test {
    #[command(flatten)]
    pub modules: TestModules,

    /// Show results by the Test Anything Protocol
    #[arg(long, conflicts_with = "json")]
    pub tap: bool,

    /// Write results into a file in the form of JUnit, too
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// How many modules are tested at a time, each in a process of its own; by default, as many as there are cores
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub jobs: Option<u64>,

    /// Write what the tests cover into a folder: lcov.info and pages of HTML; by default, into `coverage`
    #[arg(
        long, value_name = "FOLDER", num_args = 0..=1, require_equals = true,
        default_missing_value = "coverage", conflicts_with = "schedules"
    )]
    pub coverage: Option<PathBuf>,

    /// Run the tests again when files change
    #[arg(long, conflicts_with = "schedules")]
    pub watch: bool,

    /// The one file of this process: see the module `processes`
    #[arg(long, hide = true, value_name = "FILE", requires = "events")]
    pub only: Option<String>,

    /// The file for its events
    #[arg(long, hide = true, value_name = "FILE")]
    pub events: Option<PathBuf>,

    /// Run only tests whose name contains this text; names are `Context.testSomething`
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// Run the tests under N seeds, from the seed of --seed or from 1 on; stop at the first seed under which they fail,
    /// and say how to repeat it
    #[arg(long, value_name = "N", conflicts_with = "junit", value_parser = clap::value_parser!(u64).range(1..))]
    pub schedules: Option<u64>,

    /// The most time that a test may take, in seconds; by default 60 with --schedules, and else unlimited
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
}

/// Measure the benchmarks in test modules.
///
/// Benchmarks are the methods of test contexts whose names begin with `bench`. The figures are the time of one run: the
/// median of many samples, an interval that has it with a probability of 95 %, and the least sample.
#[derive(Args, Debug)]
pub struct Bench {
    #[command(flatten)]
    pub modules: TestModules,

    /// Run only benchmarks whose name contains this text; names are `Context.benchSomething`
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// How long samples of each benchmark are taken, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "3")]
    pub time: Duration,

    /// How long each benchmark runs before, at least, while machine code is made, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "1")]
    pub warm_up: Duration,

    /// Write the samples into a file
    #[arg(long, value_name = "FILE", conflicts_with = "confine")]
    pub save: Option<PathBuf>,

    /// Compare with the samples in a file, which --save has written
    #[arg(long, value_name = "FILE")]
    pub against: Option<PathBuf>,
}
