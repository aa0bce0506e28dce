//! Tests of `squall repl` on a terminal: Ctrl-C interrupts the evaluation and nothing else; history, further lines of an
//! input, completion. `main.rs` collects them as trials; `tests/cli/repl.txt` is about input that is typed on none.
//!
//! A test waits for the output of an evaluation before it sends the signal, and for the prompt before it sends a line.

use std::fs::File;
use std::io::{Error, Read, Result, Write};
use std::path::Path;
use std::process::{Child, Command};

use libtest_mimic::Trial;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The keys of a terminal.
const UP: &str = "\x1b[A";
const TAB: &str = "\t";
const INTERRUPT: &str = "\x03";

pub fn trials() -> Vec<Trial> {
    let endless = [
        ("loops", "[ true ] whileTrue: [ ]"),
        ("waits", "(threading Delay forMilliseconds: 1000000000) wait"),
        ("timers", "actors after: 1000000 do: [ 1 ]. actors createPromisePair promise"),
        ("threads", "threading Thread spawn: [ [ true ] whileTrue: [ ] ]. 1"),
    ];
    let interrupts = endless.into_iter().map(|(name, statement)| {
        trial(format!("terminal/interrupts_{name}"), move || interrupt(statement))
    });
    let others = [
        trial("terminal/history".to_owned(), history),
        trial("terminal/further_lines".to_owned(), further_lines),
        trial("terminal/completion".to_owned(), completion),
    ];
    interrupts.chain(others).collect()
}

fn trial(name: String, test: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, || Ok(test().map_err(|error| error.to_string())?))
}

/// Evaluates something endless, interrupts it, and looks whether variables are still there.
fn interrupt(statement: &str) -> Result<()> {
    let mut repl = Repl::start(Path::new(""))?;
    repl.evaluate("x:: 40", "\n40")?;
    repl.interrupt_evaluation(statement)?;
    repl.evaluate("x + 2", "\n42")?;
    repl.quit()
}

/// The history has the inputs from before and after an interrupt, in this session and in the next one.
fn history() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("history");
    let mut repl = Repl::start(&file)?;
    repl.evaluate("x:: 40", "\n40")?;
    repl.interrupt_evaluation("[ true ] whileTrue: [ ]")?;
    repl.evaluate("x + 2", "\n42")?;
    repl.evaluate(&format!("{UP}{UP}{UP}{UP} + 3"), "\n43")?;
    repl.quit()?;
    let kept = std::fs::read_to_string(&file)?;
    for input in ["x:: 40", "whileTrue: [ ]", "x + 2"] {
        if !kept.contains(input) {
            return Err(Error::other(format!("the history has no {input}: {kept}")));
        }
    }
    let mut repl = Repl::start(&file)?;
    repl.evaluate(&format!("{UP}{UP}"), "\n43")?;
    repl.quit()
}

/// The prompt of further lines; empty ones within a class; Ctrl-C drops what is typed, and nothing else.
fn further_lines() -> Result<()> {
    let mut repl = Repl::start(Path::new(""))?;
    repl.evaluate("x:: 40", "\n40")?;
    repl.evaluate("[ x", "… ")?;
    repl.send("  + 2 ] value")?;
    repl.wait_for("\n42")?;
    repl.evaluate("[ x + 1", "… ")?;
    repl.press(INTERRUPT)?;
    repl.evaluate("x + 3", "\n43")?;
    repl.wait_for("> ")?;
    repl.press("x + 1")?;
    repl.press(INTERRUPT)?;
    repl.evaluate("x + 4", "\n44")?;
    repl.evaluate("class Pair = (", "… ")?;
    for line in ["", ")(", "", "  public two = ( ^ 2 )", ""] {
        repl.send(line)?;
        repl.wait_for("… ")?;
    }
    repl.send(")")?;
    repl.evaluate("Pair new two + 43", "\n45")?;
    repl.quit()
}

/// The receiver decides what is offered.
fn completion() -> Result<()> {
    let mut repl = Repl::start(Path::new(""))?;
    repl.evaluate(&format!("'abc' revers{TAB}"), "\ncba")?;
    repl.evaluate(&format!("[ 3 ] numA{TAB} + 41"), "\n41")?;
    repl.evaluate(&format!("'abc' numA{TAB}"), "String>>#numA)")?;
    repl.evaluate("longName:: 42", "\n42")?;
    repl.evaluate(&format!("longN{TAB} + 1"), "\n43")?;
    repl.quit()
}

/// A REPL on a terminal.
struct Repl {
    child: Child,
    terminal: File,
    /// The output that no test has waited for yet.
    output: String,
}

impl Repl {
    /// Starts it with a file for its history, or none.
    fn start(history: &Path) -> Result<Repl> {
        let terminal = nix::pty::openpty(None, None)?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_squall"));
        command
            .arg("repl")
            .env("NO_COLOR", "1")
            .env("TERM", "xterm")
            .env("SQUALL_HISTORY", history);
        command.stdin(terminal.slave.try_clone()?).stdout(terminal.slave.try_clone()?);
        let child = command.stderr(terminal.slave).spawn()?;
        let terminal = File::from(terminal.master);
        Ok(Repl { child, terminal, output: String::new() })
    }

    /// Evaluates an input at the next prompt, and waits for this text.
    fn evaluate(&mut self, input: &str, text: &str) -> Result<()> {
        self.wait_for("> ")?;
        self.send(input)?;
        self.wait_for(text)
    }

    /// Evaluates something endless and interrupts it.
    fn interrupt_evaluation(&mut self, statement: &str) -> Result<()> {
        // The echo of the input does not contain the text.
        self.evaluate(&format!("('be' + 'gun') println. {statement}"), "begun")?;
        self.interrupt()?;
        self.wait_for("interrupted")
    }

    fn quit(&mut self) -> Result<()> {
        self.wait_for("> ")?;
        self.send(":quit")?;
        let status = self.child.wait()?;
        match status.success() {
            true => Ok(()),
            false => Err(Error::other(format!("it ended with {status}"))),
        }
    }

    fn send(&mut self, line: &str) -> Result<()> {
        self.press(&format!("{line}\r"))
    }

    fn press(&mut self, keys: &str) -> Result<()> {
        self.terminal.write_all(keys.as_bytes())
    }

    /// Reads up to this text.
    fn wait_for(&mut self, text: &str) -> Result<()> {
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

    fn interrupt(&self) -> Result<()> {
        Ok(kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGINT)?)
    }
}

impl Drop for Repl {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
