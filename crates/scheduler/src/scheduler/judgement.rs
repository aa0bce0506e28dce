//! The monitor's judgement: pure functions from its observations of the workers to measures. The monitor calls them at
//! each look.
//!
//! An item has waited since the last look if fewer items were begun since then than were waiting at that look: a queue
//! is first in, first out, so one of these still waits. The items themselves are not touched. A program that switches
//! often and quickly thus never seems to need help.
//!
//! A look also shows how long an item runs on average: the *grain* of the program. If waking a thread takes less time, the
//! program is *coarse*: a worker then puts all items into its queue, and wakes an idle worker for each (`worker/mod.rs`). A
//! worker gets no help if its items run for less time than another worker needs to fetch them.

use std::time::Duration;

use crate::outside::Call;
use crate::watch::{Progress, Request};

/// The shortest interval between two looks. A woken thread needs about 50 microseconds until it runs, so an item that
/// waits for less is better left where it is.
pub(super) const SHORTEST_INTERVAL: Duration = Duration::from_micros(250);

/// How many looks in a row without an effect double the interval.
const IDLE_LOOKS: u32 = 8;

/// If items run for longer than this on average, the program is coarse.
const COARSE: Duration = Duration::from_micros(12);

/// If the items of a worker run for less than this on average, it gets no help: another cache would take longer to fetch
/// an item and its data.
const FINE: Duration = Duration::from_nanos(1500);

/// The least patience, as a part of the usual one.
const LEAST_PART: u32 = 8;

/// The results of a look at all workers.
#[derive(Default)]
pub(super) struct Sights {
    /// Whether a worker was woken or asked to help.
    pub(super) has_changed: bool,
    /// Whether an item is outside, in a call that had not begun at the previous look.
    pub(super) has_new_call: bool,
    /// Whether an item is in a call that had begun at the previous look, but not for long.
    pub(super) has_known_call: bool,
    /// Whether a call that had begun at the previous look has returned.
    pub(super) has_returned: bool,
    /// Whether an item was outside for long, and its worker is replaced.
    pub(super) has_replaced: bool,
    /// The items that all ordinary workers have run since the previous look.
    pub(super) ran: Ran,
}

/// The state of a worker at a look.
#[derive(Clone, Copy)]
pub(super) struct Sight {
    pub(super) progress: Progress,
    pub(super) queued: usize,
    pub(super) is_excused: bool,
    /// Whether the running item was begun only because nothing else waited.
    pub(super) is_spare: bool,
    pub(super) has_injected: bool,
    /// Whether another worker could help.
    pub(super) has_idle: bool,
}

impl Sight {
    /// Whether the running item has no right to the rest of its slice: it runs only because nothing else waited, and now
    /// something does. The items of groups are put aside, so the queue has others.
    fn gives_way(&self) -> bool {
        self.is_spare && !self.has_idle && (self.has_injected || self.queued > 0)
    }
}

/// The monitor's reaction to the state of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Measure {
    None,
    /// Wakes an idle worker.
    Wake,
    /// Leaves a request, and makes the worker poll.
    Ask(Request),
}

/// The monitor's memory of a worker.
#[derive(Clone, Default)]
pub(super) struct Observation {
    /// The number of the item that ran, and when the monitor first saw it.
    count: u64,
    since: Duration,
    /// How many items waited at the previous look.
    waiting: u64,
    /// The call in which the item was, and when the monitor first saw it.
    pub(super) call: Option<(Call, Duration)>,
    /// The time of the previous look, and how many items the worker had begun by then; `None` after a rest.
    looked: Option<(Duration, u64)>,
}

impl Observation {
    /// The items that the worker has run since the previous look; none if it runs no item now.
    pub(super) fn ran(&mut self, progress: Progress, now: Duration) -> Ran {
        let before = self.looked.replace((now, progress.count));
        match before.filter(|_| progress.runs) {
            Some((then, count)) => Ran { items: progress.count - count, time: now - then },
            None => Ran::default(),
        }
    }

    /// Forgets when the worker was looked at, since the monitor has rested.
    pub(super) fn forget_look(&mut self) {
        self.looked = None;
    }

    pub(super) fn judge(
        &mut self,
        sight: Sight,
        is_fine: bool,
        now: Duration,
        slice: Duration,
    ) -> Measure {
        let Progress { count, runs, private } = sight.progress;
        let begun = count - self.count;
        let has_waited = self.waiting > begun;
        if begun > 0 || !runs {
            (self.count, self.since) = (count, now);
        }
        self.waiting = (sight.queued + private) as u64;
        if !runs {
            return Measure::None;
        }
        let is_over = sight.gives_way() || now - self.since >= slice;
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

/// A number of items, and the time in which they ran.
#[derive(Clone, Default, Debug)]
pub(super) struct Ran {
    /// How many items were begun.
    items: u64,
    time: Duration,
}

impl Ran {
    /// Adds the items of another worker, unless it has begun none: its time is then a part of an item that runs on, and
    /// says nothing about the items that this one makes ready.
    pub(super) fn add(&mut self, other: &Ran) {
        if other.items > 0 {
            self.items += other.items;
            self.time += other.time;
        }
    }

    /// Whether the items were too short to be worth another worker.
    pub(super) fn is_fine(&self) -> bool {
        self.items > 0 && self.time < FINE * u32::try_from(self.items).unwrap_or(u32::MAX)
    }
}

/// The average time of an item.
#[derive(Default)]
pub(super) struct Grain {
    /// The latest look counts for a half.
    average: Duration,
}

impl Grain {
    /// Learns from a look; answers whether an item was begun.
    pub(super) fn learn(&mut self, ran: &Ran) -> bool {
        if ran.items == 0 {
            return false;
        }
        let items = u32::try_from(ran.items).unwrap_or(u32::MAX);
        self.average = (self.average + ran.time / items) / 2;
        true
    }

    /// Whether each item is worth waking another worker.
    pub(super) fn is_coarse(&self) -> bool {
        self.average >= COARSE
    }
}

/// How long an item may be outside before its worker is replaced.
pub(super) struct Patience {
    usual: Duration,
    pub(super) now: Duration,
}

impl Patience {
    pub(super) fn new(usual: Duration) -> Patience {
        Patience { usual, now: usual }
    }

    pub(super) fn learn(&mut self, sights: &Sights) {
        if sights.has_returned {
            self.now = self.usual;
        } else if sights.has_replaced {
            self.now = (self.now / 2).max(self.usual / LEAST_PART);
        }
    }
}

/// The interval between looks.
pub(super) struct Pace {
    interval: Duration,
    slice: Duration,
    /// How many looks in a row had no effect.
    idle_looks: u32,
}

impl Pace {
    pub(super) fn new(slice: Duration) -> Pace {
        Pace { interval: SHORTEST_INTERVAL, slice, idle_looks: 0 }
    }

    pub(super) fn quicken(&mut self) {
        self.interval = SHORTEST_INTERVAL;
        self.idle_looks = 0;
    }

    /// Counts a look.
    pub(super) fn count(&mut self, has_changed: bool) {
        if has_changed {
            return self.quicken();
        }
        self.idle_looks += 1;
        if self.idle_looks == IDLE_LOOKS {
            self.idle_looks = 0;
            self.interval = (self.interval * 2).min(self.slice);
        }
    }

    /// The time until the next look.
    pub(super) fn interval(&self, has_idle: bool) -> Duration {
        // Half a slice: an item that has just begun at one look has used its slice at the third.
        if has_idle { self.interval } else { self.interval.max(self.slice / 2) }
    }
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(10);

    fn sight(count: u64, private: usize, queued: usize) -> Sight {
        Sight {
            progress: Progress { count, runs: true, private },
            queued,
            is_excused: false,
            is_spare: false,
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
        let measures = judge(&[sight(1, 0, 2), sight(2, 0, 2)]);
        assert_eq!(measures, [Measure::None, Measure::Wake]);
    }

    #[test]
    fn items_that_were_all_begun_since_get_no_help() {
        let measures = judge(&[sight(1, 1, 3), sight(5, 1, 3), sight(9, 1, 3)]);
        assert_eq!(measures, [Measure::None; 3]);
    }

    #[test]
    fn an_item_that_waited_behind_very_short_ones_gets_no_help() {
        let mut observation = Observation::default();
        let sight = sight(1, 0, 2);
        _ = observation.judge(sight, false, SLICE, SLICE);
        assert_eq!(observation.judge(sight, true, SLICE, SLICE), Measure::None);
        assert_eq!(observation.judge(sight, false, SLICE, SLICE), Measure::Wake);
    }

    #[test]
    fn items_are_fine_or_not_by_their_average() {
        let mut observation = Observation::default();
        let progress = |count| Progress { count, runs: true, private: 0 };
        let millisecond = Duration::from_millis(1);
        assert!(!observation.ran(progress(10), millisecond).is_fine());
        assert!(observation.ran(progress(1010), 2 * millisecond).is_fine());
        assert!(!observation.ran(progress(1110), 3 * millisecond).is_fine());
        // One that runs on for ever is not fine.
        assert!(!observation.ran(progress(1110), 4 * millisecond).is_fine());
        observation.looked = None;
        assert_eq!(observation.ran(progress(9999), 9 * millisecond).items, 0);
    }

    /// Whether a program is coarse after looks a millisecond apart, with so many items begun between them.
    fn is_coarse_after(items: &[u64]) -> bool {
        let mut grain = Grain::default();
        for items in items {
            let mut all = Ran::default();
            all.add(&Ran { items: *items, time: Duration::from_millis(1) });
            grain.learn(&all);
        }
        grain.is_coarse()
    }

    #[test]
    fn a_program_is_coarse_by_the_average_time_of_its_items() {
        assert!(is_coarse_after(&[20; 4]));
        assert!(!is_coarse_after(&[2000; 4]));
        assert!(!is_coarse_after(&[20, 20, 2000, 2000, 2000, 2000]));
    }

    #[test]
    fn an_item_that_runs_on_does_not_make_a_program_coarse() {
        assert!(!is_coarse_after(&[2000, 2000, 0, 0, 0]));
        assert!(is_coarse_after(&[0, 0, 1, 0, 0]));
        let mut all = Ran::default();
        all.add(&Ran { items: 0, time: Duration::from_millis(1) });
        all.add(&Ran { items: 1000, time: Duration::from_millis(1) });
        assert!(all.is_fine());
    }

    #[test]
    fn without_idle_workers_there_is_no_help() {
        let busy = Sight { has_idle: false, ..sight(1, 0, 2) };
        assert_eq!(judge(&[busy, busy]), [Measure::None; 2]);
    }

    #[test]
    fn the_next_slot_is_shared_when_it_waits() {
        let measures = judge(&[sight(1, 1, 0), sight(1, 1, 0)]);
        assert_eq!(measures, [Measure::None, Measure::Ask(Request::Share)]);
    }

    #[test]
    fn a_slice_ends_if_an_item_waits() {
        let waiting = Sight { has_idle: false, ..sight(1, 0, 1) };
        let injected = Sight { has_injected: true, ..sight(1, 0, 0) };
        for sight in [waiting, injected] {
            let measures = judge(&[sight; 11]);
            assert_eq!(measures[..10], [Measure::None; 10]);
            assert_eq!(measures[10], Measure::Ask(Request::Preempt));
        }
    }

    #[test]
    fn a_spare_item_gives_way_at_once() {
        let spare = Sight { has_idle: false, is_spare: true, ..sight(1, 0, 0) };
        let injected = Sight { has_injected: true, ..spare };
        let queued = Sight { queued: 1, ..spare };
        // Items that were put aside count as private, and have no better right.
        let aside = Sight { has_idle: false, is_spare: true, ..sight(1, 1, 0) };
        assert_eq!(judge(&[injected]), [Measure::Ask(Request::Preempt)]);
        assert_eq!(judge(&[queued]), [Measure::Ask(Request::Preempt)]);
        assert_eq!(judge(&[spare, aside, aside]), [Measure::None; 3]);
    }

    #[test]
    fn help_is_better_than_the_end_of_a_slice() {
        assert_eq!(judge(&[sight(1, 0, 1); 12])[11], Measure::Wake);
    }

    #[test]
    fn a_worker_that_runs_on_alone_is_asked_for_an_excuse_once() {
        let alone = sight(1, 0, 0);
        let excused = Sight { is_excused: true, ..alone };
        let mut sights = [alone; 11];
        assert_eq!(judge(&sights)[9..], [Measure::None, Measure::Ask(Request::Share)]);
        sights[10] = excused;
        assert_eq!(judge(&sights)[10], Measure::None);
    }

    #[test]
    fn a_worker_without_an_item_gets_no_request() {
        let mut sights = [sight(1, 0, 3); 20];
        sights.iter_mut().for_each(|sight| sight.progress.runs = false);
        assert_eq!(judge(&sights), [Measure::None; 20]);
    }

    #[test]
    fn replacements_halve_the_patience_and_a_return_restores_it() {
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
    fn looks_without_an_effect_become_rare() {
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
