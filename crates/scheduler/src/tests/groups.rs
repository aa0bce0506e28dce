//! Groups of items: those without a group come first, and groups take turns.

use super::order::{on_one_worker, take};
use super::*;

/// Items from 100 on belong to groups.
fn divided() -> TestWorker {
    let (_runtime, mut worker) = on_one_worker();
    while worker.try_next().is_some() {}
    worker.scheduler().divide(|item| (item >= 100).then_some(item / 100));
    worker
}

fn runs_spare(worker: &TestWorker) -> bool {
    let watch = worker.scheduler().watch(worker.id());
    watch.is_spare(watch.progress().count)
}

fn look(worker: &TestWorker) {
    worker.scheduler().looks.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn items_without_a_group_come_first() {
    let mut worker = divided();
    [100, 101, 0, 200, 1].into_iter().for_each(|item| worker.push(item));
    worker.scheduler().inject(2);
    worker.scheduler().inject(300);
    worker.push_next(3);
    let taken = take(&mut worker, 9, |_, _| ());
    let last = taken.iter().rposition(|item| *item < 100);
    assert_eq!((taken.len(), last), (8, Some(3)), "{taken:?}");
}

#[test]
fn an_item_that_becomes_ready_waits_for_one_of_a_group() {
    let mut worker = divided();
    (100..200).for_each(|item| worker.push(item));
    // Items of groups make each other ready, by each way there is.
    let taken = take(&mut worker, 50, |worker, item| match item % 3 {
        0 => worker.push(item),
        1 => worker.push_next(item),
        _ => worker.scheduler().inject(item),
    });
    assert!(taken.iter().all(|item| *item >= 100), "{taken:?}");
    worker.push(100);
    worker.push_next(101);
    worker.scheduler().inject(7);
    assert!(take(&mut worker, 2, |_, _| ()).contains(&7));
}

#[test]
fn busy_items_leave_groups_each_second_interval() {
    let mut worker = divided();
    [0, 1, 100, 101, 102].into_iter().for_each(|item| worker.push(item));
    let mut of_groups = Vec::new();
    for interval in 0..6 {
        let taken = take(&mut worker, 10, |worker, item| worker.push(item));
        if taken.iter().all(|item| *item >= 100) {
            of_groups.push(interval);
        } else {
            assert!(taken.iter().all(|item| *item < 100), "{taken:?}");
        }
        look(&worker);
    }
    assert!(of_groups.len() >= 2 && of_groups.len() <= 3, "{of_groups:?}");
}

#[test]
fn a_long_item_of_a_group_does_not_count_as_time_of_the_others() {
    let mut worker = divided();
    [100, 200].into_iter().for_each(|item| worker.push(item));
    let spare = worker.try_next();
    assert!(spare.is_some_and(|item| item >= 100));
    assert!(runs_spare(&worker));
    (0..3).for_each(|_| look(&worker));
    worker.scheduler().inject(7);
    worker.push(spare.unwrap());
    assert_eq!(worker.try_next(), Some(7));
    assert!(!runs_spare(&worker));
}

#[test]
fn a_group_of_many_items_gets_no_more_turns_than_one_of_few() {
    let mut worker = divided();
    (100..200).chain([200, 300]).for_each(|item| worker.push(item));
    let mut counts = [0; 4];
    for _ in 0..9 {
        let taken = take(&mut worker, 4, |worker, item| worker.push(item));
        taken.iter().for_each(|item| counts[item / 100] += 1);
        look(&worker);
    }
    assert!(counts[1..].iter().all(|count| *count >= 8), "{counts:?}");
}

#[test]
fn items_of_groups_are_given_away_as_well() {
    let mut worker = divided();
    [100, 101, 0, 200].into_iter().for_each(|item| worker.push(item));
    assert_eq!(worker.try_next(), Some(0));
    assert!(worker.has_own());
    worker.hand_over();
    assert!(!worker.has_own());
    assert_eq!(worker.scheduler().injector.len(), 3);
}

#[test]
fn all_items_of_groups_run_once_on_many_workers() {
    let tally = Tally::new(20_000);
    let counts = Arc::clone(&tally);
    let runtime = Runtime::new(with_workers(4), move |worker, item| {
        counts.count(item);
        push_children(worker, item, 20_000);
    });
    runtime.scheduler().divide(|item| (item % 5 != 0).then_some(item % 7 + 1));
    runtime.run(&[0]);
    tally.check_each_once();
}
