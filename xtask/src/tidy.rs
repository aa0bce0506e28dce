//! `cargo xtask tidy`: checks the rules of the sources that a program can check. `check` and `ci` run it
//! ([`crate::steps`]).
//!
//! - Crates depend on each other in one direction only, and some libraries may be used by one crate only.
//! - Imports within a crate go one way.
//! - `unsafe` is only in the crates that ARCHITECTURE.md names.
//! - Only the command prints and opens source files.
//! - No word of an object is used across a call at which the collector may run.
//! - Functions and files are short. The few longer functions are listed, and may only become shorter.
//! - Every source file begins with its description.
//! - No unfinished work is committed.
//! - The examples in the documentation of crates are run.
//! - ARCHITECTURE.md names exactly the crates that exist.
//! - Links of documents lead to files, and all decisions are listed.
//! - README.md shows the results that are committed.
//!
//! Each rule answers a message for each place that breaks it.

mod architecture;
mod documents;
mod gc_points;
mod imports;
mod length;
mod text;

use std::path::Path;
use std::process::Command;

use crate::root;

/// A message about a place that breaks a rule.
type Finding = String;

/// Checks all rules and prints the findings. Answers whether there are none.
pub fn run() -> bool {
    let findings = findings();
    for finding in &findings {
        println!("{finding}");
    }
    findings.is_empty()
}

fn findings() -> Vec<Finding> {
    let files = files();
    let mut findings = architecture::dependencies();
    findings.extend(architecture::named_in_codemap());
    findings.extend(architecture::untested_examples(&files));
    for file in &files {
        findings.extend(text::check(file));
        findings.extend(architecture::check(file));
    }
    findings.extend(imports::check(&files));
    findings.extend(documents::check(&files));
    findings.extend(length::check(&files));
    findings.extend(gc_points::check(&files));
    findings.extend(crate::bench::readme::findings());
    findings
}

/// A text file of the project.
struct File {
    /// The path from the project's folder.
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The folder of the crate that it belongs to.
    fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether the file is part of the product, not of a test, an example or a build.
    fn is_product(&self) -> bool {
        let parts = self.path.strip_prefix("crates/").unwrap_or("");
        parts.split('/').nth(1) == Some("src") && !self.is_test()
    }

    /// Whether the file contains tests, or code that only tests use.
    fn is_test(&self) -> bool {
        self.path.split('/').any(|part| ["tests", "tests.rs", "testing"].contains(&part))
    }

    /// Its lines, numbered from 1, without the tests at its end.
    fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(index, line)| (index + 1, line));
        lines.take_while(|(_, line)| *line != "#[cfg(test)]")
    }
}

/// The files under version control, and new files that are not ignored.
fn files() -> Vec<File> {
    let mut command = Command::new("git");
    command.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let output = command.output().expect("git is there");
    let paths = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = |path: &str| {
        let text = std::fs::read_to_string(root().join(path)).ok()?;
        Some(File { path: path.to_owned(), text })
    };
    paths.lines().filter_map(read).collect()
}

/// The text of a file of the project, if there is one.
fn text_of(path: &str) -> Option<String> {
    std::fs::read_to_string(root().join(Path::new(path))).ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_sources_keep_the_rules() {
        let findings = super::findings();
        assert!(findings.is_empty(), "\n{}", findings.join("\n"));
    }
}
