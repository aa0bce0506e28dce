//! `cargo xtask back`: measures how long the debugger takes to go back at the end of a long run. `main` calls [`run`].
//!
//! A session with `squall debug` runs the program up to the last turn of its loop, and steps into a method. Each way back begins there,
//! and is measured from the command until the line is shown where the program stands then. The median of several is printed, with
//! the time of the run.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;

use crate::{builds, root};

const PROGRAM: &str = "benchmarks/back/back.ns";
/// The text of the line at the end of a turn of the loop, and of the line in the method that it calls.
const TURN: &str = "counter increment";
const INSIDE: &str = "count:: count + 1";
/// How long a step back may take.
const BAR: Duration = Duration::from_secs(1);

/// The options of `cargo xtask back`.
#[derive(Args)]
pub struct Arguments {
    /// How many million arrays the program makes
    #[arg(long, value_name = "N", default_value_t = 40)]
    millions: u32,

    /// How often each way back is measured
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,

    /// The command to measure; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
}

/// Measures. Answers whether a step back takes less than a second.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    match measure(&squall, arguments) {
        Ok(step) => {
            let is_fast = step < BAR;
            if !is_fast {
                eprintln!("a step back takes {BAR:?} or more");
            }
            is_fast
        }
        Err(problem) => {
            eprintln!("{problem}");
            false
        }
    }
}

/// Measures both ways back, and prints them. Answers the time of a step.
fn measure(squall: &Path, arguments: &Arguments) -> Result<Duration, String> {
    let text = std::fs::read_to_string(root().join(PROGRAM)).map_err(|error| error.to_string())?;
    let line =
        text.lines().position(|line| line.contains(TURN)).ok_or("the program has no loop")?;
    let mut session = Session::begin(squall, arguments.millions)?;
    session.tell(&format!("break {} if part = {}", line + 1, arguments.millions * 10))?;
    session.await_line(|line| line.starts_with("breakpoint 1"))?;
    let length = session.timed("run", TURN)?;
    println!("the run: {:.1} s", length.as_secs_f64());
    session.timed("step", INSIDE)?;
    let step = session.median(("back", TURN), &[("step", INSIDE)], arguments.times)?;
    println!("a step back: {:.3} s", step.as_secs_f64());
    let again = [("continue", TURN), ("step", INSIDE)];
    let write = session.median(("written count", INSIDE), &again, arguments.times)?;
    println!("back to the last write of a slot: {:.3} s", write.as_secs_f64());
    Ok(step)
}

/// A session with the debugger.
struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Session {
    fn begin(squall: &Path, millions: u32) -> Result<Session, String> {
        let mut command = Command::new(squall);
        command.args(["debug", "--seed=1", PROGRAM, &millions.to_string()]).current_dir(root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let input = child.stdin.take().ok_or("it has no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("it has no output")?);
        Ok(Session { child, input, output })
    }

    fn tell(&mut self, command: &str) -> Result<(), String> {
        writeln!(self.input, "{command}").map_err(|error| error.to_string())
    }

    fn await_line(&mut self, mut is_it: impl FnMut(&str) -> bool) -> Result<(), String> {
        let mut heard = String::new();
        loop {
            let mut line = String::new();
            match self.output.read_line(&mut line) {
                Ok(0) => return Err(format!("the session has ended: {heard}")),
                Ok(_) if is_it(&line) => return Ok(()),
                Ok(_) => heard.push_str(&line),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// The time from a command until a line of the program is shown which has this text.
    fn timed(&mut self, command: &str, text: &str) -> Result<Duration, String> {
        let begin = Instant::now();
        self.tell(command)?;
        let mut shown = String::new();
        self.await_line(|line| {
            shown = line.to_owned();
            line.starts_with(' ')
        })?;
        match shown.contains(text) {
            true => Ok(begin.elapsed()),
            false => Err(format!("`{command}` leads to another line: {shown}")),
        }
    }

    /// The median time of a way back; the other commands lead to its beginning again. Each comes with the line that it leads to.
    fn median(
        &mut self,
        (command, text): (&str, &str),
        again: &[(&str, &str)],
        times: u32,
    ) -> Result<Duration, String> {
        let mut samples = Vec::new();
        for _ in 0..times {
            samples.push(self.timed(command, text)?);
            for (command, text) in again {
                self.timed(command, text)?;
            }
        }
        samples.sort_unstable();
        Ok(samples[samples.len() / 2])
    }
}
