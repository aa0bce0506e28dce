//! Handles: roots for Rust code that holds words across a GC point.
//!
//! Each mutator has a stack of words that every collection visits. A [`HandleScope`] takes a part of
//! it, hands out indices into it as [`Handle`]s, and pops what it took when it ends:
//!
//! ```
//! # use squall_heap::{LayoutId, Mutator, Object, Word};
//! fn cons(mutator: &mut Mutator, pair: LayoutId, class: Word, head: Word) -> Option<Object> {
//!     let mut scope = mutator.scope();
//!     let head = scope.root(head);
//!     let pair = scope.allocate_slots(pair, class)?; // GC point: the head may move
//!     pair.initialize_slot(0, scope.get(head));
//!     Some(pair)
//! }
//! ```
//!
//! A scope is its mutator for all other purposes. Code that must not keep a destructor pending, or
//! works in loops, uses [`Mutator::push_root`] and [`Mutator::truncate_roots`] directly.

use super::Mutator;
use crate::representation::Word;
use std::ops::{Deref, DerefMut};

/// A word on a mutator's root stack, by its index from the bottom. Valid until its scope ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

/// A part of a mutator's root stack, released when dropped.
pub struct HandleScope<'m> {
    mutator: &'m mut Mutator,
    depth: usize,
}

impl Mutator {
    /// Opens a scope for handles.
    #[inline]
    pub fn scope(&mut self) -> HandleScope<'_> {
        let depth = self.root_depth();
        HandleScope { mutator: self, depth }
    }

    /// Makes `word` a root, until the root stack is truncated.
    #[inline]
    pub fn push_root(&mut self, word: Word) -> Handle {
        let roots = self.roots_mut();
        roots.push(word);
        Handle((roots.len() - 1) as u32)
    }

    /// Takes the last root off the stack.
    #[inline]
    pub fn pop_root(&mut self) -> Option<Word> {
        self.roots_mut().pop()
    }

    /// The word behind a handle.
    #[inline]
    pub fn get(&self, handle: Handle) -> Word {
        self.roots()[handle.0 as usize]
    }

    /// Replaces the word behind a handle.
    #[inline]
    pub fn set(&mut self, handle: Handle, word: Word) {
        self.roots_mut()[handle.0 as usize] = word;
    }

    /// How many roots are on the stack.
    #[inline]
    pub fn root_depth(&self) -> usize {
        self.roots().len()
    }

    /// Takes roots off the stack until `depth` remain.
    #[inline]
    pub fn truncate_roots(&mut self, depth: usize) {
        self.roots_mut().truncate(depth);
    }
}

impl HandleScope<'_> {
    /// Makes `word` a root until the scope ends.
    #[inline]
    pub fn root(&mut self, word: impl Into<Word>) -> Handle {
        self.mutator.push_root(word.into())
    }
}

impl Drop for HandleScope<'_> {
    #[inline]
    fn drop(&mut self) {
        self.mutator.truncate_roots(self.depth);
    }
}

impl Deref for HandleScope<'_> {
    type Target = Mutator;

    #[inline(always)]
    fn deref(&self) -> &Mutator {
        self.mutator
    }
}

impl DerefMut for HandleScope<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Mutator {
        self.mutator
    }
}
