//! Arrays: objects in array format with a size and elements, indexed from 1. The primitives for arrays, and the parts
//! of the VM that make arrays, access them here.
//!
//! Closures and contexts are in array format, too, but nothing here accepts them: their contents are private to the VM.
//! Arrays of values can be read by every vat and are never written.

use num_traits::Signed;
use squall_heap::{Format, LayoutId, Object, Word, confine};

use super::number::Number;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::state::thread::{Thread, allocated};
use crate::state::vm::Vm;

/// The array in a word, if it is one.
#[inline]
pub fn of(word: Word) -> Option<Object> {
    word.as_object().filter(|object| {
        let layout = object.layout();
        match layout {
            known::ARRAY | known::VALUE_ARRAY | known::TRANSFER_ARRAY => true,
            // Of the classes that programs define, only those of arrays have this format.
            _ => layout.format() == Format::Array && layout.number() >= known::FIRST_FREE_NUMBER,
        }
    })
}

/// The array in a word, if it is one whose elements may change.
#[inline]
pub fn mutable(vm: &Vm, word: Word) -> Result<Object, Failure> {
    let array = of(word).ok_or(Failure::argument(word))?;
    let is_mutable = match array.layout() {
        known::ARRAY | known::TRANSFER_ARRAY => true,
        known::VALUE_ARRAY => false,
        layout => vm.behavior_of_layout(layout).is_some_and(|behavior| !behavior.is_value),
    };
    if is_mutable { Ok(array) } else { Err(Failure::argument(word)) }
}

/// The position, counted from 0, of an index into something of this size; `target` names that in
/// the failure.
#[inline]
pub fn position(target: Word, size: usize, index: Word) -> Result<usize, Failure> {
    match index_argument(index)?.checked_sub(1) {
        Some(position) if position < size => Ok(confine(position, size)),
        _ => Err(Failure::index(target, index)),
    }
}

/// Start, counted from 0, and length of the range between two indices, inclusive, of an object of this size. An empty
/// range may start directly after the end.
pub fn range(target: Word, size: usize, from: Word, to: Word) -> Result<(usize, usize), Failure> {
    let (first, end) = (index_argument(from)?, index_argument(to)?);
    let start = match first.checked_sub(1) {
        Some(start) if start <= size => start,
        _ => return Err(Failure::index(target, from)),
    };
    match end.checked_sub(start) {
        Some(length) if end <= size => Ok((start, length)),
        _ => Err(Failure::index(target, to)),
    }
}

/// An index, where 0 stands for all integers below 1, and the greatest number for all that no
/// index can be.
#[inline]
pub fn index_argument(word: Word) -> Result<usize, Failure> {
    match word.as_small_integer() {
        Some(value) => Ok(usize::try_from(value).unwrap_or(0)),
        None => match Number::of(word).and_then(|number| number.to_integer()) {
            Some(value) if value.is_negative() => Ok(0),
            Some(_) => Ok(usize::MAX),
            None => Err(Failure::argument(word)),
        },
    }
}

/// Makes an array of elements that are made one after the other. *GC point.*
pub fn make_of(
    thread: &mut Thread,
    length: usize,
    element: impl FnMut(&mut Thread, usize) -> Result<Word, Failure>,
) -> Result<Word, Failure> {
    make_elements(thread, known::ARRAY, KnownClass::Array, length, element)
}

/// Makes an array of values that are made one after the other. *GC point.*
pub fn make_value_of(
    thread: &mut Thread,
    length: usize,
    element: impl FnMut(&mut Thread, usize) -> Result<Word, Failure>,
) -> Result<Word, Failure> {
    make_elements(thread, known::VALUE_ARRAY, KnownClass::ValueArray, length, element)
}

fn make_elements(
    thread: &mut Thread,
    layout: LayoutId,
    class: KnownClass,
    length: usize,
    mut element: impl FnMut(&mut Thread, usize) -> Result<Word, Failure>,
) -> Result<Word, Failure> {
    let class = thread.vm.known_class(class);
    let array = allocated(thread.mutator.allocate_array(layout, class, length, Word::NIL))?;
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(array.word());
    let made = (0..length).try_for_each(|index| {
        let value = element(thread, index)?;
        let array = thread.mutator.get(root).object();
        // No other strand knows the array yet.
        array.set_element(&mut thread.mutator, index, value);
        Ok(())
    });
    let array = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    made.map(|()| array)
}
