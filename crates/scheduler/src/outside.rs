//! Outside: items that block or run foreign code, and how others take over meanwhile.
//!
//! An item that calls foreign code tells before and after. That is one store and one
//! compare-and-exchange, so it may be done around calls of some nanoseconds. If the call takes long, the
//! monitor *replaces* the worker: what waits behind the item goes to the injector, the runtime gives
//! away what it owns, and another native thread becomes a worker in its place. When the call returns,
//! there may be a worker too many for a while: one of them parks as soon as it has nothing in hand.
//!
//! ```text
//!            go_outside                monitor: the same call in two looks
//!   INSIDE ────────────▶ OUTSIDE(n) ───────────────────────────▶ REPLACING(n)
//!     ▲                      │                                        │ monitor: the runtime and
//!     │     come_back        │                                        │ the queue are seen to
//!     ├──────────────────────┘                                        ▼
//!     └────────────────────────── come_back ───────────────────── REPLACED(n)
//! ```
//!
//! A worker that knows that its call takes long goes to REPLACED at once, and does what the monitor would have done.
//!
//! The number of the call is in the word, so the monitor never takes one call for another. A worker that
//! comes back while it is being replaced waits for the end of that: it takes microseconds.
//!
//! Orderings: going outside releases what the worker has done to its queue and its item, and the
//! monitor's exchange acquires it; `REPLACED` releases what the monitor did, and coming back acquires
//! it. The monitor must be awake while a worker is outside, so the worker recalls it (`watch.rs`).

use crate::sync::{AtomicU64, Ordering};

const INSIDE: u64 = 0;
const OUTSIDE: u64 = 1;
const REPLACING: u64 = 2;
const REPLACED: u64 = 3;
const STATE: u64 = 3;
/// What the number of a call is counted in.
const CALL: u64 = 4;

/// Where a worker is.
pub(crate) struct Whereabouts(AtomicU64);

/// A call that was seen under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Call(u64);

/// How a worker finds things when it comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Return {
    /// As it left them.
    Undisturbed,
    /// Another one is in its place, and the runtime has given away what the item owned.
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

    /// Called by the worker, which sees to its own replacement.
    pub(crate) fn leave_for_long(&self) {
        let call = self.0.load(Ordering::Relaxed) & !STATE;
        self.0.store(call.wrapping_add(CALL) | REPLACED, Ordering::Release);
    }

    /// Called by the worker: whether it is inside again. If not, it is being replaced.
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

    /// Called by anybody: whether there is a call under way.
    pub(crate) fn is_outside(&self) -> bool {
        self.0.load(Ordering::Relaxed) & STATE != INSIDE
    }

    /// Called by the monitor: the call under way.
    pub(crate) fn call(&self) -> Option<Call> {
        let word = self.0.load(Ordering::Relaxed);
        (word & STATE == OUTSIDE).then_some(Call(word))
    }

    /// Called by the monitor: whether the call is still under way, and the worker waits for
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

    /// A worker goes outside twice while the monitor tries to replace it: what it owns belongs to one of
    /// the two at any time.
    #[test]
    fn what_the_item_owns_has_one_owner() {
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
