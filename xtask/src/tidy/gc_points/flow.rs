//! What is known at a point of a function's body: which locals hold words, and which of these are stale.

use std::rc::Rc;

/// A call at which the collector may run.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    pub line: usize,
    pub callee: Rc<str>,
}

/// What is known about a local.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct LocalFlow {
    /// Whether it holds a word, or what was made of one.
    pub bears: bool,
    /// Where the collector may have run since it got its value.
    pub stale: Option<Point>,
}

/// What is known at a point. Points that cannot be reached have none.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flow {
    pub locals: Vec<LocalFlow>,
    /// Counts the calls that may collect on the longest way here, and names the last one.
    pub epoch: usize,
    pub last: Option<Point>,
    /// Whether one of them was the function's own, and none of what it was given.
    pub is_own: bool,
}

impl Flow {
    /// The collector may run here.
    pub fn collect(&mut self, point: &Point) {
        self.epoch += 1;
        self.last = Some(point.clone());
        for local in self.locals.iter_mut().filter(|local| local.bears && local.stale.is_none()) {
            local.stale = Some(point.clone());
        }
    }
}

/// What is known where two ways meet, of which either may be impossible.
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
