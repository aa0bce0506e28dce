//! Tests of `squall dump`, which makes a running program print the states of its strands, and leaves it running. The
//! programs here spin, or wait for external events. `main.rs` collects the tests as trials.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    if !cfg!(unix) {
        return Vec::new();
    }
    let run = |test: fn() -> std::io::Result<()>| test().map_err(|error| error.to_string().into());
    vec![
        Trial::test("observer/a_program_that_spins", move || run(spinning)),
        Trial::test("observer/a_program_that_waits", move || run(waiting)),
        Trial::test("observer/another_program", move || run(another)),
    ]
}

/// A program that announces that it will spin, and spins. Another strand waits; the program has given it time to do so.
const SPINNING: &str = "\
class Spinning usingPlatform: platform = Value (
| private scheduling = platform scheduling.
  private Channel    = platform processes Channel. |
)(
  public main: args = (
    | channel = Channel new. |
    scheduling fork: [ channel in read ].
    scheduling yield.
    'spins' println.
    [ true ] whileTrue: [ channel out ].
  )
)
";

/// A program that waits for every kind of external event. It refers to both sides of its connection, which a collection
/// would close otherwise.
const WAITING: &str = "\
class Waiting usingPlatform: platform = Value (
| private net        = platform net.
  private os         = platform os.
  private scheduling = platform scheduling. |
)(
  public main: args = (
    | listener = net listenAt: '127.0.0.1' port: 0. client served child datagrams |
    client:: net connectTo: '127.0.0.1' port: listener port.
    served:: listener accept.
    child:: os start: { 'cat' }.
    datagrams:: net datagramsAt: '127.0.0.1' port: 0.
    scheduling fork: [ listener accept ].
    scheduling fork: [ client readBytes ].
    scheduling fork: [ child wait ].
    scheduling fork: [ child output readBytes ].
    scheduling fork: [ datagrams receive ].
    'waits' println.
    (os signals: { #hangup }) next.
    served close.
    ^ 0
  )
)
";

fn spinning() -> std::io::Result<()> {
    let parts = ["runs on worker", "main:", "waits for a channel", "ReadingEnd>>read"];
    describe(SPINNING, &[], &parts)
}

fn waiting() -> std::io::Result<()> {
    let flags = ["--allow-net=127.0.0.1", "--allow-processes", "--workers=1"];
    let parts = [
        "waits for a signal, for ",
        "main:",
        "waits for a connection at 127.0.0.1:",
        "Listener>>accept",
        "waits for data from 127.0.0.1:",
        "waits for the end of process ",
        "waits for data from process ",
        "waits for a datagram at 127.0.0.1:",
    ];
    describe(WAITING, &flags, &parts)
}

/// Runs a program, and searches its dump for these parts, in this order.
fn describe(text: &str, flags: &[&str], parts: &[&str]) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new().suffix(".ns").tempfile()?;
    file.write_all(text.as_bytes())?;
    let mut program = squall()
        .arg("run")
        .args(flags)
        .arg(file.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let result = observe(&mut program, parts);
    program.kill()?;
    program.wait()?;
    result
}

/// The most dumps of a program whose dump lacks a part.
const MOST: usize = 300;

/// Dumps the program until two dumps contained all parts: the program may not wait yet at first, and must survive a
/// dump.
fn observe(program: &mut Child, parts: &[&str]) -> std::io::Result<()> {
    let mut output = BufReader::new(program.stdout.take().expect("it is piped")).lines();
    let error = BufReader::new(program.stderr.take().expect("it is piped")).lines();
    output.next().transpose()?;
    let (tell, told) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || tell.send(find(error, &[parts, parts].concat())));
        let asked = ask(program.id(), &told);
        // The dump's stream ends with the program, and so does the search.
        program.kill()?;
        asked?.map_or_else(|| told.recv().map_err(std::io::Error::other)?, Ok)
    })
}

/// Dumps the program until the search has a result, for a short time at most.
fn ask(program: u32, told: &Receiver<std::io::Result<()>>) -> std::io::Result<Option<()>> {
    for _ in 0..MOST {
        let dump = squall().arg("dump").arg(program.to_string()).status()?;
        if !dump.success() {
            return Err(std::io::Error::other(format!("it cannot be asked: {dump}")));
        }
        if let Ok(found) = told.recv_timeout(Duration::from_millis(100)) {
            return found.map(Some);
        }
    }
    Ok(None)
}

/// Searches lines for these parts, in this order.
fn find(
    mut lines: impl Iterator<Item = std::io::Result<String>>,
    parts: &[&str],
) -> std::io::Result<()> {
    for part in parts {
        let line = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(part)));
        line.ok_or_else(|| std::io::Error::other(format!("nothing says {part:?}")))??;
    }
    Ok(())
}

/// `squall dump` refuses processes of other programs.
fn another() -> std::io::Result<()> {
    let output = squall().args(["dump", &std::process::id().to_string()]).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(!cfg!(target_os = "linux") || error.contains("does not run `squall`"), "{error}");
    Ok(())
}

fn squall() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
    command.current_dir(crate::root());
    command
}
