//! Sandboxes: budgets for code that is not trusted, and the end of what exceeds them.
//!
//! | module | what it is about |
//! |---|---|
//! | this one | sandboxes as a tree; what belongs to one; how one ends |
//! | [`grants`] | what the strands of one may do to the world |
//! | [`metering`] | counting what the strand that runs uses |
//! | [`memory`] | measuring what is reachable from a sandbox |
//!
//! Strands and vats belong to a sandbox, or to none. A strand that is made belongs to that of the strand which makes it,
//! and so does a vat; a turn belongs to that of its vat. So whatever is started in a sandbox stays there, and a message that
//! comes out of it is processed at the receiver's own expense.
//!
//! A sandbox may be in another one: what it uses counts there as well, and it ends with it.
//!
//! | budget | counts | looked at |
//! |---|---|---|
//! | fuel | calls, and turns of loops | at each of them |
//! | heap | bytes that are reachable from strands and vats of the sandbox | when a quarter of the budget, or what is left of it, was allocated |
//! | strands | strands that have not ended, turns among them | when one is made |
//! | messages | eventual sends, messages after a delay, writes to channels | before each of them |
//!
//! # The end
//!
//! Who finds a budget used up says so in the sandbox, which is *over* from then on. Its strands do not go on: each
//! entry into one looks whether it is over, and so does each poll. An *errand* (`embedding/errands.rs`) sees to those that are parked, reports, and
//! settles the promise for the end. A strand that is ended so leaves all its activations at once: no handler and no
//! `ensure:` block runs, for it could run for ever. Only frames of C are left by returning to them.
//!
//! Nothing else is touched. Promises for the results of its strands and of messages to its actors break. Who waits at a
//! channel that only the sandbox would have used waits on, and reports of deadlocks name the sandboxes that are over.
//!
//! Native parts are never freed, but used again once nothing belongs to them and their object is dead.

pub mod grants;
pub mod memory;
pub mod metering;

use std::cell::Cell;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

use parking_lot::Mutex;
use squall_heap::{CollectionKind, Object, Tracer, Word};

use self::grants::Grants;
use crate::concurrency::embedding::errands;
use crate::concurrency::isolation;
use crate::concurrency::promises;
use crate::concurrency::strands;
use crate::execution::trace;
use crate::execution::unwind;
use crate::model::known::{self, KnownClass};
use crate::model::outcome::Failure;
use crate::objects::string::symbol_object;
use crate::state::roots::RootWord;
use crate::state::strand::StrandRef;
use crate::state::thread::{Thread, Window, allocated};
use crate::state::vm::Vm;

/// The slots of a sandbox's object.
pub mod slots {
    /// The address of the native part.
    pub const NATIVE: usize = 0;
    /// The promise for the end, or nil.
    pub const PROMISE: usize = 1;
    /// What the promises for results that never come break with: a far reference to an exception, or nil.
    pub const ERROR: usize = 2;

    const _: () = crate::model::known::assert_slots(crate::model::known::SANDBOX, ERROR + 1);
}

/// What a sandbox may use; nothing means as much as it likes.
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
    /// Somebody has ended it.
    Terminated,
    /// It was to end the program.
    Exit,
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
        }
    }

    fn of(bits: u8) -> Reason {
        use Reason::{Exit, Fuel, Heap, Messages, Strands, Terminated};
        let reasons = [Fuel, Heap, Strands, Messages, Terminated, Exit];
        reasons.into_iter().find(|reason| *reason as u8 == bits).unwrap_or(Reason::Live)
    }
}

/// A sandbox's native part.
pub struct Sandbox {
    /// The sandbox around it.
    parent: Cell<Option<SandboxRef>>,
    name: Mutex<String>,
    budgets: Cell<Budgets>,
    grants: Mutex<Grants>,
    reason: AtomicU8,
    report: Mutex<String>,
    /// Its exit code, if its end is that of the program.
    exit_code: Cell<Option<i32>>,
    /// The object; the collector updates it.
    object: RootWord,
    /// What may still be used, of what has a budget.
    fuel: AtomicI64,
    /// Bytes that may be allocated before one measures.
    allowance: AtomicI64,
    messages: AtomicI64,
    /// Strands that have not ended, with those of sandboxes in it.
    strands: AtomicI64,
    /// Bytes that its strands have used up for good.
    kept: AtomicI64,
    /// Bytes that were found when one has measured last.
    measured: AtomicI64,
    /// Vats and sandboxes in it.
    members: AtomicUsize,
}

// SAFETY: what is in cells is written before anybody else knows the sandbox.
unsafe impl Sync for Sandbox {}

/// A sandbox, whose native part stays where it is as long as the VM.
#[derive(Clone, Copy)]
pub struct SandboxRef(&'static Sandbox);

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
        // SAFETY: `make` stored the address of what is never freed, and no guest code reaches the slot.
        SandboxRef(unsafe { &*(object.slot(slots::NATIVE).bits() as *const Sandbox) })
    }

    /// The sandbox behind a pointer that [`SandboxRef::pointer`] has answered.
    #[inline]
    pub(crate) fn of_pointer(pointer: &AtomicPtr<Sandbox>) -> Option<SandboxRef> {
        let pointer = pointer.load(Ordering::Relaxed);
        // SAFETY: only addresses of what is never freed are put there, or null.
        unsafe { pointer.as_ref() }.map(SandboxRef)
    }

    /// Its address, for what belongs to it.
    pub(crate) fn pointer(sandbox: Option<SandboxRef>) -> *mut Sandbox {
        sandbox.map_or(std::ptr::null_mut(), |sandbox| std::ptr::from_ref(sandbox.0).cast_mut())
    }

    /// The sandbox, then those around it.
    fn chain(self) -> impl Iterator<Item = SandboxRef> {
        std::iter::successors(Some(self), |sandbox| sandbox.0.parent.get())
    }

    /// Why it is over, or that it is not; that of the outermost one around it that is over.
    pub fn reason(self) -> Reason {
        let reasons =
            self.chain().map(|sandbox| Reason::of(sandbox.0.reason.load(Ordering::Acquire)));
        reasons.filter(|reason| *reason != Reason::Live).last().unwrap_or(Reason::Live)
    }

    /// Whether nothing in it goes on.
    #[inline]
    pub fn is_over(self) -> bool {
        self.chain().any(|sandbox| sandbox.0.reason.load(Ordering::Acquire) != Reason::Live as u8)
    }

    /// Whether it is this one or in it.
    pub fn is_in(self, other: SandboxRef) -> bool {
        self.chain().any(|sandbox| sandbox == other)
    }

    /// What it is called in reports.
    pub fn name(self) -> String {
        self.0.name.lock().clone()
    }

    /// What was reported about its end.
    pub fn report(self) -> String {
        self.0.report.lock().clone()
    }

    /// What it may use.
    pub fn budgets(self) -> Budgets {
        self.0.budgets.get()
    }

    /// What it has used: fuel, bytes when they were last measured, strands now, messages. What has no
    /// budget is not counted, but for strands.
    pub fn usage(self) -> [u64; 4] {
        let Sandbox { fuel, messages, strands, measured, .. } = self.0;
        let budgets = self.budgets();
        let used = |budget: Option<u64>, left: &AtomicI64| {
            let left = left.load(Ordering::Relaxed).max(0) as u64;
            budget.map_or(0, |budget| budget.saturating_sub(left))
        };
        let count = |counter: &AtomicI64| counter.load(Ordering::Relaxed).max(0) as u64;
        [
            used(budgets.fuel, fuel),
            count(measured),
            count(strands),
            used(budgets.messages, messages),
        ]
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
    fn clear(self) {
        if let Some(parent) = self.0.parent.take() {
            parent.remove_member();
        }
        // A report may be long.
        *self.0.report.lock() = String::new();
    }

    /// Says that it is over; whether it was not.
    fn end(self, reason: Reason, report: String) -> bool {
        let mut kept = self.0.report.lock();
        let (live, reason) = (Reason::Live as u8, reason as u8);
        let ended =
            self.0.reason.compare_exchange(live, reason, Ordering::AcqRel, Ordering::Relaxed);
        if ended.is_ok() {
            *kept = report;
        }
        ended.is_ok()
    }
}

/// All sandboxes.
#[derive(Default)]
pub struct Sandboxes {
    table: Mutex<Table>,
    count: AtomicUsize,
}

#[derive(Default)]
struct Table {
    used: Vec<SandboxRef>,
    free: Vec<SandboxRef>,
}

impl Sandboxes {
    /// Whether there is, or was, any.
    pub fn has_any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    fn take(&self) -> SandboxRef {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut table = self.table.lock();
        let free = table.free.pop();
        let sandbox = free.unwrap_or_else(|| SandboxRef(Box::leak(Box::new(Sandbox::new()))));
        table.used.push(sandbox);
        sandbox
    }

    fn used(&self) -> Vec<SandboxRef> {
        self.table.lock().used.clone()
    }

    /// Shows the objects of sandboxes to the collector; in full collections, of those that something belongs to.
    pub(crate) fn visit(&self, kind: CollectionKind, visit: &mut dyn FnMut(&mut Word)) {
        let has_members = |sandbox: &SandboxRef| {
            sandbox.0.members.load(Ordering::Relaxed) > 0
                || sandbox.0.strands.load(Ordering::Relaxed) > 0
        };
        let is_root =
            |sandbox: &SandboxRef| kind == CollectionKind::Nursery || has_members(sandbox);
        self.used().into_iter().filter(is_root).for_each(|sandbox| sandbox.0.object.visit(visit));
    }

    /// Follows the objects that survive, and frees the sandboxes of the others.
    pub(crate) fn update(&self, tracer: &mut Tracer<'_>) {
        let Table { used, free } = &mut *self.table.lock();
        used.retain(|sandbox| {
            let mut survives = true;
            sandbox.0.object.visit(&mut |word| survives = tracer.update(word));
            if !survives {
                sandbox.clear();
                free.push(*sandbox);
            }
            survives
        });
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

/// A name takes native memory, which is nobody's budget.
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
            strands: AtomicI64::new(0),
            kept: AtomicI64::new(0),
            measured: AtomicI64::new(0),
            members: AtomicUsize::new(0),
        }
    }

    /// Makes it that of nothing yet.
    fn renew(&self, name: String, budgets: Budgets, grants: Grants, parent: Option<SandboxRef>) {
        let amount = |budget: Option<u64>| {
            budget.map_or(0, |budget| i64::try_from(budget).unwrap_or(i64::MAX))
        };
        *self.name.lock() = name.chars().take(LONGEST_NAME).collect();
        self.report.lock().clear();
        self.parent.set(parent);
        self.budgets.set(budgets);
        *self.grants.lock() = grants;
        self.exit_code.set(None);
        self.reason.store(Reason::Live as u8, Ordering::Relaxed);
        self.fuel.store(amount(budgets.fuel), Ordering::Relaxed);
        self.allowance.store(amount(budgets.heap), Ordering::Relaxed);
        self.messages.store(amount(budgets.messages), Ordering::Relaxed);
        self.measured.store(0, Ordering::Relaxed);
        self.kept.store(0, Ordering::Relaxed);
    }
}

/// Makes a sandbox inside of the one that the running strand belongs to. The window's words are the promise for its
/// end, and the exception for results that never come; or there are none. *GC point.*
pub fn make(
    thread: &mut Thread,
    name: String,
    budgets: Budgets,
    grants: Grants,
    window: Option<(Window, usize)>,
) -> Result<Object, Failure> {
    let vm = thread.vm;
    // When a strand is ended, nothing can be made.
    symbol_object(thread, vm.symbol("terminated"))?;
    let error = match window {
        Some((window, first)) => {
            let here = crate::state::vat::current(thread)?;
            isolation::make_far_reference(thread, window.get(first + 1), here)?
        }
        None => Word::NIL,
    };
    let mut scope = thread.mutator.scope();
    let error = scope.root(error);
    let class = vm.known_class(KnownClass::Object);
    let object = allocated(scope.allocate_slots(known::SANDBOX, class))?;
    let error = scope.get(error);
    drop(scope);
    let sandbox = vm.sandboxes.take();
    let parent = thread.sandbox;
    sandbox.0.renew(name, budgets, grants, parent);
    if let Some(parent) = parent {
        parent.add_member();
    }
    let address = std::ptr::from_ref(sandbox.0) as u64;
    object.initialize_slot(slots::NATIVE, Word::from_bits(address));
    object.initialize_slot(slots::ERROR, error);
    if let Some((window, first)) = window {
        object.initialize_slot(slots::PROMISE, window.get(first));
    }
    sandbox.0.object.set(object.word());
    Ok(object)
}

/// Puts the main vat, and so the program, into a sandbox whose end is that of the program, with this exit
/// code. *GC point.*
pub fn confine_program(
    thread: &mut Thread,
    budgets: Budgets,
    exit_code: i32,
) -> Result<(), Failure> {
    let object = make(thread, "the program".to_owned(), budgets, Grants::All, None)?;
    let sandbox = SandboxRef::of_object(object);
    sandbox.0.exit_code.set(Some(exit_code));
    if let Some(vat) = thread.vm.main_vat() {
        vat.enter_sandbox(sandbox);
    }
    Ok(())
}

/// A budget of a sandbox is used up, by the strand that runs here if one does. The caller may hold up the
/// machine, and sees to it that the strand does not go on.
pub fn exhaust(thread: &Thread, sandbox: SandboxRef, reason: Reason) {
    let budgets = sandbox.budgets();
    let amount = match reason {
        Reason::Fuel => budgets.fuel,
        Reason::Heap => budgets.heap,
        Reason::Strands => budgets.strands,
        _ => budgets.messages,
    };
    let amount = amount.unwrap_or_default();
    let has = match reason {
        Reason::Fuel => format!("has used up its fuel of {amount}"),
        Reason::Heap => format!("has more than {amount} bytes of heap"),
        Reason::Strands => format!("was to have more than {amount} strands"),
        _ => format!("has sent {amount} messages, as many as it may"),
    };
    let mut report = format!("{} {has}\n", sandbox.name());
    if thread.running_strand().is_some() {
        report += &trace::render(thread.activations());
    }
    end(thread.vm, sandbox, reason, report);
}

/// The strand that runs here wants to end the program, which its sandbox may not: that is over.
/// The strand has been ended.
pub fn exit(thread: &mut Thread, sandbox: SandboxRef) -> Failure {
    let report = format!("{} was to end the program\n", sandbox.name());
    let report = report + &trace::render(thread.activations());
    end(thread.vm, sandbox, Reason::Exit, report);
    unwind::kill(thread);
    Failure::elsewhere()
}

/// Ends a sandbox from outside; whether it was not over.
pub fn terminate(vm: &'static Vm, sandbox: SandboxRef) -> bool {
    end(vm, sandbox, Reason::Terminated, format!("{} was ended\n", sandbox.name()))
}

fn end(vm: &'static Vm, sandbox: SandboxRef, reason: Reason, report: String) -> bool {
    let ended = sandbox.end(reason, report);
    if ended {
        // The errand counts as a member: nothing else may refer to the sandbox any more.
        sandbox.add_member();
        errands::leave(vm, move |thread| {
            clear(thread, sandbox);
            sandbox.remove_member();
        });
    }
    ended
}

/// Ends the strands of a sandbox that is over, reports that, and settles the promise for it. *GC point.*
fn clear(thread: &mut Thread, sandbox: SandboxRef) {
    let vm = thread.vm;
    let reason = Reason::of(sandbox.0.reason.load(Ordering::Acquire));
    if reason != Reason::Terminated {
        let report = sandbox.report();
        thread.mutator.native(|| vm.host.write_error(&report));
    }
    end_strands(thread, sandbox);
    if let Some(code) = sandbox.0.exit_code.get() {
        return vm.end(code);
    }
    let symbol = vm.symbol(reason.name());
    // Without memory for the word, that there is an end is news enough.
    let word = symbol_object(thread, symbol).unwrap_or(Word::TRUE);
    let object = sandbox.0.object.get().object_unchecked();
    if let Some(promise) = object.slot(slots::PROMISE).as_object() {
        promises::resolve(thread, promises::owner(promise), promise, word);
    }
}

/// Wakes the strands that are parked, to end, and makes those poll that run.
fn end_strands(thread: &mut Thread, sandbox: SandboxRef) {
    let vm = thread.vm;
    let is_in = |strand: &StrandRef| strand.sandbox().is_some_and(|other| other.is_in(sandbox));
    thread.message.clear();
    let Thread { mutator, message, .. } = thread;
    // While nothing runs, strands and their objects belong together; and the message is a root.
    mutator.native(|| {
        vm.heap.while_stopped(|| {
            let strands = vm.strands.all().into_iter().filter(is_in);
            message.extend(strands.map(|strand| strand.object.get()));
        });
    });
    for index in 0..thread.message.len() {
        let object = thread.message[index].object_unchecked();
        _ = strands::terminate(thread, object);
    }
    thread.message.clear();
}

/// What the promise for a result breaks with that a sandbox which is over does not give.
pub fn error(sandbox: SandboxRef) -> Word {
    let is_over =
        |sandbox: &SandboxRef| sandbox.0.reason.load(Ordering::Acquire) != Reason::Live as u8;
    let ended = sandbox.chain().filter(is_over).last().unwrap_or(sandbox);
    ended.0.object.get().as_object().map_or(Word::NIL, |object| object.slot(slots::ERROR))
}
