//! Tests of programs that call the project's own C code: `tests/foreign/*.ns`, which have the same comments as
//! `tests/language`. `main.rs` collects them as trials.
//!
//! `{library}` stands for a shared library of `crates/foreign/tests/all/library.c` and the C files here. The platform's
//! C compiler, or `CC`, makes it. Without a compiler, these tests say so and pass. `SQUALL_FOREIGN_CFLAGS` contains
//! options for the compiler.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use libtest_mimic::Trial;

use crate::language;

/// The sources of the library.
const SOURCES: [&str; 3] =
    ["crates/foreign/tests/all/library.c", "tests/foreign/threads.c", "tests/foreign/names.c"];

pub fn trials() -> Vec<Trial> {
    crate::trials_in("tests/foreign", "ns", run)
}

fn run(path: &Path) -> Result<(), String> {
    let Some(library) = library()? else {
        println!("skipped: there is no C compiler");
        return Ok(());
    };
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let text = text.replace("{library}", &library.display().to_string());
    language::run_program(&text, &crate::shown(path))
}

/// The path of the library, which is made once; nothing without a compiler.
fn library() -> Result<Option<PathBuf>, String> {
    static LIBRARY: OnceLock<Result<Option<PathBuf>, String>> = OnceLock::new();
    LIBRARY.get_or_init(build).clone()
}

fn build() -> Result<Option<PathBuf>, String> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if Command::new(&compiler).arg("--version").output().is_err() {
        return Ok(None);
    }
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libsqualltest.so");
    let mut command = Command::new(&compiler);
    command.args(["-shared", "-fPIC", "-pthread", "-std=gnu11", "-O1", "-g", "-o"]).arg(&library);
    command.args(SOURCES.map(|source| crate::root().join(source)));
    let flags = std::env::var("SQUALL_FOREIGN_CFLAGS").unwrap_or_default();
    let output = command.args(flags.split_whitespace()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(Some(library)),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
