//! Sandboxes as state: budgets, grants, counters, and the tree they form. Strands and vats refer to their sandbox;
//! [`crate::concurrency::sandbox`] makes, charges and ends sandboxes.
//!
//! A strand of a sandbox may get lost, as any other one. Its result is an *orphan* of the sandbox: it breaks when that ends. So is a
//! promise of the sandbox that somebody outside waits for.
//! Orphans live as long as the sandbox's object and are no reason for it to live.
//!
//! Native parts are never freed, but used again once nothing belongs to them and their object is dead. Counters are
//! atomics that any thread changes; the other fields are written before another thread knows the sandbox.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering,
};

use parking_lot::Mutex;
use squall_heap::{CollectionKind, Object, RootAddress, Tracer, Word};

use crate::model::known;
use crate::model::linking::HOST_PREFIX;
use crate::state::orphans::Orphans;
use crate::state::pacing;
use crate::state::rests::Rests;
use crate::state::roots::RootWord;
use crate::state::thread::Thread;

/// The slots of a sandbox's object.
pub mod slots {
    /// The lock.
    pub const LOCK: usize = 0;
    /// The address of the native part.
    pub const NATIVE: usize = 1;
    /// The promise for the end, or nil.
    pub const PROMISE: usize = 2;
    /// The error of promises for results that never come: a far reference to an exception, or nil.
    pub const ERROR: usize = 3;
    /// The queue of strands that have sent messages out, and wait until fewer of these are left. For the holder of the lock.
    pub const SENDERS: usize = 4;

    const _: () = crate::model::known::assert_slots(crate::model::known::SANDBOX, SENDERS + 1);
}

/// The budgets of a sandbox; `None` for no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Budgets {
    /// Calls and turns of loops.
    pub fuel: Option<u64>,
    /// Bytes.
    pub heap: Option<u64>,
    /// Strands at a time.
    pub strands: Option<u64>,
    /// Messages and writes to channels.
    pub messages: Option<u64>,
    /// Milliseconds of processor time; of virtual time under a seed.
    pub time: Option<u64>,
}

impl Budgets {
    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Budgets::default()
    }
}

/// Why a sandbox is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Reason {
    /// It is not.
    Live,
    /// The fuel is used up.
    Fuel,
    /// More memory is reachable than it may have.
    Heap,
    /// There were to be more strands.
    Strands,
    /// It has sent all messages that it may send.
    Messages,
    /// The sandbox was ended by a request.
    Terminated,
    /// It was to end the program.
    Exit,
    /// The processor time is used up.
    Time,
}

impl Reason {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Live => "live",
            Reason::Fuel => "fuel",
            Reason::Heap => "heap",
            Reason::Strands => "strands",
            Reason::Messages => "messages",
            Reason::Terminated => "terminated",
            Reason::Exit => "exit",
            Reason::Time => "time",
        }
    }

    pub(crate) fn of(bits: u8) -> Reason {
        use Reason::{Exit, Fuel, Heap, Messages, Strands, Terminated, Time};
        let reasons = [Fuel, Heap, Strands, Messages, Terminated, Exit, Time];
        reasons.into_iter().find(|reason| *reason as u8 == bits).unwrap_or(Reason::Live)
    }
}

/// A sandbox's native part.
pub struct Sandbox {
    /// The sandbox around it.
    pub(crate) parent: Cell<Option<SandboxRef>>,
    pub(crate) name: Mutex<String>,
    pub(crate) budgets: Cell<Budgets>,
    pub(crate) grants: Mutex<Grants>,
    pub(crate) reason: AtomicU8,
    pub(crate) report: Mutex<String>,
    /// Its exit code, if its end is that of the program.
    pub(crate) exit_code: Cell<Option<i32>>,
    /// The object; the collector updates it.
    pub(crate) object: RootWord,
    /// The rest of each budget.
    pub(crate) fuel: AtomicI64,
    /// Bytes that may be allocated before one measures.
    pub(crate) allowance: AtomicI64,
    /// Bytes that may be allocated beyond that, if it is no time to measure.
    pub(crate) overdraft: AtomicI64,
    /// Whether it has overdrawn, and is to be measured: see `rests`.
    pub(crate) is_due: AtomicBool,
    pub(crate) messages: AtomicI64,
    /// Nanoseconds of processor time.
    pub(crate) time: AtomicI64,
    /// Strands that have not ended, with those of sandboxes in it.
    pub(crate) strands: AtomicI64,
    /// Bytes that its strands have used up for good.
    pub(crate) kept: AtomicI64,
    /// Bytes that were found when one has measured last.
    pub(crate) measured: AtomicI64,
    /// Vats and sandboxes in it.
    pub(crate) members: AtomicUsize,
    /// Sandboxes in it, and in those, that are not over, and whose objects may live.
    inner: AtomicUsize,
    /// Whether a message of it may wait outside.
    pub(crate) sends: AtomicBool,
    /// Its messages outside whose turns have not begun.
    pub(crate) untaken: AtomicI64,
    /// Whether strands wait until these are fewer.
    pub(crate) has_senders: AtomicBool,
    /// The results of lost strands, as their messages name them.
    pub(crate) orphans: Mutex<Orphans>,
    /// Its number in a recording; 0 if none tells of it.
    pub(crate) number: AtomicU64,
}

// SAFETY: the cells are written before another thread knows the sandbox.
unsafe impl Sync for Sandbox {}

/// A sandbox, whose native part stays where it is as long as the VM.
#[derive(Clone, Copy)]
pub struct SandboxRef(pub(crate) &'static Sandbox);

impl PartialEq for SandboxRef {
    fn eq(&self, other: &SandboxRef) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for SandboxRef {}

impl SandboxRef {
    /// The sandbox of a sandbox's object.
    pub fn of_object(object: Object) -> SandboxRef {
        debug_assert!(object.layout() == known::SANDBOX);
        // SAFETY: `make` stored the address of an immortal sandbox, and no guest code reaches the slot.
        SandboxRef(unsafe { &*(object.slot(slots::NATIVE).bits() as *const Sandbox) })
    }

    /// The sandbox at a pointer that [`SandboxRef::pointer`] has answered.
    #[inline]
    pub(crate) fn of_pointer(pointer: &AtomicPtr<Sandbox>) -> Option<SandboxRef> {
        let pointer = pointer.load(Ordering::Relaxed);
        // SAFETY: only addresses of immortal sandboxes are put there, or null.
        unsafe { pointer.as_ref() }.map(SandboxRef)
    }

    /// Its address, for the strands and vats that belong to it.
    pub(crate) fn pointer(sandbox: Option<SandboxRef>) -> *mut Sandbox {
        sandbox.map_or(std::ptr::null_mut(), |sandbox| std::ptr::from_ref(sandbox.0).cast_mut())
    }

    /// Where it is. A sandbox that is used again has the address of an earlier one.
    pub(crate) fn address(self) -> usize {
        std::ptr::from_ref(self.0).addr()
    }

    /// The word of its object, which keeps it alive.
    pub fn object(self) -> Word {
        self.0.object.get()
    }

    /// The sandbox, then those around it.
    pub(crate) fn chain(self) -> impl Iterator<Item = SandboxRef> {
        std::iter::successors(Some(self), |sandbox| sandbox.0.parent.get())
    }

    /// Why it is over, or that it is not; that of the outermost one around it that is over.
    pub fn reason(self) -> Reason {
        let reasons =
            self.chain().map(|sandbox| Reason::of(sandbox.0.reason.load(Ordering::Acquire)));
        reasons.filter(|reason| *reason != Reason::Live).last().unwrap_or(Reason::Live)
    }

    /// Whether no strand of it runs any more.
    #[inline]
    pub fn is_over(self) -> bool {
        self.chain().any(|sandbox| sandbox.0.reason.load(Ordering::Acquire) != Reason::Live as u8)
    }

    /// Whether it is this one or in it.
    pub fn is_in(self, other: SandboxRef) -> bool {
        self.chain().any(|sandbox| sandbox == other)
    }

    /// Its number in a recording; 0 if none tells of it.
    pub(crate) fn number(self) -> u64 {
        self.0.number.load(Ordering::Relaxed)
    }

    /// Its name in reports.
    pub fn name(self) -> String {
        self.0.name.lock().clone()
    }

    /// The report about its end.
    pub fn report(self) -> String {
        self.0.report.lock().clone()
    }

    /// Its budgets.
    pub fn budgets(self) -> Budgets {
        self.0.budgets.get()
    }

    /// Its consumption: fuel, bytes at the last measurement, strands now, messages, milliseconds. Resources without a budget
    /// are not counted, except strands.
    pub fn usage(self) -> [u64; 5] {
        let Sandbox { fuel, messages, strands, measured, time, .. } = self.0;
        let budgets = self.budgets();
        let used = |budget: Option<u64>, left: &AtomicI64| {
            amount(budget).saturating_sub(left.load(Ordering::Relaxed).max(0)).max(0) as u64
        };
        let count = |counter: &AtomicI64| counter.load(Ordering::Relaxed).max(0) as u64;
        [
            used(budgets.fuel, fuel),
            count(measured),
            count(strands),
            used(budgets.messages, messages),
            used(budgets.time.map(nanoseconds), time) / NANOSECONDS,
        ]
    }

    /// A message of it is about to leave the sandbox.
    pub(crate) fn begin_sending(self) {
        self.chain().for_each(|sandbox| sandbox.0.sends.store(true, Ordering::Relaxed));
    }

    /// Whether a message of it may wait outside.
    pub(crate) fn sends(self) -> bool {
        self.0.sends.load(Ordering::Relaxed)
    }

    /// It is over, or its object is dead: it does not count for those around it any more.
    fn leave_outer(self) {
        self.chain().skip(1).for_each(|outer| _ = outer.0.inner.fetch_sub(1, Ordering::Relaxed));
    }

    /// How many sandboxes are in it, at any depth, that are not over, and whose objects were not found to be dead.
    pub(crate) fn inner_count(self) -> usize {
        self.0.inner.load(Ordering::Relaxed)
    }

    /// A vat or a sandbox in it has been made, or its end is to be dealt with.
    pub(crate) fn add_member(self) {
        self.0.members.fetch_add(1, Ordering::Relaxed);
    }

    /// A vat or a sandbox in it is dead, or its end was dealt with.
    pub(crate) fn remove_member(self) {
        self.0.members.fetch_sub(1, Ordering::Relaxed);
    }

    /// A strand of it has ended.
    pub(crate) fn remove_strand(self) {
        self.chain().for_each(|sandbox| _ = sandbox.0.strands.fetch_sub(1, Ordering::Relaxed));
    }

    /// Its object is dead: it may be used again.
    pub(crate) fn clear(self) {
        if let Some(parent) = self.0.parent.take() {
            parent.remove_member();
        }
        // A report may be long.
        *self.0.report.lock() = String::new();
        *self.0.grants.lock() = Grants::default();
        *self.0.orphans.lock() = Orphans::default();
    }

    /// A strand with this result was lost: for the collector.
    pub(crate) fn add_orphan(self, result: Word) {
        self.0.orphans.lock().add(result);
    }

    /// A promise that somebody outside waits for is treated as the result of a lost strand.
    pub(crate) fn add_awaited(self, promise: Word, is_pending: impl Fn(Word) -> bool) {
        self.0.orphans.lock().add_awaited(promise, is_pending);
    }

    /// Takes the result of a lost strand, if there is one.
    pub(crate) fn take_orphan(self) -> Option<Word> {
        self.0.orphans.lock().take()
    }

    /// Says that it is over; whether it was not.
    pub(crate) fn end(self, reason: Reason, report: String) -> bool {
        let mut kept = self.0.report.lock();
        let (live, reason) = (Reason::Live as u8, reason as u8);
        let ended =
            self.0.reason.compare_exchange(live, reason, Ordering::AcqRel, Ordering::Relaxed);
        if ended.is_ok() {
            *kept = report;
            self.leave_outer();
        }
        ended.is_ok()
    }
}

/// The part of the budget of memory that a sandbox may overdraw.
pub(crate) const OVERDRAFT: i64 = 8;

/// In a millisecond.
const NANOSECONDS: u64 = 1_000_000;

fn nanoseconds(milliseconds: u64) -> u64 {
    milliseconds.saturating_mul(NANOSECONDS)
}

/// A budget as its counter begins.
fn amount(budget: Option<u64>) -> i64 {
    budget.map_or(0, |budget| i64::try_from(budget).unwrap_or(i64::MAX))
}

/// All sandboxes.
#[derive(Default)]
pub struct Sandboxes {
    table: Mutex<Table>,
    count: AtomicUsize,
    /// Whether a native thread makes the threads poll that run timed strands.
    pub(crate) is_paced: AtomicBool,
    /// The rests between measurements.
    pub(crate) rests: Rests,
    /// The messages of all sandboxes that wait outside.
    pub(crate) untaken: AtomicI64,
}

#[derive(Default)]
struct Table {
    used: Vec<SandboxRef>,
    free: Vec<SandboxRef>,
    /// Those that are over, with which nobody has dealt.
    ending: VecDeque<SandboxRef>,
}

impl Sandboxes {
    /// A sandbox has overdrawn: it is to be measured when the rest is over.
    pub(crate) fn set_due(&self, sandbox: SandboxRef) {
        if !sandbox.0.is_due.swap(true, Ordering::Relaxed) {
            self.rests.add_due();
        }
    }

    /// A sandbox was measured, or is over.
    pub(crate) fn set_not_due(&self, sandbox: SandboxRef) {
        if sandbox.0.is_due.swap(false, Ordering::Relaxed) {
            self.rests.remove_due();
        }
    }

    /// Whether there is, or was, any.
    pub fn has_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn take(&self) -> SandboxRef {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut table = self.table.lock();
        let free = table.free.pop();
        let sandbox = free.unwrap_or_else(|| SandboxRef(Box::leak(Box::new(Sandbox::new()))));
        table.used.push(sandbox);
        sandbox
    }

    /// A sandbox is over. Whether it is the only one that waits to be dealt with.
    pub(crate) fn add_ending(&self, sandbox: SandboxRef) -> bool {
        let mut table = self.table.lock();
        table.ending.push_back(sandbox);
        table.ending.len() == 1
    }

    /// Takes some that are over, at most so many; and whether those are all.
    pub(crate) fn take_ending(&self, most: usize) -> (Vec<SandboxRef>, bool) {
        let ending = &mut self.table.lock().ending;
        let taken = ending.drain(..most.min(ending.len())).collect();
        (taken, ending.is_empty())
    }

    pub(crate) fn used(&self) -> Vec<SandboxRef> {
        self.table.lock().used.clone()
    }

    /// Shows the objects of sandboxes to the collector; in full collections, of those that something belongs to.
    pub(crate) fn visit(&self, kind: CollectionKind, visit: &mut dyn FnMut(RootAddress)) {
        let has_members = |sandbox: &SandboxRef| {
            sandbox.0.members.load(Ordering::Relaxed) > 0
                || sandbox.0.strands.load(Ordering::Relaxed) > 0
        };
        let is_root =
            |sandbox: &SandboxRef| kind == CollectionKind::Nursery || has_members(sandbox);
        self.used().into_iter().filter(is_root).for_each(|sandbox| sandbox.0.object.visit(visit));
        if kind == CollectionKind::Nursery {
            for sandbox in self.used() {
                let mut orphans = sandbox.0.orphans.lock();
                orphans.take_new().map(RootAddress::from).for_each(&mut *visit);
            }
        }
    }

    /// Keeps the orphans of sandboxes that can still end, by their own objects or those of sandboxes around them, in full
    /// collections.
    pub(crate) fn keep_orphans(&self, tracer: &mut Tracer<'_>) {
        for sandbox in self.used() {
            if sandbox.chain().any(|each| tracer.is_live(each.0.object.get())) {
                sandbox.0.orphans.lock().all().for_each(|orphan| tracer.keep(orphan));
            }
        }
    }

    /// Follows the objects that survive, and frees the sandboxes of the others; answers how many. The orphans of a sandbox
    /// that is freed break when the next one around it ends.
    pub(crate) fn update(&self, tracer: &mut Tracer<'_>) -> usize {
        let Table { used, free, .. } = &mut *self.table.lock();
        let (survivors, dead): (Vec<SandboxRef>, Vec<SandboxRef>) =
            used.iter().partition(|sandbox| sandbox.0.object.update(tracer));
        for sandbox in &dead {
            if sandbox.0.reason.load(Ordering::Relaxed) == Reason::Live as u8 {
                sandbox.leave_outer();
            }
            let mut orphans = std::mem::take(&mut *sandbox.0.orphans.lock());
            let survives = |each: &SandboxRef| survivors.iter().any(|it| ptr::eq(it.0, each.0));
            // Most sandboxes have no orphans, so few searches are made.
            if !orphans.is_empty()
                && let Some(heir) = sandbox.chain().find(survives)
            {
                heir.0.orphans.lock().append(&mut orphans);
            }
        }
        for sandbox in &dead {
            sandbox.clear();
            // Nobody has taken these, and nobody will.
            let left = sandbox.0.untaken.swap(0, Ordering::SeqCst);
            self.untaken.fetch_sub(left, Ordering::SeqCst);
        }
        *used = survivors;
        free.extend_from_slice(&dead);
        dead.len()
    }

    /// Says which sandboxes are over.
    pub(crate) fn describe_ended(&self, text: &mut String) {
        let ended = self
            .used()
            .into_iter()
            .filter(|sandbox| sandbox.0.reason.load(Ordering::Relaxed) != Reason::Live as u8);
        for sandbox in ended {
            _ = writeln!(text, "{} is over ({})", sandbox.name(), sandbox.reason().name());
        }
    }
}

/// The longest name. Names take native memory, which no budget counts.
const LONGEST_NAME: usize = 64;

impl Sandbox {
    fn new() -> Sandbox {
        Sandbox {
            parent: Cell::new(None),
            name: Mutex::default(),
            budgets: Cell::default(),
            grants: Mutex::default(),
            reason: AtomicU8::new(Reason::Live as u8),
            report: Mutex::default(),
            exit_code: Cell::new(None),
            object: RootWord::default(),
            fuel: AtomicI64::new(0),
            allowance: AtomicI64::new(0),
            messages: AtomicI64::new(0),
            time: AtomicI64::new(0),
            strands: AtomicI64::new(0),
            kept: AtomicI64::new(0),
            measured: AtomicI64::new(0),
            overdraft: AtomicI64::new(0),
            is_due: AtomicBool::new(false),
            members: AtomicUsize::new(0),
            inner: AtomicUsize::new(0),
            sends: AtomicBool::new(false),
            untaken: AtomicI64::new(0),
            has_senders: AtomicBool::new(false),
            orphans: Mutex::default(),
            number: AtomicU64::new(0),
        }
    }

    /// Makes it that of nothing yet.
    pub(crate) fn renew(
        &self,
        name: String,
        budgets: Budgets,
        grants: Grants,
        parent: Option<SandboxRef>,
    ) {
        *self.name.lock() = shown(&name);
        self.report.lock().clear();
        self.parent.set(parent);
        let around = parent.into_iter().flat_map(SandboxRef::chain);
        around.for_each(|around| _ = around.0.inner.fetch_add(1, Ordering::Relaxed));
        self.budgets.set(budgets);
        *self.grants.lock() = grants.within(parent);
        self.exit_code.set(None);
        self.reason.store(Reason::Live as u8, Ordering::Relaxed);
        self.fuel.store(amount(budgets.fuel), Ordering::Relaxed);
        self.allowance.store(amount(budgets.heap), Ordering::Relaxed);
        self.overdraft.store(amount(budgets.heap) / OVERDRAFT, Ordering::Relaxed);
        self.messages.store(amount(budgets.messages), Ordering::Relaxed);
        self.time.store(amount(budgets.time.map(nanoseconds)), Ordering::Relaxed);
        self.measured.store(0, Ordering::Relaxed);
        self.kept.store(0, Ordering::Relaxed);
        self.number.store(0, Ordering::Relaxed);
        self.sends.store(false, Ordering::Relaxed);
        self.has_senders.store(false, Ordering::Relaxed);
    }
}

/// The name for reports: without control characters, which a terminal obeys.
fn shown(name: &str) -> String {
    let shown = name.chars().take(LONGEST_NAME).map(|character| match character.is_control() {
        true => char::REPLACEMENT_CHARACTER,
        false => character,
    });
    shown.collect()
}

/// The error of promises for results of a sandbox that is over.
pub fn error(sandbox: SandboxRef) -> Word {
    let is_over =
        |sandbox: &SandboxRef| sandbox.0.reason.load(Ordering::Acquire) != Reason::Live as u8;
    let ended = sandbox.chain().filter(is_over).last().unwrap_or(sandbox);
    ended.0.object.get().as_object().map_or(Word::NIL, |object| object.slot(slots::ERROR))
}

/// The grants beside the modules of the host.
pub const MODULES: [&str; 8] =
    ["bytecode", "ffi", "files", "host", "nativeThreads", "net", "os", "system"];

/// The grants of a sandbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grants {
    /// Everything that the program may do.
    All,
    /// These modules.
    Only(BTreeSet<String>),
}

impl Default for Grants {
    fn default() -> Grants {
        Grants::Only(BTreeSet::new())
    }
}

impl Grants {
    /// Those that are of use in a sandbox which is made in this one: a guest's other names would only take memory.
    fn within(self, parent: Option<SandboxRef>) -> Grants {
        match (self, parent) {
            (Grants::Only(mut names), Some(parent)) => {
                names.retain(|name| parent.refusing(name).is_none());
                Grants::Only(names)
            }
            (grants, _) => grants,
        }
    }

    /// These modules; the first name that is none is refused.
    pub fn of(names: impl IntoIterator<Item = String>) -> Result<Grants, String> {
        let is_known =
            |name: &String| name.starts_with(HOST_PREFIX) || MODULES.contains(&name.as_str());
        let check = |name: String| if is_known(&name) { Ok(name) } else { Err(name) };
        names.into_iter().map(check).collect::<Result<_, _>>().map(Grants::Only)
    }

    /// Whether a module is among them.
    pub fn include(&self, module: &str) -> bool {
        match self {
            Grants::All => true,
            Grants::Only(modules) => modules.contains(module),
        }
    }
}

impl SandboxRef {
    /// This sandbox or one around it, the innermost that is not granted a module; none if all are.
    pub fn refusing(self, module: &str) -> Option<SandboxRef> {
        self.chain().find(|sandbox| !sandbox.0.grants.lock().include(module))
    }
}

/// What a thread counts of the strand that it runs, if that belongs to a sandbox.
#[derive(Default)]
pub struct Metering {
    /// Whether each poll counts as fuel.
    pub counts_polls: bool,
    /// Whether the machine code that runs counts them. Otherwise each of them is a slow poll, which counts itself.
    pub is_counted_by_code: bool,
    /// Whether the polls are counted for a recording: see [`crate::state::replays`]. The strand is in no sandbox then.
    pub is_for_tape: bool,
    /// The polls of a recording's item that the fuel does not tell of.
    pub(crate) taped: u64,
    /// Whether processor time is counted. Other threads read it.
    pub(crate) is_timed: AtomicBool,
    /// The time in nanoseconds up to which it was counted.
    pub(crate) timed_since: u64,
    /// How many polls more the strand may come to before it has to draw fuel; negative if it came to more, and the next
    /// slow poll is to draw for them.
    pub fuel: i32,
    /// Fuel for work of primitives that has not been drawn yet: the next poll draws it.
    pub owed: u64,
    /// The effort of operations since the last poll for its sake: see [`crate::state::effort`].
    pub effort: usize,
    /// How much the message that is under way takes to another vat: see `isolation`.
    pub(crate) passed: usize,
    /// The depth of the thread's roots when it entered the strand: those beyond are the strand's.
    pub(crate) roots_before: usize,
    /// By which code for sandboxes hides the constants of guests. It never changes.
    pub code_key: u64,
}

impl Metering {
    /// Where the fuel is, in bytes.
    pub const FUEL: usize = std::mem::offset_of!(Metering, fuel);

    /// Where the key is, in bytes.
    pub const CODE_KEY: usize = std::mem::offset_of!(Metering, code_key);

    /// The fuel of a strand without a budget.
    pub const UNLIMITED: i32 = i32::MAX;

    /// Whether machine code has counted more polls than fuel was drawn for.
    #[inline(always)]
    pub fn is_spent(&self) -> bool {
        self.is_counted_by_code && self.fuel < 0
    }

    /// The turn of a loop in which a strand of a sandbox is has done nothing but wait: it costs no fuel.
    pub fn refund_turn(&mut self) {
        if self.counts_polls && !self.is_for_tape {
            // With fuel for another turn, the poll that draws what is owed would never come.
            match self.owed {
                0 => self.fuel = self.fuel.saturating_add(1),
                _ => self.owed -= 1,
            }
        }
    }

    /// The entry that code has counted is counted again.
    #[inline(always)]
    pub fn uncount_entry(&mut self) {
        self.fuel += i32::from(self.is_counted_by_code);
    }

    /// Whether the next poll has to be a slow one.
    #[inline(always)]
    pub fn needs_poll(&self) -> bool {
        self.counts_polls && (!self.is_counted_by_code || self.fuel < 0)
    }
}

/// The strand that the thread enters belongs to a sandbox.
#[cold]
pub fn begin_metering(thread: &mut Thread, sandbox: SandboxRef) {
    let counts_polls = sandbox.chain().any(|sandbox| sandbox.budgets().fuel.is_some());
    thread.metering.counts_polls = counts_polls;
    thread.metering.fuel = if counts_polls { 0 } else { Metering::UNLIMITED };
    thread.metering.owed = 0;
    thread.metering.roots_before = thread.mutator.root_depth();
    if sandbox.chain().any(|sandbox| sandbox.budgets().time.is_some()) {
        pacing::begin(thread);
    }
    if sandbox.chain().any(|sandbox| sandbox.budgets().heap.is_some()) {
        thread.mutator.begin_meter();
    }
}

/// The strand that ran here, of a sandbox, has stopped.
#[cold]
pub fn end_metering(thread: &mut Thread, sandbox: SandboxRef) {
    let counts_polls = std::mem::take(&mut thread.metering.counts_polls);
    thread.metering.is_counted_by_code = false;
    if thread.metering.is_timed.load(Ordering::Relaxed) {
        pacing::end(thread, sandbox);
    }
    let fuel = i64::from(std::mem::take(&mut thread.metering.fuel));
    let owed = i64::try_from(std::mem::take(&mut thread.metering.owed)).unwrap_or(i64::MAX);
    if counts_polls {
        give_back(sandbox, fuel - owed, |sandbox| &sandbox.0.fuel);
    }
    let unused = thread.mutator.end_meter();
    give_back(sandbox, unused, |sandbox| &sandbox.0.allowance);
}

impl SandboxRef {
    /// Takes fuel for work that is done for the sandbox while none of its strands runs. If there was not so much left, the next
    /// strand that draws fuel ends the sandbox.
    pub fn take_fuel(self, units: usize) {
        give_back(self, -i64::try_from(units).unwrap_or(i64::MAX), |sandbox| &sandbox.0.fuel);
    }
}

/// The most bytes that the strand which runs here may have at once, in a result of a primitive: the least budget of memory around it.
/// None if there is no budget.
pub fn largest_result(thread: &Thread) -> Option<usize> {
    let budgets = thread.sandbox?.chain().filter_map(|sandbox| sandbox.budgets().heap);
    budgets.min().map(|least| usize::try_from(least).unwrap_or(usize::MAX))
}

/// The running strand has made an immortal structure of this many bytes: they count for its sandboxes as long as these
/// exist.
pub fn count_kept(thread: &mut Thread, bytes: usize) {
    if let Some(sandbox) = thread.sandbox {
        let amount = i64::try_from(bytes).unwrap_or(i64::MAX);
        sandbox.chain().for_each(|sandbox| _ = sandbox.0.kept.fetch_add(amount, Ordering::Relaxed));
        thread.charge_memory(bytes);
    }
}

pub(crate) fn give_back(
    sandbox: SandboxRef,
    amount: i64,
    of: impl Fn(&SandboxRef) -> &'static AtomicI64,
) {
    if amount != 0 {
        sandbox.chain().for_each(|sandbox| _ = of(&sandbox).fetch_add(amount, Ordering::Relaxed));
    }
}

/// Whether the strand that runs here is not to go on, since its sandbox is over.
#[inline]
pub fn is_over(thread: &Thread) -> bool {
    let Some(sandbox) = thread.sandbox else { return false };
    let by_tape = if thread.watch.is_on { thread.over_by_tape() } else { None };
    by_tape.unwrap_or_else(|| sandbox.is_over())
}
