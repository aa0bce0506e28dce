//! The protocol, step by step and on native threads.

use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

struct Memory {
    space: Space,
    cells: Vec<AtomicU64>,
}

impl Memory {
    fn new(cells: usize, bits: u32) -> Memory {
        let cells = (0..cells).map(|_| AtomicU64::new(0)).collect();
        Memory { space: Space::new(bits), cells }
    }

    fn get(&self, cell: u32) -> u64 {
        self.cells[cell as usize].load(Ordering::Relaxed)
    }

    fn read(&self, attempt: &mut Attempt<u32>, cell: u32) -> Result<u64, Conflict<u32>> {
        attempt.read(&self.space, Stripe(cell), cell, || self.get(cell))
    }

    fn commit(
        &self,
        attempt: &mut Attempt<u32>,
        writes: &[(u32, u64)],
    ) -> Result<Vec<Stripe>, Conflict<u32>> {
        attempt.acquire(&self.space, writes.iter().map(|(cell, _)| Stripe(*cell)))?;
        let time = attempt.prepare(&self.space)?;
        for &(cell, value) in writes {
            self.cells[cell as usize].store(value, Ordering::Release);
        }
        let mut changed = Vec::new();
        attempt.publish(&self.space, time, |stripe| changed.push(stripe));
        Ok(changed)
    }

    fn store(&self, cell: u32, value: u64) -> Result<bool, Reserved> {
        let store = || self.cells[cell as usize].store(value, Ordering::Release);
        self.space.write(Stripe(cell), store)
    }

    fn load(&self, cell: u32) -> u64 {
        self.space.read(Stripe(cell), || self.get(cell))
    }

    fn begin(&self) -> Attempt<u32> {
        let mut attempt = Attempt::default();
        attempt.begin(&self.space);
        attempt
    }
}

#[test]
fn of_two_that_read_and_write_the_same_one_wins() {
    let memory = Memory::new(1, 4);
    let (mut first, mut second) = (memory.begin(), memory.begin());
    assert_eq!(memory.read(&mut first, 0), Ok(0));
    assert_eq!(memory.read(&mut second, 0), Ok(0));
    assert_eq!(memory.commit(&mut first, &[(0, 1)]), Ok(vec![]));
    let lost = memory.commit(&mut second, &[(0, 1)]);
    assert_eq!(lost, Err(Conflict::Changed(Stripe(0), 0)));
    assert_eq!(memory.get(0), 1);
}

#[test]
fn what_was_changed_after_the_begin_is_read_if_nothing_else_was() {
    let memory = Memory::new(2, 4);
    let mut reader = memory.begin();
    memory.commit(&mut memory.begin(), &[(0, 7)]).unwrap();
    assert_eq!(memory.read(&mut reader, 0), Ok(7));
    memory.commit(&mut memory.begin(), &[(0, 8), (1, 8)]).unwrap();
    assert_eq!(memory.read(&mut reader, 1), Err(Conflict::Changed(Stripe(0), 0)));
}

#[test]
fn a_store_outside_counts_as_a_commit() {
    let memory = Memory::new(2, 4);
    let mut reader = memory.begin();
    assert_eq!(memory.read(&mut reader, 0), Ok(0));
    for value in 1..4 {
        assert_eq!(memory.store(0, value), Ok(false));
    }
    assert_eq!(memory.read(&mut reader, 1), Ok(0), "nothing that contradicts what was read");
    assert_eq!(memory.store(1, 1), Ok(false));
    assert_eq!(memory.read(&mut reader, 1), Err(Conflict::Changed(Stripe(0), 0)));
    assert_eq!(memory.commit(&mut memory.begin(), &[(0, 9)]), Ok(vec![]));
}

#[test]
fn a_value_that_came_back_is_a_change() {
    let memory = Memory::new(1, 4);
    let mut attempt = memory.begin();
    assert_eq!(memory.read(&mut attempt, 0), Ok(0));
    memory.store(0, 1).unwrap();
    memory.store(0, 0).unwrap();
    assert!(memory.commit(&mut attempt, &[(0, 5)]).is_err());
}

#[test]
fn what_only_reads_commits_without_a_check() {
    let memory = Memory::new(2, 4);
    let mut reader = memory.begin();
    assert_eq!(memory.read(&mut reader, 0), Ok(0));
    memory.store(0, 1).unwrap();
    reader.release(&memory.space);
    assert!(reader.validate(&memory.space).is_err());
}

#[test]
fn an_inevitable_attempt_keeps_what_it_has_read() {
    let memory = Memory::new(3, 4);
    let mut inevitable = memory.begin();
    assert_eq!(memory.read(&mut inevitable, 0), Ok(0));
    inevitable.make_inevitable(&memory.space, [Stripe(2)]).unwrap();
    assert_eq!(memory.read(&mut inevitable, 1), Ok(0));
    for cell in 0..3 {
        assert_eq!(memory.store(cell, 1), Err(Reserved(Stripe(cell))));
        let lost = memory.commit(&mut memory.begin(), &[(cell, 1)]);
        assert_eq!(lost, Err(Conflict::Reserved(Stripe(cell))));
        assert_eq!(memory.read(&mut memory.begin(), cell), Ok(0), "reading is allowed");
        assert_eq!(memory.load(cell), 0);
    }
    assert_eq!(memory.commit(&mut inevitable, &[(1, 5), (2, 5)]), Ok(vec![]));
    for cell in 0..3 {
        assert_eq!(memory.store(cell, 6), Ok(false), "nothing is reserved any more");
    }
}

#[test]
fn who_has_read_what_was_changed_does_not_become_inevitable() {
    let memory = Memory::new(2, 4);
    let mut attempt = memory.begin();
    assert_eq!(memory.read(&mut attempt, 0), Ok(0));
    assert_eq!(memory.read(&mut attempt, 1), Ok(0));
    memory.store(1, 1).unwrap();
    let lost = attempt.make_inevitable(&memory.space, []);
    assert_eq!(lost, Err(Conflict::Changed(Stripe(1), 1)));
    assert_eq!(memory.store(0, 1), Ok(false), "what was reserved is free again");
}

#[test]
fn who_changes_what_is_watched_is_told_once() {
    let memory = Memory::new(2, 4);
    let mut sleeper = memory.begin();
    assert_eq!(memory.read(&mut sleeper, 0), Ok(0));
    let stripes: Vec<_> = sleeper.stripes().collect();
    assert!(memory.space.watch(&stripes, sleeper.snapshot()));
    assert_eq!(memory.store(1, 1), Ok(false));
    assert_eq!(memory.commit(&mut memory.begin(), &[(0, 1)]), Ok(vec![Stripe(0)]));
    assert_eq!(memory.commit(&mut memory.begin(), &[(0, 2)]), Ok(vec![]));
    assert!(!memory.space.watch(&stripes, sleeper.snapshot()), "it has changed");
    assert_eq!(memory.store(0, 1), Ok(false));
}

#[test]
fn a_failed_commit_leaves_those_who_watch() {
    let memory = Memory::new(2, 4);
    let mut sleeper = memory.begin();
    memory.read(&mut sleeper, 0).unwrap();
    let stripes: Vec<_> = sleeper.stripes().collect();
    assert!(memory.space.watch(&stripes, sleeper.snapshot()));
    let mut loser = memory.begin();
    memory.read(&mut loser, 1).unwrap();
    memory.store(1, 1).unwrap();
    assert!(memory.commit(&mut loser, &[(0, 1)]).is_err());
    assert_eq!(memory.store(0, 1), Ok(true));
}

#[test]
fn stores_of_many_places_happen_at_once_or_not_at_all() {
    let memory = Memory::new(4, 2);
    let mut stripes = vec![Stripe(3), Stripe(1), Stripe(7), Stripe(0)];
    assert_eq!(memory.space.write_all(&mut stripes, || {}), Ok(false));
    assert_eq!(stripes, [Stripe(0), Stripe(1), Stripe(3)]);
    let mut inevitable = memory.begin();
    inevitable.make_inevitable(&memory.space, [Stripe(1)]).unwrap();
    let stored = memory.space.write_all(&mut stripes, || unreachable!("one is reserved"));
    assert_eq!(stored, Err(Reserved(Stripe(1))));
    assert_eq!(memory.store(0, 1), Ok(false), "the others are free");
    inevitable.release(&memory.space);
    assert_eq!(memory.space.write_all(&mut stripes, || {}), Ok(false));
}

#[test]
fn what_is_read_again_and_again_takes_no_more_memory() {
    let memory = Memory::new(4, 2);
    let mut attempt = memory.begin();
    for round in 0..1000 {
        for cell in 0..4 {
            assert_eq!(memory.read(&mut attempt, cell), Ok(0));
        }
        if attempt.is_full() && attempt.reads() >= 100 {
            assert!(attempt.condense(), "in round {round}");
            assert_eq!(attempt.reads(), 4);
        }
    }
    assert!(attempt.capacity() < 10_000);
    memory.store(2, 1).unwrap();
    assert_eq!(memory.read(&mut attempt, 2), Err(Conflict::Changed(Stripe(2), 2)));
}

#[test]
fn there_is_room_for_twice_as_many() {
    let memory = Memory::new(1, 0);
    let mut attempt = memory.begin();
    for _ in 0..3 {
        let (before, growth) = (attempt.capacity(), attempt.growth());
        attempt.grow();
        assert_eq!(attempt.capacity(), before + growth);
    }
}

#[test]
fn what_is_in_the_way_of_a_quick_read() {
    let memory = Memory::new(2, 1);
    let mut attempt = memory.begin();
    let mut quickly =
        |cell: u32| attempt.try_read(&memory.space, Stripe(cell), cell, || memory.get(cell));
    assert_eq!(quickly(0), None, "there is no room for it");
    attempt.grow();
    let mut quickly =
        |cell: u32| attempt.try_read(&memory.space, Stripe(cell), cell, || memory.get(cell));
    assert_eq!(quickly(0), Some(0));
    assert_eq!(quickly(1), Some(0));
    memory.store(1, 1).unwrap();
    assert_eq!(quickly(1), None, "it is newer than the snapshot");
    assert_eq!(quickly(0), Some(0));
    attempt.release(&memory.space);
    attempt.begin(&memory.space);
    attempt.make_inevitable(&memory.space, []).unwrap();
    let quick = attempt.try_read(&memory.space, Stripe(0), 0, || memory.get(0));
    assert_eq!(quick, None, "an inevitable attempt reserves");
}

/// Rounds of each thread in the tests with several threads. Miri takes minutes for a thousand.
const ROUNDS: u64 = if cfg!(miri) { 100 } else { 20_000 };

/// Threads move amounts between cells. The sum is right whenever a thread looks, in a transaction or with single loads
/// of cells that are only changed together.
#[test]
fn sums_are_right_at_every_moment() {
    const CELLS: u32 = 16;
    const FULL: u64 = 1_000_000;
    let memory = Memory::new(CELLS as usize, 3);
    memory.cells.iter().for_each(|cell| cell.store(FULL, Ordering::Relaxed));
    let transfer = |seed: u64| {
        let (mut attempt, mut random) = (Attempt::default(), seed);
        for _ in 0..ROUNDS {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (from, to) = ((random >> 33) as u32 % CELLS, (random >> 40) as u32 % CELLS);
            if from == to {
                continue;
            }
            loop {
                attempt.begin(&memory.space);
                let Ok(left) = memory.read(&mut attempt, from) else { continue };
                let Ok(right) = memory.read(&mut attempt, to) else { continue };
                let writes = [(from, left - 1), (to, right + 1)];
                if memory.commit(&mut attempt, &writes).is_ok() {
                    break;
                }
            }
        }
    };
    let audit = || {
        let mut attempt = Attempt::default();
        let mut sums = 0;
        while sums < ROUNDS / 10 {
            attempt.begin(&memory.space);
            let cells = (0..CELLS).map(|cell| memory.read(&mut attempt, cell));
            let sum: Result<u64, _> = cells.sum();
            if let Ok(sum) = sum {
                assert_eq!(sum, FULL * u64::from(CELLS), "an inconsistent state was seen");
                sums += 1;
            }
        }
    };
    std::thread::scope(|scope| {
        for seed in 1..4 {
            scope.spawn(move || transfer(seed));
        }
        scope.spawn(audit);
    });
    assert_eq!((0..CELLS).map(|cell| memory.get(cell)).sum::<u64>(), FULL * u64::from(CELLS));
}

/// Increments in transactions and, for other cells of the same stripe, outside: none is lost, and single loads never
/// see a pair half changed.
#[test]
fn accesses_outside_take_part() {
    let memory = Memory::new(4, 4);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut attempt = Attempt::default();
                for _ in 0..ROUNDS {
                    loop {
                        attempt.begin(&memory.space);
                        let Ok(left) = memory.read(&mut attempt, 0) else { continue };
                        let Ok(right) = memory.read(&mut attempt, 1) else { continue };
                        assert_eq!(left, right);
                        let writes = [(0, left + 1), (1, right + 1)];
                        if memory.commit(&mut attempt, &writes).is_ok() {
                            break;
                        }
                    }
                }
            });
        }
        scope.spawn(|| {
            for round in 0..ROUNDS {
                // The second cell is written later, so only the value of the first load may be the greater one.
                let (left, right) = (memory.load(0), memory.load(1));
                assert!(left <= right, "{left} was seen before {right}");
                memory.store(2, round).unwrap();
            }
        });
    });
    assert_eq!((memory.get(0), memory.get(1)), (2 * ROUNDS, 2 * ROUNDS));
}
