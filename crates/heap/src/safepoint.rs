//! Stopping the world: the protocol between running mutators and the collector.
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
//! *Away* is a mutator that touches no object: it is in native code, or it waits. The collector may
//! work when all mutators are away, and a mutator whose stop is requested cannot arrive. Departing
//! and arriving without a stop in sight are one compare-and-exchange each; everything else happens
//! under the lock of the *gate*, so no wake-up is lost.
//!
//! Orderings: a departure releases what the mutator wrote, and the collector acquires it when it
//! reads the status as away. The end of a stop releases what the collector wrote, and the arrival
//! acquires it.
//!
//! Nothing here knows objects or the collector; [`Participant`] is what a stop needs to know of a
//! mutator.

use crate::sync::{AtomicU32, Condvar, Mutex, MutexGuard, Ordering};
use std::sync::PoisonError;

/// A mutator, as far as stopping it goes. Copies denote the same mutator.
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

/// What a departing mutator owes to the collector.
#[must_use]
#[derive(Debug, PartialEq)]
enum Departure {
    /// Nothing: no stop is requested.
    Unnoticed,
    /// A wake-up: the collector waits for it.
    Awaited,
}

impl Status {
    /// The status of a mutator that runs.
    pub(crate) fn running() -> Status {
        Status(AtomicU32::new(RUNNING))
    }

    /// Whether the mutator has to come to a safepoint. A hint: the protocol itself decides in
    /// `depart` and `arrive`.
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

    /// Whether the mutator runs again; it does not if a stop is requested.
    #[inline]
    fn arrive(&self) -> bool {
        // Acquire pairs with the release of `end_stop`.
        self.0.compare_exchange(AWAY, RUNNING, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Requests a stop; whether the mutator was running.
    fn request_stop(&self) -> bool {
        // The mutator's side of this is the hint; what it wrote is acquired in `is_away`.
        self.0.fetch_or(STOP, Ordering::Relaxed) & AWAY == 0
    }

    fn end_stop(&self) {
        self.0.fetch_and(!STOP, Ordering::Release);
    }
}

/// The mutators of a heap, and the gate where they wait.
pub(crate) struct Safepoints<P> {
    gate: Mutex<Gate<P>>,
    /// A mutator departed while a stop was requested of it.
    departed: Condvar,
    /// A stop ended.
    reopened: Condvar,
}

struct Gate<P> {
    participants: Vec<P>,
    /// Whether a stop is under way. No mutator joins, leaves or arrives meanwhile.
    closed: bool,
    /// How many collections there have been.
    collections: u64,
}

/// The mutators' side.
impl<P: Participant> Safepoints<P> {
    pub(crate) fn new() -> Safepoints<P> {
        let gate = Gate { participants: Vec::new(), closed: false, collections: 0 };
        Safepoints { gate: Mutex::new(gate), departed: Condvar::new(), reopened: Condvar::new() }
    }

    /// Adds the participant that `make` makes, running, while no stop is under way.
    pub(crate) fn join(&self, make: impl FnOnce() -> P) -> P {
        let mut gate = self.wait_for_open(self.lock());
        let participant = make();
        gate.participants.push(participant);
        participant
    }

    /// Removes a running participant while no stop is under way; `farewell` runs just before.
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

    /// Lets collections happen without this mutator, which touches no object until it returns.
    #[inline]
    pub(crate) fn enter_native(&self, status: &Status) {
        if status.depart() == Departure::Awaited {
            self.announce_departure();
        }
    }

    /// Ends [`enter_native`](Safepoints::enter_native), after the stop under way, if there is one.
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

    /// Waits for the end of a collection that begins after the call, or is beginning. The caller, a
    /// running mutator, has requested it: it cannot have ended yet.
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
        // Under the lock, so that the collector is either before its test or already waiting.
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
        // Nothing inside can be left half-done by a panic of a participant's hook.
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The collector's side.
impl<P: Participant> Safepoints<P> {
    /// Stops all mutators, after the stop under way, if there is one; returns when all are away. The
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

    /// Ends a stop that was for something else.
    pub(crate) fn resume_without_collection(&self) {
        self.reopen(self.lock());
    }

    fn reopen(&self, mut gate: MutexGuard<'_, Gate<P>>) {
        gate.closed = false;
        for participant in &gate.participants {
            participant.stop_ended();
            participant.status().end_stop();
        }
        self.reopened.notify_all();
    }

    /// All participants. During a stop, their number does not change.
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
