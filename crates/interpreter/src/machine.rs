//! The machine: the interpreter's registers, and the handlers' access to operands. The dispatch loop makes one for each
//! run, and all handlers are its methods.
//!
//! Invariants, which make the unchecked accesses sound:
//!
//! - `pc` points at an instruction of `function`'s code, all of whose words are there; `frame`
//!   has `function.frame_words` words below the thread's limit. The verifier has shown that
//!   every operand names a register, site or constant of the function, and that registers hold
//!   words of their type before they are read.
//! - The three are local to the dispatch loop. Code that may look at the stack or reach a GC point is called through
//!   [`Machine::slowly`], which saves them before and reloads them after.
//! - No function that gets a reference to the machine is called: all its methods are `inline(always)`. A single call
//!   with its address would make the compiler keep pc and frame in memory everywhere, which costs up to a third of the
//!   speed.

use std::sync::atomic::{AtomicU32, Ordering};

use squall_bytecode::codes::internal::BREAKPOINT;
use squall_heap::{Object, Word};
use squall_runtime::tiers::access::{self, Place};
use squall_runtime::tiers::calls;
use squall_runtime::tiers::function::{CodeKind, Function, Site};
use squall_runtime::tiers::thread::{State, Thread};

/// The kinds of machine, as bits.
pub mod mode {
    /// It runs until the strand stops, with bare accesses.
    pub const PLAIN: u8 = 0;
    /// Accesses to slots and elements take part in transactions: see [`squall_runtime::tiers::access`].
    pub const GUARDED: u8 = 1;
    /// It counts calls and turns of loops, and leaves when it comes to a hot function.
    pub const COLD: u8 = 2;
    /// It runs one instruction.
    pub const STEP: u8 = 4;
}

/// The interpreter's registers. The parameter has bits of [`mode`].
pub struct Machine<'t, const MODE: u8> {
    pub(crate) pc: *const AtomicU32,
    pub(crate) frame: *mut Word,
    pub(crate) function: *const Function,
    pub(crate) thread: &'t mut Thread,
}

/// The fields of an instruction's first word.
#[inline(always)]
pub fn a(word: u32) -> usize {
    (word >> 8 & 0xFF) as usize
}

/// See [`a`].
#[inline(always)]
pub fn b(word: u32) -> usize {
    (word >> 16 & 0xFF) as usize
}

/// See [`a`].
#[inline(always)]
pub fn c(word: u32) -> usize {
    (word >> 24) as usize
}

/// The upper half of the first word, unsigned.
#[inline(always)]
pub fn bc(word: u32) -> usize {
    (word >> 16) as usize
}

/// The upper half of the first word, signed.
#[inline(always)]
pub fn bc_signed(word: u32) -> isize {
    (word as i32 >> 16) as isize
}

/// The upper three bytes of the first word, signed.
#[inline(always)]
pub fn abc_signed(word: u32) -> isize {
    (word as i32 >> 8) as isize
}

impl<const MODE: u8> Machine<'_, MODE> {
    /// Word `index` of the instruction at `pc`.
    #[inline(always)]
    pub fn word(&self, index: usize) -> u32 {
        // SAFETY: the instruction has that many words (first invariant).
        unsafe { (*self.pc.add(index)).load(Ordering::Relaxed) }
    }

    /// A register.
    #[inline(always)]
    pub fn get(&self, register: usize) -> Word {
        // SAFETY: the register is inside the frame and initialised (first invariant).
        unsafe { self.frame.add(register).read() }
    }

    /// Writes a register.
    #[inline(always)]
    pub fn set(&mut self, register: usize, value: Word) {
        // SAFETY: the register is inside the frame (first invariant).
        unsafe { self.frame.add(register).write(value) }
    }

    /// The raw bits of a typed register.
    #[inline(always)]
    pub fn raw(&self, register: usize) -> u64 {
        self.get(register).bits()
    }

    /// Writes the raw bits of a typed register.
    #[inline(always)]
    pub fn set_raw(&mut self, register: usize, bits: u64) {
        // SAFETY: the bits go to a register whose type says that it is raw (verifier).
        self.set(register, unsafe { Word::from_bits(bits) });
    }

    /// Goes to the word at a distance from this instruction's first.
    #[inline(always)]
    pub fn jump(&mut self, distance: isize) {
        // SAFETY: the target is an instruction of the function: the verifier has checked all distances, and the others
        // are an instruction's length.
        self.pc = unsafe { self.pc.offset(distance) };
    }

    /// The running function.
    #[inline(always)]
    pub fn function(&self) -> &'static Function {
        // SAFETY: functions are immortal.
        unsafe { &*self.function }
    }

    /// A site of the running function.
    #[inline(always)]
    pub fn site(&self, index: u32) -> &'static Site {
        // SAFETY: the verifier has shown the index to be in the table.
        unsafe { self.function().sites.get_unchecked(index as usize) }
    }

    /// Replaces the opcode of the instruction at `pc` by an equivalent one.
    #[inline(always)]
    pub fn specialise(&self, opcode: u8) {
        specialise_at(self.pc, opcode);
    }

    /// Reads a place of an object. `None` means that execution has moved elsewhere.
    ///
    /// # Safety
    ///
    /// The object has the place.
    #[inline(always)]
    pub unsafe fn load(&mut self, object: Object, place: impl Place) -> Option<Word> {
        if !Self::GUARDED {
            // SAFETY: as the caller promises.
            return Some(unsafe { place.load(object) });
        }
        // SAFETY: as the caller promises.
        let value = unsafe { access::try_load(self.thread, object, place, self.pc as usize) };
        if value.is_some() {
            return value;
        }
        self.save();
        // SAFETY: as the caller promises; no access is a GC point.
        let value = unsafe { access::load(self.thread, object, place) };
        if value.is_none() {
            self.reload();
        }
        value
    }

    /// Writes a place of an object. False means that the store was not done and execution has moved elsewhere.
    ///
    /// # Safety
    ///
    /// The object has the place.
    #[inline(always)]
    pub unsafe fn store(&mut self, object: Object, place: impl Place, value: Word) -> bool {
        if !Self::GUARDED {
            // SAFETY: as the caller promises.
            unsafe { place.store(self.thread, object, value) };
            return true;
        }
        // SAFETY: as the caller promises.
        if unsafe { access::try_store(self.thread, object, place, value, self.pc as usize) } {
            return true;
        }
        self.save();
        // SAFETY: as the caller promises; no access is a GC point.
        if unsafe { access::store(self.thread, object, place, value) } {
            return true;
        }
        self.reload();
        false
    }

    pub(crate) const GUARDED: bool = MODE & mode::GUARDED != 0;
    pub(crate) const COLD: bool = MODE & mode::COLD != 0;
    pub(crate) const STEP: bool = MODE & mode::STEP != 0;

    /// The kind of machine code that goes on for this loop.
    #[inline(always)]
    fn code_kind(&self) -> CodeKind {
        if Self::GUARDED { CodeKind::Guarded } else { self.thread.code_kind() }
    }

    /// Counts a call of the running function, or a turn of a loop in it. If the function is hot, leaves the
    /// interpreter here.
    #[inline(always)]
    pub(crate) fn count(&mut self, by: i32) {
        if Self::COLD && self.function().native(self.code_kind()).count(by) {
            self.leave_hot();
        }
    }

    /// Leaves the interpreter here if a call that returned through this site returned to compiled code.
    #[inline(always)]
    pub(crate) fn returned_through(&mut self, site: &'static Site) {
        if Self::COLD && site.is_compiled(self.code_kind()) {
            self.leave_hot();
        }
    }

    /// Leaves the interpreter, unless the strand has only just begun to run; it goes on at this place in another tier.
    #[inline(always)]
    fn leave_hot(&mut self) {
        if self.thread.native_stack.linger > 0 {
            self.thread.native_stack.linger -= 1;
            return;
        }
        self.slowly(calls::leave_hot);
    }

    /// Calls a slow path with the registers saved, and continues at the place that it leaves in the state.
    #[inline(always)]
    pub fn slowly(&mut self, path: impl FnOnce(&mut Thread)) {
        self.save();
        path(self.thread);
        self.reload();
    }

    #[inline(always)]
    pub(crate) fn save(&mut self) {
        self.thread.state = State { pc: self.pc, frame: self.frame, function: self.function };
    }

    #[inline(always)]
    pub(crate) fn reload(&mut self) {
        let State { pc, frame, function } = self.thread.state;
        (self.pc, self.frame, self.function) = (pc, frame, function);
    }
}

/// Replaces the opcode of an instruction by an equivalent one.
pub(crate) fn specialise_at(pc: *const AtomicU32, opcode: u8) {
    // SAFETY: the pc points at a code word, and code words are atomics. A thread that reads the word before or after
    // finds a form of the same instruction (see `crate::code`).
    let word = unsafe { &*pc };
    let general = word.load(Ordering::Relaxed);
    if general as u8 == BREAKPOINT {
        return;
    }
    word.store(general & !0xFF | u32::from(opcode), Ordering::Relaxed);
}
