//! Tests of a sample of the long commands in every run: programs under stress, and programs with seeds. `main.rs`
//! collects them as trials.
//!
//! Some programs always run under stress: at least one for each part of the runtime that holds references across
//! collections. If the environment has a number in `SQUALL_SAMPLE`, this number draws more programs to run under
//! stress, and programs with the seeds to run them with, beyond those in their own comments. `cargo xtask ci` draws
//! and prints another number each time; the same number draws the same sample again.

use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use squall_fuzzing::choices::Choices;

use crate::language;
use crate::process::is_under_stress;

/// The programs that always run under stress.
const SELECTION: [&str; 28] = [
    "actors/basics",
    "actors/ordering",
    "arrays/basics",
    "blocks/returns",
    "bytecode/channels",
    "deadlocks/lost",
    "dictionaries/basics",
    "doubles/text",
    "exceptions/ensure",
    "exceptions/handling",
    "foreign/callbacks",
    "foreign/structures",
    "integers/large",
    "isolation/transfer",
    "mirrors/objects",
    "native_threads/mixed",
    "processes/choice",
    "processes/poison",
    "promises/groups",
    "promises/order",
    "strings/unicode",
    "threading/termination",
    "threading/unwinding",
    "tracing/caches",
    "transactions/effects",
    "transactions/retry",
    "values/values",
    "vectors/sorting",
];

/// The number of programs that are drawn to run under stress, and the number to run with a seed.
const DRAWN: [usize; 2] = [30, 60];

/// The limit of the seeds that are drawn.
const SEEDS: usize = 1_000_000;

pub fn trials() -> Vec<Trial> {
    if is_under_stress() {
        return Vec::new();
    }
    let mut trials: Vec<Trial> = SELECTION.map(|program| stressed(&path_of(program))).into();
    trials.extend(number().into_iter().flat_map(drawn));
    trials
}

/// The number that draws, if there is one.
pub fn number() -> Option<u64> {
    std::env::var("SQUALL_SAMPLE").ok()?.parse().ok()
}

/// The trials that a number draws.
fn drawn(number: u64) -> Vec<Trial> {
    let mut choices = Choices::Seed(number);
    let programs = crate::files_in("tests/language", "ns");
    let selected = SELECTION.map(path_of);
    let others: Vec<&PathBuf> = programs.iter().filter(|path| !selected.contains(path)).collect();
    let seeded: Vec<&PathBuf> =
        programs.iter().filter(|path| language::has_seeds(&text_of(path))).collect();
    let [more_stress, more_seeds] = DRAWN;
    let mut trials: Vec<Trial> =
        take(&mut choices, others, more_stress).into_iter().map(|path| stressed(path)).collect();
    for path in take(&mut choices, seeded, more_seeds) {
        trials.push(with_seed(path, choices.below(SEEDS) as u64 + 1));
    }
    trials
}

/// A number of different programs.
fn take<'p>(
    choices: &mut Choices<'_>,
    mut programs: Vec<&'p PathBuf>,
    count: usize,
) -> Vec<&'p PathBuf> {
    let count = count.min(programs.len());
    (0..count).map(|_| programs.swap_remove(choices.below(programs.len()))).collect()
}

fn stressed(path: &Path) -> Trial {
    let (name, path) = (name_of(path), path.to_owned());
    Trial::test(format!("sample/stress/{name}"), move || {
        Ok(language::run_under_stress(&text_of(&path), &crate::shown(&path))?)
    })
}

fn with_seed(path: &Path, seed: u64) -> Trial {
    let (name, path) = (name_of(path), path.to_owned());
    Trial::test(format!("sample/seed {seed}/{name}"), move || {
        Ok(language::run_with_seed(&text_of(&path), &crate::shown(&path), seed)?)
    })
}

fn path_of(program: &str) -> PathBuf {
    crate::root().join("tests/language").join(program).with_extension("ns")
}

/// The program's path below `tests`.
pub fn name_of(path: &Path) -> String {
    let name = crate::shown(&path.with_extension(""));
    name.strip_prefix("tests/").unwrap_or(&name).to_owned()
}

/// The text of a program; empty if the file cannot be read, in which case the test fails.
pub fn text_of(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}
