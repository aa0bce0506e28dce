//! `cargo xtask overheads`: what profiles, recordings, the observer and traces cost. `main` calls [`run`].
//!
//! Each program runs as by `squall run` and in each of the other ways, in turns, so that all of them meet the same machine. The
//! time is the processor's, of all threads. Each run is compared with the one before it by `squall run`, and the median of several
//! such ratios counts. The programs of `benchmarks/actors` and CommsTime do nothing but communicate, but for `trapezoidal`, which
//! computes. With a checkout of are-we-fast-yet, programs that do not communicate are measured, too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};

use crate::{builds, root};

/// The options of `cargo xtask overheads`.
#[derive(Args)]
pub struct Arguments {
    /// How often each program runs in each way
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,

    /// How many workers
    #[arg(long, value_name = "N", default_value_t = 2)]
    workers: u32,

    /// A checkout of are-we-fast-yet
    #[arg(long, value_name = "FOLDER")]
    awfy: Option<PathBuf>,

    /// The command to measure; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
}

/// The other ways to run a program: a name, the subcommand, and an option in which `{}` is a file.
const WAYS: [(&str, &str, &str); 4] = [
    ("profile", "profile", "--output={}.json"),
    ("record", "run", "--record={}.sqr"),
    ("observe", "run", "--observe=0"),
    ("trace", "run", "--trace={}.pftrace"),
];

/// Programs that communicate, with their arguments.
const COMMUNICATING: [(&str, &[&str]); 10] = [
    ("actors/pingpong.ns", &["40000", "20"]),
    ("actors/counting.ns", &["1000000", "2"]),
    ("actors/throughput.ns", &["10000", "2"]),
    ("actors/creation.ns", &["40000", "2"]),
    ("actors/threadring.ns", &["100000", "15"]),
    ("actors/chameneos.ns", &["100000", "2"]),
    ("actors/bigcontention.ns", &["120", "2"]),
    ("actors/trapezoidal.ns", &["10000000", "2"]),
    ("actors/fibonacci.ns", &["22", "2"]),
    ("processes/commstime.ns", &["200000"]),
];

/// Programs of are-we-fast-yet, with the numbers of iterations and their sizes.
const COMPUTING: [(&str, &str, &str); 6] = [
    ("Richards", "20", "100"),
    ("DeltaBlue", "20", "12000"),
    ("Json", "20", "100"),
    ("NBody", "20", "250000"),
    ("Queens", "20", "1000"),
    ("Bounce", "20", "1500"),
];

/// A program, where it runs, and its arguments.
struct Program {
    name: String,
    folder: PathBuf,
    words: Vec<String>,
}

/// Measures, and prints a table for each group of programs. Answers whether all programs ran.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let mut groups = vec![communicating()];
    match &arguments.awfy {
        Some(folder) => groups.push(computing(folder)),
        None => println!("without --awfy, programs that do not communicate are skipped"),
    }
    let place = std::env::temp_dir().join(format!("squall-overheads-{}", std::process::id()));
    let measured = groups.iter().try_for_each(|group| table(&squall, arguments, group, &place));
    for (_, _, option) in WAYS {
        _ = std::fs::remove_file(file(option, &place));
    }
    match measured {
        Ok(()) => true,
        Err(problem) => {
            eprintln!("{problem}");
            false
        }
    }
}

fn communicating() -> Vec<Program> {
    let program = |(path, arguments): &(&str, &[&str])| Program {
        name: path.rsplit('/').next().unwrap_or(path).trim_end_matches(".ns").to_owned(),
        folder: root(),
        words: std::iter::once(format!("benchmarks/{path}"))
            .chain(arguments.iter().map(|&word| word.to_owned()))
            .collect(),
    };
    COMMUNICATING.iter().map(program).collect()
}

fn computing(checkout: &Path) -> Vec<Program> {
    let program = |(name, iterations, size): &(&str, &str, &str)| Program {
        name: (*name).to_owned(),
        folder: checkout.join("benchmarks/SOMns"),
        words: ["--allow-all", "Harness.ns", name, iterations, size].map(str::to_owned).to_vec(),
    };
    COMPUTING.iter().map(program).collect()
}

/// Measures a group of programs, and prints a row for each, and the geometric means.
fn table(
    squall: &Path,
    arguments: &Arguments,
    programs: &[Program],
    place: &Path,
) -> Result<(), String> {
    let names: String = WAYS.iter().map(|(name, ..)| format!("{name:>10}")).collect();
    println!("\n{:<14}{:>9}{names}", "", "run, s");
    let mut logarithms = [0.0; WAYS.len()];
    for program in programs {
        let (least, ratios) = measure(squall, arguments, program, place)?;
        for (sum, ratio) in logarithms.iter_mut().zip(ratios) {
            *sum += ratio.ln();
        }
        println!("{:<14}{:>9.3}{}", program.name, least.as_secs_f64(), row(ratios));
    }
    let means = logarithms.map(|sum| (sum / programs.len() as f64).exp());
    println!("{:<23}{}", "geometric mean", row(means));
    Ok(())
}

fn row(ratios: [f64; WAYS.len()]) -> String {
    ratios.iter().map(|ratio| format!("{:>+8.1} %", 100.0 * (ratio - 1.0))).collect()
}

/// The least time of a program, and the median of its time in each of the other ways to that before.
fn measure(
    squall: &Path,
    arguments: &Arguments,
    program: &Program,
    place: &Path,
) -> Result<(Duration, [f64; WAYS.len()]), String> {
    let (mut least, mut ratios) = (Duration::MAX, [const { Vec::new() }; WAYS.len()]);
    for _ in 0..arguments.repetitions {
        let time = |subcommand: &str, option: Option<String>| {
            let mut command = Command::new(squall);
            command.arg(subcommand).arg(format!("--workers={}", arguments.workers)).args(option);
            processor_time(command.args(&program.words).current_dir(&program.folder))
        };
        for (ratios, (_, subcommand, option)) in ratios.iter_mut().zip(WAYS) {
            let plain = time("run", None)?;
            least = least.min(plain);
            let other = time(subcommand, Some(file(option, place)))?;
            ratios.push(other.as_secs_f64() / plain.as_secs_f64());
        }
    }
    Ok((least, ratios.map(median)))
}

fn median(mut ratios: Vec<f64>) -> f64 {
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// An option with its file in place, if it has one.
fn file(option: &str, place: &Path) -> String {
    option.replace("{}", &place.display().to_string())
}

/// Runs a command; answers the processor time that it has used.
fn processor_time(command: &mut Command) -> Result<Duration, String> {
    let before = used()?;
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = silent.status().map_err(|error| format!("{command:?}: {error}"))?;
    if !status.success() {
        return Err(format!("{command:?}: {status}"));
    }
    Ok(used()?.saturating_sub(before))
}

/// The processor time of all commands that have ended.
fn used() -> Result<Duration, String> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    let [user, system] = [usage.user_time(), usage.system_time()].map(|time| {
        let microseconds = time.tv_sec() as u64 * 1_000_000 + time.tv_usec() as u64;
        Duration::from_micros(microseconds)
    });
    Ok(user + system)
}
