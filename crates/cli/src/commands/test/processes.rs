//! Runs each of several test modules in a process of its own, some at a time. [`super::test`] and [`super::watch`] call
//! this.
//!
//! A machine ends with its program, so modules in processes of their own do not disturb each other: neither by an exit, nor
//! by a test that takes too long, nor by what they leave behind. The process is this command with the same arguments, and
//! with `--only` and `--events`, which are for this purpose alone. Its output is shown when it is over, and modules in the
//! order of their files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::events::{Event, Refusal};
use super::report::Report;
use crate::arguments;
use crate::console::{complain, print_error};
use crate::exit::Exit;

/// A process that is over.
struct Finished {
    status: ExitStatus,
    output: Vec<u8>,
    errors: Vec<u8>,
    events: Vec<Event>,
}

/// Runs the tests of these files.
pub fn run(arguments: &arguments::Test, files: &[String], report: &mut Report) -> Result<(), Exit> {
    let jobs = arguments.jobs.map_or_else(cores, |jobs| jobs as usize).min(files.len());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..jobs {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // Without a receiver, the run has failed.
                    _ = sender.send((file, run_one(file)));
                }
            });
        }
        drop(sender);
        let mut finished = BTreeMap::new();
        let mut shown = files.iter();
        let mut wanted = shown.next();
        for (file, result) in receiver {
            finished.insert(file, result.map_err(cannot_start)?);
            while let Some((file, process)) =
                wanted.and_then(|file| Some((file, finished.remove(file)?)))
            {
                show(file, process, report);
                wanted = shown.next();
            }
        }
        Ok(())
    })
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Runs the tests of a file in a process of their own.
fn run_one(file: &str) -> std::io::Result<Finished> {
    let events = tempfile::NamedTempFile::new()?;
    let mut own = std::env::args_os().skip(1);
    let name = own.next().unwrap_or_else(|| "test".into());
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(name)
        .arg(option("--only=", file))
        .arg(option("--events=", events.path()))
        .args(own);
    let output = command.stdin(Stdio::null()).output()?;
    let lines = fs::read_to_string(events.path())?;
    let events = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    Ok(Finished { status: output.status, output: output.stdout, errors: output.stderr, events })
}

fn option(name: &str, value: impl AsRef<std::ffi::OsStr>) -> OsString {
    let mut option = OsString::from(name);
    option.push(value.as_ref());
    option
}

fn cannot_start(error: std::io::Error) -> Exit {
    complain(&format!("the tests cannot be started: {error}"));
    Exit::Failure
}

/// Shows what a process has said.
fn show(file: &str, process: Finished, report: &mut Report) {
    report.output(&String::from_utf8_lossy(&process.output));
    print_error(&String::from_utf8_lossy(&process.errors));
    for event in &process.events {
        report.note(event);
    }
    let says_why = |event: &Event| matches!(event, Event::Module(_) | Event::Diagnostic(_));
    if !process.status.success() && !process.events.iter().any(says_why) {
        let message = Some(format!("the process of its tests ended with {}", process.status));
        let outcome = "error".to_owned();
        report.note(&Event::Module(Refusal { file: file.into(), outcome, message }));
    }
}
