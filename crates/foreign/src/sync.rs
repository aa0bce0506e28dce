//! The primitives of the pins: those of the standard library, or, when their interleavings are explored,
//! those of loom.

#[cfg(not(all(test, feature = "loom")))]
pub(crate) use std::sync::atomic::{AtomicUsize, Ordering, fence};

#[cfg(all(test, feature = "loom"))]
pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering, fence};
