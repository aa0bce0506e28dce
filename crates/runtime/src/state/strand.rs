//! Strands: green threads, the unit of scheduling. Workers run them; objects that strands wait for refer to them.
//!
//! A strand is two things. The [`Strand`] is native memory at a fixed address: the saved state of execution, and the
//! bottom of the VM stack, which comes in several sizes. The *strand object* is on the heap: the objects that wait for
//! the strand, and those that the strand waits for, refer to it, so the collector finds the blocked strands that can
//! still be woken, and knows the others to be lost. Each leads to the other.
//!
//! Protocol. A strand is free, parked, or owned by one thread; its [`status`] decides which:
//!
//! ```text
//!   FREE ──make──▶ READY ──resume──▶ RUNNING ──park──▶ PARKED
//!                    ▲                  │                 │
//!                    ├────preempt───────┤                 │
//!                    └──────────────────┼────claim────────┘
//!   FREE ◀──────────finish──────────────┘
//! ```
//!
//! - While it is ready, the worker that takes it from a queue may resume it; queues hold it once.
//! - While it runs, only its worker touches it.
//! - While it is parked, only the thread that has [claimed](StrandRef::claim) its ticket touches it, and then makes it
//!   ready. A strand saves its state *before* it is parked with a new ticket, shows the ticket to others after that,
//!   and does not touch itself any more, so it may continue elsewhere at once. Tickets are never reused: a ticket that
//!   another wake-up has overtaken claims nothing.
//! - A thread with a reference to its object may end, suspend and resume it and change its priority at any time, in
//!   this [life](Life) of its native part and in no other.
//! - The collector, while all workers stand, reads everything.
//!
//! These rights are values, [`Claimed`] and [`Running`] (`strand/held.rs`): the cells that belong to one party are reached
//! through them only. The other fields are atomic: one party writes them, too, but every thread may read them.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;
use squall_events::Kind;
use squall_heap::{CollectionKind, Mutator, Object, RootAddress, WORD_BYTES, Word, slot_kinds};

use crate::model::function::Site;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::state::affinity::{Affinity, Home};
use crate::state::anchor::Anchor;
use crate::state::roots::RootWord;
use crate::state::sandbox::{Sandbox, SandboxRef};
use crate::state::stack::{Activation, Bottom, Stack};
use crate::state::thread::{SavedState, State, Stop, Thread, allocated};
use crate::state::transactions::record::Transaction;
use crate::state::transactions::shared;
use crate::state::vat::VatRef;
use crate::state::waits::Timing;
use crate::state::{fences, recording};

mod held;
pub mod status;
mod table;

use status::{Killed, Parked, Resumed, Status};

use held::{Aside, Owned, Shown, ShownSite, ShownVat};
pub use held::{Claimed, Held, Running};
use table::BATCH;
pub use table::Strands;

/// The slots of a waiter. Strand objects have those that are numbered here from 2 on.
pub mod waiter {
    /// The strand object.
    pub const STRAND: usize = 0;
    /// Which of several alternatives this is, a small integer.
    pub const INDEX: usize = 1;
    /// The strand's ticket, a small integer, while this is in a queue; else 0.
    pub const TICKET: usize = 2;
    /// The next waiter of the queue.
    pub const NEXT: usize = 3;
    /// The value that the strand brings along, for instance the one it writes.
    pub const VALUE: usize = 4;

    const _: () = crate::model::known::assert_slots(crate::model::known::WAITER, VALUE + 1);
}

/// The slots of a strand object.
pub mod slots {
    use super::waiter;

    /// The lock for ending and joiners, see [`crate::concurrency::waiting::lock`].
    pub const LOCK: usize = 0;
    /// The address of the native part; once the strand has ended, how: see [`super::Ending`].
    pub const NATIVE: usize = 1;
    /// A strand object is the waiter of its strand, if that waits in one queue only.
    pub const TICKET: usize = waiter::TICKET;
    /// The next waiter.
    pub const NEXT: usize = waiter::NEXT;
    /// While it is parked, first the value that it brings along, and then its delivery; after its end, its result.
    pub const VALUE: usize = waiter::VALUE;
    /// The object of the vat it belongs to, or nil if it has none yet.
    pub const VAT: usize = 5;
    /// The message that it is to begin with. From then on the destination of the result, as in the message; of a
    /// process, its class.
    pub const TASK: usize = 6;
    /// An object that the program keeps with the strand.
    pub const LOCAL: usize = 7;
    /// The strands that wait for its end.
    pub const JOINERS: usize = 8;
    /// The object that it waits for, for reports.
    pub const WAITS_FOR: usize = 9;

    const _: () = crate::model::known::assert_slots(crate::model::known::STRAND, WAITS_FOR + 1);
}

/// In place of a promise, in messages that the embedder sent. A small integer in that place is the number of one of the
/// embedder's [calls](crate::concurrency::embedding::calls).
pub const EMBEDDER: Word = Word::TRUE;

/// How a strand ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i64)]
pub enum Ending {
    /// It has not.
    Live = 0,
    /// It returned a value.
    Returned = 1,
    /// An exception was not handled.
    Failed = 2,
    /// It was terminated.
    Killed = 3,
}

/// The input with which a parked strand continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Delivery {
    /// The value that the call it waits in answers.
    Value,
    /// An element of a typed channel: untyped code gets an object for it.
    Element,
    /// An exception to be signalled from that call.
    Exception,
    /// The channel or barrier it waited for was poisoned.
    Poison,
    /// Nothing: it is to end.
    Kill,
}

/// Which strands of a vat run at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Model {
    /// One at a time, on the native thread that owns the vat.
    Exclusive,
    /// In parallel with the vat's other strands.
    Parallel,
}

/// The way in which a resumed strand continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It begins with its message.
    New,
    /// In a call, which the delivery completes.
    InCall,
    /// Before an instruction, none being in progress.
    BeforeInstruction,
    /// It has stopped like this, with the value in its object, which the owner of its vat is to see to.
    Stopped(Stop),
}

/// The largest word for how a strand ended: no strand is at an address like that.
const LARGEST_ENDING: u64 = Word::from_small_integer_unchecked(Ending::Killed as i64).bits();

/// The purpose of a strand, and the present one of its steps, if it has several: when one has returned, the next one
/// begins on the same empty stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Role {
    /// A process of typed code, or an embedder's use of a channel of typed code.
    Typed,
    /// A branch of a fork: see [`crate::concurrency::processes::forks`].
    Branch,
    /// A process, about to make the instance that it runs.
    Maker,
    /// A process.
    Process,
    /// The main strand of a program, about to make the module's instance.
    Loader,
    /// The main strand of a program.
    Main,
    /// Anything else.
    Other,
}

/// A strand's native part. The order of the fields is that of their use: parking, queueing and the collector need the first
/// 64 bytes, entering the strand those after them, and the rest is for rare occasions.
#[repr(C)]
pub struct Strand {
    /// The state that several threads may change.
    status: Status,
    /// Where it stands, unless it runs.
    state: SavedState,
    /// The strand object; the collector updates it.
    pub object: RootWord,
    /// The call it waits in.
    site: Owned<Option<&'static Site>>,
    /// The number of the worker that runs it, plus 1; 0 if it does not run.
    worker: AtomicU32,
    /// The way in which it continues.
    standing: Shown<Standing>,
    /// Whether it is in the list of those that ran since the last collection.
    touched: AtomicBool,
    /// Which strands run beside it.
    model: Shown<Model>,
    /// Whether there may be references to the strand object.
    is_exposed: AtomicBool,
    stack: Owned<Stack>,
    /// The vat it belongs to; none while the strand is alone in it and has not asked for it.
    vat: ShownVat,
    /// The transaction that it is in, unless it runs.
    transaction: Owned<Option<Box<Transaction>>>,
    /// The sandbox that it belongs to, or null.
    sandbox: AtomicPtr<Sandbox>,
    /// Where the native thread waits on whose stack C has called this strand's code, else null.
    anchor: AtomicPtr<Anchor>,
    /// What few strands have.
    aside: Owned<Option<Box<Aside>>>,
    /// The homes that it has been given.
    pub affinity: Affinity,
    /// The place of the timer that wakes it if nothing else does, plus 1, else 0; the thread that claims the strand
    /// cancels the timer.
    timer: AtomicU32,
    /// When it parked, in the scheduler's ticks.
    parked_at: AtomicU32,
    /// C's `errno` as the last call of C has left it.
    errno: AtomicI32,
    /// A number that no other strand has, as a small integer's bits.
    identity: AtomicU64,
    /// The program's call that started it, or sent its message.
    origin: ShownSite,
    /// Its delivery when it continues.
    delivery: Shown<Delivery>,
    /// Its purpose.
    role: Shown<Role>,
    /// Whether it may not begin yet: see [`crate::concurrency::early_actors`].
    is_held: AtomicBool,
    /// Whether a recording tells of its beginning: see [`crate::state::replays`].
    is_told: AtomicBool,
    /// Whether it has parked while a [profile](crate::state::waits) is made.
    timing: Shown<Timing>,
    /// Which of [`SIZES`] it has.
    size: u8,
}

/// The numbers of words at the bottom of a strand's stack, which determine the cost of processes: most need little more
/// than the frame they begin with.
pub const SIZES: [usize; 4] = [SMALL, MEDIUM, LARGE, LARGEST];
const SMALL: usize = 14;
const MEDIUM: usize = 30;
const LARGE: usize = 62;
const LARGEST: usize = 510;

/// Words beyond the first frame, for its calls.
const CALLED: usize = 6;

/// The size for a strand whose first frame has this many words.
pub fn size_for(frame_words: usize) -> usize {
    let fits = |&words: &usize| frame_words + CALLED <= words;
    SIZES[..ANY_SIZE].iter().position(fits).unwrap_or(ANY_SIZE - 1)
}

/// The size for a strand that may begin with anything. Most of these are used for one turn after the
/// other, so they are few.
pub const ANY_SIZE: usize = SIZES.len() - 1;

/// A strand, and the bottom of its stack.
#[repr(C)]
struct WithBottom<const N: usize> {
    strand: Strand,
    bottom: Bottom<N>,
}

/// The priority of ordinary strands.
pub const ORDINARY_PRIORITY: u8 = 40;

/// The address of a strand's native part, which stays where it is as long as the VM. Machine code reads it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct StrandRef(NonNull<Strand>);

// SAFETY: the strand is `Sync`.
unsafe impl Send for StrandRef {}
// SAFETY: as for `Send`.
unsafe impl Sync for StrandRef {}

impl std::ops::Deref for StrandRef {
    type Target = Strand;

    #[inline(always)]
    fn deref(&self) -> &Strand {
        // SAFETY: strands live in slabs that are never freed.
        unsafe { self.0.as_ref() }
    }
}

impl StrandRef {
    /// The address, which is a multiple of 8.
    pub fn address(self) -> usize {
        self.0.as_ptr() as usize
    }

    /// The strand at an address that [`StrandRef::address`] answered.
    ///
    /// # Safety
    ///
    /// It did.
    pub unsafe fn from_address(address: usize) -> StrandRef {
        // SAFETY: addresses of strands are not null.
        StrandRef(unsafe { NonNull::new_unchecked(address as *mut Strand) })
    }

    /// The strand of a strand object; `None` if it has ended, or the object is another one.
    #[inline]
    pub fn of_object(object: Object) -> Option<StrandRef> {
        if object.layout() != known::STRAND {
            return None;
        }
        StrandRef::of_strand_object(object)
    }

    /// The strand of a strand object; `None` if it has ended.
    #[inline(always)]
    pub fn of_strand_object(object: Object) -> Option<StrandRef> {
        debug_assert!(object.layout() == known::STRAND);
        // SAFETY: strand objects have this slot, and no guest code reaches their slots.
        let native = unsafe { object.slot_unchecked(slots::NATIVE) };
        // The word of an aligned address is its bits.
        let address = (native.bits() > LARGEST_ENDING).then_some(native.bits() as *mut Strand);
        address.and_then(NonNull::new).map(StrandRef)
    }

    /// The strand object.
    #[inline(always)]
    pub fn object(self) -> Object {
        // SAFETY: from the first life on, this is a strand object.
        unsafe { self.object.get().object_unchecked() }
    }

    /// A slot of the strand object, of those in [`slots`].
    #[inline(always)]
    pub fn slot(self, index: usize) -> Word {
        assert!(index <= slots::WAITS_FOR);
        // SAFETY: the object is a strand object, which has the slot.
        unsafe { self.object().slot_unchecked(index) }
    }

    /// Stores into a slot of the strand object, of those in [`slots`].
    #[inline(always)]
    pub fn set_slot(self, mutator: &mut Mutator, index: usize, value: Word) {
        assert!(index <= slots::WAITS_FOR);
        // SAFETY: as for `slot`.
        unsafe { self.object().set_own_slot_unchecked(mutator, index, value) };
    }

    /// The vat it belongs to; none while the strand is alone in it and has not asked for it.
    #[inline(always)]
    pub fn vat(self) -> Option<VatRef> {
        self.vat.get()
    }

    /// Which strands run beside it.
    #[inline(always)]
    pub fn model(self) -> Model {
        self.model.get()
    }

    /// Whether it runs without regard to other strands of its vat, if it has one.
    #[inline(always)]
    pub fn is_beside_others(self) -> bool {
        self.vat().is_none() || self.model() == Model::Parallel
    }

    /// Its purpose.
    #[inline(always)]
    pub fn role(self) -> Role {
        self.role.get()
    }

    /// The way in which it continues.
    #[inline(always)]
    pub fn standing(self) -> Standing {
        self.standing.get()
    }

    /// Whether it continues in a call, which the delivery completes.
    #[inline(always)]
    pub fn is_in_call(self) -> bool {
        self.standing.is(Standing::InCall)
    }

    /// Whether it continues in its code: it has begun, and has not stopped for good.
    #[inline(always)]
    pub fn stands_in_code(self) -> bool {
        matches!(self.standing(), Standing::InCall | Standing::BeforeInstruction)
    }

    /// Where it stands, unless it runs.
    #[inline(always)]
    pub fn saved_state(self) -> State {
        self.state.get()
    }

    /// The program's call that started it, or sent its message.
    pub fn origin(self) -> Option<&'static Site> {
        self.origin.get()
    }

    /// Offset of [`identity`](StrandRef::identity) from the strand's address.
    pub const IDENTITY: usize = std::mem::offset_of!(Strand, identity);

    /// Offset of the wishes of others from the strand's address.
    pub const WISHES: usize = std::mem::offset_of!(Strand, status) + Status::WISHES;

    /// The wish to [end it](StrandRef::is_killed).
    pub const KILLED: u64 = Status::KILLED;

    /// A number that no other strand has, as a small integer's bits.
    #[inline(always)]
    pub fn identity(self) -> u64 {
        self.identity.load(Ordering::Relaxed)
    }

    /// When it parked, in the scheduler's ticks.
    pub fn parked_at(self) -> u32 {
        self.parked_at.load(Ordering::Relaxed)
    }

    /// The place of the timer that wakes it if nothing else does, plus 1, else 0.
    #[inline(always)]
    pub fn timer(self) -> u32 {
        self.timer.load(Ordering::Relaxed)
    }

    /// C's `errno` as the last call of C has left it.
    pub fn errno(self) -> i32 {
        self.errno.load(Ordering::Relaxed)
    }

    /// Whether it may not begin yet: see [`crate::concurrency::early_actors`].
    pub fn is_held(self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    /// Whether it may not begin yet. For the table of early actors, which has it meanwhile.
    pub fn set_held(self, is_held: bool) {
        self.is_held.store(is_held, Ordering::Relaxed);
    }

    /// Where the native thread is that alone can run it, because C has called it there.
    #[inline]
    pub fn anchor(&self) -> Option<&Anchor> {
        // SAFETY: the setter takes it back before the anchor is dropped.
        unsafe { self.anchor.load(Ordering::Relaxed).as_ref() }
    }

    /// Only this anchor's native thread runs the strand from now on. Answers the former one.
    pub fn set_anchor(&self, anchor: *const Anchor) -> *const Anchor {
        self.affinity.set_anchored(!anchor.is_null());
        self.anchor.swap(anchor.cast_mut(), Ordering::Relaxed)
    }

    /// The sandbox that it belongs to.
    #[inline]
    pub fn sandbox(self) -> Option<SandboxRef> {
        SandboxRef::of_pointer(&self.sandbox)
    }

    /// The bytes that its stack takes. Only while it stands.
    pub(crate) fn stack_bytes(self) -> u64 {
        // SAFETY: while all mutators stand, no thread changes it.
        (unsafe { &*self.stack.as_ptr() }.words() * WORD_BYTES) as u64
    }

    /// The native bytes that its unfinished works hold. Only while it stands.
    pub(crate) fn work_bytes(self) -> u64 {
        // SAFETY: while all mutators stand, no thread changes them.
        let aside = unsafe { &*self.aside.as_ptr() };
        aside.as_ref().map_or(0, |aside| aside.works.bytes() as u64)
    }

    /// The bytes that its transaction takes, unless it runs. Only while it stands.
    pub(crate) fn transaction_bytes(self) -> u64 {
        // SAFETY: while all mutators stand, no thread changes it.
        let transaction = unsafe { &*self.transaction.as_ptr() };
        transaction.as_ref().map_or(0, |transaction| transaction.bytes() as u64)
    }

    /// Parks the strand, whose state is saved, and whose right the caller gives up.
    #[inline]
    fn park(self, wait: Wait) -> Parked {
        self.set_ready();
        match wait {
            Wait::Ordinary => self.status.park(),
            Wait::Patient => self.status.park_patiently(),
            Wait::Suspension => self.status.suspend_itself(),
        }
    }

    /// The ticket that it is parked with, if it is.
    pub fn current_ticket(self) -> u64 {
        self.status.ticket()
    }

    /// A recording tells of its beginning.
    pub(crate) fn tell(self) {
        self.is_told.store(true, Ordering::Relaxed);
    }

    /// Whether a recording tells of its beginning.
    #[inline]
    pub(crate) fn is_told(self) -> bool {
        self.is_told.load(Ordering::Relaxed)
    }

    /// Wins the right to wake the strand from the wait with this ticket; `None` if another thread has it.
    #[inline]
    pub fn claim(self, ticket: u64) -> Option<Claimed> {
        // SAFETY: the transition has given the strand to this thread.
        self.status.claim(ticket).then(|| unsafe { Claimed::new(self) })
    }

    /// Wins the right to wake the strand from its patient wait; `None` if another thread has it.
    pub fn claim_patient(self) -> Option<Claimed> {
        // SAFETY: as above.
        self.status.claim_patient().then(|| unsafe { Claimed::new(self) })
    }

    /// It does not run any more. It is the caller's.
    #[inline(always)]
    fn set_ready(self) {
        self.worker.store(0, Ordering::Relaxed);
    }

    /// It runs from now on. It is the caller's.
    #[inline(always)]
    fn set_running(self, worker: u32) {
        self.worker.store(worker + 1, Ordering::Relaxed);
        // A thread that ends or suspends it stores the wish, and then looks where it runs; this thread stores where it
        // runs, and then looks.
        fences::light();
    }

    /// The number of the worker that runs it, after something was asked of it: if it does not run, it will look.
    pub fn worker_asked(self) -> Option<u32> {
        fences::heavy();
        self.worker.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Whether it was asked to end.
    #[inline]
    pub fn is_killed(self) -> bool {
        self.status.is_killed()
    }

    /// Whether it was asked to end or suspended.
    #[inline(always)]
    pub fn has_wishes(self) -> bool {
        self.status.has_wishes()
    }

    /// It ends, as it was asked to.
    pub fn forget_kill(self) {
        self.status.forget_kill();
    }

    /// Whether it is to be held up where it is next parked.
    #[inline]
    pub fn is_suspended(self) -> bool {
        self.status.is_suspended()
    }

    /// Gives a priority to a new strand, which no other thread knows yet.
    pub fn set_priority(self, priority: u8) {
        self.status.set_priority(|| true, priority);
    }

    /// From 1, the least, to 80.
    #[inline]
    pub fn priority(self) -> u8 {
        self.status.priority()
    }

    /// The place where it may run. It is anywhere if C has called it: then the worker that takes it hands it over to
    /// its native thread ([`crate::concurrency::foreign::anchor`]).
    #[inline]
    pub fn home(self) -> Home {
        self.affinity.home().unwrap_or_else(|| self.home_of_vat())
    }

    /// Whether it may run where this is the home.
    #[inline]
    pub fn is_at_home(self, home: Home) -> bool {
        self.home() == home || self.affinity.is_anchored()
    }

    #[inline]
    fn home_of_vat(self) -> Home {
        let vat = self.vat().filter(|_| self.model() == Model::Exclusive);
        vat.map_or(Home::ANYWHERE, |vat| vat.home())
    }

    /// Whether it is running.
    pub fn is_running(self) -> bool {
        self.worker.load(Ordering::Relaxed) != 0
    }

    /// The index of the worker that runs it, if one does.
    pub fn worker_seen(self) -> Option<usize> {
        (self.worker.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// Whether it is parked.
    pub fn is_parked(self) -> bool {
        self.status.is_parked()
    }

    pub(crate) fn is_free(self) -> bool {
        self.status.is_free()
    }

    /// The active calls, innermost first, of a strand that stands.
    pub fn activations(self) -> impl Iterator<Item = Activation> {
        let first = (self.standing() != Standing::New).then(|| self.state.get().activation());
        // SAFETY: the frames of a strand that stands are active.
        std::iter::successors(first.flatten(), |activation| unsafe {
            activation.caller().map(|(caller, _)| caller)
        })
    }

    /// Shows the words in the transaction of a strand that stands to the collector.
    fn visit_transaction(self, visit: &mut dyn FnMut(RootAddress)) {
        let place = self.transaction.as_ptr();
        // SAFETY: the strand does not run, and while all workers stand only collector threads access its parts. None
        // of them replaces the transaction.
        if unsafe { (*place).is_none() } {
            return;
        }
        // Several collector threads may scan a strand object at once.
        let _one_at_a_time = TRANSACTION_VISIT.lock();
        // SAFETY: as above; the reference lives no longer than the lock is held, so it has no alias. It does not cover
        // the words, which are in vectors: their addresses outlive it.
        if let Some(transaction) = unsafe { (*place).as_deref_mut() } {
            transaction.visit(visit);
        }
    }

    /// Shows the words in its frames to the collector.
    pub(crate) fn visit_frames(self, visit: &mut dyn FnMut(RootAddress)) {
        if self.is_running() || self.is_free() {
            return;
        }
        self.visit_transaction(visit);
        let standing = self.standing();
        if standing != Standing::New {
            let before = standing == Standing::BeforeInstruction;
            crate::state::roots::visit_state(self.state.get(), before, visit);
        }
    }
}

/// The right of a collector thread to visit the transactions of strands.
static TRANSACTION_VISIT: Mutex<()> = Mutex::new(());

/// The kind of a strand's wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// A wait that ending the strand cuts short.
    Ordinary,
    /// Something that it gets even if it is to end.
    Patient,
    /// To be resumed.
    Suspension,
}

/// A strand in one of the lives of its native part. Its object distinguishes them: each life has an object of its own.
/// An operation on it reaches no other life, even if this one ends meanwhile. Not to be kept over a GC point.
#[derive(Clone, Copy)]
pub struct Life {
    strand: StrandRef,
    object: Object,
}

impl Life {
    /// The life of the strand with this object; `None` if it has ended.
    pub fn of_object(object: Object) -> Option<Life> {
        StrandRef::of_object(object).map(|strand| Life { strand, object })
    }

    /// The strand.
    pub fn strand(self) -> StrandRef {
        self.strand
    }

    /// Whether the native part has this life, unless it is free.
    fn is_current(self) -> bool {
        self.strand.object.get() == self.object.word()
    }

    /// See [`Status::kill`].
    pub fn kill(self) -> Option<Killed<Claimed>> {
        Some(match self.strand.status.kill(|| self.is_current())? {
            // SAFETY: the transition has given the strand to this thread.
            Killed::Claimed(()) => Killed::Claimed(unsafe { Claimed::new(self.strand) }),
            Killed::Patient => Killed::Patient,
            Killed::Owned => Killed::Owned,
        })
    }

    /// See [`Status::suspend`].
    pub fn suspend(self) -> bool {
        self.strand.status.suspend(|| self.is_current())
    }

    /// See [`Status::resume`].
    pub fn resume(self) -> Option<Resumed<Claimed>> {
        Some(match self.strand.status.resume(|| self.is_current())? {
            // SAFETY: the transition has given the strand to this thread.
            Resumed::Claimed(()) => Resumed::Claimed(unsafe { Claimed::new(self.strand) }),
            Resumed::Unnoticed => Resumed::Unnoticed,
            Resumed::NotSuspended => Resumed::NotSuspended,
        })
    }

    /// See [`Status::set_priority`].
    pub fn set_priority(self, priority: u8) -> bool {
        self.strand.status.set_priority(|| self.is_current(), priority)
    }
}

impl Strand {
    fn new(size: usize) -> Strand {
        Strand {
            status: Status::default(),
            state: SavedState::new(State::NONE),
            site: Owned::new(None),
            origin: ShownSite::new(),
            stack: Owned::new(Stack::NONE),
            object: RootWord::default(),
            vat: ShownVat::default(),
            transaction: Owned::new(None),
            aside: Owned::new(None),
            identity: AtomicU64::new(0),
            timer: AtomicU32::new(0),
            parked_at: AtomicU32::new(0),
            worker: AtomicU32::new(0),
            is_exposed: AtomicBool::new(false),
            is_held: AtomicBool::new(false),
            is_told: AtomicBool::new(false),
            timing: Shown::new(Timing::None),
            touched: AtomicBool::new(false),
            model: Shown::new(Model::Exclusive),
            role: Shown::new(Role::Other),
            standing: Shown::new(Standing::New),
            delivery: Shown::new(Delivery::Value),
            affinity: Affinity::default(),
            errno: AtomicI32::new(0),
            anchor: AtomicPtr::default(),
            sandbox: AtomicPtr::default(),
            size: size as u8,
        }
    }
}

pub(crate) fn make_counted(
    thread: &mut Thread,
    vat: Option<VatRef>,
    model: Model,
    size: usize,
    sandbox: Option<SandboxRef>,
) -> Result<Claimed, Failure> {
    if model == Model::Parallel {
        // Strands that run in parallel have no order between one's store into a slot and the other's load.
        slot_kinds::give_up();
    }
    let class = thread.vm.known_class(KnownClass::Object);
    let object = allocated(thread.mutator.allocate_slots(known::STRAND, class))?;
    if thread.free_strands[size].is_empty() {
        thread.vm.strands.refill(&mut thread.free_strands[size], size);
    }
    let Some(strand) = thread.free_strands[size].pop() else {
        return Err(Failure::out_of_memory());
    };
    let zero = Word::from_small_integer_unchecked(0);
    let task = thread.message.first().copied().unwrap_or(Word::NIL);
    // SAFETY: strand objects have these slots.
    unsafe {
        object.initialize_slot_unchecked(slots::LOCK, zero);
        object.initialize_slot_unchecked(slots::NATIVE, Word::from_address(strand.address()));
        object.initialize_slot_unchecked(slots::TICKET, zero);
        let vat = vat.map_or(Word::NIL, |vat| vat.object.get());
        object.initialize_slot_unchecked(slots::VAT, vat);
        object.initialize_slot_unchecked(slots::TASK, task);
    }
    // SAFETY: the strand was free, and is this thread's; no other thread knows its new life.
    let claimed = unsafe { Claimed::new(strand) };
    strand.object.set(object.word());
    claimed.set_vat(vat);
    claimed.set_shared(shared::for_started(thread, vat));
    strand.model.set(model);
    claimed.set_origin(None);
    claimed.set_role(Role::Other);
    claimed.set_standing(Standing::New);
    claimed.set_delivery(Delivery::Value);
    strand.affinity.reset();
    claimed.set_errno(0);
    strand.is_exposed.store(false, Ordering::Relaxed);
    strand.sandbox.store(SandboxRef::pointer(sandbox), Ordering::Relaxed);
    strand.identity.store(new_identity(thread), Ordering::Relaxed);
    strand.status.make(ORDINARY_PRIORITY);
    note_made(thread, strand, vat);
    touch(thread, strand);
    Ok(claimed)
}

/// Notes that the running strand has made another one. Turns, which workers make, are noted as such.
#[inline(always)]
fn note_made(thread: &Thread, strand: StrandRef, vat: Option<VatRef>) {
    if !thread.is_recording() {
        return;
    }
    strand.is_told.store(false, Ordering::Relaxed);
    if thread.running_strand().is_some() {
        thread.tape_started(strand);
        thread.note(Kind::StrandCreated, || {
            let site = recording::number_of_call(thread);
            [recording::number_of(strand), recording::number_of_vat(thread.vm, vat), site]
        });
    }
}

/// A number that no other strand ever had, a multiple of 8.
fn new_identity(thread: &mut Thread) -> u64 {
    loop {
        if let Some(identity) = thread.identities.next() {
            return identity << 3;
        }
        thread.identities = thread.vm.strands.new_identities();
    }
}

/// Makes an ended strand without references begin anew with a message of this vat.
#[inline(always)]
pub fn renew(thread: &mut Thread, claimed: &Claimed, vat: VatRef, message: Object) {
    claimed.strand().set_slot(&mut thread.mutator, slots::VAT, vat.object.get());
    claimed.strand().set_slot(&mut thread.mutator, slots::TASK, message.word());
    claimed.set_vat(Some(vat));
    claimed.set_role(Role::Other);
    claimed.set_origin(None);
    claimed.identity.store(new_identity(thread), Ordering::Relaxed);
    touch(thread, claimed.strand());
}

/// Prepares an ended strand for [`renew`], if there are no references to it: only waiting makes references, and asking
/// which strand runs. Answers the strand if it cannot be kept.
pub fn keep(thread: &mut Thread, claimed: Claimed) -> Option<Claimed> {
    let is_exposed = claimed.is_exposed.load(Ordering::Relaxed);
    if is_exposed || thread.turn_strand.is_some() || claimed.sandbox().is_some() {
        return Some(claimed);
    }
    for slot in [slots::VAT, slots::VALUE, slots::TASK, slots::LOCAL] {
        claimed.strand().set_slot(&mut thread.mutator, slot, Word::NIL);
    }
    claimed.set_vat(None);
    claimed.set_standing(Standing::New);
    // The frames of the turn are gone, and a debugger is told that the strand goes on before its next turn begins.
    claimed.set_state(State::NONE);
    claimed.affinity.reset();
    claimed.set_ready();
    thread.turn_strand = Some(claimed);
    None
}

/// Makes the strand that runs here, whose turn has ended and which is not exposed, as new as [`keep`] and [`renew`] do for
/// another turn of its vat.
#[inline(always)]
pub fn begin_again(thread: &mut Thread, strand: StrandRef) {
    for slot in [slots::VALUE, slots::LOCAL] {
        if strand.slot(slot) != Word::NIL {
            strand.set_slot(&mut thread.mutator, slot, Word::NIL);
        }
    }
    strand.affinity.reset();
    strand.identity.store(new_identity(thread), Ordering::Relaxed);
    touch(thread, strand);
}

/// Tells the collector that the strand has changed since the last collection.
#[inline(always)]
pub fn touch(thread: &mut Thread, strand: StrandRef) {
    // Two accesses: a strand is touched by its own thread only.
    if !strand.touched.load(Ordering::Relaxed) {
        strand.touched.store(true, Ordering::Relaxed);
        thread.touched.push(strand);
    }
    thread.mutator.remember(strand.object());
}

/// Shows the objects of the strands in this list, which is emptied, to the collector. A full collection
/// needs no such roots.
pub(crate) fn visit_touched(
    touched: &mut Vec<StrandRef>,
    kind: CollectionKind,
    visit: &mut dyn FnMut(RootAddress),
) {
    for strand in touched.drain(..) {
        strand.touched.store(false, Ordering::Relaxed);
        if kind == CollectionKind::Nursery && !strand.is_free() {
            strand.object.visit(visit);
        }
    }
}

/// The native part of a strand that has ended is free.
pub fn free(thread: &mut Thread, mut claimed: Claimed) {
    release(&mut claimed);
    let strand = claimed.hand_on();
    let size = usize::from(strand.size);
    let pool = &mut thread.free_strands[size];
    pool.push(strand);
    if pool.len() > 2 * BATCH {
        thread.vm.strands.give_back(size, pool.drain(BATCH..));
    }
}

/// Ends a strand that was made and never was ready, so that no other thread knows it.
pub fn forget(thread: &mut Thread, claimed: Claimed) {
    set_ending(thread, claimed.object(), Ending::Killed, Word::NIL);
    free(thread, claimed);
}

/// Frees the native part of a strand whose object is dead. Called by the collector.
pub(crate) fn free_lost(strands: &Strands, strand: StrandRef) {
    // SAFETY: nothing can ever claim the strand, and all mutators stand.
    let mut lost = unsafe { Claimed::new(strand) };
    let memory = strand.vat().and_then(|vat| vat.memory());
    if let (Some(memory), Some(mut transaction)) = (memory, lost.take_transaction()) {
        transaction.lose_strand(memory);
    }
    if let Some(shared) = lost.take_shared() {
        shared.lose(strand);
    }
    release(&mut lost);
    strands.give_back(usize::from(strand.size), std::iter::once(strand));
}

/// Makes the native part of a strand free that has ended or is lost.
fn release(claimed: &mut Claimed) {
    let stack = claimed.stack();
    let base = stack.base();
    stack.cut_to(base);
    claimed.set_vat(None);
    claimed.set_transaction(None);
    claimed.drop_aside();
    claimed.set_site(None);
    claimed.set_state(State::NONE);
    let strand = claimed.strand();
    strand.set_held(false);
    strand.affinity.reset();
    if let Some(sandbox) = strand.sandbox() {
        sandbox.remove_strand();
        strand.sandbox.store(std::ptr::null_mut(), Ordering::Relaxed);
    }
    strand.set_ready();
    strand.status.finish();
}

/// Gives the strands that a thread keeps, and its notes for the next collection, to the other threads.
pub(crate) fn leave(thread: &mut Thread) {
    let strands = &thread.vm.strands;
    strands.orphans.lock().append(&mut thread.touched);
    if let Some(strand) = thread.turn_strand.take() {
        free(thread, strand);
    }
    for size in 0..SIZES.len() {
        let free = std::mem::take(&mut thread.free_strands[size]);
        strands.give_back(size, free.into_iter());
    }
}

/// Sets the ending of the strand of this object, and its value.
pub fn set_ending(thread: &mut Thread, object: Object, ending: Ending, value: Word) {
    object.set_slot(&mut thread.mutator, slots::VALUE, value);
    let ending = Word::from_small_integer_unchecked(ending as i64);
    object.set_slot(&mut thread.mutator, slots::NATIVE, ending);
}

/// How the strand of this object ended.
pub fn ending(object: Object) -> Ending {
    match object.slot(slots::NATIVE).as_small_integer() {
        Some(1) => Ending::Returned,
        Some(2) => Ending::Failed,
        Some(3) => Ending::Killed,
        _ => Ending::Live,
    }
}
