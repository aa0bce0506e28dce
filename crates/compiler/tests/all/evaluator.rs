//! Evaluates units: the meaning of each operation, on the machine's heap and stack.
//!
//! Before `residence`, a unit's values are roots of the collector, and calls and exits store whole states. After it, the
//! frame is the only root: what `residence` forgets to store or to load again is found as a stale word, as a live
//! register with a wrong word, or as a missing site.

use std::collections::HashMap;
use std::rc::Rc;

use squall_compiler::ir::entities::{Block, Inst, StateId, Value};
use squall_compiler::ir::operations::{Effect, Op};
use squall_compiler::ir::types::{Representation, Type};
use squall_compiler::ir::values::{Place, Site, Source};
use squall_compiler::ir::{End, Jump, Stands, Unit};
use squall_compiler::passes::fold;
use squall_compiler::passes::residence::Residence;
use squall_compiler::words::{self, layouts};

use crate::machine::{Frame, Machine, Trap};

/// A unit, ready to be evaluated.
#[derive(Clone)]
pub struct Compiled(pub Rc<(Unit, Option<Residence>)>);

/// The bits of a place with the site of a call.
fn site_word(site: Site, unit: &Unit) -> u64 {
    let function = unit.activations[site.activation.index()].function;
    u64::from(function.0) << 32 | u64::from(site.pc) << 3 | 0b111
}

pub struct Evaluation<'m, 'w> {
    machine: &'m mut Machine<'w>,
    compiled: Compiled,
    base: usize,
    /// By the index of the value.
    values: Vec<u64>,
}

/// What an allocation fails with that leaves the unit for want of room.
const LEAVES: &str = "no room";

enum Flow {
    Next,
    Left(Result<u64, Trap>),
}

impl<'m, 'w> Evaluation<'m, 'w> {
    pub fn new(machine: &'m mut Machine<'w>, compiled: Compiled, base: usize) -> Self {
        let values = vec![0; compiled.0.0.values.len()];
        Evaluation { machine, compiled, base, values }
    }

    fn is_resident(&self) -> bool {
        self.compiled.0.1.is_some()
    }

    pub fn run(mut self) -> Result<u64, Trap> {
        let compiled = self.compiled.clone();
        let unit = &compiled.0.0;
        let mut block = Unit::ENTRY;
        loop {
            if self.machine.is_exhausted() {
                return Err("too many steps".into());
            }
            for &inst in &unit.block(block).instructions {
                if let Flow::Left(result) = self.instruction(unit, inst) {
                    return result;
                }
            }
            let jump = match &unit.block(block).end {
                End::Open => panic!("{block} is open"),
                End::Return(value) => return Ok(self.get(unit, *value)),
                End::Exit(state) => return self.leave_at(unit, block, *state),
                End::Jump(jump) => jump,
                End::Branch(condition, then, otherwise) => {
                    if self.get(unit, *condition) != 0 {
                        then
                    } else {
                        otherwise
                    }
                }
            };
            block = self.jump(unit, jump);
        }
    }

    fn jump(&mut self, unit: &Unit, jump: &Jump) -> Block {
        let arguments: Vec<u64> =
            jump.arguments.iter().map(|&value| self.get(unit, value)).collect();
        for (&parameter, argument) in unit.block(jump.block).parameters.iter().zip(arguments) {
            self.define(unit, parameter, argument);
        }
        jump.block
    }

    fn get(&mut self, unit: &Unit, value: Value) -> u64 {
        let root = if self.is_resident() { unit.root(value) } else { unit.resolve(value) };
        if let Some(inst) = unit.definition(root).filter(|inst| inst.op.is_constant()) {
            return constant(inst.op);
        }
        self.values[root.index()]
    }

    /// A value in an exit's state: that of a double may be a box, which is made there, and that of an absent object is one
    /// that is made there.
    fn get_made(&mut self, unit: &Unit, value: Value, made: &mut HashMap<Value, u64>) -> u64 {
        let root = unit.root(value);
        let Some(inst) = unit.definition(root) else { return self.get(unit, value) };
        if inst.op == Op::BoxDouble {
            let raw = self.get(unit, inst.arguments[0]);
            return self.machine.double(f64::from_bits(raw));
        }
        if !inst.op.is_absent() {
            return self.get(unit, value);
        }
        if let Some(&object) = made.get(&root) {
            return object;
        }
        let parts = inst.arguments.iter().map(|&part| self.get_made(unit, part, made));
        let mut parts: Vec<u64> = parts.collect();
        let layout = match inst.op {
            Op::AbsentObject(layout) => {
                parts.remove(0);
                layout
            }
            Op::AbsentClosure(function) => {
                parts.insert(0, u64::from(function.0) << words::TAG_BITS);
                layouts::BLOCK
            }
            _ => layouts::CONTEXT,
        };
        let object = self.machine.allocate(layout, parts);
        made.insert(root, object);
        object
    }

    /// Gives a value its bits; checks that they are of its type.
    fn define(&mut self, unit: &Unit, value: Value, bits: u64) {
        let kind = unit.kind(value);
        let given = match unit.representation(value) {
            Representation::Word if bits & words::TAG_MASK == words::TAG_POINTER => {
                Type::of_layout(self.machine.layout(bits))
            }
            Representation::Word => squall_compiler::passes::kinds::word_kind(bits),
            Representation::I64 => squall_compiler::passes::kinds::result_kind(
                unit,
                Op::Integer(bits as i64),
                &[],
                Type::RAW,
            ),
            Representation::F64 => Type::DOUBLE,
            Representation::Bool => {
                if bits != 0 {
                    Type::TRUE
                } else {
                    Type::FALSE
                }
            }
        };
        assert!(given.is(kind), "{value} is {given}, not {kind}\n{unit}");
        self.values[value.index()] = bits;
    }

    fn instruction(&mut self, unit: &Unit, inst: Inst) -> Flow {
        let data = unit.inst(inst);
        if data.op.is_made_by_exits() {
            return Flow::Next;
        }
        let arguments: Vec<u64> =
            data.arguments.iter().map(|&value| self.get(unit, value)).collect();
        let result = match data.op.effect() {
            Effect::Guard => {
                // An access that leaves has done nothing.
                let is_upset = self.machine.is_upset();
                let result = if is_upset { Err(()) } else { self.guard(unit, data.op, &arguments) };
                match result {
                    Ok(result) => result,
                    Err(()) => return Flow::Left(self.leave(unit, inst)),
                }
            }
            Effect::Call => match self.call(unit, inst, &arguments) {
                Ok(result) => Some(result),
                Err(trap) => return Flow::Left(Err(trap)),
            },
            Effect::Allocate => match self.allocate(unit, inst, &arguments) {
                Ok(object) => Some(object),
                Err(trap) if trap == LEAVES => return Flow::Left(self.leave(unit, inst)),
                Err(trap) => return Flow::Left(Err(trap)),
            },
            Effect::Frame => self.frame(unit, inst, &arguments),
            _ => self.compute(unit, data.op, &arguments),
        };
        if let (Some(result), Some(bits)) = (data.result, result) {
            self.define(unit, result, bits);
        }
        Flow::Next
    }

    /// The result of a guard, if it holds.
    fn guard(&mut self, unit: &Unit, op: Op, arguments: &[u64]) -> Result<Option<u64>, ()> {
        let word = arguments.first().copied().unwrap_or(0);
        let holds = |condition: bool| if condition { Ok(Some(word)) } else { Err(()) };
        match op {
            Op::GuardInteger => holds(word & words::TAG_MASK == words::TAG_INTEGER),
            Op::GuardDouble => holds(words::is_double(word)),
            Op::GuardBoolean => holds(word == words::TRUE || word == words::FALSE),
            Op::GuardLayout(wanted) => {
                let layout = self.machine.layout(word);
                let is_object = word & words::TAG_MASK == words::TAG_POINTER;
                holds(is_object && wanted.list().is_none_or(|list| list.contains(&layout)))
            }
            Op::GuardNil => holds(word == words::NIL),
            Op::GuardNotNil => holds(word != words::NIL),
            Op::GuardPlain => holds(self.machine.layout(word) & words::CONTROL_FLAG == 0),
            Op::GuardFunction(function) => {
                let closure = self.machine.object(word);
                let given = self.machine.heap[closure].words[0] >> words::TAG_BITS;
                holds(given == u64::from(function.0))
            }
            Op::Guard => holds(word != 0),
            Op::GuardNot => holds(word == 0),
            Op::Poll | Op::ChargeTurn | Op::ChargeCall | Op::GuardNotKilled => Ok(None),
            Op::LoadGuardedSlot(index) => Ok(self.compute(unit, Op::LoadSlot(index), arguments)),
            Op::StoreGuardedSlot(index) => {
                let object = self.machine.object(arguments[0]);
                self.machine.store_slot(object, index.0 as usize, arguments[1]);
                Ok(None)
            }
            Op::LoadGuardedElement => Ok(self.compute(unit, Op::LoadElement, arguments)),
            Op::StoreGuardedElement => Ok(self.compute(unit, Op::StoreElement, arguments)),
            Op::Leaf(primitive) | Op::CharacterAt(primitive) => {
                match self.machine.leaf(primitive, arguments) {
                    words::NO_ANSWER => Err(()),
                    answer => Ok(Some(answer)),
                }
            }
            Op::GuardSlotKind(_) => holds(self.machine.world.keeps(&unit.reliances)),
            Op::GuardImmediate => holds(words::double_word(f64::from_bits(word)).is_some()),
            _ => {
                let (left, right) = (word as i64, arguments[1] as i64);
                fold::compute(op, left, right).map(|value| Some(value as u64)).ok_or(())
            }
        }
    }

    fn compute(&mut self, unit: &Unit, op: Op, arguments: &[u64]) -> Option<u64> {
        let first = arguments.first().copied().unwrap_or(0);
        let second = arguments.get(1).copied().unwrap_or(0);
        let (x, y) = (f64::from_bits(first), f64::from_bits(second));
        let _ = unit;
        Some(match op {
            _ if op.is_constant() => constant(op),
            Op::Argument(place) => self.machine.stack[self.base + place.0 as usize],
            Op::TagInteger => words::integer_word(first as i64).expect("it fits"),
            Op::UntagInteger => words::word_integer(first).expect("it is one") as u64,
            Op::TagDouble => words::double_word(x).expect("it is immediate"),
            Op::TryTagDouble => words::double_word(x).unwrap_or(words::NO_ANSWER),
            Op::UntagDouble => words::word_double(first).expect("it is one").to_bits(),
            Op::TagBoolean => words::boolean_word(first != 0),
            Op::UntagBoolean => u64::from(first == words::TRUE),
            Op::AssumeKept(slot) => {
                let given = self.machine.layout(first);
                assert!(given == slot.kind || given == layouts::NIL, "a slot held something else");
                first
            }
            Op::Extend | Op::AssumeWithin(_) | Op::Assume(_) | Op::BitsOf | Op::FromBits => first,
            Op::Test => u64::from(first != 0),
            Op::Not => u64::from(first == 0),
            Op::Wrap(width) => width.wrap(first as i64) as u64,
            Op::Compare(condition) => u64::from(condition.holds(first as i64, second as i64)),
            Op::FloatCompare(condition) => u64::from(condition.holds_for_doubles(x, y)),
            Op::FloatAdd => (x + y).to_bits(),
            Op::FloatSubtract => (x - y).to_bits(),
            Op::FloatMultiply => (x * y).to_bits(),
            Op::FloatDivide => (x / y).to_bits(),
            Op::FloatNegate => (-x).to_bits(),
            Op::FloatSquareRoot => x.sqrt().to_bits(),
            Op::ToDouble => (first as i64 as f64).to_bits(),
            Op::NumberToDouble if words::word_integer(first).is_some() => {
                ((first as i64 >> words::TAG_BITS) as f64).to_bits()
            }
            Op::NumberToDouble => words::word_double(first).expect("it is a number").to_bits(),
            Op::Same | Op::Identical(_) => u64::from(first == second),
            Op::SameText(primitive) => {
                u64::from(self.machine.leaf(primitive, arguments) == words::TRUE)
            }
            Op::TryLeaf(primitive) | Op::TextLength(primitive) => {
                self.machine.leaf(primitive, arguments)
            }
            Op::HasLayout(wanted) => {
                let layout = self.machine.layout(first);
                u64::from(wanted.list().is_none_or(|list| list.contains(&layout)))
            }
            Op::TakesArguments(count) => {
                let closure = &self.machine.heap[self.machine.object(first)];
                let function = (closure.words[0] >> words::TAG_BITS) as usize;
                let given = self.machine.world.module.functions[function].arguments();
                u64::from(given == count.0 as usize)
            }
            Op::LoadSlot(index) | Op::LoadPart(index) => {
                self.machine.heap[self.machine.object(first)].words[index.0 as usize]
            }
            Op::LoadCaptured(index) => {
                self.machine.heap[self.machine.object(first)].words[index.0 as usize + 1]
            }
            Op::Length => self.machine.heap[self.machine.object(first)].words.len() as u64,
            Op::LoadElement => self.machine.heap[self.machine.object(first)].words[second as usize],
            Op::StoreSlot(index) => {
                let object = self.machine.object(first);
                let (layout, given) =
                    (self.machine.heap[object].layout, self.machine.layout(second));
                assert!(self.machine.world.admits(layout, index.0, given), "the slot's kind");
                self.machine.heap[object].words[index.0 as usize] = second;
                return None;
            }
            Op::Admit(kind) => {
                let given = self.machine.layout(first);
                self.machine.world.admit(kind.layout, kind.slot, given);
                return None;
            }
            Op::StoreElement => {
                let object = self.machine.object(first);
                self.machine.heap[object].words[second as usize] = arguments[2];
                return None;
            }
            Op::Barrier => return None,
            _ => fold::compute(op, first as i64, second as i64).expect("it is defined") as u64,
        })
    }

    fn reload(&mut self, unit: &Unit, source: Source, value: Value) {
        let mut word = self.load(source.place);
        if let Some(index) = source.captured {
            word = self.machine.heap[self.machine.object(word)].words[index as usize + 1];
        }
        self.values[unit.root(value).index()] = word;
    }

    fn frame(&mut self, unit: &Unit, inst: Inst, arguments: &[u64]) -> Option<u64> {
        let data = unit.inst(inst);
        match data.op {
            Op::StoreFrame(place) => self.store(place, arguments[0]),
            Op::StoreSite(site) => self.store(site.place, site_word(site, unit)),
            Op::LoadFrame(place) => return Some(self.load(place)),
            Op::Reload(source) => self.reload(unit, source, data.arguments[0]),
            op => panic!("{op} is no operation on the frame"),
        }
        None
    }

    fn store(&mut self, place: Place, bits: u64) {
        self.machine.stack[self.base + place.0 as usize] = bits;
    }

    fn load(&self, place: Place) -> u64 {
        self.machine.stack[self.base + place.0 as usize]
    }
}

/// Calls and exits.
impl Evaluation<'_, '_> {
    /// The activations of a state, the outermost first.
    fn chain(&self, unit: &Unit, state: StateId) -> Vec<Frame> {
        let frame = |each: &squall_compiler::ir::State| Frame {
            function: unit.activations[each.activation.index()].function.0,
            pc: each.pc as usize,
            base: self.base + unit.activations[each.activation.index()].offset as usize,
            is_in: each.stands == Stands::In,
        };
        let mut chain: Vec<Frame> = unit.chain(state).map(frame).collect();
        chain.reverse();
        chain
    }

    /// Writes a whole state into the frame.
    fn store_state(&mut self, unit: &Unit, state: StateId) {
        let mut made = HashMap::new();
        for each in unit.chain(state) {
            for &(register, value) in &each.registers {
                let bits = self.get_made(unit, value, &mut made);
                self.store(unit.place(each.activation, register), bits);
            }
        }
    }

    fn call(&mut self, unit: &Unit, inst: Inst, arguments: &[u64]) -> Result<u64, Trap> {
        let data = unit.inst(inst);
        let state = data.state.expect("a call has a state");
        let chain = self.chain(unit, state);
        if self.is_resident() {
            self.check_sites(unit, state);
        } else {
            self.store_state(unit, state);
            self.store_window(data.op, arguments);
        }
        let depth = self.machine.frames.len();
        self.machine.frames.extend(&chain);
        self.push_roots(unit);
        let result = self.perform(unit, inst, arguments.len());
        self.pop_roots();
        self.machine.frames.truncate(depth);
        result
    }

    /// Makes an object: as machine code does, or as the runtime does, which collects.
    fn allocate(&mut self, unit: &Unit, inst: Inst, arguments: &[u64]) -> Result<u64, Trap> {
        if !self.machine.is_full() {
            let (layout, words) = match unit.inst(inst).op {
                Op::NewClosure(function) => {
                    let function = u64::from(function.0) << words::TAG_BITS;
                    (layouts::BLOCK, [&[function], arguments].concat())
                }
                Op::NewContext(size) => (layouts::CONTEXT, vec![words::NIL; size.0 as usize]),
                Op::NewArray(size) => (layouts::ARRAY, vec![words::NIL; size.0 as usize]),
                Op::NewObject(layout) => {
                    (layout, vec![words::NIL; words::slot_count(layout) as usize])
                }
                op => panic!("{op} makes no object"),
            };
            return Ok(self.machine.allocate(layout, words));
        }
        let compiled = self.compiled.clone();
        let leaves = |residence: &Residence| residence.of_guard.contains_key(&inst);
        if compiled.0.1.as_ref().is_some_and(leaves) {
            return Err(LEAVES.into());
        }
        let slow = compiled.0.1.as_ref().map(|residence| &residence.of_allocation[&inst]);
        for &(place, value) in slow.iter().flat_map(|slow| &slow.stores.values) {
            let bits = self.get(unit, value);
            self.store(place, bits);
        }
        for &site in slow.iter().flat_map(|slow| &slow.stores.sites) {
            self.store(site.place, site_word(site, unit));
        }
        let object = self.call(unit, inst, arguments)?;
        for &(source, value) in slow.iter().flat_map(|slow| &slow.reloads) {
            self.reload(unit, source, value);
        }
        Ok(object)
    }

    fn store_window(&mut self, op: Op, arguments: &[u64]) {
        let window = match op {
            Op::Call(target) => target.window,
            Op::Send(window) | Op::CallClosure(window) => window,
            _ => return,
        };
        for (index, &bits) in arguments.iter().enumerate() {
            self.store(Place(window.0 + index as u32), bits);
        }
    }

    fn perform(&mut self, unit: &Unit, inst: Inst, arguments: usize) -> Result<u64, Trap> {
        let data = unit.inst(inst);
        match data.op {
            Op::Call(target) => {
                let base = self.base + target.window.0 as usize;
                self.machine.call(target.function.0, base)
            }
            Op::Send(_) | Op::CallClosure(_) => self.machine.send_from_window(arguments),
            Op::Decide => self.machine.execute_here().map(u64::from),
            _ => {
                self.machine.execute_here()?;
                let state = unit.state(data.state.expect("a call has a state"));
                let function = unit.activations[state.activation.index()].function;
                let code = &self.machine.world.module.functions[function.index()].code;
                let instruction =
                    squall_bytecode::decode::Instruction::decode(code, state.pc as usize);
                let defined = instruction.expect("verified code").effects().defines;
                let place = |register| unit.place(state.activation, register);
                Ok(defined.map_or(0, |register| self.load(place(register))))
            }
        }
    }

    /// Before `residence`, the values themselves are roots.
    fn push_roots(&mut self, unit: &Unit) {
        let mut roots = Vec::new();
        if !self.is_resident() {
            for (index, &bits) in self.values.iter().enumerate() {
                let is_word = unit.values[index].representation == Representation::Word;
                if is_word && bits & words::TAG_MASK == words::TAG_POINTER {
                    roots.push((index, bits));
                }
            }
        }
        self.machine.roots.push(roots);
    }

    fn pop_roots(&mut self) {
        for (index, bits) in self.machine.roots.pop().unwrap_or_default() {
            self.values[index] = bits;
        }
    }

    /// The sites below inlined frames must be there for walkers of the stack.
    fn check_sites(&self, unit: &Unit, state: StateId) {
        let mut inner: Option<u32> = None;
        for each in unit.chain(state) {
            if let Some(offset) = inner {
                let place = Place(offset - 1);
                let site = Site { activation: each.activation, pc: each.pc, place };
                assert_eq!(self.load(place), site_word(site, unit), "{site} is missing");
            }
            inner = Some(unit.activations[each.activation.index()].offset);
        }
    }

    /// Leaves by a guard.
    fn leave(&mut self, unit: &Unit, inst: Inst) -> Result<u64, Trap> {
        let compiled = self.compiled.clone();
        let exit = compiled.0.1.as_ref().map(|residence| residence.of_guard[&inst]);
        self.leave_in(unit, unit.inst(inst).state.expect("a guard has a state"), exit)
    }

    /// Leaves at the end of a block.
    fn leave_at(&mut self, unit: &Unit, block: Block, state: StateId) -> Result<u64, Trap> {
        let compiled = self.compiled.clone();
        let exit = compiled.0.1.as_ref().map(|residence| residence.of_block[&block]);
        self.leave_in(unit, state, exit)
    }

    fn leave_in(&mut self, unit: &Unit, state: StateId, exit: Option<usize>) -> Result<u64, Trap> {
        self.machine.exits += 1;
        let compiled = self.compiled.clone();
        match (exit, compiled.0.1.as_ref()) {
            (Some(exit), Some(residence)) => {
                let stores = &residence.exits[exit].stores;
                let mut made = HashMap::new();
                for &(place, value) in &stores.values {
                    let bits = self.get_made(unit, value, &mut made);
                    self.store(place, bits);
                }
                for &site in &stores.sites {
                    self.store(site.place, site_word(site, unit));
                }
                self.check_sites(unit, state);
            }
            _ => self.store_state(unit, state),
        }
        let chain = self.chain(unit, state);
        self.machine.resume(&chain)
    }
}

fn constant(op: Op) -> u64 {
    match op {
        Op::Integer(value) => value as u64,
        Op::Float(bits) => bits.0,
        Op::Word(word) => word.0,
        Op::Boolean(value) => u64::from(value),
        _ => panic!("{op} is no constant here"),
    }
}

/// Layouts of the objects that tests make: with two slots, and with three.
pub const PAIR: u32 = 48 << 14 | 2 << 4;
/// See [`PAIR`].
pub const TRIPLE: u32 = 49 << 14 | 3 << 4;

const _: () = assert!(layouts::ARRAY != PAIR && layouts::ARRAY != TRIPLE);
