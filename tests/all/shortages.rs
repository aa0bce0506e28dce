//! Tests of what the system refuses: address space, room on a disk, a standard output, native threads. Each is a message that
//! says what is missing, or an exception, and never a panic. `main.rs` collects them as trials.
//!
//! A shell sets the limits. One that it cannot set skips the test.

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output};

use libtest_mimic::{Failed, Trial};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("shortages/address_space", || {
            says("ulimit -v 4000000; exec \"$0\" eval 3", 1, "(`ulimit -v`)")
        }),
        Trial::test("shortages/closed_output", || {
            says(
                "exec \"$0\" eval 3 >&-",
                74,
                "the standard output cannot be written: it is closed",
            )
        }),
        Trial::test("shortages/full_output", || {
            says("exec \"$0\" eval 3 > /dev/full", 74, "the standard output cannot be written")
        }),
        Trial::test("shortages/no_output_is_wanted", || {
            says("exec \"$0\" eval 3 > /dev/null", 0, "")
        }),
        // Services are started so.
        Trial::test("shortages/no_output_is_wanted_of_a_service", || {
            says("exec \"$0\" eval 3 1<> /dev/null", 0, "")
        }),
        Trial::test("shortages/disk", || says(DISK, 0, "")),
        Trial::test("shortages/profile", || files_about_a_run("profile --output=", "svg")),
        Trial::test("shortages/trace", || files_about_a_run("run --trace=", "pftrace")),
        Trial::test("shortages/native_threads", native_threads),
    ]
}

/// Writes to a file for which there is no room, and succeeds if the exception says so.
const DISK: &str = r#"exec "$0" eval --allow-write=/dev/full "
  | file = (platform files FilePath for: '/dev/full') open: #write. |
  [ file bufferSize: 4. file write: 4 at: 0. 1 / 0 ] on: platform kernel DiskFull do: [:e | e reason ]""#;

/// There is no room for a file about a run, which says so, and leaves the exit code to the program.
fn files_about_a_run(option: &str, extension: &str) -> Result<(), Failed> {
    let line = format!(
        "d=$(mktemp -d) && ln -s /dev/full $d/f.{extension} || exit
        \"$0\" {option}$d/f.{extension} tests/debugger/parts.ns
        e=$?; rm -r $d; exit $e"
    );
    says(&line, 3, "No space left on device")
}

/// Runs a line of the shell, in which `$0` is the command. Compares the exit code, and looks for a text in the standard
/// error output.
fn says(line: &str, exit: i32, said: &str) -> Result<(), Failed> {
    let output = shell(Command::new("bash").arg("-c").arg(line))?;
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(exit) && error.contains(said) && !error.contains("panicked") {
        return Ok(());
    }
    Err(format!("{}, not {exit} and {said:?}: {error}", output.status).into())
}

fn shell(command: &mut Command) -> Result<Output, Failed> {
    command.arg(env!("CARGO_BIN_EXE_squall")).env("NO_COLOR", "1").current_dir(crate::root());
    Ok(command.output()?)
}

/// A user with a few native threads gets a message. The limit does not hold for the system's administrator, who runs the
/// command as another user here.
fn native_threads() -> Result<(), Failed> {
    let line = "ulimit -u 3 2>/dev/null || exit 0; exec \"$0\" eval 'platform actors after: 1 do: [ 3 println ]'";
    let is_administrator = std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    let mut command = Command::new(if is_administrator { "setpriv" } else { "bash" });
    if is_administrator {
        command.args(["--reuid=65534", "--clear-groups", "bash"]);
    }
    let Ok(output) = shell(command.arg("-c").arg(line)) else {
        println!("skipped: the user cannot be changed");
        return Ok(());
    };
    let error = String::from_utf8_lossy(&output.stderr);
    match error.contains("panicked") || error.contains("bug in Squall") {
        true => Err(error.into_owned().into()),
        false => Ok(()),
    }
}
