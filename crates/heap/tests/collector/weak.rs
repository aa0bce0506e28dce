//! Weak arrays, ephemerons, finalisation, and the runtime's conditional and weak roots.

use crate::world::*;
use crate::{Case, case, stressed};
use squall_heap::{CollectionKind, Mutator, RootHandle, Word};
use std::collections::BTreeSet;

pub const CASES: &[Case] = &[
    stressed("weak_elements_are_cleared", || weak_elements(100)),
    stressed("weak_elements_of_large_arrays_are_cleared", || weak_elements(3000)),
    stressed("old_weak_arrays_with_young_elements", old_weak_arrays_with_young_elements),
    stressed("weak_arrays_of_weak_arrays", weak_arrays_of_weak_arrays),
    stressed("nursery_collections_clear_only_the_young", nursery_collections_clear_only_the_young),
    stressed("ephemerons_keep_values_of_live_keys", ephemerons_keep_values_of_live_keys),
    stressed("ephemerons_are_cleared_together", ephemerons_are_cleared_together),
    stressed("ephemerons_chain", ephemerons_chain),
    stressed("ephemerons_with_immediate_keys", ephemerons_with_immediate_keys),
    stressed("ephemerons_whose_value_holds_the_key", ephemerons_whose_value_holds_the_key),
    stressed("old_ephemerons_with_young_parts", old_ephemerons_with_young_parts),
    stressed("finalisation_hands_out_dead_objects", finalisation_hands_out_dead_objects),
    stressed("finalised_objects_keep_what_they_reach", finalised_objects_keep_what_they_reach),
    stressed("weak_references_outlive_finalisation", weak_references_outlive_finalisation),
    case("live_objects_are_not_finalised", live_objects_are_not_finalised),
    stressed("conditional_roots_chain", conditional_roots_chain),
    stressed("weak_roots_are_forgotten", weak_roots_are_forgotten),
];

/// A weak array of this length whose elements are new pairs of their index; every third pair is also in a strong array.
/// Answers both arrays.
fn weak_and_strong(mutator: &mut Mutator, length: usize) -> (RootHandle, RootHandle) {
    let weak = rooted_array(mutator, WEAK, length);
    let strong = rooted_array(mutator, ARRAY, length);
    for index in 0..length {
        let element = pair(mutator, integer(index), integer(0)).word();
        if index % 3 == 0 {
            object(mutator, strong).set_element(mutator, index, element);
        }
        object(mutator, weak).set_element(mutator, index, element);
    }
    (weak, strong)
}

fn check_every_third(mutator: &Mutator, weak: RootHandle, strong: RootHandle) {
    let (weak, strong) = (object(mutator, weak), object(mutator, strong));
    for index in 0..weak.length() {
        assert_eq!(weak.element(index), strong.element(index));
        if index % 3 == 0 {
            check_pair(weak.element(index), index, 0);
        } else {
            assert!(weak.element(index).is_nil());
        }
    }
}

fn weak_elements(length: usize) {
    let mut mutator = start();
    let length = scaled(length, length.min(1200));
    let (weak, strong) = weak_and_strong(&mut mutator, length);
    for kind in [CollectionKind::Full, CollectionKind::Nursery, CollectionKind::Full] {
        mutator.collect(kind);
        check_every_third(&mutator, weak, strong);
    }
    mutator.set(strong, Word::NIL);
    mutator.collect(CollectionKind::Full);
    let weak = object(&mutator, weak);
    assert!((0..length).all(|index| weak.element(index).is_nil()));
}

fn old_weak_arrays_with_young_elements() {
    let mut mutator = start();
    for length in [10, 2000] {
        let weak = rooted_array(&mut mutator, WEAK, length);
        mutator.collect(CollectionKind::Full);
        let kept = rooted_pair(&mut mutator, 1, 1);
        let kept_word = mutator.get(kept);
        object(&mutator, weak).set_element(&mut mutator, 0, kept_word);
        let lost = pair(&mut mutator, Word::NIL, Word::NIL).word();
        object(&mutator, weak).set_element(&mut mutator, 1, lost);
        object(&mutator, weak).set_element(&mut mutator, 2, Word::TRUE);
        mutator.collect(CollectionKind::Nursery);
        let weak = object(&mutator, weak);
        assert_eq!(weak.element(0), mutator.get(kept));
        assert_eq!((weak.element(1), weak.element(2)), (Word::NIL, Word::TRUE));
    }
}

fn weak_arrays_of_weak_arrays() {
    let mut mutator = start();
    let outer = rooted_array(&mut mutator, WEAK, 2);
    let inner = rooted_array(&mut mutator, WEAK, 1);
    let kept = rooted_pair(&mut mutator, 3, 4);
    let kept_word = mutator.get(kept);
    object(&mutator, inner).set_element(&mut mutator, 0, kept_word);
    let inner_word = mutator.get(inner);
    object(&mutator, outer).set_element(&mut mutator, 0, inner_word);
    mutator.collect(CollectionKind::Full);
    let found = object(&mutator, outer).element(0).as_object().expect("the inner array");
    assert_eq!(found.word(), mutator.get(inner));
    check_pair(found.element(0), 3, 4);
    mutator.set(inner, Word::NIL);
    mutator.collect(CollectionKind::Full);
    assert!(object(&mutator, outer).element(0).is_nil());
}

fn nursery_collections_clear_only_the_young() {
    let mut mutator = start();
    let (weak, strong) = weak_and_strong(&mut mutator, 9);
    mutator.collect(CollectionKind::Nursery);
    check_every_third(&mutator, weak, strong);
    mutator.set(strong, Word::NIL);
    mutator.collect(CollectionKind::Nursery);
    let array = object(&mutator, weak);
    (0..9).step_by(3).for_each(|index| check_pair(array.element(index), index, 0));
    mutator.collect(CollectionKind::Full);
    let array = object(&mutator, weak);
    assert!((0..9).all(|index| array.element(index).is_nil()));
}

/// A new ephemeron, rooted.
fn ephemeron(mutator: &mut Mutator, key: Word, value: Word) -> RootHandle {
    let depth = mutator.root_depth();
    let (key, value) = (mutator.push_root(key), mutator.push_root(value));
    let ephemeron = mutator.allocate_slots(EPHEMERON, NO_CLASS).unwrap();
    ephemeron.initialize_slot(0, mutator.get(key));
    ephemeron.initialize_slot(1, mutator.get(value));
    mutator.truncate_roots(depth);
    mutator.push_root(ephemeron.word())
}

fn parts(mutator: &Mutator, ephemeron: RootHandle) -> (Word, Word) {
    let ephemeron = object(mutator, ephemeron);
    (ephemeron.slot(0), ephemeron.slot(1))
}

const CLEARED: (Word, Word) = (Word::NIL, Word::NIL);

fn ephemerons_keep_values_of_live_keys() {
    let mut mutator = start();
    let key = rooted_pair(&mut mutator, 1, 1);
    let value = pair(&mut mutator, integer(2), integer(2)).word();
    let key_word = mutator.get(key);
    let ephemeron = ephemeron(&mut mutator, key_word, value);
    for kind in KINDS.into_iter().chain(KINDS) {
        mutator.collect(kind);
        let (found_key, found_value) = parts(&mutator, ephemeron);
        assert_eq!(found_key, mutator.get(key));
        check_pair(found_value, 2, 2);
    }
    mutator.set(key, Word::NIL);
    mutator.collect(CollectionKind::Full);
    assert_eq!(parts(&mutator, ephemeron), CLEARED);
}

fn ephemerons_are_cleared_together() {
    let mut mutator = start();
    let key = rooted_pair(&mut mutator, 1, 1);
    let key_word = mutator.get(key);
    let first = ephemeron(&mut mutator, key_word, Word::TRUE);
    let key_word = mutator.get(key);
    let second = ephemeron(&mut mutator, key_word, Word::FALSE);
    mutator.set(key, Word::NIL);
    mutator.collect(CollectionKind::Full);
    assert_eq!((parts(&mutator, first), parts(&mutator, second)), (CLEARED, CLEARED));
}

/// Each value is the next key, in the best and in the worst order.
fn ephemerons_chain() {
    let mut mutator = start();
    for reversed in [false, true] {
        let links = 50;
        let first_key = rooted_pair(&mut mutator, 0, 0);
        let keys = rooted_array(&mut mutator, ARRAY, links + 1);
        let first = mutator.get(first_key);
        object(&mutator, keys).set_element(&mut mutator, 0, first);
        for index in 1..=links {
            let key = pair(&mut mutator, integer(index), integer(0)).word();
            object(&mutator, keys).set_element(&mut mutator, index, key);
        }
        let order: Vec<usize> =
            if reversed { (0..links).rev().collect() } else { (0..links).collect() };
        let mut chain = vec![None; links];
        for index in order {
            let array = object(&mutator, keys);
            let (key, value) = (array.element(index), array.element(index + 1));
            chain[index] = Some(ephemeron(&mut mutator, key, value));
        }
        mutator.set(keys, Word::NIL);
        let chain: Vec<RootHandle> = chain.into_iter().flatten().collect();
        mutator.collect(CollectionKind::Full);
        for (index, &link) in chain.iter().enumerate() {
            let (key, value) = parts(&mutator, link);
            check_pair(key, index, 0);
            check_pair(value, index + 1, 0);
        }
        mutator.set(first_key, Word::NIL);
        mutator.collect(CollectionKind::Full);
        assert!(chain.iter().all(|&link| parts(&mutator, link) == CLEARED));
    }
}

fn ephemerons_with_immediate_keys() {
    let mut mutator = start();
    let value = pair(&mut mutator, integer(7), integer(7)).word();
    let ephemeron = ephemeron(&mut mutator, integer(1), value);
    for kind in KINDS {
        mutator.collect(kind);
        check_pair(parts(&mutator, ephemeron).1, 7, 7);
    }
}

fn ephemerons_whose_value_holds_the_key() {
    let mut mutator = start();
    let key = rooted_pair(&mut mutator, 1, 1);
    let key_word = mutator.get(key);
    let value = pair(&mut mutator, key_word, Word::NIL).word();
    let key_word = mutator.get(key);
    let ephemeron = ephemeron(&mut mutator, key_word, value);
    mutator.collect(CollectionKind::Full);
    check_pair(parts(&mutator, ephemeron).0, 1, 1);
    mutator.set(key, Word::NIL);
    mutator.collect(CollectionKind::Full);
    assert_eq!(parts(&mutator, ephemeron), CLEARED);
}

fn old_ephemerons_with_young_parts() {
    let mut mutator = start();
    let kept = ephemeron(&mut mutator, Word::NIL, Word::NIL);
    let lost = ephemeron(&mut mutator, Word::NIL, Word::NIL);
    mutator.collect(CollectionKind::Full);
    let key = rooted_pair(&mut mutator, 1, 2);
    for (ephemeron, is_kept) in [(kept, true), (lost, false)] {
        let value = rooted_pair(&mut mutator, 3, 4);
        let dead_key = pair(&mut mutator, Word::NIL, Word::NIL).word();
        let key = if is_kept { mutator.get(key) } else { dead_key };
        object(&mutator, ephemeron).set_slot(&mut mutator, 0, key);
        let value = mutator.get(value);
        object(&mutator, ephemeron).set_slot(&mut mutator, 1, value);
        mutator.pop_root();
    }
    mutator.collect(CollectionKind::Nursery);
    assert_eq!(parts(&mutator, kept).0, mutator.get(key));
    check_pair(parts(&mutator, kept).1, 3, 4);
    assert_eq!(parts(&mutator, lost), CLEARED);
}

/// Registers a new pair of this number and another number, with the number as its tag.
fn register(mutator: &mut Mutator, number: usize) -> Word {
    let inner = pair(mutator, integer(number), integer(1)).word();
    let outer = pair(mutator, integer(number), inner);
    mutator.heap().register_finalizable(outer, number as u64);
    outer.word()
}

/// Takes the finalisable objects, checks their contents, and answers their tags.
fn finalize(mutator: &Mutator) -> Vec<u64> {
    let taken = std::iter::from_fn(|| mutator.heap().take_finalizable());
    let tags = taken.map(|finalizable| {
        let object = finalizable.object.as_object().expect("an object");
        assert_eq!(object.slot(0), integer(finalizable.tag as usize));
        check_pair(object.slot(1), finalizable.tag as usize, 1);
        finalizable.tag
    });
    tags.collect()
}

fn finalisation_hands_out_dead_objects() {
    let mut mutator = start();
    let mut tags = BTreeSet::new();
    let live = register(&mut mutator, 1000);
    let live = mutator.push_root(live);
    for number in 0..100 {
        register(&mut mutator, number);
        tags.extend(is_stressed().then(|| finalize(&mutator)).into_iter().flatten());
    }
    mutator.collect(CollectionKind::Nursery);
    assert!(is_stressed() || mutator.heap().has_finalizable());
    tags.extend(finalize(&mutator));
    assert_eq!(tags, (0..100).collect(), "each once, the live one not");
    assert!(!mutator.heap().has_finalizable());
    mutator.set(live, Word::NIL);
    mutator.collect(CollectionKind::Nursery);
    assert_eq!(finalize(&mutator), [], "it is old");
    mutator.collect(CollectionKind::Full);
    assert_eq!(finalize(&mutator), [1000]);
    mutator.collect(CollectionKind::Full);
    assert_eq!(finalize(&mutator), [], "once is enough");
}

fn finalised_objects_keep_what_they_reach() {
    let mut mutator = start();
    register(&mut mutator, 1);
    for _ in 0..3 {
        KINDS.into_iter().for_each(|kind| mutator.collect(kind));
    }
    assert_eq!(finalize(&mutator), [1], "the queue kept it in good order");
}

fn weak_references_outlive_finalisation() {
    let mut mutator = start();
    let weak = rooted_array(&mut mutator, WEAK, 2);
    let dying = register(&mut mutator, 5);
    object(&mutator, weak).set_element(&mut mutator, 0, dying);
    let dying = object(&mutator, weak).element(0).as_object().expect("an object");
    object(&mutator, weak).set_element(&mut mutator, 1, dying.slot(1));
    mutator.collect(CollectionKind::Full);
    let found = object(&mutator, weak).element(0).as_object().expect("not finalised yet");
    assert_eq!(object(&mutator, weak).element(1), found.slot(1));
    assert_eq!(finalize(&mutator), [5]);
    mutator.collect(CollectionKind::Full);
    let weak = object(&mutator, weak);
    assert!(weak.element(0).is_nil() && weak.element(1).is_nil());
}

fn live_objects_are_not_finalised() {
    let mut mutator = start();
    let all = rooted_array(&mut mutator, ARRAY, 10_000);
    for number in 0..10_000 {
        let word = register(&mut mutator, number);
        object(&mutator, all).set_element(&mut mutator, number, word);
    }
    for kind in KINDS.into_iter().chain(KINDS) {
        mutator.collect(kind);
        assert!(!mutator.heap().has_finalizable());
    }
    mutator.set(all, Word::NIL);
    mutator.collect(CollectionKind::Full);
    assert_eq!(finalize(&mutator).len(), 10_000);
}

/// Conditional roots as for blocked strands: the frames of each strand are roots if the strand can still be woken, and
/// its frames hold the waker of the next strand.
fn conditional_roots_chain() {
    let mut mutator = start();
    let first = rooted_pair(&mut mutator, 0, 0);
    let previous = mutator.get(first);
    let previous = mutator.push_root(previous);
    for index in 1..20 {
        let root = pair(&mut mutator, integer(index), integer(0)).word();
        let condition = mutator.get(previous);
        world().conditional.lock().unwrap().insert(0, Conditional { condition, root });
        mutator.set(previous, root);
    }
    mutator.set(previous, Word::NIL);
    for kind in KINDS {
        mutator.collect(kind);
        let conditional = world().conditional.lock().unwrap();
        assert_eq!(conditional.len(), 19);
        for (index, conditional) in conditional.iter().rev().enumerate() {
            check_pair(conditional.condition, index, 0);
            check_pair(conditional.root, index + 1, 0);
        }
    }
    mutator.set(first, Word::NIL);
    mutator.collect(CollectionKind::Full);
    assert!(world().conditional.lock().unwrap().is_empty());
}

fn weak_roots_are_forgotten() {
    let mut mutator = start();
    let kept: Vec<RootHandle> = (0..10).map(|index| rooted_pair(&mut mutator, index, 0)).collect();
    for &handle in &kept {
        let word = mutator.get(handle);
        world().weak.lock().unwrap().push(word);
        let lost = pair(&mut mutator, Word::NIL, Word::NIL).word();
        world().weak.lock().unwrap().push(lost);
    }
    for kind in KINDS {
        mutator.collect(kind);
        let weak = world().weak.lock().unwrap();
        assert!(weak.iter().copied().eq(kept.iter().map(|&handle| mutator.get(handle))));
    }
}
