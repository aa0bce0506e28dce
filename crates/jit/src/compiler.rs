//! The compiler as the tier sees it: it gives machine code to functions that are hot. The tier and the helpers call it.
//!
//! Compiling takes about a microsecond for a usual function, so the thread that needs the code compiles it. If two
//! threads do so at once, the second waits, and finds the first one's code.

use std::sync::OnceLock;

use parking_lot::Mutex;
use squall_runtime::tiers::function::{CALL, Function};

use crate::base;
use crate::code::Code;
use crate::memory::CodeMemory;
use crate::stubs::{Helpers, Stubs};

/// What compilations share.
pub struct Compiler {
    memory: CodeMemory,
    /// The shared code.
    pub stubs: Stubs,
    lock: Mutex<()>,
    /// The table for the write barrier, once a thread has told it.
    unlogged_bits: OnceLock<usize>,
}

static COMPILER: OnceLock<Compiler> = OnceLock::new();

/// Functions of more code words than this stay interpreted: their code would take megabytes.
const MOST_WORDS: usize = 1 << 16;

impl Compiler {
    /// Makes the process's compiler; `None` if the system gives no memory for code.
    pub fn start(helpers: &Helpers) -> Option<&'static Compiler> {
        let memory = CodeMemory::reserve().ok()?;
        let stubs = Stubs::make(&memory, helpers)?;
        let (lock, unlogged_bits) = (Mutex::default(), OnceLock::new());
        Some(COMPILER.get_or_init(|| Compiler { memory, stubs, lock, unlogged_bits }))
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
        let (mut places, mut size) = (Box::default(), 0);
        let entry = self.memory.publish(|address| {
            let assembled = base::compile(function, &self.stubs, unlogged_bits, address);
            (places, size) = (assembled.places, assembled.bytes.len());
            assembled.bytes
        })?;
        Some(Box::leak(Box::new(Code { function, entry, size, places })))
    }
}

/// The machine code of a function that is called now, if it has some or is hot.
pub fn of_hot(function: &'static Function) -> Option<&'static Code> {
    Code::of(function).or_else(|| function.native.count(CALL).then(|| make(function)).flatten())
}

/// The machine code of a function, if it has some or can have some.
pub fn make(function: &'static Function) -> Option<&'static Code> {
    Code::of(function).or_else(|| COMPILER.get()?.compile(function))
}
