//! Interned names: selectors, slot names, class names. The loader, lookups and reflection intern names here.
//!
//! A [`Symbol`] is an index; equal texts have equal symbols for the life of the process, so the
//! lookup machinery compares and hashes numbers. The guest's symbol objects are made on demand and
//! kept beside the text, which makes their identity the text's, as the language demands.
//!
//! Most texts that programs make symbols of while they run are no names of code. Such a symbol is *loose*: an object without
//! an index, which the table finds by its text. A collection frees it if nothing else refers to it, a nursery collection those that
//! were made since the one before. If code needs the name after all, the symbol gets an index, with the object that it has.
//!
//! Protocol: the table is behind a read-write lock; a symbol with an index never changes or dies.

use std::collections::HashMap;

use parking_lot::RwLock;
use squall_bytecode::module::selector_arity;
use squall_heap::{RootAddress, Tracer, Word};

/// An interned name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(pub u32);

/// All symbols of the process.
#[derive(Default)]
pub struct SymbolTable {
    inner: RwLock<Inner>,
}

#[derive(Default)]
struct Inner {
    texts: Vec<Entry>,
    symbols: HashMap<&'static str, Symbol>,
    /// The objects of loose symbols. No text is in both maps.
    loose: HashMap<Box<str>, Word>,
    /// The texts of those that were made since the last collection.
    young: Vec<Box<str>>,
}

struct Entry {
    text: &'static str,
    arity: usize,
    /// The guest's object, or `UNSET` before the first request.
    object: Word,
}

impl SymbolTable {
    /// The symbol with this text.
    pub fn intern(&self, text: &str) -> Symbol {
        if let Some(&symbol) = self.inner.read().symbols.get(text) {
            return symbol;
        }
        let mut inner = self.inner.write();
        if let Some(&symbol) = inner.symbols.get(text) {
            return symbol;
        }
        let object = inner.loose.remove(text).unwrap_or(Word::UNSET);
        let text: &'static str = Box::leak(text.into());
        let symbol = Symbol(inner.texts.len() as u32);
        let arity = selector_arity(text);
        inner.texts.push(Entry { text, arity, object });
        inner.symbols.insert(text, symbol);
        symbol
    }

    /// The symbol with this text, if it has an index.
    pub fn find(&self, text: &str) -> Option<Symbol> {
        self.inner.read().symbols.get(text).copied()
    }

    /// The guest's object for a loose symbol with this text, if there is one.
    pub fn find_loose(&self, text: &str) -> Option<Word> {
        self.inner.read().loose.get(text).copied()
    }

    /// Records a guest's object for a text. If the text has an object already, that stays and is answered.
    pub fn add_loose(&self, text: &str, object: Word) -> Word {
        let mut inner = self.inner.write();
        if let Some(&Symbol(index)) = inner.symbols.get(text) {
            let entry = &mut inner.texts[index as usize];
            if entry.object == Word::UNSET {
                entry.object = object;
            }
            return entry.object;
        }
        let Inner { loose, young, .. } = &mut *inner;
        *loose.entry(text.into()).or_insert_with(|| {
            young.push(text.into());
            object
        })
    }

    /// The text of a symbol.
    pub fn text(&self, symbol: Symbol) -> &'static str {
        self.inner.read().texts[symbol.0 as usize].text
    }

    /// How many arguments a message with this selector has.
    pub fn arity(&self, symbol: Symbol) -> usize {
        self.inner.read().texts[symbol.0 as usize].arity
    }

    /// The guest's object for a symbol, if it was made already.
    pub fn object(&self, symbol: Symbol) -> Option<Word> {
        let object = self.inner.read().texts[symbol.0 as usize].object;
        (object != Word::UNSET).then_some(object)
    }

    /// Records the guest's object for a symbol; of several, the first stays and is answered.
    pub fn set_object(&self, symbol: Symbol, object: Word) -> Word {
        let entry = &mut self.inner.write().texts[symbol.0 as usize];
        if entry.object == Word::UNSET {
            entry.object = object;
        }
        entry.object
    }

    /// Shows the guest's objects of all symbols with an index to the collector, which stands for all mutators.
    pub fn visit_objects(&self, visit: &mut dyn FnMut(RootAddress)) {
        for entry in &mut self.inner.write().texts {
            if entry.object != Word::UNSET {
                visit(RootAddress::from(&mut entry.object));
            }
        }
    }

    /// Follows the objects of loose symbols that were made since the last collection and survive a nursery collection, and forgets
    /// the others.
    pub fn update_young(&self, tracer: &mut Tracer<'_>) {
        let Inner { loose, young, .. } = &mut *self.inner.write();
        for text in young.drain(..) {
            if let Some(object) = loose.get_mut(&text)
                && !tracer.update(object)
            {
                loose.remove(&text);
            }
        }
    }

    /// Follows the objects of loose symbols that survive a full collection, and forgets the others.
    pub fn update_loose(&self, tracer: &mut Tracer<'_>) {
        let Inner { loose, young, .. } = &mut *self.inner.write();
        young.clear();
        loose.retain(|_, object| tracer.update(object));
        if loose.len() < loose.capacity() / SPARSE {
            young.shrink_to_fit();
            loose.shrink_to_fit();
        }
    }
}

/// The table of loose symbols shrinks if less than this fraction of it is in use.
const SPARSE: usize = 8;
