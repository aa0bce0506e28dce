//! `cargo xtask recordings`: records runs of actors, processes and threads on several workers, replays each, and compares
//! output and exit code. `main` calls [`run`].
//!
//! The runs are spread over the programs. A recording whose replay differs is kept, with the command that repeats it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clap::Args;

use crate::{builds, root};

/// The programs, with their options and arguments: Savina's, examples, and tests of what is about concurrency and of what is
/// outside.
fn programs() -> Vec<&'static str> {
    let lines = include_str!("../../tests/replays/programs.txt").lines();
    lines.filter(|line| !line.starts_with('#')).collect()
}

/// The options of `cargo xtask recordings`.
#[derive(Args)]
pub struct Arguments {
    /// How many runs
    #[arg(long, value_name = "N", default_value_t = 1000)]
    runs: usize,

    /// How many workers
    #[arg(long, value_name = "N", default_value_t = 2)]
    workers: usize,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
}

/// Records and replays. Answers whether all replays were right.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let (programs, mut failures) = (programs(), 0);
    for number in 0..arguments.runs {
        let program = programs[number % programs.len()];
        let place =
            std::env::temp_dir().join(format!("squall-{}-{number}.sqr", std::process::id()));
        match compare(&squall, arguments.workers, program, &place) {
            Ok(()) => _ = std::fs::remove_file(&place),
            Err(problem) => {
                failures += 1;
                let repeated = format!("{} replay {}", squall.display(), place.display());
                println!("FAILED: {}: {problem}\n  repeat with {repeated}", program);
            }
        }
    }
    println!("{} of {} replays were right", arguments.runs - failures, arguments.runs);
    failures == 0
}

fn compare(squall: &Path, workers: usize, program: &str, place: &Path) -> Result<(), String> {
    let scratch = place.with_extension("scratch");
    std::fs::create_dir_all(&scratch).map_err(|error| error.to_string())?;
    let words = program.replace("{scratch}", &scratch.display().to_string());
    let mut record = Command::new(squall);
    record.arg("run").arg(format!("--workers={workers}"));
    record.arg(format!("--record={}", place.display())).args(words.split(' '));
    let recorded = output(&mut record);
    _ = std::fs::remove_dir_all(&scratch);
    let recorded = recorded?;
    let replayed = output(Command::new(squall).arg("replay").arg(place))?;
    if recorded.status.code() != replayed.status.code() {
        let error = String::from_utf8_lossy(&replayed.stderr);
        return Err(format!("it ended with {}, not {}\n{error}", replayed.status, recorded.status));
    }
    match recorded.stdout == replayed.stdout {
        true => Ok(()),
        false => Err("the output is another one".to_owned()),
    }
}

fn output(command: &mut Command) -> Result<Output, String> {
    command.current_dir(root()).output().map_err(|error| format!("{command:?}: {error}"))
}
