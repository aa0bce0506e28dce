//! The primitives of the stop protocol: the standard library's, or loom's when its interleavings are explored.
//! `safepoint.rs` takes its atomics and locks from here.

#[cfg(not(all(test, feature = "loom")))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicU32, Ordering},
};

#[cfg(all(test, feature = "loom"))]
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicU32, Ordering},
};
