//! Root handles: roots for Rust code that holds words across a GC point. The runtime makes them around its
//! allocations.
//!
//! Each mutator has a stack of words that every collection visits. A [`RootScope`] pushes words there, hands out their
//! indices as [`RootHandle`]s, and pops them when it ends:
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
//! A scope dereferences to its mutator. Code that must not keep a destructor pending, or that works in loops, uses
//! [`Mutator::push_root`] and [`Mutator::truncate_roots`] directly.

use super::Mutator;
use crate::representation::Word;
use std::ops::{Deref, DerefMut};

/// A word on a mutator's root stack, by its index from the bottom. Valid until its scope ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootHandle(u32);

/// A part of a mutator's root stack, released when dropped.
pub struct RootScope<'m> {
    mutator: &'m mut Mutator,
    depth: usize,
}

impl Mutator {
    /// Opens a scope for root handles.
    #[inline]
    pub fn scope(&mut self) -> RootScope<'_> {
        let depth = self.root_depth();
        RootScope { mutator: self, depth }
    }

    /// Makes `word` a root, until the root stack is truncated.
    #[inline]
    pub fn push_root(&mut self, word: Word) -> RootHandle {
        let roots = self.roots_mut();
        roots.push(word);
        RootHandle((roots.len() - 1) as u32)
    }

    /// Takes the last root off the stack.
    #[inline]
    pub fn pop_root(&mut self) -> Option<Word> {
        self.roots_mut().pop()
    }

    /// The word of a root handle.
    #[inline]
    pub fn get(&self, handle: RootHandle) -> Word {
        self.roots()[handle.0 as usize]
    }

    /// Replaces the word of a root handle.
    #[inline]
    pub fn set(&mut self, handle: RootHandle, word: Word) {
        self.roots_mut()[handle.0 as usize] = word;
    }

    /// The number of roots on the stack.
    #[inline]
    pub fn root_depth(&self) -> usize {
        self.roots().len()
    }

    /// The words of the roots beyond this depth, for walks while the mutator stands.
    pub fn roots_beyond(&self, depth: usize) -> &[Word] {
        self.roots().get(depth..).unwrap_or_default()
    }

    /// Takes roots off the stack until `depth` remain.
    #[inline]
    pub fn truncate_roots(&mut self, depth: usize) {
        self.roots_mut().truncate(depth);
    }
}

impl RootScope<'_> {
    /// Makes `word` a root until the scope ends.
    #[inline]
    pub fn root(&mut self, word: impl Into<Word>) -> RootHandle {
        self.mutator.push_root(word.into())
    }
}

impl Drop for RootScope<'_> {
    #[inline]
    fn drop(&mut self) {
        self.mutator.truncate_roots(self.depth);
    }
}

impl Deref for RootScope<'_> {
    type Target = Mutator;

    #[inline(always)]
    fn deref(&self) -> &Mutator {
        self.mutator
    }
}

impl DerefMut for RootScope<'_> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Mutator {
        self.mutator
    }
}
