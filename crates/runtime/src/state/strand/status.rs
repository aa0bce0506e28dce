//! The status of a strand: all of its state that several native threads may change, and the transitions. `strand.rs`,
//! `strands.rs` and `worker.rs` make them.
//!
//! ```text
//!  phase   63                     3 2         1      0
//!         ┌────────────────────────┬─────────┬──────┐
//!         │ ticket                 │ patient │ held │
//!         └────────────────────────┴─────────┴──────┘
//!  wishes  63         11 10        4 3      2           1        0
//!         ┌─────────────┬───────────┬──────┬───────────┬────────┐
//!         │ life        │ priority  │ free │ suspended │ killed │
//!         └─────────────┴───────────┴──────┴───────────┴────────┘
//! ```
//!
//! ```text
//!   FREE ──make──▶ OWNED ──park, suspend_itself, hold_up──▶ PARKED
//!     ▲             │ ▲                                       │
//!     └───finish────┘ └──────claim, claim_patient, kill, resume
//! ```
//!
//! The *phase* says whose the strand is. *Owned*: the strand belongs to one native thread or to one queue. It runs, or is
//! ready, or was claimed and will be ready soon. Only the owner changes the phase, so it needs no read-modify-write. An
//! owner hands the strand on through a queue, which synchronises, so this needs no transition. *Parked*: the strand
//! belongs to no thread. Its ticket is odd; the thread that makes the ticket even owns the strand. A ticket is never used
//! again, not even after the native part has become another strand.
//!
//! - *held*: the strand is parked only because it was suspended.
//! - *patient*: `kill` does not end the current wait.
//!
//! The *wishes* are requests of other strands to this one. Any thread may change them at any time; the owner checks
//! them when it parks the strand, and before it runs the strand.
//!
//! - *killed*: the strand is to end. *suspended*: the strand is not to go on. Suspension is a state, not a count: one
//!   `resume` ends it, and so does `kill`.
//! - *life*: grows when a life of the native part ends. A guest names a strand by its object, and the native part may have
//!   begun another life in the meantime. So [`Status::kill`], `suspend`, `resume` and `set_priority` check that the life
//!   is still the same *after* they have read the word that they replace: a word that was replaced belonged to this life.
//!
//! ```text
//!   the owner                          another thread, in this life
//!   O1  phase := parked                K1  wishes := killed, or not suspended
//!   O2  light fence                    K2  heavy fence
//!   O3  wishes?                        K3  phase?
//! ```
//!
//! O3 sees the wish, or K3 sees that the strand is parked, or both; then one of the two claims the strand. K3 checks the
//! life once more before it claims, because the native part may have been parked in a later life.
//!
//! Cost: parking is two stores and a load, a life begins and ends with one store each, and a claim is one
//! read-modify-write. Resuming and queueing a strand needs nothing. [`fences`] gives the cost of the fences.

use std::sync::atomic::Ordering;

use crate::state::fences;
use crate::state::sync::AtomicU64;

#[cfg(all(test, feature = "loom"))]
mod model;

const HELD: u64 = 1;
const PATIENT: u64 = 1 << 1;
const TICKET: u64 = 1 << TICKET_SHIFT;
const TICKET_SHIFT: u32 = 2;

const KILLED: u64 = 1;
const SUSPENDED: u64 = 1 << 1;
const FREE: u64 = 1 << 2;
const PRIORITY: u64 = 0x7F << PRIORITY_SHIFT;
const PRIORITY_SHIFT: u32 = 3;
const LIFE: u64 = 1 << LIFE_SHIFT;
const LIFE_SHIFT: u32 = 10;

/// See the head of the file.
#[derive(Debug)]
pub struct Status {
    phase: AtomicU64,
    wishes: AtomicU64,
}

/// The findings at a strand's parking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parked {
    /// The ticket that it is parked with.
    pub ticket: u64,
    /// A wish that may have missed that the strand is parked. The caller fulfils it, if it can still claim the strand.
    pub missed: Option<Missed>,
}

/// A wish that came when a strand was about to park.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missed {
    /// The strand is to end.
    Kill,
    /// The strand, which suspended itself, is to continue.
    Resumption,
}

/// The result of a request to end a strand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Killed<Right = ()> {
    /// It was parked, and belongs to the caller now.
    Claimed(Right),
    /// It is in a patient wait, which continues.
    Patient,
    /// It belongs to another thread or queue. The caller makes its owner check the flag.
    Owned,
}

/// The result of a request to resume a strand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resumed<Right = ()> {
    /// It was held, and belongs to the caller now.
    Claimed(Right),
    /// It was suspended, and had not been held up yet.
    Unnoticed,
    /// It was not suspended.
    NotSuspended,
}

#[inline(always)]
fn ticket(phase: u64) -> u64 {
    phase >> TICKET_SHIFT
}

#[inline(always)]
fn is_parked(phase: u64) -> bool {
    phase & TICKET != 0
}

/// The phase of a parked strand after a claim.
fn claimed(phase: u64) -> u64 {
    (phase & !(PATIENT | HELD)) + TICKET
}

/// Whether a strand with these wishes is not to go on.
fn is_to_wait(wishes: u64) -> bool {
    wishes & (SUSPENDED | KILLED) == SUSPENDED
}

/// Stores a word that other threads may be about to replace: a replacement of the word before fails from now on.
#[cfg(not(all(test, feature = "loom")))]
#[inline]
fn overwrite(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::Release);
}

/// The store as an exchange: loom lets a replacement succeed although a store came between, which no processor does.
#[cfg(all(test, feature = "loom"))]
fn overwrite(word: &AtomicU64, value: u64) {
    word.swap(value, Ordering::AcqRel);
}

impl Default for Status {
    fn default() -> Status {
        Status { phase: AtomicU64::new(0), wishes: AtomicU64::new(FREE) }
    }
}

/// What machine code reads.
impl Status {
    /// Offset of the wishes.
    pub const WISHES: usize = std::mem::offset_of!(Status, wishes);

    /// The wish to [end](Status::is_killed) the strand.
    pub const KILLED: u64 = KILLED;
}

/// Queries, for any thread. The answer may be out of date when it arrives.
impl Status {
    #[inline(always)]
    fn phase(&self) -> u64 {
        self.phase.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn wishes(&self) -> u64 {
        self.wishes.load(Ordering::Acquire)
    }

    /// Whether the native part is free.
    pub fn is_free(&self) -> bool {
        self.wishes() & FREE != 0
    }

    /// Whether the strand is parked.
    pub fn is_parked(&self) -> bool {
        is_parked(self.phase())
    }

    /// The ticket that it is parked with, if it is.
    pub fn ticket(&self) -> u64 {
        ticket(self.phase())
    }

    /// Whether it is to end.
    #[inline]
    pub fn is_killed(&self) -> bool {
        self.wishes() & KILLED != 0
    }

    /// Whether it is to end, or not to go on.
    #[inline(always)]
    pub fn has_wishes(&self) -> bool {
        self.wishes() & (KILLED | SUSPENDED) != 0
    }

    /// Whether the owner has to [hold it up](Status::hold_up).
    #[inline]
    pub fn is_suspended(&self) -> bool {
        is_to_wait(self.wishes())
    }

    /// From 1, the least, to 80.
    #[inline]
    pub fn priority(&self) -> u8 {
        ((self.wishes() & PRIORITY) >> PRIORITY_SHIFT) as u8
    }
}

/// Transitions by the owner of the strand.
impl Status {
    /// A free strand begins a life, and belongs to the caller.
    pub fn make(&self, priority: u8) {
        // Relaxed: the native part is the caller's, which received it through a lock or freed it.
        let wishes = self.wishes.load(Ordering::Relaxed);
        debug_assert!(wishes & FREE != 0, "a life begins with a free strand");
        // A store: no other thread may change the wishes of a free strand.
        let life = wishes & !(LIFE - 1);
        overwrite(&self.wishes, life | u64::from(priority) << PRIORITY_SHIFT);
    }

    /// The life of a strand ends, which belongs to the caller, or is parked and lost.
    pub fn finish(&self) {
        // Stores: a wish that is overwritten was for this life, and later ones for it fail.
        let life = self.wishes.load(Ordering::Relaxed) & !(LIFE - 1);
        overwrite(&self.wishes, life.wrapping_add(LIFE) | FREE);
        let phase = self.phase.load(Ordering::Relaxed);
        overwrite(&self.phase, claimed(phase | TICKET));
    }

    /// Parks the strand with a new ticket. All state that other threads need must have been saved before.
    #[inline(always)]
    pub fn park(&self) -> Parked {
        self.park_with(0)
    }

    /// As [`Status::park`], for a wait that is not cut short.
    pub fn park_patiently(&self) -> Parked {
        self.park_with(PATIENT)
    }

    #[inline(always)]
    fn park_with(&self, flag: u64) -> Parked {
        let (ticket, wishes) = self.leave(flag);
        let missed = (wishes & KILLED != 0).then_some(Missed::Kill);
        Parked { ticket, missed }
    }

    /// O1 to O3: leaves the strand parked. Answers its ticket and the wishes after that.
    #[inline(always)]
    fn leave(&self, flag: u64) -> (u64, u64) {
        // Relaxed: only the owner changes the phase.
        let owned = self.phase.load(Ordering::Relaxed);
        debug_assert!(!is_parked(owned) && owned & (PATIENT | HELD) == 0, "it is owned");
        // Release: the thread that claims the strand finds its state.
        self.phase.store(owned + (TICKET | flag), Ordering::Release);
        fences::light();
        (ticket(owned) + 1, self.wishes())
    }

    /// The strand suspends itself: it is parked until it is resumed.
    pub fn suspend_itself(&self) -> Parked {
        self.wishes.fetch_or(SUSPENDED, Ordering::Relaxed);
        let (ticket, wishes) = self.leave(HELD);
        let missed = match (wishes & KILLED != 0, wishes & SUSPENDED != 0) {
            (true, _) => Some(Missed::Kill),
            (false, true) => None,
            (false, false) => Some(Missed::Resumption),
        };
        Parked { ticket, missed }
    }

    /// Parks a strand that is suspended and would go on now; whether it belongs to the caller no longer.
    pub fn hold_up(&self) -> bool {
        if !self.is_suspended() {
            return false;
        }
        let (ticket, wishes) = self.leave(HELD);
        is_to_wait(wishes) || !self.claim(ticket)
    }

    /// The strand begins to end; it may be killed once more.
    pub fn forget_kill(&self) {
        self.wishes.fetch_and(!KILLED, Ordering::Relaxed);
    }
}

/// Transitions by other threads, which name a ticket or a life.
impl Status {
    /// Claims the strand from the wait with this ticket; whether it belongs to the caller now.
    #[inline(always)]
    pub fn claim(&self, of: u64) -> bool {
        let phase = self.phase.load(Ordering::Relaxed);
        ticket(phase) == of && is_parked(phase) && self.replace_phase(phase)
    }

    /// Claims the strand from its patient wait; whether it belongs to the caller now.
    pub fn claim_patient(&self) -> bool {
        let phase = self.phase.load(Ordering::Relaxed);
        phase & PATIENT != 0 && self.replace_phase(phase)
    }

    /// Claims a strand with this phase, which was parked; whether it is the caller's now.
    #[inline(always)]
    fn replace_phase(&self, parked: u64) -> bool {
        // Acquire: pairs with the release of `leave`. A phase of a parked strand changes once.
        let (then, otherwise) = (Ordering::AcqRel, Ordering::Relaxed);
        self.phase.compare_exchange(parked, claimed(parked), then, otherwise).is_ok()
    }

    /// Kills the strand, in this life; `None` if the life has ended.
    pub fn kill(&self, is_same_life: impl Fn() -> bool) -> Option<Killed> {
        self.wish(&is_same_life, |wishes| wishes & !SUSPENDED | KILLED)?;
        fences::heavy();
        let phase = self.phase();
        Some(match (is_parked(phase) && is_same_life(), phase & PATIENT != 0) {
            (true, true) => Killed::Patient,
            (true, false) if self.replace_phase(phase) => Killed::Claimed(()),
            _ => Killed::Owned,
        })
    }

    /// Suspends the strand, in this life; false if the life has ended. The caller makes the owner check the flag.
    pub fn suspend(&self, is_same_life: impl Fn() -> bool) -> bool {
        self.wish(&is_same_life, |wishes| wishes | SUSPENDED).is_some()
    }

    /// Ends the suspension of the strand, in this life; `None` if the life has ended.
    pub fn resume(&self, is_same_life: impl Fn() -> bool) -> Option<Resumed> {
        let wishes = self.wish(&is_same_life, |wishes| wishes & !SUSPENDED)?;
        if wishes & SUSPENDED == 0 {
            return Some(Resumed::NotSuspended);
        }
        let mut phase = self.phase();
        if phase & HELD == 0 {
            // It may be about to be held up.
            fences::heavy();
            phase = self.phase();
        }
        let is_claimed = phase & HELD != 0 && is_same_life() && self.replace_phase(phase);
        Some(if is_claimed { Resumed::Claimed(()) } else { Resumed::Unnoticed })
    }

    /// Changes the priority, in this life; false if the life has ended.
    pub fn set_priority(&self, is_same_life: impl Fn() -> bool, priority: u8) -> bool {
        let bits = u64::from(priority) << PRIORITY_SHIFT;
        self.wish(&is_same_life, |wishes| wishes & !PRIORITY | bits).is_some()
    }

    /// Changes the wishes in one life; answers what they were, or `None` if the life has ended.
    fn wish(&self, is_same_life: &impl Fn() -> bool, change: impl Fn(u64) -> u64) -> Option<u64> {
        loop {
            // The acquire pairs with the release of `make`: the next reads are of this life or a later one.
            let wishes = self.wishes();
            if wishes & FREE != 0 || !is_same_life() {
                return None;
            }
            let (then, otherwise) = (Ordering::AcqRel, Ordering::Relaxed);
            let replaced =
                self.wishes.compare_exchange_weak(wishes, change(wishes), then, otherwise);
            if replaced.is_ok() {
                return Some(wishes);
            }
        }
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
        assert_eq!(status.resume(always), Some(Resumed::Claimed(())));
        assert!(!status.hold_up());
        let ticket = status.park().ticket;
        assert!(status.suspend(always));
        assert_eq!(status.resume(always), Some(Resumed::Unnoticed));
        assert!(status.claim(ticket) && !status.hold_up());
        status.suspend(always);
        status.suspend_itself();
        assert_eq!(status.resume(always), Some(Resumed::Claimed(())));
    }

    #[test]
    fn a_killed_strand_is_not_suspended() {
        let status = made();
        status.suspend_itself();
        assert_eq!(status.kill(always), Some(Killed::Claimed(())));
        status.forget_kill();
        assert!(!status.hold_up());
        assert_eq!(status.kill(always), Some(Killed::Owned));
        assert!(status.suspend(always) && !status.hold_up());
    }

    #[test]
    fn a_patient_wait_outlasts_a_kill() {
        let status = made();
        assert_eq!(status.park_patiently().missed, None);
        assert_eq!(status.kill(always), Some(Killed::Patient));
        assert!(status.claim_patient() && !status.claim_patient());
        assert!(status.is_killed());
        assert_eq!(status.park().missed, Some(Missed::Kill));
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
    fn a_life_that_begins_during_a_transition_is_spared() {
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
