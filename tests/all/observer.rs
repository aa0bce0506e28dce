//! `squall dump` has a program that runs, and spins, say what its strands do; the program goes on.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    if !cfg!(unix) {
        return Vec::new();
    }
    let run = |test: fn() -> std::io::Result<()>| test().map_err(|error| error.to_string().into());
    vec![
        Trial::test("observer/a_program_that_spins", move || run(spinning)),
        Trial::test("observer/another_program", move || run(another)),
    ]
}

/// Says that it is about to spin, and does so for ever, while another strand waits, which it has let run
/// that far. What it says is written out when nothing else is to be done, or when something goes to the
/// error output, as `halt` sees to.
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
    self halt.
    [ true ] whileTrue: [ channel out ].
  )
)
";

fn spinning() -> std::io::Result<()> {
    let mut file = tempfile::Builder::new().suffix(".ns").tempfile()?;
    file.write_all(SPINNING.as_bytes())?;
    let mut program = squall()
        .arg("run")
        .arg(file.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let result = observe(&mut program);
    program.kill()?;
    program.wait()?;
    result
}

/// Asks twice, since the program is to go on after the first time.
fn observe(program: &mut Child) -> std::io::Result<()> {
    let mut output = BufReader::new(program.stdout.take().expect("it is piped")).lines();
    let mut error = BufReader::new(program.stderr.take().expect("it is piped")).lines();
    output.next().transpose()?;
    for _ in 0..2 {
        let dump = squall().arg("dump").arg(program.id().to_string()).status()?;
        assert!(dump.success());
        for part in ["runs on worker", "main:", "waits for a channel", "ReadingEnd>>read"] {
            // The test fails by the end of the output, when somebody ends it.
            let line = error.find(|line| line.as_ref().is_ok_and(|line| line.contains(part)));
            line.ok_or_else(|| std::io::Error::other(format!("nothing says {part:?}")))??;
        }
    }
    Ok(())
}

/// Other programs are left alone.
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
