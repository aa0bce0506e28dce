//! Threads that have the memory of a vat for themselves, and need no locks. Transactions and guarded accesses ask this
//! module.
//!
//! The protocol is [`squall_transactions::sole`]. This module decides which thread claims a memory, and when: a thread
//! that has begun many transactions and finds no other thread among the strands of the vat. The more often it was
//! wrong, or did not stay alone, the longer it waits, up to a few milliseconds: a failed claim takes some microseconds.

use std::sync::atomic::Ordering;

use squall_transactions::Presence;

use super::Transactions;
use super::memory::Memory;
use crate::state::fences;
use crate::state::thread::Thread;

/// A thread's presence, and its key.
#[derive(Clone, Copy)]
pub struct Seat {
    presence: &'static Presence,
    key: u64,
}

/// The number of transactions after which a thread claims the memory.
const CLAIMS: u64 = 1024;

/// The longest wait is two to this power times as long.
const MOST_DOUBT: u32 = 4;

impl Transactions {
    /// A seat for a thread: that of one that has ended, or a new one. Its keys begin with 1.
    pub(crate) fn take_seat(&self) -> Seat {
        let spare = self.spare_keys.lock().pop();
        let mut presences = self.presences.lock();
        if let Some(key) = spare {
            return Seat { presence: presences[key as usize - 1], key };
        }
        let presence: &'static Presence = Box::leak(Box::default());
        presences.push(presence);
        Seat { presence, key: presences.len() as u64 }
    }

    /// The thread with the seat runs no strands any more. A memory that it had for itself is that of the next thread on the
    /// seat.
    pub(crate) fn give_seat_back(&self, seat: Seat) {
        self.spare_keys.lock().push(seat.key);
    }
}

/// The thread begins to run strands of a vat that is guarded, if this is a memory.
#[inline]
pub(crate) fn enter(thread: &mut Thread, memory: Option<&'static Memory>) {
    thread.memory = memory;
    let Some(memory) = memory else { return leave(thread) };
    let Seat { presence, key } = thread.seat;
    if let Some(other) = presence.enter(memory.key(), &memory.sole, key) {
        take_away(thread, memory, other);
    }
}

/// The thread does not run strands of a guarded vat any more.
#[inline]
pub(crate) fn leave(thread: &mut Thread) {
    thread.memory = None;
    thread.seat.presence.leave();
}

#[cold]
fn take_away(thread: &Thread, memory: &Memory, key: u64) {
    let presence = thread.vm.transactions.presences.lock()[key as usize - 1];
    memory.sole.take_away(key, presence, fences::heavy);
    doubt(memory);
}

fn doubt(memory: &Memory) {
    let doubt = memory.doubt.load(Ordering::Relaxed);
    memory.doubt.store((doubt + 1).min(MOST_DOUBT), Ordering::Relaxed);
}

/// Claims the memory, if it is time for that, for a thread that has begun this many transactions.
#[cold]
pub(crate) fn claim_sometimes(thread: &Thread, memory: &Memory, begun: u64) {
    let interval = CLAIMS << memory.doubt.load(Ordering::Relaxed);
    if !begun.is_multiple_of(interval) || memory.sole.is_claimed() || !fences::are_asymmetric() {
        return;
    }
    let Seat { presence, key } = thread.seat;
    let others_are_in = || {
        let presences = thread.vm.transactions.presences.lock();
        presences.iter().any(|&one| !std::ptr::eq(one, presence) && one.is_in(memory.key()))
    };
    if !memory.sole.claim(key, fences::heavy, others_are_in) {
        doubt(memory);
    }
}

impl Seat {
    /// Runs `work`, a few stores without a GC point, as one step for other threads, if the thread has the memory for
    /// itself. Answers whether `work` was done, by its own account.
    #[inline(always)]
    pub(crate) fn if_sole(self, memory: &Memory, section: impl FnOnce() -> bool) -> bool {
        if !self.presence.begin_section(&memory.sole, self.key) {
            return false;
        }
        let is_done = section();
        self.presence.end_section();
        is_done
    }
}
