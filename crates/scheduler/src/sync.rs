//! The primitives of the protocols: those of the standard library, or, when their interleavings are
//! explored, those of loom.

#[cfg(not(all(test, feature = "loom")))]
pub(crate) use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(all(test, feature = "loom"))]
pub(crate) use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};

use std::sync::PoisonError;

/// Locks `mutex`. What the scheduler's locks protect is right between any two statements, so a
/// panic of another thread spoils nothing.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
