//! Interned names: identifiers, selectors and symbols. The parser interns the names of a module here, and the later
//! phases read them in the tree.
//!
//! Two equal names have the same [`Name`], so that name resolution compares numbers. Names
//! are numbered in order of first appearance, which keeps dumps and compiled modules stable.

use std::ops::Index;

use indexmap::IndexSet;

use crate::entities::{Entity, Name};

/// The table of names of one tree.
#[derive(Clone, Default, Debug)]
pub struct Names(IndexSet<Box<str>>);

impl Names {
    /// The name with this text, new or old.
    pub fn intern(&mut self, text: &str) -> Name {
        let index = match self.0.get_index_of(text) {
            Some(index) => index,
            None => self.0.insert_full(text.into()).0,
        };
        Name::from_index(index)
    }

    /// The name with this text, if the source mentions it.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.0.get_index_of(text).map(Name::from_index)
    }

    /// All names in order of first appearance.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|text| &**text)
    }
}

impl Index<Name> for Names {
    type Output = str;

    fn index(&self, name: Name) -> &str {
        &self.0[name.index()]
    }
}
