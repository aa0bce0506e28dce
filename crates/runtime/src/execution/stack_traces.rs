//! Stack traces: the active activations, innermost first, with file, line and column. Exceptions record one when they
//! are signalled.
//!
//! A trace ends with the origin of the strand: the call that started it, or that sent its message.
//!
//! A signalled exception refers to the record in a slot that only the VM knows: an array of functions and pcs, two
//! elements for each activation. Functions are immortal, and their addresses read as small integers. The record becomes
//! text on request only.
//!
//! Of a deep stack, both ends are recorded: the inner end shows the mistake, the outer end shows how the program came
//! there.

use std::fmt::Write;

use squall_heap::{Object, Word};

use crate::execution::suggestions;
use crate::model::behavior::SlotContent;
use crate::model::function::{Function, Site};
use crate::model::known::{self, KnownClass};
use crate::objects::far_reference;
use crate::objects::string;
use crate::state::stack::Activation;
use crate::state::strand::StrandRef;
use crate::state::thread::Thread;
use crate::state::vm::Vm;

/// How many activations at each end of a long stack a trace shows.
const SHOWN: usize = 16;

/// How far a signal walks to find the outer end: signalling deep down must stay cheap.
pub const SIGNAL_REACH: usize = 100_000;

/// Active calls, innermost first, as text, a line each; the middle of a long stack is left out.
pub fn render(activations: impl Iterator<Item = Activation>) -> String {
    let ends = Ends::of(activations, usize::MAX);
    let mut text = String::new();
    render_places(ends.places().map(|place| (place.function, place.pc)), ends.hidden, &mut text);
    text
}

/// As [`render`], of the activations of a strand, with the call that it comes from.
pub fn render_strand(strand: StrandRef, activations: impl Iterator<Item = Activation>) -> String {
    let mut text = render(activations);
    if let Some(site) = strand.origin() {
        render_line("from", site.function(), site.pc as usize, &mut text);
    }
    text
}

/// The program's call of the library that is in progress. If it is the library's own, the call of the
/// method in progress.
pub fn call_of_library(thread: &Thread) -> Option<&'static Site> {
    thread.program_call().or_else(|| {
        // SAFETY: the activation is active, on this thread's stack.
        let (_, site) = unsafe { thread.innermost()?.caller() }?;
        Some(site)
    })
}

/// An activation, as far as traces care.
#[derive(Clone, Copy)]
struct Place {
    function: &'static Function,
    pc: usize,
}

/// The activations at both ends of a stack, innermost first.
struct Ends {
    places: [Option<Place>; 2 * SHOWN],
    /// The number of activations omitted after the first [`SHOWN`], if any; negative if they were not counted, and then
    /// there is no outer end.
    hidden: Option<i64>,
}

impl Ends {
    /// The ends of a stack, of which at most `reach` activations are looked at.
    fn of(activations: impl Iterator<Item = Activation>, reach: usize) -> Ends {
        let mut places = [None; 2 * SHOWN];
        let mut count = 0;
        for activation in activations.take(reach) {
            // The outer half is a ring.
            let index = if count < SHOWN { count } else { SHOWN + count % SHOWN };
            places[index] = Some(Place { function: activation.function, pc: activation.pc });
            count += 1;
        }
        if count <= 2 * SHOWN {
            return Ends { places, hidden: None };
        }
        if count == reach {
            places[SHOWN..].fill(None);
            return Ends { places, hidden: Some(-1) };
        }
        places[SHOWN..].rotate_left(count % SHOWN);
        Ends { places, hidden: Some((count - 2 * SHOWN) as i64) }
    }

    fn places(&self) -> impl Iterator<Item = Place> {
        self.places.iter().flatten().copied()
    }
}

/// Makes an exception remember the active activations, at most `reach` of them. The exception must be reachable from a
/// root. *GC point.*
///
/// If there is no memory for that, it remembers nothing.
pub fn record(thread: &mut Thread, exception: Word, reach: usize) {
    let Some(slot) = trace_slot(thread.vm, exception) else {
        return;
    };
    let ends = Ends::of(thread.activations(), reach);
    let origin = thread.strand().origin();
    let pairs = ends.places().count() + usize::from(origin.is_some());
    let hidden = ends.hidden.map_or(0, |hidden| usize::try_from(hidden).unwrap_or(0));
    thread.charge((pairs + hidden) / 4);
    let length = 2 * pairs + usize::from(ends.hidden.is_some());
    let class = thread.vm.known_class(KnownClass::Array);
    let mut scope = thread.mutator.scope();
    let exception = scope.root(exception);
    // The report may be that the heap is full.
    let array =
        scope.overcommit(|mutator| mutator.allocate_array(known::ARRAY, class, length, Word::NIL));
    let (Some(array), Some(exception)) = (array, scope.get(exception).as_object()) else {
        return;
    };
    let places = ends.places().map(|place| (place.function, place.pc as i64));
    // Where the strand comes from has a negative pc.
    let origin = origin.map(|site| (site.function(), -1 - i64::from(site.pc)));
    for (index, (function, pc)) in places.chain(origin).enumerate() {
        let function = Word::from_address(std::ptr::from_ref(function) as usize);
        array.initialize_element(2 * index, function);
        array.initialize_element(2 * index + 1, Word::from_small_integer_unchecked(pc));
    }
    if let Some(hidden) = ends.hidden {
        array.initialize_element(length - 1, Word::from_small_integer_unchecked(hidden));
    }
    exception.set_slot(&mut scope, slot, array.word());
}

/// The activations at an exception's last signal, as text; empty if they were not recorded. Before it comes the
/// suggestion for a message that was not understood.
pub fn recorded(vm: &Vm, exception: Word) -> String {
    let Some(array) = record_of(vm, exception) else {
        return String::new();
    };
    let places = places_in(array);
    let hidden = match array.length() % 2 {
        0 => None,
        _ => array.element(array.length() - 1).as_small_integer(),
    };
    let mut text = suggestions::hint(vm, exception).unwrap_or_default();
    let (active, origin): (Vec<_>, Vec<_>) = places.partition(|(_, pc)| *pc >= 0);
    let active: Vec<_> = active.into_iter().map(|(function, pc)| (function, pc as usize)).collect();
    render_folded(&active, hidden, &mut text);
    for (function, pc) in origin {
        render_line("from", function, (-1 - pc) as usize, &mut text);
    }
    text
}

/// The record of an exception's last signal.
fn record_of(vm: &Vm, exception: Word) -> Option<Object> {
    let slot = trace_slot(vm, exception)?;
    exception.as_object()?.slot(slot).as_object()
}

/// The functions and pcs in a record.
fn places_in(record: Object) -> impl Iterator<Item = (&'static Function, i64)> {
    (0..record.length() / 2).map(move |index| {
        // SAFETY: `record` put the addresses of immortal functions there, and guest code reaches
        // neither the slot nor the array.
        let function: &Function =
            unsafe { &*(record.element(2 * index).bits() as *const Function) };
        (function, record.element(2 * index + 1).as_small_integer().unwrap_or(0))
    })
}

/// Where the trace of an exception begins: the path, line and column of the innermost activation of the program's code. None if that
/// is a guest's.
pub fn begin_of_trace(vm: &Vm, exception: Word) -> Option<(&'static str, u32, u32)> {
    let mut places = places_in(record_of(vm, exception)?).filter(|(_, pc)| *pc >= 0);
    let is_program = |(function, _): &(&Function, i64)| !function.module.bytecode.is_image();
    let (function, pc) = places.find(is_program)?;
    let place = function.position(pc as usize);
    // Bytecode of a guest may name any file as its source.
    (place.1 > 0 && !function.module.is_for_guests()).then_some(place)
}

/// A trace with an excerpt below the line for the place where it begins, if the place is in that line.
pub fn with_excerpt(trace: &str, (path, line, column): (&str, u32, u32), source: &str) -> String {
    if column as usize > source.chars().count() + 1 {
        return trace.to_owned();
    }
    let place = format!("({path}:{line}:{column})\n");
    let Some(end) = trace.find(&place).map(|start| start + place.len()) else {
        return trace.to_owned();
    };
    let number = line.to_string();
    let shown: String =
        source.trim_end().chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    let indent = " ".repeat(column.saturating_sub(1) as usize);
    let gap = " ".repeat(number.len());
    format!("{}    {number} | {shown}\n    {gap} | {indent}^\n{}", &trace[..end], &trace[end..])
}

/// Appends the lines of a trace of which `hidden` activations are left out in the middle.
fn render_places<'f>(
    places: impl Iterator<Item = (&'f Function, usize)>,
    hidden: Option<i64>,
    text: &mut String,
) {
    for (index, (function, pc)) in places.enumerate() {
        if let (SHOWN, Some(hidden)) = (index, hidden) {
            _ = writeln!(text, "  … {hidden} more …");
        }
        render_place(function, pc, text);
    }
    if hidden.is_some_and(|hidden| hidden < 0) {
        text.push_str("  …\n");
    }
}

/// As `render_places`, for readers of a program: it begins and ends in the program's code, and the library's own calls
/// of each other are one line. A trace without code of the program is shown as it is.
fn render_folded(places: &[(&Function, usize)], hidden: Option<i64>, text: &mut String) {
    let is_library = |(function, _): &(&Function, usize)| function.module.bytecode.is_image();
    let ends = (
        places.iter().position(|place| !is_library(place)),
        places.iter().rposition(|place| !is_library(place)),
    );
    let (Some(first), Some(last)) = ends else {
        return render_places(places.iter().copied(), hidden, text);
    };
    let places = &places[..=last];
    let mut gap = hidden;
    let mut index = first;
    while index < places.len() {
        if let Some(count) = gap.take_if(|_| index >= SHOWN) {
            _ = writeln!(text, "  … {count} more …");
        }
        let limit = if gap.is_some() { SHOWN.max(index + 1) } else { places.len() };
        let calls = places[index..limit].iter().take_while(|place| is_library(place)).count();
        match calls {
            0 | 1 => render_place(places[index].0, places[index].1, text),
            _ => _ = writeln!(text, "  … {calls} calls in the library …"),
        }
        index += calls.max(1);
    }
    if hidden.is_some_and(|hidden| hidden < 0) {
        text.push_str("  …\n");
    }
}

/// An exception in a few words, without running guest code.
pub fn describe_exception(vm: &Vm, exception: Word) -> String {
    let exception =
        far_reference::far_reference(exception).map_or(exception, far_reference::final_target);
    if let Some(text) = string::Text::of(exception) {
        return text.shortened(suggestions::LONGEST_TEXT);
    }
    if let Some(text) = suggestions::description(vm, exception) {
        return text;
    }
    match vm.behavior_of_layout(known::layout_of(exception)) {
        Some(behavior) => behavior.name().to_owned(),
        None => "an object without a class".to_owned(),
    }
}

/// The index of the slot where an exception remembers the activations.
fn trace_slot(vm: &Vm, exception: Word) -> Option<usize> {
    let behavior = vm.behavior_of_layout(exception.as_object()?.layout())?;
    behavior.slot_index(SlotContent::Trace)
}

/// Appends the line for a place in a function.
pub fn render_place(function: &Function, pc: usize, text: &mut String) {
    render_line("at", function, pc, text);
}

fn render_line(preposition: &str, function: &Function, pc: usize, text: &mut String) {
    let (path, line, column) = function.position(pc);
    let name = function.name();
    _ = match line {
        0 => writeln!(text, "  {preposition} {name} ({path})"),
        _ => writeln!(text, "  {preposition} {name} ({path}:{line}:{column})"),
    };
}
