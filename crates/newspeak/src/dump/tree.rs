//! Syntax trees as S-expressions. `squall check --dump=ast` prints them.
//!
//! | text | meaning |
//! |---|---|
//! | `x` | a send of `x` to the implicit receiver, perhaps a variable |
//! | `(send a b (+ c) (at: d))` | `a` is sent `b`, the answer is sent `+ c`, and so on |
//! | `(send implicit (at: d))` | a keyword message without receiver |
//! | `(<-: at: d)` | an eventual message |
//! | `(set a b c)` | `a:: b:: c` |
//! | `(cascade a b c)` | `a b; c` |
//! | `(outer C)` | `outer C` |
//! | `(local a = 1)`, `(slot public a ::= 1)` | declarations, with the sign they use |

use super::sexpression::Sexpression;
use crate::ast::{
    Access, Ast, Body, Class, ExpressionKind, Inheritance, Literal, Message, Method, Pattern,
    Receiver, Slot,
};
use crate::entities::{BlockId, ClassId, ExpressionId, List, MessageId, Name};

/// The tree as text.
pub fn ast(ast: &Ast) -> String {
    let mut dump = Dump { ast, out: Sexpression::default() };
    dump.class("class", ast.module);
    dump.out.finish()
}

struct Dump<'a> {
    ast: &'a Ast,
    out: Sexpression,
}

impl Dump<'_> {
    // Declarations

    fn class(&mut self, head: &str, id: ClassId) {
        let class = &self.ast[id];
        self.out.open(head);
        if let Some(name) = class.name {
            self.out.atom(access(class.access));
            self.name(name.name);
            self.pattern("factory", &class.factory);
        }
        self.initialization(class);
        class.classes.iter().for_each(|&nested| self.class("class", nested));
        class.methods.iter().for_each(|&method| self.method("method", &self.ast[method]));
        for &method in &class.class_methods {
            self.method("class-method", &self.ast[method]);
        }
        self.out.close();
    }

    fn initialization(&mut self, class: &Class) {
        if let Some(superclass) = &class.superclass {
            self.inheritance("superclass", superclass);
        }
        class.mixins.iter().for_each(|mixin| self.inheritance("mixin", mixin));
        class.slots.iter().for_each(|&slot| self.slot(&self.ast[slot]));
        for &initializer in &class.initializers {
            self.out.open("initialize");
            self.expression(initializer);
            self.out.close();
        }
    }

    fn inheritance(&mut self, head: &str, inheritance: &Inheritance) {
        self.out.open(head);
        self.expression(inheritance.class);
        if let Some(message) = inheritance.initializer {
            self.message(message);
        }
        self.out.close();
    }

    fn slot(&mut self, slot: &Slot) {
        self.out.open("slot");
        self.out.atom(access(slot.access));
        self.name(slot.name.name);
        self.initializer(slot.is_mutable, slot.initializer);
        self.out.close();
    }

    fn initializer(&mut self, is_mutable: bool, value: Option<ExpressionId>) {
        if let Some(value) = value {
            self.out.atom(if is_mutable { "::=" } else { "=" });
            self.expression(value);
        }
    }

    fn method(&mut self, head: &str, method: &Method) {
        self.out.open(head);
        self.out.atom(access(method.access));
        self.pattern("", &method.pattern);
        self.body(&method.body);
        self.out.close();
    }

    fn pattern(&mut self, head: &str, pattern: &Pattern) {
        self.out.open_heading(head);
        let mut words = &self.ast[pattern.selector];
        for parameter in &pattern.parameters {
            self.out.atom(next_word(&mut words));
            self.name(parameter.name);
        }
        if !words.is_empty() {
            self.out.atom(words);
        }
        self.out.close();
    }

    fn body(&mut self, body: &Body) {
        for local in &body.locals {
            self.out.open("local");
            self.name(local.name.name);
            self.initializer(local.is_mutable, local.initializer);
            self.out.close();
        }
        self.expressions(body.statements);
        if let Some(returned) = body.returned {
            self.out.open("return");
            self.expression(returned.value);
            self.out.close();
        }
    }

    // Expressions

    fn expressions(&mut self, list: List<ExpressionId>) {
        self.ast[list].iter().for_each(|&expression| self.expression(expression));
    }

    fn expression(&mut self, id: ExpressionId) {
        match self.ast[id].kind {
            ExpressionKind::Literal(literal) => self.out.atom(self.literal(literal)),
            ExpressionKind::SelfObject => self.receiver(Receiver::SelfObject),
            ExpressionKind::Super => self.receiver(Receiver::Super),
            ExpressionKind::Outer(name) => self.receiver(Receiver::Outer(name)),
            ExpressionKind::Send { .. } => self.sends(id),
            ExpressionKind::SetterSend { .. } => self.setters(id),
            ExpressionKind::Cascade { receiver, messages } => {
                self.out.open("cascade");
                self.receiver(receiver);
                self.ast[messages].iter().for_each(|&message| self.message(message));
                self.out.close();
            }
            ExpressionKind::Array(elements) => {
                self.out.open("array");
                self.expressions(elements);
                self.out.close();
            }
            ExpressionKind::Block(block) => self.block(block),
            ExpressionKind::ObjectLiteral(class) => self.class("object", class),
        }
    }

    /// A whole chain of sends, however long, in one list.
    fn sends(&mut self, id: ExpressionId) {
        let (first, sends) = self.ast.chain(id);
        let start = self.ast[first].kind;
        if let ExpressionKind::Send { receiver: Receiver::Implicit, message } = start
            && self.ast[message].arguments.is_empty()
            && sends.is_empty()
        {
            return self.name(self.ast[message].selector);
        }
        self.out.open("send");
        match start {
            ExpressionKind::Send { receiver, message } => self.first_send(receiver, message),
            _ => self.expression(first),
        }
        for send in sends {
            if let ExpressionKind::Send { message, .. } = self.ast[send].kind {
                self.message(message);
            }
        }
        self.out.close();
    }

    /// The send that a chain begins with, whose receiver is no expression.
    fn first_send(&mut self, receiver: Receiver, message: MessageId) {
        let is_unary = self.ast[message].arguments.is_empty();
        if !(is_unary && matches!(receiver, Receiver::Implicit)) {
            self.receiver(receiver);
        }
        self.message(message);
    }

    fn receiver(&mut self, receiver: Receiver) {
        match receiver {
            Receiver::Implicit => self.out.atom("implicit"),
            Receiver::SelfObject => self.out.atom("self"),
            Receiver::Super => self.out.atom("super"),
            Receiver::Outer(name) => {
                self.out.open("outer");
                self.name(name.name);
                self.out.close();
            }
            Receiver::Expression(expression) => self.expression(expression),
        }
    }

    fn message(&mut self, id: MessageId) {
        let Message { selector, arguments, is_eventual, .. } = self.ast[id];
        if arguments.is_empty() && !is_eventual {
            return self.name(selector);
        }
        self.out.open(if is_eventual { "<-:" } else { "" });
        let mut words = &self.ast[selector];
        for &argument in &self.ast[arguments] {
            self.out.atom(next_word(&mut words));
            self.expression(argument);
        }
        // A unary selector is left.
        if !words.is_empty() {
            self.out.atom(words);
        }
        self.out.close();
    }

    fn setters(&mut self, id: ExpressionId) {
        let (setters, value) = self.ast.setters(id);
        self.out.open("set");
        for setter in setters {
            if let ExpressionKind::SetterSend { target, .. } = self.ast[setter].kind {
                self.name(target.name);
            }
        }
        self.expression(value);
        self.out.close();
    }

    fn block(&mut self, id: BlockId) {
        let block = &self.ast[id];
        self.out.open("block");
        if !block.parameters.is_empty() {
            self.out.open_heading("parameters");
            block.parameters.iter().for_each(|parameter| self.name(parameter.name));
            self.out.close();
        }
        self.body(&block.body);
        self.out.close();
    }

    fn name(&mut self, name: Name) {
        self.out.atom(&self.ast[name]);
    }

    fn literal(&self, literal: Literal) -> String {
        match literal {
            Literal::Nil => "nil".into(),
            Literal::True => "true".into(),
            Literal::False => "false".into(),
            Literal::Integer(value) => value.to_string(),
            Literal::BigInteger(value) => self.ast[value].to_string(),
            Literal::Double(value) => format!("{value:?}"),
            Literal::String(value) => quoted(&self.ast[value]),
            Literal::Symbol(name) => symbol(&self.ast[name]),
        }
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Private => "private",
        Access::Protected => "protected",
        Access::Public => "public",
    }
}

/// Takes the first keyword off a selector, or all of an operator.
fn next_word<'s>(selector: &mut &'s str) -> &'s str {
    let length = selector.find(':').map_or(selector.len(), |colon| colon + 1);
    let (word, rest) = selector.split_at(length);
    *selector = rest;
    word
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.escape_debug())
}

/// Quoted unless it would read as one atom.
fn symbol(text: &str) -> String {
    let breaks = |c: char| c.is_whitespace() || c.is_control() || "()'#".contains(c);
    if text.is_empty() || text.contains(breaks) {
        format!("#{}", quoted(text))
    } else {
        format!("#{text}")
    }
}
