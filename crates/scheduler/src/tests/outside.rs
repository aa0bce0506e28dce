//! Items that block: other workers take over, and no item is lost when the calls return.

use std::sync::Barrier;

use super::*;
use crate::Return;

/// Blocks until `is_over`, as an item that is outside.
fn block(worker: &mut TestWorker, is_over: impl Fn() -> bool) -> Return {
    worker.go_outside();
    while !is_over() {
        thread::yield_now();
    }
    worker.come_back()
}

#[test]
fn short_calls_change_nothing() {
    let runtime = Runtime::new(with_workers(1), |_, _| ());
    let mut worker = runtime.scheduler().join();
    worker.push(0);
    while let Some(item) = worker.try_next() {
        worker.go_outside();
        // The system may keep this thread from running while the monitor looks twice.
        if worker.come_back() == Return::Replaced {
            assert_eq!(runtime.replaced.lock().unwrap()[0], worker.id());
        }
        if item < 1_000 {
            worker.push(item + 1);
        }
    }
    assert_eq!(worker.park(), Parked::Stalled);
}

/// Item 0 makes all other items ready, then blocks until they have run.
fn check_replacement(workers: usize, push: fn(&mut TestWorker, usize)) {
    const OTHERS: usize = 30;
    let tally = Tally::new(OTHERS + 1);
    let counts = Arc::clone(&tally);
    let runtime = Runtime::new(with_workers(workers), move |worker, item| {
        counts.count(item);
        if item == 0 {
            (1..=OTHERS).for_each(|other| push(worker, other));
            let returned = block(worker, || (1..=OTHERS).all(|other| counts.of(other) == 1));
            assert!(workers > 1 || returned == Return::Replaced);
        }
    });
    runtime.run(&[0]);
    tally.check_each_once();
    assert_eq!(runtime.stalls(), 1);
}

#[test]
pub(super) fn items_that_wait_behind_a_call_run_elsewhere() {
    for workers in [1, 2] {
        check_replacement(workers, TestWorker::push);
        check_replacement(workers, TestWorker::push_next);
    }
}

#[test]
pub(super) fn as_many_calls_block_at_once_as_there_may_be_threads() {
    const CALLS: usize = 40;
    let barrier = Arc::new(Barrier::new(CALLS));
    let tally = Tally::new(CALLS);
    let counts = Arc::clone(&tally);
    let runtime = Runtime::new(with_workers(2), move |worker, item| {
        counts.count(item);
        worker.go_outside();
        barrier.wait();
        worker.come_back();
    });
    runtime.run(&(0..CALLS).collect::<Vec<_>>());
    tally.check_each_once();
    assert_eq!(runtime.stalls(), 1);
    assert!(runtime.started.load(Ordering::Relaxed) >= CALLS - 1);
}

#[test]
pub(super) fn work_goes_on_after_many_calls() {
    const ITEMS: usize = 3_000;
    for workers in [1, 3] {
        let tally = Tally::new(ITEMS);
        let counts = Arc::clone(&tally);
        let runtime = Runtime::new(with_workers(workers), move |worker, item| {
            counts.count(item);
            push_children(worker, item, ITEMS);
            if item % 200 == 7 {
                let since = std::time::Instant::now();
                block(worker, || since.elapsed() > Duration::from_millis(2));
            }
        });
        runtime.run(&[0]);
        tally.check_each_once();
        assert_eq!(runtime.stalls(), 1);
    }
}

#[test]
pub(super) fn a_call_under_way_is_no_stall() {
    let runtime = Runtime::new(with_workers(1), |worker, item| {
        if item == 0 {
            let scheduler = worker.scheduler();
            // No item is left to run meanwhile; the call ends after its worker was replaced.
            let returned = block(worker, || scheduler.parking.active() == 0);
            assert_eq!(returned, Return::Replaced);
            worker.push(1);
        }
    });
    runtime.run(&[0]);
    assert_eq!(runtime.stalls(), 1);
    assert_eq!(runtime.replaced.lock().unwrap().len(), 1);
}

#[test]
pub(super) fn more_calls_than_there_may_be_threads_wait_for_each_other() {
    const CALLS: usize = 100;
    let options = SchedulerOptions { threads: 6, ..with_workers(2) };
    let tally = Tally::new(CALLS);
    let counts = Arc::clone(&tally);
    let barrier = Arc::new(Barrier::new(5));
    let runtime = Runtime::new(options, move |worker, item| {
        counts.count(item);
        worker.go_outside();
        // Five items are outside at a time.
        barrier.wait();
        worker.come_back();
    });
    runtime.run(&(0..CALLS).collect::<Vec<_>>());
    tally.check_each_once();
    assert!(runtime.started.load(Ordering::Relaxed) <= 5);
    assert_eq!(runtime.stalls(), 1);
}

#[test]
fn unneeded_threads_leave() {
    const CALLS: usize = 20;
    let options = SchedulerOptions { kept: Duration::from_millis(1), ..with_workers(2) };
    let barrier = Barrier::new(CALLS);
    let runtime = Runtime::new(options, move |worker, item| {
        if item == CALLS {
            // No item is left, so the other workers leave when they have been kept for long enough.
            while worker.scheduler().parking.present() > 2 {
                thread::yield_now();
            }
            return;
        }
        worker.go_outside();
        let leads = barrier.wait().is_leader();
        worker.come_back();
        if leads {
            worker.push(CALLS);
        }
    });
    runtime.run(&(0..CALLS).collect::<Vec<_>>());
    assert!(runtime.started.load(Ordering::Relaxed) >= CALLS - 1);
    assert_eq!(runtime.stalls(), 1);
}
