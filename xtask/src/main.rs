//! `cargo xtask …`: the project's own commands. This file parses the command line and calls the module of the command.
//!
//! | command | what it does |
//! |---|---|
//! | `check` | formatting, lints, architecture, quick tests: before every commit |
//! | `ci` | everything that must pass before a change lands |
//! | `checks` | what takes longer: all models, Miri, sanitizers, everything under stress and under each scheduler |
//! | `tidy` | checks the rules of the sources; also runs as a test of this crate |
//! | `stress` | the integration tests with collections at every allocation and tiny stacks; many damaged modules |
//! | `generate` | writes anew what is made from the instruction table |
//! | `json` | reads the files of a checkout of JSONTestSuite |
//! | `library` | compares the library with Python and with suites, and puts load on two applications |
//! | `corpus` | runs the programs of a checkout of SOMns, and prints a table of what passes |
//! | `schedulers` | the tests that run guest programs, under each scheduler |
//! | `seeds` | runs SOMns's tests of actors, threads and processes under many schedules |
//! | `recordings` | records a thousand runs, and replays them |
//! | `histories` | runs random histories of transactions under ten thousand schedules |
//! | `soak` | runs a program of mixed load for minutes, and watches its memory |
//! | `load` | puts load on the web shop of the examples, and measures it |
//! | `postgres` | the tests that need a server of PostgreSQL, with one of their own |
//! | `foreign` | a million random calls of C, also with the C compiler's sanitizers |
//! | `fuzz` | runs the fuzz targets, for so many minutes in all |
//! | `embedding` | the library for C, its tests and examples, under sanitizers |
//! | `editors` | tests of what editors use, with real clients and engines |
//! | `site` | the documentation and the reference of the library, as pages |
//! | `vsix` | the extension for Visual Studio Code, as a file |
//! | `dist` | what a release consists of: archive, packages, image, lists; the library for C and C++ |
//! | `back` | measures how long the debugger takes to go back in a run of ten seconds |
//! | `overheads` | measures what profiles, recordings, the observer and traces cost |
//! | `bench` | measures Squall and the systems that it is compared with |
#![forbid(unsafe_code)]

mod back;
mod bench;
mod builds;
mod checks;
mod corpus;
mod dist;
mod editors;
mod embedding;
mod foreign;
mod fuzz;
mod histories;
mod json;
mod library;
mod load;
mod markdown;
mod notices;
mod overheads;
mod postgres;
mod recordings;
mod schedulers;
mod seeds;
mod site;
mod soak;
mod steps;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Formatting, lints, architecture and quick tests
    Check,
    /// Everything that must pass before a change lands
    Ci,
    /// Models, Miri, sanitizers, stress and schedulers: some hours
    Checks(checks::Arguments),
    /// The rules that the sources keep
    Tidy,
    /// The integration tests under stress
    Stress,
    /// The files that are made from the instruction table, written anew
    Generate,
    /// The programs of SOMns and of are-we-fast-yet
    Corpus(corpus::Arguments),
    /// The files of a checkout of JSONTestSuite, accepted or refused
    Json(json::Arguments),
    /// The library beside Python and suites; a service and a chat under load
    Library(library::Arguments),
    /// The tests that run guest programs, under each scheduler
    Schedulers(schedulers::Arguments),
    /// The tests of SOMns that are about concurrency, under many schedules
    Seeds(seeds::Arguments),
    /// Recorded runs, and their replays
    Recordings(recordings::Arguments),
    /// Measure how long the debugger takes to go back
    Back(back::Arguments),
    /// Measure what profiles, recordings, the observer and traces cost
    Overheads(overheads::Arguments),
    /// Random histories of transactions, under very many schedules
    Histories(histories::Arguments),
    /// A program of mixed load, for minutes
    Soak(soak::Arguments),
    /// Requests for the shop on the web, for a minute
    Load(load::Arguments),
    /// The tests that need a server of PostgreSQL
    Postgres,
    /// A million random calls of C
    Foreign(foreign::Arguments),
    /// The fuzz targets, for some minutes
    Fuzz(fuzz::Arguments),
    /// The library for C under sanitizers
    Embedding(embedding::Arguments),
    /// What editors use, with real clients and engines
    Editors(editors::Arguments),
    /// The documentation and the reference of the library, as pages
    Site(site::Arguments),
    /// The extension for Visual Studio Code, as a file
    Vsix(editors::Package),
    /// What a release consists of
    Dist(dist::Arguments),
    /// Measurements, of Squall and of others
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let success = match Arguments::parse().command {
        Command::Check => steps::check(),
        Command::Ci => steps::ci(),
        Command::Checks(arguments) => checks::run(&arguments),
        Command::Tidy => tidy::run(),
        Command::Stress => steps::stress(),
        Command::Generate => steps::generate(),
        Command::Corpus(arguments) => corpus::run(&arguments),
        Command::Json(arguments) => json::run(&arguments),
        Command::Library(arguments) => library::run(&arguments),
        Command::Schedulers(arguments) => schedulers::run(&arguments),
        Command::Seeds(arguments) => seeds::run(&arguments),
        Command::Recordings(arguments) => recordings::run(&arguments),
        Command::Back(arguments) => back::run(&arguments),
        Command::Overheads(arguments) => overheads::run(&arguments),
        Command::Histories(arguments) => histories::run(&arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
        Command::Postgres => postgres::run(),
        Command::Foreign(arguments) => foreign::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Embedding(arguments) => embedding::run(&arguments),
        Command::Editors(arguments) => editors::run(&arguments),
        Command::Site(arguments) => site::run(&arguments),
        Command::Vsix(package) => editors::pack(&package),
        Command::Dist(arguments) => dist::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    if success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The project's folder.
fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().expect("this crate is in the project's folder").to_owned()
}

/// The Cargo that runs this program.
fn cargo() -> std::process::Command {
    let mut command = std::process::Command::new(env!("CARGO"));
    command.current_dir(root());
    command
}

/// The memory that a process occupies, in KiB; 0 if it cannot be read.
fn memory_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
