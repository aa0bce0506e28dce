//! What is known about functions, and how that is found out: again and again, until nothing new turns up.

use super::evaluate::{Evaluator, evaluate};
use super::flow::Point;
use super::program::{Function, FunctionId, Program};
use super::types::Type;

/// Whether a function's result holds words that may move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Bearing {
    /// It never does.
    #[default]
    Never,
    /// If its arguments do.
    FromArguments,
    /// It always may.
    Always,
}

/// What is known about a function.
#[derive(Clone, Default, Debug)]
pub struct Summary {
    /// A call in it at which the collector may run.
    pub reaches: Option<Point>,
    /// Whether the collector may also run if it answers neither `Err` nor `None` nor `false`.
    pub succeeds: bool,
    pub bears: Bearing,
    /// Which parameters are called when the collector may have run.
    pub calls_after: Vec<bool>,
    /// Which parameters are given functions that may let the collector run.
    pub collecting: Vec<bool>,
}

/// What the heap does when it lets the collector run.
const PRIMITIVE: &[(&str, &str)] = &[
    ("Safepoints", "stop_here"),
    ("Safepoints", "enter_native"),
    ("Safepoints", "leave_native"),
    ("MutatorBinding", "allocate"),
    ("MutatorBinding", "collect"),
];

impl Summary {
    /// What is known at first.
    pub fn of(function: &Function) -> Summary {
        let none = vec![false; function.inputs.len()];
        Summary { calls_after: none.clone(), collecting: none, ..Summary::default() }
    }

    /// Takes over what is new; whether anything is.
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

/// What is known about all functions.
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

/// What a function's text does not show.
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
