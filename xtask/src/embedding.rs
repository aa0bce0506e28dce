//! `cargo xtask embedding`: the library for C under sanitizers.
//!
//! The examples in C and C++ and the tests of `crates/capi` are compiled with the sanitizers for addresses and for undefined
//! behaviour, and run with the library as it always is: all native memory comes from the sanitizer then, so what is freed twice, or not as a
//! whole, is found on both sides, and wrong accesses are in C and C++. With `--toolchain nightly` the library is built with the
//! sanitizer for addresses as well, which finds wrong accesses in Rust. Objects of guests lie in the collector's own pages, which no sanitizer
//! knows; these are clear of where the sanitizer for addresses has its shadow.
//!
//! The sanitizer for data races wants all other addresses for itself, so a machine does not start with it: that is for what is done without
//! one, values, lists, errors and options, by many native threads at once. It would want Rust's standard library to be built with it, too, so
//! the library is never.
//!
//! Each program runs several times, since native threads differ from run to run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use clap::Args;

use crate::{cargo, root};

/// The options of `cargo xtask embedding`.
#[derive(Args)]
pub struct Arguments {
    /// How often each program runs
    #[arg(long, default_value_t = 5)]
    runs: u32,

    /// A toolchain that knows sanitizers, to build the library with them
    #[arg(long, value_name = "NAME")]
    toolchain: Option<String>,
}

/// A program in C or C++, and what it prints if all is right.
struct Program {
    source: &'static str,
    /// The last line of its output.
    last: &'static str,
}

const fn program(source: &'static str, last: &'static str) -> Program {
    Program { source, last }
}

/// A sanitizer, and what is run with it.
struct Sanitizer {
    /// What the compilers call it.
    name: &'static str,
    /// Whether it can watch the library while Rust's standard library is as it always is.
    watches_library: bool,
    /// What those for C get beside it.
    others: &'static str,
    /// Its options, in the environment.
    options: (&'static str, &'static str),
    programs: &'static [Program],
}

const SANITIZERS: [Sanitizer; 2] = [
    Sanitizer {
        name: "address",
        watches_library: true,
        others: ",undefined",
        // What only guests' objects lead to is no leak.
        options: ("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=0"),
        programs: &[
            program("crates/capi/tests/border.c", "done"),
            program("crates/capi/tests/hostile.c", "done"),
            program("crates/capi/tests/threads.c", "done"),
            program("examples/embedding/embed.c", "second machine: refused"),
            program("examples/embedding/embed.cpp", "thrown: HostError: area: not today"),
        ],
    },
    Sanitizer {
        name: "thread",
        watches_library: false,
        others: "",
        // Rust's own means of synchronisation are unknown to it.
        options: ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1"),
        programs: &[program("crates/capi/tests/border.c", "done")],
    },
];

/// Builds and runs them all; answers whether nothing was found.
pub fn run(arguments: &Arguments) -> bool {
    let results = SANITIZERS.map(|sanitizer| {
        sanitizer.run(arguments).inspect_err(|problem| println!("FAILED: {problem}")).is_ok()
    });
    results.iter().all(|passed| *passed)
}

impl Sanitizer {
    fn run(&self, arguments: &Arguments) -> Result<(), String> {
        println!("sanitizer `{}`", self.name);
        let folder = self.build_library(arguments)?;
        for program in self.programs {
            let executable = self.build(program, &folder)?;
            for _ in 0..arguments.runs {
                self.watch(program, &executable, &folder)?;
            }
            println!("{}: {} runs", program.source, arguments.runs);
        }
        Ok(())
    }

    /// Builds the library; answers the folder in which it is.
    fn build_library(&self, arguments: &Arguments) -> Result<PathBuf, String> {
        let folder = match arguments.toolchain.as_ref().filter(|_| self.watches_library) {
            Some(toolchain) => self.build_watched(toolchain)?,
            None => build_plain()?,
        };
        let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
        let link = folder.join(format!("libsquall.so.{major}.{minor}"));
        _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink("libsquall.so", &link).map_err(|error| error.to_string())?;
        Ok(folder)
    }

    /// Builds a library that the sanitizer watches; answers the folder in which it is.
    fn build_watched(&self, toolchain: &str) -> Result<PathBuf, String> {
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let folder = target_folder().join("sanitizers").join(self.name);
        let mut command = Command::new("rustup");
        command.args(["run", toolchain, "cargo", "build", "--quiet", "--package", "squall-capi"]);
        // With a target, what runs while the library is built is not watched.
        command.args(["--target", &target, "--target-dir"]).arg(&folder).current_dir(root());
        command.env("RUSTFLAGS", format!("-Zsanitizer={}", self.name));
        // Tables of all variables would take gigabytes.
        command.env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only").env("CARGO_INCREMENTAL", "0");
        succeed(&mut command)?;
        Ok(folder.join(target).join("debug"))
    }

    /// Compiles a program; answers where it is.
    fn build(&self, program: &Program, library: &Path) -> Result<PathBuf, String> {
        let source = Path::new(program.source);
        let name = source.file_name().unwrap_or_default().to_string_lossy().replace('.', "_");
        let executable = library.join(name);
        let (compiler, standard) = match source.extension().is_some_and(|found| found == "c") {
            true => (std::env::var("CC").unwrap_or_else(|_| "cc".into()), "-std=c11"),
            false => (std::env::var("CXX").unwrap_or_else(|_| "c++".into()), "-std=c++17"),
        };
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-pthread"]);
        command.arg(format!("-fsanitize={}{}", self.name, self.others));
        command.arg("-fno-sanitize-recover=all").arg("-I").arg(root().join("include"));
        command.arg("-o").arg(&executable).arg(root().join(source));
        command.arg("-L").arg(library).arg("-lsquall");
        succeed(&mut command)?;
        Ok(executable)
    }

    /// Runs a program once.
    fn watch(&self, program: &Program, executable: &Path, library: &Path) -> Result<(), String> {
        let examples = root().join("examples/embedding");
        let mut command = Command::new(executable);
        command.args([examples.join("pipeline.ns"), examples.join("areas.sqasm")]);
        command.env("LD_LIBRARY_PATH", library).env(self.options.0, self.options.1);
        let output = succeed(&mut command)?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text.lines().last() == Some(program.last) {
            true => Ok(()),
            false => Err(format!("{} has printed\n{text}", program.source)),
        }
    }
}

/// Builds the library as it always is; answers the folder in which it is.
fn build_plain() -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["build", "--quiet", "--package", "squall-capi", "--package", "squall-cli"]);
    succeed(&mut command)?;
    Ok(target_folder().join("debug"))
}

/// Cargo's folder for what it builds.
fn target_folder() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

fn succeed(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(output),
        false => {
            let errors = String::from_utf8_lossy(&output.stderr);
            Err(format!("{command:?}: {}\n{errors}", output.status))
        }
    }
}
