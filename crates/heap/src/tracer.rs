//! The tracer: after all strongly reachable objects have been traced, the weak parts of the heap and of the runtime ask
//! it whether objects are live, and have it keep objects alive.

use crate::representation::{Object, Word};

/// The tracer's interface to the collector.
pub(crate) trait Tracing {
    /// Whether an object is known to be live.
    fn is_live(&self, object: Object) -> bool;

    /// The place of an object now, if it is known to be live.
    fn place(&mut self, object: Object) -> Option<Object>;

    /// Keeps alive an object and all that it references; answers its place now.
    fn trace(&mut self, object: Object) -> Object;
}

/// Tells whether objects are live, and keeps objects alive.
pub struct Tracer<'t> {
    collector: &'t mut dyn Tracing,
    kept_something: bool,
}

impl<'t> Tracer<'t> {
    pub(crate) fn new(collector: &'t mut dyn Tracing) -> Tracer<'t> {
        Tracer { collector, kept_something: false }
    }

    /// Whether the object of `word` is known to be live. Words other than pointers count as live.
    pub fn is_live(&self, word: Word) -> bool {
        word.as_object().is_none_or(|object| self.collector.is_live(object))
    }

    /// Keeps alive the object of `word` and all that it references, and replaces `word` by its new place.
    pub fn keep(&mut self, word: &mut Word) {
        let Some(object) = word.as_object() else {
            return;
        };
        self.kept_something |= !self.collector.is_live(object);
        *word = self.collector.trace(object).word();
    }

    /// Replaces `word` by the new place of its object; false if the object is dead. The word of a dead object does not
    /// change, and must not be used any more.
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

    /// Whether [`keep`](Tracer::keep) found an object that was not known to be live.
    pub(crate) fn kept_something(&self) -> bool {
        self.kept_something
    }
}
