//! Tuples, lists, maps and function values: the handlers of their typed instructions. The dispatch loop calls
//! them.
//!
//! Reads and writes of list elements, and the handling of function values, are done here; all other cases call
//! [`squall_runtime::tiers::typed`] with the registers saved, since they may allocate.

use squall_bytecode::entities::{FunctionId, StringId};
use squall_bytecode::module::Constant;
use squall_heap::Word;
use squall_runtime::tiers::calls;
use squall_runtime::tiers::function::Function;
use squall_runtime::tiers::outcome::{Failure, FailureReason};
use squall_runtime::tiers::polls;
use squall_runtime::tiers::string::make_string;
use squall_runtime::tiers::thread::Thread;
use squall_runtime::tiers::typed::{Registers, boxing, lists, maps, position, tuples};
use squall_runtime::tiers::types::{Storage, Type};

use crate::machine::{Machine, a, b, bc, c};

/// A slow path's result: the contents of its destination.
type Content = Result<Word, Failure>;

impl<const MODE: u8> Machine<'_, MODE> {
    /// Runs an instruction of `words` words by a slow path.
    #[inline(always)]
    fn content(
        &mut self,
        destination: usize,
        words: usize,
        path: impl FnOnce(&mut Thread, Registers) -> Content,
    ) {
        self.slowly(|thread| {
            let registers = Registers::of(thread);
            let content = path(thread, registers);
            calls::complete_here(thread, destination, words, content);
            polls::after_effort(thread);
        });
    }

    #[inline(always)]
    fn kind(&self, register: usize) -> Type {
        // SAFETY: the verifier has shown the register to be one of the function's; some registers are not `any`.
        unsafe { *self.function().types.get_unchecked(register) }
    }

    #[inline(always)]
    fn fail(&mut self, failure: Failure) {
        self.slowly(|thread| calls::fail_here(thread, failure));
    }
}

/// Tuples.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn make_tuple(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| tuples::make(thread, all, a(word), b(word)));
    }

    #[inline(always)]
    pub(crate) fn tuple_get(&mut self, word: u32) {
        self.content(a(word), 1, |_, all| {
            // SAFETY: the destination has the type of the tuple's element (verifier), for which these are the bits.
            Ok(unsafe { Word::from_bits(tuples::get(all, b(word), c(word))) })
        });
    }

    #[inline(always)]
    pub(crate) fn tuple_set(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| tuples::set(thread, all, a(word), b(word), c(word)));
    }
}

/// Lists.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn empty(&mut self, word: u32) {
        match self.kind(a(word)).is_list() {
            true => self.content(a(word), 1, |thread, _| lists::empty(thread)),
            false => {
                self.set(a(word), Word::NIL);
                self.jump(1);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn make_list(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| lists::make(thread, all, a(word), b(word), c(word)));
    }

    #[inline(always)]
    pub(crate) fn fill_list(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| lists::fill(thread, all, a(word), b(word), c(word)));
    }

    #[inline(always)]
    pub(crate) fn load_bytes(&mut self, word: u32) {
        let function = self.function();
        self.content(a(word), 1, |thread, _| {
            lists::of_bytes(thread, string_constant(function, bc(word)).as_bytes())
        });
    }

    #[inline(always)]
    pub(crate) fn length(&mut self, word: u32) {
        let collection = self.get(b(word));
        let length = match self.kind(b(word)).is_list() {
            true => lists::length(collection),
            false => maps::size(collection),
        };
        self.set_raw(a(word), length as u64);
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn list_get(&mut self, word: u32) {
        let (list, index) = (self.get(b(word)), self.raw(c(word)));
        let storage = self.kind(a(word)).storage();
        match position(index, lists::length(list)) {
            Ok(place) => {
                // SAFETY: the register holds a list (verifier).
                let object = unsafe { list.object_unchecked() };
                self.set_raw(a(word), lists::bits(object, place, storage));
                self.jump(1);
            }
            Err(failure) => self.fail(failure),
        }
    }

    #[inline(always)]
    pub(crate) fn list_set(&mut self, word: u32) {
        let (list, index, bits) = (self.get(a(word)), self.raw(b(word)), self.raw(c(word)));
        let storage = self.kind(c(word)).storage();
        // SAFETY: the register holds a list (verifier).
        let object = unsafe { list.object_unchecked() };
        let is_easy = storage != Storage::Word && !lists::is_shared(object);
        if is_easy && index < lists::length(list) as u64 {
            lists::set_bits(self.thread, object, index as usize, storage, bits);
            return self.jump(1);
        }
        self.content(a(word), 1, |thread, all| lists::set(thread, all, a(word), b(word), c(word)));
    }

    #[inline(always)]
    pub(crate) fn list_get_64(&mut self, word: u32) {
        let (list, index) = (self.get(b(word)), self.raw(c(word)));
        if index >= lists::length(list) as u64 {
            return self.list_get(word);
        }
        // SAFETY: the register holds a list (verifier).
        let object = unsafe { list.object_unchecked() };
        let bits = lists::bits(object, index as usize, Storage::Bits64);
        self.set_raw(a(word), bits);
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn list_set_64(&mut self, word: u32) {
        let (list, index, bits) = (self.get(a(word)), self.raw(b(word)), self.raw(c(word)));
        // SAFETY: the register holds a list (verifier).
        let object = unsafe { list.object_unchecked() };
        if lists::is_shared(object) || index >= lists::length(list) as u64 {
            return self.list_set(word);
        }
        lists::set_bits(self.thread, object, index as usize, Storage::Bits64, bits);
        self.jump(1);
    }

    #[inline(always)]
    pub(crate) fn list_append(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| lists::append(thread, all, a(word), b(word)));
    }

    #[inline(always)]
    pub(crate) fn list_insert(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| {
            lists::insert(thread, all, a(word), b(word), c(word))
        });
    }

    #[inline(always)]
    pub(crate) fn list_remove(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| lists::remove(thread, all, a(word), b(word)));
    }

    #[inline(always)]
    pub(crate) fn list_exchange(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| {
            lists::exchange(thread, all, a(word), b(word), c(word))
        });
    }

    #[inline(always)]
    pub(crate) fn list_slice(&mut self, word: u32) {
        let end = (self.word(1) >> 24) as usize;
        self.content(a(word), 2, |thread, all| lists::slice(thread, all, b(word), c(word), end));
    }

    #[inline(always)]
    pub(crate) fn list_concatenate(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| lists::concatenate(thread, all, b(word), c(word)));
    }
}

/// The text of a constant that is a string.
fn string_constant(function: &'static Function, index: usize) -> &'static str {
    let string = match function.bytecode().constants[index] {
        Constant::String(id) => id,
        _ => StringId(u32::MAX),
    };
    function.module.bytecode.string(string)
}

/// Maps.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn map_get(&mut self, word: u32) {
        let otherwise = self.word(1) as i32 as isize;
        self.slowly(|thread| {
            let registers = Registers::of(thread);
            match maps::get(thread, registers, b(word), c(word)) {
                Ok(None) => calls::jump_here(thread, otherwise),
                Ok(Some(bits)) => {
                    // SAFETY: the destination has the type of the map's values (verifier), for which these are the
                    // bits.
                    let content = unsafe { Word::from_bits(bits) };
                    calls::complete_here(thread, a(word), 2, Ok(content));
                }
                Err(failure) => calls::fail_here(thread, failure),
            }
            polls::after_effort(thread);
        });
    }

    #[inline(always)]
    pub(crate) fn map_put(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| maps::put(thread, all, a(word), b(word), c(word)));
    }

    #[inline(always)]
    pub(crate) fn map_remove(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| maps::remove(thread, all, a(word), b(word)));
    }

    #[inline(always)]
    pub(crate) fn map_has(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| maps::has(thread, all, b(word), c(word)));
    }

    #[inline(always)]
    pub(crate) fn map_key(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| {
            // SAFETY: the destination has the type of the map's keys (verifier), for which these are the bits.
            maps::key_at(thread, all, b(word), c(word)).map(|bits| unsafe { Word::from_bits(bits) })
        });
    }

    #[inline(always)]
    pub(crate) fn map_value(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| {
            // SAFETY: the destination has the type of the map's values (verifier), for which these are the bits.
            maps::value_at(thread, all, b(word), c(word))
                .map(|bits| unsafe { Word::from_bits(bits) })
        });
    }
}

/// Tuples, lists and maps as objects, and back.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn box_defined(&mut self, word: u32) {
        self.content(a(word), 1, |thread, all| {
            boxing::boxed(thread, all.kind(b(word)), all.word(b(word)))
        });
    }

    #[inline(always)]
    pub(crate) fn unbox_defined(&mut self, word: u32) {
        let otherwise = self.word(1) as i32 as isize;
        self.slowly(|thread| {
            let registers = Registers::of(thread);
            let object = registers.word(b(word));
            match boxing::unboxed(thread, registers.kind(a(word)), object) {
                Ok(None) => calls::jump_here(thread, otherwise),
                Ok(Some(value)) => calls::complete_here(thread, a(word), 2, Ok(value)),
                Err(failure) => calls::fail_here(thread, failure),
            }
            polls::after_effort(thread);
        });
    }
}

/// Moving lists, and function values.
impl<const MODE: u8> Machine<'_, MODE> {
    #[inline(always)]
    pub(crate) fn take(&mut self, word: u32) {
        let value = self.get(b(word));
        self.set(a(word), value);
        self.jump(1);
    }

    /// `move` of a list: afterwards two registers refer to it.
    #[inline(always)]
    pub(crate) fn move_list(&mut self, word: u32) {
        lists::share(self.get(b(word)));
        self.take(word);
    }

    #[inline(always)]
    pub(crate) fn load_function(&mut self, word: u32) {
        let function = self.function().module.function(FunctionId(self.word(1)));
        self.set_raw(a(word), std::ptr::from_ref(function) as u64);
        self.jump(2);
    }

    /// The body of an imported function that no module provides.
    #[inline(always)]
    pub(crate) fn fail_unlinked(&mut self) {
        self.slowly(|thread| {
            let failure = match make_string(thread, "calling a function that was not linked") {
                Ok(what) => Failure::with(FailureReason::NotSupported, what, Word::NIL),
                Err(failure) => failure,
            };
            calls::fail_here(thread, failure);
        });
    }

    #[inline(always)]
    pub(crate) fn call_indirect(&mut self, word: u32) {
        let site = self.site(self.word(1));
        // SAFETY: a register of a function's type holds the address of a function, which is
        // immortal: only `load_function` makes one.
        let callee: &'static Function = unsafe { &*(self.raw(c(word)) as *const Function) };
        let window = self.window(b(word), usize::from(site.arguments));
        self.enter(site, callee, window);
    }
}
