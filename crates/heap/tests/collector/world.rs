//! A small runtime for the tests: classes, roots, and ways to make objects.

use squall_heap::{
    CollectionKind, Format, Heap, HeapOptions, LayoutId, Mutator, Object, RootAddress, RootHandle,
    RootSource, Stress, Tracer, Word,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

/// The roots that the root source offers to the cases. The locks are free whenever a collection can begin.
#[derive(Default)]
pub struct World {
    pub roots: Mutex<Vec<Word>>,
    pub conditional: Mutex<Vec<Conditional>>,
    pub weak: Mutex<Vec<Word>>,
    pub visited_contexts: Mutex<Vec<usize>>,
    pub stop_requests: AtomicU64,
    pub ended_stops: AtomicU64,
    pub poll: AtomicBool,
}

/// A root that counts while `condition` is live.
pub struct Conditional {
    pub condition: Word,
    pub root: Word,
}

/// The world of this process.
pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(World::default)
}

struct Source;

// SAFETY: the visited words lie in vectors behind locks that no test takes during a collection.
unsafe impl RootSource for Source {
    fn visit_roots(&self, _: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        RootAddress::of_all(&mut world().roots.lock().unwrap()).for_each(visit);
    }

    fn visit_mutator_roots(
        &self,
        context: usize,
        _: CollectionKind,
        _: &mut dyn FnMut(RootAddress),
    ) {
        world().visited_contexts.lock().unwrap().push(context);
    }

    fn request_stop(&self, _: usize) {
        world().stop_requests.fetch_add(1, Ordering::Relaxed);
        world().poll.store(true, Ordering::Relaxed);
    }

    fn stop_ended(&self, _: usize) {
        world().ended_stops.fetch_add(1, Ordering::Relaxed);
        world().poll.store(false, Ordering::Relaxed);
    }

    fn visit_conditional_roots(&self, _: CollectionKind, tracer: &mut Tracer<'_>) {
        for conditional in world().conditional.lock().unwrap().iter_mut() {
            if tracer.is_live(conditional.condition) {
                tracer.keep(&mut conditional.condition);
                tracer.keep(&mut conditional.root);
            }
        }
    }

    fn visit_weak_roots(&self, _: CollectionKind, tracer: &mut Tracer<'_>) {
        world().weak.lock().unwrap().retain_mut(|word| tracer.update(word));
        world().conditional.lock().unwrap().retain(|conditional| tracer.is_live(conditional.root));
    }
}

static STRESS: OnceLock<Option<Stress>> = OnceLock::new();

/// Chooses the stress that [`heap_with`] adds to the options.
pub fn set_mode(mode: &str) {
    let stress = match mode {
        "stress-nursery" => Some(Stress { every: 1, full: 0 }),
        "stress-full" => Some(Stress { every: 1, full: 1 }),
        "stress-some" => Some(Stress { every: 7, full: 5 }),
        _ => None,
    };
    STRESS.set(stress).unwrap();
}

/// Whether collections happen at many allocations, so that a case should be short.
pub fn is_stressed() -> bool {
    STRESS.get().is_some_and(Option::is_some)
}

/// `usual`, or `stressed` when collections happen at many allocations.
pub fn scaled(usual: usize, stressed: usize) -> usize {
    if is_stressed() { stressed } else { usual }
}

/// The heap of this process.
pub fn heap_with(options: HeapOptions) -> &'static Heap {
    let stress = STRESS.get().copied().flatten();
    let heap = Heap::new(HeapOptions { stress: options.stress.or(stress), ..options }).unwrap();
    assert!(heap.set_root_source(Box::new(Source)));
    heap
}

/// A mutator of this process's heap, which this call creates.
pub fn start() -> Mutator {
    start_with(HeapOptions { max_heap: Some(1 << 30), ..HeapOptions::default() })
}

/// Does the same as [`start`], with options.
pub fn start_with(options: HeapOptions) -> Mutator {
    attach(heap_with(options), 0)
}

/// Does the same as [`start`], for cases that count collections: there is a collector from the beginning.
pub fn start_with_collector() -> Mutator {
    let nursery_bytes = 1 << 20;
    start_with(HeapOptions { max_heap: Some(1 << 30), nursery_bytes, ..HeapOptions::default() })
}

/// Attaches this thread.
pub fn attach(heap: &'static Heap, context: usize) -> Mutator {
    // SAFETY: the cases keep the rooting discipline.
    unsafe { heap.attach(context) }
}

pub const PAIR: LayoutId = layout(Format::Slots, 2, 1);
pub const CLASS: LayoutId = layout(Format::Slots, 1, 2);
pub const ARRAY: LayoutId = layout(Format::Array, 0, 3);
pub const BYTES: LayoutId = layout(Format::Bytes, 0, 4);
pub const DOUBLE: LayoutId = layout(Format::Raw, 1, 5);
pub const WEAK: LayoutId = layout(Format::WeakArray, 0, 6);
pub const EPHEMERON: LayoutId = layout(Format::Ephemeron, 2, 7);

const fn layout(format: Format, slots: u32, number: u32) -> LayoutId {
    match LayoutId::new(format, slots, false, number) {
        Some(layout) => layout,
        None => panic!("a layout that fits"),
    }
}

/// The class of all objects whose class does not matter.
pub const NO_CLASS: Word = Word::NIL;

pub fn integer(value: usize) -> Word {
    Word::from_small_integer(value as i64).unwrap()
}

/// A new pair, which must be rooted before the next allocation.
pub fn pair(mutator: &mut Mutator, first: Word, second: Word) -> Object {
    let depth = mutator.root_depth();
    let (first, second) = (mutator.push_root(first), mutator.push_root(second));
    let object = mutator.allocate_slots(PAIR, NO_CLASS).unwrap();
    object.initialize_slot(0, mutator.get(first));
    object.initialize_slot(1, mutator.get(second));
    mutator.truncate_roots(depth);
    object
}

/// A new pair of two numbers, rooted.
pub fn rooted_pair(mutator: &mut Mutator, first: usize, second: usize) -> RootHandle {
    let object = pair(mutator, integer(first), integer(second));
    mutator.push_root(object.word())
}

/// A new array of nils, rooted.
pub fn rooted_array(mutator: &mut Mutator, layout: LayoutId, length: usize) -> RootHandle {
    let array = mutator.allocate_array(layout, NO_CLASS, length, Word::NIL).unwrap();
    mutator.push_root(array.word())
}

/// The object behind a handle.
pub fn object(mutator: &Mutator, handle: RootHandle) -> Object {
    mutator.get(handle).as_object().expect("a pointer")
}

/// Asserts that `word` is a pair of these two numbers.
pub fn check_pair(word: Word, first: usize, second: usize) {
    let pair = word.as_object().expect("a pair");
    assert_eq!(pair.layout(), PAIR);
    assert_eq!((pair.slot(0), pair.slot(1)), (integer(first), integer(second)));
}

/// The next of a deterministic sequence of random numbers (xorshift; Marsaglia 2003).
pub fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Both kinds of collections.
pub const KINDS: [CollectionKind; 2] = [CollectionKind::Nursery, CollectionKind::Full];
