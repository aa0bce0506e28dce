//! Stack traces: what is active, innermost first, with file, line and column.
//!
//! A signalled exception remembers what was active, in a slot that only the VM knows: an array of
//! functions and pcs, two elements for each activation. Functions are immortal, and their
//! addresses read as small integers. Text is made of them only when somebody asks.

use std::fmt::Write;

use squall_heap::Word;

use crate::behavior::SlotContent;
use crate::function::Function;
use crate::known::{self, KnownClass};
use crate::stack::Activation;
use crate::thread::{Thread, Window};
use crate::vm::Vm;

/// How many activations at each end of a long stack a trace shows.
const SHOWN: usize = 20;

/// The active calls of a thread as text, a line each; the middle of a long stack is left out.
pub fn render(thread: &Thread) -> String {
    let activations: Vec<Activation> = thread.activations().collect();
    let mut text = String::new();
    let hidden = activations.len().saturating_sub(2 * SHOWN);
    for (index, activation) in activations.iter().enumerate() {
        if hidden > 0 && index == SHOWN {
            _ = writeln!(text, "  … {hidden} more …");
        }
        if index < SHOWN || index >= SHOWN + hidden {
            render_place(activation.function, activation.pc, &mut text);
        }
    }
    text
}

/// How many activations an exception remembers, so that signalling one deep down stays cheap.
const RECORDED: usize = 32;

/// Makes the exception in the window's first word remember what is active. *GC point.*
///
/// If there is no memory for that, it remembers nothing.
pub fn record(thread: &mut Thread, window: Window) {
    let Some(slot) = trace_slot(thread.vm, window.get(0)) else {
        return;
    };
    let mut places = [Word::NIL; 2 * RECORDED];
    let mut count = 0;
    let mut activations = thread.activations();
    // The places come first: a pair that lacks a place must not take an activation.
    for (place, activation) in places.chunks_exact_mut(2).zip(activations.by_ref()) {
        place[0] = Word::from_bits(std::ptr::from_ref(activation.function) as u64);
        place[1] = Word::from_small_integer_unchecked(activation.pc as i64);
        count += 2;
    }
    // One element more says that there are more activations.
    let length = count + usize::from(activations.next().is_some());
    let class = thread.vm.known_class(KnownClass::Array);
    let array = thread.mutator.allocate_array(known::ARRAY, class, length, Word::NIL);
    if let (Some(array), Some(exception)) = (array, window.get(0).as_object()) {
        for (index, &place) in places[..count].iter().enumerate() {
            array.initialize_element(index, place);
        }
        exception.set_slot(&mut thread.mutator, slot, array.word());
    }
}

/// What was active when an exception was last signalled, as text; empty if that was not recorded.
pub fn recorded(vm: &Vm, exception: Word) -> String {
    let slot = trace_slot(vm, exception);
    let array = slot.and_then(|slot| exception.as_object()?.slot(slot).as_object());
    let Some(array) = array else {
        return String::new();
    };
    let mut text = String::new();
    for index in 0..array.length() / 2 {
        // SAFETY: `record` put the addresses of immortal functions there, and guest code reaches
        // neither the slot nor the array.
        let function = unsafe { &*(array.element(2 * index).bits() as *const Function) };
        let pc = array.element(2 * index + 1).as_small_integer().unwrap_or(0);
        render_place(function, pc as usize, &mut text);
    }
    if array.length() % 2 != 0 {
        text.push_str("  …\n");
    }
    text
}

/// The index of the slot where an exception remembers what was active.
fn trace_slot(vm: &Vm, exception: Word) -> Option<usize> {
    let behavior = vm.behavior_of_layout(exception.as_object()?.layout())?;
    behavior.slot_index(SlotContent::Trace)
}

/// Appends the line for a place in a function.
pub fn render_place(function: &Function, pc: usize, text: &mut String) {
    let (path, line, column) = function.position(pc);
    let name = function.name();
    _ = match line {
        0 => writeln!(text, "  at {name} ({path})"),
        _ => writeln!(text, "  at {name} ({path}:{line}:{column})"),
    };
}
