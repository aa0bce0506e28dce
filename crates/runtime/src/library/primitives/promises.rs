//! Actors and promises: the primitives for them. `lib/Actors.ns`, `lib/Kernel.ns` and `lib/Http.ns` call them.

use squall_heap::{Object, Word};

use super::answer;
use super::strands::duration_argument;
use crate::concurrency::early_actors::{self, Held};
use crate::concurrency::isolation::{leaving, make_far_reference};
use crate::concurrency::messages;
use crate::concurrency::native_threads::home_argument;
use crate::concurrency::promises;
use crate::concurrency::sandbox::{backlog, metering};
use crate::concurrency::timers;
use crate::concurrency::transactions::effects;
use crate::concurrency::values::{self, Gift};
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::block;
use crate::objects::far_reference::{self, far_reference};
use crate::objects::rights::{self, Kind};
use crate::state::affinity::Home;
use crate::state::sandbox::SandboxRef;
use crate::state::thread::{Thread, Window};
use crate::state::transactions::effects::Settling;
use crate::state::vat;

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::effect("createActor:", |thread, window| {
        answer(create_actor(thread, window, None, Home::ANYWHERE))
    }),
    Primitive::effect("createActor:on:", |thread, window| {
        let home = home_argument(thread, window.get(1));
        answer(home.and_then(|home| create_actor(thread, window, None, home)))
    }),
    Primitive::effect("createActor:mailbox:", |thread, window| {
        let capacity = window.get(1);
        answer(match capacity.as_small_integer() {
            room @ Some(1..) => create_actor(thread, window, room, Home::ANYWHERE),
            _ => Err(Failure::argument(capacity)),
        })
    }),
    Primitive::ordinary("newPromise", |thread, _| answer(new_promise(thread))),
    Primitive::ordinary("newResolution", |thread, _| {
        answer(
            new_promise(thread)
                .and_then(|promise| rights::make_with(thread, Kind::Settling, 0, promise)),
        )
    }),
    Primitive::ordinary("promiseOf:", |thread, window| {
        answer(rights::subject(thread, window.get(0), Kind::Settling))
    }),
    Primitive::ordinary("resolution:resolve:", |thread, window| {
        answer(settle_by_right(thread, window, promises::resolve))
    }),
    Primitive::ordinary("resolution:error:", |thread, window| {
        answer(settle_by_right(thread, window, promises::break_with))
    }),
    Primitive::ordinary("isPromise:", |thread, window| {
        Outcome::Return(promises::promise_in(thread.vm, window.get(0)).is_some().into())
    }),
    Primitive::ordinary("promise:awaits:", |thread, window| {
        let other = promises::promise_in(thread.vm, window.get(1));
        if let (Some(promise), Some(other)) =
            (promises::promise_in(thread.vm, window.get(0)), other)
        {
            promises::note_awaited(thread, promise, other);
        }
        Outcome::Return(Word::NIL)
    }),
    Primitive::effect("promise:whenResolved:", |thread, window| {
        react(thread, window, window.get(1), Word::NIL)
    }),
    Primitive::effect("promise:onError:", |thread, window| {
        react(thread, window, Word::NIL, window.get(1))
    }),
    Primitive::effect("promise:whenResolved:onError:", |thread, window| {
        react(thread, window, window.get(1), window.get(2))
    }),
    Primitive::effect("promise:ensure:", |thread, window| {
        react(thread, window, window.get(1), window.get(1))
    }),
    Primitive::ordinary("promise:resolve:", |thread, window| {
        answer(settle(thread, window, promises::resolve))
    }),
    Primitive::ordinary("promise:error:", |thread, window| {
        answer(settle(thread, window, promises::break_with))
    }),
    Primitive::effect("after:do:", |thread, window| match do_after(thread, window) {
        Ok(outcome) => outcome,
        Err(failure) => failure.into(),
    }),
];

/// Makes an actor whose mailbox has room for this many messages, or for any number without one, and whose turns have
/// this home. *GC point.*
fn create_actor(
    thread: &mut Thread,
    window: Window,
    capacity: Option<i64>,
    home: Home,
) -> Result<Word, Failure> {
    let value = window.get(0);
    let gift = values::give_away(thread, value);
    if matches!(gift, Gift::Refused) {
        return Err(Failure::with(FailureReason::NotAValue, thread.class_of(value), Word::NIL));
    }
    let vat = vat::make(thread)?;
    vat.set_home(home);
    if let Gift::Early(key) = gift {
        early_actors::hold(thread, key, Held::Vat(vat));
    }
    let room = capacity.map_or(Word::NIL, Word::from_small_integer_unchecked);
    vat.object().initialize_slot(vat::slots::ROOM, room);
    let depth = thread.mutator.root_depth();
    vat::keep(thread, vat);
    let far = make_far_reference(thread, window.get(0), vat);
    thread.mutator.truncate_roots(depth);
    far
}

/// Makes an actor of a value in a sandbox. *GC point.*
pub(super) fn create_actor_in(
    thread: &mut Thread,
    value: Word,
    sandbox: SandboxRef,
) -> Result<Word, Failure> {
    let gift = values::give_away(thread, value);
    if matches!(gift, Gift::Refused) {
        return Err(Failure::with(FailureReason::NotAValue, thread.class_of(value), Word::NIL));
    }
    let depth = thread.mutator.root_depth();
    let value = thread.mutator.push_root(value);
    let far = vat::make(thread).and_then(|vat| {
        vat.enter_sandbox(sandbox);
        if let Gift::Early(key) = gift {
            early_actors::hold(thread, key, Held::Vat(vat));
        }
        vat::keep(thread, vat);
        let value = thread.mutator.get(value);
        make_far_reference(thread, value, vat)
    });
    thread.mutator.truncate_roots(depth);
    far
}

fn new_promise(thread: &mut Thread) -> Result<Word, Failure> {
    let here = vat::current(thread)?;
    let origin = promises::caller_origin(thread);
    promises::make(thread, here, origin).map(Object::word)
}

fn react(thread: &mut Thread, window: Window, resolved: Word, broken: Word) -> Outcome {
    let mut callbacks = [resolved, broken];
    let depth = thread.mutator.root_depth();
    let kept = callbacks.map(|callback| thread.mutator.push_root(callback));
    let here = vat::current(thread);
    callbacks = kept.map(|callback| thread.mutator.get(callback));
    thread.mutator.truncate_roots(depth);
    let [resolved, broken] = callbacks;
    answer(here.and_then(|here| promises::add_callbacks(thread, here, window, resolved, broken)))
}

/// Settles the promise of a right. The window's first word becomes the promise. *GC point.*
fn settle_by_right(thread: &mut Thread, window: Window, how: Settling) -> Result<Word, Failure> {
    let promise = rights::subject(thread, window.get(0), Kind::Settling)?;
    window.set(0, promise);
    settle(thread, window, how)
}

fn settle(thread: &mut Thread, window: Window, how: Settling) -> Result<Word, Failure> {
    let here = vat::current(thread)?;
    let promise = window.get(0).as_object().filter(|object| object.layout() == known::PROMISE);
    let promise = promise.ok_or(Failure::argument(window.get(0)))?;
    effects::make_room(thread, 2, 0)?;
    if let Some(effects) = effects::pending(thread) {
        effects.settle(how, window.get(0), window.get(1));
        return Ok(Word::NIL);
    }
    how(thread, here, promise, window.get(1));
    Ok(Word::NIL)
}

/// Posts a message that evaluates a closure: to this vat, or to that of a far reference. If it leaves a sandbox of which many messages
/// are under way, the strand waits, as behind a send. *GC point.*
fn do_after(thread: &mut Thread, window: Window) -> Result<Outcome, Failure> {
    let delay = duration_argument(window.get(0))?;
    metering::count_message(thread)?;
    let here = vat::current(thread)?;
    let vm = thread.vm;
    let value = vm.name_word(thread, vm.symbol("value"))?;
    // SAFETY: the words from the second on are part of the window.
    let receiver = unsafe { Window::new(window.start().add(1), 1) };
    // Until it is due, it counts as the sandbox's.
    let sender = thread.sandbox.map_or(Word::NIL, SandboxRef::object);
    let message = messages::make(thread, value, sender, receiver)?;
    let receiver = message.element(messages::RECEIVER);
    let far = far_reference(receiver);
    let object = far.map_or(receiver, far_reference::target_of);
    if block::closure(object).is_some() {
        message.set_element(&mut thread.mutator, messages::KIND, Word::NIL);
    }
    message.set_element(&mut thread.mutator, messages::RECEIVER, object);
    let target = far.map_or(here, far_reference::vat_of);
    let sandbox = here.sandbox().filter(|_| leaving::leaves(here, target));
    if let Some(sandbox) = sandbox {
        sandbox.begin_sending();
        backlog::add(thread, sandbox, target, message);
    }
    timers::post_after(thread, delay, target, message);
    let sandbox = sandbox.filter(|_| thread.transaction.is_none());
    let Some(sandbox) = sandbox else { return Ok(Outcome::Return(Word::NIL)) };
    let depth = thread.mutator.root_depth();
    let answer = thread.mutator.push_root(Word::NIL);
    let waits = backlog::wait_if_crowded(thread, sandbox, answer);
    thread.mutator.truncate_roots(depth);
    Ok(waits?.unwrap_or(Outcome::Return(Word::NIL)))
}
