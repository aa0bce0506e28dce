//! The compilers as the tier sees them: they give machine code to functions that are hot. The tier and the helpers call
//! this module.
//!
//! Base code takes about a microsecond for a usual function, so the thread that needs the code compiles it. If two
//! threads do so at once, the second waits, and finds the first one's code. Optimising takes milliseconds: a thread of its
//! own does it, and base code goes on meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU8;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use parking_lot::Mutex;
use squall_compiler::code::Start;
use squall_heap::Word;
use squall_runtime::tiers::function::{CALL, CodeKind, Function};
use squall_runtime::tiers::thread::{Thread, Vm};
use squall_runtime::tiers::tracing;

use crate::base;
use crate::code::units::{Destination, EXIT_PATIENCE, ExitRecord, Unit, Units};
use crate::code::{Code, Profile, suffix};
use crate::hardening::Hardening;
use crate::history::{History, MadeUnit};
use crate::memory::CodeMemory;
use crate::observers::{Frame, Observers};
use crate::optimised::{self, Install, Optimiser, Order, Policy};
use crate::stubs::{Helpers, Stubs};

/// What compilations share.
pub struct Compiler {
    memory: CodeMemory,
    /// The shared code.
    pub stubs: Stubs,
    /// What was made.
    pub history: History,
    lock: Mutex<()>,
    /// When functions are optimised, if they are.
    pub policy: Option<Policy>,
    /// Which code is hardened.
    hardening: Hardening,
    /// Whether units keep what the compiler saw of them.
    keeps_views: bool,
    /// Made for the first unit: most short programs need none.
    optimiser: Mutex<Option<Optimiser>>,
    /// What the compiling thread is to do.
    orders: OnceLock<Sender<Order>>,
}

static COMPILER: OnceLock<Compiler> = OnceLock::new();

/// Functions of more code words than this stay interpreted: their code would take megabytes.
const MOST_WORDS: usize = 1 << 16;

/// The choices for the machine code of a process.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The count of calls and turns at which functions are compiled.
    pub heat: u32,
    /// When functions are optimised, if they are.
    pub policy: Option<Policy>,
    /// Which code is hardened.
    pub hardening: Hardening,
    /// What learns of all machine code.
    pub observers: Observers,
    /// Whether units keep what the compiler saw of them, for [`crate::listing`].
    pub keeps_views: bool,
}

impl Compiler {
    /// Makes the process's compiler; `None` if the system gives no memory for code.
    pub fn start(helpers: &Helpers, settings: Settings) -> Option<&'static Compiler> {
        let memory = CodeMemory::reserve(settings.observers).ok()?;
        let stubs = Stubs::make(&memory, helpers)?;
        Some(COMPILER.get_or_init(|| Compiler {
            memory,
            stubs,
            history: History::default(),
            lock: Mutex::default(),
            policy: settings.policy,
            hardening: settings.hardening,
            keeps_views: settings.keeps_views,
            optimiser: Mutex::default(),
            orders: OnceLock::new(),
        }))
    }

    /// The process's compiler, if it was started.
    pub fn of_process() -> Option<&'static Compiler> {
        COMPILER.get()
    }

    /// The memory for code.
    pub fn memory(&self) -> &CodeMemory {
        &self.memory
    }

    /// Compiles a function, unless it has code or cannot be compiled.
    fn compile(
        &self,
        vm: &Vm,
        function: &'static Function,
        kind: CodeKind,
    ) -> Option<&'static Code> {
        let one = self.lock.lock();
        if let Some(code) = Code::of(function, kind) {
            return Some(code);
        }
        if function.native(kind).is_given_up() {
            return None;
        }
        let begun = Instant::now();
        let (code, native) = (self.assemble(function, kind), function.native(kind));
        let Some(code) = code else {
            native.give_up();
            return None;
        };
        let entry = code.entry as *const ();
        native.set_patience(self.policy.map_or(0, |policy| policy.samples));
        function.set_compiled(kind, std::ptr::from_ref(code).cast(), entry);
        if kind == CodeKind::Bare {
            self.announce_returns(code);
        }
        self.history.add_code(code, begun.elapsed());
        drop(one);
        tracing::compiled(vm, || {
            let place = optimised::place_of(function, Start::Function);
            format!("compiled {place}{}, {} bytes", suffix(kind), code.size)
        });
        Some(code)
    }

    /// Notes in the sites of a function where its bare code goes on after calls.
    fn announce_returns(&self, code: &Code) {
        for site in code.function.sites.iter().filter(|site| site.window > 0) {
            let place = code.return_place(site.pc as usize);
            site.set_resumption(place.map_or(0, |place| (place - self.memory.start()) as u32));
        }
    }

    /// Drops the machine code of functions, and the units that they are part of. All mutators stand. Code that is in the making
    /// comes into use before, or not at all.
    pub fn forget(&self, functions: &[&'static Function]) {
        let _one = self.lock.lock();
        for function in functions {
            for kind in CodeKind::ALL {
                function.native(kind).forget(self.stubs.cold_entry as *const ());
            }
            function.sites.iter().for_each(|site| site.set_resumption(0));
        }
        for MadeUnit { code, unit } in self.history.made().units {
            if optimised::has_given_up(unit, code.kind) {
                optimised::remove_unit(code, unit);
            }
        }
    }

    fn assemble(&self, function: &'static Function, kind: CodeKind) -> Option<&'static Code> {
        if function.bytecode().is_imported() || function.code.len() > MOST_WORDS {
            return None;
        }
        let observed = if self.policy.is_some() { function.code.len() } else { 0 };
        let profile: Profile = (0..observed).map(|_| AtomicU8::new(0)).collect::<Vec<_>>().leak();
        let (mut places, mut returns) = (Box::default(), Box::default());
        let (mut size, mut from) = (0, 0);
        let entry = self.memory.publish(|address| {
            let request = base::Request {
                function,
                kind,
                is_hardened: self.hardening.includes(kind),
                profile,
            };
            let assembled = base::compile(request, &self.stubs, address)?;
            (places, returns) = (assembled.places, assembled.returns);
            (size, from) = (assembled.bytes.len(), assembled.framed);
            Some(assembled.bytes)
        })?;
        let units = Units::default();
        let code = Code { function, kind, entry, size, places, returns, profile, units };
        let code = Box::leak(Box::new(code));
        self.memory.announce(entry, size, Frame::Base { from }, || {
            (format!("{} base{}", function.name(), suffix(kind)), code.lines())
        });
        Some(code)
    }

    /// Makes a unit, and says when its function may get another one.
    fn optimise(&self, optimiser: &mut Optimiser, order: Order) -> Option<&'static Unit> {
        let code = order.code;
        let vm = order.vm;
        let base = |function| make(vm, function, code.kind);
        let begin = |unit, begin: &mut dyn FnMut()| self.begin_unit(code, unit, begin);
        let install = Install {
            begin: &begin,
            stubs: &self.stubs,
            memory: &self.memory,
            base: &base,
            hardening: self.hardening,
            keeps_views: self.keeps_views,
            is_again: self.history.has_unit(code, order.start),
            samples: self.policy.map_or(i32::MAX, |policy| policy.samples),
        };
        let begun = Instant::now();
        let unit = optimised::optimise(optimiser, order, &install);
        self.history.add_time(unit.is_some(), begun.elapsed());
        let again = self.policy.filter(|_| unit.is_some() && !code.units.is_full());
        code.native().set_patience(again.map_or(i32::MAX, |policy| policy.samples));
        unit
    }

    /// Takes a unit into use by this function, unless one of its functions was [forgotten](Compiler::forget) while it was made; whether
    /// it did.
    fn begin_unit(
        &self,
        code: &'static Code,
        unit: &'static Unit,
        begin: &mut dyn FnMut(),
    ) -> bool {
        let _one = self.lock.lock();
        let is_wanted = !optimised::has_given_up(unit, code.kind);
        if is_wanted {
            begin();
            self.history.add_unit(code, unit);
        }
        is_wanted
    }

    /// Has a unit made by the compiling thread, which is started for the first one.
    fn order(&'static self, order: Order) {
        // Nothing else is ordered for this function meanwhile.
        order.code.native().set_patience(i32::MAX);
        let sender = self.orders.get_or_init(|| {
            let (sender, receiver) = channel();
            let compile = move || self.compile_orders(&receiver);
            // Without a thread, orders stay where they are, and base code goes on.
            _ = std::thread::Builder::new().name("compiler".into()).spawn(compile);
            sender
        });
        _ = sender.send(order);
    }

    /// Makes the units that are ordered. A panic would be a mistake of the compiler: the function keeps its base code, but
    /// for debug builds, whose tests are to find it.
    fn compile_orders(&self, orders: &Receiver<Order>) {
        while let Ok(order) = orders.recv() {
            let mut slot = self.optimiser.lock();
            let Some(optimiser) = made(&mut slot) else { return };
            let compile = AssertUnwindSafe(|| self.optimise(optimiser, order));
            if catch_unwind(compile).is_err() {
                if cfg!(debug_assertions) {
                    std::process::abort();
                }
                *slot = None;
            }
        }
    }
}

/// The machine code of a function that is called now, if it has some or is hot.
pub fn of_hot(vm: &Vm, function: &'static Function, kind: CodeKind) -> Option<&'static Code> {
    let is_hot = || function.native(kind).count(CALL);
    let made = || is_hot().then(|| make(vm, function, kind)).flatten();
    Code::of(function, kind).or_else(made)
}

/// How many times as many samples as a first unit takes there are between two looks whether the units are outdated.
const CURRENT_FOR: i32 = 16;

/// A sample of base code, in an activation that stands at a start. Answers the unit that is to go on, if there is one.
pub fn sample(
    thread: &mut Thread,
    code: &'static Code,
    start: Start,
    frame: &[Word],
) -> Option<&'static Unit> {
    let compiler = COMPILER.get()?;
    let policy = compiler.policy?;
    thread.native_stack.countdown = policy.countdown();
    // A thread that polls at each call and turn, so that its polls can be counted, would leave any unit at once.
    if thread.must_poll() {
        return None;
    }
    let unit = code.units.at(start);
    if !code.native().sample() {
        return unit;
    }
    // A loop with a unit that is often sampled in base code is often begun: so the function is often called.
    let wanted = if unit.is_some() { Start::Function } else { start };
    // If that has a unit, too, something leaves the units early: new ones pay if more has been observed since.
    let is_current = |unit: &Unit| !optimised::is_outdated(code, unit);
    if code.units.at(wanted).is_some_and(is_current) {
        code.native().set_patience(CURRENT_FOR * policy.samples);
        return unit;
    }
    let order = Order::new(thread.vm, code, wanted, frame);
    if policy.in_background {
        compiler.order(order);
        return unit;
    }
    let mut optimiser = compiler.optimiser.try_lock()?;
    let made = compiler.optimise(made(&mut optimiser)?, order);
    unit.or(made)
}

/// The optimiser in this slot, made if there is none; `None` on a machine that it does not support.
fn made(slot: &mut Option<Optimiser>) -> Option<&mut Optimiser> {
    if slot.is_none() {
        *slot = Optimiser::new();
    }
    slot.as_mut()
}

/// The patience of an exit is at its end: it is reported if it was only for the first time; otherwise its unit is dropped.
pub fn end_patience(vm: &Vm, destination: &Destination, record: &ExitRecord) {
    let Some(policy) = COMPILER.get().and_then(|compiler| compiler.policy) else { return };
    if record.is_first() {
        record.grant(EXIT_PATIENCE - 1);
        return optimised::report_exit(vm, destination);
    }
    optimised::drop_unit(vm, destination, record, policy);
}

/// The machine code of a function, if it has some or can have some.
pub fn make(vm: &Vm, function: &'static Function, kind: CodeKind) -> Option<&'static Code> {
    Code::of(function, kind).or_else(|| COMPILER.get()?.compile(vm, function, kind))
}
