//! The time that strands wait, and messages in mailboxes, for profiles. Where a strand parks and goes on, and where a message
//! is put into a mailbox and taken, the [tables](squall_events::profile::waits) of the thread's samples learn of it.
//!
//! A clock is read for a few waits in each period only, so a program that does nothing but communicate runs almost as fast as
//! without a profile. A thread counts its waits, and *chooses* one in so many, about `CHOSEN` in a period; the next is
//! as far away as chance says. A wait that was chosen stands for those that have passed since the last one. Waits
//! that are long (`LONG`) are all measured, in the milliseconds that strands note anyway, and stand for themselves: so neither the rare long
//! wait nor the frequent short one is missed.
//!
//! A message that is measured has a hash, and its vat counts those that are in its mailbox.
//!
//! Invariants:
//!
//! - A strand's [timing](Timing) says whether it parked and did not go on since. The thread with the right to the strand changes it.
//! - A message gets its hash before it is in the mailbox; others have none.
//! - A wait that has begun and is measured is in [`Begun`]. That holds at most `MOST`, and forgets all when it is full: then a
//!   strand or message finds nothing, and is as one that was not chosen.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem::replace;

use parking_lot::Mutex;
use squall_events::profile::waits::Cause;
use squall_events::table::Reason;
use squall_heap::{Object, Word};

use crate::state::recording::{
    now, number_of_call_in, number_of_object, reason_of, site_of_message,
};
use crate::state::strand::{Claimed, Running, Wait, slots};
use crate::state::thread::Thread;
use crate::state::vat::VatRef;

/// About how many waits are chosen in a period.
const CHOSEN: u32 = 24;

/// A wait is long from so many milliseconds on.
const LONG: i32 = 4;

/// The most waits that are measured at a time.
const MOST: usize = 1 << 16;

/// Whether a strand has parked and not gone on since, while a profile is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Timing {
    /// It has not.
    None,
    /// It has.
    Waits,
    /// It has, and its wait was chosen.
    Measured,
}

/// When a wait has begun, in nanoseconds, for how many it stands, and the site of a message.
#[derive(Clone, Copy)]
struct Beginning {
    time: u64,
    weight: u32,
    site: u64,
}

/// The waits that were chosen and have not ended: of strands by their identities, of messages by the numbers of their vats and their
/// hashes.
#[derive(Default)]
pub struct Begun {
    strands: Table<u64>,
    messages: Table<(u64, u32)>,
}

type Table<K> = Mutex<HashMap<K, Beginning>>;

fn begin<K: Eq + Hash>(begun: &Table<K>, key: K, beginning: Beginning) {
    let mut begun = begun.lock();
    if begun.len() == MOST {
        begun.clear();
    }
    begun.insert(key, beginning);
}

/// What a thread chooses.
#[derive(Default)]
pub struct Choices {
    strands: Choice,
    messages: Choice,
}

impl Choices {
    /// So many periods have passed.
    pub fn end_periods(&mut self, count: u32) {
        self.strands.end_periods(count);
        self.messages.end_periods(count);
    }
}

/// Chooses some of what it counts.
struct Choice {
    /// How far away the next one is: 1 if it is the next.
    left: u32,
    /// How far it was from the last one, or from the end of the last period.
    distance: u32,
    /// How many there have been since the last one before the period.
    passed: u32,
    /// How many there have been in the period, up to the last one or to `passed`.
    count: u32,
    /// One in so many is chosen.
    stride: u32,
    random: u32,
}

impl Default for Choice {
    fn default() -> Choice {
        let random = 0x9e37_79b9;
        Choice { left: 1, distance: 1, passed: 0, count: 0, stride: 1, random }
    }
}

impl Choice {
    /// Counts one: whether it is chosen. Then `begin_next` follows.
    #[inline(always)]
    fn choose(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// Answers for how many the chosen one stands, and begins the way to the next one.
    fn begin_next(&mut self) -> u32 {
        let weight = self.passed + self.distance;
        self.count += self.distance;
        self.passed = 0;
        // Marsaglia, "Xorshift RNGs", 2003. The distance is the stride on average.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.distance = 1 + self.random % (2 * self.stride - 1);
        self.left = self.distance;
        weight
    }

    fn end_periods(&mut self, count: u32) {
        let passed = self.distance - self.left;
        self.passed += passed;
        self.stride = ((replace(&mut self.count, 0) + passed) / count.max(1) / CHOSEN).max(1);
        self.left = self.left.min(2 * self.stride);
        self.distance = self.left;
    }
}

/// The running strand is about to park.
#[inline(always)]
pub fn parks(thread: &mut Thread, strand: &Running) {
    strand.set_timing(Timing::Waits);
    if thread.choices.strands.choose() {
        begin_to_measure(thread, strand);
    }
}

#[cold]
fn begin_to_measure(thread: &mut Thread, strand: &Running) {
    let weight = thread.choices.strands.begin_next();
    let beginning = Beginning { time: now(thread.vm), weight, site: 0 };
    begin(&thread.vm.sampling.begun.strands, strand.strand().identity(), beginning);
    strand.set_timing(Timing::Measured);
}

/// A strand goes on here, which may have parked before. Its saved state is the thread's.
#[inline(always)]
pub fn goes_on(thread: &Thread, claimed: &Claimed) {
    let timing = claimed.timing();
    if timing == Timing::None {
        return;
    }
    claimed.set_timing(Timing::None);
    // Another thread may have looked at its clock later.
    let waited = thread.ticks.wrapping_sub(claimed.strand().parked_at()).cast_signed();
    if timing == Timing::Measured || waited >= LONG {
        end_wait(thread, claimed, timing, waited >= LONG);
    }
}

#[cold]
fn end_wait(thread: &Thread, claimed: &Claimed, timing: Timing, is_long: bool) {
    let strand = claimed.strand();
    let beginning = match timing {
        Timing::Measured => thread.vm.sampling.begun.strands.lock().remove(&strand.identity()),
        _ => None,
    };
    let (time, weight) = match beginning {
        Some(Beginning { time, weight, .. }) => {
            (now(thread.vm).saturating_sub(time), if is_long { 1 } else { weight })
        }
        None if is_long => {
            let milliseconds = thread.vm.ticks().wrapping_sub(strand.parked_at());
            (u64::from(milliseconds) * 1_000_000, 1)
        }
        None => return,
    };
    let awaited = strand.slot(slots::WAITS_FOR);
    let wait = if awaited == Word::NIL { Wait::Suspension } else { Wait::Ordinary };
    let cause = Cause {
        reason: reason_of(awaited, wait, false) as u64,
        entity: number_of_object(awaited),
        site: number_of_call_in(thread, claimed.site()),
    };
    add(thread, cause, time, weight);
}

/// A message is put into the mailbox of a vat, whose lock the thread has.
#[inline(always)]
pub(crate) fn message_posted(thread: &mut Thread, vat: VatRef, message: Object) {
    if thread.watch.profiles && thread.choices.messages.choose() {
        begin_message(thread, vat, message);
    }
}

#[cold]
fn begin_message(thread: &mut Thread, vat: VatRef, message: Object) {
    let weight = thread.choices.messages.begin_next();
    let beginning = Beginning { time: now(thread.vm), weight, site: site_of_message(message) };
    let key = (vat.number(thread.vm), message.hidden_hash());
    begin(&thread.vm.sampling.begun.messages, key, beginning);
    vat.begin_measured();
}

/// The vat's owner has taken a message from the mailbox.
#[inline(always)]
pub fn message_taken(thread: &Thread, vat: VatRef, message: Object) {
    if thread.watch.profiles
        && vat.has_measured()
        && let Some(hash) = message.assigned_hash()
    {
        end_message(thread, vat, hash);
    }
}

#[cold]
fn end_message(thread: &Thread, vat: VatRef, hash: u32) {
    let entity = vat.number(thread.vm);
    let beginning = thread.vm.sampling.begun.messages.lock().remove(&(entity, hash));
    vat.end_measured();
    if let Some(Beginning { time, weight, site }) = beginning {
        let cause = Cause { reason: Reason::Turn as u64, entity, site };
        add(thread, cause, now(thread.vm).saturating_sub(time), weight);
    }
}

fn add(thread: &Thread, cause: Cause, time: u64, weight: u32) {
    if let Some(sampler) = &thread.sampler {
        sampler.add_wait(cause, time, weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights of what was chosen.
    fn chosen(choice: &mut Choice, count: u32) -> Vec<u32> {
        let mut weights = Vec::new();
        for _ in 0..count {
            if choice.choose() {
                weights.push(choice.begin_next());
            }
        }
        weights
    }

    #[test]
    fn rare_waits_are_all_chosen() {
        let mut choice = Choice::default();
        for _ in 0..10 {
            assert_eq!(chosen(&mut choice, CHOSEN), [1; CHOSEN as usize]);
            choice.end_periods(1);
        }
    }

    #[test]
    fn those_that_are_chosen_stand_for_all() {
        let mut choice = Choice::default();
        let (mut total, mut weights) = (0, Vec::new());
        for period in 0..1000 {
            let count = 1000 + 3 * period;
            weights.extend(chosen(&mut choice, count));
            choice.end_periods(1);
            total += count;
        }
        let sum = weights.iter().sum::<u32>() + choice.passed;
        assert_eq!(choice.distance, choice.left, "a period has just ended");
        assert_eq!(sum, total);
        // The first period has no stride yet.
        let later = weights.len() - 1000;
        let wanted = 999 * CHOSEN as usize;
        assert!(later > wanted * 8 / 10 && later < wanted * 12 / 10, "{later} were chosen");
    }

    #[test]
    fn a_program_that_becomes_quiet_is_measured_again() {
        let mut choice = Choice::default();
        for _ in 0..3 {
            chosen(&mut choice, 1_000_000);
            choice.end_periods(1);
        }
        chosen(&mut choice, 10);
        choice.end_periods(1);
        chosen(&mut choice, 2);
        assert_eq!(chosen(&mut choice, 10), [1; 10]);
    }
}
