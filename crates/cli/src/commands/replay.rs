//! `squall run --record` and `squall replay`: writes a recording of a run, and repeats the run. `run` and `commands` call this
//! module.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches};
use squall::events::replay::{End, Head, LENGTH_OF_MAGIC, Recording, Sink, Writer, digest};
use squall::{Options, Player, Recorder, Replays};

use super::run;
use crate::arguments::{Arguments, Command, Replay, Run, Trace};
use crate::console::{complain, ignored_signals, print_error};
use crate::exit::Exit;
use crate::packages::Program;

/// The seed of the schedule of a replay: any would do. So a replay repeats itself to the instruction, as the debugger needs it.
const SEED: u64 = 0;

/// A run that is recorded, or repeats a recording.
pub struct Taped {
    path: String,
    replays: &'static Replays,
    key: u64,
    /// The end of the run, in a recording that has one.
    end: Option<End>,
}

/// The file of a recording that is made.
struct Tape(File);

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl Sink for Tape {
    fn cut(&mut self, length: u64) -> std::io::Result<()> {
        self.0.set_len(length)?;
        self.0.seek(SeekFrom::Start(length)).map(drop)
    }
}

/// `squall replay`.
pub fn replay(arguments: &Replay) -> Result<Exit, Exit> {
    let (recording, run) = read(&arguments.recording)?;
    let path = arguments.recording.display().to_string();
    run::run_taped(&Run { debugging: arguments.debugging.clone(), ..run }, Some((path, recording)))
}

/// The file of the program of a recording, for its debugger.
pub fn program_of(path: &Path) -> Result<String, Exit> {
    let (_, run) = read(path)?;
    Ok(Program::find(&run.program, &run.packages)?.input.path)
}

/// The bytes of a file, or only the first ones if they are not those of a recording: some files have no end.
fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let (mut file, mut bytes) = (File::open(path)?, Vec::new());
    Read::by_ref(&mut file).take(LENGTH_OF_MAGIC as u64).read_to_end(&mut bytes)?;
    if Recording::is_begun_by(&bytes) {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// A recording, and the command line that it was made with.
fn read(path: &Path) -> Result<(Recording, Run), Exit> {
    let bytes = bytes_of(path).map_err(|error| {
        complain(&format!("{}: {error}", path.display()));
        Exit::NoInput
    })?;
    let path = path.display();
    let recording = Recording::read(&bytes).map_err(|bad| invalid(&format!("{path}: {bad}")))?;
    if recording.head.machine != machine() {
        let made = &recording.head.machine;
        return Err(invalid(&format!(
            "{path}: squall {made} has made this recording, and this is {}",
            machine()
        )));
    }
    match run_of(&recording.head.arguments) {
        Some(run) => Ok((recording, run)),
        None => {
            Err(invalid(&format!("{path}: at byte 8: the command line in the recording is none")))
        }
    }
}

/// A recorded command line, without the files that the recorded run has written beside: a replay leaves them alone.
fn run_of(arguments: &[String]) -> Option<Run> {
    let line = ["squall", "run"].map(str::to_owned).into_iter().chain(arguments.iter().cloned());
    let matches = Arguments::command().try_get_matches_from(line).ok()?;
    let Ok(Command::Run(mut run)) = Arguments::from_arg_matches(&matches).map(|it| it.command)
    else {
        return None;
    };
    // A trace that the environment asks for is one of the replay.
    let source = matches.subcommand_matches("run")?.value_source("trace");
    if source == Some(ValueSource::CommandLine) {
        run.machine.trace.retain(|trace| !matches!(trace, Trace::File(_)));
    }
    (run.machine.perf_map, run.machine.perf_dump) = (false, None);
    run.record.is_none().then_some(run)
}

/// The recorder of a run that is to be recorded.
pub fn record(path: &Path, run: &Run, program: &Program) -> Result<Taped, Exit> {
    refuse(run)?;
    let words: Vec<String> = std::env::args().collect();
    let Some(place) = words.iter().position(|word| word == "run") else {
        return Err(usage("a bundle that is its own command cannot be recorded: use `squall run`"));
    };
    let is_record = |word: &String| word.starts_with("--record=");
    let arguments = words[place + 1..].iter().filter(|word| !is_record(word)).cloned().collect();
    let key = u64::from(std::process::id());
    let head = Head { machine: machine(), arguments, program: digest(&program.input.bytes), key };
    let writer = File::create(path).and_then(|file| Writer::begin(Box::new(Tape(file)), &head));
    let writer = writer.map_err(|error| {
        complain(&format!("{}: {error}", path.display()));
        Exit::Output
    })?;
    let recorder = Recorder::new(writer);
    let replays: &'static Replays = Box::leak(Box::new(Replays::Record(Box::new(recorder))));
    if let Replays::Record(recorder) = replays {
        keep_up(recorder, path);
        let path = path.display();
        recorder.close_with_process(format!(
            "squall replay {path} repeats this run, which has ended elsewhere than in the program"
        ));
        close_at_signals(recorder, format!("squall replay {path} repeats this run\n"));
    }
    Ok(Taped { path: path.display().to_string(), replays, key, end: None })
}

/// Puts what has happened into the file now and then, unless that cannot be cut, such as a pipe.
fn keep_up(recorder: &'static Recorder, path: &Path) {
    /// What a process that is killed loses at most, but for what a busy one notes meanwhile.
    const PERIOD: Duration = Duration::from_secs(1);
    if !std::fs::metadata(path).is_ok_and(|it| it.is_file()) {
        return;
    }
    // Without the thread, a process that is killed loses more.
    _ = std::thread::Builder::new().name("recorder".into()).spawn(|| {
        std::thread::sleep(PERIOD);
        while recorder.keep_up() {
            std::thread::sleep(PERIOD);
        }
    });
}

/// A signal that ends the process closes the recording before, and this text says how it is repeated.
#[cfg(unix)]
fn close_at_signals(recorder: &'static Recorder, text: String) {
    // Without handlers, signals end the process at once.
    _ = squall_system::signals::before_the_end(&ignored_signals(), move || {
        if recorder.close_without_end() {
            print_error(&text);
        }
    });
}

/// This system has no such signals.
#[cfg(not(unix))]
fn close_at_signals(_: &'static Recorder, _: String) {}

/// The player of a recording.
pub fn play((path, recording): (String, Recording), program: &Program) -> Result<Taped, Exit> {
    if recording.head.program != digest(&program.input.bytes) {
        let program = &program.input.path;
        return Err(invalid(&format!("{path}: {program} has changed since it was recorded")));
    }
    let (key, end) = (recording.head.key, recording.end);
    let replays = Box::leak(Box::new(Replays::Replay(Box::new(Player::new(recording)))));
    Ok(Taped { path, replays, key, end })
}

/// Complains about options that change what a recording holds.
fn refuse(run: &Run) -> Result<(), Exit> {
    let machine = &run.machine;
    let has_budgets = machine.fuel.is_some()
        || machine.max_reachable.is_some()
        || machine.max_strands.is_some()
        || machine.max_messages.is_some()
        || machine.max_time.is_some();
    let others = [
        (machine.seed.is_some(), "--seed, which repeats runs by itself"),
        (has_budgets, "budgets"),
        (run.debugging.is_on(), "a debugger"),
        (run.observe.is_some(), "--observe"),
        (run.send.is_some(), "--send"),
    ];
    match others.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(usage(&format!("--record does not go with {what}"))),
        None => Ok(()),
    }
}

impl Taped {
    /// Adds what the machine needs for it.
    pub fn prepare(&self, options: &mut Options) {
        options.replays = Some(self.replays);
        options.key = Some(self.key);
        if let Replays::Replay(_) = self.replays {
            options.scheduler.seed = Some(SEED);
        }
    }

    /// The program has ended with this code. Answers the code of the process.
    pub fn end(self, code: i32) -> i32 {
        match self.replays {
            Replays::Record(recorder) => self.end_recording(recorder, code),
            Replays::Replay(player) => self.end_replay(player, code),
        }
    }

    fn end_recording(&self, recorder: &Recorder, code: i32) -> i32 {
        let path = &self.path;
        match recorder.close(code) {
            Some(failure) => complain(&format!("{path}: the recording is incomplete: {failure}")),
            None if code != 0 => eprintln!("squall replay {path} repeats this run"),
            None => {}
        }
        code
    }

    fn end_replay(&self, player: &Player, code: i32) -> i32 {
        let path = &self.path;
        let differs = |text: &str| {
            complain(&format!("{path}: the replay differs from the recording: {text}"));
            Exit::Failure.code()
        };
        if let Some(divergence) = player.divergence() {
            return differs(divergence);
        }
        let remaining = player.remaining();
        if self.end.is_none() {
            complain(&format!("{path}: this recording was cut; the run had gone on"));
            return code;
        }
        if remaining > 0 {
            let waits = player.missing().map_or(String::new(), |missing| format!("; {missing}"));
            return differs(&format!("{remaining} turns and events have not happened{waits}"));
        }
        if player.unwritten() > 0 {
            return differs("the texts of the output have no order");
        }
        match self.end {
            Some(end) if end.code != code => {
                differs(&format!("the exit code was {}, and is {code}", end.code))
            }
            _ => code,
        }
    }
}

/// The machine that makes a recording: another one may number and order otherwise.
fn machine() -> String {
    format!("{} ({}-{})", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS)
}

fn invalid(text: &str) -> Exit {
    complain(text);
    Exit::Invalid
}

fn usage(text: &str) -> Exit {
    complain(text);
    Exit::Usage
}
