//! The primitives of the stop protocol: those of the standard library, or, when its interleavings
//! are explored, those of loom.

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
