//! Workers: the native threads that run items, and each one's private part of the scheduler. The runtime drives: a thread
//! joins, asks for the next item, runs it, pushes the items that become ready, and parks when there is no item.
//!
//! A worker has a *next slot* for the item that it made ready last, a short FIFO of its own for the items *near* that, a
//! FIFO *queue* from which other workers may steal, and a few numbers. Slot and near items are ordinary variables of the
//! worker: items that make each other ready cost a few moves and a relaxed store of progress per switch. No other worker
//! can steal them; if they wait for long, or are many while another worker is idle, the worker moves them to the queue, and
//! *shares*: new items go into the queue as well, until no worker searches any more. A searcher comes after some microseconds,
//! in which items that yield would otherwise have gone from the queue to the near ones, all of them. In
//! a coarse program (`scheduler/judgement.rs`) both stay empty: there an idle worker is worth more than a warm cache.
//!
//! An item that has used its slice waits *behind*, in a private queue of the worker. The worker takes one of these items
//! when it has no other item, and one after each look of the monitor. So an item that yields or communicates before its
//! slice ends does not wait for a whole slice of each computing item, and computing items keep their share. If another
//! worker is idle, the item goes into the queue instead, where it can be stolen.
//!
//! Items may belong to groups (`groups.rs`), which wait in private queues as well, while ungrouped items come first.
//!
//! Invariants: if an item runs on this worker and another waits, or the item is outside, the worker has not excused the
//! monitor (see `watch.rs`). The items in the queue became ready before those that are near.
//!
//! `search.rs` looks for items of other workers; `outside.rs` is about calls that block; `pooled.rs`, `bound.rs` and
//! `baton.rs` are the variants of a worker: under another policy, bound to one native thread, and in a seeded run.

mod baton;
mod bound;
mod groups;
mod near;
mod outside;
mod pooled;
mod search;

use std::collections::VecDeque;

use crossbeam_deque::{Steal, Worker as Queue};

use crate::inbox::Inbox;
use crate::parking::{Parker, Verdict};
use crate::policies::INJECTOR_INTERVAL;
use crate::scheduler::GroupOf;
use crate::seeded::Seeded;
use crate::watch::{MOST_PRIVATE, Progress, Request, Watch};
use crate::{Parked, Scheduler, WorkerId};
use groups::Groups;
use near::Near;
use search::SearchRight;

/// How many items in a row come from the next slot while others are in the queue. A communicating pair gets much of its
/// work done while its data are in the cache; the other items wait for some microseconds.
const NEXT_IN_A_ROW: u32 = 16;

/// The same if items are in groups: one in the next slot, which may belong to a group, does not delay others for long.
const NEXT_AMONG_GROUPS: u32 = 1;

/// With how many items in the queue a push wakes another worker. Below, a program of few communicating items would have
/// them carried to and fro between caches, at a system call each; if the items are long, the monitor notices soon.
const CROWDED_QUEUE: usize = 8;

// The near items and the one in the next slot can be counted.
const _: () = assert!(near::PLACES < MOST_PRIVATE);

/// A native thread that runs items. Made by [`Scheduler::join`] and [`Scheduler::join_bound`].
///
/// Dropping it makes the thread an ordinary one again, and injects the items in its queue. A bound worker uses neither
/// queue nor next slot (`bound.rs`).
pub struct Worker<T: Copy + Send + 'static, P: Send + 'static> {
    scheduler: &'static Scheduler<T, P>,
    id: WorkerId,
    /// The words that the worker shares with the monitor.
    watch: &'static Watch,
    next: Option<T>,
    /// Items that are newer than those in the queue.
    near: Near<T>,
    queue: Queue<T>,
    /// Items that have used their slices.
    behind: VecDeque<T>,
    /// Items of groups.
    groups: Groups<T>,
    /// The number of the monitor's look when a slice ended last.
    slice_ended: u64,
    /// Whether the running item has used its slice: it is the next item to be pushed.
    is_over: bool,
    /// How many items were begun; also the number of the running item.
    pub(crate) count: u64,
    /// Whether an item runs: from one `try_next` to the following one.
    is_running: bool,
    /// Whether the monitor is excused. A copy of the word in the watch.
    is_excused: bool,
    /// How many more items the next slot may give before the queue gets its turn.
    next_budget: u32,
    /// The count at which the injector gets its turn.
    injector_due: u64,
    /// The number of the monitor's look when this worker last woke another one.
    woke_during: Option<u64>,
    /// The count when this worker parked last.
    parked_at: u64,
    search_right: SearchRight,
    /// Whether ready items go into this worker's slot and queue: it is not bound, there is no seed, and the policy has
    /// no pool.
    is_ordinary: bool,
    /// Whether ready items go there without a look at their groups: the worker is ordinary, and there are no groups.
    is_plain: bool,
    /// Whether the next slot is in use for each item: the worker is plain, and the program is not coarse.
    uses_slot: bool,
    /// Whether ready items are to be near: the next slot is in use, and the worker does not share.
    uses_near: bool,
    /// The inbox of a bound worker.
    inbox: Option<&'static Inbox<T>>,
    /// In a seeded run, the ready items and the generator, if this worker has the baton.
    seeded: Option<Box<Seeded<T>>>,
    /// In a seeded run, the item that this bound worker is to run.
    relayed: Option<T>,
    /// In a seeded run, the worker that gets the baton next, and the item for it if it is bound.
    passed: Option<(WorkerId, Option<T>)>,
    /// In a seeded run, whether this worker has laid the baton down, since its item is outside.
    has_laid: bool,
}

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// The calling thread becomes a worker. The process's main thread should be the first; the scheduler asks for others
    /// by [`Hooks::start_worker`](crate::Hooks::start_worker).
    ///
    /// # Panics
    ///
    /// If there are as many workers as there may be.
    pub fn join(&'static self) -> Worker<T, P> {
        let id = self.parking.join().expect("a thread joins when it is asked for");
        let queue = self.take_queue(id);
        Worker::new(self, id, queue, self.baton_for(id))
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Worker<T, P> {
    fn new(
        scheduler: &'static Scheduler<T, P>,
        id: WorkerId,
        queue: Queue<T>,
        seeded: Option<Box<Seeded<T>>>,
    ) -> Worker<T, P> {
        // The number may have had another worker before, and the monitor remembers that worker's last item.
        let watch = scheduler.watch(id);
        let count = watch.progress().count;
        let is_ordinary = !scheduler.is_seeded() && scheduler.pool.is_none();
        Worker {
            scheduler,
            id,
            watch,
            next: None,
            near: Near::new(),
            queue,
            behind: VecDeque::new(),
            groups: Groups::new(),
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
            is_ordinary,
            is_plain: is_ordinary,
            uses_slot: is_ordinary,
            uses_near: is_ordinary,
            inbox: None,
            seeded,
            relayed: None,
            passed: None,
            has_laid: false,
        }
    }

    /// The worker's number.
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// The worker's scheduler.
    pub fn scheduler(&self) -> &'static Scheduler<T, P> {
        self.scheduler
    }

    /// Makes an item ready: puts it at the end of this worker's queue.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if !self.is_plain {
            return self.push_elsewhere(item, false);
        }
        if self.is_over {
            return self.push_behind(item);
        }
        self.enqueue(item);
        self.recall_if_waiting();
    }

    /// Makes an item ready that should run next on this worker. The item that was in the next slot goes into the queue. In
    /// a coarse program, the new item goes into the queue as well.
    #[inline(always)]
    pub fn push_next(&mut self, item: T) {
        if !self.uses_slot {
            return self.push_elsewhere(item, true);
        }
        if let Some(displaced) = self.next.replace(item) {
            self.enqueue(displaced);
        }
        self.publish();
        self.recall_if_waiting();
    }

    /// Makes the item ready that has used its slice.
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

    /// Makes an item ready that goes into neither slot nor queue, or, in a coarse program, the next item; or an item that
    /// may have a group.
    #[cold]
    fn push_elsewhere(&mut self, item: T, is_next: bool) {
        if self.is_ordinary {
            return self.push_by_group(item, is_next);
        }
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

    /// Makes an item ready that may have a group; in a coarse program, also one that has none.
    fn push_by_group(&mut self, item: T, is_next: bool) {
        let has_idle = self.scheduler.parking.has_idle();
        let group = self.scheduler.group_of().and_then(|group_of| group_of(item));
        let is_over = !is_next && std::mem::take(&mut self.is_over);
        match group {
            Some(group) if !has_idle => {
                self.groups.put(group, item);
                self.publish();
            }
            None if is_next && !self.scheduler.is_coarse() => {
                if let Some(displaced) = self.next.replace(item) {
                    self.enqueue(displaced);
                }
                self.publish();
            }
            None if is_over => return self.push_behind(item),
            _ => self.enqueue(item),
        }
        self.recall_if_waiting();
    }

    /// The item to run now. The item that ran before has ended, waits for an event, or was pushed again.
    ///
    /// `None` if there is no item for this worker: it should [park](Worker::park).
    #[inline]
    pub fn try_next(&mut self) -> Option<T> {
        match self.take_next() {
            Some(item) => Some(self.begin(item)),
            None => self.next_in_turn(),
        }
    }

    /// The item in the next slot, unless the others have their turn.
    #[inline(always)]
    fn take_next(&mut self) -> Option<T> {
        if self.next_budget == 0 {
            return None;
        }
        let item = self.next.take()?;
        self.next_budget -= 1;
        Some(item)
    }

    /// As [`Worker::try_next`], if the item is in the next slot or near. `None` says nothing about other items.
    #[inline(always)]
    pub fn try_near(&mut self) -> Option<T> {
        if !self.has_only_near() {
            return None;
        }
        let item = match self.take_next() {
            Some(item) => item,
            None => {
                let item = self.near.take()?;
                self.next_budget = NEXT_IN_A_ROW;
                item
            }
        };
        self.is_over = false;
        // There are no items of groups where the slot is in use.
        let private = self.near.len() + usize::from(self.next.is_some());
        Some(self.begin_before(item, private))
    }

    /// Whether an item that is near comes first in turn. Now and then the answer is no, so that the worker looks around.
    #[inline(always)]
    fn has_only_near(&self) -> bool {
        self.uses_slot
            && self.count < self.injector_due
            && self.behind.is_empty()
            && self.queue.is_empty()
    }

    /// Blocks until there may be work. Returns at once if an item waits here.
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
        // With a seed, real time stands in for virtual time while an operation outside is under way.
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

    /// Whether an item waits that this worker could run.
    pub fn has_waiting(&self) -> bool {
        self.has_own() || self.inbox.is_none() && self.scheduler.has_injected()
    }

    /// Whether the running item should give way; the runtime asks in the slow path of a poll. If so, the runtime pushes
    /// the item and asks for the next one.
    ///
    /// With a seed, the generator decides, and the runtime should ask in every poll.
    pub fn should_preempt(&mut self) -> bool {
        if self.scheduler.is_stopped() {
            return true;
        }
        if let Some(seeded) = &mut self.seeded {
            return self.scheduler.preempts(seeded);
        }
        match self.watch.request(self.count) {
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

    #[inline(never)]
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
        let found = match self.scheduler.group_of() {
            Some(group_of) => self.next_among_groups(group_of),
            None => self.own_in_turn().or_else(|| self.next_elsewhere()),
        };
        match found {
            Some(item) => Some(self.begin(item)),
            None => {
                self.publish();
                None
            }
        }
    }

    /// The next item that waits here, except those of groups that were put aside.
    #[inline]
    fn own_in_turn(&mut self) -> Option<T> {
        self.injected_in_turn()
            .or_else(|| self.behind_in_turn())
            .or_else(|| self.queue.pop())
            .or_else(|| self.near.take())
            .or_else(|| self.next.take())
            .or_else(|| self.behind.pop_front())
    }

    /// The next item if items may be in groups. Idle workers take what is too much here, so the order matters only
    /// if there is none.
    #[cold]
    fn next_among_groups(&mut self, group_of: GroupOf<T>) -> Option<T> {
        (self.is_plain, self.uses_slot, self.uses_near) = (false, false, false);
        self.next_budget = NEXT_AMONG_GROUPS;
        let look = self.scheduler.looks();
        if self.scheduler.parking.has_idle() {
            let own = self.own_in_turn().or_else(|| self.groups.take(look));
            return own.or_else(|| self.next_elsewhere());
        }
        if self.groups.comes_first(look)
            && let Some(item) = self.groups.take(look)
        {
            return Some(item);
        }
        while let Some(item) = self.own_in_turn().or_else(|| self.one_injected()) {
            match group_of(item) {
                None => return Some(item),
                Some(group) => self.groups.put(group, item),
            }
        }
        self.groups.are_alone();
        let Some(spare) = self.groups.take(look) else { return self.next_elsewhere() };
        self.watch.set_spare(self.count + 1);
        Some(spare)
    }

    /// How many items wait near, in the next slot and behind, where no other worker can steal them; those of groups count
    /// as one, and no more than [`MOST_PRIVATE`] are counted.
    #[inline(always)]
    fn private(&self) -> usize {
        let slotted = usize::from(self.next.is_some()) + usize::from(!self.groups.is_empty());
        (self.near.len() + self.behind.len() + slotted).min(MOST_PRIVATE)
    }

    /// Moves the items that are private into the queue, where they can be stolen.
    fn make_public(&mut self) {
        self.move_near();
        self.next
            .take()
            .into_iter()
            .chain(self.behind.drain(..))
            .chain(self.groups.drain())
            .for_each(|item| self.queue.push(item));
    }

    /// Lets an idle worker steal the items that wait here.
    fn share(&mut self) {
        self.make_public();
        self.publish();
        self.call_searcher();
    }

    /// Wakes another worker for the items in the queue, and shares until it has come.
    fn call_searcher(&mut self) {
        self.uses_near = false;
        self.scheduler.wake();
    }

    #[cold]
    fn next_otherwise(&mut self) -> Option<T> {
        match self.pool() {
            Some(pool) => self.next_from(pool),
            None => self.next_by_decision(),
        }
    }

    /// An item that has used its slice, if the monitor has looked since the last slice ended.
    #[inline]
    fn behind_in_turn(&mut self) -> Option<T> {
        match self.behind.is_empty() || self.scheduler.looks() == self.slice_ended {
            true => None,
            false => self.behind.pop_front(),
        }
    }

    /// An item from the injector, if this worker has not looked there for long.
    fn injected_in_turn(&mut self) -> Option<T> {
        if self.count < self.injector_due {
            return None;
        }
        self.injector_due = self.count + INJECTOR_INTERVAL;
        self.heed_grain();
        self.one_injected()
    }

    /// An item from the injector.
    fn one_injected(&mut self) -> Option<T> {
        loop {
            match self.scheduler.injector.steal() {
                Steal::Success(item) => return Some(item),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    /// Decides by the grain of the program whether the next slot is in use. Called rarely, so that a quick switch reads no
    /// shared word.
    pub(super) fn heed_grain(&mut self) {
        self.uses_slot = self.is_plain && !self.scheduler.is_coarse();
        self.heed_searcher();
    }

    /// Decides whether ready items are to be near, where a searcher would not find them.
    fn heed_searcher(&mut self) {
        self.uses_near = self.uses_slot && !self.scheduler.parking.is_searching();
    }

    /// Begins to run an item.
    #[inline(always)]
    pub(crate) fn begin(&mut self, item: T) -> T {
        self.begin_before(item, self.private())
    }

    /// Begins to run an item, while so many others are private.
    #[inline(always)]
    fn begin_before(&mut self, item: T, private: usize) -> T {
        self.count += 1;
        self.is_running = true;
        self.watch.set_progress(Progress { count: self.count, runs: true, private });
        if self.is_excused {
            self.begin_unwatched();
        }
        item
    }

    /// Appends an item to those that are ready.
    #[inline(always)]
    fn enqueue(&mut self, item: T) {
        if self.uses_near && !self.near.is_full() {
            self.near.append(item);
        } else {
            self.enqueue_publicly(item);
        }
        if self.scheduler.parking.has_idle() {
            self.get_help();
        }
    }

    /// Appends an item to the queue, behind those that are near.
    #[inline(never)]
    fn enqueue_publicly(&mut self, item: T) {
        self.move_near();
        self.queue.push(item);
        self.heed_searcher();
    }

    /// Moves the near items to the queue.
    fn move_near(&mut self) {
        while let Some(item) = self.near.take() {
            self.queue.push(item);
        }
    }

    /// Wakes another worker for the items in the queue, if the program is coarse, or if there are many of them. The latter
    /// happens only once between two looks of the monitor, since waking takes longer than eight short items.
    #[inline(never)]
    fn get_help(&mut self) {
        if self.scheduler.is_coarse() {
            self.move_near();
            return self.scheduler.wake();
        }
        let look = Some(self.scheduler.looks());
        if self.near.len() + self.queue.len() > CROWDED_QUEUE && self.woke_during != look {
            self.woke_during = look;
            self.move_near();
            self.call_searcher();
        }
    }

    /// Writes the worker's progress for the monitor.
    #[inline(always)]
    fn publish(&self) {
        let (count, runs, private) = (self.count, self.is_running, self.private());
        self.watch.set_progress(Progress { count, runs, private });
    }

    /// Recalls the monitor for an item that waits now, if another one runs.
    #[inline(always)]
    fn recall_if_waiting(&mut self) {
        if self.is_excused && self.is_running {
            self.recall();
        }
    }

    /// An item begins while the monitor is excused. If others wait behind it, the monitor has to watch this worker.
    #[cold]
    fn begin_unwatched(&mut self) {
        // The worker was woken to search, and has found an item without a search.
        self.conclude_search();
        if self.has_waiting() {
            self.recall();
        }
    }

    /// Makes the monitor watch this worker.
    #[cold]
    fn recall(&mut self) {
        self.is_excused = false;
        self.watch.withdraw_excuse();
        if self.inbox.is_some() {
            self.scheduler.call_monitor();
        } else {
            self.scheduler.recall_monitor();
        }
    }

    /// Excuses the monitor, since no item waits here.
    fn excuse(&mut self) {
        let watch = self.watch;
        if let Some(inbox) = self.inbox {
            inbox.excuse(|| watch.excuse());
        } else if !self.is_excused {
            self.is_excused = true;
            watch.excuse();
        }
    }

    /// Whether an item waits here.
    pub(crate) fn has_own(&self) -> bool {
        match (&self.seeded, self.inbox) {
            (Some(seeded), _) => seeded.has_waiting() || self.passed.is_some(),
            (None, Some(inbox)) => inbox.len() > 0,
            (None, None) => {
                let pooled = || self.pool().is_some_and(|pool| pool.waiting(self.id) > 0);
                self.private() > 0 || !self.queue.is_empty() || pooled()
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
        self.make_public();
        let queued = std::iter::from_fn(|| self.queue.pop());
        queued.for_each(|item| self.scheduler.injector.push(item));
        self.inject_seeded();
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
