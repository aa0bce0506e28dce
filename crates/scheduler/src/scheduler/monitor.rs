//! The monitor: a thread that looks at all workers in intervals, delivers due timers, ends slices, replaces workers whose
//! items are outside for long, and finds items that wait while a worker is idle. The scheduler starts it when a worker or
//! a timer first needs it.
//!
//! The monitor sleeps whenever it can (`watch.rs`): without a timer and without a waiting item, it does not wake. Workers
//! thus need no clock.
//!
//! Intervals are short at first, because an idle worker should soon help, and grow while looks have no effect (as in the
//! monitor of Go). If no worker is idle, only slices matter. `judgement.rs` decides, from the words of two looks, what to
//! do about each worker.
//!
//! # Items outside
//!
//! An item that is outside for longer than the *patience* is replaced. When the monitor sees a call for the first time,
//! it looks again when the patience is over. If it then sees another call, calls are short, and the next look comes at
//! its usual time; so a program of many short calls does not cause many looks.
//!
//! Items that wait behind a replaced item are likely to go outside as well, for as long: fifty strands of one vat that
//! all make the same call do so one after the other. So each replacement halves the patience, down to an eighth, until
//! the monitor has seen a call return.

use std::time::Duration;

use super::Scheduler;
use super::judgement::{
    Grain, Measure, Observation, Pace, Patience, SHORTEST_INTERVAL, Sight, Sights,
};
use crate::WorkerId;
use crate::sync::Ordering;
use crate::watch::Request;

/// The shortest time after which the monitor looks again at an item outside.
const SHORTEST_PATIENCE: Duration = Duration::from_micros(20);

/// The monitor thread.
pub(crate) fn run<T, P>(scheduler: &'static Scheduler<T, P>)
where
    T: Copy + Send + 'static,
    P: Send + 'static,
{
    let slice = scheduler.options.slice.max(SHORTEST_INTERVAL);
    let mut observations = vec![Observation::default(); scheduler.numbers()];
    let mut patience = Patience::new(scheduler.options.patience);
    let mut pace = Pace::new(slice);
    let mut grain = Grain::default();
    let mut is_second_look = false;
    // After a rest the monitor stays awake for one interval, since the same worker may soon call again.
    let mut lingers = false;
    while !scheduler.is_stopped() {
        let now = scheduler.clock.now();
        scheduler.deliver_timers(now);
        let sights = look(scheduler, &mut observations, now, slice, patience.now);
        pace.count(sights.has_changed);
        if grain.learn(&sights.ran) {
            scheduler.set_coarse(grain.is_coarse());
        }
        patience.learn(&sights);
        let is_worth_it = sights.has_new_call && (!is_second_look || sights.has_changed);
        let looks_again = is_worth_it || sights.has_known_call || sights.has_replaced;
        is_second_look = looks_again && !sights.has_replaced;
        let deadline = scheduler.timers.next_deadline();
        let until_deadline = deadline.map(|deadline| deadline.saturating_sub(now));
        if lingers || is_needed(scheduler) {
            let interval = match looks_again {
                true => patience.now.max(SHORTEST_PATIENCE),
                false => pace.interval(scheduler.parking.has_idle()),
            };
            let interval = until_deadline.map_or(interval, |until| interval.min(until));
            scheduler.gate.pause(Some(interval));
            lingers = false;
        } else {
            lingers = scheduler.gate.rest(|| is_needed(scheduler), until_deadline);
            pace.quicken();
            observations.iter_mut().for_each(Observation::forget_look);
        }
    }
}

/// Whether an item may wait behind another.
fn is_needed<T: Copy + Send + 'static, P: Send + 'static>(scheduler: &Scheduler<T, P>) -> bool {
    // If all workers are parked, one of them has been woken for the injected items.
    let is_injected = scheduler.has_injected() && scheduler.parking.active() > 0;
    is_injected || !scheduler.worker_ids().all(|id| scheduler.watch(id).is_excused())
}

/// Looks at every worker.
fn look<T: Copy + Send + 'static, P: Send + 'static>(
    scheduler: &'static Scheduler<T, P>,
    observations: &mut [Observation],
    now: Duration,
    slice: Duration,
    patience: Duration,
) -> Sights {
    // Relaxed: the number paces workers, and orders nothing.
    scheduler.looks.fetch_add(1, Ordering::Relaxed);
    let mut sights = Sights::default();
    for id in scheduler.worker_ids() {
        let (watch, observation) = (scheduler.watch(id), &mut observations[id.0]);
        let call_before = observation.call;
        let outside = look_outside(scheduler, id, observation, now, patience);
        let is_gone = matches!(outside, Outside::Nothing | Outside::New);
        sights.has_returned |= is_gone && call_before.is_some();
        match outside {
            Outside::Nothing => {}
            Outside::New => sights.has_new_call = true,
            Outside::Known => sights.has_known_call = true,
            Outside::Replaced => (sights.has_changed, sights.has_replaced) = (true, true),
        }
        let sight = sight(scheduler, id);
        let ran = observation.ran(sight.progress, now);
        if scheduler.inbox(id).is_none() {
            sights.ran.add(&ran);
        }
        let measure = observation.judge(sight, ran.is_fine(), now, slice);
        sights.has_changed |= matches!(measure, Measure::Wake | Measure::Ask(Request::Share));
        match measure {
            Measure::None => {}
            Measure::Wake => call_help(scheduler, id),
            Measure::Ask(request) => {
                watch.ask(sight.progress.count, request);
                scheduler.hooks.preempt(id);
            }
        }
    }
    sights
}

/// The state of a worker at a look.
fn sight<T: Copy + Send + 'static, P: Send + 'static>(
    scheduler: &Scheduler<T, P>,
    id: WorkerId,
) -> Sight {
    let watch = scheduler.watch(id);
    let (progress, is_excused) = (watch.progress(), watch.is_excused());
    if let Some(inbox) = scheduler.inbox(id) {
        // No other worker may run the items that wait here, and this one runs no others.
        let queued = inbox.len();
        return Sight {
            progress,
            queued,
            is_excused,
            is_spare: false,
            has_injected: false,
            has_idle: false,
        };
    }
    Sight {
        progress,
        is_spare: watch.is_spare(progress.count),
        queued: scheduler.waiting(id),
        is_excused,
        has_injected: scheduler.has_injected(),
        has_idle: scheduler.parking.has_idle()
            && scheduler.pool.as_ref().is_none_or(|pool| pool.lets_help()),
    }
}

/// The result of a look at a worker's item.
enum Outside {
    /// The item is not outside.
    Nothing,
    /// The item is in a call that had not begun at the previous look.
    New,
    /// The item is in the same call as at the previous look, but not for long.
    Known,
    /// The item has been outside for long, and the worker is replaced.
    Replaced,
}

/// Looks whether the item of a worker is outside, and replaces the worker if the item has been there for long.
fn look_outside<T: Copy + Send + 'static, P: Send + 'static>(
    scheduler: &'static Scheduler<T, P>,
    id: WorkerId,
    observation: &mut Observation,
    now: Duration,
    patience: Duration,
) -> Outside {
    let watch = scheduler.watch(id);
    let Some(call) = watch.place.call() else {
        observation.call = None;
        return Outside::Nothing;
    };
    let since = observation.call.filter(|(seen, _)| *seen == call).map(|(_, since)| since);
    let Some(since) = since else {
        observation.call = Some((call, now));
        return Outside::New;
    };
    if now - since < patience || !watch.place.begin_replacing(call) {
        return Outside::Known;
    }
    observation.call = None;
    scheduler.hooks.replaced(id);
    let has_work = || scheduler.has_injected();
    if scheduler.inbox(id).is_some() {
        scheduler.parking.replace_bound(has_work);
    } else {
        scheduler.release(id);
        scheduler.parking.replace(has_work);
    }
    watch.excuse();
    watch.place.replaced();
    if scheduler.has_injected() {
        scheduler.wake();
    }
    Outside::Replaced
}

/// An item has waited for a busy worker, while another one is idle.
fn call_help<T, P>(scheduler: &'static Scheduler<T, P>, id: WorkerId)
where
    T: Copy + Send + 'static,
    P: Send + 'static,
{
    match &scheduler.pool {
        Some(pool) => pool.call_help(scheduler, id),
        None => scheduler.wake(),
    }
}
