//! `squall test --schedules`: runs the same tests under many seeds, to find a schedule under which they fail. The
//! module `test` calls it if the option is given.
//!
//! A process has one machine, and a machine one seed, so each seed is a process: this command with `--seed` in place of
//! `--schedules`. As many processes run at once as there are cores. Seeds are taken in ascending order without gaps, so
//! the first failing seed is the same in every run.
//!
//! With `--json`, one more object follows those of the failing run: `event` is `"schedules"`, `passed` is a number,
//! `failed_seed` and `repeat` are null if no seed failed, and `microseconds`.

use std::ffi::{OsStr, OsString};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::arguments;
use crate::console::{complain, print, print_error};
use crate::exit::Exit;

/// The default time limit for each test.
const DEFAULT_LIMIT: &str = "--timeout=60";

/// Runs the tests under `count` seeds, up to the first seed under which they fail.
pub fn test_schedules(arguments: &arguments::Test, count: u64) -> Result<Exit, Exit> {
    let begin = Instant::now();
    let first = arguments.modules.machine.seed.unwrap_or(1);
    let search = Mutex::new(Search { next: first, end: first.saturating_add(count), failed: None });
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..cores).for_each(|_| _ = scope.spawn(|| search_on(&search)));
    });
    let search = search.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match search.failed {
        None => {
            report(arguments.modules.json, count, None, begin.elapsed());
            Ok(Exit::Success)
        }
        Some((seed, run)) => {
            failed(arguments.modules.json, seed - first, seed, run?, begin.elapsed())
        }
    }
}

/// The remaining seeds, and the least one that has failed so far.
struct Search {
    next: u64,
    end: u64,
    failed: Option<(u64, Result<Output, Exit>)>,
}

impl Search {
    /// The next seed to try; `None` once a seed has failed, since all smaller ones were taken.
    fn take(&mut self) -> Option<u64> {
        let seed = (self.failed.is_none() && self.next < self.end).then_some(self.next)?;
        self.next += 1;
        Some(seed)
    }

    fn note_failure(&mut self, seed: u64, run: Result<Output, Exit>) {
        if self.failed.as_ref().is_none_or(|(least, _)| seed < *least) {
            self.failed = Some((seed, run));
        }
    }
}

/// Tries seeds until none is left.
fn search_on(search: &Mutex<Search>) {
    let lock = || search.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    loop {
        // The lock is not held while the tests run.
        let Some(seed) = lock().take() else { return };
        let run = run(seed);
        if !run.as_ref().is_ok_and(|output| output.status.success()) {
            lock().note_failure(seed, run);
        }
    }
}

/// Runs the tests under a seed, in a process of their own.
fn run(seed: u64) -> Result<Output, Exit> {
    let program = std::env::current_exe().map_err(cannot_start)?;
    let mut command = Command::new(program);
    command.args(own_arguments_for(seed)).stdin(Stdio::null());
    command.output().map_err(cannot_start)
}

fn cannot_start(error: std::io::Error) -> Exit {
    complain(&format!("the tests cannot be started: {error}"));
    Exit::Failure
}

/// The command line of this process, for one seed.
fn own_arguments_for(seed: u64) -> Vec<OsString> {
    arguments_for(seed, std::env::args_os().skip(1))
}

/// The arguments after the program's name, for one seed. A test may then take long, but has a limit.
fn arguments_for(seed: u64, given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    const REPLACED: [&str; 2] = ["--schedules", "--seed"];
    let mut given = given;
    let mut kept: Vec<OsString> = given.next().into_iter().collect();
    kept.push(format!("--seed={seed}").into());
    let seed_at = kept.len();
    let mut is_limited = false;
    while let Some(argument) = given.next() {
        if argument == "--" {
            kept.push(argument);
            kept.extend(given);
            break;
        }
        let text = argument.to_string_lossy();
        let name = text.split('=').next().unwrap_or_default();
        is_limited |= name == "--timeout";
        match REPLACED.contains(&name) {
            true if text.contains('=') => {}
            true => _ = given.next(),
            false => kept.push(argument),
        }
    }
    if !is_limited {
        kept.insert(seed_at, DEFAULT_LIMIT.into());
    }
    kept
}

/// Shows a failed run. If the files hold no tests, the run itself says so; the seed does not matter then.
fn failed(json: bool, passed: u64, seed: u64, run: Output, time: Duration) -> Result<Exit, Exit> {
    print(&String::from_utf8_lossy(&run.stdout));
    print_error(&String::from_utf8_lossy(&run.stderr));
    let exit = match run.status.code() {
        Some(1) => Exit::Failure,
        Some(65) => return Err(Exit::Invalid),
        Some(66) => return Err(Exit::NoInput),
        code => {
            let how = code.map_or(run.status.to_string(), |code| format!("exit code {code}"));
            complain(&format!("the tests ended with {how}"));
            Exit::Internal
        }
    };
    report(json, passed, Some(seed), time);
    Ok(exit)
}

fn report(json: bool, passed: u64, failed: Option<u64>, time: Duration) {
    let repeat = failed.map(|seed| {
        let words = own_arguments_for(seed);
        words.iter().fold("squall".to_owned(), |line, word| line + " " + &quoted(word))
    });
    if json {
        let object = json!({
            "event": "schedules", "passed": passed, "failed_seed": failed, "repeat": repeat,
            "microseconds": time.as_micros() as u64,
        });
        return print(&format!("{object}\n"));
    }
    let seconds = time.as_secs_f64();
    print(&match (failed, repeat) {
        (Some(seed), Some(line)) => format!(
            "{passed} schedules passed, then seed {seed} failed; {seconds:.3} s\nrepeat it with\n  {line}\n"
        ),
        _ => format!("{passed} schedules passed; {seconds:.3} s\n"),
    });
}

/// A word as it is written in a shell.
fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |character: char| character.is_alphanumeric() || "-_=./:,+".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(seed: u64, given: &str) -> String {
        let given = given.split(' ').map(OsString::from);
        let words = arguments_for(seed, given);
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }

    #[test]
    fn a_seed_takes_the_place_of_schedules() {
        for (given, expected) in [
            ("test --schedules 9 a.ns b.ns", "test --seed=7 --timeout=60 a.ns b.ns"),
            ("test a.ns --schedules=9", "test --seed=7 --timeout=60 a.ns"),
            ("test --seed 3 --seed=4 -A a.ns", "test --seed=7 --timeout=60 -A a.ns"),
            ("test -- --seed a.ns", "test --seed=7 --timeout=60 -- --seed a.ns"),
            ("test --filter=a&b c.ns", "test --seed=7 --timeout=60 '--filter=a&b' c.ns"),
            ("test --timeout 5 c.ns", "test --seed=7 --timeout 5 c.ns"),
            ("test c.ns --timeout=5", "test --seed=7 c.ns --timeout=5"),
        ] {
            assert_eq!(line(7, given), expected);
        }
    }

    #[test]
    fn no_seed_is_left_out_and_the_least_failure_counts() {
        let mut search = Search { next: 5, end: 8, failed: None };
        assert_eq!((search.take(), search.take()), (Some(5), Some(6)));
        search.note_failure(6, Err(Exit::Failure));
        assert_eq!(search.take(), None);
        search.note_failure(5, Err(Exit::Failure));
        search.note_failure(7, Err(Exit::Failure));
        assert!(matches!(search.failed, Some((5, _))));
    }

    #[test]
    fn seeds_end() {
        let mut search = Search { next: u64::MAX - 1, end: u64::MAX, failed: None };
        assert_eq!((search.take(), search.take()), (Some(u64::MAX - 1), None));
    }
}
