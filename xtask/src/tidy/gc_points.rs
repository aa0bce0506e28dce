//! The rule of `tidy` that no word of an object is used across a GC point. [`super::run`] calls [`check`] with all
//! files of the project.
//!
//! A *GC point* is a call at which the collector may run and move objects. A word that was read before the GC point is
//! stale after it, unless a root holds the word and the code reads it again. The rule analyses all functions of the
//! crates that know objects, until a fixed point is reached. It finds
//!
//! - the functions that reach a GC point: the collector's own functions, and all functions that call one of them
//!   ([`summaries`]). Some functions reach one only if they answer `Err`, `None` or `false`; their callers may rely on
//!   this;
//! - the values that hold words: values of the types `Word` and `Object`, and values that are made of them. A type with
//!   a method `visit`, which shows its words to the collector, holds no words in this sense ([`signatures`]);
//! - the locals and intermediate values that are used after a GC point which comes after their assignment
//!   ([`mod@evaluate`]). The analysis follows all branches, and repeats loops and closures until their state is stable.
//!
//! Types are inferred from signatures and declarations. A value of unknown type holds words if one of its parts does. A
//! call of a method on a receiver of unknown type may reach any method of this name that accepts the arguments.
//!
//! # Marks
//!
//! The signature is the mark of a function that takes `&mut Thread` or `&mut Mutator`: such a function may collect. *No
//! GC point.* in its documentation says that it never does. A function that collects without taking one of them must
//! say *GC point.* in its documentation. The rule verifies both sentences against the code ([`marks`]).
//!
//! # Exceptions
//!
//! The comment `// STAYS: name: why` inside of a function says that the word in a local is not the address of an
//! object. An exception that is not needed is a finding.

mod calls;
mod closures;
mod control;
mod evaluate;
mod expressions;
mod flow;
mod macros;
mod marks;
mod names;
mod patterns;
mod program;
mod signatures;
mod standard;
mod summaries;
#[cfg(test)]
mod tests;
mod types;
mod values;

use std::collections::BTreeSet;

use super::{File, Finding};
use evaluate::evaluate;
use program::{FunctionId, Program};
use summaries::Summary;

/// The crates that know objects; the rule checks their functions.
const CRATES: &[&str] = &["debugger", "heap", "interpreter", "jit", "runtime", "squall"];

/// Crates that know no objects. The others use their types and functions, so their signatures are read, but not the
/// bodies of their functions.
const SIGNATURES_ONLY: &[&str] =
    &["bytecode", "data", "events", "foreign", "newspeak", "scheduler", "system", "transactions"];

/// The beginning of an exception.
const STAYS: &str = "// STAYS: ";

/// Checks all files; answers the findings.
pub fn check(files: &[File]) -> Vec<Finding> {
    let all = [CRATES, SIGNATURES_ONLY].concat();
    let belongs = |file: &&File| file.crate_name().is_some_and(|name| all.contains(&name));
    let sources = files.iter().filter(|file| file.is_rust() && file.is_product()).filter(belongs);
    let sources: Vec<(&str, &str)> =
        sources.map(|file| (file.path.as_str(), file.text.as_str())).collect();
    findings(&sources)
}

/// Checks sources, which are pairs of path and text.
fn findings(sources: &[(&str, &str)]) -> Vec<Finding> {
    let program = match program::read(sources, SIGNATURES_ONLY) {
        Ok(program) => program,
        Err(error) => return vec![error],
    };
    let summaries = summaries::summaries(&program);
    let mut findings = marks::check(&program, &summaries);
    for (path, text) in sources {
        findings.extend(stale_words(&program, &summaries, path, text));
    }
    findings
}

/// The words that are used after a GC point, in the functions of one file; and the exceptions in it that are not
/// needed.
fn stale_words(program: &Program, summaries: &[Summary], path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let exceptions: Vec<(usize, &str)> = exceptions(&lines).collect();
    let mut used = BTreeSet::new();
    for index in 0..program.functions.len() {
        let function = &program.functions[index];
        if program.modules[function.module.0].path != path {
            continue;
        }
        let Some(found) = evaluate(program, summaries, FunctionId(index), true) else { continue };
        for ((line, name), point) in found.findings {
            let inside = function.line..=function.last_line;
            let is_excused = |(at, of): &&(usize, &str)| inside.contains(at) && *of == name;
            if let Some(exception) = exceptions.iter().find(is_excused) {
                used.insert(*exception);
                continue;
            }
            findings.push(format!(
                "{path}:{line}: {name} is used after {} on line {}, at which the collector may run: read it again from a root",
                point.callee, point.line,
            ));
        }
    }
    for (line, name) in exceptions.into_iter().filter(|exception| !used.contains(exception)) {
        findings.push(format!("{path}:{line}: nothing is wrong with {name}: remove the exception"));
    }
    findings
}

/// The exceptions in a text: their lines and the names that they excuse.
fn exceptions<'t>(lines: &[&'t str]) -> impl Iterator<Item = (usize, &'t str)> {
    lines.iter().enumerate().filter_map(|(index, line)| {
        let name = line.trim_start().strip_prefix(STAYS)?.split(':').next()?;
        Some((index + 1, name))
    })
}
