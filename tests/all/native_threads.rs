//! Tests of native threads that programs cannot make themselves: `NativeThread main` is the process's main thread, and
//! dumps name native threads. `main.rs` collects them as trials.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    if !cfg!(target_os = "linux") {
        return Vec::new();
    }
    let run = |test: fn() -> std::io::Result<()>| test().map_err(|error| error.to_string().into());
    vec![
        Trial::test("native_threads/main", move || run(main_thread)),
        Trial::test("native_threads/dump", move || run(dump)),
        Trial::test("native_threads/few", move || run(few)),
    ]
}

const MAIN: &str = "\
class MainThread usingPlatform: platform = Value (
| private NativeThread = platform threading NativeThread. |
)(
  public main: args = (
    (NativeThread main do: [ NativeThread systemNumber ]) println.
    ^ 0
  )
)
";

/// The number of the main native thread equals that of the process.
fn main_thread() -> std::io::Result<()> {
    for flags in [&[][..], &["--seed=1"], &["--workers=1"]] {
        let file = program(MAIN)?;
        let child = squall(flags, file.path()).stdout(Stdio::piped()).spawn()?;
        let id = child.id();
        let output = child.wait_with_output()?;
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), id.to_string(), "{flags:?}");
    }
    Ok(())
}

/// A program in which two strands on the main native thread spin in turn, and a third strand waits on another native
/// thread.
const BUSY: &str = "\
class Busy usingPlatform: platform = Value (
| private NativeThread = platform threading NativeThread.
  private Thread       = platform threading Thread.
  private Channel      = platform processes Channel. |
)(
  public main: args = (
    | channel = Channel new. silent = Channel new. |
    Thread spawn: [ silent in read ] on: (NativeThread named: 'aside').
    Thread spawn: [ NativeThread main do: [ self spin: channel ] ].
    channel in read.
    Thread spawn: [ NativeThread main do: [ [ true ] whileTrue: [ channel out ] ] ].
    'spins' println.
    self halt.
    silent in read
  )

  spin: channel = (
    channel out write: 1.
    [ true ] whileTrue: [ channel out ]
  )
)
";

fn dump() -> std::io::Result<()> {
    let file = program(BUSY)?;
    let mut child = squall(&[], file.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .spawn()?;
    let mut output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let error = BufReader::new(child.stderr.take().expect("it is piped"));
    output.next().transpose()?;
    let lines = std::thread::spawn(move || error.lines().map_while(Result::ok).collect::<Vec<_>>());
    let wanted = [
        "runs on native thread main",
        "bound to native thread main, is ready",
        "bound to native thread aside, waits for a channel",
    ];
    // The strands need some time to reach the places that the dump names.
    for _ in 0..20 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        assert!(command.arg("dump").arg(child.id().to_string()).status()?.success());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    let text = lines.join().expect("it reads").join("\n");
    for part in wanted {
        assert!(text.contains(part), "nothing says {part:?}:\n{text}");
    }
    Ok(())
}

/// A program with more blocking calls at a time than there may be native threads: the calls wait for each other, and
/// all return.
const MANY: &str = "\
class Many usingPlatform: platform = Value (
| private NativeThread = platform threading NativeThread.
  private Thread       = platform threading Thread.
  private Vector       = platform kernel Vector. |
)(
  public main: args = (
    | all = Vector new. |
    300 timesRepeat: [ all append: (Thread spawn: [ NativeThread block: 5. 1 ]) ].
    (all collect: [:each | each join ]) sum println.
    ^ 0
  )
)
";

fn few() -> std::io::Result<()> {
    let file = program(MANY)?;
    for flags in [&["--max-threads=4"][..], &["--max-threads=1", "--workers=1"], &["--patience=20"]]
    {
        let output = squall(flags, file.path()).output()?;
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "300", "{flags:?}");
    }
    Ok(())
}

fn program(text: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().suffix(".ns").tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn squall(flags: &[&str], path: &std::path::Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
    command.current_dir(crate::root()).arg("run").args(flags).arg(path);
    command
}
