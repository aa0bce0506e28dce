//! Tests of `squall run --record=FILE` and `squall replay FILE`: a replay does what the recorded run did on two workers, and
//! what is no recording of the program is refused. `main.rs` collects the tests as trials.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::process::{Result as Outcome, Run};

/// Programs whose whole run can be recorded, with their options before and arguments behind.
fn programs() -> impl Iterator<Item = &'static str> {
    let lines = include_str!("../replays/programs.txt").lines();
    lines.filter(|line| !line.starts_with('#'))
}

/// A short one.
const RACE: &str = "tests/replays/race.ns";

pub fn trials() -> Vec<Trial> {
    let repeats = programs().map(|words| {
        let program = words.split(' ').find(|word| word.ends_with(".ns")).unwrap_or_default();
        Trial::test(format!("replays/of/{program}"), move || repeats(words))
    });
    let others = [
        Trial::test("replays/refuse_changed_recordings", refuses_changes),
        Trial::test("replays/refuse_another_program", refuses_another_program),
        Trial::test("replays/report_what_differs", reports_what_differs),
        Trial::test("replays/of_what_was_cut_say_so", says_that_it_was_cut),
        Trial::test("replays/of_deadlocks_are_named", names_deadlocks),
        Trial::test("replays/of_runs_that_c_has_ended", names_exits_of_c),
        Trial::test("replays/of_runs_that_a_signal_has_ended", names_ends_by_signals),
        Trial::test("replays/write_no_trace_of_the_run", keeps_the_trace),
        Trial::test("replays/of_killed_runs", repeats_killed_runs),
        Trial::test("replays/of_other_models_are_refused", refuses_models),
    ];
    repeats.chain(others).collect()
}

/// Records a program with options and arguments; answers the run, the place of the recording, and what happened.
fn record(words: &str) -> (Run, PathBuf, Outcome) {
    let options = ["run", "--workers=2", "--record={scratch}/r.sqr"].into_iter();
    let run = Run::new(options.chain(words.split(' ')));
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

fn repeats(words: &str) -> Result<(), Failed> {
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
    let (_run, path, _) = record(RACE);
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
    let (_run, path, recorded) = record(RACE);
    let bytes = fs::read(&path)?;
    fs::write(&path, &bytes[..bytes.len() - 1])?;
    expect(&replay(&path), recorded.exit, "this recording was cut")
}

/// A recording whose events were changed, and whose check sums are right, is another one: the replay says where it differs, or
/// ends as it did, and is no crash of the machine.
fn reports_what_differs() -> Result<(), Failed> {
    const CHANGES: usize = 30;
    let (run, path, recorded) = record("tests/replays/transactions.ns");
    let bytes = fs::read(&path)?;
    let mut differences = 0;
    for change in 0..CHANGES {
        fs::write(&path, changed(&bytes, change, CHANGES))?;
        let replayed = replay(&path);
        let is_different = replayed.error.contains("differs from the recording");
        differences += usize::from(is_different);
        let is_same = replayed.exit == recorded.exit && replayed.output == recorded.output;
        if !is_different && !is_same && replayed.exit != 65 {
            let repetition = run.repetition();
            return Err(
                format!("change {change}: {replayed:?}\nrecord with\n  {repetition}").into()
            );
        }
    }
    match differences {
        0 => Err("no difference was found".into()),
        _ => Ok(()),
    }
}

/// The recording with a bit changed in its longest block of events, at one of so many places, and the block's check sum.
fn changed(bytes: &[u8], place: usize, places: usize) -> Vec<u8> {
    const HEAD: usize = 9;
    let mut blocks = Vec::new();
    let mut at = 8;
    while let Some(length) = bytes.get(at..at + 4) {
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        blocks.push((length, at, blocks.len() as u32));
        at += HEAD + length;
    }
    let (length, at, number) = *blocks.iter().max().unwrap();
    let mut changed = bytes.to_vec();
    changed[at + HEAD + length * place / places] ^= 1;
    let mut checked = number.to_le_bytes().to_vec();
    checked.push(changed[at + 4]);
    checked.extend(&changed[at + HEAD..at + HEAD + length]);
    changed[at + 5..at + HEAD].copy_from_slice(&crc(&checked).to_le_bytes());
    changed
}

/// The check sum of bytes (CRC-32, ISO 3309).
fn crc(bytes: &[u8]) -> u32 {
    let step = |sum: u32| sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 };
    let add = |sum: u32, byte: &u8| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum));
    !bytes.iter().fold(!0, add)
}

fn names_deadlocks() -> Result<(), Failed> {
    let (_run, path, recorded) = record("tests/replays/deadlock.ns");
    expect(&recorded, 1, "repeats this run")?;
    let replayed = replay(&path);
    match recorded.output == replayed.output {
        true => expect(&replayed, 1, "deadlock"),
        false => Err(format!("{recorded:?}\n{replayed:?}").into()),
    }
}

fn names_exits_of_c() -> Result<(), Failed> {
    let (_run, path, recorded) = record("--allow-ffi tests/replays/exits.ns");
    expect(&recorded, 3, "has ended elsewhere")?;
    let replayed = replay(&path);
    match recorded.output == replayed.output {
        true => expect(&replayed, replayed.exit, "this recording was cut"),
        false => Err(format!("{recorded:?}\n{replayed:?}").into()),
    }
}

/// A replay leaves the trace of the run alone, and writes its own if it is asked for.
fn keeps_the_trace() -> Result<(), Failed> {
    let (run, path, recorded) = record(&format!("--trace={{scratch}}/t.pftrace {RACE}"));
    let trace = run.scratch.path().join("t.pftrace");
    let bytes = fs::read(&trace)?;
    fs::write(&trace, b"kept")?;
    expect(&replay(&path), recorded.exit, "")?;
    if bytes.is_empty() || fs::read(&trace)? != b"kept" {
        return Err("the replay has written the trace of the run".into());
    }
    let (_run, path, recorded) = record(RACE);
    let mut again = Run::new(["replay", &path.display().to_string()]);
    let own = again.scratch.path().join("o.pftrace");
    again.environment.push(("SQUALL_TRACE".to_owned(), own.display().to_string()));
    expect(&again.execute(), recorded.exit, "")?;
    match fs::read(&own)?.is_empty() {
        false => Ok(()),
        true => Err("the replay has no trace of its own".into()),
    }
}

/// A run that is recorded, and waits for its input.
struct Idle {
    process: Child,
    output: BufReader<ChildStdout>,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Idle {
    /// Begins one, which has written what it writes before.
    fn begin() -> Result<Idle, Failed> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("r.sqr");
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        let record = format!("--record={}", path.display());
        command.args(["run", "--workers=2", &record, "tests/replays/idle.ns"]);
        command.current_dir(crate::root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let mut output = BufReader::new(process.stdout.take().ok_or("it is piped")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        match line.as_str() {
            "55\n" => Ok(Idle { process, output, path, _folder: folder }),
            _ => Err(format!("it has written {line:?}").into()),
        }
    }

    /// Whether a replay comes as far as the run.
    fn is_complete(&self) -> Result<bool, Failed> {
        let replayed = replay(&self.path);
        expect(&replayed, replayed.exit, "this recording was cut")?;
        Ok(replayed.output == "55\n")
    }

    /// Sends a signal; answers the error output and the signal that has ended the process.
    fn end(&mut self, signal: Signal) -> Result<(String, Option<i32>), Failed> {
        kill(Pid::from_raw(self.process.id() as i32), signal)?;
        let mut error = String::new();
        self.output.read_to_string(&mut error)?;
        self.process.stderr.take().ok_or("it is piped")?.read_to_string(&mut error)?;
        Ok((error, self.process.wait()?.signal()))
    }
}

fn names_ends_by_signals() -> Result<(), Failed> {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let mut run = Idle::begin()?;
        let (error, ended_by) = run.end(signal)?;
        let is_named =
            error.trim_end() == format!("squall replay {} repeats this run", run.path.display());
        if !is_named || ended_by != Some(signal as i32) || !run.is_complete()? {
            return Err(format!("{signal}: {error:?}, ended by {ended_by:?}").into());
        }
    }
    Ok(())
}

fn repeats_killed_runs() -> Result<(), Failed> {
    /// How often one looks.
    const MOST: usize = 500;
    let mut run = Idle::begin()?;
    for _ in 0..MOST {
        if run.is_complete()? {
            run.end(Signal::SIGKILL)?;
            return match run.is_complete()? {
                true => Ok(()),
                false => Err("the recording has lost something".into()),
            };
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err("the recording does not come up with the run".into())
}

fn refuses_models() -> Result<(), Failed> {
    let (_run, _, several) = record("tests/language/transactions/strands.ns");
    let text = "this run cannot be recorded: it uses transactions that several strands execute";
    expect(&several, 1, text)?;
    let seeded = Run::new(["run", "--seed=1", "--record={scratch}/r.sqr", RACE]);
    expect(&seeded.execute(), 2, "--record does not go with --seed")
}
