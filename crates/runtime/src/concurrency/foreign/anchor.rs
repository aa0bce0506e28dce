//! Anchors: a native thread with C's frames waits at one for the turn of the strand that only it can run. Callbacks and
//! workers use them.
//!
//! When C calls guest code, C's frames are on the native stack, below the interpreter loop that runs that code. Until
//! the code has returned to C, no other native thread can run the strand: it is *anchored*. It may still wait, give way
//! to others, or find that another worker owns its vat. Then
//!
//! ```text
//!   native thread with C's frames                     any worker
//!   ─────────────────────────────                     ──────────
//!   the strand is parked, or in a queue
//!   gives up the vat
//!   goes outside, waits at the anchor                 takes the strand from the queue,
//!        ┆                                            owns its vat
//!        ┆◀────────────────────────────────────────── hands both over
//!   goes on; the vat is its own
//! ```
//!
//! With a seed one native thread at a time runs; instead of waiting, it runs other ready items in a worker's loop
//! inside of the callback. If two strands then wait in callbacks on the same native thread, the first one can continue
//! only after the second one; if it has to continue before, that is a deadlock, which is reported.
//!
//! An anchor is for one callback. A strand has that of its innermost one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use squall_heap::Word;
use squall_scheduler::WorkerId;

use crate::concurrency::stalls::DEADLOCK;
use crate::concurrency::transactions::shared;
use crate::concurrency::waiting::{self, Place};
use crate::concurrency::worker::{self, Finished};
use crate::state::affinity::Home;
use crate::state::anchor::Anchor;
use crate::state::items::Item;
use crate::state::strand::{Claimed, Standing, StrandRef};
use crate::state::thread::Thread;

/// The anchors at which a native thread waits now.
#[derive(Default)]
pub struct Anchors(Mutex<Vec<Arc<Anchor>>>);

impl Anchors {
    fn add(&self, anchor: &Arc<Anchor>) {
        self.0.lock().push(anchor.clone());
    }

    fn remove(&self, anchor: &Arc<Anchor>) {
        self.0.lock().retain(|other| !Arc::ptr_eq(other, anchor));
    }

    /// The program has ended: no native thread waits any more.
    pub(crate) fn end(&self) {
        for anchor in self.0.lock().iter() {
            // Under the lock, a waiting native thread has either seen the end or is waiting already.
            let _has_turn = anchor.has_turn.lock();
            anchor.given.notify_one();
        }
    }
}

/// Called by a worker that took an anchored strand from a queue, and owns its vat, if it needs one: both are
/// the anchor's from now on.
pub fn hand_over(thread: &mut Thread, claimed: Claimed, anchor: &Anchor) {
    let strand = claimed.hand_on();
    // SAFETY: anchors are in an `Arc`, and the strand's lives as long as the strand has it. From here on the anchor may
    // end before this use does.
    let anchor = unsafe {
        Arc::increment_strong_count(anchor);
        Arc::from_raw(anchor)
    };
    let worker = WorkerId::from_index(anchor.worker.load(Ordering::Relaxed) as usize);
    if let Some(vat) = worker::vat_of_exclusive(strand) {
        vat.hand_over(anchor.worker.load(Ordering::Relaxed));
        thread.is_displaced = true;
    }
    anchor.give();
    look_again(thread, worker);
}

/// With a seed: the event that this worker's native thread waits for has come, so it gets the right to run, unless it
/// is in C.
pub fn look_again(thread: &mut Thread, worker: WorkerId) {
    if !thread.vm.scheduler.is_seeded() || worker == thread.number {
        return;
    }
    match is_bound(thread, worker) {
        true => _ = thread.worker.hand_to(worker, Item::NOTHING, Item::NOTHING),
        false => thread.vm.scheduler.resume_spare(worker),
    }
}

fn is_bound(thread: &Thread, worker: WorkerId) -> bool {
    thread.vm.native_threads.name(Home::of(worker)).is_some()
}

/// Why a callback does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramEnded;

/// Lets others run until it is the turn of the strand that ran here, which is parked or in a queue; then the strand
/// continues. *GC point.*
pub fn await_turn(
    thread: &mut Thread,
    strand: StrandRef,
    anchor: &Arc<Anchor>,
) -> Result<(), ProgramEnded> {
    let vat = worker::vat_of_exclusive(strand);
    let is_lost = std::mem::take(&mut thread.is_displaced);
    let owned = thread.schedule.owned.take();
    shared::release(thread);
    let stopped = thread.leave_strand();
    debug_assert!(stopped.is_none(), "it is parked, or in a queue");
    if let Some(vat) = vat.filter(|_| !is_lost) {
        vat.yield_to_others(thread);
    }
    let has_turn = match thread.vm.scheduler.is_seeded() {
        true => run_others(thread, anchor),
        false => wait_outside(thread, anchor),
    };
    thread.schedule.owned = owned;
    // SAFETY: a worker that took the strand from a queue has handed it over; or the program has ended, and no strand
    // runs any more.
    let strand = unsafe { Claimed::new(strand) };
    if has_turn {
        worker::reenter(thread, strand);
        return Ok(());
    }
    thread.enter_strand(strand);
    Err(ProgramEnded)
}

/// Waits, while other native threads run ready items.
fn wait_outside(thread: &mut Thread, anchor: &Arc<Anchor>) -> bool {
    let vm = thread.vm;
    thread.left_vat.store(0, Ordering::Relaxed);
    vm.concurrency().foreign.anchors.add(anchor);
    thread.mutator.enter_native();
    thread.worker.go_outside_for_long();
    let has_turn = anchor.wait(vm);
    // Items that others took are theirs; the vat belongs to this worker only if it was handed over.
    _ = thread.worker.come_back();
    thread.mutator.leave_native();
    vm.concurrency().foreign.anchors.remove(anchor);
    has_turn
}

/// Runs ready items on this native thread, until it is the strand's turn.
fn run_others(thread: &mut Thread, anchor: &Arc<Anchor>) -> bool {
    run_until(thread, || anchor.has_turn()) && std::mem::take(&mut *anchor.has_turn.lock())
}

/// Runs ready items on this native thread, until `is_done`; false if the program has ended before.
fn run_until(thread: &mut Thread, is_done: impl Fn() -> bool) -> bool {
    match worker::work(thread, |_| is_done()) {
        Finished::Done => true,
        Finished::Exit(_) => false,
        Finished::Stalled => {
            let vm = thread.vm;
            vm.concurrency().stalls.report(vm, Word::NIL);
            vm.end(DEADLOCK);
            false
        }
    }
}

/// With a seed: puts the strand that runs here aside, and runs others until `is_done`; then the strand continues when
/// it is its turn. *GC point.*
pub fn set_aside(
    thread: &mut Thread,
    anchor: &Arc<Anchor>,
    is_done: impl Fn() -> bool,
) -> Result<(), ProgramEnded> {
    let strand = thread.strand();
    let vat = worker::vat_of_exclusive(strand);
    save(thread, strand);
    thread.running().set_ready();
    let owned = thread.schedule.owned.take();
    // It is in a call, so other strands do not execute a transaction that they share.
    let transaction = thread.transaction.take();
    thread.running().set_transaction(transaction);
    let stopped = thread.leave_strand();
    if let Some(vat) = vat {
        vat.yield_to_others(thread);
    }
    let was_done = run_until(thread, is_done);
    thread.schedule.owned = owned;
    if let Some(strand) = stopped {
        strand.set_running(thread.worker_index());
        thread.enter_strand(strand);
    }
    thread.is_displaced = vat.is_some();
    if was_done { regain_vat(thread, anchor) } else { Err(ProgramEnded) }
}

/// Saves the position of a strand that stops running here, for readers.
fn save(thread: &mut Thread, strand: StrandRef) {
    let running = thread.running();
    running.set_state(thread.state);
    running.set_standing(Standing::BeforeInstruction);
    running.set_site(thread.call_site);
    crate::state::strand::touch(thread, strand);
}

/// Owns the vat of the strand that runs here, which others were given while it was outside: the strand waits
/// for its turn there. *GC point.*
pub fn regain_vat(thread: &mut Thread, anchor: &Arc<Anchor>) -> Result<(), ProgramEnded> {
    while thread.is_displaced {
        let strand = thread.strand();
        save(thread, strand);
        let stopped = thread.stop_running();
        waiting::make_ready(thread, stopped, Place::First);
        await_turn(thread, strand, anchor)?;
    }
    Ok(())
}
