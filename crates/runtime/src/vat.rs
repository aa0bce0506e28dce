//! Vats: units of isolation and of ownership.
//!
//! A vat has objects that nobody else touches, a mailbox of messages, and strands. Like a strand it
//! is two things: the [`Vat`] is native memory at a fixed address, which run queues refer to; the
//! *vat object* on the heap holds the mailbox, and is what far references refer to.
//!
//! Protocol. One word holds a lock and flags, which change under the lock:
//!
//! - *scheduled*: the vat is in a run queue, once. Whoever takes it from there owns it.
//! - *owned*: a worker runs the vat's exclusive strands; it alone takes from mailbox and ready list.
//! - *ready*: the ready list is not empty. Ready strands go before messages.
//! - *expected*: the vat is in the inbox of its home, to be looked at; that says nothing about who has it.
//!
//! The owner takes all messages of a mailbox at a time, and then one after the other without the lock. What
//! was taken belongs to the vat, too: another owner goes on with it.
//!
//! An owner whose strand is outside for long (`worker.rs`) loses the vat to the run queue; afterwards it
//! may [reclaim](VatRef::reclaim) the vat only if nobody else has it.
//!
//! Whoever adds a message or a ready strand schedules the vat if it is neither. The owner looks for
//! more work under the lock before it lets go, so nothing is left behind. No GC point lies inside
//! the lock, and it is held for a few instructions, so waiters spin.
//!
//! The next strand, or the next turn, may have its home on one native thread (`affinity.rs`). The owner looks
//! whether it is at home here; otherwise it gives the vat away, to where that is: *with* the strand to a bound
//! worker that is idle, which is sure to run it. If the bound worker is busy, it gets the strand alone, and
//! the vat goes on with others: when the strand's turn has come there, it stands at the front of its vat again.
//! So no vat waits for a native thread while it has something else to do.
//!
//! A mailbox may be bounded. Messages are accepted even if it is full, but who sent one then waits
//! until the vat takes the next: so there are never more messages than it has room for, and one for
//! each who waits.
//!
//! A turn is the processing of one message, to its end. While a turn is parked, its strand is the
//! vat's [`turn`](Vat::turn) and no other turn begins; ready strands run all the same. If the strand is
//! lost, the turn has no end, and no other one ever begins.

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, Ordering};

use parking_lot::Mutex;
use squall_heap::{CollectionKind, Object, Tracer, Word};

use crate::affinity::Home;
use crate::known::{self, KnownClass};
use crate::messages;
use crate::outcome::{Failure, Outcome};
use crate::roots::RootWord;
use crate::sandbox::{Sandbox, SandboxRef};
use crate::strand::StrandRef;
use crate::thread::{Thread, allocated};
use crate::transactions::Transactions;
use crate::transactions::memory::Memory;
use crate::vm::Vm;
use crate::waiting::{self, waiter};
use crate::worker::Item;

/// The slots of a vat object.
pub mod slots {
    /// The address of the native part.
    pub const NATIVE: usize = 0;
    /// The oldest message in the mailbox, or nil.
    pub const FIRST: usize = 1;
    /// The newest message in the mailbox, or nil.
    pub const LAST: usize = 2;
    /// For how many messages more the mailbox has room, a small integer; nil if it is not bounded.
    pub const ROOM: usize = 3;
    /// The strands that wait for room.
    pub const SENDERS: usize = 4;
    /// The oldest message that was taken from the mailbox and not begun, or nil. They are older than those in
    /// the mailbox. From a bounded mailbox, none is taken before its turn.
    pub const TAKEN: usize = 5;

    const _: () = crate::known::assert_slots(crate::known::VAT, TAKEN + 1);
}

const LOCKED: u32 = 1;
const SCHEDULED: u32 = 2;
const OWNED: u32 = 4;
const READY: u32 = 8;
const EXPECTED: u32 = 16;
/// Somebody has the vat, or is about to.
const BUSY: u32 = SCHEDULED | OWNED;

/// A vat's native part.
pub struct Vat {
    state: AtomicU32,
    /// The number of the worker that owns it; means nothing if it is not owned.
    pub owner: AtomicU32,
    /// The priority of the exclusive strand that runs; means nothing if the vat is not owned.
    pub running: AtomicU8,
    /// The vat object; the collector updates it.
    pub object: RootWord,
    /// The strand whose turn has begun and not ended.
    pub turn: Cell<Option<StrandRef>>,
    /// Whether a turn has begun and can never end.
    has_lost_turn: Cell<bool>,
    /// The memory of its transactions, if there were some.
    memory: AtomicPtr<Memory>,
    /// Where its turns run, and strands that have no home of their own. It does not change.
    pub home: Cell<Home>,
    ready: UnsafeCell<ReadyList>,
    /// The sandbox that its turns belong to, or null.
    sandbox: AtomicPtr<Sandbox>,
    /// Whether it is part of a slab only.
    is_free: Cell<bool>,
}

// SAFETY: what is in cells is accessed under the lock, or by the owner (`turn`), or by the collector
// while all workers stand.
unsafe impl Sync for Vat {}

/// The address of a vat's native part, which stays where it is as long as the VM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VatRef(NonNull<Vat>);

// SAFETY: what it leads to is `Sync`.
unsafe impl Send for VatRef {}
// SAFETY: as for `Send`.
unsafe impl Sync for VatRef {}

impl std::ops::Deref for VatRef {
    type Target = Vat;

    #[inline(always)]
    fn deref(&self) -> &Vat {
        // SAFETY: vats live in slabs that are never freed.
        unsafe { self.0.as_ref() }
    }
}

/// Strands that are ready, by priority, the greatest first; within one, in order.
#[derive(Default)]
struct ReadyList {
    queues: Vec<(u8, VecDeque<StrandRef>)>,
}

impl ReadyList {
    fn push(&mut self, strand: StrandRef, first: bool) {
        let priority = strand.priority.get();
        let queue = match self.queues.binary_search_by(|(other, _)| priority.cmp(other)) {
            Ok(index) => &mut self.queues[index].1,
            Err(index) => {
                self.queues.insert(index, (priority, VecDeque::new()));
                &mut self.queues[index].1
            }
        };
        if first { queue.push_front(strand) } else { queue.push_back(strand) }
    }

    fn pop(&mut self) -> Option<StrandRef> {
        self.queues.iter_mut().find_map(|(_, queue)| queue.pop_front())
    }

    fn is_empty(&self) -> bool {
        self.queues.iter().all(|(_, queue)| queue.is_empty())
    }

    fn has_above(&self, priority: u8) -> bool {
        self.queues.iter().any(|(other, queue)| *other > priority && !queue.is_empty())
    }

    fn remove(&mut self, strand: StrandRef) -> bool {
        self.queues.iter_mut().any(|(_, queue)| {
            let place = queue.iter().position(|&other| other == strand);
            place.is_some_and(|place| queue.remove(place).is_some())
        })
    }
}

/// What the owner of a vat is to do next.
pub enum Work {
    /// Resume this strand.
    Strand(StrandRef),
    /// Begin a turn with this message.
    Turn(Object),
    /// Nothing; the vat is not owned any more.
    Nothing,
}

impl VatRef {
    /// The address, which is a multiple of 8.
    pub fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// The vat at an address that [`VatRef::address`] answered.
    ///
    /// # Safety
    ///
    /// It did.
    pub unsafe fn from_address(address: usize) -> VatRef {
        // SAFETY: addresses of vats are not null.
        VatRef(unsafe { NonNull::new_unchecked(address as *mut Vat) })
    }

    /// The vat of a vat object.
    pub fn of_object(object: Object) -> VatRef {
        debug_assert!(object.layout() == known::VAT);
        // SAFETY: `make` stored the address, and no guest code reaches the slots of vat objects.
        unsafe { VatRef::from_address(object.slot(slots::NATIVE).bits() as usize) }
    }

    /// The vat object.
    pub fn object(self) -> Object {
        self.object.get().object_unchecked()
    }

    fn lock(self) -> u32 {
        let mut spins = 0;
        loop {
            let state = self.state.load(Ordering::Relaxed) & !LOCKED;
            let locked = self.state.compare_exchange_weak(
                state,
                state | LOCKED,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if locked.is_ok() {
                return state;
            }
            waiting::spin(&mut spins);
        }
    }

    /// Gives the lock back, with this state but for the flag *ready*, which is found out here.
    fn unlock(self, state: u32) {
        let ready = if self.ready().is_empty() { 0 } else { READY };
        self.state.store(state & !READY | ready, Ordering::Release);
    }

    #[expect(clippy::mut_from_ref, reason = "the lock gives exclusive access")]
    fn ready(&self) -> &mut ReadyList {
        // SAFETY: called with the lock held, and the reference is dropped before it is given back.
        unsafe { &mut *self.ready.get() }
    }

    /// Appends a message, and schedules the vat if need be.
    pub fn post(self, thread: &mut Thread, message: Object) {
        let state = self.lock();
        let object = self.object();
        self.change_room(thread, -1);
        match object.slot(slots::LAST).as_object() {
            Some(last) => last.set_element(&mut thread.mutator, messages::NEXT, message.word()),
            None => object.set_slot(&mut thread.mutator, slots::FIRST, message.word()),
        }
        object.set_slot(&mut thread.mutator, slots::LAST, message.word());
        self.unlock_scheduled(thread, state);
    }

    /// Whether there is a limit to the mailbox.
    pub fn is_bounded(self) -> bool {
        self.object().slot(slots::ROOM) != Word::NIL
    }

    /// Adds to the room that is left, if there is a limit. The vat is locked.
    fn change_room(self, thread: &mut Thread, change: i64) {
        if let Some(room) = self.object().slot(slots::ROOM).as_small_integer() {
            let room = Word::from_small_integer_unchecked(room + change);
            self.object().set_slot(&mut thread.mutator, slots::ROOM, room);
        }
    }

    /// Parks the running strand, which has sent a message, until there is room in the mailbox again; then
    /// its call answers the value. No GC point comes between making the waiter and this.
    pub fn wait_for_room(self, thread: &mut Thread, waiter: Object, value: Word) -> Outcome {
        let state = self.lock();
        let object = self.object();
        if object.slot(slots::ROOM).as_small_integer().is_none_or(|room| room >= 0) {
            self.unlock(state);
            return Outcome::Return(value);
        }
        let ticket = waiting::park(thread, object.word());
        waiting::enqueue(thread, object, slots::SENDERS, waiter, ticket, value);
        self.unlock(state);
        Outcome::Park
    }

    /// Adds a strand that is ready, and schedules the vat if need be. A strand that runs with a lesser
    /// priority is asked to give way.
    pub fn add_ready(self, thread: &mut Thread, strand: StrandRef, first: bool) {
        let state = self.lock();
        if state & BUSY == 0 {
            return self.schedule_with(thread, state, strand);
        }
        self.ready().push(strand, first);
        let outranks = self.is_outranked_by(strand, state);
        self.unlock(state);
        if outranks {
            thread.vm.ask_to_poll(self.owner.load(Ordering::Relaxed));
        }
    }

    /// Schedules a vat that nobody has, for a strand that is ready. It is locked.
    fn schedule_with(self, thread: &mut Thread, state: u32, strand: StrandRef) {
        if !self.pass_on(thread, state, strand, false) {
            self.yield_to_others(thread);
        }
    }

    /// Schedules a vat that nobody has, and hands it to whoever runs this strand, which stands before or behind
    /// the others that are ready. Or the strand waits alone, for its native thread is busy, and the vat is
    /// scheduled and in no queue. Whether it was handed on. The vat is locked.
    fn pass_on(self, thread: &mut Thread, state: u32, strand: StrandRef, first: bool) -> bool {
        let Some(bound) = strand.home().worker() else {
            self.ready().push(strand, first);
            self.unlock(state | SCHEDULED);
            thread.worker.push(Item::vat(self));
            return true;
        };
        // From here on it may be theirs.
        self.unlock(state | SCHEDULED);
        thread.worker.hand_to(bound, Item::strand_with_vat(strand), Item::strand(strand))
    }

    /// Adds a strand that has waited for the calling native thread, before the others; whether the thread
    /// owns the vat now. If not, whoever has the vat comes to the strand.
    pub fn own_for(self, thread: &mut Thread, strand: StrandRef) -> bool {
        let state = self.lock();
        self.ready().push(strand, true);
        let outranks = self.is_outranked_by(strand, state);
        let is_free = state & BUSY == 0;
        if !is_free {
            // Whoever comes to the strand now finds this native thread idle: otherwise an owner whose strands
            // yield all the time might always come too early.
            thread.worker.end_run();
        }
        self.own_if_free(thread.worker_index(), state);
        if outranks {
            thread.vm.ask_to_poll(self.owner.load(Ordering::Relaxed));
        }
        is_free
    }

    /// Whether a strand with a lesser priority than this one runs.
    fn is_outranked_by(self, strand: StrandRef, state: u32) -> bool {
        state & OWNED != 0 && strand.priority.get() > self.running.load(Ordering::Relaxed)
    }

    /// Whether a strand with a greater priority is ready.
    pub fn has_ready_above(self, priority: u8) -> bool {
        let state = self.lock();
        let has = self.ready().has_above(priority);
        self.unlock(state);
        has
    }

    /// Takes a strand from the ready ones; whether it was there.
    pub fn remove_ready(self, strand: StrandRef) -> bool {
        let state = self.lock();
        let removed = self.ready().remove(strand);
        self.unlock(state);
        removed
    }

    fn unlock_scheduled(self, thread: &mut Thread, state: u32) {
        if state & BUSY == 0 {
            self.enqueue(thread, state);
        } else {
            self.unlock(state);
        }
    }

    /// Unlocks a vat that nobody has, and that has something to do: it goes to where its turns are at home.
    fn enqueue(self, thread: &mut Thread, state: u32) {
        match self.home.get().worker() {
            None => {
                self.unlock(state | SCHEDULED);
                thread.worker.push(Item::vat(self));
            }
            Some(_) if state & EXPECTED != 0 => self.unlock(state),
            Some(bound) => {
                self.unlock(state | EXPECTED);
                let item = Item::visit(self);
                thread.worker.hand_to(bound, item, item);
            }
        }
    }

    /// Owns a vat that is expected here, its home, if nobody has it.
    pub fn visit(self, worker: u32) -> bool {
        let state = self.lock() & !EXPECTED;
        self.own_if_free(worker, state)
    }

    /// Unlocks a vat, and owns it if nobody has it.
    fn own_if_free(self, worker: u32, state: u32) -> bool {
        let is_free = state & BUSY == 0;
        if is_free {
            self.owner.store(worker, Ordering::Relaxed);
        }
        self.unlock(if is_free { state | OWNED } else { state });
        is_free
    }

    /// Takes ownership of a vat that was taken from a run queue.
    pub fn own(self, worker: u32) {
        let state = self.lock();
        self.own_scheduled(worker, state);
    }

    /// As [`VatRef::own`], together with a strand that stands before the others then.
    pub fn own_with(self, worker: u32, strand: StrandRef) {
        let state = self.lock();
        self.ready().push(strand, true);
        self.own_scheduled(worker, state);
    }

    /// Unlocks and owns a vat that was on its way here.
    fn own_scheduled(self, worker: u32, state: u32) {
        debug_assert!(state & BUSY == SCHEDULED, "a vat that is on its way is scheduled");
        self.owner.store(worker, Ordering::Relaxed);
        self.unlock(state & !SCHEDULED | OWNED);
    }

    /// Takes the vat from an owner that is outside, who waits until this is done; whether it is to be put
    /// into a run queue. It may turn out that there is nothing to do.
    pub fn take_away(self) -> bool {
        let state = self.lock();
        let is_owned = state & OWNED != 0;
        self.unlock(if is_owned { state & !OWNED | SCHEDULED } else { state });
        is_owned
    }

    /// Owns the vat again, from which the owner was away, unless somebody else has it or is about to.
    pub fn reclaim(self, worker: u32) -> bool {
        let state = self.lock();
        self.own_if_free(worker, state)
    }

    /// What the owner is to do next; if there is nothing, it does not own the vat any more.
    ///
    /// If the next strand or turn is at home elsewhere, the vat goes there.
    pub fn next_work(self, thread: &mut Thread) -> Work {
        let begins_turn = self.may_begin_turn() && self.home.get() == thread.home;
        // Who makes a strand ready now does so during the turn that begins.
        if begins_turn
            && self.state.load(Ordering::Relaxed) & READY == 0
            && let Some(message) = self.take_message(thread, slots::TAKEN)
        {
            return Work::Turn(message);
        }
        loop {
            let state = self.lock();
            let Some(strand) = self.ready().pop() else { return self.next_turn(thread, state) };
            if strand.is_at_home(thread.home) {
                self.unlock(state);
                return Work::Strand(strand);
            }
            if self.send_home(thread, state, strand) {
                return Work::Nothing;
            }
        }
    }

    /// The owner's next turn. The vat is locked.
    fn next_turn(self, thread: &mut Thread, state: u32) -> Work {
        if !self.has_next_turn() {
            thread.worker.end_run();
            self.unlock(state & !OWNED);
            return Work::Nothing;
        }
        if self.home.get() != thread.home {
            thread.worker.end_run();
            self.enqueue(thread, state & !OWNED);
            return Work::Nothing;
        }
        if self.object().slot(slots::ROOM) != Word::NIL {
            return self.next_bounded_turn(thread, state);
        }
        self.take_messages(thread);
        let message = self.take_message(thread, slots::TAKEN);
        self.unlock(if message.is_some() { state } else { state & !OWNED });
        message.map_or(Work::Nothing, Work::Turn)
    }

    /// Whether a turn may begin, and there is a message for it. The vat is locked.
    fn has_next_turn(self) -> bool {
        let object = self.object();
        let has_message = |&slot: &usize| object.slot(slot) != Word::NIL;
        self.may_begin_turn() && [slots::TAKEN, slots::FIRST].iter().any(has_message)
    }

    /// The owner of the vat, who has locked it, gives it away, for its next strand runs elsewhere. Or the
    /// strand waits there alone, for its native thread is busy, and the owner still owns the vat. Whether it
    /// was given away.
    fn send_home(self, thread: &mut Thread, state: u32, strand: StrandRef) -> bool {
        // Whoever comes back to this native thread by what it gives away finds it idle.
        thread.worker.end_run();
        if self.pass_on(thread, state & !OWNED, strand, true) {
            return true;
        }
        if !thread.worker.resume_run() {
            self.yield_to_others(thread);
            return true;
        }
        // It is in no queue, so nobody else has taken it.
        let state = self.lock();
        self.unlock(state & !SCHEDULED | OWNED);
        false
    }

    /// The owner's next turn, if the mailbox is bounded. The vat is locked.
    fn next_bounded_turn(self, thread: &mut Thread, state: u32) -> Work {
        let Some(message) = self.take_message(thread, slots::FIRST) else {
            self.unlock(state & !OWNED);
            return Work::Nothing;
        };
        if self.object().slot(slots::FIRST) == Word::NIL {
            self.object().set_slot(&mut thread.mutator, slots::LAST, Word::NIL);
        }
        self.change_room(thread, 1);
        let sender = waiting::dequeue(thread, self.object(), slots::SENDERS);
        self.unlock(state);
        if let Some(sender) = sender {
            waiting::wake(thread, sender, sender.slot(waiter::VALUE));
        }
        Work::Turn(message)
    }

    /// Takes the mailbox's messages, unless some that were taken are left. The vat is locked.
    fn take_messages(self, thread: &mut Thread) {
        let object = self.object();
        let first = object.slot(slots::FIRST);
        if object.slot(slots::TAKEN) == Word::NIL && first != Word::NIL {
            object.set_slot(&mut thread.mutator, slots::TAKEN, first);
            object.set_slot(&mut thread.mutator, slots::FIRST, Word::NIL);
            object.set_slot(&mut thread.mutator, slots::LAST, Word::NIL);
        }
    }

    /// Takes the first of the messages in this slot.
    fn take_message(self, thread: &mut Thread, slot: usize) -> Option<Object> {
        let message = self.object().slot(slot).as_object()?;
        let next = message.element(messages::NEXT);
        self.object().set_slot(&mut thread.mutator, slot, next);
        if next != Word::NIL {
            // It may be sent on; and an old message must not keep those after it alive.
            message.set_element(&mut thread.mutator, messages::NEXT, Word::NIL);
        }
        Some(message)
    }

    /// The messages whose turns have not begun, the oldest first. Nobody runs the vat.
    pub fn messages(self) -> impl Iterator<Item = Object> {
        [slots::TAKEN, slots::FIRST].into_iter().flat_map(move |slot| {
            let first = self.object().slot(slot).as_object();
            std::iter::successors(first, |message| message.element(messages::NEXT).as_object())
        })
    }

    /// Lets go of a vat that the caller owns, or that is scheduled and in no queue: if it has more to do, it
    /// goes to the end of the run queue.
    pub fn yield_to_others(self, thread: &mut Thread) {
        loop {
            let state = self.lock() & !BUSY;
            let Some(strand) = self.ready().pop() else { return self.leave(thread, state) };
            if self.pass_on(thread, state, strand, true) {
                return;
            }
        }
    }

    /// Unlocks a vat that nobody has, and that has no ready strands.
    fn leave(self, thread: &mut Thread, state: u32) {
        match self.has_next_turn() {
            true => self.enqueue(thread, state),
            false => self.unlock(state),
        }
    }

    /// Whether there is something to do for its owner, beside what runs.
    pub fn has_work(self) -> bool {
        let state = self.lock();
        let has_work = state & READY != 0 || self.has_next_turn();
        self.unlock(state);
        has_work
    }

    /// Keeps a new vat out of run queues until it is released.
    pub fn hold(self) {
        self.unlock(self.lock() | SCHEDULED);
    }

    /// Lets go on a vat that is held: it is in a run queue from now on.
    pub fn release(self, thread: &mut Thread) {
        let state = self.lock();
        self.enqueue(thread, state & !SCHEDULED);
    }

    fn may_begin_turn(self) -> bool {
        self.turn.get().is_none() && !self.has_lost_turn.get()
    }

    /// The collector found the strand of the turn that has begun, if it is this one, to be lost.
    pub(crate) fn lose_turn(self, strand: StrandRef) {
        if self.turn.get() == Some(strand) {
            self.turn.set(None);
            self.has_lost_turn.set(true);
        }
    }

    /// Whether a turn has begun and can never end.
    pub fn has_lost_turn(self) -> bool {
        self.has_lost_turn.get()
    }

    /// A turn that was lost is over. The caller sees to it that nobody runs the vat.
    pub fn forget_lost_turn(self, thread: &mut Thread) {
        self.has_lost_turn.set(false);
        let state = self.lock();
        self.unlock_scheduled(thread, state);
    }

    /// The sandbox that it belongs to.
    #[inline]
    pub fn sandbox(self) -> Option<SandboxRef> {
        SandboxRef::of_pointer(&self.sandbox)
    }

    /// From now on it belongs to this sandbox. Nobody else knows the vat yet, or nothing runs.
    pub fn enter_sandbox(self, sandbox: SandboxRef) {
        self.leave_sandbox();
        sandbox.add_member();
        self.sandbox.store(SandboxRef::pointer(Some(sandbox)), Ordering::Relaxed);
    }

    fn leave_sandbox(self) {
        if let Some(sandbox) = self.sandbox() {
            sandbox.remove_member();
            self.sandbox.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
    }

    /// The memory of its transactions, if there were some.
    #[inline]
    pub fn memory(self) -> Option<&'static Memory> {
        // SAFETY: the pointer is null, or that of a memory, and those are never freed. The load is one of
        // the two that `guarding.rs` is about.
        unsafe { self.memory.load(Ordering::SeqCst).as_ref() }
    }

    /// The memory of its transactions, which it gets if it has none.
    pub fn make_memory(self, vm: &Vm) -> &'static Memory {
        if let Some(memory) = self.memory() {
            return memory;
        }
        let new = vm.transactions.take_memory();
        let pointer = std::ptr::from_ref(new).cast_mut();
        let null = std::ptr::null_mut();
        match self.memory.compare_exchange(null, pointer, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => new,
            Err(_) => {
                vm.transactions.give_back(new);
                self.make_memory(vm)
            }
        }
    }

    /// Takes the memory from a vat that is dead.
    fn take_memory(self) -> Option<&'static Memory> {
        let memory = self.memory();
        self.memory.store(std::ptr::null_mut(), Ordering::Relaxed);
        memory
    }

    /// Whether somebody will run it, or look at it.
    fn is_active(self) -> bool {
        self.state.load(Ordering::Relaxed) & (BUSY | EXPECTED) != 0
    }
}

/// All vats.
#[derive(Default)]
pub struct Vats {
    inner: Mutex<Slabs>,
}

#[derive(Default)]
struct Slabs {
    slabs: Vec<&'static [Vat]>,
    free: Vec<VatRef>,
    /// Made since the last collection.
    young: Vec<VatRef>,
}

const SLAB: usize = 64;

impl Vats {
    fn take(&self) -> VatRef {
        let mut inner = self.inner.lock();
        let vat = inner.free.pop().unwrap_or_else(|| {
            let slab: Vec<Vat> = (0..SLAB).map(|_| Vat::new()).collect();
            let slab: &'static [Vat] = Box::leak(slab.into_boxed_slice());
            inner.free.extend(slab[1..].iter().map(|vat| VatRef(NonNull::from(vat))));
            inner.slabs.push(slab);
            VatRef(NonNull::from(&slab[0]))
        });
        inner.young.push(vat);
        vat
    }

    /// Every vat; the caller sees to it that none changes.
    pub fn all(&self) -> Vec<VatRef> {
        Vats::used(&self.inner.lock()).collect()
    }

    fn used(slabs: &Slabs) -> impl Iterator<Item = VatRef> {
        let vats = slabs.slabs.iter().flat_map(|slab| slab.iter());
        vats.map(|vat| VatRef(NonNull::from(vat))).filter(|vat| !vat.is_free.get())
    }

    /// Shows the objects of vats to the collector: those made since the last collection, and in a
    /// full one those that have something to do.
    pub(crate) fn visit_roots(&self, kind: CollectionKind, visit: &mut dyn FnMut(&mut Word)) {
        let mut inner = self.inner.lock();
        for vat in std::mem::take(&mut inner.young) {
            vat.object.visit(visit);
        }
        if kind == CollectionKind::Full {
            Vats::used(&inner)
                .filter(|vat| vat.is_active())
                .for_each(|vat| vat.object.visit(visit));
        }
    }

    /// Follows the vat objects that survive, and frees the vats of the others.
    pub(crate) fn update(&self, transactions: &Transactions, tracer: &mut Tracer<'_>) {
        let mut inner = self.inner.lock();
        let mut dead = Vec::new();
        for vat in Vats::used(&inner) {
            let mut survives = true;
            vat.object.visit(&mut |word| survives = tracer.update(word));
            if !survives {
                dead.push(vat);
            }
        }
        for &vat in &dead {
            vat.turn.set(None);
            vat.has_lost_turn.set(false);
            vat.leave_sandbox();
            if let Some(memory) = vat.take_memory() {
                transactions.give_back(memory);
            }
            vat.is_free.set(true);
        }
        inner.free.extend(dead);
    }
}

impl Vat {
    fn new() -> Vat {
        Vat {
            state: AtomicU32::new(0),
            owner: AtomicU32::new(0),
            running: AtomicU8::new(0),
            object: RootWord::default(),
            turn: Cell::new(None),
            has_lost_turn: Cell::new(false),
            memory: AtomicPtr::default(),
            home: Cell::new(Home::ANYWHERE),
            ready: UnsafeCell::default(),
            sandbox: AtomicPtr::default(),
            is_free: Cell::new(true),
        }
    }
}

/// Makes a vat without messages and strands. *GC point.*
pub fn make(thread: &mut Thread) -> Result<VatRef, Failure> {
    let class = thread.vm.known_class(KnownClass::Object);
    let object = allocated(thread.mutator.allocate_slots(known::VAT, class))?;
    let vat = thread.vm.vats.take();
    object.initialize_slot(slots::NATIVE, Word::from_bits(vat.address() as u64));
    vat.state.store(0, Ordering::Relaxed);
    vat.object.set(object.word());
    vat.home.set(Home::ANYWHERE);
    if let Some(sandbox) = thread.sandbox {
        vat.enter_sandbox(sandbox);
    }
    vat.is_free.set(false);
    Ok(vat)
}

/// Roots a vat until the caller drops the root. One that has neither strands nor messages, and that nothing refers to yet or any
/// more, is a root by itself only until the next collection.
pub fn keep(thread: &mut Thread, vat: VatRef) {
    thread.mutator.push_root(vat.object.get());
}

/// The vat that the running strand belongs to; the worker owns it if the strand is exclusive.
/// *GC point.*
pub fn current(thread: &mut Thread) -> Result<VatRef, Failure> {
    let strand = thread.strand();
    if let Some(vat) = strand.vat.get() {
        return Ok(vat);
    }
    let vat = make(thread)?;
    vat.owner.store(thread.worker_index(), Ordering::Relaxed);
    vat.state.store(OWNED, Ordering::Relaxed);
    let object = strand.object();
    object.set_slot(&mut thread.mutator, crate::strand::slots::VAT, vat.object.get());
    strand.vat.set(Some(vat));
    thread.new_vat = Some(vat);
    // Nobody else knows the vat yet.
    thread.plain_in.store(vat.address(), Ordering::Relaxed);
    Ok(vat)
}
