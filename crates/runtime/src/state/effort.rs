//! Effort: how much work an operation does that does not poll meanwhile. The operations on values of typed code, forks and
//! choices between channels count theirs here.
//!
//! A strand of a sandbox pays for its effort with fuel, and one operation of it takes at most [`LARGEST`] units: some
//! milliseconds. The limit is that of messages ([`crate::concurrency::isolation`]). Many operations in a row, without a loop or call
//! between them, are as good as a long one, so the instruction that comes to [`PIECE`] units polls
//! ([`crate::concurrency::polls::after_effort`]). The units depend on the values only, so all tiers poll at the same instructions.
//!
//! Strands outside of sandboxes pay nothing, and have no limit.

use crate::model::outcome::{Failure, FailureReason};
use crate::state::thread::Thread;

/// The most units of an operation of a sandbox, or of the way of a message out of it.
pub const LARGEST: usize = 1 << 20;

/// The units of effort before a strand polls: some fifty microseconds.
pub const PIECE: usize = 5_000;

/// How much work an object is beside its words.
pub const FOR_AN_OBJECT: usize = 8;

/// The effort of an operation that goes on.
pub struct Effort {
    units: usize,
    most: usize,
}

/// The operation takes more than a sandbox may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl From<TooLarge> for Failure {
    fn from(_: TooLarge) -> Failure {
        Failure::new(FailureReason::MessageTooLarge)
    }
}

impl Effort {
    /// No effort so far, with a limit.
    pub fn with_limit(most: usize) -> Effort {
        Effort { units: 0, most }
    }

    /// Adds the units of work that is about to be done; refused if that is too much.
    #[inline]
    pub fn add(&mut self, units: usize) -> Result<(), TooLarge> {
        self.units = self.units.saturating_add(units);
        if self.units <= self.most { Ok(()) } else { Err(TooLarge) }
    }

    /// The units of copying so many bytes at once.
    #[inline]
    pub fn add_copied(&mut self, bytes: usize) {
        /// As many bytes as are copied in the time of a unit.
        const IN_UNIT: usize = 64;
        // The budget of memory limits it.
        self.units = self.units.saturating_add(bytes / IN_UNIT);
    }

    /// The units so far.
    pub fn units(&self) -> usize {
        self.units
    }
}

impl Thread {
    /// Does an operation, for which the strand that runs here pays.
    #[inline]
    pub fn with_effort<T>(&mut self, operation: impl FnOnce(&mut Thread, &mut Effort) -> T) -> T {
        let most = if self.sandbox.is_some() { LARGEST } else { usize::MAX };
        let mut effort = Effort::with_limit(most);
        let result = operation(self, &mut effort);
        if self.sandbox.is_some() {
            self.charge(effort.units);
            self.metering.effort = self.metering.effort.saturating_add(effort.units);
        }
        result
    }
}
