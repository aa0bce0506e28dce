//! The rule about the length of functions. [`super::run`] calls [`check`] with all files.
//!
//! The rule is a ratchet: functions longer than [`LONGEST`] are listed with their length, and the list may only shrink.
//! Tests are exempt, because a table of cases is as long as the number of its cases.
//!
//! The formatter puts a function's closing brace in the column of its first word. The rule relies on that to find the
//! end of a function.

use super::{File, Finding};

/// Functions with more lines than this must be listed.
const LONGEST: usize = 60;

/// The longer functions and their lengths. Most of them are tables.
const LISTED: &[(&str, &str, usize)] = &[("crates/interpreter/src/dispatch.rs", "run", 230)];

/// A function's name, place and length.
#[derive(PartialEq, Eq, Debug)]
struct Function<'t> {
    name: &'t str,
    line: usize,
    lines: usize,
}

/// Checks all files.
pub fn check(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut long = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && !file.is_test()) {
        for function in functions(&file.text).filter(|function| function.lines > LONGEST) {
            let Function { name, line, lines } = function;
            let listed = LISTED.iter().find(|entry| entry.0 == file.path && entry.1 == name);
            let limit = listed.map_or(LONGEST, |entry| entry.2);
            if lines > limit {
                findings.push(format!(
                    "{}:{line}: {name} has {lines} lines; at most {limit}",
                    file.path
                ));
            }
            long.push((file.path.as_str(), name, lines));
        }
    }
    for entry in LISTED.iter().filter(|entry| !long.contains(entry)) {
        let (path, name, _) = entry;
        findings.push(format!("{path}: {name} became shorter: correct the list in tidy/length.rs"));
    }
    findings
}

/// The functions of a formatted source text.
fn functions(text: &str) -> impl Iterator<Item = Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    (0..lines.len()).filter_map(move |start| {
        let line = lines[start];
        let indentation = line.len() - line.trim_start().len();
        let name = function_name(line)?;
        let end = format!("{}}}", &line[..indentation]);
        let rest = lines[start..].iter();
        let length = rest.take_while(|line| **line != end && !ends_without_body(line)).count() + 1;
        Some(Function { name, line: start + 1, lines: length })
    })
}

/// The name after `fn`, if a function begins on this line.
fn function_name(line: &str) -> Option<&str> {
    let before_name = line.trim_start().split_once("fn ")?;
    let qualifiers =
        ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe", "extern", "\"C\""];
    if !before_name.0.split_whitespace().all(|word| qualifiers.contains(&word)) {
        return None;
    }
    let name = before_name.1;
    name.split(|end: char| !end.is_alphanumeric() && end != '_')
        .next()
        .filter(|name| !name.is_empty())
}

/// Whether a declaration or a whole function ends on this line.
fn ends_without_body(line: &str) -> bool {
    function_name(line).is_some() && (line.ends_with(';') || line.ends_with('}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_head_to_bracket() {
        let text = "impl X {\n    pub fn a(&self) {\n        1;\n    }\n\n    fn b() {}\n}\nfn c(\n    x: u8,\n) {\n}\n";
        let found: Vec<Function> = functions(text).collect();
        let function = |name, line, lines| Function { name, line, lines };
        assert_eq!(found, [function("a", 2, 3), function("b", 6, 1), function("c", 8, 4)]);
    }
}
