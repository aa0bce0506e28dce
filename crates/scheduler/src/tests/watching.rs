//! The monitor: when it is started, when it sleeps, which timers it delivers and which slices it ends.

use super::*;
use std::hint;

#[test]
fn a_program_of_one_strand_starts_no_thread() {
    let runtime = Runtime::new(with_workers(4), |_, _| ());
    let mut worker = runtime.scheduler().join();
    worker.push(0);
    assert_eq!(worker.try_next(), Some(0));
    assert_eq!(worker.try_next(), None);
    assert_eq!(worker.park(), Parked::Stalled);
    assert!(!runtime.scheduler().gate.is_started());
    assert_eq!(runtime.started.load(Ordering::Relaxed), 0);
}

#[test]
fn the_monitor_starts_when_an_item_waits() {
    let runtime = Runtime::new(with_workers(1), |_, _| ());
    let mut worker = runtime.scheduler().join();
    worker.push(0);
    worker.push(1);
    assert!(!runtime.scheduler().gate.is_started());
    worker.try_next();
    assert!(runtime.scheduler().gate.is_started());
}

#[test]
pub(super) fn an_item_gives_way_at_the_end_of_its_slice() {
    let runtime = Runtime::new(with_workers(1), |worker, item| {
        if item == 0 {
            worker.push(1);
            while !worker.should_preempt() {
                hint::spin_loop();
            }
        }
    });
    runtime.run(&[0]);
}

#[test]
pub(super) fn an_item_gives_way_to_an_injected_item() {
    let runtime = Runtime::new(with_workers(1), |worker, item| {
        if item == 0 {
            worker.scheduler().inject(1);
            while !worker.should_preempt() {
                hint::spin_loop();
            }
        }
    });
    runtime.run(&[0]);
}

#[test]
fn the_monitor_rests_behind_an_item_that_is_alone_and_is_recalled() {
    let runtime = Runtime::new(with_workers(2), |worker, item| {
        if item == 0 {
            for _ in 0..3 {
                worker.push(1);
                // Until the item is pre-empted or helped: the monitor has noticed it.
                while worker.has_waiting() {
                    worker.should_preempt();
                }
                while !worker.scheduler().gate.is_resting() {
                    assert!(!worker.should_preempt());
                }
            }
        }
    });
    runtime.run(&[0]);
}

#[test]
pub(super) fn the_monitor_rests_when_all_are_parked() {
    let runtime = Runtime::new(with_workers(3), |worker, item| {
        push_children(worker, item, 500);
    });
    runtime.scheduler().begin_outside();
    let scheduler = runtime.scheduler();
    let other = thread::spawn(move || {
        // The workers begin, or have begun, and come to an end.
        while !scheduler.gate.is_started() || !scheduler.gate.is_resting() {
            thread::yield_now();
        }
        scheduler.end_outside();
    });
    runtime.run(&[0]);
    other.join().unwrap();
    assert_eq!(runtime.stalls(), 1);
}

#[test]
fn items_handed_over_run_elsewhere_and_the_monitor_rests() {
    let runtime = Runtime::new(with_workers(2), |worker, item| {
        if item == 0 {
            worker.push(1);
            worker.push_next(2);
            worker.hand_over();
            // No poll from here on.
            while worker.has_waiting() || !worker.scheduler().gate.is_resting() {
                thread::yield_now();
            }
        }
    });
    runtime.run(&[0]);
    assert_eq!(runtime.stalls(), 1);
}

#[test]
pub(super) fn timers_come_and_hold_the_stall_off() {
    let runtime = Runtime::new(with_workers(2), |worker, item| {
        if item == 0 {
            for milliseconds in [9, 3, 6, 1] {
                worker
                    .scheduler()
                    .add_timer(Duration::from_millis(milliseconds), milliseconds as usize);
            }
        }
    });
    runtime.run(&[0]);
    // The order depends on the time between the calls above.
    let mut due = runtime.due();
    assert_eq!(due.len(), 4);
    due.sort_unstable();
    assert_eq!(due, [1, 3, 6, 9]);
    assert_eq!(runtime.stalls(), 1);
}

#[test]
pub(super) fn a_cancelled_timer_does_not_come_and_its_end_may_be_a_stall() {
    let runtime = Runtime::new(with_workers(1), |_, _| ());
    let scheduler = runtime.scheduler();
    let timer = scheduler.add_timer(Duration::from_secs(3600), 5);
    let other = thread::spawn(move || scheduler.cancel_timer(timer));
    runtime.run(&[]);
    assert_eq!(other.join().unwrap(), Some(5));
    assert_eq!(runtime.due(), []);
    assert_eq!(runtime.stalls(), 1);
}

#[test]
fn an_earlier_timer_wakes_the_monitor_from_a_later_one() {
    let runtime = Runtime::new(with_workers(1), |worker, item| {
        if item == 1 {
            worker.scheduler().stop();
        }
    });
    let scheduler = runtime.scheduler();
    scheduler.add_timer(Duration::from_secs(3600), 0);
    while !scheduler.gate.is_resting() {
        thread::yield_now();
    }
    scheduler.add_timer(Duration::ZERO, 1);
    runtime.run(&[]);
    assert_eq!(runtime.due(), [1]);
}

#[test]
fn endless_delays_are_no_error() {
    let runtime = Runtime::new(with_workers(1), |_, _| ());
    let scheduler = runtime.scheduler();
    let timer = scheduler.add_timer(Duration::MAX, 1);
    scheduler.add_timer(Duration::ZERO, 2);
    let mut worker = scheduler.join();
    assert_eq!(worker.park(), Parked::Woken);
    assert_eq!(worker.try_next(), Some(2));
    assert_eq!(scheduler.cancel_timer(timer), Some(1));
    scheduler.stop();
}
