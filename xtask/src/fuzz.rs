//! `cargo xtask fuzz`: runs the fuzz targets one after the other, for a number of minutes in all. `main` calls [`run`].
//!
//! Each target gets its share of the time. A target that runs code has one machine per process, and a machine never
//! forgets modules and their names. Such a target runs in rounds, each in a new process, and with other options for the
//! machine: workers, schedulers, seeds, a collection at every allocation. These targets run without AddressSanitizer,
//! which does not know the collector's pages and would make them slower. The inputs that a fuzzer has learned are kept
//! in `fuzz/corpus`, and the inputs at which it stopped in `fuzz/artifacts`.
//!
//! The command needs a nightly toolchain and cargo-fuzz; see `fuzz/README.md`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;

use crate::root;

/// The options of `cargo xtask fuzz`.
#[derive(Args)]
pub struct Arguments {
    /// How long it runs in all
    #[arg(long, value_name = "N", default_value_t = 10)]
    minutes: u64,

    /// A target; all, if none is named
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,

    /// The sanitizer for targets without a machine: address or none
    #[arg(long, value_name = "NAME", default_value = "none")]
    sanitizer: String,

    /// The toolchain
    #[arg(long, value_name = "NAME", default_value = "nightly")]
    toolchain: String,

    /// The folder for builds
    #[arg(long, value_name = "FOLDER", default_value = "fuzz/target")]
    target_dir: PathBuf,

    /// Options for the machine, instead of the usual series of options
    #[arg(long, value_name = "WORDS")]
    machine: Option<String>,
}

/// A fuzz target.
struct Target {
    name: &'static str,
    /// Folders of initial inputs. A target whose input is a series of choices accepts any file.
    seeds: &'static [&'static str],
    dictionary: Option<&'static str>,
    /// The most bytes of an input.
    longest: usize,
    /// Its share of the time.
    share: u64,
    /// Whether it runs code.
    has_machine: bool,
}

const TARGETS: &[Target] = &[
    Target {
        name: "run",
        seeds: &[
            "tests/bytecode/run",
            "tests/bytecode/link",
            "tests/bytecode/verify",
            "lib/host",
            "fuzz/seeds/modules",
            "fuzz/seeds/texts",
            "fuzz/seeds/run",
        ],
        dictionary: None,
        longest: 1 << 14,
        share: 6,
        has_machine: true,
    },
    Target {
        name: "programs",
        seeds: &[],
        dictionary: None,
        longest: 2048,
        share: 6,
        has_machine: true,
    },
    Target {
        name: "link",
        seeds: &[],
        dictionary: None,
        longest: 256,
        share: 2,
        has_machine: true,
    },
    Target {
        name: "parties",
        seeds: &[],
        dictionary: None,
        longest: 4096,
        share: 6,
        has_machine: true,
    },
    Target { name: "recordings", seeds: &["fuzz/seeds/recordings"], ..PLAIN },
    Target { name: "decode_verify", seeds: &["fuzz/seeds/modules"], share: 2, ..PLAIN },
    Target { name: "asm_roundtrip", seeds: &["fuzz/seeds/modules"], ..PLAIN },
    Target {
        name: "assemble",
        seeds: &["fuzz/seeds/texts"],
        dictionary: Some("fuzz/sqasm.dict"),
        ..PLAIN
    },
    Target {
        name: "format",
        seeds: &["fuzz/seeds/texts"],
        dictionary: Some("fuzz/sqasm.dict"),
        ..PLAIN
    },
    Target {
        name: "messages",
        seeds: &["fuzz/seeds/texts", "fuzz/seeds/sources", "tests/bytecode/verify"],
        dictionary: Some("fuzz/sqasm.dict"),
        ..PLAIN
    },
    Target {
        name: "compile",
        seeds: &["fuzz/seeds/sources", "tests/language", "examples"],
        dictionary: Some("fuzz/newspeak.dict"),
        ..PLAIN
    },
    Target {
        name: "doc_examples",
        seeds: &["fuzz/seeds/sources", "lib", "tests/language"],
        dictionary: Some("fuzz/newspeak.dict"),
        longest: 16_384,
        ..PLAIN
    },
    Target {
        name: "declarations",
        seeds: &["fuzz/seeds/declarations"],
        dictionary: Some("fuzz/c.dict"),
        ..PLAIN
    },
    Target { name: "http", seeds: &["fuzz/seeds/http"], ..PLAIN },
    Target {
        name: "packages",
        seeds: &[
            "examples/packages/tour",
            "examples/packages/stations",
            "examples/packages/phrases",
        ],
        longest: 16_384,
        ..PLAIN
    },
];

const PLAIN: Target =
    Target { name: "", seeds: &[], dictionary: None, longest: 4096, share: 1, has_machine: false };

/// Options of the machine; the rounds use them in turn.
const MACHINES: [&str; 8] = [
    "",
    "seed=1",
    "gc-stress=7 tiny-stacks",
    "workers=4 polls",
    "scheduler=threads",
    "scheduler=balanced workers=3 gc-stress=50",
    "seed=2 tiny-stacks gc-stress=31",
    "scheduler=dictated workers=3",
];

/// The duration of a round: the life of a process with a machine.
const ROUND: Duration = Duration::from_secs(60);

/// A target with this many failures is not run again.
const MOST_FAILURES: usize = 5;

/// The results of a target.
#[derive(Default)]
struct Report {
    time: Duration,
    executions: u64,
    coverage: u64,
    inputs: u64,
    /// For each failure, the file of the input, or a message if there is none.
    failures: Vec<String>,
}

/// Runs the targets. Answers whether none has found a mistake.
pub fn run(arguments: &Arguments) -> bool {
    let is_wanted = |target: &&Target| {
        arguments.target.is_empty() || arguments.target.iter().any(|name| name == target.name)
    };
    let targets: Vec<&Target> = TARGETS.iter().filter(is_wanted).collect();
    if targets.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        println!("there is no such target; there are {}", names.join(", "));
        return false;
    }
    if !build(arguments, &targets) {
        return false;
    }
    let shares: u64 = targets.iter().map(|target| target.share).sum();
    let mut reports = Vec::new();
    for target in targets {
        let seconds = arguments.minutes * 60 * target.share / shares;
        println!("{}: {seconds} s", target.name);
        let report = fuzz(arguments, target, Duration::from_secs(seconds.max(1)));
        reports.push((target.name, report));
    }
    show(&reports)
}

fn cargo_fuzz(arguments: &Arguments) -> Command {
    let mut command = Command::new("cargo");
    command.arg(format!("+{}", arguments.toolchain)).arg("fuzz").current_dir(root());
    // The variables of the current Cargo belong to another toolchain.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if (name.starts_with("CARGO") && name != "CARGO_HOME") || name.starts_with("RUST") {
            command.env_remove(name);
        }
    }
    command
}

fn build(arguments: &Arguments, targets: &[&Target]) -> bool {
    targets.iter().all(|target| {
        let mut command = cargo_fuzz(arguments);
        command.args(["build", target.name, "--sanitizer", sanitizer(arguments, target)]);
        command.arg("--target-dir").arg(folder(arguments, target));
        command.status().is_ok_and(|status| status.success())
    })
}

fn sanitizer<'a>(arguments: &'a Arguments, target: &Target) -> &'a str {
    if target.has_machine { "none" } else { &arguments.sanitizer }
}

/// The target folder of a build. Builds with another sanitizer differ in the flags of all crates, so they have their
/// own.
fn folder(arguments: &Arguments, target: &Target) -> PathBuf {
    root().join(&arguments.target_dir).join(sanitizer(arguments, target))
}

/// The executable of a target.
fn binary(arguments: &Arguments, target: &Target) -> Option<PathBuf> {
    let platforms = std::fs::read_dir(folder(arguments, target)).ok()?;
    let files = platforms.filter_map(|entry| {
        let file = entry.ok()?.path().join("release").join(target.name);
        file.is_file().then_some(file)
    });
    files.max_by_key(|file| file.metadata().and_then(|data| data.modified()).ok())
}

/// Runs a target for a time, in one process or in several.
fn fuzz(arguments: &Arguments, target: &Target, time: Duration) -> Report {
    let mut report = Report::default();
    let Some(binary) = binary(arguments, target) else {
        report.failures.push("it was not built".to_owned());
        return report;
    };
    let begin = Instant::now();
    let mut round = 0;
    while report.failures.len() < MOST_FAILURES {
        let left = time.saturating_sub(begin.elapsed());
        if left < Duration::from_secs(1) {
            break;
        }
        let left = if target.has_machine { left.min(ROUND) } else { left };
        let words = MACHINES[round % MACHINES.len()];
        let words = arguments.machine.as_deref().unwrap_or(words);
        round_of(&binary, target, words, left, &mut report);
        round += 1;
    }
    report.time = begin.elapsed();
    report
}

/// Runs a process, and reads its messages.
fn round_of(binary: &Path, target: &Target, words: &str, time: Duration, report: &mut Report) {
    let corpus = root().join("fuzz/corpus").join(target.name);
    let artifacts = root().join("fuzz/artifacts").join(target.name);
    for folder in [&corpus, &artifacts] {
        _ = std::fs::create_dir_all(folder);
    }
    let mut command = Command::new(binary);
    command.current_dir(root()).arg(corpus);
    command.args(target.seeds);
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    command.arg(format!("-max_total_time={}", time.as_secs()));
    command.arg(format!("-max_len={}", target.longest));
    command.args(["-print_final_stats=1", "-timeout=120", "-rss_limit_mb=6000"]);
    command.args(target.dictionary.map(|file| format!("-dict={file}")));
    command.env("ASAN_OPTIONS", "detect_odr_violation=0:detect_leaks=0");
    command.env("SQUALL_FUZZ", words);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = spawned else {
        return report.failures.push(format!("{} cannot be started", binary.display()));
    };
    let mut last = Vec::new();
    for line in child.stderr.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
        let Ok(line) = line else { break };
        report.read(&line);
        last.push(line);
    }
    if !child.wait().is_ok_and(|status| status.success()) {
        let shown = last.len().saturating_sub(SHOWN);
        let said = last[shown..].join("\n");
        let file = last.iter().find_map(|line| line.split_once("Test unit written to "));
        let file = file.map_or("no input was written", |(_, file)| file);
        println!("{} stopped with SQUALL_FUZZ=\"{words}\": {file}\n{said}", target.name);
        report.failures.push(file.to_owned());
    }
}

/// How many of the last lines are shown of a fuzzer that stopped.
const SHOWN: usize = 60;

impl Report {
    /// Reads the numbers in a line of a fuzzer.
    fn read(&mut self, line: &str) {
        if let Some(number) = line.strip_prefix("stat::number_of_executed_units:") {
            self.executions += number.trim().parse::<u64>().unwrap_or(0);
        }
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let field = match word {
                "cov:" => &mut self.coverage,
                "corp:" => &mut self.inputs,
                _ => continue,
            };
            let number = words.next().unwrap_or("").split('/').next().unwrap_or("");
            *field = number.parse().map_or(*field, |number: u64| number.max(*field));
        }
    }
}

fn show(reports: &[(&str, Report)]) -> bool {
    println!(
        "{:<16} {:>8} {:>12} {:>9} {:>8} {:>9}",
        "target", "seconds", "executions", "coverage", "inputs", "failures"
    );
    for (name, report) in reports {
        let Report { time, executions, coverage, inputs, failures } = report;
        let (seconds, failures) = (time.as_secs(), failures.len());
        println!(
            "{name:<16} {seconds:>8} {executions:>12} {coverage:>9} {inputs:>8} {failures:>9}"
        );
    }
    for (name, report) in reports {
        report.failures.iter().for_each(|failure| println!("{name}: {failure}"));
    }
    reports.iter().all(|(_, report)| report.failures.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read() {
        let mut report = Report::default();
        report
            .read("#1024\tpulse  cov: 812 ft: 2033 corp: 91/11Kb lim: 4096 exec/s: 512 rss: 90Mb");
        report
            .read("#2048\tDONE   cov: 815 ft: 2040 corp: 95/12Kb lim: 4096 exec/s: 512 rss: 91Mb");
        report.read("stat::number_of_executed_units: 2048");
        assert_eq!((report.coverage, report.inputs, report.executions), (815, 95, 2048));
    }

    #[test]
    fn every_target_is_declared() {
        let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        let declared: Vec<&str> = manifest
            .lines()
            .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""))
            .collect();
        assert_eq!(declared.len(), TARGETS.len());
        assert!(TARGETS.iter().all(|target| declared.contains(&target.name)));
    }
}
