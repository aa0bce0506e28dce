//! The tracer: how the weak parts of the heap, and the runtime's, ask about liveness and keep
//! objects alive, after all that is strongly reachable has been traced.

use super::{object, reference};
use crate::word::Word;
use mmtk::util::ObjectReference;

/// Answers whether objects are live, and makes them so.
pub struct Tracer<'t> {
    trace: &'t mut dyn FnMut(ObjectReference) -> ObjectReference,
    kept_something: bool,
}

impl<'t> Tracer<'t> {
    pub(super) fn new(trace: &'t mut dyn FnMut(ObjectReference) -> ObjectReference) -> Tracer<'t> {
        Tracer { trace, kept_something: false }
    }

    /// Whether the object of `word` is known to be live. Words that are no pointers are live.
    pub fn is_live(&self, word: Word) -> bool {
        word.as_object().is_none_or(|object| reference(object).is_reachable())
    }

    /// Keeps the object of `word`, and what it references, alive, and follows it to its new place.
    pub fn keep(&mut self, word: &mut Word) {
        let Some(pointee) = word.as_object() else {
            return;
        };
        self.kept_something |= !reference(pointee).is_reachable();
        *word = object((self.trace)(reference(pointee))).word();
    }

    /// Follows the object of `word` to its new place; whether it is live. Leaves the word of a dead
    /// object as it was: it must not be used any more.
    pub fn update(&mut self, word: &mut Word) -> bool {
        let Some(pointee) = word.as_object() else {
            return true;
        };
        let pointee = reference(pointee);
        let live = pointee.is_reachable();
        if live {
            *word = object(pointee.get_forwarded_object().unwrap_or(pointee)).word();
        }
        live
    }

    /// Whether [`keep`](Tracer::keep) found something that was not known to be live.
    pub(crate) fn kept_something(&self) -> bool {
        self.kept_something
    }
}
