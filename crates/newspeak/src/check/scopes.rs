//! Variables: the checker knows which ones are visible, and which ones the code reads and assigns. The checker's walk
//! (`mod.rs`) declares variables here, and `names` looks them up.

use std::collections::HashMap;

use crate::ast::{Access, Ast, Class, ExpressionKind, Identifier, Slot};
use crate::diagnostics::{Code, Diagnostic, quoted};
use crate::entities::{ClassId, Name};
use crate::source::Span;

use super::Checker;
use super::classes::Known;

/// The kinds of variables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Declared between bars.
    Local,
    /// A parameter of a method or factory.
    Parameter,
    /// A parameter of a block.
    BlockParameter,
}

#[derive(Clone, Copy)]
pub struct Variable {
    pub name: Name,
    pub span: Span,
    pub kind: Kind,
    pub known: Known,
    pub is_read: bool,
    pub is_assigned: bool,
}

/// The visible variables, innermost last.
#[derive(Default)]
pub struct Scopes {
    pub variables: Vec<Variable>,
    /// Variables of code that was checked already: they are not visible here, which a message may say.
    pub gone: Vec<(Name, Span)>,
}

impl Scopes {
    pub fn mark(&self) -> usize {
        self.variables.len()
    }

    pub fn declare(&mut self, name: Identifier, kind: Kind, known: Known) {
        let Identifier { name, span } = name;
        let (is_read, is_assigned) = (false, false);
        self.variables.push(Variable { name, span, kind, known, is_read, is_assigned });
    }

    pub fn set_known(&mut self, index: usize, known: Known) {
        self.variables[index].known = known;
    }

    pub fn find(&self, name: Name) -> Option<&Variable> {
        self.variables.iter().rev().find(|variable| variable.name == name)
    }

    pub fn find_mut(&mut self, name: Name) -> Option<&mut Variable> {
        self.variables.iter_mut().rev().find(|variable| variable.name == name)
    }
}

impl Checker<'_> {
    /// Ends the visibility of the variables since the mark; reports the locals that nothing reads.
    pub fn end_scope(&mut self, mark: usize) {
        for variable in self.scopes.variables.split_off(mark) {
            self.scopes.gone.push((variable.name, variable.span));
            if variable.kind == Kind::Local && !variable.is_read {
                self.unused_local(&variable);
            }
        }
    }

    fn unused_local(&mut self, variable: &Variable) {
        let name = quoted(&self.ast[variable.name]);
        let message = match variable.is_assigned {
            true => format!("the local {name} is assigned, but nothing reads it"),
            false => format!("nothing uses the local {name}"),
        };
        self.report(
            Diagnostic::warning(Code::UnusedName, message, variable.span)
                .with_hint("remove it, or use it"),
        );
    }

    /// Reports a local or block parameter that hides another variable.
    pub fn hidden_name(&mut self, name: Identifier, kind: Kind) {
        let Some(hidden) = self.scopes.find(name.name) else { return };
        let word = if kind == Kind::Local { "local" } else { "block parameter" };
        let text = quoted(&self.ast[name.name]);
        let message = format!("the {word} {text} hides another variable of that name");
        let diagnostic = Diagnostic::warning(Code::HiddenName, message, name.span)
            .and_label(hidden.span, "the hidden one")
            .with_hint("give one of them another name");
        self.report(diagnostic);
    }

    /// Reports private slots that no text of the class mentions.
    pub fn unused_members(&mut self, id: ClassId) {
        let ast = self.ast;
        let class = &ast[id];
        for slot in class.slots.iter().map(|&slot| &ast[slot]) {
            if slot.access != Access::Private || self.is_mentioned(class, slot) {
                continue;
            }
            let name = quoted(&ast[slot.name.name]);
            let message = format!("nothing uses the private slot {name}");
            self.report(
                Diagnostic::warning(Code::UnusedName, message, slot.name.span)
                    .with_hint("remove it, or make it public if other objects are to use it"),
            );
        }
    }

    /// Whether a message or assignment in the text of the class has the slot's name.
    fn is_mentioned(&self, class: &Class, slot: &Slot) -> bool {
        let setter = self.ast.nodes.names.find(&format!("{}:", &self.ast[slot.name.name]));
        let is_within =
            |outer: Span, place: Span| outer.start <= place.start && place.end <= outer.end;
        let names = [Some(slot.name.name), setter];
        let mut places =
            names.iter().flatten().filter_map(|name| self.mentions.get(name)).flatten();
        places.any(|&place| {
            // In `| private x = x. |`, the second name is an argument of the factory.
            is_within(class.span, place) && !is_within(slot.span, place)
        })
    }
}

/// The places where names are sent or assigned.
pub fn mentions(ast: &Ast) -> HashMap<Name, Vec<Span>> {
    let mut mentions: HashMap<Name, Vec<Span>> = HashMap::new();
    for (_, message) in ast.nodes.messages.iter() {
        mentions.entry(message.selector).or_default().push(message.selector_span);
    }
    for (_, expression) in ast.nodes.expressions.iter() {
        if let ExpressionKind::SetterSend { target, .. } = expression.kind {
            mentions.entry(target.name).or_default().push(target.span);
        }
    }
    mentions
}
