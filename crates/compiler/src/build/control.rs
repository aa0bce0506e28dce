//! One bytecode at a time: the dispatch, values, branches, loops and returns. `body` calls `step` for each bytecode of
//! a block.

use squall_bytecode::entities::Register;
use squall_bytecode::instructions::{Field, Opcode};

use crate::build::body::{Body, representation};
use crate::facts::ConstantFact;
use crate::ir::entities::{StateId, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Layouts, Range, Representation, Type};
use crate::ir::values::{Bits, Cell, Condition, Place, WordBits};
use crate::ir::{End, Jump, State};
use crate::words;

/// Whether units are left before each instruction with this opcode: the activation itself changes, or code goes on in
/// several places.
pub fn leaves(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(
        opcode,
        ReturnNonlocal
            | EndProcess
            | Par
            | Branch
            | EndBranch
            | ParFor
            | Accept
            | EndAccept
            | Alt
            | AltPriority
            | AltRead
            | AltAfter
            | AltSkip
            | AltIf
            | AltEnd
            | Raise
    )
}

impl Body<'_, '_> {
    /// Builds the current instruction.
    pub fn step(&mut self) {
        use Opcode::*;
        match self.instruction.opcode {
            Move | ReadingEnd | WritingEnd => self.move_register(),
            LoadInteger => self.load_integer(),
            LoadSpecial => self.load_special(),
            LoadConstant => self.load_constant(),
            LoadRaw => self.load_raw(),
            Jump => self.go_to(self.target(0)),
            Loop => self.loop_to(self.target(0)),
            BranchTrue => self.branch_boolean(true),
            BranchFalse => self.branch_boolean(false),
            BranchNil => self.branch_nil(true),
            BranchNotNil => self.branch_nil(false),
            ForEnter => self.for_enter(),
            ForLoop => self.for_loop(),
            JumpIf | LoopIf => self.branch_raw(true),
            JumpUnless | LoopUnless => self.branch_raw(false),
            Return => self.return_value(),
            ReturnHome => self.return_home(),
            Send0 | Send1 | Send2 | Send => self.send(),
            Call => self.call(),
            Primitive => self.primitive(),
            LoadCaptured => self.load_captured(),
            MakeContext => self.make_context(),
            MakeHome => self.make_home(),
            LoadContext => self.load_context(),
            StoreContext => self.store_context(),
            MakeClosure => self.make_closure(),
            MakeArray => self.make_array(),
            Instantiate => self.instantiate(),
            InitializeSlot => self.initialize_slot(),
            Enclosing => self.enclosing(),
            CheckValue => self.check_value(),
            StoreElement => self.initialize_element(),
            Unbox | ConvertExact | MapGet => self.decide(),
            ReturnNonlocal => self.return_nonlocal(),
            ResumeUnwind => self.resume_unwind(),
            opcode if leaves(opcode) => self.leave_unit(),
            _ => {
                if !self.typed() {
                    self.generic();
                }
            }
        }
    }

    /// The baseline tier's helper executes the instruction in the frame.
    pub fn generic(&mut self) {
        let state = self.state_here();
        let block = self.current.expect("a block is being built");
        let defined = self.instruction.effects().defines;
        let repr = defined.map(|register| representation(self.register_type(register)));
        let op = Op::Instruction(self.destroyed());
        let result = self.builder.emit_raw(block, op, &[], Some(state), repr);
        self.destroy();
        self.state = None;
        if let Some(ended) = self.instruction.effects().ends {
            self.registers[ended.index()] = None;
        }
        if let (Some(register), Some(value)) = (defined, result) {
            self.set(register, value);
        }
    }

    /// The first place that holds nothing after the current instruction.
    pub fn destroyed(&self) -> Place {
        let end = Register(self.function.registers.len().min(255) as u8);
        self.place(self.instruction.effects().destroys_from.unwrap_or(end))
    }

    /// The same for an instruction that defines its destination, or jumps.
    fn decide(&mut self) {
        let state = self.state_here();
        let block = self.current.expect("a block is being built");
        let repr = Some(Representation::Bool);
        let jumped = self.builder.emit_raw(block, Op::Decide, &[], Some(state), repr);
        self.state = None;
        let jumped = jumped.expect("it has a result");
        let destination = self.register(Field::A);
        let after = self.builder.unit.add_block();
        let then = self.jump(self.target(0));
        self.end(End::Branch(jumped, then, crate::ir::Jump::to(after)));
        self.current = Some(after);
        let op = Op::LoadFrame(self.place(destination));
        let repr = Some(representation(self.register_type(destination)));
        let value = self.builder.emit_raw(after, op, &[], None, repr);
        self.set(destination, value.expect("it has a result"));
    }

    pub fn register(&self, field: Field) -> Register {
        self.instruction.register(field)
    }

    /// The value of the register that a field names.
    pub fn operand(&self, field: Field) -> Value {
        self.get(self.register(field))
    }

    /// The unsigned value of a field.
    pub fn field(&self, field: Field) -> u32 {
        field.extract(&self.padded())
    }

    fn signed(&self, field: Field) -> i64 {
        i64::from(field.extract_signed(&self.padded()))
    }

    fn padded(&self) -> [u32; 3] {
        let mut words = [0; 3];
        let given = self.instruction.words();
        words[..given.len()].copy_from_slice(given);
        words
    }

    /// Gives the destination its value.
    pub fn define(&mut self, value: Value) {
        self.set(self.register(Field::A), value);
    }

    /// A constant word.
    pub fn word(&mut self, word: u64) -> Value {
        self.emit(Op::Word(WordBits(word)), &[])
    }

    /// A constant raw integer.
    pub fn integer(&mut self, value: i64) -> Value {
        self.emit(Op::Integer(value), &[])
    }
}

/// Values.
impl Body<'_, '_> {
    /// A list that is moved is shared from then on, which the helper notes in it.
    fn move_register(&mut self) {
        let kind = self.register_type(self.register(Field::A));
        let is_move = self.instruction.opcode == Opcode::Move;
        if is_move && kind.defined().is_some() {
            return self.generic();
        }
        let value = self.operand(Field::B);
        self.define(value);
    }

    fn load_integer(&mut self) {
        let value = self.signed(Field::Bc);
        let word = words::integer_word(value).expect("sixteen bits fit");
        let value = self.word(word);
        self.define(value);
    }

    fn load_special(&mut self) {
        let word = [words::NIL, words::FALSE, words::TRUE][self.field(Field::B) as usize];
        let value = self.word(word);
        self.define(value);
    }

    fn load_constant(&mut self) {
        let constant = self.instruction.constant().expect("the instruction has one");
        let value = match self.builder.facts.constant(self.function_ref, constant) {
            ConstantFact::Word(word) => self.word(word),
            ConstantFact::Object => {
                self.emit(Op::Cell(Cell::Constant(self.function_ref, constant.0)), &[])
            }
            ConstantFact::Raw(_) | ConstantFact::Unmade => return self.exit(),
        };
        self.define(value);
    }

    fn load_raw(&mut self) {
        let constant = self.instruction.constant().expect("the instruction has one");
        let fact = self.builder.facts.constant(self.function_ref, constant);
        let ConstantFact::Raw(bits) = fact else { return self.exit() };
        let value = match representation(self.register_type(self.register(Field::A))) {
            Representation::F64 => self.emit(Op::Float(Bits(bits)), &[]),
            _ => self.integer(bits as i64),
        };
        self.define(value);
    }
}

/// Branches.
impl Body<'_, '_> {
    /// Jumps backwards, after a poll. The state is that at the target, where no instruction is in progress.
    fn loop_to(&mut self, target: usize) {
        self.poll(target);
        self.go_to(target);
    }

    fn poll(&mut self, target: usize) {
        let state = self.state_at(self.pc_of(target));
        let block = self.current.expect("a block is being built");
        if self.builder.counts_polls() {
            self.builder.emit(block, Op::ChargeTurn, &[], Some(state));
        }
        self.builder.emit(block, Op::Poll, &[], Some(state));
    }

    /// A branch on a condition: the sides that were never taken leave the unit.
    fn branch(&mut self, condition: Value, target: usize, next: usize, taken: (bool, bool)) {
        match taken {
            (true, true) => {
                let then = self.side(target);
                let otherwise = self.jump(next);
                self.end(End::Branch(condition, then, otherwise));
            }
            (true, false) => {
                self.check(Op::Guard, condition);
                let then = self.side(target);
                self.end(End::Jump(then));
            }
            (false, true) => {
                self.check(Op::GuardNot, condition);
                self.go_to(next);
            }
            (false, false) => self.exit(),
        }
    }

    /// A jump to a target of the current branch; if it leads backwards, through a block that polls.
    fn side(&mut self, target: usize) -> Jump {
        if !self.instruction.opcode.polls() {
            return self.jump(target);
        }
        let branching = self.current;
        let state = self.state;
        let block = self.builder.unit.add_block();
        self.current = Some(block);
        self.loop_to(target);
        (self.current, self.state) = (branching, state);
        Jump::to(block)
    }

    fn taken(&self) -> (bool, bool, bool) {
        let pc = self.instruction.pc as u32;
        let facts = self.builder.facts.branch(self.function_ref, pc);
        (facts.taken, facts.fell_through, facts.otherwise)
    }

    fn branch_boolean(&mut self, jumps_on: bool) {
        let (taken, fell_through, otherwise) = self.taken();
        if !taken && !fell_through && !otherwise {
            return self.exit();
        }
        let mut value = self.operand(Field::A);
        if otherwise && !self.kind(value).is(Type::BOOLEAN) {
            value = self
                .split(value, Layouts::NONE.with(words::layouts::TRUE).with(words::layouts::FALSE));
            if self.current.is_none() {
                return;
            }
        }
        let guarded = self.guard(Op::GuardBoolean, &[value]);
        self.refine(value, guarded);
        let mut condition = self.emit(Op::UntagBoolean, &[guarded]);
        if !jumps_on {
            condition = self.emit(Op::Not, &[condition]);
        }
        self.branch(condition, self.target(0), self.next(), (taken, fell_through));
    }

    /// Goes to the branch's second target unless the value has one of these layouts.
    fn split(&mut self, value: Value, layouts: Layouts) -> Value {
        let fits = self.emit(Op::HasLayout(layouts), &[value]);
        let after = self.builder.unit.add_block();
        let otherwise = self.jump(self.target(1));
        self.end(End::Branch(fits, Jump::to(after), otherwise));
        self.current = Some(after);
        self.state = None;
        value
    }

    fn branch_nil(&mut self, jumps_on: bool) {
        let (taken, fell_through, otherwise) = self.taken();
        if otherwise || (!taken && !fell_through) {
            return self.exit();
        }
        let value = self.operand(Field::A);
        let plain = self.guard(Op::GuardPlain, &[value]);
        let nil = self.word(words::NIL);
        let mut condition = self.emit(Op::Same, &[plain, nil]);
        if !jumps_on {
            condition = self.emit(Op::Not, &[condition]);
        }
        // What is known on each side: nil, or an object that is not.
        let (on_nil, on_other) =
            if jumps_on { (taken, fell_through) } else { (fell_through, taken) };
        if !on_nil && on_other {
            let refined = self.guard(Op::GuardNotNil, &[plain]);
            self.refine(value, refined);
            return self.go_to(if jumps_on { self.next() } else { self.target(0) });
        }
        self.branch(condition, self.target(0), self.next(), (taken, fell_through));
    }

    /// A jump on a raw Boolean.
    fn branch_raw(&mut self, jumps_on: bool) {
        let (taken, fell_through, _) = self.taken();
        let value = self.operand(Field::A);
        let mut condition = self.emit(Op::Test, &[value]);
        if !jumps_on {
            condition = self.emit(Op::Not, &[condition]);
        }
        self.branch(condition, self.target(0), self.next(), (taken, fell_through));
    }
}

/// Counting loops.
impl Body<'_, '_> {
    /// Counter and limit are small integers from here on; other limits leave the unit.
    fn for_enter(&mut self) {
        let step = self.signed(Field::C);
        let (taken, fell_through, otherwise) = self.taken();
        if otherwise || step == 0 || (!taken && !fell_through) {
            return self.exit();
        }
        let (counter, limit) = (self.operand(Field::A), self.operand(Field::B));
        let guarded = self.guard(Op::GuardInteger, &[counter]);
        self.refine(counter, guarded);
        let to = self.guard(Op::GuardInteger, &[limit]);
        self.set(self.register(Field::B), to);
        let (from, to) =
            (self.emit(Op::UntagInteger, &[guarded]), self.emit(Op::UntagInteger, &[to]));
        let beyond = if step > 0 { Condition::Greater } else { Condition::Less };
        let condition = self.emit(Op::Compare(beyond), &[from, to]);
        self.branch(condition, self.target(0), self.next(), (taken, fell_through));
    }

    /// The loop goes on if the counter is at most the limit less the step. Then the next counter is at most the limit, and
    /// so a small integer. At the end it may be none: then the counter keeps its value.
    fn for_loop(&mut self) {
        let step = self.signed(Field::C);
        let (counter, limit) = (self.operand(Field::A), self.operand(Field::B));
        let counter = self.guard(Op::GuardInteger, &[counter]);
        let limit = self.guard(Op::GuardInteger, &[limit]);
        let from = self.emit(Op::UntagInteger, &[counter]);
        let to = self.emit(Op::UntagInteger, &[limit]);
        let step_value = self.integer(step);
        let last = self.emit(Op::Subtract, &[to, step_value]);
        let within = if step > 0 { Condition::LessOrEqual } else { Condition::GreaterOrEqual };
        let condition = self.emit(Op::Compare(within), &[from, last]);
        match self.taken() {
            (true, true, _) => {
                let state = self.state_before();
                let (again, done) = (self.builder.unit.add_block(), self.builder.unit.add_block());
                self.end(End::Branch(condition, Jump::to(again), Jump::to(done)));
                self.current = Some(again);
                self.count_on(from, step_value);
                (self.current, self.state) = (Some(done), Some(state));
                self.count_out(from, step_value);
            }
            (true, false, _) => {
                self.check(Op::Guard, condition);
                self.count_on(from, step_value);
            }
            (false, true, _) => {
                self.check(Op::GuardNot, condition);
                self.count_out(from, step_value);
            }
            (false, false, _) => self.exit(),
        }
    }

    fn count_on(&mut self, from: Value, step: Value) {
        let next = self.emit(Op::Add, &[from, step]);
        let next = self.emit(Op::AssumeWithin(Range::SMALL), &[next]);
        let word = self.emit(Op::TagInteger, &[next]);
        self.set(self.register(Field::A), word);
        self.loop_to(self.target(0));
    }

    fn count_out(&mut self, from: Value, step: Value) {
        let next = self.guard(Op::AddSmall, &[from, step]);
        let word = self.emit(Op::TagInteger, &[next]);
        self.set(self.register(Field::A), word);
        self.go_to(self.next());
    }
}

/// Returns.
impl Body<'_, '_> {
    fn return_value(&mut self) {
        let value = self.operand(Field::A);
        self.leave(value);
    }

    /// Returns from the activation that the marker stands for. If it is one of this unit, code goes on after its call, as all
    /// between are in the unit, too, and have no regions; otherwise the stack is unwound outside of the unit.
    fn return_nonlocal(&mut self) {
        let (value, marker) = (self.operand(Field::A), self.operand(Field::B));
        let Some((home, markers)) = self.activations_until(marker) else {
            return self.leave_unit();
        };
        let layout = Layouts::of(words::layouts::HOME);
        let markers: Vec<Value> =
            markers.into_iter().map(|each| self.guard(Op::GuardLayout(layout), &[each])).collect();
        let nil = self.word(words::NIL);
        for marker in markers {
            self.store(Op::StoreSlot(Place(0)), &[marker, nil]);
        }
        let &State { activation, parent, .. } = self.builder.unit.state(home);
        match parent {
            Some(_) => {
                let current = self.current.take().expect("a block is being built");
                self.builder.early_returns.push((activation, current, value));
            }
            None => self.end(End::Return(value)),
        }
    }

    /// The state of the caller that a marker stands for, and the markers of all that are left if it is returned from; none,
    /// if the stack has to be unwound: through the unit's callers, or through a region.
    fn activations_until(&self, marker: Value) -> Option<(StateId, Vec<Value>)> {
        let unit = &self.builder.unit;
        let wanted = unit.root(marker);
        let mut markers = Vec::new();
        let (mut left, mut outer) = (self.function, self.parent);
        while let Some(id) = outer.filter(|_| left.regions.is_empty()) {
            let state = unit.state(id);
            let function =
                self.builder.facts.function(unit.activations[state.activation.index()].function);
            let of_home = |each: &&(Register, Value)| Some(each.0) == function.home;
            if let Some(&(_, home)) = state.registers.iter().find(of_home) {
                markers.push(home);
                if unit.root(home) == wanted {
                    let is_plain = function.regions.is_empty() && function.result.is_tagged();
                    return is_plain.then_some((id, markers));
                }
            }
            (left, outer) = (function, state.parent);
        }
        None
    }

    /// The end of an `ensure` region's handler. Unwinding enters handlers in base code, so here nothing is being unwound. A
    /// strand that is to end was not stopped by a poll in the handler: it stops now.
    fn resume_unwind(&mut self) {
        let token = self.operand(Field::A);
        self.guard(Op::GuardNil, &[token]);
        let state = self.state_here();
        let block = self.current.expect("a block is being built");
        self.builder.emit(block, Op::GuardNotKilled, &[], Some(state));
    }

    /// Leaves the activation with a value.
    fn leave(&mut self, value: Value) {
        match (self.parent, self.current) {
            (Some(_), Some(current)) => {
                self.returns.push((current, value));
                self.current = None;
            }
            _ => self.end(End::Return(value)),
        }
    }

    /// Marks the home as left: its first slot becomes nil.
    fn return_home(&mut self) {
        let (value, home) = (self.operand(Field::A), self.operand(Field::B));
        let home = self.guard(Op::GuardLayout(Layouts::of(words::layouts::HOME)), &[home]);
        let nil = self.word(words::NIL);
        self.store(Op::StoreSlot(Place(0)), &[home, nil]);
        self.leave(value);
    }
}
