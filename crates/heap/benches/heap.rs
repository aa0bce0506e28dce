//! Measures the heap: `cargo bench -p squall-heap -- [name …]`.
//!
//! A process has one heap, so each measurement runs in a process of its own. The numbers are from one run; to compare
//! machines or versions, repeat the run and take the smallest numbers.

use squall_heap::{
    CollectionKind, Format, Heap, HeapOptions, HeapStatistics, LayoutId, Mutator, Object,
    PauseStatistics, RootHandle, Word,
};
use std::env;
use std::hint::black_box;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

struct Measurement {
    name: &'static str,
    what: &'static str,
    run: fn(),
}

const MEASUREMENTS: &[Measurement] = &[
    Measurement {
        name: "start",
        what: "a process that makes a heap and allocates a little",
        run: start,
    },
    Measurement {
        name: "allocation",
        what: "short-lived objects of 32 bytes, nursery of 4 MiB",
        run: || allocation(4 << 20),
    },
    Measurement {
        name: "allocation-32",
        what: "short-lived objects of 32 bytes, nursery of 32 MiB",
        run: || allocation(32 << 20),
    },
    Measurement {
        name: "trees-1",
        what: "binary-trees of depth 18, one thread, nursery of 32 MiB",
        run: || trees(1, 32 << 20),
    },
    Measurement {
        name: "trees-2",
        what: "binary-trees of depth 18, two threads, nursery of 32 MiB",
        run: || trees(2, 32 << 20),
    },
    Measurement {
        name: "trees-1-small",
        what: "binary-trees of depth 18, one thread, nursery of 4 MiB",
        run: || trees(1, 4 << 20),
    },
    Measurement {
        name: "pauses",
        what: "100 MB live, 2 GB of garbage, a live tree replaced now and then",
        run: || pauses(100 << 20),
    },
    Measurement {
        name: "full",
        what: "full collections of 500 MB of trees",
        run: || full_collections(500 << 20),
    },
    Measurement { name: "list", what: "a list of 1,000,000 cells", run: list },
    Measurement { name: "barrier", what: "stores into old and young objects", run: barrier },
    Measurement {
        name: "large-array",
        what: "stores into an old array of 1,000,000",
        run: large_array,
    },
    Measurement { name: "native", what: "native sections", run: native_sections },
];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [flag, name] = &arguments[..]
        && flag == "--run"
    {
        let measurement = MEASUREMENTS.iter().find(|measurement| measurement.name == name);
        return (measurement.expect("the name of a measurement").run)();
    }
    let names: Vec<&String> = arguments.iter().filter(|name| !name.starts_with('-')).collect();
    for measurement in MEASUREMENTS {
        if names.is_empty() || names.iter().any(|name| *name == measurement.name) {
            println!("{}: {}", measurement.name, measurement.what);
            run_apart(measurement.name);
        }
    }
}

fn run_apart(name: &str) {
    let program = env::current_exe().expect("the path of this program");
    let status = Command::new(program).args(["--run", name]).status();
    assert!(status.expect("this program can be run").success());
}

const NODE: LayoutId = layout(Format::Slots, 2, 1);
const ARRAY: LayoutId = layout(Format::Array, 0, 2);

const fn layout(format: Format, slots: u32, number: u32) -> LayoutId {
    LayoutId::new(format, slots, false, number).expect("a layout that fits")
}

fn mutator(nursery_bytes: usize) -> Mutator {
    let heap = Heap::new(HeapOptions { nursery_bytes, ..HeapOptions::default() }).unwrap();
    attach(heap)
}

fn attach(heap: &'static Heap) -> Mutator {
    // SAFETY: all words that are used across a GC point here are in root handles.
    unsafe { heap.attach(0) }
}

fn start() {
    let begin = Instant::now();
    let mut mutator = mutator(4 << 20);
    for _ in 0..1000 {
        black_box(mutator.allocate_slots(NODE, Word::NIL));
    }
    println!("  {:.2} ms, {} KB at most", milliseconds(begin.elapsed()), peak_kilobytes());
}

fn allocation(nursery_bytes: usize) {
    const OBJECTS: usize = 10_000_000;
    let mut mutator = mutator(nursery_bytes);
    let mut runs: Vec<f64> = Vec::new();
    for _ in 0..15 {
        let begin = Instant::now();
        for index in 0..OBJECTS {
            let node = mutator.allocate_slots(NODE, Word::NIL).unwrap();
            node.initialize_slot(0, Word::from_small_integer_unchecked(index as i64));
        }
        runs.push(nanoseconds_each(begin.elapsed(), OBJECTS));
    }
    runs.sort_by(f64::total_cmp);
    let (least, median) = (runs[0], runs[runs.len() / 2]);
    println!("  {least:.2} ns each at least, {median:.2} median");
    print_pauses(&mutator.heap().statistics());
}

/// Binary trees: each node two pointers, as in the Computer Language Benchmarks Game.
fn trees(threads: usize, nursery_bytes: usize) {
    const DEPTH: u32 = 18;
    let mut main = mutator(nursery_bytes);
    let heap = main.heap();
    let begin = Instant::now();
    let stretch = tree(&mut main, DEPTH + 1);
    let mut nodes = count(stretch);
    let long_lived = tree(&mut main, DEPTH);
    let long_lived = main.push_root(long_lived);
    nodes += thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|part| {
                scope.spawn(move || short_lived_trees(&mut attach(heap), DEPTH, part, threads))
            })
            .collect();
        let own = short_lived_trees(&mut main, DEPTH, 0, threads);
        let others = || others.into_iter().map(|other| other.join().unwrap()).sum::<u64>();
        own + main.native(others)
    });
    nodes += count(main.get(long_lived));
    println!("  {:.2} s, {nodes} nodes", begin.elapsed().as_secs_f64());
    print_pauses(&heap.statistics());
}

fn short_lived_trees(mutator: &mut Mutator, depth: u32, part: usize, parts: usize) -> u64 {
    let mut nodes = 0;
    for small in (4..=depth).step_by(2) {
        for _ in (part..1 << (depth - small + 4)).step_by(parts) {
            let tree = tree(mutator, small);
            nodes += count(tree);
        }
    }
    nodes
}

fn tree(mutator: &mut Mutator, depth: u32) -> Word {
    mutator.safepoint();
    if depth == 0 {
        return node(mutator, Word::NIL, Word::NIL);
    }
    let left = tree(mutator, depth - 1);
    let left = mutator.push_root(left);
    let right = tree(mutator, depth - 1);
    let left = mutator.get(left);
    mutator.pop_root();
    node(mutator, left, right)
}

/// A new node. Its parts are roots while it is allocated.
fn node(mutator: &mut Mutator, left: Word, right: Word) -> Word {
    let depth = mutator.root_depth();
    let (left, right) = (mutator.push_root(left), mutator.push_root(right));
    let node = mutator.allocate_slots(NODE, Word::NIL).unwrap();
    node.initialize_slot(0, mutator.get(left));
    node.initialize_slot(1, mutator.get(right));
    mutator.truncate_roots(depth);
    node.word()
}

fn count(tree: Word) -> u64 {
    match tree.as_object() {
        Some(node) => 1 + count(node.slot(0)) + count(node.slot(1)),
        None => 0,
    }
}

/// An array of trees of 131 KB each, `bytes` together.
fn live_trees(mutator: &mut Mutator, bytes: usize) -> RootHandle {
    let trees = bytes / (4095 * 32);
    let forest = array(mutator, trees);
    for index in 0..trees {
        let tree = tree(mutator, 11);
        object(mutator, forest).set_element(mutator, index, tree);
    }
    forest
}

fn pauses(live: usize) {
    let mut mutator = mutator(4 << 20);
    let forest = live_trees(&mut mutator, live);
    let mut state = 88_172_645_463_325_252;
    let begin = Instant::now();
    for round in 0..250_000 {
        black_box(tree(&mut mutator, 7));
        if round % 256 == 0 {
            let tree = tree(&mut mutator, 11);
            let forest = object(&mutator, forest);
            let index = random(&mut state) as usize % forest.length();
            forest.set_element(&mut mutator, index, tree);
        }
    }
    println!("  {:.2} s, {} MB at most", begin.elapsed().as_secs_f64(), peak_kilobytes() >> 10);
    print_pauses(&mutator.heap().statistics());
}

fn full_collections(live: usize) {
    let mut mutator = mutator(4 << 20);
    let begin = Instant::now();
    live_trees(&mut mutator, live);
    println!("  built in {:.2} s", begin.elapsed().as_secs_f64());
    print_pauses(&mutator.heap().statistics());
    for _ in 0..5 {
        let begin = Instant::now();
        mutator.collect(CollectionKind::Full);
        let seconds = begin.elapsed().as_secs_f64();
        let gigabytes = mutator.heap().statistics().live_bytes as f64 / 1e9;
        println!("  {seconds:.3} s for {gigabytes:.2} GB: {:.2} s per GB", seconds / gigabytes);
    }
}

fn list() {
    const LENGTH: usize = 1_000_000;
    let mut mutator = mutator(4 << 20);
    let list = mutator.push_root(Word::NIL);
    for index in 0..LENGTH {
        let rest = mutator.get(list);
        let cell = node(&mut mutator, Word::from_small_integer_unchecked(index as i64), rest);
        mutator.set(list, cell);
    }
    print_pauses(&mutator.heap().statistics());
    for _ in 0..3 {
        let begin = Instant::now();
        mutator.collect(CollectionKind::Full);
        println!("  {:.0} ns per cell, fully", nanoseconds_each(begin.elapsed(), LENGTH));
    }
}

fn barrier() {
    const OBJECTS: usize = 1_000_000;
    let mut mutator = mutator(4 << 20);
    let all = array(&mut mutator, OBJECTS);
    for index in 0..OBJECTS {
        let node = node(&mut mutator, Word::NIL, Word::NIL);
        object(&mutator, all).set_element(&mut mutator, index, node);
    }
    mutator.collect(CollectionKind::Full);
    let old: Vec<Object> =
        (0..OBJECTS).filter_map(|i| object(&mutator, all).element(i).as_object()).collect();
    let value = old[0].word();
    let mut time = |what: &str, objects: &[Object], value: Word, rounds: usize| {
        let begin = Instant::now();
        for _ in 0..rounds {
            for object in objects {
                object.set_slot(&mut mutator, 0, value);
            }
        }
        println!("  {:.2} ns {what}", nanoseconds_each(begin.elapsed(), rounds * objects.len()));
    };
    time("for a number, old objects", &old, Word::TRUE, 1);
    time("for a pointer, first store into each old object", &old, value, 1);
    time("for a pointer, second store", &old, value, 1);
    time("for a pointer, 256 logged objects", &old[..256], value, 10_000);
}

fn large_array() {
    const LENGTH: usize = 1_000_000;
    let mut mutator = mutator(4 << 20);
    let all = array(&mut mutator, LENGTH);
    mutator.collect(CollectionKind::Full);
    let mut time = |what: &str, stores: usize| {
        let young = node(&mut mutator, Word::NIL, Word::NIL);
        let begin = Instant::now();
        for index in 0..stores {
            object(&mutator, all).set_element(&mut mutator, index, young);
        }
        let stored = begin.elapsed();
        let begin = Instant::now();
        mutator.collect(CollectionKind::Nursery);
        let collected = milliseconds(begin.elapsed());
        println!(
            "  {:.2} ns each, then {collected:.2} ms pause: {what}",
            nanoseconds_each(stored, stores)
        );
    };
    time("the first collection", 1);
    time("one store", 1);
    time("1,000 stores", 1_000);
    time("50,000 stores", 50_000);
    time("1,000,000 stores", LENGTH);
}

fn native_sections() {
    const SECTIONS: usize = 10_000_000;
    let mut mutator = mutator(4 << 20);
    let begin = Instant::now();
    for _ in 0..SECTIONS {
        mutator.native(|| black_box(()));
    }
    println!("  {:.2} ns each", nanoseconds_each(begin.elapsed(), SECTIONS));
}

fn array(mutator: &mut Mutator, length: usize) -> RootHandle {
    let array = mutator.allocate_array(ARRAY, Word::NIL, length, Word::NIL).unwrap();
    mutator.push_root(array.word())
}

fn object(mutator: &Mutator, handle: RootHandle) -> Object {
    mutator.get(handle).as_object().expect("a pointer")
}

fn print_pauses(statistics: &HeapStatistics) {
    print_kind("nursery", &statistics.nursery);
    print_kind("full", &statistics.full);
}

fn print_kind(kind: &str, pauses: &PauseStatistics) {
    let [min, median, max, total] =
        [pauses.min, pauses.median, pauses.max, pauses.total].map(milliseconds);
    println!(
        "  {} {kind}: {min:.2} / {median:.2} / {max:.2} ms (min, median, max), {total:.0} ms together",
        pauses.count
    );
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn nanoseconds_each(duration: Duration, count: usize) -> f64 {
    duration.as_secs_f64() * 1e9 / count as f64
}

/// The most memory this process has used.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// The next of a deterministic sequence of random numbers (xorshift; Marsaglia 2003).
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}
