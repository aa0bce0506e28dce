//! The primitives of the protocol: the standard library's, or loom's when its interleavings are explored. The other
//! modules of the crate take their atomics from here.

#[cfg(not(all(test, feature = "loom")))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

#[cfg(all(test, feature = "loom"))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// One turn of a loop that waits for another native thread. That thread holds a lock for a few instructions, but may
/// have lost its processor.
#[cfg(not(all(test, feature = "loom")))]
pub(crate) fn spin(spins: &mut u32) {
    const PATIENCE: u32 = 64;
    *spins += 1;
    if *spins < PATIENCE { std::hint::spin_loop() } else { std::thread::yield_now() }
}

/// Lets another thread of the model run.
#[cfg(all(test, feature = "loom"))]
pub(crate) fn spin(spins: &mut u32) {
    *spins += 1;
    loom::thread::yield_now();
}

/// Between two sequentially consistent accesses: no fence is needed.
#[cfg(not(all(test, feature = "loom")))]
#[inline(always)]
pub(crate) fn order() {}

/// Loom treats sequentially consistent accesses as weaker ones, but knows sequentially consistent fences.
#[cfg(all(test, feature = "loom"))]
pub(crate) fn order() {
    fence(Ordering::SeqCst);
}

/// Keeps the compiler from moving a load before a store. The barriers of other threads keep the processor from it: see
/// `sole.rs`.
#[cfg(not(all(test, feature = "loom")))]
#[inline(always)]
pub(crate) fn barrier_of_compiler() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Loom has no barriers for all threads: in the model, each thread has its own.
#[cfg(all(test, feature = "loom"))]
pub(crate) fn barrier_of_compiler() {
    fence(Ordering::SeqCst);
}
