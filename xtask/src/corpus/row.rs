//! A row of the corpus: a program, and its expected output. [`super::rows()`] makes the rows; [`super::run`] and `cargo
//! xtask seeds` judge them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::line_of;

/// A program and its expected output.
#[derive(Clone, Debug)]
pub struct Row {
    /// The group in which the row is counted.
    pub group: &'static str,
    /// The row's name in its group.
    pub name: String,
    /// The folder in which the program runs.
    pub folder: PathBuf,
    /// Options of `squall run`, the program, and its arguments.
    pub arguments: Vec<String>,
    /// The expected output.
    pub expectation: Expectation,
}

/// The output of a program that passes. Its exit code must be 0, too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expectation {
    /// This line, among others.
    Line(String),
    /// This line, once or several times, and no other lines.
    AllLines(String),
    /// A line that begins with this text, among others.
    Beginning(String),
    /// A number of lines with this beginning and this ending, no other lines with the same beginning, and any further
    /// lines.
    Lines { beginning: String, ending: &'static str, count: usize },
    /// The two lines of a test runner: this number of tests, all successful.
    Tests(usize),
}

/// The result of a row.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The first difference from the expected output.
    pub problem: Option<String>,
    /// The shell command that repeats it.
    pub line: String,
    /// How long it took.
    pub time: Duration,
}

impl Row {
    /// The name for filters.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }

    /// The command to run.
    pub fn command(&self, squall: &Path, options: &[String]) -> Command {
        let mut command = Command::new(squall);
        command.arg("run").args(options).args(&self.arguments).current_dir(&self.folder);
        command
    }

    /// Runs the command and compares its output with the expected one.
    pub fn judge(&self, mut command: Command, patience: Duration) -> Verdict {
        let begin = Instant::now();
        let line = line_of(&command);
        let problem = match run(&mut command, patience) {
            Err(problem) => Some(problem),
            Ok((0, output)) => self.expectation.problem(&output),
            Ok((code, output)) => Some(format!("exit code {code}: {}", last_line(&output))),
        };
        Verdict { problem, line, time: begin.elapsed() }
    }
}

/// Runs a command. Answers its exit code and its output, the standard error first.
fn run(command: &mut Command, patience: Duration) -> Result<(i32, String), String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let (output, error) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let begin = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begin.elapsed() < patience => std::thread::sleep(Duration::from_millis(3)),
            _ => {
                _ = child.kill();
                _ = child.wait();
                return Err(format!("it did not end within {} s", patience.as_secs()));
            }
        }
    };
    let text = |reader: std::thread::JoinHandle<String>| reader.join().unwrap_or_default();
    let text = text(error) + &text(output);
    match status.code() {
        Some(code) => Ok((code, text)),
        None => Err(format!("{status}: {}", last_line(&text))),
    }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Expectation {
    /// The number of tests that must be successful; 0 for other programs.
    pub fn tests(&self) -> usize {
        if let Expectation::Tests(count) = self { *count } else { 0 }
    }

    fn problem(&self, output: &str) -> Option<String> {
        let has = |test: &dyn Fn(&str) -> bool| output.lines().any(test);
        let (is_met, wanted) = match self {
            Expectation::Line(line) => (has(&|found| found == line), format!("`{line}`")),
            Expectation::AllLines(line) => {
                let is_met = has(&|found| found == line) && !has(&|found| found != line);
                (is_met, format!("nothing but `{line}`"))
            }
            Expectation::Beginning(text) => {
                (has(&|found| found.starts_with(text)), format!("`{text}…`"))
            }
            Expectation::Lines { beginning, ending, count } => {
                let lines = || output.lines().filter(|line| line.starts_with(beginning.as_str()));
                let is_met =
                    lines().count() == *count && lines().all(|line| line.ends_with(ending));
                (is_met, format!("{count} lines `{beginning}…{ending}`"))
            }
            Expectation::Tests(count) => {
                let number = |line: &str| line.rsplit(' ').next()?.parse::<usize>().ok();
                let says = |what: &str| {
                    has(&|found| found.starts_with(what) && number(found) == Some(*count))
                };
                let all = says("Total Number of Tests:") && says("Number of Successful Tests:");
                (all, format!("{count} successful tests"))
            }
        };
        (!is_met).then(|| format!("{wanted} expected, but {}", last_line(output)))
    }
}

fn last_line(output: &str) -> String {
    let last = output.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or("there is no output".to_owned(), |line| {
        format!("the last line is `{}`", line.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::Expectation;

    #[test]
    fn other_lines_are_found() {
        let expectation = Expectation::AllLines("fine".to_owned());
        assert_eq!(expectation.problem("fine\nfine"), None);
        for output in ["", "fine\nbad", "bad\nfine"] {
            assert!(expectation.problem(output).is_some(), "{output}");
        }
    }

    #[test]
    fn lines_are_counted() {
        let lines = Expectation::Lines { beginning: "a: ".to_owned(), ending: "us", count: 2 };
        assert_eq!(lines.problem("start\na: 1us\na: 2us\ntotal 3us"), None);
        for output in ["a: 1us\ntotal 1us", "a: 1us\na: 2us\na: 3us", "a: 1us\na: 2us wrong"] {
            assert!(lines.problem(output).is_some(), "{output}");
        }
    }
}
