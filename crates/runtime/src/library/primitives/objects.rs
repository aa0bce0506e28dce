//! Objects: the primitives for identity, class, and the test for a value. Most library modules call them.

use smallvec::SmallVec;
use squall_heap::Word;

use super::answer;
use super::arithmetic::mix;
use crate::concurrency::isolation;
use crate::concurrency::transactions::access;
use crate::concurrency::values::counts_as_value;
use crate::execution::{stack_traces, unwind};
use crate::model::behavior::Behavior;
use crate::model::hashing;
use crate::model::known;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::{Primitive, Shape};
use crate::objects::array;
use crate::objects::classes::behavior_of_class;
use crate::objects::far_reference;
use crate::objects::string::{Text, symbol_object};
use crate::state::thread::{Thread, Window};
use crate::state::vm::Vm;
use squall_bytecode::module::Side;

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::shaped_with_leaf(
        "identical:to:",
        Shape::Identical,
        |_, left, right| Some(isolation::identical(left, right).into()),
        |_, window| Outcome::Return(isolation::identical(window.get(0), window.get(1)).into()),
    ),
    Primitive::ordinary("identityHash:", |_, window| {
        let hash = i64::from(identity_hash(window.get(0)));
        Outcome::Return(Word::from_small_integer_unchecked(hash))
    }),
    Primitive::with_leaf(
        "classOf:",
        |vm, object, _| Some(vm.class_of(object)),
        |thread, window| Outcome::Return(thread.vm.class_of(window.get(0))),
    ),
    Primitive::ordinary("classNameOf:", |thread, window| answer(class_name(thread, window.get(0)))),
    Primitive::ordinary("classNameOfTarget:", |thread, window| {
        let far =
            far_reference::far_reference(window.get(0)).ok_or(Failure::argument(window.get(0)));
        answer(far.and_then(|far| class_name(thread, far_reference::final_target(far))))
    }),
    Primitive::ordinary("descriptionOfTarget:", |thread, window| {
        answer(description_of_target(thread, window.get(0)))
    }),
    Primitive::ordinary("nameOfClass:", |thread, window| answer(name_of_class(thread, window))),
    Primitive::with_leaf(
        "is:instanceOf:",
        |vm, object, class| is_instance(vm, object, class).ok(),
        |thread, window| answer(is_instance(thread.vm, window.get(0), window.get(1))),
    ),
    Primitive::ordinary("slotsOf:", |thread, window| answer(slots(thread, window))),
    Primitive::ordinary("isValue:", |thread, window| {
        Outcome::Return(counts_as_value(thread.vm, window.get(0)).into())
    }),
];

/// The behavior of the instances of a class.
pub fn class_argument(vm: &Vm, class: Word) -> Result<&'static Behavior, Failure> {
    behavior_of_class(vm, class).ok_or(Failure::argument(class))
}

/// A number that identical objects have in common, and others mostly not.
fn identity_hash(word: Word) -> u32 {
    if let Some(text) = Text::of(word) {
        return text.hash();
    }
    let Some(object) = word.as_object() else {
        return mix(word.bits());
    };
    match object.layout() {
        known::BOXED_DOUBLE => keyed(&object.raw(0).to_le_bytes()),
        known::LARGE_INTEGER => {
            keyed(&(0..object.length()).map(|index| object.byte(index)).collect::<Vec<_>>())
        }
        known::FAR_REFERENCE => mix(u64::from(identity_hash(far_reference::final_target(object)))),
        _ => object.identity_hash(),
    }
}

/// A hash of 28 bits for a number that can come from outside.
fn keyed(bytes: &[u8]) -> u32 {
    (hashing::of_bytes(bytes) >> 36) as u32
}

fn class_name(thread: &mut Thread, object: Word) -> Result<Word, Failure> {
    let vm = thread.vm;
    let behavior = vm.behavior_of_layout(known::layout_of(object));
    let behavior = behavior.ok_or(Failure::argument(object))?;
    let name = match (behavior.side, behavior_of_class(vm, object)) {
        (Side::Class, Some(instances)) => vm.symbol(&format!("{} class", instances.name())),
        _ => behavior.definition.name,
    };
    symbol_object(thread, name)
}

fn description_of_target(thread: &mut Thread, object: Word) -> Result<Word, Failure> {
    let far = far_reference::far_reference(object).ok_or(Failure::argument(object))?;
    let text = stack_traces::describe_exception(thread.vm, far_reference::final_target(far));
    // A guest must not control the host's terminal, or forge a line of its log.
    let keeps_lines = far_reference::vat_of(far).sandbox().is_none();
    let text = crate::objects::string::without_controls(text.chars(), keeps_lines);
    crate::objects::string::make_string(thread, &text)
}

fn name_of_class(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let name = class_argument(thread.vm, window.get(0))?.name();
    crate::objects::string::make_string(thread, name)
}

/// An array of what the declared slots of an object hold. *GC point.*
fn slots(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let object = window.get(0);
    let behavior = thread.vm.behavior_of_layout(known::layout_of(object));
    let behavior = behavior.filter(|_| object.as_object().is_some());
    let slots = &behavior.ok_or(Failure::argument(object))?.slots;
    let declared = slots.iter().enumerate().filter(|(_, slot)| slot.content.is_data());
    let declared: SmallVec<[usize; 16]> = declared.map(|(index, _)| index).collect();
    array::make_of(thread, declared.len(), |thread, index| {
        access::slot(thread, window.get(0).object(), declared[index])
    })
}

fn is_instance(vm: &Vm, object: Word, class: Word) -> Result<Word, Failure> {
    class_argument(vm, class)?;
    let behavior = vm.behavior_of_layout(known::layout_of(object));
    Ok(behavior.is_some_and(|behavior| unwind::matches(vm, behavior, class)).into())
}
