//! `cargo xtask corpus PATH`: runs programs that were not written for Squall, and prints a table of those that pass.
//! `main` calls [`run`].
//!
//! PATH is a checkout of SOMns, whose programs are run unchanged. `--dev` adds the programs that differ in a checkout
//! of its branch `dev`, and `--awfy` adds the benchmarks of a checkout of are-we-fast-yet. With `--transactions`, only
//! the programs about transactions run, on many threads. The module [`programs`] lists the programs, and [`mod@rows`]
//! states their expected results.

mod basic;
mod checks;
pub mod programs;
pub mod row;
pub mod rows;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use clap::Args;

use crate::builds::{self, absolute};
use row::{Row, Verdict};
use rows::Scope;

/// The options of `cargo xtask corpus`.
#[derive(Args)]
pub struct Arguments {
    /// A checkout of SOMns
    somns: Option<PathBuf>,

    /// A checkout of SOMns's branch dev
    #[arg(long, value_name = "PATH")]
    dev: Option<PathBuf>,

    /// A checkout of are-we-fast-yet
    #[arg(long, value_name = "PATH")]
    awfy: Option<PathBuf>,

    /// Run are-we-fast-yet, Savina and ForkJoin at their standard sizes instead of small ones
    #[arg(long)]
    standard_sizes: bool,

    /// The numbers of workers that concurrent programs are run with, one after the other
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 2, 4])]
    workers: Vec<u32>,

    /// Run only what is about transactions, on 1 to 16 threads
    #[arg(long)]
    transactions: bool,

    /// Run only what contains this text, as `group/name`
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Seconds that a program may take
    #[arg(long, default_value_t = 120)]
    patience: u64,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,

    /// An option for every run, such as --stress
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
}

/// Runs the corpus. Answers whether all programs passed.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let mut rows = rows(arguments);
    if let Some(text) = &arguments.filter {
        rows.retain(|row| row.full_name().contains(text));
    }
    let patience = Duration::from_secs(arguments.patience);
    let verdicts = judge(&rows, &squall, &arguments.options, patience);
    let passes = report(&rows, &verdicts);
    let is_whole = arguments.filter.is_none() && !arguments.transactions;
    (!is_whole || checks::run(arguments.somns.iter().chain(&arguments.dev), &squall)) && passes
}

/// The rows of all checkouts on the command line.
fn rows(arguments: &Arguments) -> Vec<Row> {
    let standard_sizes = arguments.standard_sizes;
    let scope = Scope { workers: &arguments.workers, standard_sizes };
    let mut rows = Vec::new();
    if arguments.transactions {
        let checkouts = arguments.somns.iter().chain(&arguments.dev);
        return checkouts.flat_map(|path| rows::transactions(&absolute(path), &scope)).collect();
    }
    match &arguments.somns {
        Some(path) => rows.extend(rows::somns(&absolute(path), &scope)),
        None => println!("skipped: SOMns; name a checkout of https://github.com/smarr/SOMns"),
    }
    match &arguments.dev {
        Some(path) => rows.extend(rows::development(&absolute(path), &scope)),
        None => println!("skipped: SOMns's branch dev; name a checkout with --dev"),
    }
    match &arguments.awfy {
        Some(path) => rows.extend(rows::awfy(&absolute(path), &scope)),
        None => println!("skipped: are-we-fast-yet; name a checkout with --awfy"),
    }
    rows
}

/// Runs all rows.
fn judge(rows: &[Row], squall: &Path, options: &[String], patience: Duration) -> Vec<Verdict> {
    in_parallel(rows.len(), |index| {
        let command = rows[index].command(squall, options);
        rows[index].judge(command, patience)
    })
}

/// Does `count` pieces of work, as many at a time as there are cores. Answers their results.
pub fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let queue: Mutex<VecDeque<usize>> = Mutex::new((0..count).collect());
    let results: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    let next = || queue.lock().expect("no worker panics").pop_front();
    let worker = || {
        while let Some(index) = next() {
            let result = work(index);
            results.lock().expect("no worker panics")[index] = Some(result);
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..cores).for_each(|_| _ = scope.spawn(worker));
    });
    results.into_inner().expect("no worker panics").into_iter().flatten().collect()
}

/// The rows of one group, summed up.
struct Group {
    name: &'static str,
    passed: usize,
    all: usize,
    /// The tests in the rows that passed, for groups of test modules.
    tests: usize,
    time: Duration,
}

impl Group {
    fn add(&mut self, row: &Row, verdict: &Verdict) {
        self.all += 1;
        self.time += verdict.time;
        if verdict.problem.is_none() {
            self.passed += 1;
            self.tests += row.expectation.tests();
        }
    }

    fn print(&self) {
        let passed = format!("{}/{}", self.passed, self.all);
        let tests = if self.tests == 0 { String::new() } else { self.tests.to_string() };
        let seconds = self.time.as_secs_f64();
        println!("{:<34} {passed:>9} {tests:>6} {seconds:>9.1}", self.name);
    }
}

/// Prints the failures and a line for each group. Answers whether all rows passed.
fn report(rows: &[Row], verdicts: &[Verdict]) -> bool {
    let mut groups: Vec<Group> = Vec::new();
    for (row, verdict) in rows.iter().zip(verdicts) {
        if let Some(problem) = &verdict.problem {
            println!("FAILED: {}: {problem}\n  repeat with {}", row.full_name(), verdict.line);
        }
        if groups.last().is_none_or(|group| group.name != row.group) {
            let (name, time) = (row.group, Duration::ZERO);
            groups.push(Group { name, passed: 0, all: 0, tests: 0, time });
        }
        groups.last_mut().expect("one was just pushed").add(row, verdict);
    }
    println!("\n{:<34} {:>9} {:>6} {:>9}", "group", "passed", "tests", "seconds");
    groups.iter().for_each(Group::print);
    groups.iter().all(|group| group.passed == group.all)
}

/// The shell command that repeats a run.
fn line_of(command: &Command) -> String {
    let folder = command
        .get_current_dir()
        .map_or(String::new(), |path| format!("cd {} && ", path.display()));
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    format!("({folder}{})", words.join(" "))
}
