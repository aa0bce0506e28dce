//! Several workers: each item runs once, idle workers help, and all workers end.

use super::*;
use std::hint;
use std::sync::mpsc::channel;

#[test]
pub(super) fn each_item_runs_once_however_many_workers() {
    const ITEMS: usize = 20_000;
    for workers in [1, 2, 3, 8] {
        let tally = Tally::new(ITEMS);
        let counts = Arc::clone(&tally);
        let runtime = Runtime::new(with_workers(workers), move |worker, item| {
            counts.count(item);
            push_children(worker, item, ITEMS);
        });
        runtime.run(&[0]);
        tally.check_each_once();
        assert_eq!(runtime.stalls(), 1);
    }
}

#[test]
pub(super) fn injected_items_run_once_and_before_the_stall() {
    const ITEMS: usize = 9_000;
    const THREADS: usize = 3;
    for workers in [1, 4] {
        let tally = Tally::new(ITEMS);
        let counts = Arc::clone(&tally);
        let runtime = Runtime::new(with_workers(workers), move |_, item| counts.count(item));
        let scheduler = runtime.scheduler();
        let inject = |first: usize| {
            scheduler.begin_outside();
            thread::spawn(move || {
                for item in (first..ITEMS).step_by(THREADS) {
                    scheduler.inject(item);
                    if item % 100 == 0 {
                        thread::yield_now();
                    }
                }
                scheduler.end_outside();
            })
        };
        let threads: Vec<_> = (0..THREADS).map(inject).collect();
        runtime.run(&[]);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        tally.check_each_once();
        assert_eq!(runtime.stalls(), 1);
    }
}

/// Item 0 makes other items ready by `push`, and runs until another worker has run one of them.
fn check_help(others: usize, push: fn(&mut TestWorker, usize)) {
    let tally = Tally::new(others + 1);
    let counts = Arc::clone(&tally);
    let runtime = Runtime::new(with_workers(2), move |worker, item| {
        counts.count(item);
        if item == 0 {
            (1..=others).for_each(|other| push(worker, other));
            while (1..=others).all(|other| counts.of(other) == 0) {
                // Ignores the answer, since this item waits for help.
                worker.should_preempt();
                hint::spin_loop();
            }
        }
    });
    runtime.run(&[0]);
    tally.check_each_once();
    assert_eq!(runtime.started.load(Ordering::Relaxed), 1);
}

#[test]
pub(super) fn a_long_queue_gets_help() {
    check_help(20, TestWorker::push);
}

#[test]
pub(super) fn a_single_item_in_the_queue_gets_help() {
    check_help(1, TestWorker::push);
}

#[test]
fn a_single_item_in_the_next_slot_gets_help() {
    check_help(1, TestWorker::push_next);
}

/// Items that give way after each step would all be near their worker again before another one comes.
#[test]
fn a_worker_that_was_woken_finds_items_whenever_it_comes() {
    const ITEMS: usize = 10;
    let scheduler = Runtime::new(with_workers(2), |_, _| ()).scheduler();
    let mut worker = scheduler.join();
    let (woken, is_woken) = channel();
    let (come, may_come) = channel();
    let other = thread::spawn(move || {
        let mut other = scheduler.join();
        assert_eq!(other.park(), Parked::Woken);
        woken.send(()).unwrap();
        may_come.recv().unwrap();
        other.try_next()
    });
    while !scheduler.parking.has_idle() || scheduler.parking.joined() < 2 {
        thread::yield_now();
    }
    (0..ITEMS).for_each(|item| worker.push(item));
    is_woken.recv().unwrap();
    for _ in 0..2 * ITEMS {
        let item = worker.try_next().unwrap();
        worker.push(item);
    }
    come.send(()).unwrap();
    assert!(other.join().unwrap().is_some());
}

#[test]
pub(super) fn a_parked_worker_is_woken_for_help_again_and_again() {
    const ROUNDS: usize = 50;
    let tally = Tally::new(2 * ROUNDS);
    let counts = Arc::clone(&tally);
    let runtime = Runtime::new(with_workers(2), move |worker, item| {
        counts.count(item);
        if item.is_multiple_of(2) {
            worker.push(item + 1);
            while counts.of(item + 1) == 0 {
                // Ignores the answer, since this item waits for help.
                worker.should_preempt();
                hint::spin_loop();
            }
            if item + 2 < 2 * ROUNDS {
                worker.push(item + 2);
            }
        }
    });
    runtime.run(&[0]);
    tally.check_each_once();
}

#[test]
pub(super) fn two_workers_exchange_items_through_the_injector() {
    const ROUNDS: usize = 2_000;
    let tally = Tally::new(ROUNDS);
    let counts = Arc::clone(&tally);
    let runtime = Runtime::new(with_workers(2), move |worker, item| {
        counts.count(item);
        if item + 1 < ROUNDS {
            worker.scheduler().inject(item + 1);
        }
    });
    runtime.run(&[0]);
    tally.check_each_once();
    assert_eq!(runtime.stalls(), 1);
}

#[test]
pub(super) fn stop_ends_all_workers() {
    // Item 0 keeps a source open, so that only the stop ends the run.
    let runtime = Runtime::new(with_workers(4), |worker, item| match item {
        0 => {
            worker.scheduler().begin_outside();
            (1..100).for_each(|other| worker.push(other));
        }
        99 => {
            let scheduler = worker.scheduler();
            thread::spawn(move || scheduler.stop());
            while !worker.should_preempt() {
                hint::spin_loop();
            }
        }
        _ => {}
    });
    runtime.run(&[0]);
    assert_eq!(runtime.stalls(), 0);
    assert!(runtime.scheduler().is_stopped());
}

#[test]
pub(super) fn after_a_stop_no_item_runs() {
    let runtime = Runtime::new(with_workers(1), |_, _| ());
    let mut worker = runtime.scheduler().join();
    worker.push(1);
    worker.push_next(2);
    runtime.scheduler().stop();
    assert_eq!(worker.park(), Parked::Stopped);
    assert!(worker.should_preempt());
    while worker.try_next().is_some() {}
    assert_eq!(worker.park(), Parked::Stopped);
}

#[test]
pub(super) fn another_worker_runs_the_items_of_a_leaving_one() {
    let tally = Tally::new(10);
    let counts = Arc::clone(&tally);
    let runtime = Runtime::new(with_workers(2), move |_, item| counts.count(item));
    let mut leaving = runtime.scheduler().join();
    (0..9).for_each(|item| leaving.push(item));
    leaving.push_next(9);
    drop(leaving);
    // A coordinator starts the other worker in its own time.
    while runtime.stalls() == 0 {
        thread::yield_now();
    }
    runtime.join_threads();
    tally.check_each_once();
    assert_eq!(runtime.stalls(), 1);
}
