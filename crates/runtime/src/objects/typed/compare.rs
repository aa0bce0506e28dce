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
use std::collections::HashMap;
use std::ops::Range;

use squall_bytecode::types::RegisterType;
use squall_heap::{Object, Word};

use super::{lists, maps, scalars};
use crate::model::outcome::Failure;
use crate::model::types::{Shape, Storage, Type};
use crate::state::effort::{Effort, FOR_AN_OBJECT, TooLarge};
use crate::state::thread::Thread;

/// Compares the contents of two registers of this type. No GC point.
///
/// # Safety
///
/// Both are the contents of such registers since the last GC point.
pub unsafe fn compare_bits(
    thread: &mut Thread,
    kind: Type,
    left: u64,
    right: u64,
) -> Result<Ordering, Failure> {
    match kind.shape() {
        Shape::Basic(basic) => Ok(compare_basic(*basic, left, right)),
        _ => {
            // SAFETY: registers of all other types hold words.
            let [left, right] = [left, right].map(|bits| unsafe { Word::from_bits(bits) });
            let compared = thread.with_effort(|_, effort| compare(effort, kind, left, right));
            Ok(compared?)
        }
    }
}

/// Compares two words of a container. No GC point.
pub fn compare(
    effort: &mut Effort,
    kind: Type,
    left: Word,
    right: Word,
) -> Result<Ordering, TooLarge> {
    let mut walk = Walk { effort, levels: Vec::new(), steps: 0, equal: Equals::default() };
    let mut decided = walk.begin(kind, left, right)?;
    while decided == Ordering::Equal && !walk.levels.is_empty() {
        decided = walk.step()?;
    }
    Ok(decided)
}

/// A comparison in progress.
struct Walk<'e> {
    effort: &'e mut Effort,
    levels: Vec<Level>,
    /// The parts and elements that were compared.
    steps: usize,
    /// In a long comparison, the objects that were found to be equal.
    equal: Equals,
}

/// A comparison of more steps is long.
const LONG: usize = 10_000;

impl Walk<'_> {
    /// Compares the next parts.
    fn step(&mut self) -> Result<Ordering, TooLarge> {
        self.steps += 1;
        let level = self.levels.last_mut().expect("somebody began a level");
        let of_map = matches!(level.parts, Parts::Map(..));
        self.effort.add(if of_map { 2 * maps::DESCENT } else { 1 })?;
        if let Some((kind, left, right)) = level.next() {
            return self.begin(kind, left, right);
        }
        let Level { rest, left, right, .. } = *level;
        self.levels.pop();
        self.note(rest, left, right)?;
        Ok(rest)
    }

    /// Compares the parts of two values, unless they are known to be equal.
    fn descend(&mut self, level: Level) -> Ordering {
        if !self.are_known(level.left, level.right) {
            self.levels.push(level);
        }
        Ordering::Equal
    }

    /// Whether two objects are known to be equal.
    fn are_known(&mut self, left: Word, right: Word) -> bool {
        left == right || self.steps > LONG && self.equal.has(left.bits(), right.bits())
    }

    /// Two objects were compared.
    fn note(&mut self, result: Ordering, left: Word, right: Word) -> Result<(), TooLarge> {
        if result == Ordering::Equal && self.steps > LONG {
            self.effort.add(FOR_AN_OBJECT)?;
            self.equal.add(left.bits(), right.bits());
        }
        Ok(())
    }
}

/// Which objects are equal. Parts can be the same object many times over: without this record, comparing a few dozen objects could
/// take practically for ever. Equality is transitive, so no more than one comparison for each object comes to its end (union and find:
/// Tarjan, "Efficiency of a good but not linear set union algorithm", JACM 1975).
#[derive(Default)]
struct Equals(HashMap<u64, u64>);

impl Equals {
    /// The object that stands for all that are equal to this one.
    fn find(&mut self, mut object: u64) -> u64 {
        while let Some(&next) = self.0.get(&object) {
            match self.0.get(&next) {
                Some(&after) => {
                    self.0.insert(object, after);
                    object = after;
                }
                None => return next,
            }
        }
        object
    }

    fn has(&mut self, left: u64, right: u64) -> bool {
        self.find(left) == self.find(right)
    }

    fn add(&mut self, left: u64, right: u64) {
        let (left, right) = (self.find(left), self.find(right));
        if left != right {
            self.0.insert(left, right);
        }
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

impl Walk<'_> {
    /// Compares the parts that can be compared at once, and leaves the others to the next steps.
    fn begin(&mut self, kind: Type, left: Word, right: Word) -> Result<Ordering, TooLarge> {
        let level = |parts, count, rest| Level { parts, left, right, index: 0, count, rest };
        Ok(match kind.shape() {
            Shape::Basic(basic) => compare_words(*basic, left, right),
            Shape::Tuple(elements) => {
                self.descend(level(Parts::Tuple(elements), elements.len(), Ordering::Equal))
            }
            Shape::List(element) if element.storage() != Storage::Word => {
                self.compare_packed(*element, left, right)?
            }
            Shape::List(element) => {
                let [one, other] = [left, right].map(lists::length);
                self.descend(level(Parts::List(*element), one.min(other), one.cmp(&other)))
            }
            Shape::Map(key, value) => {
                let [one, other] = [left, right].map(maps::size);
                if one != other {
                    return Ok(one.cmp(&other));
                }
                self.descend(level(Parts::Map(*key, *value), 2 * one, Ordering::Equal))
            }
            _ => left.bits().cmp(&right.bits()),
        })
    }

    /// Compares lists of numbers or Booleans.
    fn compare_packed(
        &mut self,
        element: Type,
        left: Word,
        right: Word,
    ) -> Result<Ordering, TooLarge> {
        /// As many elements as are compared in the time of a unit.
        const IN_UNIT: usize = 8;
        /// The elements that are compared before the effort is looked at again.
        const BLOCK: usize = 1 << 12;
        if self.are_known(left, right) {
            return Ok(Ordering::Equal);
        }
        let [one, other] = [left, right].map(lists::length);
        let count = one.min(other);
        for start in (0..count).step_by(BLOCK) {
            let end = count.min(start + BLOCK);
            self.steps += end - start;
            self.effort.add(1 + (end - start) / IN_UNIT)?;
            let decided = compare_elements(element, left.object(), right.object(), start..end);
            if decided != Ordering::Equal {
                return Ok(decided);
            }
        }
        self.note(one.cmp(&other), left, right)?;
        Ok(one.cmp(&other))
    }
}

/// Compares some elements of lists of numbers or Booleans.
fn compare_elements(element: Type, left: Object, right: Object, range: Range<usize>) -> Ordering {
    let storage = element.storage();
    let basic = match element.shape() {
        Shape::Basic(basic) => *basic,
        _ => unreachable!("only basic types are packed"),
    };
    let mut compared = range.map(|index| {
        let [left, right] = [left, right].map(|list| lists::bits(list, index, storage));
        compare_basic(basic, left, right)
    });
    compared.find(|decided| decided.is_ne()).unwrap_or(Ordering::Equal)
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
