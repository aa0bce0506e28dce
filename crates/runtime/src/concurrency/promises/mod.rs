//! Promises: results that may come later. Eventual sends make them, and turns settle them.
//!
//! A promise belongs to a vat, its *owner*; its outcome is an object of that vat. It is settled once:
//! *resolved* with an object, or *broken* with an error. It may be decided before: then it *follows*
//! another promise, or its outcome is on the way through the owner's mailbox.
//!
//! A promise has a list of *reactions*, for the moment when it is settled. A reaction is the message that it becomes,
//! linked through the messages' own links, so settling allocates nothing:
//!
//! | kind of the message | reaction | becomes |
//! |---|---|---|
//! | nil | callbacks: the receiver for an object, the argument for an error | a turn that evaluates the closure with the outcome; without one, the outcome passes on to the result |
//! | a send site, a symbol | a message for the outcome | the message, to the outcome; an error passes on to the result |
//! | [`RESOLVE`] | the result follows the promise | the settling of the result |
//!
//! In a mailbox, [`RESOLVE`] and [`BREAK`] are the kinds of messages which settle the promise that is
//! their result with the receiver.
//!
//! Reactions become due in the order of registration; then those of the promises that follow, generation
//! by generation. The promises still to be settled are in a list, linked like the reactions, so that
//! chains of any length take constant native stack.
//!
//! Isolation. A promise may be settled from any vat: state and reactions change under the lock. But an object that is
//! copied on the way to another vat is read by its own vat only. So where the outcome of a promise, or an argument of a
//! message that waits for it, is to be copied, the promise is settled in a turn of its owner.

mod holders;
mod origins;
mod reactions;
mod sends;
mod settling;
pub mod unsettled;

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use squall_events::Kind;
use squall_heap::{Flag, Object, RootAddress, Word};

use crate::concurrency::embedding::calls;
use crate::concurrency::messages;
use crate::concurrency::waiting;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::state::recording;
use crate::state::strand::EMBEDDER;
use crate::state::strand::Ending;
use crate::state::thread::{Thread, allocated};
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

pub use origins::{Unhandled, caller_origin, origin_of, report_unhandled};
pub use reactions::{add_callbacks, add_reaction};
pub use sends::{attend, send_deferred, send_eventually, send_plainly};
pub use settling::{break_with, follow, resolve};

/// The slots of a promise.
pub mod slots {
    /// The lock for all the others, see [`crate::concurrency::waiting::lock`].
    pub const LOCK: usize = 0;
    /// A small integer, see [`super::State`].
    pub const STATE: usize = 1;
    /// The object that it is resolved with, or the error; before, the promise that it waits for, if
    /// any.
    pub const OUTCOME: usize = 2;
    /// The owner's vat object.
    pub const OWNER: usize = 3;
    /// The first reaction, or nil.
    pub const FIRST: usize = 4;
    /// The last reaction, or nil.
    pub const LAST: usize = 5;
    /// Where it comes from, for reports: the address of a site, or nil.
    pub const ORIGIN: usize = 6;

    const _: () = crate::model::known::assert_slots(crate::model::known::PROMISE, ORIGIN + 1);
}

/// Where a group of promises has its promise.
const GROUP_PROMISE: usize = 0;

/// The state of a promise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum State {
    /// Nothing.
    Unresolved = 0,
    /// The source of its outcome is known.
    Decided = 1,
    /// It is resolved with its outcome.
    Resolved = 2,
    /// It is broken with its outcome.
    Broken = 3,
}

/// The kind of a message that resolves a promise; among reactions, that of following.
pub const RESOLVE: Word = Word::TRUE;
/// The kind of a message that breaks a promise.
pub const BREAK: Word = Word::FALSE;
/// The argument of a message, where there is one.
const ARGUMENT: usize = messages::RECEIVER + 1;
/// Set in promises that are recorded as broken without a reaction.
const RECORDED: Flag = Flag::First;

/// The message of the embedder in progress.
///
/// Workers ask before each item whether its turn has ended, so that is beside the lock.
#[derive(Default)]
pub struct Embedder {
    is_done: AtomicBool,
    result: Mutex<Option<(Ending, Word)>>,
}

impl Embedder {
    /// A message is about to be sent.
    pub fn begin(&self) {
        self.take();
    }

    /// Whether its turn has ended.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.is_done.load(Ordering::Acquire)
    }

    /// Its ending and its outcome.
    pub fn take(&self) -> Option<(Ending, Word)> {
        let mut result = self.result.lock();
        self.is_done.store(false, Ordering::Relaxed);
        result.take()
    }

    fn set(&self, ending: Ending, value: Word) {
        let mut result = self.result.lock();
        *result = Some((ending, value));
        self.is_done.store(true, Ordering::Release);
    }

    /// Shows the result to the collector.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        if let Some((_, value)) = &mut *self.result.lock() {
            visit(RootAddress::from(value));
        }
    }
}

/// The promise in a word: a promise itself, or that of a group.
pub fn promise_in(vm: &Vm, word: Word) -> Option<Object> {
    let object = word.as_object()?;
    if object.layout() == known::PROMISE {
        return Some(object);
    }
    if object.class() != vm.known_class(KnownClass::PromiseGroup) {
        return None;
    }
    object.slot(GROUP_PROMISE).as_object().filter(|promise| promise.layout() == known::PROMISE)
}

/// Makes a promise that is not resolved. Its owner must be reachable from a root. *GC point.*
pub fn make(thread: &mut Thread, owner: VatRef, origin: Word) -> Result<Object, Failure> {
    // STAYS: origin: it is a call's site, which is no object.
    let class = thread.vm.known_class(KnownClass::Promise);
    let promise = allocated(thread.mutator.allocate_slots(known::PROMISE, class))?;
    let zero = Word::from_small_integer_unchecked(0);
    promise.initialize_slot(slots::LOCK, zero);
    promise.initialize_slot(slots::STATE, zero);
    promise.initialize_slot(slots::OWNER, owner.object.get());
    promise.initialize_slot(slots::ORIGIN, origin);
    thread.note(Kind::PromiseCreated, || {
        let number = recording::number_of_object(promise.word());
        [number, owner.number(thread.vm), if origin.is_small_integer() { origin.bits() } else { 0 }]
    });
    Ok(promise)
}

/// The vat that a promise belongs to.
pub fn owner(promise: Object) -> VatRef {
    VatRef::of_object(promise.slot(slots::OWNER).object())
}

/// Whether a word is a promise that is not settled, or is none.
pub(crate) fn is_pending(word: Word) -> bool {
    let promise = word.as_object().filter(|object| object.layout() == known::PROMISE);
    promise.is_none_or(|promise| matches!(state(promise), State::Unresolved | State::Decided))
}

/// What a promise waits for in the end.
pub enum Awaited {
    /// This promise, which follows none; the promise itself, perhaps.
    One(Object),
    /// Nothing: this promise and those that it leads to follow each other.
    Circle(Object),
}

impl Awaited {
    /// What this promise waits for.
    pub fn by(promise: Object) -> Awaited {
        // Brent's algorithm: a circle leads back to the promise that is saved at each power of two.
        let (mut last, mut saved, mut steps, mut limit) = (promise, promise, 0_usize, 1);
        while let Some(next) = followed(last) {
            if next == saved {
                return Awaited::Circle(next);
            }
            (last, steps) = (next, steps + 1);
            if steps == limit {
                (saved, limit) = (next, 2 * limit);
            }
        }
        Awaited::One(last)
    }
}

/// The promises of a circle, from this one on.
pub fn circle(first: Object) -> impl Iterator<Item = Object> {
    std::iter::successors(Some(first), move |&last| followed(last).filter(|&next| next != first))
}

/// The promise that a promise follows.
fn followed(promise: Object) -> Option<Object> {
    let next = promise.slot(slots::OUTCOME).as_object();
    next.filter(|next| state(promise) == State::Decided && next.layout() == known::PROMISE)
}

/// Breaks a promise of a circle, and with it the others. *GC point.*
pub fn break_circle(thread: &mut Thread, promise: Object, error: Word) {
    settling::settle_decided(thread, owner(promise), promise, BREAK, error);
}

/// The state of a promise; reliable under its lock only.
pub fn state(promise: Object) -> State {
    match promise.slot(slots::STATE).as_small_integer() {
        Some(1) => State::Decided,
        Some(2) => State::Resolved,
        Some(3) => State::Broken,
        _ => State::Unresolved,
    }
}

fn set_state(thread: &mut Thread, promise: Object, state: State) {
    let state = Word::from_small_integer_unchecked(state as i64);
    promise.set_slot(&mut thread.mutator, slots::STATE, state);
}

/// Notes that a promise will be settled by a callback of another one, for reports.
pub fn note_awaited(thread: &mut Thread, promise: Object, other: Object) {
    waiting::lock(&mut thread.mutator, promise);
    if state(promise) == State::Unresolved {
        promise.set_slot(&mut thread.mutator, slots::OUTCOME, other.word());
    }
    waiting::unlock(&mut thread.mutator, promise);
}

/// A strand of this vat has ended: settles the promise for its result, if its message has one. *GC point.*
pub fn settle_result(
    thread: &mut Thread,
    vat: Option<VatRef>,
    result: Word,
    ending: Ending,
    value: Word,
) {
    if result == EMBEDDER {
        thread.vm.concurrency().embedder.set(ending, value);
        thread.vm.summon_embedder();
    }
    if let Some(number) = result.as_small_integer() {
        return calls::settle(thread, number, vat, ending, value);
    }
    let Some(promise) = messages::destination(result).as_object() else { return };
    if thread.vm.ended.code().is_some() {
        return;
    }
    let here = vat.unwrap_or_else(|| owner(promise));
    match ending {
        Ending::Returned => resolve(thread, here, promise, value),
        _ => break_with(thread, here, promise, value),
    }
}
