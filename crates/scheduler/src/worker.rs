//! A worker: a native thread's own part of the scheduler.
//!
//! It has a *next slot* for the item that was made ready last, a FIFO *queue* that others may steal
//! from, and a few numbers. The next slot is the worker's alone, an ordinary variable: two items that
//! make each other ready cost two moves and a relaxed store of progress per switch. Nobody can steal
//! from it; if its item waits for long, the monitor has the worker move it to the queue.
//!
//! An item whose slice has ended waits *behind*, in a private queue of the worker. The worker takes one of these items when
//! it has nothing else, and after each look of the monitor. So an item that yields or talks before its slice ends does
//! not wait for a whole slice of each item that computes, and items that compute keep their share. If another worker
//! is idle, the item goes into the queue instead, where it can be stolen.
//!
//! Invariant: if an item runs on this worker and another waits, or the item is outside, the worker has not
//! excused the monitor (see `watch.rs`).

use std::collections::VecDeque;

use crossbeam_deque::{Steal, Worker as Queue};

use crate::inbox::Inbox;
use crate::outside::Return;
use crate::parking::{Parker, Verdict};
use crate::policies::INJECTOR_INTERVAL;
use crate::search::SearchRight;
use crate::seeded::{Chosen, Seeded};
use crate::sync::Ordering;
use crate::watch::{Progress, Request};
use crate::{Scheduler, WorkerId};

/// How many items in a row come from the next slot while others are in the queue. A pair that talks
/// gets a good deal of its talk done while its data are in the cache; the others wait for some
/// microseconds.
const NEXT_IN_A_ROW: u32 = 16;

/// With how many items in the queue a push wakes another worker. Below, a program of few items that
/// talk to each other would have them carried to and fro between caches, at a system call each;
/// if they are coarse, the monitor notices soon.
const CROWDED_QUEUE: usize = 8;

/// A native thread that runs items. Made by [`Scheduler::join`].
///
/// Dropping it makes the thread an ordinary one again. What it had in its queue is injected.
///
/// One that is bound has neither queue nor next slot (`bound.rs`).
pub struct Worker<T: Copy + Send + 'static, P: Send + 'static> {
    pub(crate) scheduler: &'static Scheduler<T, P>,
    pub(crate) id: WorkerId,
    next: Option<T>,
    pub(crate) queue: Queue<T>,
    /// Items that wait behind, since their slices have ended.
    behind: VecDeque<T>,
    /// During which look of the monitor a slice has ended last.
    slice_ended: u64,
    /// Whether the slice of the item that runs has ended: it is the one to be pushed next.
    is_over: bool,
    /// How many items were begun. It is the number of the one that runs.
    pub(crate) count: u64,
    /// Whether an item runs: from its `try_next` to the following one.
    pub(crate) is_running: bool,
    /// Whether the monitor is excused. The same as in the watch.
    is_excused: bool,
    /// How many items may yet be taken from the next slot before the queue gets its turn.
    next_budget: u32,
    /// With which count the injector is looked at first.
    injector_due: u64,
    /// During which look of the monitor this worker woke another.
    woke_during: Option<u64>,
    /// The count when it parked last.
    parked_at: u64,
    pub(crate) search_right: SearchRight,
    /// Whether what it makes ready waits in its own slot and queue: it is not bound, there is no seed, and the
    /// policy has no other place for that.
    is_ordinary: bool,
    /// What only it may run, if it is bound.
    pub(crate) inbox: Option<&'static Inbox<T>>,
    /// In a seeded run, what decides, if this worker has it.
    pub(crate) seeded: Option<Box<Seeded<T>>>,
    /// In a seeded run, the item that a bound worker is to run.
    pub(crate) relayed: Option<T>,
    /// In a seeded run, who is to get the baton, and the item for a bound worker.
    passed: Option<(WorkerId, Option<T>)>,
    /// In a seeded run, whether the item is outside, for which the baton was laid down.
    pub(crate) has_laid: bool,
}

/// Why [`Worker::park`] returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parked {
    /// There may be work.
    Woken,
    /// The scheduler was stopped.
    Stopped,
    /// All workers are parked, nothing is ready, and nothing is expected: the program is deadlocked, or
    /// finished. One worker is told, once; it may inject or push something, stop, or park again.
    Stalled,
    /// There are more threads than are needed, and this one had nothing to do for long: it should end.
    Surplus,
}

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    pub(crate) fn new(
        scheduler: &'static Scheduler<T, P>,
        id: WorkerId,
        queue: Queue<T>,
        seeded: Option<Box<Seeded<T>>>,
    ) -> Worker<T, P> {
        // The number of a worker that has left is used again, and the monitor remembers its last item.
        let count = scheduler.watch(id).progress().count;
        Worker {
            scheduler,
            id,
            next: None,
            queue,
            behind: VecDeque::new(),
            slice_ended: 0,
            is_over: false,
            count,
            is_running: false,
            is_excused: true,
            next_budget: NEXT_IN_A_ROW,
            injector_due: count + INJECTOR_INTERVAL,
            woke_during: None,
            parked_at: count,
            search_right: SearchRight::new(id),
            is_ordinary: !scheduler.is_seeded() && scheduler.pool.is_none(),
            inbox: None,
            seeded,
            relayed: None,
            passed: None,
            has_laid: false,
        }
    }

    pub(crate) fn new_bound(
        scheduler: &'static Scheduler<T, P>,
        id: WorkerId,
        inbox: &'static Inbox<T>,
    ) -> Worker<T, P> {
        let mut worker = Worker::new(scheduler, id, Queue::new_fifo(), None);
        worker.is_ordinary = false;
        worker.inbox = Some(inbox);
        // Whether the monitor is excused is for others to say, too: it does not rely on its own field.
        worker.is_excused = false;
        worker
    }

    /// Its number.
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// Its scheduler.
    pub fn scheduler(&self) -> &'static Scheduler<T, P> {
        self.scheduler
    }

    /// Makes an item ready: it comes to the end of this worker's queue.
    #[inline]
    pub fn push(&mut self, item: T) {
        if !self.is_ordinary {
            return self.push_elsewhere(item, false);
        }
        if self.is_over {
            return self.push_behind(item);
        }
        self.enqueue(item);
        self.recall_if_waiting();
    }

    /// Makes an item ready: it runs next on this worker, usually. The one for which that was said before
    /// comes to the queue.
    #[inline]
    pub fn push_next(&mut self, item: T) {
        if !self.is_ordinary {
            return self.push_elsewhere(item, true);
        }
        if let Some(displaced) = self.next.replace(item) {
            self.enqueue(displaced);
        }
        self.publish();
        self.recall_if_waiting();
    }

    /// Makes the item ready whose slice has ended.
    #[cold]
    fn push_behind(&mut self, item: T) {
        self.is_over = false;
        if self.scheduler.parking.has_idle() {
            return self.push(item);
        }
        self.behind.push_back(item);
        self.slice_ended = self.scheduler.looks();
        self.publish();
        self.recall_if_waiting();
    }

    #[cold]
    fn push_elsewhere(&mut self, item: T, is_next: bool) {
        match &mut self.seeded {
            Some(seeded) if is_next => return seeded.push_next(item),
            Some(seeded) => return seeded.push(item),
            None => {}
        }
        match self.pool() {
            None => self.scheduler.inject(item),
            Some(pool) => self.push_to(pool, item),
        }
    }

    /// The item to run now. The one that ran has ended, waits for something, or was pushed again.
    ///
    /// `None` says that there is nothing for this worker: it should [park](Worker::park).
    #[inline]
    pub fn try_next(&mut self) -> Option<T> {
        if self.next_budget != 0
            && let Some(item) = self.next.take()
        {
            self.next_budget -= 1;
            return Some(self.begin(item));
        }
        self.next_in_turn()
    }

    /// Blocks until there may be work. Returns at once if there is something to run.
    pub fn park(&mut self) -> Parked {
        if let Some(inbox) = self.inbox {
            return self.park_bound(inbox);
        }
        if let Some((to, item)) = self.passed.take() {
            return self.pass_baton(to, item);
        }
        if self.scheduler.parking.is_crowded() {
            self.hand_over();
        } else if self.has_own() && !self.scheduler.is_stopped() {
            return Parked::Woken;
        }
        self.give_up_search();
        self.excuse();
        let has_run = self.count != self.parked_at;
        self.parked_at = self.count;
        // With a seed, real time stands in for virtual time while something is outside.
        let deadline = self.seeded.as_ref().and_then(|_| self.scheduler.timers.next_deadline());
        let timeout = deadline.map(|deadline| deadline.saturating_sub(self.scheduler.clock.now()));
        let parker = Parker { id: self.id, has_run, timeout };
        match self.scheduler.parking.park(parker, || self.scheduler.is_worth_a_look(self.id)) {
            Verdict::Stop => return Parked::Stopped,
            Verdict::Stall => return Parked::Stalled,
            Verdict::Surplus => return Parked::Surplus,
            Verdict::TimedOut => self.scheduler.clock.advance_to(deadline.unwrap_or_default()),
            Verdict::Search { has_token } => self.search_right.grant(has_token),
        }
        Parked::Woken
    }

    /// Whether there is anything for this worker to run, beside what runs.
    pub fn has_waiting(&self) -> bool {
        self.has_own() || self.inbox.is_none() && self.scheduler.has_injected()
    }

    /// Whether what runs should make place, asked in the slow path of a poll. If so, the runtime pushes
    /// it and asks for the next.
    ///
    /// With a seed, the generator says so; then it should be asked in every poll.
    pub fn should_preempt(&mut self) -> bool {
        if self.scheduler.is_stopped() {
            return true;
        }
        if let Some(seeded) = &mut self.seeded {
            return seeded.should_preempt(self.scheduler);
        }
        match self.scheduler.watch(self.id).request(self.count) {
            Request::None => false,
            Request::Share | Request::Preempt if !self.has_waiting() => {
                self.excuse();
                false
            }
            Request::Preempt => {
                self.is_over = self.is_ordinary;
                true
            }
            Request::Share => {
                self.share();
                false
            }
        }
    }

    /// Gives everything that waits here to the other workers. For an item that will not poll for long,
    /// for it blocks or is in foreign code: what waits behind it would wait as long.
    ///
    /// What waits for a bound worker waits on.
    pub fn hand_over(&mut self) {
        if self.inbox.is_some() || self.scheduler.is_seeded() {
            return;
        }
        let has_own = self.has_own();
        self.make_public();
        std::iter::from_fn(|| self.queue.pop()).for_each(|item| self.scheduler.injector.push(item));
        self.pool().into_iter().for_each(|pool| pool.release(self.scheduler, self.id));
        self.publish();
        self.excuse();
        if has_own {
            self.scheduler.wake();
        }
    }

    /// The item that runs is about to block, or to run foreign code; until [`Worker::come_back`] it
    /// neither polls nor calls the scheduler. If that takes long, the runtime is told by
    /// [`Hooks::replaced`](crate::Hooks::replaced).
    ///
    /// With a seed, nobody takes over unless somebody [relieves](Scheduler::relieve_outside) the worker.
    #[inline]
    pub fn go_outside(&mut self) {
        if !self.is_ordinary && self.scheduler.is_seeded() {
            return self.lay_baton_down();
        }
        if self.has_private() {
            self.make_public();
            self.publish();
        }
        let watch = self.scheduler.watch(self.id);
        watch.place.leave();
        if self.is_excused || self.inbox.is_some() && watch.is_excused() {
            self.recall();
        }
    }

    /// As [`Worker::go_outside`], for an item that will be there for long: another worker takes this one's
    /// place at once, unless it is bound.
    pub fn go_outside_for_long(&mut self) {
        if self.seeded.is_some() {
            return;
        }
        self.hand_over();
        let scheduler = self.scheduler;
        let watch = scheduler.watch(self.id);
        watch.place.leave_for_long();
        if self.inbox.is_some() {
            // What waits for it waits on, so there is nothing to watch.
            watch.excuse();
            return scheduler.parking.replace_bound(|| scheduler.has_injected());
        }
        scheduler.parking.replace(|| scheduler.has_injected());
        if scheduler.has_injected() {
            scheduler.wake();
        }
    }

    /// The item that runs is as others again.
    #[inline]
    pub fn come_back(&mut self) -> Return {
        if !self.is_ordinary && self.scheduler.is_seeded() {
            return self.take_baton_up();
        }
        if self.scheduler.watch(self.id).place.try_return() {
            return Return::Undisturbed;
        }
        self.come_back_replaced()
    }

    #[cold]
    fn come_back_replaced(&mut self) -> Return {
        let watch = self.scheduler.watch(self.id);
        while !watch.place.is_replaced() {
            std::thread::yield_now();
        }
        watch.place.return_replaced();
        // The monitor has excused itself.
        if self.inbox.is_some() {
            self.scheduler.parking.come_back_bound();
        } else {
            self.scheduler.parking.come_back(|| self.scheduler.has_injected());
            self.is_excused = true;
        }
        if self.has_waiting() {
            self.recall();
        }
        Return::Replaced
    }

    fn next_in_turn(&mut self) -> Option<T> {
        self.next_budget = NEXT_IN_A_ROW;
        self.is_running = false;
        self.is_over = false;
        if self.scheduler.is_stopped() {
            return None;
        }
        if let Some(inbox) = self.inbox {
            return self.next_bound(inbox);
        }
        if !self.is_ordinary {
            return self.next_otherwise();
        }
        if self.scheduler.parking.is_crowded() {
            self.publish();
            return None;
        }
        let found = self
            .injected_in_turn()
            .or_else(|| self.behind_in_turn())
            .or_else(|| self.queue.pop())
            .or_else(|| self.next.take())
            .or_else(|| self.behind.pop_front())
            .or_else(|| self.next_elsewhere());
        match found {
            Some(item) => Some(self.begin(item)),
            None => {
                self.publish();
                None
            }
        }
    }

    /// Whether an item waits where no other worker can steal it.
    #[inline]
    fn has_private(&self) -> bool {
        self.next.is_some() || !self.behind.is_empty()
    }

    /// Puts the next slot's item, and those that wait behind, into the queue, where they can be stolen.
    fn make_public(&mut self) {
        self.next
            .take()
            .into_iter()
            .chain(self.behind.drain(..))
            .for_each(|item| self.queue.push(item));
    }

    /// Lets others steal what was to run next here.
    fn share(&mut self) {
        self.make_public();
        self.publish();
        self.scheduler.wake();
    }

    #[cold]
    fn next_otherwise(&mut self) -> Option<T> {
        match self.pool() {
            Some(pool) => self.next_from(pool),
            None => self.next_by_decision(),
        }
    }

    fn next_by_decision(&mut self) -> Option<T> {
        if self.passed.is_some() {
            return None;
        }
        if let Some(holder) = self.next_holder() {
            self.passed = Some((holder, None));
            return None;
        }
        let Chosen { item, bound } = self.seeded.as_mut()?.next(self.scheduler)?;
        if let Some(bound) = bound {
            self.passed = Some((bound, Some(item)));
            return None;
        }
        self.count += 1;
        Some(item)
    }

    /// An item whose slice has ended, if the monitor has looked since the last slice ended.
    #[inline]
    fn behind_in_turn(&mut self) -> Option<T> {
        match self.behind.is_empty() || self.scheduler.looks() == self.slice_ended {
            true => None,
            false => self.behind.pop_front(),
        }
    }

    /// An item from the injector, if it was not looked at for long.
    fn injected_in_turn(&mut self) -> Option<T> {
        if self.count < self.injector_due {
            return None;
        }
        self.injector_due = self.count + INJECTOR_INTERVAL;
        loop {
            match self.scheduler.injector.steal() {
                Steal::Success(item) => return Some(item),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    /// An item is taken, and will run.
    #[inline]
    pub(crate) fn begin(&mut self, item: T) -> T {
        self.count += 1;
        self.is_running = true;
        self.publish();
        if self.is_excused {
            self.begin_unwatched();
        }
        item
    }

    #[inline]
    fn enqueue(&mut self, item: T) {
        self.queue.push(item);
        if self.scheduler.parking.has_idle() {
            self.get_help();
        }
    }

    /// Wakes another worker for what waits in the queue, if that is coarse; or if it is much, but only once between
    /// two looks of the monitor, since waking takes longer than eight small items do.
    #[inline]
    fn get_help(&mut self) {
        // Relaxed: a hint.
        if self.scheduler.is_coarse.load(Ordering::Relaxed) {
            return self.scheduler.wake();
        }
        let look = Some(self.scheduler.looks());
        if self.queue.len() > CROWDED_QUEUE && self.woke_during != look {
            self.woke_during = look;
            self.scheduler.wake();
        }
    }

    #[inline]
    pub(crate) fn publish(&self) {
        let has_private = self.has_private();
        let progress = Progress { count: self.count, runs: self.is_running, has_private };
        self.scheduler.watch(self.id).set_progress(progress);
    }

    /// Something waits now. If an item runs, the monitor has to watch it.
    #[inline]
    pub(crate) fn recall_if_waiting(&mut self) {
        if self.is_excused && self.is_running {
            self.recall();
        }
    }

    /// An item begins. If others wait behind it, the monitor has to watch it.
    #[cold]
    fn begin_unwatched(&mut self) {
        // Woken to search, and found without searching.
        self.conclude_search();
        if self.has_waiting() {
            self.recall();
        }
    }

    #[cold]
    fn recall(&mut self) {
        self.is_excused = false;
        self.scheduler.watch(self.id).withdraw_excuse();
        if self.inbox.is_some() {
            self.scheduler.call_monitor();
        } else {
            self.scheduler.recall_monitor();
        }
    }

    /// Nothing waits: the monitor need not watch this worker.
    pub(crate) fn excuse(&mut self) {
        let watch = self.scheduler.watch(self.id);
        if let Some(inbox) = self.inbox {
            inbox.excuse(|| watch.excuse());
        } else if !self.is_excused {
            self.is_excused = true;
            watch.excuse();
        }
    }

    /// Whether anything waits here.
    pub(crate) fn has_own(&self) -> bool {
        match (&self.seeded, self.inbox) {
            (Some(seeded), _) => seeded.has_waiting() || self.passed.is_some(),
            (None, Some(inbox)) => inbox.len() > 0,
            (None, None) => {
                let pooled = || self.pool().is_some_and(|pool| pool.waiting(self.id) > 0);
                self.has_private() || !self.queue.is_empty() || pooled()
            }
        }
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Drop for Worker<T, P> {
    fn drop(&mut self) {
        self.is_running = false;
        self.publish();
        if self.inbox.is_some() {
            return self.leave_bound();
        }
        self.give_up_search();
        let seeded = self.seeded.take().map_or_else(Vec::new, |seeded| seeded.into_items());
        self.make_public();
        let queued = std::iter::from_fn(|| self.queue.pop());
        let passed = self.passed.take().and_then(|(_, item)| item);
        for item in queued.chain(seeded).chain(passed) {
            self.scheduler.injector.push(item);
        }
        self.pool().into_iter().for_each(|pool| pool.release(self.scheduler, self.id));
        self.publish();
        self.excuse();
        let scheduler = self.scheduler;
        let queue = std::mem::replace(&mut self.queue, Queue::new_fifo());
        scheduler.keep_queue(self.id, queue);
        let has_run = self.count != self.parked_at;
        scheduler.parking.leave(self.id, has_run, || scheduler.has_injected());
        if scheduler.has_injected() {
            scheduler.wake();
        }
    }
}
