//! Kept objects: guest objects that native code of the embedder holds. The conversion of values keeps them, and errands
//! find them again.
//!
//! A kept object has a place in a table of words, all of which are roots. [`Object`] is the right to one place: it can
//! be cloned and dropped on any native thread, at any time. Only running mutators read and fill the table, so the
//! collector, which has the addresses of the words while it works, finds it at rest. Dropping a handle only makes a
//! note, and the place is free from the next collection on.

use std::sync::Arc;

use parking_lot::Mutex;
use squall_heap::{RootAddress, Word};

use crate::state::vm::Vm;

/// An object of the main vat, or a value, that native code holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object(Arc<Place>);

/// A place in the table, until it is dropped.
#[derive(Debug, PartialEq, Eq)]
struct Place(usize);

impl Drop for Place {
    fn drop(&mut self) {
        Vm::of_process().concurrency().embedding.kept.released.lock().push(self.0);
    }
}

/// The objects that are kept.
#[derive(Default)]
pub struct KeptWords {
    table: Mutex<Table>,
    /// Places whose handles have been dropped.
    released: Mutex<Vec<usize>>,
}

#[derive(Default)]
struct Table {
    words: Vec<Word>,
    free: Vec<usize>,
}

impl KeptWords {
    /// Keeps an object for native code. The caller is a mutator that runs.
    pub fn keep(&self, word: Word) -> Object {
        let mut table = self.table.lock();
        let index = match table.free.pop() {
            Some(index) => {
                table.words[index] = word;
                index
            }
            None => {
                table.words.push(word);
                table.words.len() - 1
            }
        };
        Object(Arc::new(Place(index)))
    }

    /// The object. The caller is a mutator that runs.
    pub fn word(&self, object: &Object) -> Word {
        self.table.lock().words[object.0.0]
    }

    /// How many places are in use, or were at the last collection.
    pub fn count(&self) -> usize {
        let table = self.table.lock();
        table.words.len() - table.free.len()
    }

    /// Shows the objects to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        let mut table = self.table.lock();
        for index in std::mem::take(&mut *self.released.lock()) {
            table.words[index] = Word::NIL;
            table.free.push(index);
        }
        RootAddress::of_all(&mut table.words).for_each(visit);
    }
}
