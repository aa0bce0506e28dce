//! The protocol in all interleavings of small programs (loom).

use super::*;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

struct Memory {
    space: Space,
    cells: [AtomicU64; 2],
}

impl Memory {
    fn new() -> Arc<Memory> {
        Arc::new(Memory { space: Space::new(1), cells: [AtomicU64::new(0), AtomicU64::new(0)] })
    }

    fn get(&self, cell: u32) -> u64 {
        self.cells[cell as usize].load(Ordering::Relaxed)
    }

    fn set(&self, cell: u32, value: u64) {
        self.cells[cell as usize].store(value, Ordering::Release);
    }

    fn read(&self, attempt: &mut Attempt<()>, cell: u32) -> Result<u64, Conflict<()>> {
        attempt.read(&self.space, Stripe(cell), (), || self.get(cell))
    }

    /// Adds one to cells, if no other attempt interferes.
    fn increment(&self, cells: &[u32]) -> Result<(), Conflict<()>> {
        let mut attempt = Attempt::default();
        attempt.begin(&self.space);
        let mut values = Vec::new();
        for &cell in cells {
            values.push(self.read(&mut attempt, cell)?);
        }
        assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "an inconsistent state");
        attempt.acquire(&self.space, cells.iter().map(|&cell| Stripe(cell)))?;
        let time = attempt.prepare(&self.space)?;
        for (&cell, value) in cells.iter().zip(values) {
            self.set(cell, value + 1);
        }
        attempt.publish(&self.space, time, |_| {});
        Ok(())
    }
}

fn explore(program: fn()) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(program);
}

#[test]
fn two_increments_are_both_there_or_one_has_lost() {
    explore(|| {
        let memory = Memory::new();
        let other = Arc::clone(&memory);
        let other = thread::spawn(move || other.increment(&[0]).is_ok());
        let here = memory.increment(&[0]).is_ok();
        let there = other.join().unwrap();
        assert!(here || there, "somebody gets on");
        assert_eq!(memory.get(0), u64::from(here) + u64::from(there));
    });
}

#[test]
fn a_reader_sees_both_changes_or_none() {
    explore(|| {
        let memory = Memory::new();
        let other = Arc::clone(&memory);
        let other = thread::spawn(move || other.increment(&[0, 1]).unwrap());
        let mut attempt = Attempt::default();
        attempt.begin(&memory.space);
        if let Ok(left) = memory.read(&mut attempt, 0)
            && let Ok(right) = memory.read(&mut attempt, 1)
        {
            assert_eq!(left, right);
        }
        other.join().unwrap();
    });
}

#[test]
fn loads_outside_never_see_half_a_commit() {
    explore(|| {
        let memory = Memory::new();
        let other = Arc::clone(&memory);
        let other = thread::spawn(move || other.increment(&[0, 1]).unwrap());
        let load = |cell| memory.space.read(Stripe(cell), || memory.get(cell));
        let (left, right) = (load(0), load(1));
        assert!(left <= right, "the second load comes later");
        other.join().unwrap();
    });
}

#[test]
fn a_store_outside_is_never_lost_to_a_commit() {
    explore(|| {
        let memory = Memory::new();
        let other = Arc::clone(&memory);
        let other = thread::spawn(move || {
            let store = || other.set(0, 10);
            other.space.write(Stripe(0), store).unwrap();
        });
        let added = memory.increment(&[0]).is_ok();
        other.join().unwrap();
        let value = memory.get(0);
        assert!(value == 10 || added && value == 11, "{value}");
    });
}

/// A thread stores outside of transactions, and then loads another cell. A transaction that has read the old value of
/// the first cell and writes the value that is loaded comes before both accesses.
#[test]
fn stores_and_loads_outside_are_in_one_order_with_commits() {
    explore(|| {
        let memory = Memory::new();
        let other = Arc::clone(&memory);
        let other = thread::spawn(move || {
            other.space.write(Stripe(0), || other.set(0, 1)).unwrap();
            other.space.read(Stripe(1), || other.get(1))
        });
        let mut attempt = Attempt::default();
        attempt.begin(&memory.space);
        let read = memory.read(&mut attempt, 0);
        let committed = read.is_ok()
            && attempt.acquire(&memory.space, [Stripe(1)]).is_ok()
            && attempt.prepare(&memory.space).is_ok_and(|time| {
                memory.set(1, 1);
                attempt.publish(&memory.space, time, |_| {});
                true
            });
        let loaded = other.join().unwrap();
        if committed && read == Ok(0) {
            assert_eq!(loaded, 1, "the store came first, and was not read");
        }
    });
}

#[test]
fn an_inevitable_attempt_is_not_overtaken() {
    explore(|| {
        let memory = Memory::new();
        let other = Arc::clone(&memory);
        let other = thread::spawn(move || {
            (
                other.increment(&[0]).is_ok(),
                other.space.write(Stripe(0), || other.set(0, 10)).is_ok(),
            )
        });
        let mut attempt = Attempt::default();
        attempt.begin(&memory.space);
        attempt.make_inevitable(&memory.space, []).unwrap();
        let value = memory.read(&mut attempt, 0).unwrap();
        attempt.acquire(&memory.space, [Stripe(0)]).unwrap();
        let time = attempt.prepare(&memory.space).unwrap();
        assert_eq!(memory.get(0), value);
        memory.set(0, value + 100);
        attempt.publish(&memory.space, time, |_| {});
        let (added, stored) = other.join().unwrap();
        let value = memory.get(0);
        let possible = match (added, stored) {
            (false, false) => vec![100],
            (true, false) => vec![101],
            (false, true) => vec![10, 110],
            (true, true) => vec![10, 110],
        };
        assert!(possible.contains(&value), "{value} after {added} {stored}");
    });
}

#[test]
fn who_waits_for_a_change_is_told_or_sees_it() {
    explore(|| {
        let memory = Memory::new();
        let other = Arc::clone(&memory);
        let other = thread::spawn(move || {
            let store = || other.set(0, 1);
            other.space.write(Stripe(0), store).unwrap()
        });
        let mut attempt = Attempt::default();
        attempt.begin(&memory.space);
        if memory.read(&mut attempt, 0) == Ok(0) {
            let stripes: Vec<_> = attempt.stripes().collect();
            let waits = memory.space.watch(&stripes, attempt.snapshot());
            assert_eq!(waits, other.join().unwrap());
        } else {
            other.join().unwrap();
        }
    });
}

/// Two cells that are always written together, in sections without locks.
struct Unlocked {
    sole: Sole,
    presences: [Presence; 3],
    cells: [AtomicU64; 2],
}

const SPACE: u64 = 7;

impl Unlocked {
    fn new() -> Arc<Unlocked> {
        Arc::new(Unlocked {
            sole: Sole::default(),
            presences: Default::default(),
            cells: [AtomicU64::new(0), AtomicU64::new(0)],
        })
    }

    fn barrier() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }

    fn enter(&self, number: usize) {
        let own = number as u64 + 1;
        if let Some(key) = self.presences[number].enter(SPACE, &self.sole, own) {
            let other = &self.presences[key as usize - 1];
            self.sole.take_away(key, other, Unlocked::barrier);
        }
    }

    fn claim(&self, number: usize) -> bool {
        let is_other = |other: usize| other != number && self.presences[other].is_in(SPACE);
        let others_are_in = || (0..3).any(is_other);
        self.sole.claim(number as u64 + 1, Unlocked::barrier, others_are_in)
    }

    /// Adds one to both cells, if this thread has the space for itself; they must be equal before.
    fn section(&self, number: usize) -> bool {
        let own = number as u64 + 1;
        if !self.presences[number].begin_section(&self.sole, own) {
            return false;
        }
        let values = [0, 1].map(|cell: usize| self.cells[cell].load(Ordering::Relaxed));
        assert_eq!(values[0], values[1], "somebody else is in a section");
        self.cells.iter().for_each(|cell| cell.store(values[0] + 1, Ordering::Relaxed));
        self.presences[number].end_section();
        true
    }

    fn look(&self) {
        let values = [1, 0].map(|cell: usize| self.cells[cell].load(Ordering::Relaxed));
        assert_eq!(values[0], values[1], "half a section was seen");
    }
}

#[test]
fn who_enters_sees_whole_sections() {
    explore(|| {
        let unlocked = Unlocked::new();
        let other = Arc::clone(&unlocked);
        let other = thread::spawn(move || {
            other.enter(1);
            other.look();
            other.presences[1].leave();
        });
        unlocked.enter(0);
        unlocked.claim(0);
        unlocked.section(0);
        unlocked.section(0);
        other.join().unwrap();
    });
}

#[test]
fn who_enters_while_another_one_waits_waits_too() {
    explore(|| {
        let unlocked = Unlocked::new();
        unlocked.enter(0);
        assert!(unlocked.claim(0), "nobody else is there");
        // Another thread has begun to take the space away, and waits.
        let own = &unlocked.presences[0];
        assert!(own.begin_section(&unlocked.sole, 1));
        let other = Arc::clone(&unlocked);
        let key = unlocked.presences[1].enter(SPACE, &unlocked.sole, 2);
        assert_eq!(key, Some(1));
        unlocked.sole.begin_to_take_away(1);
        let other = thread::spawn(move || {
            other.enter(2);
            other.look();
        });
        unlocked.cells.iter().for_each(|cell| cell.store(1, Ordering::Relaxed));
        own.end_section();
        other.join().unwrap();
        assert!(!unlocked.section(0), "it was taken away");
    });
}

#[test]
fn of_two_who_claim_one_at_most_is_alone() {
    explore(|| {
        let unlocked = Unlocked::new();
        let other = Arc::clone(&unlocked);
        let other = thread::spawn(move || {
            other.enter(1);
            other.claim(1);
            other.section(1);
            other.presences[1].leave();
        });
        unlocked.enter(0);
        unlocked.claim(0);
        unlocked.section(0);
        other.join().unwrap();
    });
}
