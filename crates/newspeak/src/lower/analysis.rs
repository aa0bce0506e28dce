//! The analysis of variables before code is generated: which ones are assigned, and which ones are used by closures.
//! `lower` asks for it once per module.
//!
//! One walk over the whole module. A variable is identified by where its declaration starts in the
//! source. Code exists in two modes (see [`super::control`]): *inlined*, where the blocks of control
//! structures belong to the function around them, and *plain*, where every block is a closure. The
//! second kind is compiled for the rare receiver that is not what the inlined code expects.

use std::collections::HashSet;

use crate::ast::{Ast, Body, ExpressionKind, Inheritance, Receiver};
use crate::entities::{BlockId, ClassId, ExpressionId, MessageId, Name};

use super::inlining::Inlined;

/// A variable, or a function's source: the offset of its first character.
pub type Key = u32;

/// The results of the walk.
#[derive(Default, Debug)]
pub struct Analysis {
    assigned: HashSet<Key>,
    captured_inlined: HashSet<Key>,
    captured_plain: HashSet<Key>,
    returns_inlined: HashSet<Key>,
    returns_plain: HashSet<Key>,
}

impl Analysis {
    /// Analyses a module.
    pub fn of(ast: &Ast) -> Analysis {
        let mut walk =
            Walk { ast, found: Analysis::default(), scopes: Vec::new(), depth: Depth::default() };
        walk.class(ast.module);
        walk.found
    }

    /// Whether the variable is assigned after its declaration, or seen before that is complete.
    pub fn is_assigned(&self, key: Key) -> bool {
        self.assigned.contains(&key)
    }

    /// Whether the variable must live in a context: it changes, and a closure uses it.
    pub fn needs_context(&self, key: Key, plain: bool) -> bool {
        let captured = if plain { &self.captured_plain } else { &self.captured_inlined };
        self.assigned.contains(&key) && captured.contains(&key)
    }

    /// Whether some closure returns from the method, or initializer, with this key.
    pub fn has_returning_closure(&self, key: Key, plain: bool) -> bool {
        let returns = if plain { &self.returns_plain } else { &self.returns_inlined };
        returns.contains(&key)
    }
}

/// How many functions are around a place, in either mode.
#[derive(Clone, Copy, Default, PartialEq)]
struct Depth {
    inlined: u32,
    plain: u32,
}

struct Variable {
    name: Name,
    key: Key,
    depth: Depth,
    is_complete: bool,
}

struct Walk<'a> {
    ast: &'a Ast,
    found: Analysis,
    scopes: Vec<Variable>,
    depth: Depth,
}

/// The target of a `^`, and whether a closure of the inlined mode is in between.
#[derive(Clone, Copy)]
struct Home {
    key: Key,
    depth: Depth,
}

impl Walk<'_> {
    /// A class: its initializer and methods are functions; for an object literal they see the
    /// variables around them.
    fn class(&mut self, id: ClassId) {
        let ast = self.ast;
        let class = &ast[id];
        let key = class.span.start;
        self.function(|walk| {
            for parameter in &class.factory.parameters {
                walk.declare(parameter.name, parameter.span.start, true);
            }
            let home = walk.home(key);
            for inheritance in class.superclass.iter().chain(&class.mixins) {
                walk.inheritance(inheritance, home);
            }
            for &slot in &class.slots {
                if let Some(value) = ast[slot].initializer {
                    walk.expression(value, home);
                }
            }
            for &expression in &class.initializers {
                walk.expression(expression, home);
            }
        });
        for &nested in &class.classes {
            self.class(nested);
        }
        for &method in class.methods.iter().chain(&class.class_methods) {
            let method = &ast[method];
            self.function(|walk| {
                for parameter in &method.pattern.parameters {
                    walk.declare(parameter.name, parameter.span.start, true);
                }
                let home = walk.home(method.span.start);
                walk.body(&method.body, home);
            });
        }
    }

    fn home(&self, key: Key) -> Home {
        Home { key, depth: self.depth }
    }

    /// Walks something that is a function of its own in both modes.
    fn function(&mut self, walk: impl FnOnce(&mut Self)) {
        let outside = self.depth;
        self.depth = Depth { inlined: outside.inlined + 1, plain: outside.plain + 1 };
        self.scope(walk);
        self.depth = outside;
    }

    fn scope(&mut self, walk: impl FnOnce(&mut Self)) {
        let variables = self.scopes.len();
        walk(self);
        self.scopes.truncate(variables);
    }

    fn declare(&mut self, name: Name, key: Key, is_complete: bool) {
        self.scopes.push(Variable { name, key, depth: self.depth, is_complete });
    }

    fn inheritance(&mut self, inheritance: &Inheritance, home: Home) {
        self.expression(inheritance.class, home);
        if let Some(message) = inheritance.initializer {
            self.message(message, home);
        }
    }

    fn body(&mut self, body: &Body, home: Home) {
        let ast = self.ast;
        let first = self.scopes.len();
        for local in &body.locals {
            // Without an initialiser, the first assignment is a change like any other.
            self.declare(local.name.name, local.name.span.start, local.initializer.is_none());
        }
        for (index, local) in body.locals.iter().enumerate() {
            if let Some(value) = local.initializer {
                self.expression(value, home);
                self.scopes[first + index].is_complete = true;
            }
        }
        for &statement in &ast[body.statements] {
            self.expression(statement, home);
        }
        if let Some(returned) = body.returned {
            self.expression(returned.value, home);
            if self.depth.inlined != home.depth.inlined {
                self.found.returns_inlined.insert(home.key);
            }
            if self.depth.plain != home.depth.plain {
                self.found.returns_plain.insert(home.key);
            }
        }
    }

    fn block(&mut self, id: BlockId, is_inlined: bool, home: Home) {
        let ast = self.ast;
        let block = &ast[id];
        let outside = self.depth;
        self.depth.plain += 1;
        self.depth.inlined += u32::from(!is_inlined);
        self.scope(|walk| {
            for parameter in &block.parameters {
                walk.declare(parameter.name, parameter.span.start, true);
            }
            walk.body(&block.body, home);
        });
        self.depth = outside;
    }

    fn message(&mut self, id: MessageId, home: Home) {
        let ast = self.ast;
        for &argument in &ast[ast[id].arguments] {
            self.expression(argument, home);
        }
    }

    fn expression(&mut self, id: ExpressionId, home: Home) {
        let ast = self.ast;
        let (innermost, sends) = ast.chain(id);
        for (index, &send) in sends.iter().enumerate() {
            let ExpressionKind::Send { receiver, message } = ast[send].kind else { continue };
            let inlined = Inlined::of(ast, receiver, &ast[message]);
            // The literal condition of a loop is inlined with the send.
            if index == 0 && !matches!(inlined, Some(Inlined::While { .. })) {
                self.innermost(innermost, home);
            }
            self.send(message, inlined, home);
        }
        if sends.is_empty() {
            self.innermost(innermost, home);
        }
    }

    fn send(&mut self, message: MessageId, inlined: Option<Inlined>, home: Home) {
        let ast = self.ast;
        let Some(inlined) = inlined else { return self.message(message, home) };
        let blocks: Vec<BlockId> = inlined.blocks().collect();
        for &argument in &ast[ast[message].arguments] {
            match ast[argument].kind {
                ExpressionKind::Block(block) if blocks.contains(&block) => {}
                _ => self.expression(argument, home),
            }
        }
        for block in blocks {
            self.block(block, true, home);
        }
    }

    /// An expression that is no send to an expression.
    fn innermost(&mut self, id: ExpressionId, home: Home) {
        let ast = self.ast;
        match ast[id].kind {
            ExpressionKind::Send { receiver, message } => {
                if matches!(receiver, Receiver::Implicit) && ast[message].arguments.is_empty() {
                    self.used(ast[message].selector);
                }
                self.message(message, home);
            }
            ExpressionKind::SetterSend { .. } => {
                let (setters, value) = ast.setters(id);
                self.expression(value, home);
                for setter in setters {
                    if let ExpressionKind::SetterSend { target, .. } = ast[setter].kind {
                        self.set(target.name);
                    }
                }
            }
            ExpressionKind::Cascade { receiver, messages } => {
                if let Receiver::Expression(receiver) = receiver {
                    self.expression(receiver, home);
                }
                for &message in &ast[messages] {
                    self.message(message, home);
                }
            }
            ExpressionKind::Array(elements) => {
                for &element in &ast[elements] {
                    self.expression(element, home);
                }
            }
            ExpressionKind::Block(block) => self.block(block, false, home),
            ExpressionKind::ObjectLiteral(class) => self.class(class),
            _ => {}
        }
    }

    fn used(&mut self, name: Name) {
        let Some(variable) = self.scopes.iter().rev().find(|variable| variable.name == name) else {
            return;
        };
        let (key, is_complete) = (variable.key, variable.is_complete);
        if variable.depth.inlined != self.depth.inlined {
            self.found.captured_inlined.insert(key);
        }
        if variable.depth.plain != self.depth.plain {
            self.found.captured_plain.insert(key);
        }
        if !is_complete {
            // A copy made at this point would miss the initial value.
            self.found.assigned.insert(key);
        }
    }

    fn set(&mut self, name: Name) {
        self.used(name);
        if let Some(variable) = self.scopes.iter().rev().find(|variable| variable.name == name) {
            self.found.assigned.insert(variable.key);
        }
    }
}
