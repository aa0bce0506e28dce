//! `cargo xtask layout`: the layout of the programs in Newspeak that belong to the project, by `squall format`. `main`
//! calls it.
//!
//! Programs whose text is the subject are left out: those with mistakes, and those whose bytecode is listed with the
//! positions in the text.

use std::path::PathBuf;
use std::process::Command;

use crate::{builds, root};

/// The folders with programs that have the layout.
const FOLDERS: &[&str] = &[
    "lib",
    "examples",
    "benchmarks",
    "tests/language",
    "tests/attacks",
    "tests/confinement",
    "tests/foreign",
    "tests/postgres",
];

#[derive(clap::Args)]
pub struct Arguments {
    /// Change the files; otherwise, name those that are not laid out
    #[arg(long)]
    write: bool,

    /// The command to use instead of a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
}

/// Checks or changes the layout. Answers whether all files have it.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let mut command = Command::new(squall);
    command.current_dir(root()).arg("format").args(FOLDERS);
    if !arguments.write {
        command.arg("--check");
    }
    match command.status() {
        Ok(status) => status.success(),
        Err(problem) => {
            eprintln!("{command:?}: {problem}");
            false
        }
    }
}
