//! Expressions: lowers sends, literals, assignments and closures. `classes`, `control` and `intrinsics` call this
//! module.
//!
//! An expression is lowered for its value, into a wanted register or one of the lowerer's choice (possibly a variable's
//! own), or for its effect. A wanted register is written last, so it may be the register of a variable that the
//! expression reads.

use squall_bytecode::builder::Argument;
use squall_bytecode::entities::{FunctionId, Register};
use squall_bytecode::instructions::{Opcode, Special};
use squall_bytecode::module::{Access, Constant, FunctionKind, Site};

use super::Lowering;
use super::function::{Captured, Declaration, FunctionScope, Home, Item, Mode, Place, nth};
use super::inlining::Inlined;
use crate::ast::{Block, Body, ExpressionKind, Identifier, Literal, Message, Receiver};
use crate::diagnostics::{Code, Diagnostic};
use crate::entities::{BlockId, ExpressionId, List, MessageId};
use crate::source::Span;

/// A receiver that was evaluated, and the members that its messages reach.
#[derive(Clone, Copy, Debug)]
pub struct Addressee {
    /// Where the receiver is.
    pub register: Register,
    /// Which members its messages reach.
    pub access: Access,
}

/// The most variables that a function has in scope at a time. Names are looked for one by one.
const MOST_VARIABLES: usize = 2000;

impl Lowering<'_> {
    /// Lowers an expression for its value; answers the register that holds it.
    pub fn value(&mut self, id: ExpressionId, wanted: Option<Register>) -> Register {
        let ast = self.ast;
        let (innermost, sends) = ast.chain(id);
        let Some((&last, others)) = sends.split_last() else {
            return self.innermost_value(innermost, wanted);
        };
        let result = self.destination(wanted.filter(|_| others.is_empty()));
        let top = self.function().top;
        let source = self.sends(innermost, others, result);
        let destination = wanted.unwrap_or(result);
        self.send_to(source, last, Some(destination));
        self.function().release_to(top);
        destination
    }

    /// Lowers an expression for its effect.
    pub fn effect(&mut self, id: ExpressionId) {
        let top = self.function().top;
        let ast = self.ast;
        let (innermost, sends) = ast.chain(id);
        match (sends.split_last(), ast[innermost].kind) {
            (Some((&last, others)), _) => {
                let result = self.function().allocate();
                let source = self.sends(innermost, others, result);
                self.send_to(source, last, None);
            }
            (None, ExpressionKind::Send { receiver, message }) if ast[message].is_eventual => {
                if let Some(addressee) = self.addressee(receiver, &ast[ast[message].selector]) {
                    self.message(addressee, message, None);
                }
            }
            (None, _) => {
                self.innermost_value(innermost, None);
            }
        }
        self.function().release_to(top);
    }

    /// The sends of a chain but for the last; their results all go to one register.
    fn sends(
        &mut self,
        innermost: ExpressionId,
        sends: &[ExpressionId],
        result: Register,
    ) -> Source {
        let mut source = Source::Expression(innermost);
        for &send in sends {
            let top = self.function().top;
            self.send_to(source, send, Some(result));
            self.function().release_to(top);
            source = Source::Register(result);
        }
        source
    }

    /// An expression that is no send to an expression.
    fn innermost_value(&mut self, id: ExpressionId, wanted: Option<Register>) -> Register {
        let ast = self.ast;
        match ast[id].kind {
            ExpressionKind::Literal(literal) => self.literal(literal, wanted),
            ExpressionKind::SelfObject | ExpressionKind::Super => {
                let register = self.self_register();
                self.place(register, wanted)
            }
            ExpressionKind::Outer(name) => match self.outer_depth(name) {
                Some(depth) => {
                    let register = self.enclosing_object(depth);
                    self.place(register, wanted)
                }
                None => self.nil(wanted),
            },
            ExpressionKind::Send { receiver, message } => {
                self.unreceived_send(receiver, message, wanted)
            }
            ExpressionKind::SetterSend { .. } => self.setter_chain(id, wanted),
            ExpressionKind::Cascade { receiver, messages } => {
                self.cascade(receiver, messages, wanted)
            }
            ExpressionKind::Array(elements) => self.array(elements, wanted),
            ExpressionKind::Block(block) => {
                let mode = self.function().mode;
                self.closure(block, mode, wanted)
            }
            ExpressionKind::ObjectLiteral(class) => self.object_literal(class, wanted),
        }
    }

    /// The wanted register, or a new one.
    pub fn destination(&mut self, wanted: Option<Register>) -> Register {
        wanted.unwrap_or_else(|| self.function().allocate())
    }

    fn nil(&mut self, wanted: Option<Register>) -> Register {
        let destination = self.destination(wanted);
        self.function().emit_special(destination, Special::Nil);
        destination
    }

    pub(super) fn literal(&mut self, literal: Literal, wanted: Option<Register>) -> Register {
        let destination = self.destination(wanted);
        let special = |value| match value {
            Literal::Nil => Some(Special::Nil),
            Literal::True => Some(Special::True),
            Literal::False => Some(Special::False),
            _ => None,
        };
        if let Some(special) = special(literal) {
            self.function().emit_special(destination, special);
            return destination;
        }
        if let Literal::Integer(value) = literal
            && i16::try_from(value).is_ok()
        {
            let operands = [destination.into(), value.into()];
            self.function().emit(Opcode::LoadInteger, &operands);
            return destination;
        }
        let ast = self.ast;
        let constant = match literal {
            Literal::Integer(value) => Constant::Integer(value.into()),
            Literal::BigInteger(id) => Constant::Integer(ast[id].clone()),
            Literal::Double(value) => Constant::Double(value),
            Literal::String(id) => Constant::String(self.module.string(&ast[id])),
            Literal::Symbol(name) => Constant::Symbol(self.module.string(&ast[name])),
            Literal::Nil | Literal::True | Literal::False => return destination,
        };
        let constant = self.function().builder.constant(constant);
        self.function().emit(Opcode::LoadConstant, &[destination.into(), constant.into()]);
        destination
    }

    fn array(&mut self, elements: List<ExpressionId>, wanted: Option<Register>) -> Register {
        // The elements' expressions may read the wanted register, so the array is made elsewhere.
        let array = self.function().allocate();
        let size = (elements.len() as i64).into();
        self.function().emit(Opcode::MakeArray, &[array.into(), size]);
        let ast = self.ast;
        for (index, &element) in ast[elements].iter().enumerate() {
            let top = self.function().top;
            let value = self.value(element, None);
            let operands = [array.into(), value.into(), (index as i64).into()];
            self.function().emit(Opcode::StoreElement, &operands);
            self.function().release_to(top);
        }
        self.place(array, wanted)
    }
}

/// The source of a send's receiver.
#[derive(Clone, Copy)]
pub enum Source {
    /// It was computed before.
    Register(Register),
    /// It is to be computed now.
    Expression(ExpressionId),
}

/// Sends.
impl Lowering<'_> {
    /// A send to an expression; without destination, for its effect.
    fn send_to(&mut self, source: Source, send: ExpressionId, destination: Option<Register>) {
        let ast = self.ast;
        let ExpressionKind::Send { receiver, message: id } = ast[send].kind else { return };
        let message = &ast[id];
        if let (Source::Expression(receiver), true) = (source, self.trusted)
            && self.is_machine_mirror(receiver)
        {
            return self.intrinsic(id, destination);
        }
        if self.function().mode == Mode::Inlined
            && let Some(inlined) = Inlined::of(ast, receiver, message)
        {
            return self.inline(inlined, source, id, destination);
        }
        let register = match source {
            Source::Register(register) => register,
            Source::Expression(expression) => self.operand(expression, &ast[message.arguments]),
        };
        self.message(Addressee { register, access: Access::Public }, id, destination);
    }

    /// A variable, or a send to a receiver that is not an expression.
    fn unreceived_send(
        &mut self,
        receiver: Receiver,
        id: MessageId,
        wanted: Option<Register>,
    ) -> Register {
        let ast = self.ast;
        let message = &ast[id];
        if matches!(receiver, Receiver::Implicit)
            && message.arguments.is_empty()
            && let Some(found) = self.find_variable(message.selector)
        {
            return self.read_variable(found, wanted);
        }
        let destination = self.destination(wanted);
        let top = self.function().top;
        if let Some(addressee) = self.addressee(receiver, &ast[message.selector]) {
            self.message(addressee, id, Some(destination));
        }
        self.function().release_to(top);
        destination
    }

    /// The object that a message goes to if its receiver is not an expression; `None` after an error.
    fn addressee(&mut self, receiver: Receiver, selector: &str) -> Option<Addressee> {
        Some(match receiver {
            Receiver::Implicit => {
                let (depth, access) = self.implicit_receiver(selector);
                Addressee { register: self.enclosing_object(depth), access }
            }
            Receiver::SelfObject => {
                let (depth, _) = self.place_in_classes();
                let access = self.lexical_access(depth, selector);
                Addressee { register: self.self_register(), access }
            }
            Receiver::Super => {
                Addressee { register: self.self_register(), access: self.super_access() }
            }
            Receiver::Outer(name) => {
                let depth = self.outer_depth(name)?;
                let access = self.lexical_access(depth, selector);
                Addressee { register: self.enclosing_object(depth), access }
            }
            Receiver::Expression(expression) => {
                let register = self.value(expression, None);
                Addressee { register, access: Access::Public }
            }
        })
    }

    fn super_access(&mut self) -> Access {
        let (depth, side) = self.place_in_classes();
        self.classes.get(depth).map_or(Access::Lexical, |class| Access::Super(class.id, side))
    }

    /// A message to an evaluated receiver; without destination, for its effect.
    pub fn message(&mut self, addressee: Addressee, id: MessageId, destination: Option<Register>) {
        let ast = self.ast;
        let message = &ast[id];
        let arguments = &ast[message.arguments];
        let opcode = match (message.is_eventual, destination) {
            (true, Some(_)) => Opcode::SendEventual,
            (true, None) => Opcode::SendEventualOnly,
            (false, _) => Opcode::Send,
        };
        let destination = self.destination(destination);
        if message.is_eventual || arguments.len() > 2 {
            return self.window_send(opcode, addressee, message, destination);
        }
        let mut operands: Vec<Argument> = vec![destination.into(), addressee.register.into()];
        for (index, &argument) in arguments.iter().enumerate() {
            let register = self.operand(argument, &arguments[index + 1..]);
            operands.push(register.into());
        }
        self.position(message.selector_span);
        self.small_send(operands, &ast[message.selector], addressee.access);
    }

    /// Emits `send0`, `send1` or `send2` for destination, receiver and arguments.
    pub fn small_send(&mut self, mut operands: Vec<Argument>, selector: &str, access: Access) {
        let selector = self.module.string(selector);
        let site = self.function().builder.site(Site::Send { selector, access });
        let words = operands.len() - 1;
        let window = self.function().reserve_window(words);
        operands.push(window.into());
        operands.push(site.into());
        let opcode = [Opcode::Send0, Opcode::Send1, Opcode::Send2][words - 1];
        self.function().emit(opcode, &operands);
    }

    /// A send whose receiver and arguments are computed in its window.
    fn window_send(
        &mut self,
        opcode: Opcode,
        addressee: Addressee,
        message: &Message,
        destination: Register,
    ) {
        let ast = self.ast;
        let arguments = &ast[message.arguments];
        let top = self.function().top;
        let window = self.open_window(arguments.len() + 1);
        self.function().emit_move(window, addressee.register);
        for (index, &argument) in arguments.iter().enumerate() {
            self.value(argument, Some(nth(window, index + 1)));
        }
        self.position(message.selector_span);
        let selector = self.module.string(&ast[message.selector]);
        self.emit_window(
            opcode,
            destination,
            (window, arguments.len() + 1),
            Site::Send { selector, access: addressee.access },
        );
        self.function().release_to(top);
    }

    /// Takes the registers of a window, and the one below it.
    pub fn open_window(&mut self, words: usize) -> Register {
        let function = self.function();
        function.allocate();
        // Even an empty window has a place.
        function.allocate_many(words.max(1))
    }

    /// Emits a send of the words in a window.
    pub fn emit_window(
        &mut self,
        opcode: Opcode,
        destination: Register,
        (window, words): (Register, usize),
        site: Site,
    ) {
        let site = self.function().builder.site(site);
        let operands = [destination.into(), window.into(), (words as i64).into(), site.into()];
        self.function().emit(opcode, &operands);
    }

    /// Lowers an operand that is used only after the `later` expressions were evaluated: a copy, if
    /// it is a variable's register and they may assign it.
    pub fn operand(&mut self, id: ExpressionId, later: &[ExpressionId]) -> Register {
        let register = self.value(id, None);
        let is_variable = usize::from(register.0) < self.function().top
            && self
                .function()
                .variables
                .iter()
                .any(|variable| variable.place == Place::Register(register));
        if is_variable && later.iter().any(|&expression| self.may_assign(expression)) {
            let copy = self.function().allocate();
            self.function().emit_move(copy, register);
            return copy;
        }
        register
    }

    /// Whether evaluating an expression may assign a variable of the function.
    fn may_assign(&self, id: ExpressionId) -> bool {
        let ast = self.ast;
        let (innermost, sends) = ast.chain(id);
        let in_message = |message: MessageId| {
            ast[ast[message].arguments].iter().any(|&argument| self.may_assign(argument))
        };
        let in_sends = sends.iter().any(|&send| match ast[send].kind {
            ExpressionKind::Send { message, .. } => in_message(message),
            _ => false,
        });
        in_sends
            || match ast[innermost].kind {
                ExpressionKind::SetterSend { .. } => true,
                ExpressionKind::Send { message, .. } => in_message(message),
                ExpressionKind::Block(block) => self.body_may_assign(&ast[block].body),
                ExpressionKind::Array(elements) => {
                    ast[elements].iter().any(|&element| self.may_assign(element))
                }
                ExpressionKind::Cascade { .. } => true,
                _ => false,
            }
    }

    fn body_may_assign(&self, body: &Body) -> bool {
        let returned = body.returned.map(|returned| returned.value);
        let initializers = body.locals.iter().filter_map(|local| local.initializer);
        let statements = self.ast[body.statements].iter().copied();
        statements.chain(returned).chain(initializers).any(|id| self.may_assign(id))
    }

    fn cascade(
        &mut self,
        receiver: Receiver,
        messages: List<MessageId>,
        wanted: Option<Register>,
    ) -> Register {
        let ast = self.ast;
        // The messages' arguments may read the wanted register, so the results go elsewhere.
        let destination = self.function().allocate();
        let top = self.function().top;
        let messages = &ast[messages];
        let first = &ast[ast[messages[0]].selector];
        let Some(addressee) = self.addressee(receiver, first) else { return destination };
        // The receiver is used after assignments that the arguments may contain.
        let register = self.function().allocate();
        self.function().emit_move(register, addressee.register);
        for (index, &message) in messages.iter().enumerate() {
            let selector = &ast[ast[message].selector];
            let access = match addressee.access {
                _ if index == 0 => addressee.access,
                Access::Lexical | Access::Private(..) => {
                    self.cascade_access(receiver, first, selector)
                }
                access => access,
            };
            let top = self.function().top;
            self.message(Addressee { register, access }, message, Some(destination));
            self.function().release_to(top);
        }
        self.function().release_to(top);
        self.place(destination, wanted)
    }

    /// How a later message of a cascade reaches the object that the first one went to.
    fn cascade_access(&mut self, receiver: Receiver, first: &str, selector: &str) -> Access {
        let depth = match receiver {
            Receiver::Implicit => self.implicit_receiver(first).0,
            Receiver::Outer(name) => self.outer_depth(name).unwrap_or(0),
            _ => self.place_in_classes().0,
        };
        self.lexical_access(depth, selector)
    }
}

/// Assignments.
impl Lowering<'_> {
    fn setter_chain(&mut self, id: ExpressionId, wanted: Option<Register>) -> Register {
        let ast = self.ast;
        let (setters, value) = ast.setters(id);
        let innermost = setters.last().and_then(|&setter| self.setter_target(setter));
        let direct = innermost
            .and_then(|target| self.find_variable(target.name))
            .filter(|found| found.variable.is_assignable)
            .and_then(|found| self.direct_target(found));
        let mut register = match direct {
            Some(target) => self.value(value, Some(target)),
            None => self.value(value, None),
        };
        for &setter in setters.iter().rev() {
            if let Some(target) = self.setter_target(setter) {
                register = self.assign(target, register);
            }
        }
        self.place(register, wanted)
    }

    fn setter_target(&self, setter: ExpressionId) -> Option<Identifier> {
        match self.ast[setter].kind {
            ExpressionKind::SetterSend { target, .. } => Some(target),
            _ => None,
        }
    }

    /// Assigns a variable or sends a setter; answers the register with the expression's value.
    fn assign(&mut self, target: Identifier, value: Register) -> Register {
        if let Some(found) = self.find_variable(target.name) {
            if found.variable.is_assignable {
                self.write_variable(found, value);
            } else {
                self.report_assigned_argument(target);
            }
            return value;
        }
        let selector = format!("{}:", &self.ast[target.name]);
        let destination = self.function().allocate();
        let top = self.function().top;
        let (depth, access) = self.implicit_receiver(&selector);
        let receiver = self.enclosing_object(depth);
        self.position(target.span);
        self.small_send(vec![destination.into(), receiver.into(), value.into()], &selector, access);
        self.function().release_to(top);
        destination
    }

    fn report_assigned_argument(&mut self, target: Identifier) {
        let message = format!("`{}` is an argument and cannot be assigned", &self.ast[target.name]);
        let diagnostic = Diagnostic::error(Code::AssignedArgument, message, target.span)
            .with_hint("declare a local variable for the changed value");
        self.reporter.report(diagnostic);
    }
}

/// Bodies and closures.
impl Lowering<'_> {
    /// The variables that a body declares; reports names that are taken already.
    pub fn body_declarations(&mut self, body: &Body, taken: &[Identifier]) -> Vec<Declaration> {
        let function = self.function();
        let plain = function.mode == Mode::Plain;
        if function.variables.len() + body.locals.len() > MOST_VARIABLES {
            let (name, span) = (function.name.clone(), function.span);
            let reason = format!("it has more than {MOST_VARIABLES} variables");
            self.report_limit(&name, span, &reason);
            return Vec::new();
        }
        let mut names: Vec<Identifier> = taken.to_vec();
        let mut declarations = Vec::new();
        for local in &body.locals {
            if let Some(other) = names.iter().find(|other| other.name == local.name.name) {
                self.report_duplicate(local.name, *other, "variable");
            }
            names.push(local.name);
            let key = local.name.span.start;
            declarations.push(Declaration {
                name: local.name.name,
                key,
                needs_context: self.analysis.needs_context(key, plain),
                is_assignable: true,
                value: None,
            });
        }
        declarations
    }

    /// Reports that a name is declared twice.
    pub fn report_duplicate(&mut self, second: Identifier, first: Identifier, what: &str) {
        let message = format!("there are two {what}s called `{}` here", &self.ast[second.name]);
        let diagnostic = Diagnostic::error(Code::DuplicateName, message, second.span)
            .labelled("declared again")
            .and_label(first.span, "declared first");
        self.reporter.report(diagnostic);
    }

    /// The declarations of parameters that are in registers from `first` on.
    pub fn parameter_declarations(
        &mut self,
        parameters: &[Identifier],
        first: Register,
    ) -> Vec<Declaration> {
        for (index, &parameter) in parameters.iter().enumerate() {
            let same = |other: &&Identifier| other.name == parameter.name;
            if let Some(&other) = parameters[..index].iter().find(same) {
                self.report_duplicate(parameter, other, "parameter");
            }
        }
        let indexed = parameters.iter().enumerate();
        indexed
            .map(|(index, parameter)| Declaration {
                name: parameter.name,
                key: parameter.span.start,
                // Parameters never change, so closures copy them.
                needs_context: false,
                is_assignable: false,
                value: Some(nth(first, index)),
            })
            .collect()
    }

    /// Opens a scope with these variables.
    pub fn open_scope(&mut self, declarations: &[Declaration]) {
        self.open_scope_of(declarations, None);
    }

    /// The same for a scope that is this part of the text.
    pub fn open_scope_of(&mut self, declarations: &[Declaration], text: Option<Span>) {
        let mut next_context = self.next_context;
        let first = self.function().variables.len();
        self.function().declare(declarations, &mut next_context);
        self.next_context = next_context;
        if self.tell.is_some() {
            self.function().note_places(first, text);
        }
    }

    /// Runs `lower` and closes the scopes it opened.
    pub fn scoped<R>(&mut self, lower: impl FnOnce(&mut Self) -> R) -> R {
        let function = self.function();
        let (variables, contexts) = (function.variables.len(), function.contexts.len());
        let top = function.top;
        let result = lower(self);
        let function = self.function();
        function.variables.truncate(variables);
        function.contexts.truncate(contexts);
        function.release_to(top);
        result
    }

    /// Initialises the locals of a body whose scope is open, and runs its statements for their
    /// effect, but for the last one if the body's value is wanted in a register.
    ///
    /// Answers whether control can reach the end.
    pub fn statements(&mut self, body: &Body, wanted: Option<Register>) -> bool {
        let ast = self.ast;
        for local in &body.locals {
            if let Some(value) = local.initializer {
                self.statement_begins(local.span);
                let top = self.function().top;
                if let Some(found) = self.find_variable(local.name.name) {
                    let target = self.direct_target(found);
                    let register = self.value(value, target);
                    self.write_variable(found, register);
                }
                self.function().release_to(top);
            }
        }
        let statements = &ast[body.statements];
        let valued = if body.returned.is_none() { wanted } else { None };
        let (last, others) = match (statements.split_last(), valued) {
            (Some((last, others)), Some(_)) => (Some(*last), others),
            _ => (None, statements),
        };
        for &statement in others {
            self.statement_begins(ast[statement].span);
            self.effect(statement);
        }
        if let Some(span) =
            body.returned.map(|returned| returned.span).or(last.map(|last| ast[last].span))
        {
            self.statement_begins(span);
        }
        match (body.returned, valued, last) {
            (Some(returned), ..) => {
                self.return_value_of(returned.value);
                return false;
            }
            (None, Some(wanted), Some(last)) => {
                let top = self.function().top;
                self.value(last, Some(wanted));
                self.function().release_to(top);
            }
            (None, Some(wanted), None) => self.function().emit_special(wanted, Special::Nil),
            (None, None, _) => {}
        }
        true
    }

    /// `^`: returns from the method, through all blocks.
    fn return_value_of(&mut self, id: ExpressionId) {
        let top = self.function().top;
        let value = self.value(id, None);
        self.emit_method_return(value);
        self.function().release_to(top);
    }

    fn emit_method_return(&mut self, value: Register) {
        if self.function().kind == FunctionKind::Block {
            let home = self.function().allocate();
            let captured = self.home_item();
            self.read_item(captured, home);
            self.function().emit(Opcode::ReturnNonlocal, &[value.into(), home.into()]);
        } else {
            self.emit_own_return(value);
        }
    }

    /// A return from the function itself.
    pub fn emit_own_return(&mut self, value: Register) {
        match self.function().home {
            Home::AtEntry(home) => {
                self.function().emit(Opcode::ReturnHome, &[value.into(), home.into()]);
            }
            _ => self.function().emit(Opcode::Return, &[value.into()]),
        }
    }

    /// The marker that `^` in the current closure goes to; noted where it is made.
    fn home_item(&mut self) -> Captured {
        let item = Captured { item: Item::Home, ..self.self_item() };
        if let Some(cold) = &mut self.functions[item.owner].cold_context {
            cold.needs_home = true;
        }
        item
    }

    /// The register of this function's own marker.
    pub fn home_register(&mut self) -> Option<Register> {
        match self.function().home {
            Home::AtEntry(register) | Home::OnColdPaths(register) => Some(register),
            Home::Unneeded => None,
        }
    }

    /// A closure of a block.
    pub fn closure(&mut self, id: BlockId, mode: Mode, wanted: Option<Register>) -> Register {
        let (function, captured) = self.block_function(id, mode);
        let destination = self.destination(wanted);
        self.make_closure(function, &captured, destination);
        destination
    }

    /// Compiles a block as a function of its own; answers what its closures capture as well.
    pub fn block_function(&mut self, id: BlockId, mode: Mode) -> (FunctionId, Vec<Captured>) {
        let block = &self.ast[id];
        let around = self.function();
        let name = match around.kind {
            FunctionKind::Block => around.name.clone(),
            _ => format!("block in {}", around.name),
        };
        let (depth, side) = self.place_in_classes();
        let mut function =
            FunctionScope::new(FunctionKind::Block, (name, block.span.before()), depth, side);
        function.mode = mode;
        function.parameters = block.parameters.len() as u8;
        self.functions.push(function);
        let self_item = self.self_item();
        self.function().capture(self_item);
        self.block_body(block);
        let captured = self.function().captured.clone();
        (self.finish_function(), captured)
    }

    fn block_body(&mut self, block: &Block) {
        let first = self.function().allocate_many(block.parameters.len());
        let receiver = self.function().allocate();
        self.function().self_register = receiver;
        let mut declarations = self.parameter_declarations(&block.parameters, first);
        declarations.extend(self.body_declarations(&block.body, &block.parameters));
        self.open_scope(&declarations);
        let result = self.function().allocate();
        if self.statements(&block.body, Some(result)) {
            self.function().emit(Opcode::Return, &[result.into()]);
        }
        self.position_at_least(block.span.before());
    }

    /// Emits the making of a closure from the items it captures.
    pub fn make_closure(
        &mut self,
        function: FunctionId,
        captured: &[Captured],
        destination: Register,
    ) {
        let top = self.function().top;
        let range = self.function().allocate_many(captured.len());
        for (index, &item) in captured.iter().enumerate() {
            self.read_item(item, nth(range, index));
        }
        let operands = [
            destination.into(),
            range.into(),
            (captured.len() as i64).into(),
            i64::from(function.0).into(),
        ];
        self.function().emit(Opcode::MakeClosure, &operands);
        self.function().release_to(top);
    }
}
