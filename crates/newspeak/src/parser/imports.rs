//! The short form of slots that name several members of one object. `declarations` calls this module where a comma
//! follows a slot's name, as in `private Array, Vector = platform kernel.`
//!
//! ```text
//! imports = [access] name [type] { "," name [type] }+ "=" object "."
//! object  = ( name | "outer" name | "self" ) { name }
//! ```
//!
//! This is a shorter form of a slot for each name, whose value is the object's answer to the message of that name:
//! `private Array = platform kernel Array. private Vector = platform kernel Vector.` The object is named by a few unary
//! messages, which each slot sends. So the tree has no node for this form, and no other phase knows it.

use super::{Parsed, Parser, Reported};
use crate::ast::{Access, ExpressionKind, Identifier, Message, Receiver, Slot};
use crate::entities::{ExpressionId, List, SlotId};
use crate::source::Span;
use crate::token::TokenKind;

/// So many names may share an object.
const MOST_NAMES: usize = 200;

/// So many messages may lead to the object.
const MOST_MESSAGES: usize = 8;

impl Parser<'_> {
    /// Whether another name follows, so that a declaration is one of imports.
    pub(super) fn at_comma(&self) -> bool {
        self.at(TokenKind::Operator) && self.current_text() == ","
    }

    /// The rest of imports, after the first name.
    pub(super) fn imports(
        &mut self,
        start: Span,
        access: Access,
        first: Identifier,
        slots: &mut Vec<SlotId>,
    ) -> Parsed<()> {
        let mut names = vec![first];
        while self.at_comma() {
            if names.len() == MOST_NAMES {
                return Err(self.expected("at most 200 names of one object"));
            }
            self.advance();
            names.push(self.declared_name("the name of another member")?);
            self.optional_type()?;
        }
        if !self.accept(TokenKind::Equals) {
            return Err(self.no_object_of_imports());
        }
        let object = self.object_of_imports()?;
        if !self.accept(TokenKind::Period) {
            self.no_period_after_initializer();
        }
        let span = start.to(self.previous.span);
        for name in names {
            let initializer = Some(self.add_import(object, name));
            let slot = Slot { access, name, is_mutable: false, initializer, span };
            slots.push(self.nodes.slots.add(slot));
        }
        Ok(())
    }

    /// The object whose members are named.
    fn object_of_imports(&mut self) -> Parsed<ExpressionId> {
        let start = self.position;
        let object = self.expression()?;
        match self.is_object_of_imports(object) {
            true => Ok(object),
            false => {
                self.retreat_to(start);
                Err(self.no_names_for_imports())
            }
        }
    }

    /// Whether an expression is a few names, one after the other.
    fn is_object_of_imports(&self, object: ExpressionId) -> bool {
        let mut current = object;
        for _ in 0..=MOST_MESSAGES {
            match self.nodes[current].kind {
                ExpressionKind::Outer(_) | ExpressionKind::SelfObject => return true,
                ExpressionKind::Send { receiver, message } => {
                    let message = &self.nodes[message];
                    if message.is_eventual || !self.nodes[message.arguments].is_empty() {
                        return false;
                    }
                    match receiver {
                        Receiver::Expression(receiver) => current = receiver,
                        Receiver::Super => return false,
                        _ => return true,
                    }
                }
                _ => return false,
            }
        }
        false
    }

    fn add_import(&mut self, object: ExpressionId, name: Identifier) -> ExpressionId {
        let message = self.nodes.messages.add(Message {
            selector: name.name,
            arguments: List::default(),
            is_eventual: false,
            selector_span: name.span,
            span: name.span,
        });
        let receiver = self.receiver(object);
        self.add(ExpressionKind::Send { receiver, message }, name.span)
    }

    fn no_object_of_imports(&mut self) -> Reported {
        let diagnostic = self.not_expected("`,` and another name, or `=`");
        self.complain(diagnostic.with_hint(
            "several names before one `=` are members of one object: `private Array, Vector = platform kernel.`",
        ))
    }

    fn no_names_for_imports(&mut self) -> Reported {
        let diagnostic = self.not_expected("the object of which the names are members");
        self.complain(diagnostic.with_hint(
            "this form takes names only, such as `platform kernel`; give each slot its own value",
        ))
    }
}
