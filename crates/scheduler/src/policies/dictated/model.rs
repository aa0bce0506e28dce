//! The coordinator and parking together, in all interleavings of small programs (loom): workers take every item, the stall
//! comes when no item is left, and no thread waits for ever (loom reports that as a deadlock).

use std::time::Duration;

use super::*;
use crate::parking::{Parker, Parking, Verdict, Wake};
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

struct Model {
    office: Office<usize>,
    parking: Parking,
    taken: AtomicUsize,
    stalls: AtomicUsize,
}

impl Staff for &Model {
    fn summon(&self, worker: WorkerId) {
        self.parking.summon(worker);
    }

    fn call_for_questions(&self) {
        assert_ne!(self.parking.wake(), Wake::Start, "all workers have joined");
    }

    fn end_source(&self) {
        self.parking.end_sources(1, || self.office.has_items());
    }
}

impl Model {
    fn new(workers: usize) -> Arc<Model> {
        Arc::new(Model {
            office: Office::new(workers, workers),
            parking: Parking::new(workers, workers, Duration::ZERO, true),
            taken: AtomicUsize::new(0),
            stalls: AtomicUsize::new(0),
        })
    }

    fn send(&self, item: usize) {
        self.office.send(item, || self.parking.begin_source());
    }

    /// The part of a worker: runs items until the stall, which stops the scheduler.
    fn work(&self, id: WorkerId) {
        loop {
            let has_run = self.run(id);
            let parker = Parker { id, has_run, timeout: None };
            match self.parking.park(parker, || self.office.is_worth_a_look(id)) {
                // A call for questions hands the token to the worker, which does not search here.
                Verdict::Search { has_token } if has_token => self.parking.end_search(),
                Verdict::Search { .. } => {}
                Verdict::Stop => return,
                Verdict::Stall => {
                    assert!(!self.office.has_items());
                    self.stalls.fetch_add(1, Ordering::Relaxed);
                    self.office.stop();
                    return self.parking.stop();
                }
                Verdict::TimedOut | Verdict::Surplus => unreachable!("there is no time"),
            }
        }
    }

    /// Runs the items in the tray; an even item sends the next number. Answers whether there were items.
    fn run(&self, id: WorkerId) -> bool {
        let mut has_run = false;
        while let Some(item) = self.office.take(id) {
            has_run = true;
            self.taken.fetch_add(1, Ordering::Relaxed);
            if item % 2 == 0 {
                self.send(item + 1);
            }
        }
        has_run
    }
}

fn explore(program: fn()) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(program);
}

/// Sends these items while `workers` workers and the coordinator run.
fn check(workers: usize, items: &[usize], taken: usize) {
    let model = Model::new(workers);
    model.parking.begin_source();
    let ids: Vec<_> = (0..workers).map(|_| model.parking.join().expect("a place")).collect();
    let mut threads: Vec<_> = ids
        .into_iter()
        .map(|id| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.work(id))
        })
        .collect();
    let other = Arc::clone(&model);
    threads.push(thread::spawn(move || other.office.coordinate(&&*other)));
    items.iter().for_each(|item| model.send(*item));
    model.parking.end_sources(1, || model.office.has_items());
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(model.taken.load(Ordering::Relaxed), taken);
    assert_eq!(model.stalls.load(Ordering::Relaxed), 1);
}

#[test]
fn items_are_handed_out_before_the_stall() {
    explore(|| check(1, &[1, 3], 2));
}

#[test]
fn an_item_that_a_worker_sends_is_handed_out() {
    explore(|| check(1, &[0], 2));
}

#[test]
fn two_workers_get_all_and_one_is_told_of_the_stall() {
    explore(|| check(2, &[1], 1));
}
