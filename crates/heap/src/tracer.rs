//! The tracer: how the weak parts of the heap, and the runtime's, ask about liveness and keep
//! objects alive, after all that is strongly reachable has been traced.

use crate::representation::{Object, Word};

/// What a tracer asks the collector.
pub(crate) trait Tracing {
    /// Whether an object is known to be live.
    fn is_live(&self, object: Object) -> bool;

    /// Where an object is now, if it is known to be live.
    fn place(&self, object: Object) -> Option<Object>;

    /// Keeps an object, and what it references, alive; where it is now.
    fn trace(&mut self, object: Object) -> Object;
}

/// Answers whether objects are live, and makes them so.
pub struct Tracer<'t> {
    collector: &'t mut dyn Tracing,
    kept_something: bool,
}

impl<'t> Tracer<'t> {
    pub(crate) fn new(collector: &'t mut dyn Tracing) -> Tracer<'t> {
        Tracer { collector, kept_something: false }
    }

    /// Whether the object of `word` is known to be live. Words that are no pointers are live.
    pub fn is_live(&self, word: Word) -> bool {
        word.as_object().is_none_or(|object| self.collector.is_live(object))
    }

    /// Keeps the object of `word`, and what it references, alive, and follows it to its new place.
    pub fn keep(&mut self, word: &mut Word) {
        let Some(object) = word.as_object() else {
            return;
        };
        self.kept_something |= !self.collector.is_live(object);
        *word = self.collector.trace(object).word();
    }

    /// Follows the object of `word` to its new place; whether it is live. Leaves the word of a dead
    /// object as it was: it must not be used any more.
    pub fn update(&mut self, word: &mut Word) -> bool {
        let Some(object) = word.as_object() else {
            return true;
        };
        let place = self.collector.place(object);
        if let Some(place) = place {
            *word = place.word();
        }
        place.is_some()
    }

    /// Whether [`keep`](Tracer::keep) found something that was not known to be live.
    pub(crate) fn kept_something(&self) -> bool {
        self.kept_something
    }
}
