//! Makes a unit of a function's bytecode, by abstract interpretation: it executes each bytecode once, on values in place
//! of words, with the functions inlined that pay. [`crate::compile`] calls it.
//!
//! | module | what it does |
//! |---|---|
//! | `body` | one activation: its blocks, registers and states |
//! | `control` | values, branches, loops, returns |
//! | `sends` | messages, by the feedback of their sites |
//! | `inlining` | the decision to inline, and the inlined activation |
//! | `intrinsics` | primitives that are operations |
//! | `objects` | closures, contexts, slots, arrays |
//! | `typed` | typed registers |
//!
//! # Where code ends
//!
//! Code that was never executed, and bytecodes that change the activation itself (unwinding, forks), leave the unit: the
//! baseline tier goes on in the frame. A return from a closure's home is a jump if the home is in the unit. Bytecodes
//! without an operation of their own are executed by the baseline tier's helper (`instruction`).

mod body;
mod control;
mod inlining;
mod intrinsics;
mod objects;
mod sends;
mod typed;

use crate::code::{CompileError, Request};
use crate::facts::Facts;
use crate::ir::entities::{ActivationId, Block, FunctionRef, StateId, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Representation, Type};
use crate::ir::{Activation, End, Jump, Unit};
use crate::passes::fold::{self, Folded};
use crate::passes::kinds;

use body::Body;

pub(crate) use control::leaves;
pub(crate) use sends::{MOST_LEAF_ARGUMENTS, MOST_SHORT_ARGUMENTS};

/// Builds a unit.
pub fn build(facts: &dyn Facts, request: &Request) -> Result<Unit, CompileError> {
    build_with(facts, request, Limits::default())
}

/// How much code is inlined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Instructions of bytecode in a unit.
    pub unit: usize,
    /// Functions up to this many instructions are inlined wherever they are called.
    pub always: usize,
    /// Functions up to this many instructions are inlined in loops, and if they are hot.
    pub hot: usize,
    /// The depth of inlined activations.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { unit: 1600, always: 10, hot: 100, depth: 9 }
    }
}

impl Limits {
    /// Nothing is inlined.
    pub const NONE: Limits = Limits { unit: 1600, always: 0, hot: 0, depth: 0 };
}

/// Builds a unit within these limits.
pub fn build_with(
    facts: &dyn Facts,
    request: &Request,
    limits: Limits,
) -> Result<Unit, CompileError> {
    let function = request.function;
    if facts.function(function).is_imported() {
        return Err(CompileError::Unsupported("it has no code"));
    }
    let mut builder = Builder {
        facts,
        unit: Unit::default(),
        limits,
        left: limits.unit,
        chain: Vec::new(),
        early_returns: Vec::new(),
    };
    let activation = builder.add_activation(function, 0);
    let block = builder.unit.add_block();
    let mut body = Body::new(&mut builder, activation, None);
    body.start(block, request)?;
    body.run();
    Ok(builder.unit)
}

/// The unit being made, and what is common to its activations.
struct Builder<'f> {
    facts: &'f dyn Facts,
    unit: Unit,
    limits: Limits,
    /// How many more instructions the unit may take.
    left: usize,
    /// The functions of the activations that are being built, the outermost first.
    chain: Vec<FunctionRef>,
    /// The blocks of closures that return from an inlined activation around them, with that and the value.
    early_returns: Vec<(ActivationId, Block, Value)>,
}

impl Builder<'_> {
    /// Whether the code counts its polls, for a sandbox.
    fn counts_polls(&self) -> bool {
        self.facts.machine().fuel.is_some()
    }

    fn add_activation(&mut self, function: FunctionRef, offset: u32) -> ActivationId {
        let words = self.facts.function(function).registers.len() as u32;
        self.unit.activations.push(Activation { function, offset, words });
        ActivationId(self.unit.activations.len() as u32 - 1)
    }

    /// Adds an operation to a block, or finds what it is equal to. Answers its result, if it has one.
    fn emit(
        &mut self,
        block: Block,
        op: Op,
        arguments: &[Value],
        state: Option<StateId>,
    ) -> Option<Value> {
        match fold::fold(&self.unit, op, arguments) {
            Some(Folded::Value(value)) => return Some(value),
            Some(Folded::Nothing) => return None,
            Some(Folded::Op(op, arguments)) => return self.emit(block, op, &arguments, state),
            None => {}
        }
        let kind = kinds::result_kind(&self.unit, op, arguments, default_kind(op));
        let state = state.filter(|_| op.needs_state());
        let inst = self.unit.make_typed(op, arguments, state, kind);
        self.unit.blocks[block.index()].instructions.push(inst);
        self.unit.inst(inst).result
    }

    /// Adds an operation whose result has this representation, or none.
    fn emit_raw(
        &mut self,
        block: Block,
        op: Op,
        arguments: &[Value],
        state: Option<StateId>,
        result: Option<Representation>,
    ) -> Option<Value> {
        let result = result.map(|repr| (repr, whole_kind(repr)));
        let inst = self.unit.make(op, arguments, state, result);
        self.unit.blocks[block.index()].instructions.push(inst);
        self.unit.inst(inst).result
    }

    /// Ends blocks with jumps to a common one, which has the values as its parameter. A single block just goes on.
    fn join(&mut self, ends: Vec<(Block, Value)>) -> Option<(Block, Value)> {
        if ends.len() < 2 {
            return ends.into_iter().next();
        }
        let block = self.unit.add_block();
        let kind = ends.iter().fold(Type::NONE, |kind, end| kind.join(self.unit.kind(end.1)));
        let repr = self.unit.representation(ends[0].1);
        let parameter = self.unit.add_parameter(block, repr, kind);
        for (end, value) in ends {
            let jump = Jump { block, arguments: vec![value] };
            self.unit.blocks[end.index()].end = End::Jump(jump);
        }
        Some((block, parameter))
    }
}

/// What is known of an operation's result without its arguments.
fn default_kind(op: Op) -> Type {
    use crate::ir::operations::Results;
    match op.results() {
        Results::I64 => Type::RAW,
        Results::F64 => Type::DOUBLE,
        Results::Bool => Type::BOOLEAN,
        Results::Word | Results::Any | Results::None => Type::ANY,
    }
}

/// All values of a representation.
pub(crate) fn whole_kind(repr: Representation) -> Type {
    match repr {
        Representation::Word => Type::ANY,
        Representation::I64 => Type::RAW,
        Representation::F64 => Type::DOUBLE,
        Representation::Bool => Type::BOOLEAN,
    }
}
