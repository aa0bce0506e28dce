//! Parking in all interleavings of small programs (loom): workers take every item, a stall is told once and only when
//! no item is left, and no thread waits for ever (loom reports that as a deadlock).

use super::*;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

/// A scheduler whose injector is a number of items, without other queues.
struct Model {
    parking: Parking,
    injected: AtomicUsize,
    taken: AtomicUsize,
    stalls: AtomicUsize,
}

impl Model {
    fn new(workers: usize) -> Arc<Model> {
        Arc::new(Model {
            parking: Parking::new(workers, workers, Duration::ZERO, true),
            injected: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            stalls: AtomicUsize::new(0),
        })
    }

    fn has_work(&self) -> bool {
        // Acquire and release, as in the injector.
        self.injected.load(Ordering::Acquire) > 0
    }

    fn take(&self) -> bool {
        let less = |count: usize| count.checked_sub(1);
        let taken = self.injected.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok();
        self.taken.fetch_add(usize::from(taken), Ordering::Relaxed);
        taken
    }

    fn inject(&self) -> Wake {
        self.injected.fetch_add(1, Ordering::Release);
        self.parking.wake()
    }

    fn end_source(&self) {
        self.parking.end_sources(1, || self.has_work());
    }

    /// The part of a worker: joins, and runs items until the stop. A stall stops the scheduler.
    fn work(&self) {
        let id = self.parking.join().expect("the model has a place");
        let mut has_token = false;
        loop {
            let has_run = self.run(has_token);
            let parker = Parker { id, has_run, timeout: None };
            match self.parking.park(parker, || self.has_work()) {
                Verdict::Search { has_token: granted } => has_token = granted,
                Verdict::Stop => return,
                Verdict::Stall => {
                    assert_eq!(self.injected.load(Ordering::Relaxed), 0);
                    self.stalls.fetch_add(1, Ordering::Relaxed);
                    return self.parking.stop();
                }
                Verdict::TimedOut | Verdict::Surplus => unreachable!("there is no time"),
            }
        }
    }

    /// Runs an item, found at first sight or as a searcher; answers whether there was one.
    fn run(&self, has_token: bool) -> bool {
        let found = self.take();
        if !has_token && (found || !self.parking.begin_search()) {
            return found;
        }
        let found = found || self.take();
        self.parking.end_search();
        // A searcher that leaves items wakes the next searcher.
        let _ = if found && self.has_work() { self.parking.wake() } else { Wake::Searched };
        found
    }

    fn check(&self, taken: usize, stalls: usize) {
        assert_eq!(self.taken.load(Ordering::Relaxed), taken);
        assert_eq!(self.stalls.load(Ordering::Relaxed), stalls);
    }
}

fn explore(program: fn()) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(program);
}

fn spawn(model: &Arc<Model>, run: fn(&Model)) -> thread::JoinHandle<()> {
    let model = Arc::clone(model);
    thread::spawn(move || run(&model))
}

#[test]
fn an_injected_item_wakes_a_parking_worker() {
    explore(|| {
        let model = Model::new(1);
        model.parking.begin_source();
        let worker = spawn(&model, Model::work);
        let _ = model.inject();
        let _ = model.inject();
        model.end_source();
        worker.join().unwrap();
        model.check(2, 1);
    });
}

#[test]
fn two_workers_take_all_items_and_one_is_told_of_the_stall() {
    explore(|| {
        let model = Model::new(2);
        model.parking.begin_source();
        let workers = [spawn(&model, Model::work), spawn(&model, Model::work)];
        let _ = model.inject();
        let _ = model.inject();
        model.end_source();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        // A worker that joined after the verdict found the scheduler stopped.
        model.check(2, 1);
    });
}

#[test]
fn a_worker_is_started_for_an_injected_item() {
    explore(|| {
        let model = Model::new(2);
        model.parking.begin_source();
        let worker = spawn(&model, Model::work);
        let wake = model.inject();
        model.end_source();
        if wake == Wake::Start {
            model.work();
        }
        worker.join().unwrap();
        model.check(1, 1);
    });
}

#[test]
fn the_last_source_to_end_tells_of_the_stall() {
    explore(|| {
        let model = Model::new(1);
        model.parking.begin_source();
        model.parking.begin_source();
        let worker = spawn(&model, Model::work);
        let source = spawn(&model, Model::end_source);
        model.end_source();
        source.join().unwrap();
        worker.join().unwrap();
        model.check(0, 1);
    });
}

#[test]
fn stopping_ends_all_workers() {
    explore(|| {
        let model = Model::new(2);
        model.parking.begin_source();
        let workers = [spawn(&model, Model::work), spawn(&model, Model::work)];
        model.parking.stop();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        model.check(0, 0);
    });
}

#[test]
fn a_stall_is_told_again_only_after_an_item_ran() {
    explore(|| {
        let model = Model::new(1);
        let id = model.parking.join().expect("the model has a place");
        let park = |has_run| {
            let parker = Parker { id, has_run, timeout: None };
            model.parking.park(parker, || model.has_work())
        };
        assert_eq!(park(false), Verdict::Stall);
        let other = spawn(&model, |model| {
            let _ = model.inject();
        });
        // Not a stall: no item has run since.
        assert!(matches!(park(false), Verdict::Search { .. }));
        other.join().unwrap();
        assert!(model.take());
        model.parking.end_search();
        assert_eq!(park(true), Verdict::Stall);
    });
}
