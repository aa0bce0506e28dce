//! Maps of typed code: balanced binary trees that never change. The tier's instructions for maps, and boxing, call this
//! module.
//!
//! ```text
//! map    nil, if it is empty | node
//! node   [ key | value | left: map | right: map | size, a small integer ]
//! ```
//!
//! Keys in `left` are smaller than the node's, those in `right` greater. The tree is balanced by
//! weight (Nievergelt and Reingold, "Binary search trees of bounded balance", 1973, with the
//! parameters 3 and 2 of Hirai and Yamamoto, "Balancing weight-balanced trees", 2011): neither side of a
//! node has more than three times the weight of the other, so a path has at most a few times as
//! many nodes as the size has bits. The sizes answer which key is the n-th.
//!
//! An update makes new nodes along the path to the key; the rest belongs to both maps. Nothing here
//! recurses.

use std::cmp::Ordering;

use squall_heap::{Object, RootHandle, Word};

use super::compare::compare;
use super::{Registers, position, scalars};
use crate::model::known;
use crate::model::outcome::Failure;
use crate::model::types::Type;
use crate::state::effort::{Effort, FOR_AN_OBJECT, TooLarge};
use crate::state::thread::{Thread, allocated};

const KEY: usize = 0;
const VALUE: usize = 1;
const LEFT: usize = 2;
const RIGHT: usize = 3;
const SIZE: usize = 4;

const _: () = known::assert_slots(known::MAP_NODE, SIZE + 1);

/// How many times the weight of one side the other may have.
const BALANCE: usize = 3;
/// How many times the weight of its outer part the inner part of a heavy side may have, to be moved
/// in one piece.
const INNER: usize = 2;

/// The effort of finding the n-th node: a path may have some dozens of nodes.
pub const DESCENT: usize = 8;

/// How many keys a map has.
#[inline]
pub fn size(map: Word) -> usize {
    map.as_object().map_or(0, |node| node.slot(SIZE).small_integer_unchecked() as usize)
}

/// A node's key.
pub fn key(node: Object) -> Word {
    node.slot(KEY)
}

/// A node's value.
pub fn value(node: Object) -> Word {
    node.slot(VALUE)
}

/// The node of the key before which `index` keys are smaller, of a map that has it.
pub fn nth(map: Object, index: usize) -> Object {
    let (mut node, mut index) = (map, index);
    loop {
        let before = size(node.slot(LEFT));
        node = match index.cmp(&before) {
            Ordering::Less => node.slot(LEFT).object(),
            Ordering::Equal => return node,
            Ordering::Greater => {
                index -= before + 1;
                node.slot(RIGHT).object()
            }
        };
    }
}

/// The node with a key. No GC point.
fn find(thread: &mut Thread, keys: Type, map: Word, key: Word) -> Result<Option<Object>, TooLarge> {
    thread.with_effort(|_, effort| {
        let mut place = map;
        while let Some(node) = place.as_object() {
            effort.add(1)?;
            place = match compare(effort, keys, key, node.slot(KEY))? {
                Ordering::Less => node.slot(LEFT),
                Ordering::Equal => return Ok(Some(node)),
                Ordering::Greater => node.slot(RIGHT),
            };
        }
        Ok(None)
    })
}

/// The bits of the value at a key, if there is one. *GC point.*
pub fn get(
    thread: &mut Thread,
    registers: Registers,
    map: usize,
    key: usize,
) -> Result<Option<u64>, Failure> {
    let (keys, values) = registers.kind(map).entry();
    // SAFETY: the verifier has shown that the register has this type.
    let key = unsafe { scalars::to_word(thread, keys, registers.bits(key)) }?;
    let node = find(thread, keys, registers.word(map), key)?;
    Ok(node.map(|node| scalars::from_word(values, node.slot(VALUE))))
}

/// Whether there is a key. *GC point.*
pub fn has(
    thread: &mut Thread,
    registers: Registers,
    map: usize,
    key: usize,
) -> Result<Word, Failure> {
    let (keys, _) = registers.kind(map).entry();
    // SAFETY: the verifier has shown that the register has this type.
    let key = unsafe { scalars::to_word(thread, keys, registers.bits(key)) }?;
    let is_there = find(thread, keys, registers.word(map), key)?.is_some();
    // SAFETY: the destination is a register of Booleans (verifier), so it takes raw bits.
    Ok(unsafe { Word::from_bits(u64::from(is_there)) })
}

/// The node that an index register names. No GC point.
fn indexed(
    thread: &mut Thread,
    registers: Registers,
    map: usize,
    index: usize,
) -> Result<Object, Failure> {
    thread.with_effort(|_, effort| effort.add(DESCENT))?;
    let map = registers.word(map);
    let place = position(registers.bits(index), size(map))?;
    Ok(nth(map.object(), place))
}

/// The bits of the key that an index register names. No GC point.
pub fn key_at(
    thread: &mut Thread,
    registers: Registers,
    map: usize,
    index: usize,
) -> Result<u64, Failure> {
    let (keys, _) = registers.kind(map).entry();
    indexed(thread, registers, map, index).map(|node| scalars::from_word(keys, node.slot(KEY)))
}

/// The bits of the value that an index register names. No GC point.
pub fn value_at(
    thread: &mut Thread,
    registers: Registers,
    map: usize,
    index: usize,
) -> Result<u64, Failure> {
    let (_, values) = registers.kind(map).entry();
    indexed(thread, registers, map, index).map(|node| scalars::from_word(values, node.slot(VALUE)))
}

/// The map with a value at a key. *GC point.*
pub fn put(
    thread: &mut Thread,
    registers: Registers,
    map: usize,
    key: usize,
    value: usize,
) -> Result<Word, Failure> {
    let (keys, values) = registers.kind(map).entry();
    thread.with_effort(|thread, effort| {
        let mut growth = Growth::new(thread, effort);
        // SAFETY: the verifier has shown that the register has this type.
        let word = unsafe { scalars::to_word(growth.thread, keys, registers.bits(key)) }?;
        let key = growth.root(word);
        // SAFETY: the verifier has shown that the register has this type.
        let word = unsafe { scalars::to_word(growth.thread, values, registers.bits(value)) }?;
        let value = growth.root(word);
        growth.put(keys, registers.word(map), key, value)
    })
}

/// The map with a value at a key, both of which are words of the map's types. *GC point.*
pub fn with_entry(
    thread: &mut Thread,
    effort: &mut Effort,
    keys: Type,
    [map, key, value]: [Word; 3],
) -> Result<Word, Failure> {
    let mut growth = Growth::new(thread, effort);
    let (key, value) = (growth.root(key), growth.root(value));
    growth.put(keys, map, key, value)
}

/// The map without a key. *GC point.*
pub fn remove(
    thread: &mut Thread,
    registers: Registers,
    map: usize,
    key: usize,
) -> Result<Word, Failure> {
    let (keys, _) = registers.kind(map).entry();
    thread.with_effort(|thread, effort| {
        let mut growth = Growth::new(thread, effort);
        // SAFETY: the verifier has shown that the register has this type.
        let word = unsafe { scalars::to_word(growth.thread, keys, registers.bits(key)) }?;
        let key = growth.root(word);
        growth.remove(keys, registers.word(map), key)
    })
}

/// Makes new nodes, with every map in a root until it is done.
struct Growth<'t> {
    thread: &'t mut Thread,
    effort: &'t mut Effort,
    depth: usize,
}

/// The nodes on the path to a place, and for each whether the path continues to the left.
type Path = Vec<(RootHandle, bool)>;

impl<'t> Growth<'t> {
    fn new(thread: &'t mut Thread, effort: &'t mut Effort) -> Growth<'t> {
        let depth = thread.mutator.root_depth();
        Growth { thread, effort, depth }
    }

    fn root(&mut self, word: Word) -> RootHandle {
        self.thread.mutator.push_root(word)
    }

    fn get(&self, handle: RootHandle) -> Word {
        self.thread.mutator.get(handle)
    }

    /// A part of a node.
    fn part(&mut self, node: RootHandle, slot: usize) -> RootHandle {
        let part = self.get(node).object().slot(slot);
        self.root(part)
    }

    fn size(&self, map: RootHandle) -> usize {
        size(self.get(map))
    }

    /// A node of key, value, left and right.
    fn node(&mut self, parts: [RootHandle; 4]) -> Result<RootHandle, Failure> {
        let mutator = &mut self.thread.mutator;
        let node = allocated(mutator.allocate_slots(known::MAP_NODE, Word::NIL))?;
        for (slot, part) in parts.into_iter().enumerate() {
            node.initialize_slot(slot, mutator.get(part));
        }
        let count = 1 + size(node.slot(LEFT)) + size(node.slot(RIGHT));
        node.initialize_slot(SIZE, Word::from_small_integer_unchecked(count as i64));
        Ok(self.root(node.word()))
    }

    /// The way to a key; the node that has it, if there is one, comes separately.
    fn path(
        &mut self,
        keys: Type,
        map: Word,
        key: RootHandle,
    ) -> Result<(Path, Option<RootHandle>), TooLarge> {
        let (mut path, mut place) = (Path::new(), map);
        while let Some(node) = place.as_object() {
            self.effort.add(FOR_AN_OBJECT)?;
            let key = self.get(key);
            let order = compare(self.effort, keys, key, node.slot(KEY))?;
            let root = self.root(place);
            if order == Ordering::Equal {
                return Ok((path, Some(root)));
            }
            path.push((root, order == Ordering::Less));
            place = node.slot(if order == Ordering::Less { LEFT } else { RIGHT });
        }
        Ok((path, None))
    }

    fn put(
        &mut self,
        keys: Type,
        map: Word,
        key: RootHandle,
        value: RootHandle,
    ) -> Result<Word, Failure> {
        let (path, found) = self.path(keys, map, key)?;
        let [left, right] = match found {
            Some(node) => [LEFT, RIGHT].map(|side| self.part(node, side)),
            None => [self.root(Word::NIL); 2],
        };
        let new = self.node([key, value, left, right])?;
        self.rebuild(path, new)
    }

    fn remove(&mut self, keys: Type, map: Word, key: RootHandle) -> Result<Word, Failure> {
        let (path, Some(node)) = self.path(keys, map, key)? else { return Ok(map) };
        let [left, right] = [LEFT, RIGHT].map(|side| self.part(node, side));
        let rest = match (self.size(left), self.size(right)) {
            (0, _) => right,
            (_, 0) => left,
            _ => {
                let (next, right) = self.without_first(right)?;
                let [key, value] = [KEY, VALUE].map(|slot| self.part(next, slot));
                self.balanced([key, value, left, right])?
            }
        };
        self.rebuild(path, rest)
    }

    /// The node with the smallest key, and the map without that.
    fn without_first(&mut self, map: RootHandle) -> Result<(RootHandle, RootHandle), Failure> {
        let (mut path, mut first) = (Path::new(), map);
        while !self.get(first).object().slot(LEFT).is_nil() {
            path.push((first, true));
            first = self.part(first, LEFT);
        }
        let rest = self.part(first, RIGHT);
        let rest = self.rebuild(path, rest)?;
        Ok((first, self.root(rest)))
    }

    /// The new map, from the place at the end of a path upwards.
    fn rebuild(&mut self, path: Path, place: RootHandle) -> Result<Word, Failure> {
        let mut map = place;
        for (node, is_left) in path.into_iter().rev() {
            let [key, value] = [KEY, VALUE].map(|slot| self.part(node, slot));
            let other = self.part(node, if is_left { RIGHT } else { LEFT });
            let [left, right] = if is_left { [map, other] } else { [other, map] };
            map = self.balanced([key, value, left, right])?;
        }
        Ok(self.get(map))
    }

    /// A node of parts of which one side may be too heavy, by one update's effect.
    fn balanced(
        &mut self,
        parts @ [_, _, left, right]: [RootHandle; 4],
    ) -> Result<RootHandle, Failure> {
        let [on_left, on_right] = [left, right].map(|side| 1 + self.size(side));
        if on_left + on_right <= 3 {
            return self.node(parts);
        }
        if on_right > BALANCE * on_left {
            return self.rotated(parts, [LEFT, RIGHT]);
        }
        if on_left > BALANCE * on_right {
            return self.rotated(parts, [RIGHT, LEFT]);
        }
        self.node(parts)
    }

    /// Moves nodes from the heavy side, the second one, to the other.
    fn rotated(
        &mut self,
        [key, value, left, right]: [RootHandle; 4],
        sides @ [light, heavy]: [usize; 2],
    ) -> Result<RootHandle, Failure> {
        let (stays, root) = if heavy == RIGHT { (left, right) } else { (right, left) };
        let [inner, outer] = [light, heavy].map(|side| self.part(root, side));
        let [root_key, root_value] = [KEY, VALUE].map(|slot| self.part(root, slot));
        if 1 + self.size(inner) < INNER * (1 + self.size(outer)) {
            let moved = self.oriented([key, value, stays, inner], sides)?;
            return self.oriented([root_key, root_value, moved, outer], sides);
        }
        let [first, second] = [light, heavy].map(|side| self.part(inner, side));
        let [inner_key, inner_value] = [KEY, VALUE].map(|slot| self.part(inner, slot));
        let moved = self.oriented([key, value, stays, first], sides)?;
        let rest = self.oriented([root_key, root_value, second, outer], sides)?;
        self.oriented([inner_key, inner_value, moved, rest], sides)
    }

    /// A node whose last two parts are on these sides.
    fn oriented(
        &mut self,
        parts: [RootHandle; 4],
        sides: [usize; 2],
    ) -> Result<RootHandle, Failure> {
        let [key, value, one, other] = parts;
        self.node(if sides == [LEFT, RIGHT] { parts } else { [key, value, other, one] })
    }
}

impl Drop for Growth<'_> {
    fn drop(&mut self) {
        self.thread.mutator.truncate_roots(self.depth);
    }
}
