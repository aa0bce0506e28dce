//! The tier that mixes machine code with the interpreter. Workers call it.
//!
//! It is a loop over states of the interpreter. Where the function has machine code, it enters that, until the innermost
//! activation returns, or the native stack is abandoned; a return that leads to Rust is completed as the interpreter
//! completes it. Elsewhere the interpreter runs, until it comes to hot code. So the activations of a strand may stand in
//! machine code and in bytecode in any order, and each goes on by itself when its callee returns.

use squall_heap::Word;
use squall_runtime::tiers::debugging;
use squall_runtime::tiers::function::{Function, compile_after};
use squall_runtime::tiers::polls;
use squall_runtime::tiers::thread::{Stop, Thread};
use squall_runtime::tiers::tier::{Interpreter, Tier};
use squall_runtime::tiers::unwind;

use crate::compiler::{self, Compiler, Settings};
use crate::helpers;
use crate::resume::{self, Place};

/// The least room on the native stack with which machine code calls on: more than all activations of one chunk of the
/// VM stack take, and what Rust and C need.
const RESERVE: usize = 3 << 20;

/// Machine code and the interpreter.
pub struct Mixed {
    interpreter: &'static dyn Interpreter,
    compiler: &'static Compiler,
    /// How often the interpreter goes on at hot code when a strand begins to run.
    linger: u32,
}

/// Entering and abandoning machine code costs about as much as ten interpreted sends.
const LINGER: u32 = 16;

impl Mixed {
    /// The tier. `None` if the system gives no memory for code. Comes before the first function is linked.
    pub fn start(interpreter: &'static dyn Interpreter, settings: Settings) -> Option<Mixed> {
        let heat = settings.heat;
        let compiler = Compiler::start(&helpers::table(), settings)?;
        helpers::set_interpreter(interpreter);
        compile_after(heat, compiler.stubs.cold_entry as *const ());
        let linger = if heat == 0 { 0 } else { LINGER };
        Some(Mixed { interpreter, compiler, linger })
    }

    /// Runs until the strand stops or is to go on elsewhere, or with other accesses. The interpreter begins: most strands
    /// that wait for others stop again soon.
    fn run_here(&self, thread: &mut Thread) {
        thread.native_stack.linger = self.linger;
        if self.linger > 0 && !self.interpret(thread) {
            return;
        }
        loop {
            match resume::place(thread) {
                Place::End => return,
                Place::Machine(_) if thread.metering.is_spent() => polls::poll(thread),
                Place::Machine(address) => self.enter(thread, address),
                Place::Inside => {
                    thread.end_code();
                    self.interpreter.step(thread);
                }
                Place::Cold if self.interpret(thread) => {}
                Place::Cold => return,
            }
            if thread.stop != Stop::Returned {
                return;
            }
        }
    }

    /// Interprets until the strand stops, or comes to a hot function, which is compiled; answers whether it goes on.
    fn interpret(&self, thread: &mut Thread) -> bool {
        thread.end_code();
        self.interpreter.run_cold(thread);
        if thread.stop != Stop::Hot {
            return false;
        }
        thread.stop = Stop::Returned;
        thread.state = thread.resumption;
        if let Some(function) = resume::function_of(thread.state) {
            compiler::make(thread.vm, function, thread.code_kind());
        }
        true
    }

    /// Runs machine code from the state on.
    fn enter(&self, thread: &mut Thread, address: usize) {
        resume::note_around(thread);
        // SAFETY: the address is the place of the state in its function's code.
        let entered = unsafe { self.compiler.stubs.enter(thread, address) };
        if entered.was_left == 0 {
            // SAFETY: machine code returns the contents of a register, which no GC point has come after.
            let value = unsafe { Word::from_bits(entered.value) };
            // SAFETY: the outermost activation has returned, and nothing has gone on after it.
            unsafe { unwind::return_from(thread, thread.native_stack.outermost, value) };
        }
    }
}

impl Tier for Mixed {
    fn run(&self, thread: &mut Thread) {
        if thread.native_stack.floor == 0 {
            thread.native_stack.floor = end_of_stack() + RESERVE;
            thread.native_stack.countdown = 1;
            thread.native_stack.code = self.compiler.memory().start();
        }
        // C may have been called by other machine code, and have called back into this.
        let (outer_stack, outer) = (thread.native_stack, thread.runs_guarded);
        let was_counted_by_code = thread.metering.is_counted_by_code;
        loop {
            thread.runs_guarded = thread.is_guarded;
            match thread.watch.steps {
                true => {
                    thread.end_code();
                    debugging::step_through(thread, self.interpreter);
                }
                false => self.run_here(thread),
            }
            if thread.stop != Stop::Switched {
                break;
            }
            thread.stop = Stop::Returned;
            thread.state = thread.resumption;
        }
        thread.native_stack.base = outer_stack.base;
        thread.native_stack.outermost = outer_stack.outermost;
        thread.runs_guarded = outer;
        match was_counted_by_code {
            true => thread.begin_code(),
            false => thread.end_code(),
        }
    }

    fn forget(&self, functions: &[&'static Function]) {
        self.compiler.forget(functions);
    }

    fn take_up(&self) -> std::io::Result<()> {
        self.compiler.memory().part()
    }
}

/// The lowest address of the calling thread's native stack.
fn end_of_stack() -> usize {
    let here = 0u8;
    // SAFETY: the attributes are initialised by the call that reads them, and destroyed after that.
    unsafe {
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
            return (&raw const here).addr() - RESERVE;
        }
        let (mut start, mut size) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut start, &mut size);
        libc::pthread_attr_destroy(&mut attributes);
        start as usize
    }
}
