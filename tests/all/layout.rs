//! Tests that the project's own programs have the layout of `squall format`; `BLESS=1` gives it to them. `main.rs` collects
//! them as trials.
//!
//! Programs whose text is the subject are in other folders: those with mistakes, and those whose bytecode is listed with the
//! positions in the text.

use std::process::Command;

use libtest_mimic::Trial;

/// The folders with programs that have the layout.
const FOLDERS: [&str; 8] = [
    "lib",
    "examples",
    "benchmarks",
    "tests/language",
    "tests/attacks",
    "tests/confinement",
    "tests/foreign",
    "tests/postgres",
];

pub fn trials() -> Vec<Trial> {
    let trial = |folder| Trial::test(format!("layout/{folder}"), move || Ok(check(folder)?));
    FOLDERS.into_iter().map(trial).collect()
}

/// Checks the layout of the programs in a folder, or gives it to them.
fn check(folder: &str) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
    command.current_dir(crate::root()).args(["format", folder]);
    if std::env::var_os("BLESS").is_none() {
        command.arg("--check");
    }
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}\n{folder}", String::from_utf8_lossy(&output.stderr))),
    }
}
