//! The compilers as the tier sees them: they give machine code to functions that are hot. The tier and the helpers call
//! this module.
//!
//! Base code takes about a microsecond for a usual function, so the thread that needs the code compiles it. If two
//! threads do so at once, the second waits, and finds the first one's code. Of two threads that would optimise at once,
//! the second goes on with base code.

use std::sync::OnceLock;
use std::sync::atomic::AtomicU8;

use parking_lot::Mutex;
use squall_compiler::code::Start;
use squall_heap::Word;
use squall_runtime::tiers::function::{CALL, Function};
use squall_runtime::tiers::thread::{Thread, Vm};

use crate::base;
use crate::code::{Code, Profile};
use crate::memory::CodeMemory;
use crate::optimised::units::{Destination, ExitRecord, Unit, Units};
use crate::optimised::{self, Optimiser, Policy};
use crate::stubs::{Helpers, Stubs};

/// What compilations share.
pub struct Compiler {
    memory: CodeMemory,
    /// The shared code.
    pub stubs: Stubs,
    lock: Mutex<()>,
    /// When functions are optimised, if they are.
    pub policy: Option<Policy>,
    optimiser: Mutex<Option<Optimiser>>,
    /// The table for the write barrier, once a thread has told it.
    unlogged_bits: OnceLock<usize>,
}

static COMPILER: OnceLock<Compiler> = OnceLock::new();

/// Functions of more code words than this stay interpreted: their code would take megabytes.
const MOST_WORDS: usize = 1 << 16;

impl Compiler {
    /// Makes the process's compiler; `None` if the system gives no memory for code.
    pub fn start(helpers: &Helpers, policy: Option<Policy>) -> Option<&'static Compiler> {
        let memory = CodeMemory::reserve().ok()?;
        let stubs = Stubs::make(&memory, helpers)?;
        let optimiser = policy.and_then(|_| Optimiser::new());
        Some(COMPILER.get_or_init(|| Compiler {
            memory,
            stubs,
            lock: Mutex::default(),
            policy: policy.filter(|_| optimiser.is_some()),
            optimiser: Mutex::new(optimiser),
            unlogged_bits: OnceLock::new(),
        }))
    }

    /// Sets the address of the table for the write barrier.
    pub fn set_unlogged_bits(&self, address: usize) {
        _ = self.unlogged_bits.set(address);
    }

    /// Compiles a function, unless it has code or cannot be compiled.
    fn compile(&self, function: &'static Function) -> Option<&'static Code> {
        let _one = self.lock.lock();
        if let Some(code) = Code::of(function) {
            return Some(code);
        }
        let code = self.assemble(function);
        match code {
            Some(code) => {
                let entry = code.entry as *const ();
                function.native.set_patience(self.policy.map_or(0, |policy| policy.samples));
                function.set_compiled(std::ptr::from_ref(code).cast(), entry);
            }
            None => function.native.give_up(),
        }
        code
    }

    fn assemble(&self, function: &'static Function) -> Option<&'static Code> {
        let unlogged_bits = *self.unlogged_bits.get()?;
        if function.bytecode().is_imported() || function.code.len() > MOST_WORDS {
            return None;
        }
        let observed = if self.policy.is_some() { function.code.len() } else { 0 };
        let profile: Profile = (0..observed).map(|_| AtomicU8::new(0)).collect::<Vec<_>>().leak();
        let (mut places, mut returns, mut size) = (Box::default(), Box::default(), 0);
        let entry = self.memory.publish(|address| {
            let assembled =
                base::compile(function, &self.stubs, unlogged_bits, profile, address);
            (places, returns) = (assembled.places, assembled.returns);
            size = assembled.bytes.len();
            assembled.bytes
        })?;
        let units = Units::default();
        Some(Box::leak(Box::new(Code { function, entry, size, places, returns, profile, units })))
    }

    /// Optimises the function of this code from a start on, if nothing else is being optimised. The frame is that of the
    /// activation that stands there.
    fn optimise(
        &self,
        vm: &'static Vm,
        code: &'static Code,
        start: Start,
        frame: &[Word],
    ) -> Option<&'static Unit> {
        let mut optimiser = self.optimiser.try_lock()?;
        let parts = (&self.stubs, &self.memory);
        let unit = optimised::optimise(optimiser.as_mut()?, vm, code, start, frame, parts);
        let again = self.policy.filter(|_| unit.is_some() && !code.units.is_full());
        code.function.native.set_patience(again.map_or(i32::MAX, |policy| policy.samples));
        unit
    }
}

/// The machine code of a function that is called now, if it has some or is hot.
pub fn of_hot(function: &'static Function) -> Option<&'static Code> {
    Code::of(function).or_else(|| function.native.count(CALL).then(|| make(function)).flatten())
}

/// A sample of base code, in an activation that stands at a start. Answers the unit that is to go on, if there is one.
pub fn sample(
    thread: &mut Thread,
    code: &'static Code,
    start: Start,
    frame: &[Word],
) -> Option<&'static Unit> {
    let compiler = COMPILER.get()?;
    thread.countdown = compiler.policy?.period;
    let unit = code.units.at(start);
    if unit.is_some() || !code.function.native.sample() {
        return unit;
    }
    compiler.optimise(thread.vm, code, start, frame)
}

/// An exit was taken so often that its unit is to be dropped.
pub fn drop_unit(destination: &Destination, record: &ExitRecord) {
    if let Some(policy) = COMPILER.get().and_then(|compiler| compiler.policy) {
        optimised::drop_unit(destination, record, policy);
    }
}

/// The machine code of a function, if it has some or can have some.
pub fn make(function: &'static Function) -> Option<&'static Code> {
    Code::of(function).or_else(|| COMPILER.get()?.compile(function))
}
