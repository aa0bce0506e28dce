//! Waiting: parks and wakes strands, and keeps the queues in which they wait. Channels, locks, promises and joins use
//! it.
//!
//! Strands wait for an object with a lock and queues of *waiters* in its slots. A waiter stands for one wait of one
//! strand: it has the ticket that the strand took for it ([`crate::state::strand`]). A strand may wait in several
//! queues with the same ticket; the first thread that claims it wakes the strand, and the other waiters are then stale:
//! threads that find them skip them.
//!
//! The strand object itself serves as a waiter. While it is in a queue, even a stale one, or several waiters are
//! needed, others are made. A queue is one slot with the last waiter; each leads to the next, and the last to the
//! first.
//!
//! A primitive that may have to wait goes like this:
//!
//! 1. allocate all it needs (the [waiter](own_waiter)): no GC point comes after this;
//! 2. [`lock`] the object; if it need not wait, do the work, [`unlock`], and answer;
//! 3. [`park`] the strand, [`enqueue`] the waiter with the ticket, `unlock`, and answer
//!    [`Park`](crate::model::outcome::Outcome::Park): the strand may be running elsewhere by then.
//!
//! To wake another strand, a thread takes waiters with [`dequeue`], which claims their strands, and calls [`wake`].
//!
//! Invariant: the functions here get waiters, strand objects and objects with a lock, whose layouts are constants of
//! [`crate::model::known`]; nothing is checked again. Only this file writes the slots of queues.
//!
//! The lock is a slot of the object: 0 or 1, changed by compare-and-exchange. It is held for a few
//! instructions, without GC points; only one such lock is held at a time. It spins, and gives the
//! processor away when that takes long.

use squall_events::Kind;
use squall_heap::{Mutator, Object, Word};

use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::state::affinity::Home;
use crate::state::items::Item;
use crate::state::recording;
use crate::state::strand::status::{Missed, Parked};
use crate::state::strand::waiter;
use crate::state::strand::{self, Claimed, Delivery, Model, Running, Standing, StrandRef, Wait};
use crate::state::sync::spin;
use crate::state::thread::{Thread, allocated};
use crate::state::waits::{self, Timing};

/// The slot that is the lock, in every object that has one.
pub const LOCK: usize = 0;

/// A slot of a waiter, a strand object, or an object with a lock.
#[inline(always)]
fn get(object: Object, index: usize) -> Word {
    // SAFETY: callers name slots of the object's layout; the file's head says which objects there are.
    unsafe { object.slot_unchecked(index) }
}

/// The object in a slot of a queue's waiter.
#[inline(always)]
fn link(object: Object, index: usize) -> Object {
    // SAFETY: waiters in a queue lead to waiters and strand objects.
    unsafe { get(object, index).object_unchecked() }
}

/// Stores into such a slot.
#[inline(always)]
fn set(mutator: &mut Mutator, object: Object, index: usize, value: Word) {
    // SAFETY: as for `get`.
    unsafe { object.set_own_slot_unchecked(mutator, index, value) };
}

const ZERO: Word = Word::from_small_integer_unchecked(0);
const ONE: Word = Word::from_small_integer_unchecked(1);

/// Takes the lock of an object.
#[inline]
pub fn lock(mutator: &mut Mutator, object: Object) {
    let mut spins = 0;
    // SAFETY: the object has a lock.
    while unsafe { object.compare_exchange_own_slot_unchecked(mutator, LOCK, ZERO, ONE) }.is_err() {
        spin(&mut spins);
    }
}

/// Gives it back.
#[inline]
pub fn unlock(mutator: &mut Mutator, object: Object) {
    // Stores into slots release all earlier stores.
    set(mutator, object, LOCK, ZERO);
}

/// The running strand's own waiter if that is not in use, else a new one. *GC point.*
#[inline]
pub fn own_waiter(thread: &mut Thread) -> Result<Object, Failure> {
    let own = thread.strand().object();
    if is_free(own) { Ok(own) } else { make_waiter(thread) }
}

/// Whether a waiter is in no queue: the thread that takes it from one clears the ticket at the end.
#[inline(always)]
pub fn is_free(waiter: Object) -> bool {
    get(waiter, waiter::TICKET) == ZERO
}

/// Makes a waiter for the running strand, whose ticket follows. *GC point.*
pub fn make_waiter(thread: &mut Thread) -> Result<Object, Failure> {
    let class = thread.vm.known_class(KnownClass::Object);
    let waiter = allocated(thread.mutator.allocate_slots(known::WAITER, class))?;
    waiter.initialize_slot(waiter::STRAND, thread.strand().object.get());
    waiter.initialize_slot(waiter::TICKET, ZERO);
    waiter.initialize_slot(waiter::INDEX, ZERO);
    Ok(waiter)
}

/// Parks the running strand in the call in progress; answers its ticket. From the moment that the
/// ticket can be seen by others, the caller does not touch the strand any more.
#[inline]
pub fn park(thread: &mut Thread, waits_for: Word) -> u64 {
    park_in(thread, waits_for, Wait::Ordinary).ticket
}

/// As [`park`], for one kind of wait or another.
pub fn park_in(thread: &mut Thread, waits_for: Word, wait: Wait) -> Parked {
    note_blocked(thread, waits_for, Standing::InCall, wait);
    park_standing(thread, waits_for, Standing::InCall, wait)
}

/// As [`park`], while no events are noted.
#[inline(always)]
pub fn park_unnoted(thread: &mut Thread, waits_for: Word) -> u64 {
    park_standing(thread, waits_for, Standing::InCall, Wait::Ordinary).ticket
}

/// Parks the running strand before the instruction in the saved state, which it will execute, perhaps
/// again. Otherwise as [`park`].
pub fn park_before(thread: &mut Thread, waits_for: Word) -> u64 {
    note_blocked(thread, waits_for, Standing::BeforeInstruction, Wait::Ordinary);
    park_standing(thread, waits_for, Standing::BeforeInstruction, Wait::Ordinary).ticket
}

/// Parks the running strand, which has its message [back](crate::concurrency::messages::hand_back) and begins with it again.
/// Otherwise as [`park`].
pub fn park_to_begin(thread: &mut Thread, waits_for: Word) -> u64 {
    note_blocked(thread, waits_for, Standing::New, Wait::Ordinary);
    park_standing(thread, waits_for, Standing::New, Wait::Ordinary).ticket
}

#[inline(always)]
fn park_standing(thread: &mut Thread, waits_for: Word, standing: Standing, wait: Wait) -> Parked {
    let running = thread.begin_parking();
    let strand = running.strand();
    strand::touch(thread, strand);
    // SAFETY: a strand object has this slot; touching the strand has remembered the object.
    unsafe {
        strand.object().set_remembered_slot_unchecked(strand::slots::WAITS_FOR, waits_for);
    }
    running.expose();
    running.stand_at(thread.state, standing);
    running.set_site(thread.call_site);
    running.set_parked_at(thread.ticks);
    if thread.watch.profiles {
        waits::parks(thread, &running);
    }
    if thread.transaction.is_some() {
        set_transaction_aside(thread, &running);
    }
    let parked = running.park(wait);
    if let Some(missed) = parked.missed
        && wait != Wait::Patient
        && let Some(claimed) = strand.claim(parked.ticket)
    {
        make_up_for(thread, claimed, missed);
    }
    parked
}

/// Notes that the running strand waits.
#[inline(always)]
fn note_blocked(thread: &Thread, waits_for: Word, standing: Standing, wait: Wait) {
    thread.note(Kind::StrandBlocked, || {
        let reason = recording::reason_of(waits_for, wait, standing != Standing::InCall);
        let entity = recording::number_of_object(waits_for);
        [reason as u64, entity, recording::number_of_call(thread)]
    });
}

/// Fulfils a wish that came when the strand was about to park.
#[cold]
fn make_up_for(thread: &mut Thread, claimed: Claimed, missed: Missed) {
    match missed {
        Missed::Kill => cut(thread, claimed, Delivery::Kill, Word::NIL),
        Missed::Resumption => make_ready(thread, claimed, Place::Last),
    }
}

/// Undoes [`park`], if the ticket was shown to no other thread; otherwise tells whether it was claimed.
pub fn unpark(thread: &mut Thread, ticket: u64) -> bool {
    let Some(claimed) = thread.strand().claim(ticket) else { return false };
    thread.vm.concurrency().timers.cancel(thread.vm, &claimed);
    claimed.set_running(thread.worker_index());
    thread.transaction = claimed.take_transaction().or_else(|| thread.transaction.take());
    claimed.set_timing(Timing::None);
    thread.unpark(claimed);
    thread.note_resumed();
    true
}

/// Saves the transaction of a strand that is about to park. The thread keeps one that other strands execute, too, until
/// it [releases](crate::concurrency::transactions::shared::release) that.
#[cold]
fn set_transaction_aside(thread: &mut Thread, running: &Running) {
    let transaction = thread.transaction.take_if(|transaction| transaction.shared.is_none());
    if transaction.is_some() {
        running.set_transaction(transaction);
    }
}

/// Gives a waiter its ticket and its value, and appends it to the queue in this slot of a locked object.
pub fn enqueue(
    thread: &mut Thread,
    object: Object,
    queue: usize,
    waiter: Object,
    ticket: u64,
    value: Word,
) {
    drop_stale(thread, object, queue, waiter);
    let Some(last) = get(object, queue).as_object() else {
        return enqueue_alone(thread, object, queue, waiter, ticket, value);
    };
    fill(thread, waiter, ticket, value);
    let mutator = &mut thread.mutator;
    set(mutator, waiter, waiter::NEXT, get(last, waiter::NEXT));
    set(mutator, last, waiter::NEXT, waiter.word());
    set(mutator, object, queue, waiter.word());
}

/// As [`enqueue`], for a queue that is empty.
fn enqueue_alone(
    thread: &mut Thread,
    object: Object,
    queue: usize,
    waiter: Object,
    ticket: u64,
    value: Word,
) {
    fill(thread, waiter, ticket, value);
    set(&mut thread.mutator, waiter, waiter::NEXT, waiter.word());
    set(&mut thread.mutator, object, queue, waiter.word());
}

/// As [`enqueue`], for a queue that is empty, and a strand that has just been parked, whose own object is the waiter.
#[inline(always)]
pub fn enqueue_own(
    thread: &mut Thread,
    object: Object,
    queue: usize,
    own: Object,
    ticket: u64,
    value: Word,
) {
    let ticket = Word::from_small_integer_unchecked(ticket as i64);
    // SAFETY: a strand object has these slots; parking the strand has remembered the object, and no GC point came after.
    unsafe {
        own.set_remembered_slot_unchecked(waiter::VALUE, value);
        own.set_remembered_slot_unchecked(waiter::TICKET, ticket);
        own.set_remembered_slot_unchecked(waiter::NEXT, own.word());
    }
    set(&mut thread.mutator, object, queue, own.word());
}

#[inline(always)]
fn fill(thread: &mut Thread, waiter: Object, ticket: u64, value: Word) {
    let ticket = Word::from_small_integer_unchecked(ticket as i64);
    set(&mut thread.mutator, waiter, waiter::VALUE, value);
    set(&mut thread.mutator, waiter, waiter::TICKET, ticket);
}

/// Drops stale waiters from a queue of a locked object, which is about to get another waiter: a strand that
/// chooses again and again leaves one each time in the queues of those channels that are silent, and one
/// that is ended or loses its patience leaves one for good.
///
/// Stale waiters at the front are always dropped. Those after n live ones are looked at about once in n times, if there
/// can be any: that takes a time of the order of log n on average, and keeps the number of stale waiters in the order
/// of the live ones.
fn drop_stale(thread: &mut Thread, object: Object, queue: usize, next: Object) {
    let Some(last) = get(object, queue).as_object() else { return };
    // Strands that wait in one queue only leave no stale waiter unless their wait is cut.
    let looks_further = next.layout() == known::WAITER || thread.vm.strands.has_cut_waits();
    let further = if looks_further { thread.random().trailing_zeros() } else { 0 };
    let mut reach = 1_u64 << further.min(MAX_REACH);
    let mut before = last;
    loop {
        let waiter = link(before, waiter::NEXT);
        if is_stale(waiter) {
            remove_next(thread, object, queue, before);
            let claimed = take(thread, waiter);
            debug_assert!(claimed.is_none(), "the ticket of a stale waiter claims nothing");
        } else {
            before = waiter;
            reach -= 1;
        }
        if waiter == last || reach == 0 {
            return;
        }
    }
}

/// No more than two to this power are looked at with the lock held.
const MAX_REACH: u32 = 20;

/// Takes the first waiter that is not stale from the queue in this slot of a locked object. Answers it with its strand,
/// which the caller must wake.
pub fn dequeue(thread: &mut Thread, object: Object, queue: usize) -> Option<(Object, Claimed)> {
    loop {
        let last = get(object, queue).as_object()?;
        let waiter = link(last, waiter::NEXT);
        remove_next(thread, object, queue, last);
        if let Some(claimed) = take(thread, waiter) {
            return Some((waiter, claimed));
        }
    }
}

/// The strand that is alone in a queue.
pub enum Sole {
    /// The queue is empty.
    Nobody,
    /// It has one waiter, the strand object of a strand that waits nowhere else.
    Strand(Object),
    /// It has several waiters, or one for one of a strand's several queues.
    Several,
}

/// The strand that is alone in the queue in this slot of a locked object.
#[inline(always)]
pub fn sole(object: Object, queue: usize) -> Sole {
    let Some(last) = get(object, queue).as_object() else { return Sole::Nobody };
    match get(last, waiter::NEXT) == last.word() && last.layout() == known::STRAND {
        true => Sole::Strand(last),
        false => Sole::Several,
    }
}

/// Takes the [strand object](Sole::Strand) that is alone in a queue of a locked object; answers its strand if the caller is
/// the one to wake that.
#[inline(always)]
pub fn take_sole(
    thread: &mut Thread,
    object: Object,
    queue: usize,
    waiter: Object,
) -> Option<Claimed> {
    let ticket = ticket_of(waiter);
    let mutator = &mut thread.mutator;
    set(mutator, object, queue, Word::NIL);
    set(mutator, waiter, waiter::NEXT, Word::NIL);
    // The strand may use it again from here on.
    set(mutator, waiter, waiter::TICKET, ZERO);
    StrandRef::of_strand_object(waiter)?.claim(ticket)
}

/// Removes the waiter after this one from a queue of a locked object: after the last one is the first.
fn remove_next(thread: &mut Thread, object: Object, queue: usize, before: Object) {
    let waiter = link(before, waiter::NEXT);
    if waiter == before {
        set(&mut thread.mutator, object, queue, Word::NIL);
        return;
    }
    set(&mut thread.mutator, before, waiter::NEXT, get(waiter, waiter::NEXT));
    if get(object, queue) == waiter.word() {
        set(&mut thread.mutator, object, queue, before.word());
    }
}

/// Says that a waiter is in no queue any more; answers its strand if the caller is the one to wake that.
#[inline]
fn take(thread: &mut Thread, waiter: Object) -> Option<Claimed> {
    let ticket = ticket_of(waiter);
    set(&mut thread.mutator, waiter, waiter::NEXT, Word::NIL);
    // The strand may use it again from here on.
    set(&mut thread.mutator, waiter, waiter::TICKET, ZERO);
    strand_of(waiter)?.claim(ticket)
}

/// Whether a waiter that is not stale is in the queue in this slot of a locked object.
pub fn has_waiters(object: Object, queue: usize) -> bool {
    waiters(get(object, queue)).any(|waiter| !is_stale(waiter))
}

/// How many waiters that are not stale are in the queue in this slot of a locked object.
pub fn count_waiters(object: Object, queue: usize) -> usize {
    waiters(get(object, queue)).filter(|&waiter| !is_stale(waiter)).count()
}

/// Whether the wait of a waiter in a queue is over.
fn is_stale(waiter: Object) -> bool {
    strand_of(waiter).is_none_or(|strand| strand.current_ticket() != ticket_of(waiter))
}

/// The waiters of a queue whose last one this is, or nil. Each may be taken when it was answered.
fn waiters(last: Word) -> impl Iterator<Item = Object> {
    let first = last.as_object().map(|last| link(last, waiter::NEXT));
    let mut next = first;
    std::iter::from_fn(move || {
        let waiter = next?;
        let is_last = waiter.word() == last;
        next = (!is_last).then(|| link(waiter, waiter::NEXT));
        Some(waiter)
    })
}

#[inline(always)]
fn ticket_of(waiter: Object) -> u64 {
    // This file and `channels.rs` alone write the slot.
    get(waiter, waiter::TICKET).small_integer_unchecked() as u64
}

/// The strand object of a waiter.
#[inline]
pub fn strand_object_of(waiter: Object) -> Object {
    match waiter.layout() {
        known::STRAND => waiter,
        _ => link(waiter, waiter::STRAND),
    }
}

/// The strand of a waiter, unless it has ended.
#[inline]
pub fn strand_of(waiter: Object) -> Option<StrandRef> {
    StrandRef::of_object(strand_object_of(waiter))
}

/// Notes that the wait of a strand ends.
#[inline(always)]
fn note_woken(thread: &Thread, strand: &Claimed) {
    thread.note(Kind::StrandWoken, || [recording::number_of(strand.strand())]);
}

/// Makes a claimed strand ready, to find this value.
#[inline]
pub fn wake(thread: &mut Thread, strand: Claimed, value: Word) {
    wake_strand(thread, strand, Delivery::Value, value);
}

/// As [`wake`], while no events are noted.
#[inline(always)]
pub fn wake_unnoted(thread: &mut Thread, strand: Claimed, value: Word) {
    deliver(thread, strand, Delivery::Value, value);
}

/// Makes a claimed strand ready, to find the value that it brought along, while no events are noted.
#[inline]
pub fn wake_with_own_value(thread: &mut Thread, strand: Claimed) {
    thread.vm.concurrency().timers.cancel(thread.vm, &strand);
    strand.set_delivery(Delivery::Value);
    make_next(thread, strand);
}

/// Makes a claimed strand ready, to find this.
#[inline]
pub fn wake_strand(thread: &mut Thread, strand: Claimed, delivery: Delivery, value: Word) {
    note_woken(thread, &strand);
    deliver(thread, strand, delivery, value);
}

#[inline(always)]
fn deliver(thread: &mut Thread, strand: Claimed, delivery: Delivery, value: Word) {
    thread.vm.concurrency().timers.cancel(thread.vm, &strand);
    strand.set_slot(&mut thread.mutator, strand::slots::VALUE, value);
    strand.set_delivery(delivery);
    // The awaited strand will often wait in turn: then the other one continues at once.
    make_next(thread, strand);
}

/// As [`make_ready`] at the next place.
#[inline(always)]
fn make_next(thread: &mut Thread, strand: Claimed) {
    if !is_free_to_go(strand.strand()) {
        return make_ready(thread, strand, Place::Next);
    }
    strand.set_ready();
    thread.worker.push_next(Item::strand(strand.hand_on()));
}

/// Whether a strand needs to own no vat, and has no home and no call of C below it, so that any worker runs it.
#[inline(always)]
pub fn is_free_to_go(strand: StrandRef) -> bool {
    strand.is_beside_others() && strand.affinity.is_free()
}

/// Makes a claimed strand ready, whose waiters stay where they are.
pub fn cut(thread: &mut Thread, strand: Claimed, delivery: Delivery, value: Word) {
    // A sleeping strand is in no queue; its duration is in `WAITS_FOR`.
    if strand.slot(strand::slots::WAITS_FOR).as_object().is_some() {
        thread.vm.strands.cut_wait();
    }
    wake_strand(thread, strand, delivery, value);
}

/// Where a strand that becomes ready comes to stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Before the others of its vat, since it was interrupted; after those of the worker.
    First,
    /// Behind the others.
    Last,
    /// Behind the others of its vat; if it needs no owner, it is the worker's next.
    Next,
}

/// Puts a strand that no other thread has into its queue.
#[inline]
pub fn make_ready(thread: &mut Thread, claimed: Claimed, place: Place) {
    claimed.set_ready();
    match (claimed.model(), claimed.vat()) {
        (Model::Exclusive, Some(vat)) => vat.add_ready(thread, claimed, place == Place::First),
        _ => {
            let home = claimed.affinity.home();
            let item = Item::strand(claimed.hand_on());
            match home.and_then(Home::worker) {
                Some(bound) => _ = thread.worker.hand_to(bound, item, item),
                None if place == Place::Next => thread.worker.push_next(item),
                None => thread.worker.push(item),
            }
        }
    }
}

/// The strand, which would go on now, unless it is suspended: it is then parked until it is resumed.
pub fn unless_held_up(thread: &mut Thread, strand: Claimed) -> Option<Claimed> {
    if !strand.is_suspended() {
        return Some(strand);
    }
    strand.set_slot(&mut thread.mutator, strand::slots::WAITS_FOR, Word::NIL);
    strand.hold_up()
}

/// Parks a claimed strand again, whose waiter this is and is in no queue: it waits, even if it is to end, until
/// the waiter is [released](release).
pub fn retain(thread: &mut Thread, waiter: Object, strand: Claimed) {
    let parked = strand.park(Wait::Patient);
    let ticket = Word::from_small_integer_unchecked(parked.ticket as i64);
    set(&mut thread.mutator, waiter, waiter::TICKET, ticket);
}

/// Wakes a strand that was [retained](retain).
pub fn release(thread: &mut Thread, waiter: Object, value: Word) {
    if let Some(strand) = take(thread, waiter) {
        wake(thread, strand, value);
    }
}

/// Takes all waiters from a queue of a locked object: answers the last one, or nil.
pub fn take_all(thread: &mut Thread, object: Object, queue: usize) -> Word {
    let last = get(object, queue);
    set(&mut thread.mutator, object, queue, Word::NIL);
    last
}

/// Claims and wakes all strands of a queue that was taken, whose last waiter this is, or nil.
///
/// Wakes all strands of a queue; answers their number.
pub fn wake_all(thread: &mut Thread, last: Word, delivery: Delivery, value: Word) -> i64 {
    let mut count = 0;
    for waiter in waiters(last) {
        if let Some(strand) = take(thread, waiter) {
            wake_strand(thread, strand, delivery, value);
            count += 1;
        }
    }
    count
}
