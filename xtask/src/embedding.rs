//! `cargo xtask embedding`: tests the library for C under sanitizers. `main` calls [`run`].
//!
//! The command compiles the examples in C and C++ and the tests of `crates/capi` with the sanitizers for addresses and
//! for undefined behaviour, and runs them with the usual library. All native memory comes from the sanitizer then, so
//! memory that is freed twice or in part is found on both sides; wrong accesses are found in C and C++.
//! With `--toolchain nightly`, the library is built with the sanitizer for addresses, too, which also finds wrong
//! accesses in Rust. Guest objects are in the collector's own pages, which no sanitizer watches. These pages do not
//! overlap with the shadow memory of the sanitizer for addresses.
//!
//! The sanitizer for data races reserves all addresses outside of its own, so a machine does not start with it. It runs
//! the tests that need no machine: values, lists, errors and options, used by many native threads. The library is never
//! built with this sanitizer, because Rust's standard library would have to be built with it, too.
//!
//! Each program runs several times, because the interleaving of native threads differs from run to run.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::builds::{output_of, sanitize, special_folder, target_folder};
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

/// A program in C or C++, and the output that it must have.
struct Program {
    source: &'static str,
    /// The files that are its arguments.
    files: &'static [&'static str],
    /// The last line of its output.
    last: &'static str,
}

const fn program(source: &'static str, last: &'static str) -> Program {
    let files = &["examples/embedding/pipeline.ns", "examples/embedding/areas.sqasm"];
    Program { source, files, last }
}

/// The program that looks at what leaves a sandbox.
const CELLS: Program = Program {
    source: "crates/capi/tests/cells.c",
    files: &["tests/attacks/guests/cells.ns"],
    last: "closure written: plain refused",
};

/// A sanitizer, and the programs that run with it.
struct Sanitizer {
    /// The compilers' name for it.
    name: &'static str,
    /// Whether it can watch a library that contains the usual build of Rust's standard library.
    watches_library: bool,
    /// Further sanitizers for code in C.
    others: &'static str,
    /// Its options: a variable of the environment and the value.
    options: (&'static str, &'static str),
    programs: &'static [Program],
}

const SANITIZERS: [Sanitizer; 2] = [
    Sanitizer {
        name: "address",
        watches_library: true,
        others: ",undefined",
        // Native memory that only guest objects refer to is not a leak.
        options: ("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=0"),
        programs: &[
            program("crates/capi/tests/border.c", "done"),
            program("crates/capi/tests/hostile.c", "done"),
            program("crates/capi/tests/threads.c", "done"),
            CELLS,
            program("examples/embedding/embed.c", "second machine: refused"),
            program("examples/embedding/embed.cpp", "thrown: HostError: area: not today"),
        ],
    },
    Sanitizer {
        name: "thread",
        watches_library: false,
        others: "",
        // The sanitizer does not know Rust's means of synchronisation.
        options: ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1"),
        programs: &[program("crates/capi/tests/border.c", "done")],
    },
];

/// Builds and runs all programs. Answers whether no sanitizer has found a mistake.
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

    /// Builds the library. Answers its folder.
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

    /// Builds the library with the sanitizer. Answers its folder.
    fn build_watched(&self, toolchain: &str) -> Result<PathBuf, String> {
        let folder = special_folder(self.name);
        let mut command = Command::new("rustup");
        command.args(["run", toolchain, "cargo", "build", "--quiet", "--package", "squall-capi"]);
        command.arg("--target-dir").arg(&folder).current_dir(root());
        let target = sanitize(&mut command, self.name);
        output_of(&mut command)?;
        Ok(folder.join(target).join("debug"))
    }

    /// Compiles a program. Answers its path.
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
        output_of(&mut command)?;
        Ok(executable)
    }

    /// Runs a program once.
    fn watch(&self, program: &Program, executable: &Path, library: &Path) -> Result<(), String> {
        let mut command = Command::new(executable);
        command.args(program.files.iter().map(|name| root().join(name)));
        command.env("LD_LIBRARY_PATH", library).env(self.options.0, self.options.1);
        let output = output_of(&mut command)?;
        let text = String::from_utf8_lossy(&output.stdout);
        match text.lines().last() == Some(program.last) {
            true => Ok(()),
            false => Err(format!("{} has printed\n{text}", program.source)),
        }
    }
}

/// Builds the usual library. Answers its folder.
fn build_plain() -> Result<PathBuf, String> {
    let mut command = cargo();
    command.args(["build", "--quiet", "--package", "squall-capi", "--package", "squall-cli"]);
    output_of(&mut command)?;
    Ok(target_folder()?.join("debug"))
}
