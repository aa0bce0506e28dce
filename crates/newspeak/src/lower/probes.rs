//! Probes, for the coverage of tests: compiled with probes, a program counts how often its methods begin, its statements run,
//! and each of the ways that a control structure can go is gone. `control`, `expressions` and `classes` place them, and
//! [`compile_with_probes`] answers what they count.
//!
//! A probe is the primitive `cover:` with a number. Code that is compiled twice, as blocks are that may run as closures on
//! cold paths, has the same probes in both places.
//!
//! Only ways that the machine decides without a message are counted: those of control structures with literal blocks.

use std::collections::HashMap;

use squall_bytecode::entities::Register;
use squall_bytecode::instructions::Opcode;
use squall_bytecode::module::Module;

use super::function::nth;
use super::{CompileOptions, Lowering, lower_module};
use crate::ast::Literal;
use crate::diagnostics::Diagnostic;
use crate::entities::MessageId;
use crate::source::{Source, Span};

/// The primitive that counts.
const PRIMITIVE: &str = "cover:";

/// What a probe counts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Counted {
    /// The beginnings of a method with this name, as in stack traces.
    Method(String),
    /// The runs of a statement.
    Statement,
    /// How often a control structure has gone this way: 0 is that of its first block.
    Way(u8),
}

/// A probe.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Probe {
    /// What it counts.
    pub counted: Counted,
    /// The place: of the statement, or of the name of the method or control structure.
    pub span: Span,
}

/// The probes of a module under compilation.
#[derive(Default)]
pub(super) struct Probes {
    /// The number of the first one.
    first: u32,
    list: Vec<Probe>,
    numbers: HashMap<Probe, u32>,
}

impl Probes {
    /// The number of a probe, a new one at the first time.
    fn number(&mut self, probe: Probe) -> u32 {
        let next = self.first + self.list.len() as u32;
        *self.numbers.entry(probe).or_insert_with_key(|probe| {
            self.list.push(probe.clone());
            next
        })
    }
}

/// Compiles a module with probes, whose numbers begin with this one.
pub fn compile_with_probes(
    source: &Source,
    options: &CompileOptions,
    first: u32,
) -> Result<(Module, Vec<Probe>), Vec<Diagnostic>> {
    let parse = crate::parse(source);
    let Some(ast) = parse.ast else { return Err(parse.diagnostics) };
    let mut probes = Probes { first, ..Probes::default() };
    let module = lower_module(&ast, source, options, None, Some(&mut probes))?;
    Ok((module, probes.list))
}

impl Lowering<'_> {
    /// Whether the module gets probes.
    pub(super) fn has_probes(&self) -> bool {
        self.probes.is_some()
    }

    /// The function that was just opened is that of a method.
    pub(super) fn method_begins(&mut self, span: Span) {
        if self.has_probes() {
            let name = self.function().name.clone();
            self.probe(Counted::Method(name), span);
        }
    }

    /// A statement follows: its code has a position from its first instruction on, where breakpoints stand and jumps lead.
    pub(super) fn statement_begins(&mut self, span: Span) {
        self.position(span);
        self.probe(Counted::Statement, span);
    }

    /// A way of a control structure begins.
    pub(super) fn way_begins(&mut self, message: MessageId, way: u8) {
        let span = self.ast[message].selector_span;
        self.probe(Counted::Way(way), span);
    }

    fn probe(&mut self, counted: Counted, span: Span) {
        let Some(probes) = &mut self.probes else { return };
        let number = probes.number(Probe { counted, span });
        let top = self.function().top;
        let destination = self.function().allocate();
        let window = self.open_window(1);
        self.literal(Literal::Integer(i64::from(number)), Some(nth(window, 0)));
        self.emit_count(destination, window);
        self.function().release_to(top);
    }

    fn emit_count(&mut self, destination: Register, window: Register) {
        let name = self.module.string(PRIMITIVE);
        let operands = [destination.into(), window.into(), 1.into(), i64::from(name.0).into()];
        self.function().emit(Opcode::Primitive, &operands);
    }
}
