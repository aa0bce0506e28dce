//! Checks the invariants of a unit: those that the head of `ir` lists. Tests run it after each pass, and debug builds
//! before the lowering.

use crate::ir::dominance::{dominates, dominators};
use crate::ir::doubles::{is_immediate, with_sources};
use crate::ir::entities::{Block, Inst, StateId, Value};
use crate::ir::operations::{Effect, Op, Results};
use crate::ir::types::Representation;
use crate::ir::{Definition, End, Jump, Stands, Unit};

/// Whether a unit is well formed: otherwise each violation, in words.
pub fn verify(unit: &Unit) -> Result<(), Vec<String>> {
    let order = unit.reverse_post_order();
    let mut verifier =
        Verifier { unit, dominators: dominators(unit, &order), errors: Vec::new(), place: None };
    for &block in &order {
        verifier.block(block);
    }
    if verifier.errors.is_empty() {
        verifier.tagged_doubles(&order);
    }
    if verifier.errors.is_empty() { Ok(()) } else { Err(verifier.errors) }
}

struct Verifier<'u> {
    unit: &'u Unit,
    dominators: Vec<Option<Block>>,
    errors: Vec<String>,
    /// The block and the index of the instruction that is being checked.
    place: Option<(Block, usize)>,
}

impl Verifier<'_> {
    fn block(&mut self, block: Block) {
        let data = self.unit.block(block);
        for (index, &inst) in data.instructions.iter().enumerate() {
            self.place = Some((block, index));
            self.instruction(block, inst);
        }
        self.place = Some((block, data.instructions.len()));
        if let Some(state) = data.leave {
            self.state(state);
        }
        match &data.end {
            End::Open => self.error(format!("{block} is not finished")),
            End::Return(value) => self.used(*value),
            End::Exit(state) => self.state(*state),
            End::Jump(jump) => self.jump(jump),
            End::Branch(value, then, otherwise) => {
                self.used(*value);
                if self.unit.representation(*value) != Representation::Bool {
                    self.error(format!("{block} branches on {value}, which is no bool"));
                }
                self.jump(then);
                self.jump(otherwise);
            }
        }
    }

    fn error(&mut self, message: String) {
        self.errors.push(message);
    }

    fn instruction(&mut self, block: Block, inst: Inst) {
        let data = self.unit.inst(inst);
        let text = format!("{} in {block}", data.op);
        data.arguments.iter().for_each(|&value| self.used(value));
        self.representations(inst, &text);
        let has_result = data.result.is_some();
        match data.op.results() {
            Results::None if has_result => self.error(format!("{text} has a result")),
            Results::None | Results::Any => {}
            _ if !has_result => self.error(format!("{text} has no result")),
            _ => {}
        }
        if let Some(result) = data.result
            && self.unit.values[result.index()].definition != Definition::Result(inst)
        {
            self.error(format!("{text} does not define {result}"));
        }
        match data.state {
            None if data.op.needs_state() => self.error(format!("{text} has no state")),
            None => {}
            Some(state) => {
                let is_call = matches!(data.op, Op::Call(_) | Op::Send(_) | Op::CallClosure(_));
                let stands = if is_call { Stands::In } else { Stands::Before };
                if data.op.effect() != Effect::Frame && self.unit.state(state).stands != stands {
                    self.error(format!("{text}: {state} does not stand there"));
                }
                self.state(state);
            }
        }
    }

    /// Each double that is tagged without a test needs no box, wherever it comes from.
    fn tagged_doubles(&mut self, order: &[Block]) {
        let blocks = order.iter().map(|&block| self.unit.block(block));
        let instructions = blocks.flat_map(|block| &block.instructions);
        let tags = instructions.map(|&inst| self.unit.inst(inst));
        let tags = tags.filter(|data| data.op == Op::TagDouble);
        let tagged: Vec<Value> = tags.map(|data| data.arguments[0]).collect();
        for (index, _) in with_sources(self.unit, tagged).into_iter().enumerate().filter(|t| t.1) {
            let value = Value(index as u32);
            let is_computed = self.unit.definition(value).is_some();
            if is_computed && !is_immediate(self.unit, value) {
                self.error(format!("{value} is tagged, but may need a box"));
            }
        }
    }

    fn representations(&mut self, inst: Inst, text: &str) {
        let data = self.unit.inst(inst);
        let result = data.result.map(|value| self.unit.values[value.index()].representation);
        let wanted = match data.op.results() {
            Results::Word => Some(Representation::Word),
            Results::I64 => Some(Representation::I64),
            Results::F64 => Some(Representation::F64),
            Results::Bool => Some(Representation::Bool),
            Results::Any | Results::None => result,
        };
        if result != wanted {
            self.error(format!("{text} has the wrong representation"));
        }
        let arguments = data.op.arguments();
        if arguments == "any" {
            return;
        }
        let letters = arguments.trim_matches('n');
        let given: String = data.arguments.iter().map(|&value| self.letter(value)).collect();
        if letters != given {
            self.error(format!("{text} takes ({letters}), not ({given})"));
        }
    }

    fn letter(&self, value: Value) -> char {
        match self.unit.representation(value) {
            Representation::Word => 'w',
            Representation::I64 => 'i',
            Representation::F64 => 'f',
            Representation::Bool => 'b',
        }
    }

    fn jump(&mut self, jump: &Jump) {
        let parameters = &self.unit.block(jump.block).parameters;
        if parameters.len() != jump.arguments.len() {
            self.error(format!("a jump to {} has the wrong arguments", jump.block));
            return;
        }
        for (&parameter, &argument) in parameters.iter().zip(&jump.arguments) {
            self.used(argument);
            if self.unit.representation(parameter) != self.unit.representation(argument) {
                self.error(format!("{argument} does not fit {parameter}"));
            }
        }
    }

    fn state(&mut self, state: StateId) {
        let mut innermost = true;
        for each in self.unit.chain(state) {
            each.registers.iter().for_each(|&(_, value)| self.used(value));
            if !innermost && each.stands != Stands::In {
                self.error(format!("a state around {state} does not stand in a call"));
            }
            innermost = false;
        }
    }

    /// Checks that a value's definition comes before the place that is being checked.
    fn used(&mut self, value: Value) {
        let value = self.unit.resolve(value);
        let (here, index) = self.place.expect("a place is set first");
        let defined = match self.unit.values[value.index()].definition {
            Definition::Parameter(block) => {
                let is_parameter = |block: Block| {
                    self.unit
                        .blocks
                        .get(block.index())
                        .is_some_and(|b| b.parameters.contains(&value))
                };
                is_parameter(block) && dominates(&self.dominators, block, here)
            }
            Definition::Result(inst) => {
                let before = &self.unit.block(here).instructions[..index];
                before.contains(&inst) || self.is_in_dominator(inst, here)
            }
            Definition::Alias(_) => false,
        };
        if !defined {
            self.error(format!("{value} is not defined at its use in {here}"));
        }
    }

    fn is_in_dominator(&self, inst: Inst, here: Block) -> bool {
        let dominators =
            std::iter::successors(self.dominators[here.index()], |b| self.dominators[b.index()]);
        dominators.into_iter().any(|block| self.unit.block(block).instructions.contains(&inst))
    }
}
