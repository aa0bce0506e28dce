//! Tests of the compiler's output for modules: `tests/compile`. `main.rs` collects them as trials.
//!
//! Beside each `.ns` file is the expected output: the bytecode, in a file with the extension `.sqasm`, or the
//! diagnostics of a wrong module, in a file with the extension `.txt`. `BLESS=1` writes these files.

use std::path::Path;

use libtest_mimic::Trial;

use crate::compare_with_file;
use crate::process::Run;

pub fn trials() -> Vec<Trial> {
    crate::trials_in("tests/compile", "ns", run)
}

fn run(path: &Path) -> Result<(), String> {
    let run = Run::new(["check", "--dump=bytecode", &crate::shown(path)]);
    let result = run.execute();
    let (extension, actual) = match result.exit {
        0 => ("sqasm", result.error + &result.output),
        _ => ("txt", result.error),
    };
    compare_with_file(&path.with_extension(extension), &actual)
        .map_err(|problem| format!("{problem}\nrepeat with\n  {}", run.repetition()))
}
