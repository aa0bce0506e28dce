//! Mutexes, conditions, semaphores, barriers and buckets: the objects that strands wait for besides channels. The
//! primitives for `lib/Threading.ns` and `lib/Processes.ns`, and the instructions of typed code, call this module.
//!
//! They all have the same slots: a lock ([`crate::concurrency::waiting`]), a number, a queue of waiting strands
//! and a holder; what the number means depends on the kind, which is the object's layout.
//!
//! | kind | the number is |
//! |---|---|
//! | mutex | how often the holder has locked it |
//! | semaphore | how many strands may still pass |
//! | barrier | an upper bound of the enrolled strands that have not arrived; the holder slot has the number of enrolled ones |
//! | condition, bucket | nothing |
//!
//! A strand that is ended while it waits at a barrier has not arrived. Ending it does not change the barrier, so the
//! barrier counts its waiting strands before it opens.
//!
//! A mutex is handed over: unlocking gives it to the first waiting strand, so no strand starves.

use std::time::Duration;

use squall_events::Kind;
use squall_heap::{LayoutId, Object, Word};

use crate::concurrency::timers;
use crate::concurrency::waiting;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::state::recording;
use crate::state::strand::waiter;
use crate::state::strand::{Delivery, Wait};
use crate::state::thread::{Thread, Window, allocated};

/// The slots of a lock.
pub mod slots {
    /// The lock.
    pub const LOCK: usize = 0;
    /// The number.
    pub const NUMBER: usize = 1;
    /// The strands that wait.
    pub const WAITERS: usize = 2;
    /// The strand object of a mutex's holder, or a barrier's second number.
    pub const HOLDER: usize = 3;

    const _: () = crate::model::known::assert_slots(crate::model::known::MUTEX, HOLDER + 1);
}

use slots::{HOLDER, NUMBER, WAITERS};

/// All kinds.
const KINDS: [LayoutId; 6] = [
    known::MUTEX,
    known::SHARED_MUTEX,
    known::CONDITION,
    known::SEMAPHORE,
    known::BARRIER,
    known::BUCKET,
];

/// Makes one of this kind. *GC point.*
pub fn make(thread: &mut Thread, kind: LayoutId, number: i64) -> Result<Word, Failure> {
    debug_assert!(KINDS.contains(&kind));
    let class = thread.vm.known_class(KnownClass::Object);
    let object = allocated(thread.mutator.allocate_slots(kind, class))?;
    object.initialize_slot(slots::LOCK, number_word(0));
    object.initialize_slot(NUMBER, number_word(number));
    if kind == known::BARRIER {
        object.initialize_slot(HOLDER, number_word(number));
    }
    Ok(object.word())
}

/// The lock in a word.
fn lock_object(word: Word) -> Result<Object, Failure> {
    let is_lock = |object: &Object| KINDS.contains(&object.layout());
    word.as_object().filter(is_lock).ok_or(Failure::argument(word))
}

fn number_word(number: i64) -> Word {
    Word::from_small_integer_unchecked(number)
}

fn number(object: Object, slot: usize) -> i64 {
    object.slot(slot).as_small_integer().unwrap_or(0)
}

fn set_number(thread: &mut Thread, object: Object, slot: usize, value: i64) {
    object.set_slot(&mut thread.mutator, slot, number_word(value));
}

/// How a strand waits for a lock.
struct Waiting {
    wait: Wait,
    /// A number for its waker.
    number: Option<i64>,
    /// The longest time; then the wait answers false.
    patience: Option<Duration>,
}

impl Waiting {
    const ORDINARY: Waiting = Waiting { wait: Wait::Ordinary, number: None, patience: None };
}

/// Runs `attempt` on the locked object in the window's first word. If it answers `None`, the strand waits there. The
/// object is unlocked afterwards. *GC point.*
fn pass_or_wait(
    thread: &mut Thread,
    window: Window,
    waiting: Waiting,
    attempt: impl Fn(&mut Thread, Object) -> Option<Word>,
) -> Result<Outcome, Failure> {
    let waiter = waiting::own_waiter(thread)?;
    let object = lock_object(window.get(0))?;
    waiting::lock(&mut thread.mutator, object);
    if let Some(answer) = attempt(thread, object) {
        note_acquired(thread, object);
        waiting::unlock(&mut thread.mutator, object);
        return Ok(Outcome::Return(answer));
    }
    let strand = thread.strand().object();
    let timer = waiting.patience.map(|delay| (timers::reserve(thread), delay));
    let ticket = waiting::park_in(thread, object.word(), waiting.wait).ticket;
    let value = waiting.number.map_or(Word::NIL, number_word);
    waiting::enqueue(thread, object, WAITERS, waiter, ticket, value);
    waiting::unlock(&mut thread.mutator, object);
    if let Some(timer) = timer {
        timers::wake_after(thread, timer, strand, ticket, Word::FALSE);
    }
    Ok(Outcome::Park)
}

/// Notes that the running strand has got a mutex.
fn note_acquired(thread: &Thread, object: Object) {
    if matches!(object.layout(), known::MUTEX | known::SHARED_MUTEX) {
        thread.note(Kind::LockAcquired, || [recording::number_of_object(object.word())]);
    }
}

/// Locks a mutex this many times more, within a time if one is given; answers whether it did. *GC point.*
pub fn lock_mutex(
    thread: &mut Thread,
    window: Window,
    times: i64,
    patience: Option<Duration>,
) -> Result<Outcome, Failure> {
    let waiting = Waiting { number: Some(times), patience, ..Waiting::ORDINARY };
    lock_mutex_in(thread, window, times, waiting)
}

fn lock_mutex_in(
    thread: &mut Thread,
    window: Window,
    times: i64,
    waiting: Waiting,
) -> Result<Outcome, Failure> {
    pass_or_wait(thread, window, waiting, |thread, mutex| {
        let me = thread.strand().object.get();
        let depth = number(mutex, NUMBER);
        if depth != 0 && mutex.slot(HOLDER) != me {
            return None;
        }
        thread.running().expose();
        mutex.set_slot(&mut thread.mutator, HOLDER, me);
        set_number(thread, mutex, NUMBER, depth + times);
        Some(Word::TRUE)
    })
}

/// Locks a mutex again, this many times, after the strand has given it up to wait for a condition. The strand gets the
/// mutex even if it is to end: the caller expects to have it. *GC point.*
pub fn relock_mutex(thread: &mut Thread, window: Window, times: i64) -> Result<Outcome, Failure> {
    let waiting = Waiting { wait: Wait::Patient, number: Some(times), patience: None };
    lock_mutex_in(thread, window, times, waiting)
}

/// Unlocks a mutex this many times; only its holder may.
pub fn unlock_mutex(thread: &mut Thread, word: Word, times: i64) -> Result<Word, Failure> {
    let mutex = lock_object(word)?;
    let me = thread.strand().object.get();
    waiting::lock(&mut thread.mutator, mutex);
    let depth = number(mutex, NUMBER) - times;
    if depth < 0 || mutex.slot(HOLDER) != me {
        waiting::unlock(&mut thread.mutator, mutex);
        return Err(Failure::new(FailureReason::NotHolder));
    }
    set_number(thread, mutex, NUMBER, depth);
    let mut next = None;
    if depth == 0 {
        thread.note(Kind::LockReleased, || [recording::number_of_object(mutex.word())]);
        mutex.set_slot(&mut thread.mutator, HOLDER, Word::NIL);
        next = waiting::dequeue(thread, mutex, WAITERS);
        if let Some(&(waiter, _)) = next.as_ref() {
            let holder = waiting::strand_object_of(waiter).word();
            mutex.set_slot(&mut thread.mutator, HOLDER, holder);
            mutex.set_slot(&mut thread.mutator, NUMBER, waiter.slot(waiter::VALUE));
        }
    }
    waiting::unlock(&mut thread.mutator, mutex);
    if let Some((_, holder)) = next {
        waiting::wake(thread, holder, Word::TRUE);
    }
    Ok(Word::NIL)
}

/// How often the running strand has locked a mutex.
pub fn depth_of_mutex(thread: &mut Thread, word: Word) -> Result<Word, Failure> {
    let mutex = lock_object(word)?;
    let is_mine = mutex.slot(HOLDER) == thread.strand().object.get();
    Ok(if is_mine { mutex.slot(NUMBER) } else { number_word(0) })
}

/// Whether a strand holds the mutex.
pub fn is_locked(word: Word) -> Result<Word, Failure> {
    Ok(Word::from_bool(number(lock_object(word)?, NUMBER) > 0))
}

/// Gives up the mutex in the window's second word and waits for the condition in the first, for a
/// time or for ever: answers whether it was signalled. The mutex is to be locked again then, as often
/// as before. *GC point.*
pub fn await_condition(
    thread: &mut Thread,
    window: Window,
    patience: Option<Duration>,
) -> Result<Outcome, Failure> {
    lock_object(window.get(0))?;
    let depth = depth_of_mutex(thread, window.get(1))?.as_small_integer().unwrap_or(0);
    if depth == 0 {
        return Err(Failure::new(FailureReason::NotHolder));
    }
    let waiter = waiting::own_waiter(thread)?;
    let (condition, mutex) = (window.get(0).object(), window.get(1));
    // The mutex is given up before the strand can be seen to wait. No signal is lost in between: a signalling strand
    // locks the mutex first, and the condition is locked by then.
    waiting::lock(&mut thread.mutator, condition);
    unlock_mutex(thread, mutex, depth)?;
    let strand = thread.strand().object();
    let timer = patience.map(|delay| (timers::reserve(thread), delay));
    let ticket = waiting::park(thread, condition.word());
    waiting::enqueue(thread, condition, WAITERS, waiter, ticket, Word::NIL);
    waiting::unlock(&mut thread.mutator, condition);
    if let Some(timer) = timer {
        timers::wake_after(thread, timer, strand, ticket, Word::FALSE);
    }
    Ok(Outcome::Park)
}

/// Wakes one strand that waits for a condition.
pub fn signal_one(thread: &mut Thread, word: Word) -> Result<Word, Failure> {
    let condition = lock_object(word)?;
    waiting::lock(&mut thread.mutator, condition);
    let waiter = waiting::dequeue(thread, condition, WAITERS);
    waiting::unlock(&mut thread.mutator, condition);
    if let Some((_, strand)) = waiter {
        waiting::wake(thread, strand, Word::TRUE);
    }
    Ok(Word::NIL)
}

/// Wakes all strands that wait for a condition or in a bucket; answers their number.
pub fn signal_all(thread: &mut Thread, word: Word) -> Result<Word, Failure> {
    let object = lock_object(word)?;
    waiting::lock(&mut thread.mutator, object);
    let waiters = waiting::take_all(thread, object, WAITERS);
    waiting::unlock(&mut thread.mutator, object);
    let count = waiting::wake_all(thread, waiters, Delivery::Value, Word::TRUE);
    Ok(number_word(count))
}

/// Waits in a bucket until a strand flushes it. *GC point.*
pub fn fall_into(thread: &mut Thread, window: Window) -> Result<Outcome, Failure> {
    pass_or_wait(thread, window, Waiting::ORDINARY, |_, _| None)
}

/// Passes a semaphore, or waits until one may, for a time at most; answers whether it has passed. *GC point.*
pub fn acquire(
    thread: &mut Thread,
    window: Window,
    patience: Option<Duration>,
) -> Result<Outcome, Failure> {
    let waiting = Waiting { patience, ..Waiting::ORDINARY };
    pass_or_wait(thread, window, waiting, |thread, semaphore| {
        let left = number(semaphore, NUMBER);
        if left == 0 {
            return None;
        }
        set_number(thread, semaphore, NUMBER, left - 1);
        Some(Word::TRUE)
    })
}

/// Lets one more pass a semaphore.
pub fn release(thread: &mut Thread, word: Word) -> Result<Word, Failure> {
    let semaphore = lock_object(word)?;
    waiting::lock(&mut thread.mutator, semaphore);
    let waiter = waiting::dequeue(thread, semaphore, WAITERS);
    if waiter.is_none() {
        let left = number(semaphore, NUMBER);
        set_number(thread, semaphore, NUMBER, left + 1);
    }
    waiting::unlock(&mut thread.mutator, semaphore);
    if let Some((_, strand)) = waiter {
        waiting::wake(thread, strand, Word::TRUE);
    }
    Ok(Word::NIL)
}

/// Arrives at a barrier and waits for all enrolled strands. *GC point.*
pub fn synchronize(thread: &mut Thread, window: Window) -> Result<Outcome, Failure> {
    let waiter = waiting::own_waiter(thread)?;
    let barrier = lock_object(window.get(0))?;
    waiting::lock(&mut thread.mutator, barrier);
    let mut missing = number(barrier, NUMBER) - 1;
    if missing <= 0 {
        missing = count_missing(barrier) - 1;
    }
    if missing <= 0 {
        open_barrier(thread, barrier);
        return Ok(Outcome::Return(Word::NIL));
    }
    set_number(thread, barrier, NUMBER, missing);
    let ticket = waiting::park(thread, barrier.word());
    waiting::enqueue(thread, barrier, WAITERS, waiter, ticket, Word::NIL);
    waiting::unlock(&mut thread.mutator, barrier);
    Ok(Outcome::Park)
}

/// Changes the number of strands enrolled at a barrier. A resigning strand may be the one that the others wait for.
pub fn enrol(thread: &mut Thread, word: Word, change: i64) -> Result<Word, Failure> {
    let barrier = lock_object(word)?;
    waiting::lock(&mut thread.mutator, barrier);
    let enrolled = number(barrier, HOLDER) + change;
    let mut missing = number(barrier, NUMBER) + change;
    if missing <= 0 {
        missing = count_missing(barrier) + change;
    }
    if enrolled < 0 || missing < 0 {
        waiting::unlock(&mut thread.mutator, barrier);
        return Err(Failure::new(FailureReason::NotHolder));
    }
    set_number(thread, barrier, HOLDER, enrolled);
    set_number(thread, barrier, NUMBER, missing);
    if missing == 0 && enrolled > 0 {
        open_barrier(thread, barrier);
    } else {
        waiting::unlock(&mut thread.mutator, barrier);
    }
    Ok(Word::NIL)
}

/// How many are enrolled at a locked barrier and do not wait there.
fn count_missing(barrier: Object) -> i64 {
    number(barrier, HOLDER) - waiting::count_waiters(barrier, WAITERS) as i64
}

/// Lets all strands at a locked barrier continue, and unlocks it.
fn open_barrier(thread: &mut Thread, barrier: Object) {
    thread.note(Kind::BarrierOpened, || [recording::number_of_object(barrier.word())]);
    let enrolled = number(barrier, HOLDER);
    set_number(thread, barrier, NUMBER, enrolled);
    let waiters = waiting::take_all(thread, barrier, WAITERS);
    waiting::unlock(&mut thread.mutator, barrier);
    waiting::wake_all(thread, waiters, Delivery::Value, Word::NIL);
}
