//! Dictated pooling: a *coordinator*, a thread that runs no items, has all that is ready, and hands it out.
//!
//! Workers and the coordinator share no pool. They write to it, and it puts what a worker shall run into that
//! worker's *tray*:
//!
//! ```text
//!    worker, any thread ── ready(item) ──▶ ┐
//!    worker, tray empty ── asks ─────────▶ ├─ mail ─▶ coordinator ── items ─▶ tray of who asked
//!                                          ┘                    └── summons the worker, if it sleeps
//! ```
//!
//! A worker whose tray is empty asks, once, and parks; an answer ends that, now or when it has begun
//! (`Parking::summon`). So no worker waits in any other way than under the other policies, and one that has asked
//! need not look again before it parks: what comes, comes to its tray.
//!
//! # Stall
//!
//! The coordinator is a source (`parking.rs`) from the letter by which it gets an item while it has none to the tray into
//! which it puts the last. The beginning is told under the lock of the mail by who writes, who is a worker that runs
//! something or a source. The end is told after the worker was summoned.
//!
//! # Helping
//!
//! What is in the tray of a worker whose item runs for long waits in vain. The monitor sends it back to the
//! coordinator if another worker is idle, as does a worker that blocks or leaves. A worker takes its question back
//! when it leaves: the coordinator fills only trays of those who ask.
//!
//! Locks are leaves, as all of the scheduler's.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::{Local, Pool};
use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, lock};
use crate::{Scheduler, WorkerId};

#[cfg(all(test, feature = "loom"))]
mod model;

/// How many items a worker gets at a time, at most.
const BATCH: usize = 32;

/// The pool: what workers know of it.
pub(super) struct Dictated<T>(Arc<Office<T>>);

/// What workers and the coordinator share.
struct Office<T> {
    mail: Mutex<Mail<T>>,
    written: Condvar,
    /// How many items are in the mail or with the coordinator. Written under the mail's lock.
    held: AtomicUsize,
    trays: Box<[CachePadded<Tray<T>>]>,
    places: usize,
}

struct Mail<T> {
    letters: VecDeque<Letter<T>>,
    /// Whether the coordinator has nothing to read, and sleeps.
    is_read: bool,
    is_started: bool,
    is_stopped: bool,
}

enum Letter<T> {
    Ready(T),
    Asks(WorkerId),
}

/// What a worker shall run.
struct Tray<T> {
    items: Mutex<VecDeque<T>>,
    /// How many there are. Written under the lock.
    length: AtomicUsize,
    /// Whether the worker waits for the coordinator to put something there. Written under the lock.
    asks: AtomicBool,
}

/// What only the coordinator has.
struct Ledger<T> {
    ready: VecDeque<T>,
    /// Who asked, the first one first; among them some who do not ask any more.
    asking: VecDeque<WorkerId>,
}

/// What the coordinator asks of the scheduler.
trait Staff {
    /// A worker has something in its tray.
    fn summon(&self, worker: WorkerId);

    /// Nobody asks: somebody who is idle shall.
    fn call_for_questions(&self);

    /// The coordinator has nothing any more.
    fn end_source(&self);
}

impl<T: Copy + Send + 'static, P: Send + 'static> Staff for &'static Scheduler<T, P> {
    fn summon(&self, worker: WorkerId) {
        self.parking.summon(worker);
    }

    fn call_for_questions(&self) {
        self.wake();
    }

    fn end_source(&self) {
        self.end_sources(1);
    }
}

impl<T: Copy + Send + 'static> Dictated<T> {
    pub(super) fn new(threads: usize, places: usize) -> Dictated<T> {
        Dictated(Arc::new(Office::new(threads, places)))
    }

    /// Sends an item to the coordinator. The first one starts it.
    fn send<P: Send + 'static>(&self, scheduler: &'static Scheduler<T, P>, item: T) {
        if !self.0.send(item, || scheduler.parking.begin_source()) {
            let office = Arc::clone(&self.0);
            let builder = std::thread::Builder::new().name("squall-coordinator".to_owned());
            let thread = builder.spawn(move || office.coordinate(&scheduler));
            thread.expect("the system has a thread for the coordinator");
        }
    }

    fn tray(&self, worker: WorkerId) -> Option<&Tray<T>> {
        self.0.trays.get(worker.index()).map(|tray| &**tray)
    }
}

impl<T: Copy + Send + 'static> Office<T> {
    fn new(threads: usize, places: usize) -> Office<T> {
        let mail =
            Mail { letters: VecDeque::new(), is_read: false, is_started: false, is_stopped: false };
        Office {
            mail: Mutex::new(mail),
            written: Condvar::new(),
            held: AtomicUsize::new(0),
            trays: (0..threads).map(|_| CachePadded::new(Tray::new())).collect(),
            places,
        }
    }

    /// Sends an item to the coordinator; whether there is one. If it has had none, its time as a source begins.
    fn send(&self, item: T, begin_source: impl FnOnce()) -> bool {
        let mut mail = lock(&self.mail);
        let held = self.held.load(Ordering::Relaxed);
        if held == 0 {
            begin_source();
        }
        // Release: who sees the number may count on the coordinator.
        self.held.store(held + 1, Ordering::Release);
        mail.letters.push_back(Letter::Ready(item));
        let is_started = mem::replace(&mut mail.is_started, true);
        let sleeps = mem::take(&mut mail.is_read);
        drop(mail);
        if sleeps {
            self.written.notify_one();
        }
        is_started
    }

    /// Tells the coordinator that a worker has nothing. It need not wake for that if it has nothing, either.
    fn ask(&self, worker: WorkerId) {
        let mut mail = lock(&self.mail);
        mail.letters.push_back(Letter::Asks(worker));
        let wakes = self.held.load(Ordering::Relaxed) > 0 && mem::take(&mut mail.is_read);
        drop(mail);
        if wakes {
            self.written.notify_one();
        }
    }

    /// The letters that have come, as soon as that matters; `None` if all is over.
    fn read(&self) -> Option<VecDeque<Letter<T>>> {
        let mut mail = lock(&self.mail);
        while !mail.is_stopped {
            let has_item = self.held.load(Ordering::Relaxed) > 0;
            if !mail.letters.is_empty() && has_item {
                return Some(mem::take(&mut mail.letters));
            }
            mail.is_read = true;
            mail = self.written.wait(mail).unwrap_or_else(|poison| poison.into_inner());
        }
        None
    }

    /// The coordinator's thread.
    fn coordinate(&self, staff: &impl Staff) {
        let mut ledger = Ledger { ready: VecDeque::new(), asking: VecDeque::new() };
        while let Some(letters) = self.read() {
            letters.into_iter().for_each(|letter| match letter {
                Letter::Ready(item) => ledger.ready.push_back(item),
                Letter::Asks(worker) => ledger.asking.push_back(worker),
            });
            self.hand_out(staff, &mut ledger);
        }
    }

    /// Hands out what is ready to those who ask. If nobody does, somebody shall.
    fn hand_out(&self, staff: &impl Staff, ledger: &mut Ledger<T>) {
        while !ledger.ready.is_empty() {
            let Some(worker) = ledger.asking.pop_front() else {
                return staff.call_for_questions();
            };
            let share = ledger.ready.len().div_ceil(self.places).min(BATCH);
            if self.trays[worker.index()].fill(&mut ledger.ready, share) {
                staff.summon(worker);
                if self.settle(share) {
                    staff.end_source();
                }
            }
        }
    }

    /// So many items are not the coordinator's any more; whether it has none.
    fn settle(&self, count: usize) -> bool {
        let _mail = lock(&self.mail);
        let held = self.held.load(Ordering::Relaxed) - count;
        self.held.store(held, Ordering::Release);
        held == 0
    }

    fn has_items(&self) -> bool {
        self.held.load(Ordering::Acquire) > 0
    }

    /// Whether a worker that is about to park should look once more. Who has asked is summoned; who has not shall
    /// ask.
    fn is_worth_a_look(&self, worker: WorkerId) -> bool {
        !self.trays[worker.index()].asks.load(Ordering::Relaxed) && self.has_items()
    }

    /// What a worker is to run now. If it has nothing, it has asked.
    fn take(&self, worker: WorkerId) -> Option<T> {
        match self.trays[worker.index()].take() {
            Ok(item) => Some(item),
            Err(is_to_ask) => {
                if is_to_ask {
                    self.ask(worker);
                }
                None
            }
        }
    }

    fn stop(&self) {
        lock(&self.mail).is_stopped = true;
        self.written.notify_one();
    }
}

impl<T> Tray<T> {
    fn new() -> Tray<T> {
        Tray {
            items: Mutex::new(VecDeque::new()),
            length: AtomicUsize::new(0),
            asks: AtomicBool::new(false),
        }
    }

    /// An item, or whether the worker is to ask.
    fn take(&self) -> Result<T, bool> {
        let mut items = lock(&self.items);
        match items.pop_front() {
            Some(item) => {
                self.length.store(items.len(), Ordering::Relaxed);
                Ok(item)
            }
            None => Err(!self.asks.swap(true, Ordering::Relaxed)),
        }
    }

    /// Puts some of these items here, if the worker asks for some; whether it does.
    fn fill(&self, ready: &mut VecDeque<T>, count: usize) -> bool {
        let mut items = lock(&self.items);
        if !self.asks.swap(false, Ordering::Relaxed) {
            return false;
        }
        items.extend(ready.drain(..count));
        self.length.store(items.len(), Ordering::Relaxed);
        true
    }

    /// All items. If the worker leaves, or blocks, it asks no more.
    fn empty(&self, asks_no_more: bool) -> VecDeque<T> {
        let mut items = lock(&self.items);
        if asks_no_more {
            self.asks.store(false, Ordering::Relaxed);
        }
        self.length.store(0, Ordering::Relaxed);
        mem::take(&mut *items)
    }
}

impl<T, P> Pool<T, P> for Dictated<T>
where
    T: Copy + Send + 'static,
    P: Send + 'static,
{
    fn push(&self, scheduler: &'static Scheduler<T, P>, _local: Local<'_, T>, item: T) {
        self.send(scheduler, item);
    }

    fn inject(&self, scheduler: &'static Scheduler<T, P>, item: T) {
        self.send(scheduler, item);
    }

    fn take(&self, _scheduler: &'static Scheduler<T, P>, local: Local<'_, T>) -> Option<T> {
        self.0.take(local.id)
    }

    fn waiting(&self, worker: WorkerId) -> usize {
        // Relaxed: a hint for others. The worker itself looks under the lock before it parks.
        self.tray(worker).map_or(0, |tray| tray.length.load(Ordering::Relaxed))
    }

    fn has_shared(&self) -> bool {
        self.0.has_items()
    }

    fn is_worth_a_look(&self, worker: WorkerId) -> bool {
        self.0.is_worth_a_look(worker)
    }

    fn release(&self, scheduler: &'static Scheduler<T, P>, worker: WorkerId) {
        let items = self.tray(worker).map(|tray| tray.empty(true));
        items.into_iter().flatten().for_each(|item| self.send(scheduler, item));
    }

    fn lets_help(&self) -> bool {
        true
    }

    fn call_help(&self, scheduler: &'static Scheduler<T, P>, worker: WorkerId) {
        let items = self.tray(worker).map(|tray| tray.empty(false));
        items.into_iter().flatten().for_each(|item| self.send(scheduler, item));
    }

    fn stop(&self) {
        self.0.stop();
    }
}
