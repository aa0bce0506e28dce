//! The status of a strand: one word with all state that several native threads may change, and its transitions.
//!
//! ```text
//!  63                          12 11            5   4      3       2         1        0
//! ┌──────────────────────────────┬───────────────┬──────┬──────┬─────────┬───────────┬────────┐
//! │ ticket                       │ priority      │ free │ held │ patient │ suspended │ killed │
//! └──────────────────────────────┴───────────────┴──────┴──────┴─────────┴───────────┴────────┘
//! ```
//!
//! ```text
//!   FREE ──make──▶ OWNED ──park, suspend_itself, hold_up──▶ PARKED
//!     ▲             │ ▲                                       │
//!     └───finish────┘ └──────claim, claim_patient, kill, resume
//! ```
//!
//! *Owned*: the strand belongs to one native thread or to one queue. It runs, or is ready, or was claimed and will be
//! ready soon. An owner hands it on through a queue, which synchronises, so this needs no transition. *Parked*: the
//! strand belongs to no thread. Its ticket is odd; the thread that makes the ticket even owns the strand. A ticket is
//! never used again, not even after the native part has become another strand, so it serves as the generation of the
//! word.
//!
//! - *killed*: the strand is to end. *suspended*: the strand is not to go on. Both can be set at any time, and the owner
//!   checks them before it runs the strand.
//! - *held*: the strand is parked only because it was suspended.
//! - *patient*: `kill` does not end the current wait.
//!
//! Suspension is a state, not a count: one `resume` ends it, and so does `kill`.
//!
//! A guest names a strand by its object, and the native part may have begun another life in the meantime. So
//! [`Status::kill`], `suspend`, `resume` and `set_priority` check that the life is still the same *after* they have read
//! the word that they replace. Each life ends with a new ticket, so a word that was replaced belonged to this life.
//!
//! Cost: parking is one read-modify-write, and so are a claim and the beginning and the end of a life. Resuming and
//! queueing a strand needs none.

use std::sync::atomic::Ordering;

use crate::sync::AtomicU64;

#[cfg(all(test, feature = "loom"))]
mod model;

const KILLED: u64 = 1;
const SUSPENDED: u64 = 1 << 1;
const PATIENT: u64 = 1 << 2;
const HELD: u64 = 1 << 3;
const FREE: u64 = 1 << 4;
const PRIORITY: u64 = 0x7F << PRIORITY_SHIFT;
const PRIORITY_SHIFT: u32 = 5;
const TICKET: u64 = 1 << TICKET_SHIFT;
const TICKET_SHIFT: u32 = 12;

/// See the head of the file.
#[derive(Debug)]
pub struct Status(AtomicU64);

/// What was found when a strand parked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parked {
    /// The ticket that it is parked with.
    pub ticket: u64,
    /// Whether it had been killed before. A later `kill` finds it parked.
    pub was_killed: bool,
}

/// What became of a strand that was asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Killed {
    /// It was parked, and belongs to the caller now.
    Claimed,
    /// It is in a patient wait, which goes on.
    Patient,
    /// It belongs to another thread or queue. The caller makes its owner check the flag.
    Owned,
}

/// What became of a strand that was to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resumed {
    /// It was held, and belongs to the caller now.
    Claimed,
    /// It was suspended, and had not been held up yet.
    Unnoticed,
    /// It was not suspended.
    NotSuspended,
}

fn ticket(word: u64) -> u64 {
    word >> TICKET_SHIFT
}

fn is_parked(word: u64) -> bool {
    word & TICKET != 0
}

/// What a claim makes of the word of a parked strand.
fn claimed(word: u64) -> u64 {
    (word + TICKET) & !(PATIENT | HELD)
}

impl Default for Status {
    fn default() -> Status {
        Status(AtomicU64::new(FREE))
    }
}

/// Queries, for any thread. The answer may be out of date when it arrives.
impl Status {
    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Whether the native part is free.
    pub fn is_free(&self) -> bool {
        self.load() & FREE != 0
    }

    /// Whether the strand is parked.
    pub fn is_parked(&self) -> bool {
        is_parked(self.load())
    }

    /// The ticket that it is parked with, if it is.
    pub fn ticket(&self) -> u64 {
        ticket(self.load())
    }

    /// Whether it is to end.
    #[inline]
    pub fn is_killed(&self) -> bool {
        self.load() & KILLED != 0
    }

    /// Whether the owner has to [hold it up](Status::hold_up).
    #[inline]
    pub fn is_suspended(&self) -> bool {
        self.load() & (SUSPENDED | KILLED) == SUSPENDED
    }

    /// From 1, the least, to 80.
    #[inline]
    pub fn priority(&self) -> u8 {
        ((self.load() & PRIORITY) >> PRIORITY_SHIFT) as u8
    }
}

/// Transitions by the owner of the strand.
impl Status {
    /// A free strand begins a life, and belongs to the caller.
    pub fn make(&self, priority: u8) {
        let bits = u64::from(priority) << PRIORITY_SHIFT;
        let was = self.change(|word| Some(word & !(TICKET - 1) | bits));
        debug_assert!(was.is_ok_and(|word| word & FREE != 0), "a life begins with a free strand");
    }

    /// The life of a strand ends, which belongs to the caller, or is parked and lost.
    pub fn finish(&self) {
        let next = |word: u64| ((word | TICKET) & !(TICKET - 1)) + TICKET;
        _ = self.change(|word| Some(next(word) | FREE));
    }

    /// Parks the strand with a new ticket. All state that other threads need must have been saved before.
    #[inline]
    pub fn park(&self) -> Parked {
        self.park_with(0)
    }

    /// As [`Status::park`], for a wait that is not cut short.
    pub fn park_patiently(&self) -> Parked {
        self.park_with(PATIENT)
    }

    #[inline]
    fn park_with(&self, flag: u64) -> Parked {
        // An owned strand is neither parked nor patient, so the sum changes nothing else.
        let word = self.0.fetch_add(TICKET + flag, Ordering::AcqRel);
        debug_assert!(!is_parked(word) && word & (PATIENT | HELD) == 0, "it is owned");
        Parked { ticket: ticket(word) + 1, was_killed: word & KILLED != 0 }
    }

    /// The strand suspends itself: it is parked until it is resumed.
    pub fn suspend_itself(&self) -> Parked {
        let suspended = |word: u64| Some((word | SUSPENDED | HELD) + TICKET);
        let word = self.change(suspended).unwrap_or_else(|word| word);
        Parked { ticket: ticket(word) + 1, was_killed: word & KILLED != 0 }
    }

    /// Parks a strand that is suspended and would go on now; whether it was.
    pub fn hold_up(&self) -> bool {
        let held = |word: u64| {
            (word & (SUSPENDED | KILLED) == SUSPENDED).then_some((word | HELD) + TICKET)
        };
        self.change(held).is_ok()
    }

    /// The strand begins to end; it may be killed once more.
    pub fn forget_kill(&self) {
        self.0.fetch_and(!KILLED, Ordering::Relaxed);
    }
}

/// Transitions by other threads, which name a ticket or a life.
impl Status {
    /// Claims the strand from the wait with this ticket; whether it belongs to the caller now.
    #[inline]
    pub fn claim(&self, of: u64) -> bool {
        self.change(|word| (ticket(word) == of && is_parked(word)).then_some(claimed(word))).is_ok()
    }

    /// Claims the strand from its patient wait; whether it belongs to the caller now.
    pub fn claim_patient(&self) -> bool {
        self.change(|word| (word & PATIENT != 0).then_some(claimed(word))).is_ok()
    }

    /// Kills the strand, in this life; `None` if the life has ended.
    pub fn kill(&self, is_same_life: impl Fn() -> bool) -> Option<Killed> {
        let killed = |word: u64| match kill_of(word) {
            Killed::Claimed => claimed(word) & !SUSPENDED | KILLED,
            Killed::Patient | Killed::Owned => word & !SUSPENDED | KILLED,
        };
        self.change_life(is_same_life, killed).map(kill_of)
    }

    /// Suspends the strand, in this life; false if the life has ended. The caller makes the owner check the flag.
    pub fn suspend(&self, is_same_life: impl Fn() -> bool) -> bool {
        self.change_life(is_same_life, |word| word | SUSPENDED).is_some()
    }

    /// Ends the suspension of the strand, in this life; `None` if the life has ended.
    pub fn resume(&self, is_same_life: impl Fn() -> bool) -> Option<Resumed> {
        let resumed = |word: u64| match word & HELD {
            0 => word & !SUSPENDED,
            _ => claimed(word) & !SUSPENDED,
        };
        let word = self.change_life(is_same_life, resumed)?;
        Some(match (word & HELD != 0, word & SUSPENDED != 0) {
            (true, _) => Resumed::Claimed,
            (_, true) => Resumed::Unnoticed,
            (_, false) => Resumed::NotSuspended,
        })
    }

    /// Changes the priority, in this life; false if the life has ended.
    pub fn set_priority(&self, is_same_life: impl Fn() -> bool, priority: u8) -> bool {
        let bits = u64::from(priority) << PRIORITY_SHIFT;
        self.change_life(is_same_life, |word| word & !PRIORITY | bits).is_some()
    }

    /// Replaces the word by what is made of it, if anything; answers what it was.
    #[inline]
    fn change(&self, change: impl Fn(u64) -> Option<u64>) -> Result<u64, u64> {
        let mut word = self.0.load(Ordering::Relaxed);
        while let Some(new) = change(word) {
            match self.0.compare_exchange_weak(word, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Ok(word),
                Err(current) => word = current,
            }
        }
        Err(word)
    }

    /// As [`Status::change`], in one life.
    fn change_life(
        &self,
        is_same_life: impl Fn() -> bool,
        change: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        loop {
            // The acquire pairs with the release of `make`: what is looked at next is of this life or a later one.
            let word = self.load();
            if word & FREE != 0 || !is_same_life() {
                return None;
            }
            let new = change(word);
            let ordering = (Ordering::AcqRel, Ordering::Relaxed);
            if self.0.compare_exchange_weak(word, new, ordering.0, ordering.1).is_ok() {
                return Some(word);
            }
        }
    }
}

/// What `kill` makes of a strand with this word.
fn kill_of(word: u64) -> Killed {
    match (is_parked(word), word & PATIENT != 0) {
        (true, false) => Killed::Claimed,
        (true, true) => Killed::Patient,
        (false, _) => Killed::Owned,
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    fn made() -> Status {
        let status = Status::default();
        status.make(40);
        status
    }

    fn always() -> bool {
        true
    }

    #[test]
    fn a_ticket_is_claimed_once() {
        let status = made();
        let ticket = status.park().ticket;
        assert!(!status.claim(ticket + 1) && !status.claim(ticket - 1));
        assert!(status.claim(ticket) && !status.claim(ticket) && !status.is_parked());
        assert_ne!(status.park().ticket, ticket);
    }

    #[test]
    fn suspension_is_a_state() {
        let status = made();
        assert_eq!(status.resume(always), Some(Resumed::NotSuspended));
        assert!(status.suspend(always) && status.suspend(always));
        assert!(status.hold_up() && status.is_parked());
        assert!(status.suspend(always));
        assert_eq!(status.resume(always), Some(Resumed::Claimed));
        assert!(!status.hold_up());
        let ticket = status.park().ticket;
        assert!(status.suspend(always));
        assert_eq!(status.resume(always), Some(Resumed::Unnoticed));
        assert!(status.claim(ticket) && !status.hold_up());
        status.suspend(always);
        status.suspend_itself();
        assert_eq!(status.resume(always), Some(Resumed::Claimed));
    }

    #[test]
    fn who_is_killed_is_suspended_no_longer() {
        let status = made();
        status.suspend_itself();
        assert_eq!(status.kill(always), Some(Killed::Claimed));
        status.forget_kill();
        assert!(!status.hold_up());
        assert_eq!(status.kill(always), Some(Killed::Owned));
        assert!(status.suspend(always) && !status.hold_up());
    }

    #[test]
    fn the_patient_are_ended_later() {
        let status = made();
        assert!(!status.park_patiently().was_killed);
        assert_eq!(status.kill(always), Some(Killed::Patient));
        assert!(status.claim_patient() && !status.claim_patient());
        assert!(status.is_killed() && status.park().was_killed);
    }

    #[test]
    fn nothing_happens_to_another_life() {
        let status = made();
        status.finish();
        assert_eq!(status.kill(always), None);
        status.make(40);
        assert_eq!(status.kill(|| false), None);
        assert!(!status.is_killed() && !status.set_priority(|| false, 50));
        assert!(status.set_priority(always, 80) && status.suspend(always));
        assert_eq!((status.priority(), status.is_killed()), (80, false));
    }

    #[test]
    fn a_life_that_begins_while_somebody_looks_is_another_one() {
        let status = made();
        let begins_again = std::cell::Cell::new(true);
        let answer = status.kill(|| {
            if begins_again.replace(false) {
                status.finish();
                status.make(40);
                return true;
            }
            false
        });
        assert_eq!(answer, None);
        assert!(!status.is_killed());
    }
}
