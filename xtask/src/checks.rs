//! `cargo xtask checks`: runs the checks that take too long for every change, one after the other. `main` calls
//! [`run`].
//!
//! | part | what runs |
//! |---|---|
//! | `models` | all models of the concurrent protocols, in all interleavings (loom) |
//! | `miri` | tests that call no foreign code, in an interpreter that finds undefined behaviour |
//! | `thread` | tests without a heap, with the sanitizer for data races |
//! | `address` | tests of the runtime and of what is below, and guest programs, with the sanitizer for addresses |
//! | `stress` | `cargo xtask stress` |
//! | `schedulers` | `cargo xtask schedulers` |
//!
//! Miri and the sanitizers need a nightly toolchain. A part whose tools are not installed is skipped, and the command
//! that installs them is printed. Until July 2026, Miri let sequentially consistent loads read values that the memory
//! model forbids (rust-lang/miri#5104): with an older one, the tests of `transactions` fail now and then. The sanitizer
//! for data races reserves the addresses that the collector needs, so no machine runs with it; and it must know all
//! synchronisation, so Rust's standard library is built with it. The sanitizer for addresses watches native memory only:
//! objects are in the collector's own pages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use clap::{Args, ValueEnum};

use crate::{builds, cargo, root, schedulers, steps};

/// The options of `cargo xtask checks`.
#[derive(Args)]
pub struct Arguments {
    /// Which parts; by default, all of them
    parts: Vec<Part>,

    /// The toolchain of Miri and the sanitizers
    #[arg(long, value_name = "NAME", default_value = "nightly")]
    toolchain: String,
}

/// A part of the checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    Models,
    Miri,
    Thread,
    Address,
    Stress,
    Schedulers,
}

/// The result of a part.
enum Verdict {
    Passed,
    Failed,
    /// Tools are missing; this command installs them.
    Skipped(String),
}

/// Runs the parts; answers whether none failed.
pub fn run(arguments: &Arguments) -> bool {
    let parts: &[Part] =
        if arguments.parts.is_empty() { Part::value_variants() } else { &arguments.parts };
    let verdicts: Vec<(Part, u64, Verdict)> = parts
        .iter()
        .map(|part| {
            println!("\n{part:?}");
            let begin = Instant::now();
            let verdict = part.run(arguments);
            (*part, begin.elapsed().as_secs(), verdict)
        })
        .collect();
    println!();
    for (part, seconds, verdict) in &verdicts {
        println!("{:<12} {seconds:>6} s  {verdict}", format!("{part:?}"));
    }
    verdicts.iter().all(|(_, _, verdict)| !matches!(verdict, Verdict::Failed))
}

impl Part {
    fn run(self, arguments: &Arguments) -> Verdict {
        let tools = Tools { toolchain: &arguments.toolchain };
        match self {
            Part::Models => models().into(),
            Part::Miri => tools.miri(),
            Part::Thread => tools.thread_sanitizer(),
            Part::Address => tools.address_sanitizer(),
            Part::Stress => steps::stress().into(),
            Part::Schedulers => schedulers::run(&schedulers::Arguments::all()).into(),
        }
    }
}

/// The crates with models.
const MODELLED: [&str; 5] = ["foreign", "heap", "runtime", "scheduler", "transactions"];

/// Runs all models.
fn models() -> bool {
    let mut command = cargo();
    command.args(["test", "--quiet", "--lib"]);
    for name in MODELLED {
        command.args(["--package", &format!("squall-{name}")]);
        command.args(["--features", &format!("squall-{name}/loom")]);
    }
    succeeds(command.arg("model"))
}

/// The crates whose unit tests Miri runs, except the tests in [`WITH_HEAP`]: these crates contain `unsafe`, or code on
/// which `unsafe` code relies.
const INTERPRETED: [&str; 3] = ["heap", "runtime", "transactions"];

/// The crates whose unit tests need no heap, except the tests in [`WITH_HEAP`].
const WITHOUT_HEAP: [&str; 3] = ["runtime", "scheduler", "transactions"];

/// Unit tests of these crates that need a heap.
const WITH_HEAP: [&str; 1] = ["primitives::tests"];

/// Unit tests in which threads wait for each other by `parking_lot`. Since September 2026, Miri refuses how its version 0.12
/// passes a reference to the system where a pointer is expected. Models under loom explore these protocols.
const WAITING: [&str; 1] = ["state::events::tests"];

/// A program that measures its native memory, of which the sanitizer for addresses keeps what was freed.
const MEASURES_MEMORY: &str = "language/sandboxes/many";

/// The tools of a toolchain.
struct Tools<'a> {
    toolchain: &'a str,
}

impl Tools<'_> {
    fn miri(&self) -> Verdict {
        if !self.answers(&["cargo", "miri", "--version"]) {
            return self.missing("miri rust-src");
        }
        let mut command = self.cargo("miri", &["miri", "test", "--quiet", "--lib"]);
        // With other floats, results of powers would vary; powers of two are exact on the machine. Tables and members stay as
        // long as the process, so they are no leaks.
        let flags = "-Zmiri-disable-isolation -Zmiri-deterministic-floats -Zmiri-ignore-leaks";
        command.env("MIRIFLAGS", flags);
        // A few random cases reach all code, and take minutes.
        command.env("PROPTEST_CASES", "4").args(packages(&INTERPRETED)).arg("--");
        let skipped = WITH_HEAP.iter().chain(&WAITING);
        succeeds(command.args(skipped.flat_map(|name| ["--skip", name]))).into()
    }

    fn thread_sanitizer(&self) -> Verdict {
        if !self.has_source() {
            return self.missing("rust-src");
        }
        let mut command = self.sanitized("thread", &["-Zbuild-std"]);
        command.args(packages(&WITHOUT_HEAP)).args(["--lib", "--"]);
        succeeds(command.args(WITH_HEAP.iter().flat_map(|name| ["--skip", name]))).into()
    }

    fn address_sanitizer(&self) -> Verdict {
        if !self.answers(&["cargo", "--version"]) {
            return self.missing("cargo");
        }
        let crates = ["foreign", "heap", "runtime", "scheduler", "system", "transactions"];
        let mut units = self.sanitized("address", &[]);
        units.args(packages(&crates)).args(["--lib", "--tests"]);
        let mut programs = self.sanitized("address", &[]);
        programs.args(packages(&["cli"])).args(["--test", "all", "--", "language/"]);
        programs.args(["--skip", MEASURES_MEMORY]);
        (succeeds(&mut units) && succeeds(&mut programs)).into()
    }

    /// A command that runs tests with a sanitizer, with these options of Cargo.
    fn sanitized(&self, sanitizer: &str, options: &[&str]) -> Command {
        let mut command = self.cargo(sanitizer, &["test", "--quiet"]);
        builds::sanitize(command.args(options), sanitizer);
        // Some native memory is reachable from objects only, and workers end with the process; neither is a leak. Tests expect
        // allocations to fail. SQLite has two tables of one name in its one file.
        let address = "detect_leaks=0:allocator_may_return_null=1:detect_odr_violation=0";
        command.env("ASAN_OPTIONS", address);
        let suppressions = root().join("xtask/thread-sanitizer.txt");
        let options = format!("report_thread_leaks=0 suppressions={}", suppressions.display());
        command.env("TSAN_OPTIONS", options);
        command
    }

    /// A command of Cargo with its own target folder.
    fn cargo(&self, folder: &str, arguments: &[&str]) -> Command {
        let folder = builds::special_folder(folder);
        let mut command = self.rustup();
        command.arg("cargo").args(arguments).arg("--target-dir").arg(folder);
        command
    }

    fn rustup(&self) -> Command {
        let mut command = Command::new("rustup");
        command.args(["run", self.toolchain]).current_dir(root());
        command
    }

    /// Whether a command of the toolchain can be run.
    fn answers(&self, command: &[&str]) -> bool {
        let mut rustup = self.rustup();
        let status = rustup.args(command).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// Whether the toolchain has the source of the standard library.
    fn has_source(&self) -> bool {
        let output = self.rustup().args(["rustc", "--print", "sysroot"]).output();
        output.is_ok_and(|output| {
            let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
            folder.join(Path::new("lib/rustlib/src/rust/library/Cargo.toml")).is_file()
        })
    }

    fn missing(&self, components: &str) -> Verdict {
        let toolchain = self.toolchain;
        Verdict::Skipped(format!(
            "rustup toolchain install {toolchain} && rustup component add --toolchain {toolchain} {components}"
        ))
    }
}

/// Selects the packages of these crates.
fn packages(crates: &[&str]) -> Vec<String> {
    crates.iter().map(|name| format!("--package=squall-{name}")).collect()
}

/// Runs a command, and says how to repeat it if it fails.
fn succeeds(command: &mut Command) -> bool {
    println!("{command:?}");
    command.status().is_ok_and(|status| status.success())
}

impl From<bool> for Verdict {
    fn from(passed: bool) -> Verdict {
        if passed { Verdict::Passed } else { Verdict::Failed }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Passed => formatter.write_str("passed"),
            Verdict::Failed => formatter.write_str("FAILED"),
            Verdict::Skipped(command) => write!(formatter, "skipped; it needs\n    {command}"),
        }
    }
}
