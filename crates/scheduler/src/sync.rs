//! The primitives of the crate's protocols: the standard library's, or loom's when a model explores interleavings. All
//! files whose protocols have models take their atomics and locks from here.

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

/// Locks `mutex`. Data under the scheduler's locks are consistent between any two statements, so they are usable after
/// a panic of another thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
