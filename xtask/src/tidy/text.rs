//! The rules about the text of each file: its description, its lines, and its length. [`super::run`] calls [`check`]
//! for each file.

use super::{File, Finding};

/// Signs of unfinished work.
const UNFINISHED: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];

/// The most lines of a source file.
const LONGEST_FILE: usize = 1000;

/// The longest line of hand-written text that is not a table.
const LONGEST_LINE: usize = 180;

/// Checks one file.
pub fn check(file: &File) -> Vec<Finding> {
    let is_source = file.is_rust() || file.path.starts_with("lib/") && file.path.ends_with(".ns");
    if !is_source || file.path == "xtask/src/tidy/text.rs" {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let opening = if file.is_rust() { "//!" } else { "(*" };
    if !file.text.starts_with(opening) {
        findings.push(format!("{}:1: a file begins with what it is ({opening})", file.path));
    }
    for (index, line) in file.text.lines().enumerate() {
        let place = format!("{}:{}", file.path, index + 1);
        if let Some(sign) = UNFINISHED.iter().find(|sign| is_word(line, sign)) {
            findings.push(format!("{place}: {sign}: finish it, or describe the limit"));
        }
        if line.ends_with([' ', '\t']) && !file.is_test() {
            findings.push(format!("{place}: blanks at the end of the line"));
        }
        if line.chars().count() > LONGEST_LINE && !is_table_row(line) && !file.is_test() {
            findings.push(format!("{place}: longer than {LONGEST_LINE} characters"));
        }
    }
    let lines = file.text.lines().count();
    if file.is_rust() && file.is_product() && lines > LONGEST_FILE {
        findings.push(format!("{}: {lines} lines; split it", file.path));
    }
    findings
}

/// Whether this line is a row of a table in documentation, which cannot be broken.
fn is_table_row(line: &str) -> bool {
    line.trim_start().starts_with("//! |")
}

fn is_word(line: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}
