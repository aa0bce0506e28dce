//! The limit of a thread's frames, which is also the means to make the thread poll. Calls compare with it, and other
//! threads reset it.
//!
//! Code compares each new frame with the limit anyway, so a limit of zero brings the thread to its next poll without
//! extra cost. The thread sets its limit when it continues in another chunk of a stack or with another strand; other
//! threads make requests at any time:
//!
//! ```text
//!   thread:  limit := end of the chunk;  LIGHT fence;  what was asked?  then limit := 0
//!   others:  say what is asked;  HEAVY fence;  limit := 0
//! ```
//!
//! The requests themselves are bits of one word beside the limit ([`Requests`]), so the thread's look is one load.
//!
//! Invariant: no request is lost. If the thread's limit overwrites the zero of another thread, that thread's fence came
//! before this thread's load, which therefore sees the request ([`fences`]).

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use crate::state::fences;
use crate::state::thread::Thread;

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

    /// Makes this thread poll.
    #[inline(always)]
    pub fn ask(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Makes the thread poll; another thread calls this after it has stored its request.
    pub fn ask_from_outside(&self) {
        fences::heavy();
        self.0.store(0, Ordering::Release);
    }
}

impl Thread {
    /// A strand begins, on a stack that may have overflowed in another life.
    #[inline]
    pub(super) fn forget_overflow(&mut self) {
        if self.stack().close_reserve() {
            self.reset_limit();
        }
    }
}

/// The requests to a thread at its next poll.
pub struct Requests(AtomicU8);

/// One request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Request {
    /// The strand that runs is to give way.
    GiveWay = 1,
    /// The scheduler has a request, which the thread's worker knows.
    AskScheduler = 2,
    /// The thread is to come to a slow poll each time. This request stays.
    PollAlways = 4,
    /// The thread is to take a sample.
    Sample = 8,
}

impl Requests {
    /// No request, or only the one to poll always.
    pub fn new(polls_always: bool) -> Requests {
        Requests(AtomicU8::new(if polls_always { Request::PollAlways as u8 } else { 0 }))
    }

    /// Adds a request.
    #[inline]
    pub fn add(&self, request: Request) {
        self.0.fetch_or(request as u8, Ordering::Release);
    }

    /// Whether there is any.
    #[inline(always)]
    pub fn has_any(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Whether there is one but [`Request::PollAlways`].
    #[inline(always)]
    pub fn has_new(&self) -> bool {
        self.0.load(Ordering::Relaxed) & !(Request::PollAlways as u8) != 0
    }

    /// The thread polls, and heeds these requests now. Answers whether the strand is to give way.
    pub fn take(&self) -> bool {
        let taken = Request::GiveWay as u8 | Request::AskScheduler as u8;
        let asked = self.0.fetch_and(!taken, Ordering::Relaxed);
        asked & Request::GiveWay as u8 != 0
    }

    /// The thread takes a sample after this, if there is one to take, and sees all periods that were counted before the request.
    pub fn take_sample(&self) {
        if self.0.load(Ordering::Relaxed) & Request::Sample as u8 != 0 {
            self.0.fetch_and(!(Request::Sample as u8), Ordering::Acquire);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_that_is_asked_for_during_a_poll_is_taken_at_the_next_one() {
        let requests = Requests::new(false);
        requests.add(Request::Sample);
        requests.take_sample();
        assert!(!requests.has_any());
        requests.add(Request::GiveWay);
        requests.add(Request::Sample);
        assert!(requests.take());
        assert!(requests.has_new());
        requests.take_sample();
        assert!(!requests.has_any() && !requests.take());
    }

    #[test]
    fn polling_always_stays() {
        let requests = Requests::new(true);
        requests.add(Request::AskScheduler);
        assert!(!requests.take() && requests.has_any() && !requests.has_new());
    }
}
