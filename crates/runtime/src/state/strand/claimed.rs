//! The right to a strand that does not run, as a value. The functions that win or make such a strand answer it, and
//! those that wake, queue or free the strand consume it (`concurrency::waiting`, `concurrency::worker`).
//!
//! Invariant: of each strand there is one [`Claimed`] at most, and none while the strand is parked, in a queue, or
//! running. So code that has one may access the strand's cells, no other thread does, and a strand is not put into two
//! queues.
//!
//! The transitions of [`super::status`] give the right away (`park`, `finish`) and give it out (`claim`, `kill`,
//! `resume`, `make`). Where a strand comes out of a queue or stops running, the right begins by [`Claimed::new`].

use super::StrandRef;

/// A strand that belongs to the caller. See the head of the file.
#[must_use = "a claimed strand that is put nowhere never runs again"]
#[derive(PartialEq, Eq, Debug)]
pub struct Claimed(StrandRef);

impl Claimed {
    /// The right to a strand.
    ///
    /// # Safety
    ///
    /// The strand belongs to the caller: it was just taken from its queue, or has just stopped running on this thread
    /// without being parked, or a transition of its status has just given it to the caller.
    #[inline(always)]
    pub unsafe fn new(strand: StrandRef) -> Claimed {
        Claimed(strand)
    }

    /// The strand, for a look at it while the right is kept.
    #[inline(always)]
    pub fn strand(&self) -> StrandRef {
        self.0
    }

    /// Gives the right up: the strand is put into a queue, is parked again, or runs.
    #[inline(always)]
    pub fn hand_on(self) -> StrandRef {
        self.0
    }
}

impl std::ops::Deref for Claimed {
    type Target = StrandRef;

    #[inline(always)]
    fn deref(&self) -> &StrandRef {
        &self.0
    }
}
