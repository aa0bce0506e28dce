//! Several mutators at once: trees, racing stores, racing initialisation.

use crate::world::*;
use crate::{Case, case, stressed};
use squall_heap::{CollectionKind, Heap, Mutator, Word};
use std::thread;

pub const CASES: &[Case] = &[
    stressed("trees_in_parallel", trees_in_parallel),
    stressed("racing_stores_keep_words_whole", racing_stores_keep_words_whole),
    stressed("one_of_many_initialises_a_slot", one_of_many_initialises_a_slot),
    stressed("racing_hashes_agree", racing_hashes_agree),
    case("many_collections_requested_at_once", many_collections_requested_at_once),
];

const THREADS: usize = 4;

/// Runs `work` on several attached threads, while this thread's mutator is away.
fn in_parallel(mutator: &mut Mutator, work: impl Fn(&mut Mutator, usize) + Sync) {
    let heap: &'static Heap = mutator.heap();
    let work = &work;
    mutator.native(|| {
        thread::scope(|scope| {
            for index in 1..=THREADS {
                scope.spawn(move || work(&mut attach(heap, index), index));
            }
        });
    });
}

fn tree(mutator: &mut Mutator, depth: usize) -> Word {
    mutator.safepoint();
    if depth == 0 {
        return pair(mutator, integer(0), Word::NIL).word();
    }
    let left = tree(mutator, depth - 1);
    let left = mutator.push_root(left);
    let right = tree(mutator, depth - 1);
    let left = mutator.get(left);
    mutator.pop_root();
    pair(mutator, left, right).word()
}

fn count(tree: Word) -> usize {
    match tree.as_object() {
        Some(node) => 1 + count(node.slot(0)) + count(node.slot(1)),
        None => 0,
    }
}

fn trees_in_parallel() {
    let mut mutator = start();
    let (depth, rounds) = (scaled(12, 4), scaled(60, 3));
    in_parallel(&mut mutator, |mutator, _| {
        let long_lived = tree(mutator, depth + 2);
        let long_lived = mutator.push_root(long_lived);
        for _ in 0..rounds {
            let tree = tree(mutator, depth);
            assert_eq!(count(tree), (2 << depth) - 1);
        }
        assert_eq!(count(mutator.get(long_lived)), (2 << (depth + 2)) - 1);
    });
}

/// All threads store new pairs into the same small and large arrays, and read the others' stores: each read gives a
/// whole word, of an initialised object.
fn racing_stores_keep_words_whole() {
    let mut mutator = start();
    let initial = pair(&mut mutator, integer(0), integer(0)).word();
    let initial = mutator.push_root(initial);
    for length in [8, 3000] {
        let fill = mutator.get(initial);
        let array = mutator.allocate_array(ARRAY, NO_CLASS, length, fill).unwrap();
        world().roots.lock().unwrap().push(array.word());
    }
    let rounds = scaled(200_000, 30);
    in_parallel(&mut mutator, |mutator, index| {
        let mut state = index as u64 * 7919;
        for round in 0..rounds {
            let value = pair(mutator, integer(round), integer(round)).word();
            let array = world().roots.lock().unwrap()[round % 2].as_object().expect("an array");
            let place = random(&mut state) as usize % array.length();
            array.set_element(mutator, place, value);
            let other = array.element(random(&mut state) as usize % array.length());
            let other = other.as_object().expect("a pair");
            assert_eq!(other.layout(), PAIR);
            assert_eq!(other.slot(0), other.slot(1));
            // The slot of an object that another thread may write at the same time.
            other.set_slot(mutator, 1, other.slot(0));
            mutator.safepoint();
        }
    });
}

fn one_of_many_initialises_a_slot() {
    let mut mutator = start();
    for round in 0..scaled(200, 10) {
        let target = pair(&mut mutator, Word::UNSET, Word::NIL).word();
        world().roots.lock().unwrap().push(target);
        in_parallel(&mut mutator, |mutator, index| {
            let value = pair(mutator, integer(round), integer(index)).word();
            let target = world().roots.lock().unwrap()[round].as_object().expect("a pair");
            let outcome = target.compare_exchange_slot(mutator, 0, Word::UNSET, value);
            let winner = outcome.err().unwrap_or(value);
            assert_eq!(target.slot(0), winner);
            let winner = winner.as_object().expect("a pair");
            assert_eq!(winner.slot(0), integer(round), "the winner's writes are visible");
        });
    }
}

fn racing_hashes_agree() {
    let mut mutator = start();
    let objects = rooted_array(&mut mutator, ARRAY, 100);
    for index in 0..100 {
        let element = pair(&mut mutator, integer(index), Word::NIL).word();
        object(&mutator, objects).set_element(&mut mutator, index, element);
    }
    world().roots.lock().unwrap().push(mutator.get(objects));
    let hashes = std::sync::Mutex::new(Vec::new());
    in_parallel(&mut mutator, |_, _| {
        let objects = world().roots.lock().unwrap()[0].as_object().expect("an array");
        let elements = (0..100).filter_map(|index| objects.element(index).as_object());
        let found: Vec<u32> = elements.map(|element| element.identity_hash()).collect();
        hashes.lock().unwrap().push(found);
    });
    let hashes = hashes.into_inner().unwrap();
    assert!(hashes.iter().all(|found| *found == hashes[0]));
}

fn many_collections_requested_at_once() {
    let mut mutator = start();
    in_parallel(&mut mutator, |mutator, index| {
        for round in 0..50 {
            let root = rooted_pair(mutator, round, index);
            let kind = if (round + index) % 4 == 0 {
                CollectionKind::Full
            } else {
                CollectionKind::Nursery
            };
            let full = mutator.heap().statistics().full.count;
            mutator.collect(kind);
            if kind == CollectionKind::Full {
                assert!(mutator.heap().statistics().full.count > full);
            }
            check_pair(mutator.get(root), round, index);
            mutator.truncate_roots(0);
        }
    });
}
