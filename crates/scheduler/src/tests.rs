//! Tests of the whole scheduler, with real threads and with a seed. No test depends on time: each waits for the event
//! that it tests, and hangs if the event does not come.

mod bound;
mod groups;
mod order;
mod outside;
mod policies;
mod relief;
mod seeded;
mod threads;
mod watching;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use crate::{Hooks, Parked, Policy, Scheduler, SchedulerOptions, Worker, WorkerId};

type TestScheduler = Scheduler<usize, usize>;
type TestWorker = Worker<usize, usize>;
type Body = dyn Fn(&mut TestWorker, usize) + Send + Sync;

/// A runtime whose items are numbers; one function runs them all.
struct Runtime {
    scheduler: OnceLock<&'static TestScheduler>,
    body: Box<Body>,
    started: AtomicUsize,
    stalls: AtomicUsize,
    /// Workers that were replaced.
    replaced: Mutex<Vec<WorkerId>>,
    /// Payloads of timers, as they came due. A payload is also injected.
    due: Mutex<Vec<usize>>,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
}

impl Runtime {
    fn new(
        options: SchedulerOptions,
        body: impl Fn(&mut TestWorker, usize) + Send + Sync + 'static,
    ) -> Arc<Runtime> {
        let runtime = Arc::new(Runtime {
            scheduler: OnceLock::new(),
            body: Box::new(body),
            started: AtomicUsize::new(0),
            stalls: AtomicUsize::new(0),
            replaced: Mutex::new(Vec::new()),
            due: Mutex::new(Vec::new()),
            threads: Mutex::new(Vec::new()),
        });
        let scheduler = Scheduler::new(options, RuntimeHooks(Arc::clone(&runtime)));
        let scheduler = Box::leak(Box::new(scheduler));
        assert!(runtime.scheduler.set(scheduler).is_ok());
        runtime
    }

    fn scheduler(&self) -> &'static TestScheduler {
        self.scheduler.get().expect("the runtime is made")
    }

    /// Runs `first` and all items that follow from it, until the stall.
    fn run(&self, first: &[usize]) {
        let mut worker = self.scheduler().join();
        first.iter().for_each(|item| worker.push(*item));
        self.work(&mut worker);
        drop(worker);
        self.join_threads();
    }

    /// Waits for the workers that were started. No more are started once one of them has ended.
    fn join_threads(&self) {
        let threads = std::mem::take(&mut *self.threads.lock().unwrap());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    /// The loop of a worker, until the scheduler is stopped.
    fn work(&self, worker: &mut TestWorker) {
        loop {
            while let Some(item) = worker.try_next() {
                (self.body)(worker, item);
            }
            match worker.park() {
                Parked::Woken => {}
                Parked::Stopped | Parked::Surplus => return,
                Parked::Stalled => {
                    self.stalls.fetch_add(1, Ordering::Relaxed);
                    self.scheduler().stop();
                }
            }
        }
    }

    fn stalls(&self) -> usize {
        self.stalls.load(Ordering::Relaxed)
    }

    fn due(&self) -> Vec<usize> {
        self.due.lock().unwrap().clone()
    }
}

struct RuntimeHooks(Arc<Runtime>);

impl Hooks<usize> for RuntimeHooks {
    fn start_worker(&self) {
        let runtime = Arc::clone(&self.0);
        self.0.started.fetch_add(1, Ordering::Relaxed);
        let thread = thread::spawn(move || {
            let mut worker = runtime.scheduler().join();
            runtime.work(&mut worker);
        });
        self.0.threads.lock().unwrap().push(thread);
    }

    fn timer_due(&self, payload: usize) {
        self.0.due.lock().unwrap().push(payload);
        self.0.scheduler().inject(payload);
    }

    /// Items of these tests poll all the time.
    fn preempt(&self, _worker: WorkerId) {}

    fn replaced(&self, worker: WorkerId) {
        self.0.replaced.lock().unwrap().push(worker);
    }
}

thread_local! {
    /// The policy under test.
    static POLICY: Cell<Policy> = const { Cell::new(Policy::Stealing) };
}

fn with_workers(workers: usize) -> SchedulerOptions {
    let (policy, slice) = (POLICY.get(), Duration::from_millis(1));
    SchedulerOptions { policy, workers, threads: 64, slice, ..SchedulerOptions::default() }
}

fn with_seed(seed: u64) -> SchedulerOptions {
    SchedulerOptions { seed: Some(seed), ..with_workers(1) }
}

/// Counts how often each item ran.
struct Tally(Vec<AtomicUsize>);

impl Tally {
    fn new(items: usize) -> Arc<Tally> {
        Arc::new(Tally((0..items).map(|_| AtomicUsize::new(0)).collect()))
    }

    fn count(&self, item: usize) {
        self.0[item].fetch_add(1, Ordering::Relaxed);
    }

    fn of(&self, item: usize) -> usize {
        self.0[item].load(Ordering::Acquire)
    }

    fn check_each_once(&self) {
        let wrong = (0..self.0.len()).filter(|item| self.of(*item) != 1).collect::<Vec<_>>();
        assert!(
            wrong.is_empty(),
            "not once: {:?} of {}",
            &wrong[..wrong.len().min(9)],
            wrong.len()
        );
    }
}

/// Makes the children of an item of a binary tree ready.
fn push_children(worker: &mut TestWorker, item: usize, items: usize) {
    for child in [2 * item + 1, 2 * item + 2].into_iter().filter(|child| *child < items) {
        match child % 3 {
            0 => worker.push_next(child),
            _ => worker.push(child),
        }
    }
}
