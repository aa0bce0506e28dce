//! `cargo xtask foreign`: a million random calls of C, and callbacks from threads of a library's own.
//!
//! The program checks itself what it computes (`tests/foreign/soak.ns`); the run fails if it says that something was
//! wrong, or crashes. It is run with each of some seeds for the program's choices, then once more with a
//! library that the C compiler's sanitizer for undefined behaviour watches: mistakes in what C is given would show there.
//!
//! The sanitizer for addresses wants the part of the address space where the collector has its own. So with that
//! it is the tests of `crates/foreign` that run, which need no heap.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Args;

use crate::{cargo, corpus, root};

/// The program.
const PROGRAM: &str = "tests/foreign/soak.ns";

/// The library's sources.
const SOURCES: [&str; 3] =
    ["crates/foreign/tests/all/library.c", "tests/foreign/threads.c", "tests/foreign/names.c"];

/// What the program prints if all was right.
const RIGHT: &str = "true\ntrue\n";

/// The options of `cargo xtask foreign`.
#[derive(Args)]
pub struct Arguments {
    /// How many calls
    #[arg(long, default_value_t = 1_000_000)]
    calls: u64,

    /// With how many seeds the program chooses its calls
    #[arg(long, default_value_t = 3)]
    seeds: u64,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
}

/// Runs the program in all ways; answers whether nothing went wrong.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = arguments.squall.clone().or_else(corpus::build) else { return false };
    let squall = corpus::absolute(&squall);
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
    for seed in 1..=arguments.seeds {
        soak(squall, &library, arguments.calls / arguments.seeds, seed, None)?;
    }
    watch_for_undefined_behaviour(arguments, squall, folder)?;
    watch_addresses()
}

fn watch_for_undefined_behaviour(
    arguments: &Arguments,
    squall: &Path,
    folder: &Path,
) -> Result<(), String> {
    let flags = ["-fsanitize=undefined", "-fno-sanitize-recover=all"];
    match (build(folder, "undefined", &flags), runtime_library("libubsan.so")) {
        (Ok(library), Some(runtime)) => {
            soak(squall, &library, arguments.calls / 10, 1, Some(&runtime))
        }
        _ => {
            println!("skipped: the C compiler has no sanitizer for undefined behaviour");
            Ok(())
        }
    }
}

/// Runs the tests of `crates/foreign` with a sanitizer for addresses.
fn watch_addresses() -> Result<(), String> {
    let Some(runtime) = runtime_library("libasan.so") else {
        println!("skipped: the C compiler has no sanitizer for addresses");
        return Ok(());
    };
    let runner = format!("env LD_PRELOAD={} ASAN_OPTIONS=detect_leaks=0", runtime.display());
    let target = format!("CARGO_TARGET_{}_UNKNOWN_LINUX_GNU_RUNNER", std::env::consts::ARCH);
    let mut command = cargo();
    command.args(["test", "--quiet", "-p", "squall-foreign", "--test", "all"]);
    command.env(target.to_uppercase(), runner);
    command.env("SQUALL_FOREIGN_CFLAGS", "-fsanitize=address");
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
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(library),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Where the compiler has a runtime library of its own.
fn runtime_library(name: &str) -> Option<PathBuf> {
    let output = Command::new(compiler()).arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    path.is_absolute().then_some(path)
}

/// Runs the program once.
fn soak(
    squall: &Path,
    library: &Path,
    calls: u64,
    seed: u64,
    runtime: Option<&Path>,
) -> Result<(), String> {
    let begin = Instant::now();
    let mut command = Command::new(squall);
    command.args(["run", "--allow-ffi", PROGRAM]).arg(library).current_dir(root());
    command.args([calls.to_string(), seed.to_string()]);
    if let Some(runtime) = runtime {
        command.env("LD_PRELOAD", runtime);
    }
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !output.status.success() || output.stdout != RIGHT.as_bytes() {
        let (out, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        return Err(format!("{name}, seed {seed}: {}\n{out}\n{error}", output.status));
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{name}, seed {seed}: {calls} calls in {seconds:.1} s");
    Ok(())
}
