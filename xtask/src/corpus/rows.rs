//! The rows of the corpus: for each program its command and its expected output. [`super::run`] and the other commands
//! that use SOMns take their rows from here.
//!
//! A harness runs SOMns's benchmarks. It repeats them, verifies their results, and prints a line for each iteration
//! with a right result; at a wrong result it ends with exit code 1. However, an exception in an actor ends the
//! iterations without a message, and the harness ends with exit code 0. So a row counts the lines.

use std::path::Path;

use super::basic;
use super::programs::{self, Scaled, Sized};
use super::row::{Expectation, Row};

/// The part of the corpus to run.
pub struct Scope<'a> {
    /// The numbers of workers for programs of actors, processes, threads and tasks. Each program runs once with each
    /// number.
    pub workers: &'a [u32],
    /// Whether the programs run at their standard sizes.
    pub standard_sizes: bool,
}

impl Scope<'_> {
    fn size(&self, (name, small, standard): &Scaled) -> Sized {
        (name, if self.standard_sizes { standard } else { small })
    }

    /// Each row, once for each number of workers.
    fn with_workers(&self, rows: impl IntoIterator<Item = Row>) -> Vec<Row> {
        let with = |row: Row| {
            self.workers.iter().map(move |workers| {
                let mut row = row.clone();
                row.name = format!("{}, workers: {workers}", row.name);
                row.arguments.insert(0, format!("--workers={workers}"));
                row
            })
        };
        rows.into_iter().flat_map(with).collect()
    }
}

/// The two known versions of SOMns. They differ in the numbers of tests, and in some benchmarks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Released,
    Development,
}

impl Version {
    fn of(checkout: &Path) -> Version {
        match checkout.join("core-lib/Benchmarks/LeeTM.ns").exists() {
            true => Version::Released,
            false => Version::Development,
        }
    }
}

/// The programs of SOMns, in the given version.
pub fn somns(checkout: &Path, scope: &Scope) -> Vec<Row> {
    let version = Version::of(checkout);
    let mut rows = main_programs(checkout);
    rows.extend(basic(checkout));
    rows.extend(suites(checkout, version));
    rows.extend(sequential(checkout, scope));
    rows.extend(scope.with_workers(concurrent(checkout, scope)));
    rows.extend(scope.with_workers(match version {
        Version::Released => released(checkout),
        Version::Development => developed(checkout),
    }));
    rows
}

/// The programs that differ in the development version of SOMns, and those that only this version has.
pub fn development(checkout: &Path, scope: &Scope) -> Vec<Row> {
    let tests = suites(checkout, Version::Development);
    tests.chain(scope.with_workers(developed(checkout))).collect()
}

/// A harness of SOMns, as it is used for a group of programs.
#[derive(Clone, Copy)]
struct Harness<'a> {
    checkout: &'a Path,
    group: &'static str,
    /// Its file, without folder and suffix.
    file: &'static str,
    iterations: usize,
    /// The ending of its line for an iteration.
    ending: &'static str,
}

impl<'a> Harness<'a> {
    fn new(checkout: &'a Path, group: &'static str, file: &'static str) -> Self {
        Harness { checkout, group, file, iterations: 2, ending: "us" }
    }

    /// The row of the program that the harness knows by this name.
    fn row(&self, program: &str, work: &str) -> Row {
        let file = format!("core-lib/Benchmarks/{}.ns", self.file);
        let iterations = self.iterations.to_string();
        let mut arguments = vec!["-A", &file, program, &iterations, "0"];
        arguments.extend(work.split(' '));
        let name = program.rsplit('/').next().unwrap_or(program);
        let expectation = Expectation::Lines {
            beginning: format!("{program}: iterations=1 runtime: "),
            ending: self.ending,
            count: self.iterations,
        };
        row(self.checkout, self.group, name, &arguments, expectation)
    }

    /// The rows of several programs, which are in the harness's file or in files of their own.
    fn rows(&self, prefix: &str, programs: &[Sized]) -> Vec<Row> {
        programs.iter().map(|(name, work)| self.row(&format!("{prefix}{name}"), work)).collect()
    }
}

/// Benchmarks with a single strand.
fn sequential(checkout: &Path, scope: &Scope) -> Vec<Row> {
    let harness = |group| Harness::new(checkout, group, "Harness");
    let mut rows = harness("SOMns: Benchmarks").rows("", programs::BENCHMARKS);
    let features = harness("SOMns: LanguageFeatures");
    let feature = |name: &&str| features.row(&format!("LanguageFeatures.{name}"), "2");
    rows.extend(programs::LANGUAGE_FEATURES.iter().map(feature));
    rows.extend(fork_join(harness("SOMns: ForkJoin, sequential"), "Seq", scope));
    rows
}

/// Benchmarks of actors, threads and tasks.
fn concurrent(checkout: &Path, scope: &Scope) -> Vec<Row> {
    let harness = |group, file| Harness::new(checkout, group, file);
    let savina: Vec<Sized> = programs::SAVINA.iter().map(|program| scope.size(program)).collect();
    let mut rows = harness("SOMns: Savina", "AsyncHarness").rows("Savina.", &savina);
    let features = harness("SOMns: AsyncFeatures", "AsyncHarness");
    rows.extend(features.rows("AsyncFeatures.", programs::ASYNC_FEATURES));
    let impact = harness("SOMns: Validation", "ImpactHarness");
    let sound = Harness { iterations: 10, ending: "us success: true", ..impact };
    let faulty = Harness { iterations: 50, ending: "", ..impact };
    rows.extend(sound.rows("Validation.", programs::VALIDATION_WITHOUT_FAULT));
    rows.extend(faulty.rows("Validation.", programs::VALIDATION));
    let tasks = harness("SOMns: ForkJoin, tasks", "Harness");
    rows.extend(programs::FORK_JOIN_FORMS.iter().flat_map(|form| fork_join(tasks, form, scope)));
    rows.extend(harness("SOMns: threads", "Harness").rows("", programs::THREADS));
    rows
}

/// Benchmarks that have this form in the released version only.
fn released(checkout: &Path) -> Vec<Row> {
    let harness = |group| Harness::new(checkout, group, "Harness");
    let mut rows = harness("SOMns: threads").rows("", programs::RELEASED_THREADS);
    rows.extend(harness("SOMns: SavinaCSP").rows("SavinaCSP.", programs::RELEASED_PROCESSES));
    rows
}

/// Benchmarks that have this form in the development version only.
fn developed(checkout: &Path) -> Vec<Row> {
    let harness = |file| Harness::new(checkout, "SOMns dev: Benchmarks", file);
    let mut rows = harness("Harness").rows("", programs::DEVELOPMENT);
    rows.extend(harness("AsyncHarness").rows("", programs::DEVELOPMENT_MIXED));
    rows.extend(with_transactions(checkout, programs::THREADS_OF_TRANSACTIONS));
    rows
}

/// The programs about transactions, in either version, on many numbers of threads.
pub fn transactions(checkout: &Path, scope: &Scope) -> Vec<Row> {
    let version = Version::of(checkout);
    let tests = suites(checkout, version).filter(|row| row.name == "TransactionTests");
    let programs = match version {
        Version::Released => Vec::new(),
        Version::Development => with_transactions(checkout, programs::MANY_THREADS_OF_TRANSACTIONS),
    };
    scope.with_workers(tests.chain(programs))
}

/// The benchmarks of transactions on these numbers of threads.
fn with_transactions(checkout: &Path, threads: &[u32]) -> Vec<Row> {
    let harness = Harness::new(checkout, "SOMns dev: transactions", "Harness");
    let row = |(name, size): &Sized, threads: u32| {
        let mut row = harness.row(name, &format!("{size} {threads}"));
        row.name = format!("{}, threads: {threads}", row.name);
        row
    };
    let on = |&threads: &u32| programs::TRANSACTIONS.iter().map(move |it| (it, threads));
    threads.iter().flat_map(on).map(|(program, threads)| row(program, threads)).collect()
}

/// The programs of forked computations, in one of their forms.
fn fork_join(harness: Harness, form: &str, scope: &Scope) -> Vec<Row> {
    let row = |program: &Scaled| {
        let (name, size) = scope.size(program);
        harness.row(&format!("core-lib/Benchmarks/ForkJoin/{name}{form}.ns"), size)
    };
    programs::FORK_JOIN.iter().map(row).collect()
}

fn row(
    checkout: &Path,
    group: &'static str,
    name: &str,
    arguments: &[&str],
    expectation: Expectation,
) -> Row {
    Row {
        group,
        name: name.to_owned(),
        folder: checkout.to_owned(),
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        expectation,
    }
}

/// Programs with a `main:` of their own.
fn main_programs(checkout: &Path) -> Vec<Row> {
    let line = |text: &str| Expectation::Line(text.to_owned());
    let program = |path: &str, arguments: &[&str], expectation| {
        let words: Vec<&str> = [path].iter().chain(arguments).copied().collect();
        row(checkout, "SOMns: programs", path, &words, expectation)
    };
    vec![
        program("core-lib/Hello.ns", &[], line("Hello World!")),
        program("core-lib/Benchmarks/TinyBenchmarks.ns", &["1"], line("1 times")),
        // The number that it prints varies, because it does not wait for the thread that it starts.
        program("core-lib/demos/STMDemo.ns", &[], line("STM example")),
    ]
}

fn basic(checkout: &Path) -> impl Iterator<Item = Row> {
    basic::ROWS.iter().map(move |(file, selector, answer)| {
        let path = format!("core-lib/TestSuite/BasicInterpreterTests/{file}.ns");
        let expectation = Expectation::Line((*answer).to_owned());
        let arguments = ["--send", selector, &path];
        let name = format!("{file}.{selector}");
        row(checkout, "SOMns: BasicInterpreterTests", &name, &arguments, expectation)
    })
}

fn suites(checkout: &Path, version: Version) -> impl Iterator<Item = Row> {
    let group = match version {
        Version::Released => "SOMns: TestSuite",
        Version::Development => "SOMns dev: TestSuite",
    };
    programs::SUITES.iter().map(move |(name, counts)| {
        let path = format!("core-lib/TestSuite/{name}.ns");
        let arguments = ["-A", "core-lib/TestSuite/TestRunner.ns", &path];
        let expectation = Expectation::Tests(counts[version as usize]);
        row(checkout, group, name, &arguments, expectation)
    })
}

/// The programs of are-we-fast-yet.
pub fn awfy(checkout: &Path, scope: &Scope) -> Vec<Row> {
    let row = |program: &Scaled| {
        let (name, size) = scope.size(program);
        Row {
            group: "are-we-fast-yet",
            name: name.to_owned(),
            folder: checkout.join("benchmarks/SOMns"),
            arguments: ["Harness.ns", name, "1", size].map(str::to_owned).into(),
            expectation: Expectation::Beginning("Total Runtime: ".to_owned()),
        }
    };
    programs::AWFY.iter().map(row).collect()
}
