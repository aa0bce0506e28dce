//! Long work of a strand: a primitive that does its work in pieces leaves the rest of it here.
//!
//! A work belongs to its strand and to one call in it. If that call is cut off, nothing finishes the work: it goes when the
//! strand begins other works, or ends.
//!
//! Invariant: works hold no words. Objects that a work needs are in the right by which the strand continues it.

use crate::model::outcome::Failure;
use crate::state::thread::{Thread, Window};
use squall_heap::Word;

/// Work that is done in pieces.
pub trait Work: Send {
    /// Does the next piece. The window's first word is the right to this work. *GC point.*
    fn step(&mut self, thread: &mut Thread, window: Window) -> Result<Step, Failure>;
}

/// How far a work is after a piece.
pub enum Step {
    /// It is done, and has made this.
    Done(Word),
    /// There is more to do.
    More,
    /// There is more to do, and others should go first.
    Wait,
    /// The rest is this work.
    Then(Box<dyn Work>),
}

/// A strand can be in so many works at the same time: a work may be interrupted, and its handler may begin another one.
const MOST: usize = 4;

/// The unfinished works of a strand, with their numbers, the oldest first.
#[derive(Default)]
pub struct Works(Vec<(i64, Box<dyn Work>)>);

impl Works {
    /// Adds one. If there are too many, the oldest one is dropped.
    pub fn put(&mut self, number: i64, work: Box<dyn Work>) {
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push((number, work));
    }

    /// Takes the one with a number.
    pub fn take(&mut self, number: i64) -> Option<Box<dyn Work>> {
        let place = self.0.iter().position(|(other, _)| *other == number)?;
        Some(self.0.remove(place).1)
    }
}
