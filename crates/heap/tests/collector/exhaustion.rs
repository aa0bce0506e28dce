//! Exhausted memory is noticed in time, reported to the right allocation, and survived.

use crate::world::*;
use crate::{Case, case};
use squall_heap::{CollectionKind, HeapOptions, Mutator, Word};

pub const CASES: &[Case] = &[
    case("a_growing_list_exhausts_a_small_heap", || growing_list(8 << 20)),
    case("a_growing_list_exhausts_a_heap", || growing_list(96 << 20)),
    case("exhaustion_leaves_room_to_recover", exhaustion_leaves_room_to_recover),
    case("ignored_exhaustion_ends_growth", ignored_exhaustion_ends_growth),
    case("overcommitted_objects_can_be_allocated", overcommitted_objects_can_be_allocated),
    case("large_objects_that_do_not_fit_are_refused", large_objects_that_do_not_fit_are_refused),
    case("large_objects_are_collected_for_large_objects", large_objects_are_collected),
    case("growing_arrays_exhaust_a_heap", growing_arrays_exhaust_a_heap),
    case("fragmented_memory_is_compacted", fragmented_memory_is_compacted),
    case("survivors_of_many_nurseries_share_blocks", survivors_of_many_nurseries_share_blocks),
    case("several_mutators_exhaust_a_heap", several_mutators_exhaust_a_heap),
];

const PAIR_BYTES: usize = 32;

fn start_limited(max_heap: usize) -> Mutator {
    start_with(HeapOptions { max_heap: Some(max_heap), ..HeapOptions::default() })
}

/// Grows a list in root 0 until memory is exhausted; answers its length.
fn grow(mutator: &mut Mutator) -> usize {
    let mut length = 0;
    while let Some(cell) = mutator.allocate_slots(PAIR, NO_CLASS) {
        cell.initialize_slot(1, mutator.pop_root().unwrap());
        mutator.push_root(cell.word());
        length += 1;
    }
    length
}

fn check_bounds(mutator: &Mutator, length: usize, max_heap: usize) {
    let bytes = length * PAIR_BYTES;
    assert!(bytes > max_heap / 2, "{bytes} bytes of {max_heap} could be used");
    let statistics = mutator.heap().statistics();
    assert!(statistics.used_bytes <= max_heap, "{} bytes of {max_heap}", statistics.used_bytes);
    assert!(statistics.full.count < 40, "not by exhausting patience: {}", statistics.full.count);
}

fn growing_list(max_heap: usize) {
    let mut mutator = start_limited(max_heap);
    mutator.push_root(Word::NIL);
    let length = grow(&mut mutator);
    check_bounds(&mutator, length, max_heap);
    // The list is still in order.
    let mut rest = mutator.pop_root().unwrap();
    let mut found = 0;
    while let Some(cell) = rest.as_object() {
        rest = cell.slot(1);
        found += 1;
    }
    assert_eq!(found, length);
}

fn exhaustion_leaves_room_to_recover() {
    let max_heap = 64 << 20;
    let mut mutator = start_limited(max_heap);
    for _ in 0..4 {
        mutator.push_root(Word::NIL);
        let length = grow(&mut mutator);
        assert!(length * PAIR_BYTES > max_heap / 2);
        // A handler in the guest allocates, with the list still alive.
        for _ in 0..10_000 {
            assert!(mutator.allocate_slots(PAIR, NO_CLASS).is_some());
        }
        mutator.truncate_roots(0);
        for _ in 0..1_000_000 {
            assert!(mutator.allocate_slots(PAIR, NO_CLASS).is_some());
        }
    }
}

/// A guest that catches the exception and continues to grow is stopped in the end.
fn ignored_exhaustion_ends_growth() {
    let max_heap = 64 << 20;
    let mut mutator = start_limited(max_heap);
    mutator.push_root(Word::NIL);
    for _ in 0..10 {
        grow(&mut mutator);
        assert!(mutator.heap().statistics().used_bytes <= max_heap);
    }
    assert_eq!(grow(&mut mutator), 0);
    mutator.truncate_roots(0);
    assert!(mutator.allocate_slots(PAIR, NO_CLASS).is_some());
}

fn overcommitted_objects_can_be_allocated() {
    let mut mutator = start_limited(16 << 20);
    mutator.push_root(Word::NIL);
    while grow(&mut mutator) > 0 {}
    let depth = mutator.root_depth();
    mutator.overcommit(|mutator| {
        for index in 0..1000 {
            rooted_pair(mutator, index, 0);
        }
        assert!(mutator.allocate_bytes(BYTES, NO_CLASS, 1000).is_some());
    });
    for index in (0..1000).rev() {
        check_pair(mutator.pop_root().unwrap(), index, 0);
    }
    assert_eq!(mutator.root_depth(), depth);
}

fn large_objects_that_do_not_fit_are_refused() {
    let mut mutator = start_limited(64 << 20);
    for length in [64 << 20, 1 << 30, 1 << 43] {
        assert_eq!(mutator.allocate_bytes(BYTES, NO_CLASS, length), None);
        assert_eq!(mutator.allocate_array(ARRAY, NO_CLASS, length, Word::NIL), None);
    }
    let fits = mutator.allocate_bytes(BYTES, NO_CLASS, 40 << 20).expect("it fits");
    let root = mutator.push_root(fits.word());
    assert_eq!(mutator.allocate_bytes(BYTES, NO_CLASS, 40 << 20), None);
    assert_eq!(object(&mutator, root).length(), 40 << 20);
    mutator.truncate_roots(0);
    assert!(mutator.allocate_bytes(BYTES, NO_CLASS, 40 << 20).is_some());
}

fn large_objects_are_collected() {
    let mut mutator = start_limited(64 << 20);
    for _ in 0..1000 {
        let bytes = mutator.allocate_bytes(BYTES, NO_CLASS, 10 << 20).expect("the others are dead");
        bytes.set_byte(0, 1);
    }
    assert!(mutator.heap().statistics().allocated_bytes >= 10_000 << 20);
}

fn growing_arrays_exhaust_a_heap() {
    let mut mutator = start_limited(64 << 20);
    let array = rooted_array(&mut mutator, ARRAY, 1);
    loop {
        let length = object(&mutator, array).length();
        let Some(larger) = mutator.allocate_array(ARRAY, NO_CLASS, length * 2, Word::NIL) else {
            break;
        };
        let old = object(&mutator, array);
        larger.copy_elements(&mut mutator, 0, old, 0, length);
        mutator.set(array, larger.word());
    }
    assert_eq!(object(&mutator, array).length(), 4 << 20, "32 MB; 32 and 64 do not fit in 64");
    assert!(mutator.allocate_slots(PAIR, NO_CLASS).is_some());
}

/// Each tenth object of a full heap survives: less than the limit, but spread over all blocks.
fn fragmented_memory_is_compacted() {
    let max_heap = 64 << 20;
    let mut mutator = start_limited(max_heap);
    let kept = rooted_array(&mut mutator, ARRAY, 150_000);
    let all = rooted_array(&mut mutator, ARRAY, 1_000_000);
    for index in 0..1_000_000 {
        let element = pair(&mut mutator, integer(index), Word::NIL).word();
        object(&mutator, all).set_element(&mut mutator, index, element);
        if index % 10 == 0 {
            object(&mutator, kept).set_element(&mut mutator, index / 10, element);
        }
    }
    mutator.set(all, Word::NIL);
    mutator.collect(CollectionKind::Full);
    mutator.collect(CollectionKind::Full);
    let live = mutator.heap().statistics().live_bytes;
    assert!(live < 20 << 20, "3.2 MB of objects and 1.2 MB of array in {live} bytes");
    mutator.push_root(Word::NIL);
    let length = grow(&mut mutator);
    assert!(length * PAIR_BYTES > 30 << 20);
    for index in 0..100_000 {
        let element = object(&mutator, kept).element(index).as_object().expect("a pair");
        assert_eq!(element.slot(0), integer(index * 10));
    }
}

/// The survivors of each nursery are one small and one larger object, and the program needs no more.
fn survivors_of_many_nurseries_share_blocks() {
    let mut mutator = start_limited(32 << 20);
    let kept = rooted_array(&mut mutator, ARRAY, 8_000);
    for index in 0..4_000 {
        let small = pair(&mut mutator, integer(index), Word::NIL).word();
        object(&mutator, kept).set_element(&mut mutator, 2 * index, small);
        let medium = mutator.allocate_bytes(BYTES, NO_CLASS, 1000).expect("there is memory").word();
        object(&mutator, kept).set_element(&mut mutator, 2 * index + 1, medium);
        mutator.collect(CollectionKind::Nursery);
    }
    let used = mutator.heap().statistics().used_bytes;
    assert!(used < 24 << 20, "4.2 MB of objects in {used} bytes");
    for index in 0..4_000 {
        let element = object(&mutator, kept).element(2 * index).as_object().expect("a pair");
        assert_eq!(element.slot(0), integer(index));
    }
}

fn several_mutators_exhaust_a_heap() {
    let mut mutator = start_limited(64 << 20);
    let heap = mutator.heap();
    mutator.native(|| {
        std::thread::scope(|scope| {
            for context in 1..4 {
                scope.spawn(move || {
                    for _ in 0..3 {
                        let mut mutator = attach(heap, context);
                        mutator.push_root(Word::NIL);
                        grow(&mut mutator);
                    }
                });
            }
        });
    });
    mutator.collect(CollectionKind::Full);
    assert!(mutator.heap().statistics().live_bytes < 1 << 20);
    assert!(mutator.allocate_slots(PAIR, NO_CLASS).is_some());
}
