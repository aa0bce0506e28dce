//! Who uses something that somebody may release at any time.
//!
//! [`Pins`] belong to a resource that C may hold (a block of memory, a callback). Whoever uses the
//! resource *pins* it meanwhile; whoever has enough of it *retires* it, once. The resource is disposed
//! of when it is retired and nobody pins it any more, by whoever is the last, exactly once.
//!
//! One word:
//!
//! ```text
//!   63                    1   0
//!  ┌───────────────────────┬───────┐
//!  │ how many pin it       │retired│
//!  └───────────────────────┴───────┘
//! ```
//!
//! | transition | from → to | who does it |
//! |---|---|---|
//! | `pin` | `(n, live)` → `(n + 1, live)` | anybody; refused if retired |
//! | `retire` | `(n, live)` → `(n + 1, retired)` | the first who asks, who then has a pin to give back |
//! | `unpin` | `(n, …)` → `(n - 1, …)` | who has a pin; who makes it `(0, retired)` disposes |
//!
//! Nobody pins what is retired, so `(0, retired)` is reached once and never left.

use crate::sync::{AtomicUsize, Ordering, fence};

const RETIRED: usize = 1;
const PIN: usize = 2;

/// The uses of a resource.
pub(crate) struct Pins(AtomicUsize);

/// What is to be done after giving a pin back.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unpinned {
    /// Nothing: the resource lives, or others use it.
    Done,
    /// Dispose of the resource: nobody else ever will.
    Dispose,
}

impl Pins {
    pub(crate) fn new() -> Pins {
        Pins(AtomicUsize::new(0))
    }

    /// Pins the resource, unless it is retired. Answers whether.
    #[inline]
    #[must_use]
    pub(crate) fn pin(&self) -> bool {
        self.change(PIN)
    }

    /// Retires the resource, unless it is retired already, and pins it. Answers whether.
    #[must_use]
    pub(crate) fn retire(&self) -> bool {
        self.change(PIN | RETIRED)
    }

    /// Adds to the word of a resource that lives.
    #[inline]
    fn change(&self, addend: usize) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while word & RETIRED == 0 {
            // Relaxed: what a pin guards was written before the resource was shared, and who disposes of it
            // waits for the `unpin`, which releases.
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
        // Acquire pairs with the release of every other `unpin`.
        fence(Ordering::Acquire);
        Unpinned::Dispose
    }

    /// Whether it has been retired. It may be before the answer is used, unless the caller pins it.
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

    /// A resource that loom watches: a use and the disposal must not overlap.
    struct Resource {
        pins: Pins,
        contents: UnsafeCell<u32>,
        disposed: AtomicUsize,
    }

    impl Resource {
        fn use_it(&self) {
            if self.pins.pin() {
                // SAFETY: the pin keeps the disposal away, which is what the model is to show.
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
                // SAFETY: nobody pins it any more, likewise.
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
