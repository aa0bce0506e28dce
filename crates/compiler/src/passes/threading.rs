//! Jump threading: where paths meet only to part again by what each of them knows already, each path goes its own way.
//! [`crate::optimise`] runs this pass after the first `simplify`. Two-armed answers such as `x isNil`, for receivers of
//! several classes, end in blocks where paths meet so, and so do the values of `and:` and `or:`.
//!
//! A block is copied for each edge on which its branch is decided, with the edge's arguments in place of its parameters.
//! What the block defines then has several definitions, so its uses elsewhere get parameters where the paths meet
//! (Braun and others, "Simple and Efficient Construction of Static Single Assignment Form", 2013, section 2.2);
//! `simplify` drops those that turn out not to differ.
//!
//! Heads of loops and the blocks that enter loops stay as they are, so loops keep their one entry.

use std::collections::HashMap;

use crate::ir::dominance::{dominates, dominators};
use crate::ir::entities::{Block, Inst, StateId, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::types::Type;
use crate::ir::values::WordBits;
use crate::ir::{BlockData, End, Jump, Unit};
use crate::passes::fold::{self, Folded};
use crate::passes::kinds;
use crate::words;

/// A block with more instructions is not copied.
const MOST_INSTRUCTIONS: usize = 6;

/// A unit gets at most so many copies.
const MOST_COPIES: usize = 200;

/// So many branches before a jump are asked for what they show.
const MOST_BRANCHES: usize = 4;

/// Threads all edges on which a branch is decided.
pub fn threading(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    let parents = dominators(unit, &order);
    let predecessors = unit.predecessors();
    let is_head = |block: Block| {
        predecessors[block.index()].iter().any(|&from| dominates(&parents, block, from))
    };
    let heads: Vec<bool> =
        (0..unit.blocks.len()).map(|index| is_head(Block(index as u32))).collect();
    let mut copies = 0;
    for &block in &order {
        if copies < MOST_COPIES && !heads[block.index()] && is_candidate(unit, block) {
            copies += thread(unit, block);
        }
    }
    unit.resolve_all();
}

/// Whether a block is small, ends with a branch, and does not enter a loop. A refinement has its argument's place in the
/// frame; with parameters in place of both that would be forgotten.
fn is_candidate(unit: &Unit, block: Block) -> bool {
    let data = unit.block(block);
    let is_branch = matches!(data.end, End::Branch(..));
    if !is_branch || data.leave.is_some() || data.parameters.is_empty() {
        return false;
    }
    let may_copy = |&inst: &Inst| {
        let op = unit.inst(inst).op;
        let has_no_effect = matches!(op.effect(), Effect::Pure | Effect::Guard);
        has_no_effect && !op.is_pinned() && !op.refines()
    };
    data.instructions.len() <= MOST_INSTRUCTIONS && data.instructions.iter().all(may_copy)
}

/// Threads a block's edges; answers how many copies it made.
fn thread(unit: &mut Unit, block: Block) -> usize {
    let edges = Edges::of(unit);
    let jumps = edges.to(unit, block);
    if jumps.len() < 2 {
        return 0;
    }
    let mut definitions: HashMap<Block, HashMap<Value, Value>> = HashMap::new();
    for (from, number) in jumps {
        if let Some((copy, values)) = copy_for(unit, &edges, block, (from, number)) {
            let jump = unit.blocks[from.index()].end.jumps_mut().nth(number);
            *jump.expect("the jump was found there") = Jump::to(copy);
            definitions.insert(copy, values);
        }
    }
    let copies = definitions.len();
    if copies > 0 {
        let defined = defined_in(unit, block);
        let own = defined.iter().map(|&value| (value, value)).collect();
        definitions.insert(block, own);
        Repair::new(unit, &defined, definitions).run();
    }
    copies
}

/// The parameters and results of a block.
fn defined_in(unit: &Unit, block: Block) -> Vec<Value> {
    let data = unit.block(block);
    let results = data.instructions.iter().filter_map(|&inst| unit.inst(inst).result);
    data.parameters.iter().copied().chain(results).collect()
}

/// A copy of a block for one of the jumps that lead there, if its branch is decided there, and what its values are in the
/// copy.
fn copy_for(
    unit: &mut Unit,
    edges: &Edges,
    block: Block,
    (from, number): (Block, usize),
) -> Option<(Block, HashMap<Value, Value>)> {
    let jump = unit.block(from).end.jumps().nth(number)?.clone();
    let shown = edges.shown_on(unit, from, number);
    let parameters = unit.block(block).parameters.clone();
    let copy = unit.add_block();
    let mut copier = Copier { unit, copy, values: HashMap::new(), states: HashMap::new() };
    for (parameter, argument) in parameters.into_iter().zip(jump.arguments) {
        let value = copier.known(argument, &shown);
        copier.values.insert(parameter, value);
    }
    let instructions = copier.unit.block(block).instructions.clone();
    instructions.into_iter().for_each(|inst| copier.instruction(inst));
    let End::Branch(condition, then, otherwise) = copier.unit.block(block).end.clone() else {
        return None;
    };
    let condition = copier.value(condition);
    let taken = match copier.decided(condition, &shown)? {
        true => then,
        false => otherwise,
    };
    let arguments = taken.arguments.iter().map(|&value| copier.value(value)).collect();
    let values = copier.values;
    unit.blocks[copy.index()].end = End::Jump(Jump { block: taken.block, arguments });
    Some((copy, values))
}

/// The edges of the unit before a block is copied. Copies take edges over, but add none to other blocks.
struct Edges {
    predecessors: Vec<Vec<Block>>,
}

impl Edges {
    fn of(unit: &Unit) -> Edges {
        Edges { predecessors: unit.distinct_predecessors() }
    }

    /// The jumps to a block, each as its block and its number there.
    fn to(&self, unit: &Unit, block: Block) -> Vec<(Block, usize)> {
        let before = self.predecessors[block.index()].iter();
        let jumps = before.flat_map(|&from| {
            let jumps = unit.block(from).end.jumps().enumerate();
            jumps.filter(|(_, jump)| jump.block == block).map(move |(number, _)| (from, number))
        });
        jumps.collect()
    }

    /// The conditions that a jump of a block shows: those of the block's own branch, and of branches that nothing but
    /// this block follows.
    fn shown_on(&self, unit: &Unit, mut from: Block, mut number: usize) -> Vec<(Value, bool)> {
        let mut shown = Vec::new();
        for _ in 0..MOST_BRANCHES {
            if let End::Branch(condition, ..) = &unit.block(from).end {
                shown.push((unit.resolve(*condition), number == 0));
            }
            let [only] = self.to(unit, from)[..] else { break };
            (from, number) = only;
        }
        shown
    }
}

/// Makes a copy of a block.
struct Copier<'u> {
    unit: &'u mut Unit,
    copy: Block,
    /// What the block's values are in the copy.
    values: HashMap<Value, Value>,
    states: HashMap<StateId, StateId>,
}

impl Copier<'_> {
    /// What a value of the block, or around it, is in the copy.
    fn value(&self, value: Value) -> Value {
        let value = self.unit.resolve(value);
        self.values.get(&value).copied().unwrap_or(value)
    }

    /// A jump's argument, or the constant that it is by what the jump shows.
    fn known(&mut self, argument: Value, shown: &[(Value, bool)]) -> Value {
        let argument = self.unit.resolve(argument);
        let tagged = self.unit.definition(argument).filter(|inst| inst.op == Op::TagBoolean);
        let Some(raw) = tagged.map(|inst| inst.arguments[0]) else { return argument };
        match self.decided(raw, shown) {
            Some(true) => self.add(Op::Word(WordBits(words::TRUE)), &[], None, None),
            Some(false) => self.add(Op::Word(WordBits(words::FALSE)), &[], None, None),
            None => argument,
        }
    }

    /// Which truth value a condition has, if its type or what is shown says so.
    fn decided(&self, condition: Value, shown: &[(Value, bool)]) -> Option<bool> {
        let condition = self.unit.resolve(condition);
        if let Some(inner) = self.unit.definition(condition).filter(|inst| inst.op == Op::Not) {
            return self.decided(inner.arguments[0], shown).map(|value| !value);
        }
        match self.unit.kind(condition) {
            Type::TRUE => Some(true),
            Type::FALSE => Some(false),
            _ => shown.iter().find(|(value, _)| *value == condition).map(|(_, holds)| *holds),
        }
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.unit.inst(inst).clone();
        self.unit.origin = data.origin;
        let mut op = data.op;
        let mut arguments: Vec<Value> =
            data.arguments.iter().map(|&value| self.value(value)).collect();
        let value = loop {
            match fold::fold(self.unit, op, &arguments) {
                None => break self.add(op, &arguments, data.state, data.result),
                Some(Folded::Nothing) => return,
                Some(Folded::Value(value)) => break value,
                Some(Folded::Op(simpler, operands)) => (op, arguments) = (simpler, operands),
            }
        };
        if let Some(result) = data.result {
            self.values.insert(result, value);
        }
    }

    /// Adds an operation to the copy; answers its result, or for those without one any value.
    fn add(
        &mut self,
        op: Op,
        arguments: &[Value],
        state: Option<StateId>,
        original: Option<Value>,
    ) -> Value {
        let state = state.filter(|_| op.needs_state());
        let state = state.map(|state| substitute(self.unit, state, &self.values, &mut self.states));
        let given = original.map_or(Type::ANY, |value| self.unit.kind(value));
        let kind = kinds::result_kind(self.unit, op, arguments, given);
        let inst = self.unit.make_typed(op, arguments, state, kind);
        self.unit.blocks[self.copy.index()].instructions.push(inst);
        self.unit.inst(inst).result.unwrap_or(Value(0))
    }
}

/// A state with other values in place of some.
fn substitute(
    unit: &mut Unit,
    state: StateId,
    values: &HashMap<Value, Value>,
    known: &mut HashMap<StateId, StateId>,
) -> StateId {
    if let Some(&other) = known.get(&state) {
        return other;
    }
    let mut data = unit.state(state).clone();
    let mut is_same = true;
    for (_, value) in &mut data.registers {
        let other = unit.resolve(*value);
        if let Some(&other) = values.get(&other) {
            (*value, is_same) = (other, false);
        }
    }
    if let Some(parent) = data.parent {
        let other = substitute(unit, parent, values, known);
        is_same &= other == parent;
        data.parent = Some(other);
    }
    let other = if is_same { state } else { unit.add_state(data) };
    known.insert(state, other);
    other
}

/// Gives the uses of values with several definitions the definition that reaches them.
struct Repair<'u, 'd> {
    unit: &'u mut Unit,
    defined: &'d [Value],
    /// For each block that defines the values what they are at its end.
    definitions: HashMap<Block, HashMap<Value, Value>>,
    predecessors: Vec<Vec<Block>>,
    /// What a value is at the beginning of a block.
    reaching: HashMap<(Block, Value), Value>,
}

impl<'u, 'd> Repair<'u, 'd> {
    fn new(
        unit: &'u mut Unit,
        defined: &'d [Value],
        definitions: HashMap<Block, HashMap<Value, Value>>,
    ) -> Repair<'u, 'd> {
        let predecessors = unit.distinct_predecessors();
        Repair { unit, defined, definitions, predecessors, reaching: HashMap::new() }
    }

    fn run(mut self) {
        for block in self.unit.reverse_post_order() {
            if !self.definitions.contains_key(&block) {
                self.uses_in(block);
            }
        }
    }

    /// Rewrites a block that defines none of the values.
    fn uses_in(&mut self, block: Block) {
        let mut values = HashMap::new();
        for value in self.used_in(block) {
            let reaching = self.at_beginning(block, value);
            values.insert(value, reaching);
        }
        if values.is_empty() {
            return;
        }
        let mut states = HashMap::new();
        let replace = |value: &mut Value, unit: &Unit| {
            if let Some(other) = values.get(&unit.resolve(*value)) {
                *value = *other;
            }
        };
        let BlockData { instructions, mut end, leave, .. } =
            self.unit.blocks[block.index()].clone();
        for inst in instructions {
            let mut data = self.unit.inst(inst).clone();
            data.arguments.iter_mut().for_each(|value| replace(value, self.unit));
            data.state = data.state.map(|s| substitute(self.unit, s, &values, &mut states));
            self.unit.instructions[inst.index()] = data;
        }
        match &mut end {
            End::Branch(value, ..) | End::Return(value) => replace(value, self.unit),
            End::Exit(state) => *state = substitute(self.unit, *state, &values, &mut states),
            End::Jump(_) | End::Open => {}
        }
        for value in end.jumps_mut().flat_map(|jump| &mut jump.arguments) {
            replace(value, self.unit);
        }
        let leave = leave.map(|state| substitute(self.unit, state, &values, &mut states));
        let data = &mut self.unit.blocks[block.index()];
        (data.end, data.leave) = (end, leave);
    }

    /// Which of the values a block uses.
    fn used_in(&self, block: Block) -> Vec<Value> {
        let unit = &*self.unit;
        let data = unit.block(block);
        let instructions = data.instructions.iter().map(|&inst| unit.inst(inst));
        let mut used: Vec<Value> = Vec::new();
        let mut states: Vec<StateId> = data.leave.into_iter().collect();
        for inst in instructions {
            used.extend(&inst.arguments);
            states.extend(inst.state);
        }
        used.extend(data.end.jumps().flat_map(|jump| &jump.arguments));
        match data.end {
            End::Branch(value, ..) | End::Return(value) => used.push(value),
            End::Exit(state) => states.push(state),
            End::Jump(_) | End::Open => {}
        }
        states.sort_unstable();
        states.dedup();
        for each in states.into_iter().flat_map(|state| unit.chain(state)) {
            used.extend(each.registers.iter().map(|(_, value)| value));
        }
        used.iter_mut().for_each(|value| *value = unit.resolve(*value));
        self.defined.iter().copied().filter(|value| used.contains(value)).collect()
    }

    /// What a value is at the beginning of a block.
    fn at_beginning(&mut self, block: Block, value: Value) -> Value {
        if let Some(&known) = self.reaching.get(&(block, value)) {
            return known;
        }
        let before = self.predecessors[block.index()].clone();
        if let [only] = before[..] {
            let reaching = self.at_end(only, value);
            self.reaching.insert((block, value), reaching);
            return reaching;
        }
        let (repr, kind) = (self.unit.representation(value), self.unit.kind(value));
        let parameter = self.unit.add_parameter(block, repr, kind);
        self.reaching.insert((block, value), parameter);
        for from in before {
            let argument = self.at_end(from, value);
            for jump in self.unit.blocks[from.index()].end.jumps_mut() {
                if jump.block == block {
                    jump.arguments.push(argument);
                }
            }
        }
        parameter
    }

    /// What a value is at the end of a block.
    fn at_end(&mut self, block: Block, value: Value) -> Value {
        match self.definitions.get(&block) {
            Some(values) => values[&value],
            None => self.at_beginning(block, value),
        }
    }
}
