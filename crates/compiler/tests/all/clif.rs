//! Evaluates lowered units: Cranelift's representation, as far as the lowering uses it, on the machine's heap and stack.
//!
//! Addresses say what they lead to: the frame and the thread have kinds of their own beside those of `World`, and an
//! object's address is its pointer's word. So an access that misses its object, and a pointer that missed a collection,
//! are found. Activations are found as the runtime finds them: by the sites below the frames.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{I8, I16, I32};
use cranelift_codegen::ir::{
    Block, BlockArg, BlockCall, Function, Inst, InstructionData, Opcode, Value,
};
use squall_bytecode::decode::Instruction;
use squall_bytecode::instructions::Opcode as Bytecode;
use squall_compiler::code::{AbsentObject, Exit, Form};
use squall_compiler::facts::{Facts, Helper, Symbol};
use squall_compiler::ir::entities::{FunctionRef, PrimitiveRef};
use squall_compiler::ir::values::SlotKind;
use squall_compiler::words::{self, layouts};

use crate::machine::{EPOCH_SHIFT, Frame, Machine, OBJECT_SHIFT, STACK_WORDS, Trap};
use crate::world::{
    CELL, EXIT, FUNCTION, HARDENING, HELPER, INSTRUCTION, KIND_SHIFT, NOTICE, PLACE, PRIMITIVE,
    SITE, SLOT_KIND, helper_number,
};

/// A lowered unit with its tables.
pub struct Lowered {
    pub function: Function,
    pub exits: Vec<Exit>,
    pub reliances: Vec<SlotKind>,
}

/// Kinds of addresses beside those of the world.
const FRAME: u64 = 8;
const THREAD: u64 = 9;
const CODE: u64 = 10;
const WINDOW: u64 = 13;

/// A word of a new object that nothing has written yet: no collection may see it.
const UNWRITTEN: u64 = 0b10_0011;

/// Runs a unit whose arguments are in the frame at this place of the stack.
pub fn run(machine: &mut Machine<'_>, lowered: &Lowered, base: usize) -> Result<u64, Trap> {
    let values = HashMap::new();
    Evaluation { machine, lowered, base, values, is_full: false }.run()
}

struct Evaluation<'m, 'w, 'l> {
    machine: &'m mut Machine<'w>,
    lowered: &'l Lowered,
    base: usize,
    values: HashMap<Value, u64>,
    /// Whether the window has no room for the object that is being made.
    is_full: bool,
}

enum Flow {
    Next,
    To(Block, Vec<u64>),
    Left(Result<u64, Trap>),
}

impl Evaluation<'_, '_, '_> {
    fn run(mut self) -> Result<u64, Trap> {
        let layout = &self.lowered.function.layout;
        let mut block = layout.entry_block().expect("a function has a first block");
        let mut arguments = vec![(FRAME << KIND_SHIFT) | (8 * self.base as u64), 0];
        loop {
            if self.machine.is_exhausted() {
                return Err("too many steps".into());
            }
            let parameters = self.lowered.function.dfg.block_params(block);
            self.values.extend(parameters.iter().copied().zip(arguments));
            let mut next = None;
            for inst in layout.block_insts(block) {
                match self.step(inst) {
                    Flow::Next => {}
                    Flow::To(to, arguments) => next = Some((to, arguments)),
                    Flow::Left(result) => return result,
                }
            }
            (block, arguments) = next.expect("a block ends with a jump");
        }
    }

    fn get(&self, value: Value) -> u64 {
        self.values[&self.lowered.function.dfg.resolve_aliases(value)]
    }

    fn step(&mut self, inst: Inst) -> Flow {
        let lowered = self.lowered;
        let dfg = &lowered.function.dfg;
        let arguments: Vec<u64> = dfg.inst_args(inst).iter().map(|&each| self.get(each)).collect();
        let results = match dfg.insts[inst] {
            InstructionData::Jump { destination, .. } => return self.go(destination),
            InstructionData::Brif { blocks, .. } => return self.branch(arguments[0], blocks),
            InstructionData::CallIndirect { opcode, .. } => {
                let target = arguments[0];
                if opcode == Opcode::ReturnCallIndirect {
                    return Flow::Left(self.leave(target, &arguments[1..]));
                }
                match self.call(target, &arguments[1..]) {
                    Ok(result) => vec![result],
                    Err(trap) => return Flow::Left(Err(trap)),
                }
            }
            InstructionData::MultiAry { opcode: Opcode::Return, .. } => {
                return Flow::Left(Ok(arguments[0]));
            }
            InstructionData::Load { offset, .. } => {
                let address = arguments[0].wrapping_add_signed(i64::from(i32::from(offset)));
                vec![self.load(address, dfg.value_type(dfg.inst_results(inst)[0]).bytes())]
            }
            InstructionData::Store { offset, .. } => {
                let address = arguments[1].wrapping_add_signed(i64::from(i32::from(offset)));
                self.store(address, arguments[0]);
                Vec::new()
            }
            ref data => compute(&lowered.function, inst, data, &arguments),
        };
        self.values.extend(dfg.inst_results(inst).iter().copied().zip(results));
        Flow::Next
    }

    fn go(&mut self, call: BlockCall) -> Flow {
        let pool = &self.lowered.function.dfg.value_lists;
        let arguments = call.args(pool).map(|argument| match argument {
            BlockArg::Value(value) => self.get(value),
            _ => panic!("there are no exceptions"),
        });
        Flow::To(call.block(pool), arguments.collect())
    }

    /// A branch to an exit is a guard, which may leave though it holds.
    fn branch(&mut self, condition: u64, blocks: [BlockCall; 2]) -> Flow {
        let pool = &self.lowered.function.dfg.value_lists;
        let exit = blocks.into_iter().find(|call| self.is_exit(call.block(pool)));
        if let Some(exit) = exit
            && self.machine.is_upset()
        {
            return self.go(exit);
        }
        self.go(blocks[usize::from(condition == 0)])
    }

    /// Whether a block does nothing but to leave by a record.
    fn is_exit(&self, block: Block) -> bool {
        let next = self.successors(block);
        let is_way_out = self.lowered.function.layout.block_insts(block).count() == 2;
        match next[..] {
            [path] if is_way_out => self.leaves(path),
            _ => self.leaves(block),
        }
    }

    /// Whether a block stores and leaves.
    fn leaves(&self, block: Block) -> bool {
        let function = &self.lowered.function;
        let last = function.layout.last_inst(block).expect("a block has an end");
        if function.dfg.insts[last].opcode() == Opcode::Brif {
            return self.successors(block).into_iter().all(|next| self.leaves(next));
        }
        let is_jump = function.dfg.insts[last].opcode() == Opcode::ReturnCallIndirect;
        is_jump && is_exit(self.constant(function.dfg.inst_args(last)[0]))
    }

    fn successors(&self, block: Block) -> Vec<Block> {
        let dfg = &self.lowered.function.dfg;
        let last = self.lowered.function.layout.last_inst(block).expect("a block has an end");
        let next = dfg.insts[last].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
        next.iter().map(|call| call.block(&dfg.value_lists)).collect()
    }

    /// The number that a value is.
    fn constant(&self, value: Value) -> u64 {
        let dfg = &self.lowered.function.dfg;
        let inst = dfg.value_def(dfg.resolve_aliases(value)).inst();
        match inst.map(|inst| dfg.insts[inst]) {
            Some(InstructionData::UnaryImm { imm, .. }) => imm.bits() as u64,
            _ => 0,
        }
    }
}

/// Memory.
impl Evaluation<'_, '_, '_> {
    fn load(&mut self, address: u64, bytes: u32) -> u64 {
        let offset = address & ((1 << KIND_SHIFT) - 1);
        match (address >> KIND_SHIFT, bytes) {
            // Only the write barrier loads bytes: each object is unlogged.
            (_, 1) => u64::from(words::UNLOGGED),
            (FRAME, _) => self.machine.stack[offset as usize / 8],
            (THREAD, _) if offset == 24 => 0,
            (THREAD, _) if offset == 32 => WINDOW << KIND_SHIFT,
            (THREAD, _) if offset == HARDENING.place as u64 => HARDENING.key,
            (WINDOW, _) if offset == 0 => {
                self.is_full = self.machine.is_full();
                self.machine.next_object()
            }
            (WINDOW, _) => match self.is_full {
                true => 0,
                false => (1 << KIND_SHIFT) - 1,
            },
            (CELL, _) => words::NIL,
            (THREAD, _) => (FRAME << KIND_SHIFT) | (8 * STACK_WORDS as u64),
            (FUNCTION, 4) => {
                let function = self.machine.world.function(FunctionRef((offset >> 6) as u32));
                function.arguments() as u64
            }
            (FUNCTION, _) => CODE << KIND_SHIFT | offset,
            (NOTICE, _) => u64::from(!self.machine.world.keeps(&self.lowered.reliances)),
            (SLOT_KIND, 4) => {
                let (layout, slot) = ((offset >> 16) as u32, (offset >> 6 & 0x3FF) as u32);
                u64::from(self.machine.world.slot_kind(layout, slot))
            }
            (0, 4) => u64::from(self.object(address, 4).0),
            (0, _) => self.load_word(address),
            _ => panic!("nothing to load at {address:x}"),
        }
    }

    /// The layout of the object at an address, its index, and the address within it.
    fn object(&self, address: u64, least: u64) -> (u32, usize, u64) {
        let offset = address & ((1 << OBJECT_SHIFT) - 1);
        assert!(offset >= least, "an address before the object");
        let epoch = address >> EPOCH_SHIFT << EPOCH_SHIFT;
        let index = address >> OBJECT_SHIFT & 0xFF_FFFF;
        let index = self.machine.object(epoch | index << OBJECT_SHIFT | words::TAG_POINTER);
        (self.machine.heap[index].layout, index, offset)
    }

    fn load_word(&self, address: u64) -> u64 {
        let (layout, index, offset) = self.object(address, 16);
        let object = &self.machine.heap[index];
        let has_length = layout & 7 == 1;
        match (has_length, offset) {
            (true, 16) => object.words.len() as u64,
            (true, 24) if layout == layouts::BLOCK => {
                let function = FunctionRef((object.words[0] >> words::TAG_BITS) as u32);
                self.machine.world.address(Symbol::Function(function))
            }
            (true, _) => object.words[(offset as usize - 24) / 8],
            (false, _) => object.words[(offset as usize - 16) / 8],
        }
    }

    fn store(&mut self, address: u64, bits: u64) {
        if address >> KIND_SHIFT == FRAME {
            let offset = address & ((1 << KIND_SHIFT) - 1);
            self.machine.stack[offset as usize / 8] = bits;
            return;
        }
        if address == WINDOW << KIND_SHIFT {
            // The object has as many words as were taken; what it is, its first word says.
            let count = (bits - self.machine.next_object()) / 8;
            self.machine.allocate(0, vec![UNWRITTEN; count as usize]);
            return;
        }
        let (layout, index, offset) = self.object(address, 0);
        let has_length = layout & 7 == 1;
        let words = &mut self.machine.heap[index].words;
        match (has_length, offset) {
            (_, 0) => {
                let layout = (bits >> words::LAYOUT_SHIFT) as u32;
                let before = if layout & 7 == 1 { 3 } else { 2 };
                words.drain(..before);
                self.machine.heap[index].layout = layout;
            }
            (_, 8) => {}
            (true, 16) => assert_eq!(bits, words.len() as u64, "the length is that of the object"),
            (true, 24) if layout == layouts::BLOCK => {
                words[0] = u64::from(place_of_function(bits)) << words::TAG_BITS;
            }
            (true, _) => words[(offset as usize - 24) / 8] = bits,
            (false, _) => {
                let slot = (offset as usize - 16) / 8;
                let given = self.machine.layout(bits);
                assert!(self.machine.world.admits(layout, slot as u32, given), "the slot's kind");
                self.machine.heap[index].words[slot] = bits;
            }
        }
    }
}

/// Calls and exits.
impl Evaluation<'_, '_, '_> {
    fn call(&mut self, target: u64, arguments: &[u64]) -> Result<u64, Trap> {
        let number = target >> 6 & 0xFFFF;
        let (kind, log) = (target >> KIND_SHIFT, helper_number(Helper::Log));
        if (kind, number) == (HELPER, log) {
            self.machine.object(arguments[0]);
            return Ok(0);
        }
        if (kind, number) == (HELPER, helper_number(Helper::Leaf)) {
            assert_eq!(arguments[1] >> KIND_SHIFT, PRIMITIVE);
            let primitive = PrimitiveRef((arguments[1] >> 6 & 0xFFFF) as u32);
            return Ok(self.machine.leaf(primitive, &arguments[2..]));
        }
        if (kind, number) == (HELPER, helper_number(Helper::Admit)) {
            let place = arguments[1] >> 6;
            let (layout, slot) = ((place >> 10) as u32, (place & 0x3FF) as u32);
            let given = self.machine.layout(arguments[2]);
            self.machine.world.admit(layout, slot, given);
            return Ok(0);
        }
        if (kind, number) == (HELPER, helper_number(Helper::TakeMemory)) {
            // The collector has to run first.
            return Ok(0);
        }
        if (kind, number) == (HELPER, helper_number(Helper::ChargeCopy)) {
            return Ok(0);
        }
        if kind == HELPER && (8..=11).contains(&number) {
            return Ok(self.access(number, &arguments[1..]));
        }
        let base = self.index(arguments[0]);
        let site = match kind {
            CODE => self.machine.stack[base - 1],
            _ => arguments[1],
        };
        let expected = if kind == INSTRUCTION { PLACE } else { SITE };
        assert_eq!(site >> KIND_SHIFT, expected, "no site");
        let (function, pc) = place_of(site);
        let instruction = self.decode(function, pc);
        let window = instruction.window().map_or(0, |window| window.index());
        let innermost = if kind == INSTRUCTION { base } else { base - window };
        let chain = self.chain(function, pc, innermost, true);
        let depth = self.machine.frames.len();
        self.machine.frames.extend(&chain);
        let result = match kind {
            CODE => self.machine.call(number as u32, base),
            INSTRUCTION => self.execute(instruction, innermost, number),
            _ => self.machine.send_from_window(operands(&instruction)),
        };
        self.machine.frames.truncate(depth);
        result
    }

    /// A guarded access; every third one has something in its way.
    fn access(&mut self, number: u64, arguments: &[u64]) -> u64 {
        let is_load = [Helper::LoadGuardedSlot, Helper::LoadGuardedElement].map(helper_number);
        let (object, index) = (self.machine.object(arguments[0]), arguments[1] as usize);
        let is_blocked = self.machine.chaos > 0 && self.machine.is_full();
        match is_load.contains(&number) {
            true if is_blocked => words::NO_ANSWER,
            true => self.machine.heap[object].words[index],
            false if is_blocked => 0,
            false => {
                if number == helper_number(Helper::StoreGuardedSlot) {
                    self.machine.store_slot(object, index, arguments[2]);
                } else {
                    self.machine.heap[object].words[index] = arguments[2];
                }
                1
            }
        }
    }

    fn execute(&mut self, instruction: Instruction, base: usize, opcode: u64) -> Result<u64, Trap> {
        assert_eq!(instruction.opcode as u64, opcode);
        let jumped = self.machine.execute_here()?;
        if matches!(instruction.opcode, Bytecode::Unbox | Bytecode::ConvertExact | Bytecode::MapGet)
        {
            return Ok(u64::from(jumped));
        }
        let defined = instruction.effects().defines;
        Ok(defined.map_or(0, |register| self.machine.stack[base + register.index()]))
    }

    /// The place in the stack of an address in the frame.
    fn index(&self, address: u64) -> usize {
        assert_eq!(address >> KIND_SHIFT, FRAME, "{address:x} is no frame");
        (address & ((1 << KIND_SHIFT) - 1)) as usize / 8
    }

    fn decode(&self, function: FunctionRef, pc: u32) -> Instruction {
        let code = &self.machine.world.function(function).code;
        Instruction::decode(code, pc as usize).expect("verified code")
    }

    /// The activations from the unit's own to an inner one, by the sites below their frames.
    fn chain(&self, function: FunctionRef, pc: u32, base: usize, is_in: bool) -> Vec<Frame> {
        let mut chain = vec![Frame { function: function.0, pc: pc as usize, base, is_in }];
        let mut base = base;
        while base != self.base {
            let site = self.machine.stack[base - 1];
            assert_eq!(site >> KIND_SHIFT, SITE, "no site below {base}");
            let (function, pc) = place_of(site);
            base -= self.decode(function, pc).window().expect("a call has a window").index();
            chain.push(Frame { function: function.0, pc: pc as usize, base, is_in: true });
        }
        chain.reverse();
        chain
    }

    /// Makes the objects of an exit, and stores them in their places.
    fn make(&mut self, base: usize, objects: &[AbsentObject]) {
        for object in objects {
            let word = |part: &u32| self.machine.stack[base + *part as usize];
            let parts: Vec<u64> = object.parts.iter().map(word).collect();
            let word = match object.form {
                Form::Slots { layout, .. } => {
                    for (slot, &part) in parts.iter().enumerate() {
                        let given = self.machine.layout(part);
                        let admits = self.machine.world.admits(layout, slot as u32, given);
                        assert!(admits, "the slot's kind");
                    }
                    self.machine.allocate(layout, parts)
                }
                Form::Context => self.machine.allocate(layouts::CONTEXT, parts),
                Form::Closure(function) => {
                    let function = u64::from(function.0) << words::TAG_BITS;
                    self.machine.allocate(layouts::BLOCK, [&[function], &parts[..]].concat())
                }
            };
            for &place in &object.places {
                self.machine.stack[base + place as usize] = word;
            }
        }
    }

    /// Jumps to a stub.
    fn leave(&mut self, target: u64, arguments: &[u64]) -> Result<u64, Trap> {
        assert!(is_exit(target), "the frame fits");
        self.machine.exits += 1;
        let base = self.index(arguments[0]);
        assert_eq!(arguments[1] >> KIND_SHIFT, EXIT, "no exit");
        let exit = &self.lowered.exits[(arguments[1] >> 6 & 0xFFFF) as usize];
        if target == address_of(Helper::MakingExit) {
            for place in &exit.doubles {
                let place = base + *place as usize;
                self.machine.stack[place] =
                    self.machine.double(f64::from_bits(self.machine.stack[place]));
            }
            self.make(base, &exit.objects);
        }
        let innermost = base + exit.offset as usize;
        let chain = self.chain(exit.function, exit.pc, innermost, false);
        assert_eq!(chain.len(), exit.around.len() + 1);
        let distances: u32 = exit.around.iter().map(|outer| outer.distance).sum();
        assert_eq!(distances, exit.offset);
        self.machine.resume(&chain)
    }
}

fn address_of(helper: Helper) -> u64 {
    HELPER << KIND_SHIFT | helper_number(helper) << 6
}

fn is_exit(address: u64) -> bool {
    [Helper::Exit, Helper::MakingExit].map(address_of).contains(&address)
}

/// The number of the function with this address.
fn place_of_function(address: u64) -> u32 {
    assert_eq!(address >> KIND_SHIFT, FUNCTION, "a closure begins with its function");
    (address >> 6 & 0xFFFF) as u32
}

/// The function and the pc that the address of a site or of an instruction tells.
fn place_of(address: u64) -> (FunctionRef, u32) {
    (FunctionRef((address >> 22 & 0xFFFF) as u32), (address >> 6 & 0xFFFF) as u32)
}

/// How many words a message has in its window.
fn operands(instruction: &Instruction) -> usize {
    match instruction.opcode {
        Bytecode::Send0 => 1,
        Bytecode::Send1 => 2,
        Bytecode::Send2 => 3,
        _ => instruction.count().unwrap_or(0),
    }
}

/// The results of an instruction without effect.
fn compute(function: &Function, inst: Inst, data: &InstructionData, arguments: &[u64]) -> Vec<u64> {
    let dfg = &function.dfg;
    let kind = dfg.value_type(dfg.inst_results(inst)[0]);
    let first = arguments.first().copied().unwrap_or(0);
    let second = arguments.get(1).copied().unwrap_or(0);
    let (x, y) = (first as i64, second as i64);
    let (f, g) = (f64::from_bits(first), f64::from_bits(second));
    let overflowing = |(value, overflows): (i64, bool)| vec![value as u64, u64::from(overflows)];
    #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN fulfils these conditions")]
    let result = match (data.opcode(), data) {
        (_, InstructionData::UnaryImm { imm, .. }) => imm.bits() as u64,
        (_, InstructionData::UnaryIeee64 { imm, .. }) => imm.bits(),
        (_, InstructionData::IntCompare { cond, .. }) => {
            // Narrow values are kept zero-extended, and compared for equality only.
            u64::from(compares(*cond, x, y))
        }
        (_, InstructionData::FloatCompare { cond, .. }) => u64::from(match cond {
            FloatCC::Equal => f == g,
            FloatCC::NotEqual => f != g,
            FloatCC::LessThan => f < g,
            FloatCC::LessThanOrEqual => f <= g,
            FloatCC::GreaterThan => f > g,
            FloatCC::GreaterThanOrEqual => f >= g,
            FloatCC::UnorderedOrGreaterThanOrEqual => !(f < g),
            FloatCC::UnorderedOrGreaterThan => !(f <= g),
            FloatCC::UnorderedOrLessThanOrEqual => !(f > g),
            FloatCC::UnorderedOrLessThan => !(f >= g),
            other => panic!("no {other} here"),
        }),
        (Opcode::GetPinnedReg, _) => THREAD << KIND_SHIFT,
        (Opcode::GetStackPointer, _) => 1,
        (Opcode::Iadd, _) => x.wrapping_add(y) as u64,
        (Opcode::Isub, _) => x.wrapping_sub(y) as u64,
        (Opcode::Imul, _) => x.wrapping_mul(y) as u64,
        (Opcode::Sdiv, _) => (x / y) as u64,
        (Opcode::Srem, _) => (x % y) as u64,
        (Opcode::SaddOverflow, _) => return overflowing(x.overflowing_add(y)),
        (Opcode::SsubOverflow, _) => return overflowing(x.overflowing_sub(y)),
        (Opcode::SmulOverflow, _) => return overflowing(x.overflowing_mul(y)),
        (Opcode::Band, _) => first & second,
        (Opcode::Bor, _) => first | second,
        (Opcode::Bxor, _) => first ^ second,
        (Opcode::Ishl, _) => first << (second & 63),
        (Opcode::Ushr, _) => first >> (second & 63),
        (Opcode::Sshr, _) => (x >> (second & 63)) as u64,
        (Opcode::Rotl, _) => first.rotate_left(second as u32),
        (Opcode::Rotr, _) => first.rotate_right(second as u32),
        (Opcode::Select | Opcode::SelectSpectreGuard, _) => {
            if first != 0 {
                second
            } else {
                arguments[2]
            }
        }
        (Opcode::Uextend | Opcode::Bitcast, _) => first,
        (Opcode::Sextend, _) => match dfg.value_type(dfg.inst_args(inst)[0]) {
            I8 => i64::from(first as i8) as u64,
            I16 => i64::from(first as i16) as u64,
            _ => i64::from(first as i32) as u64,
        },
        (Opcode::Ireduce, _) => match kind {
            I8 => first & 0xFF,
            I16 => first & 0xFFFF,
            I32 => first & 0xFFFF_FFFF,
            other => panic!("no {other} here"),
        },
        (Opcode::FcvtFromSint, _) => (x as f64).to_bits(),
        (Opcode::Fadd, _) => (f + g).to_bits(),
        (Opcode::Fsub, _) => (f - g).to_bits(),
        (Opcode::Fmul, _) => (f * g).to_bits(),
        (Opcode::Fdiv, _) => (f / g).to_bits(),
        (Opcode::Fneg, _) => (-f).to_bits(),
        (Opcode::Sqrt, _) => f.sqrt().to_bits(),
        (opcode, _) => panic!("no {opcode} here"),
    };
    // A Boolean is one bit in a byte, and `bxor` leaves it so.
    vec![if kind == I8 { result & 0xFF } else { result }]
}

fn compares(condition: IntCC, x: i64, y: i64) -> bool {
    match condition {
        IntCC::Equal => x == y,
        IntCC::NotEqual => x != y,
        IntCC::SignedLessThan => x < y,
        IntCC::SignedLessThanOrEqual => x <= y,
        IntCC::SignedGreaterThan => x > y,
        IntCC::SignedGreaterThanOrEqual => x >= y,
        IntCC::UnsignedLessThan => (x as u64) < y as u64,
        IntCC::UnsignedLessThanOrEqual => x as u64 <= y as u64,
        IntCC::UnsignedGreaterThan => x as u64 > y as u64,
        IntCC::UnsignedGreaterThanOrEqual => x as u64 >= y as u64,
    }
}
