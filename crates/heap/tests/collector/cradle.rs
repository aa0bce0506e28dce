//! The cradle: the heap's first objects, before there is a collector, and their way into its memory.

use crate::world::*;
use crate::{Case, case};
use squall_heap::{CollectionKind, HeapOptions, Mutator, Word};
use std::sync::Barrier;
use std::thread;

pub const CASES: &[Case] = &[
    case("few_objects_need_no_collector", few_objects_need_no_collector),
    case("objects_leave_the_cradle_when_it_is_used_up", || all_formats_survive(use_up)),
    case("objects_leave_the_cradle_for_a_large_object", || all_formats_survive(allocate_large)),
    case("objects_leave_the_cradle_for_a_collection", || {
        all_formats_survive(|mutator| mutator.collect(CollectionKind::Nursery));
    }),
    case("all_that_is_weak_survives_the_evacuation", all_that_is_weak_survives_the_evacuation),
    case("stores_before_and_after_the_evacuation", stores_before_and_after_the_evacuation),
    case("threads_share_the_cradle", threads_share_the_cradle),
    case("a_thread_that_is_away_finds_the_collector", a_thread_that_is_away_finds_the_collector),
    case("a_small_heap_has_no_cradle", a_small_heap_has_no_cradle),
];

/// More than the cradle has.
const MUCH: usize = 2 << 20;

fn used(mutator: &Mutator) -> usize {
    mutator.heap().statistics().used_bytes
}

fn use_up(mutator: &mut Mutator) {
    let depth = mutator.root_depth();
    for _ in 0..MUCH / 32 {
        _ = pair(mutator, Word::NIL, Word::NIL);
    }
    mutator.truncate_roots(depth);
    assert_eq!(mutator.heap().collections(), 0, "the nursery has room");
}

fn allocate_large(mutator: &mut Mutator) {
    let array = mutator.allocate_array(ARRAY, NO_CLASS, 5000, Word::TRUE).unwrap();
    assert_eq!(array.element(4999), Word::TRUE);
}

fn few_objects_need_no_collector() {
    let mut mutator = start();
    assert_eq!(used(&mutator), 0);
    let first = rooted_pair(&mut mutator, 1, 2);
    let address = object(&mutator, first).address();
    // Windows have 32 KiB, and the collector's memory is counted in other units.
    assert_eq!(used(&mutator), 32 << 10);
    for _ in 0..2000 {
        _ = pair(&mut mutator, Word::NIL, Word::NIL);
    }
    assert_eq!(used(&mutator), 64 << 10);
    mutator.safepoint();
    mutator.native(|| ());
    assert_eq!(object(&mutator, first).address(), address, "nothing moves");
    assert_eq!(mutator.heap().statistics().allocated_bytes, 64 << 10);
}

/// Objects of all formats, with references in all directions, go through `leave`, and then through collections.
fn all_formats_survive(leave: fn(&mut Mutator)) {
    let mut mutator = start();
    let class = mutator.allocate_slots(CLASS, NO_CLASS).unwrap().word();
    let class = mutator.push_root(class);
    let root = rooted_array(&mut mutator, ARRAY, 8);
    let store = |mutator: &mut Mutator, index: usize, word: Word| {
        object(mutator, root).set_element(mutator, index, word);
    };
    let shared = pair(&mut mutator, integer(3), integer(4)).word();
    store(&mut mutator, 0, shared);
    let hash = object(&mutator, root).element(0).as_object().unwrap().identity_hash();
    let shared = object(&mutator, root).element(0);
    let referrer = pair(&mut mutator, shared, Word::TRUE).word();
    store(&mut mutator, 1, referrer);
    let bytes = {
        let class = mutator.get(class);
        let bytes = mutator.allocate_bytes(BYTES, class, 13).unwrap();
        bytes.write_bytes(0, b"thirteen char");
        bytes.word()
    };
    store(&mut mutator, 2, bytes);
    let double = mutator.allocate_raw(DOUBLE, NO_CLASS).unwrap();
    double.set_double(2.5);
    store(&mut mutator, 3, double.word());
    let cycle = pair(&mut mutator, Word::NIL, Word::NIL).word();
    let cycle_object = cycle.as_object().unwrap();
    cycle_object.set_slot(&mut mutator, 0, cycle);
    store(&mut mutator, 4, cycle);
    let before = object(&mutator, root).address();

    leave(&mut mutator);
    assert_ne!(object(&mutator, root).address(), before);
    for kind in [None, Some(CollectionKind::Nursery), Some(CollectionKind::Full)] {
        if let Some(kind) = kind {
            mutator.collect(kind);
        }
        let root = object(&mutator, root);
        let element = |index| root.element(index).as_object().unwrap();
        check_pair(root.element(0), 3, 4);
        assert_eq!(element(0).identity_hash(), hash);
        assert_eq!((element(1).slot(0), element(1).slot(1)), (root.element(0), Word::TRUE));
        let mut text = [0; 13];
        element(2).read_bytes(0, &mut text);
        assert_eq!(&text, b"thirteen char");
        assert_eq!(element(2).class(), mutator.get(class));
        assert_eq!(element(3).double(), 2.5);
        assert_eq!(element(4).slot(0), root.element(4));
        assert!(root.element(5).is_nil());
    }
}

/// Before the first collection, nothing is known to be dead: weak references stay, and nothing is finalised. The first
/// collection finds out.
fn all_that_is_weak_survives_the_evacuation() {
    let mut mutator = start();
    let weak = rooted_array(&mut mutator, WEAK, 2);
    let kept = rooted_pair(&mut mutator, 5, 6);
    let lost = pair(&mut mutator, integer(7), integer(8));
    object(&mutator, weak).set_element(&mut mutator, 0, lost.word());
    let kept_word = mutator.get(kept);
    object(&mutator, weak).set_element(&mut mutator, 1, kept_word);
    mutator.heap().register_finalizable(lost, 77);
    world().weak.lock().unwrap().push(lost.word());
    world()
        .conditional
        .lock()
        .unwrap()
        .push(Conditional { condition: lost.word(), root: kept_word });
    let ephemeron = mutator.allocate_slots(EPHEMERON, NO_CLASS).unwrap();
    let ephemeron = mutator.push_root(ephemeron.word());
    let key = object(&mutator, weak).element(0);
    object(&mutator, ephemeron).set_slot(&mut mutator, 0, key);
    object(&mutator, ephemeron).set_slot(&mut mutator, 1, kept_word);

    use_up(&mut mutator);
    let lost = object(&mutator, weak).element(0);
    check_pair(lost, 7, 8);
    check_pair(object(&mutator, weak).element(1), 5, 6);
    assert_eq!(world().weak.lock().unwrap()[..], [lost]);
    assert_eq!(object(&mutator, ephemeron).slot(0), lost);
    check_pair(object(&mutator, ephemeron).slot(1), 5, 6);
    {
        let conditional = world().conditional.lock().unwrap();
        assert_eq!((conditional[0].condition, conditional[0].root), (lost, mutator.get(kept)));
    }
    assert!(!mutator.heap().has_finalizable());

    mutator.collect(CollectionKind::Full);
    let dead = mutator.heap().take_finalizable().unwrap();
    assert_eq!(dead.tag, 77);
    check_pair(dead.object, 7, 8);
    mutator.collect(CollectionKind::Full);
    assert!(object(&mutator, weak).element(0).is_nil());
    assert!(object(&mutator, ephemeron).slot(0).is_nil());
    assert!(world().weak.lock().unwrap().is_empty());
    check_pair(object(&mutator, weak).element(1), 5, 6);
}

/// The first collection is a full one, because root sources took the evacuation for one. Afterwards, the write barrier
/// finds what was stored into what lived in the cradle.
fn stores_before_and_after_the_evacuation() {
    let mut mutator = start();
    let old = rooted_array(&mut mutator, ARRAY, 3);
    for (index, leave) in [
        |_: &mut Mutator| (),
        use_up,
        |mutator: &mut Mutator| {
            mutator.collect(CollectionKind::Nursery);
        },
    ]
    .iter()
    .enumerate()
    {
        leave(&mut mutator);
        let young = pair(&mut mutator, integer(index), integer(1)).word();
        object(&mutator, old).set_element(&mut mutator, index, young);
    }
    assert_eq!(mutator.heap().statistics().full.count, 1);
    mutator.collect(CollectionKind::Nursery);
    assert_eq!(mutator.heap().statistics().nursery.count, 1);
    for index in 0..3 {
        check_pair(object(&mutator, old).element(index), index, 1);
    }
}

const THREADS: usize = 4;

/// Several threads begin in the cradle; one of them is the first to leave it.
fn threads_share_the_cradle() {
    let mut mutator = start();
    let heap = mutator.heap();
    let together = Barrier::new(THREADS);
    mutator.native(|| {
        thread::scope(|scope| {
            for index in 1..=THREADS {
                let together = &together;
                scope.spawn(move || {
                    let mut mutator = attach(heap, index);
                    let mine = rooted_pair(&mut mutator, index, index);
                    mutator.native(|| _ = together.wait());
                    for round in 0..MUCH / 32 {
                        let other = rooted_pair(&mut mutator, round, index);
                        check_pair(mutator.get(other), round, index);
                        mutator.pop_root();
                        mutator.safepoint();
                    }
                    check_pair(mutator.get(mine), index, index);
                });
            }
        });
    });
    assert!(used(&mutator) > 1 << 20);
    check_pair(rooted_and_read(&mut mutator), 1, 2);
}

fn rooted_and_read(mutator: &mut Mutator) -> Word {
    let pair = rooted_pair(mutator, 1, 2);
    mutator.get(pair)
}

/// The objects of a mutator move while it is in a native section, and it allocates and stores as before.
fn a_thread_that_is_away_finds_the_collector() {
    let mut mutator = start();
    let heap = mutator.heap();
    let mine = rooted_array(&mut mutator, ARRAY, 2);
    let before = object(&mutator, mine).address();
    mutator.native(|| {
        thread::scope(|scope| {
            scope.spawn(move || use_up(&mut attach(heap, 1)));
        });
    });
    assert_ne!(object(&mutator, mine).address(), before);
    let young = pair(&mut mutator, integer(1), integer(2)).word();
    object(&mutator, mine).set_element(&mut mutator, 0, young);
    mutator.collect(CollectionKind::Full);
    let young = pair(&mut mutator, integer(3), integer(4)).word();
    object(&mutator, mine).set_element(&mut mutator, 1, young);
    mutator.collect(CollectionKind::Nursery);
    check_pair(object(&mutator, mine).element(0), 1, 2);
    check_pair(object(&mutator, mine).element(1), 3, 4);
}

fn a_small_heap_has_no_cradle() {
    let options = HeapOptions { max_heap: Some(HeapOptions::MIN_MAX_HEAP), ..Default::default() };
    let mut mutator = start_with(options);
    _ = rooted_pair(&mut mutator, 1, 2);
    mutator.collect(CollectionKind::Nursery);
    assert_eq!(mutator.heap().statistics().nursery.count, 1);
}
