//! Arrays: objects in array format with a size and elements, indexed from 1.
//!
//! Closures and contexts are in array format, too, but nothing here accepts them: what they hold
//! is the VM's. Values in array format can be read by everybody and written by nobody.

use num_traits::Signed;
use squall_heap::{Format, Object, Word};

use super::{Primitive, answer};
use crate::behavior::Behavior;
use crate::classes::behavior_of_class;
use crate::known::{self, KnownClass};
use crate::objects::number::{Number, size_argument};
use crate::outcome::{Failure, FailureReason, Outcome};
use crate::thread::{Thread, Window, allocated};
use crate::transactions::access;
use crate::values::counts_as_value;
use crate::vm::Vm;

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("arrayClass:new:", |thread, window| answer(make(thread, window))),
    Primitive::ordinary("array:at:", at),
    Primitive::ordinary("array:at:put:", at_put),
    Primitive::ordinary("arraySize:", size),
    Primitive::ordinary("array:fillWith:", |thread, window| answer(fill(thread, window))),
    Primitive::ordinary("array:copyFrom:to:", |thread, window| answer(copy(thread, window))),
    Primitive::ordinary("array:from:to:copyInto:at:", |thread, window| {
        answer(copy_into(thread, window))
    }),
    Primitive::ordinary("valueArrayFrom:", |thread, window| answer(value_array(thread, window))),
];

/// The array in a word, if it is one.
#[inline]
pub fn array(word: Word) -> Option<Object> {
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
pub fn mutable_array(vm: &Vm, word: Word) -> Result<Object, Failure> {
    let array = array(word).ok_or(Failure::argument(word))?;
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
        Some(position) if position < size => Ok(position),
        _ => Err(Failure::index(target, index)),
    }
}

/// Start, counted from 0, and length of the range between two indices, inclusive, of something of
/// this size. An empty range may start right behind the end.
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
pub fn make_array_of(
    thread: &mut Thread,
    length: usize,
    element: impl FnMut(&mut Thread, usize) -> Result<Word, Failure>,
) -> Result<Word, Failure> {
    make_elements(thread, known::ARRAY, KnownClass::Array, length, element)
}

/// Makes an array of values that are made one after the other. *GC point.*
pub fn make_value_array_of(
    thread: &mut Thread,
    length: usize,
    element: impl FnMut(&mut Thread, usize) -> Result<Word, Failure>,
) -> Result<Word, Failure> {
    make_elements(thread, known::VALUE_ARRAY, KnownClass::ValueArray, length, element)
}

fn make_elements(
    thread: &mut Thread,
    layout: squall_heap::LayoutId,
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
        let array = thread.mutator.get(root).object_unchecked();
        // Nobody else knows the array yet.
        array.set_element(&mut thread.mutator, index, value);
        Ok(())
    });
    let array = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    made.map(|()| array)
}

fn make(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let class = window.get(0);
    let makes_arrays = |behavior: &&'static Behavior| {
        behavior.layout.format() == Format::Array
            && behavior.known().is_some_and(KnownClass::is_array)
            && !behavior.is_value
    };
    let behavior = behavior_of_class(thread.vm, class).filter(makes_arrays);
    let layout = behavior.ok_or(Failure::argument(class))?.layout;
    let length = size_argument(window.get(1))?;
    allocated(thread.mutator.allocate_array(layout, class, length, Word::NIL)).map(Object::word)
}

fn at(thread: &mut Thread, window: Window) -> Outcome {
    let (receiver, index) = (window.get(0), window.get(1));
    let Some(array) = array(receiver) else {
        return Failure::argument(receiver).into();
    };
    let position = position(receiver, array.length(), index);
    answer(position.and_then(|position| access::element(thread, array, position)))
}

fn at_put(thread: &mut Thread, window: Window) -> Outcome {
    let (receiver, index, value) = (window.get(0), window.get(1), window.get(2));
    let array = match mutable_array(thread.vm, receiver) {
        Ok(array) => array,
        Err(failure) => return failure.into(),
    };
    let position = position(receiver, array.length(), index);
    answer(position.and_then(|position| {
        access::set_element(thread, array, position, value).map(|()| window.get(2))
    }))
}

fn size(_: &mut Thread, window: Window) -> Outcome {
    match array(window.get(0)) {
        Some(array) => Outcome::Return(Word::from_small_integer_unchecked(array.length() as i64)),
        None => Failure::argument(window.get(0)).into(),
    }
}

fn fill(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let array = mutable_array(thread.vm, window.get(0))?;
    access::fill(thread, array, window.get(1))?;
    Ok(window.get(0))
}

fn copy(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let receiver = window.get(0);
    let source = array(receiver).ok_or(Failure::argument(receiver))?;
    let (start, length) = range(receiver, source.length(), window.get(1), window.get(2))?;
    let form = (source.layout(), source.class());
    let source = || window.get(0).object_unchecked();
    access::copy_range(thread, source, form, start, length).map(Object::word)
}

fn copy_into(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (receiver, target, index) = (window.get(0), window.get(3), window.get(4));
    let source = array(receiver).ok_or(Failure::argument(receiver))?;
    let destination = mutable_array(thread.vm, target)?;
    let (start, length) = range(receiver, source.length(), window.get(1), window.get(2))?;
    if length == 0 {
        return Ok(target);
    }
    let room = destination.length();
    let to = position(target, room, index)?;
    if length > room - to {
        // The first index that there is no element for.
        let missing = Word::from_small_integer_unchecked(room as i64 + 1);
        return Err(Failure::index(target, missing));
    }
    access::copy_elements(thread, (destination, to), (source, start), length)?;
    Ok(window.get(3))
}

fn value_array(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let source = array(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let length = source.length();
    let class = thread.vm.known_class(KnownClass::ValueArray);
    let source = || window.get(0).object_unchecked();
    let made = access::copy_range(thread, source, (known::VALUE_ARRAY, class), 0, length)?;
    // Of the copy, which nobody else can change any more.
    let mut elements = (0..length).map(|index| made.element(index));
    match elements.find(|&element| !counts_as_value(thread.vm, element)) {
        Some(element) => Err(not_a_value(thread, element)),
        None => Ok(made.word()),
    }
}

/// A value was required: the failure names the class, or the class object itself.
pub fn not_a_value(thread: &Thread, object: Word) -> Failure {
    let class = match behavior_of_class(thread.vm, object) {
        Some(_) => object,
        None => thread.class_of(object),
    };
    Failure::with(FailureReason::NotAValue, class, Word::NIL)
}
