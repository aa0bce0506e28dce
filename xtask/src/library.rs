//! `cargo xtask library`: compares the library with other implementations of the same, and puts load on applications of
//! the examples. `main` calls [`run`].
//!
//! | part | what it does |
//! |---|---|
//! | `documents` | a million random documents, printed as JSON and read again |
//! | `texts` | text methods on 10,000 random Unicode texts, against Python |
//! | `instants` | 10,000 random instants in 20 zones, and back, against Python's zoneinfo |
//! | `patterns` | the tests that come with the crate `regex` |
//! | `speed` | a JSON document of 10 MB, against Python's json: at most three times as long |
//! | `service` | the notes service under random requests, for so many minutes: every answer is well formed |
//! | `chat` | the chat server with a thousand clients: no line is lost, and all clients see the same order |
//!
//! The programs are in `tests/library`. Parts that need Python are skipped without it.

mod chat;
mod service;
mod service_request;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use clap::{Args, ValueEnum};

use crate::builds::{self, output_of};
use crate::{cargo, root};

/// The options of `cargo xtask library`.
#[derive(Args)]
pub struct Arguments {
    /// The parts to run; without any, all of them
    parts: Vec<Part>,

    /// How many documents there are
    #[arg(long, default_value_t = 1_000_000)]
    documents: u64,

    /// How many texts, and instants, there are
    #[arg(long, default_value_t = 10_000)]
    samples: u64,

    /// How long requests are sent
    #[arg(long, default_value_t = 60)]
    minutes: u64,

    /// How many clients chat
    #[arg(long, default_value_t = 1000)]
    clients: usize,

    /// The seed of everything that is random
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The command to test; by default, a release build
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
}

/// A part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    Documents,
    Texts,
    Instants,
    Patterns,
    Speed,
    Service,
    Chat,
}

/// Runs the parts. Answers whether all went well.
pub fn run(arguments: &Arguments) -> bool {
    let Some(squall) = builds::squall(arguments.squall.as_deref()) else { return false };
    let all = Part::value_variants();
    let parts = if arguments.parts.is_empty() { all } else { &arguments.parts };
    let mut is_well = true;
    for &part in parts {
        println!("{part:?}");
        let outcome = match part {
            Part::Documents => documents(&squall, arguments),
            Part::Texts => against_python(&squall, arguments, "texts"),
            Part::Instants => against_python(&squall, arguments, "instants"),
            Part::Patterns => patterns(&squall),
            Part::Speed => speed(&squall),
            Part::Service => service::run(&squall, arguments.minutes, arguments.seed),
            Part::Chat => chat::run(&squall, arguments.clients),
        };
        match outcome {
            Ok(said) => println!("  {}", said.trim_end().replace('\n', "\n  ")),
            Err(problem) => {
                is_well = false;
                println!("  FAILED: {}", problem.trim_end());
            }
        }
    }
    is_well
}

const FOLDER: &str = "tests/library";

/// The output of a program, which succeeds.
fn program(squall: &Path, program: &str, arguments: &[String]) -> Result<String, String> {
    let mut command = Command::new(squall);
    command.args(["run", "--allow-files", program]).args(arguments).current_dir(root());
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(said),
        false => Err(format!("{said}{}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn documents(squall: &Path, arguments: &Arguments) -> Result<String, String> {
    let numbers = [arguments.documents.to_string(), arguments.seed.to_string()];
    program(squall, "tests/language/data/json_documents.ns", &numbers)
}

/// Python's answers go to a file, which a program compares with the library's.
fn against_python(squall: &Path, arguments: &Arguments, name: &str) -> Result<String, String> {
    let file = std::env::temp_dir().join(format!("squall-{name}-{}.json", std::process::id()));
    let target = std::fs::File::create(&file).map_err(|error| error.to_string())?;
    let mut command = Command::new("python3");
    command.arg(format!("{FOLDER}/{name}.py")).current_dir(root());
    command.args([arguments.samples.to_string(), arguments.seed.to_string()]).stdout(target);
    let outcome = match command.status() {
        Err(_) => Ok("skipped: python3 is not installed".to_owned()),
        Ok(status) if status.code() == Some(3) => {
            Ok("skipped: Python has no rules of time zones".to_owned())
        }
        Ok(status) if !status.success() => Err(format!("{command:?}: {status}")),
        Ok(_) => program(squall, &format!("{FOLDER}/{name}.ns"), &[file.display().to_string()]),
    };
    _ = std::fs::remove_file(file);
    outcome
}

/// The tests of the crate `regex` are where Cargo has put its source.
fn patterns(squall: &Path) -> Result<String, String> {
    let mut command = cargo();
    // Cargo may fetch the packages of other systems, which no build has needed here.
    command.args(["metadata", "--locked", "--format-version", "1"]);
    let metadata: serde_json::Value = serde_json::from_slice(&output_of(&mut command)?.stdout)
        .map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("Cargo names no packages")?;
    let regex = packages.iter().find(|package| package["name"] == "regex");
    let manifest = regex.and_then(|regex| regex["manifest_path"].as_str());
    let folder =
        Path::new(manifest.ok_or("the crate regex is not there")?).with_file_name("testdata");
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        // These are about another crate.
        .filter(|path| path.file_name().is_some_and(|name| name != "regex-lite.toml"))
        .map(|path| path.display().to_string())
        .collect();
    files.sort();
    program(squall, &format!("{FOLDER}/patterns.ns"), &files)
}

/// How much longer than Python the library may take.
const SLOWEST: f64 = 3.0;

fn speed(squall: &Path) -> Result<String, String> {
    let file = std::env::temp_dir().join(format!("squall-speed-{}.json", std::process::id()));
    let path = file.display().to_string();
    let mut command = Command::new("python3");
    command.args([&format!("{FOLDER}/speed.py"), &path]).current_dir(root());
    let outcome = match command.output() {
        Err(_) => Ok("skipped: python3 is not installed".to_owned()),
        Ok(output) => {
            let python = String::from_utf8_lossy(&output.stdout).into_owned();
            program(squall, &format!("{FOLDER}/speed.ns"), &[path])
                .and_then(|ours| compare_speed(&python, &ours))
        }
    };
    _ = std::fs::remove_file(file);
    outcome
}

/// Compares the seconds for reading and printing.
fn compare_speed(python: &str, ours: &str) -> Result<String, String> {
    let numbers = |text: &str| -> Vec<f64> {
        text.split_whitespace().filter_map(|number| number.parse().ok()).collect()
    };
    let (python, ours) = (numbers(python), numbers(ours));
    let ([read, print], [our_read, our_print]) = (&python[..], &ours[..]) else {
        return Err("there are no times".to_owned());
    };
    let (reading, printing) = (our_read / read, our_print / print);
    let said = format!(
        "reading: {our_read:.3} s, Python {read:.3} s, {reading:.2} times as long\n\
         printing: {our_print:.3} s, Python {print:.3} s, {printing:.2} times as long"
    );
    if reading <= SLOWEST && printing <= SLOWEST { Ok(said) } else { Err(said) }
}

/// A program of the examples that serves at a port.
struct Served {
    process: Child,
    /// The line that it has printed.
    line: String,
}

impl Served {
    /// Starts a program with these options and arguments, and waits for its first line.
    fn start(squall: &Path, options: &[&str], arguments: &[&str]) -> Result<Served, String> {
        use std::io::BufRead;
        let mut command = Command::new(squall);
        command.arg("run").args(options).args(arguments).current_dir(root()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            _ = std::io::BufReader::new(output).read_line(&mut line);
        }
        Ok(Served { process, line: line.trim().to_owned() })
    }

    /// The memory that the process occupies, in KiB.
    fn memory(&self) -> u64 {
        crate::memory_of(self.process.id())
    }

    /// Whether the process still runs.
    fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_times_as_long_is_too_long() {
        assert!(compare_speed("0.1 0.2\n", "0.29 0.1\n").is_ok());
        assert!(compare_speed("0.1 0.2\n", "0.31 0.1\n").is_err());
        assert!(compare_speed("0.1\n", "0.31 0.1\n").is_err());
    }
}
