//! The checker: finds names that mean nothing, messages that nobody understands, and other mistakes in a program that
//! compiles. `squall check` and the commands that run programs call [`check`].
//!
//! | module | its task |
//! |---|---|
//! | [`classes`] | what names stand for; the members of classes, with those that they inherit |
//! | `scopes` | variables: declared, used, assigned, hidden |
//! | `names` | names and messages without a receiver, and the remedies for undeclared ones |
//! | `sends` | messages to other receivers |
//! | `statements` | values that nothing uses, periods that are missing |
//! | `values` | classes whose instances cannot be values |
//!
//! Newspeak decides at run time what a message means. So the checker reports an error only if the program cannot mean
//! anything else: all classes that could declare the name are known, with all their superclasses. If it only looks like
//! a mistake, it is a warning. If a class is unknown, the checker is silent.
//!
//! Name resolution here is apart from code generation. It does not change the program, and it needs the interfaces of
//! the library's classes only ([`Library`]).

pub mod classes;
mod names;
mod scopes;
mod sends;
mod statements;
mod values;

use std::collections::{HashMap, HashSet};

use crate::ast::{Access, Ast, Body, Expression, ExpressionKind, Inheritance, Message, Receiver};
use crate::diagnostics::{Diagnostic, Reporter};
use crate::entities::{BlockId, ClassId, ExpressionId, List, MessageId, MethodId, Name};
use crate::lower::analysis::Analysis;
use crate::outline::{ClassOutline, Library};
use crate::source::{Source, Span};

use self::classes::{ClassRef, Classes, Known, Side};
use self::scopes::{Kind, Scopes};

/// The mistakes of a program that compiles, by place.
pub fn check(ast: &Ast, source: &Source, library: &Library) -> Vec<Diagnostic> {
    let mut checker = Checker::new(ast, source, library);
    checker.class(ast.module);
    checker.reporter.into_sorted()
}

/// The interfaces of a module's classes. `library` has the classes that it refers to.
pub fn outlines(ast: &Ast, library: &Library) -> Vec<ClassOutline> {
    Classes::of(ast, library).outlines()
}

/// The class and side whose text the current code is.
#[derive(Clone, Copy)]
struct Place {
    class: ClassId,
    side: Side,
}

struct Checker<'a> {
    ast: &'a Ast,
    source: &'a Source,
    classes: Classes<'a>,
    analysis: Analysis,
    scopes: Scopes,
    /// The classes around the current code, outermost first.
    places: Vec<Place>,
    /// Whether the current code is an instance initialiser.
    in_initializer: bool,
    /// The selectors of all messages that something in the text understands, with their widest visibility.
    selectors: HashMap<String, Access>,
    /// Whether objects of other texts may appear, which may understand other messages.
    is_open: bool,
    /// The places where names are sent or assigned.
    mentions: HashMap<Name, Vec<Span>>,
    /// Names that were reported.
    reported: HashSet<String>,
    /// Messages that only a reported mistake makes unknown.
    silenced: HashSet<String>,
    reporter: Reporter,
}

impl<'a> Checker<'a> {
    fn new(ast: &'a Ast, source: &'a Source, library: &'a Library) -> Checker<'a> {
        Checker {
            ast,
            source,
            classes: Classes::of(ast, library),
            analysis: Analysis::of(ast),
            scopes: Scopes::default(),
            places: Vec::new(),
            in_initializer: false,
            selectors: sends::own_selectors(ast),
            mentions: scopes::mentions(ast),
            is_open: sends::may_meet_strangers(ast),
            reported: HashSet::new(),
            silenced: HashSet::new(),
            reporter: Reporter::default(),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.reporter.report(diagnostic);
    }

    /// The class and side whose text the current code is.
    fn place(&self) -> Place {
        *self.places.last().expect("code is checked inside of a class")
    }

    // Declarations

    fn class(&mut self, id: ClassId) {
        let class = &self.ast[id];
        let outside = std::mem::replace(&mut self.in_initializer, true);
        self.places.push(Place { class: id, side: Side::Instance });
        self.slots_of_values(id);
        let mark = self.scopes.mark();
        for parameter in &class.factory.parameters {
            let known = self.classes.factory_argument(id, &self.ast[parameter.name]);
            self.scopes.declare(*parameter, Kind::Parameter, known.unwrap_or(Known::Nothing));
        }
        for inheritance in class.superclass.iter().chain(&class.mixins) {
            self.inheritance(id, inheritance);
        }
        for &slot in &class.slots {
            if let Some(value) = self.ast[slot].initializer {
                self.end_of_slot(slot, value);
                self.expression(value);
            }
        }
        self.unused_statements(&class.initializers, None);
        for &expression in &class.initializers {
            self.expression(expression);
        }
        self.end_scope(mark);
        self.in_initializer = false;
        for &nested in &class.classes {
            self.class(nested);
        }
        class.methods.iter().for_each(|&method| self.method(method, Side::Instance));
        class.class_methods.iter().for_each(|&method| self.method(method, Side::Class));
        self.unused_members(id);
        self.places.pop();
        self.in_initializer = outside;
    }

    fn inheritance(&mut self, class: ClassId, inheritance: &Inheritance) {
        self.superclass(class, inheritance);
        if let Some(message) = inheritance.initializer {
            self.arguments(message);
        }
    }

    fn method(&mut self, id: MethodId, side: Side) {
        let method = &self.ast[id];
        if let Some(place) = self.places.last_mut() {
            place.side = side;
        }
        let mark = self.scopes.mark();
        for &parameter in &method.pattern.parameters {
            self.scopes.declare(parameter, Kind::Parameter, Known::Nothing);
        }
        self.body(&method.body, Some(method.pattern.span));
        self.end_scope(mark);
        if let Some(place) = self.places.last_mut() {
            place.side = Side::Instance;
        }
    }

    /// A body; `head` is the head of the method that it belongs to, if it is not a block's.
    fn body(&mut self, body: &Body, head: Option<Span>) {
        for local in &body.locals {
            self.hidden_name(local.name, Kind::Local);
            if let Some(value) = local.initializer {
                self.end_of_declaration(local.name, value);
            }
        }
        let first = self.scopes.mark();
        for local in &body.locals {
            self.scopes.declare(local.name, Kind::Local, Known::Nothing);
        }
        for (index, local) in body.locals.iter().enumerate() {
            if let Some(value) = local.initializer {
                self.expression(value);
                if !self.analysis.is_assigned(local.name.span.start) {
                    let known = self.known(value);
                    self.scopes.set_known(first + index, known);
                }
            }
        }
        let statements = &self.ast[body.statements];
        self.unused_statements(statements, Some((body, head)));
        statements.iter().for_each(|&statement| self.expression(statement));
        if let Some(returned) = body.returned {
            self.expression(returned.value);
        }
    }

    fn block(&mut self, id: BlockId) {
        let block = &self.ast[id];
        let mark = self.scopes.mark();
        for &parameter in &block.parameters {
            self.hidden_name(parameter, Kind::BlockParameter);
            self.scopes.declare(parameter, Kind::BlockParameter, Known::Nothing);
        }
        self.body(&block.body, None);
        self.end_scope(mark);
    }

    // Expressions

    fn arguments(&mut self, message: MessageId) {
        let ast = self.ast;
        ast[ast[message].arguments].iter().for_each(|&argument| self.expression(argument));
    }

    fn expression(&mut self, id: ExpressionId) {
        let ast = self.ast;
        let (innermost, sends) = ast.chain(id);
        self.innermost(innermost);
        self.lines_of_chain(innermost, &sends);
        let mut receiver = self.known(innermost);
        let mut receiver_id = innermost;
        let mut is_one_statement = true;
        for &send in &sends {
            let ExpressionKind::Send { message, .. } = ast[send].kind else { continue };
            if is_one_statement {
                is_one_statement = self.send_to(receiver_id, receiver, message);
            }
            self.arguments(message);
            receiver = self.classes.answer_of(receiver, message, 0);
            receiver_id = send;
        }
    }

    /// An expression that is no send to an expression.
    fn innermost(&mut self, id: ExpressionId) {
        let ast = self.ast;
        let Expression { kind, .. } = ast[id];
        match kind {
            ExpressionKind::Send { receiver, message } => {
                self.send(receiver, message);
                self.arguments(message);
            }
            ExpressionKind::SetterSend { .. } => {
                let (setters, value) = ast.setters(id);
                self.expression(value);
                for setter in setters {
                    if let ExpressionKind::SetterSend { target, .. } = ast[setter].kind {
                        self.assigned(target);
                    }
                }
            }
            ExpressionKind::Cascade { receiver, messages } => self.cascade(receiver, messages),
            ExpressionKind::Array(elements) => {
                self.elements(id, &ast[elements]);
                ast[elements].iter().for_each(|&element| self.expression(element));
            }
            ExpressionKind::Block(block) => self.block(block),
            ExpressionKind::ObjectLiteral(class) => self.class(class),
            _ => {}
        }
    }

    fn cascade(&mut self, receiver: Receiver, messages: List<MessageId>) {
        let ast = self.ast;
        let known = match receiver {
            Receiver::Expression(receiver) => {
                self.expression(receiver);
                Some((receiver, self.known(receiver)))
            }
            _ => None,
        };
        for &message in &ast[messages] {
            match known {
                Some((receiver, known)) => _ = self.send_to(receiver, known, message),
                None => self.send(receiver, message),
            }
            self.arguments(message);
        }
    }

    /// The known part of an expression's value here.
    fn known(&self, id: ExpressionId) -> Known {
        let ast = self.ast;
        let (innermost, sends) = ast.chain(id);
        let first = match ast[innermost].kind {
            ExpressionKind::Literal(literal) => self.classes.literal(literal),
            ExpressionKind::Block(_) => self.instance_of("Kernel.Block"),
            ExpressionKind::Array(_) => self.instance_of("Kernel.Array"),
            ExpressionKind::Send { message, .. } if ast[message].is_eventual => Known::Promise,
            ExpressionKind::Send { receiver: Receiver::Implicit, message }
                if ast[message].arguments.is_empty() =>
            {
                self.known_name(ast[message].selector)
            }
            _ => Known::Nothing,
        };
        sends.iter().fold(first, |receiver, &send| match ast[send].kind {
            ExpressionKind::Send { message, .. } => self.classes.answer_of(receiver, message, 0),
            _ => Known::Nothing,
        })
    }

    fn instance_of(&self, path: &str) -> Known {
        self.classes.library_class(path).map_or(Known::Nothing, Known::Instance)
    }

    fn message(&self, id: MessageId) -> (&'a str, &'a Message) {
        let message = &self.ast[id];
        (&self.ast[message.selector], message)
    }

    /// The innermost class around the current code that has a name, for messages.
    fn class_name(&self) -> String {
        self.classes.name(ClassRef::Text(self.place().class))
    }
}
