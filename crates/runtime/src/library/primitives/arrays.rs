//! Arrays: the primitives for arrays and value arrays. Mostly `lib/Kernel.ns` and `lib/Persistent.ns` call them.
//!
//! Closures and contexts are in array format, too, but nothing here accepts them: their contents are private to the VM.
//! Values in array format can be read by all vats and are never written.

use squall_heap::{Object, WORD_BYTES, Word};

use super::answer;
use crate::concurrency::transactions::access;
use crate::concurrency::values::counts_as_value_by_looks;
use crate::model::behavior::Behavior;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::classes::{self, behavior_of_class};
use crate::objects::{array, number::size_argument};
use crate::state::effort::TooLarge;
use crate::state::thread::{Thread, Window, allocated};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("arrayClass:new:", |thread, window| {
        answer(make(thread, window, Word::NIL))
    }),
    Primitive::ordinary("arrayClass:new:filledWith:", |thread, window| {
        answer(make(thread, window, window.get(2)))
    }),
    Primitive::ordinary("array:at:", at),
    Primitive::ordinary("array:at:put:", at_put),
    Primitive::with_leaf(
        "arraySize:",
        |_, array, _| size(array),
        |_, window| Failure::argument(window.get(0)).into(),
    ),
    Primitive::ordinary("array:fillWith:", |thread, window| answer(fill(thread, window)))
        .by_bytes(),
    Primitive::ordinary("array:copyFrom:to:", |thread, window| answer(copy(thread, window))),
    Primitive::ordinary("array:from:to:copyInto:at:", |thread, window| {
        answer(copy_into(thread, window))
    }),
    Primitive::ordinary("valueArrayFrom:", |thread, window| answer(value_array(thread, window)))
        .by_bytes(),
];

/// *GC point.*
fn make(thread: &mut Thread, window: Window, fill: Word) -> Result<Word, Failure> {
    let class = window.get(0);
    let makes_arrays = |behavior: &&'static Behavior| classes::makes_arrays(behavior);
    let behavior = behavior_of_class(thread.vm, class).filter(makes_arrays);
    let layout = behavior.ok_or(Failure::argument(class))?.layout;
    let length = size_argument(window.get(1))?;
    charge_elements(thread, length);
    allocated(thread.mutator.allocate_array(layout, class, length, fill)).map(Object::word)
}

/// So many elements are copied or filled.
fn charge_elements(thread: &mut Thread, count: usize) {
    thread.charge_copy(count.saturating_mul(WORD_BYTES));
}

fn at(thread: &mut Thread, window: Window) -> Outcome {
    let (receiver, index) = (window.get(0), window.get(1));
    let Some(array) = array::of(receiver) else {
        return Failure::argument(receiver).into();
    };
    let position = array::position(receiver, array.length(), index);
    answer(position.and_then(|position| access::element(thread, array, position)))
}

fn at_put(thread: &mut Thread, window: Window) -> Outcome {
    let (receiver, index, value) = (window.get(0), window.get(1), window.get(2));
    let array = match array::mutable(thread.vm, receiver) {
        Ok(array) => array,
        Err(failure) => return failure.into(),
    };
    let position = array::position(receiver, array.length(), index);
    answer(position.and_then(|position| {
        access::set_element(thread, array, position, value).map(|()| window.get(2))
    }))
}

/// How many elements an array has, which never changes.
fn size(array: Word) -> Option<Word> {
    array::of(array).map(|array| Word::from_small_integer_unchecked(array.length() as i64))
}

fn fill(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let array = array::mutable(thread.vm, window.get(0))?;
    access::fill(thread, array, window.get(1))?;
    Ok(window.get(0))
}

fn copy(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let receiver = window.get(0);
    let source = array::of(receiver).ok_or(Failure::argument(receiver))?;
    let (start, length) = array::range(receiver, source.length(), window.get(1), window.get(2))?;
    charge_elements(thread, length);
    let form = (source.layout(), source.class());
    let source = || window.get(0).object();
    access::copy_range(thread, source, form, start, length).map(Object::word)
}

fn copy_into(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let (receiver, target, index) = (window.get(0), window.get(3), window.get(4));
    let source = array::of(receiver).ok_or(Failure::argument(receiver))?;
    let destination = array::mutable(thread.vm, target)?;
    let (start, length) = array::range(receiver, source.length(), window.get(1), window.get(2))?;
    if length == 0 {
        return Ok(target);
    }
    let room = destination.length();
    let to = array::position(target, room, index)?;
    if length > room - to {
        // The first index that there is no element for.
        let missing = Word::from_small_integer_unchecked(room as i64 + 1);
        return Err(Failure::index(target, missing));
    }
    charge_elements(thread, length);
    access::copy_elements(thread, (destination, to), (source, start), length)?;
    Ok(window.get(3))
}

fn value_array(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let source = array::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let length = source.length();
    let class = thread.vm.known_class(KnownClass::ValueArray);
    let source = || window.get(0).object();
    let made = access::copy_range(thread, source, (known::VALUE_ARRAY, class), 0, length)?;
    // The elements of the copy, which no other strand can change.
    let other = thread.with_effort(|thread, effort| {
        for element in (0..length).map(|index| made.element(index)) {
            let mut looked = 0;
            let counts = counts_as_value_by_looks(thread.vm, element, &mut looked);
            effort.add(looked)?;
            if !counts {
                return Ok(Some(element));
            }
        }
        Ok::<_, TooLarge>(None)
    });
    match other? {
        Some(element) => Err(classes::not_a_value(thread, element)),
        None => Ok(made.word()),
    }
}
