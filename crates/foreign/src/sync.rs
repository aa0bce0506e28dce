//! The primitives of the pins: the standard library's, or loom's when their interleavings are explored. `pins.rs` takes
//! its atomics from here.

#[cfg(not(all(test, feature = "loom")))]
pub(crate) use std::sync::atomic::{AtomicUsize, Ordering, fence};

#[cfg(all(test, feature = "loom"))]
pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering, fence};
