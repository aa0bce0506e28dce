//! Stopping the world: the protocol between running mutators and the collector. Mutators ask here at
//! their safepoints whether to stop, and the collector stops and resumes them.
//!
//! Every mutator has a *status*, one atomic word of two bits:
//!
//! ```text
//!               request_stop                       depart
//!   RUNNING ───────────────────▶ RUNNING|STOP ────────────────▶ AWAY|STOP
//!    ▲   │                                                       ▲   │
//!    │   │ depart                                   request_stop │   │ end_stop
//!    │   ▼                                                       │   ▼
//!    └─ AWAY ◀───────────────────────────────────────────────── AWAY
//!  arrive
//! ```
//!
//! A mutator that is *away* touches no object: it is in native code, or it waits. The collector may work when all
//! mutators are away, and a mutator whose stop is requested cannot arrive. A departure or an arrival without a
//! requested stop is one compare-and-exchange; all other transitions happen under the lock of the *gate*, so no wake-up
//! is lost.
//!
//! Orderings: a departure releases the mutator's stores, and the collector acquires them when it reads the status as
//! away. The end of a stop releases the collector's stores, and the arrival acquires them.
//!
//! This module knows neither objects nor the collector; [`Participant`] is its interface to a mutator.

use crate::sync::{AtomicU32, Condvar, Mutex, MutexGuard, Ordering};
use std::sync::PoisonError;

/// The interface to a mutator. Copies denote the same mutator.
pub(crate) trait Participant: Copy + PartialEq {
    fn status(&self) -> &Status;
    /// Called when a stop begins and the mutator is running.
    fn stop_requested(&self);
    /// Called when a stop has ended.
    fn stop_ended(&self);
}

/// Whether a mutator is away, and whether a stop is requested of it.
#[derive(Debug)]
pub(crate) struct Status(AtomicU32);

const RUNNING: u32 = 0;
const AWAY: u32 = 1;
const STOP: u32 = 2;

/// The duty of a departing mutator to the collector.
#[must_use]
#[derive(Debug, PartialEq)]
enum Departure {
    /// No duty: no stop is requested.
    Unnoticed,
    /// The collector waits for this departure: wake it up.
    Awaited,
}

impl Status {
    /// The status of a running mutator.
    pub(crate) fn running() -> Status {
        Status(AtomicU32::new(RUNNING))
    }

    /// Whether the mutator should come to a safepoint. A hint: `depart` and `arrive` decide.
    #[inline(always)]
    pub(crate) fn is_stop_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed) & STOP != 0
    }

    fn is_away(&self) -> bool {
        // Acquire pairs with the release of `depart`.
        self.0.load(Ordering::Acquire) & AWAY != 0
    }

    #[inline]
    fn depart(&self) -> Departure {
        if self.0.compare_exchange(RUNNING, AWAY, Ordering::Release, Ordering::Relaxed).is_ok() {
            return Departure::Unnoticed;
        }
        let before = self.0.fetch_or(AWAY, Ordering::Release);
        debug_assert!(before == RUNNING | STOP, "a mutator departs once");
        Departure::Awaited
    }

    /// Makes the mutator run again; false if a stop is requested.
    #[inline]
    fn arrive(&self) -> bool {
        // Acquire pairs with the release of `end_stop`.
        self.0.compare_exchange(AWAY, RUNNING, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Requests a stop; true if the mutator was running.
    fn request_stop(&self) -> bool {
        // The mutator reads this as a hint; `is_away` acquires its stores.
        self.0.fetch_or(STOP, Ordering::Relaxed) & AWAY == 0
    }

    fn end_stop(&self) {
        self.0.fetch_and(!STOP, Ordering::Release);
    }
}

/// The mutators of a heap, and the gate where they wait.
pub(crate) struct Safepoints<P> {
    gate: Mutex<Gate<P>>,
    /// Notified when a mutator departs while a stop is requested of it.
    departed: Condvar,
    /// Notified when a stop ends.
    reopened: Condvar,
}

struct Gate<P> {
    participants: Vec<P>,
    /// Whether a stop is under way. During a stop, no mutator joins, leaves or arrives.
    closed: bool,
    /// The number of collections so far.
    collections: u64,
}

/// The mutators' side.
impl<P: Participant> Safepoints<P> {
    pub(crate) fn new() -> Safepoints<P> {
        let gate = Gate { participants: Vec::new(), closed: false, collections: 0 };
        Safepoints { gate: Mutex::new(gate), departed: Condvar::new(), reopened: Condvar::new() }
    }

    /// Adds the running participant that `make` makes, while no stop is under way.
    pub(crate) fn join(&self, make: impl FnOnce() -> P) -> P {
        let mut gate = self.wait_for_open(self.lock());
        let participant = make();
        gate.participants.push(participant);
        participant
    }

    /// Removes a running participant while no stop is under way. `farewell` runs just before.
    pub(crate) fn leave(&self, participant: P, farewell: impl FnOnce()) {
        let mut gate = self.lock();
        while gate.closed {
            drop(gate);
            self.stop_here(participant.status());
            gate = self.lock();
        }
        farewell();
        gate.participants.retain(|other| *other != participant);
    }

    /// Departs: collections do not wait for this mutator, which touches no object until it returns.
    #[inline]
    pub(crate) fn enter_native(&self, status: &Status) {
        if status.depart() == Departure::Awaited {
            self.announce_departure();
        }
    }

    /// Ends [`enter_native`](Safepoints::enter_native). If a stop is under way, waits for its end.
    #[inline]
    pub(crate) fn leave_native(&self, status: &Status) {
        if !status.arrive() {
            self.arrive_slowly(status);
        }
    }

    /// Waits for the end of the stop that is requested of this mutator.
    #[cold]
    pub(crate) fn stop_here(&self, status: &Status) {
        self.enter_native(status);
        self.leave_native(status);
    }

    /// Waits for the end of a collection that begins after the call, or is beginning. The caller, a running mutator,
    /// has requested the collection, so it cannot have ended yet.
    pub(crate) fn wait_for_collection(&self, status: &Status) {
        let mut gate = self.lock();
        let collections = gate.collections;
        if status.depart() == Departure::Awaited {
            self.departed.notify_all();
        }
        while gate.collections == collections {
            gate = self.wait_for_reopening(gate);
        }
        let gate = self.wait_for_open(gate);
        assert!(status.arrive(), "no stop is requested while the gate is open");
        drop(gate);
    }

    #[cold]
    fn announce_departure(&self) {
        // Under the lock, the collector is either before its test or already waiting.
        let _gate = self.lock();
        self.departed.notify_all();
    }

    #[cold]
    fn arrive_slowly(&self, status: &Status) {
        let gate = self.wait_for_open(self.lock());
        assert!(status.arrive(), "no stop is requested while the gate is open");
        drop(gate);
    }

    fn wait_for_open<'g>(&'g self, mut gate: MutexGuard<'g, Gate<P>>) -> MutexGuard<'g, Gate<P>> {
        while gate.closed {
            gate = self.wait_for_reopening(gate);
        }
        gate
    }

    fn wait_for_reopening<'g>(&'g self, gate: MutexGuard<'g, Gate<P>>) -> MutexGuard<'g, Gate<P>> {
        self.reopened.wait(gate).unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Gate<P>> {
        // A panic in a participant's hook leaves nothing half-changed here.
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The collector's side.
impl<P: Participant> Safepoints<P> {
    /// Stops all mutators, and returns when all are away. If another stop is under way, waits for its end first. The
    /// caller is no mutator, or is away.
    pub(crate) fn stop(&self) {
        let mut gate = self.wait_for_open(self.lock());
        gate.closed = true;
        for participant in &gate.participants {
            if participant.status().request_stop() {
                participant.stop_requested();
            }
        }
        while !gate.participants.iter().all(|participant| participant.status().is_away()) {
            gate = self.departed.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the stop of a collection.
    pub(crate) fn resume(&self) {
        let mut gate = self.lock();
        gate.collections += 1;
        self.reopen(gate);
    }

    /// Ends a stop that was not for a collection.
    pub(crate) fn resume_without_collection(&self) {
        self.reopen(self.lock());
    }

    /// Runs `work` while no stop is under way, and lets none begin before its end. Mutators go on meanwhile. The caller is no
    /// mutator, or is away.
    pub(crate) fn while_open<R>(&self, work: impl FnOnce() -> R) -> R {
        let gate = self.wait_for_open(self.lock());
        let result = work();
        drop(gate);
        result
    }

    fn reopen(&self, mut gate: MutexGuard<'_, Gate<P>>) {
        gate.closed = false;
        for participant in &gate.participants {
            participant.stop_ended();
            participant.status().end_stop();
        }
        self.reopened.notify_all();
    }

    /// All participants. Their number does not change during a stop.
    pub(crate) fn participants(&self) -> Vec<P> {
        self.lock().participants.clone()
    }

    /// How many participants there are.
    pub(crate) fn count(&self) -> usize {
        self.lock().participants.len()
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests;

#[cfg(all(test, feature = "loom"))]
mod model;
