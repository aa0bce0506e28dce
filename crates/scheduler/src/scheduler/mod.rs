//! The scheduler: the state that all workers share. Its workers and the monitor use it all the time; any other thread
//! makes items ready, adds timers and stops the scheduler through it.
//!
//! A scheduler lives for ever, like its monitor; hence the `'static` in most methods. None of its locks is taken while
//! another one is held.

mod bound;
mod judgement;
mod monitor;
mod seeded;

use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

use crossbeam_deque::{Injector, Steal, Stealer, Worker as Queue};
use crossbeam_utils::CachePadded;

use crate::clock::Clock;
use crate::gate::{Gate, Kick};
use crate::inbox::Inbox;
use crate::parking::{Parking, Wake};
use crate::policies::{self, Host, Pool};
use crate::seeded::{Relay, Succession};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::timers::Timers;
use crate::watch::Watch;
use crate::{Hooks, SchedulerOptions, TimerId, WorkerId};
use bound::Numbers;

/// The group of an item, if it has one.
pub(crate) type GroupOf<T> = fn(T) -> Option<usize>;

/// A scheduler of items `T`, with timers that carry a `P`. Any thread may call any of its methods.
pub struct Scheduler<T, P> {
    pub(crate) options: SchedulerOptions,
    hooks: Box<dyn Hooks<P>>,
    pub(crate) injector: Injector<T>,
    /// The pool of ready items, if the policy has one.
    pub(crate) pool: Option<Box<dyn Pool<T>>>,
    /// One for each number of an ordinary worker; made when the first worker with the number joins.
    stealers: Box<[OnceLock<Stealer<T>>]>,
    /// One for each number of a worker.
    watches: Box<[CachePadded<Watch>]>,
    pub(crate) parking: CachePadded<Parking>,
    pub(crate) gate: Gate,
    pub(crate) timers: Timers<P>,
    pub(crate) clock: Clock,
    /// How often the monitor has looked: the only clock of workers.
    pub(crate) looks: CachePadded<AtomicU64>,
    /// Whether items run for so long that each is worth waking another worker. The monitor writes it.
    is_coarse: CachePadded<AtomicBool>,
    /// The groups of items, if they have any. Written once, so that it shares no line with what changes.
    group_of: CachePadded<OnceLock<GroupOf<T>>>,
    /// The queues of workers that have left, by their numbers.
    queues: std::sync::Mutex<HashMap<WorkerId, Queue<T>>>,
    /// One for each number of a bound worker; made when the number is first reserved.
    inboxes: Box<[OnceLock<Inbox<T>>]>,
    /// With a seed, one for each number of a worker.
    pub(crate) relays: Box<[Relay<T>]>,
    pub(crate) succession: Succession<T>,
    bound: std::sync::Mutex<Numbers>,
    /// A number of a bound worker has become vacant.
    vacated: std::sync::Condvar,
    /// How many numbers of bound workers were ever reserved.
    bound_count: AtomicUsize,
}

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// A scheduler without workers. Starts no thread.
    pub fn new(options: SchedulerOptions, hooks: impl Hooks<P> + 'static) -> Scheduler<T, P> {
        let is_seeded = options.seed.is_some();
        let places = options.places();
        let threads = options.threads.max(places);
        let (bound, kept) = (options.bound, options.kept);
        let pool = policies::pool(&options, threads, places);
        let relays = if is_seeded { threads + bound } else { 0 };
        Scheduler {
            options,
            hooks: Box::new(hooks),
            injector: Injector::new(),
            pool,
            stealers: (0..threads).map(|_| OnceLock::new()).collect(),
            watches: (0..threads + bound).map(|_| CachePadded::new(Watch::new())).collect(),
            parking: CachePadded::new(Parking::new(places, threads, kept, !is_seeded)),
            gate: Gate::new(),
            timers: Timers::new(),
            clock: if is_seeded { Clock::seeded() } else { Clock::real() },
            looks: CachePadded::new(AtomicU64::new(0)),
            is_coarse: CachePadded::new(AtomicBool::new(false)),
            group_of: CachePadded::new(OnceLock::new()),
            queues: std::sync::Mutex::default(),
            inboxes: (0..bound).map(|_| OnceLock::new()).collect(),
            relays: (0..relays).map(|_| Relay::new()).collect(),
            succession: Succession::new(),
            bound: std::sync::Mutex::default(),
            vacated: std::sync::Condvar::new(),
            bound_count: AtomicUsize::new(0),
        }
    }

    /// Makes an item ready, from any thread. Wakes an idle worker at once, or has one started.
    ///
    /// A worker [pushes](crate::Worker::push) instead, which is cheaper. The program's first item should be pushed,
    /// too: an injection would start a second worker for it.
    pub fn inject(&'static self, item: T) {
        match &self.pool {
            Some(pool) => pool.inject(self, item),
            None => {
                self.injector.push(item);
                self.wake();
            }
        }
    }

    /// From now on, items for which the function answers a number belong to the group with that number; only the first
    /// call has an effect. Under the default policy, each worker shares its time between the groups, and gives half of it
    /// to the other items if these need it. The function is called for an item that the worker is about to run.
    pub fn divide(&self, group_of: fn(T) -> Option<usize>) {
        _ = self.group_of.set(group_of);
    }

    /// The groups of items, if they have any.
    #[inline]
    pub(crate) fn group_of(&self) -> Option<GroupOf<T>> {
        self.group_of.get().copied()
    }

    /// Makes a worker return from [`Worker::park`](crate::Worker::park), now or the next time, so that it looks at
    /// something that the scheduler does not know of.
    pub fn summon(&self, worker: WorkerId) {
        self.parking.summon(worker);
    }

    /// Stops everything: tells workers that park or ask for the next item, wakes parked workers, asks running items to
    /// come to a poll, and ends the monitor.
    pub fn stop(&self) {
        self.parking.stop();
        self.bound_ids().filter_map(|id| self.inbox(id)).for_each(Inbox::stop);
        self.relays.iter().for_each(Relay::stop);
        self.pool.iter().for_each(|pool| pool.stop());
        self.gate.kick_if_started();
        self.worker_ids().for_each(|worker| self.hooks.preempt(worker));
    }

    /// From now on, a scheduler without work is stalled even if items are outside.
    pub fn end_waiting(&self) {
        self.parking.end(|| self.has_injected());
    }

    /// Whether the item that runs on this worker is outside.
    pub fn is_outside(&self, worker: WorkerId) -> bool {
        self.watch(worker).place.is_outside()
    }

    /// Whether [`Scheduler::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.parking.is_stopped()
    }

    /// Adds a timer: [`Hooks::timer_due`] gets `payload` when `delay` has passed. Timers with the same deadline are
    /// delivered in the order of these calls.
    pub fn add_timer(&'static self, delay: Duration, payload: P) -> TimerId {
        self.parking.begin_source();
        let deadline = self.clock.now().saturating_add(delay);
        let added = self.timers.add(deadline, payload);
        if added.is_first && !self.is_seeded() {
            self.start_monitor_if(self.gate.kick());
        }
        added.id
    }

    /// Cancels a timer. `None` if its payload was delivered, or is being delivered.
    pub fn cancel_timer(&self, timer: TimerId) -> Option<P> {
        let payload = self.timers.cancel(timer)?;
        self.end_sources(1);
        Some(payload)
    }

    /// Visits the payloads of all timers, in the order of their deadlines. `visit` must not call the scheduler.
    pub fn for_each_timer(&self, visit: &mut dyn FnMut(&mut P)) {
        self.timers.for_each(visit);
    }

    /// An operation outside (of the system, or a callout) begins, which may inject an item. Until it ends, a scheduler
    /// without work is not stalled.
    pub fn begin_outside(&self) {
        self.parking.begin_source();
    }

    /// An operation has ended that began with [`Scheduler::begin_outside`]. It has injected its items before.
    pub fn end_outside(&self) {
        self.end_sources(1);
    }

    /// Milliseconds since the scheduler was made; virtual ones if there is a seed.
    ///
    /// Reads the clock, which takes some 25 ns: a time that the monitor maintains would stand still while the monitor
    /// sleeps.
    pub fn now(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The time since the scheduler was made; virtual if there is a seed. It never decreases.
    pub fn elapsed(&self) -> Duration {
        self.clock.now()
    }

    /// The seed that makes the decisions, if one does.
    pub fn seed(&self) -> Option<u64> {
        self.options.seed
    }

    /// Whether a seed makes the decisions.
    pub fn is_seeded(&self) -> bool {
        self.options.seed.is_some()
    }

    /// Delivers due timers to the runtime.
    fn deliver_timers(&self, now: Duration) {
        if self.timers.next_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        let mut taken = 0;
        self.hooks.timers_due(&mut || {
            let payload = self.timers.take_due(now);
            taken += usize::from(payload.is_some());
            payload
        });
        self.end_sources(taken);
    }

    /// Wakes a worker, or has one started, to look for items that became visible before.
    pub(crate) fn wake(&'static self) {
        match self.parking.wake() {
            Wake::Searched => {}
            Wake::Start => self.hooks.start_worker(),
            Wake::AllBusy => self.recall_monitor(),
        }
    }

    /// Makes the monitor watch again, if an ordinary worker is active.
    pub(crate) fn recall_monitor(&'static self) {
        // Without active workers, the monitor has nothing to watch: the first worker looks into the injector.
        if self.parking.active() > 0 {
            self.call_monitor();
        }
    }

    /// Makes the monitor watch again, even if only bound workers are active.
    pub(crate) fn call_monitor(&'static self) {
        if !self.is_seeded() {
            self.start_monitor_if(self.gate.recall());
        }
    }

    /// How many items wait for an ordinary worker, except in its next slot and behind.
    fn waiting(&self, id: WorkerId) -> usize {
        let pooled = self.pool.as_ref().map_or(0, |pool| pool.waiting(id));
        self.stealer(id).map_or(0, Stealer::len) + pooled
    }

    /// Whether there are items for a worker that is about to park.
    pub(crate) fn is_worth_a_look(&self, id: WorkerId) -> bool {
        self.has_unpooled() || self.pool.as_ref().is_some_and(|pool| pool.is_worth_a_look(id))
    }

    /// Makes the items that wait for a worker wait for any worker.
    fn release(&'static self, id: WorkerId) {
        self.empty_queue(id);
        self.pool.iter().for_each(|pool| pool.release(self, id));
    }

    /// Moves the items in the queue of a worker into the injector.
    fn empty_queue(&self, id: WorkerId) {
        let Some(stealer) = self.stealer(id) else { return };
        loop {
            match stealer.steal() {
                Steal::Success(item) => self.injector.push(item),
                Steal::Empty => return,
                Steal::Retry => {}
            }
        }
    }

    /// Whether items wait for any worker.
    pub(crate) fn has_injected(&self) -> bool {
        self.has_unpooled() || self.pool.as_ref().is_some_and(|pool| pool.has_shared())
    }

    /// Whether items wait for any worker that are in no pool, or a claim of the baton does.
    fn has_unpooled(&self) -> bool {
        !self.injector.is_empty() || self.succession.is_claimed()
    }

    /// How often the monitor has looked.
    pub(crate) fn looks(&self) -> u64 {
        // Relaxed: it paces workers, and orders nothing.
        self.looks.load(Ordering::Relaxed)
    }

    /// Whether items run for so long that each is worth waking another worker.
    #[inline]
    pub(crate) fn is_coarse(&self) -> bool {
        // Relaxed: a hint.
        self.is_coarse.load(Ordering::Relaxed)
    }

    /// Tells workers whether items run for long. Called by the monitor.
    pub(crate) fn set_coarse(&self, is_coarse: bool) {
        // Relaxed: a hint, in a word of its own.
        self.is_coarse.store(is_coarse, Ordering::Relaxed);
    }

    /// The numbers of ordinary workers that have joined, including some that have left; then those of bound workers.
    fn worker_ids(&self) -> impl Iterator<Item = WorkerId> + use<T, P> {
        (0..self.parking.joined()).map(WorkerId).chain(self.bound_ids())
    }

    /// The words that a worker shares with the monitor.
    #[inline]
    pub(crate) fn watch(&self, id: WorkerId) -> &Watch {
        &self.watches[id.0]
    }

    /// How many numbers of workers there may be, including those of bound workers.
    fn numbers(&self) -> usize {
        self.watches.len()
    }

    /// The thieves' end of a worker's queue; `None` if the worker is bound or has not joined.
    pub(crate) fn stealer(&self, id: WorkerId) -> Option<&Stealer<T>> {
        self.stealers.get(id.0)?.get()
    }

    /// The queue for a worker that joins with this number.
    pub(crate) fn take_queue(&self, id: WorkerId) -> Queue<T> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queues.remove(&id).unwrap_or_else(Queue::new_fifo);
        self.stealers[id.index()].get_or_init(|| queue.stealer());
        queue
    }

    /// Keeps the queue of a worker that leaves, for the next worker with its number.
    pub(crate) fn keep_queue(&self, id: WorkerId, queue: Queue<T>) {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).insert(id, queue);
    }

    fn end_sources(&self, count: usize) {
        if count > 0 {
            self.parking.end_sources(count, || self.has_injected());
        }
    }

    fn start_monitor_if(&'static self, kick: Kick) {
        if kick == Kick::Start {
            let builder = std::thread::Builder::new().name("squall-monitor".to_owned());
            let thread = builder.spawn(|| monitor::run(self));
            if let Err(error) = thread {
                self.hooks.lacks_thread(&error);
            }
        }
    }
}

impl<T: Copy + Send + 'static, P: Send + 'static> Host<T> for Scheduler<T, P> {
    fn injector(&self) -> &Injector<T> {
        &self.injector
    }

    fn joined(&self) -> usize {
        self.parking.joined()
    }

    fn looks(&self) -> u64 {
        Scheduler::looks(self)
    }

    fn wake(&'static self) {
        Scheduler::wake(self);
    }

    fn summon(&self, worker: WorkerId) {
        self.parking.summon(worker);
    }

    fn begin_source(&self) {
        self.parking.begin_source();
    }

    fn end_source(&self) {
        self.end_sources(1);
    }
}
