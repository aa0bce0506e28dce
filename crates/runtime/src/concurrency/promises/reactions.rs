//! Reactions: adds them to a promise, and makes messages of them when the promise is settled. Sends add reactions, and
//! [`super::settling`] runs them.

use squall_heap::{Object, RootHandle, Word};

use super::{ARGUMENT, BREAK, RESOLVE, State, make, origins, owner, promise_in, sends, settling};
use super::{slots, state};
use crate::concurrency::messages;
use crate::concurrency::waiting;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::objects::{block, string};
use crate::state::thread::{Thread, Window, allocated};
use crate::state::vat::{self, VatRef};

/// Adds callbacks to the promise in the window's first word: for an object the second word, for an error the third one,
/// if they are not nil. Answers a promise for the callback's answer. *GC point.*
pub fn add_callbacks(
    thread: &mut Thread,
    here: VatRef,
    window: Window,
    resolved: Word,
    broken: Word,
) -> Result<Word, Failure> {
    let depth = thread.mutator.root_depth();
    let callbacks = [resolved, broken].map(|callback| thread.mutator.push_root(callback));
    let result = add_rooted_callbacks(thread, here, window, callbacks);
    thread.mutator.truncate_roots(depth);
    result
}

fn add_rooted_callbacks(
    thread: &mut Thread,
    here: VatRef,
    window: Window,
    [resolved, broken]: [RootHandle; 2],
) -> Result<Word, Failure> {
    let vm = thread.vm;
    if [resolved, broken].iter().any(|&callback| is_other(thread.mutator.get(callback))) {
        // So that it exists when the promise is settled, which allocates nothing.
        vm.name_word(thread, vm.symbol(EVALUATE))?;
    }
    let promise = promise_in(vm, window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    let origin = origins::origin_of(thread.call_site);
    let result = make(thread, owner(promise), origin)?;
    let result = thread.mutator.push_root(result.word());
    let class = vm.known_class(KnownClass::Array);
    let reaction =
        allocated(thread.mutator.allocate_array(known::MESSAGE, class, ARGUMENT + 1, Word::NIL))?;
    reaction.initialize_element(messages::RESULT, thread.mutator.get(result));
    reaction.initialize_element(messages::RECEIVER, thread.mutator.get(resolved));
    reaction.initialize_element(ARGUMENT, thread.mutator.get(broken));
    let promise = promise_in(vm, window.get(0)).ok_or(Failure::argument(window.get(0)))?;
    add_reaction(thread, here, promise, reaction);
    Ok(thread.mutator.get(result))
}

/// Whether a callback is neither a closure nor nil.
fn is_other(callback: Word) -> bool {
    callback != Word::NIL && block::closure(callback).is_none()
}

/// The message to objects that are no closures, in place of an evaluation.
const EVALUATE: &str = "cull:";

/// Adds a reaction to a promise; if that is settled, the reaction is due at once. *GC point.*
pub fn add_reaction(thread: &mut Thread, here: VatRef, promise: Object, reaction: Object) {
    if thread.watch.is_on && reaction.element(messages::KIND) != RESOLVE {
        _ = thread.number_message(reaction);
    }
    waiting::lock(&mut thread.mutator, promise);
    let state = state(promise);
    if matches!(state, State::Unresolved | State::Decided) {
        match promise.slot(slots::LAST).as_object() {
            Some(last) => last.set_element(&mut thread.mutator, vat::NEXT, reaction.word()),
            None => promise.set_slot(&mut thread.mutator, slots::FIRST, reaction.word()),
        }
        promise.set_slot(&mut thread.mutator, slots::LAST, reaction.word());
        // The result is not settled before the reaction is due, so its slot is still free; see `unsettled`.
        if let Some(result) = reaction.element(messages::RESULT).as_object() {
            result.set_slot(&mut thread.mutator, slots::OUTCOME, promise.word());
        }
        return waiting::unlock(&mut thread.mutator, promise);
    }
    if state == State::Broken {
        origins::forget(thread.vm, promise);
    }
    waiting::unlock(&mut thread.mutator, promise);
    if reaction.element(messages::KIND) == RESOLVE {
        return settling::follow_settled(thread, here, promise, reaction);
    }
    let kind = if state == State::Broken { BREAK } else { RESOLVE };
    let (owner, outcome) = (owner(promise), promise.slot(slots::OUTCOME));
    settling::tell_of_reactions(thread, promise, true);
    fire(thread, here, owner, kind, outcome, reaction);
}

/// Whether messages wait for a promise, whose lock is held, with arguments to be copied on the way to
/// another vat.
pub(super) fn have_copies(thread: &mut Thread, promise: Object) -> bool {
    let first = promise.slot(slots::FIRST).as_object();
    let mut all = std::iter::successors(first, |reaction| reaction.element(vat::NEXT).as_object());
    all.any(|reaction| sends::has_copies(thread, reaction))
}

/// Makes a reaction, which is not that of following, due: a message to the owner of the promise that
/// was settled like this. *GC point.*
pub(super) fn fire(
    thread: &mut Thread,
    here: VatRef,
    owner: VatRef,
    kind: Word,
    outcome: Word,
    reaction: Object,
) {
    if reaction.element(messages::KIND) == Word::NIL {
        fill_callback(thread, kind, outcome, reaction);
        return owner.post(thread, reaction);
    }
    if kind == RESOLVE {
        reaction.set_element(&mut thread.mutator, messages::RECEIVER, outcome);
        return sends::deliver(thread, here, owner, reaction);
    }
    if reaction.element(messages::RESULT) != Word::NIL {
        pass_on(thread, kind, outcome, reaction);
        owner.post(thread, reaction);
    }
}

/// Makes a reaction with callbacks the message that evaluates the right one.
fn fill_callback(thread: &mut Thread, kind: Word, outcome: Word, reaction: Object) {
    let index = if kind == RESOLVE { messages::RECEIVER } else { ARGUMENT };
    let callback = reaction.element(index);
    if callback == Word::NIL {
        return pass_on(thread, kind, outcome, reaction);
    }
    if is_other(callback) {
        // The symbol exists since the callback was registered.
        let symbol = thread.vm.symbol(EVALUATE);
        let selector = string::made_symbol_object(thread.vm, symbol);
        reaction.set_element(&mut thread.mutator, messages::KIND, selector);
    }
    reaction.set_element(&mut thread.mutator, messages::RECEIVER, callback);
    reaction.set_element(&mut thread.mutator, ARGUMENT, outcome);
}

/// Makes a reaction the message that settles its result with the outcome.
fn pass_on(thread: &mut Thread, kind: Word, outcome: Word, reaction: Object) {
    reaction.set_element(&mut thread.mutator, messages::KIND, kind);
    reaction.set_element(&mut thread.mutator, messages::RECEIVER, outcome);
}
