//! The data of a transaction that several strands execute: the strand that has the transaction, and the strands that
//! wait for it. The layer above makes strands ready ([`crate::concurrency::transactions::shared`], which describes the
//! protocol).

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use squall_heap::{RootAddress, Tracer};

use super::Transactions;
use super::memory::Memory;
use super::record::Transaction;
use crate::state::strand::{Claimed, Running, StrandRef};
use crate::state::thread::Thread;
use crate::state::vat::VatRef;
use crate::state::vm::Vm;

/// How long a participant keeps the transaction while others wait for it.
const SLICE: Duration = Duration::from_millis(2);

/// The data that the participants of a transaction share.
pub struct Shared {
    leader: StrandRef,
    memory: &'static Memory,
    holding: Mutex<Holding>,
}

/// Which participant has the transaction, and which ones wait for it.
#[derive(Default)]
struct Holding {
    idle: Option<Box<Transaction>>,
    /// The participant that has the transaction, and since when.
    holder: Option<(StrandRef, Duration)>,
    /// Participants that are ready, and wait for the transaction.
    queue: Vec<Claimed>,
    /// The participants that execute an `atomic:`, once for each. A lost one is `None`: its part never ends.
    parts: Vec<Option<StrandRef>>,
    has_ended: bool,
}

/// The transactions that several strands execute.
#[derive(Default)]
pub struct SharedTransactions(Mutex<Vec<Arc<Shared>>>);

impl SharedTransactions {
    /// Forgets a transaction that has ended.
    pub(crate) fn remove(&self, shared: &Shared) {
        self.0.lock().retain(|other| !std::ptr::eq(Arc::as_ptr(other), shared));
    }

    /// Shows the words of idle transactions to the collector.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(RootAddress)) {
        for shared in self.0.lock().iter() {
            if let Some(transaction) = &mut shared.holding.lock().idle {
                transaction.visit(visit);
            }
        }
    }
}

/// The transaction that a strand of this vat takes part in if the running strand starts it. *No GC point.*
pub fn for_started(thread: &mut Thread, vat: Option<VatRef>) -> Option<Arc<Shared>> {
    let leader = thread.running_strand().filter(|strand| vat.is_some() && strand.vat() == vat)?;
    let (transactions, now) = (&thread.vm.transactions, thread.vm.scheduler.elapsed());
    let (memory, transaction) = (thread.memory?, thread.transaction.as_deref_mut()?);
    if !transaction.has_effect() {
        return None;
    }
    if transaction.shared.is_none() {
        let holding = Holding { holder: Some((leader, now)), ..Holding::default() };
        let shared = Arc::new(Shared { leader, memory, holding: Mutex::new(holding) });
        transactions.register(shared.clone());
        transaction.shared = Some(shared.clone());
        thread.running().set_shared(Some(shared.clone()));
        return Some(shared);
    }
    transaction.shared.clone()
}

impl Transactions {
    fn register(&self, shared: Arc<Shared>) {
        let mut all = self.shared.0.lock();
        // Those whose leaders were lost are still there.
        all.retain(|shared| !shared.holding.lock().has_ended);
        all.push(shared);
    }
}

/// Gives the transaction that a strand executes to it, if it is idle; otherwise the strand, which would go on now, waits
/// for that. Answers the strand unless it waits.
#[inline]
pub fn unless_it_waits(vm: &Vm, strand: Claimed) -> Option<Claimed> {
    match strand.take_shared() {
        None => Some(strand),
        Some(shared) => acquire(vm, strand, shared),
    }
}

#[cold]
fn acquire(vm: &Vm, strand: Claimed, shared: Arc<Shared>) -> Option<Claimed> {
    let mut holding = shared.holding.lock();
    if holding.has_ended {
        return Some(strand);
    }
    strand.set_shared(Some(shared.clone()));
    if let Some(transaction) = holding.idle.take() {
        strand.set_transaction(Some(transaction));
        holding.holder = Some((strand.strand(), vm.scheduler.elapsed()));
        return Some(strand);
    }
    let Some((holder, _)) = holding.holder.filter(|&(holder, _)| holder != strand.strand()) else {
        return Some(strand);
    };
    holding.queue.push(strand);
    let is_first = holding.queue.len() == 1;
    drop(holding);
    // A holder that does not run yet looks into the queue when it does.
    if is_first && let Some(worker) = holder.worker_asked() {
        vm.pass_request(worker);
    }
    None
}

/// Whether other participants wait for the transaction that the running strand executes.
pub fn is_wanted(thread: &Thread) -> bool {
    shared_of(thread).is_some_and(|shared| !shared.holding.lock().queue.is_empty())
}

fn shared_of(thread: &Thread) -> Option<&Shared> {
    thread.transaction.as_deref()?.shared.as_deref()
}

/// A participant begins to run: it will give way if others came to wait before they could ask its worker.
#[inline]
pub fn look_for_others(thread: &Thread) {
    if thread.transaction.is_some() && is_wanted(thread) {
        thread.request_poll();
    }
}

/// Whether the running strand is to let other participants execute the transaction, asked in the slow path of a poll. If
/// its time is not over yet, the next poll is slow, too.
pub fn gives_way(thread: &Thread) -> bool {
    let Some(shared) = shared_of(thread) else { return false };
    let holding = shared.holding.lock();
    let Some((_, since)) = holding.holder.filter(|_| !holding.queue.is_empty()) else {
        return false;
    };
    drop(holding);
    let is_over = thread.vm.scheduler.elapsed().saturating_sub(since) >= SLICE;
    if !is_over {
        thread.request_poll();
    }
    is_over
}

impl Shared {
    /// The participant that has the transaction stops; answers those that wait for it, to be made ready.
    pub(crate) fn put_down(&self, mut transaction: Box<Transaction>) -> Vec<Claimed> {
        let mut holding = self.holding.lock();
        holding.holder = None;
        match holding.has_ended {
            // The leader was lost.
            true => transaction.lose_strand(self.memory),
            false => holding.idle = Some(transaction),
        }
        std::mem::take(&mut holding.queue)
    }

    /// The leader ends the transaction; answers those that wait for it, to be made ready.
    pub(crate) fn end(&self, leader: &Running) -> Vec<Claimed> {
        debug_assert!(leader.strand() == self.leader, "the leader runs");
        leader.set_shared(None);
        let mut holding = self.holding.lock();
        holding.has_ended = true;
        std::mem::take(&mut holding.queue)
    }

    /// This participant begins an `atomic:`, which is a part of the transaction.
    pub(crate) fn begin_part(&self, strand: StrandRef) {
        self.holding.lock().parts.push(Some(strand));
    }

    /// This participant ends an `atomic:`; answers the leader, which may wait for that, if it was the last part.
    pub(crate) fn end_part(&self, strand: StrandRef) -> Option<StrandRef> {
        let parts = &mut self.holding.lock().parts;
        let place = parts.iter().position(|&part| part == Some(strand))?;
        parts.swap_remove(place);
        parts.is_empty().then_some(self.leader)
    }

    /// Whether participants execute parts of the transaction.
    pub(crate) fn has_parts(&self) -> bool {
        !self.holding.lock().parts.is_empty()
    }

    /// Keeps the leader, which waits for the parts, as long as one of them can end.
    pub(crate) fn keep_leader(&self, tracer: &mut Tracer<'_>) {
        let holding = self.holding.lock();
        let mut parts = holding.parts.iter().flatten();
        if parts.any(|strand| tracer.is_live(strand.object.get())) {
            self.leader.object.keep(tracer);
        }
    }

    /// Whether this strand began the transaction.
    pub(crate) fn is_led_by(&self, strand: StrandRef) -> bool {
        self.leader == strand
    }

    /// This strand is lost. Without its leader, a transaction has no end, and is undone.
    pub(crate) fn lose(&self, strand: StrandRef) {
        let mut holding = self.holding.lock();
        if strand != self.leader {
            let parts = holding.parts.iter_mut();
            parts.filter(|part| **part == Some(strand)).for_each(|part| *part = None);
            return;
        }
        holding.has_ended = true;
        if let Some(mut transaction) = holding.idle.take() {
            transaction.lose_strand(self.memory);
        }
    }
}
