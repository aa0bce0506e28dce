//! Tests of guest programs whose comments state their behaviour: `tests/language`, `examples`. `main.rs` collects them
//! as trials; other tests run programs with the functions here. Files of the examples with the name `tests.ns` are test
//! modules, which `squall test` runs, with the options in their `flags:` comment.
//!
//! | comment | meaning |
//! |---|---|
//! | `(* expect: text *)` | the next line of the standard output, in textual order |
//! | `(* expect exit: N *)` | the exit code; 0 if there is no such comment |
//! | `(* expect error: text *)` | the standard error output contains the text |
//! | `(* flags: --allow-files={scratch} … *)` | options of `squall run` |
//! | `(* arguments: a b *)` | arguments of the program |
//! | `(* environment: NAME=value *)` | a variable of the environment |
//! | `(* input: text *)` | a line of the standard input |
//! | `(* stress: N *)` | under stress, collect at one of N allocations only: the program allocates very often |
//! | `(* stress: none *)` | do not check the program under stress, where it behaves differently |
//! | `(* seeds: N *)` | the program behaves the same with each of the seeds 1 to N |
//! | `(* only seeds: N *)` | the same, but the program is not run without a seed: it relies on simulated time |
//!
//! `{scratch}` stands for a new folder. The standard output is compared line by line if there is an `expect:` comment,
//! or no comment about the exit code and the errors.

use std::path::Path;

use libtest_mimic::Trial;

use crate::process::{Run, compare, is_under_stress};

pub fn trials() -> Vec<Trial> {
    let mut trials = crate::trials_in("tests/language", "ns", run);
    trials.extend(crate::trials_in("examples", "ns", |path| match is_test_module(path) {
        true => run_tests(path),
        false if is_library(path) => Ok(()),
        false => run(path),
    }));
    trials
}

/// Whether a file of the examples belongs to a package without being the program: the programs that use it are its tests.
fn is_library(path: &Path) -> bool {
    let has_manifest = path.parent().is_some_and(|folder| folder.join("squall.toml").exists());
    has_manifest && path.file_name().is_some_and(|name| name != "main.ns")
}

/// Whether a file of the examples has the tests of another one.
fn is_test_module(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "tests.ns")
}

/// Runs the tests of a module, with the options in its comments. All must pass.
fn run_tests(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let expectations = Expectations::of(&text);
    if expectations.is_under_stress && expectations.avoids_stress {
        return Ok(());
    }
    let mut words = vec!["test".to_owned()];
    words.extend(expectations.flags);
    words.push(crate::shown(path));
    let run = Run::new(words);
    let result = run.execute();
    match result.exit {
        0 => Ok(()),
        _ => Err(format!("{}{}\nrepeat with\n  {}", result.output, result.error, run.repetition())),
    }
}

fn run(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    run_program(&text, &crate::shown(path))
}

/// Runs a program once for each of its schedules, and compares its behaviour with its comments.
pub fn run_program(text: &str, path: &str) -> Result<(), String> {
    Expectations::of(text).judge_all(path)
}

/// Runs a program under a scheduler, and compares its behaviour with its comments. It does nothing if the program runs
/// with seeds only.
pub fn run_under(text: &str, path: &str, scheduler: &str) -> Result<(), String> {
    let mut expectations = Expectations::of(text);
    expectations.seeds = 0;
    expectations.flags.push(format!("--scheduler={scheduler}"));
    expectations.judge_all(path)
}

/// Runs a program under stress.
pub fn run_under_stress(text: &str, path: &str) -> Result<(), String> {
    let mut expectations = Expectations::of(text);
    expectations.environment.push(("SQUALL_STRESS".to_owned(), "1".to_owned()));
    expectations.is_under_stress = true;
    expectations.judge_all(path)
}

/// Runs a program without machine code.
pub fn run_interpreted(text: &str, path: &str) -> Result<(), String> {
    let mut expectations = Expectations::of(text);
    expectations.flags.push("--jit=off".to_owned());
    expectations.judge_all(path)
}

/// Runs a program with everything compiled at once, and again with chaos in machine code, which is hardened then.
pub fn run_compiled(text: &str, path: &str, chaos: u64) -> Result<(), String> {
    let mut expectations = Expectations::of(text);
    let set = |name: &str, value: String| (name.to_owned(), value);
    expectations.environment.push(set("SQUALL_JIT_EAGER", "1".to_owned()));
    let seed = expectations.schedules().next().flatten();
    expectations.judge_with(path, seed)?;
    expectations.environment.push(set("SQUALL_JIT_CHAOS", chaos.to_string()));
    expectations.environment.push(set("SQUALL_HARDEN", "always".to_owned()));
    expectations.judge_with(path, seed)
}

/// Whether a program behaves the same with every seed.
pub fn has_seeds(text: &str) -> bool {
    Expectations::of(text).seeds > 0
}

/// Runs a program once with a seed.
pub fn run_with_seed(text: &str, path: &str, seed: u64) -> Result<(), String> {
    Expectations::of(text).judge_with(path, Some(seed))
}

/// The number of seeds for a machine under stress, which is slow.
const SEEDS_UNDER_STRESS: u64 = 2;

#[derive(Default)]
struct Expectations {
    output: Vec<String>,
    exit: i32,
    errors: Vec<String>,
    flags: Vec<String>,
    arguments: Vec<String>,
    input: String,
    environment: Vec<(String, String)>,
    stress: Option<u32>,
    avoids_stress: bool,
    seeds: u64,
    needs_seed: bool,
    is_under_stress: bool,
}

impl Expectations {
    fn of(text: &str) -> Expectations {
        let is_under_stress = is_under_stress();
        let mut expectations = Expectations { is_under_stress, ..Expectations::default() };
        let comments = text.split("(*").skip(1);
        for comment in comments.filter_map(|rest| rest.split("*)").next()) {
            let words = |value: &str| value.split_whitespace().map(str::to_owned).collect();
            let Some((key, value)) = comment.split_once(':') else { continue };
            let value = value.strip_prefix(' ').unwrap_or(value);
            let value = value.strip_suffix(' ').unwrap_or(value);
            match key.trim() {
                "expect" => expectations.output.push(value.to_owned()),
                "expect exit" => expectations.exit = value.trim().parse().unwrap_or(-1),
                "expect error" => expectations.errors.push(value.to_owned()),
                "flags" => expectations.flags = words(value),
                "arguments" => expectations.arguments = words(value),
                "environment" => {
                    let pair = value.trim().split_once('=');
                    let pair = pair.map(|(name, value)| (name.to_owned(), value.to_owned()));
                    expectations.environment.extend(pair);
                }
                "input" => expectations.input += &format!("{value}\n"),
                "stress" if value.trim() == "none" => expectations.avoids_stress = true,
                "stress" => expectations.stress = value.trim().parse().ok(),
                "seeds" => expectations.seeds = value.trim().parse().unwrap_or(0),
                "only seeds" => {
                    expectations.seeds = value.trim().parse().unwrap_or(1);
                    expectations.needs_seed = true;
                }
                _ => {}
            }
        }
        expectations
    }

    /// The seeds to run with. `None` stands for a run on several workers.
    fn schedules(&self) -> impl Iterator<Item = Option<u64>> {
        let most = if self.is_under_stress { SEEDS_UNDER_STRESS } else { u64::MAX };
        let without_seed = (!self.needs_seed).then_some(None);
        without_seed.into_iter().chain((1..=self.seeds.min(most)).map(Some))
    }

    /// Runs the program once for each of its schedules.
    fn judge_all(&self, path: &str) -> Result<(), String> {
        self.schedules().try_for_each(|seed| self.judge_with(path, seed))
    }

    /// Runs the program once, with a seed or on several workers.
    fn judge_with(&self, path: &str, seed: Option<u64>) -> Result<(), String> {
        if self.is_under_stress && self.avoids_stress {
            return Ok(());
        }
        let rare = self.stress.filter(|_| self.is_under_stress);
        let mut words = vec!["run".to_owned()];
        words.extend(self.flags.iter().cloned());
        words.extend(rare.map(|every| format!("--gc-stress={every}")));
        words.extend(seed.map(|seed| format!("--seed={seed}")));
        words.push(path.to_owned());
        words.extend(self.arguments.iter().cloned());
        let mut run = Run::new(words);
        run.input = self.input.clone();
        run.environment = self.environment.clone();
        self.judge(&run)
    }

    /// Runs the program. If its behaviour differs, the error says how to repeat the run.
    fn judge(&self, run: &Run) -> Result<(), String> {
        let result = run.execute();
        self.check(run, &result).map_err(|problem| {
            let (error, again) = (&result.error, run.repetition());
            format!("{problem}\nstandard error:\n{error}\nrepeat with\n  {again}")
        })
    }

    fn check(&self, run: &Run, result: &crate::process::Result) -> Result<(), String> {
        let looks_at_output = !self.output.is_empty() || self.errors.is_empty();
        if looks_at_output {
            let expected: String = self.output.iter().map(|line| format!("{line}\n")).collect();
            compare("the output", &expected, &run.scratch.conceal(&result.output))?;
        }
        if let Some(missing) = self.errors.iter().find(|text| !result.error.contains(*text)) {
            return Err(format!("the standard error output does not contain\n  {missing}"));
        }
        match result.exit == self.exit {
            true => Ok(()),
            false => Err(format!("the exit code is {}, not {}", result.exit, self.exit)),
        }
    }
}
