//! Mutexes, conditions and semaphores: the primitives for objects that the strands of one vat share. `lib/Threading.ns`
//! and `lib/Http.ns` call them.

use std::time::Duration;

use squall_heap::Word;

use super::answer;
use super::channels::outcome;
use super::strands::patience;
use crate::concurrency::locks;
use crate::model::known;
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::Primitive;
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("newMutex", |thread, _| answer(locks::make(thread, known::MUTEX, 0))),
    Primitive::ordinary("newSharedMutex", |thread, _| {
        answer(locks::make(thread, known::SHARED_MUTEX, 0))
    }),
    Primitive::ordinary("newCondition", |thread, _| {
        answer(locks::make(thread, known::CONDITION, 0))
    }),
    Primitive::ordinary("newSemaphore:", |thread, window| {
        answer(
            count(window.get(0)).and_then(|permits| locks::make(thread, known::SEMAPHORE, permits)),
        )
    }),
    Primitive::effect("mutex:lock:", |thread, window| outcome(lock_mutex(thread, window, None))),
    Primitive::effect("mutex:lock:within:", |thread, window| {
        let patience = patience(window.get(2));
        outcome(patience.and_then(|patience| lock_mutex(thread, window, patience)))
    }),
    Primitive::effect("mutex:relock:", |thread, window| {
        outcome(count(window.get(1)).and_then(|times| locks::relock_mutex(thread, window, times)))
    }),
    Primitive::effect("mutexUnlock:", |thread, window| {
        answer(locks::unlock_mutex(thread, window.get(0), 1))
    }),
    Primitive::effect("mutexDepth:", |thread, window| {
        answer(locks::depth_of_mutex(thread, window.get(0)))
    }),
    Primitive::effect("mutexIsLocked:", |_, window| answer(locks::is_locked(window.get(0)))),
    Primitive::effect("condition:await:within:", await_condition),
    Primitive::effect("conditionSignalOne:", |thread, window| {
        answer(locks::signal_one(thread, window.get(0)))
    }),
    Primitive::effect("conditionSignalAll:", |thread, window| {
        answer(locks::signal_all(thread, window.get(0)))
    }),
    Primitive::effect("semaphoreWait:", |thread, window| {
        outcome(locks::acquire(thread, window, None))
    }),
    Primitive::effect("semaphoreWait:within:", |thread, window| {
        let patience = patience(window.get(1));
        outcome(patience.and_then(|patience| locks::acquire(thread, window, patience)))
    }),
    Primitive::effect("semaphoreSignal:", |thread, window| {
        answer(locks::release(thread, window.get(0)))
    }),
];

fn count(word: Word) -> Result<i64, Failure> {
    word.as_small_integer().filter(|number| *number >= 0).ok_or(Failure::argument(word))
}

fn lock_mutex(
    thread: &mut Thread,
    window: Window,
    patience: Option<Duration>,
) -> Result<Outcome, Failure> {
    count(window.get(1)).and_then(|times| locks::lock_mutex(thread, window, times, patience))
}

fn await_condition(thread: &mut Thread, window: Window) -> Outcome {
    let patience = patience(window.get(2));
    outcome(patience.and_then(|patience| locks::await_condition(thread, window, patience)))
}
