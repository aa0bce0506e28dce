//! Optimised code: functions and loops that samples find often are compiled by `squall-compiler`, and their code is
//! installed. The helper for samples calls it, and the one for exits.
//!
//! What the compiler asks of the runtime is in `facts`; units and the records of exits are in
//! [`code::units`](crate::code::units).
//!
//! # The way of a function
//!
//! 1. Base code counts its calls and turns of loops in the thread. When the countdown ends, the function that is there
//!    gets a *sample*.
//! 2. A function with enough samples gets a unit: of the whole function, or of the loop in which it was sampled.
//!    Calls enter the first by the function's entry, samples the second.
//! 3. A unit is left where its feedback was wrong, and base code goes on. An exit that is taken often drops its unit: the
//!    feedback has changed meanwhile, or is distrusted there from then on. Further samples make a better unit. The
//!    number of units of a function is bounded, so this ends.
//! 4. If base code gets many samples though there are units, these are left early, but not often enough: a unit of a function
//!    that is called ten times, and goes on in base code for most of each call. They are made anew if more has been
//!    observed since.

mod facts;
mod reliances;
mod shown;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use squall_bytecode::decode::instructions;
use squall_bytecode::entities::Register;
use squall_bytecode::instructions::{Field, Opcode};
use squall_compiler::code::{self, CompiledCode, Exit, Line, Outer, Reason, Request, Start};
use squall_compiler::facts::Facts;
use squall_compiler::ir::types::Type;
use squall_compiler::ir::{Remark, Why};
use squall_compiler::lower::Backend;
use squall_heap::Word;
use squall_runtime::tiers::function::{CodeKind, Function, feedback};
use squall_runtime::tiers::known;
use squall_runtime::tiers::thread::Vm;
use squall_runtime::tiers::tracing;

use crate::absence::AbsentObject;
use crate::chaos;
use crate::code::units::{CodeLine, Destination, EXIT_PATIENCE, ExitRecord, Unit, View};
use crate::code::{Code, suffix};
use crate::hardening::Hardening;
use crate::memory::CodeMemory;
use crate::observers::Frame;
use crate::stubs::Stubs;
use facts::RuntimeFacts;

/// When functions are optimised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// The calls and turns between two samples, on the average.
    pub period: u32,
    /// How many samples a function needs.
    pub samples: i32,
    /// Whether a thread of its own compiles. Otherwise the thread that has taken the sample does.
    pub in_background: bool,
}

impl Policy {
    /// For programs.
    pub const USUAL: Policy = Policy { period: 400, samples: 6, in_background: true };
    /// For tests: as early as possible.
    pub const EAGER: Policy = Policy { period: 1, samples: 2, in_background: false };
}

impl Policy {
    /// The calls and turns until the next sample. They vary, so that samples do not fall into step with a loop.
    pub fn countdown(self) -> u32 {
        /// The golden ratio of 32 bits: its multiples are spread evenly.
        const STEP: u32 = 0x9E37_79B9;
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let spread = NEXT.fetch_add(STEP, Ordering::Relaxed);
        let range = u64::from(self.period);
        let share = (range * u64::from(spread)) >> 32;
        (range / 2 + share).max(1) as u32
    }
}

/// The optimising compiler, with what it uses again for each unit.
pub struct Optimiser {
    backend: Backend,
}

/// A unit that is to be made.
pub struct Order {
    /// The machine.
    pub vm: &'static Vm,
    /// The code of the function.
    pub code: &'static Code,
    /// Where the unit is to start.
    pub start: Start,
    likely: Vec<(Register, Type)>,
}

impl Order {
    /// A unit of a function, from a start on. The frame is that of the activation that stands there.
    pub fn new(vm: &'static Vm, code: &'static Code, start: Start, frame: &[Word]) -> Order {
        let is_first = code.units.made() == 0;
        let likely = match start {
            Start::Loop(pc) if is_first => likely(code.function, pc, frame),
            Start::Function if is_first => likely_class(code.function, frame),
            _ => Vec::new(),
        };
        Order { vm, code, start, likely }
    }
}

/// Gives a function its base code, if it can have some.
pub type BaseCode<'a> = &'a dyn Fn(&'static Function) -> Option<&'static Code>;

/// What the installation of a unit needs.
pub struct Install<'a> {
    /// Takes a unit into use by this function, or not; answers whether it did.
    pub begin: &'a dyn Fn(&'static Unit, &mut dyn FnMut()) -> bool,
    /// The shared code.
    pub stubs: &'a Stubs,
    /// Where the code goes.
    pub memory: &'a CodeMemory,
    /// The base code that exits lead to.
    pub base: BaseCode<'a>,
    /// Which code is hardened.
    pub hardening: Hardening,
    /// Whether the unit keeps what the compiler saw of it.
    pub keeps_views: bool,
    /// Whether there was a unit for the same place before.
    pub is_again: bool,
    /// How many samples a function needs for its next unit.
    pub samples: i32,
}

/// Compiles a unit of a function, and installs it; `None` if it cannot be compiled.
pub fn optimise(
    optimiser: &mut Optimiser,
    order: Order,
    to: &Install<'_>,
) -> Option<&'static Unit> {
    let Order { vm, code, start, likely } = order;
    let facts = RuntimeFacts::new(vm, to, code.kind);
    let function = facts.function_ref(code.function);
    let request = Request { start, likely, ..Request::function(function) };
    let begun = Instant::now();
    let mut views = Vec::new();
    let mut watch = |pass, unit: &squall_compiler::ir::Unit| {
        if to.keeps_views {
            views.push(View { pass, text: shown::text(&facts, unit) });
        }
    };
    let compiled = squall_compiler::compile(&mut optimiser.backend, &facts, &request, &mut watch);
    let what = || format!("{}{}", place_of(code.function, start), suffix(code.kind));
    match compiled {
        Ok(compiled) => {
            let time = begun.elapsed().as_micros();
            tracing::compiled(vm, || {
                let (size, inlined) = (compiled.bytes.len(), compiled.inlined.len());
                let again = if to.is_again { " again" } else { "" };
                let remarks = compiled.remarks.iter().map(|remark| described(&facts, remark));
                let remarks: String = remarks.collect();
                let what = what();
                format!(
                    "optimised {what}{again}, {size} bytes, {inlined} inlined, {time} us{remarks}"
                )
            });
            install(&facts, code, compiled, views, to)
        }
        Err(error) => {
            tracing::compiled(vm, || format!("{} {error}", what()));
            None
        }
    }
}

/// A line about a call: it is part of the unit, or why not.
fn described(facts: &RuntimeFacts<'_>, remark: &Remark) -> String {
    let caller = facts.of(remark.origin.function);
    let what = match remark.why {
        Why::Inlined(callee) => format!("inlines {}", facts.of(callee).name()),
        Why::Megamorphic => "sends: its receivers have too many classes".into(),
        Why::Distrusted => "sends: other receivers or arguments than observed came often".into(),
        Why::Action => "sends: what its message does is not compiled".into(),
        Why::Primitive(primitive) => {
            format!("sends: {} has no machine code", facts.primitive(primitive))
        }
        Why::Shape(callee) => format!("calls {}: it cannot be inlined", facts.of(callee).name()),
        Why::Size(callee) => format!("calls {}: it is too large here", facts.of(callee).name()),
        Why::Recursion(callee) => format!("calls {}: it is recursive", facts.of(callee).name()),
        Why::Depth(callee) => {
            format!("calls {}: too many functions are inlined around it", facts.of(callee).name())
        }
    };
    format!("\njit:   {} {what}", line_of(caller, remark.origin.pc))
}

/// A function, and the line where a unit of it starts.
pub fn place_of(function: &Function, start: Start) -> String {
    let pc = match start {
        Start::Function => 0,
        Start::Loop(pc) => pc,
    };
    format!("{} ({})", function.name(), line_of(function, pc))
}

/// The place of an instruction in the source text.
pub fn line_of(function: &Function, pc: u32) -> String {
    let (path, line, column) = function.position(pc as usize);
    format!("{path}:{line}:{column}")
}

/// What is in the registers that live at the head of a loop.
fn likely(function: &'static Function, pc: u32, frame: &[Word]) -> Vec<(Register, Type)> {
    let live = function.frame_maps().before(pc as usize);
    let kind =
        |register: &Register| Type::of_layout(known::layout_of(frame[register.index()]).bits());
    live.iter().map(|register| (register, kind(&register))).collect()
}

/// The layout of the class whose instance a factory makes.
fn likely_class(function: &'static Function, frame: &[Word]) -> Vec<(Register, Type)> {
    let code = &function.bytecode().code;
    let is_factory = instructions(code)
        .any(|each| each.opcode == Opcode::Instantiate && each.register(Field::B) == Register(0));
    match frame.first().filter(|_| is_factory) {
        Some(&class) => vec![(Register(0), Type::of_layout(known::layout_of(class).bits()))],
        None => Vec::new(),
    }
}

fn install(
    facts: &RuntimeFacts<'_>,
    code: &'static Code,
    compiled: CompiledCode,
    views: Vec<View>,
    to: &Install<'_>,
) -> Option<&'static Unit> {
    let mut functions: Vec<&'static Function> =
        compiled.inlined.iter().map(|function| facts.of(*function)).collect();
    functions.push(code.function);
    // Exits lead to base code.
    functions.iter().for_each(|function| _ = (to.base)(function));
    let relied_on = facts::observed(&functions, code.kind);
    let CompiledCode { bytes, request, exits, lines, inner_loops, reliances, .. } = compiled;
    let size = bytes.len();
    let entry = to.memory.publish_loops(&bytes, &inner_loops)?;
    let line = |Line { offset, origin }: Line| CodeLine {
        offset,
        function: facts.of(origin.function),
        pc: origin.pc,
    };
    let unit: &'static Unit = Box::leak(Box::new(Unit {
        start: request.start,
        entry,
        relied_on,
        guesses: !request.likely.is_empty(),
        kinds: reliances,
        functions,
        size,
        exits: (0..exits.len()).map(|number| facts.exit(number)).collect(),
        lines: lines.into_iter().map(line).collect(),
        views,
        is_dropped: AtomicBool::new(false),
    }));
    to.memory.announce(entry, size, Frame::Unit, || {
        let what = place_of(code.function, request.start);
        (format!("{what} optimised{}", suffix(code.kind)), unit.lines.clone())
    });
    for (record, exit) in unit.exits.iter().zip(&exits) {
        complete(facts, record, exit, code, unit);
    }
    let mut begin = || {
        code.units.add(unit);
        if unit.start == Start::Function {
            code.native().set_entry(entry as *const ());
        }
    };
    let mut is_in_use = false;
    let try_to_begin = || is_in_use = (to.begin)(unit, &mut begin);
    reliances::begin(facts, code, unit, to.samples, try_to_begin);
    is_in_use.then_some(unit)
}

fn complete(
    facts: &RuntimeFacts<'_>,
    record: &'static ExitRecord,
    exit: &Exit,
    code: &'static Code,
    unit: &'static Unit,
) {
    let return_place = |outer: &Outer| {
        let caller = Code::of(facts.of(outer.function), code.kind)?;
        Some((caller.return_place(outer.pc as usize)?, outer.distance))
    };
    let returns: Option<Vec<(usize, u32)>> = exit.around.iter().map(return_place).collect();
    let object =
        |object: &code::AbsentObject| AbsentObject::of(object, |function| facts.of(function));
    let destination = Destination {
        function: facts.of(exit.function),
        pc: exit.pc,
        offset: exit.offset,
        doubles: exit.doubles.clone(),
        objects: exit.objects.iter().map(object).collect(),
        parts: exit.parts,
        reason: exit.reason,
        cause: (facts.of(exit.cause.function), exit.cause.pc),
        code,
        unit,
    };
    // The first exit is reported.
    let patience = if facts.reports() { 1 } else { EXIT_PATIENCE };
    record.complete(exit, destination, patience, returns.filter(|_| !chaos::strikes()));
}

/// Whether more has been observed since a unit was made.
pub fn is_outdated(code: &Code, unit: &Unit) -> bool {
    facts::observed(&unit.functions, code.kind) != unit.relied_on
}

/// Reports that an exit was taken for the first time.
pub fn report_exit(vm: &Vm, destination: &Destination) {
    tracing::compiled(vm, || {
        let (function, pc) = destination.cause;
        let unit = place_of(destination.code.function, destination.unit.start);
        format!("left {unit} at {}: {}", line_of(function, pc), destination.reason)
    });
}

/// An exit was taken so often that the unit does not pay: drops it, and distrusts what it relied on there, unless more
/// has been observed since.
pub fn drop_unit(vm: &Vm, destination: &Destination, record: &ExitRecord, policy: Policy) {
    let (unit, code) = (destination.unit, destination.code);
    if destination.reason.is_passing() {
        return record.grant(EXIT_PATIENCE);
    }
    // What was likely at the start says nothing about sites; it is not used again.
    let is_misled = destination.reason != Reason::Slot && !unit.guesses;
    let is_distrusted = is_misled && !is_outdated(code, unit);
    let (function, pc) = destination.cause;
    if is_distrusted {
        distrust(function, pc);
    }
    if !remove_unit(code, unit) {
        return;
    }
    tracing::compiled(vm, || {
        let place = line_of(function, pc);
        let effect = if is_distrusted { ", which is distrusted" } else { "" };
        let what = place_of(code.function, unit.start);
        let end = if code.units.is_full() { "; it is not optimised any more" } else { "" };
        let reason = destination.reason;
        format!("dropped {what}, left {EXIT_PATIENCE} times at {place}{effect}: {reason}{end}")
    });
    if !code.units.is_full() {
        code.native().set_patience(policy.samples);
    }
}

/// Whether a unit has the code of a function that is to be interpreted.
pub fn has_given_up(unit: &Unit, kind: CodeKind) -> bool {
    unit.functions.iter().any(|function| function.native(kind).is_given_up())
}

/// Takes a unit out of use, if it is in use: base code goes on in its place.
pub fn remove_unit(code: &Code, unit: &Unit) -> bool {
    if !code.units.remove(unit) {
        return false;
    }
    unit.is_dropped.store(true, Ordering::Relaxed);
    if unit.start == Start::Function && !code.native().is_given_up() {
        code.native().set_entry(code.entry as *const ());
    }
    true
}

/// Distrusts the site of an instruction, if base code does not record all that it executes there.
fn distrust(function: &'static Function, pc: u32) {
    if let Some(site) = facts::site_at(function, pc).filter(|site| facts::may_mislead(site)) {
        site.feedback.fetch_or(feedback::DISTRUSTED, Ordering::Relaxed);
    }
}

impl Optimiser {
    /// A compiler for this machine; `None` if it is not supported.
    pub fn new() -> Option<Optimiser> {
        Backend::new().ok().map(|backend| Optimiser { backend })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countdowns_vary_around_the_period() {
        let policy = Policy { period: 400, ..Policy::USUAL };
        let countdowns: Vec<u32> = (0..1000).map(|_| policy.countdown()).collect();
        assert!(countdowns.iter().all(|countdown| (200..600).contains(countdown)));
        let mean = countdowns.iter().sum::<u32>() / 1000;
        assert!((390..=410).contains(&mean), "{mean}");
        assert_eq!(Policy::EAGER.countdown(), 1);
    }
}
