//! Reflection: the primitives for class definitions, and for messages by name. Mostly `lib/Mirrors.ns` calls them.
//!
//! A [right](rights) stands for a definition. Its number contains the number of the module and that of the definition in
//! the module.

use squall_bytecode::entities::{ClassId, StringId};
use squall_bytecode::module::selector_arity;
use squall_heap::Word;

use super::answer;
use super::objects::class_argument;
use crate::concurrency::transactions::access;
use crate::model::known;
use crate::model::lookup::Action;
use crate::model::module::Definition;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::model::symbols::Symbol;
use crate::objects::array;
use crate::objects::rights::{self, Kind};
use crate::objects::string::{Text, loose_symbol, make_string, symbol_object};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("perform:on:with:", perform),
    Primitive::ordinary("object:understands:", |thread, window| {
        answer(understands(thread, window))
    }),
    Primitive::ordinary("definitionOfClass:", |thread, window| {
        answer(
            class_argument(thread.vm, window.get(0))
                .and_then(|behavior| make_right(thread, behavior.definition)),
        )
    }),
    Primitive::ordinary("definitionName:", |thread, window| {
        answer(
            definition(thread, window.get(0))
                .and_then(|definition| symbol_object(thread, definition.name)),
        )
    }),
    Primitive::ordinary("definitionFactoryName:", |thread, window| {
        answer(
            definition(thread, window.get(0))
                .and_then(|definition| symbol_object(thread, definition.factory_selector)),
        )
    }),
    Primitive::ordinary("definitionFilePath:", |thread, window| {
        answer(
            definition(thread, window.get(0))
                .and_then(|definition| make_string(thread, definition.module.bytecode.path_text())),
        )
    }),
    Primitive::ordinary("definitionNestedClasses:", |thread, window| {
        answer(nested_classes(thread, window))
    }),
    Primitive::ordinary("definitionMethodNames:", |thread, window| {
        answer(method_names(thread, window))
    }),
    Primitive::ordinary("definitionClassMethodNames:", |thread, window| {
        answer(class_method_names(thread, window))
    }),
];

/// How many bits of a right's number are the number within the module.
const CLASS_BITS: u32 = 32;

/// The right to a definition. *GC point.*
pub(super) fn make_right(
    thread: &mut Thread,
    definition: &'static Definition,
) -> Result<Word, Failure> {
    let number = thread.vm.modules.number(definition.module.loaded()).unwrap_or(0);
    let number = (number as i64) << CLASS_BITS | i64::from(definition.id.0);
    rights::make(thread, Kind::Definition, number)
}

/// The definition that a right stands for.
pub fn definition(thread: &Thread, right: Word) -> Result<&'static Definition, Failure> {
    let number = rights::number(thread, right, Kind::Definition)?;
    let find = || {
        let number = usize::try_from(number).ok()?;
        let module = thread.vm.modules.at(number >> CLASS_BITS)?;
        let id = ClassId(number as u32);
        (id.index() < module.bytecode.class_count()).then(|| module.definition(id))
    };
    find().ok_or(Failure::argument(right))
}

fn nested_classes(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let definition = definition(thread, window.get(0))?;
    let nested = &definition.bytecode().nested;
    array::make_of(thread, nested.len(), |thread, index| {
        make_right(thread, definition.module.definition(nested[index]))
    })
}

fn method_names(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let definition = definition(thread, window.get(0))?;
    let methods = &definition.bytecode().methods;
    names(thread, definition, methods.iter().map(|method| method.selector))
}

fn class_method_names(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let definition = definition(thread, window.get(0))?;
    let class = definition.bytecode();
    let factory = std::iter::once(class.factory_selector);
    let methods = class.class_methods.iter().map(|method| method.selector);
    names(thread, definition, factory.chain(methods))
}

/// An array of symbols for names in the definition's module. *GC point.*
fn names(
    thread: &mut Thread,
    definition: &'static Definition,
    names: impl Iterator<Item = StringId>,
) -> Result<Word, Failure> {
    let names: Vec<Symbol> = names.map(|name| definition.module.symbol(name)).collect();
    array::make_of(thread, names.len(), |thread, index| symbol_object(thread, names[index]))
}

/// Whether an object's class has a public member of this name, or inherits one.
fn understands(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    let Some(selector) = Text::of(window.get(1)) else {
        return Err(Failure::argument(window.get(1)));
    };
    let Some(selector) = selector.known(thread.vm.modules.symbols) else {
        // No code has a member of this name.
        return Ok(Word::FALSE);
    };
    let layout = known::layout_of(window.get(0));
    let Some(behavior) = thread.vm.behavior_of_layout(layout) else {
        return Ok(Word::FALSE);
    };
    let entry = thread.vm.lookups.public(layout, behavior, selector);
    Ok(Word::from_bool(!matches!(entry.action, Action::Missing)))
}

/// Sends the message with this name to an object, with the elements of an array as arguments.
fn perform(thread: &mut Thread, window: Window) -> Outcome {
    let Some(selector) = Text::of(window.get(0)) else {
        return Failure::argument(window.get(0)).into();
    };
    let symbols = thread.vm.modules.symbols;
    let Some(selector) = selector.known(symbols) else {
        let told = tell_unknown(thread, window);
        return told.map_or_else(Outcome::from, Outcome::Send);
    };
    let arguments = array::of(window.get(2));
    match arguments.filter(|array| array.length() == symbols.arity(selector)) {
        Some(array) => {
            thread.message.clear();
            thread.message.push(window.get(1));
            match access::extend_message(thread, array) {
                Ok(()) => Outcome::Send(selector),
                Err(failure) => failure.into(),
            }
        }
        None => Failure::argument(window.get(2)).into(),
    }
}

/// Makes the message that tells the receiver of a name that it has no such message: no code has a member of this name. So the
/// name needs no index, which would stay for ever. *GC point.*
fn tell_unknown(thread: &mut Thread, window: Window) -> Result<Symbol, Failure> {
    let text = Text::of(window.get(0)).ok_or(Failure::argument(window.get(0)))?.to_rust();
    let arguments =
        |window: Window| array::of(window.get(2)).ok_or(Failure::argument(window.get(2)));
    let count = arguments(window)?.length();
    if count != selector_arity(&text) {
        return Err(Failure::argument(window.get(2)));
    }
    let copy = array::make_of(thread, count, |thread, index| {
        access::element(thread, arguments(window)?, index)
    })?;
    // The message is a root.
    thread.message.clear();
    thread.message.push(copy);
    let symbol = loose_symbol(thread, &text)?;
    let copy = thread.message[0];
    thread.message.clear();
    thread.message.extend([window.get(1), symbol, copy]);
    Ok(thread.vm.symbol("doesNotUnderstand:arguments:"))
}
