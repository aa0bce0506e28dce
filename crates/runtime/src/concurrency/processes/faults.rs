//! Faults: exceptions in the form that typed code sees. The instructions that raise and catch call this module.
//!
//! Typed code knows no classes. It catches by the name of a fault, which stands for a class of the
//! kernel, or for all exceptions; and it signals exceptions of one class, which carry a value.

use squall_bytecode::module::Fault;
use squall_heap::Word;

use super::registers;
use crate::execution::calls;
use crate::execution::faults::of;
use crate::execution::unwind;
use crate::model::behavior::SlotContent;
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason};
use crate::objects::typed::boxing;
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// The number of the fault that an exception is, or 0.
pub fn number(vm: &Vm, exception: Word) -> i64 {
    let behavior = vm.behavior_of_layout(known::layout_of(exception));
    behavior.and_then(of).map_or(0, |fault| fault as i64)
}

/// Signals an exception with the contents of a register; or the contents, if they are an exception. *GC point.*
pub fn raise(thread: &mut Thread, register: usize) {
    let kind = registers::kind_of(thread, register);
    let boxed = registers::to_word(thread, register).and_then(|word| match kind.is_boxable() {
        true => boxing::boxed(thread, kind, word),
        false => Ok(word),
    });
    let word = match boxed {
        Ok(word) => word,
        Err(failure) => return calls::fail_here(thread, failure),
    };
    if registers::is_any(thread, register) && is_exception(thread.vm, word) {
        let activation = thread.activation();
        let site = activation.function.fault_site(activation.pc);
        let outcome = unwind::signal(thread, word);
        return calls::finish(thread, site, outcome);
    }
    calls::fail_here(thread, Failure::with(FailureReason::Raised, word, Word::NIL));
}

/// Whether the word is an exception, that is, an object with a place for its trace.
fn is_exception(vm: &Vm, word: Word) -> bool {
    let behavior = word.as_object().and_then(|object| vm.behavior_of_layout(object.layout()));
    behavior.is_some_and(|behavior| behavior.slot_index(SlotContent::Trace).is_some())
}

/// The value that an exception was raised with, or nil.
pub fn value(vm: &Vm, exception: Word) -> Word {
    let Some(object) = exception.as_object() else { return Word::NIL };
    let Some(behavior) = vm.behavior_of_layout(object.layout()) else { return Word::NIL };
    if of(behavior) != Some(Fault::Raised) {
        return Word::NIL;
    }
    let slot = behavior.slot_named(vm.symbol("value"));
    slot.map_or(Word::NIL, |slot| object.slot(slot))
}
