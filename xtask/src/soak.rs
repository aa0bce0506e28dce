//! `cargo xtask soak`: runs a program of mixed load for minutes, and watches its progress and its memory. `main` calls
//! [`run`].
//!
//! The program checks its own results, and prints a line every few seconds. The run fails
//!
//! - if the program ends with an error,
//! - if it *stalls*: it prints no line for a minute. Then its strands are dumped, and the process is ended;
//! - if it *grows*: its peak memory in the last third of the time is more than a tenth above that in the second third.
//!   In the first third, the heap finds its size. The limit of the heap is small, so that all generations are collected
//!   every few seconds.
//!
//! With `--of=sandboxes` and `--of=threads`, another program makes things that end, one after the other: 400,000 sandboxes,
//! or 500,000 native threads. It prints a line after each hundredth. The run fails if the process has more memory in the
//! last tenth than in the second one.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};

use crate::{builds, memory_of, root};

/// The program. It runs rounds of all loads.
const PROGRAM: &str = "tests/language/soak/mixed_load.ns";

/// The program that makes things which end. It prints a hundred lines.
const SUCCESSION: &str = "tests/language/soak/one_after_another.ns";
const SUCCESSION_LINES: usize = 100;

/// The limit of the first one's heap.
const HEAP: &str = "--max-heap=512M";

/// The most time between two lines.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time between two samples of the memory.
const LOOK: Duration = Duration::from_millis(500);

/// The allowed growth of the memory from the second third to the last.
const GROWTH: f64 = 1.1;

/// How many of the last lines of the standard error are shown.
const SHOWN: usize = 200;

/// The options of `cargo xtask soak`.
#[derive(Args)]
pub struct Arguments {
    /// How long it runs
    #[arg(long, default_value_t = 10)]
    minutes: u32,

    /// What is run: a mixed load for minutes, or things that end, one after the other
    #[arg(long, value_name = "WHAT", default_value = "load")]
    of: Subject,

    /// How many sandboxes or threads there are, instead of the usual number
    #[arg(long, value_name = "N")]
    count: Option<u64>,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,

    /// An option for the run, such as --workers=1
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
}

/// What is run.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Subject {
    /// A mixed load, for minutes
    Load,
    /// Sandboxes, one after the other
    Sandboxes,
    /// Native threads, one after the other
    Threads,
}

/// Runs the program. Answers whether it passed.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let mut command = Command::new(&squall);
    command.arg("run").args(&arguments.options).current_dir(root());
    let count = |usual: u64| arguments.count.unwrap_or(usual).to_string();
    let outcome = match arguments.of {
        Subject::Load => {
            command.args([HEAP, PROGRAM, "minutes", &arguments.minutes.to_string()]);
            soak(&mut command, &squall, judge)
        }
        Subject::Sandboxes => {
            command.args([SUCCESSION, "sandboxes", &count(400_000)]);
            soak(&mut command, &squall, judge_succession)
        }
        Subject::Threads => {
            command.args([SUCCESSION, "threads", &count(500_000)]);
            soak(&mut command, &squall, judge_succession)
        }
    };
    match &outcome {
        Ok(summary) => println!("passed: {summary}"),
        Err(problem) => println!("FAILED: {problem}"),
    }
    outcome.is_ok()
}

/// Judges the memory of a process.
type Judge = fn(&[Look]) -> Result<String, String>;

/// Runs the command to its end. Answers a summary.
fn soak(command: &mut Command, squall: &Path, judge: Judge) -> Result<String, String> {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
    let lines = lines_of(child.stdout.take());
    let errors = last_lines_of(child.stderr.take());
    let watched = watch(&child, &lines);
    if let Err(Stall) = watched {
        ask_what_it_does(squall, &child);
        _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let errors = errors.join().unwrap_or_default();
    match watched {
        Err(Stall) => Err(format!("no line for {} s\n{errors}", PATIENCE.as_secs())),
        Ok(_) if !status.success() => Err(format!("{status}\n{errors}")),
        Ok(memory) => judge(&memory),
    }
}

/// The program printed no line for a long time.
struct Stall;

/// A sample of the process's memory, with its time, and the number of lines before it.
struct Look {
    time: Duration,
    lines: usize,
    mebibytes: f64,
}

/// Prints the lines of a process, and samples its memory, until it ends.
fn watch(child: &Child, lines: &Receiver<String>) -> Result<Vec<Look>, Stall> {
    let begin = Instant::now();
    let mut heard = begin;
    let mut looks = Vec::new();
    let mut count = 0;
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => {
                heard = Instant::now();
                count += 1;
                looks.extend(look(child, begin, count));
                let memory = looks.last().map_or(0.0, |look: &Look| look.mebibytes);
                println!("{line}, resident {memory:.0} MiB");
            }
            Err(RecvTimeoutError::Timeout) if heard.elapsed() > PATIENCE => return Err(Stall),
            Err(RecvTimeoutError::Timeout) => looks.extend(look(child, begin, count)),
            Err(RecvTimeoutError::Disconnected) => return Ok(looks),
        }
    }
}

fn look(child: &Child, begin: Instant, lines: usize) -> Option<Look> {
    let time = begin.elapsed();
    resident(child).map(|mebibytes| Look { time, lines, mebibytes })
}

/// The memory that the process occupies, in MiB; nothing if it has ended.
fn resident(child: &Child) -> Option<f64> {
    let kibibytes = memory_of(child.id());
    (kibibytes > 0).then_some(kibibytes as f64 / 1024.0)
}

/// Compares the last third of the time with the second.
fn judge(looks: &[Look]) -> Result<String, String> {
    let too_short = || Ok("it was too short to see memory".to_owned());
    let Some(last) = looks.last() else { return too_short() };
    let most_between = |from: f64, to: f64| {
        let [from, to] = [from, to].map(|part| last.time.mul_f64(part));
        let looks = looks.iter().filter(|look| look.time >= from && look.time <= to);
        looks.map(|look| look.mebibytes).reduce(f64::max)
    };
    let thirds = [(0.0, 1.0 / 3.0), (1.0 / 3.0, 2.0 / 3.0), (2.0 / 3.0, 1.0)];
    let [Some(first), Some(second), Some(third)] = thirds.map(|(from, to)| most_between(from, to))
    else {
        return too_short();
    };
    let summary =
        format!("at most {first:.0}, {second:.0}, {third:.0} MiB in the thirds of the time");
    if third > second * GROWTH { Err(format!("it grows: {summary}")) } else { Ok(summary) }
}

/// Compares the last tenth of the lines with the second one.
fn judge_succession(looks: &[Look]) -> Result<String, String> {
    let most_in = |tenth: usize| {
        let first = tenth * SUCCESSION_LINES / 10;
        let lines = first..=first + SUCCESSION_LINES / 10;
        let looks = looks.iter().filter(|look| lines.contains(&look.lines));
        looks.map(|look| look.mebibytes).reduce(f64::max)
    };
    let (Some(second), Some(last)) = (most_in(1), most_in(9)) else {
        return Ok("it was too short to see memory".to_owned());
    };
    let summary = format!("at most {second:.0} MiB in the second tenth, {last:.0} MiB in the last");
    if last > second * GROWTH { Err(format!("it grows: {summary}")) } else { Ok(summary) }
}

/// Asks the program to dump its strands to its standard error.
fn ask_what_it_does(squall: &Path, child: &Child) {
    _ = Command::new(squall).args(["dump", &child.id().to_string()]).status();
    thread::sleep(Duration::from_secs(2));
}

/// A channel that receives the lines of a pipe.
fn lines_of(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let lines = pipe.into_iter().flat_map(|pipe| BufReader::new(pipe).lines());
        lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    receiver
}

/// A native thread that reads a pipe to its end, and answers the last lines.
fn last_lines_of(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    let lines = lines_of(pipe);
    thread::spawn(move || {
        let mut last = VecDeque::new();
        for line in lines {
            if last.len() == SHOWN {
                last.pop_front();
            }
            last.push_back(line);
        }
        Vec::from(last).join("\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(mebibytes: &[f64]) -> Result<String, String> {
        let looks = mebibytes.iter().enumerate();
        let looks = looks.map(|(second, &mebibytes)| {
            let time = Duration::from_secs(second as u64);
            Look { time, lines: second, mebibytes }
        });
        judge(&looks.collect::<Vec<_>>())
    }

    #[test]
    fn what_grows_at_the_end_fails() {
        assert!(judged(&[1.0, 90.0, 90.0, 100.0, 90.0, 109.0, 90.0]).is_ok());
        assert!(judged(&[1.0, 90.0, 90.0, 100.0, 90.0, 111.0, 90.0]).is_err());
        assert!(judged(&[500.0, 90.0, 90.0, 90.0, 90.0, 90.0, 90.0]).is_ok());
        assert!(judged(&[]).is_ok() && judged(&[1.0]).is_ok() && judged(&[1.0, 9.0]).is_ok());
    }

    #[test]
    fn the_last_tenth_is_like_the_second() {
        let looks = |growth: f64| -> Vec<Look> {
            let look = |lines| {
                let mebibytes = if lines <= 10 { 20.0 } else { 100.0 + growth * lines as f64 };
                Look { time: Duration::ZERO, lines, mebibytes }
            };
            (0..=100).map(look).collect()
        };
        assert!(judge_succession(&looks(0.0)).is_ok() && judge_succession(&looks(0.1)).is_ok());
        assert!(judge_succession(&looks(1.0)).is_err());
        assert!(judge_succession(&[]).is_ok());
    }

    fn shell(script: &str) -> Result<String, String> {
        soak(Command::new("sh").args(["-c", script]), Path::new("/no/such/file"), judge)
    }

    #[test]
    fn what_fails_says_why() {
        assert!(shell("echo a line").is_ok());
        let problem = shell("echo wrong count >&2; exit 1").expect_err("exit 1");
        assert!(problem.contains("wrong count"), "{problem}");
    }
}
