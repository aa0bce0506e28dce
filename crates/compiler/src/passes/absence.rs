//! Objects that only the unit's own code sees are not made: their slots, variables and captured values become values of
//! the unit (scalar replacement). [`crate::optimise`] runs this pass before `representation`, which makes such values raw.
//!
//! An object can be *absent* if the unit makes it, reads and writes parts of it at known places, has it as a part of
//! another absent object, and otherwise only in states in which it can be left. A call needs the objects of its state, and
//! so does whatever else uses the object.
//!
//! # States
//!
//! Where the unit is left, the interpreter must have the object. So its place in the state gets an `absent_…` operation
//! with the parts as they are there, and the exit makes the object of them.
//!
//! An allocation that stays, with an absent object in its state, leaves the unit if a collection has to make room. So
//! nothing collects while an object is absent, and no part of it needs a place in the frame.
//!
//! # Parts
//!
//! The blocks are visited in reverse postorder, so each comes after its dominator, which has the object if the block's
//! path does. Where paths meet that may have written a part, the part becomes a parameter.

use std::collections::HashSet;

use crate::ir::dominance::{dominates, dominators};
use crate::ir::entities::{Block, Inst, StateId, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::types::{Representation, Type};
use crate::ir::values::{Cell, WordBits};
use crate::ir::{End, InstData, Unit};
use crate::passes::hashing::FastMap;
use crate::passes::kinds;
use crate::passes::simplify::simplify;
use crate::words;

/// Makes objects absent.
pub fn absence(unit: &mut Unit) {
    let order = unit.reverse_post_order();
    let objects = absent_objects(unit, &order);
    if objects.is_empty() {
        return;
    }
    Walk::new(unit, order, objects).run();
    unit.resolve_all();
    simplify(unit);
}

/// An object that the unit makes.
struct Made {
    /// The block that makes it.
    block: Block,
    /// How many parts it has.
    parts: usize,
}

/// How many parts the object of an allocation has: slots, variables, captured values.
fn part_count(inst: &InstData) -> Option<usize> {
    match inst.op {
        Op::NewObject(layout) => Some(words::slot_count(layout) as usize),
        Op::NewContext(size) => Some(size.0 as usize),
        Op::NewClosure(_) => Some(inst.arguments.len()),
        _ => None,
    }
}

/// The object and the part that an instruction reads or writes, if the object is one that can be absent.
fn accessed(unit: &Unit, inst: &InstData) -> Option<(Value, usize)> {
    let object = unit.root(*inst.arguments.first()?);
    let maker = unit.definition(object)?;
    let part = match (inst.op, maker.op) {
        (Op::LoadSlot(part) | Op::StoreSlot(part), Op::NewObject(_))
        | (Op::LoadCaptured(part), Op::NewClosure(_)) => part.0 as usize,
        (Op::LoadElement | Op::StoreElement, Op::NewContext(_)) => {
            usize::try_from(unit.integer(inst.arguments[1])?).ok()?
        }
        _ => return None,
    };
    (part < part_count(maker)?).then_some((object, part))
}

fn is_load(op: Op) -> bool {
    matches!(op, Op::LoadSlot(_) | Op::LoadElement | Op::LoadCaptured(_))
}

/// The objects that can be absent.
fn absent_objects(unit: &Unit, order: &[Block]) -> FastMap<Value, Made> {
    let mut search = Search {
        unit,
        made: FastMap::default(),
        seen: HashSet::new(),
        holders: Vec::new(),
        loaded: HashSet::new(),
    };
    for &block in order {
        for &inst in &unit.block(block).instructions {
            let data = unit.inst(inst);
            if let (Some(parts), Some(object)) = (part_count(data), data.result) {
                search.made.insert(object, Made { block, parts });
            }
        }
    }
    for &block in order {
        unit.block(block).instructions.iter().for_each(|&inst| search.instruction(inst));
        let end = &unit.block(block).end;
        end.jumps().flat_map(|jump| &jump.arguments).for_each(|&value| search.show(value));
        if let End::Return(value) = end {
            search.show(*value);
        }
    }
    search.settle();
    let Search { mut made, seen, .. } = search;
    made.retain(|object, _| !seen.contains(object));
    made
}

/// The search for objects that something else sees.
struct Search<'u> {
    unit: &'u Unit,
    made: FastMap<Value, Made>,
    /// The objects that something sees.
    seen: HashSet<Value>,
    /// An object, its part, and another object that is stored or captured there.
    holders: Vec<(Value, usize, Value)>,
    /// The parts that are read.
    loaded: HashSet<(Value, usize)>,
}

impl Search<'_> {
    /// Something may see a value's object.
    fn show(&mut self, value: Value) {
        let root = self.unit.root(value);
        if self.made.contains_key(&root) {
            self.seen.insert(root);
        }
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.unit.inst(inst);
        let access = accessed(self.unit, data);
        match data.op {
            Op::NewClosure(_) => {
                let closure = data.result.expect("it makes one");
                for (part, &value) in data.arguments.iter().enumerate() {
                    self.hold(closure, part, value);
                }
            }
            op if is_load(op) && access.is_some() => self.loaded.extend(access),
            Op::StoreSlot(_) | Op::StoreElement if access.is_some() => {
                let (object, part) = access.expect("it was tested");
                let value = *data.arguments.last().expect("a store has a value");
                self.hold(object, part, value);
            }
            // The store that belongs to a barrier says more.
            Op::Length | Op::ClassOf | Op::Barrier => {}
            op if op.refines() && op.is_pure() => {}
            _ => data.arguments.iter().for_each(|&value| self.show(value)),
        }
        if data.op.effect() == Effect::Call
            && let Some(state) = data.state
        {
            let registers = self.unit.chain(state).flat_map(|each| &each.registers);
            registers.for_each(|&(_, value)| self.show(value));
        }
    }

    fn hold(&mut self, holder: Value, part: usize, value: Value) {
        let root = self.unit.root(value);
        if self.made.contains_key(&root) {
            self.holders.push((holder, part, root));
        }
    }

    /// What an object holds is seen if the object is, or if it is read again: then it has other names. Objects that hold
    /// each other are seen, too.
    fn settle(&mut self) {
        loop {
            let before = self.seen.len();
            for &(holder, part, value) in &self.holders {
                let is_read = self.loaded.contains(&(holder, part));
                if is_read || self.seen.contains(&holder) || self.holds(value, holder) {
                    self.seen.insert(value);
                }
            }
            if self.seen.len() == before {
                return;
            }
        }
    }

    /// Whether an object holds another one, perhaps by others, or is that.
    fn holds(&self, object: Value, wanted: Value) -> bool {
        let mut pending = vec![object];
        let mut found = HashSet::new();
        while let Some(next) = pending.pop() {
            if next == wanted {
                return true;
            }
            if found.insert(next) {
                let parts = self.holders.iter().filter(|holder| holder.0 == next);
                pending.extend(parts.map(|holder| holder.2));
            }
        }
        false
    }
}

/// The parts of the absent objects at a place.
type Parts = FastMap<Value, Vec<Value>>;

/// The walk over the blocks that takes the objects away.
struct Walk<'u> {
    unit: &'u mut Unit,
    order: Vec<Block>,
    parents: Vec<Option<Block>>,
    predecessors: Vec<Vec<Block>>,
    objects: FastMap<Value, Made>,
    /// For each part that is written, the blocks that do it.
    written: FastMap<(Value, usize), Vec<Block>>,
    /// The parts where a block ends.
    at_end: Vec<Option<Parts>>,
    /// The parts that are parameters of a block.
    joined: Vec<Vec<(Value, usize)>>,
    /// The parts at the current place.
    parts: Parts,
    /// The states with absent objects that were made for the current place, and the operations for the objects.
    states: FastMap<StateId, StateId>,
    named: FastMap<Value, Value>,
    /// The new instructions of the current block.
    placed: Vec<Inst>,
}

impl<'u> Walk<'u> {
    fn new(unit: &'u mut Unit, order: Vec<Block>, objects: FastMap<Value, Made>) -> Walk<'u> {
        let mut written: FastMap<(Value, usize), Vec<Block>> = FastMap::default();
        for &block in &order {
            for &inst in &unit.block(block).instructions {
                let data = unit.inst(inst);
                if let Some(part) = accessed(unit, data).filter(|_| !is_load(data.op)) {
                    written.entry(part).or_default().push(block);
                }
            }
        }
        let count = unit.blocks.len();
        Walk {
            parents: dominators(unit, &order),
            predecessors: unit.predecessors(),
            unit,
            order,
            objects,
            written,
            at_end: vec![None; count],
            joined: vec![Vec::new(); count],
            parts: Parts::default(),
            states: FastMap::default(),
            named: FastMap::default(),
            placed: Vec::new(),
        }
    }

    fn run(mut self) {
        for block in self.order.clone() {
            self.parts = self.parts_before(block);
            self.forget();
            let instructions = std::mem::take(&mut self.unit.blocks[block.index()].instructions);
            for inst in instructions {
                self.instruction(inst);
            }
            self.end(block);
            self.unit.blocks[block.index()].instructions = std::mem::take(&mut self.placed);
            self.at_end[block.index()] = Some(std::mem::take(&mut self.parts));
        }
        self.give_arguments();
    }

    /// What was made for a place does not hold any more.
    fn forget(&mut self) {
        self.states.clear();
        self.named.clear();
    }

    /// The parts where a block begins, of the objects that are made on all ways to it.
    fn parts_before(&mut self, block: Block) -> Parts {
        if let [from] = self.predecessors[block.index()][..] {
            return self.at_end[from.index()].clone().unwrap_or_default();
        }
        let is_before =
            |made: &Made| made.block != block && dominates(&self.parents, made.block, block);
        let objects = self.objects.iter().filter(|(_, made)| is_before(made));
        let mut objects: Vec<(Value, usize)> =
            objects.map(|(&object, made)| (object, made.parts)).collect();
        objects.sort_unstable();
        let mut all = Parts::default();
        for (object, count) in objects {
            let parts = (0..count).map(|part| self.joined_part(block, object, part));
            let parts = parts.collect();
            all.insert(object, parts);
        }
        all
    }

    /// A part where several paths meet.
    fn joined_part(&mut self, block: Block, object: Value, part: usize) -> Value {
        let predecessors = &self.predecessors[block.index()];
        let ends = predecessors.iter().map(|from| self.at_end[from.index()].as_ref());
        let known: Vec<Value> = ends.clone().flatten().map(|end| end[&object][part]).collect();
        let is_head = known.len() < predecessors.len();
        let writers = self.written.get(&(object, part)).map_or(&[][..], Vec::as_slice);
        let is_written = is_head && writers.iter().any(|&it| dominates(&self.parents, block, it));
        if !is_written && known.iter().all(|value| *value == known[0]) {
            return known[0];
        }
        self.joined[block.index()].push((object, part));
        self.unit.add_parameter(block, Representation::Word, Type::ANY)
    }

    /// Gives the parameters that parts have become their arguments.
    fn give_arguments(&mut self) {
        for &block in &self.order {
            let mut end = std::mem::take(&mut self.unit.blocks[block.index()].end);
            let parts = self.at_end[block.index()].as_ref().expect("the block was visited");
            for jump in end.jumps_mut() {
                let joined = self.joined[jump.block.index()].iter();
                jump.arguments.extend(joined.map(|(object, part)| parts[object][*part]));
            }
            self.unit.blocks[block.index()].end = end;
        }
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.unit.inst(inst).clone();
        self.unit.origin = data.origin;
        if let Some(object) = data.result.filter(|result| self.objects.contains_key(result)) {
            return self.make(object, &data);
        }
        let object = data.arguments.first().map(|&value| self.unit.root(value));
        match object.filter(|object| self.objects.contains_key(object)) {
            Some(object) => self.use_object(inst, object, &data),
            None => self.keep(inst, &data),
        }
    }

    /// An object would be made here.
    fn make(&mut self, object: Value, data: &InstData) {
        let parts = match data.op {
            Op::NewClosure(_) => data.arguments.clone(),
            _ => {
                let count = self.objects[&object].parts;
                let nil = self.place(Op::Word(WordBits(words::NIL)), &[]);
                vec![nil; count]
            }
        };
        self.parts.insert(object, parts);
        self.forget();
    }

    /// An instruction about an absent object.
    fn use_object(&mut self, inst: Inst, object: Value, data: &InstData) {
        let part = accessed(self.unit, data).map(|(_, part)| part);
        let answer = match data.op {
            Op::Length => Some(self.length(object)),
            Op::ClassOf => Some(self.class_of(object)),
            op if is_load(op) => {
                let part = part.expect("others would have seen the object");
                Some(self.parts[&object][part])
            }
            Op::StoreSlot(_) | Op::StoreElement => {
                let part = part.expect("others would have seen the object");
                let value = *data.arguments.last().expect("a store has a value");
                let parts = self.parts.get_mut(&object).expect("it was made before");
                parts[part] = self.unit.resolve(value);
                self.forget();
                None
            }
            Op::Barrier => None,
            // A refinement: its uses are the object's.
            _ => return self.placed.push(inst),
        };
        if let (Some(result), Some(value)) = (data.result, answer) {
            self.unit.replace(result, value);
        }
    }

    /// An instruction that stays. What it says of absent objects, it says in its state.
    fn keep(&mut self, inst: Inst, data: &InstData) {
        if let Some(state) = data.state.filter(|_| data.op.effect() != Effect::Call) {
            let state = self.state(state);
            self.unit.instructions[inst.index()].state = Some(state);
        }
        self.placed.push(inst);
        if data.op.may_collect() {
            self.forget();
        }
    }

    fn end(&mut self, block: Block) {
        self.unit.origin = None;
        if let End::Exit(state) = self.unit.block(block).end {
            let state = self.state(state);
            self.unit.blocks[block.index()].end = End::Exit(state);
        }
        if let Some(state) = self.unit.block(block).leave {
            let state = self.state(state);
            self.unit.blocks[block.index()].leave = Some(state);
        }
    }

    fn length(&mut self, object: Value) -> Value {
        let captures = matches!(self.maker(object).op, Op::NewClosure(_));
        // A closure's first element is its function.
        let length = self.objects[&object].parts + usize::from(captures);
        self.place(Op::Integer(length as i64), &[])
    }

    fn class_of(&mut self, object: Value) -> Value {
        let maker = self.maker(object);
        match maker.op {
            Op::NewObject(_) => maker.arguments[0],
            Op::NewClosure(_) => self.place(Op::Cell(Cell::BLOCK_CLASS), &[]),
            _ => self.place(Op::Cell(Cell::OBJECT_CLASS), &[]),
        }
    }

    fn maker(&self, object: Value) -> &InstData {
        self.unit.definition(object).expect("the unit makes it")
    }

    /// Places an instruction, and answers its result.
    fn place(&mut self, op: Op, arguments: &[Value]) -> Value {
        let kind = kinds::result_kind(self.unit, op, arguments, Type::ANY);
        let inst = self.unit.make_typed(op, arguments, None, kind);
        self.placed.push(inst);
        self.unit.inst(inst).result.expect("the operation has a result")
    }

    /// A state in which absent objects are named by their parts.
    fn state(&mut self, state: StateId) -> StateId {
        if let Some(&known) = self.states.get(&state) {
            return known;
        }
        let mut new = self.unit.state(state).clone();
        new.parent = new.parent.map(|parent| self.state(parent));
        let mut has_changed = new.parent != self.unit.state(state).parent;
        for (_, value) in &mut new.registers {
            let root = self.unit.root(*value);
            if self.objects.contains_key(&root) {
                *value = self.name(root);
                has_changed = true;
            }
        }
        let new = if has_changed { self.unit.add_state(new) } else { state };
        self.states.insert(state, new);
        new
    }

    /// The operation that stands for an absent object in states here.
    fn name(&mut self, object: Value) -> Value {
        if let Some(&known) = self.named.get(&object) {
            return known;
        }
        let maker = self.maker(object);
        let (op, class) = match maker.op {
            Op::NewObject(layout) => (Op::AbsentObject(layout), Some(maker.arguments[0])),
            Op::NewClosure(function) => (Op::AbsentClosure(function), None),
            _ => (Op::AbsentContext, None),
        };
        let mut arguments: Vec<Value> = class.into_iter().collect();
        for part in self.parts[&object].clone() {
            let root = self.unit.root(part);
            let is_absent = self.objects.contains_key(&root);
            arguments.push(if is_absent { self.name(root) } else { part });
        }
        let name = self.place(op, &arguments);
        self.named.insert(object, name);
        name
    }
}
