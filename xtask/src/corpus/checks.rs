//! False alarms: `squall check` over all texts of the checkouts. [`super::run`] calls this module when it runs the
//! whole corpus. Their programs work, so an error is a false alarm. Some of the warnings are real mistakes in code that
//! nothing runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builds::absolute;

/// Files of SOMns that are not programs, though named like some. The last one has a bracket too many.
const NO_PROGRAMS: &[&str] = &[
    "LanguageFeatures/SlopStone.ns",
    "LanguageFeatures/DoesNotUnderstand/",
    "kompos/tests/pingpong-csp.ns",
];

/// Checks all texts of the checkouts, and prints a line for each of them. Answers whether there is no error.
pub fn run<'p>(checkouts: impl Iterator<Item = &'p PathBuf>, squall: &Path) -> bool {
    let mut passes = true;
    for checkout in checkouts {
        let checkout = absolute(checkout);
        let mut files = Vec::new();
        collect(&checkout, &mut files);
        files.retain(|file| {
            let name = file.to_string_lossy();
            !NO_PROGRAMS.iter().any(|part| name.contains(part))
        });
        let output = Command::new(squall).args(["check", "--json"]).args(&files).output();
        let output = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let output = output.unwrap_or_default();
        let count = |severity: &str| {
            let severity = format!("\"severity\":\"{severity}\"");
            output.lines().filter(|line| line.contains(&severity)).count()
        };
        let (errors, warnings) = (count("error"), count("warning"));
        println!(
            "checked {} files in {}: {errors} errors, {warnings} warnings",
            files.len(),
            checkout.display()
        );
        passes &= errors == 0 && !files.is_empty();
    }
    passes
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "ns") {
            files.push(path);
        }
    }
    files.sort();
}
