//! Where the item of a worker is: inside the machine, or *outside*, in foreign code or a blocking operation. The worker
//! writes this word before and after a call; the monitor reads it and replaces workers whose calls take long.
//!
//! The word costs one store and one compare-and-exchange for each call, so calls of some nanoseconds can afford it. If
//! a call takes long, the monitor *replaces* the worker: the items that wait behind the call go to the injector, the
//! runtime gives away what the item owns, and another native thread becomes a worker in its place. When the call
//! returns, there may be one active worker too many: the first worker without an item in hand parks.
//!
//! ```text
//!            go_outside                monitor: the same call in two looks
//!   INSIDE ────────────▶ OUTSIDE(n) ───────────────────────────▶ REPLACING(n)
//!     ▲                      │                                        │ monitor: the runtime gives the vat away,
//!     │     come_back        │                                        │ and the queue is emptied
//!     ├──────────────────────┘                                        ▼
//!     └────────────────────────── come_back ───────────────────── REPLACED(n)
//! ```
//!
//! A worker that expects a long call goes to REPLACED at once, and does the monitor's part itself.
//!
//! The word holds the number of the call, so the monitor never takes one call for another. A worker that comes back in
//! the state REPLACING waits for REPLACED, which takes microseconds.
//!
//! Orderings: `leave` releases the worker's writes to its queue and its item, and the monitor's exchange acquires them.
//! `replaced` releases the monitor's writes, and `is_replaced` acquires them. The monitor must be awake while a worker
//! is outside, so the worker recalls it (`watch.rs`).

use crate::sync::{AtomicU64, Ordering};

const INSIDE: u64 = 0;
const OUTSIDE: u64 = 1;
const REPLACING: u64 = 2;
const REPLACED: u64 = 3;
const STATE: u64 = 3;
/// The unit of the call's number, which is above the state's bits.
const CALL: u64 = 4;

/// The state of a worker's item, as in the picture above.
pub(crate) struct Whereabouts(AtomicU64);

/// A call that the monitor saw under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call(u64);

/// The state of the machine when a worker comes back from a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Return {
    /// The worker was not replaced.
    Undisturbed,
    /// Another worker took its place, and the runtime has given away what the item owned.
    Replaced,
}

impl Whereabouts {
    pub(crate) fn new() -> Whereabouts {
        Whereabouts(AtomicU64::new(INSIDE))
    }

    /// Called by the worker.
    #[inline]
    pub(crate) fn leave(&self) {
        // Only the worker changes the word while it is inside.
        let call = self.0.load(Ordering::Relaxed) & !STATE;
        self.0.store(call.wrapping_add(CALL) | OUTSIDE, Ordering::Release);
    }

    /// Called by the worker, which carries out its own replacement.
    pub(crate) fn leave_for_long(&self) {
        let call = self.0.load(Ordering::Relaxed) & !STATE;
        self.0.store(call.wrapping_add(CALL) | REPLACED, Ordering::Release);
    }

    /// Called by the worker: whether it is inside again. If not, the monitor is replacing it.
    #[inline]
    pub(crate) fn try_return(&self) -> bool {
        let outside = self.0.load(Ordering::Relaxed) & !STATE | OUTSIDE;
        let inside = outside & !STATE | INSIDE;
        self.0.compare_exchange(outside, inside, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Called by the worker: whether it has been replaced.
    pub(crate) fn is_replaced(&self) -> bool {
        self.0.load(Ordering::Acquire) & STATE == REPLACED
    }

    /// Called by a worker that has been replaced.
    pub(crate) fn return_replaced(&self) {
        let word = self.0.load(Ordering::Relaxed);
        self.0.store(word & !STATE | INSIDE, Ordering::Relaxed);
    }

    /// Called by any thread: whether a call is under way.
    pub(crate) fn is_outside(&self) -> bool {
        self.0.load(Ordering::Relaxed) & STATE != INSIDE
    }

    /// Called by the monitor: the call under way.
    pub(crate) fn call(&self) -> Option<Call> {
        let word = self.0.load(Ordering::Relaxed);
        (word & STATE == OUTSIDE).then_some(Call(word))
    }

    /// Called by the monitor: whether the call is still under way. If so, the worker waits for
    /// [`Whereabouts::replaced`] when it comes back.
    pub(crate) fn begin_replacing(&self, call: Call) -> bool {
        let replacing = call.0 & !STATE | REPLACING;
        self.0.compare_exchange(call.0, replacing, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Called by the monitor.
    pub(crate) fn replaced(&self) {
        let word = self.0.load(Ordering::Relaxed);
        self.0.store(word & !STATE | REPLACED, Ordering::Release);
    }
}

#[cfg(all(test, feature = "loom"))]
mod model {
    use super::*;
    use crate::sync::AtomicUsize;
    use loom::sync::Arc;
    use loom::thread;

    /// A worker goes outside twice while the monitor tries to replace it. At any time, either the worker or the monitor
    /// owns the item's property.
    #[test]
    fn the_property_of_an_item_has_one_owner() {
        loom::model(|| {
            let shared = Arc::new((Whereabouts::new(), AtomicUsize::new(1)));
            let monitor = thread::spawn({
                let shared = shared.clone();
                move || {
                    let (place, owned) = &*shared;
                    let Some(call) = place.call() else { return };
                    if place.begin_replacing(call) {
                        assert_eq!(owned.load(Ordering::Relaxed), 1);
                        owned.store(0, Ordering::Relaxed);
                        place.replaced();
                    }
                }
            });
            let (place, owned) = &*shared;
            for _ in 0..2 {
                place.leave();
                if !place.try_return() {
                    while !place.is_replaced() {
                        thread::yield_now();
                    }
                    assert_eq!(owned.load(Ordering::Relaxed), 0);
                    owned.store(1, Ordering::Relaxed);
                    place.return_replaced();
                }
                assert_eq!(owned.load(Ordering::Relaxed), 1);
            }
            monitor.join().unwrap();
        });
    }
}
