//! Tuples, lists and maps as objects, and back. Adapters and the instructions `box` and `unbox` call it.
//!
//! | value | object |
//! |---|---|
//! | tuple | a `ValueArray` of its elements: the same object, if there is no list or map in it |
//! | list | a `ValueArray` of its elements; a string becomes a `list<u8>`, too, in UTF-8 |
//! | map | a `ValueArray` of pairs, `ValueArray`s themselves, by ascending keys |
//!
//! Both ways convert to any depth with a stack of their own. Everything that is half made, and
//! where it comes from, is in a root. A long conversion notes what it has made of which object, so that what is the same object many
//! times over is made once: a tuple of a tuple of a tuple, with the same part twice each time, would take practically for ever.

use squall_bytecode::types::RegisterType;
use squall_heap::{Object, RootHandle, Word};

use super::{lists, maps, scalars};
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::model::types::{Shape, Storage, Type};
use crate::objects::counterparts::Counterparts;
use crate::objects::string::Text;
use crate::state::effort::{Effort, FOR_AN_OBJECT, TooLarge};
use crate::state::thread::{Thread, allocated};

/// The object for a tuple, list or map. *GC point.*
pub fn boxed(thread: &mut Thread, kind: Type, value: Word) -> Result<Word, Failure> {
    if kind.is_plain() {
        return Ok(value);
    }
    let object = convert(thread, true, kind, value)?;
    Ok(object.expect("every value of a boxable type has an object"))
}

/// The tuple, list or map for an object; nothing if it does not stand for one of the type. *GC point.*
pub fn unboxed(thread: &mut Thread, kind: Type, object: Word) -> Result<Option<Word>, Failure> {
    convert(thread, false, kind, object)
}

/// *GC point.*
fn convert(
    thread: &mut Thread,
    boxes: bool,
    kind: Type,
    source: Word,
) -> Result<Option<Word>, Failure> {
    thread.with_effort(|thread, effort| {
        let depth = thread.mutator.root_depth();
        let source = thread.mutator.push_root(source);
        let made = Counterparts::new(thread);
        let source = thread.mutator.get(source);
        Conversion { thread, effort, boxes, depth, made }.run(kind, source)
    })
}

/// Adds what it takes to box a value of typed code, with its parts as often as they are met: the object may be walked through as a
/// tree. No GC point.
pub fn add_effort_of(effort: &mut Effort, kind: Type, value: Word) -> Result<(), TooLarge> {
    let mut pending = vec![(kind, value)];
    while let Some((kind, value)) = pending.pop() {
        let mut add = |kind: Type, part: Word| pending.push((kind, part));
        match kind.shape() {
            Shape::Tuple(elements) => {
                effort.add(FOR_AN_OBJECT + elements.len())?;
                let tuple = value.object();
                (0..elements.len()).for_each(|index| add(elements[index], tuple.element(index)));
            }
            Shape::List(element) => {
                let count = lists::length(value);
                effort.add(FOR_AN_OBJECT + count)?;
                if element.storage() == Storage::Word {
                    let list = value.object();
                    (0..count).for_each(|index| add(*element, lists::word(list, index)));
                }
            }
            Shape::Map(keys, values) => {
                let count = maps::size(value);
                effort.add(FOR_AN_OBJECT + count * (FOR_AN_OBJECT + 2))?;
                for index in 0..count {
                    let node = maps::nth(value.object(), index);
                    add(*keys, maps::key(node));
                    add(*values, maps::value(node));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A conversion of more effort is long.
const LONG: usize = 1_000;

/// A conversion in progress.
struct Conversion<'t> {
    thread: &'t mut Thread,
    effort: &'t mut Effort,
    boxes: bool,
    depth: usize,
    /// In a long conversion, what was made of which object, by types.
    made: Counterparts,
}

/// Something that is half converted.
struct Level {
    kind: Type,
    source: RootHandle,
    /// The object that its parts are put into.
    target: RootHandle,
    /// For maps, the pair in hand, and a key whose value is still to come.
    pair: RootHandle,
    key: RootHandle,
    index: usize,
    /// How many parts there are; a map has two for each key.
    count: usize,
    /// How many roots there were before.
    depth: usize,
}

/// The state of a conversion: a value, a mismatch, or a value whose parts come first.
enum Step {
    Value(Word),
    Misfit,
    Parts(Level),
}

impl Conversion<'_> {
    fn root(&mut self, word: Word) -> RootHandle {
        self.thread.mutator.push_root(word)
    }

    fn object(&self, handle: RootHandle) -> Object {
        self.thread.mutator.get(handle).object()
    }

    fn run(&mut self, kind: Type, source: Word) -> Result<Option<Word>, Failure> {
        let mut levels: Vec<Level> = Vec::new();
        let mut step = self.begin(kind, source)?;
        loop {
            let value = match step {
                Step::Misfit => return Ok(None),
                Step::Parts(level) => {
                    levels.push(level);
                    None
                }
                Step::Value(value) => Some(value),
            };
            let Some(level) = levels.last_mut() else { return Ok(value) };
            if let Some(value) = value {
                self.store(level, value)?;
            }
            step = match level.index == level.count {
                false => self.next(level)?,
                true => {
                    let value = self.conclude(level)?;
                    levels.pop();
                    Step::Value(value)
                }
            };
        }
    }

    /// What was made of all parts. *GC point.*
    fn conclude(&mut self, level: &Level) -> Result<Word, Failure> {
        let source = self.thread.mutator.get(level.source);
        if self.effort.units() > LONG && source.is_pointer() {
            self.made.add(self.thread, level.source, level.target, role(level.kind))?;
        }
        let value = self.thread.mutator.get(level.target);
        self.thread.mutator.truncate_roots(level.depth);
        Ok(value)
    }

    /// Converts the next part, as far as that is done at once.
    fn next(&mut self, level: &mut Level) -> Result<Step, Failure> {
        match level.kind.shape() {
            Shape::Map(keys, values) => {
                if level.index.is_multiple_of(2) && !self.next_pair(level)? {
                    return Ok(Step::Misfit);
                }
                let part = self.object(level.pair).element(level.index % 2);
                let kind = if level.index.is_multiple_of(2) { *keys } else { *values };
                self.begin(kind, part)
            }
            Shape::List(element) if self.boxes => {
                let bits = lists::bits(self.object(level.source), level.index, element.storage());
                // SAFETY: an element's bits are like those of a register of its type; no GC point came between.
                let word = unsafe { scalars::to_word(self.thread, *element, bits) }?;
                self.begin(*element, word)
            }
            Shape::List(element) => {
                let part = self.object(level.source).element(level.index);
                self.begin(*element, part)
            }
            _ => {
                let part = self.object(level.source).element(level.index);
                self.begin(level.kind.elements()[level.index], part)
            }
        }
    }

    /// Takes up the next pair of a map; whether there is a proper one.
    fn next_pair(&mut self, level: &mut Level) -> Result<bool, Failure> {
        let number = level.index / 2;
        if !self.boxes {
            let pair = self.object(level.source).element(number);
            self.thread.mutator.set(level.pair, pair);
            return Ok(value_array(pair).is_some_and(|pair| pair.length() == 2));
        }
        let pair = self.array(2)?;
        let node = maps::nth(self.object(level.source), number);
        let [key, value] = [maps::key(node), maps::value(node)];
        let mutator = &mut self.thread.mutator;
        pair.set_element(mutator, 0, key);
        pair.set_element(mutator, 1, value);
        mutator.set(level.pair, pair.word());
        mutator.get(level.target).object().set_element(mutator, number, pair.word());
        Ok(true)
    }

    fn array(&mut self, length: usize) -> Result<Object, Failure> {
        let class = self.thread.vm.known_class(KnownClass::ValueArray);
        let mutator = &mut self.thread.mutator;
        allocated(mutator.allocate_array(known::VALUE_ARRAY, class, length, Word::NIL))
    }

    /// Converts a value that has no parts, or makes ready for its parts.
    fn begin(&mut self, kind: Type, source: Word) -> Result<Step, Failure> {
        match kind.shape() {
            Shape::Basic(_) if self.boxes => return Ok(Step::Value(source)),
            Shape::Basic(basic) => {
                return Ok(match scalars::unbox(*basic, source) {
                    Some(bits) => {
                        // SAFETY: the bits are those of a register of this type; no GC point came between.
                        let word = unsafe { scalars::basic_to_word(self.thread, *basic, bits) };
                        Step::Value(word?)
                    }
                    None => Step::Misfit,
                });
            }
            _ if self.boxes && kind.is_plain() => return Ok(Step::Value(source)),
            _ => {}
        }
        if !self.boxes
            && let Some(text) = text_for(kind, source)
        {
            self.effort.add(FOR_AN_OBJECT + text.len() / BYTES_IN_UNIT)?;
            return lists::of_bytes(self.thread, text.as_bytes()).map(Step::Value);
        }
        let Some(count) = self.count(kind, source) else { return Ok(Step::Misfit) };
        let made = source.as_object().and_then(|it| self.made.find(self.thread, it, role(kind)));
        if let Some(value) = made {
            return Ok(Step::Value(value));
        }
        self.effort.add(FOR_AN_OBJECT + count)?;
        let depth = self.thread.mutator.root_depth();
        let source = self.root(source);
        let target = match kind.shape() {
            Shape::List(element) if !self.boxes => {
                lists::of_length(self.thread, element.storage(), count)?
            }
            Shape::Map(..) if !self.boxes => Word::NIL,
            Shape::Map(..) => self.array(count / 2)?.word(),
            _ => self.array(count)?.word(),
        };
        let [target, pair, key] = [target, Word::NIL, Word::NIL].map(|word| self.root(word));
        Ok(Step::Parts(Level { kind, source, target, pair, key, index: 0, count, depth }))
    }

    /// How many parts there are, if the source is of the right form.
    fn count(&self, kind: Type, source: Word) -> Option<usize> {
        match (kind.shape(), self.boxes) {
            (Shape::Tuple(elements), true) => Some(elements.len()),
            (Shape::List(_), true) => Some(lists::length(source)),
            (Shape::Map(..), true) => Some(2 * maps::size(source)),
            (Shape::Tuple(elements), false) => {
                value_array(source).map(Object::length).filter(|count| *count == elements.len())
            }
            (Shape::List(_), false) => value_array(source).map(Object::length),
            (Shape::Map(..), false) => value_array(source).map(|pairs| 2 * pairs.length()),
            _ => None,
        }
    }

    /// Puts a converted part in its place. *GC point* for maps.
    fn store(&mut self, level: &mut Level, value: Word) -> Result<(), Failure> {
        let index = level.index;
        level.index += 1;
        let mutator = &mut self.thread.mutator;
        let target = mutator.get(level.target);
        match level.kind.shape() {
            Shape::Map(..) if self.boxes => {
                mutator.get(level.pair).object().set_element(mutator, index % 2, value);
            }
            Shape::Map(..) if index.is_multiple_of(2) => mutator.set(level.key, value),
            Shape::Map(keys, _) => {
                let key = mutator.get(level.key);
                share_lists([key, value], level.kind);
                let map = maps::with_entry(self.thread, self.effort, *keys, [target, key, value])?;
                self.thread.mutator.set(level.target, map);
            }
            Shape::List(element) if !self.boxes => {
                let bits = scalars::from_word(*element, value);
                if element.is_list() {
                    lists::share(value);
                }
                let list = target.object();
                lists::set_bits(self.thread, list, index, element.storage(), bits);
            }
            _ => {
                target.object().set_element(mutator, index, value);
                if !self.boxes && level.kind.elements()[index].is_list() {
                    lists::share(value);
                }
            }
        }
        Ok(())
    }
}

impl Drop for Conversion<'_> {
    fn drop(&mut self) {
        self.thread.mutator.truncate_roots(self.depth);
    }
}

/// As many bytes of a text as are looked at in the time of a unit.
const BYTES_IN_UNIT: usize = 16;

/// As what an object is converted.
fn role(kind: Type) -> usize {
    kind.to_word().bits() as usize
}

fn value_array(word: Word) -> Option<Object> {
    word.as_object().filter(|object| object.layout() == known::VALUE_ARRAY)
}

/// The text of a string where a list of bytes is wanted.
fn text_for(kind: Type, source: Word) -> Option<String> {
    let wants_bytes = kind.is_list() && kind.element() == Type::basic(RegisterType::U8);
    wants_bytes.then(|| Text::of(source)).flatten().map(|text| text.to_rust())
}

/// A map knows its keys and values from now on.
fn share_lists([key, value]: [Word; 2], map: Type) {
    let (keys, values) = map.entry();
    for (kind, word) in [(keys, key), (values, value)] {
        if kind.is_list() {
            lists::share(word);
        }
    }
}
