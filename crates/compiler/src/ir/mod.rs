//! The compiler's own representation of a unit of code: blocks of instructions over values, each with a type and a
//! representation, and the interpreter's states that leaving the unit restores. The builder makes it, the passes change
//! it, and the lowering reads it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`entities`] | typed indices |
//! | [`dominance`] | which blocks come before others |
//! | [`doubles`] | which doubles need no box |
//! | [`types`] | what is known of a value, and how it is coded |
//! | [`operations`] | **the** table of operations |
//! | [`values`] | the small values in operations |
//! | [`mod@print`], [`mod@parse`] | the text form |
//! | [`verify`] | the invariants, checked |
//!
//! # Shape
//!
//! A [`Unit`] is a graph of basic blocks. A block has parameters, which stand for the values that differ by
//! predecessor; a jump gives an argument for each. An instruction has arguments and at most one result. A guard leaves
//! the unit in the middle of a block: it names the state to leave in.
//!
//! # States
//!
//! A [`State`] is what the interpreter's frame would hold at an instruction: for each live register its value. Inlined
//! activations have states of their own, each within the state of its caller, which stands *in* a call. Leaving the unit
//! in a state *before* an instruction means that the instruction is executed again by a lower tier. So between that
//! state's place and the guard, nothing with an effect may happen: each bytecode has its effect last, and a state stays
//! usable until the next effect.
//!
//! # Invariants
//!
//! [`verify`] checks them; they hold between all passes:
//!
//! - a value is defined before its uses, on every path (until `residence`, which lets `reload` define values again);
//! - representations fit the table of operations; jumps fit the parameters of their blocks;
//! - guards and calls have a state, and a call's state stands in its instruction;
//! - a value in a state of a tagged register is a word, or a raw value that fits one;
//! - a double that is tagged needs no box.

pub mod dominance;
pub mod doubles;
pub mod entities;
pub mod operations;
pub mod parse;
pub mod print;
pub mod types;
pub mod values;
pub mod verify;

use squall_bytecode::entities::Register;

use entities::{ActivationId, Block, FunctionRef, Inst, PrimitiveRef, StateId, Value};
use operations::{Op, Results};
use types::{Representation, Type};
use values::{Place, SlotKind};

/// A function being compiled, with those inlined into it.
#[derive(Clone, Debug, Default)]
pub struct Unit {
    /// The activations; the first is that of the function itself.
    pub activations: Vec<Activation>,
    /// The blocks; the first is where the function starts.
    pub blocks: Vec<BlockData>,
    /// The instructions, also those that no block has any more.
    pub instructions: Vec<InstData>,
    /// The values.
    pub values: Vec<ValueData>,
    /// The states.
    pub states: Vec<State>,
    /// The calls that are inlined, and those that are none of the unit's own code.
    pub remarks: Vec<Remark>,
    /// The kinds of slots that some `assume_kept` relies on, each once, also if that is gone.
    pub reliances: Vec<SlotKind>,
    /// The instruction of bytecode that instructions are made for now.
    pub origin: Option<Origin>,
}

/// An instruction of bytecode.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    /// Its function.
    pub function: FunctionRef,
    /// Its place there.
    pub pc: u32,
}

/// What became of a call or a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Remark {
    /// The call or the message.
    pub origin: Origin,
    /// Whether it is part of the unit, and why not.
    pub why: Why,
}

/// Whether a call or a message is part of the unit, and why not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It is: this function is inlined.
    Inlined(FunctionRef),
    /// A message whose receivers have too many layouts.
    Megamorphic,
    /// A message at a site that has misled units.
    Distrusted,
    /// A message that runs a primitive without machine code.
    Primitive(PrimitiveRef),
    /// A message whose action the compiler does not know.
    Action,
    /// A call of a function that catches exceptions or waits for its strand.
    Shape(FunctionRef),
    /// A call of a function that is too large for this place.
    Size(FunctionRef),
    /// A call of a function that is among its own callers too often.
    Recursion(FunctionRef),
    /// A call where the chain of inlined activations is too long.
    Depth(FunctionRef),
}

/// An activation of the unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activation {
    /// Its function.
    pub function: FunctionRef,
    /// The place of its first register in the unit's frame.
    pub offset: u32,
    /// How many words its frame has.
    pub words: u32,
}

/// A basic block.
#[derive(Clone, Debug, Default)]
pub struct BlockData {
    /// The parameters.
    pub parameters: Vec<Value>,
    /// The instructions, in order.
    pub instructions: Vec<Inst>,
    /// How control leaves.
    pub end: End,
    /// Of a block that enters a loop: the state at its end, in which a guard can leave that is moved out of the loop.
    pub leave: Option<StateId>,
}

/// How control leaves a block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum End {
    /// The block is not finished.
    #[default]
    Open,
    /// To another block.
    Jump(Jump),
    /// To the first block if the value is true, otherwise to the second.
    Branch(Value, Jump, Jump),
    /// Out of the function, with a value.
    Return(Value),
    /// Out of the unit, to a lower tier.
    Exit(StateId),
}

/// A jump to a block, with an argument for each of its parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Jump {
    /// The block.
    pub block: Block,
    /// The arguments.
    pub arguments: Vec<Value>,
}

impl Jump {
    /// A jump without arguments.
    pub fn to(block: Block) -> Jump {
        Jump { block, arguments: Vec::new() }
    }
}

impl End {
    /// The jumps, in order.
    pub fn jumps(&self) -> impl Iterator<Item = &Jump> {
        let (first, second) = match self {
            End::Jump(jump) => (Some(jump), None),
            End::Branch(_, then, otherwise) => (Some(then), Some(otherwise)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The jumps, to be changed.
    pub fn jumps_mut(&mut self) -> impl Iterator<Item = &mut Jump> {
        let (first, second) = match self {
            End::Jump(jump) => (Some(jump), None),
            End::Branch(_, then, otherwise) => (Some(then), Some(otherwise)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}

/// An instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstData {
    /// The operation.
    pub op: Op,
    /// The arguments.
    pub arguments: Vec<Value>,
    /// The state to leave in, or the frame's content during a call.
    pub state: Option<StateId>,
    /// The result.
    pub result: Option<Value>,
    /// The instruction of bytecode that it was made for, which may come after that of the state.
    pub origin: Option<Origin>,
}

/// A value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueData {
    /// Where it comes from.
    pub definition: Definition,
    /// How it is coded.
    pub representation: Representation,
    /// What is known of it.
    pub kind: Type,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Definition {
    /// It is the result of an instruction.
    Result(Inst),
    /// It is a parameter of a block.
    Parameter(Block),
    /// It is another value.
    Alias(Value),
}

/// Whether a state's instruction is in progress.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stands {
    /// The instruction is still to be executed.
    Before,
    /// The instruction is a call in progress.
    In,
}

/// The interpreter's state at an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// The activation.
    pub activation: ActivationId,
    /// The instruction.
    pub pc: u32,
    /// Whether it is in progress.
    pub stands: Stands,
    /// The live registers with their values, by ascending register.
    pub registers: Vec<(Register, Value)>,
    /// The state of the activation that this one is inlined into.
    pub parent: Option<StateId>,
}

/// Building.
impl Unit {
    /// Adds an empty block.
    pub fn add_block(&mut self) -> Block {
        self.blocks.push(BlockData::default());
        Block(self.blocks.len() as u32 - 1)
    }

    /// Adds a parameter to a block.
    pub fn add_parameter(&mut self, block: Block, repr: Representation, kind: Type) -> Value {
        let value = self.add_value(Definition::Parameter(block), repr, kind);
        self.blocks[block.index()].parameters.push(value);
        value
    }

    /// The unit relies on the kind of a slot from now on.
    pub fn rely_on(&mut self, kind: SlotKind) {
        if !self.reliances.contains(&kind) {
            self.reliances.push(kind);
        }
    }

    /// Whether the unit relies on the kind of this slot, whatever the kind is.
    pub fn relies_on_slot(&self, kind: SlotKind) -> bool {
        let is_same = |other: &SlotKind| (other.layout, other.slot) == (kind.layout, kind.slot);
        self.reliances.iter().any(is_same)
    }

    fn add_value(&mut self, definition: Definition, repr: Representation, kind: Type) -> Value {
        self.values.push(ValueData { definition, representation: repr, kind });
        Value(self.values.len() as u32 - 1)
    }

    /// Adds a state.
    pub fn add_state(&mut self, state: State) -> StateId {
        self.states.push(state);
        StateId(self.states.len() as u32 - 1)
    }

    /// Makes an instruction that is in no block yet, whose result, if it has one, is of this kind.
    pub fn make(
        &mut self,
        op: Op,
        arguments: &[Value],
        state: Option<StateId>,
        result: Option<(Representation, Type)>,
    ) -> Inst {
        let inst = Inst(self.instructions.len() as u32);
        let result =
            result.map(|(repr, kind)| self.add_value(Definition::Result(inst), repr, kind));
        let (arguments, origin) = (arguments.to_vec(), self.origin);
        self.instructions.push(InstData { op, arguments, state, result, origin });
        inst
    }

    /// Makes an instruction with the representation that its operation has.
    pub fn make_typed(
        &mut self,
        op: Op,
        arguments: &[Value],
        state: Option<StateId>,
        kind: Type,
    ) -> Inst {
        let result = match op.results() {
            Results::None => None,
            Results::Word | Results::Any => Some(Representation::Word),
            Results::I64 => Some(Representation::I64),
            Results::F64 => Some(Representation::F64),
            Results::Bool => Some(Representation::Bool),
        };
        self.make(op, arguments, state, result.map(|repr| (repr, kind)))
    }

    /// Makes uses of a value into uses of another one.
    pub fn replace(&mut self, value: Value, by: Value) {
        let by = self.resolve(by);
        debug_assert_ne!(value, by, "a value is not replaced by itself");
        self.values[value.index()].definition = Definition::Alias(by);
    }
}

/// Asking.
impl Unit {
    /// Where the function starts.
    pub const ENTRY: Block = Block(0);

    /// The value that a value stands for.
    pub fn resolve(&self, mut value: Value) -> Value {
        while let Definition::Alias(other) = self.values[value.index()].definition {
            value = other;
        }
        value
    }

    /// The block with this index.
    pub fn block(&self, block: Block) -> &BlockData {
        &self.blocks[block.index()]
    }

    /// The instruction with this index.
    pub fn inst(&self, inst: Inst) -> &InstData {
        &self.instructions[inst.index()]
    }

    /// The state with this index.
    pub fn state(&self, state: StateId) -> &State {
        &self.states[state.index()]
    }

    /// What is known of a value.
    pub fn kind(&self, value: Value) -> Type {
        self.values[self.resolve(value).index()].kind
    }

    /// How a value is coded.
    pub fn representation(&self, value: Value) -> Representation {
        self.values[self.resolve(value).index()].representation
    }

    /// The instruction whose result a value is.
    pub fn definition(&self, value: Value) -> Option<&InstData> {
        match self.values[self.resolve(value).index()].definition {
            Definition::Result(inst) => Some(self.inst(inst)),
            _ => None,
        }
    }

    /// The value whose word a value has: refinements have the word of their argument.
    pub fn root(&self, value: Value) -> Value {
        let mut value = self.resolve(value);
        while let Some(inst) = self.definition(value).filter(|inst| inst.op.refines()) {
            value = self.resolve(inst.arguments[0]);
        }
        value
    }

    /// Whether a value stands for an object that is absent.
    pub fn is_absent(&self, value: Value) -> bool {
        self.definition(self.root(value)).is_some_and(|inst| inst.op.is_absent())
    }

    /// The integer that a value is, if it is a constant.
    pub fn integer(&self, value: Value) -> Option<i64> {
        match self.definition(value)?.op {
            Op::Integer(value) => Some(value),
            Op::Word(word) => crate::words::word_integer(word.0),
            _ => None,
        }
    }

    /// A state and those around it, the innermost first.
    pub fn chain(&self, state: StateId) -> impl Iterator<Item = &State> {
        std::iter::successors(Some(self.state(state)), |state| {
            state.parent.map(|parent| self.state(parent))
        })
    }

    /// The place of a register of an activation.
    pub fn place(&self, activation: ActivationId, register: Register) -> Place {
        Place(self.activations[activation.index()].offset + u32::from(register.0))
    }

    /// The blocks that can be reached, each after its predecessors but for loops.
    pub fn reverse_post_order(&self) -> Vec<Block> {
        let mut order = Vec::with_capacity(self.blocks.len());
        let mut seen = vec![false; self.blocks.len()];
        let mut stack = vec![(Unit::ENTRY, 0)];
        seen[0] = true;
        while let Some((block, next)) = stack.last_mut() {
            let successor = self.block(*block).end.jumps().nth(*next).map(|jump| jump.block);
            *next += 1;
            match successor {
                Some(successor) if !seen[successor.index()] => {
                    seen[successor.index()] = true;
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

    /// For each block the blocks that jump to it, once for each jump.
    pub fn predecessors(&self) -> Vec<Vec<Block>> {
        let mut all = vec![Vec::new(); self.blocks.len()];
        for block in self.reverse_post_order() {
            for jump in self.block(block).end.jumps() {
                all[jump.block.index()].push(block);
            }
        }
        all
    }

    /// As [`Unit::predecessors`], but a block with two jumps to another one is there once.
    pub fn distinct_predecessors(&self) -> Vec<Vec<Block>> {
        let mut all = self.predecessors();
        all.iter_mut().for_each(Vec::dedup);
        all
    }

    /// The words of the frame, with those of all inlined activations.
    pub fn extent(&self) -> u32 {
        self.activations.iter().map(|each| each.offset + each.words).max().unwrap_or(0)
    }

    /// Puts in place of each use of a replaced value the value that replaced it.
    pub fn resolve_all(&mut self) {
        for index in 0..self.instructions.len() {
            let mut arguments = std::mem::take(&mut self.instructions[index].arguments);
            arguments.iter_mut().for_each(|value| *value = self.resolve(*value));
            self.instructions[index].arguments = arguments;
        }
        for index in 0..self.states.len() {
            let mut registers = std::mem::take(&mut self.states[index].registers);
            registers.iter_mut().for_each(|(_, value)| *value = self.resolve(*value));
            self.states[index].registers = registers;
        }
        for index in 0..self.blocks.len() {
            let mut end = std::mem::take(&mut self.blocks[index].end);
            for jump in end.jumps_mut() {
                jump.arguments.iter_mut().for_each(|value| *value = self.resolve(*value));
            }
            if let End::Branch(value, ..) | End::Return(value) = &mut end {
                *value = self.resolve(*value);
            }
            self.blocks[index].end = end;
        }
    }
}
