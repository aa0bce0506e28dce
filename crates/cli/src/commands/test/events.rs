//! The events of a test run. [`super::machine`] makes them, and [`super::report`] shows them. Between processes, and with
//! `--json`, each is one line of JSON.
//!
//! | event | fields |
//! |---|---|
//! | `"begin"` | `file`, `tests`, `skipped`: the module with these tests begins |
//! | `"test"` | `file`, `name`, `outcome`, `message` or null, `microseconds` |
//! | `"diagnostic"` | as of `squall check`: a mistake in a file |
//! | `"module"` | `file`, `outcome`, `message`: the module itself could not be made; `invalid` if the file has no tests |
//! | `"coverage"` | `path`, `text`, `lines`, `methods`, `branches`: what a module's tests have covered of a file; between processes only |
//! | `"summary"` | `passed`, `failed`, `skipped`, `microseconds` |
//!
//! Outcomes are `passed`, `failed` (an assertion), `error` (an exception), `unresolved` (a promise), `exit` (the program
//! ended) and `timeout` (`--timeout`); no test of the module runs after the last two.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use squall::coverage::FileCoverage;

/// Something that happens in a test run.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// A module begins.
    Begin(Begin),
    /// A test is over.
    Test(Verdict),
    /// A module cannot be made.
    Module(Refusal),
    /// A mistake in a file, as `squall check --json` shows it.
    Diagnostic(Value),
    /// What the tests have covered of a file.
    Coverage(FileCoverage),
    /// The end of a run.
    Summary(Summary),
}

/// The beginning of a module's tests.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Begin {
    /// The module's file.
    pub file: String,
    /// How many tests are going to run.
    pub tests: usize,
    /// How many tests do not run, because of their names.
    pub skipped: usize,
}

/// The end of a test.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Verdict {
    /// The module's file.
    pub file: String,
    /// The test's name, `Context.testSomething`.
    pub name: String,
    /// How it ended.
    pub outcome: String,
    /// Why, unless it has passed.
    pub message: Option<String>,
    /// How long it took.
    pub microseconds: u64,
}

/// A module that has no instance.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Refusal {
    /// The module's file.
    pub file: String,
    /// How making it ended, or [`INVALID`].
    pub outcome: String,
    /// Why.
    pub message: Option<String>,
}

/// How many tests ended how.
#[derive(Serialize, Deserialize, Clone, Copy, Default, Debug)]
pub struct Summary {
    /// Those that passed.
    pub passed: usize,
    /// Those that did not, and those that could not run.
    pub failed: usize,
    /// Those that were not to run.
    pub skipped: usize,
    /// How long the run took.
    pub microseconds: u64,
}

/// The outcome of a test that passed.
pub const PASSED: &str = "passed";
/// The outcome of a file without tests, or a program with mistakes.
pub const INVALID: &str = "invalid";

impl Event {
    /// The event as a line of JSON.
    pub fn line(&self) -> String {
        // By way of a value, whose fields are in alphabetical order.
        let value = serde_json::to_value(self).unwrap_or_default();
        format!("{value}\n")
    }
}
