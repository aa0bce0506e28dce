//! Checks the marks in documentation: *GC point* and *No GC point* must be true, and a GC point that the signature does
//! not show must be marked. [`super::findings`] calls [`check`] with the summaries of all functions.

use super::super::Finding;
use super::program::{Function, Program};
use super::summaries::Summary;

/// The mark of a function that reaches a GC point.
const MARK: &str = "*GC point";

/// The mark of a function that has the right to collect, but does not.
const CONTRARY: &str = "*No GC point";

/// In this crate, functions below the mutator collect on its behalf. They need no mark.
const HEAP: &str = "crates/heap/";

/// Checks the documentation of all functions.
pub fn check(program: &Program, summaries: &[Summary]) -> Vec<Finding> {
    let functions = program.functions.iter().zip(summaries);
    let looked_at = functions.filter(|(function, _)| function.body.is_some());
    looked_at.filter_map(|(function, summary)| check_one(program, function, summary)).collect()
}

fn check_one(program: &Program, function: &Function, summary: &Summary) -> Option<Finding> {
    let path = &program.modules[function.module.0].path;
    let says = |mark| function.documentation.contains(mark);
    let takes = function.inputs.iter().any(|ty| program.collects(ty));
    let calls = summary.collecting.iter().any(|collects| *collects);
    let problem = match &summary.reaches {
        Some(point) if says(CONTRARY) => {
            format!(
                "says that it is no GC point, but calls {} on line {}",
                point.callee, point.line
            )
        }
        Some(point) if !takes && !says(MARK) && !path.starts_with(HEAP) => format!(
            "calls {} on line {}, which may collect; take `&mut Thread` or `&mut Mutator`, or say *GC point.*",
            point.callee, point.line
        ),
        None if says(MARK) && !calls => "says that it is a GC point, but is none".to_owned(),
        _ => return None,
    };
    Some(format!("{path}:{}: {} {problem}", function.line, function.name))
}
