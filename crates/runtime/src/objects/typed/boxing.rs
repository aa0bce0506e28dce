//! Tuples, lists and maps as objects, and back. Adapters and the instructions `box` and `unbox` call it.
//!
//! | value | object |
//! |---|---|
//! | tuple | a `ValueArray` of its elements: the same object, if there is no list or map in it |
//! | list | a `ValueArray` of its elements; a string becomes a `list<u8>`, too, in UTF-8 |
//! | map | a `ValueArray` of pairs, `ValueArray`s themselves, by ascending keys |
//!
//! Both ways convert to any depth with a stack of their own. Everything that is half made, and
//! where it comes from, is in a root.

use squall_bytecode::types::RegisterType;
use squall_heap::{Object, RootHandle, Word};

use super::{lists, maps, scalars};
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::model::types::{Shape, Type};
use crate::objects::string::Text;
use crate::state::thread::{Thread, allocated};

/// The object for a tuple, list or map. *GC point.*
pub fn boxed(thread: &mut Thread, kind: Type, value: Word) -> Result<Word, Failure> {
    if kind.is_plain() {
        return Ok(value);
    }
    let object = Conversion::new(thread, true).run(kind, value)?;
    Ok(object.expect("every value of a boxable type has an object"))
}

/// The tuple, list or map for an object; nothing if it does not stand for one of the type. *GC point.*
pub fn unboxed(thread: &mut Thread, kind: Type, object: Word) -> Result<Option<Word>, Failure> {
    Conversion::new(thread, false).run(kind, object)
}

/// A conversion in progress.
struct Conversion<'t> {
    thread: &'t mut Thread,
    boxes: bool,
    depth: usize,
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

impl<'t> Conversion<'t> {
    fn new(thread: &'t mut Thread, boxes: bool) -> Conversion<'t> {
        let depth = thread.mutator.root_depth();
        Conversion { thread, boxes, depth }
    }

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
                    let value = self.thread.mutator.get(level.target);
                    self.thread.mutator.truncate_roots(level.depth);
                    levels.pop();
                    Step::Value(value)
                }
            };
        }
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
            return lists::of_bytes(self.thread, text.as_bytes()).map(Step::Value);
        }
        let Some(count) = self.count(kind, source) else { return Ok(Step::Misfit) };
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
                let map = maps::with_entry(self.thread, *keys, [target, key, value])?;
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
