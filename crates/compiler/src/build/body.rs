//! One activation while it is built: its basic blocks, the values of its registers, and its states. `mod.rs` makes one
//! for the function itself, and `inlining` one for each call that is inlined.
//!
//! Blocks are built in reverse post order, so that all predecessors but loops come before. Where paths meet, the
//! block has a parameter for each live register; `simplify` drops those that turn out not to differ.
//!
//! # States
//!
//! A state before an instruction is made when the first guard asks for it, and is kept until the next effect: a guard of
//! a later instruction leaves in the earlier state, and the instructions between are executed again. So one exit serves
//! many guards.

use squall_bytecode::decode::Instruction;
use squall_bytecode::entities::Register;
use squall_bytecode::flow::FlowGraph;
use squall_bytecode::liveness::FrameMaps;
use squall_bytecode::module::Function;
use squall_bytecode::register_set::RegisterSet;
use squall_bytecode::types::RegisterType;

use crate::build::{Builder, whole_kind};
use crate::code::{CompileError, Request, Start};
use crate::ir::entities::{ActivationId, Block, FunctionRef, StateId, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Representation, Type};
use crate::ir::values::{Place, SlotKind};
use crate::ir::{End, Jump, Origin, Stands, State};
use crate::words;

/// An activation being built.
pub(super) struct Body<'b, 'f> {
    pub builder: &'b mut Builder<'f>,
    pub activation: ActivationId,
    pub function_ref: FunctionRef,
    pub function: &'f Function,
    maps: &'f FrameMaps,
    graph: FlowGraph,
    /// For each block of the graph how many edges lead there from blocks that can be reached.
    incoming: Vec<usize>,
    /// For each block of the graph that begins a loop the registers that its turns may change.
    carried: Vec<Option<RegisterSet>>,
    /// For each block of the graph its entry, once something jumps there.
    entries: Vec<Option<Entry>>,
    start: usize,
    /// For each block of the graph whether it is in a loop.
    in_loop: Vec<bool>,
    pub registers: Vec<Option<Value>>,
    /// The block that code is added to; none after the end of a path.
    pub current: Option<Block>,
    pub instruction: Instruction,
    /// The state of the caller, in the call.
    pub parent: Option<StateId>,
    /// A state to leave in, if there was no effect since.
    pub state: Option<StateId>,
    /// The blocks that return, of an inlined activation, with their values.
    pub returns: Vec<(Block, Value)>,
    flow_block: usize,
}

/// How a block of the graph is entered.
struct Entry {
    block: Block,
    /// The registers that are parameters, in the order of the parameters.
    parameters: Vec<Register>,
    /// The other registers.
    registers: Vec<Option<Value>>,
}

impl<'b, 'f> Body<'b, 'f> {
    pub fn new(
        builder: &'b mut Builder<'f>,
        activation: ActivationId,
        parent: Option<StateId>,
    ) -> Body<'b, 'f> {
        let function_ref = builder.unit.activations[activation.index()].function;
        let function = builder.facts.function(function_ref);
        let maps = builder.facts.frame_maps(function_ref);
        let graph = FlowGraph::build(function);
        builder.chain.push(function_ref);
        builder.left = builder.left.saturating_sub(graph.instructions.len());
        Body {
            activation,
            function_ref,
            function,
            maps,
            incoming: vec![0; graph.blocks.len()],
            carried: vec![None; graph.blocks.len()],
            entries: graph.blocks.iter().map(|_| None).collect(),
            start: 0,
            in_loop: loops(&graph),
            registers: vec![None; function.registers.len()],
            current: None,
            instruction: graph.instructions[0],
            graph,
            parent,
            state: None,
            returns: Vec::new(),
            flow_block: 0,
            builder,
        }
    }

    /// Begins a unit: the live registers are in the frame.
    pub fn start(&mut self, block: Block, request: &Request) -> Result<(), CompileError> {
        self.current = Some(block);
        let registers = match request.start {
            Start::Function => RegisterSet::below(self.function.arguments()) & self.live(0),
            Start::Loop(pc) => {
                let head = self.graph.instruction_at(pc as usize);
                let head = head.and_then(|first| {
                    self.graph.blocks.iter().position(|block| block.first == first)
                });
                let none = CompileError::Unsupported("no block starts there");
                self.start = head.ok_or(none)?;
                self.live(pc as usize)
            }
        };
        for register in registers.iter() {
            let repr = representation(self.function.registers[register.index()]);
            let op = Op::Argument(Place(u32::from(register.0)));
            let value = self.builder.emit_raw(block, op, &[], None, Some(repr));
            self.registers[register.index()] = value;
        }
        self.instruction = self.graph.instructions[self.graph.blocks[self.start].first];
        self.know(registers, request);
        Ok(())
    }

    /// Uses what is certain and what is likely of words at the start. The likely part becomes guards.
    fn know(&mut self, registers: RegisterSet, request: &Request) {
        let words = |all: &[(Register, Type)]| {
            let mut words = all.to_vec();
            words.retain(|&(register, _)| {
                registers.contains(register) && self.register_type(register).is_tagged()
            });
            words
        };
        let (certain, likely) = (words(&request.certain), words(&request.likely));
        for (register, kind) in certain {
            let value = self.get(register);
            let data = &mut self.builder.unit.values[value.index()];
            data.kind = data.kind.meet(kind);
        }
        for (register, kind) in likely {
            let value = self.get(register);
            let op = match kind {
                kind if kind.is(Type::INTEGER) => Op::GuardInteger,
                kind if kind.is(Type::DOUBLE) => Op::GuardDouble,
                kind if kind.is(Type::BOOLEAN) => Op::GuardBoolean,
                kind if kind.layouts().is_some() => Op::GuardLayout(kind.object_layouts()),
                _ => continue,
            };
            let refined = self.guard(op, &[value]);
            self.refine(value, refined);
        }
    }

    /// Begins an inlined activation, in the block where its caller is, with these values in its first registers.
    pub fn start_inlined(&mut self, block: Block, arguments: &[Value], state: Option<StateId>) {
        self.current = Some(block);
        self.state = state;
        for (register, &value) in self.registers.iter_mut().zip(arguments) {
            *register = Some(value);
        }
    }

    /// Builds all blocks that can be reached.
    pub fn run(&mut self) {
        let order = self.reverse_post_order();
        for &block in &order {
            let data = &self.graph.blocks[block];
            for successor in data.targets.iter().chain(&data.next) {
                self.incoming[*successor] += 1;
            }
        }
        self.incoming[self.start] += 1;
        self.carried = carried(&self.graph, &order);
        let state = self.state;
        self.go_to(self.start);
        for (index, block) in order.into_iter().enumerate() {
            if let Some(entry) = &self.entries[block] {
                self.enter(block, entry.block);
                if index == 0 && self.incoming[block] == 1 {
                    self.state = state;
                }
                self.run_block(block);
            }
        }
        self.builder.chain.pop();
    }

    fn enter(&mut self, block: usize, current: Block) {
        let Some(entry) = &self.entries[block] else { return };
        self.registers.clone_from(&entry.registers);
        let parameters = &self.builder.unit.block(current).parameters;
        for (register, &value) in entry.parameters.iter().zip(parameters) {
            self.registers[register.index()] = Some(value);
        }
        self.current = Some(current);
        self.state = None;
        self.flow_block = block;
    }

    fn run_block(&mut self, block: usize) {
        for index in self.graph.blocks[block].first..self.graph.blocks[block].end {
            if self.current.is_none() {
                return;
            }
            self.instruction = self.graph.instructions[index];
            self.builder.unit.origin = Some(self.origin());
            self.step();
        }
        if let (Some(next), true) = (self.graph.blocks[block].next, self.current.is_some()) {
            self.go_to(next);
        }
    }

    fn reverse_post_order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.graph.blocks.len()];
        let mut stack = vec![(self.start, 0)];
        seen[self.start] = true;
        while let Some((block, next)) = stack.last_mut() {
            let data = &self.graph.blocks[*block];
            // What follows directly comes first in the order, so it is visited last.
            let successor = data.targets.iter().chain(&data.next).nth(*next).copied();
            *next += 1;
            match successor {
                Some(successor) if !seen[successor] => {
                    seen[successor] = true;
                    stack.push((successor, 0));
                }
                Some(_) => {}
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// The current instruction.
    pub fn origin(&self) -> Origin {
        Origin { function: self.function_ref, pc: self.instruction.pc as u32 }
    }

    /// Ends the current block with a jump to a block of the graph.
    pub fn go_to(&mut self, target: usize) {
        let jump = self.jump(target);
        self.end(End::Jump(jump));
    }

    /// Ends the current block.
    pub fn end(&mut self, end: End) {
        let current = self.current.take().expect("a block is being built");
        self.builder.unit.blocks[current.index()].end = end;
    }

    /// A jump to a block of the graph with the registers as they are. A loop is entered through a block of its own, which
    /// has the state there.
    pub fn jump(&mut self, target: usize) -> Jump {
        let enters_loop = self.is_loop(target) && !self.instruction.opcode.polls();
        if !enters_loop {
            return self.direct_jump(target);
        }
        let block = self.builder.unit.add_block();
        let leave = self.state_at(self.pc_of(target));
        let jump = self.direct_jump(target);
        let data = &mut self.builder.unit.blocks[block.index()];
        (data.leave, data.end) = (Some(leave), End::Jump(jump));
        Jump::to(block)
    }

    fn direct_jump(&mut self, target: usize) -> Jump {
        if self.entries[target].is_none() {
            self.entries[target] = Some(self.make_entry(target));
        }
        let entry = self.entries[target].as_ref().expect("it was made");
        let value = |register: &Register| self.registers[register.index()];
        let arguments: Option<Vec<Value>> = entry.parameters.iter().map(value).collect();
        let arguments = arguments.expect("the verifier has shown that live registers have values");
        let block = entry.block;
        for (index, &argument) in arguments.iter().enumerate() {
            let parameter = self.builder.unit.block(block).parameters[index];
            let kind = self.builder.unit.kind(argument);
            let data = &mut self.builder.unit.values[parameter.index()];
            data.kind = data.kind.join(kind);
        }
        Jump { block, arguments }
    }

    /// Where paths meet, live registers are parameters: at the head of a loop that is entered in one place, just those
    /// that its turns may change. Parameters of loops can be anything, as the builder has not seen the values from the
    /// loop's end.
    fn make_entry(&mut self, target: usize) -> Entry {
        let block = self.builder.unit.add_block();
        let pc = self.graph.instructions[self.graph.blocks[target].first].pc;
        let live = self.live(pc);
        let mut registers = vec![None; self.registers.len()];
        let mut parameters = Vec::new();
        for register in live.iter() {
            let is_same = self.incoming[target] == 1
                || self.carried[target].is_some_and(|carried| !carried.contains(register));
            if is_same {
                registers[register.index()] = self.registers[register.index()];
                continue;
            }
            let repr = representation(self.function.registers[register.index()]);
            let kind = if self.is_loop(target) { whole_kind(repr) } else { Type::NONE };
            self.builder.unit.add_parameter(block, repr, kind);
            parameters.push(register);
        }
        Entry { block, parameters, registers }
    }

    /// Whether a block is the target of a jump backwards.
    fn is_loop(&self, target: usize) -> bool {
        let first = self.graph.blocks[target].first;
        let jumps_back = |block: &squall_bytecode::flow::Block| {
            block.targets.contains(&target) && block.end > first
        };
        self.graph.blocks.iter().any(jumps_back)
    }

    /// The block of the graph that starts at the current instruction's target with this index.
    pub fn target(&self, index: usize) -> usize {
        self.graph.blocks[self.flow_block].targets[index]
    }

    /// The block of the graph after the current instruction.
    pub fn next(&self) -> usize {
        self.graph.blocks[self.flow_block].next.expect("the instruction goes on")
    }

    /// The pc of the first instruction of a block of the graph.
    pub fn pc_of(&self, block: usize) -> usize {
        self.graph.instructions[self.graph.blocks[block].first].pc
    }

    /// Whether the current instruction is in a loop.
    pub fn is_in_loop(&self) -> bool {
        self.in_loop[self.flow_block]
    }
}

/// Registers and operations.
impl Body<'_, '_> {
    /// The value of a register.
    pub fn get(&self, register: Register) -> Value {
        let value = self.registers[register.index()];
        value.expect("the verifier has shown that the register has a value")
    }

    /// Gives a register a value.
    pub fn set(&mut self, register: Register, value: Value) {
        self.registers[register.index()] = Some(value);
    }

    /// Makes a value that is known to be a refinement of another one take that one's place.
    pub fn refine(&mut self, value: Value, refined: Value) {
        for register in self.registers.iter_mut().filter(|each| **each == Some(value)) {
            *register = Some(refined);
        }
    }

    /// What is known of a value.
    pub fn kind(&self, value: Value) -> Type {
        self.builder.unit.kind(value)
    }

    /// The type of a register.
    pub fn register_type(&self, register: Register) -> RegisterType {
        self.function.registers[register.index()]
    }

    /// Adds an operation without a state.
    pub fn emit(&mut self, op: Op, arguments: &[Value]) -> Value {
        let block = self.current.expect("a block is being built");
        self.builder.emit(block, op, arguments, None).expect("the operation has a result")
    }

    /// Adds a guard that leaves in the state before the current instruction; answers the refined value.
    pub fn guard(&mut self, op: Op, arguments: &[Value]) -> Value {
        let state = self.state_before();
        let block = self.current.expect("a block is being built");
        self.builder.emit(block, op, arguments, Some(state)).expect("the guard has a result")
    }

    /// Adds a guard on a condition.
    pub fn check(&mut self, op: Op, condition: Value) {
        let state = self.state_before();
        let block = self.current.expect("a block is being built");
        self.builder.emit(block, op, &[condition], Some(state));
    }

    /// Adds a guard that has no argument.
    fn check_without_arguments(&mut self, op: Op) {
        let state = self.state_before();
        let block = self.current.expect("a block is being built");
        self.builder.emit(block, op, &[], Some(state));
    }

    /// Adds a store or a barrier, after which earlier states do not hold any more.
    pub fn store(&mut self, op: Op, arguments: &[Value]) {
        let block = self.current.expect("a block is being built");
        self.builder.emit(block, op, arguments, None);
        self.state = None;
    }

    /// Reads or writes an object of a guarded vat. The state before is that of the very instruction, for reports of
    /// conflicts name it; after a store, earlier states do not hold any more.
    fn access(&mut self, op: Op, arguments: &[Value]) -> Option<Value> {
        self.state = None;
        let state = self.state_before();
        let block = self.current.expect("a block is being built");
        let value = self.builder.emit(block, op, arguments, Some(state));
        if value.is_none() {
            self.state = None;
        }
        value
    }

    fn load(&mut self, (bare, guarded): (Op, Op), arguments: &[Value]) -> Value {
        match self.builder.facts.is_guarded() {
            false => self.emit(bare, arguments),
            true => self.access(guarded, arguments).expect("a load has a result"),
        }
    }

    fn store_with_barrier(&mut self, (bare, guarded): (Op, Op), arguments: &[Value]) {
        if self.builder.facts.is_guarded() {
            self.access(guarded, arguments);
            return;
        }
        self.store_bare(bare, arguments);
    }

    /// Stores into an object, with the write barrier. The stored word is the last argument.
    pub fn store_bare(&mut self, op: Op, arguments: &[Value]) {
        self.store(op, arguments);
        self.barrier(arguments[0], arguments[arguments.len() - 1]);
    }

    /// Reads a slot that guests can write.
    pub fn load_slot(&mut self, object: Value, index: u32) -> Value {
        if self.builder.facts.is_guarded() {
            return self
                .load((Op::LoadSlot(Place(index)), Op::LoadGuardedSlot(Place(index))), &[object]);
        }
        self.load_constant_slot(object, index)
    }

    /// Reads a slot that only strands of this vat can write now, or that nothing writes any more.
    pub fn load_constant_slot(&mut self, object: Value, index: u32) -> Value {
        let kind = self.slot_kind(object, index);
        if let Some(kind) = kind {
            self.builder.unit.rely_on(kind);
            self.check_without_arguments(Op::GuardSlotKind(kind));
        }
        let word = self.emit(Op::LoadSlot(Place(index)), &[object]);
        kind.map_or(word, |kind| self.emit(Op::AssumeKept(kind), &[word]))
    }

    /// What a slot of an object has held, if that was objects of one layout.
    fn slot_kind(&self, object: Value, slot: u32) -> Option<SlotKind> {
        let known = self.kind(object);
        let [layout] = known.layouts()? else { return None };
        let kind = self.builder.facts.slot_kind(*layout, slot);
        let is_one = kind != words::NIL_ALONE && kind != words::ANYTHING;
        is_one.then_some(SlotKind { layout: *layout, slot, kind })
    }

    /// Widens what a slot of an object may hold, if that does not admit the word that is stored there next.
    fn admit(&mut self, object: Value, slot: u32, word: Value) {
        let known = self.kind(object);
        // Without any layout, the comparison before has left the unit, whatever the object is.
        debug_assert!(known == Type::NONE || known.layouts().is_some(), "the layout was compared");
        for &layout in known.layouts().unwrap_or_default() {
            let kind = self.builder.facts.slot_kind(layout, slot);
            let kind = SlotKind { layout, slot, kind };
            if kind.kind != words::ANYTHING {
                let block = self.current.expect("a block is being built");
                self.builder.emit(block, Op::Admit(kind), &[word], None);
            }
        }
    }

    /// Reads an element. Variables in contexts are no part of transactions.
    pub fn load_element(&mut self, array: Value, index: Value) -> Value {
        self.load((Op::LoadElement, Op::LoadGuardedElement), &[array, index])
    }

    /// Writes a slot that guests can read.
    pub fn store_slot(&mut self, object: Value, index: u32, value: Value) {
        if !self.builder.facts.is_guarded() {
            return self.initialize(object, index, value);
        }
        let index = Place(index);
        let ops = (Op::StoreSlot(index), Op::StoreGuardedSlot(index));
        self.store_with_barrier(ops, &[object, value]);
    }

    /// Writes a slot of an object that no other strand has.
    pub fn initialize(&mut self, object: Value, index: u32, value: Value) {
        self.admit(object, index, value);
        self.store_bare(Op::StoreSlot(Place(index)), &[object, value]);
    }

    /// Writes an element.
    pub fn store_element(&mut self, array: Value, index: Value, value: Value) {
        let ops = (Op::StoreElement, Op::StoreGuardedElement);
        self.store_with_barrier(ops, &[array, index, value]);
    }

    /// Leaves the unit before the current instruction.
    pub fn exit(&mut self) {
        let state = self.state_before();
        self.end(End::Exit(state));
    }

    /// Leaves the unit exactly before the current instruction, which base code executes.
    pub fn leave_unit(&mut self) {
        let state = self.state_here();
        self.end(End::Exit(state));
    }
}

/// States.
impl Body<'_, '_> {
    /// The registers that are live before an instruction.
    pub fn live(&self, pc: usize) -> RegisterSet {
        self.maps.before(pc) | self.maps.raw_before(pc)
    }

    /// A state at or before the current instruction that nothing since makes wrong.
    pub fn state_before(&mut self) -> StateId {
        if let Some(state) = self.state {
            return state;
        }
        let state = self.state_at(self.instruction.pc);
        self.state = Some(state);
        state
    }

    /// The state before an instruction, with the registers as they are.
    pub fn state_at(&mut self, pc: usize) -> StateId {
        let live = self.live(pc);
        self.add_state(pc, Stands::Before, live)
    }

    /// The state exactly before the current instruction, for a helper that executes it.
    pub fn state_here(&mut self) -> StateId {
        self.state_at(self.instruction.pc)
    }

    /// The state in the current instruction, a call.
    pub fn state_in(&mut self) -> StateId {
        let (pc, next) = (self.instruction.pc, self.instruction.next_pc());
        let effects = self.instruction.effects();
        let raw = self.maps.raw_before(next) - effects.destroyed() - effects.defined();
        let live = *self.maps.at(pc) | raw;
        self.add_state(pc, Stands::In, live)
    }

    fn add_state(&mut self, pc: usize, stands: Stands, live: RegisterSet) -> StateId {
        let registers = live.iter().map(|register| (register, self.get(register))).collect();
        let (activation, pc, parent) = (self.activation, pc as u32, self.parent);
        self.builder.unit.add_state(State { activation, pc, stands, registers, parent })
    }

    /// The place in the unit's frame of a register of this activation.
    pub fn place(&self, register: Register) -> Place {
        self.builder.unit.place(self.activation, register)
    }

    /// The registers that a call destroys have no value any more.
    pub fn destroy(&mut self) {
        for register in self.instruction.effects().destroyed().iter() {
            if let Some(value) = self.registers.get_mut(register.index()) {
                *value = None;
            }
        }
    }
}

/// How a register's values are coded.
pub(super) fn representation(kind: RegisterType) -> Representation {
    match kind {
        RegisterType::F64 => Representation::F64,
        kind if kind.is_tagged() => Representation::Word,
        _ => Representation::I64,
    }
}

/// For each block that begins a loop, and is entered in just one place beside the loop's ends, the registers that the
/// loop's instructions write. The order is that in which blocks are built.
fn carried(graph: &FlowGraph, order: &[usize]) -> Vec<Option<RegisterSet>> {
    let mut position = vec![usize::MAX; graph.blocks.len()];
    order.iter().enumerate().for_each(|(index, &block)| position[block] = index);
    let mut predecessors = vec![Vec::new(); graph.blocks.len()];
    for &block in order {
        let data = &graph.blocks[block];
        data.targets.iter().chain(&data.next).for_each(|&next| predecessors[next].push(block));
    }
    let carried_by = |head: usize| {
        let (ends, entries): (Vec<usize>, Vec<usize>) =
            predecessors[head].iter().partition(|&&from| position[from] >= position[head]);
        let is_start = usize::from(order[0] == head);
        let is_plain = !ends.is_empty() && entries.len() + is_start == 1;
        is_plain.then(|| written_in_loop(graph, &predecessors, head, ends))
    };
    (0..graph.blocks.len()).map(carried_by).collect()
}

/// The registers that are written on the ways from a loop's head to its ends.
fn written_in_loop(
    graph: &FlowGraph,
    predecessors: &[Vec<usize>],
    head: usize,
    mut ends: Vec<usize>,
) -> RegisterSet {
    let mut is_inside = vec![false; graph.blocks.len()];
    is_inside[head] = true;
    while let Some(block) = ends.pop() {
        if !std::mem::replace(&mut is_inside[block], true) {
            ends.extend(&predecessors[block]);
        }
    }
    let blocks = graph.blocks.iter().zip(&is_inside).filter(|(_, is_inside)| **is_inside);
    let instructions = blocks.flat_map(|(block, _)| &graph.instructions[block.first..block.end]);
    instructions.fold(RegisterSet::EMPTY, |written, instruction| {
        let effects = instruction.effects();
        written | effects.defined() | effects.destroyed()
    })
}

/// For each block whether a jump backwards spans it.
fn loops(graph: &FlowGraph) -> Vec<bool> {
    let mut in_loop = vec![false; graph.blocks.len()];
    for (from, block) in graph.blocks.iter().enumerate() {
        for &target in block.targets.iter().filter(|target| **target <= from) {
            in_loop[target..=from].fill(true);
        }
    }
    in_loop
}
