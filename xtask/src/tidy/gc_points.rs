//! No word of an object lives across a GC point.
//!
//! A *GC point* is a call at which the collector may run and move objects; a word that was read before it is
//! stale after it, unless a root holds it and it is read again. The rule goes over all functions of the
//! crates that know objects, and finds out, until nothing new turns up:
//!
//! - which functions reach a GC point: the collector's own, and all that call one that does ([`summaries`]).
//!   Some do only if they answer `Err`, `None` or `false`, which their callers may rely on;
//! - which values hold words: those of the types `Word` and `Object`, and what is made of them; not what shows
//!   its words to the collector by a method `visit` ([`signatures`]);
//! - which locals and intermediate values are used after a GC point that comes after they got their value
//!   ([`mod@evaluate`]). Branches are followed, loops and closures gone through until they teach nothing new.
//!
//! Types are inferred as far as signatures and declarations say; what is not known holds words if something
//! in it does, and a method of an unknown receiver may be any that would take the arguments.
//!
//! # Marks
//!
//! Who takes `&mut Thread` or `&mut Mutator` may collect: the signature says it. *No GC point.* in the
//! documentation says the contrary, and must be true. Who collects without taking one says *GC point.*, and
//! is believed by nobody else: that must be true as well.
//!
//! # Exceptions
//!
//! `// STAYS: name: why` inside of a function says that a local's word is no address of an object. One that
//! is not needed is a finding.

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

/// The crates that know objects.
const CRATES: &[&str] = &["heap", "interpreter", "runtime", "squall"];

/// Crates that know none, whose types and functions those use.
const STRANGERS: &[&str] = &["bytecode", "foreign", "scheduler", "system", "transactions"];

/// How an exception begins.
const STAYS: &str = "// STAYS: ";

/// Checks all files.
pub fn check(files: &[File]) -> Vec<Finding> {
    let all = [CRATES, STRANGERS].concat();
    let belongs = |file: &&File| file.crate_name().is_some_and(|name| all.contains(&name));
    let sources = files.iter().filter(|file| file.is_rust() && file.is_product()).filter(belongs);
    let sources: Vec<(&str, &str)> =
        sources.map(|file| (file.path.as_str(), file.text.as_str())).collect();
    findings(&sources)
}

/// Checks sources: their paths and texts.
fn findings(sources: &[(&str, &str)]) -> Vec<Finding> {
    let program = match program::read(sources, STRANGERS) {
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

/// Words that are used after a GC point, in the functions of one file.
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

/// The exceptions in a text: where they are, and for which names.
fn exceptions<'t>(lines: &[&'t str]) -> impl Iterator<Item = (usize, &'t str)> {
    lines.iter().enumerate().filter_map(|(index, line)| {
        let name = line.trim_start().strip_prefix(STAYS)?.split(':').next()?;
        Some((index + 1, name))
    })
}
