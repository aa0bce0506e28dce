//! One worker: the order of its items, and that no item waits for ever.

use super::*;
use crate::watch::Request;

fn worker() -> TestWorker {
    Runtime::new(with_workers(1), |_, _| ()).scheduler().join()
}

/// The items that are taken, at most `most` of them; `again` is called after each.
pub(super) fn take(
    worker: &mut TestWorker,
    most: usize,
    again: fn(&mut TestWorker, usize),
) -> Vec<usize> {
    let mut taken = Vec::new();
    while taken.len() < most {
        let Some(item) = worker.try_next() else { break };
        taken.push(item);
        again(worker, item);
    }
    taken
}

#[test]
fn the_queue_is_first_in_first_out() {
    let mut worker = worker();
    (0..5).for_each(|item| worker.push(item));
    assert_eq!(take(&mut worker, 9, |_, _| ()), [0, 1, 2, 3, 4]);
}

#[test]
fn a_next_item_overtakes_and_the_displaced_one_queues() {
    let mut worker = worker();
    worker.push(0);
    worker.push_next(1);
    worker.push_next(2);
    assert_eq!(take(&mut worker, 9, |_, _| ()), [2, 0, 1]);
}

#[test]
fn a_communicating_pair_lets_the_queue_have_its_turn() {
    let mut worker = worker();
    worker.push(7);
    worker.push_next(0);
    let taken = take(&mut worker, 100, |worker, item| {
        if item < 2 {
            worker.push_next(1 - item);
        }
    });
    assert_eq!(taken.iter().position(|item| *item == 7), Some(16));
    assert_eq!(taken.len(), 100);
}

#[test]
fn a_busy_queue_lets_the_injector_have_its_turn() {
    let mut worker = worker();
    worker.push(0);
    worker.push(1);
    worker.scheduler().inject(7);
    let taken = take(&mut worker, 200, |worker, item| worker.push(item));
    let first = taken.iter().position(|item| *item == 7);
    assert_eq!(first, Some(61));
    assert_eq!(taken.len(), 200);
}

#[test]
fn a_communicating_pair_lets_the_injector_have_its_turn() {
    let mut worker = worker();
    worker.push_next(0);
    worker.scheduler().inject(7);
    let taken = take(&mut worker, 200, |worker, item| worker.push_next(1 - item.min(1)));
    assert!(taken.contains(&7));
}

#[test]
fn a_running_item_does_not_count_as_waiting() {
    let mut worker = worker();
    assert!(!worker.has_waiting());
    worker.push(0);
    worker.push_next(1);
    assert_eq!(worker.try_next(), Some(1));
    assert!(worker.has_waiting());
    assert_eq!(worker.try_next(), Some(0));
    assert!(!worker.has_waiting());
    worker.scheduler().inject(2);
    assert!(worker.has_waiting());
    assert_eq!(worker.park(), Parked::Woken);
    assert_eq!(worker.try_next(), Some(2));
    assert_eq!(worker.try_next(), None);
}

#[test]
pub(super) fn a_stall_is_told_once_until_another_item_runs() {
    let mut worker = worker();
    assert_eq!(worker.park(), Parked::Stalled);
    worker.push(0);
    assert_eq!(worker.try_next(), Some(0));
    assert_eq!(worker.try_next(), None);
    assert_eq!(worker.park(), Parked::Stalled);
    let scheduler = worker.scheduler();
    let other = thread::spawn(move || scheduler.inject(1));
    // Not another stall: no item ran.
    assert_eq!(worker.park(), Parked::Woken);
    other.join().unwrap();
    assert_eq!(worker.try_next(), Some(1));
}

#[test]
pub(super) fn during_an_operation_outside_there_is_no_stall() {
    let mut worker = worker();
    let scheduler = worker.scheduler();
    scheduler.begin_outside();
    let other = thread::spawn(move || {
        scheduler.inject(0);
        scheduler.end_outside();
    });
    while worker.try_next().is_none() {
        assert_eq!(worker.park(), Parked::Woken);
    }
    other.join().unwrap();
    assert_eq!(worker.try_next(), None);
    // A coordinator may still be about to wake the worker for the item.
    let parked = loop {
        match worker.park() {
            Parked::Woken => assert_eq!(worker.try_next(), None),
            other => break other,
        }
    };
    assert_eq!(parked, Parked::Stalled);
}

#[test]
pub(super) fn the_end_of_an_operation_outside_may_be_a_stall() {
    let mut worker = worker();
    let scheduler = worker.scheduler();
    scheduler.begin_outside();
    let other = thread::spawn(move || scheduler.end_outside());
    assert_eq!(worker.park(), Parked::Stalled);
    other.join().unwrap();
}

/// What a test finds on a worker on which item 0 runs and item 1 waits, while the monitor does not look. With a slice of hours
/// the monitor looks once, when it is started. But a monitor that was called meanwhile looks once more: then the test
/// begins anew. It may simulate looks, so many.
fn without_looks<T>(simulated: u64, test: impl Fn(&mut TestWorker) -> T) -> T {
    loop {
        let (_runtime, mut worker) = on_one_worker();
        let before = worker.scheduler().looks();
        let found = test(&mut worker);
        if worker.scheduler().looks() == before + simulated {
            return found;
        }
    }
}

/// A worker after the monitor's first look, on which item 0 runs and item 1 waits.
pub(super) fn on_one_worker() -> (Arc<Runtime>, TestWorker) {
    let slice = Duration::from_secs(24 * 3600);
    let runtime = Runtime::new(SchedulerOptions { slice, ..with_workers(1) }, |_, _| ());
    let mut worker = runtime.scheduler().join();
    worker.push(0);
    worker.push(1);
    assert_eq!(worker.try_next(), Some(0));
    while worker.scheduler().looks() == 0 {
        thread::yield_now();
    }
    (runtime, worker)
}

/// Ends the slice of the running item.
fn end_slice(worker: &mut TestWorker, item: usize) {
    let (scheduler, id) = (worker.scheduler(), worker.id());
    scheduler.watch(id).ask(worker.count, Request::Preempt);
    assert!(worker.should_preempt());
    worker.push(item);
}

#[test]
fn yielding_items_go_before_those_that_used_their_slices() {
    let (before, after) = without_looks(1, |worker| {
        end_slice(worker, 0);
        let before = take(worker, 1000, |worker, item| worker.push(item));
        worker.scheduler().looks.fetch_add(1, Ordering::Relaxed);
        let first = worker.try_next();
        end_slice(worker, 0);
        (before, [first, worker.try_next(), worker.try_next(), worker.try_next()])
    });
    assert_eq!(before, [1; 1000]);
    assert_eq!(after, [Some(0), Some(1), Some(0), None]);
}

#[test]
fn items_that_used_their_slices_take_turns() {
    let items = without_looks(0, |worker| {
        end_slice(worker, 0);
        [(); 4].map(|()| {
            let item = worker.try_next().expect("two items wait");
            end_slice(worker, item);
            item
        })
    });
    assert_eq!(items, [1, 0, 1, 0]);
}

#[test]
fn items_that_used_their_slices_are_given_away_as_well() {
    let found = without_looks(0, |worker| {
        end_slice(worker, 0);
        worker.hand_over();
        (worker.has_own(), worker.scheduler().injector.len())
    });
    assert_eq!(found, (false, 2));
}

/// How many items other workers could steal from this one.
fn stealable(worker: &TestWorker) -> usize {
    worker.scheduler().stealer(worker.id()).expect("it has joined").len()
}

#[test]
fn in_a_coarse_program_the_next_item_can_be_stolen() {
    let found = without_looks(0, |worker| {
        [false, true, false].map(|is_coarse| {
            worker.scheduler().set_coarse(is_coarse);
            while worker.try_next().is_some() {}
            worker.push_next(7);
            stealable(worker)
        })
    });
    assert_eq!(found, [0, 1, 0]);
}

#[test]
fn an_item_in_the_next_slot_runs_when_the_program_has_become_coarse() {
    let taken = without_looks(0, |worker| {
        worker.push_next(7);
        worker.scheduler().set_coarse(true);
        std::iter::from_fn(|| worker.try_next()).collect::<Vec<_>>()
    });
    assert_eq!(taken, [7, 1]);
}
