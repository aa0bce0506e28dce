//! Vats: units of isolation and of ownership. Workers own them to run their strands and turns.
//!
//! A vat has objects that no other vat touches, a mailbox of messages, and strands. Like a strand it is two things: the
//! [`Vat`] is native memory at a fixed address, which run queues refer to; the *vat object* on the heap holds the
//! mailbox, and is the target of far references.
//!
//! Protocol. One word names the holder of the vat (`vat/ownership.rs`): none, a run queue, or a worker, its *owner*,
//! which runs the vat's exclusive strands and alone takes from mailbox and ready list. The word is a lock as well:
//! ready list and mailbox change under it. Ready strands go before messages.
//!
//! The owner takes all messages of a mailbox at a time, and then processes them one by one without the lock. The taken
//! messages belong to the vat, too: another owner continues with them. They are in the `OwnersPart`, where a store is one
//! instruction and takes no line of the cache from threads that send messages. The collector visits them there as roots;
//! so an owner that lets go puts them back into the vat object, which keeps them as long as it lives.
//!
//! An owner whose strand is outside for long (`worker.rs`) loses the vat to the run queue; afterwards it may
//! [reclaim](VatRef::reclaim) the vat only if no other worker or queue has it.
//!
//! A thread that adds a message or a ready strand schedules the vat if it has no holder. The owner looks for more work
//! under the lock before it lets go, so nothing is left behind. No GC point lies inside of the lock.
//!
//! The next strand, or the next turn, may have its home on one native thread (`affinity.rs`). The owner checks whether
//! it is at home here; otherwise it gives the vat away to the home: *with* the strand to an idle bound worker, which is
//! sure to run it. If the bound worker is busy, it gets the strand alone, and the vat continues with others: when the
//! strand's turn has come there, it stands at the front of its vat again. So no vat waits for a native thread while it
//! has other work.
//!
//! A mailbox may be bounded. Messages are accepted even if it is full, but the sender then waits until the vat takes
//! the next one: so the mailbox never has more messages than its room plus one for each waiting sender.
//!
//! A turn is the processing of one message, to its end. While a turn is parked, its strand is the vat's `turn` and no other
//! turn begins; ready strands run all the same. If the strand is lost, the turn has no end, and no other one ever begins.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use parking_lot::Mutex;
use squall_events::Kind;
use squall_heap::{CollectionKind, Mutator, Object, RootAddress, Tracer, Word};

use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::state::affinity::Home;
use crate::state::items::Item;
use crate::state::roots::RootWord;
use crate::state::sandbox::{Sandbox, SandboxRef};
use crate::state::strand::{Claimed, StrandRef};
use crate::state::thread::{Thread, allocated};
use crate::state::transactions::Transactions;
use crate::state::transactions::memory::Memory;
use crate::state::vm::Vm;
use crate::state::waits;

mod numbers;
mod ownership;

use ownership::{Content, Locked, Ownership, Ready};

/// The slots of a vat object.
pub mod slots {
    /// The address of the native part.
    pub const NATIVE: usize = 0;
    /// The oldest message in the mailbox, or nil.
    pub const FIRST: usize = 1;
    /// The newest message in the mailbox, or nil.
    pub const LAST: usize = 2;
    /// The number of messages that the mailbox still has room for, a small integer; nil if it is not bounded.
    pub const ROOM: usize = 3;
    /// The strands that wait for room.
    pub const SENDERS: usize = 4;
    /// The oldest message that was taken from the mailbox, not begun, and put back, or nil. They are older than those in the
    /// mailbox. From a bounded mailbox, none is taken before its turn.
    pub const PUT_BACK: usize = 5;

    const _: () = crate::model::known::assert_slots(crate::model::known::VAT, PUT_BACK + 1);
}

/// The element of a message, or of a promise's reaction, that refers to the next one of its list, or is nil.
pub const NEXT: usize = 0;

/// The element of a message that is its kind.
pub const KIND: usize = 1;

/// The element of a message that is the destination of the result.
pub const RESULT: usize = 2;

/// A vat's native part: a line of the cache for threads that send messages, and one for the owner. Processors that fetch lines in
/// pairs fetch both.
#[repr(C, align(128))]
pub struct Vat {
    /// Its holder, and the ready strands.
    ownership: Ownership<ReadyList>,
    /// The vat object; the collector updates it.
    pub object: RootWord,
    /// The memory of its transactions, if there were some.
    memory: AtomicPtr<Memory>,
    /// The sandbox that its turns belong to, or null.
    sandbox: AtomicPtr<Sandbox>,
    /// Whether it is part of a slab only.
    is_free: AtomicBool,
    /// What the owner reads and writes in each turn.
    owners: OwnersPart,
}

/// What the owner of a vat reads and writes in each turn, and what is needed seldom.
#[derive(Default)]
#[repr(align(64))]
struct OwnersPart {
    /// Whether strands are ready.
    ready: Ready,
    /// Whether a turn has begun and can never end.
    has_lost_turn: AtomicBool,
    /// Whether it may not begin yet: see [`crate::concurrency::early_actors`].
    is_held: AtomicBool,
    /// The oldest message that was taken from the mailbox and not begun, or nil; older than all others. If it is not nil, the
    /// vat has a holder.
    taken: RootWord,
    /// Whether the collector will look for taken messages here.
    is_visited: AtomicBool,
    /// The address of the strand whose turn has begun and not ended, or 0.
    turn: AtomicUsize,
    /// The priority of the exclusive strand that runs; means nothing if the vat is not owned.
    running: AtomicU8,
    /// The bits of its home, which does not change.
    home: AtomicU32,
    /// Its number in events, or 0 if it was in none yet.
    number: AtomicU64,
    /// The counts of the messages that were put into the mailbox and taken from there while they were counted.
    posted: AtomicU64,
    count: AtomicU64,
    /// In a [recording](crate::state::replays): the key of its last item, times 4; 1 if that is open; 2 if items count their polls.
    /// In a [profile](crate::state::waits): how many messages in the mailbox are measured.
    item: AtomicU64,
}

/// Two lines of the cache: a million actors are no rarity.
const _: () = assert!(size_of::<Vat>() == 128);

/// The address of a vat's native part, which stays where it is as long as the VM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VatRef(NonNull<Vat>);

// SAFETY: the vat is `Sync`.
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
pub(crate) struct ReadyList {
    queues: Vec<(u8, VecDeque<Claimed>)>,
}

impl ReadyList {
    pub(crate) fn push(&mut self, strand: Claimed, first: bool) {
        let priority = strand.priority();
        let queue = match self.queues.binary_search_by(|(other, _)| priority.cmp(other)) {
            Ok(index) => &mut self.queues[index].1,
            Err(index) => {
                self.queues.insert(index, (priority, VecDeque::new()));
                &mut self.queues[index].1
            }
        };
        if first { queue.push_front(strand) } else { queue.push_back(strand) }
    }

    pub(crate) fn pop(&mut self) -> Option<Claimed> {
        self.queues.iter_mut().find_map(|(_, queue)| queue.pop_front())
    }

    fn has_above(&self, priority: u8) -> bool {
        self.queues.iter().any(|(other, queue)| *other > priority && !queue.is_empty())
    }

    fn remove(&mut self, strand: StrandRef) -> Option<Claimed> {
        self.take(|other| other == strand)
    }

    /// Takes the first strand of which this holds.
    pub(crate) fn take(&mut self, is_it: impl Fn(StrandRef) -> bool) -> Option<Claimed> {
        self.queues.iter_mut().find_map(|(_, queue)| {
            let place = queue.iter().position(|other| is_it(other.strand()))?;
            queue.remove(place)
        })
    }
}

impl Content for ReadyList {
    fn is_empty(&self) -> bool {
        self.queues.iter().all(|(_, queue)| queue.is_empty())
    }
}

/// A vat that the calling thread has locked.
pub(crate) type LockedVat = Locked<'static, ReadyList>;

impl VatRef {
    /// The address, which is a multiple of 8.
    pub fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// The address as a pointer.
    pub(crate) fn pointer(self) -> *mut Vat {
        self.0.as_ptr()
    }

    /// The vat at a pointer that [`VatRef::pointer`] answered, or none at null.
    ///
    /// # Safety
    ///
    /// It did.
    pub(crate) unsafe fn from_pointer(pointer: *mut Vat) -> Option<VatRef> {
        NonNull::new(pointer).map(VatRef)
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
    #[inline]
    pub fn of_object(object: Object) -> VatRef {
        assert!(object.layout() == known::VAT, "only vat objects lead to vats");
        // SAFETY: `make` stored the address, and no guest code reaches the slots of vat objects.
        unsafe { VatRef::from_address(object.slot_unchecked(slots::NATIVE).bits() as usize) }
    }

    /// The vat object.
    pub fn object(self) -> Object {
        // SAFETY: a vat has its object from `make` on.
        unsafe { self.object.get().object_unchecked() }
    }

    /// A slot of the vat object, of those in [`slots`].
    #[inline(always)]
    pub(crate) fn slot(self, index: usize) -> Word {
        assert!(index <= slots::PUT_BACK);
        // SAFETY: the object is a vat object, which has the slot.
        unsafe { self.object().slot_unchecked(index) }
    }

    /// Stores into a slot of the vat object, of those in [`slots`].
    #[inline(always)]
    pub(crate) fn set_slot(self, mutator: &mut Mutator, index: usize, value: Word) {
        assert!(index <= slots::PUT_BACK);
        // SAFETY: as for `slot`.
        unsafe { self.object().set_own_slot_unchecked(mutator, index, value) };
    }

    pub(crate) fn lock(self) -> LockedVat {
        // SAFETY: vats live in slabs that are never freed.
        let vat: &'static Vat = unsafe { &*self.0.as_ptr() };
        vat.ownership.lock(&vat.owners.ready)
    }

    /// Appends a message, and schedules the vat if need be.
    pub fn post(self, thread: &mut Thread, message: Object) {
        match thread.watch.counts {
            true => self.post_watched(thread, message),
            false => self.append(thread, self.lock(), message),
        }
    }

    /// As [`VatRef::post`], while events are noted, or the run is recorded or repeats a recording.
    #[inline(never)]
    fn post_watched(self, thread: &mut Thread, message: Object) {
        let is_turn = is_turn(message);
        if is_turn {
            thread.number_message(message);
        }
        if thread.only_records() {
            return self.append(thread, self.lock(), message);
        }
        if is_turn && let Some(admitted) = thread.admitted(self, message) {
            return admitted.into_iter().for_each(|message| self.append_noted(thread, message));
        }
        self.append_noted(thread, message);
    }

    /// Puts a message into the mailbox, and notes that.
    fn append_noted(self, thread: &mut Thread, message: Object) {
        let locked = self.lock();
        self.note_sent(thread, message);
        self.append(thread, locked, message);
    }

    /// Puts a message into the mailbox of a locked vat.
    #[inline(always)]
    fn append(self, thread: &mut Thread, locked: LockedVat, message: Object) {
        waits::message_posted(thread, self, message);
        self.change_room(thread, -1);
        match self.slot(slots::LAST).as_object() {
            Some(last) => last.set_element(&mut thread.mutator, NEXT, message.word()),
            None => self.set_slot(&mut thread.mutator, slots::FIRST, message.word()),
        }
        self.set_slot(&mut thread.mutator, slots::LAST, message.word());
        self.unlock_scheduled(thread, locked);
    }

    /// Whether there is a limit to the mailbox.
    pub fn is_bounded(self) -> bool {
        self.slot(slots::ROOM) != Word::NIL
    }

    /// Adds to the room that is left, if there is a limit. The vat is locked.
    pub(crate) fn change_room(self, thread: &mut Thread, change: i64) {
        if let Some(room) = self.slot(slots::ROOM).as_small_integer() {
            let room = Word::from_small_integer_unchecked(room + change);
            self.set_slot(&mut thread.mutator, slots::ROOM, room);
        }
    }

    /// Adds a strand that is ready, and schedules the vat if need be. A strand that runs with a lesser
    /// priority is asked to give way.
    pub fn add_ready(self, thread: &mut Thread, strand: Claimed, first: bool) {
        let mut locked = self.lock();
        if locked.is_idle() {
            return self.schedule_with(thread, locked, strand);
        }
        let priority = strand.priority();
        locked.content().push(strand, first);
        self.unlock_outranked(thread, locked, priority);
    }

    /// Unlocks a vat; its owner is asked to poll if a strand with a lesser priority than this runs there.
    fn unlock_outranked(self, thread: &Thread, locked: LockedVat, priority: u8) {
        let running = self.running();
        let outranked = locked.owner().filter(|_| priority > running);
        drop(locked);
        if let Some(owner) = outranked {
            thread.vm.ask_to_poll(owner);
        }
    }

    /// Schedules a vat without a holder, for a strand that is ready.
    fn schedule_with(self, thread: &mut Thread, locked: LockedVat, strand: Claimed) {
        if !self.pass_on(thread, locked, strand, false) {
            self.yield_to_others(thread);
        }
    }

    /// Schedules a vat without a holder, and hands it to the worker that runs this strand, which stands before or after
    /// the other ready ones. Or the strand waits alone, since its native thread is busy, and the vat is scheduled and
    /// in no queue. Answers whether it was handed on.
    fn pass_on(
        self,
        thread: &mut Thread,
        mut locked: LockedVat,
        strand: Claimed,
        first: bool,
    ) -> bool {
        let Some(bound) = strand.home().worker() else {
            locked.content().push(strand, first);
            locked.schedule();
            // From here on it may be theirs.
            drop(locked);
            thread.worker.push(Item::vat(self));
            return true;
        };
        locked.schedule();
        drop(locked);
        let strand = strand.hand_on();
        thread.worker.hand_to(bound, Item::strand_with_vat(strand), Item::strand(strand))
    }

    /// Adds a strand that has waited for the calling native thread, before the others; answers whether the thread owns
    /// the vat now. If not, the vat's holder will come to the strand.
    pub fn own_for(self, thread: &mut Thread, strand: Claimed) -> bool {
        let priority = strand.priority();
        let mut locked = self.lock();
        locked.content().push(strand, true);
        if locked.own_if_idle(thread.worker_index()) {
            return true;
        }
        // A worker that comes to the strand now finds this native thread idle: otherwise an owner whose strands yield
        // all the time might always come too early.
        thread.worker.end_run();
        self.unlock_outranked(thread, locked, priority);
        false
    }

    /// Whether a strand with a greater priority is ready.
    pub fn has_ready_above(self, priority: u8) -> bool {
        self.lock().content().has_above(priority)
    }

    /// The priority of a strand has changed: if it is ready, it stands behind the others with the same priority. A
    /// running strand with a lesser priority is asked to give way.
    pub fn reposition(self, thread: &Thread, strand: StrandRef) {
        let mut locked = self.lock();
        if let Some(ready) = locked.content().remove(strand) {
            locked.content().push(ready, false);
            self.unlock_outranked(thread, locked, strand.priority());
        }
    }

    fn unlock_scheduled(self, thread: &mut Thread, locked: LockedVat) {
        if locked.is_idle() {
            self.enqueue(thread, locked);
        }
    }

    /// Unlocks a vat without a holder that has something to do: the vat goes to the home of its turns.
    pub(crate) fn enqueue(self, thread: &mut Thread, mut locked: LockedVat) {
        match self.home().worker() {
            None => {
                locked.schedule();
                drop(locked);
                thread.worker.push(Item::vat(self));
            }
            Some(bound) if locked.expect() => {
                drop(locked);
                let item = Item::visit(self);
                thread.worker.hand_to(bound, item, item);
            }
            Some(_) => {}
        }
    }

    /// Owns a vat that is expected here, its home, if it has no holder.
    pub fn visit(self, worker: u32) -> bool {
        let mut locked = self.lock();
        locked.arrive();
        locked.own_if_idle(worker)
    }

    /// Takes ownership of a vat that was taken from a run queue.
    pub fn own(self, worker: u32) {
        self.lock().own(worker);
    }

    /// As [`VatRef::own`], together with a strand that stands before the others then.
    pub fn own_with(self, worker: u32, strand: Claimed) {
        let mut locked = self.lock();
        locked.content().push(strand, true);
        locked.own(worker);
    }

    /// The owner makes another worker the owner.
    pub fn hand_over(self, worker: u32) {
        self.lock().hand_over(worker);
    }

    /// Takes the vat from an owner that is outside, and that waits until this is done; answers whether the vat is to be
    /// put into a run queue. There may turn out to be nothing to do.
    pub fn take_away(self) -> bool {
        self.lock().take_away()
    }

    /// Owns the vat again, which the owner had left for outside, unless another worker has it or is about to.
    pub fn reclaim(self, worker: u32) -> bool {
        self.lock().own_if_idle(worker)
    }

    /// Whether a turn may begin, and there is a message for it. The vat is locked.
    pub(crate) fn has_next_turn(self) -> bool {
        self.may_begin_turn() && self.mailbox().iter().any(|first| *first != Word::NIL)
    }

    /// The first message of each part of the mailbox, or nil, the oldest part first.
    fn mailbox(self) -> [Word; 3] {
        [self.owners.taken.get(), self.slot(slots::PUT_BACK), self.slot(slots::FIRST)]
    }

    /// The owner gives the vat away, for its next strand runs elsewhere. Or the strand waits there alone, for its
    /// native thread is busy, and the owner still owns the vat. Whether it was given away.
    pub(crate) fn send_home(
        self,
        thread: &mut Thread,
        mut locked: LockedVat,
        strand: Claimed,
    ) -> bool {
        // A worker that comes back to this native thread through the items given away finds it idle.
        thread.worker.end_run();
        locked.let_go();
        if self.pass_on(thread, locked, strand, true) {
            return true;
        }
        if !thread.worker.resume_run() {
            self.yield_to_others(thread);
            return true;
        }
        // It is in no queue, so no other worker has taken it.
        self.lock().own(thread.worker_index());
        false
    }

    /// Takes the oldest message, and with it the others of the mailbox. The vat is locked, and the caller is the owner.
    pub(crate) fn take_messages(self, thread: &mut Thread) -> Option<Object> {
        let [taken, put_back, first] = self.mailbox();
        if taken == Word::NIL && put_back != Word::NIL {
            self.set_slot(&mut thread.mutator, slots::PUT_BACK, Word::NIL);
            self.set_taken(thread, put_back);
        } else if taken == Word::NIL && first != Word::NIL {
            if first == self.slot(slots::LAST) {
                return self.take_first(thread);
            }
            self.set_slot(&mut thread.mutator, slots::FIRST, Word::NIL);
            self.set_slot(&mut thread.mutator, slots::LAST, Word::NIL);
            self.set_taken(thread, first);
        }
        self.take_message(thread)
    }

    /// Takes messages, of which this is the first. For the owner.
    fn set_taken(self, thread: &Thread, first: Word) {
        let owners = &self.owners;
        owners.taken.set(first);
        if !owners.is_visited.swap(true, Ordering::Relaxed) {
            thread.vm.vats.inner.lock().visited.push(self);
        }
    }

    /// Whether the oldest message in the mailbox begins no turn. The vat is locked.
    pub(crate) fn has_other_message(self) -> bool {
        let first = self.mailbox().into_iter().find_map(Word::as_object);
        first.is_some_and(|message| !is_turn(message))
    }

    /// Takes the first of the messages that were taken from the mailbox. For the owner.
    #[inline(always)]
    pub(crate) fn take_message(self, thread: &mut Thread) -> Option<Object> {
        let taken = &self.owners.taken;
        let message = taken.get().as_object()?;
        taken.set(detached(thread, message));
        Some(message)
    }

    /// Takes the first of the messages in the mailbox. The vat is locked.
    pub(crate) fn take_first(self, thread: &mut Thread) -> Option<Object> {
        let message = self.slot(slots::FIRST).as_object()?;
        let next = detached(thread, message);
        self.set_slot(&mut thread.mutator, slots::FIRST, next);
        if next == Word::NIL {
            self.set_slot(&mut thread.mutator, slots::LAST, Word::NIL);
        }
        Some(message)
    }

    /// The owner lets go. It may have taken messages whose turns cannot begin yet: these are put back.
    pub(crate) fn let_go(self, thread: &mut Thread, locked: &mut LockedVat) {
        let taken = &self.owners.taken;
        let first = taken.get();
        if first != Word::NIL {
            debug_assert!(self.slot(slots::PUT_BACK) == Word::NIL, "those would have come first");
            self.set_slot(&mut thread.mutator, slots::PUT_BACK, first);
            taken.set(Word::NIL);
        }
        locked.let_go();
    }

    /// The messages whose turns have not begun, the oldest first. The vat is not running.
    pub fn messages(self) -> impl Iterator<Item = Object> {
        self.mailbox().into_iter().flat_map(|first| {
            std::iter::successors(first.as_object(), |message| message.element(NEXT).as_object())
        })
    }

    /// The first message that the owner has taken and not begun, or nil.
    pub(crate) fn taken(self) -> Word {
        self.owners.taken.get()
    }

    /// Lets go of a vat that the caller owns, or that is scheduled and in no queue: if it has more to do, it
    /// goes to the end of the run queue.
    pub fn yield_to_others(self, thread: &mut Thread) {
        loop {
            let mut locked = self.lock();
            self.let_go(thread, &mut locked);
            let Some(strand) = locked.content().pop() else { return self.leave(thread, locked) };
            if self.pass_on(thread, locked, strand, true) {
                return;
            }
        }
    }

    /// Unlocks a vat without a holder and without ready strands.
    fn leave(self, thread: &mut Thread, locked: LockedVat) {
        if self.has_next_turn() {
            self.enqueue(thread, locked);
        }
    }

    /// Whether there is more for its owner to do than the running strand.
    pub fn has_work(self) -> bool {
        let mut locked = self.lock();
        !locked.content().is_empty() || self.has_next_turn()
    }

    /// Keeps a new vat out of run queues until it is released.
    pub fn hold(self) {
        self.owners.is_held.store(true, Ordering::Relaxed);
        self.lock().schedule();
    }

    /// Lets go on a vat that is held, if it is: it is in a run queue from now on.
    pub fn release(self, thread: &mut Thread) {
        if self.owners.is_held.swap(false, Ordering::Relaxed) {
            let mut locked = self.lock();
            locked.let_go();
            self.enqueue(thread, locked);
        }
    }

    /// The strand whose turn has begun and not ended.
    pub fn turn(self) -> Option<StrandRef> {
        let address = self.owners.turn.load(Ordering::Relaxed);
        // SAFETY: `set_turn` stored the address of a strand, or 0.
        (address != 0).then(|| unsafe { StrandRef::from_address(address) })
    }

    /// The turn of this strand has begun, or the turn has ended. For the owner.
    pub fn set_turn(self, strand: Option<StrandRef>) {
        self.owners.turn.store(strand.map_or(0, StrandRef::address), Ordering::Relaxed);
    }

    /// The priority of the exclusive strand that runs, if the vat is owned.
    pub fn running(self) -> u8 {
        self.owners.running.load(Ordering::Relaxed)
    }

    /// A strand with this priority runs. For the owner.
    #[inline(always)]
    pub fn set_running(self, priority: u8) {
        self.owners.running.store(priority, Ordering::Relaxed);
    }

    /// Where its turns run, and strands that have no home of their own.
    #[inline]
    pub fn home(self) -> Home {
        Home::from_bits(self.owners.home.load(Ordering::Relaxed))
    }

    /// Gives it a home, before any other thread knows the vat.
    pub fn set_home(self, home: Home) {
        self.owners.home.store(home.bits(), Ordering::Relaxed);
    }

    /// Whether strands were ready a moment ago.
    #[inline(always)]
    pub(crate) fn is_ready(self) -> bool {
        self.owners.ready.get()
    }

    pub(crate) fn may_begin_turn(self) -> bool {
        self.turn().is_none() && !self.owners.has_lost_turn.load(Ordering::Relaxed)
    }

    /// The collector found the strand of the turn that has begun, if it is this one, to be lost.
    pub(crate) fn lose_turn(self, strand: StrandRef) {
        if self.turn() == Some(strand) {
            self.set_turn(None);
            self.owners.has_lost_turn.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a turn has begun and can never end.
    pub fn has_lost_turn(self) -> bool {
        self.owners.has_lost_turn.load(Ordering::Relaxed)
    }

    /// A lost turn is over, if there is one: the next one may begin.
    pub fn forget_lost_turn(self, thread: &mut Thread) {
        // Before the lock: a worker that finds no turn from now on gives the vat up before the lock is taken here.
        if self.owners.has_lost_turn.swap(false, Ordering::Relaxed) {
            let locked = self.lock();
            self.unlock_scheduled(thread, locked);
        }
    }

    /// The sandbox that it belongs to.
    #[inline]
    pub fn sandbox(self) -> Option<SandboxRef> {
        SandboxRef::of_pointer(&self.sandbox)
    }

    /// From now on it belongs to this sandbox. No other thread knows the vat yet, or nothing runs.
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

    /// Whether a worker will run it, or look at it.
    pub(crate) fn is_active(self) -> bool {
        self.ownership.is_active() && !self.owners.is_held.load(Ordering::Relaxed)
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
    /// Vats whose owners have taken messages.
    visited: Vec<VatRef>,
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

    /// All vats; the caller ensures that none changes.
    pub fn all(&self) -> Vec<VatRef> {
        Vats::used(&self.inner.lock()).collect()
    }

    /// All vats, while the program goes on: those that are made or die meanwhile may be missing.
    pub(crate) fn walk(&self) -> impl Iterator<Item = VatRef> + use<> {
        // The table is locked for a copy only: threads that make vats wait for it.
        let slabs = self.inner.lock().slabs.clone();
        let vats = slabs.into_iter().flat_map(|slab| slab.iter());
        vats.filter(|vat| !vat.is_free.load(Ordering::Relaxed))
            .map(|vat| VatRef(NonNull::from(vat)))
    }

    fn used(slabs: &Slabs) -> impl Iterator<Item = VatRef> {
        let vats = slabs.slabs.iter().flat_map(|slab| slab.iter());
        vats.map(|vat| VatRef(NonNull::from(vat)))
            .filter(|vat| !vat.is_free.load(Ordering::Relaxed))
    }

    /// Shows the collector the objects of vats that were made since the last collection, messages that owners have
    /// taken, and in a full collection the objects of the vats that have something to do.
    pub(crate) fn visit_roots(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        let mut inner = self.inner.lock();
        for vat in std::mem::take(&mut inner.young) {
            vat.object.visit(visit);
        }
        inner.visited.retain(|vat| {
            let owners = &vat.owners;
            let has_taken = owners.taken.get() != Word::NIL;
            owners.is_visited.store(has_taken, Ordering::Relaxed);
            if has_taken {
                owners.taken.visit(visit);
            }
            has_taken
        });
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
            if !vat.object.update(tracer) {
                dead.push(vat);
            }
        }
        for &vat in &dead {
            vat.set_turn(None);
            vat.owners.has_lost_turn.store(false, Ordering::Relaxed);
            vat.leave_sandbox();
            if let Some(memory) = vat.take_memory() {
                transactions.give_back(memory);
            }
            vat.is_free.store(true, Ordering::Relaxed);
        }
        inner.free.extend(dead);
    }
}

impl Vat {
    fn new() -> Vat {
        Vat {
            ownership: Ownership::default(),
            object: RootWord::default(),
            memory: AtomicPtr::default(),
            sandbox: AtomicPtr::default(),
            is_free: AtomicBool::new(true),
            owners: OwnersPart::default(),
        }
    }
}

/// Takes a message out of its list, for it may be sent on, and an old message must not keep those after it alive. Answers
/// the next one, or nil.
#[inline(always)]
fn detached(thread: &mut Thread, message: Object) -> Word {
    let next = message.element(NEXT);
    if next != Word::NIL {
        message.set_element(&mut thread.mutator, NEXT, Word::NIL);
    }
    next
}

/// Whether a message in a mailbox begins a turn: neither settles it a promise, nor does it go on to another vat.
fn is_turn(message: Object) -> bool {
    let kind = message.element(KIND);
    let receiver = known::layout_of(message.element(RESULT + 1));
    let goes_on = receiver == known::FAR_REFERENCE && kind != Word::NIL;
    kind != Word::TRUE && kind != Word::FALSE && !goes_on
}

/// Makes a vat without messages and strands. *GC point.*
pub fn make(thread: &mut Thread) -> Result<VatRef, Failure> {
    let class = thread.vm.known_class(KnownClass::Object);
    let object = allocated(thread.mutator.allocate_slots(known::VAT, class))?;
    let vat = thread.vm.vats.take();
    object.initialize_slot(slots::NATIVE, Word::from_address(vat.address()));
    vat.ownership.begin();
    vat.owners.is_held.store(false, Ordering::Relaxed);
    vat.object.set(object.word());
    vat.set_home(Home::ANYWHERE);
    vat.forget_numbers();
    if thread.watch.counts {
        if let Some(number) = thread.number_of_new_vat() {
            vat.owners.number.store(number, Ordering::Relaxed);
        }
        let number = vat.number(thread.vm);
        thread.note(Kind::VatCreated, || [number]);
    }
    if let Some(sandbox) = thread.sandbox {
        vat.enter_sandbox(sandbox);
    }
    vat.is_free.store(false, Ordering::Relaxed);
    Ok(vat)
}

/// Roots a vat until the caller drops the root. A vat without strands, messages and references is a root by itself only
/// until the next collection.
pub fn keep(thread: &mut Thread, vat: VatRef) {
    thread.mutator.push_root(vat.object.get());
}

/// The vat that the running strand belongs to; the worker owns it if the strand is exclusive.
/// *GC point.*
pub fn current(thread: &mut Thread) -> Result<VatRef, Failure> {
    let strand = thread.strand();
    if let Some(vat) = strand.vat() {
        return Ok(vat);
    }
    let vat = make(thread)?;
    vat.ownership.begin_owned(thread.worker_index());
    let object = strand.object();
    object.set_slot(&mut thread.mutator, crate::state::strand::slots::VAT, vat.object.get());
    thread.running().set_vat(Some(vat));
    thread.schedule.owned = Some(vat);
    // No other thread knows the vat yet.
    thread.plain_in.store(vat.address(), Ordering::Relaxed);
    if thread.is_recording() {
        thread.tape_in_vat();
    }
    Ok(vat)
}
