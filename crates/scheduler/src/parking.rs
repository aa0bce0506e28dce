//! Parking: where workers without items sleep, how they are woken, and how a stall is found. Workers call
//! [`Parking::park`] when they find no item; every thread that makes an item visible calls [`Parking::wake`].
//!
//! # States of a worker
//!
//! ```text
//!             join                    park, no item
//!  (absent) ───────▶ PRESENT ─────────────────────────────────▶ PARKED
//!                       ▲                                         │
//!                       └─────────────────────────────────────────┘
//!                         verdict: search, stop, stall
//! ```
//!
//! A present worker runs items, or looks for some. A parked worker sleeps at its own condition variable until it is given
//! a *verdict*. The thread that gives the verdict also takes the worker off the list of parked workers, so each verdict
//! goes to one worker, and each worker has one at most. All of this happens under one lock. The atomics beside it are
//! copies for readers without the lock.
//!
//! # At most one searcher
//!
//! A search through other workers' queues costs their owners cache misses, so one worker at a time searches: the one with
//! the *token* `searching`. A thread that wakes a worker hands it the token. While a worker searches, no other worker is
//! woken, since the searcher will find the items. A searcher that has found one and leaves others wakes the next searcher
//! (as in the scheduler of Go).
//!
//! # No lost wake-up
//!
//! A thread makes an item visible (in the injector) while a worker is about to park:
//!
//! ```text
//!   waker                              parker
//!   W1  item becomes visible           P1  gives up the token, if it has it
//!   W2  fence (SeqCst)                 P2  joins the parked, idle += 1     (under the lock)
//!   W3  reads searching and idle       P3  fence (SeqCst)
//!   W4  wakes, if none searches        P4  looks once more; leaves if there is an item
//!       and some are idle              P5  waits for a verdict             (releases the lock)
//! ```
//!
//! The fences are ordered. If W2 comes first, P4 sees the item. If P3 comes first, W3 sees that the worker is idle; if W3
//! sees a token, another worker has it and comes to its own P4 later. A worker that is being started has not reached its
//! P4 yet.
//!
//! Items in a worker's own queue need no fence: their owner is present, and does not park before the queue is empty. Help
//! from other workers is a matter of speed, and of the monitor.
//!
//! # Stall
//!
//! A *source* is not work, but may make work: a timer, an operation outside, a bound worker (`inbox.rs`) with an item. The
//! program is stalled if all workers are parked, the injector is empty and there is no source. Three events can
//! complete this condition, and each checks it under the lock: a worker parks, the last source ends, a worker leaves.
//! One worker gets the verdict. It is not given again before a worker has run an item. A source injects its items before
//! it ends; its end is a release, and the check acquires it, so the check sees the items.
//!
//! # Places
//!
//! The number of *active* workers (present and not parked) is at most the number of places. A worker whose item is outside
//! for long is replaced: it is not present, and counts as a source, until it comes back. Then there may be one active
//! worker too many, and the next worker without an item in hand parks, even if there is work: the others are active, and
//! come to their own P4 later. If a worker is parked for long while the present workers are more than the places, it is
//! surplus and leaves. A worker that was not surplus when it parked is notified when replaced workers come back.
//!
//! # Stop
//!
//! Stopping is for ever. The flag is set under the lock, so a worker that parks either sees it or gets a verdict.

use std::time::Duration;

use crate::WorkerId;
use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, fence, lock};

#[cfg(all(test, feature = "loom"))]
mod model;

/// The list of parked workers, and all that decides about parking and waking.
pub(crate) struct Parking {
    crew: Mutex<Crew>,
    /// One for each number.
    verdict_given: Box<[Condvar]>,
    /// How many workers may be active.
    places: usize,
    /// Whether workers are started when there is work and a place.
    starts: bool,
    /// How many workers could be woken or started; at most one counts as to be started. Written under the lock.
    idle: AtomicUsize,
    /// Whether a worker has the token.
    searching: AtomicBool,
    /// How many workers are present and not parked. Written under the lock; a hint.
    active: AtomicUsize,
    /// How many numbers of workers are in use, or were. Written under the lock.
    joined: AtomicUsize,
    /// How many sources have not ended.
    sources: AtomicUsize,
    /// Whether a bound worker has run an item since the last check for a stall.
    has_bound_run: AtomicBool,
    stopped: AtomicBool,
    /// How long a surplus thread is kept.
    kept: Duration,
}

struct Crew {
    /// The parked workers; the last one parked last, so its caches are warm.
    parked: Vec<WorkerId>,
    /// The parked workers that wait without a time limit: when they parked, there was no surplus.
    patient: Vec<WorkerId>,
    verdicts: Box<[Option<Verdict>]>,
    /// The least number that no worker has had.
    joined: usize,
    /// Smaller numbers, whose workers have left.
    vacant: Vec<WorkerId>,
    /// How many workers have joined, and have neither left nor been replaced.
    present: usize,
    /// Whether a worker was asked for and has not joined yet.
    is_starting: bool,
    /// Whether a worker was told of a stall, and no worker has run an item since.
    stall_told: bool,
    /// How many workers are replaced.
    replaced: usize,
    /// Whether replaced workers no longer count as sources.
    is_ending: bool,
}

/// The reason why a worker parks no longer, for its callers within the crate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// There may be work. If another thread has woken the worker, it has the token.
    Search {
        has_token: bool,
    },
    Stop,
    Stall,
    TimedOut,
    /// The worker is not needed any more.
    Surplus,
}

/// Why [`Worker::park`](crate::Worker::park) returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parked {
    /// There may be work.
    Woken,
    /// The scheduler was stopped.
    Stopped,
    /// All workers are parked, no item is ready, and no source is left: the program is deadlocked, or finished. One
    /// worker is told, once; it may inject or push an item, stop, or park again.
    Stalled,
    /// There are more threads than are needed, and this one had no item for long: it should end.
    Surplus,
}

/// The outcome of an attempt to wake a worker.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    /// A worker looks for work, or will do so soon.
    Searched,
    /// The caller has to start a worker.
    Start,
    /// All workers are busy.
    AllBusy,
}

/// The data of a worker that parks.
pub(crate) struct Parker {
    pub(crate) id: WorkerId,
    /// Whether it has run an item since it parked last.
    pub(crate) has_run: bool,
    /// The time limit of the wait.
    pub(crate) timeout: Option<Duration>,
}

impl Parking {
    pub(crate) fn new(places: usize, threads: usize, kept: Duration, starts: bool) -> Parking {
        let crew = Crew {
            parked: Vec::with_capacity(places),
            patient: Vec::new(),
            verdicts: vec![None; threads].into(),
            joined: 0,
            vacant: Vec::new(),
            present: 0,
            is_starting: false,
            stall_told: false,
            replaced: 0,
            is_ending: false,
        };
        Parking {
            crew: Mutex::new(crew),
            verdict_given: (0..threads).map(|_| Condvar::new()).collect(),
            places,
            starts,
            idle: AtomicUsize::new(0),
            searching: AtomicBool::new(false),
            active: AtomicUsize::new(0),
            joined: AtomicUsize::new(0),
            sources: AtomicUsize::new(0),
            has_bound_run: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            kept,
        }
    }

    /// A new worker is present. `None` if there are as many threads as there may be.
    pub(crate) fn join(&self) -> Option<WorkerId> {
        let mut crew = lock(&self.crew);
        if !crew.has_number() {
            return None;
        }
        let id = crew.vacant.pop().unwrap_or(WorkerId(crew.joined));
        crew.joined = crew.joined.max(id.0 + 1);
        crew.present += 1;
        crew.is_starting = false;
        self.publish(&crew);
        Some(id)
    }

    /// A present worker leaves.
    pub(crate) fn leave(&self, id: WorkerId, has_run: bool, has_work: impl Fn() -> bool) {
        let mut crew = lock(&self.crew);
        crew.present -= 1;
        crew.vacant.push(id);
        crew.stall_told &= !has_run;
        self.publish(&crew);
        self.announce_stall(crew, has_work);
    }

    /// A present worker is replaced: it is a source until it [comes back](Parking::come_back).
    pub(crate) fn replace(&self, has_work: impl Fn() -> bool) {
        let mut crew = lock(&self.crew);
        crew.present -= 1;
        crew.replaced += 1;
        self.begin_source();
        self.publish(&crew);
        self.announce_stall(crew, has_work);
    }

    /// A bound worker, which is a source already since it runs an item, is outside for long.
    pub(crate) fn replace_bound(&self, has_work: impl Fn() -> bool) {
        let mut crew = lock(&self.crew);
        crew.replaced += 1;
        self.announce_stall(crew, has_work);
    }

    /// A bound worker that was outside for long has come back.
    pub(crate) fn come_back_bound(&self) {
        lock(&self.crew).replaced -= 1;
    }

    /// With a seed: a present worker has given the baton away, so it is not present for now.
    pub(crate) fn step_aside(&self) {
        let mut crew = lock(&self.crew);
        crew.present -= 1;
        self.publish(&crew);
    }

    /// With a seed: a worker that had stepped aside has the baton, and is present again.
    pub(crate) fn step_in(&self) {
        let mut crew = lock(&self.crew);
        crew.present += 1;
        self.publish(&crew);
    }

    /// With a seed: another worker gets the baton of a worker that is outside, which is a source until it comes back.
    pub(crate) fn begin_absence(&self) {
        lock(&self.crew).replaced += 1;
        self.begin_source();
    }

    /// With a seed: the worker that was outside has come back.
    pub(crate) fn end_absence(&self, has_work: impl Fn() -> bool) {
        lock(&self.crew).replaced -= 1;
        self.end_sources(1, has_work);
    }

    /// From now on, replaced workers are no sources.
    pub(crate) fn end(&self, has_work: impl Fn() -> bool) {
        let mut crew = lock(&self.crew);
        crew.is_ending = true;
        self.announce_stall(crew, has_work);
    }

    /// A worker that was replaced is present again.
    pub(crate) fn come_back(&self, has_work: impl Fn() -> bool) {
        let mut crew = lock(&self.crew);
        crew.present += 1;
        crew.replaced -= 1;
        self.publish(&crew);
        if crew.present > self.places {
            // One of the parked workers is surplus from now on.
            crew.patient.drain(..).for_each(|id| self.notify(Some(id)));
        }
        drop(crew);
        // It is active, so this does not end in a stall.
        self.end_sources(1, has_work);
    }

    /// Blocks until there may be work. `has_work` answers whether there is work that every worker can take; it must not
    /// block.
    pub(crate) fn park(&self, parker: Parker, has_work: impl Fn() -> bool) -> Verdict {
        let Parker { id, has_run, timeout } = parker;
        let mut crew = lock(&self.crew);
        // Relaxed, here and elsewhere under the lock: the lock orders it.
        if self.stopped.load(Ordering::Relaxed) {
            return Verdict::Stop;
        }
        crew.stall_told &= !has_run;
        if let Some(summons) = crew.verdicts[id.0].take() {
            return summons;
        }
        crew.parked.push(id);
        self.publish(&crew);
        fence(Ordering::SeqCst);
        if crew.active() < self.places && has_work() {
            self.unpark(crew, id);
            return Verdict::Search { has_token: false };
        }
        let told = self.tell_stall(&mut crew, has_work);
        self.notify(told.filter(|told| *told != id));
        self.await_verdict(crew, id, timeout)
    }

    /// Wakes a worker, or has one started, to look for items that became visible before.
    pub(crate) fn wake(&self) -> Wake {
        // Pairs with the fence of `park`: W2 of the protocol.
        fence(Ordering::SeqCst);
        if self.searching.load(Ordering::Relaxed) {
            return Wake::Searched;
        }
        if self.idle.load(Ordering::Relaxed) == 0 {
            return Wake::AllBusy;
        }
        let mut crew = lock(&self.crew);
        if self.stopped.load(Ordering::Relaxed) {
            return Wake::Searched;
        }
        if crew.active() >= self.places {
            return Wake::AllBusy;
        }
        if crew.parked.is_empty() {
            return self.ask_for_worker(&mut crew);
        }
        // Acquire and release: the next searcher knows what the last one has found.
        if !self.searching.swap(true, Ordering::AcqRel) {
            let woken = self.give_verdict(&mut crew, Verdict::Search { has_token: true });
            drop(crew);
            self.notify(Some(woken));
        }
        Wake::Searched
    }

    /// Takes the token; answers whether it was free.
    pub(crate) fn begin_search(&self) -> bool {
        !self.searching.load(Ordering::Relaxed) && !self.searching.swap(true, Ordering::AcqRel)
    }

    /// Gives the token back. A worker that has found no item must then park, or search again.
    pub(crate) fn end_search(&self) {
        self.searching.store(false, Ordering::Release);
    }

    /// Whether a worker searches, or was woken to do so. A hint.
    pub(crate) fn is_searching(&self) -> bool {
        self.searching.load(Ordering::Relaxed)
    }

    /// Whether a worker could be woken or started. A hint.
    #[inline]
    pub(crate) fn has_idle(&self) -> bool {
        self.idle.load(Ordering::Relaxed) != 0
    }

    /// How many workers are present and not parked. A hint.
    pub(crate) fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Whether more workers are active than there are places. A hint.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.active.load(Ordering::Relaxed) > self.places
    }

    /// Whether the scheduler was stopped. A hint; [`Parking::park`] knows.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends the sleep of all workers, for ever.
    pub(crate) fn stop(&self) {
        let mut crew = lock(&self.crew);
        self.stopped.store(true, Ordering::Relaxed);
        while !crew.parked.is_empty() {
            let woken = self.give_verdict(&mut crew, Verdict::Stop);
            self.notify(Some(woken));
        }
    }

    /// The least number that no worker has had.
    pub(crate) fn joined(&self) -> usize {
        // Acquire: pairs with the store in `publish`, so the reader finds what the worker has prepared.
        self.joined.load(Ordering::Acquire)
    }

    /// A source begins.
    pub(crate) fn begin_source(&self) {
        // Relaxed: the caller is a worker, or belongs to a source, either of which rules out a stall.
        self.sources.fetch_add(1, Ordering::Relaxed);
    }

    /// How many sources there are. A hint.
    pub(crate) fn sources(&self) -> usize {
        self.sources.load(Ordering::Relaxed)
    }

    /// Ends `count` sources. Their items were injected before.
    pub(crate) fn end_sources(&self, count: usize, has_work: impl Fn() -> bool) {
        // Release pairs with the acquire of `tell_stall`.
        if self.sources.fetch_sub(count, Ordering::AcqRel) == count {
            self.announce_stall(lock(&self.crew), has_work);
        }
    }

    /// A bound worker is idle, and no longer a source. Its items were injected before.
    pub(crate) fn end_bound(&self, has_work: impl Fn() -> bool) {
        // Relaxed: the end of the source releases it.
        self.has_bound_run.store(true, Ordering::Relaxed);
        // Release: as in `end_sources`. The remaining sources may be replaced workers that no longer count.
        self.sources.fetch_sub(1, Ordering::AcqRel);
        self.announce_stall(lock(&self.crew), has_work);
    }

    /// Wakes a worker with the verdict of a stall, if there is one that was not told.
    fn announce_stall(&self, mut crew: MutexGuard<'_, Crew>, has_work: impl Fn() -> bool) {
        let told = self.tell_stall(&mut crew, has_work);
        drop(crew);
        self.notify(told);
    }

    /// Gives a worker the verdict of a stall, if there is one that was not told.
    #[must_use]
    fn tell_stall(&self, crew: &mut Crew, has_work: impl Fn() -> bool) -> Option<WorkerId> {
        let all_parked = crew.present > 0 && crew.parked.len() == crew.present;
        if !all_parked || self.stopped.load(Ordering::Relaxed) {
            return None;
        }
        let ignored = if crew.is_ending { crew.replaced } else { 0 };
        if self.sources.load(Ordering::Acquire) > ignored || has_work() {
            return None;
        }
        if self.has_bound_run.swap(false, Ordering::Relaxed) {
            crew.stall_told = false;
        }
        if crew.stall_told {
            return None;
        }
        crew.stall_told = true;
        // The embedder waits for the first worker.
        let first = crew.parked.iter().copied().min_by_key(|id| id.0)?;
        self.give_verdict_to(crew, first, Verdict::Stall);
        Some(first)
    }

    /// Makes a worker look for items: wakes it if it is parked; otherwise, its next `park` returns at once.
    pub(crate) fn summon(&self, id: WorkerId) {
        let mut crew = lock(&self.crew);
        if crew.verdicts[id.0].is_none() {
            self.give_verdict_to(&mut crew, id, Verdict::Search { has_token: false });
        }
        drop(crew);
        self.notify(Some(id));
    }

    /// Takes the worker that parked last off the list. The caller has to notify it, best without the lock, which the
    /// worker takes as soon as it wakes.
    #[must_use]
    fn give_verdict(&self, crew: &mut Crew, verdict: Verdict) -> WorkerId {
        let id = *crew.parked.last().expect("the caller has seen a parked worker");
        self.give_verdict_to(crew, id, verdict);
        id
    }

    /// Takes a worker off the list. The caller has to notify it as well.
    fn give_verdict_to(&self, crew: &mut Crew, id: WorkerId, verdict: Verdict) {
        crew.parked.retain(|parked| *parked != id);
        crew.verdicts[id.0] = Some(verdict);
        self.publish(crew);
    }

    fn notify(&self, woken: Option<WorkerId>) {
        if let Some(id) = woken {
            self.verdict_given[id.0].notify_one();
        }
    }

    fn await_verdict(
        &self,
        mut crew: MutexGuard<'_, Crew>,
        id: WorkerId,
        timeout: Option<Duration>,
    ) -> Verdict {
        loop {
            if let Some(verdict) = crew.verdicts[id.0].take() {
                return verdict;
            }
            let is_surplus = crew.present > self.places && id != WorkerId::FIRST;
            let given = &self.verdict_given[id.0];
            let Some(timeout) = (if is_surplus { Some(self.kept) } else { timeout }) else {
                crew.patient.push(id);
                crew = given.wait(crew).unwrap_or_else(|poison| poison.into_inner());
                crew.patient.retain(|patient| *patient != id);
                continue;
            };
            let waited = given.wait_timeout(crew, timeout);
            let (woken, result) = waited.unwrap_or_else(|poison| poison.into_inner());
            crew = woken;
            if result.timed_out() && crew.verdicts[id.0].is_none() {
                self.unpark(crew, id);
                return if is_surplus { Verdict::Surplus } else { Verdict::TimedOut };
            }
        }
    }

    /// Takes a worker without a verdict off the list.
    fn unpark(&self, mut crew: MutexGuard<'_, Crew>, id: WorkerId) {
        crew.parked.retain(|parked| *parked != id);
        self.publish(&crew);
    }

    fn ask_for_worker(&self, crew: &mut Crew) -> Wake {
        if !self.starts || !crew.has_number() || crew.is_starting {
            return Wake::AllBusy;
        }
        crew.is_starting = true;
        self.publish(crew);
        Wake::Start
    }

    /// Updates the copies for readers without the lock.
    fn publish(&self, crew: &Crew) {
        let may_start = crew.joined > 0 && crew.has_number() && !crew.is_starting;
        let may_start = may_start && self.starts && crew.present < self.places;
        let free = self.places.saturating_sub(crew.active());
        let idle = free.min(crew.parked.len() + usize::from(may_start));
        // Relaxed: the fences of the protocol order these stores where that matters.
        self.idle.store(idle, Ordering::Relaxed);
        self.active.store(crew.active(), Ordering::Relaxed);
        // Release: pairs with the load in `joined`.
        self.joined.store(crew.joined, Ordering::Release);
    }
}

impl Crew {
    /// How many workers are present and not parked.
    fn active(&self) -> usize {
        self.present - self.parked.len()
    }

    /// Whether one more thread may join.
    fn has_number(&self) -> bool {
        !self.vacant.is_empty() || self.joined < self.verdicts.len()
    }
}

/// States that tests wait for.
#[cfg(all(test, not(feature = "loom")))]
impl Parking {
    /// How many workers have joined, and have neither left nor been replaced.
    pub(crate) fn present(&self) -> usize {
        lock(&self.crew).present
    }
}
