//! The right to a strand, as values. Workers, waiting and calls get them by the transitions of [`super::status`], and
//! access the strand's cells through them.
//!
//! ```text
//!   make ───▶ Claimed ──run──▶ Running ──park──▶ (parked: a ticket)
//!               ▲ ▲              │                     │
//!               │ └─────stop─────┘                     │
//!               └────────claim, kill, resume───────────┘
//! ```
//!
//! Invariant: for each strand there is one value of these types at most: a [`Claimed`] where the strand is about to run,
//! stands in the ready list of a vat, or has just stopped, or the [`Running`] of the thread that runs it; and none while
//! the strand is parked or free. Neither can be copied, and none is shared by threads. So code that has one is the only
//! code that accesses the strand's [`Owned`] cells, and no strand is in two queues.
//!
//! Run queues hold a strand as one word ([`crate::state::items`]): [`Claimed::hand_on`] ends the right there, and
//! [`Claimed::new`] begins it anew.
//!
//! The collector reads the cells while all mutators stand. They have no reference into a cell then, but for the stack,
//! whose chunks the collector does not change.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::{from_ref, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU8};

use squall_heap::Word;

use super::status::Parked;
use super::{Delivery, Model, Role, Standing, StrandRef, Wait};
use crate::model::function::Site;
use crate::model::types::Type;
use crate::state::stack::{CHUNK_HEADER, CHUNK_RESULT, Stack};
use crate::state::thread::{State, Stop};
use crate::state::transactions::record::Transaction;
use crate::state::transactions::shared::Shared;
use crate::state::vat::{Vat, VatRef};
use crate::state::waits::Timing;
use crate::state::work::Works;

/// A cell of a strand that belongs to the party with the right to the strand.
pub(super) struct Owned<T>(Cell<T>);

// SAFETY: while mutators run, only the methods of `Held` reach the content, of which one exists for each strand. It is on
// one thread at a time, and the transitions and queues that hand it on synchronise. The contents may be on any thread.
unsafe impl<T> Sync for Owned<T> {}

impl<T> Owned<T> {
    pub(super) fn new(content: T) -> Owned<T> {
        Owned(Cell::new(content))
    }

    /// The content's address.
    pub(super) fn as_ptr(&self) -> *mut T {
        self.0.as_ptr()
    }
}

/// What few strands have, so it has no place in the others.
#[derive(Default)]
pub(super) struct Aside {
    /// The transaction that the strand executes together with other strands.
    shared: Option<Arc<Shared>>,
    /// The type of the channel whose element it gets ([`Delivery::Element`]).
    element: Option<Type>,
    /// The long works that it has begun.
    pub(super) works: Works,
}

/// A cell of one byte, which the party with the right to the strand writes, and any thread reads.
pub(super) struct Shown<T>(AtomicU8, PhantomData<T>);

/// A value in one byte.
pub(super) trait Byte: Copy {
    fn to_byte(self) -> u8;
    fn of_byte(byte: u8) -> Self;
}

impl<T: Byte> Shown<T> {
    pub(super) fn new(content: T) -> Shown<T> {
        Shown(AtomicU8::new(content.to_byte()), PhantomData)
    }

    // Relaxed: readers that need more than a value that was there have the strand from its writer.
    #[inline(always)]
    pub(super) fn get(&self) -> T {
        T::of_byte(self.0.load(Relaxed))
    }

    #[inline(always)]
    pub(super) fn set(&self, content: T) {
        self.0.store(content.to_byte(), Relaxed);
    }

    /// Whether it has this content.
    #[inline(always)]
    pub(super) fn is(&self, content: T) -> bool {
        self.0.load(Relaxed) == content.to_byte()
    }
}

impl Byte for Model {
    #[inline(always)]
    fn to_byte(self) -> u8 {
        self as u8
    }

    #[inline(always)]
    fn of_byte(byte: u8) -> Model {
        if byte == Model::Exclusive as u8 { Model::Exclusive } else { Model::Parallel }
    }
}

impl Byte for Role {
    #[inline(always)]
    fn to_byte(self) -> u8 {
        self as u8
    }

    #[inline(always)]
    fn of_byte(byte: u8) -> Role {
        use Role::*;
        const ALL: [Role; 7] = [Typed, Branch, Maker, Process, Loader, Main, Other];
        ALL.get(usize::from(byte)).copied().unwrap_or(Other)
    }
}

impl Byte for Timing {
    #[inline(always)]
    fn to_byte(self) -> u8 {
        self as u8
    }

    #[inline(always)]
    fn of_byte(byte: u8) -> Timing {
        const ALL: [Timing; 3] = [Timing::None, Timing::Waits, Timing::Measured];
        ALL.get(usize::from(byte)).copied().unwrap_or(Timing::None)
    }
}

impl Byte for Delivery {
    #[inline(always)]
    fn to_byte(self) -> u8 {
        self as u8
    }

    #[inline(always)]
    fn of_byte(byte: u8) -> Delivery {
        use Delivery::*;
        const ALL: [Delivery; 5] = [Value, Element, Exception, Poison, Kill];
        ALL.get(usize::from(byte)).copied().unwrap_or(Kill)
    }
}

/// The stops of a strand that the owner of its vat may have to see to.
const STOPS: [Stop; 9] = [
    Stop::Returned,
    Stop::Parked,
    Stop::Preempted,
    Stop::Displaced,
    Stop::Failed,
    Stop::Killed,
    Stop::Switched,
    Stop::Hot,
    Stop::Crossed,
];

/// The byte of the first of [`STOPS`].
const STOPPED: u8 = 3;

impl Byte for Standing {
    #[inline(always)]
    fn to_byte(self) -> u8 {
        match self {
            Standing::New => 0,
            Standing::InCall => 1,
            Standing::BeforeInstruction => 2,
            Standing::Stopped(stop) => STOPPED + stop as u8,
        }
    }

    #[inline(always)]
    fn of_byte(byte: u8) -> Standing {
        match byte {
            0 => Standing::New,
            1 => Standing::InCall,
            2 => Standing::BeforeInstruction,
            stopped => {
                let stop = STOPS.get(usize::from(stopped - STOPPED)).copied();
                Standing::Stopped(stop.unwrap_or(Stop::Killed))
            }
        }
    }
}

/// A site that the party with the right to the strand writes, and any thread reads.
pub(super) struct ShownSite(AtomicPtr<Site>);

impl ShownSite {
    pub(super) fn new() -> ShownSite {
        ShownSite(AtomicPtr::new(null_mut()))
    }

    #[inline(always)]
    pub(super) fn get(&self) -> Option<&'static Site> {
        // SAFETY: `set` stores null, or the address of an immortal site, which was complete when it got its address.
        unsafe { self.0.load(Relaxed).as_ref() }
    }

    #[inline(always)]
    pub(super) fn set(&self, site: Option<&'static Site>) {
        self.0.store(site.map_or(null_mut(), |site| from_ref(site).cast_mut()), Relaxed);
    }
}

/// A vat that the party with the right to the strand writes, and any thread reads.
#[derive(Default)]
pub(super) struct ShownVat(AtomicPtr<Vat>);

impl ShownVat {
    #[inline(always)]
    pub(super) fn get(&self) -> Option<VatRef> {
        // SAFETY: `set` stores null, or the pointer of a vat.
        unsafe { VatRef::from_pointer(self.0.load(Relaxed)) }
    }

    fn set(&self, vat: Option<VatRef>) {
        let pointer = vat.map_or(null_mut(), VatRef::pointer);
        self.0.store(pointer, Relaxed);
    }
}

/// The right to a strand's cells: that of a [`Claimed`] or a [`Running`].
#[derive(PartialEq, Eq, Debug)]
pub struct Held {
    strand: StrandRef,
    /// A reference to this is not shared by threads.
    one_thread: PhantomData<Cell<()>>,
}

/// A strand that belongs to the caller, and does not run. See the head of the file.
#[must_use = "a claimed strand that is put nowhere never runs again"]
#[derive(PartialEq, Eq, Debug)]
pub struct Claimed(Held);

/// A strand that runs on the thread that has this.
#[derive(PartialEq, Eq, Debug)]
pub struct Running(Held);

impl Claimed {
    /// The right to a strand.
    ///
    /// # Safety
    ///
    /// The strand belongs to the caller, and there is no other right to it: it was just taken from a run queue, or a
    /// transition of its status has just given it to the caller.
    #[inline(always)]
    pub unsafe fn new(strand: StrandRef) -> Claimed {
        Claimed(Held { strand, one_thread: PhantomData })
    }

    /// Gives the right up: the strand is put into a run queue.
    #[inline(always)]
    pub fn hand_on(self) -> StrandRef {
        self.0.strand
    }

    /// The strand runs on this thread from now on.
    #[inline(always)]
    pub fn run(self) -> Running {
        Running(self.0)
    }

    /// Parks the strand again, whose state is saved.
    #[inline]
    pub fn park(self, wait: Wait) -> Parked {
        self.0.strand.park(wait)
    }

    /// Parks the strand if it is suspended: then it is answered only if it was resumed meanwhile.
    pub fn hold_up(self) -> Option<Claimed> {
        let is_parked = self.0.strand.status.hold_up();
        (!is_parked).then_some(self)
    }
}

impl Running {
    /// The strand has stopped, and is not parked.
    #[inline(always)]
    pub fn stop(self) -> Claimed {
        Claimed(self.0)
    }

    /// Parks the strand, whose state is saved.
    #[inline]
    pub fn park(self, wait: Wait) -> Parked {
        self.0.strand.park(wait)
    }
}

impl Held {
    /// The strand, for a look at it while the right is kept.
    #[inline(always)]
    pub fn strand(&self) -> StrandRef {
        self.strand
    }

    /// The stack.
    #[inline(always)]
    pub fn stack(&mut self) -> &mut Stack {
        // SAFETY: the right is borrowed mutably as long as the reference lives, so there is no other one; the collector
        // only reads, and not the fields that references lead to while a mutator stands.
        unsafe { &mut *self.strand.stack.as_ptr() }
    }

    /// The answer of its first activation, or the cause of its end; nil if it has neither, as when it has ended the
    /// program. For a strand that has stopped.
    pub fn result(&self) -> Word {
        // SAFETY: the place is below the first frame of every stack, and holds a word.
        unsafe { self.place_of_result().read() }
    }

    /// Replaces the [result](Held::result).
    pub fn set_result(&self, value: Word) {
        // SAFETY: as for `result`.
        unsafe { self.place_of_result().write(value) };
    }

    fn place_of_result(&self) -> *mut Word {
        // SAFETY: the right is borrowed, and no reference to the stack outlives a mutable borrow of it.
        let base = unsafe { (*self.strand.stack.as_ptr()).base() };
        base.wrapping_sub(CHUNK_HEADER).wrapping_add(CHUNK_RESULT)
    }

    /// Saves where it stands.
    #[inline(always)]
    pub fn set_state(&self, state: State) {
        self.strand.state.set(state);
    }

    /// Saves where it stands and how it goes on there, with nothing delivered so far.
    #[inline(always)]
    pub fn stand_at(&self, state: State, standing: Standing) {
        self.set_state(state);
        self.set_standing(standing);
        self.set_delivery(Delivery::Value);
    }

    /// Changes the way in which it continues.
    #[inline(always)]
    pub fn set_standing(&self, standing: Standing) {
        self.strand.standing.set(standing);
    }

    /// Its delivery, when it continues.
    #[inline(always)]
    pub fn delivery(&self) -> Delivery {
        self.strand.delivery.get()
    }

    /// Whether its delivery is the value that its call answers.
    #[inline(always)]
    pub fn gets_value(&self) -> bool {
        self.strand.delivery.is(Delivery::Value)
    }

    /// Replaces the delivery.
    #[inline(always)]
    pub fn set_delivery(&self, delivery: Delivery) {
        self.strand.delivery.set(delivery);
    }

    /// Notes the type of the channel whose element it gets.
    pub fn set_element(&self, kind: Type) {
        self.with_aside(|aside| aside.element = Some(kind));
    }

    /// The type of the channel whose element it gets.
    pub fn take_element(&self) -> Option<Type> {
        self.with_aside(|aside| aside.element.take())
    }

    /// Notes the call that it waits in.
    #[inline(always)]
    pub fn set_site(&self, site: Option<&'static Site>) {
        self.strand.site.0.set(site);
    }

    /// The call that it waits in.
    #[inline(always)]
    pub fn site(&self) -> Option<&'static Site> {
        self.strand.site.0.get()
    }

    /// The call that it has waited in.
    #[inline(always)]
    pub fn take_site(&self) -> Option<&'static Site> {
        self.strand.site.0.take()
    }

    /// Notes the program's call that has started it, or sent its message.
    pub fn set_origin(&self, origin: Option<&'static Site>) {
        self.strand.origin.set(origin);
    }

    /// It belongs to this vat from now on.
    pub fn set_vat(&self, vat: Option<VatRef>) {
        self.strand.vat.set(vat);
    }

    /// Changes its purpose.
    pub fn set_role(&self, role: Role) {
        self.strand.role.set(role);
    }

    /// Sets its transaction aside.
    pub fn set_transaction(&self, transaction: Option<Box<Transaction>>) {
        self.strand.transaction.0.set(transaction);
    }

    /// Whether a transaction was set aside.
    #[inline(always)]
    pub fn has_transaction(&self) -> bool {
        // SAFETY: the right is borrowed, and no reference into the cell outlives a call of the methods here.
        unsafe { (*self.strand.transaction.as_ptr()).is_some() }
    }

    /// The transaction that was set aside.
    #[inline(always)]
    pub fn take_transaction(&self) -> Option<Box<Transaction>> {
        self.strand.transaction.0.take()
    }

    /// It executes this transaction together with other strands.
    pub fn set_shared(&self, shared: Option<Arc<Shared>>) {
        if shared.is_some() || self.is_shared() {
            self.with_aside(|aside| aside.shared = shared);
        }
    }

    /// Whether it executes a transaction together with other strands.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        // SAFETY: the right is borrowed, and no reference into the cell outlives a call of the methods here.
        let aside = unsafe { &*self.strand.aside.as_ptr() };
        aside.as_ref().is_some_and(|aside| aside.shared.is_some())
    }

    /// The transaction that it executes together with other strands.
    #[inline(always)]
    pub fn take_shared(&self) -> Option<Arc<Shared>> {
        if self.is_shared() { self.with_aside(|aside| aside.shared.take()) } else { None }
    }

    /// Whether it is in no sandbox and transaction, needs to own no vat, has no home and no call of C below it, and has nothing
    /// aside: a thread that had another such strand needs nothing else for it.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        // SAFETY: as for `is_shared`.
        let has_aside = unsafe { (*self.strand.aside.as_ptr()).is_some() };
        // A strand with a call of C below has an affinity.
        !self.has_transaction()
            && !has_aside
            && self.strand.sandbox().is_none()
            && self.strand.affinity.is_free()
            && self.strand.is_beside_others()
            && self.strand.vat().is_none_or(|vat| vat.memory().is_none())
    }

    /// Does something with the unfinished works of the strand.
    pub fn with_works<R>(&self, action: impl FnOnce(&mut Works) -> R) -> R {
        self.with_aside(|aside| action(&mut aside.works))
    }

    fn with_aside<R>(&self, action: impl FnOnce(&mut Aside) -> R) -> R {
        let mut aside = self.strand.aside.0.take().unwrap_or_default();
        let result = action(&mut aside);
        self.strand.aside.0.set(Some(aside));
        result
    }

    /// Drops what few strands have: the works that were left with this one, and its part in a common transaction.
    pub fn drop_aside(&self) {
        self.strand.aside.0.set(None);
    }

    /// Notes when it parks, in the scheduler's ticks.
    #[inline(always)]
    pub fn set_parked_at(&self, ticks: u32) {
        self.strand.parked_at.store(ticks, Relaxed);
    }

    /// Whether it has parked, for a profile.
    pub fn timing(&self) -> Timing {
        self.strand.timing.get()
    }

    /// Notes whether it has parked, for a profile.
    pub fn set_timing(&self, timing: Timing) {
        self.strand.timing.set(timing);
    }

    /// Notes the place of its timer, plus 1, or 0.
    #[inline(always)]
    pub fn set_timer(&self, timer: u32) {
        self.strand.timer.store(timer, Relaxed);
    }

    /// Keeps C's `errno`.
    pub fn set_errno(&self, errno: i32) {
        self.strand.errno.store(errno, Relaxed);
    }

    /// From now on there may be references to the strand object.
    #[inline(always)]
    pub fn expose(&self) {
        self.strand.is_exposed.store(true, Relaxed);
    }

    /// Whether there may be references to the strand object.
    #[inline(always)]
    pub fn is_exposed(&self) -> bool {
        self.strand.is_exposed.load(Relaxed)
    }

    /// It does not run any more.
    #[inline(always)]
    pub fn set_ready(&self) {
        self.strand.set_ready();
    }

    /// It runs from now on.
    #[inline(always)]
    pub fn set_running(&self, worker: u32) {
        self.strand.set_running(worker);
    }
}

impl Deref for Held {
    type Target = StrandRef;

    #[inline(always)]
    fn deref(&self) -> &StrandRef {
        &self.strand
    }
}

macro_rules! leads_to_held {
    ($($right:ty),*) => {$(
        impl Deref for $right {
            type Target = Held;

            #[inline(always)]
            fn deref(&self) -> &Held {
                &self.0
            }
        }

        impl std::ops::DerefMut for $right {
            #[inline(always)]
            fn deref_mut(&mut self) -> &mut Held {
                &mut self.0
            }
        }
    )*};
}

leads_to_held!(Claimed, Running);
