//! Channels, their ends, barriers and buckets between objects of the library and typed code. Adapters and boxing
//! convert them here.
//!
//! An object of the library holds in a slot the word that a register of typed code holds. The elements of a channel
//! that both sides have are values with objects: see [`crate::concurrency::channels`].

use squall_heap::Word;

use crate::concurrency::channels;
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason};
use crate::model::types::{Shape, Type};
use crate::objects::string::make_string;
use crate::state::thread::Thread;

/// The class of the library whose instances stand for the contents of registers of a type, and the slot that holds
/// these contents.
fn wrapper(kind: Type) -> Option<(&'static str, &'static str)> {
    Some(match kind.shape() {
        Shape::Channel(_) => ("Channel", "channel"),
        Shape::Reader(_) => ("ReadingEnd", "channel"),
        Shape::Writer(_) => ("WritingEnd", "channel"),
        Shape::Barrier => ("Barrier", "barrier"),
        Shape::Bucket => ("Bucket", "bucket"),
        _ => return None,
    })
}

/// The contents of a register of this type for an object: the object itself, unless the type is a communication
/// primitive.
pub fn unwrapped(thread: &mut Thread, kind: Type, object: Word) -> Result<Word, Failure> {
    let Some((class, slot)) = wrapper(kind) else { return Ok(object) };
    let wrong = Failure::argument(object);
    let wrapping = object.as_object().ok_or(wrong)?;
    let behavior = thread.vm.behavior_of_layout(wrapping.layout()).ok_or(wrong)?;
    let is_library = behavior.definition.module.bytecode.is_image();
    if !is_library || behavior.name() != class {
        return Err(wrong);
    }
    let slot = behavior.slot_named(thread.vm.symbol(slot)).ok_or(wrong)?;
    let inner = wrapping.slot(slot);
    let held = inner.as_object().ok_or(wrong)?;
    if let Shape::Channel(element) | Shape::Reader(element) | Shape::Writer(element) = kind.shape()
    {
        if held.layout() != known::CHANNEL {
            return Err(wrong);
        }
        if !element.is_boxable() {
            return Err(channels::not_for_objects(thread, *element)?);
        }
        if !channels::takes_type(thread, held, *element) {
            return Err(other_type(thread, object, *element)?);
        }
    }
    Ok(inner)
}

/// The channel of an object carries another type already, or a type without objects.
fn other_type(thread: &mut Thread, object: Word, wanted: Type) -> Result<Failure, Failure> {
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(object);
    let wanted = make_string(thread, &format!("a channel of {}", wanted.text()));
    let object = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    Ok(Failure::with(FailureReason::WrongChannel, object, wanted?))
}
