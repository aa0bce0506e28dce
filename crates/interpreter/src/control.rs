//! Values and control: the handlers of moves, constants, variables, branches and loops. The dispatch
//! loop calls them.

use squall_bytecode::codes::observed_forms;
use squall_bytecode::module::Constant as Literal;
use squall_heap::Word;
use squall_runtime::tiers::calls;
use squall_runtime::tiers::function::{Function, TURN};
use squall_runtime::tiers::outcome::Failure;
use squall_runtime::tiers::thread::{Stop, Thread};
use squall_runtime::tiers::{block, number, string};

use crate::machine::{Machine, a, abc_signed, b, bc, bc_signed, c};
use squall_runtime::tiers::polls;

/// Values.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn move_register(&mut self, word: u32) {
        self.set(a(word), self.get(b(word)));
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn load_integer(&mut self, word: u32) {
        self.set(a(word), Word::from_small_integer_unchecked(bc_signed(word) as i64));
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn load_special(&mut self, word: u32) {
        const SPECIALS: [Word; 3] = [Word::NIL, Word::FALSE, Word::TRUE];
        self.set(a(word), SPECIALS[b(word)]);
        self.jump(1);
    }

    /// Makes the constant's object if it does not exist yet; later executions only load it. An instruction with a breakpoint keeps
    /// its opcode, so it loads the object here.
    #[inline(always)]
    pub(crate) fn load_constant(&mut self, word: u32) {
        let pc = self.pc;
        self.slowly(|thread| match make_constant(thread, bc(word)) {
            Ok(()) => crate::machine::specialise_at(pc, observed_forms::LOAD_OBJECT),
            Err(failure) => calls::fail_here(thread, failure),
        });
        if self.pc == pc && self.constant(bc(word)).word() != Word::UNSET {
            self.load_object(word);
        }
    }

    #[inline(always)]
    pub(crate) fn load_object(&mut self, word: u32) {
        self.set(a(word), self.constant(bc(word)).word());
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn load_raw(&mut self, word: u32) {
        self.set_raw(a(word), self.constant(bc(word)).bits());
        self.jump(1);
    }

    #[inline(always)]
    fn constant(&self, index: usize) -> &'static squall_runtime::tiers::function::Constant {
        // SAFETY: the verifier has shown the index to be in the table.
        unsafe { self.function().constants.get_unchecked(index) }
    }
}

/// Makes the object of a constant of the function in the state. *GC point.*
fn make_constant(thread: &mut Thread, index: usize) -> Result<(), Failure> {
    let function: &'static Function = thread.activation().function;
    if function.constants[index].word() != Word::UNSET {
        return Ok(());
    }
    let module = function.module;
    let object = match &function.bytecode().constants[index] {
        Literal::Integer(value) => number::make_big(thread, value.clone())?,
        Literal::Double(value) => number::make_double(thread, *value)?,
        Literal::String(id) => string::make_string(thread, module.bytecode.string(*id))?,
        Literal::Symbol(id) => string::symbol_object(thread, module.symbol(*id))?,
        Literal::Raw(..) => return Ok(()),
    };
    thread.vm.define_constant(&function.constants[index], object);
    Ok(())
}

/// Variables.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn load_captured(&mut self, word: u32) {
        // SAFETY: the verifier has shown that register 0 is the closure and that it captures that many values.
        let value = unsafe {
            let closure = self.get(0).object_unchecked();
            closure.element_unchecked(block::FIRST_CAPTURED + bc(word))
        };
        self.set(a(word), value);
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn make_context(&mut self, word: u32) {
        self.slowly(|thread| {
            let made = block::make_context(thread, bc(word));
            calls::complete_here(thread, a(word), 1, made);
        });
    }

    #[inline(always)]
    pub(crate) fn load_context(&mut self, word: u32) {
        match block::context(self.get(b(word)), c(word)) {
            Some(context) => {
                // SAFETY: the context has a variable with this index.
                self.set(a(word), unsafe { context.element_unchecked(c(word)) });
                self.jump(1);
            }
            None => self.fail_with(self.get(b(word))),
        }
    }

    #[inline(always)]
    pub(crate) fn store_context(&mut self, word: u32) {
        match block::context(self.get(a(word)), b(word)) {
            Some(context) => {
                let value = self.get(c(word));
                // SAFETY: the context has a variable with this index.
                unsafe {
                    context.set_element_unchecked(&mut self.thread.mutator, b(word), value);
                }
                self.jump(1);
            }
            None => self.fail_with(self.get(a(word))),
        }
    }

    /// A guest fault about this word.
    #[inline(always)]
    pub(crate) fn fail_with(&mut self, word: Word) {
        self.slowly(|thread| calls::fail_here(thread, Failure::argument(word)));
    }
}

/// Branches and loops.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn jump_always(&mut self, word: u32) {
        self.jump(abc_signed(word));
    }

    #[inline(always)]
    pub(crate) fn jump_back(&mut self, word: u32) {
        self.jump_and_poll(abc_signed(word));
    }

    /// Jumps by a distance, and polls at the target, where no instruction is in progress.
    #[inline(always)]
    pub(crate) fn jump_and_poll(&mut self, distance: isize) {
        self.jump(distance);
        if self.thread.must_poll() {
            self.slowly(polls::poll);
            if Self::COLD && self.thread.stop != Stop::Returned {
                return;
            }
        }
        self.count(TURN);
    }

    #[inline(always)]
    pub(crate) fn branch_boolean<const JUMPS_ON: bool>(&mut self, word: u32) {
        let value = self.get(a(word));
        if value == Word::from_bool(JUMPS_ON) {
            self.jump(bc_signed(word));
        } else if value == Word::from_bool(!JUMPS_ON) {
            self.jump(2);
        } else {
            self.jump(self.word(1) as i32 as isize);
        }
    }

    #[inline(always)]
    pub(crate) fn branch_nil<const JUMPS_ON: bool>(&mut self, word: u32) {
        let value = self.get(a(word));
        if value.as_object().is_some_and(|object| object.layout().has_custom_control()) {
            self.jump(self.word(1) as i32 as isize);
        } else if value.is_nil() == JUMPS_ON {
            self.jump(bc_signed(word));
        } else {
            self.jump(2);
        }
    }

    #[inline(always)]
    pub(crate) fn for_enter(&mut self, word: u32) {
        let (counter, step) = (self.get(a(word)), c(word) as i8);
        let Some(limit) = suitable_limit(counter, self.get(b(word)), step) else {
            return self.jump(self.word(2) as i32 as isize);
        };
        self.set(b(word), limit);
        let (from, to) = (counter.bits() as i64, limit.bits() as i64);
        let beyond = if step > 0 { from > to } else { from < to };
        self.jump(if beyond { self.word(1) as i32 as isize } else { 3 });
    }

    #[inline(always)]
    pub(crate) fn for_loop(&mut self, word: u32) {
        let (counter, limit) = (self.get(a(word)), self.get(b(word)));
        let step = i64::from(c(word) as i8);
        if !counter.both_small_integers(limit) {
            return self.jump(2);
        }
        let Some(next) = (counter.bits() as i64).checked_add(step * 8) else {
            return self.jump(2);
        };
        // SAFETY: the bits have the tag of small integers, as the counter's have.
        self.set(a(word), unsafe { Word::from_bits(next as u64) });
        let limit = limit.bits() as i64;
        if if step > 0 { next <= limit } else { next >= limit } {
            self.jump_and_poll(self.word(1) as i32 as isize);
        } else {
            self.jump(2);
        }
    }
}

/// The limit of a loop as a small integer, if counter and limit are fit for the loop instructions.
#[inline(always)]
fn suitable_limit(counter: Word, limit: Word, step: i8) -> Option<Word> {
    if !counter.is_small_integer() || step == 0 {
        return None;
    }
    if limit.is_small_integer() {
        return Some(limit);
    }
    let limit = limit.as_double()?;
    let limit = if step > 0 { limit.floor() } else { limit.ceil() };
    // The conversion saturates. Infinities and NaN are boxed, so they do not come here.
    Word::from_small_integer(limit as i64)
}
