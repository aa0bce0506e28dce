//! A small machine for bytecode, with a heap, a collector that moves every object at every call, and feedback. It is the
//! meaning that compiled units are compared with, and it runs on where they leave.
//!
//! A pointer's word contains the number of the collections so far. So a word that the collector did not see is found at
//! its first use.

use std::collections::HashMap;
use std::rc::Rc;

use squall_bytecode::decode::Instruction;
use squall_bytecode::entities::Register;
use squall_bytecode::instructions::{Field, Opcode};
use squall_bytecode::types::RegisterType;
use squall_compiler::facts::{Action, Facts, Seen};
use squall_compiler::ir::entities::{FunctionRef, PrimitiveRef};
use squall_compiler::ir::values::SlotKind;
use squall_compiler::passes::fold;
use squall_compiler::words::{self, layouts};

use crate::clif::{self, Lowered};
use crate::evaluator::{Compiled, Evaluation};
use crate::world::{CLASS, INSTANCE, World};

/// Why a run ends without a result.
pub type Trap = String;

/// An object.
pub struct Object {
    pub layout: u32,
    pub words: Vec<u64>,
}

/// What runs in place of a function's bytecode.
#[derive(Clone)]
pub enum Code {
    Unit(Compiled),
    Lowered(Rc<Lowered>),
}

impl Code {
    /// The kinds of slots that it relies on.
    fn reliances(&self) -> &[SlotKind] {
        match self {
            Code::Unit(unit) => &unit.0.0.reliances,
            Code::Lowered(lowered) => &lowered.reliances,
        }
    }
}

/// An activation: what a walker of the stack would find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    pub function: u32,
    pub pc: usize,
    pub base: usize,
    /// Whether the instruction is a call in progress.
    pub is_in: bool,
}

pub struct Machine<'w> {
    pub world: &'w mut World,
    pub heap: Vec<Object>,
    pub stack: Vec<u64>,
    pub frames: Vec<Frame>,
    /// Values of units whose residence is not decided yet: they are roots.
    pub roots: Vec<Vec<(usize, u64)>>,
    /// The number of collections.
    epoch: u64,
    pub units: Vec<Option<Code>>,
    /// Units that begin at the heads of loops, by function and pc.
    pub loops: HashMap<(u32, usize), Code>,
    /// Each guard that has this number, or a multiple, leaves its unit.
    pub chaos: usize,
    pub guards: usize,
    pub exits: usize,
    records: bool,
    steps: usize,
    /// How many objects units have made.
    allocations: usize,
}

/// Longer runs are given up.
const MOST_STEPS: usize = 200_000;
pub const STACK_WORDS: usize = 1 << 14;

/// Where a pointer has the number of collections.
pub const EPOCH_SHIFT: u32 = 40;
/// Where a pointer has the index of its object: below is room for the object's words.
pub const OBJECT_SHIFT: u32 = 16;

impl<'w> Machine<'w> {
    /// A machine that records feedback, or one that runs units.
    pub fn new(world: &'w mut World, records: bool) -> Machine<'w> {
        let functions = world.module.functions.len();
        Machine {
            world,
            heap: Vec::new(),
            stack: vec![words::NIL; STACK_WORDS],
            frames: Vec::new(),
            roots: Vec::new(),
            epoch: 0,
            units: (0..functions).map(|_| None).collect(),
            loops: HashMap::new(),
            chaos: 0,
            guards: 0,
            exits: 0,
            records,
            steps: 0,
            allocations: 0,
        }
    }

    pub fn allocate(&mut self, layout: u32, words: Vec<u64>) -> u64 {
        self.heap.push(Object { layout, words });
        self.pointer(self.heap.len() - 1)
    }

    /// Stores into an object's slot, whose kind widens.
    pub fn store_slot(&mut self, object: usize, slot: usize, word: u64) {
        let layout = self.heap[object].layout;
        let given = self.layout(word);
        self.world.admit(layout, slot as u32, given);
        self.heap[object].words[slot] = word;
    }

    /// The address of the object that is made next.
    pub fn next_object(&self) -> u64 {
        self.pointer(self.heap.len()) - words::TAG_POINTER
    }

    fn pointer(&self, index: usize) -> u64 {
        self.epoch << EPOCH_SHIFT | (index as u64) << OBJECT_SHIFT | words::TAG_POINTER
    }

    /// The index of the object that a word points to.
    pub fn object(&self, word: u64) -> usize {
        assert_eq!(word & words::TAG_MASK, words::TAG_POINTER, "{word:x} is no pointer");
        assert_eq!(word >> EPOCH_SHIFT, self.epoch, "the word is stale");
        (word >> OBJECT_SHIFT & 0xFF_FFFF) as usize
    }

    pub fn layout(&self, word: u64) -> u32 {
        match word & words::TAG_MASK {
            words::TAG_INTEGER => layouts::INTEGER,
            _ if words::is_double(word) => layouts::DOUBLE,
            words::TAG_POINTER => self.heap[self.object(word)].layout,
            _ => match word {
                words::NIL => layouts::NIL,
                words::TRUE => layouts::TRUE,
                words::FALSE => layouts::FALSE,
                _ => panic!("{word:x} is no word"),
            },
        }
    }

    /// Moves all objects, and updates what live maps and other roots show.
    pub fn collect(&mut self) {
        let old = self.epoch;
        self.epoch += 1;
        let epoch = self.epoch;
        let moved = |word: u64| {
            if word & words::TAG_MASK == words::TAG_POINTER && word >> EPOCH_SHIFT == old {
                epoch << EPOCH_SHIFT | (word & ((1 << EPOCH_SHIFT) - 1))
            } else {
                word
            }
        };
        for object in &mut self.heap {
            object.words.iter_mut().for_each(|word| *word = moved(*word));
        }
        for root in self.roots.iter_mut().flatten() {
            root.1 = moved(root.1);
        }
        for frame in &self.frames {
            let maps = self.world.frame_maps(FunctionRef(frame.function));
            let live = if frame.is_in { *maps.at(frame.pc) } else { maps.before(frame.pc) };
            for register in live.iter() {
                let word = &mut self.stack[frame.base + register.index()];
                if *word & words::TAG_MASK == words::TAG_POINTER {
                    assert_eq!(*word >> EPOCH_SHIFT, old, "{register} is stale in {frame:?}");
                }
                *word = moved(*word);
            }
        }
    }

    /// Runs a function whose arguments are in its frame.
    pub fn call(&mut self, function: u32, base: usize) -> Result<u64, Trap> {
        if base + 300 > STACK_WORDS {
            return Err("the stack is exhausted".into());
        }
        self.frames.push(Frame { function, pc: 0, base, is_in: false });
        self.collect();
        self.frames.pop();
        let code = self.units[function as usize].clone();
        match code.filter(|code| self.world.keeps(code.reliances())) {
            Some(code) => self.run_code(code, base),
            None => self.run(function, 0, base),
        }
    }

    fn run_code(&mut self, code: Code, base: usize) -> Result<u64, Trap> {
        match code {
            Code::Unit(unit) => Evaluation::new(self, unit, base).run(),
            Code::Lowered(lowered) => clif::run(self, &lowered, base),
        }
    }

    /// Interprets an activation from an instruction on, until it returns.
    pub fn run(&mut self, function: u32, pc: usize, base: usize) -> Result<u64, Trap> {
        let depth = self.frames.len();
        self.frames.push(Frame { function, pc, base, is_in: false });
        let result = loop {
            match self.step() {
                Ok(None) => {}
                Ok(Some(result)) => break Ok(result),
                Err(trap) => break Err(trap),
            }
        };
        self.frames.truncate(depth);
        result
    }

    fn top(&self) -> Frame {
        *self.frames.last().expect("an activation runs")
    }

    pub fn get(&self, register: Register) -> u64 {
        self.stack[self.top().base + register.index()]
    }

    fn set(&mut self, register: Register, bits: u64) {
        let base = self.top().base;
        self.stack[base + register.index()] = bits;
    }

    fn go(&mut self, pc: usize) {
        self.frames.last_mut().expect("an activation runs").pc = pc;
    }

    fn instruction(&self) -> Instruction {
        let frame = self.top();
        let code = &self.world.module.functions[frame.function as usize].code;
        Instruction::decode(code, frame.pc).expect("verified code")
    }

    /// Executes one instruction; answers the result if it returns.
    fn step(&mut self) -> Result<Option<u64>, Trap> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err("too many steps".into());
        }
        let instruction = self.instruction();
        if instruction.opcode == Opcode::Return {
            return Ok(Some(self.get(instruction.register(Field::A))));
        }
        let target = self.execute(instruction)?;
        self.go(target.unwrap_or(instruction.next_pc()));
        let code = target.and_then(|target| self.loops.get(&(self.top().function, target)));
        match code.filter(|code| self.world.keeps(code.reliances())).cloned() {
            Some(code) if instruction.opcode.polls() => self.enter_loop(code).map(Some),
            _ => Ok(None),
        }
    }

    /// Goes on in a unit that begins at the head of the loop where the activation stands.
    fn enter_loop(&mut self, code: Code) -> Result<u64, Trap> {
        self.collect();
        let frame = self.frames.pop().expect("an activation runs");
        let result = self.run_code(code, frame.base);
        self.frames.push(frame);
        result
    }

    /// Executes an instruction that stays in the activation. Answers the target if it jumps.
    pub fn execute(&mut self, instruction: Instruction) -> Result<Option<usize>, Trap> {
        use Opcode::*;
        let (a, b, c) = (Field::A, Field::B, Field::C);
        let register = |field| instruction.register(field);
        let words_of = instruction.words();
        let signed = |field: Field| i64::from(field.extract_signed(&[words_of, &[0, 0]].concat()));
        let target = |index| instruction.targets().nth(index).map(|pc| pc as usize);
        match instruction.opcode {
            Move => self.set(register(a), self.get(register(b))),
            LoadInteger => {
                self.set(register(a), words::integer_word(signed(Field::Bc)).expect("it fits"));
            }
            LoadSpecial => {
                let special = b.extract(words_of) as usize;
                self.set(register(a), [words::NIL, words::FALSE, words::TRUE][special]);
            }
            LoadConstant | LoadRaw => {
                let id = instruction.constant().expect("it has one");
                let function = FunctionRef(self.top().function);
                match self.world.constant(function, id) {
                    squall_compiler::facts::ConstantFact::Word(bits)
                    | squall_compiler::facts::ConstantFact::Raw(bits) => {
                        self.set(register(a), bits)
                    }
                    _ => return Err("no such constants here".into()),
                }
            }
            Jump | Loop => return Ok(target(0)),
            BranchTrue | BranchFalse => {
                let wanted = words::boolean_word(instruction.opcode == BranchTrue);
                let value = self.get(register(a));
                let is_boolean = value == words::TRUE || value == words::FALSE;
                let way = if value == wanted { Way::Taken } else { Way::Fell };
                return Ok(self.branch(instruction, if is_boolean { way } else { Way::Otherwise }));
            }
            BranchNil | BranchNotNil => {
                let is_nil = self.get(register(a)) == words::NIL;
                let taken = is_nil == (instruction.opcode == BranchNil);
                return Ok(self.branch(instruction, if taken { Way::Taken } else { Way::Fell }));
            }
            JumpIf | JumpUnless | LoopIf | LoopUnless => {
                let wanted = matches!(instruction.opcode, JumpIf | LoopIf);
                let taken = (self.get(register(a)) != 0) == wanted;
                return Ok(self.branch(instruction, if taken { Way::Taken } else { Way::Fell }));
            }
            ForEnter => return Ok(self.for_enter(instruction, signed(c))),
            ForLoop => return Ok(self.for_loop(instruction, signed(c))),
            Send0 | Send1 | Send2 | Send => self.send(instruction)?,
            Call => {
                let callee = Field::X.extract(words_of);
                let window = instruction.window().expect("it has one");
                let result = self.call_in(instruction, callee, window)?;
                self.set(register(a), result);
            }
            MakeContext => {
                let size = Field::Bc.extract(words_of) as usize;
                self.collect_in(instruction);
                let context = self.allocate(layouts::CONTEXT, vec![words::NIL; size]);
                self.set(register(a), context);
            }
            LoadContext => {
                let context = self.get(register(b));
                let index = c.extract(words_of) as usize;
                let value = self.heap[self.object(context)].words[index];
                self.set(register(a), value);
            }
            StoreContext => {
                let (context, value) = (self.get(register(a)), self.get(register(c)));
                let index = b.extract(words_of) as usize;
                let object = self.object(context);
                self.heap[object].words[index] = value;
            }
            MakeClosure => {
                self.collect_in(instruction);
                let (start, count) = (register(b).0, instruction.count().unwrap_or(0) as u8);
                let function = u64::from(Field::X.extract(words_of)) << words::TAG_BITS;
                let mut all = vec![function];
                all.extend((start..start + count).map(|each| self.get(Register(each))));
                let closure = self.allocate(layouts::BLOCK, all);
                self.set(register(a), closure);
            }
            LoadCaptured => {
                let index = Field::Bc.extract(words_of) as usize;
                let closure = self.object(self.get(Register(0)));
                self.set(register(a), self.heap[closure].words[index + 1]);
            }
            Instantiate => {
                self.collect_in(instruction);
                let class = self.object(self.get(register(b)));
                assert_eq!(self.heap[class].layout, CLASS, "only classes have instances");
                let slots = words::slot_count(INSTANCE) as usize;
                let object = self.allocate(INSTANCE, vec![words::NIL; slots]);
                self.set(register(a), object);
            }
            MakeArray => {
                self.collect_in(instruction);
                let size = Field::X.extract(words_of) as usize;
                let array = self.allocate(layouts::ARRAY, vec![words::NIL; size]);
                self.set(register(a), array);
            }
            StoreElement => {
                let (array, value) = (self.get(register(a)), self.get(register(b)));
                let object = self.object(array);
                self.heap[object].words[Field::X.extract(words_of) as usize] = value;
            }
            Box => {
                let function = self.top().function as usize;
                let kind = self.world.module.functions[function].registers[register(b).index()];
                let bits = self.get(register(b));
                let value = match kind {
                    RegisterType::Bool => Some(words::boolean_word(bits != 0)),
                    _ => words::integer_word(bits as i64),
                };
                self.collect_in(instruction);
                self.set(register(a), value.ok_or("a large integer")?);
            }
            Unbox => match words::word_integer(self.get(register(b))) {
                Some(value) => self.set(register(a), value as u64),
                None => return Ok(target(0)),
            },
            _ => self.typed(instruction)?,
        }
        Ok(None)
    }

    /// A collection in an instruction.
    fn collect_in(&mut self, instruction: Instruction) {
        let frame = self.frames.last_mut().expect("an activation runs");
        (frame.pc, frame.is_in) = (instruction.pc, true);
        self.collect();
        self.frames.last_mut().expect("it still runs").is_in = false;
    }

    fn call_in(
        &mut self,
        instruction: Instruction,
        callee: u32,
        window: Register,
    ) -> Result<u64, Trap> {
        let frame = self.frames.last_mut().expect("an activation runs");
        (frame.pc, frame.is_in) = (instruction.pc, true);
        let base = frame.base + window.index();
        let result = self.call(callee, base);
        self.frames.last_mut().expect("it still runs").is_in = false;
        result
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Taken,
    Fell,
    Otherwise,
}

/// Branches and loops.
impl Machine<'_> {
    fn branch(&mut self, instruction: Instruction, way: Way) -> Option<usize> {
        if self.records {
            let key = (self.top().function, instruction.pc as u32);
            let facts = self.world.branches.entry(key).or_default();
            match way {
                Way::Taken => facts.taken = true,
                Way::Fell => facts.fell_through = true,
                Way::Otherwise => facts.otherwise = true,
            }
        }
        let target = |index| instruction.targets().nth(index).map(|pc| pc as usize);
        match way {
            Way::Taken => target(0),
            Way::Fell => None,
            Way::Otherwise => target(1),
        }
    }

    fn for_enter(&mut self, instruction: Instruction, step: i64) -> Option<usize> {
        let counter = words::word_integer(self.get(instruction.register(Field::A)));
        let limit = words::word_integer(self.get(instruction.register(Field::B)));
        let way = match (counter, limit) {
            (Some(from), Some(to)) if step > 0 && from > to || step < 0 && from < to => Way::Taken,
            (Some(_), Some(_)) => Way::Fell,
            _ => Way::Otherwise,
        };
        self.branch(instruction, way)
    }

    fn for_loop(&mut self, instruction: Instruction, step: i64) -> Option<usize> {
        let counter = words::word_integer(self.get(instruction.register(Field::A)));
        let limit = words::word_integer(self.get(instruction.register(Field::B)));
        let next = counter.map(|counter| counter + step).and_then(words::integer_word);
        let (Some(next), Some(limit)) = (next, limit) else {
            return self.branch(instruction, Way::Fell);
        };
        self.set(instruction.register(Field::A), next);
        let next = words::word_integer(next).expect("it is one");
        let goes_on = if step > 0 { next <= limit } else { next >= limit };
        self.branch(instruction, if goes_on { Way::Taken } else { Way::Fell })
    }
}

/// Messages.
impl Machine<'_> {
    fn send(&mut self, instruction: Instruction) -> Result<(), Trap> {
        let registers: Vec<Register> = match instruction.opcode {
            Opcode::Send0 => vec![instruction.register(Field::B)],
            Opcode::Send1 => [Field::B, Field::C].map(|f| instruction.register(f)).to_vec(),
            Opcode::Send2 => {
                [Field::B, Field::C, Field::X2].map(|f| instruction.register(f)).to_vec()
            }
            _ => {
                let start = instruction.window().expect("it has one").0;
                (start..start + instruction.count().unwrap_or(0) as u8).map(Register).collect()
            }
        };
        let operands: Vec<u64> = registers.into_iter().map(|each| self.get(each)).collect();
        let window = instruction.window().expect("it has one");
        for (index, &word) in operands.iter().enumerate() {
            self.set(Register(window.0 + index as u8), word);
        }
        let result = self.perform(instruction, window, &operands)?;
        self.set(instruction.register(Field::A), result);
        Ok(())
    }

    /// Does what the receiver does for a send's message. The operands are in the window, too.
    fn perform(
        &mut self,
        instruction: Instruction,
        window: Register,
        operands: &[u64],
    ) -> Result<u64, Trap> {
        let site = instruction.site().expect("it has one");
        let function = self.top().function;
        let selector = self.world.selector(function, site.0).to_owned();
        let layout = self.layout(operands[0]);
        // A program goes on where a real one would have an exception, so that it reaches more code.
        let layout_of_actions = match layout {
            words::layouts::BOXED_DOUBLE => words::layouts::DOUBLE,
            other => other,
        };
        let action = self.world.actions.get(&(layout_of_actions, selector)).copied();
        let action = action.unwrap_or(Action::AnswerReceiver);
        self.record(function, instruction.pc as u32, Seen { layout, action }, operands);
        match action {
            Action::Method(callee) => self.call_in(instruction, callee.0, window),
            Action::Primitive(primitive) => {
                let name = self.world.primitives[primitive.index()].clone();
                if name.starts_with("block") {
                    let closure = self.object(operands[0]);
                    let callee = (self.heap[closure].words[0] >> words::TAG_BITS) as u32;
                    let wanted = self.world.function(FunctionRef(callee)).arguments();
                    if wanted != operands.len() {
                        return Ok(operands[0]);
                    }
                    return self.call_in(instruction, callee, window);
                }
                Ok(self.primitive(&name, operands).unwrap_or(operands[0]))
            }
            Action::LoadSlot(index) => {
                Ok(self.heap[self.object(operands[0])].words[index as usize])
            }
            Action::StoreSlot(index) => {
                let object = self.object(operands[0]);
                self.store_slot(object, index as usize, operands[1]);
                Ok(operands[1])
            }
            Action::AnswerReceiver => Ok(operands[0]),
            Action::Answer(word) => Ok(word),
            _ => Err("no such action here".into()),
        }
    }

    fn record(&mut self, function: u32, pc: u32, seen: Seen, operands: &[u64]) {
        if !self.records {
            return;
        }
        let kind = |word: u64| match words::is_double(word) {
            true => words::DOUBLE_BIT,
            false => word & words::TAG_MASK,
        };
        let kinds: Vec<u64> = operands.iter().map(|word| kind(*word)).collect();
        let closure = match self.world.layout_is_block(seen.layout) {
            true => {
                let closure = self.object(operands[0]);
                Some(FunctionRef((self.heap[closure].words[0] >> words::TAG_BITS) as u32))
            }
            false => None,
        };
        // In these programs, only `==` runs this primitive.
        let is_identity = match seen.action {
            Action::Primitive(primitive) => self.world.primitive(primitive) == "identical:to:",
            _ => false,
        };
        let site = self.world.sites.entry((function, pc)).or_default();
        site.is_identity |= is_identity;
        if !site.seen.contains(&seen) {
            site.seen.push(seen);
        }
        match kinds[..] {
            [words::TAG_INTEGER, words::TAG_INTEGER] => {}
            [words::DOUBLE_BIT, words::DOUBLE_BIT] => site.numbers.doubles = true,
            [words::TAG_INTEGER, words::DOUBLE_BIT] | [words::DOUBLE_BIT, words::TAG_INTEGER] => {
                site.numbers.mixed = true;
            }
            _ => site.numbers.others |= kinds.len() == 2,
        }
        site.closure = closure.or(site.closure);
    }

    /// The answer of a primitive's leaf.
    pub fn leaf(&mut self, primitive: PrimitiveRef, operands: &[u64]) -> u64 {
        let name = self.world.primitive(primitive).to_owned();
        self.primitive(&name, operands).unwrap_or(words::NO_ANSWER)
    }

    /// Whether there is no room for the next new object: so it is for every third.
    pub fn is_full(&mut self) -> bool {
        self.allocations += 1;
        self.allocations.is_multiple_of(3)
    }

    /// A primitive on numbers or arrays; nothing where it fails.
    fn primitive(&mut self, name: &str, operands: &[u64]) -> Result<u64, Trap> {
        match (name, operands) {
            ("array:at:", &[array, index]) => {
                let index = self.element(array, index)?;
                Ok(self.heap[self.object(array)].words[index])
            }
            ("array:at:put:", &[array, index, value]) => {
                let index = self.element(array, index)?;
                let object = self.object(array);
                self.heap[object].words[index] = value;
                Ok(value)
            }
            ("arraySize:", &[array]) => {
                Ok((self.heap[self.object(array)].words.len() as u64) << words::TAG_BITS)
            }
            ("identical:to:", &[left, right]) => {
                let doubles = [left, right].map(|word| self.double_of(word).map(f64::to_bits));
                let is_same = left == right || doubles[0].is_some() && doubles[0] == doubles[1];
                Ok(words::boolean_word(is_same))
            }
            (_, &[left, right]) => self.numbers(name, left, right),
            _ => Err(format!("no primitive {name} here")),
        }
    }

    /// The result of an operator on numbers.
    fn numbers(&mut self, name: &str, left: u64, right: u64) -> Result<u64, Trap> {
        use squall_compiler::ir::operations::Op;
        let outside = || "an integer that needs a box".to_owned();
        if let (Some(a), Some(b)) = (words::word_integer(left), words::word_integer(right)) {
            let op = match name {
                "number:add:" => Op::AddSmall,
                "number:subtract:" => Op::SubtractSmall,
                "number:multiply:" => Op::MultiplySmall,
                "integer:quotient:" => Op::Quotient,
                "integer:remainder:" => Op::Remainder,
                "number:modulo:" => Op::Modulo,
                "integer:and:" => Op::And,
                "integer:or:" => Op::Or,
                "integer:xor:" => Op::Xor,
                _ => return compared(name, a.partial_cmp(&b)),
            };
            return fold::compute(op, a, b).and_then(words::integer_word).ok_or_else(outside);
        }
        let double = |word| {
            let integer = words::word_integer(word).map(|value| value as f64);
            self.double_of(word).or(integer).ok_or("no number")
        };
        let (a, b) = (double(left)?, double(right)?);
        let result = match name {
            "number:add:" => a + b,
            "number:subtract:" => a - b,
            "number:multiply:" => a * b,
            _ => return compared(name, a.partial_cmp(&b)),
        };
        Ok(self.double(result))
    }

    /// The word of a double, in a box if need be. A box has the halves of its bits as small integers.
    pub fn double(&mut self, value: f64) -> u64 {
        words::double_word(value).unwrap_or_else(|| {
            let bits = value.to_bits();
            let halves = [bits >> 32, bits & 0xFFFF_FFFF].map(|half| half << words::TAG_BITS);
            self.allocate(words::layouts::BOXED_DOUBLE, halves.to_vec())
        })
    }

    fn double_of(&self, word: u64) -> Option<f64> {
        if self.layout(word) != words::layouts::BOXED_DOUBLE {
            return words::word_double(word);
        }
        let [high, low] = self.heap[self.object(word)].words[..] else { return None };
        Some(f64::from_bits(high << (32 - words::TAG_BITS) | low >> words::TAG_BITS))
    }

    fn element(&self, array: u64, index: u64) -> Result<usize, Trap> {
        let length = self.heap[self.object(array)].words.len();
        let index = words::word_integer(index).ok_or("the index is no integer")?;
        let index = usize::try_from(index - 1).ok().filter(|&index| index < length);
        index.ok_or_else(|| "the index is out of bounds".into())
    }
}

fn compared(name: &str, order: Option<std::cmp::Ordering>) -> Result<u64, Trap> {
    let order = order.ok_or("not a number")?;
    let result = match name {
        "number:lessThan:" => order.is_lt(),
        "number:atMost:" => order.is_le(),
        "number:greaterThan:" => order.is_gt(),
        "number:atLeast:" => order.is_ge(),
        "number:equals:" => order.is_eq(),
        "number:differs:" => order.is_ne(),
        _ => return Err(format!("{name} fails")),
    };
    Ok(words::boolean_word(result))
}

/// Typed code.
impl Machine<'_> {
    fn typed(&mut self, instruction: Instruction) -> Result<(), Trap> {
        use Opcode::*;
        let [a, b, c] = [Field::A, Field::B, Field::C].map(|field| instruction.register(field));
        let function = self.top().function;
        let types = &self.world.module.functions[function as usize].registers;
        let kind =
            |register: Register| types.get(register.index()).copied().unwrap_or(RegisterType::I64);
        let (target, source) = (kind(a), kind(b));
        let (left, right) = (self.get(b), self.stack[self.top().base + c.index()]);
        let (x, y) = (left as i64, right as i64);
        let wrap = |value: i64| {
            let unused = 64 - target.bits();
            let value = value << unused;
            (if target.is_signed() { value >> unused } else { (value as u64 >> unused) as i64 })
                as u64
        };
        let (f, g) = (f64::from_bits(left), f64::from_bits(right));
        let result = match (instruction.opcode, target, source) {
            (Add, RegisterType::F64, _) => (f + g).to_bits(),
            (Subtract, RegisterType::F64, _) => (f - g).to_bits(),
            (Multiply, RegisterType::F64, _) => (f * g).to_bits(),
            (Less, _, RegisterType::F64) => u64::from(f < g),
            (Add, ..) => wrap(x.wrapping_add(y)),
            (Subtract, ..) => wrap(x.wrapping_sub(y)),
            (Multiply, ..) => wrap(x.wrapping_mul(y)),
            (Divide, ..) if y != 0 => wrap(x.wrapping_div(y)),
            (Remainder, ..) if y != 0 => wrap(x.wrapping_rem(y)),
            (Negate, RegisterType::F64, _) => (-f).to_bits(),
            (Negate, ..) => wrap(x.wrapping_neg()),
            (Not, RegisterType::Bool, _) => left ^ 1,
            (Not, ..) => wrap(!x),
            (ShiftLeft, ..) => wrap(x << (right % u64::from(target.bits()))),
            (ShiftRight, ..) => {
                let distance = right % u64::from(target.bits());
                let shifted =
                    if target.is_signed() { x >> distance } else { (left >> distance) as i64 };
                wrap(shifted)
            }
            (And, ..) => (x & y) as u64,
            (Or, ..) => (x | y) as u64,
            (Xor, ..) => (x ^ y) as u64,
            (Less, _, RegisterType::U64) => u64::from(left < right),
            (Less, ..) => u64::from(x < y),
            (LessOrEqual, ..) => u64::from(x <= y),
            (Equal, ..) => u64::from(x == y),
            (NotEqual, ..) => u64::from(x != y),
            (Convert, RegisterType::F64, _) => (x as f64).to_bits(),
            (Convert, ..) => wrap(x),
            (AddChecked, ..) => {
                let sum = x.checked_add(y).filter(|&sum| wrap(sum) as i64 == sum);
                sum.ok_or("overflow")? as u64
            }
            (Divide | Remainder, ..) => return Err("division by zero".into()),
            (opcode, ..) => return Err(format!("no {opcode:?} here")),
        };
        self.set(a, result);
        Ok(())
    }
}

impl World {
    fn layout_is_block(&self, layout: u32) -> bool {
        layout == layouts::BLOCK
    }
}

/// Calls from units.
impl Machine<'_> {
    /// Sends the message of the instruction in the top activation, whose operands are in the window.
    pub fn send_from_window(&mut self, count: usize) -> Result<u64, Trap> {
        let instruction = self.instruction();
        let window = instruction.window().expect("it has one");
        let operands: Vec<u64> =
            (0..count).map(|index| self.get(Register(window.0 + index as u8))).collect();
        self.perform(instruction, window, &operands)
    }

    /// Executes the instruction of the top activation in its frame; answers whether it jumped.
    pub fn execute_here(&mut self) -> Result<bool, Trap> {
        let instruction = self.instruction();
        self.execute(instruction).map(|target| target.is_some())
    }

    /// Goes on in the interpreter where a unit has left: the activations from the outermost to the innermost.
    pub fn resume(&mut self, chain: &[Frame]) -> Result<u64, Trap> {
        let Some((innermost, callers)) = chain.split_last() else {
            return Err("nothing runs".into());
        };
        let depth = self.frames.len();
        self.frames.extend(callers.iter().map(|frame| Frame { is_in: true, ..*frame }));
        let mut result = self.run(innermost.function, innermost.pc, innermost.base);
        for frame in callers.iter().rev() {
            self.frames.pop();
            let Ok(value) = result else { break };
            let code = &self.world.module.functions[frame.function as usize].code;
            let call = Instruction::decode(code, frame.pc).expect("verified code");
            self.stack[frame.base + call.register(Field::A).index()] = value;
            result = self.run(frame.function, call.next_pc(), frame.base);
        }
        self.frames.truncate(depth);
        result
    }

    /// Whether the next guard leaves its unit though it holds.
    pub fn is_upset(&mut self) -> bool {
        self.guards += 1;
        self.chaos > 0 && self.guards.is_multiple_of(self.chaos)
    }

    /// Whether a unit has run for too long.
    pub fn is_exhausted(&mut self) -> bool {
        self.steps += 1;
        self.steps > MOST_STEPS
    }

    /// A value and all that it leads to, as text.
    pub fn describe(&self, word: u64) -> String {
        let mut seen = Vec::new();
        self.describe_in(word, &mut seen)
    }

    fn describe_in(&self, word: u64, seen: &mut Vec<usize>) -> String {
        if word & words::TAG_MASK != words::TAG_POINTER {
            return squall_compiler::ir::values::WordBits(word).to_string();
        }
        if let Some(value) = self.double_of(word) {
            return format!("{value:?}");
        }
        let index = self.object(word);
        if let Some(number) = seen.iter().position(|each| *each == index) {
            return format!("@{number}");
        }
        seen.push(index);
        let object = &self.heap[index];
        let parts = object.words.iter().map(|&part| self.describe_in(part, seen));
        format!("{:x}[{}]", object.layout, parts.collect::<Vec<_>>().join(" "))
    }
}
