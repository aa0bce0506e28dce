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
    ///
    /// It reads what others may write, and writes nothing: so [`Failure::elsewhere`] means that its transaction begins
    /// again, and with it another work.
    fn step(&mut self, thread: &mut Thread, window: Window) -> Result<Step, Failure>;

    /// How many bytes of native memory it holds, about.
    fn bytes(&self) -> usize;
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

/// The unfinished works of a strand, the oldest first.
#[derive(Default)]
pub struct Works(Vec<Unfinished>);

struct Unfinished {
    number: i64,
    /// None while a piece is done, or if that has failed.
    work: Option<Box<dyn Work>>,
    /// What it held after the last piece.
    bytes: usize,
}

impl Works {
    /// Adds one. If there are too many, the oldest one is dropped. Answers how many bytes it holds.
    pub fn add(&mut self, number: i64, work: Box<dyn Work>) -> usize {
        // No piece is being done, since works run no guest code.
        self.0.retain(|each| each.work.is_some());
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        let bytes = work.bytes();
        self.0.push(Unfinished { number, work: Some(work), bytes });
        bytes
    }

    /// Takes the one with a number, to do a piece of it.
    pub fn take(&mut self, number: i64) -> Option<Box<dyn Work>> {
        self.0.iter_mut().find(|each| each.number == number)?.work.take()
    }

    /// Puts one back after a piece. Answers how many bytes more it holds.
    pub fn put_back(&mut self, number: i64, work: Box<dyn Work>) -> usize {
        let Some(place) = self.0.iter_mut().find(|each| each.number == number) else { return 0 };
        let before = std::mem::replace(&mut place.bytes, work.bytes());
        place.work = Some(work);
        place.bytes.saturating_sub(before)
    }

    /// The one with a number is done.
    pub fn remove(&mut self, number: i64) {
        self.0.retain(|each| each.number != number);
    }

    /// How many bytes of native memory they hold.
    pub fn bytes(&self) -> usize {
        self.0.iter().fold(0, |sum, each| sum.saturating_add(each.bytes))
    }
}
