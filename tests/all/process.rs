//! Runs `squall` in a process and compares its output. All tests use this module.

use std::fmt::Write;
use std::io::{Read, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The result of a process.
#[derive(Debug)]
pub struct Result {
    /// Its standard output.
    pub output: String,
    /// Its standard error output.
    pub error: String,
    /// Its exit code; if a signal killed it, 128 plus the signal's number.
    pub exit: i32,
    /// The signal that killed it.
    pub signal: Option<i32>,
    /// Whether the test sent the signal, because the process took too long.
    pub was_stopped: bool,
}

/// The command line and the surroundings of a run of `squall`.
pub struct Run {
    /// The arguments after the command's name.
    pub arguments: Vec<String>,
    /// The standard input.
    pub input: String,
    /// Variables to set in its environment.
    pub environment: Vec<(String, String)>,
    /// A folder that is removed after the run. `{scratch}` in arguments stands for it.
    pub scratch: Scratch,
    /// The most time for the run.
    pub patience: Duration,
}

/// Whether the machines under test run under stress.
pub fn is_under_stress() -> bool {
    std::env::var_os("SQUALL_STRESS").is_some()
}

/// The most time for a process. Machines under stress are slow.
const PATIENCE: Duration = Duration::from_secs(300);

impl Run {
    /// A run with these arguments.
    pub fn new(arguments: impl IntoIterator<Item = impl Into<String>>) -> Run {
        let arguments = arguments.into_iter().map(Into::into).collect();
        let (input, environment, scratch) = (String::new(), Vec::new(), Scratch::new());
        Run { arguments, input, environment, scratch, patience: PATIENCE }
    }

    /// Runs `squall` in the project's folder.
    pub fn execute(&self) -> Result {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        command.args(self.arguments.iter().map(|argument| self.scratch.substitute(argument)));
        command.current_dir(crate::root()).env("NO_COLOR", "1").env("SQUALL_HISTORY", "");
        command.envs(self.environment.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("squall can be started");
        let mut input = child.stdin.take().expect("it is piped");
        // The process may end without reading its input.
        _ = input.write_all(self.input.as_bytes());
        drop(input);
        let output = reader(child.stdout.take().expect("it is piped"));
        let error = reader(child.stderr.take().expect("it is piped"));
        let (status, was_stopped) = wait(&mut child, self.patience);
        let exit = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        let text = |reader: std::thread::JoinHandle<Vec<u8>>| {
            String::from_utf8_lossy(&reader.join().expect("readers do not panic")).into_owned()
        };
        let signal = status.signal();
        Result { output: text(output), error: text(error), exit, signal, was_stopped }
    }

    /// The command line that repeats the run.
    pub fn repetition(&self) -> String {
        let arguments = self.arguments.iter().map(|argument| quoted(argument));
        let arguments: Vec<String> = arguments.collect();
        let environment = self.environment.iter().map(|(name, value)| format!("{name}={value} "));
        let environment: String = environment.collect();
        format!("{environment}cargo run -p squall-cli -- {}", arguments.join(" "))
    }
}

fn reader(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

/// Waits for the process. Answers how it ended, and whether it was killed because it took too long.
fn wait(child: &mut Child, patience: Duration) -> (ExitStatus, bool) {
    let begin = Instant::now();
    let mut was_stopped = false;
    loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            return (status, was_stopped);
        }
        if begin.elapsed() > patience {
            was_stopped = true;
            _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// An argument in the notation of a shell.
fn quoted(argument: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "-_=./:,{}".contains(character);
    match argument.chars().all(is_plain) && !argument.is_empty() {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', r"'\''")),
    }
}

/// A folder for the files of one test.
pub struct Scratch(Option<tempfile::TempDir>);

impl Scratch {
    fn new() -> Scratch {
        Scratch(tempfile::tempdir().ok())
    }

    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.0.as_ref().map_or_else(PathBuf::new, |folder| folder.path().to_owned())
    }

    /// The text with the folder's path in place of `{scratch}`.
    pub fn substitute(&self, text: &str) -> String {
        text.replace("{scratch}", &self.path().display().to_string())
    }

    /// The text with `{scratch}` in place of the folder's path.
    pub fn conceal(&self, text: &str) -> String {
        match self.path() {
            path if path == Path::new("") => text.to_owned(),
            path => text.replace(&path.display().to_string(), "{scratch}"),
        }
    }
}

/// Compares texts. The error shows the lines between the equal beginnings and ends.
pub fn compare(what: &str, expected: &str, actual: &str) -> std::result::Result<(), String> {
    if expected == actual {
        return Ok(());
    }
    let (expected, actual): (Vec<&str>, Vec<&str>) =
        (expected.lines().collect(), actual.lines().collect());
    let same = expected.iter().zip(&actual).take_while(|(left, right)| left == right).count();
    let ends = expected[same..].iter().rev().zip(actual[same..].iter().rev());
    let same_end = ends.take_while(|(left, right)| left == right).count();
    let mut report = format!("{what} differs from line {} on:\n", same + 1);
    let mut show = |sign: char, lines: &[&str]| {
        let lines = &lines[same..lines.len() - same_end];
        for line in lines.iter().take(SHOWN) {
            _ = writeln!(report, "  {sign} {line}");
        }
        if lines.len() > SHOWN {
            _ = writeln!(report, "  {sign} … {} more", lines.len() - SHOWN);
        }
    };
    show('-', &expected);
    show('+', &actual);
    Err(report)
}

/// How many lines of a difference are shown.
const SHOWN: usize = 12;
