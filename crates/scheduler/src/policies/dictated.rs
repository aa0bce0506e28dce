//! Dictated pooling: a *coordinator*, a thread that runs no items, has all ready items and hands them out to the
//! workers. The policy `dictated` uses this pool.
//!
//! Workers and the coordinator share no pool. Workers write letters to the coordinator, and the coordinator puts each
//! worker's items into that worker's *tray*:
//!
//! ```text
//!    worker, any thread ── ready(item) ──▶ ┐
//!    worker, tray empty ── asks ─────────▶ ├─ mail ─▶ coordinator ── items ─▶ tray of the asking worker
//!                                          ┘                    └── summons the worker, if it sleeps
//! ```
//!
//! A worker whose tray is empty asks, once, and parks; the answer ends this park, or the next one (`Parking::summon`). So
//! workers wait as under the other policies, and a worker that has asked need not look again before it parks, since the
//! answer comes to its tray.
//!
//! # Stall
//!
//! The coordinator is a source (`parking.rs`) while it has items: from the letter that brings the first of them, until
//! it puts the last one into a tray. The writer of the letter begins the source under the lock of the mail; this writer
//! is a worker with an item, or belongs to a source. The coordinator ends the source after it has summoned the worker.
//!
//! # Helping
//!
//! Items in the tray of a worker wait in vain while the worker runs a long item. The monitor sends them back to the
//! coordinator if another worker is idle; a worker that blocks or leaves does so, too. A worker that leaves also
//! withdraws its question: the coordinator fills only trays of asking workers.
//!
//! Locks are leaves, as all of the scheduler's.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::{Host, Local, Pool};
use crate::WorkerId;
use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, lock};

#[cfg(all(test, feature = "loom"))]
mod model;

/// How many items a worker gets at a time, at most.
const BATCH: usize = 32;

/// The pool, as workers see it.
pub(super) struct Dictated<T>(Arc<Office<T>>);

/// The state that workers and the coordinator share.
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
    /// Whether the coordinator has read all letters, and sleeps.
    is_read: bool,
    is_started: bool,
    is_stopped: bool,
}

enum Letter<T> {
    Ready(T),
    Asks(WorkerId),
}

/// The items that a worker is to run.
struct Tray<T> {
    items: Mutex<VecDeque<T>>,
    /// How many there are. Written under the lock.
    length: AtomicUsize,
    /// Whether the worker has asked for items. Written under the lock.
    asks: AtomicBool,
}

/// The coordinator's private state.
struct Ledger<T> {
    ready: VecDeque<T>,
    /// The workers that have asked, in order; among them some that have withdrawn the question.
    asking: VecDeque<WorkerId>,
}

/// The scheduler, as far as the coordinator uses it.
trait Staff {
    /// A worker has items in its tray.
    fn summon(&self, worker: WorkerId);

    /// No worker has asked: wakes an idle worker, which will ask.
    fn call_for_questions(&self);

    /// The coordinator has no items any more.
    fn end_source(&self);
}

impl<T: 'static> Staff for &'static dyn Host<T> {
    fn summon(&self, worker: WorkerId) {
        Host::summon(*self, worker);
    }

    fn call_for_questions(&self) {
        self.wake();
    }

    fn end_source(&self) {
        Host::end_source(*self);
    }
}

impl<T: Copy + Send + 'static> Dictated<T> {
    pub(super) fn new(threads: usize, places: usize) -> Dictated<T> {
        Dictated(Arc::new(Office::new(threads, places)))
    }

    /// Sends an item to the coordinator. The first one starts it.
    fn send(&self, host: &'static dyn Host<T>, item: T) {
        if !self.0.send(item, || host.begin_source()) {
            let office = Arc::clone(&self.0);
            let builder = std::thread::Builder::new().name("squall-coordinator".to_owned());
            let thread = builder.spawn(move || office.coordinate(&host));
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

    /// Sends an item to the coordinator; answers whether its thread was started. If the coordinator has no items, it
    /// becomes a source.
    fn send(&self, item: T, begin_source: impl FnOnce()) -> bool {
        let mut mail = lock(&self.mail);
        let held = self.held.load(Ordering::Relaxed);
        if held == 0 {
            begin_source();
        }
        // Release: pairs with the load in `has_items`; a thread that sees the number may count on the coordinator.
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

    /// Tells the coordinator that a worker has no item. If the coordinator has none either, it need not wake for that.
    fn ask(&self, worker: WorkerId) {
        let mut mail = lock(&self.mail);
        mail.letters.push_back(Letter::Asks(worker));
        let wakes = self.held.load(Ordering::Relaxed) > 0 && mem::take(&mut mail.is_read);
        drop(mail);
        if wakes {
            self.written.notify_one();
        }
    }

    /// The letters, as soon as there are letters and items; `None` if the scheduler was stopped.
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

    /// Hands out the ready items to asking workers. If no worker has asked, calls for questions.
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

    /// The coordinator has handed out `count` items; answers whether it has none left.
    fn settle(&self, count: usize) -> bool {
        let _mail = lock(&self.mail);
        let held = self.held.load(Ordering::Relaxed) - count;
        self.held.store(held, Ordering::Release);
        held == 0
    }

    fn has_items(&self) -> bool {
        // Acquire: pairs with the stores under the lock.
        self.held.load(Ordering::Acquire) > 0
    }

    /// Whether a worker that is about to park should look once more. A worker that has asked will be summoned; another
    /// one has to ask.
    fn is_worth_a_look(&self, worker: WorkerId) -> bool {
        !self.trays[worker.index()].asks.load(Ordering::Relaxed) && self.has_items()
    }

    /// The item that a worker is to run now. If there is none, the worker has asked.
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

    /// An item; or, as the error, whether the worker has to ask.
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

    /// Puts `count` of these items here if the worker has asked; answers whether it has.
    fn fill(&self, ready: &mut VecDeque<T>, count: usize) -> bool {
        let mut items = lock(&self.items);
        if !self.asks.swap(false, Ordering::Relaxed) {
            return false;
        }
        items.extend(ready.drain(..count));
        self.length.store(items.len(), Ordering::Relaxed);
        true
    }

    /// All items. If `asks_no_more`, withdraws the question as well, since the worker leaves or blocks.
    fn empty(&self, asks_no_more: bool) -> VecDeque<T> {
        let mut items = lock(&self.items);
        if asks_no_more {
            self.asks.store(false, Ordering::Relaxed);
        }
        self.length.store(0, Ordering::Relaxed);
        mem::take(&mut *items)
    }
}

impl<T: Copy + Send + 'static> Pool<T> for Dictated<T> {
    fn push(&self, host: &'static dyn Host<T>, _local: Local<'_, T>, item: T) {
        self.send(host, item);
    }

    fn inject(&self, host: &'static dyn Host<T>, item: T) {
        self.send(host, item);
    }

    fn take(&self, _host: &'static dyn Host<T>, local: Local<'_, T>) -> Option<T> {
        self.0.take(local.id)
    }

    fn waiting(&self, worker: WorkerId) -> usize {
        // Relaxed: a hint for other threads. The worker itself looks under the lock before it parks.
        self.tray(worker).map_or(0, |tray| tray.length.load(Ordering::Relaxed))
    }

    fn has_shared(&self) -> bool {
        self.0.has_items()
    }

    fn is_worth_a_look(&self, worker: WorkerId) -> bool {
        self.0.is_worth_a_look(worker)
    }

    fn release(&self, host: &'static dyn Host<T>, worker: WorkerId) {
        let items = self.tray(worker).map(|tray| tray.empty(true));
        items.into_iter().flatten().for_each(|item| self.send(host, item));
    }

    fn lets_help(&self) -> bool {
        true
    }

    fn call_help(&self, host: &'static dyn Host<T>, worker: WorkerId) {
        let items = self.tray(worker).map(|tray| tray.empty(false));
        items.into_iter().flatten().for_each(|item| self.send(host, item));
    }

    fn stop(&self) {
        self.0.stop();
    }
}
