//! Inboxes in all interleavings of small programs (loom): the bound worker takes every item in the order of the offers,
//! and a stall is found once, when the bound worker is idle as well.

use super::*;
use crate::parking::{Parker, Parking, Verdict};
use crate::sync::{AtomicUsize, Ordering};
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

/// An ordinary worker and a bound one.
struct Model {
    parking: Parking,
    inbox: Inbox<usize>,
    taken: AtomicUsize,
    /// How many items the bound worker hands on to the ordinary one.
    returned: AtomicUsize,
    stalls: AtomicUsize,
}

impl Model {
    fn new() -> Arc<Model> {
        Arc::new(Model {
            parking: Parking::new(1, 1, std::time::Duration::ZERO, true),
            inbox: Inbox::new(),
            taken: AtomicUsize::new(0),
            returned: AtomicUsize::new(0),
            stalls: AtomicUsize::new(0),
        })
    }

    fn has_work(&self) -> bool {
        self.returned.load(Ordering::Acquire) > 0
    }

    fn offer(&self, item: usize) -> bool {
        self.inbox.offer(item, item, || self.parking.begin_source(), || ())
    }

    /// The part of the bound worker; item 0 makes an item for the ordinary worker.
    fn work_bound(&self) {
        loop {
            while let Some(item) = self.inbox.take() {
                self.taken.fetch_add(1, Ordering::Relaxed);
                if item == 0 {
                    self.returned.fetch_add(1, Ordering::Release);
                    let _ = self.parking.wake();
                }
                self.inbox.end_run();
            }
            match self.inbox.wait(|| self.parking.end_bound(|| self.has_work())) {
                Awaited::Item => {}
                Awaited::Stop | Awaited::Dismissal => return,
            }
        }
    }

    /// The part of the ordinary worker: hands these items over, then runs returned items until the stall.
    fn work(&self, items: &[usize]) {
        let id = self.parking.join().expect("the model has a place");
        items.iter().for_each(|item| _ = self.offer(*item));
        let mut has_run = true;
        loop {
            let parker = Parker { id, has_run, timeout: None };
            match self.parking.park(parker, || self.has_work()) {
                Verdict::Search { has_token } => {
                    has_run = self.returned.swap(0, Ordering::AcqRel) > 0;
                    if has_token {
                        self.parking.end_search();
                    }
                }
                Verdict::Stall => {
                    self.stalls.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(self.inbox.len(), 0);
                    self.parking.stop();
                    return self.inbox.stop();
                }
                Verdict::Stop | Verdict::TimedOut | Verdict::Surplus => unreachable!(),
            }
        }
    }
}

fn explore(program: fn()) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(program);
}

fn check(items: &'static [usize]) {
    let model = Model::new();
    let bound = Arc::clone(&model);
    let bound = thread::spawn(move || bound.work_bound());
    model.work(items);
    bound.join().unwrap();
    assert_eq!(model.taken.load(Ordering::Relaxed), items.len());
    assert_eq!(model.returned.load(Ordering::Relaxed), 0);
    assert_eq!(model.stalls.load(Ordering::Relaxed), 1);
}

#[test]
fn offered_items_run_before_the_stall() {
    explore(|| check(&[1, 2]));
}

#[test]
fn returned_items_run_before_the_stall() {
    explore(|| check(&[0]));
}

#[test]
fn at_least_one_of_two_offers_finds_an_idle_worker() {
    explore(|| {
        let model = Model::new();
        model.parking.begin_source();
        let bound = Arc::clone(&model);
        let bound = thread::spawn(move || bound.work_bound());
        let other = Arc::clone(&model);
        let other = thread::spawn(move || other.offer(1));
        let here = model.offer(2);
        assert!(other.join().unwrap() || here);
        model.parking.end_sources(1, || false);
        model.work(&[]);
        bound.join().unwrap();
        assert_eq!(model.taken.load(Ordering::Relaxed), 2);
        assert_eq!(model.stalls.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_dismissed_worker_takes_earlier_items() {
    explore(|| {
        let model = Model::new();
        model.parking.begin_source();
        let bound = Arc::clone(&model);
        let bound = thread::spawn(move || bound.work_bound());
        model.offer(1);
        model.inbox.dismiss();
        bound.join().unwrap();
        assert_eq!(model.taken.load(Ordering::Relaxed), 1);
    });
}
