//! The frame of the lowering: blocks, values, ends and exits. `mod.rs` runs it once for a unit, and it calls the other
//! modules for the operations.

use std::collections::{HashMap, HashSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64, I8, I64};
use cranelift_codegen::ir::{
    self, AbiParam, BlockArg, InstBuilder, MemFlagsData, SigRef, Signature, SourceLoc,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, Variable};
use squall_bytecode::instructions::Opcode;

use crate::build::leaves;
use crate::code::{Exit, Outer, Reason, Start};
use crate::facts::{Facts, Helper, MachineFacts, Symbol};
use crate::ir::entities::{Block, Inst, Value};
use crate::ir::operations::{Effect, Op};
use crate::ir::types::Representation;
use crate::ir::values::Place;
use crate::ir::{End, Jump, Origin, Unit};
use crate::lower::absence::Absence;
use crate::lower::branches::{depths, tests_for_branches};
use crate::lower::offset;
use crate::passes::residence::{ExitPath, Residence, Stores};

/// A function of so many words, with a word as result.
pub(super) fn signature(convention: CallConv, parameters: usize) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend((0..parameters).map(|_| AbiParam::new(I64)));
    signature.returns.push(AbiParam::new(I64));
    signature
}

/// Where a value is.
#[derive(Clone, Copy)]
enum Location {
    Value(ir::Value),
    Variable(Variable),
}

/// What an exit's record says: guards with the same state have one path to leave by, and each its record.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Record {
    /// The exit's number in `residence`; none for the beginning of a loop's unit.
    path: Option<usize>,
    reason: Reason,
    /// What the guard was made for.
    origin: Option<Origin>,
}

/// What lowering leaves beside the code.
pub(super) struct Lowered {
    /// The exits that the code refers to.
    pub exits: Vec<Exit>,
    /// The instructions of bytecode by the numbers that Cranelift's instructions have as their sources.
    pub origins: Vec<Origin>,
}

/// A unit being lowered.
pub(super) struct Lowering<'u, 'b> {
    pub unit: &'u Unit,
    pub residence: &'u Residence,
    pub facts: &'u dyn Facts,
    pub machine: MachineFacts,
    pub b: FunctionBuilder<'b>,
    pub frame: ir::Value,
    /// The function of the unit, as the caller has given it.
    function: ir::Value,
    pub blocks: HashMap<Block, ir::Block>,
    /// The block that is being lowered.
    pub current: Block,
    /// For each block in how many loops without calls it is.
    pub depths: Vec<u32>,
    /// The tests of layouts that are made by branches.
    pub tests: HashSet<Inst>,
    locations: HashMap<Value, Location>,
    /// For raw integers whose words were computed with them: the words.
    pub tagged_forms: HashMap<Value, ir::Value>,
    /// Of doubles whose words are tried, whether they need no box.
    pub fits: HashMap<Value, ir::Value>,
    /// The blocks of the exits, by their numbers in `residence`. They take the address of a record.
    paths: Vec<Option<ir::Block>>,
    /// What each of these exits makes.
    absences: Vec<Absence>,
    records: Vec<Record>,
    /// The blocks that leave by the records.
    ways_out: HashMap<Record, ir::Block>,
    signatures: HashMap<(CallConv, usize), SigRef>,
    origins: Vec<Origin>,
    /// The thread's fuel, if the code counts its polls: see `fuel`.
    pub fuel: Option<Variable>,
}

impl<'u, 'b> Lowering<'u, 'b> {
    pub fn new(
        unit: &'u Unit,
        residence: &'u Residence,
        facts: &'u dyn Facts,
        mut b: FunctionBuilder<'b>,
    ) -> Lowering<'u, 'b> {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let [frame, function] = [0, 1].map(|index| b.block_params(entry)[index]);
        let absence = |exit: &ExitPath| Absence::of(unit, &exit.stores.values, unit.extent());
        let absences = residence.exits.iter().map(absence).collect();
        Lowering {
            unit,
            residence,
            facts,
            machine: facts.machine(),
            b,
            frame,
            function,
            blocks: HashMap::new(),
            current: Unit::ENTRY,
            depths: Vec::new(),
            tests: HashSet::new(),
            locations: HashMap::new(),
            tagged_forms: HashMap::new(),
            fits: HashMap::new(),
            paths: vec![None; residence.exits.len()],
            absences,
            records: Vec::new(),
            ways_out: HashMap::new(),
            signatures: HashMap::new(),
            origins: Vec::new(),
            fuel: None,
        }
    }

    /// Lowers all blocks, then the exits.
    pub fn run(mut self, target: TargetFrontendConfig, start: Start) -> Lowered {
        let order = self.unit.reverse_post_order();
        self.depths = depths(self.unit, &order);
        self.tests = tests_for_branches(self.unit, &order);
        let has_calls = self.declare(&order);
        self.prologue(start, has_calls);
        for &block in &order {
            self.block(block);
        }
        (0..self.records.len()).for_each(|number| self.leave_by_record(number));
        for path in 0..self.paths.len() {
            if let Some(block) = self.paths[path] {
                self.exit_block(path, block);
            }
        }
        self.b.seal_all_blocks();
        let exits = self.records.iter().map(|record| self.describe(record, start)).collect();
        self.b.finalize(target);
        Lowered { exits, origins: self.origins }
    }

    /// Makes Cranelift's blocks, and a variable for each value that is loaded again. Answers whether there are calls.
    fn declare(&mut self, order: &[Block]) -> bool {
        let mut has_calls = false;
        let mut reloaded = HashSet::new();
        for &block in order {
            let lowered = self.b.create_block();
            self.blocks.insert(block, lowered);
            for &inst in &self.unit.block(block).instructions {
                let data = self.unit.inst(inst);
                has_calls |= data.op.effect() == Effect::Call;
                if let Op::Reload(_) = data.op {
                    reloaded.insert(self.unit.root(data.arguments[0]));
                }
                let slow = self.residence.of_allocation.get(&inst);
                let reloads = slow.iter().flat_map(|slow| &slow.reloads);
                reloaded.extend(reloads.map(|&(_, value)| self.unit.root(value)));
            }
        }
        let mut reloaded: Vec<Value> = reloaded.into_iter().collect();
        reloaded.sort_unstable();
        for value in reloaded {
            let variable = self.b.declare_var(I64);
            self.locations.insert(value, Location::Variable(variable));
        }
        has_calls
    }

    /// The words of the frame, with the parts of the objects that exits make.
    fn extent(&self) -> u32 {
        let ends = self.absences.iter().map(|absence| absence.end);
        ends.max().unwrap_or(0).max(self.unit.extent())
    }

    /// The frame must fit below the limit, which is also how the thread is asked to poll. The entry of a function counts
    /// as a poll, even if it is left here.
    fn prologue(&mut self, start: Start, has_calls: bool) {
        let words = i64::from(self.extent());
        let thread = self.thread();
        let limit = self.b.ins().load(I64, trusted(), thread, self.machine.limit);
        let end = self.b.ins().iadd_imm_s(self.frame, words * 8);
        let is_beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, limit);
        let cold = self.cold_block();
        if let Some(is_spent) = self.begin_fuel(start == Start::Function) {
            self.go_on_unless(is_spent, cold);
        }
        self.go_on_unless(is_beyond, cold);
        if has_calls {
            let floor = self.b.ins().load(I64, trusted(), thread, self.machine.floor);
            let top = self.b.ins().get_stack_pointer(I64);
            let is_low = self.b.ins().icmp(IntCC::UnsignedLessThan, top, floor);
            self.go_on_unless(is_low, cold);
        }
        let body = self.blocks[&Unit::ENTRY];
        self.b.ins().jump(body, &[]);
        self.b.switch_to_block(cold);
        self.store_fuel();
        match start {
            Start::Function => self.leave_by(Helper::Enter, self.function),
            Start::Loop(_) => {
                self.records.push(Record { path: None, reason: Reason::Poll, origin: None });
                let record = self.record(self.records.len() - 1);
                self.leave_by(Helper::Exit, record);
            }
        }
    }

    fn go_on_unless(&mut self, condition: ir::Value, cold: ir::Block) {
        let next = self.b.create_block();
        self.b.ins().brif(condition, cold, &[], next, &[]);
        self.b.switch_to_block(next);
    }

    /// Jumps to a stub that takes the frame and another argument.
    fn leave_by(&mut self, helper: Helper, argument: ir::Value) {
        let signature = self.signature(CallConv::Tail, 2);
        let stub = self.symbol(Symbol::Helper(helper));
        self.b.ins().return_call_indirect(signature, stub, &[self.frame, argument]);
    }

    fn block(&mut self, block: Block) {
        let lowered = self.blocks[&block];
        self.current = block;
        self.b.switch_to_block(lowered);
        let data = self.unit.block(block);
        for &parameter in &data.parameters {
            let kind = machine_type(self.unit.representation(parameter));
            let value = self.b.append_block_param(lowered, kind);
            self.define(parameter, value);
        }
        for &inst in &data.instructions {
            self.note_origin(self.unit.inst(inst).origin);
            self.instruction(inst);
        }
        self.end(block);
    }

    /// The code that follows is for this instruction of bytecode.
    fn note_origin(&mut self, origin: Option<Origin>) {
        let source = match origin {
            Some(origin) if self.origins.last() == Some(&origin) => self.origins.len() - 1,
            Some(origin) => {
                self.origins.push(origin);
                self.origins.len() - 1
            }
            None => return self.b.set_srcloc(SourceLoc::default()),
        };
        self.b.set_srcloc(SourceLoc::new(source as u32));
    }

    fn instruction(&mut self, inst: Inst) {
        let data = self.unit.inst(inst);
        let is_made_elsewhere =
            data.op.is_constant() || data.op.is_made_by_exits() || self.tests.contains(&inst);
        if is_made_elsewhere || data.op.refines() && !is_guard(data.op) {
            return;
        }
        let result = match data.op.effect() {
            Effect::Guard => self.guard(inst),
            Effect::Call => self.call(inst),
            Effect::Allocate => Some(self.allocate(inst)),
            Effect::Read | Effect::Write | Effect::Frame => self.memory(inst),
            Effect::Pure => Some(self.pure(inst)),
        };
        if let (Some(value), Some(result)) = (result, data.result)
            && !data.op.refines()
        {
            self.define(result, value);
        }
    }

    fn end(&mut self, block: Block) {
        let end = &self.unit.block(block).end;
        match end {
            End::Open => unreachable!("the verifier refuses open blocks"),
            End::Jump(jump) => {
                let arguments = self.arguments(jump);
                self.b.ins().jump(self.blocks[&jump.block], &arguments);
            }
            End::Branch(condition, then, otherwise) => {
                self.branch(*condition, then, otherwise);
            }
            End::Return(value) => {
                let value = self.get(*value);
                let word = self.as_bits(value);
                self.store_fuel();
                self.b.ins().return_(&[word]);
            }
            End::Exit(state) => {
                let path = self.residence.of_block[&block];
                let state = self.unit.state(*state);
                let opcode = Opcode::of_word(u32::from(self.opcode(state.activation, state.pc)));
                let is_expected = opcode.is_some_and(leaves);
                let reason = if is_expected { Reason::Baseline } else { Reason::Cold };
                let target = self.way_out(path, reason, None);
                self.b.ins().jump(target, &[]);
            }
        }
    }

    pub fn arguments(&mut self, jump: &Jump) -> Vec<BlockArg> {
        jump.arguments.iter().map(|&value| BlockArg::Value(self.get(value))).collect()
    }
}

/// Values.
impl Lowering<'_, '_> {
    /// Gives a value its definition.
    pub fn define(&mut self, value: Value, lowered: ir::Value) {
        match self.locations.get(&value) {
            Some(Location::Variable(variable)) => self.b.def_var(*variable, lowered),
            _ => {
                self.locations.insert(value, Location::Value(lowered));
            }
        }
    }

    /// A value where it is used.
    pub fn get(&mut self, value: Value) -> ir::Value {
        let value = self.unit.root(value);
        if let Some(inst) = self.unit.definition(value).filter(|inst| inst.op.is_constant()) {
            return self.constant(inst.op);
        }
        match self.locations.get(&value) {
            Some(Location::Value(lowered)) => *lowered,
            Some(Location::Variable(variable)) => self.b.use_var(*variable),
            None => unreachable!("the verifier has shown that {value} is defined"),
        }
    }

    /// The argument of an instruction with this index.
    pub fn argument(&mut self, inst: Inst, index: usize) -> ir::Value {
        self.get(self.unit.inst(inst).arguments[index])
    }

    /// A value of any type in a general register.
    pub fn as_bits(&mut self, value: ir::Value) -> ir::Value {
        match self.b.func.dfg.value_type(value) {
            F64 => self.b.ins().bitcast(I64, MemFlagsData::new(), value),
            I8 => self.b.ins().uextend(I64, value),
            _ => value,
        }
    }

    /// The bits of a general register as a value of a representation.
    pub fn of_bits(&mut self, bits: ir::Value, repr: Representation) -> ir::Value {
        match repr {
            Representation::F64 => self.b.ins().bitcast(F64, MemFlagsData::new(), bits),
            Representation::Bool => self.b.ins().icmp_imm_s(IntCC::NotEqual, bits, 0),
            _ => bits,
        }
    }

    pub fn thread(&mut self) -> ir::Value {
        self.b.ins().get_pinned_reg(I64)
    }

    /// The strand that runs.
    pub fn strand(&mut self) -> ir::Value {
        let thread = self.thread();
        self.b.ins().load(I64, trusted(), thread, self.machine.strand)
    }

    /// The address of a part of the runtime.
    pub fn symbol(&mut self, symbol: Symbol) -> ir::Value {
        let address = self.facts.address(symbol);
        self.b.ins().iconst(I64, address as i64)
    }

    pub fn signature(&mut self, convention: CallConv, parameters: usize) -> SigRef {
        let b = &mut self.b;
        let make = || b.import_signature(signature(convention, parameters));
        *self.signatures.entry((convention, parameters)).or_insert_with(make)
    }

    pub fn cold_block(&mut self) -> ir::Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }
}

/// Exits.
impl Lowering<'_, '_> {
    /// The block that leaves by a record.
    pub fn way_out(&mut self, path: usize, reason: Reason, origin: Option<Origin>) -> ir::Block {
        let record = Record { path: Some(path), reason, origin };
        if let Some(&block) = self.ways_out.get(&record) {
            return block;
        }
        let block = self.cold_block();
        self.ways_out.insert(record, block);
        self.records.push(record);
        if self.paths[path].is_none() {
            let stores = self.cold_block();
            self.b.append_block_param(stores, I64);
            self.paths[path] = Some(stores);
        }
        block
    }

    /// The address of the record with this number.
    fn record(&mut self, number: usize) -> ir::Value {
        self.symbol(Symbol::Exit(number as u32))
    }

    /// Gives a path to leave by the address of a record.
    fn leave_by_record(&mut self, number: usize) {
        let record = self.records[number];
        let path = record.path.and_then(|path| self.paths[path]);
        if let (Some(&way_out), Some(path)) = (self.ways_out.get(&record), path) {
            self.b.switch_to_block(way_out);
            self.note_origin(record.origin);
            let address = self.record(number);
            self.b.ins().jump(path, &[BlockArg::Value(address)]);
        }
    }

    /// Goes on if a condition has this truth, and leaves by a guard's exit otherwise.
    pub fn leave_unless(&mut self, inst: Inst, condition: ir::Value, wanted: bool, reason: Reason) {
        let exit = self.exit_of(inst, reason);
        self.go_on_if(condition, wanted, exit);
    }

    /// The block that leaves by a guard's exit.
    pub fn exit_of(&mut self, inst: Inst, reason: Reason) -> ir::Block {
        let origin = self.unit.inst(inst).origin;
        self.way_out(self.residence.of_guard[&inst], reason, origin)
    }

    /// Stores what the exit's state lacks in the frame, and leaves.
    fn exit_block(&mut self, path: usize, block: ir::Block) {
        self.b.switch_to_block(block);
        self.note_origin(None);
        self.store_fuel();
        let record = self.b.block_params(block)[0];
        let stores = &self.residence.exits[path].stores;
        self.store(stores);
        if self.absences[path].objects.is_empty() {
            self.box_doubles(record, &stores.values);
            return self.leave_by(Helper::Exit, record);
        }
        self.store_values(&self.absences[path].stores.clone());
        for (place, double) in self.doubles_of(path) {
            let raw = self.get(double);
            self.store_bits(place, raw);
        }
        self.leave_by(Helper::MakingExit, record);
    }

    /// Makes the words of doubles. If one of them needs a box, all are stored raw, and the runtime makes their words.
    fn box_doubles(&mut self, record: ir::Value, values: &[(Place, Value)]) {
        let mut doubles = Vec::new();
        let mut all_fit = None;
        for (place, double) in self.doubles(values) {
            let raw = self.get(double);
            let (word, fits) = self.tagged_double(raw);
            doubles.push((place, raw, word));
            all_fit = Some(match all_fit {
                Some(all) => self.b.ins().band(all, fits),
                None => fits,
            });
        }
        let Some(all_fit) = all_fit else { return };
        let (immediate, boxed) = (self.cold_block(), self.cold_block());
        self.b.ins().brif(all_fit, immediate, &[], boxed, &[]);
        self.b.switch_to_block(boxed);
        doubles.iter().for_each(|&(place, raw, _)| self.store_bits(place, raw));
        self.leave_by(Helper::MakingExit, record);
        self.b.switch_to_block(immediate);
        doubles.iter().for_each(|&(place, _, word)| self.store_bits(place, word));
    }

    /// The doubles of an exit, and of the objects that it makes.
    fn doubles_of(&self, path: usize) -> Vec<(Place, Value)> {
        let mut doubles = self.doubles(&self.residence.exits[path].stores.values);
        doubles.extend(self.doubles(&self.absences[path].stores));
        doubles
    }

    /// The doubles among values whose words are still to be made, and their places.
    fn doubles(&self, values: &[(Place, Value)]) -> Vec<(Place, Value)> {
        let double = |&(place, value): &(Place, Value)| Some((place, self.boxed(value)?));
        values.iter().filter_map(double).collect()
    }

    /// The double whose word a value is, if that is still to be made.
    fn boxed(&self, value: Value) -> Option<Value> {
        let inst = self.unit.definition(self.unit.root(value));
        Some(inst.filter(|inst| inst.op == Op::BoxDouble)?.arguments[0])
    }

    /// Stores in the frame what it must hold when machine code is left.
    pub fn store(&mut self, stores: &Stores) {
        self.store_values(&stores.values);
        stores.sites.iter().for_each(|&site| self.store_site(site));
    }

    /// Stores values, but for those that the exit makes afterwards.
    fn store_values(&mut self, values: &[(Place, Value)]) {
        for &(place, value) in values {
            let definition = self.unit.definition(self.unit.root(value));
            if !definition.is_some_and(|inst| inst.op.is_made_by_exits()) {
                self.store_frame(place, value);
            }
        }
    }

    fn describe(&self, record: &Record, start: Start) -> Exit {
        match (record.path, start) {
            (Some(path), _) => self.describe_path(path, record),
            (None, Start::Loop(pc)) => self.beginning(pc),
            (None, Start::Function) => unreachable!("such a unit has no exit before its start"),
        }
    }

    /// The exit of a loop's unit to where it begins, with nothing executed.
    fn beginning(&self, pc: u32) -> Exit {
        let function = self.unit.activations[0].function;
        Exit {
            function,
            pc,
            offset: 0,
            around: Vec::new(),
            doubles: Vec::new(),
            objects: Vec::new(),
            parts: (0, 0),
            reason: Reason::Poll,
            cause: Origin { function, pc },
        }
    }

    fn describe_path(&self, path: usize, record: &Record) -> Exit {
        let state = self.residence.exits[path].state;
        let innermost = self.unit.state(state);
        let activation = innermost.activation;
        let mut inner = offset(self.unit, activation);
        let mut around = Vec::new();
        for outer in self.unit.chain(state).skip(1) {
            let function = self.unit.activations[outer.activation.index()].function;
            let start = offset(self.unit, outer.activation);
            around.push(Outer { function, pc: outer.pc, distance: inner - start });
            inner = start;
        }
        around.reverse();
        let doubles = self.doubles_of(path);
        let absence = &self.absences[path];
        let function = self.unit.activations[activation.index()].function;
        Exit {
            function,
            pc: innermost.pc,
            offset: offset(self.unit, activation),
            around,
            doubles: doubles.into_iter().map(|(place, _)| place.0).collect(),
            objects: absence.objects.clone(),
            parts: (self.unit.extent(), absence.end - self.unit.extent()),
            reason: record.reason,
            cause: record.origin.unwrap_or(Origin { function, pc: innermost.pc }),
        }
    }
}

fn is_guard(op: Op) -> bool {
    op.effect() == Effect::Guard
}

/// Memory that is there, and aligned.
pub(super) fn trusted() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// The type of a representation in machine code.
pub(super) fn machine_type(repr: Representation) -> ir::Type {
    match repr {
        Representation::Word | Representation::I64 => I64,
        Representation::F64 => F64,
        Representation::Bool => I8,
    }
}
