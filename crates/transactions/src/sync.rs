//! The primitives of the protocol: those of the standard library, or, when its interleavings are
//! explored, those of loom.

#[cfg(not(all(test, feature = "loom")))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

#[cfg(all(test, feature = "loom"))]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

/// One more turn of a loop that waits for another native thread, which holds a lock for a few
/// instructions but may have lost its processor.
#[cfg(not(all(test, feature = "loom")))]
pub(crate) fn spin(spins: &mut u32) {
    const PATIENCE: u32 = 64;
    *spins += 1;
    if *spins < PATIENCE { std::hint::spin_loop() } else { std::thread::yield_now() }
}

/// As above: the other one gets on.
#[cfg(all(test, feature = "loom"))]
pub(crate) fn spin(spins: &mut u32) {
    *spins += 1;
    loom::thread::yield_now();
}

/// Between two sequentially consistent accesses: nothing.
#[cfg(not(all(test, feature = "loom")))]
#[inline(always)]
pub(crate) fn order() {}

/// Loom takes sequentially consistent accesses for weaker ones; fences it knows.
#[cfg(all(test, feature = "loom"))]
pub(crate) fn order() {
    fence(Ordering::SeqCst);
}

/// Keeps the compiler from moving a load before a store; the processor is kept from it by others: see
/// `sole.rs`.
#[cfg(not(all(test, feature = "loom")))]
#[inline(always)]
pub(crate) fn barrier_of_compiler() {
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Loom knows no barriers for all threads: here, each has its own.
#[cfg(all(test, feature = "loom"))]
pub(crate) fn barrier_of_compiler() {
    fence(Ordering::SeqCst);
}
