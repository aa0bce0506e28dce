//! Values: the objects that are deeply immutable, so that vats may share them. The end of an initializer checks here
//! whether an instance is a value; isolation and the primitives ask for the result.
//!
//! Objects lead to others through their slots and elements, and through their classes: methods reach the object around
//! their text, which may be that of a superclass or of a mixin. So a class leads to the object around it, its superclass
//! and its mixins, and an instance to its class.
//!
//! Instances of value classes are checked once, at the end of their initializer, and so are the instances of module
//! classes, which are values if their slots are immutable and hold values, independently of the class. There are two
//! questions:
//!
//! - Does an object *count* as a value, by its class and enclosing objects? Such objects may hold each other while
//!   their initializers run, which is why the check asks no more.
//! - *Is* it a value, so that another vat may have it now? Then its initializer has ended, and so have those of all the
//!   values it leads to: an initializer that gives away its object too early gives away a far reference.
//!
//! An actor may be made of an object that counts as a value, since modules make actors of their classes while they are
//! initialised. The objects that it leads to are given away before their check. The actor begins when the check has
//! passed ([`crate::concurrency::early_actors`]); if it fails, never.
//!
//! Invariant: [`SHARED`] is set in instances and classes of which the second answer is known to be yes, for good;
//! `CHECKED`, in those whose check has passed while something they lead to had not been checked, or
//! which were given away before it.

use std::collections::HashSet;

use smallvec::SmallVec;
use squall_bytecode::module::Side;
use squall_heap::{Flag, Format, LayoutId, Object, Word};

use crate::concurrency::early_actors::{self, EarlyKey};
use crate::concurrency::foreign;
use crate::model::behavior::Behavior;
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::classes::{behavior_of, captures, is_of_travellers, reached_from};
use crate::objects::string::make_string;
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// See the file's head.
pub const SHARED: Flag = Flag::Second;
const CHECKED: Flag = Flag::First;

/// The property that makes an object a value or not.
enum Sharing {
    /// It is one.
    Always,
    /// It is none.
    Never,
    /// A class object: it is one if all that it leads to is.
    Class,
    /// An instance of a value class or of a module's class.
    Instance(&'static Behavior),
    /// An array of values.
    Elements,
}

/// The question about objects, and the action if the answer is yes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    /// Whether they are values; they are then known to be.
    IsValue,
    /// Whether they count as values.
    Counts,
    /// Counts as a value; such objects are then given away.
    GiveAway,
}

/// Whether an object is deeply immutable, so that another vat may have it.
/// A strand of a sandbox pays for the look, which may lead far and find at the end that an initializer has not ended.
#[inline]
pub fn is_value(thread: &mut Thread, word: Word) -> bool {
    is_known_value(word) || word.as_object().is_some_and(|object| becomes_shared(thread, object))
}

/// Whether this object and all that it leads to are values; they are known to be from then on.
fn becomes_shared(thread: &mut Thread, object: Object) -> bool {
    let led_to = paid_look(thread, object, Question::IsValue);
    let objects = led_to.iter().flat_map(|it| it.instances.iter().chain(&it.classes));
    objects.for_each(|object| _ = object.set_flag(SHARED));
    led_to.is_some()
}

/// Whether an object is a value as soon as those whose initializers run now have passed their check.
#[inline]
pub fn counts_as_value(vm: &Vm, word: Word) -> bool {
    counts_as_value_by_looks(vm, word, &mut 0)
}

/// The same; counts the objects that are looked at.
#[inline]
pub fn counts_as_value_by_looks(vm: &Vm, word: Word, looked: &mut usize) -> bool {
    let counts = |object| objects_led_to(vm, object, Question::Counts, looked).is_some();
    is_known_value(word) || word.as_object().is_some_and(counts)
}

/// The result of giving away an object of which an actor is to be made.
pub enum Gift {
    /// It is no value.
    Refused,
    /// It is given away.
    Given,
    /// It is given away, although it leads to objects whose initializers have not ended.
    Early(EarlyKey),
}

/// Gives away the object for an actor or a process, if that is possible.
pub fn give_away(thread: &mut Thread, word: Word) -> Gift {
    if is_known_value(word) {
        return Gift::Given;
    }
    let vm = thread.vm;
    let Some(object) = word.as_object() else { return Gift::Refused };
    let led_to = paid_look(thread, object, Question::GiveAway);
    let Some(LedTo { instances, .. }) = led_to else { return Gift::Refused };
    let is_early = |object: &Object| is_unfinished(vm, *object);
    let early: Found<Word> = instances.iter().copied().filter(is_early).map(Object::word).collect();
    instances.into_iter().for_each(|object| _ = object.set_flag(CHECKED));
    if early.is_empty() {
        // If it is a value, one look will show that from now on.
        becomes_shared(thread, object);
        Gift::Given
    } else {
        Gift::Early(vm.concurrency().early.add(early.into_vec()))
    }
}

/// Whether the check at the end of an object's initializer is still to come.
fn is_unfinished(vm: &Vm, object: Object) -> bool {
    object.layout() != known::VALUE_ARRAY && !object.has_flag(CHECKED)
        || vm.concurrency().early.contains(object)
}

/// Whether one look shows that this is a value.
#[inline]
pub fn is_known_value(word: Word) -> bool {
    let Some(object) = word.as_object() else { return true };
    match object.layout() {
        known::STRING | known::SYMBOL | known::LARGE_INTEGER | known::BOXED_DOUBLE => true,
        known::RIGHT => true,
        known::VALUE_ARRAY => object.has_flag(SHARED),
        // Objects of other fixed layouts use the flag otherwise.
        layout => layout.number() >= known::FIRST_FREE_NUMBER && object.has_flag(SHARED),
    }
}

/// As [`objects_led_to`]; a strand of a sandbox pays for it.
fn paid_look(thread: &mut Thread, object: Object, question: Question) -> Option<LedTo> {
    let mut looked = 0;
    let led_to = objects_led_to(thread.vm, object, question, &mut looked);
    thread.charge(looked);
    led_to
}

/// Objects, not known to be values so far, that another one leads to.
#[derive(Default)]
struct LedTo {
    instances: Found<Object>,
    classes: Found<Object>,
}

/// The findings of a look at a few objects.
type Found<T> = SmallVec<[T; 8]>;

/// The objects that were looked at: mostly a few, which need no table.
#[derive(Default)]
struct Seen {
    first: Found<usize>,
    others: HashSet<usize>,
}

impl Seen {
    fn is_first_look(&mut self, object: Object) -> bool {
        let address = object.address();
        if self.first.contains(&address) {
            return false;
        }
        if self.first.len() < self.first.inline_size() {
            self.first.push(address);
            return true;
        }
        self.others.insert(address)
    }
}

/// The objects that this one leads to, itself included; `None` if one is no value, or does not count as one. Counts the words that are
/// looked at.
fn objects_led_to(
    vm: &Vm,
    object: Object,
    question: Question,
    looked: &mut usize,
) -> Option<LedTo> {
    let must_be_checked = question == Question::IsValue;
    // Most of those that are none show it themselves.
    if matches!(sharing(vm, object), Sharing::Never) {
        return None;
    }
    let mut pending = Found::new();
    pending.push(object.word());
    let mut seen = Seen::default();
    let mut led_to = LedTo::default();
    while let Some(word) = pending.pop() {
        *looked += 1;
        let Some(object) = word.as_object().filter(|_| !is_known_value(word)) else { continue };
        if !seen.is_first_look(object) {
            continue;
        }
        match sharing(vm, object) {
            Sharing::Always => {}
            Sharing::Never => return None,
            Sharing::Class => {
                led_to.classes.push(object);
                pending.extend(reached_from(object));
            }
            // What counts as a value now has done so when the array was made.
            Sharing::Elements if question == Question::Counts => {}
            Sharing::Elements => {
                // No check ever fails for these.
                led_to.instances.push(object);
                pending.extend((0..object.length()).map(|index| object.element(index)));
            }
            Sharing::Instance(_) if must_be_checked && !object.has_flag(CHECKED) => return None,
            Sharing::Instance(behavior) => {
                led_to.instances.push(object);
                pending.push(object.class());
                if must_be_checked || !behavior.is_value {
                    pending.extend(contents(behavior, object));
                }
            }
        }
    }
    Some(led_to)
}

fn sharing(vm: &Vm, object: Object) -> Sharing {
    match object.layout() {
        known::CHANNEL
        | known::SHARED_MUTEX
        | known::BARRIER
        | known::BUCKET
        | known::SANDBOX
        | known::FAR_REFERENCE => return Sharing::Always,
        known::BLOCK | known::ARRAY | known::PROMISE => return Sharing::Never,
        known::VALUE_ARRAY => return Sharing::Elements,
        known::FOREIGN if foreign::is_shared(object) => return Sharing::Always,
        known::FOREIGN => return Sharing::Never,
        _ => {}
    }
    let Some(behavior) = behavior_of(vm, object) else { return Sharing::Never };
    match behavior.side {
        // The captures of an object literal's class were checked if its instances travel.
        Side::Class if captures(object) == Word::NIL || is_of_travellers(object) => Sharing::Class,
        Side::Class => Sharing::Never,
        _ if behavior.is_value || is_immutable_module(behavior) => Sharing::Instance(behavior),
        _ => Sharing::Never,
    }
}

/// Whether instances of a module's class never change.
fn is_immutable_module(behavior: &Behavior) -> bool {
    behavior.definition.outer.is_none()
        && behavior.layout.format() == Format::Slots
        && behavior.slots.iter().all(|slot| !slot.mutable)
}

/// The contents of an instance, except its nested classes, which are values if it is one.
fn contents(behavior: &'static Behavior, object: Object) -> impl Iterator<Item = Word> {
    let is_array = behavior.layout.format() == Format::Array;
    let elements = if is_array { object.length() } else { 0 };
    let slots = behavior.slots.iter().enumerate();
    let data = slots.filter(|(_, slot)| slot.content.is_data());
    let data = data.map(move |(index, _)| object.slot(index));
    data.chain((0..elements).map(move |index| object.element(index)))
}

/// Whether the check at the end of an initializer has anything to look at.
#[inline]
pub fn must_be_checked(vm: &Vm, word: Word) -> bool {
    word.as_object().is_some_and(|object| is_checked(vm, object.layout()))
}

/// Whether the check at the end of an initializer looks at objects with this layout.
pub fn is_checked(vm: &Vm, layout: LayoutId) -> bool {
    let behavior = vm.behavior_of_layout(layout);
    behavior.is_some_and(|behavior| behavior.is_value || behavior.definition.outer.is_none())
}

/// The failure of an instance that cannot be a value: it names the slot, and the class of the object in it. *GC point.*
fn holds_no_value(thread: &mut Thread, behavior: &'static Behavior, object: Object) -> Failure {
    let text = place_of_no_value(thread.vm, behavior, object);
    let depth = thread.mutator.root_depth();
    let root = thread.mutator.push_root(object.class());
    let text = make_string(thread, &text);
    let class = thread.mutator.get(root);
    thread.mutator.truncate_roots(depth);
    match text {
        Ok(text) => Failure::with(FailureReason::HoldsNoValue, class, text),
        Err(failure) => failure,
    }
}

/// The place of the first object in an instance that is not a value.
fn place_of_no_value(vm: &Vm, behavior: &'static Behavior, object: Object) -> String {
    let class = behavior.name();
    let held_in = |word: Word| match vm.behavior_of_layout(known::layout_of(word)) {
        Some(behavior) if behavior.side == Side::Class => {
            format!("the class {}, whose module is not a value", behavior.name())
        }
        Some(behavior) => format!("an instance of {}, which is not a value", behavior.name()),
        None => "an object that is not a value".to_owned(),
    };
    for (index, slot) in behavior.slots.iter().enumerate() {
        if let Some(name) = slot.content.name()
            && !counts_as_value(vm, object.slot(index))
        {
            let name = vm.modules.symbols.text(name);
            let held = held_in(object.slot(index));
            return format!("the slot `{name}` of {class} holds {held}");
        }
    }
    if !counts_as_value(vm, object.class()) {
        return format!(
            "the object around {class}, or around one of its superclasses, is not a value"
        );
    }
    format!("an element of {class} is not a value")
}

/// The check at the end of an initializer: instances of value classes hold only values.
pub fn check(thread: &mut Thread, word: Word) -> Result<(), Failure> {
    let vm = thread.vm;
    let Some(object) = word.as_object() else { return Ok(()) };
    let Some(behavior) = behavior_of(vm, object) else { return Ok(()) };
    if behavior.side == Side::Class || !(behavior.is_value || is_immutable_module(behavior)) {
        return Ok(());
    }
    let class = object.class();
    if is_known_value(class) && contents(behavior, object).all(is_known_value) {
        if object.has_flag(CHECKED) {
            early_actors::initialized(thread, object);
        }
        _ = object.set_flag(SHARED);
        return Ok(());
    }
    let counts = |word| counts_as_value(vm, word);
    let was_given_away = object.has_flag(CHECKED);
    // The instance of a module's class need be no value, unless it was given away.
    let must_pass = behavior.is_value || was_given_away;
    if must_pass && !(counts(class) && contents(behavior, object).all(counts)) {
        return Err(match was_given_away {
            true => Failure::with(FailureReason::GivenAway, class, Word::NIL),
            false => holds_no_value(thread, behavior, object),
        });
    }
    _ = object.set_flag(CHECKED);
    _ = is_value(thread, word);
    if was_given_away {
        early_actors::initialized(thread, object);
    }
    Ok(())
}
