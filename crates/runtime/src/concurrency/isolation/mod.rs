//! Isolation: wraps a reference that goes from one vat to another. Sends, promises and channels call it.
//!
//! | object | arrives as |
//! |---|---|
//! | a value | the same object, unless it leaves a sandbox and may not: see [`leaving`] |
//! | a far reference to an object of the destination vat | that object |
//! | any other far reference | the same |
//! | a promise, or a group of promises | a promise of the other vat, which follows it |
//! | a transfer object or array, if its class is a value by now, and may leave | a copy, see `transfer` |
//! | anything else | a far reference to it |
//!
//! A sandbox cannot hold up others by a message: one message or answer takes at most [`LARGEST`] units of work on the way
//! out of a vat of a sandbox, since the strand does not poll meanwhile. Whoever begins such a message calls [`begin`].
//!
//! Only an object's own vat may read its mutable parts. So a transfer object is wrapped by its own vat; all other
//! objects may be wrapped anywhere.

pub mod leaving;
mod transfer;

use squall_heap::{Object, Word};

use crate::concurrency::promises;
use crate::concurrency::values;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, FailureReason};
use crate::model::types::Type;
use crate::objects::classes;
use crate::objects::far_reference::{far_reference, slots, target_of, vat_of};
use crate::objects::typed::boxing;
use crate::state::effort::{Effort, FOR_AN_OBJECT, LARGEST};
use crate::state::thread::{Thread, allocated};
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// How a word goes to another vat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Passage {
    /// As it is.
    Same,
    /// The target of a far reference, or the word itself.
    Far,
    /// As a promise that follows it.
    Promise,
    /// As a copy; or as a far reference, as long as the initializer of an object around its class runs.
    Copy,
    /// As a far reference.
    Reference,
}

/// The word in the form in which the other vat may have it. Both vats are reachable from roots. If an object is to be
/// copied, the thread runs the first vat. *GC point.*
pub fn wrap(thread: &mut Thread, word: Word, from: VatRef, to: VatRef) -> Result<Word, Failure> {
    let Some(object) = word.as_object() else { return Ok(word) };
    match passage(thread, object) {
        Passage::Same if leaving::leaves(from, to) => {
            match leaving::may_leave_for(thread.vm, word, |words| pay(thread, from, words))? {
                true => Ok(word),
                false => refer(thread, word, from),
            }
        }
        Passage::Same => Ok(word),
        _ if from == to => Ok(word),
        Passage::Far if vat_of(object) == to => Ok(target_of(object)),
        Passage::Far => Ok(word),
        Passage::Promise => match promises::promise_in(thread.vm, word) {
            Some(promise) => {
                pay(thread, from, WORDS_OF_A_PROMISE)?;
                wrap_promise(thread, promise, to)
            }
            None => refer(thread, word, from),
        },
        Passage::Copy if is_copied_to(thread, object, from, to) => {
            transfer::copy(thread, object, from, to)
        }
        Passage::Copy | Passage::Reference => refer(thread, word, from),
    }
}

/// A far reference to an object of the first vat, which pays for it. *GC point.*
fn refer(thread: &mut Thread, word: Word, from: VatRef) -> Result<Word, Failure> {
    pay(thread, from, WORDS_OF_A_FAR_REFERENCE)?;
    make_far_reference(thread, word, from)
}

/// The words that a far reference takes.
const WORDS_OF_A_FAR_REFERENCE: usize = 4;

/// The words that a promise takes which follows another one, with the reaction.
const WORDS_OF_A_PROMISE: usize = 16;

/// A message or an answer of the thread begins, whose words will be wrapped.
pub fn begin(thread: &mut Thread) {
    thread.metering.passed = 0;
}

/// A vat passes an object with so many words on. A vat of a sandbox pays for it, unless the message is too large.
fn pay(thread: &mut Thread, from: VatRef, words: usize) -> Result<(), Failure> {
    let Some(sandbox) = from.sandbox() else { return Ok(()) };
    let units = words.saturating_add(FOR_AN_OBJECT);
    if units > LARGEST {
        return Err(Failure::new(FailureReason::MessageTooLarge));
    }
    match thread.sandbox.is_some() {
        true => thread.charge(units),
        // The strand that answers is over.
        false => sandbox.take_fuel(units),
    }
    thread.metering.passed += units;
    match thread.metering.passed <= LARGEST {
        true => Ok(()),
        false => Err(Failure::new(FailureReason::MessageTooLarge)),
    }
}

/// Whether a value may leave a sandbox through a channel, which carries none that is larger than a message. A strand of a
/// sandbox pays for the look.
pub fn may_leave_at_once(thread: &mut Thread, word: Word) -> bool {
    may_leave_within(thread, |vm, effort| {
        leaving::may_leave_for(vm, word, |words| effort.add(FOR_AN_OBJECT + words)) == Ok(true)
    })
}

/// The same for a value of typed code, of which an object is made outside.
pub fn may_leave_typed(thread: &mut Thread, kind: Type, value: Word) -> bool {
    may_leave_within(thread, |_, effort| boxing::add_effort_of(effort, kind, value).is_ok())
}

/// Looks whether something may leave, with the limit of a message, even if the strand is in no sandbox.
fn may_leave_within(thread: &mut Thread, look: impl FnOnce(&Vm, &mut Effort) -> bool) -> bool {
    let mut effort = Effort::with_limit(LARGEST);
    let may_leave = look(thread.vm, &mut effort);
    thread.charge(effort.units());
    may_leave
}

/// The exception that breaks the promise for a message or an answer that could not be wrapped.
pub fn prepared_error(vm: &Vm, failure: &Failure) -> Word {
    match failure.reason {
        FailureReason::MessageTooLarge => vm.roots.message_too_large.get(),
        _ => vm.roots.out_of_memory.get(),
    }
}

/// Whether this may go to other vats as a copy, which only its own vat may make.
pub fn is_copied(thread: &mut Thread, word: Word) -> bool {
    word.as_object().is_some_and(|object| passage(thread, object) == Passage::Copy)
}

/// Whether the class of a transfer object is a value by now: if not, neither the object nor the objects it leads to are
/// copied.
fn has_shared_class(thread: &mut Thread, object: Object) -> bool {
    values::is_value(thread, object.class())
}

/// Whether a transfer object goes as a copy: its class is known on the other side, and may leave.
fn is_copied_to(thread: &mut Thread, object: Object, from: VatRef, to: VatRef) -> bool {
    has_shared_class(thread, object)
        && (!leaving::leaves(from, to) || leaving::may_leave(thread.vm, object.class()))
}

fn passage(thread: &mut Thread, object: Object) -> Passage {
    let vm = thread.vm;
    match object.layout() {
        known::STRING | known::SYMBOL | known::LARGE_INTEGER | known::BOXED_DOUBLE => Passage::Same,
        known::FAR_REFERENCE => Passage::Far,
        known::PROMISE => Passage::Promise,
        known::ARRAY | known::BLOCK => Passage::Reference,
        known::TRANSFER_ARRAY => Passage::Copy,
        _ if object.has_flag(values::SHARED) => Passage::Same,
        _ if classes::is_transfer(vm, object) => Passage::Copy,
        _ if values::is_value(thread, object.word()) => Passage::Same,
        _ if promises::promise_in(vm, object.word()).is_some() => Passage::Promise,
        _ => Passage::Reference,
    }
}

/// The form of an argument in a message that is sent now to a receiver that is not known yet: transfer objects are
/// copied within their vat, so that the message does not change. *GC point.*
pub fn snapshot(thread: &mut Thread, word: Word, vat: VatRef) -> Result<Word, Failure> {
    match word.as_object() {
        Some(object)
            if passage(thread, object) == Passage::Copy && has_shared_class(thread, object) =>
        {
            transfer::copy(thread, object, vat, vat)
        }
        _ => Ok(word),
    }
}

/// Makes a far reference to an object of a vat, which must be reachable from a root. *GC point.*
pub fn make_far_reference(thread: &mut Thread, target: Word, vat: VatRef) -> Result<Word, Failure> {
    let class = thread.vm.known_class(KnownClass::FarReference);
    let mut scope = thread.mutator.scope();
    let target = scope.root(target);
    let far = allocated(scope.allocate_slots(known::FAR_REFERENCE, class))?;
    far.initialize_slot(slots::VAT, vat.object.get());
    far.initialize_slot(slots::TARGET, scope.get(target));
    Ok(far.word())
}

/// Whether two words stand for the same object; boxed numbers have no identity but their value, far
/// references none but that of their target.
pub fn identical(left: Word, right: Word) -> bool {
    if left == right {
        return true;
    }
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else {
        return false;
    };
    match left.layout() {
        layout if layout != right.layout() => false,
        known::BOXED_DOUBLE => left.raw(0) == right.raw(0),
        known::LARGE_INTEGER => {
            left.length() == right.length()
                && (0..left.length()).all(|index| left.byte(index) == right.byte(index))
        }
        known::FAR_REFERENCE => same_target(left, right),
        _ => false,
    }
}

/// Whether two far references lead to the same object.
pub fn same_target(mut left: Object, mut right: Object) -> bool {
    loop {
        if left.slot(slots::VAT) != right.slot(slots::VAT) {
            return false;
        }
        let (left_target, right_target) = (target_of(left), target_of(right));
        // An actor can be made of a far reference.
        match (far_reference(left_target), far_reference(right_target)) {
            (Some(l), Some(r)) => (left, right) = (l, r),
            _ => return identical(left_target, right_target),
        }
    }
}

fn wrap_promise(thread: &mut Thread, promise: Object, to: VatRef) -> Result<Word, Failure> {
    let depth = thread.mutator.root_depth();
    let original = thread.mutator.push_root(promise.word());
    let made = promises::make(thread, to, promise.slot(promises::slots::ORIGIN));
    let result = made.map(|made| {
        let kept = thread.mutator.push_root(made.word());
        let original = thread.mutator.get(original).object();
        // A promise that is settled already has its outcome wrapped here and now, which belongs to this message.
        let passed = std::mem::take(&mut thread.metering.passed);
        // The thread may run either vat: nothing of the other one is copied.
        promises::follow(thread, to, made, original);
        thread.metering.passed += passed;
        thread.mutator.get(kept)
    });
    thread.mutator.truncate_roots(depth);
    result
}
