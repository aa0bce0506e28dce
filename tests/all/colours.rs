//! Tests that diagnostics have colours on a terminal, unless `NO_COLOR` is set. `main.rs` collects them as trials.

use std::io::Read;
use std::process::{Command, Stdio};

use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("colours/on_a_terminal", || expect(&[], true)),
        Trial::test("colours/unless_forbidden", || expect(&[("NO_COLOR", "1")], false)),
        Trial::test("colours/empty_is_not_set", || expect(&[("NO_COLOR", "")], true)),
    ]
}

fn expect(environment: &[(&str, &str)], is_coloured: bool) -> Result<(), libtest_mimic::Failed> {
    let error = on_a_terminal(environment).map_err(|error| error.to_string())?;
    if !error.contains("error") {
        return Err(format!("nothing is wrong: {error:?}").into());
    }
    match error.contains("\x1b[") == is_coloured {
        true => Ok(()),
        false => Err(format!("{error:?}").into()),
    }
}

/// The diagnostics of `squall` for a mistake, with a terminal as its standard error.
fn on_a_terminal(environment: &[(&str, &str)]) -> std::io::Result<String> {
    let terminal = nix::pty::openpty(None, None)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
    command.args(["check", "tests/compile/mistakes/empty.ns"]).current_dir(crate::root());
    command.env_remove("NO_COLOR").envs(environment.iter().copied()).env("TERM", "xterm");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(terminal.slave);
    command.spawn()?.wait()?;
    // The command holds this process's copy of the terminal's other side.
    drop(command);
    let mut text = Vec::new();
    // On Linux, reading from a terminal whose other side is closed ends with an error.
    _ = std::fs::File::from(terminal.master).read_to_end(&mut text);
    Ok(String::from_utf8_lossy(&text).into_owned())
}
