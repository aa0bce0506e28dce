//! `cargo xtask foreign`: tests a million random calls of C, and callbacks from native threads that a library starts.
//! `main` calls [`run`].
//!
//! The program `tests/foreign/soak.ns` checks its own results. A run fails if the program reports a wrong result,
//! crashes or does not end, or if its memory grows. There are runs on real threads with several seeds for the program's
//! choices, the same runs with a seed for the machine, and one run with a library that is compiled with the sanitizer
//! for undefined behaviour, which would report wrong arguments for C.
//!
//! The sanitizer for data races reserves the addresses that the collector needs, and the sanitizer for addresses would
//! not know the collector's pages. So these two run the tests of `crates/foreign`, which need no heap. Only data races
//! within the C library count, because the sanitizer does not know Rust's means of synchronisation.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::{builds, cargo, root};

/// The program.
const PROGRAM: &str = "tests/foreign/soak.ns";

/// The library's sources.
const SOURCES: [&str; 3] =
    ["crates/foreign/tests/all/library.c", "tests/foreign/threads.c", "tests/foreign/names.c"];

/// The output of the program if all results are right.
const RIGHT: &str = "true\ntrue\n";

/// The options of `cargo xtask foreign`.
#[derive(Args)]
pub struct Arguments {
    /// How many calls
    #[arg(long, default_value_t = 1_000_000)]
    calls: u64,

    /// The number of seeds for the program's choices, and for the machine's schedules
    #[arg(long, default_value_t = 3)]
    seeds: u64,

    /// The most seconds that a run may take
    #[arg(long, default_value_t = 600)]
    limit: u64,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
}

/// Runs the program in all ways. Answers whether all runs passed.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let folder = std::env::temp_dir().join(format!("squall-foreign-{}", std::process::id()));
    let results = std::fs::create_dir_all(&folder)
        .map_err(|error| error.to_string())
        .and_then(|()| run_all(arguments, &squall, &folder));
    _ = std::fs::remove_dir_all(&folder);
    match results {
        Ok(()) => true,
        Err(problem) => {
            println!("FAILED: {problem}");
            false
        }
    }
}

fn run_all(arguments: &Arguments, squall: &Path, folder: &Path) -> Result<(), String> {
    let library = build(folder, "plain", &[])?;
    let calls = arguments.calls / arguments.seeds.max(1);
    let limit = Duration::from_secs(arguments.limit);
    let soak = Soak {
        squall,
        library: &library,
        calls,
        seed: 0,
        has_schedule: false,
        runtime: None,
        limit,
    };
    for has_schedule in [false, true] {
        for seed in 1..=arguments.seeds {
            Soak { seed, has_schedule, ..soak }.run()?;
        }
    }
    watch_for_undefined_behaviour(&soak, folder)?;
    watch("address", "libasan.so", "ASAN_OPTIONS=detect_leaks=0")?;
    watch("thread", "libtsan.so", "TSAN_OPTIONS=ignore_noninstrumented_modules=1")
}

fn watch_for_undefined_behaviour(soak: &Soak<'_>, folder: &Path) -> Result<(), String> {
    let flags = ["-fsanitize=undefined", "-fno-sanitize-recover=all"];
    match (build(folder, "undefined", &flags), runtime_library("libubsan.so")) {
        (Ok(library), Some(runtime)) => {
            let (calls, runtime) = (soak.calls / 3, Some(runtime.as_path()));
            Soak { library: &library, calls, seed: 1, runtime, ..*soak }.run()
        }
        _ => {
            println!("skipped: the C compiler has no sanitizer for undefined behaviour");
            Ok(())
        }
    }
}

/// Runs the tests of `crates/foreign` with a sanitizer.
fn watch(sanitizer: &str, runtime: &str, options: &str) -> Result<(), String> {
    let Some(runtime) = runtime_library(runtime) else {
        println!("skipped: the C compiler has no sanitizer `{sanitizer}`");
        return Ok(());
    };
    println!("crates/foreign, sanitizer `{sanitizer}`");
    let runner = format!("env LD_PRELOAD={} {options}", runtime.display());
    let target = format!("CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_RUNNER", std::env::consts::ARCH);
    let mut command = cargo();
    command.args(["test", "--quiet", "-p", "squall-foreign", "--test", "all"]);
    command.env(target.to_uppercase(), runner);
    command.env("SQUALL_FOREIGN_CFLAGS", format!("-fsanitize={sanitizer}"));
    let status = command.status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

fn compiler() -> String {
    std::env::var("CC").unwrap_or_else(|_| "cc".to_owned())
}

/// Builds the library with these options.
fn build(folder: &Path, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let library = folder.join(format!("lib{name}.so"));
    let mut command = Command::new(compiler());
    command.args(["-shared", "-fPIC", "-pthread", "-std=gnu11", "-O1", "-g"]).args(flags);
    command.arg("-o").arg(&library).args(SOURCES.map(|source| root().join(source)));
    builds::output_of(&mut command).map(|_| library)
}

/// The path of a runtime library that belongs to the compiler.
fn runtime_library(name: &str) -> Option<PathBuf> {
    let output = Command::new(compiler()).arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

/// A run of the program.
#[derive(Clone, Copy)]
struct Soak<'a> {
    squall: &'a Path,
    library: &'a Path,
    calls: u64,
    seed: u64,
    /// Whether the seed decides about the machine's schedule, too.
    has_schedule: bool,
    /// A library to preload.
    runtime: Option<&'a Path>,
    limit: Duration,
}

/// The limit of the program's heap, in MiB. It is small, so that collections are frequent.
const HEAP: u64 = 32;

/// The allowed growth of the memory from the second to the last third of the time, in KiB. A heap of that size grows by
/// as much without a leak.
const GROWTH: u64 = 10 << 10;

impl Soak<'_> {
    fn run(&self) -> Result<(), String> {
        let begin = Instant::now();
        let mut process = self.command().spawn().map_err(|error| error.to_string())?;
        let memory = self.watch(&mut process, begin);
        let output = process.wait_with_output().map_err(|error| error.to_string())?;
        let seconds = begin.elapsed().as_secs_f64();
        if !output.status.success() || output.stdout != RIGHT.as_bytes() {
            let (out, error) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            let status = output.status;
            return Err(format!("{}: {status} after {seconds:.1} s\n{out}\n{error}", self.name()));
        }
        let [_, middle, end] = thirds(&memory);
        println!("{}: {} calls in {seconds:.1} s, {} MiB", self.name(), self.calls, end >> 10);
        match end > middle + GROWTH {
            true => Err(format!("memory grows: {} MiB, then {} MiB", middle >> 10, end >> 10)),
            false => Ok(()),
        }
    }

    fn name(&self) -> String {
        let library = self.library.file_name().unwrap_or_default().to_string_lossy();
        let schedule = if self.has_schedule { "of calls and schedule" } else { "of calls" };
        format!("{library}, seed {} {schedule}", self.seed)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.squall);
        command.args(["run", "--allow-ffi", &format!("--max-heap={HEAP}M")]);
        command.args(self.has_schedule.then(|| format!("--seed={}", self.seed)));
        command.arg(PROGRAM).arg(self.library).current_dir(root());
        command.args([self.calls.to_string(), self.seed.to_string()]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(runtime) = self.runtime {
            command.env("LD_PRELOAD", runtime);
        }
        command
    }

    /// The memory of the process in KiB, as a series of samples. A process that runs too long is killed.
    fn watch(&self, process: &mut Child, begin: Instant) -> Vec<u64> {
        let mut samples = Vec::new();
        while matches!(process.try_wait(), Ok(None)) {
            samples.push(crate::memory_of(process.id()));
            if begin.elapsed() > self.limit {
                _ = process.kill();
            }
            thread::sleep(Duration::from_millis(20));
        }
        samples
    }
}

/// The greatest sample of each third.
fn thirds(samples: &[u64]) -> [u64; 3] {
    let greatest = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
    let third = samples.len() / 3;
    [
        greatest(&samples[..third]),
        greatest(&samples[third..2 * third]),
        greatest(&samples[2 * third..]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_third_has_its_greatest() {
        assert_eq!(thirds(&[1, 2, 9, 3, 4, 5, 7]), [2, 9, 7]);
        assert_eq!(thirds(&[]), [0, 0, 0]);
    }
}
