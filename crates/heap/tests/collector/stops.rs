//! Stops: which mutators are asked to stop, which ones the collector waits for, and the statistics of it.

use crate::world::*;
use crate::{Case, case};
use squall_heap::{CollectionKind, Word};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;

pub const CASES: &[Case] = &[
    case("every_mutator_is_visited", every_mutator_is_visited),
    case("native_sections_do_not_delay_collections", native_sections_do_not_delay_collections),
    case("running_mutators_are_waited_for", running_mutators_are_waited_for),
    case("roots_of_native_mutators_are_updated", roots_of_native_mutators_are_updated),
    case("collections_are_counted_by_kind", collections_are_counted_by_kind),
    case("a_mutator_can_change_threads", a_mutator_can_change_threads),
    case("attaching_and_detaching_during_collections", attaching_and_detaching_during_collections),
];

fn every_mutator_is_visited() {
    let mut first = start_with_collector();
    let mut others: Vec<_> = (1..4).map(|context| attach(first.heap(), context)).collect();
    others.iter_mut().for_each(|other| other.enter_native());
    first.collect(CollectionKind::Nursery);
    let mut visited = std::mem::take(&mut *world().visited_contexts.lock().unwrap());
    visited.sort_unstable();
    assert_eq!(visited, [0, 1, 2, 3]);
    assert_eq!(world().ended_stops.load(Ordering::Relaxed), 4);
    assert!(world().stop_requests.load(Ordering::Relaxed) <= 1, "the others were away");
    others.iter_mut().for_each(|other| other.leave_native());
    assert_eq!(others.iter().map(|other| other.context()).collect::<Vec<_>>(), [1, 2, 3]);
    drop(others);
    first.collect(CollectionKind::Nursery);
    assert_eq!(*world().visited_contexts.lock().unwrap(), [0]);
}

fn native_sections_do_not_delay_collections() {
    let mut mutator = start();
    let heap = mutator.heap();
    let (entered, has_entered) = mpsc::channel();
    let (collected, has_collected) = mpsc::channel::<()>();
    let native = thread::spawn(move || {
        let mut mutator = attach(heap, 1);
        let root = rooted_pair(&mut mutator, 5, 6);
        mutator.native(|| {
            entered.send(()).unwrap();
            has_collected.recv().unwrap();
        });
        check_pair(mutator.get(root), 5, 6);
    });
    has_entered.recv().unwrap();
    KINDS.into_iter().for_each(|kind| mutator.collect(kind));
    collected.send(()).unwrap();
    mutator.native(|| native.join().unwrap());
}

fn running_mutators_are_waited_for() {
    let mut mutator = start_with_collector();
    let heap = mutator.heap();
    let (attached, has_attached) = mpsc::channel();
    let running = thread::spawn(move || {
        let mut mutator = attach(heap, 1);
        attached.send(()).unwrap();
        // The runtime hears of the stop after the mutator's status has changed.
        while !world().poll.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        assert!(mutator.is_stop_requested());
        assert_eq!(heap.collections(), 0, "nothing happens until this mutator says so");
        let fresh = pair(&mut mutator, integer(1), integer(2));
        assert_eq!(heap.collections(), 0, "allocating from the window is no safepoint");
        let root = mutator.push_root(fresh.word());
        mutator.safepoint();
        assert_eq!(heap.collections(), 1);
        check_pair(mutator.get(root), 1, 2);
    });
    has_attached.recv().unwrap();
    mutator.collect(CollectionKind::Nursery);
    mutator.native(|| running.join().unwrap());
    assert!(!world().poll.load(Ordering::Relaxed));
}

fn roots_of_native_mutators_are_updated() {
    let mut mutator = start();
    let mut other = attach(mutator.heap(), 1);
    let root = rooted_pair(&mut other, 1, 2);
    let before = other.get(root);
    other.enter_native();
    mutator.collect(CollectionKind::Nursery);
    other.leave_native();
    assert_ne!(other.get(root), before, "the object left the nursery");
    check_pair(other.get(root), 1, 2);
}

fn collections_are_counted_by_kind() {
    let mut mutator = start_with_collector();
    for _ in 0..3 {
        mutator.collect(CollectionKind::Nursery);
    }
    for _ in 0..2 {
        mutator.collect(CollectionKind::Full);
    }
    let statistics = mutator.heap().statistics();
    assert_eq!((statistics.nursery.count, statistics.full.count), (3, 2));
    assert_eq!(mutator.heap().collections(), 5);
    for pauses in [statistics.nursery, statistics.full] {
        assert!(!pauses.min.is_zero());
        assert!(pauses.min <= pauses.median && pauses.median <= pauses.max);
        assert!(pauses.max <= pauses.total);
    }
}

fn a_mutator_can_change_threads() {
    let mut mutator = start();
    let root = rooted_pair(&mut mutator, 1, 2);
    let mut mutator = thread::spawn(move || {
        mutator.collect(CollectionKind::Full);
        mutator
    })
    .join()
    .unwrap();
    mutator.collect(CollectionKind::Nursery);
    check_pair(mutator.get(root), 1, 2);
}

fn attaching_and_detaching_during_collections() {
    let mut mutator = start();
    let heap = mutator.heap();
    let threads: Vec<_> = (1..4)
        .map(|context| {
            thread::spawn(move || {
                for round in 0..200 {
                    let mut mutator = attach(heap, context);
                    let root = rooted_pair(&mut mutator, round, context);
                    for _ in 0..round {
                        pair(&mut mutator, Word::NIL, Word::NIL);
                    }
                    mutator.safepoint();
                    check_pair(mutator.get(root), round, context);
                }
            })
        })
        .collect();
    for round in 0..100 {
        mutator.collect(KINDS[round % 2]);
    }
    mutator.native(|| threads.into_iter().for_each(|thread| thread.join().unwrap()));
}
