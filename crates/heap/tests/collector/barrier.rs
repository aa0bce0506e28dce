//! The write barrier remembers all kinds of stores into old objects until the next collection.

use crate::world::*;
use crate::{Case, case, stressed};
use squall_heap::{CollectionKind, Mutator, RootHandle, Word};

pub const CASES: &[Case] = &[
    stressed("slots", slots),
    stressed("classes", classes),
    stressed("exchanged_slots", exchanged_slots),
    stressed("elements_of_small_arrays", || elements(100)),
    stressed("elements_of_large_arrays", || elements(20_000)),
    stressed("exchanged_elements", exchanged_elements),
    stressed("elements_copied_to_a_small_array", || copied_elements(100)),
    stressed("elements_copied_to_a_large_array", || copied_elements(5000)),
    stressed("overlapping_copies", overlapping_copies),
    case("large_arrays_are_remembered_by_element", large_arrays_are_remembered_by_element),
    stressed("objects_are_logged_again_after_each_collection", logged_again),
    case("young_large_arrays_need_no_barrier", young_large_arrays_need_no_barrier),
];

/// Makes all objects old.
fn age(mutator: &mut Mutator) {
    mutator.collect(CollectionKind::Nursery);
}

fn young(mutator: &mut Mutator, number: usize) -> Word {
    pair(mutator, integer(number), integer(0)).word()
}

fn slots() {
    let mut mutator = start();
    let old: Vec<RootHandle> = (0..100).map(|_| rooted_pair(&mut mutator, 0, 0)).collect();
    for kind in KINDS {
        mutator.collect(kind);
        for (index, &old) in old.iter().enumerate() {
            let value = young(&mut mutator, index);
            object(&mutator, old).set_slot(&mut mutator, 1, value);
        }
        age(&mut mutator);
        for (index, &old) in old.iter().enumerate() {
            check_pair(object(&mutator, old).slot(1), index, 0);
        }
    }
}

fn classes() {
    let mut mutator = start();
    let old = rooted_pair(&mut mutator, 1, 2);
    age(&mut mutator);
    let class = young(&mut mutator, 3);
    object(&mutator, old).set_class(&mut mutator, class);
    age(&mut mutator);
    check_pair(object(&mutator, old).class(), 3, 0);
}

fn exchanged_slots() {
    let mut mutator = start();
    let old = pair(&mut mutator, Word::UNSET, Word::NIL);
    let old = mutator.push_root(old.word());
    age(&mut mutator);
    let value = young(&mut mutator, 4);
    let target = object(&mutator, old);
    let expected = target.compare_exchange_slot(&mut mutator, 1, Word::UNSET, value);
    assert_eq!(expected, Err(Word::NIL));
    assert_eq!(target.slot(1), Word::NIL);
    assert_eq!(target.compare_exchange_slot(&mut mutator, 0, Word::UNSET, value), Ok(()));
    age(&mut mutator);
    check_pair(object(&mutator, old).slot(0), 4, 0);
}

fn elements(length: usize) {
    let mut mutator = start();
    let array = rooted_array(&mut mutator, ARRAY, length);
    age(&mut mutator);
    let indices = || (0..length).step_by(scaled(1, length / 50));
    for index in indices() {
        let value = young(&mut mutator, index);
        object(&mutator, array).set_element(&mut mutator, index, value);
    }
    age(&mut mutator);
    for index in indices() {
        check_pair(object(&mutator, array).element(index), index, 0);
    }
}

fn exchanged_elements() {
    let mut mutator = start();
    let array = rooted_array(&mut mutator, ARRAY, 5000);
    age(&mut mutator);
    let value = young(&mut mutator, 8);
    let target = object(&mutator, array);
    assert_eq!(target.compare_exchange_element(&mut mutator, 4999, Word::NIL, value), Ok(()));
    let failure = target.compare_exchange_element(&mut mutator, 4999, Word::NIL, Word::TRUE);
    assert_eq!(failure, Err(value));
    age(&mut mutator);
    check_pair(object(&mutator, array).element(4999), 8, 0);
}

fn copied_elements(length: usize) {
    let mut mutator = start();
    let target = rooted_array(&mut mutator, ARRAY, length);
    age(&mut mutator);
    let source = rooted_array(&mut mutator, ARRAY, 50);
    for index in 0..50 {
        let value = young(&mut mutator, index);
        object(&mutator, source).set_element(&mut mutator, index, value);
    }
    let from = object(&mutator, source);
    object(&mutator, target).copy_elements(&mut mutator, 10, from, 5, 40);
    mutator.set(source, Word::NIL);
    age(&mut mutator);
    let target = object(&mutator, target);
    assert!(target.element(9).is_nil() && target.element(50).is_nil());
    (0..40).for_each(|index| check_pair(target.element(10 + index), index + 5, 0));
}

fn overlapping_copies() {
    let mut mutator = start();
    for (to, from) in [(0, 3), (3, 0), (2, 2)] {
        let array = rooted_array(&mut mutator, ARRAY, 10);
        let target = object(&mutator, array);
        (0..10).for_each(|index| target.initialize_element(index, integer(index)));
        target.copy_elements(&mut mutator, to, target, from, 7);
        for index in 0..10 {
            let expected = if (to..to + 7).contains(&index) { index - to + from } else { index };
            assert_eq!(target.element(index), integer(expected));
        }
    }
}

/// Stores into an old array, `stores` times with the barrier, and once without it. Answers whether the collection has
/// seen the store without barrier, that is, whether it has visited the whole array.
fn whole_array_is_scanned(mutator: &mut Mutator, array: RootHandle, stores: usize) -> bool {
    age(mutator);
    let value = young(mutator, stores);
    let target = object(mutator, array);
    (0..stores).for_each(|index| target.set_element(mutator, index, value));
    let last = target.length() - 1;
    target.initialize_element(last, value);
    age(mutator);
    let target = object(mutator, array);
    (0..stores).for_each(|index| check_pair(target.element(index), stores, 0));
    let scanned = target.element(last) == target.element(0);
    target.initialize_element(last, Word::NIL);
    scanned
}

fn large_arrays_are_remembered_by_element() {
    let mut mutator = start();
    let large = rooted_array(&mut mutator, ARRAY, 300_000);
    let small = rooted_array(&mut mutator, ARRAY, 1000);
    for _ in 0..3 {
        assert!(whole_array_is_scanned(&mut mutator, small, 1));
        assert!(!whole_array_is_scanned(&mut mutator, large, 1));
        assert!(!whole_array_is_scanned(&mut mutator, large, 1000));
        assert!(whole_array_is_scanned(&mut mutator, large, 100_000), "there is a limit");
        assert!(whole_array_is_scanned(&mut mutator, large, 200_000));
    }
}

fn logged_again() {
    let mut mutator = start();
    let old = rooted_pair(&mut mutator, 0, 0);
    for round in 0..20 {
        mutator.collect(if round % 3 == 0 {
            CollectionKind::Full
        } else {
            CollectionKind::Nursery
        });
        let value = young(&mut mutator, round);
        object(&mutator, old).set_slot(&mut mutator, round % 2, value);
        age(&mut mutator);
        check_pair(object(&mutator, old).slot(round % 2), round, 0);
    }
}

fn young_large_arrays_need_no_barrier() {
    let mut mutator = start();
    let array = rooted_array(&mut mutator, ARRAY, 5000);
    // No collection happens between the allocation of the array and its initialisation.
    let value = young(&mut mutator, 9);
    object(&mutator, array).initialize_element(4000, value);
    age(&mut mutator);
    check_pair(object(&mutator, array).element(4000), 9, 0);
}
