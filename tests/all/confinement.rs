//! Tests of `--confine`: `tests/confinement/*.ns`, programs with the comments of `tests/language`. `main.rs` collects them
//! as trials. The programs get around the machine's own checks, mostly by C, and meet the system's.
//!
//! A system that cannot confine says so; these tests then pass. `tests/confinement/parts` has what the programs load.

use std::path::Path;

use libtest_mimic::Trial;

use crate::language;
use crate::process::Run;

pub fn trials() -> Vec<Trial> {
    let programs = crate::files_in("tests/confinement", "ns");
    let is_part = |path: &Path| path.parent().is_some_and(|folder| folder.ends_with("parts"));
    let programs = programs.into_iter().filter(|path| !is_part(path));
    let trials = programs.map(|path| {
        let name = crate::shown(&path);
        Trial::test(name, move || Ok(run(&path)?))
    });
    let commands = ["test", "bench --time=0.1 --warm-up=0.1"];
    let commands = commands.map(|command| {
        let name = format!("tests/confinement/parts/reads.ns ({command})");
        Trial::test(name, move || Ok(measure_or_test(command)?))
    });
    trials.chain(commands).collect()
}

/// Runs the tests, or the benchmarks, of a module that passes only if it is confined.
fn measure_or_test(command: &str) -> Result<(), String> {
    if !is_possible() {
        println!("skipped: this system cannot confine a program");
        return Ok(());
    }
    let words = format!("{command} --confine --allow-ffi tests/confinement/parts/reads.ns");
    let confined = Run::new(words.split(' ')).execute();
    let free = Run::new(words.replace("--confine ", "").split(' ')).execute();
    match (confined.exit, free.exit) {
        (0, 1) => Ok(()),
        exits => Err(format!("exit codes {exits:?}\n{}\n{}", confined.output, free.output)),
    }
}

fn run(path: &Path) -> Result<(), String> {
    if !is_possible() {
        println!("skipped: this system cannot confine a program");
        return Ok(());
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    language::run_program(&text, &crate::shown(path))
}

/// Whether this system can confine a program, with ports.
fn is_possible() -> bool {
    let result = Run::new(["eval", "--confine", "--allow-net=*:1", "1"]).execute();
    !result.error.contains("this system cannot confine")
}
