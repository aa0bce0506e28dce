//! Policies: the tests that hold under all policies, again under each of them; and tests of single policies.

use super::*;
use super::{bound, order, outside, seeded, threads, watching};

/// Tests again under each of these policies.
fn under(policies: impl IntoIterator<Item = Policy>, tests: &[fn()]) {
    for policy in policies {
        POLICY.set(policy);
        tests.iter().for_each(|test| test());
    }
}

fn all_but(left_out: &'static [Policy]) -> impl Iterator<Item = Policy> {
    Policy::ALL.into_iter().filter(|policy| !left_out.contains(policy))
}

#[test]
fn names_lead_to_policies_and_back() {
    for policy in Policy::ALL {
        assert_eq!(policy.name().parse(), Ok(policy));
    }
    let problem = "lottery".parse::<Policy>().expect_err("there is none");
    assert!(problem.contains("stealing, interleaving"), "{problem}");
}

#[test]
fn each_item_runs_once_under_each() {
    under(
        all_but(&[]),
        &[
            threads::each_item_runs_once_however_many_workers,
            threads::injected_items_run_once_and_before_the_stall,
            threads::two_workers_exchange_items_through_the_injector,
            threads::another_worker_runs_the_items_of_a_leaving_one,
        ],
    );
}

#[test]
fn workers_end_under_each() {
    under(all_but(&[]), &[threads::stop_ends_all_workers, threads::after_a_stop_no_item_runs]);
}

#[test]
fn stalls_are_told_under_each() {
    // Dictated: the coordinator has the pushed item, so the worker parks first. Threads: another worker is started.
    under(
        all_but(&[Policy::Dictated, Policy::Threads]),
        &[order::a_stall_is_told_once_until_another_item_runs],
    );
    under(all_but(&[Policy::Threads]), &[order::during_an_operation_outside_there_is_no_stall]);
    under(
        all_but(&[]),
        &[
            order::the_end_of_an_operation_outside_may_be_a_stall,
            watching::timers_come_and_hold_the_stall_off,
            watching::a_cancelled_timer_does_not_come_and_its_end_may_be_a_stall,
        ],
    );
}

#[test]
fn waiting_items_get_help_under_policies_that_share() {
    // Under the other policies, no worker takes items that wait for another one, or there are more than two workers.
    under(
        all_but(&[Policy::Interleaving, Policy::Hierarchical, Policy::Threads]),
        &[
            threads::a_long_queue_gets_help,
            threads::a_single_item_in_the_queue_gets_help,
            threads::a_parked_worker_is_woken_for_help_again_and_again,
        ],
    );
}

#[test]
fn slices_end_under_each_but_threads() {
    under(
        all_but(&[Policy::Threads]),
        &[
            watching::an_item_gives_way_at_the_end_of_its_slice,
            watching::an_item_gives_way_to_an_injected_item,
            watching::the_monitor_rests_when_all_are_parked,
        ],
    );
}

#[test]
fn calls_are_replaced_under_each_but_threads() {
    under(
        all_but(&[Policy::Threads]),
        &[
            outside::items_that_wait_behind_a_call_run_elsewhere,
            outside::a_call_under_way_is_no_stall,
            outside::as_many_calls_block_at_once_as_there_may_be_threads,
            outside::more_calls_than_there_may_be_threads_wait_for_each_other,
        ],
    );
    under(all_but(&[]), &[outside::work_goes_on_after_many_calls]);
}

#[test]
fn bound_workers_are_the_same_under_each() {
    under(
        all_but(&[]),
        &[
            bound::handed_items_run_on_their_worker_and_before_the_stall,
            bound::items_that_a_bound_worker_makes_ready_run_elsewhere,
            bound::a_busy_worker_gets_queued_items_in_order,
            bound::an_item_outside_is_replaced_and_comes_back_to_its_worker,
            bound::a_worker_that_ends_its_item_is_found_free,
        ],
    );
}

#[test]
fn a_seeded_run_is_the_same_under_each() {
    under(
        all_but(&[]),
        &[
            seeded::the_same_seed_repeats_the_run_and_another_does_not,
            seeded::a_seeded_scheduler_has_one_worker,
            bound::a_seed_repeats_a_run_on_several_native_threads,
        ],
    );
}

/// The workers that run the items which item 0 makes ready.
fn places_of(options: SchedulerOptions, items: usize) -> Vec<WorkerId> {
    let places = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&places);
    let runtime = Runtime::new(options, move |worker, item| {
        if item == 0 {
            (1..=items).for_each(|other| worker.push(other));
        } else {
            seen.lock().unwrap().push(worker.id());
            thread::sleep(Duration::from_micros(100));
        }
    });
    runtime.run(&[0]);
    let places = places.lock().unwrap();
    places.clone()
}

#[test]
fn interleaving_has_one_worker() {
    POLICY.set(Policy::Interleaving);
    let places = places_of(with_workers(4), 50);
    assert_eq!(places, vec![WorkerId(0); 50]);
}

#[test]
fn hierarchical_shares_many_children_and_not_few() {
    POLICY.set(Policy::Hierarchical);
    assert_eq!(places_of(with_workers(2), 20), vec![WorkerId(0); 20]);
    let places = places_of(with_workers(2), 500);
    assert!(places.contains(&WorkerId(1)));
}

#[test]
fn threads_has_a_thread_for_each_running_item() {
    POLICY.set(Policy::Threads);
    const ITEMS: usize = 20;
    let barrier = Arc::new(std::sync::Barrier::new(ITEMS));
    let runtime = Runtime::new(with_workers(1), move |worker, item| {
        if item == 0 {
            (1..=ITEMS).for_each(|other| worker.push(other));
        } else {
            // The items block without an announcement, and all of them come here.
            barrier.wait();
        }
    });
    runtime.run(&[0]);
    assert_eq!(runtime.stalls(), 1);
}
