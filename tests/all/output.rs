//! Tests of a program's output into a pipe: it arrives soon, even if the program is always busy, and before a signal
//! ends the program. `main.rs` collects them as trials.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A program that writes lines, more than are written at once, and is busy for ever.
const BUSY: &str = "\
class Busy usingPlatform: platform = Value ()(
  public main: args = (
    1 to: 40 do: [:line | line println ].
    'the last line' println.
    [ true ] whileTrue: [ ].
  )
)
";

/// A program that writes lines, sends itself the signal in its argument, and is busy for ever.
const SIGNALLED: &str = "\
class Signalled usingPlatform: platform = Value (
| private library = platform ffi Library process.
  private kill    = library function: 'int kill(int, int)'.
  private getpid  = library function: 'int getpid(void)'. |
)(
  public main: args = (
    | process = getpid value. |
    1 to: 100 do: [:line | line println ].
    kill value: process with: (args at: 2) asInteger.
    [ true ] whileTrue: [ ].
  )
)
";

pub fn trials() -> Vec<Trial> {
    let at_signal = |signal| move || ends_by(signal);
    vec![
        Trial::test("output/while_a_program_is_busy", while_busy),
        Trial::test("output/at_an_interrupt", at_signal(Signal::SIGINT)),
        Trial::test("output/at_termination", at_signal(Signal::SIGTERM)),
        Trial::test("output/at_a_hangup", at_signal(Signal::SIGHUP)),
        Trial::test("output/a_signal_that_is_ignored", ignored),
    ]
}

/// A reader gets the lines while the program goes on.
fn while_busy() -> Result<(), Failed> {
    let (mut program, _file) = start(squall(), BUSY, &[])?;
    let mut line = String::new();
    // If the line does not arrive, reading ends when the program is stopped.
    stop_later(&program);
    let mut output = BufReader::new(program.stdout.take().expect("it is piped"));
    while line != "the last line\n" {
        line.clear();
        if output.read_line(&mut line)? == 0 {
            break;
        }
    }
    let goes_on = program.try_wait()?.is_none();
    program.kill()?;
    program.wait()?;
    match (line.as_str(), goes_on) {
        ("the last line\n", true) => Ok(()),
        _ => Err(format!("read {line:?}; the program went on: {goes_on}").into()),
    }
}

/// A program that a signal ends has written all its output, and ends by this signal.
fn ends_by(signal: Signal) -> Result<(), Failed> {
    let number = (signal as i32).to_string();
    // The tests themselves may have been started with signals ignored, as in the background of a shell.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,HUP,TERM", env!("CARGO_BIN_EXE_squall")]);
    let (program, _file) = start(command, SIGNALLED, &[&number])?;
    stop_later(&program);
    let ended = program.wait_with_output()?;
    let lines: Vec<String> = (1..=100).map(|line| line.to_string()).collect();
    let written = String::from_utf8_lossy(&ended.stdout);
    if !written.lines().eq(&lines) {
        return Err(format!("written: {written:?}").into());
    }
    match ended.status.signal() == Some(signal as i32) {
        true => Ok(()),
        false => Err(format!("it ended with {}", ended.status).into()),
    }
}

/// A process that was started with a signal ignored ignores it.
fn ignored() -> Result<(), Failed> {
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' INT; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_squall")]);
    let (mut program, _file) = start(shell, BUSY, &[])?;
    stop_later(&program);
    let mut output = BufReader::new(program.stdout.take().expect("it is piped"));
    output.read_line(&mut String::new())?;
    let process = Pid::from_raw(program.id() as i32);
    kill(process, Signal::SIGINT)?;
    kill(process, Signal::SIGTERM)?;
    match program.wait()?.signal() == Some(Signal::SIGTERM as i32) {
        true => Ok(()),
        false => Err("it did not ignore the signal".into()),
    }
}

fn squall() -> Command {
    Command::new(env!("CARGO_BIN_EXE_squall"))
}

/// Starts a program with these arguments. Its file exists as long as the returned value.
fn start(
    mut command: Command,
    text: &str,
    arguments: &[&str],
) -> std::io::Result<(Child, tempfile::NamedTempFile)> {
    let mut file = tempfile::Builder::new().suffix(".ns").tempfile()?;
    file.write_all(text.as_bytes())?;
    command.args(["run", "--allow-ffi"]).arg(file.path()).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    Ok((command.spawn()?, file))
}

/// The most time for the expected behaviour.
const PATIENCE: Duration = Duration::from_secs(120);

/// Kills a program that runs for too long.
fn stop_later(program: &Child) {
    let process = Pid::from_raw(program.id() as i32);
    let begin = Instant::now();
    std::thread::spawn(move || {
        while kill(process, None).is_ok() {
            if begin.elapsed() > PATIENCE {
                _ = kill(process, Signal::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}
