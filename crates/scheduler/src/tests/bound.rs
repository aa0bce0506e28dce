//! Bound workers: items that are handed to one run there and nowhere else, in order.

use std::sync::Barrier;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::Return;

/// Starts a native thread for a bound worker; answers its number.
fn start_bound(runtime: &Arc<Runtime>) -> WorkerId {
    let id = runtime.scheduler().reserve_bound().expect("there are few");
    let other = Arc::clone(runtime);
    let thread = thread::spawn(move || {
        let mut worker = other.scheduler().join_bound(id);
        other.work(&mut worker);
    });
    runtime.threads.lock().unwrap().push(thread);
    id
}

/// A runtime with bound workers; its function gets their numbers.
fn with_bound(
    options: SchedulerOptions,
    count: usize,
    body: impl Fn(&mut TestWorker, usize, &[WorkerId]) + Send + Sync + 'static,
) -> Arc<Runtime> {
    let bound: Arc<OnceLock<Vec<WorkerId>>> = Arc::default();
    let known = Arc::clone(&bound);
    let runtime = Runtime::new(options, move |worker, item| {
        body(worker, item, known.get().expect("the workers are made first"));
    });
    let ids = (0..count).map(|_| start_bound(&runtime)).collect();
    bound.set(ids).expect("they are made once");
    runtime
}

#[test]
pub(super) fn handed_items_run_on_their_worker_and_before_the_stall() {
    const ITEMS: usize = 1_000;
    for workers in [1, 3] {
        let tally = Tally::new(2 * ITEMS);
        let counts = Arc::clone(&tally);
        let runtime = with_bound(with_workers(workers), 2, move |worker, item, bound| {
            counts.count(item);
            if item < ITEMS {
                let there = bound[item % 2];
                worker.hand_to(there, ITEMS + item, ITEMS + item);
                push_children(worker, item, ITEMS);
            } else {
                assert_eq!(worker.id(), bound[item % 2]);
            }
        });
        runtime.run(&[0]);
        tally.check_each_once();
        assert_eq!(runtime.stalls(), 1);
    }
}

#[test]
pub(super) fn items_that_a_bound_worker_makes_ready_run_elsewhere() {
    const ITEMS: usize = 500;
    let tally = Tally::new(ITEMS);
    let counts = Arc::clone(&tally);
    let runtime = with_bound(with_workers(2), 1, move |worker, item, bound| {
        counts.count(item);
        assert_eq!(worker.id() == bound[0], item % 3 == 1);
        let next = item + 1;
        match next % 3 {
            _ if next >= ITEMS => {}
            0 => worker.push(next),
            1 => _ = worker.hand_to(bound[0], next, next),
            _ => worker.push_next(next),
        }
    });
    runtime.run(&[0]);
    tally.check_each_once();
    assert_eq!(runtime.stalls(), 1);
}

#[test]
pub(super) fn a_busy_worker_gets_queued_items_in_order() {
    const QUEUED: usize = 100;
    let barrier = Arc::new(Barrier::new(2));
    let met = Arc::clone(&barrier);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let order = Arc::clone(&seen);
    let runtime = with_bound(with_workers(1), 1, move |worker, item, bound| match item {
        0 => {
            assert!(worker.hand_to(bound[0], 1, 2));
            met.wait();
            (0..9).for_each(|other| assert!(!worker.hand_to(bound[0], 1, QUEUED + other)));
            met.wait();
        }
        1 => {
            met.wait();
            met.wait();
        }
        _ => order.lock().unwrap().push(item),
    });
    runtime.run(&[0]);
    assert_eq!(*seen.lock().unwrap(), (QUEUED..QUEUED + 9).collect::<Vec<_>>());
    assert_eq!(runtime.stalls(), 1);
}

#[test]
fn the_next_worker_of_a_number_goes_on_counting() {
    let runtime = Runtime::new(with_workers(1), |_, _| {});
    let scheduler = runtime.scheduler();
    let id = scheduler.reserve_bound().expect("there are few");
    let mut first = scheduler.join_bound(id);
    (0..5).for_each(|item| _ = first.begin(item));
    first.leave_bound();
    assert_eq!(scheduler.reserve_bound(), Some(id));
    let mut second = scheduler.join_bound(id);
    second.begin(5);
    assert_eq!(scheduler.watch(id).progress().count, 6);
    second.leave_bound();
    runtime.run(&[0]);
}

#[test]
fn an_item_gives_way_to_a_queued_item() {
    let runtime = with_bound(with_workers(1), 1, |worker, item, bound| match item {
        0 => _ = worker.hand_to(bound[0], 1, 1),
        1 => {
            assert!(!worker.hand_to(bound[0], 2, 2));
            while !worker.should_preempt() {
                std::hint::spin_loop();
            }
        }
        _ => {}
    });
    runtime.run(&[0]);
}

#[test]
fn the_monitor_rests_behind_a_bound_worker_with_an_empty_inbox() {
    let runtime = with_bound(with_workers(1), 1, |worker, item, bound| match item {
        0 => _ = worker.hand_to(bound[0], 1, 1),
        1 => {
            let gate = &worker.scheduler().gate;
            for _ in 0..3 {
                worker.go_outside();
                worker.come_back();
                while !gate.is_resting() {
                    assert!(!worker.should_preempt());
                }
            }
        }
        _ => {}
    });
    runtime.run(&[0]);
    assert_eq!(runtime.stalls(), 1);
}

#[test]
pub(super) fn an_item_outside_is_replaced_and_comes_back_to_its_worker() {
    let is_over = AtomicBool::new(false);
    let runtime = with_bound(with_workers(1), 1, move |worker, item, bound| match item {
        0 => _ = worker.hand_to(bound[0], 1, 1),
        1 => {
            worker.push(2);
            worker.go_outside();
            while !is_over.load(Ordering::Acquire) {
                thread::yield_now();
            }
            assert_eq!(worker.come_back(), Return::Replaced);
            assert_eq!(worker.id(), bound[0]);
            worker.push(3);
        }
        2 => {
            let watch = worker.scheduler().watch(bound[0]);
            while !watch.place.is_replaced() {
                thread::yield_now();
            }
            is_over.store(true, Ordering::Release);
        }
        _ => {}
    });
    runtime.run(&[0]);
    assert_eq!(runtime.replaced.lock().unwrap().len(), 1);
    assert_eq!(runtime.stalls(), 1);
}

#[test]
fn a_worker_that_will_be_outside_for_long_keeps_its_place_among_the_bound() {
    let runtime = with_bound(with_workers(1), 1, |worker, item, bound| match item {
        0 => _ = worker.hand_to(bound[0], 1, 1),
        1 => {
            worker.push(3);
            worker.go_outside_for_long();
            assert_eq!(worker.come_back(), Return::Replaced);
            assert!(!worker.hand_to(bound[0], 2, 2));
        }
        2 => assert_eq!(worker.id(), bound[0]),
        _ => assert_ne!(worker.id(), bound[0]),
    });
    runtime.run(&[0]);
    assert_eq!(runtime.scheduler().parking.present(), 0);
    assert_eq!(runtime.stalls(), 1);
}

#[test]
fn a_reservation_waits_for_the_workers_that_are_leaving_and_for_no_others() {
    let options = SchedulerOptions { bound: 2, ..with_workers(1) };
    let runtime = Runtime::new(options, |_, _| ());
    let scheduler = runtime.scheduler();
    let ids: Vec<WorkerId> = (0..2).map(|_| start_bound(&runtime)).collect();
    assert_eq!(scheduler.reserve_bound_of_leaving(), None);
    scheduler.dismiss_bound(ids[1]);
    scheduler.dismiss_bound(ids[0]);
    // Nothing but the two workers gives a number back: a reservation that does not wait finds none at times.
    let mut reserved = [(); 2].map(|()| scheduler.reserve_bound_of_leaving());
    reserved.sort_unstable_by_key(|id| id.map(|id| id.index()));
    assert_eq!(reserved, [Some(ids[0]), Some(ids[1])]);
    assert_eq!(scheduler.reserve_bound_of_leaving(), None);
    ids.into_iter().for_each(|id| scheduler.release_bound(id));
    scheduler.stop();
    runtime.join_threads();
}

#[test]
fn a_worker_that_is_dismissed_leaves_its_number() {
    let options = SchedulerOptions { bound: 2, ..with_workers(1) };
    let runtime = Runtime::new(options, |_, _| ());
    let scheduler = runtime.scheduler();
    let ids: Vec<WorkerId> = (0..2).map(|_| start_bound(&runtime)).collect();
    assert_eq!(scheduler.reserve_bound(), None);
    scheduler.dismiss_bound(ids[1]);
    let last = runtime.threads.lock().unwrap().pop();
    last.map(thread::JoinHandle::join).transpose().unwrap();
    assert_eq!(start_bound(&runtime), ids[1]);
    scheduler.stop();
    runtime.join_threads();
}

/// The items of a seeded run, the worker of each, and whether it was pre-empted. Items hop between two bound workers
/// and the ordinary one.
fn trace(seed: u64) -> Vec<(usize, WorkerId, bool)> {
    const ITEMS: usize = 200;
    let trace = Arc::new(Mutex::new(Vec::new()));
    let (seen, is_busy) = (Arc::clone(&trace), AtomicBool::new(false));
    let runtime = with_bound(with_seed(seed), 2, move |worker, item, bound| {
        assert!(!is_busy.swap(true, Ordering::Relaxed), "two native threads run at a time");
        if item % 3 > 0 {
            assert_eq!(worker.id(), bound[item % 3 - 1]);
        }
        let is_preempted = (0..9).any(|_| worker.should_preempt());
        seen.lock().unwrap().push((item, worker.id(), is_preempted));
        for child in [2 * item + 1, 2 * item + 2].into_iter().filter(|child| *child < ITEMS) {
            match child % 3 {
                0 => worker.push(child),
                place => _ = worker.hand_to(bound[place - 1], child, child),
            }
        }
        is_busy.store(false, Ordering::Relaxed);
    });
    runtime.run(&[0]);
    assert_eq!(runtime.stalls(), 1);
    let trace = std::mem::take(&mut *trace.lock().unwrap());
    assert_eq!(trace.len(), ITEMS);
    trace
}

#[test]
pub(super) fn a_seed_repeats_a_run_on_several_native_threads() {
    for seed in 1..5 {
        assert_eq!(trace(seed), trace(seed));
    }
    assert_ne!(trace(1), trace(2));
}

#[test]
fn under_a_seed_a_worker_is_busy_as_long_as_it_has_items() {
    let options = SchedulerOptions { bound: 2, ..with_seed(1) };
    let runtime = Runtime::new(options, |_, _| ());
    let [first, second] = [(); 2].map(|()| runtime.scheduler().reserve_bound().unwrap());
    let mut worker = runtime.scheduler().join();
    assert!(worker.hand_to(first, 1, 2));
    assert!(!worker.hand_to(first, 1, 2));
    assert!(worker.hand_to(second, 1, 2));
}

#[test]
pub(super) fn a_worker_that_ends_its_item_is_found_free() {
    let runtime = with_bound(with_workers(1), 2, |worker, item, bound| {
        // Two items hand each other over; one is queued at its own worker.
        let other = if worker.id() == bound[0] { bound[1] } else { bound[0] };
        match item {
            0 => _ = worker.hand_to(bound[0], 1, 9_999),
            1..1_000 => {
                worker.end_run();
                assert!(worker.hand_to(other, item + 1, 9_999));
            }
            1_000 => {
                worker.end_run();
                assert!(worker.resume_run());
                assert!(!worker.hand_to(worker.id(), 9_999, 1_001));
                worker.end_run();
                assert!(!worker.resume_run());
            }
            _ => assert_eq!(item, 1_001),
        }
    });
    runtime.run(&[0]);
    assert_eq!(runtime.stalls(), 1);
}
