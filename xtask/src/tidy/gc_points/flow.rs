//! The state at a point of a function's body: which locals hold words, and which of these words are stale. The
//! evaluator ([`super::evaluate()`]) copies it at branches and joins it where they meet.

use std::rc::Rc;

/// A call at which the collector may run.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    pub line: usize,
    pub callee: Rc<str>,
}

/// The state of a local.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct LocalFlow {
    /// Whether the local holds a word, or a value that was made of one.
    pub bears: bool,
    /// The GC point since the last assignment, if there is one.
    pub stale: Option<Point>,
}

/// The state at a point that can be reached.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flow {
    pub locals: Vec<LocalFlow>,
    /// The number of calls that may collect on the longest way to this point; the last one is in `last`.
    pub epoch: usize,
    pub last: Option<Point>,
    /// Whether one of these calls collects whatever functions the parameters are.
    pub is_own: bool,
}

impl Flow {
    /// A GC point: all words become stale.
    pub fn collect(&mut self, point: &Point) {
        self.epoch += 1;
        self.last = Some(point.clone());
        for local in self.locals.iter_mut().filter(|local| local.bears && local.stale.is_none()) {
            local.stale = Some(point.clone());
        }
    }
}

/// The state where two ways meet, of which one or both may be unreachable.
pub fn join(one: Option<Flow>, other: Option<Flow>) -> Option<Flow> {
    let (mut one, other) = match (one, other) {
        (Some(one), Some(other)) => (one, other),
        (one, other) => return one.or(other),
    };
    one.locals.truncate(other.locals.len());
    for (local, beside) in one.locals.iter_mut().zip(other.locals) {
        local.bears |= beside.bears;
        local.stale = local.stale.take().or(beside.stale);
    }
    one.is_own |= other.is_own;
    if other.epoch > one.epoch {
        (one.epoch, one.last) = (other.epoch, other.last);
    }
    Some(one)
}
