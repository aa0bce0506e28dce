//! Control: the primitives for closures, exceptions and messages by name. Mostly `lib/Kernel.ns` calls them.

use squall_heap::Word;

use super::answer;
use crate::concurrency::isolation::leaving;
use crate::concurrency::transactions::access;
use crate::execution::{stack_traces, unwind};
use crate::model::outcome::{Failure, Outcome};
use crate::model::primitive::{Primitive, Shape};
use crate::objects::array;
use crate::objects::block;
use crate::objects::far_reference::{far_reference, final_target, vat_of};
use crate::objects::string::make_string;
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::shaped("blockValue:", Shape::Evaluate, evaluate),
    Primitive::shaped("block:value:", Shape::Evaluate, evaluate),
    Primitive::shaped("block:value:with:", Shape::Evaluate, evaluate),
    Primitive::ordinary("block:valueWithArguments:", evaluate_with_array),
    Primitive::ordinary("blockArity:", arity),
    Primitive::ordinary("signal:", |thread, window| {
        stack_traces::record(thread, window.get(0), stack_traces::SIGNAL_REACH);
        unwind::signal(thread, window.get(0))
    }),
    Primitive::ordinary("signalAgain:", |thread, window| unwind::signal(thread, window.get(0))),
    Primitive::ordinary("stackTraceOf:", |thread, window| {
        let recorded = |exception| stack_traces::recorded(thread.vm, exception);
        let text = traced(thread, window.get(0)).map_or(String::new(), recorded);
        answer(make_string(thread, &text))
    }),
    Primitive::ordinary("reportedTraceOf:", |thread, window| {
        let text = reported_trace(thread, window.get(0));
        answer(make_string(thread, &text))
    }),
];

/// The exception of which a strand may see the trace. That never changes, so the exception may be another vat's, but a guest
/// does not see what has happened outside.
fn traced(thread: &Thread, exception: Word) -> Option<Word> {
    let Some(far) = far_reference(exception) else { return Some(exception) };
    let is_visible = match thread.sandbox {
        Some(here) => leaving::is_within(vat_of(far).sandbox(), here),
        None => true,
    };
    is_visible.then(|| final_target(far))
}

/// The trace of an exception, with the line of the program's text where it begins.
fn reported_trace(thread: &mut Thread, exception: Word) -> String {
    let vm = thread.vm;
    let Some(exception) = traced(thread, exception) else { return String::new() };
    let trace = stack_traces::recorded(vm, exception);
    let Some(place) = stack_traces::begin_of_trace(vm, exception) else { return trace };
    let (path, line, _) = place;
    match thread.mutator.native(|| vm.host().source_line(path, line)) {
        Some(source) => stack_traces::with_excerpt(&trace, place, &source),
        None => trace,
    }
}

/// Runs a closure with the other arguments.
fn evaluate(thread: &mut Thread, window: Window) -> Outcome {
    thread.message.clear();
    thread.message.extend(window.words());
    Outcome::Evaluate
}

/// Runs a closure with the elements of an array as arguments.
fn evaluate_with_array(thread: &mut Thread, window: Window) -> Outcome {
    let arguments = window.get(1);
    let Some(array) = array::of(arguments) else {
        return Failure::argument(arguments).into();
    };
    // No closure takes so many.
    if array.length() > usize::from(u8::MAX) {
        return Failure::argument(arguments).into();
    }
    thread.message.clear();
    thread.message.push(window.get(0));
    match access::extend_message(thread, array) {
        Ok(()) => Outcome::Evaluate,
        Err(failure) => failure.into(),
    }
}

/// How many arguments a closure takes.
fn arity(_: &mut Thread, window: Window) -> Outcome {
    match block::closure(window.get(0)) {
        Some(closure) => {
            let arity = block::closure_function(closure).arguments - 1;
            Outcome::Return(Word::from_small_integer_unchecked(i64::from(arity)))
        }
        None => Failure::argument(window.get(0)).into(),
    }
}
