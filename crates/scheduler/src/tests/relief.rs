//! Seeded runs with items in foreign code that waits for other items.

use std::sync::mpsc;

use super::*;
use crate::Return;

/// Foreign code that injects an item and waits until it has run.
fn demand(scheduler: &'static TestScheduler, item: usize, has_run: &mpsc::Receiver<()>) {
    scheduler.inject(item);
    let mut seen = None;
    while has_run.recv_timeout(Duration::from_micros(100)).is_err() {
        seen = scheduler.relieve_outside(seen);
    }
}

/// A seeded run of `outside` items that go outside. Item n waits there for item 100 + n, and makes item 50 + n ready when
/// it comes back.
fn run_with_demands(seed: u64, outside: usize) -> (Arc<Runtime>, Arc<Tally>) {
    let tally = Tally::new(200);
    let counted = Arc::clone(&tally);
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..outside).map(|_| mpsc::channel()).unzip();
    let (senders, receivers) = (Mutex::new(senders), Mutex::new(receivers));
    let runtime = Runtime::new(with_seed(seed), move |worker, item| {
        counted.count(item);
        if item >= 100 {
            senders.lock().unwrap()[item - 100].send(()).unwrap();
        } else if item < outside {
            let scheduler = worker.scheduler();
            let (_, dummy) = mpsc::channel();
            let has_run = std::mem::replace(&mut receivers.lock().unwrap()[item], dummy);
            worker.go_outside();
            demand(scheduler, 100 + item, &has_run);
            assert_eq!(worker.come_back(), Return::Replaced);
            worker.push(50 + item);
        }
    });
    let items: Vec<usize> = (0..outside).collect();
    runtime.run(&items);
    (runtime, tally)
}

#[test]
fn foreign_code_that_waits_for_the_machine_relieves_its_worker() {
    for seed in 0..20 {
        let (runtime, tally) = run_with_demands(seed, 1);
        assert_eq!([tally.of(0), tally.of(50), tally.of(100)], [1; 3]);
        assert_eq!(*runtime.replaced.lock().unwrap(), [WorkerId(0)]);
        assert_eq!(runtime.stalls(), 1);
    }
}

/// Several items are outside at a time, on workers that were started in place of each other.
#[test]
fn several_items_can_be_outside() {
    for seed in 0..20 {
        let (runtime, tally) = run_with_demands(seed, 5);
        for item in 0..5 {
            assert_eq!([tally.of(item), tally.of(50 + item), tally.of(100 + item)], [1; 3]);
        }
        assert_eq!(runtime.replaced.lock().unwrap().len(), 5);
        assert_eq!(runtime.stalls(), 1);
    }
}

#[test]
fn a_worker_without_relief_keeps_the_baton() {
    let runtime = Runtime::new(with_seed(1), |worker, item| {
        worker.go_outside();
        assert!(worker.scheduler().is_outside(worker.id()));
        // One question is not enough: the call may have begun just now.
        assert!(worker.scheduler().relieve_outside(None).is_some());
        assert_eq!(worker.come_back(), Return::Undisturbed);
        assert_eq!(worker.scheduler().relieve_outside(None), None);
        if item < 9 {
            worker.push(item + 1);
        }
    });
    runtime.run(&[0]);
    assert!(runtime.replaced.lock().unwrap().is_empty());
}
