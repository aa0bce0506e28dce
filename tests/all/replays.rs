//! Tests of `squall run --record=FILE` and `squall replay FILE`: a replay does what the recorded run did on two workers, and
//! what is no recording of the program is refused. `main.rs` collects the tests as trials.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};

use crate::process::{Result as Outcome, Run};

/// Programs whose whole run can be recorded, with their options before and arguments behind.
const PROGRAMS: &[&[&str]] = &[
    &["tests/replays/race.ns"],
    &["tests/replays/processes.ns"],
    &["tests/replays/threads.ns"],
    &["examples/bank.ns"],
    &["examples/clearing.ns"],
    &["examples/primes.ns"],
    &["examples/sieve.ns"],
    &["tests/language/actors/errors.ns"],
    &["tests/language/actors/ordering.ns"],
    &["tests/language/actors/timers.ns"],
    &["tests/language/isolation/promises.ns"],
    &["tests/language/isolation/resolvers.ns"],
    &["tests/language/promises/basics.ns"],
    &["tests/language/promises/chains.ns"],
    &["tests/language/promises/groups.ns"],
    &["tests/language/promises/order.ns"],
    &["tests/language/processes/values.ns"],
    &["tests/language/threading/mutexes.ns"],
    &["tests/language/threading/semaphores.ns"],
    &["--allow-files={scratch}", "tests/language/files/fifo.ns", "{scratch}"],
    &["--allow-files={scratch}", "tests/language/files/paths.ns", "{scratch}"],
    &["--allow-files={scratch}", "tests/language/files/streams.ns", "{scratch}"],
    &["--allow-net=127.0.0.1", "tests/language/net/handing_over.ns"],
    &["--allow-net=127.0.0.1", "tests/language/net/secure.ns"],
    &["--allow-net=127.0.0.1", "tests/language/http/requests.ns"],
    &["--allow-processes", "tests/language/os/processes.ns"],
    &["--allow-processes", "tests/language/os/signals.ns"],
    &["--allow-ffi", "tests/language/foreign/blocking.ns"],
    &["--allow-ffi", "tests/language/foreign/structures.ns"],
    &["--allow-ffi", "tests/language/sqlite/rows.ns"],
];

pub fn trials() -> Vec<Trial> {
    let name = |words: &[&'static str]| words.iter().find(|word| word.ends_with(".ns")).copied();
    let repeats = PROGRAMS.iter().map(|words| {
        let program = name(words).unwrap_or_default();
        Trial::test(format!("replays/of/{program}"), move || repeats(words))
    });
    let others = [
        Trial::test("replays/refuse_changed_recordings", refuses_changes),
        Trial::test("replays/refuse_another_program", refuses_another_program),
        Trial::test("replays/of_what_was_cut_say_so", says_that_it_was_cut),
        Trial::test("replays/of_other_models_are_refused", refuses_models),
    ];
    repeats.chain(others).collect()
}

/// Records a program with options and arguments; answers the run, the place of the recording, and what happened.
fn record(words: &[&str]) -> (Run, PathBuf, Outcome) {
    let run =
        Run::new(["run", "--workers=2", "--record={scratch}/r.sqr"].iter().chain(words).copied());
    let outcome = run.execute();
    let path = run.scratch.path().join("r.sqr");
    (run, path, outcome)
}

fn replay(path: &Path) -> Outcome {
    Run::new(["replay", &path.display().to_string()]).execute()
}

/// Fails unless the error output has this text, and the exit code is this one.
fn expect(outcome: &Outcome, exit: i32, text: &str) -> Result<(), Failed> {
    match outcome.exit == exit && outcome.error.contains(text) {
        true => Ok(()),
        false => Err(format!("expected exit code {exit} and {text:?}, got {outcome:?}").into()),
    }
}

fn repeats(words: &[&str]) -> Result<(), Failed> {
    let (run, path, recorded) = record(words);
    let replayed = replay(&path);
    match recorded.exit == replayed.exit && recorded.output == replayed.output {
        true => Ok(()),
        false => Err(format!(
            "recorded: {recorded:?}\nreplayed: {replayed:?}\nrecord it with\n  {}",
            run.repetition()
        )
        .into()),
    }
}

fn refuses_changes() -> Result<(), Failed> {
    let (_run, path, _) = record(PROGRAMS[0]);
    let bytes = fs::read(&path)?;
    for place in [bytes.len() / 2, bytes.len() - 1] {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        fs::write(&path, changed)?;
        expect(&replay(&path), 65, "this block was changed")?;
    }
    fs::write(&path, "class Race")?;
    expect(&replay(&path), 65, "at byte 0: this is no recording")
}

fn refuses_another_program() -> Result<(), Failed> {
    let run = Run::new(["run", "--record={scratch}/r.sqr", "{scratch}/p.ns"]);
    let (program, path) = (run.scratch.path().join("p.ns"), run.scratch.path().join("r.sqr"));
    let text = "class P usingPlatform: p = Value ()( public main: args = ( 'a' println. ^ 0 ) )\n";
    fs::write(&program, text)?;
    expect(&run.execute(), 0, "")?;
    expect(&replay(&path), 0, "")?;
    fs::write(&program, text.replace("'a'", "'b'"))?;
    expect(&replay(&path), 65, "has changed since it was recorded")
}

fn says_that_it_was_cut() -> Result<(), Failed> {
    let (_run, path, recorded) = record(PROGRAMS[0]);
    let bytes = fs::read(&path)?;
    fs::write(&path, &bytes[..bytes.len() - 1])?;
    expect(&replay(&path), recorded.exit, "this recording was cut")
}

fn refuses_models() -> Result<(), Failed> {
    let (_run, _, transactions) = record(&["examples/treasury.ns"]);
    expect(&transactions, 1, "this run cannot be recorded: it uses transactions")?;
    let seeded = Run::new(["run", "--seed=1", "--record={scratch}/r.sqr", PROGRAMS[0][0]]);
    expect(&seeded.execute(), 2, "--record does not go with --seed")
}
