//! Tests that Ctrl-C in the REPL interrupts the evaluation and nothing else. `main.rs` collects them as trials.
//!
//! The REPL runs on a terminal. A test waits for the output of an evaluation before it sends the signal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};

use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub fn trials() -> Vec<Trial> {
    let endless = [
        ("loops", "[ true ] whileTrue: [ ]"),
        ("waits", "(threading Delay forMilliseconds: 1000000000) wait"),
        ("timers", "actors after: 1000000 do: [ 1 ]. actors createPromisePair promise"),
        ("threads", "threading Thread spawn: [ [ true ] whileTrue: [ ] ]. 1"),
    ];
    let trial = |(name, statement): (&str, &'static str)| {
        Trial::test(format!("interrupts/{name}"), move || {
            Ok(interrupt(statement).map_err(|error| error.to_string())?)
        })
    };
    endless.into_iter().map(trial).collect()
}

/// Evaluates something endless, interrupts it, and looks whether variables are still there.
fn interrupt(statement: &str) -> std::io::Result<()> {
    let mut repl = Repl::start()?;
    repl.wait_for("> ")?;
    repl.send("x:: 40")?;
    repl.wait_for("\n40")?;
    // The echo of the input does not contain the text.
    repl.send(&format!("('be' + 'gun') println. {statement}"))?;
    repl.wait_for("begun")?;
    repl.interrupt()?;
    repl.wait_for("interrupted")?;
    repl.send("x + 2")?;
    repl.wait_for("\n42")?;
    repl.send(":quit")?;
    let status = repl.child.wait()?;
    match status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("it ended with {status}"))),
    }
}

/// A REPL on a terminal.
struct Repl {
    child: Child,
    terminal: File,
    /// The output that no test has waited for yet.
    output: String,
}

impl Repl {
    fn start() -> std::io::Result<Repl> {
        let terminal = nix::pty::openpty(None, None)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        command.arg("repl").env("NO_COLOR", "1").env("TERM", "xterm").env("SQUALL_HISTORY", "");
        command.stdin(terminal.slave.try_clone()?).stdout(terminal.slave.try_clone()?);
        let child = command.stderr(terminal.slave).spawn()?;
        let terminal = File::from(terminal.master);
        Ok(Repl { child, terminal, output: String::new() })
    }

    fn send(&mut self, line: &str) -> std::io::Result<()> {
        self.terminal.write_all(format!("{line}\r").as_bytes())
    }

    /// Reads up to this text.
    fn wait_for(&mut self, text: &str) -> std::io::Result<()> {
        loop {
            if let Some(index) = self.output.find(text) {
                self.output.drain(..index + text.len());
                return Ok(());
            }
            let mut bytes = [0; 4096];
            let count = self.terminal.read(&mut bytes)?;
            self.output += &String::from_utf8_lossy(&bytes[..count]);
        }
    }

    fn interrupt(&self) -> std::io::Result<()> {
        Ok(kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGINT)?)
    }
}

impl Drop for Repl {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
