//! `check`, `ci`, `stress` and `generate`: series of Cargo commands, which stop at the first failure. The command line
//! in `main.rs` calls them.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::{cargo, postgres, tidy};

/// A command of Cargo: its arguments, and variables to set in its environment.
struct Step {
    arguments: &'static [&'static str],
    environment: &'static [(&'static str, &'static str)],
}

const FORMAT: Step = Step::new(&["fmt", "--all", "--check"]);
const LINT: Step =
    Step::new(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]);
const DOCUMENTATION: Step = Step {
    arguments: &["doc", "--workspace", "--no-deps", "--quiet"],
    environment: &[("RUSTDOCFLAGS", "-D warnings")],
};
const QUICK_TESTS: Step = Step::new(&["test", "--quiet", "--workspace", "--lib", "--bins"]);
// The tests of the whole workspace: for some of its packages, Cargo would build libraries again, with fewer features.
const LANGUAGE_TESTS: Step = Step::new(&["test", "--quiet", "--workspace", "--test", "all"]);
const ALL_TESTS: Step = Step::new(&["test", "--workspace"]);
/// The models of crates that need no other crate of the project. They take a few seconds; `cargo xtask checks models`
/// runs all models.
const MODELS: Step = Step::new(&[
    "test",
    "--quiet",
    "--package",
    "squall-scheduler",
    "--package",
    "squall-transactions",
    "--features",
    "squall-scheduler/loom,squall-transactions/loom",
    "--lib",
]);
const STRESS_TESTS: Step =
    Step { arguments: LANGUAGE_TESTS.arguments, environment: &[("SQUALL_STRESS", "1")] };

const HOSTILE_TESTS: Step = Step {
    arguments: &["test", "--quiet", "--workspace", "--test", "all", "--", "hostile"],
    environment: &[("SQUALL_HOSTILE", "10")],
};

/// Runs the checks before a commit.
pub fn check() -> bool {
    FORMAT.run() && LINT.run() && tidy::run() && QUICK_TESTS.run() && LANGUAGE_TESTS.run()
}

/// Runs the checks before a change lands. The tests contain a sample that is drawn anew each time; the printed command
/// repeats it.
pub fn ci() -> bool {
    let sample = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    have_components()
        && FORMAT.run()
        && tidy::run()
        && LINT.run()
        && DOCUMENTATION.run()
        && deny()
        && ALL_TESTS.run_with(&[("SQUALL_SAMPLE", &sample.to_string())])
        && MODELS.run()
        && postgres::run()
}

/// Advisories, licences and sources of dependencies, if the tool is installed. Without it, a test checks licences and
/// sources.
fn deny() -> bool {
    match has("deny") {
        true => Step::new(&["deny", "--log-level", "error", "check"]).run(),
        false => {
            println!("\nskipped: advisories of dependencies; cargo-deny is not installed");
            true
        }
    }
}

/// Runs the integration tests with collections at every allocation and tiny stacks, and with more damaged modules than
/// usual.
pub fn stress() -> bool {
    STRESS_TESTS.run() && HOSTILE_TESTS.run()
}

/// Generates the files that are made of the instruction table: the reference, and the editors' word lists.
const GENERATION: Step = Step {
    arguments: &["test", "--quiet", "--package", "squall-bytecode", "--", "the_committed_"],
    environment: &[("BLESS", "1")],
};

/// Rewrites the files that are made of the instruction table.
pub fn generate() -> bool {
    GENERATION.run()
}

impl Step {
    const fn new(arguments: &'static [&'static str]) -> Step {
        Step { arguments, environment: &[] }
    }

    fn run(&self) -> bool {
        self.run_with(&[])
    }

    /// Runs the command with more variables in its environment.
    fn run_with(&self, variables: &[(&str, &str)]) -> bool {
        let variables = self.environment.iter().chain(variables);
        let environment = variables.clone().map(|(name, value)| format!("{name}='{value}' "));
        let line = format!("{}cargo {}", environment.collect::<String>(), self.arguments.join(" "));
        println!("\n$ {line}");
        let begin = Instant::now();
        let mut command = cargo();
        command.args(self.arguments).envs(variables.copied());
        let success = command.status().is_ok_and(|status| status.success());
        let seconds = begin.elapsed().as_secs();
        match success {
            true => println!("passed in {seconds} s"),
            false => println!("FAILED after {seconds} s; repeat with\n  {line}"),
        }
        success
    }
}

/// Whether Cargo has a command.
fn has(tool: &str) -> bool {
    cargo().args([tool, "--version"]).output().is_ok_and(|output| output.status.success())
}

/// Installs formatter and lints, which a minimal toolchain lacks.
fn have_components() -> bool {
    if has("fmt") && has("clippy") {
        return true;
    }
    let mut rustup = std::process::Command::new("rustup");
    rustup.args(["component", "add", "rustfmt", "clippy"]);
    rustup.status().is_ok_and(|status| status.success())
}
