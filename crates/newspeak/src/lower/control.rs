//! Inlined control structures: lowers the sends that `inlining` has recognised. `expressions` calls this module.
//!
//! `a < b ifTrue: [ … ]` becomes a branch, with the block's code in the function. That presumes a Boolean receiver,
//! which is known at run time only; so each branch has a guard, a second target for all other receivers. There, out of
//! line after the function's end, the *cold path* makes closures of the blocks and sends the real message.
//!
//! The closures of a cold path are compiled in plain mode, that is, without inlining, which bounds the code that nested
//! control structures duplicate. Variables that the blocks share with the function may be in registers; the cold path
//! copies those that change to a context before the send, and back after it. This differs from a send that was never
//! inlined only if the receiver keeps a block and runs it after the send has returned: then the block has variables of
//! its own.

use squall_bytecode::builder::Label;
use squall_bytecode::entities::{FunctionId, Register};
use squall_bytecode::instructions::{Opcode, Special};
use squall_bytecode::module::{Access, Site};

use super::Lowering;
use super::expressions::Source;
use super::function::{Captured, ColdContext, ContextId, Home, Mode, Variable, nth};
use super::inlining::{Inlined, literal_block};
use crate::ast::ExpressionKind;
use crate::entities::{BlockId, ExpressionId, MessageId};

/// Code to be placed after the function's end.
#[derive(Clone, Debug)]
pub struct ColdPath {
    /// Its start.
    label: Label,
    /// Its work.
    work: ColdWork,
    /// Its continuation.
    exit: ColdExit,
    /// The variables in scope at the guard.
    variables: Vec<Variable>,
    contexts: Vec<(ContextId, Register)>,
    top: usize,
}

#[derive(Clone, Debug)]
enum ColdWork {
    /// Sends the message that was inlined.
    Send {
        receiver: Register,
        message: MessageId,
        /// Arguments that were evaluated before, by their index.
        evaluated: Option<(usize, Register)>,
        destination: Option<Register>,
    },
    /// Complains about the condition of a loop.
    MustBeBoolean { condition: Register, message: MessageId },
}

#[derive(Clone, Copy, Debug)]
enum ColdExit {
    /// Jumps to the end of the control structure.
    Join(Label),
    /// Branches on the result.
    Branch(Branches, Register),
}

/// The targets of a condition.
#[derive(Clone, Copy, Debug)]
struct Branches {
    on_true: Label,
    on_false: Label,
    /// The target for values other than Booleans.
    otherwise: Label,
    /// Which of the first two is the next instruction.
    falls_through: bool,
}

impl Lowering<'_> {
    /// A control structure; without destination, for its effect.
    pub fn inline(
        &mut self,
        inlined: Inlined,
        source: Source,
        message: MessageId,
        destination: Option<Register>,
    ) {
        match inlined {
            Inlined::Conditional { on_true, on_false } => {
                self.conditional((on_true, on_false), source, message, destination);
            }
            Inlined::And(block) => self.short_circuit(block, true, source, message, destination),
            Inlined::Or(block) => self.short_circuit(block, false, source, message, destination),
            Inlined::While { condition, body, goes_on } => {
                self.while_loop(condition, body, goes_on, message);
                self.set_nil(destination);
            }
            Inlined::Count { limit, step, body } => {
                self.counting_loop((limit, step, body), source, message, destination);
            }
            Inlined::Repeat(body) => self.repetition(body, source, message, destination),
            Inlined::NilTest { on_nil, on_value } => {
                self.nil_test((on_nil, on_value), source, message, destination);
            }
        }
    }

    /// A block's code as part of the function, its parameters being in these registers; without
    /// destination, for its effect. Answers whether control can reach the end.
    pub fn inline_block(
        &mut self,
        id: BlockId,
        arguments: &[Register],
        destination: Option<Register>,
    ) -> bool {
        let block = &self.ast[id];
        self.scoped(|lowering| {
            let mut declarations = Vec::new();
            for (parameter, &argument) in block.parameters.iter().zip(arguments) {
                declarations.extend(lowering.parameter_declarations(&[*parameter], argument));
            }
            declarations.extend(lowering.body_declarations(&block.body, &block.parameters));
            lowering.open_scope_of(&declarations, Some(block.span));
            lowering.statements(&block.body, destination)
        })
    }

    fn set_nil(&mut self, destination: Option<Register>) {
        if let Some(destination) = destination {
            self.function().emit_special(destination, Special::Nil);
        }
    }

    fn set(&mut self, destination: Option<Register>, register: Register) {
        if let Some(destination) = destination {
            self.function().emit_move(destination, register);
        }
    }

    fn label(&mut self) -> Label {
        self.function().builder.label()
    }

    fn bind(&mut self, label: Label) {
        self.function().builder.bind(label);
    }

    /// The receiver's register.
    fn source_value(&mut self, source: Source, later: &[ExpressionId]) -> Register {
        match source {
            Source::Register(register) => register,
            Source::Expression(expression) => self.operand(expression, later),
        }
    }
}

/// Conditionals.
impl Lowering<'_> {
    fn conditional(
        &mut self,
        (on_true, on_false): (Option<BlockId>, Option<BlockId>),
        source: Source,
        message: MessageId,
        destination: Option<Register>,
    ) {
        let end = self.label();
        let branches = Branches {
            on_true: self.label(),
            on_false: self.label(),
            otherwise: self.label(),
            falls_through: on_true.is_some(),
        };
        let receiver = self.condition_of(source, branches);
        let (first, second) =
            if on_true.is_some() { (on_true, on_false) } else { (on_false, None) };
        let (first_label, second_label) = match branches.falls_through {
            true => (branches.on_true, branches.on_false),
            false => (branches.on_false, branches.on_true),
        };
        self.cold_send(branches.otherwise, receiver, message, None, destination, end);
        self.bind(first_label);
        self.way_begins(message, 0);
        let completes = self.optional_block(first, destination);
        if completes && (second.is_some() || destination.is_some() || self.has_probes()) {
            self.function().emit_jump(end);
        }
        self.bind(second_label);
        self.way_begins(message, 1);
        self.optional_block(second, destination);
        self.bind(end);
    }

    /// A branch's block, or nil for a missing one.
    fn optional_block(&mut self, block: Option<BlockId>, destination: Option<Register>) -> bool {
        match block {
            Some(block) => self.inline_block(block, &[], destination),
            None => {
                self.set_nil(destination);
                true
            }
        }
    }

    /// Lowers a condition; answers the register in which anything that is no Boolean arrives.
    fn condition_of(&mut self, source: Source, branches: Branches) -> Register {
        match source {
            Source::Register(register) => {
                self.branch(register, branches);
                register
            }
            Source::Expression(expression) => {
                if self.jumping_operand(expression).is_some() {
                    let value = self.function().allocate();
                    self.condition(expression, branches, value);
                    return value;
                }
                let value = self.value(expression, None);
                self.branch(value, branches);
                value
            }
        }
    }

    /// Lowers a condition whose value, if it is no Boolean, arrives in a given register.
    fn condition(&mut self, expression: ExpressionId, branches: Branches, value: Register) {
        let Some((is_and, left, message, right)) = self.jumping_operand(expression) else {
            self.value(expression, Some(value));
            return self.branch(value, branches);
        };
        let middle = self.label();
        let cold = self.label();
        let first = if is_and {
            Branches { on_true: middle, otherwise: cold, falls_through: true, ..branches }
        } else {
            Branches { on_false: middle, otherwise: cold, falls_through: false, ..branches }
        };
        self.condition(left, first, value);
        self.add_cold_path(
            cold,
            ColdWork::Send { receiver: value, message, evaluated: None, destination: Some(value) },
            ColdExit::Branch(branches, value),
        );
        self.bind(middle);
        self.condition(right, branches, value);
    }

    /// Takes `a and: [ b ]` or `a or: [ b ]` apart, whose value need not be made to branch on it.
    fn jumping_operand(
        &mut self,
        expression: ExpressionId,
    ) -> Option<(bool, ExpressionId, MessageId, ExpressionId)> {
        if self.has_probes() {
            // The ways of both structures are counted apart.
            return None;
        }
        let ast = self.ast;
        let ExpressionKind::Send { receiver, message } = ast[expression].kind else { return None };
        let crate::ast::Receiver::Expression(left) = receiver else { return None };
        let (is_and, block) = match Inlined::of(ast, receiver, &ast[message])? {
            Inlined::And(block) => (true, block),
            Inlined::Or(block) => (false, block),
            _ => return None,
        };
        let body = &ast[block].body;
        match ast[body.statements] {
            [right] if body.locals.is_empty() && body.returned.is_none() => {
                Some((is_and, left, message, right))
            }
            _ => None,
        }
    }

    /// Branches on a register.
    fn branch(&mut self, value: Register, branches: Branches) {
        let (opcode, target) = match branches.falls_through {
            true => (Opcode::BranchFalse, branches.on_false),
            false => (Opcode::BranchTrue, branches.on_true),
        };
        let operands = [value.into(), target.into(), branches.otherwise.into()];
        self.function().emit(opcode, &operands);
    }

    /// `and:` and `or:` for their value.
    fn short_circuit(
        &mut self,
        block: BlockId,
        goes_on: bool,
        source: Source,
        message: MessageId,
        destination: Option<Register>,
    ) {
        // The block may read the wanted register, so the result is made elsewhere.
        let result = self.function().allocate();
        match source {
            Source::Register(register) => self.function().emit_move(result, register),
            Source::Expression(expression) => _ = self.value(expression, Some(result)),
        }
        let (skips, end, otherwise) = (self.label(), self.label(), self.label());
        let opcode = if goes_on { Opcode::BranchFalse } else { Opcode::BranchTrue };
        self.function().emit(opcode, &[result.into(), skips.into(), otherwise.into()]);
        self.cold_send(otherwise, result, message, None, Some(result), end);
        self.way_begins(message, 0);
        let completes = self.inline_block(block, &[], Some(result));
        if completes && self.has_probes() {
            self.function().emit_jump(end);
        }
        self.bind(skips);
        self.way_begins(message, 1);
        self.bind(end);
        self.set(destination, result);
    }

    fn nil_test(
        &mut self,
        (on_nil, on_value): (Option<BlockId>, Option<BlockId>),
        source: Source,
        message: MessageId,
        destination: Option<Register>,
    ) {
        let tested = self.function().allocate();
        match source {
            Source::Register(register) => self.function().emit_move(tested, register),
            Source::Expression(expression) => _ = self.value(expression, Some(tested)),
        }
        let (other, end, otherwise) = (self.label(), self.label(), self.label());
        let opcode = if on_value.is_some() { Opcode::BranchNil } else { Opcode::BranchNotNil };
        self.function().emit(opcode, &[tested.into(), other.into(), otherwise.into()]);
        self.cold_send(otherwise, tested, message, None, destination, end);
        self.way_begins(message, 0);
        let completes = match (on_value, on_nil) {
            (Some(block), _) => self.inline_block(block, &[tested], destination),
            (None, block) => self.optional_block(block, destination),
        };
        if completes {
            self.function().emit_jump(end);
        }
        self.bind(other);
        self.way_begins(message, 1);
        match on_value {
            // The result is nil or, if there is no block for values, the receiver itself.
            Some(_) => _ = self.optional_block(on_nil, destination),
            None => self.set(destination, tested),
        }
        self.bind(end);
    }
}

/// Loops.
impl Lowering<'_> {
    fn while_loop(
        &mut self,
        condition: BlockId,
        body: Option<BlockId>,
        goes_on: bool,
        message: MessageId,
    ) {
        let head = self.label();
        let (inside, exit) = (self.label(), self.label());
        let branches = Branches {
            on_true: if goes_on { inside } else { exit },
            on_false: if goes_on { exit } else { inside },
            otherwise: self.label(),
            falls_through: goes_on,
        };
        self.bind(head);
        let top = self.function().top;
        let value = self.function().allocate();
        self.block_condition(condition, branches, value);
        self.add_cold_path(
            branches.otherwise,
            ColdWork::MustBeBoolean { condition: value, message },
            ColdExit::Branch(branches, value),
        );
        self.bind(inside);
        self.way_begins(message, 0);
        if let Some(body) = body {
            self.inline_block(body, &[], None);
        }
        self.function().emit(Opcode::Loop, &[head.into()]);
        self.bind(exit);
        self.way_begins(message, 1);
        self.function().release_to(top);
    }

    /// A literal block as a condition: its last expression decides.
    fn block_condition(&mut self, id: BlockId, branches: Branches, value: Register) {
        let ast = self.ast;
        let body = &ast[id].body;
        match ast[body.statements] {
            [condition] if body.locals.is_empty() && body.returned.is_none() => {
                self.statement_begins(ast[condition].span);
                self.condition(condition, branches, value);
            }
            _ => {
                if self.inline_block(id, &[], Some(value)) {
                    self.branch(value, branches);
                }
            }
        }
    }

    fn counting_loop(
        &mut self,
        (limit, step, body): (ExpressionId, i8, BlockId),
        source: Source,
        message: MessageId,
        destination: Option<Register>,
    ) {
        let receiver = self.source_value(source, &[limit]);
        let counter = self.function().allocate();
        self.function().emit_move(counter, receiver);
        let limit_register = self.function().allocate();
        self.value(limit, Some(limit_register));
        let result = destination.map(|_| {
            let copy = self.function().allocate();
            self.function().emit_move(copy, counter);
            copy
        });
        let evaluated = Some((0, limit_register));
        let end = self.loop_between(counter, limit_register, step, body, |lowering, cold, end| {
            lowering.cold_send(cold, counter, message, evaluated, result, end);
        });
        self.bind(end);
        if let (Some(destination), Some(result)) = (destination, result) {
            self.function().emit_move(destination, result);
        }
    }

    fn repetition(
        &mut self,
        body: BlockId,
        source: Source,
        message: MessageId,
        destination: Option<Register>,
    ) {
        let times = self.source_value(source, &[]);
        let counter = self.function().allocate();
        self.function().emit(Opcode::LoadInteger, &[counter.into(), 1.into()]);
        let limit = self.function().allocate();
        self.function().emit_move(limit, times);
        let result = destination.map(|_| {
            let copy = self.function().allocate();
            self.function().emit_move(copy, limit);
            copy
        });
        let end = self.loop_between(counter, limit, 1, body, |lowering, cold, end| {
            lowering.cold_send(cold, limit, message, None, result, end);
        });
        self.bind(end);
        if let (Some(destination), Some(result)) = (destination, result) {
            self.function().emit_move(destination, result);
        }
    }

    /// The loop over a counter; the block takes the counter or nothing. Answers the label of the
    /// end, to be bound.
    fn loop_between(
        &mut self,
        counter: Register,
        limit: Register,
        step: i8,
        body: BlockId,
        cold_send: impl FnOnce(&mut Self, Label, Label),
    ) -> Label {
        let (again, end, cold) = (self.label(), self.label(), self.label());
        let step = i64::from(step);
        let operands = [counter.into(), limit.into(), step.into(), end.into(), cold.into()];
        self.function().emit(Opcode::ForEnter, &operands);
        cold_send(self, cold, end);
        self.bind(again);
        self.inline_block(body, &[counter], None);
        let operands = [counter.into(), limit.into(), step.into(), again.into()];
        self.function().emit(Opcode::ForLoop, &operands);
        end
    }
}

/// Cold paths.
impl Lowering<'_> {
    fn cold_send(
        &mut self,
        label: Label,
        receiver: Register,
        message: MessageId,
        evaluated: Option<(usize, Register)>,
        destination: Option<Register>,
        join: Label,
    ) {
        let work = ColdWork::Send { receiver, message, evaluated, destination };
        self.add_cold_path(label, work, ColdExit::Join(join));
    }

    fn add_cold_path(&mut self, label: Label, work: ColdWork, exit: ColdExit) {
        let function = self.function();
        let path = ColdPath {
            label,
            work,
            exit,
            variables: function.variables.clone(),
            contexts: function.contexts.clone(),
            top: function.top,
        };
        function.cold_paths.push(path);
    }

    /// Emits the cold paths of the innermost function.
    pub fn emit_cold_paths(&mut self) {
        for path in std::mem::take(&mut self.function().cold_paths) {
            let function = self.function();
            function.variables = path.variables;
            function.contexts = path.contexts;
            function.top = path.top;
            self.bind(path.label);
            match path.work {
                ColdWork::Send { receiver, message, evaluated, destination } => {
                    self.emit_cold_send(receiver, message, evaluated, destination);
                }
                ColdWork::MustBeBoolean { condition, message } => {
                    self.position(self.ast[message].selector_span);
                    let operands = vec![condition.into(), condition.into()];
                    self.small_send(operands, "mustBeBoolean", Access::Public);
                }
            }
            match path.exit {
                ColdExit::Join(label) => self.jump_anywhere(label),
                ColdExit::Branch(branches, value) => self.branch_anywhere(value, branches),
            }
        }
    }

    /// Jumps to a label before or after this instruction.
    fn jump_anywhere(&mut self, label: Label) {
        let is_behind = self.function().builder.is_bound(label);
        let opcode = if is_behind { Opcode::Loop } else { Opcode::Jump };
        self.function().emit(opcode, &[label.into()]);
    }

    fn branch_anywhere(&mut self, value: Register, branches: Branches) {
        let (on_true, otherwise) = (self.label(), self.label());
        let operands = [value.into(), on_true.into(), otherwise.into()];
        self.function().emit(Opcode::BranchTrue, &operands);
        self.jump_anywhere(branches.on_false);
        self.bind(on_true);
        self.jump_anywhere(branches.on_true);
        self.bind(otherwise);
        self.jump_anywhere(branches.otherwise);
    }

    fn emit_cold_send(
        &mut self,
        receiver: Register,
        id: MessageId,
        evaluated: Option<(usize, Register)>,
        destination: Option<Register>,
    ) {
        let ast = self.ast;
        let message = &ast[id];
        let blocks = self.compile_cold_blocks(id);
        let cold = self.make_cold_context();
        let home = self.make_cold_home(cold.needs_home);
        let arguments = &ast[message.arguments];
        let result = self.function().allocate();
        let window = self.open_window(arguments.len() + 1);
        self.function().emit_move(window, receiver);
        for (index, &argument) in arguments.iter().enumerate() {
            let place = nth(window, index + 1);
            match (&blocks[index], evaluated) {
                (Some((function, captured)), _) => self.make_closure(*function, captured, place),
                (None, Some((at, register))) if at == index => {
                    self.function().emit_move(place, register);
                }
                (None, _) => _ = self.value(argument, Some(place)),
            }
        }
        self.position(message.selector_span);
        let selector = self.module.string(&ast[message.selector]);
        let site = Site::Send { selector, access: Access::Public };
        self.emit_window(Opcode::Send, result, (window, arguments.len() + 1), site);
        self.restore_variables(&cold);
        if let Some(home) = home {
            self.function().emit(Opcode::LeaveHome, &[home.into()]);
        }
        self.function().cold_context = None;
        if let Some(destination) = destination {
            self.function().emit_move(destination, result);
        }
    }

    /// Compiles the literal blocks of a message, and finds out which variables they share.
    fn compile_cold_blocks(&mut self, id: MessageId) -> Vec<Option<(FunctionId, Vec<Captured>)>> {
        let ast = self.ast;
        let context = ContextId(self.next_context);
        self.next_context += 1;
        self.function().cold_context = Some(ColdContext {
            id: context,
            variables: Vec::new(),
            register: None,
            needs_home: false,
        });
        let arguments = &ast[ast[id].arguments];
        let compile = |&argument: &ExpressionId| {
            let block = literal_block(ast, argument)?;
            Some(self.block_function(block, Mode::Plain))
        };
        arguments.iter().map(compile).collect()
    }

    /// Copies the shared variables that change to a context.
    fn make_cold_context(&mut self) -> ColdContext {
        let mut cold = self.function().cold_context.take().expect("a cold path is being compiled");
        if !cold.variables.is_empty() {
            let register = self.function().allocate();
            let size = (cold.variables.len() as i64).into();
            self.function().emit(Opcode::MakeContext, &[register.into(), size]);
            for (index, &(_, variable)) in cold.variables.iter().enumerate() {
                let operands = [register.into(), (index as i64).into(), variable.into()];
                self.function().emit(Opcode::StoreContext, &operands);
            }
            cold.register = Some(register);
        }
        self.function().cold_context = Some(ColdContext {
            id: cold.id,
            variables: cold.variables.clone(),
            register: cold.register,
            needs_home: cold.needs_home,
        });
        cold
    }

    /// Makes the marker that the blocks return to, unless the function has made it at entry.
    /// Answers the register to be left after the send.
    fn make_cold_home(&mut self, is_needed: bool) -> Option<Register> {
        if !is_needed {
            return None;
        }
        let Home::OnColdPaths(register) = self.function().home else { return None };
        self.function().emit(Opcode::MakeHome, &[register.into()]);
        Some(register)
    }

    /// Copies the shared variables back.
    fn restore_variables(&mut self, cold: &ColdContext) {
        let Some(register) = cold.register else { return };
        for (index, &(_, variable)) in cold.variables.iter().enumerate() {
            let operands = [variable.into(), register.into(), (index as i64).into()];
            self.function().emit(Opcode::LoadContext, &operands);
        }
    }
}
