//! Objects of all formats keep their contents when they are moved.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::world::*;
use crate::{Case, stressed};
use squall_heap::{CollectionKind, Flag, Format, LayoutId, Mutator, Object, Word, size_of_array};

pub const CASES: &[Case] = &[
    stressed("slots_survive", slots_survive),
    stressed("classes_are_followed", classes_are_followed),
    stressed("bytes_survive", bytes_survive),
    stressed("raw_words_survive", raw_words_survive),
    stressed("arrays_of_all_sizes_survive", arrays_of_all_sizes_survive),
    stressed("objects_of_all_slot_counts_survive", objects_of_all_slot_counts_survive),
    stressed("hash_and_flags_survive", hash_and_flags_survive),
    stressed("deep_lists_need_no_stack", deep_lists_need_no_stack),
    crate::case("garbage_is_collected", garbage_is_collected),
    crate::case("allocated_bytes_never_fall", allocated_bytes_never_fall),
    crate::case("hashes_differ", hashes_differ),
    crate::case("absurd_lengths_are_refused", absurd_lengths_are_refused),
];

fn collect_both(mutator: &mut Mutator, mut check: impl FnMut(&mut Mutator)) {
    check(mutator);
    for kind in KINDS.into_iter().chain(KINDS) {
        mutator.collect(kind);
        check(mutator);
    }
}

fn slots_survive() {
    let mut mutator = start();
    let inner = rooted_pair(&mut mutator, 1, 2);
    let inner_word = mutator.get(inner);
    let outer = pair(&mut mutator, inner_word, Word::from_double(2.5).unwrap());
    let outer = mutator.push_root(outer.word());
    collect_both(&mut mutator, |mutator| {
        let outer = object(mutator, outer);
        assert_eq!(outer.slot(0), mutator.get(inner));
        check_pair(outer.slot(0), 1, 2);
        assert_eq!(outer.slot(1).as_double(), Some(2.5));
    });
}

fn classes_are_followed() {
    let mut mutator = start();
    let class = mutator.allocate_slots(CLASS, Word::NIL).unwrap();
    class.initialize_slot(0, integer(77));
    let class = mutator.push_root(class.word());
    let mut instances = Vec::new();
    for layout in [PAIR, DOUBLE, BYTES, ARRAY, WEAK, EPHEMERON] {
        let class = mutator.get(class);
        let instance = allocate(&mut mutator, layout, class, 3);
        instances.push(mutator.push_root(instance.word()));
    }
    mutator.set(class, Word::NIL);
    collect_both(&mut mutator, |mutator| {
        for &instance in &instances {
            let class = object(mutator, instance).class().as_object().expect("a class");
            assert_eq!((class.layout(), class.slot(0)), (CLASS, integer(77)));
        }
    });
}

fn allocate(mutator: &mut Mutator, layout: LayoutId, class: Word, length: usize) -> Object {
    let object = match layout.format() {
        Format::Slots | Format::Strand | Format::Ephemeron => mutator.allocate_slots(layout, class),
        Format::Raw => mutator.allocate_raw(layout, class),
        Format::Bytes => mutator.allocate_bytes(layout, class, length),
        Format::Array | Format::WeakArray => {
            mutator.allocate_array(layout, class, length, Word::NIL)
        }
    };
    object.unwrap()
}

fn bytes_survive() {
    let mut mutator = start();
    let lengths = [0, 1, 7, 8, 9, 100, 8_167, 8_168, 8_169, 8_176, 100_000];
    let contents = |length: usize| (0..length).map(|i| (i * 7 + length) as u8).collect::<Vec<u8>>();
    let mut handles = Vec::new();
    for length in lengths {
        let bytes = mutator.allocate_bytes(BYTES, NO_CLASS, length).unwrap();
        assert!((0..length).all(|index| bytes.byte(index) == 0), "new bytes are zero");
        let contents = contents(length);
        if length % 2 == 0 {
            // SAFETY: the object is new.
            unsafe { bytes.initialize_bytes(0, &contents) };
        } else {
            bytes.write_bytes(0, &contents);
        }
        handles.push(mutator.push_root(bytes.word()));
    }
    collect_both(&mut mutator, |mutator| {
        for (&handle, length) in handles.iter().zip(lengths) {
            let bytes = object(mutator, handle);
            let mut read = vec![0; length];
            bytes.read_bytes(0, &mut read);
            assert_eq!((bytes.length(), read), (length, contents(length)));
            // SAFETY: the slice is dropped before the next collection.
            assert_eq!(unsafe { bytes.bytes() }, contents(length));
        }
    });
}

fn raw_words_survive() {
    let mut mutator = start();
    let boxed = mutator.allocate_raw(DOUBLE, NO_CLASS).unwrap();
    assert_eq!(boxed.raw(0), 0, "new raw words are zero");
    boxed.set_double(f64::INFINITY);
    let boxed = mutator.push_root(boxed.word());
    // A raw word may look like a pointer to nothing.
    let hostile = mutator.allocate_raw(DOUBLE, NO_CLASS).unwrap();
    hostile.set_raw(0, 0x1231);
    let hostile = mutator.push_root(hostile.word());
    collect_both(&mut mutator, |mutator| {
        assert_eq!(object(mutator, boxed).double(), f64::INFINITY);
        assert_eq!(object(mutator, hostile).raw(0), 0x1231);
    });
}

fn arrays_of_all_sizes_survive() {
    let mut mutator = start();
    // Sizes around the least size of large arrays, and around pages.
    let large = (8 << 10) / 8 - 3;
    assert_eq!(size_of_array(large), 8 << 10);
    let lengths =
        [0, 1, 2, 100, 508, 509, 510, large - 1, large, large + 1, 5000, scaled(1_000_000, 10_000)];
    let mut handles = Vec::new();
    for length in lengths {
        let element = rooted_pair(&mut mutator, length, 5);
        let element = mutator.get(element);
        let array = mutator.allocate_array(ARRAY, NO_CLASS, length, element).unwrap();
        handles.push(mutator.push_root(array.word()));
    }
    collect_both(&mut mutator, |mutator| {
        for (&handle, length) in handles.iter().zip(lengths) {
            let array = object(mutator, handle);
            assert_eq!((array.length(), array.size()), (length, size_of_array(length)));
            assert!((0..length).all(|index| array.element(index) == array.element(0)));
            if length > 0 {
                check_pair(array.element(length - 1), length, 5);
            }
        }
    });
}

fn objects_of_all_slot_counts_survive() {
    let mut mutator = start();
    let layouts = (0..=LayoutId::MAX_SLOTS).step_by(scaled(1, 93));
    let layouts =
        layouts.map(|slots| LayoutId::new(Format::Slots, slots, true, slots + 1).unwrap());
    let layouts: Vec<LayoutId> = layouts.collect();
    let mut handles = Vec::new();
    for &layout in &layouts {
        let object = mutator.allocate_slots(layout, NO_CLASS).unwrap();
        assert!((0..layout.slot_count()).all(|slot| object.slot(slot).is_nil()));
        for slot in 0..layout.slot_count() {
            object.initialize_slot(slot, integer(slot));
        }
        handles.push(mutator.push_root(object.word()));
    }
    collect_both(&mut mutator, |mutator| {
        for (&handle, &layout) in handles.iter().zip(&layouts) {
            let object = object(mutator, handle);
            assert_eq!(object.layout(), layout);
            assert!((0..layout.slot_count()).all(|slot| object.slot(slot) == integer(slot)));
        }
    });
}

fn hash_and_flags_survive() {
    let mut mutator = start();
    let handles: Vec<_> = (0..100).map(|index| rooted_pair(&mut mutator, index, 0)).collect();
    let mut hashes = Vec::new();
    for (index, &handle) in handles.iter().enumerate() {
        let object = object(&mutator, handle);
        hashes.push(object.identity_hash());
        if index % 3 == 0 {
            assert!(object.set_flag(Flag::First));
            assert!(!object.set_flag(Flag::First), "it was set already");
        }
        if index % 5 == 0 {
            assert!(object.set_flag(Flag::Second));
        }
    }
    collect_both(&mut mutator, |mutator| {
        for (index, &handle) in handles.iter().enumerate() {
            let object = object(mutator, handle);
            assert_eq!(object.identity_hash(), hashes[index]);
            assert_eq!(object.has_flag(Flag::First), index % 3 == 0);
            assert_eq!(object.has_flag(Flag::Second), index % 5 == 0);
        }
    });
    let last = object(&mutator, handles[0]);
    assert!(last.clear_flag(Flag::First) && !last.clear_flag(Flag::First));
    assert_eq!(last.identity_hash(), hashes[0]);
    assert_eq!(last.assign_identity_hash(1), hashes[0], "the first hash stays");
}

fn hashes_differ() {
    let mut mutator = start();
    let mut hashes = std::collections::HashSet::new();
    for _ in 0..100_000 {
        let hash = mutator.allocate_slots(PAIR, NO_CLASS).unwrap().identity_hash();
        assert!(hash != 0 && hash < 1 << squall_heap::HASH_BITS);
        assert!(hashes.insert(hash), "hashes repeat after 2^{} objects", squall_heap::HASH_BITS);
    }
    let high_bits: std::collections::HashSet<u32> =
        hashes.iter().map(|hash| hash >> (squall_heap::HASH_BITS - 7)).collect();
    assert_eq!(high_bits.len(), 1 << 7, "hashes use all their bits");
}

fn deep_lists_need_no_stack() {
    let mut mutator = start();
    let length = scaled(1_000_000, 500);
    let list = mutator.push_root(Word::NIL);
    for index in 0..length {
        let rest = mutator.get(list);
        let cell = pair(&mut mutator, integer(index), rest);
        mutator.set(list, cell.word());
    }
    collect_both(&mut mutator, |mutator| {
        let mut rest = mutator.get(list);
        for index in (0..length).rev() {
            let cell = rest.as_object().expect("a cell");
            assert_eq!(cell.slot(0), integer(index));
            rest = cell.slot(1);
        }
        assert!(rest.is_nil());
    });
}

fn garbage_is_collected() {
    let mut mutator = start();
    let kept = rooted_pair(&mut mutator, 1, 2);
    for index in 0..10_000_000 {
        mutator.allocate_slots(PAIR, integer(index)).unwrap();
    }
    check_pair(mutator.get(kept), 1, 2);
    mutator.collect(CollectionKind::Full);
    let statistics = mutator.heap().statistics();
    assert!(statistics.nursery.count >= 50, "320 MB through a nursery of 4 MiB");
    assert!(statistics.allocated_bytes >= 320_000_000);
    assert!(statistics.live_bytes < 1 << 20, "one pair survives");
}

/// A thread asks for statistics all the time, also while collections copy objects.
fn allocated_bytes_never_fall() {
    const OBJECTS: usize = 1_500_000;
    const BYTES: u64 = 32 * OBJECTS as u64;
    let mut mutator = start();
    let heap = mutator.heap();
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = is_over.clone();
    let watcher = thread::spawn(move || {
        let mut last = 0;
        while !ends.load(Ordering::Acquire) {
            let allocated = heap.statistics().allocated_bytes;
            assert!(allocated >= last, "{allocated} after {last}");
            last = allocated;
        }
    });
    let nothing = mutator.push_root(Word::NIL);
    for index in 0..OBJECTS {
        // A third of them lives until the next full collection.
        let object = mutator.allocate_slots(PAIR, NO_CLASS).unwrap();
        object.initialize_slot(0, integer(index));
        if index % 3 == 0 {
            object.initialize_slot(1, mutator.get(nothing));
            mutator.set(nothing, object.word());
        }
        if index % 300_000 == 0 {
            mutator.set(nothing, Word::NIL);
            mutator.collect(CollectionKind::Full);
        }
    }
    is_over.store(true, Ordering::Release);
    mutator.native(|| watcher.join().unwrap());
    let allocated = heap.statistics().allocated_bytes;
    assert!((BYTES..BYTES * 3 / 2).contains(&allocated), "{allocated} of {BYTES}");
}

fn absurd_lengths_are_refused() {
    let mut mutator = start();
    for length in [1 << 40, 1 << 44, 1 << 60, usize::MAX] {
        assert_eq!(mutator.allocate_array(ARRAY, NO_CLASS, length, Word::NIL), None);
        assert_eq!(mutator.allocate_bytes(BYTES, NO_CLASS, length), None);
    }
}
