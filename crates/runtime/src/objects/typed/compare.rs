//! Equality and order of typed values, derived from their types. Comparison instructions and the operations on maps
//! call it.
//!
//! One comparison serves both. It is total on every type; for types that are not ordered (booleans, functions,
//! communication primitives, maps) only its answer about equality is meaningful, and the verifier allows no other
//! question. Floats are compared by IEEE 754's totalOrder, so that equality is an equivalence and a key is found where
//! it was put.
//!
//! It walks the values with a stack of its own, so no depth of a type exhausts the native one.

use std::cmp::Ordering;
use std::collections::HashSet;

use squall_bytecode::types::RegisterType;
use squall_heap::{Object, Word};

use super::{lists, maps, scalars};
use crate::model::types::{Shape, Storage, Type};

/// Compares the contents of two registers of this type. No GC point.
///
/// # Safety
///
/// Both are the contents of such registers since the last GC point.
pub unsafe fn compare_bits(kind: Type, left: u64, right: u64) -> Ordering {
    match kind.shape() {
        Shape::Basic(basic) => compare_basic(*basic, left, right),
        _ => {
            // SAFETY: registers of all other types hold words.
            let [left, right] = [left, right].map(|bits| unsafe { Word::from_bits(bits) });
            compare(kind, left, right)
        }
    }
}

/// Compares two words of a container. No GC point.
pub fn compare(kind: Type, left: Word, right: Word) -> Ordering {
    let mut walk = Walk::default();
    let mut decided = walk.begin(kind, left, right);
    while decided == Ordering::Equal && !walk.levels.is_empty() {
        decided = walk.step();
    }
    decided
}

/// A comparison in progress.
#[derive(Default)]
struct Walk {
    levels: Vec<Level>,
    steps: usize,
    /// In a long comparison, the pairs that were found to be equal. Parts can be the same object many times over:
    /// without this record, comparing a few dozen objects could take practically for ever.
    equal: HashSet<(u64, u64)>,
}

/// A comparison of more steps is long.
const LONG: usize = 10_000;

impl Walk {
    /// Compares the next parts.
    fn step(&mut self) -> Ordering {
        self.steps += 1;
        let level = self.levels.last_mut().expect("somebody began a level");
        if let Some((kind, left, right)) = level.next() {
            return self.begin(kind, left, right);
        }
        if self.steps > LONG && level.rest == Ordering::Equal {
            self.equal.insert((level.left.bits(), level.right.bits()));
        }
        let rest = level.rest;
        self.levels.pop();
        rest
    }

    /// Compares the parts of two values, unless they are known to be equal.
    fn descend(&mut self, level: Level) -> Ordering {
        let pair = (level.left.bits(), level.right.bits());
        let is_known = pair.0 == pair.1 || self.steps > LONG && self.equal.contains(&pair);
        if !is_known {
            self.levels.push(level);
        }
        Ordering::Equal
    }
}

/// Two values whose parts are being compared, one after the other.
struct Level {
    parts: Parts,
    left: Word,
    right: Word,
    index: usize,
    /// How many parts both have.
    count: usize,
    /// The result if all of them are equal.
    rest: Ordering,
}

enum Parts {
    Tuple(&'static [Type]),
    List(Type),
    Map(Type, Type),
}

impl Level {
    fn next(&mut self) -> Option<(Type, Word, Word)> {
        let index = self.index;
        self.index += 1;
        let both =
            |part: &dyn Fn(Object) -> Word| [self.left, self.right].map(|word| part(word.object()));
        let (kind, [left, right]) = match &self.parts {
            _ if index == self.count => return None,
            Parts::Tuple(elements) => (elements[index], both(&|tuple| tuple.element(index))),
            Parts::List(element) => (*element, both(&|list| lists::word(list, index))),
            Parts::Map(key, _) if index.is_multiple_of(2) => {
                (*key, both(&|map| maps::key(maps::nth(map, index / 2))))
            }
            Parts::Map(_, value) => (*value, both(&|map| maps::value(maps::nth(map, index / 2)))),
        };
        Some((kind, left, right))
    }
}

impl Walk {
    /// Compares the parts that can be compared at once, and leaves the others to the next steps.
    fn begin(&mut self, kind: Type, left: Word, right: Word) -> Ordering {
        let level = |parts, count, rest| Level { parts, left, right, index: 0, count, rest };
        match kind.shape() {
            Shape::Basic(basic) => compare_words(*basic, left, right),
            Shape::Tuple(elements) => {
                self.descend(level(Parts::Tuple(elements), elements.len(), Ordering::Equal))
            }
            Shape::List(element) if element.storage() != Storage::Word => {
                compare_packed(*element, left.object(), right.object())
            }
            Shape::List(element) => {
                let [one, other] = [left, right].map(lists::length);
                self.descend(level(Parts::List(*element), one.min(other), one.cmp(&other)))
            }
            Shape::Map(key, value) => {
                let [one, other] = [left, right].map(maps::size);
                if one != other {
                    return one.cmp(&other);
                }
                self.descend(level(Parts::Map(*key, *value), 2 * one, Ordering::Equal))
            }
            _ => left.bits().cmp(&right.bits()),
        }
    }
}

fn compare_packed(element: Type, left: Object, right: Object) -> Ordering {
    let [one, other] = [left, right].map(|list| lists::length(list.word()));
    let storage = element.storage();
    let basic = match element.shape() {
        Shape::Basic(basic) => *basic,
        _ => unreachable!("only basic types are packed"),
    };
    for index in 0..one.min(other) {
        let [left, right] = [left, right].map(|list| lists::bits(list, index, storage));
        let decided = compare_basic(basic, left, right);
        if decided != Ordering::Equal {
            return decided;
        }
    }
    one.cmp(&other)
}

fn compare_words(kind: RegisterType, left: Word, right: Word) -> Ordering {
    match (left.as_small_integer(), right.as_small_integer()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let [left, right] = [left, right].map(|word| scalars::basic_from_word(kind, word));
            compare_basic(kind, left, right)
        }
    }
}

fn compare_basic(kind: RegisterType, left: u64, right: u64) -> Ordering {
    match kind {
        RegisterType::F64 => f64::from_bits(left).total_cmp(&f64::from_bits(right)),
        RegisterType::F32 => f32::from_bits(left as u32).total_cmp(&f32::from_bits(right as u32)),
        kind if kind.is_signed() => (left as i64).cmp(&(right as i64)),
        _ => left.cmp(&right),
    }
}
