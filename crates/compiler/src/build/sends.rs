//! Messages and calls: the feedback of a site decides. `control` calls this module for each send. One layout becomes a
//! guard and the action; several become branches; a site that has seen nothing leaves the unit, and one that has seen
//! too much sends through the runtime.

use squall_bytecode::entities::{FunctionId, Register};
use squall_bytecode::instructions::{Field, Opcode};

use crate::build::body::{Body, representation};
use crate::facts::{Action, Seen, SiteFacts};
use crate::ir::entities::{Block, FunctionRef, PrimitiveRef, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Layouts, Representation, Type};
use crate::ir::values::{Condition, Target};
use crate::ir::{End, Jump, Why};
use crate::passes::kinds;
use crate::words::{self, layouts};

/// A message, or a call.
pub(super) struct Message {
    /// The receiver and the arguments.
    pub operands: Vec<Value>,
    /// Where the callee's frame begins.
    pub window: Register,
}

impl Message {
    /// The same with a receiver of which more is known.
    pub fn with_receiver(&self, receiver: Value) -> Message {
        let operands = std::iter::once(receiver).chain(self.operands[1..].iter().copied());
        Message { operands: operands.collect(), window: self.window }
    }
}

/// A leaf takes at most so many words.
pub const MOST_LEAF_ARGUMENTS: usize = 2;

/// A short form takes at most so many words.
pub const MOST_SHORT_ARGUMENTS: usize = 4;

/// A site with more layouts sends through the runtime.
const MOST_BRANCHES: usize = 4;

impl Body<'_, '_> {
    /// A `send` of any form.
    pub fn send(&mut self) {
        let message = self.message();
        let facts = self.builder.facts.site(self.function_ref, self.instruction.pc as u32);
        if facts.seen.is_empty() && !facts.is_megamorphic {
            return self.exit();
        }
        let result = self.answer(&message, &facts);
        self.finish_call(result);
    }

    /// The operands of the current instruction, and its window.
    fn message(&self) -> Message {
        let registers = match self.instruction.opcode {
            Opcode::Send0 => vec![self.register(Field::B)],
            Opcode::Send1 => vec![self.register(Field::B), self.register(Field::C)],
            Opcode::Send2 => [Field::B, Field::C, Field::X2].map(|f| self.register(f)).to_vec(),
            _ => {
                let start = self.instruction.window().expect("the instruction has one").0;
                let count = self.instruction.count().unwrap_or(0) as u8;
                (start..start + count).map(Register).collect()
            }
        };
        let window = self.instruction.window().expect("the instruction has one");
        Message { operands: registers.into_iter().map(|each| self.get(each)).collect(), window }
    }

    fn finish_call(&mut self, result: Option<Value>) {
        self.destroy();
        if let Some(result) = result {
            self.define(result);
        }
    }

    /// The answer to a message, in the block that is current afterwards; none if no path goes on.
    fn answer(&mut self, message: &Message, facts: &SiteFacts) -> Option<Value> {
        if !facts.distrusts
            && let Some(value) = self.operator(message, facts)
        {
            return Some(value);
        }
        if let Some(value) = self.identity(message, facts) {
            return Some(value);
        }
        let receiver = message.operands[0];
        let seen = self.possible(receiver, facts);
        if seen.is_empty() && !facts.is_megamorphic && !facts.distrusts {
            // The site has not seen what is known to come here now.
            self.exit();
            return None;
        }
        if !self.can_switch(receiver, seen.len(), facts) {
            self.remark(if facts.distrusts { Why::Distrusted } else { Why::Megamorphic });
            return self.send_carefully(message, &seen, facts);
        }
        self.switch(receiver, &seen, |body, each, refined| {
            body.perform(each.action, &message.with_receiver(refined), refined, facts)
        })
    }

    /// What a site has seen that the receiver can be.
    pub fn possible(&self, receiver: Value, facts: &SiteFacts) -> Vec<Seen> {
        let known = self.known_layout(receiver);
        let fits = |each: &&Seen| known.is_none_or(|layout| each.layout == layout);
        facts.seen.iter().filter(fits).copied().collect()
    }

    /// Whether code for so many layouts is worth while.
    pub fn can_switch(&self, receiver: Value, count: usize, facts: &SiteFacts) -> bool {
        let is_certain = count == 1 && self.known_layout(receiver).is_some();
        let gives_up = facts.is_megamorphic || facts.distrusts || count > MOST_BRANCHES;
        count > 0 && (is_certain || !gives_up)
    }

    /// The layout that a value is known to have.
    fn known_layout(&self, value: Value) -> Option<u32> {
        let kind = self.kind(value);
        if let Some([layout]) = kind.layouts() {
            return Some(*layout);
        }
        let mut immediate = layouts::IMMEDIATE.into_iter();
        immediate.find(|&layout| kind != Type::NONE && kind.is(Type::of_layout(layout)))
    }

    /// Leaves unless a value has one of these layouts.
    pub fn guard_layouts(&mut self, value: Value, wanted: Layouts) -> Value {
        match wanted.list() {
            Some([layouts::INTEGER]) => self.guard(Op::GuardInteger, &[value]),
            Some([layouts::DOUBLE]) => self.guard(Op::GuardDouble, &[value]),
            Some([layouts::NIL]) => self.guard(Op::GuardNil, &[value]),
            Some([layouts::TRUE]) | Some([layouts::FALSE]) => {
                let word =
                    if wanted == Layouts::of(layouts::TRUE) { words::TRUE } else { words::FALSE };
                let constant = self.word(word);
                let same = self.emit(Op::Same, &[value, constant]);
                self.check(Op::Guard, same);
                // Not the constant: the frame has the value that was there, which earlier states name.
                self.emit(Op::Assume(wanted), &[value])
            }
            _ => self.guard(Op::GuardLayout(wanted), &[value]),
        }
    }

    /// Branches on the receiver's layout; the last of them is a guard. Answers the value of all branches.
    pub fn switch(
        &mut self,
        receiver: Value,
        seen: &[Seen],
        mut perform: impl FnMut(&mut Self, Seen, Value) -> Option<Value>,
    ) -> Option<Value> {
        if let [one] = *seen {
            let refined = self.guard_layouts(receiver, Layouts::of(one.layout));
            self.refine(receiver, refined);
            return perform(self, one, refined);
        }
        let state = self.state_before();
        let registers = self.registers.clone();
        let mut ends = Vec::new();
        let all = seen.iter().fold(Layouts::NONE, |all, each| all.with(each.layout));
        let is_last_known = self.kind(receiver).is(kinds::of_layouts(all));
        for (index, &each) in seen.iter().enumerate() {
            let wanted = Layouts::of(each.layout);
            let mut others = None;
            let refined = if index + 1 < seen.len() {
                let fits = self.emit(Op::HasLayout(wanted), &[receiver]);
                let (arm, other) = (self.builder.unit.add_block(), self.builder.unit.add_block());
                self.end(End::Branch(fits, Jump::to(arm), Jump::to(other)));
                others = Some(other);
                self.current = Some(arm);
                self.emit(Op::Assume(wanted), &[receiver])
            } else if is_last_known {
                self.emit(Op::Assume(wanted), &[receiver])
            } else {
                self.guard_layouts(receiver, wanted)
            };
            let value = perform(self, each, refined);
            if let (Some(value), Some(end)) = (value, self.current) {
                ends.push((end, value));
            }
            (self.current, self.state) = (others, Some(state));
            // What a branch has found out is not known elsewhere.
            self.registers.clone_from(&registers);
        }
        self.continue_after(ends)
    }

    /// Goes on where several paths have ended with a value.
    pub fn continue_after(&mut self, ends: Vec<(Block, Value)>) -> Option<Value> {
        let joined = self.builder.join(ends);
        self.current = joined.map(|(block, _)| block);
        self.state = None;
        joined.map(|(_, value)| value)
    }

    /// What a site does for a receiver whose layout is known.
    fn perform(
        &mut self,
        action: Action,
        message: &Message,
        receiver: Value,
        facts: &SiteFacts,
    ) -> Option<Value> {
        match action {
            Action::Method(function) => self.call_function(function, message),
            Action::LoadSlot(index) => Some(self.load_slot(receiver, index)),
            Action::LoadConstantSlot(index) => Some(self.load_constant_slot(receiver, index)),
            Action::StoreSlot(index) => {
                let value = message.operands[1];
                self.store_slot(receiver, index, value);
                Some(value)
            }
            Action::LoadClass(index) => {
                // Nothing writes the slot again, once it has the class.
                let class = self.load_constant_slot(receiver, index);
                Some(self.guard(Op::GuardNotNil, &[class]))
            }
            Action::Answer(word) => Some(self.word(word)),
            Action::AnswerReceiver => Some(receiver),
            Action::Primitive(primitive) => match self.intrinsic(primitive, message, facts) {
                Intrinsic::Value(value) => Some(value),
                Intrinsic::Ended => None,
                Intrinsic::Unknown => match self.leaf(primitive, message, facts) {
                    Some(value) => Some(value),
                    None => self.send_primitive(primitive, message, facts),
                },
            },
            Action::SlotIndex(_) | Action::Enclosing(_) | Action::Other => {
                self.remark(Why::Action);
                self.send_generally(message)
            }
        }
    }

    /// Sends to a receiver whose primitive has neither operations nor a leaf that is to be trusted.
    fn send_primitive(
        &mut self,
        primitive: PrimitiveRef,
        message: &Message,
        facts: &SiteFacts,
    ) -> Option<Value> {
        let is_short = message.operands.len() <= MOST_SHORT_ARGUMENTS
            && self.builder.facts.has_short_form(primitive);
        if is_short {
            return self.short_or_send(primitive, message);
        }
        self.remark(Why::Primitive(primitive));
        self.send_carefully(message, &facts.seen, facts)
    }

    /// The answer of a primitive's short form, if it has one; sends otherwise.
    fn short_or_send(&mut self, primitive: PrimitiveRef, message: &Message) -> Option<Value> {
        let state = self.state;
        let slow = self.builder.unit.add_block();
        let answer = self.emit(Op::TryShort(primitive), &message.operands);
        let answered = self.unless_none(answer, slow);
        (self.current, self.state) = (Some(slow), state);
        let sent = self.send_generally(message);
        let mut ends = vec![(answered, answer)];
        ends.extend(sent.and_then(|value| Some((self.current?, value))));
        self.continue_after(ends)
    }

    /// Sends without leaving the unit, whatever happens: by a leaf where it has an answer, otherwise through the runtime.
    fn send_carefully(
        &mut self,
        message: &Message,
        seen: &[Seen],
        facts: &SiteFacts,
    ) -> Option<Value> {
        let leaf_of = |each: &Seen| match each.action {
            Action::Primitive(primitive) if self.builder.facts.has_leaf(primitive) => {
                Some(primitive)
            }
            _ => None,
        };
        if let Some(value) = self.element_or_send(message, seen) {
            return value;
        }
        let primitive = seen.iter().find_map(leaf_of);
        let same = seen.iter().filter(|each| leaf_of(each).is_some_and(|p| Some(p) == primitive));
        let layouts = same.fold(Layouts::NONE, |all, each| all.with(each.layout));
        match primitive {
            Some(primitive)
                if message.operands.len() <= MOST_LEAF_ARGUMENTS && layouts.list().is_some() =>
            {
                self.leaf_or_send(primitive, layouts, message, facts)
            }
            _ => self.send_generally(message),
        }
    }

    /// For receivers of these layouts the answer of a primitive's leaf, if it has one; sends the others.
    fn leaf_or_send(
        &mut self,
        primitive: PrimitiveRef,
        layouts: Layouts,
        message: &Message,
        facts: &SiteFacts,
    ) -> Option<Value> {
        let state = self.state;
        let [attempt, slow] = [(); 2].map(|()| self.builder.unit.add_block());
        let mut ends = Vec::new();
        ends.extend(self.doubles_first(primitive, message, facts, slow));
        let fits = self.emit(Op::HasLayout(layouts), &[message.operands[0]]);
        self.end(End::Branch(fits, Jump::to(attempt), Jump::to(slow)));
        self.current = Some(attempt);
        let answer = self.emit(Op::TryLeaf(primitive), &message.operands);
        let answered = self.unless_none(answer, slow);
        (self.current, self.state) = (Some(slow), state);
        let sent = self.send_generally(message);
        ends.push((answered, answer));
        ends.extend(sent.and_then(|value| Some((self.current?, value))));
        self.continue_after(ends)
    }

    /// Reads or writes an element where the receiver is an array with that element, and sends otherwise. None if the
    /// site does not access elements.
    fn element_or_send(&mut self, message: &Message, seen: &[Seen]) -> Option<Option<Value>> {
        let writes = match seen.first()?.action {
            Action::Primitive(primitive) => match self.builder.facts.primitive(primitive) {
                "array:at:" => false,
                "array:at:put:" => true,
                _ => return None,
            },
            _ => return None,
        };
        let state = self.state;
        let slow = self.builder.unit.add_block();
        let array = self.unless_layout(message.operands[0], Layouts::of(layouts::ARRAY), slow);
        let index = self.unless_layout(message.operands[1], Layouts::of(layouts::INTEGER), slow);
        let (index, one) = (self.emit(Op::UntagInteger, &[index]), self.integer(1));
        let index = self.emit(Op::Subtract, &[index, one]);
        let length = self.emit(Op::Length, &[array]);
        let within = self.emit(Op::Compare(Condition::UnsignedLess), &[index, length]);
        self.go_on_if(within, slow);
        let value = if writes {
            self.store_element(array, index, message.operands[2]);
            message.operands[2]
        } else {
            self.load_element(array, index)
        };
        let mut ends = vec![(self.current.expect("an access goes on"), value)];
        (self.current, self.state) = (Some(slow), state);
        let sent = self.send_generally(message);
        ends.extend(sent.and_then(|value| Some((self.current?, value))));
        Some(self.continue_after(ends))
    }

    /// Goes on in a new block if a condition holds, and in `otherwise` if not.
    pub fn go_on_if(&mut self, condition: Value, otherwise: Block) {
        let next = self.builder.unit.add_block();
        self.end(End::Branch(condition, Jump::to(next), Jump::to(otherwise)));
        self.current = Some(next);
    }

    /// A value that has one of these layouts where this goes on; all others go on in `otherwise`.
    pub fn unless_layout(&mut self, value: Value, wanted: Layouts, otherwise: Block) -> Value {
        let fits = self.emit(Op::HasLayout(wanted), &[value]);
        self.go_on_if(fits, otherwise);
        self.emit(Op::Assume(wanted), &[value])
    }

    /// Goes on in the block that this answers, or in `slow` if an attempt has no answer.
    pub fn unless_none(&mut self, answer: Value, slow: Block) -> Block {
        let none = self.word(words::NO_ANSWER);
        let is_none = self.emit(Op::Same, &[answer, none]);
        let answered = self.builder.unit.add_block();
        self.end(End::Branch(is_none, Jump::to(slow), Jump::to(answered)));
        answered
    }

    /// Calls a primitive's leaf. Where that has no answer, the unit is left.
    fn leaf(
        &mut self,
        primitive: PrimitiveRef,
        message: &Message,
        facts: &SiteFacts,
    ) -> Option<Value> {
        let fits = message.operands.len() <= MOST_LEAF_ARGUMENTS;
        let does_doubles = self.has_doubles_first(primitive, facts);
        let pays =
            fits && !does_doubles && !facts.distrusts && self.builder.facts.has_leaf(primitive);
        pays.then(|| self.guard(Op::Leaf(primitive), &message.operands))
    }

    /// Sends through the runtime, which finds the method.
    pub fn send_generally(&mut self, message: &Message) -> Option<Value> {
        self.send_by(Op::Send(self.place(message.window)), message)
    }

    /// A call by this operation, at the site of the current instruction.
    pub fn send_by(&mut self, op: Op, message: &Message) -> Option<Value> {
        let state = self.state_in();
        let block = self.current.expect("a block is being built");
        let repr = Some(Representation::Word);
        let result = self.builder.emit_raw(block, op, &message.operands, Some(state), repr);
        self.state = None;
        result
    }

    /// A `call` of a function of the module.
    pub fn call(&mut self) {
        let index = FunctionId(self.field(Field::X));
        let function = self.builder.facts.callee(self.function_ref, index);
        if self.builder.facts.function(function).is_imported() {
            return self.generic();
        }
        let message = self.message();
        let result = self.call_function(function, &message);
        self.finish_call(result);
    }

    /// Runs a function: inlined if that pays, or by a call.
    pub fn call_function(&mut self, function: FunctionRef, message: &Message) -> Option<Value> {
        match self.obstacle(function, message.window) {
            None => return self.inline(function, message),
            Some(why) => self.remark(why),
        }
        let state = self.state_in();
        let block = self.current.expect("a block is being built");
        let target = Target { function, window: self.place(message.window) };
        let repr = Some(representation(self.builder.facts.function(function).result));
        let result =
            self.builder.emit_raw(block, Op::Call(target), &message.operands, Some(state), repr);
        self.state = None;
        result
    }

    /// A `primitive` instruction of the library.
    pub fn primitive(&mut self) {
        let site = self.builder.facts.site(self.function_ref, self.instruction.pc as u32);
        let Some(Seen { action: Action::Primitive(primitive), .. }) = site.seen.first().copied()
        else {
            return self.generic();
        };
        let message = self.message();
        let name = self.builder.facts.primitive(primitive).to_owned();
        let value = match self.operator_named(&name, &message, &site) {
            Some(value) => Intrinsic::Value(value),
            None => self.intrinsic(primitive, &message, &site),
        };
        match value {
            Intrinsic::Value(value) => self.finish_call(Some(value)),
            Intrinsic::Ended => {}
            Intrinsic::Unknown => match self.leaf(primitive, &message, &site) {
                Some(value) => self.finish_call(Some(value)),
                None => self.generic(),
            },
        }
    }
}

/// What came of an attempt to make operations of a primitive.
pub(super) enum Intrinsic {
    /// Its result.
    Value(Value),
    /// No path goes on.
    Ended,
    /// The primitive has no operations, or not for these operands.
    Unknown,
}
