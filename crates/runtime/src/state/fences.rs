//! Fences of which one side costs nearly nothing. The status of strands, the limit of threads and the events of
//! transactions use them.
//!
//! Two threads that each store and then load the other's location need a fence between the two accesses, or neither may
//! see the other's store. If one side does this often and the other one seldom, the frequent side uses [`light`], a
//! fence for the compiler only, and the seldom side uses [`heavy`], which makes every processor that runs a thread of
//! the process execute a fence: `membarrier` of Linux (Dice, Huang, Yang, "Asymmetric Dekker Synchronization", 2001).
//! After it, each of the other threads has either made the stores before its light fence visible, or will see after
//! that fence the stores before the heavy one.
//!
//! Invariant: both are real fences unless [`are_asymmetric`], which is found out once, by [`prepare`].

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

/// Written once, by [`prepare`], which comes before every use: a light fence may read it without a question.
static ARE_ASYMMETRIC: AtomicBool = AtomicBool::new(false);

/// To be called before any thread uses a fence, and best before the process has a second one: then the system does it at
/// once, and in ten or twenty milliseconds otherwise.
pub fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| ARE_ASYMMETRIC.store(membarrier(REGISTER), Ordering::Relaxed));
}

/// Whether a light fence costs nothing, and a heavy one is a call of the system that takes a microsecond.
#[inline(always)]
pub fn are_asymmetric() -> bool {
    ARE_ASYMMETRIC.load(Ordering::Relaxed)
}

/// The fence of the frequent side.
#[cfg(not(all(test, feature = "loom")))]
#[inline(always)]
pub fn light() {
    if are_asymmetric() {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
}

/// The fence of the seldom side.
#[cfg(not(all(test, feature = "loom")))]
pub fn heavy() {
    if are_asymmetric() {
        let is_done = membarrier(BARRIER);
        assert!(is_done, "the system takes back a barrier that it has promised");
    } else {
        fence(Ordering::SeqCst);
    }
}

/// Both fences in a model.
#[cfg(all(test, feature = "loom"))]
mod modelled {
    pub fn light() {
        loom::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }

    pub fn heavy() {
        light();
    }
}

#[cfg(all(test, feature = "loom"))]
pub use modelled::{heavy, light};

#[cfg(target_os = "linux")]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call has no effect on memory but to order accesses; for an unknown command it fails.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn membarrier(_: libc::c_int) -> bool {
    false
}

/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`.
const BARRIER: libc::c_int = 8;
/// `MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED`.
const REGISTER: libc::c_int = 16;
