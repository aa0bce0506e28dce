//! Eventual sends: posts a message to the receiver's vat, or adds it to a promise's reactions. Tiers and primitives
//! call this module.

use squall_heap::{Object, RootHandle, Word};

use super::{
    BREAK, RESOLVE, State, add_reaction, make, origins, settle_result, settling, slots, state,
};
use crate::concurrency::isolation;
use crate::concurrency::messages;
use crate::concurrency::sandbox::{backlog, metering};
use crate::concurrency::transactions::effects;
use crate::concurrency::waiting;
use crate::model::function::Site;
use crate::model::known;
use crate::model::outcome::{Failure, Outcome};
use crate::objects::far_reference::{self, far_reference};
use crate::state::recording;
use crate::state::replays::Sending;
use crate::state::strand::Ending;
use crate::state::thread::{Thread, Window};
use crate::state::vat::{self, VatRef};

/// Sends a message to be processed in a later turn; answers a promise for the result, or nil, perhaps
/// after waiting for room in the receiver's mailbox. The window has receiver and arguments, and is a
/// root. *GC point.*
pub fn send_eventually(
    thread: &mut Thread,
    site: &'static Site,
    window: Window,
    wants_result: bool,
) -> Result<Outcome, Failure> {
    metering::count_message(thread)?;
    isolation::begin(thread);
    let here = vat::current(thread)?;
    if thread.transaction.is_some() {
        return defer(thread, here, site, window, wants_result);
    }
    let target = address(thread, here, window)?;
    let depth = thread.mutator.root_depth();
    // The far reference that kept it is not in the window any more.
    target.into_iter().for_each(|target| vat::keep(thread, target));
    let sent = send_to(thread, (here, target), site, window, wants_result);
    thread.mutator.truncate_roots(depth);
    sent
}

/// Sends the message in the window without a result, if nothing but a place in the receiver's mailbox is needed for that;
/// whether it did. *No GC point.*
#[inline]
pub fn send_plainly(thread: &mut Thread, site: &'static Site, window: Window) -> bool {
    let Some(far) = far_reference(window.get(0)) else { return false };
    let needs_copies = (1..window.len()).any(|index| window.get(index).is_pointer());
    let target = far_reference::vat_of(far);
    if needs_copies
        || target.is_bounded()
        || thread.sandbox.is_some()
        || thread.transaction.is_some()
    {
        return false;
    }
    let kind = messages::site_kind(site);
    let Some(message) = messages::make_if_room(thread, kind, Word::NIL, window) else {
        return false;
    };
    message.initialize_element(messages::RECEIVER, far_reference::target_of(far));
    target.post(thread, message);
    thread.made_work();
    true
}

/// Sends the message in the window, which is addressed; the roots that it leaves are the caller's to drop. *GC point.*
fn send_to(
    thread: &mut Thread,
    (here, target): (VatRef, Option<VatRef>),
    site: &'static Site,
    window: Window,
    wants_result: bool,
) -> Result<Outcome, Failure> {
    let result = match wants_result {
        true => make(thread, here, origins::origin_of(Some(site)))?.word(),
        false => Word::NIL,
    };
    let kept = thread.mutator.push_root(result);
    make_and_post(thread, (here, target), site, result, window)?;
    let target = target.or_else(|| vat_behind(window.get(0)));
    // A sandbox must not stop a sender outside of it. The messages that it does not take count as its memory.
    let waits = |target: &VatRef| {
        *target != here && target.is_bounded() && !isolation::leaving::leaves(*target, here)
    };
    let target = target.filter(waits);
    if thread.repeats()
        && let Some(outcome) = go_on_by_tape(thread, target, kept)
    {
        return Ok(outcome);
    }
    if let Some(sandbox) = here.sandbox()
        && let Some(outcome) = backlog::wait_if_crowded(thread, sandbox, kept)?
    {
        return Ok(outcome);
    }
    let waiter = target.map(|_| waiting::own_waiter(thread)).transpose()?;
    let result = thread.mutator.get(kept);
    Ok(match (target, waiter) {
        (Some(target), Some(waiter)) => target.wait_for_room(thread, waiter, result),
        _ => Outcome::Return(result),
    })
}

/// In a replay: how the strand goes on that has sent a message, if the recording tells. The receiver may be a promise, which is
/// resolved earlier or later than in the recording. The root is the value of the send. *No GC point.*
#[cold]
fn go_on_by_tape(
    thread: &mut Thread,
    target: Option<VatRef>,
    value: RootHandle,
) -> Option<Outcome> {
    let value = thread.mutator.get(value);
    match thread.sends_by_tape() {
        Sending::ByRoom => None,
        Sending::GoesOn => Some(Outcome::Return(value)),
        Sending::Waits => {
            let strand = thread.strand();
            let ticket = waiting::park(thread, target.map_or(Word::NIL, |it| it.object().word()));
            thread.wait_for_room_by_tape(strand, ticket, value);
            Some(Outcome::Park)
        }
    }
}

/// Wraps the arguments in the window for the vat of their receiver. If the receiver is a far reference, puts its target
/// in its place. Answers the vat. *GC point.*
fn address(thread: &mut Thread, here: VatRef, window: Window) -> Result<Option<VatRef>, Failure> {
    let target = receiver_vat(window.get(0));
    if let Some(target) = target {
        for index in 1..window.len() {
            let word = window.get(index);
            if word.is_pointer() {
                window.set(index, isolation::wrap(thread, word, here, target)?);
            }
        }
        window.set(0, far_reference::target_of(window.get(0).object()));
    } else if waits(window.get(0)) {
        take_snapshots(thread, here, window)?;
    }
    Ok(target)
}

/// Whether a message to this receiver waits for a promise.
fn waits(receiver: Word) -> bool {
    let promise = receiver.as_object().filter(|object| object.layout() == known::PROMISE);
    promise.is_some_and(|promise| matches!(state(promise), State::Unresolved | State::Decided))
}

/// Copies those arguments in the window that would be copied on the way to another vat: the message is sent now. *GC point.*
fn take_snapshots(thread: &mut Thread, here: VatRef, window: Window) -> Result<(), Failure> {
    for index in 1..window.len() {
        let word = window.get(index);
        if word.is_pointer() {
            window.set(index, isolation::snapshot(thread, word, here)?);
        }
    }
    Ok(())
}

/// Posts the message in the window, from the first vat to the second, to which it was [addressed](address),
/// or to wherever its receiver is. The caller keeps that vat. *GC point.*
fn make_and_post(
    thread: &mut Thread,
    (here, target): (VatRef, Option<VatRef>),
    site: &'static Site,
    result: Word,
    window: Window,
) -> Result<(), Failure> {
    let message = messages::make(thread, messages::site_kind(site), result, window)?;
    if thread.watch.is_on {
        tell_of_deferred(thread, site, target, message);
    }
    match target {
        Some(target) => post_to(thread, here, target, message),
        None => post(thread, here, message),
    }
    thread.made_work();
    Ok(())
}

/// Tells a debugger of a message without a result that waits for its receiver.
#[cold]
fn tell_of_deferred(thread: &Thread, site: &'static Site, target: Option<VatRef>, message: Object) {
    let is_deferred = target.is_none() && waits(message.element(messages::RECEIVER));
    let has_result = message.element(messages::RESULT) != Word::NIL;
    if let Some(debugger) = thread.vm.debugging.debugger().filter(|_| is_deferred && !has_result) {
        debugger.message_deferred(thread, recording::number_of_site(Some(site)));
    }
}

/// Leaves a message to the transaction that runs, which sends it when it commits. *GC point.*
fn defer(
    thread: &mut Thread,
    here: VatRef,
    site: &'static Site,
    window: Window,
    wants_result: bool,
) -> Result<Outcome, Failure> {
    let receiver = window.get(0);
    let is_elsewhere = receiver_vat(receiver).or_else(|| vat_behind(receiver)).is_some();
    if is_elsewhere || waits(receiver) {
        take_snapshots(thread, here, window)?;
    }
    let result = match wants_result {
        true => make(thread, here, origins::origin_of(Some(site)))?.word(),
        false => Word::NIL,
    };
    effects::make_room(thread, window.len() + 1, 0)?;
    if let Some(effects) = effects::pending(thread) {
        effects.send(site, result, window.words());
    }
    Ok(Outcome::Return(result))
}

/// Sends the message that the transaction which has committed has left; the result is the first word of the
/// thread's message, and the window has the others. *GC point.*
pub fn send_deferred(thread: &mut Thread, site: &'static Site, window: Window) {
    // A strand that was in a transaction has a vat.
    let Ok(here) = vat::current(thread) else { return };
    isolation::begin(thread);
    let depth = thread.mutator.root_depth();
    let sent = address(thread, here, window).and_then(|target| {
        target.into_iter().for_each(|target| vat::keep(thread, target));
        let result = thread.message[0];
        make_and_post(thread, (here, target), site, result, window)
    });
    thread.mutator.truncate_roots(depth);
    if let Err(failure) = sent {
        let (error, result) = (isolation::prepared_error(thread.vm, &failure), thread.message[0]);
        settle_result(thread, Some(here), result, Ending::Failed, error);
    }
}

/// The vat that a far reference leads to.
fn receiver_vat(receiver: Word) -> Option<VatRef> {
    far_reference(receiver).map(far_reference::vat_of)
}

/// The vat that a promise leads to which is resolved with a far reference.
fn vat_behind(receiver: Word) -> Option<VatRef> {
    let promise = receiver.as_object().filter(|object| object.layout() == known::PROMISE)?;
    let is_resolved = state(promise) == State::Resolved;
    is_resolved.then(|| receiver_vat(promise.slot(slots::OUTCOME))).flatten()
}

/// Posts a new message, whose arguments are wrapped already. *GC point.*
fn post(thread: &mut Thread, here: VatRef, message: Object) {
    let Some(receiver) = message.element(messages::RECEIVER).as_object() else {
        return here.post(thread, message);
    };
    match receiver.layout() {
        known::FAR_REFERENCE => {
            let target = far_reference::vat_of(receiver);
            let object = far_reference::target_of(receiver);
            message.set_element(&mut thread.mutator, messages::RECEIVER, object);
            post_to(thread, here, target, message);
        }
        known::PROMISE => {
            message.set_element(&mut thread.mutator, messages::RECEIVER, Word::NIL);
            add_reaction(thread, here, receiver, message);
        }
        _ => here.post(thread, message),
    }
}

/// Posts a message of the first vat to the second one. If it leaves a sandbox, it says so.
fn post_to(thread: &mut Thread, here: VatRef, target: VatRef, message: Object) {
    if let Some(sandbox) = here.sandbox()
        && isolation::leaving::leaves(here, target)
    {
        sandbox.begin_sending();
        backlog::add(thread, sandbox, target, message);
        if message.element(messages::RESULT) == Word::NIL {
            message.set_element(&mut thread.mutator, messages::RESULT, sandbox.object());
        }
    }
    target.post(thread, message);
}

/// Sends a message of a vat on to its receiver, which may be a far reference. *GC point.*
pub(super) fn deliver(thread: &mut Thread, here: VatRef, vat: VatRef, message: Object) {
    match receiver_vat(message.element(messages::RECEIVER)) {
        // Only the vat itself can copy arguments.
        Some(target) if here == vat || !has_copies(thread, message) => {
            forward(thread, vat, target, message);
        }
        _ => vat.post(thread, message),
    }
}

/// Whether a message has arguments that are copied on the way to another vat.
pub(super) fn has_copies(thread: &mut Thread, message: Object) -> bool {
    let mut arguments = messages::RECEIVER + 1..message.length();
    arguments.any(|index| isolation::is_copied(thread, message.element(index)))
}

/// Wraps the arguments of a message for the vat of its receiver, a far reference, and posts it there.
/// *GC point.*
fn forward(thread: &mut Thread, here: VatRef, target: VatRef, message: Object) {
    let depth = thread.mutator.root_depth();
    let kept = thread.mutator.push_root(message.word());
    for index in messages::RECEIVER + 1..message.length() {
        let word = thread.mutator.get(kept).object().element(index);
        if !word.is_pointer() {
            continue;
        }
        let wrapped = isolation::wrap(thread, word, here, target);
        let message = thread.mutator.get(kept).object();
        match wrapped {
            Ok(word) => message.set_element(&mut thread.mutator, index, word),
            Err(failure) => {
                thread.mutator.truncate_roots(depth);
                let error = isolation::prepared_error(thread.vm, &failure);
                let result = message.element(messages::RESULT);
                return settle_result(thread, Some(here), result, Ending::Failed, error);
            }
        }
    }
    let message = thread.mutator.get(kept).object();
    thread.mutator.truncate_roots(depth);
    post(thread, here, message);
}

/// Sees to a message from the mailbox of a vat if it needs no turn, which is a GC point; otherwise answers it.
pub fn attend(thread: &mut Thread, here: VatRef, message: Object) -> Option<Object> {
    let kind = message.element(messages::KIND);
    let receiver = message.element(messages::RECEIVER);
    if kind == RESOLVE || kind == BREAK {
        let promise = message.element(messages::RESULT).object();
        settling::settle_decided(thread, here, promise, kind, receiver);
        return None;
    }
    match receiver_vat(receiver) {
        Some(target) if kind != Word::NIL => {
            isolation::begin(thread);
            forward(thread, here, target, message);
            None
        }
        _ => Some(message),
    }
}
