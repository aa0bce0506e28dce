//! Typed indices and the arenas they point into. The syntax tree, and all parts of the crate that make or read it, use
//! them.
//!
//! A tree node refers to its parts by index, never by pointer: nodes are plain data, lie
//! side by side, and dropping a tree of any shape is dropping a few vectors. Each kind of
//! node has its own index type, printed as in the text dumps (`class0`, `expression17`).

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An index into one kind of [`Arena`].
pub trait Entity: Copy {
    /// The entity at this position.
    fn from_index(index: usize) -> Self;
    /// The entity's position.
    fn index(self) -> usize;
}

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl Entity for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                // A source has at most 64 MiB and each node at least one byte of it.
                $name(index as u32)
            }

            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

entity! {
    /// A class declaration or the class of an object literal.
    ClassId, "class"
}
entity! {
    /// A slot declaration.
    SlotId, "slot"
}
entity! {
    /// A method declaration.
    MethodId, "method"
}
entity! {
    /// A block.
    BlockId, "block"
}
entity! {
    /// An expression.
    ExpressionId, "expression"
}
entity! {
    /// A message: what a send sends.
    MessageId, "message"
}
entity! {
    /// The text of a string literal.
    StringId, "string"
}
entity! {
    /// An integer literal beyond 64 bits.
    BigIntegerId, "big"
}
entity! {
    /// An interned identifier, selector or symbol.
    Name, "name"
}

/// All nodes of one kind, in order of creation.
#[derive(Clone, Debug)]
pub struct Arena<I, T> {
    items: Vec<T>,
    index: PhantomData<I>,
}

impl<I: Entity, T> Arena<I, T> {
    /// Adds a node and answers its index.
    #[inline]
    pub fn add(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All nodes with their indices.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(index, item)| (I::from_index(index), item))
    }
}

impl<I, T> Default for Arena<I, T> {
    fn default() -> Self {
        Arena { items: Vec::new(), index: PhantomData }
    }
}

impl<I: Entity, T> Index<I> for Arena<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Entity, T> IndexMut<I> for Arena<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

/// A short sequence of node indices, kept in a pool shared by all such sequences: `Copy`,
/// eight bytes, no allocation of its own.
pub struct List<I> {
    start: u32,
    length: u32,
    item: PhantomData<I>,
}

impl<I> List<I> {
    /// How many items the list has.
    pub fn len(self) -> usize {
        self.length as usize
    }

    /// Whether the list has no item.
    pub fn is_empty(self) -> bool {
        self.length == 0
    }
}

impl<I> Default for List<I> {
    fn default() -> Self {
        List { start: 0, length: 0, item: PhantomData }
    }
}

impl<I> Clone for List<I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I> Copy for List<I> {}

impl<I> fmt::Debug for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "list{}+{}", self.start, self.length)
    }
}

/// The pool behind [`List`]s of one kind.
#[derive(Clone, Debug)]
pub struct Lists<I>(Vec<I>);

impl<I: Copy> Lists<I> {
    /// Adds a list of these items.
    pub fn add(&mut self, items: &[I]) -> List<I> {
        let start = self.0.len() as u32;
        self.0.extend_from_slice(items);
        List { start, length: items.len() as u32, item: PhantomData }
    }
}

impl<I> Default for Lists<I> {
    fn default() -> Self {
        Lists(Vec::new())
    }
}

impl<I> Index<List<I>> for Lists<I> {
    type Output = [I];

    fn index(&self, list: List<I>) -> &[I] {
        &self.0[list.start as usize..][..list.length as usize]
    }
}
