//! Measures the scheduler: `cargo bench -p squall-scheduler -- [name …]`.
//!
//! Each line is the smallest of several runs, in nanoseconds per operation unless it names another unit. Programs are
//! measured with one worker and with two, since a second worker can help or hurt: `ring`, `crowd` and `chatter` have short
//! items, and must not lose by it; `coarse` and `tree` must gain.

use std::env;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use squall_scheduler::{Hooks, Parked, Scheduler, SchedulerOptions, Worker, WorkerId};

/// Runs of which the fastest counts.
const RUNS: usize = 5;

type Item = u64;
type BenchWorker = Worker<Item, u64>;
/// The function of each item.
type Body = fn(&mut BenchWorker, Item);

struct Measurement {
    name: &'static str,
    what: &'static str,
    run: fn(),
}

const MEASUREMENTS: &[Measurement] = &[
    Measurement { name: "next", what: "push_next and try_next", run: next },
    Measurement { name: "queue", what: "push and try_next, 4 in the queue", run: queue },
    Measurement { name: "inject", what: "inject and try_next, one worker", run: inject },
    Measurement { name: "timer", what: "add and cancel a timer, 1,000 others", run: timer },
    Measurement { name: "wake", what: "inject, until a parked worker runs it", run: wake },
    Measurement {
        name: "ring",
        what: "4 processes in a ring, 1 token: per hop",
        run: || compare(1_000_000, 1, |worker, item| hop(worker, item, 4, 50)),
    },
    Measurement {
        name: "ring-3",
        what: "4 processes in a ring, 3 tokens: per hop",
        run: || compare(1_000_000, 3, |worker, item| hop(worker, item, 4, 50)),
    },
    Measurement {
        name: "crowd",
        what: "20 pairs that talk: per hop",
        run: || compare(1_000_000, 20, |worker, item| hop(worker, item, 2, 50)),
    },
    Measurement {
        name: "chatter",
        what: "4 items that yield after 0.2 us: per turn",
        run: || compare(1_000_000, 4, |worker, item| turn(worker, item, 200)),
    },
    Measurement {
        name: "yield",
        what: "6 items that yield after 20 us: per turn",
        run: || compare(10_000, 6, |worker, item| turn(worker, item, 20_000)),
    },
    Measurement {
        name: "coarse",
        what: "60 items of 1 ms: per item",
        run: || compare(60, 60, |_, _| work(1_000_000)),
    },
    Measurement {
        name: "two",
        what: "2 items of 50 ms: per item",
        run: || compare(2, 2, |_, _| work(50_000_000)),
    },
    Measurement {
        name: "tree",
        what: "a tree of 200,000 items of 1 us: per item",
        run: || compare(200_000, 1, |worker, item| node(worker, item, 200_000, 1_000)),
    },
];

fn main() {
    let wanted: Vec<String> = env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    for measurement in MEASUREMENTS {
        if wanted.is_empty() || wanted.iter().any(|name| name == measurement.name) {
            print!("{:8} {:42}", measurement.name, measurement.what);
            (measurement.run)();
            println!();
        }
    }
}

// ------------------------------------------------------------------------------ Single operations

fn next() {
    let mut worker = alone();
    let run = || {
        per_operation(10_000_000, |item| {
            worker.push_next(item);
            black_box(worker.try_next());
        })
    };
    print!(" {:8.1} ns", fastest(run));
}

fn queue() {
    let mut worker = alone();
    (0..4).for_each(|item| worker.push(item));
    let run = || {
        per_operation(10_000_000, |item| {
            worker.push(item);
            black_box(worker.try_next());
        })
    };
    print!(" {:8.1} ns", fastest(run));
}

fn inject() {
    let mut worker = alone();
    let run = || {
        per_operation(1_000_000, |item| {
            worker.scheduler().inject(item);
            black_box(worker.try_next());
        })
    };
    print!(" {:8.1} ns", fastest(run));
}

fn timer() {
    let worker = alone();
    let scheduler = worker.scheduler();
    for seconds in 0..1_000 {
        scheduler.add_timer(Duration::from_secs(3_600 + seconds), 0);
    }
    let run = || {
        per_operation(1_000_000, |item| {
            let timer = scheduler.add_timer(Duration::from_secs(4_000), item);
            black_box(scheduler.cancel_timer(timer));
        })
    };
    print!(" {:8.1} ns", fastest(run));
}

/// The median: in the fastest round, the worker had not fallen asleep yet.
fn wake() {
    static RAN: AtomicU64 = AtomicU64::new(0);
    let runtime = Runtime::new(1, |_, item| RAN.store(item, Ordering::Release));
    let scheduler = runtime.scheduler();
    scheduler.begin_outside();
    let worker = {
        let runtime = Arc::clone(&runtime);
        thread::spawn(move || runtime.work(&mut runtime.scheduler().join()))
    };
    let mut times: Vec<Duration> = (1..=200)
        .map(|item| {
            thread::sleep(Duration::from_millis(1));
            let start = Instant::now();
            scheduler.inject(item);
            while RAN.load(Ordering::Acquire) != item {
                std::hint::spin_loop();
            }
            start.elapsed()
        })
        .collect();
    scheduler.stop();
    worker.join().expect("the worker ends");
    times.sort_unstable();
    print!(" {:8.1} us, worst of 200 {:.1} us", micros(times[100]), micros(times[199]));
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn per_operation(count: u64, mut operation: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    (0..count).for_each(&mut operation);
    start.elapsed().as_nanos() as f64 / count as f64
}

fn fastest(mut run: impl FnMut() -> f64) -> f64 {
    (0..RUNS).map(|_| run()).fold(f64::INFINITY, f64::min)
}

/// The only worker of a scheduler.
fn alone() -> BenchWorker {
    let runtime = Runtime::new(1, |_, _| ());
    let mut worker = runtime.scheduler().join();
    // The monitor watches, as in any program of more than one strand.
    worker.push(0);
    worker.push(0);
    while worker.try_next().is_some() {}
    worker
}

// --------------------------------------------------------------------------------------- Programs

/// Runs a program of about `count` items, which begins with `start` items, with one worker and with two.
fn compare(count: u64, start: u64, body: Body) {
    COUNT.store(count, Ordering::Relaxed);
    let measure = |workers| {
        fastest(|| {
            let runtime = Runtime::new(workers, body);
            let begin = Instant::now();
            LEFT.store(count as i64, Ordering::Relaxed);
            RAN.iter().for_each(|ran| ran.store(0, Ordering::Relaxed));
            runtime.run(start);
            begin.elapsed().as_nanos() as f64 / count as f64
        })
    };
    let (one, two) = (measure(1), measure(2));
    // Unlike the times, the share is meaningful also on a busy machine.
    let [first, second] = RAN.each_ref().map(|ran| ran.load(Ordering::Relaxed) as f64);
    let share = 100.0 * second / (first + second);
    print!(" {one:11.1} ns, two workers {two:11.1} ns; the second ran {share:2.0}%");
}

/// How many items each worker ran in the last run.
static RAN: [CachePadded<AtomicU64>; 2] = [const { CachePadded::new(AtomicU64::new(0)) }; 2];

static COUNT: AtomicU64 = AtomicU64::new(0);
static LEFT: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);

/// A process has received a message: it works a little and makes the next process of its ring ready.
fn hop(worker: &mut BenchWorker, item: Item, processes: u64, nanoseconds: u64) {
    let (ring, process) = (item / processes, item % processes);
    work(nanoseconds);
    if counted() {
        worker.push_next(ring * processes + (process + 1) % processes);
    }
}

fn turn(worker: &mut BenchWorker, item: Item, nanoseconds: u64) {
    work(nanoseconds);
    if counted() {
        worker.push(item);
    }
}

fn node(worker: &mut BenchWorker, item: Item, count: u64, nanoseconds: u64) {
    work(nanoseconds);
    for child in [2 * item + 1, 2 * item + 2] {
        if child < count {
            worker.push(child);
        }
    }
}

/// Whether the program goes on. The shared counter is changed rarely, so that its cache misses are not measured.
fn counted() -> bool {
    thread_local!(static MINE: std::cell::Cell<i64> = const { std::cell::Cell::new(0) });
    let batch = (COUNT.load(Ordering::Relaxed) / 1_000).max(1) as i64;
    MINE.with(|mine| {
        if mine.get() == 0 {
            mine.set(batch);
            return LEFT.fetch_sub(batch, Ordering::Relaxed) > 0;
        }
        mine.set(mine.get() - 1);
        true
    })
}

/// Works for about this time, without reading the clock.
fn work(nanoseconds: u64) {
    static STEPS_PER_MICROSECOND: OnceLock<u64> = OnceLock::new();
    let steps = *STEPS_PER_MICROSECOND.get_or_init(|| {
        let start = Instant::now();
        steps(10_000_000);
        10_000_000_000 / start.elapsed().as_nanos() as u64
    });
    self::steps(steps * nanoseconds / 1_000);
}

fn steps(count: u64) {
    let mut state = count;
    for _ in 0..count {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

// ---------------------------------------------------------------------------------------- Runtime

struct Runtime {
    scheduler: OnceLock<&'static Scheduler<Item, u64>>,
    body: Body,
}

impl Runtime {
    fn new(workers: usize, body: Body) -> Arc<Runtime> {
        let runtime = Arc::new(Runtime { scheduler: OnceLock::new(), body });
        let options = SchedulerOptions { workers, ..SchedulerOptions::default() };
        let scheduler = Scheduler::new(options, RuntimeHooks(Arc::clone(&runtime)));
        let _ = runtime.scheduler.set(Box::leak(Box::new(scheduler)));
        runtime
    }

    fn scheduler(&self) -> &'static Scheduler<Item, u64> {
        self.scheduler.get().expect("the runtime is made")
    }

    fn run(&self, start: u64) {
        let mut worker = self.scheduler().join();
        (0..start).for_each(|item| worker.push(item * 1_000));
        self.work(&mut worker);
    }

    fn work(&self, worker: &mut BenchWorker) {
        loop {
            while let Some(item) = worker.try_next() {
                (self.body)(worker, item);
                let ran = &RAN[worker.id().index()];
                ran.store(ran.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
            match worker.park() {
                Parked::Woken => {}
                Parked::Stopped | Parked::Surplus => return,
                Parked::Stalled => return self.scheduler().stop(),
            }
        }
    }
}

struct RuntimeHooks(Arc<Runtime>);

impl Hooks<u64> for RuntimeHooks {
    fn start_worker(&self) {
        let runtime = Arc::clone(&self.0);
        thread::spawn(move || runtime.work(&mut runtime.scheduler().join()));
    }
    fn timer_due(&self, _payload: u64) {}
    fn preempt(&self, _worker: WorkerId) {}
    fn replaced(&self, _worker: WorkerId) {}
}
