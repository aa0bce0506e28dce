//! The boundary of a sandbox: which objects leave it as they are. Isolation and channels ask here.
//!
//! A message to a value is processed by its sender. So a value of a class that a guest has written would run the guest's
//! code outside of the sandbox, with the authority and at the expense of the receiver. Only these leave as they are:
//!
//! | object | because |
//! |---|---|
//! | numbers, text, Booleans, nil | the kernel's code processes messages to them |
//! | arrays of values, if their elements leave as they are | the same |
//! | far references, rights, ends of channels | they are no code |
//! | instances of classes, and classes, of the library's modules that only compute | the library's code |
//! | instances of classes, and classes, of modules that the host has loaded | the host's own code |
//!
//! An instance leads to its class, its class to its superclass, its mixins and the objects around them, and an instance
//! to its contents: none of these may have a guest's code, since the code of the instance may call that. A library's value
//! that stands for something outside of the program, such as a path or a parcel, does not leave, either, alone or in
//! another value: the receiver could act on it by mistake. The objects around a class may have such values; the host has
//! made them for itself. Any other object arrives as a far reference, so the sandbox processes the messages to it.
//!
//! A module that a sandbox loads is a copy of its own with the same text (`for_guests` in `model/modules.rs`), so the origin of
//! a class is known by its definition.

use std::convert::Infallible;

use hashbrown::HashSet;
use squall_bytecode::module::Side;
use squall_heap::{Format, Object, Word};

use crate::model::behavior::Behavior;
use crate::model::known;
use crate::model::module::Definition;
use crate::model::modules::is_data_module;
use crate::objects::classes::{behavior_of, behavior_of_class, captures, reached_from};
use crate::state::sandbox::SandboxRef;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// Whether an object that goes from one vat to the other leaves a sandbox.
#[inline]
pub fn leaves(from: VatRef, to: VatRef) -> bool {
    from.sandbox().is_some_and(|sandbox| !is_within(to.sandbox(), sandbox))
}

/// Whether a vat or a strand of the first sandbox, if there is one, is in the second one.
pub fn is_within(inner: Option<SandboxRef>, outer: SandboxRef) -> bool {
    inner.is_some_and(|inner| inner.is_in(outer))
}

/// Whether a value leaves a sandbox as it is. No GC point.
pub fn may_leave(vm: &Vm, word: Word) -> bool {
    may_leave_for(vm, word, |_| Ok::<_, Infallible>(())).unwrap_or_else(|never| match never {})
}

/// As [`may_leave`], if the sender can pay for each object that the value leads to, by the number of its words.
pub fn may_leave_for<E>(
    vm: &Vm,
    word: Word,
    pay: impl FnMut(usize) -> Result<(), E>,
) -> Result<bool, E> {
    look_at_all(vm, (word, Part::Data), pay)
}

/// Whether a class may be the superclass or a mixin of one whose text is not a guest's. Otherwise code of a guest would run
/// wherever somebody has such a class: a nested class is made once, by whoever needs it first, and an object that vats share
/// has the same for all.
pub fn may_be_inherited(vm: &Vm, class: Word) -> bool {
    look_at_all(vm, (class, Part::Code), |_| Ok::<_, Infallible>(()))
        .unwrap_or_else(|never| match never {})
}

fn look_at_all<E>(
    vm: &Vm,
    first: (Word, Part),
    mut pay: impl FnMut(usize) -> Result<(), E>,
) -> Result<bool, E> {
    let mut pending = vec![first];
    let mut seen = HashSet::new();
    while let Some((word, part)) = pending.pop() {
        let Some(object) = word.as_object() else { continue };
        if is_harmless(object) {
            let words = object.size() / size_of::<Word>() / WORDS_OF_TEXT_IN_ONE;
            if words > 0 {
                pay(words)?;
            }
            continue;
        }
        // The receiver may walk through collections as through trees. So one counts wherever it is met: a few dozen arrays, each
        // with the next one twice, would keep the receiver busy practically for ever.
        let is_tree = part == Part::Data && is_collection(vm, object);
        if !is_tree && !seen.insert((object.address(), part)) {
            continue;
        }
        pay(object.size() / size_of::<Word>())?;
        if !look_at(vm, object, part, &mut pending) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// So many words of text or of a number are as much work for the receiver as a word of another object. Short ones are none.
const WORDS_OF_TEXT_IN_ONE: usize = 32;

/// The part that an object has in the value that is to leave.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// The value itself, or one of its contents.
    Data,
    /// A class, or something that the methods of a class can reach.
    Code,
}

/// Whether an object is an array, or an instance of a class of the library: its elements are older than itself, so there is no
/// cycle of such objects.
fn is_collection(vm: &Vm, object: Object) -> bool {
    object.layout() == known::VALUE_ARRAY
        || behavior_of(vm, object).is_some_and(|behavior| {
            behavior.side == Side::Instance
                && behavior.definition.module.loaded().bytecode.is_image()
        })
}

/// Whether an object is harmless by its layout.
fn is_harmless(object: Object) -> bool {
    matches!(
        object.layout(),
        known::STRING
            | known::SYMBOL
            | known::LARGE_INTEGER
            | known::BOXED_DOUBLE
            | known::FAR_REFERENCE
            | known::CHANNEL
            | known::BARRIER
            | known::BUCKET
            | known::RIGHT
    )
}

/// Whether an object's own code may leave; adds the objects that the code reaches.
fn look_at(vm: &Vm, object: Object, part: Part, pending: &mut Vec<(Word, Part)>) -> bool {
    if object.layout() == known::VALUE_ARRAY {
        pending.extend((0..object.length()).map(|index| (object.element(index), part)));
        return true;
    }
    let Some(behavior) = behavior_of(vm, object) else {
        // What the machine alone knows has no code.
        return part == Part::Code;
    };
    match (behavior.side, behavior_of_class(vm, object.word())) {
        (Side::Class, Some(instances)) => {
            let reached = reached_from(object).chain(captured(object));
            pending.extend(reached.map(|word| (word, Part::Code)));
            is_trusted(instances.definition, part)
        }
        (Side::Class, None) => false,
        _ if !is_trusted(behavior.definition, part) => false,
        // The machine has made it, with the real kernel.
        _ if vm.roots.is_shared_module(object.word()) => true,
        _ => {
            pending.push((object.class(), Part::Code));
            pending.extend(contents(behavior, object).map(|word| (word, part)));
            true
        }
    }
}

/// Whether the receiver may run the code of a definition as its own, or have an instance as data.
fn is_trusted(definition: &Definition, part: Part) -> bool {
    let module = definition.module.loaded();
    let main = || module.main_definition().map(Definition::name_text);
    match module.bytecode.is_image() {
        true => part == Part::Code || main().is_some_and(is_data_module),
        false => !module.is_for_guests(),
    }
}

/// The variables that an object literal's class has captured.
fn captured(class: Object) -> impl Iterator<Item = Word> {
    let context = captures(class).as_object();
    context.into_iter().flat_map(|it| (0..it.length()).map(move |index| it.element(index)))
}

/// The contents of an instance, except its nested classes, which [have no code of a guest](may_be_inherited).
fn contents(behavior: &'static Behavior, object: Object) -> impl Iterator<Item = Word> {
    let elements = if behavior.layout.format() == Format::Array { object.length() } else { 0 };
    let slots = behavior.slots.iter().enumerate();
    let data = slots.filter(|(_, slot)| slot.content.is_data());
    data.map(move |(index, _)| object.slot(index))
        .chain((0..elements).map(move |index| object.element(index)))
}
