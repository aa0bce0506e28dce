//! Pins: count the users of a resource that may be released at any time. Blocks of memory and callbacks have them.
//!
//! [`Pins`] belong to a resource that C may hold. A user *pins* the resource meanwhile; the owner *retires* it, once.
//! The resource is disposed of exactly once, when it is retired and has no pins: by the thread that gives back the last
//! pin.
//!
//! One word:
//!
//! ```text
//!   63                    1   0
//!  ┌───────────────────────┬───────┐
//!  │ number of pins        │retired│
//!  └───────────────────────┴───────┘
//! ```
//!
//! | transition | from → to | by |
//! |---|---|---|
//! | `pin` | `(n, live)` → `(n + 1, live)` | any thread; refused if retired |
//! | `retire` | `(n, live)` → `(n + 1, retired)` | the first caller, which then has a pin to give back |
//! | `unpin` | `(n, …)` → `(n - 1, …)` | a thread with a pin; if it makes the word `(0, retired)`, it disposes |
//!
//! A retired resource cannot be pinned, so `(0, retired)` is reached once and never left.

use crate::sync::{AtomicUsize, Ordering, fence};

const RETIRED: usize = 1;
const PIN: usize = 2;

/// The uses of a resource.
pub(crate) struct Pins(AtomicUsize);

/// The caller's duty after giving a pin back.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unpinned {
    /// None: the resource lives, or other threads use it.
    Done,
    /// Dispose of the resource: no other thread will.
    Dispose,
}

impl Pins {
    pub(crate) fn new() -> Pins {
        Pins(AtomicUsize::new(0))
    }

    /// Pins the resource; false if it is retired.
    #[inline]
    #[must_use]
    pub(crate) fn pin(&self) -> bool {
        self.change(PIN)
    }

    /// Retires the resource and pins it; false if it was retired already.
    #[must_use]
    pub(crate) fn retire(&self) -> bool {
        self.change(PIN | RETIRED)
    }

    /// Adds to the word of a live resource.
    #[inline]
    fn change(&self, addend: usize) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while word & RETIRED == 0 {
            // Relaxed: the resource was initialised before it was shared, and the thread that disposes of it waits for
            // the `unpin`, which releases.
            let next = word + addend;
            match self.0.compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Gives a pin back.
    #[inline]
    pub(crate) fn unpin(&self) -> Unpinned {
        // Release pairs with the fence below: all uses come before the disposal.
        let word = self.0.fetch_sub(PIN, Ordering::Release);
        debug_assert!(word >= PIN, "a pin is given back once");
        if word != PIN | RETIRED {
            return Unpinned::Done;
        }
        // Acquire pairs with the release of all other `unpin`s.
        fence(Ordering::Acquire);
        Unpinned::Dispose
    }

    /// Whether it has been retired. Without a pin, it may be retired before the caller uses the answer.
    #[inline]
    pub(crate) fn is_retired(&self) -> bool {
        self.0.load(Ordering::Relaxed) & RETIRED != 0
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_disposes() {
        let pins = Pins::new();
        assert!(pins.pin() && pins.pin());
        assert_eq!(pins.unpin(), Unpinned::Done);
        assert!(pins.retire() && !pins.retire() && !pins.pin() && pins.is_retired());
        assert_eq!(pins.unpin(), Unpinned::Done);
        assert_eq!(pins.unpin(), Unpinned::Dispose);
        assert!(!pins.pin() && !pins.retire());
    }

    #[test]
    fn who_retires_disposes_if_nobody_pins() {
        let pins = Pins::new();
        assert!(pins.pin());
        assert_eq!(pins.unpin(), Unpinned::Done);
        assert!(pins.retire());
        assert_eq!(pins.unpin(), Unpinned::Dispose);
    }
}

#[cfg(all(test, feature = "loom"))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    /// A resource under loom's observation: a use and the disposal must not overlap.
    struct Resource {
        pins: Pins,
        contents: UnsafeCell<u32>,
        disposed: AtomicUsize,
    }

    impl Resource {
        fn use_it(&self) {
            if self.pins.pin() {
                // SAFETY: the pin prevents the disposal; the model checks that.
                self.contents.with(|contents| assert_eq!(unsafe { *contents }, 7));
                self.unpin();
            }
        }

        fn retire(&self) {
            if self.pins.retire() {
                self.unpin();
            }
        }

        fn unpin(&self) {
            if self.pins.unpin() == Unpinned::Dispose {
                // SAFETY: there are no pins any more; the model checks that.
                self.contents.with_mut(|contents| unsafe { *contents = 0 });
                self.disposed.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    #[test]
    fn what_is_used_is_not_disposed_of() {
        // All interleavings with at most three pre-emptions; without a bound there are too many.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let resource = Arc::new(Resource {
                pins: Pins::new(),
                contents: UnsafeCell::new(7),
                disposed: AtomicUsize::new(0),
            });
            let others: Vec<_> = [Resource::use_it, Resource::retire]
                .map(|act| {
                    let resource = resource.clone();
                    thread::spawn(move || act(&resource))
                })
                .into();
            resource.use_it();
            resource.retire();
            for other in others {
                other.join().expect("it does not panic");
            }
            assert_eq!(resource.disposed.load(Ordering::Relaxed), 1);
        });
    }
}
