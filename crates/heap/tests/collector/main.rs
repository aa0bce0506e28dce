//! Tests that run real collections.
//!
//! A process has one heap, so each case runs in a process of its own. Without arguments, or with parts of names, this
//! program runs itself once per case and mode; as `--case <name> <mode>` it runs the case. When a run fails, the
//! program prints the command that repeats it.

mod barrier;
mod cradle;
mod exhaustion;
mod graph;
mod objects;
mod options;
mod root_handles;
mod stops;
mod threads;
mod weak;
mod world;

use std::env;
use std::process::{self, Command, ExitCode, Output};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// A named test.
pub struct Case {
    name: &'static str,
    run: fn(),
    modes: &'static [&'static str],
}

/// A case that runs without stress.
pub const fn case(name: &'static str, run: fn()) -> Case {
    Case { name, run, modes: &["plain"] }
}

/// A case that also runs with a collection at many allocations.
pub const fn stressed(name: &'static str, run: fn()) -> Case {
    Case { name, run, modes: &["plain", "stress-nursery", "stress-full", "stress-some"] }
}

const SUITES: &[&[Case]] = &[
    objects::CASES,
    root_handles::CASES,
    barrier::CASES,
    cradle::CASES,
    graph::CASES,
    weak::CASES,
    threads::CASES,
    stops::CASES,
    exhaustion::CASES,
    options::CASES,
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [flag, name, mode] = &arguments[..]
        && flag == "--case"
    {
        run_here(name, mode);
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let selected = selected_runs(&filters);
    let failures = run_all(&selected);
    println!("\n{} runs, {} failed", selected.len(), failures.len());
    failures.iter().for_each(|failure| println!("  {failure}"));
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_here(name: &str, mode: &str) {
    let case = cases().find(|case| case.name == name).expect("the name of a case");
    world::set_mode(mode);
    thread::spawn(end_if_stuck);
    (case.run)();
}

/// Makes a case that waits for ever a failure.
fn end_if_stuck() {
    thread::sleep(Duration::from_secs(300));
    eprintln!("still not done after five minutes");
    process::abort();
}

fn cases() -> impl Iterator<Item = &'static Case> {
    SUITES.iter().flat_map(|suite| suite.iter())
}

type Run = (&'static str, &'static str);

fn selected_runs(filters: &[&str]) -> Vec<Run> {
    let is_selected = |run: &Run| {
        let full_name = format!("{} {}", run.0, run.1);
        filters.is_empty() || filters.iter().any(|filter| full_name.contains(filter))
    };
    let runs = cases().flat_map(|case| case.modes.iter().map(|mode| (case.name, *mode)));
    runs.filter(is_selected).collect()
}

/// Runs all cases, a few at a time. Answers the commands that repeat the failures.
fn run_all(runs: &[Run]) -> Vec<String> {
    let waiting = Mutex::new(runs.iter());
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // The lock is released before the run begins.
                while let Some(run) = { waiting.lock().unwrap().next() } {
                    failures.lock().unwrap().extend(run_apart(run));
                }
            });
        }
    });
    failures.into_inner().unwrap()
}

fn run_apart(&(name, mode): &Run) -> Option<String> {
    let program = env::current_exe().expect("the path of this program");
    let output = Command::new(&program).args(["--case", name, mode]).output();
    let output = output.expect("this program can be run");
    let outcome = if output.status.success() { "ok" } else { "FAILED" };
    println!("{name} ({mode}) ... {outcome}");
    if output.status.success() {
        return None;
    }
    print_output(&output);
    Some(format!("{} --case {name} {mode}: {}", program.display(), output.status))
}

fn print_output(output: &Output) {
    print!("{}", String::from_utf8_lossy(&output.stdout));
    print!("{}", String::from_utf8_lossy(&output.stderr));
}
