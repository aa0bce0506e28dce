//! The monitor: a thread that looks after time and fairness, so that no worker has to.
//!
//! It delivers due timers, ends slices, and sees where an item waits while a worker is idle. It is
//! started when it is first needed, and sleeps whenever it can (`watch.rs`): without a timer and
//! without an item that waits, it does not wake.
//!
//! It *looks* at the workers in intervals. Looks are frequent at first, for an idle worker should
//! soon help, and become rare while they change nothing (as in the monitor of Go). If no worker is
//! idle, only slices matter.
//!
//! An item that is outside for longer than the machine is patient is replaced. What is seen outside for
//! the first time is looked at again when that time is over. If it is another call then, calls are short, and
//! the next look comes at its usual time: so a program of many short calls is not looked at all the time.
//!
//! What was waiting behind a replaced item is likely to go outside as well, for as long: fifty strands of one vat
//! that all make the same call do so one after the other. So with each replacement the machine becomes less
//! patient, down to an eighth, until it sees a call that returns by itself.
//!
//! A look also shows how long an item runs on average: the *grain* of the program. If waking a thread takes less, the
//! program is *coarse*: a worker then wakes an idle one for each item that it puts into its queue (`worker.rs`). A
//! worker gets no help if its items take less time than it takes another worker to fetch them.
//!
//! Whether an item has waited since the last look is told without touching the item: a queue is first
//! in, first out, so if fewer items were begun since than were waiting then, one of these
//! still waits. Programs that switch often and quickly thus never look as if they needed help.

use std::time::Duration;

use crate::outside::Call;
use crate::sync::Ordering;
use crate::watch::{Progress, Request};
use crate::{Scheduler, WorkerId};

/// The shortest interval between two looks. Waking a thread takes about 50 microseconds until it
/// runs, so an item that waits for less is better left where it is.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(250);

/// The shortest time after which it looks again at what is outside.
const SHORTEST_PATIENCE: Duration = Duration::from_micros(20);

/// How many looks in a row change nothing before the interval is doubled.
const IDLE_LOOKS: u32 = 8;

/// If items run for longer than this on average, the program is coarse.
const COARSE: Duration = Duration::from_micros(12);

/// If the items of a worker run for less than this on average, it gets no help: another cache would take longer to fetch an
/// item and its data.
const FINE: Duration = Duration::from_nanos(1500);

/// What part of its patience the machine keeps at least.
const LEAST_PART: u32 = 8;

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
    // After a rest it stays up for one interval: who called it may call again at once.
    let mut lingers = false;
    while !scheduler.is_stopped() {
        let now = scheduler.clock.now();
        scheduler.deliver_timers(now);
        let sights = look(scheduler, &mut observations, now, slice, patience.now);
        pace.count(sights.has_changed);
        grain.learn(scheduler, &sights.ran);
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
            observations.iter_mut().for_each(|observation| observation.looked = None);
        }
    }
}

/// Whether some item may wait behind another.
fn is_needed<T: Copy + Send + 'static, P: Send + 'static>(scheduler: &Scheduler<T, P>) -> bool {
    // If all workers are parked, one of them has been woken for what was injected.
    let is_injected = scheduler.has_injected() && scheduler.parking.active() > 0;
    is_injected || !scheduler.worker_ids().all(|id| scheduler.watch(id).is_excused())
}

/// What a look at all workers has come to.
#[derive(Default)]
struct Sights {
    /// Whether somebody was got to help.
    has_changed: bool,
    /// Whether an item is outside, in a call that had not begun at the look before.
    has_new_call: bool,
    /// Whether one is in a call that had, but is not outside for long yet.
    has_known_call: bool,
    /// Whether a call that had begun at the look before has returned.
    has_returned: bool,
    /// Whether one was outside for long, and its worker is replaced.
    has_replaced: bool,
    /// The items that all workers but bound ones have run since the look before.
    ran: Ran,
}

/// Looks at every worker.
fn look<T: Copy + Send + 'static, P: Send + 'static>(
    scheduler: &'static Scheduler<T, P>,
    observations: &mut [Observation],
    now: Duration,
    slice: Duration,
    patience: Duration,
) -> Sights {
    // Relaxed: it paces workers, and orders nothing.
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
            Measure::Wake => scheduler.call_help(id),
            Measure::Ask(request) => {
                watch.ask(sight.progress.count, request);
                scheduler.hooks.preempt(id);
            }
        }
    }
    sights
}

fn sight<T: Copy + Send + 'static, P: Send + 'static>(
    scheduler: &Scheduler<T, P>,
    id: WorkerId,
) -> Sight {
    let watch = scheduler.watch(id);
    let (progress, is_excused) = (watch.progress(), watch.is_excused());
    if let Some(inbox) = scheduler.inbox(id) {
        // Nobody else may run what waits here, and it runs nothing else.
        let queued = inbox.len();
        return Sight { progress, queued, is_excused, has_injected: false, has_idle: false };
    }
    Sight {
        progress,
        queued: scheduler.waiting(id),
        is_excused,
        has_injected: scheduler.has_injected(),
        has_idle: scheduler.parking.has_idle() && scheduler.lets_help(),
    }
}

/// What a look at a worker tells of its item.
enum Outside {
    /// It is not outside.
    Nothing,
    /// It is in a call that had not begun at the look before.
    New,
    /// It is in the same call as at the look before, but not for long.
    Known,
    /// It was outside for long, and the worker is replaced.
    Replaced,
}

/// Looks whether the item of a worker is outside, and replaces the worker if that is so for long.
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

/// What the monitor sees of a worker.
#[derive(Clone, Copy)]
struct Sight {
    progress: Progress,
    queued: usize,
    is_excused: bool,
    has_injected: bool,
    /// Whether another worker could help.
    has_idle: bool,
}

/// What the monitor does about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measure {
    None,
    /// Gets an idle worker to help.
    Wake,
    Ask(Request),
}

/// What the monitor remembers of a worker.
#[derive(Clone, Default)]
struct Observation {
    /// The item that ran, and since when, as far as was seen.
    count: u64,
    since: Duration,
    /// How many items waited behind it.
    waiting: u64,
    /// The call it was in, if it was outside, and since when, as far as was seen.
    call: Option<(Call, Duration)>,
    /// When it was looked at last, and how many items it had begun by then; nothing after a rest.
    looked: Option<(Duration, u64)>,
}

impl Observation {
    /// The items that the worker has run since the last look; none if it runs nothing now.
    fn ran(&mut self, progress: Progress, now: Duration) -> Ran {
        let before = self.looked.replace((now, progress.count));
        match before.filter(|_| progress.runs) {
            Some((then, count)) => Ran { items: progress.count - count, time: now - then },
            None => Ran::default(),
        }
    }

    fn judge(&mut self, sight: Sight, is_fine: bool, now: Duration, slice: Duration) -> Measure {
        let Progress { count, runs, has_private } = sight.progress;
        let begun = count - self.count;
        let has_waited = self.waiting > begun;
        if begun > 0 || !runs {
            (self.count, self.since) = (count, now);
        }
        self.waiting = sight.queued as u64 + u64::from(has_private);
        if !runs {
            return Measure::None;
        }
        let is_over = now - self.since >= slice;
        match (self.waiting > 0, sight.has_injected) {
            (true, _) if has_waited && is_fine => Measure::None,
            (true, _) if has_waited && sight.has_idle && sight.queued > 0 => Measure::Wake,
            (true, _) if has_waited && sight.has_idle => Measure::Ask(Request::Share),
            (false, false) if is_over && !sight.is_excused => Measure::Ask(Request::Share),
            (false, false) => Measure::None,
            _ if is_over => Measure::Ask(Request::Preempt),
            _ => Measure::None,
        }
    }
}

/// Items that were run, and the time that took.
#[derive(Clone, Default, Debug)]
struct Ran {
    /// How many items were begun.
    items: u64,
    time: Duration,
}

impl Ran {
    fn add(&mut self, other: &Ran) {
        self.items += other.items;
        self.time += other.time;
    }

    /// Whether the items were too small to be worth another worker.
    fn is_fine(&self) -> bool {
        self.items > 0 && self.time < FINE * u32::try_from(self.items).unwrap_or(u32::MAX)
    }
}

/// How long items run.
#[derive(Default)]
struct Grain {
    /// On average; what was seen last counts for a half.
    average: Duration,
}

impl Grain {
    /// Tells the workers whether the program is coarse.
    fn learn<T, P>(&mut self, scheduler: &Scheduler<T, P>, ran: &Ran)
    where
        T: Copy + Send + 'static,
        P: Send + 'static,
    {
        if ran.time.is_zero() {
            return;
        }
        let items = u32::try_from(ran.items).unwrap_or(u32::MAX);
        self.average = (self.average + ran.time / items.max(1)) / 2;
        // Relaxed: a hint, in a word of its own.
        scheduler.is_coarse.store(self.average >= COARSE, Ordering::Relaxed);
    }
}

/// How long an item may be outside.
struct Patience {
    usual: Duration,
    now: Duration,
}

impl Patience {
    fn new(usual: Duration) -> Patience {
        Patience { usual, now: usual }
    }

    fn learn(&mut self, sights: &Sights) {
        if sights.has_returned {
            self.now = self.usual;
        } else if sights.has_replaced {
            self.now = (self.now / 2).max(self.usual / LEAST_PART);
        }
    }
}

/// How often the monitor looks.
struct Pace {
    interval: Duration,
    slice: Duration,
    /// How many looks in a row have changed nothing.
    idle_looks: u32,
}

impl Pace {
    fn new(slice: Duration) -> Pace {
        Pace { interval: SHORTEST_INTERVAL, slice, idle_looks: 0 }
    }

    fn quicken(&mut self) {
        self.interval = SHORTEST_INTERVAL;
        self.idle_looks = 0;
    }

    /// A look was made.
    fn count(&mut self, has_changed: bool) {
        if has_changed {
            return self.quicken();
        }
        self.idle_looks += 1;
        if self.idle_looks == IDLE_LOOKS {
            self.idle_looks = 0;
            self.interval = (self.interval * 2).min(self.slice);
        }
    }

    /// How long to wait until the next look.
    fn interval(&self, has_idle: bool) -> Duration {
        // Half a slice: an item that has just begun at one look is over its slice at the third.
        if has_idle { self.interval } else { self.interval.max(self.slice / 2) }
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(10);

    fn sight(count: u64, has_private: bool, queued: usize) -> Sight {
        Sight {
            progress: Progress { count, runs: true, has_private },
            queued,
            is_excused: false,
            has_injected: false,
            has_idle: true,
        }
    }

    /// Judges sights a millisecond apart.
    fn judge(sights: &[Sight]) -> Vec<Measure> {
        let mut observation = Observation::default();
        let times = (1..).map(Duration::from_millis);
        sights
            .iter()
            .zip(times)
            .map(|(sight, now)| observation.judge(*sight, false, now, SLICE))
            .collect()
    }

    #[test]
    fn an_item_that_waited_since_the_last_look_gets_help() {
        let measures = judge(&[sight(1, false, 2), sight(2, false, 2)]);
        assert_eq!(measures, [Measure::None, Measure::Wake]);
    }

    #[test]
    fn items_that_were_all_begun_since_get_none() {
        let measures = judge(&[sight(1, true, 3), sight(5, true, 3), sight(9, true, 3)]);
        assert_eq!(measures, [Measure::None; 3]);
    }

    #[test]
    fn an_item_that_waited_behind_very_small_ones_gets_none() {
        let mut observation = Observation::default();
        let sight = sight(1, false, 2);
        _ = observation.judge(sight, false, SLICE, SLICE);
        assert_eq!(observation.judge(sight, true, SLICE, SLICE), Measure::None);
        assert_eq!(observation.judge(sight, false, SLICE, SLICE), Measure::Wake);
    }

    #[test]
    fn items_are_fine_or_not_by_their_average() {
        let mut observation = Observation::default();
        let progress = |count| Progress { count, runs: true, has_private: false };
        let millisecond = Duration::from_millis(1);
        assert!(!observation.ran(progress(10), millisecond).is_fine());
        assert!(observation.ran(progress(1010), 2 * millisecond).is_fine());
        assert!(!observation.ran(progress(1110), 3 * millisecond).is_fine());
        // One that runs on for ever is not fine.
        assert!(!observation.ran(progress(1110), 4 * millisecond).is_fine());
        observation.looked = None;
        assert_eq!(observation.ran(progress(9999), 9 * millisecond).items, 0);
    }

    #[test]
    fn without_idle_workers_there_is_no_help() {
        let busy = Sight { has_idle: false, ..sight(1, false, 2) };
        assert_eq!(judge(&[busy, busy]), [Measure::None; 2]);
    }

    #[test]
    fn the_next_slot_is_shared_when_it_waits() {
        let measures = judge(&[sight(1, true, 0), sight(1, true, 0)]);
        assert_eq!(measures, [Measure::None, Measure::Ask(Request::Share)]);
    }

    #[test]
    fn a_slice_ends_if_something_waits() {
        let waiting = Sight { has_idle: false, ..sight(1, false, 1) };
        let injected = Sight { has_injected: true, ..sight(1, false, 0) };
        for sight in [waiting, injected] {
            let measures = judge(&[sight; 11]);
            assert_eq!(measures[..10], [Measure::None; 10]);
            assert_eq!(measures[10], Measure::Ask(Request::Preempt));
        }
    }

    #[test]
    fn help_is_better_than_the_end_of_a_slice() {
        assert_eq!(judge(&[sight(1, false, 1); 12])[11], Measure::Wake);
    }

    #[test]
    fn a_worker_that_runs_on_alone_is_asked_for_an_excuse_once() {
        let alone = sight(1, false, 0);
        let excused = Sight { is_excused: true, ..alone };
        let mut sights = [alone; 11];
        assert_eq!(judge(&sights)[9..], [Measure::None, Measure::Ask(Request::Share)]);
        sights[10] = excused;
        assert_eq!(judge(&sights)[10], Measure::None);
    }

    #[test]
    fn nothing_is_asked_of_a_worker_that_runs_nothing() {
        let mut sights = [sight(1, false, 3); 20];
        sights.iter_mut().for_each(|sight| sight.progress.runs = false);
        assert_eq!(judge(&sights), [Measure::None; 20]);
    }

    #[test]
    fn patience_goes_with_replacements_and_comes_back_with_a_return() {
        let mut patience = Patience::new(Duration::from_micros(256));
        let replaced = Sights { has_replaced: true, ..Sights::default() };
        let times: Vec<u128> = (0..5)
            .map(|_| {
                patience.learn(&replaced);
                patience.now.as_micros()
            })
            .collect();
        assert_eq!(times, [128, 64, 32, 32, 32]);
        patience.learn(&Sights::default());
        assert_eq!(patience.now.as_micros(), 32);
        patience.learn(&Sights { has_returned: true, has_replaced: true, ..Sights::default() });
        assert_eq!(patience.now.as_micros(), 256);
    }

    #[test]
    fn looks_become_rare_while_they_change_nothing() {
        let mut pace = Pace::new(SLICE);
        let intervals: Vec<u128> = (0..60)
            .map(|_| {
                pace.count(false);
                pace.interval(true).as_micros()
            })
            .collect();
        assert_eq!(intervals[6..8], [250, 500]);
        assert_eq!(intervals[59], 10_000);
        pace.count(true);
        assert_eq!(pace.interval(true), SHORTEST_INTERVAL);
        assert_eq!(pace.interval(false), SLICE / 2);
    }
}
