//! `cargo xtask recordings`: records runs of actors, processes and threads on several workers, replays each, and compares
//! output and exit code. `main` calls [`run`].
//!
//! The runs are spread over the programs. A recording whose replay differs is kept, with the command that repeats it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clap::Args;

use crate::{builds, root};

/// The programs, with their options and arguments: Savina's, examples, and tests of what is about concurrency and of what is
/// outside. What recordings hold no part of is in none of them.
const PROGRAMS: &[&[&str]] = &[
    &["benchmarks/actors/pingpong.ns", "2000", "1"],
    &["benchmarks/actors/counting.ns", "10000", "1"],
    &["benchmarks/actors/throughput.ns", "200", "1"],
    &["benchmarks/actors/creation.ns", "1000", "1"],
    &["benchmarks/actors/threadring.ns", "2000", "1"],
    &["benchmarks/actors/chameneos.ns", "1000", "1"],
    &["benchmarks/actors/bigcontention.ns", "20", "1"],
    &["benchmarks/actors/trapezoidal.ns", "10000", "1"],
    &["benchmarks/actors/fibonacci.ns", "15", "1"],
    &["tests/replays/race.ns"],
    &["tests/replays/processes.ns"],
    &["tests/replays/threads.ns"],
    &["examples/bank.ns"],
    &["examples/chameneos.ns"],
    &["examples/clearing.ns"],
    &["examples/primes.ns"],
    &["examples/sieve.ns"],
    &["tests/language/actors/errors.ns"],
    &["tests/language/actors/ordering.ns"],
    &["tests/language/actors/timers.ns"],
    &["tests/language/isolation/promises.ns"],
    &["tests/language/isolation/resolvers.ns"],
    &["tests/language/processes/channels.ns"],
    &["tests/language/processes/values.ns"],
    &["tests/language/promises/basics.ns"],
    &["tests/language/promises/chains.ns"],
    &["tests/language/promises/groups.ns"],
    &["tests/language/promises/order.ns"],
    &["tests/language/threading/mutexes.ns"],
    &["tests/language/threading/semaphores.ns"],
    &["--allow-net=127.0.0.1", "tests/language/net/handing_over.ns"],
    &["--allow-net=127.0.0.1", "tests/language/net/datagrams.ns"],
    &["--allow-net=127.0.0.1", "tests/language/http/requests.ns"],
    &["--allow-processes", "tests/language/os/processes.ns"],
    &["--allow-processes", "tests/language/os/signals.ns"],
    &["--allow-ffi", "tests/language/foreign/blocking.ns"],
    &["--allow-ffi", "tests/language/foreign/structures.ns"],
];

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
    let mut failures = 0;
    for number in 0..arguments.runs {
        let program = PROGRAMS[number % PROGRAMS.len()];
        let place =
            std::env::temp_dir().join(format!("squall-{}-{number}.sqr", std::process::id()));
        match compare(&squall, arguments.workers, program, &place) {
            Ok(()) => _ = std::fs::remove_file(&place),
            Err(problem) => {
                failures += 1;
                let repeated = format!("{} replay {}", squall.display(), place.display());
                println!("FAILED: {}: {problem}\n  repeat with {repeated}", program.join(" "));
            }
        }
    }
    println!("{} of {} replays were right", arguments.runs - failures, arguments.runs);
    failures == 0
}

fn compare(squall: &Path, workers: usize, program: &[&str], place: &Path) -> Result<(), String> {
    let mut record = Command::new(squall);
    record.arg("run").arg(format!("--workers={workers}"));
    record.arg(format!("--record={}", place.display())).args(program);
    let recorded = output(&mut record)?;
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
