//! The samples of one native thread. A stack is a node of a tree: its innermost frame, and the node of the frames around
//! it. So a sample is a few numbers, and a program that runs for a day needs no more memory than its different stacks.
//!
//! A frame is a place in the code, as two numbers that the runtime can name: a function's address and a pc.

use std::collections::HashMap;

use super::waits::Waits;
use crate::record::Track;

/// A place in the code: the address of a function, and the index of an instruction.
pub type Place = (u64, u32);

/// The number of a stack.
pub type Node = u32;

/// The stack without frames.
pub const ROOT: Node = 0;

/// How a thread's time was spent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum State {
    /// In the program.
    Running,
    /// Outside: in C or in the system, by a call of the program.
    Outside,
}

/// A sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// When it was taken, in nanoseconds since the machine's start.
    pub time: u64,
    /// The stack.
    pub node: Node,
    /// How many periods it stands for.
    pub weight: u32,
    /// Whose stack it is.
    pub track: Track,
    /// How the time was spent.
    pub state: State,
}

/// See the head of the file.
#[derive(Default)]
pub struct Samples {
    /// The number of the worker.
    pub worker: u32,
    /// The nodes but the root: the node around each, and its frame.
    nodes: Vec<(Node, Place)>,
    known: HashMap<(Node, Place), Node>,
    /// The samples, in the order of time.
    pub samples: Vec<Sample>,
    /// The bytes of the objects that stacks have made, as far as samples tell.
    pub allocated: HashMap<Node, u64>,
    /// The number of periods without work.
    pub idle: u64,
    /// The waits that have ended on the thread.
    pub waits: Waits,
}

/// The most frames of a stack that are kept, from the innermost one: deeper ones are under one frame without a function.
pub const DEEPEST: usize = 256;

impl Samples {
    /// No samples yet.
    pub fn new(worker: u32) -> Samples {
        Samples { worker, ..Samples::default() }
    }

    /// The node of a stack, whose frames are given from the innermost one on.
    pub fn node(&mut self, frames: impl Iterator<Item = Place>) -> Node {
        let mut frames: Vec<Place> = frames.take(DEEPEST + 1).collect();
        if frames.len() > DEEPEST {
            frames[DEEPEST] = (0, 0);
        }
        frames.into_iter().rev().fold(ROOT, |around, place| self.child(around, place))
    }

    fn child(&mut self, around: Node, place: Place) -> Node {
        let next = self.nodes.len() as Node + 1;
        let node = *self.known.entry((around, place)).or_insert(next);
        if node == next {
            self.nodes.push((around, place));
        }
        node
    }

    /// The frames of a stack, from the innermost one on.
    pub fn frames(&self, node: Node) -> impl Iterator<Item = Place> {
        let at = |node: Node| node.checked_sub(1).map(|index| self.nodes[index as usize]);
        std::iter::successors(at(node), move |(around, _)| at(*around)).map(|(_, place)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_stacks_are_one_node() {
        let mut samples = Samples::new(0);
        let (main, inner, other) = ((1, 5), (2, 7), (3, 9));
        let first = samples.node([inner, main].into_iter());
        let second = samples.node([other, main].into_iter());
        assert_eq!(samples.node([inner, main].into_iter()), first);
        assert_ne!(first, second);
        assert_eq!(samples.frames(second).collect::<Vec<_>>(), [other, main]);
        assert_eq!((samples.node(std::iter::empty()), samples.nodes.len()), (ROOT, 3));
    }

    #[test]
    fn deep_stacks_are_cut() {
        let mut samples = Samples::new(0);
        let node = samples.node((1..10_000).map(|function| (function, 0)));
        let frames: Vec<Place> = samples.frames(node).collect();
        assert_eq!((frames.len(), frames[0], frames[DEEPEST]), (DEEPEST + 1, (1, 0), (0, 0)));
    }
}
