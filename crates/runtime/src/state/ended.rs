//! The end of the program, and its exit code. The primitives and the main turn set it; polls and workers on every
//! native thread read it.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// How a program ends.
///
/// The end of the program. It may be *near*: then the exit code is known, unless an error changes it, and ready strands
/// still run, but no strand waits for a time any more. When no item is left to run, the program has ended.
pub struct Ended {
    is_ended: AtomicBool,
    code: AtomicI64,
    /// The exit code if the end is near.
    near: AtomicI64,
    /// The scheduler's milliseconds at which the program ends with a seed, even if strands still run.
    pub(crate) due: AtomicU64,
}

/// In place of an exit code: the program has not ended.
const LIVE: i64 = i64::MIN;

impl Default for Ended {
    fn default() -> Ended {
        Ended {
            is_ended: AtomicBool::new(false),
            code: AtomicI64::new(LIVE),
            near: AtomicI64::new(LIVE),
            due: AtomicU64::new(u64::MAX),
        }
    }
}

impl Ended {
    /// The exit code, if the program has ended.
    pub fn code(&self) -> Option<i32> {
        // The acquire pairs with the release of `set`.
        self.is_ended.load(Ordering::Acquire).then(|| self.code.load(Ordering::Relaxed) as i32)
    }

    /// The exit code of a program whose end is near.
    pub fn near_code(&self) -> Option<i32> {
        let code = self.near.load(Ordering::Relaxed);
        (code != LIVE).then_some(code as i32)
    }

    /// The end is near, with this code; whether it was not before.
    pub(crate) fn set_near(&self, code: i32) -> bool {
        let code = i64::from(code);
        self.near.compare_exchange(LIVE, code, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The program ends with this code, unless it has ended already.
    pub fn set(&self, code: i32) {
        let code = i64::from(code);
        _ = self.code.compare_exchange(LIVE, code, Ordering::Relaxed, Ordering::Relaxed);
        self.is_ended.store(true, Ordering::Release);
    }
}
