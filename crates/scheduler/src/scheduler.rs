//! What all workers share, and what any thread may ask for.

use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError};
use std::time::Duration;

use crossbeam_deque::{Injector, Steal, Stealer, Worker as Queue};
use crossbeam_utils::CachePadded;

use crate::bound::Numbers;
use crate::clock::Clock;
use crate::gate::{Gate, Kick};
use crate::inbox::Inbox;
use crate::keeper::Keeper;
use crate::monitor;
use crate::parking::{Parking, Wake};
use crate::policies::Pool;
use crate::relay::Relay;
use crate::seeded::Seeded;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::timers::Timers;
use crate::watch::Watch;
use crate::{Hooks, SchedulerOptions, TimerId, Worker, WorkerId};

/// A scheduler of items `T`, with timers that carry a `P`.
///
/// It is shared by its workers and the monitor for ever, hence the `'static` in most methods. All of
/// them may be called from any thread.
pub struct Scheduler<T, P> {
    pub(crate) options: SchedulerOptions,
    pub(crate) hooks: Box<dyn Hooks<P>>,
    pub(crate) injector: Injector<T>,
    /// Where items wait beside queues and injector, if the policy has such a place.
    pub(crate) pool: Option<Box<dyn Pool<T, P>>>,
    /// One for each thread that there may be, as the watches are; made when the first one with the number
    /// joins.
    pub(crate) stealers: Box<[OnceLock<Stealer<T>>]>,
    watches: Box<[CachePadded<Watch>]>,
    pub(crate) parking: CachePadded<Parking>,
    pub(crate) gate: Gate,
    pub(crate) timers: Timers<P>,
    pub(crate) clock: Clock,
    /// How often the monitor has looked: the only clock of workers.
    pub(crate) looks: CachePadded<AtomicU64>,
    /// Whether items run for long enough to be worth waking another worker for each. Told by the monitor.
    pub(crate) is_coarse: CachePadded<AtomicBool>,
    /// The queues of workers that have left, by their numbers.
    queues: std::sync::Mutex<HashMap<WorkerId, Queue<T>>>,
    /// One for each bound worker that there may be; made when its number is first reserved.
    pub(crate) inboxes: Box<[OnceLock<Inbox<T>>]>,
    /// With a seed, where each worker waits for the baton.
    pub(crate) relays: Box<[Relay<T>]>,
    /// With a seed, who has the baton next.
    pub(crate) keeper: Keeper<T>,
    pub(crate) bound: std::sync::Mutex<Numbers>,
    /// How many numbers of bound workers were ever reserved.
    pub(crate) bound_count: AtomicUsize,
}

impl<T: Copy + Send + 'static, P: Send + 'static> Scheduler<T, P> {
    /// A scheduler without workers. No thread is started.
    pub fn new(options: SchedulerOptions, hooks: impl Hooks<P> + 'static) -> Scheduler<T, P> {
        let is_seeded = options.seed.is_some();
        let workers = if is_seeded { 1 } else { options.policy.places(&options) };
        let threads = options.threads.max(workers);
        let (bound, kept) = (options.bound, options.kept);
        let pool = if is_seeded { None } else { options.policy.pool(threads, workers) };
        let relays = if is_seeded { threads + bound } else { 0 };
        Scheduler {
            options,
            hooks: Box::new(hooks),
            injector: Injector::new(),
            pool,
            stealers: (0..threads).map(|_| OnceLock::new()).collect(),
            watches: (0..threads + bound).map(|_| CachePadded::new(Watch::new())).collect(),
            parking: CachePadded::new(Parking::new(workers, threads, kept, !is_seeded)),
            gate: Gate::new(),
            timers: Timers::new(),
            clock: if is_seeded { Clock::seeded() } else { Clock::real() },
            looks: CachePadded::new(AtomicU64::new(0)),
            is_coarse: CachePadded::new(AtomicBool::new(false)),
            queues: std::sync::Mutex::default(),
            inboxes: (0..bound).map(|_| OnceLock::new()).collect(),
            relays: (0..relays).map(|_| Relay::new()).collect(),
            keeper: Keeper::new(),
            bound: std::sync::Mutex::default(),
            bound_count: AtomicUsize::new(0),
        }
    }

    /// The calling thread becomes a worker. The process's main thread should be the first; the others
    /// are asked for by [`Hooks::start_worker`].
    ///
    /// # Panics
    ///
    /// If there are as many workers as there may be.
    pub fn join(&'static self) -> Worker<T, P> {
        let id = self.parking.join().expect("a thread joins when it is asked for");
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = queues.remove(&id).unwrap_or_else(Queue::new_fifo);
        self.stealers[id.index()].get_or_init(|| queue.stealer());
        Worker::new(self, id, queue, self.baton_for(id))
    }

    /// With a seed, what a new worker decides with: the first one begins, others are started to go on.
    fn baton_for(&self, id: WorkerId) -> Option<Box<Seeded<T>>> {
        match self.options.seed {
            Some(seed) if id == WorkerId(0) => Some(Box::new(Seeded::new(seed))),
            _ => self.keeper.take_kept(),
        }
    }

    /// The queue of a worker that leaves, for the next one with its number.
    pub(crate) fn keep_queue(&self, id: WorkerId, queue: Queue<T>) {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).insert(id, queue);
    }

    /// Makes an item ready, from any thread. An idle worker is woken at once, or another one started.
    ///
    /// A worker [pushes](Worker::push), which is cheaper; so should the first item of all be, for no
    /// second worker to be started for it.
    pub fn inject(&'static self, item: T) {
        match &self.pool {
            Some(pool) => pool.inject(self, item),
            None => {
                self.injector.push(item);
                self.wake();
            }
        }
    }

    /// Makes a worker return from [`Worker::park`](crate::Worker::park), now or the next time, for it
    /// to look at something that the scheduler does not know of.
    pub fn summon(&self, worker: WorkerId) {
        self.parking.summon(worker);
    }

    /// Ends everything: workers that park or ask for the next item are told, parked ones are woken,
    /// running ones are asked to come to a poll, and the monitor ends.
    pub fn stop(&self) {
        self.parking.stop();
        self.bound_ids().filter_map(|id| self.inbox(id)).for_each(Inbox::stop);
        self.relays.iter().for_each(Relay::stop);
        self.pool.iter().for_each(|pool| pool.stop());
        self.gate.kick_if_started();
        self.worker_ids().for_each(|worker| self.hooks.preempt(worker));
    }

    /// Nobody waits any more for what is outside: a scheduler without work is stalled from now on, whoever
    /// has not come back.
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

    /// Has `payload` delivered by [`Hooks::timer_due`] once `delay` has passed. Of timers with the same
    /// deadline, the one made first comes first.
    pub fn add_timer(&'static self, delay: Duration, payload: P) -> TimerId {
        self.parking.begin_source();
        let deadline = self.clock.now().saturating_add(delay);
        let added = self.timers.add(deadline, payload);
        if added.is_first && !self.is_seeded() {
            self.start_monitor_if(self.gate.kick());
        }
        added.id
    }

    /// Takes a timer back. `None` if its payload was delivered, or is being so.
    pub fn cancel_timer(&self, timer: TimerId) -> Option<P> {
        let payload = self.timers.cancel(timer)?;
        self.end_sources(1);
        Some(payload)
    }

    /// Visits the payloads of all timers, in the order in which they will be due. `visit` must not call
    /// the scheduler.
    pub fn for_each_timer(&self, visit: &mut dyn FnMut(&mut P)) {
        self.timers.for_each(visit);
    }

    /// Something outside begins (an operation of the system, a callout) that may inject an item: until
    /// it ends, a scheduler without work is not stalled.
    pub fn begin_outside(&self) {
        self.parking.begin_source();
    }

    /// What began by [`Scheduler::begin_outside`] has ended, and has injected what it was to inject.
    pub fn end_outside(&self) {
        self.end_sources(1);
    }

    /// Milliseconds since the scheduler was made; virtual ones if there is a seed.
    ///
    /// Reads the clock, which takes some 25 ns: a time that the monitor maintains would stand still
    /// while it sleeps.
    pub fn now(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The time since the scheduler was made; a virtual one if there is a seed. It never goes back.
    pub fn elapsed(&self) -> Duration {
        self.clock.now()
    }

    /// Whether a seed takes the decisions.
    pub fn is_seeded(&self) -> bool {
        self.options.seed.is_some()
    }

    /// Gives the runtime what is due.
    pub(crate) fn deliver_timers(&self, now: Duration) {
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

    /// Sees to it that items made visible before are looked for.
    pub(crate) fn wake(&'static self) {
        match self.parking.wake() {
            Wake::Searched => {}
            Wake::Start => self.hooks.start_worker(),
            Wake::AllBusy => self.recall_monitor(),
        }
    }

    /// Makes the monitor watch again.
    pub(crate) fn recall_monitor(&'static self) {
        // Without workers there is nothing to watch: the first one looks at the injector.
        if self.parking.active() > 0 {
            self.call_monitor();
        }
    }

    /// Makes the monitor watch again, even if only bound workers run anything.
    pub(crate) fn call_monitor(&'static self) {
        if !self.is_seeded() {
            self.start_monitor_if(self.gate.recall());
        }
    }

    /// Gives what waits for a worker to all.
    pub(crate) fn release(&'static self, id: WorkerId) {
        self.empty_queue(id);
        self.pool.iter().for_each(|pool| pool.release(self, id));
    }

    /// An item has waited for a busy worker, while another one is idle.
    pub(crate) fn call_help(&'static self, id: WorkerId) {
        match &self.pool {
            Some(pool) => pool.call_help(self, id),
            None => self.wake(),
        }
    }

    /// How many items wait for a worker that is not bound, but in its next slot.
    pub(crate) fn waiting(&self, id: WorkerId) -> usize {
        let pooled = self.pool.as_ref().map_or(0, |pool| pool.waiting(id));
        self.stealer(id).map_or(0, Stealer::len) + pooled
    }

    /// Whether idle workers can help busy ones.
    pub(crate) fn lets_help(&self) -> bool {
        self.pool.as_ref().is_none_or(|pool| pool.lets_help())
    }

    /// Whether there is something for a worker that is about to park.
    pub(crate) fn is_worth_a_look(&self, id: WorkerId) -> bool {
        self.has_unpooled() || self.pool.as_ref().is_some_and(|pool| pool.is_worth_a_look(id))
    }

    /// Gives what is in the queue of a worker to all.
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

    /// Whether items wait for anybody.
    pub(crate) fn has_injected(&self) -> bool {
        self.has_unpooled() || self.pool.as_ref().is_some_and(|pool| pool.has_shared())
    }

    /// Whether something waits for anybody that is in no pool.
    fn has_unpooled(&self) -> bool {
        !self.injector.is_empty() || self.keeper.is_claimed()
    }

    /// How often the monitor has looked.
    pub(crate) fn looks(&self) -> u64 {
        // Relaxed: it paces workers, and orders nothing.
        self.looks.load(Ordering::Relaxed)
    }

    /// The workers that have joined so far, among them some that have left; then the bound ones.
    pub(crate) fn worker_ids(&self) -> impl Iterator<Item = WorkerId> + use<T, P> {
        (0..self.parking.joined()).map(WorkerId).chain(self.bound_ids())
    }

    /// What the monitor and the worker with this number share.
    #[inline]
    pub(crate) fn watch(&self, id: WorkerId) -> &Watch {
        &self.watches[id.0]
    }

    /// How many numbers of workers there may be, with those of bound ones.
    pub(crate) fn numbers(&self) -> usize {
        self.watches.len()
    }

    /// Where to steal from the worker with this number; nowhere if it is bound.
    pub(crate) fn stealer(&self, id: WorkerId) -> Option<&Stealer<T>> {
        self.stealers.get(id.0)?.get()
    }

    pub(crate) fn end_sources(&self, count: usize) {
        if count > 0 {
            self.parking.end_sources(count, || self.has_injected());
        }
    }

    fn start_monitor_if(&'static self, kick: Kick) {
        if kick == Kick::Start {
            let builder = std::thread::Builder::new().name("squall-monitor".to_owned());
            let thread = builder.spawn(|| monitor::run(self));
            thread.expect("the system has a thread for the monitor");
        }
    }
}
