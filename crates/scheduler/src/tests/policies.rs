//! Each policy: the tests of the others again, as far as they are about all policies, and what is only about one.

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
            threads::what_others_inject_runs_once_and_the_stall_comes_after,
            threads::two_workers_talk_through_the_injector,
            threads::what_a_leaving_worker_had_another_runs,
        ],
    );
}

#[test]
fn all_ends_under_each() {
    under(all_but(&[]), &[threads::stop_sends_everybody_home, threads::after_a_stop_nothing_runs]);
}

#[test]
fn stalls_are_told_under_each() {
    // A coordinator has what was pushed, so the worker has to park before it runs; or another one is started.
    under(
        all_but(&[Policy::Dictated, Policy::Threads]),
        &[order::a_stall_is_told_once_for_all_that_ran],
    );
    under(all_but(&[Policy::Threads]), &[order::while_something_is_outside_there_is_no_stall]);
    under(
        all_but(&[]),
        &[
            order::the_end_of_what_was_outside_may_be_a_stall,
            watching::timers_come_and_hold_the_stall_off,
            watching::a_cancelled_timer_does_not_come_and_its_end_may_be_a_stall,
        ],
    );
}

#[test]
fn who_waits_gets_help_under_those_that_have_it() {
    // Under the others, what waits for one worker is the affair of that one; or there are more than two.
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
fn slices_end_under_each_that_has_as_many_workers_as_are_asked_for() {
    under(
        all_but(&[Policy::Threads]),
        &[
            watching::an_item_that_runs_on_makes_place,
            watching::an_item_that_runs_on_makes_place_for_what_is_injected,
            watching::the_monitor_rests_when_all_are_parked,
        ],
    );
}

#[test]
fn calls_are_replaced_under_each_that_has_as_many_workers_as_are_asked_for() {
    under(
        all_but(&[Policy::Threads]),
        &[
            outside::what_waits_behind_a_call_runs_elsewhere,
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
            bound::what_is_handed_over_runs_there_and_before_the_stall,
            bound::what_a_bound_worker_makes_ready_runs_elsewhere,
            bound::a_busy_worker_gets_what_is_queued_in_order,
            bound::an_item_outside_is_replaced_and_comes_back_to_its_worker,
            bound::who_ends_what_it_runs_is_found_idle,
        ],
    );
}

#[test]
fn a_seed_leaves_a_policy_nothing_to_decide() {
    under(
        all_but(&[]),
        &[
            seeded::the_same_seed_repeats_the_run_and_another_does_not,
            seeded::a_seeded_scheduler_has_one_worker,
            bound::a_seed_repeats_what_runs_on_several_native_threads,
        ],
    );
}

/// On which workers the items run that item 0 makes ready before it waits for a while.
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
fn interleaving_takes_one_worker_however_many_are_asked_for() {
    POLICY.set(Policy::Interleaving);
    let places = places_of(with_workers(4), 50);
    assert_eq!(places, vec![WorkerId(0); 50]);
}

#[test]
fn few_children_stay_with_their_parent_and_many_do_not() {
    POLICY.set(Policy::Hierarchical);
    assert_eq!(places_of(with_workers(2), 20), vec![WorkerId(0); 20]);
    let places = places_of(with_workers(2), 500);
    assert!(places.contains(&WorkerId(1)));
}

#[test]
fn threads_are_as_many_as_items_that_run() {
    POLICY.set(Policy::Threads);
    const ITEMS: usize = 20;
    let barrier = Arc::new(std::sync::Barrier::new(ITEMS));
    let runtime = Runtime::new(with_workers(1), move |worker, item| {
        if item == 0 {
            (1..=ITEMS).for_each(|other| worker.push(other));
        } else {
            // They block without saying so, and yet all of them come here.
            barrier.wait();
        }
    });
    runtime.run(&[0]);
    assert_eq!(runtime.stalls(), 1);
}
