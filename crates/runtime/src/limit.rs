//! The limit of a thread's frames, which is also how it is asked to poll.
//!
//! Code compares each new frame with it anyway, so a limit of zero brings the thread to its next poll for nothing. The
//! thread sets its limit whenever it goes on in another chunk of a stack or with another strand; others ask at any time:
//!
//! ```text
//!   thread:  limit := end of the chunk;  LIGHT fence;  what was asked?  then limit := 0
//!   others:  say what is asked;  HEAVY fence;  limit := 0
//! ```
//!
//! Invariant: no request is lost. If the thread's limit overwrites the zero of another one, that one's fence came before the
//! thread's look, which therefore sees what was asked ([`fences`]).

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fences;

/// Frames must end below this address; zero asks the thread to poll.
#[repr(transparent)]
pub struct Limit(AtomicUsize);

impl Default for Limit {
    fn default() -> Limit {
        Limit(AtomicUsize::new(usize::MAX))
    }
}

impl Limit {
    /// The address, or zero.
    #[inline(always)]
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// The thread sets its limit; afterwards it looks whether something was asked.
    #[inline(always)]
    pub fn set(&self, address: usize) {
        self.0.store(address, Ordering::Relaxed);
        fences::light();
    }

    /// The thread itself is to poll.
    #[inline(always)]
    pub fn ask(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Another thread, which has said what for, wants this one to poll.
    pub fn ask_from_outside(&self) {
        fences::heavy();
        self.0.store(0, Ordering::Release);
    }
}
