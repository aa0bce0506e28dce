//! Listings of functions: their bytecode with what was observed, the units as the compiler saw them, and the machine code,
//! each with the lines of the source text. `squall disasm --native` shows them, and nothing else calls this.
//!
//! | module | what it writes |
//! |---|---|
//! | [`bytecode`] | instructions, and the feedback of their sites and branches |
//! | [`machine`] | machine instructions |
//! | [`names`] | what addresses in machine code stand for |
//!
//! A listing has no addresses and no numbers of layouts, so that two runs with the same code have the same listing. A
//! function must not be compiled meanwhile: no strand runs.

pub mod bytecode;
pub mod machine;
pub mod names;

use std::fmt::Write;
use std::sync::atomic::Ordering;

use squall_compiler::code::Reason;
use squall_compiler::{BUILD, RESIDENCE};
use squall_runtime::tiers::function::{CodeKind, Function};
use squall_runtime::tiers::thread::Vm;

use crate::code::units::{ExitRecord, Unit};
use crate::code::{Code, suffix};
use crate::compiler::Compiler;
use crate::history::{Made, MadeUnit};
use crate::optimised::{line_of, place_of};
use machine::Piece;
use names::Names;

/// A part of a listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The bytecode, with feedback.
    Bytecode,
    /// The base code.
    Base,
    /// The units after each pass.
    Passes,
    /// The units after the last pass.
    Unit,
    /// The machine code of the units.
    Code,
    /// The exits of the units, with how often they were taken.
    Exits,
}

/// What is to be listed.
pub struct Choice<'a> {
    /// The functions.
    pub functions: Vec<&'static Function>,
    /// The parts; without any, those of the code that the function has now.
    pub parts: &'a [Part],
    /// The line of a source text, if it is known: its path, and the number from 1 on.
    pub line: &'a dyn Fn(&str, u32) -> Option<String>,
}

/// The functions that have machine code.
pub fn compiled_functions() -> Vec<&'static Function> {
    let made = Compiler::of_process().map(|compiler| compiler.history.made());
    let mut functions: Vec<&'static Function> = Vec::new();
    for code in made.iter().flat_map(|made| &made.codes) {
        if functions.iter().all(|other| !std::ptr::eq(*other, code.function)) {
            functions.push(code.function);
        }
    }
    functions
}

/// The listing.
pub fn text(vm: &'static Vm, choice: &Choice<'_>) -> String {
    let made = Compiler::of_process().map(|compiler| compiler.history.made()).unwrap_or_default();
    let listing = Listing { vm, choice, names: Names::new(vm, &made), made: &made };
    let texts = choice.functions.iter().filter_map(|function| listing.function(function));
    texts.collect::<Vec<String>>().join("\n")
}

struct Listing<'a> {
    vm: &'static Vm,
    choice: &'a Choice<'a>,
    names: Names,
    made: &'a Made,
}

impl Listing<'_> {
    /// The listing of a function; none if it has none of the parts.
    fn function(&self, function: &'static Function) -> Option<String> {
        let codes = CodeKind::ALL.map(|kind| Code::of(function, kind));
        let units = self.units(function);
        let mut text = String::new();
        let is_interpreted = codes.iter().all(Option::is_none);
        if is_interpreted {
            text += "\nIt was interpreted only.\n";
        }
        if self.shows(Part::Bytecode) {
            let listed = bytecode::text(self.vm, function, codes[0], self.choice.line);
            _ = write!(text, "\n-- bytecode\n\n{listed}");
        }
        for code in codes.into_iter().flatten().filter(|_| self.shows_base(&units)) {
            _ = write!(text, "\n-- base code{}: {} bytes\n\n", suffix(code.kind), code.size);
            text += &self.base_code(code);
        }
        units.iter().for_each(|unit| self.unit(*unit, &mut text));
        let head = format!("==== {} ({})\n", function.name(), line_of(function, 0));
        (!text.is_empty()).then_some(head + &text)
    }

    /// The units of a function that were not dropped; if there is none, the last one.
    fn units(&self, function: &'static Function) -> Vec<MadeUnit> {
        let is_of = |each: &&MadeUnit| std::ptr::eq(each.code.function, function);
        let all: Vec<MadeUnit> = self.made.units.iter().filter(is_of).copied().collect();
        let is_current = |each: &&MadeUnit| {
            let current = each.code.units.at(each.unit.start);
            current.is_some_and(|unit| std::ptr::eq(unit, each.unit))
        };
        let current: Vec<MadeUnit> = all.iter().filter(is_current).copied().collect();
        if current.is_empty() { all.last().copied().into_iter().collect() } else { current }
    }

    /// Whether a part is shown.
    fn shows(&self, part: Part) -> bool {
        match self.choice.parts {
            [] => !matches!(part, Part::Base | Part::Passes),
            parts => parts.contains(&part),
        }
    }

    /// Base code is shown if there is nothing better.
    fn shows_base(&self, units: &[MadeUnit]) -> bool {
        self.shows(Part::Base) || self.choice.parts.is_empty() && units.is_empty()
    }

    fn unit(&self, MadeUnit { code, unit }: MadeUnit, text: &mut String) {
        let is_dropped = unit.is_dropped.load(Ordering::Relaxed);
        let end = if is_dropped { ", dropped" } else { "" };
        let kind = suffix(code.kind);
        let place = place_of(code.function, unit.start);
        let what = format!("of the unit from {place}{kind}{end}");
        for view in &unit.views {
            let is_last = view.pass == RESIDENCE;
            if self.shows(Part::Passes) || self.shows(Part::Unit) && is_last {
                let pass = if view.pass == BUILD { "as it is built" } else { view.pass };
                let pass = if is_last { "after all passes" } else { pass };
                _ = write!(text, "\n-- representation {what}, {pass}\n\n{}", view.text);
            }
        }
        if self.shows(Part::Code) {
            let listed = self.unit_code(code, unit);
            _ = write!(text, "\n-- machine code {what}: {} bytes\n\n{listed}", unit.size);
        }
        if self.shows(Part::Exits) {
            _ = write!(text, "\n-- exits {what}\n\n");
            let exits = unit.exits.iter().enumerate();
            exits.for_each(|(number, exit)| describe_exit(number, exit, text));
        }
    }

    fn base_code(&self, code: &'static Code) -> String {
        let Some(compiler) = Compiler::of_process() else { return String::new() };
        let bytes = compiler.memory().code(code.entry, code.size);
        let lines = code.lines();
        let function = code.function;
        let piece = Piece { address: code.entry, bytes, function, lines: &lines, exits: &[] };
        machine::text(&piece, &self.names)
    }

    fn unit_code(&self, code: &'static Code, unit: &'static Unit) -> String {
        let Some(compiler) = Compiler::of_process() else { return String::new() };
        let bytes = compiler.memory().code(unit.entry, unit.size);
        let (function, lines) = (code.function, &unit.lines);
        let piece = Piece { address: unit.entry, bytes, function, lines, exits: &unit.exits };
        machine::text(&piece, &self.names)
    }
}

fn describe_exit(number: usize, exit: &ExitRecord, text: &mut String) {
    let Some(to) = exit.destination() else { return };
    let (function, pc) = to.cause;
    let times = match exit.taken() {
        // Requests say nothing about the code, and differ from run to run.
        _ if to.reason == Reason::Poll => "",
        0 => ", never taken",
        1 => ", taken once",
        count => &format!(", taken {count} times"),
    };
    let (cause, line) = (function.name(), line_of(function, pc));
    _ = writeln!(text, "  exit {number}{times}: {}\n    at {cause} @{pc} ({line})", to.reason);
    _ = write!(text, "    base code goes on at {} @{}", to.function.name(), to.pc);
    match to.offset {
        0 => text.push('\n'),
        words => _ = writeln!(text, ", whose frame begins {words} words above the unit's"),
    }
    if !to.doubles.is_empty() {
        _ = writeln!(text, "    makes boxes for the doubles in the words {:?}", to.doubles);
    }
}
