//! Summaries of functions: whether a function reaches a GC point, and whether its result holds words.
//! [`super::findings`] computes them for the whole program, by evaluating all functions until a fixed point is reached.

use super::evaluate::{Evaluator, evaluate};
use super::flow::Point;
use super::program::{Function, FunctionId, Program};
use super::types::Type;

/// Whether a function's result holds words that may move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Bearing {
    /// The result never does.
    #[default]
    Never,
    /// The result does if an argument does.
    FromArguments,
    /// The result may do so in any case.
    Always,
}

/// The summary of a function.
#[derive(Clone, Default, Debug)]
pub struct Summary {
    /// A call in the function at which the collector may run.
    pub reaches: Option<Point>,
    /// Whether the collector may also run when the function answers neither `Err` nor `None` nor `false`.
    pub succeeds: bool,
    pub bears: Bearing,
    /// For each parameter, whether the function calls it after a GC point.
    pub calls_after: Vec<bool>,
    /// For each parameter, whether a caller passes a function that may let the collector run.
    pub collecting: Vec<bool>,
}

/// The heap's functions that let the collector run, with their types.
const PRIMITIVE: &[(&str, &str)] = &[
    ("Safepoints", "stop_here"),
    ("Safepoints", "enter_native"),
    ("Safepoints", "leave_native"),
    ("MutatorBinding", "allocate"),
    ("MutatorBinding", "collect"),
];

impl Summary {
    /// The summary of a function before its first evaluation.
    pub fn of(function: &Function) -> Summary {
        let none = vec![false; function.inputs.len()];
        Summary { calls_after: none.clone(), collecting: none, ..Summary::default() }
    }

    /// Merges another summary into this one. Answers whether that changed anything.
    fn learn(&mut self, other: Summary) -> bool {
        let calls = self.calls_after.iter().zip(&other.calls_after);
        let is_new = self.reaches.is_none() && other.reaches.is_some()
            || other.bears > self.bears
            || other.succeeds && !self.succeeds
            || calls.into_iter().any(|(known, found)| *found && !known);
        self.reaches = self.reaches.take().or(other.reaches);
        self.bears = self.bears.max(other.bears);
        self.succeeds |= other.succeeds;
        let calls = self.calls_after.iter_mut().zip(other.calls_after);
        calls.for_each(|(known, found)| *known |= found);
        is_new
    }
}

/// The summaries of all functions.
pub fn summaries(program: &Program) -> Vec<Summary> {
    let mut summaries: Vec<Summary> =
        program.functions.iter().map(|function| known_from_outside(program, function)).collect();
    loop {
        let mut is_new = false;
        for index in 0..program.functions.len() {
            let id = FunctionId(index);
            for parameters_bear in [false, true] {
                let found = evaluate(program, &summaries, id, parameters_bear);
                let Some(Evaluator { summary, lends, .. }) = found else { continue };
                for (callee, parameter) in lends {
                    let known = &mut summaries[callee.0].collecting[parameter];
                    is_new |= !std::mem::replace(known, true);
                }
                is_new |= summaries[index].learn(summary);
            }
        }
        if !is_new {
            return summaries;
        }
    }
}

/// The first summary of a function, with the facts that its text does not show.
fn known_from_outside(program: &Program, function: &Function) -> Summary {
    let mut summary = Summary::of(function);
    if function.body.is_none() {
        summary.bears = Bearing::FromArguments;
    }
    let Some(Type::Own(id, _)) = &function.self_type else { return summary };
    let item = &program.types[id.0];
    if PRIMITIVE.contains(&(item.name.as_str(), function.name.as_str())) {
        summary.succeeds = true;
        summary.reaches = Some(Point { line: function.line, callee: "the collector".into() });
    }
    if function.body.is_none() && program.bears(&function.output) {
        summary.bears = Bearing::Always;
    }
    summary
}
