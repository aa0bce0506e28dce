//! Seeded runs: repeatable, different from each other, and in virtual time.

use super::*;

/// Runs a program of communicating items and timers; answers each item, its time, and whether it was pre-empted.
fn trace(seed: u64) -> Vec<(usize, u64, bool)> {
    let runtime = Runtime::new(with_seed(seed), |_, _| ());
    let scheduler = runtime.scheduler();
    let mut worker = scheduler.join();
    worker.push(0);
    let mut trace = Vec::new();
    loop {
        while let Some(item) = worker.try_next() {
            let preempted = (0..20).any(|_| worker.should_preempt());
            trace.push((item, scheduler.now(), preempted));
            if item < 300 {
                push_children(&mut worker, item, 600);
                let delay = Duration::from_millis(item as u64 % 7);
                scheduler.add_timer(delay, 1_000 + item);
            }
        }
        match worker.park() {
            Parked::Woken => {}
            Parked::Stopped | Parked::Surplus | Parked::Stalled => return trace,
        }
    }
}

#[test]
pub(super) fn the_same_seed_repeats_the_run_and_another_does_not() {
    let first = trace(1);
    assert_eq!(first, trace(1));
    assert_ne!(first, trace(2));
    let mut items: Vec<usize> = first.iter().map(|(item, ..)| *item).collect();
    items.sort_unstable();
    assert_eq!(items, (0..600).chain(1_000..1_300).collect::<Vec<_>>());
    assert!(first.iter().any(|(.., preempted)| *preempted));
}

#[test]
fn every_order_of_three_items_has_a_seed() {
    let order = |seed| {
        let runtime = Runtime::new(with_seed(seed), |_, _| ());
        let mut worker = runtime.scheduler().join();
        worker.push(0);
        worker.push(1);
        worker.push_next(2);
        std::iter::from_fn(|| worker.try_next()).collect::<Vec<_>>()
    };
    let orders: std::collections::BTreeSet<_> = (0..200).map(order).collect();
    assert_eq!(orders.len(), 6);
}

#[test]
fn time_jumps_to_the_next_deadline() {
    let runtime = Runtime::new(with_seed(3), |worker, item| {
        if item < 3 {
            worker.scheduler().add_timer(Duration::from_secs(3600), item + 1);
        }
    });
    runtime.run(&[0]);
    assert_eq!(runtime.due(), [1, 2, 3]);
    assert_eq!(runtime.scheduler().now(), 3 * 3_600_000);
    assert!(!runtime.scheduler().gate.is_started());
    assert_eq!(runtime.stalls(), 1);
}

#[test]
fn timers_with_the_same_deadline_come_in_the_order_made() {
    for seed in 0..20 {
        let runtime = Runtime::new(with_seed(seed), |worker, item| {
            if item == 0 {
                (1..9).for_each(|other| {
                    worker.scheduler().add_timer(Duration::from_millis(5), other);
                });
            }
        });
        runtime.run(&[0]);
        assert_eq!(runtime.due(), [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}

#[test]
fn a_program_that_waits_by_looking_at_the_clock_ends() {
    let runtime = Runtime::new(with_seed(4), |worker, item| {
        if worker.scheduler().now() < 10 {
            worker.push(item);
        }
    });
    runtime.run(&[0]);
    assert_eq!(runtime.stalls(), 1);
}

#[test]
fn during_an_operation_outside_time_does_not_jump() {
    let runtime = Runtime::new(with_seed(5), |worker, item| {
        if item == 1 {
            assert!(worker.scheduler().now() < 3_600_000);
            worker.scheduler().stop();
        }
    });
    let scheduler = runtime.scheduler();
    scheduler.add_timer(Duration::from_secs(3600), 0);
    scheduler.begin_outside();
    let other = thread::spawn(move || {
        scheduler.inject(1);
        scheduler.end_outside();
    });
    runtime.run(&[]);
    other.join().unwrap();
}

#[test]
fn during_an_operation_outside_short_timers_come() {
    let runtime = Runtime::new(with_seed(6), |worker, item| match item {
        0 => {
            worker.scheduler().begin_outside();
            worker.scheduler().add_timer(Duration::from_micros(50), 1);
        }
        _ => worker.scheduler().stop(),
    });
    runtime.run(&[0]);
    assert_eq!(runtime.due(), [1]);
}

#[test]
pub(super) fn a_seeded_scheduler_has_one_worker() {
    let runtime = Runtime::new(SchedulerOptions { workers: 8, ..with_seed(1) }, |worker, item| {
        push_children(worker, item, 2_000);
        worker.scheduler().add_timer(Duration::ZERO, 5_000);
    });
    runtime.scheduler();
    let mut worker = runtime.scheduler().join();
    worker.push(0);
    for _ in 0..100 {
        if let Some(item) = worker.try_next().filter(|item| *item < 5_000) {
            (runtime.body)(&mut worker, item);
        }
    }
    assert_eq!(runtime.started.load(Ordering::Relaxed), 0);
}
