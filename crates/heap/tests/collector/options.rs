//! Options: which ones are refused, and their effects.

use crate::world::*;
use crate::{Case, case};
use squall_heap::{CollectionKind, Heap, HeapError, HeapOptions, Stress};

pub const CASES: &[Case] = &[
    case("a_second_heap_is_refused", a_second_heap_is_refused),
    case("senseless_options_are_refused", senseless_options_are_refused),
    case("defaults_fit_the_machine", defaults_fit_the_machine),
    case("one_collector_thread_is_enough", one_collector_thread_is_enough),
    case("the_nursery_decides_how_often", the_nursery_decides_how_often),
    case("stress_collects_at_every_allocation", || stress(1, 0)),
    case("stress_collects_at_every_fifth_allocation_and_fully_at_some", || stress(5, 4)),
    case("stress_collects_fully", || stress(3, 1)),
];

fn a_second_heap_is_refused() {
    assert!(Heap::get().is_none());
    let mutator = start();
    let second = Heap::new(HeapOptions::default());
    assert_eq!(second.err(), Some(HeapError::AlreadyCreated));
    assert!(std::ptr::eq(Heap::get().unwrap(), mutator.heap()));
}

fn senseless_options_are_refused() {
    let refused = |options: HeapOptions, expected: HeapError| {
        assert_eq!(Heap::new(options).err(), Some(expected));
        assert!(!expected.to_string().is_empty());
    };
    let options = HeapOptions::default;
    refused(HeapOptions { max_heap: Some(1), ..options() }, HeapError::HeapTooSmall);
    refused(HeapOptions { nursery_bytes: 0, ..options() }, HeapError::NurseryTooSmall);
    refused(HeapOptions { gc_threads: Some(0), ..options() }, HeapError::NoThreads);
    let stress = Some(Stress { every: 0, full: 1 });
    refused(HeapOptions { stress, ..options() }, HeapError::NoStressInterval);
    // None of these has created the heap of the process.
    start();
}

fn defaults_fit_the_machine() {
    let mut mutator = start_with(HeapOptions::default());
    assert!(mutator.heap().statistics().max_heap_bytes > 256 << 20);
    rooted_pair(&mut mutator, 1, 2);
    mutator.collect(CollectionKind::Full);
}

fn one_collector_thread_is_enough() {
    let options = HeapOptions { gc_threads: Some(1), ..HeapOptions::default() };
    let mut mutator = start_with(options);
    let kept = rooted_pair(&mut mutator, 1, 2);
    for kind in KINDS {
        mutator.collect(kind);
        check_pair(mutator.get(kept), 1, 2);
    }
}

fn the_nursery_decides_how_often() {
    let options = HeapOptions { nursery_bytes: 1 << 20, ..HeapOptions::default() };
    let mut mutator = start_with(options);
    for _ in 0..1_000_000 {
        mutator.allocate_slots(PAIR, NO_CLASS).unwrap();
    }
    let collections = mutator.heap().statistics().nursery.count;
    assert!((28..=36).contains(&collections), "{collections} for 32 MB");
}

fn stress(every: u32, full: u32) {
    let options = HeapOptions { stress: Some(Stress { every, full }), ..HeapOptions::default() };
    let mut mutator = start_with(options);
    for allocation in 1..=100 {
        mutator.allocate_slots(PAIR, NO_CLASS).unwrap();
        assert_eq!(mutator.heap().collections(), allocation / u64::from(every));
    }
    let statistics = mutator.heap().statistics();
    let collections = 100 / u64::from(every);
    assert_eq!(statistics.full.count, collections.checked_div(u64::from(full)).unwrap_or(0));
}
