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

use parking_lot::Mutex;
use squall_compiler::code::Start;
use squall_heap::Word;
use squall_runtime::tiers::function::{Accesses, CALL, Function};
use squall_runtime::tiers::thread::{Thread, Vm};

use crate::base;
use crate::code::units::{Destination, ExitRecord, Unit, Units};
use crate::code::{Code, Profile, suffix};
use crate::memory::{CodeMap, CodeMemory};
use crate::optimised::{self, Optimiser, Order, Policy};
use crate::stubs::{Helpers, Stubs};

/// What compilations share.
pub struct Compiler {
    memory: CodeMemory,
    /// The shared code.
    pub stubs: Stubs,
    lock: Mutex<()>,
    /// When functions are optimised, if they are.
    pub policy: Option<Policy>,
    /// Made for the first unit: most short programs need none.
    optimiser: Mutex<Option<Optimiser>>,
    /// What the compiling thread is to do.
    orders: OnceLock<Sender<Order>>,
}

static COMPILER: OnceLock<Compiler> = OnceLock::new();

/// Functions of more code words than this stay interpreted: their code would take megabytes.
const MOST_WORDS: usize = 1 << 16;

impl Compiler {
    /// Makes the process's compiler; `None` if the system gives no memory for code. The map is for profilers.
    pub fn start(
        helpers: &Helpers,
        policy: Option<Policy>,
        map: Option<CodeMap>,
    ) -> Option<&'static Compiler> {
        let memory = CodeMemory::reserve(map).ok()?;
        let stubs = Stubs::make(&memory, helpers)?;
        Some(COMPILER.get_or_init(|| Compiler {
            memory,
            stubs,
            lock: Mutex::default(),
            policy,
            optimiser: Mutex::default(),
            orders: OnceLock::new(),
        }))
    }

    /// Compiles a function, unless it has code or cannot be compiled.
    fn compile(&self, function: &'static Function, accesses: Accesses) -> Option<&'static Code> {
        let _one = self.lock.lock();
        if let Some(code) = Code::of(function, accesses) {
            return Some(code);
        }
        let (code, native) = (self.assemble(function, accesses), function.native(accesses));
        match code {
            Some(code) => {
                let entry = code.entry as *const ();
                native.set_patience(self.policy.map_or(0, |policy| policy.samples));
                function.set_compiled(accesses, std::ptr::from_ref(code).cast(), entry);
            }
            None => native.give_up(),
        }
        code
    }

    fn assemble(&self, function: &'static Function, accesses: Accesses) -> Option<&'static Code> {
        if function.bytecode().is_imported() || function.code.len() > MOST_WORDS {
            return None;
        }
        let observed = if self.policy.is_some() { function.code.len() } else { 0 };
        let profile: Profile = (0..observed).map(|_| AtomicU8::new(0)).collect::<Vec<_>>().leak();
        let (mut places, mut returns, mut size) = (Box::default(), Box::default(), 0);
        let entry = self.memory.publish(|address| {
            let request = base::Request { function, accesses, profile };
            let assembled = base::compile(request, &self.stubs, address)?;
            (places, returns) = (assembled.places, assembled.returns);
            size = assembled.bytes.len();
            Some(assembled.bytes)
        })?;
        self.memory.name(entry, size, || format!("{} base{}", function.name(), suffix(accesses)));
        let units = Units::default();
        let code = Code { function, accesses, entry, size, places, returns, profile, units };
        Some(Box::leak(Box::new(code)))
    }

    /// Makes a unit, and says when its function may get another one.
    fn optimise(&self, optimiser: &mut Optimiser, order: Order) -> Option<&'static Unit> {
        let code = order.code;
        let base = |function| make(function, code.accesses);
        let unit = optimised::optimise(optimiser, order, (&self.stubs, &self.memory, &base));
        let again = self.policy.filter(|_| unit.is_some() && !code.units.is_full());
        code.native().set_patience(again.map_or(i32::MAX, |policy| policy.samples));
        unit
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
pub fn of_hot(function: &'static Function, accesses: Accesses) -> Option<&'static Code> {
    let is_hot = || function.native(accesses).count(CALL);
    Code::of(function, accesses).or_else(|| is_hot().then(|| make(function, accesses)).flatten())
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

/// An exit was taken so often that its unit is to be dropped.
pub fn drop_unit(vm: &Vm, destination: &Destination, record: &ExitRecord) {
    if let Some(policy) = COMPILER.get().and_then(|compiler| compiler.policy) {
        optimised::drop_unit(vm, destination, record, policy);
    }
}

/// The machine code of a function, if it has some or can have some.
pub fn make(function: &'static Function, accesses: Accesses) -> Option<&'static Code> {
    Code::of(function, accesses).or_else(|| COMPILER.get()?.compile(function, accesses))
}
