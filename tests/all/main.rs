//! The integration tests of the whole project: one binary, one case per file.
//!
//! | folder | a case is | what is compared |
//! |---|---|---|
//! | `tests/language/<topic>/*.ns`, `examples/**/*.ns` | a program | see [`language`] |
//! | `examples/apps/*/tests.ns` | the tests of an application | see [`language`] |
//! | `tests/attacks/*.ns` | an attack | see [`attacks`] |
//! | `tests/confinement/*.ns` | a program that the system confines | see [`confinement`] |
//! | `tests/foreign/*.ns` | a program that calls C | see [`foreign`] |
//! | `tests/postgres/*.ns` | a program that uses a database | see [`postgres`] |
//! | `tests/compile/**/*.ns` | a module | see [`compile`] |
//! | `tests/bytecode/{run,link,verify,asm}/*.sqasm` | a module in text form | see [`bytecode`] |
//! | `tests/cli/*.txt` | command lines | see [`command_line`] |
//! | `colours` | one with a mistake on a terminal | whether there are colours |
//! | `debug_adapter` | sessions of an editor with the debugger | see [`debug_adapter`] |
//! | `tests/debugger/*.txt` | sessions with `squall debug` | that they are the same in all tiers: see [`debugger`] |
//! | `tests/mistakes/*.txt` | typical mistakes | what `squall check` says: see [`mistakes`] |
//! | `native_threads` | programs on several native threads | which ones these are, what reports say |
//! | `typed` | random programs of typed code | what they compute, with a plain evaluator: see [`typed`] |
//! | `terminal` | sessions of a REPL on a terminal | what keys do, Ctrl-C above all: see [`terminal`] |
//! | `language_server` | sessions of an editor with `squall lsp` | that it answers, and ends: see [`language_server`] |
//! | `layout` | the programs of the project | that `squall format` changes nothing: see [`layout`] |
//! | `limits` | programs as large as can be, and larger ones | that the former run, and the latter are refused: see [`limits`] |
//! | `observer` | a program that spins | that it can be looked at |
//! | `tests/observer/*.txt` | sessions with `squall run --observe` | see [`observing`] |
//! | `output` | programs that are busy, or ended by signals | that what they wrote can be read |
//! | `tests/packages/*.txt` | packages, their commands and runs | see [`packages`] |
//! | `profiles` | a program that is busy in one function | its profiles: see [`profiles`] |
//! | `reference` | `squall doc` for the modules of `tests/reference` | the pages: see [`reference`] |
//! | `sample` | some of the programs of `tests/language` under stress and with more seeds | see [`sample`] |
//! | `schedulers` | some of the programs of `tests/language` under each scheduler | see [`schedulers`] |
//! | `shortages` | what the system refuses: memory, disk, output, threads | exit codes and messages |
//! | `succession` | a program that makes sandboxes, one after the other | that they are freed: see [`succession`] |
//! | `telemetry` | a program that sends spans | that they are of the published schema: see [`telemetry`] |
//! | `traces` | a program with a bit of everything | the decoded traces of it: see [`traces`] |
//! | `tiers` | the programs of `tests/language` with everything compiled at once | see [`tiers`] |
//! | `README.md`, `docs/**/*.md` | transcripts and programs in the text | see [`documents`] |
//! | the programs above | many damaged forms of each | that they do no harm: see [`hostile`] |
//!
//! Every case runs `squall` in a process of its own, several at once. `BLESS=1` rewrites what is
//! compared. `SQUALL_STRESS=1` in the environment reaches the machines under test: collections at
//! every allocation, and tiny stacks. So does `SQUALL_SCHEDULER=NAME`. A case that fails says how to repeat it.

mod attacks;
mod bytecode;
mod colours;
mod command_line;
mod compile;
mod confinement;
mod debug_adapter;
mod debugger;
mod documents;
mod foreign;
mod hostile;
mod language;
mod language_server;
mod layout;
mod limits;
mod machine_code;
mod mistakes;
mod native_threads;
mod observer;
mod observing;
mod output;
mod packages;
mod postgres;
mod process;
mod profiles;
mod reference;
mod replays;
mod sample;
mod schedulers;
mod shortages;
mod succession;
mod telemetry;
mod terminal;
mod tiers;
mod traces;
mod typed;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = Vec::new();
    trials.extend(language::trials());
    trials.extend(attacks::trials());
    trials.extend(compile::trials());
    trials.extend(bytecode::trials());
    trials.extend(colours::trials());
    trials.extend(command_line::trials());
    trials.extend(confinement::trials());
    trials.extend(debug_adapter::trials());
    trials.extend(debugger::trials());
    trials.extend(documents::trials());
    trials.extend(foreign::trials());
    trials.extend(hostile::trials());
    trials.extend(language_server::trials());
    trials.extend(layout::trials());
    trials.extend(limits::trials());
    trials.extend(machine_code::trials());
    trials.extend(mistakes::trials());
    trials.extend(native_threads::trials());
    trials.extend(observer::trials());
    trials.extend(observing::trials());
    trials.extend(output::trials());
    trials.extend(packages::trials());
    trials.extend(postgres::trials());
    trials.extend(profiles::trials());
    trials.extend(reference::trials());
    trials.extend(sample::trials());
    trials.extend(replays::trials());
    trials.extend(schedulers::trials());
    trials.extend(shortages::trials());
    trials.extend(succession::trials());
    trials.extend(telemetry::trials());
    trials.extend(terminal::trials());
    trials.extend(tiers::trials());
    trials.extend(traces::trials());
    trials.extend(typed::trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The project's folder.
fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(2).expect("the crate is two levels deep").to_owned()
}

/// A path as the project's folder sees it.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The files with this extension in and below a folder of the project.
fn files_in(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&root().join(folder), extension, &mut files);
    files.sort();
    files
}

/// A test per file with this extension below a folder of the project, named by its path.
fn trials_in(folder: &str, extension: &str, run: fn(&Path) -> Result<(), String>) -> Vec<Trial> {
    let trial = |path: PathBuf| {
        let name = shown(&path.with_extension(""));
        let name = name.strip_prefix("tests/").unwrap_or(&name).to_owned();
        Trial::test(name, move || run(&path).map_err(Into::into))
    };
    files_in(folder, extension).into_iter().map(trial).collect()
}

fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            collect(&path, extension, files);
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
}

/// Compares with the content of a file, or with `BLESS` set writes the file.
fn compare_with_file(path: &Path, actual: &str) -> Result<(), String> {
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(path, actual)
            .map_err(|error| format!("{}: {error}", path.display()));
    }
    let expected = std::fs::read_to_string(path)
        .map_err(|error| format!("{}: {error}; BLESS=1 writes it", path.display()))?;
    process::compare(&path.display().to_string(), &expected, actual)
}
