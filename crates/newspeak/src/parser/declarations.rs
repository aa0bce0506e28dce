//! Modules, classes, slots, methods: the parser's entry for whole modules. The parser (`parser.rs`) calls `module` for
//! each text.
//!
//! ```text
//! module      = [ "Newspeak3" string ] class
//! class       = "class" name [ pattern ] "=" inheritance
//! pattern     = ( name | operator parameter | { Keyword parameter }+ ) [ "^" type ]
//! inheritance = [ clause { "<:" clause } ] ( body | "." )
//! clause      = reference [ message ]
//! reference   = "outer" name [ name ] | ( "self" | "super" ) name | name
//! body        = "(" [ slots ] expressions ")" "(" { class } { method } ")" [ ":" "(" { method } ")" ]
//! slots       = "|" { [access] name [type] [ ("=" | "::=") expression "." ] | imports } "|"  |  "||"
//! method      = [access] pattern "=" "(" body ")"
//! ```
//!
//! A class's pattern has no operator, and only a class with mixins may do without a body. [`super::imports`] has
//! `imports`.

use super::bodies::{Initializer, Owner};
use super::guesses::Surroundings;
use super::recovery::Until;
use super::{Parsed, Parser, Reported};
use crate::ast::{
    Access, Class, ExpressionKind, Identifier, Inheritance, Method, Pattern, Receiver, Slot,
};
use crate::entities::{ClassId, ExpressionId, MethodId, Name, SlotId};
use crate::source::Span;
use crate::token::TokenKind;

impl Parser<'_> {
    /// The whole source.
    pub(super) fn module(&mut self) -> Parsed<ClassId> {
        if self.at_word("Newspeak3") && self.peek(1) == TokenKind::String {
            self.advance();
            self.advance();
        }
        if self.access_at(self.position).is_some() && self.text_at(self.position + 1) == "class" {
            self.access_of_module();
            self.advance();
        }
        let start = self.current.span;
        if !self.at_word("class") {
            return Err(self.no_module());
        }
        let class = self.class_declaration(Access::Public, start)?;
        if !self.at(TokenKind::EndOfFile) {
            self.text_after_module();
        }
        Ok(class)
    }

    // Classes

    /// A class declaration, from the word `class` on; its access modifier is at `start`.
    fn class_declaration(&mut self, access: Access, start: Span) -> Parsed<ClassId> {
        self.advance();
        if self.current.kind != TokenKind::Identifier {
            return Err(self.no_name_of_class());
        }
        let name = self.expect_identifier("the name of the class")?;
        self.class(Some(name), access, start)
    }

    /// The rest of a class declaration after the class's name, or of an object literal.
    pub(super) fn class(
        &mut self,
        name: Option<Identifier>,
        access: Access,
        start: Span,
    ) -> Parsed<ClassId> {
        self.around = Surroundings {
            class_column: name.and_then(|_| self.column(start.start)),
            ..Surroundings::default()
        };
        // Boxed for the sake of small stack frames here, where classes nest.
        let mut class = self.new_class(name, access, start);
        let checkpoint = self.checkpoint();
        if let Err(Reported) = self.class_head(&mut class) {
            // A class without a correct head still has members worth checking. An object literal is part of a
            // statement, which is skipped as a whole.
            if name.is_some() {
                self.recover(&checkpoint, Until::Body);
            }
            if name.is_none() || !self.at(TokenKind::OpenParenthesis) {
                return Err(Reported);
            }
        }
        if !self.ends_without_body(&class) {
            self.class_body(&mut class)?;
        }
        Ok(self.add_class(class))
    }

    fn new_class(&mut self, name: Option<Identifier>, access: Access, start: Span) -> Box<Class> {
        let factory = Pattern {
            selector: self.nodes.names.intern("new"),
            parameters: Vec::new(),
            span: name.map_or(start, |name| name.span),
        };
        Box::new(Class {
            name,
            access,
            factory,
            superclass: None,
            mixins: Vec::new(),
            slots: Vec::new(),
            initializers: Vec::new(),
            classes: Vec::new(),
            methods: Vec::new(),
            class_methods: Vec::new(),
            span: start,
        })
    }

    fn add_class(&mut self, mut class: Box<Class>) -> ClassId {
        class.span = class.span.to(self.previous.span);
        self.nodes.classes.add(*class)
    }

    /// The part before the body. An object literal has neither pattern nor equals sign.
    fn class_head(&mut self, class: &mut Class) -> Parsed<()> {
        if class.name.is_some() {
            if self.at(TokenKind::Identifier) || self.at(TokenKind::Keyword) {
                class.factory = self.pattern()?;
            } else {
                self.optional_return_type()?;
            }
            if !self.accept(TokenKind::Equals) {
                return Err(self.no_equals_of_class());
            }
        }
        if !self.at(TokenKind::OpenParenthesis) {
            class.superclass = Some(self.inheritance()?);
            while self.accept(TokenKind::MixinArrow) {
                let mixin = self.inheritance()?;
                class.mixins.push(mixin);
            }
        }
        Ok(())
    }

    /// Whether a period stands for the body of a class that only combines others. The period after an object literal
    /// ends the statement around it.
    fn ends_without_body(&mut self, class: &Class) -> bool {
        if class.mixins.is_empty() || !self.at(TokenKind::Period) {
            return false;
        }
        if class.name.is_some() {
            self.advance();
        }
        true
    }

    /// A superclass or mixin with its initialiser message.
    fn inheritance(&mut self) -> Parsed<Inheritance> {
        let start = self.current.span;
        let class = self.class_reference()?;
        let initializer = match self.current.kind {
            TokenKind::Identifier => {
                self.advance();
                Some(self.add_unary(false))
            }
            TokenKind::Keyword => Some(self.keyword_message(false)?),
            _ => None,
        };
        Ok(Inheritance { class, initializer, span: start.to(self.previous.span) })
    }

    /// The expression for a superclass or mixin.
    fn class_reference(&mut self) -> Parsed<ExpressionId> {
        let start = self.current.span;
        let receiver = if self.accept_word("outer") {
            let name = self.expect_identifier("the name of an enclosing class")?;
            if !self.at(TokenKind::Identifier) {
                return Ok(self.add(ExpressionKind::Outer(name), start.to(name.span)));
            }
            Receiver::Outer(name)
        } else if self.accept_word("self") {
            Receiver::SelfObject
        } else if self.accept_word("super") {
            Receiver::Super
        } else {
            Receiver::Implicit
        };
        self.expect(TokenKind::Identifier, "the name of a superclass or mixin, or `(`")?;
        let message = self.add_unary(false);
        Ok(self.add_send(receiver, message, start))
    }

    fn class_body(&mut self, class: &mut Class) -> Parsed<()> {
        if !self.at(TokenKind::OpenParenthesis) {
            return Err(self.no_class_header());
        }
        self.class_header(class)?;
        if !self.at(TokenKind::OpenParenthesis) {
            return Err(self.no_members());
        }
        self.open(TokenKind::OpenParenthesis, "`(`")?;
        self.members(class, Side::Instance);
        self.close()?;
        if self.accept(TokenKind::Colon) {
            self.open(TokenKind::OpenParenthesis, "the `(` before the class methods")?;
            self.members(class, Side::Class);
            self.close()?;
        }
        Ok(())
    }

    // The instance initialiser

    fn class_header(&mut self, class: &mut Class) -> Parsed<()> {
        self.open(TokenKind::OpenParenthesis, "`(`")?;
        if self.at(TokenKind::Bar) {
            self.slots(TokenKind::Bar, &mut class.slots);
        }
        if self.at(TokenKind::DoubleBar) {
            if self.peek(1) == TokenKind::CloseParenthesis {
                self.advance();
            } else {
                self.simultaneous_slots();
                self.slots(TokenKind::DoubleBar, &mut class.slots);
            }
        }
        let mark = self.operands.len();
        self.items();
        class.initializers = self.operands.split_off(mark);
        self.close()
    }

    /// Slots up to the closing fence, which equals the opening one.
    fn slots(&mut self, fence: TokenKind, slots: &mut Vec<SlotId>) {
        let opening = self.advance().span;
        while !self.accept(fence) {
            if self.at_end() {
                self.unclosed_declarations(opening);
                break;
            }
            let checkpoint = self.checkpoint();
            if let Err(Reported) = self.slot(slots) {
                self.recover(&checkpoint, Until::Declaration);
            }
        }
    }

    /// A slot, or the slots of [imports](super::imports).
    fn slot(&mut self, slots: &mut Vec<SlotId>) -> Parsed<()> {
        let start = self.current.span;
        let access = self.access();
        let name = self.declared_name("the name of a slot, or `|`")?;
        self.optional_type()?;
        if self.at_comma() {
            return self.imports(start, access, name, slots);
        }
        let Initializer { is_mutable, value } = self.initializer()?;
        let span = start.to(self.previous.span);
        let slot = Slot { access, name, is_mutable, initializer: value, span };
        slots.push(self.nodes.slots.add(slot));
        Ok(())
    }

    /// The name of a slot or local.
    pub(super) fn declared_name(&mut self, what: &str) -> Parsed<Identifier> {
        if !self.at(TokenKind::Identifier) {
            return Err(self.no_declared_name(what));
        }
        let token = self.advance();
        Ok(self.identifier_at(token.span))
    }

    // Members

    /// The contents of a class, up to the end of the source.
    pub(super) fn lone_members(&mut self) {
        let mut class = self.new_class(None, Access::Public, self.current.span);
        self.members(&mut class, Side::Instance);
    }

    fn members(&mut self, class: &mut Class, side: Side) {
        self.forget_column_unless_deeper();
        while self.more_members() {
            let checkpoint = self.checkpoint();
            if let Err(Reported) = self.member(class, side) {
                self.recover(&checkpoint, Until::Member);
            }
        }
    }

    /// Whether a member begins here. Skips tokens that belong to none.
    fn more_members(&mut self) -> bool {
        self.lift_barrier();
        self.skip_stray_brackets();
        self.raise_class_barrier();
        !self.at_end()
    }

    fn member(&mut self, class: &mut Class, side: Side) -> Parsed<()> {
        let around = self.around;
        let start = self.current.span;
        let access = self.access();
        if self.at_word("class") && self.peek(1) == TokenKind::Identifier {
            if side == Side::Class || !class.methods.is_empty() {
                self.misplaced_class(side == Side::Class);
            }
            let nested = self.class_declaration(access, start)?;
            class.classes.push(nested);
        } else {
            let method = self.method(access, start)?;
            match side {
                Side::Instance => class.methods.push(method),
                Side::Class => class.class_methods.push(method),
            }
        }
        self.around = around;
        Ok(())
    }

    /// A method whose access modifier was read; its first token is at `start`.
    fn method(&mut self, access: Access, start: Span) -> Parsed<MethodId> {
        let pattern = self.pattern()?;
        if !self.accept(TokenKind::Equals) {
            return Err(self.no_equals_of_method());
        }
        self.around.method_column = self.column(start.start);
        self.around.method_depth = self.depth();
        if !self.at(TokenKind::OpenParenthesis) {
            return Err(self.no_body());
        }
        let opening = self.open(TokenKind::OpenParenthesis, "the `(` before the method's body")?;
        let body = self.body(Owner::Method, opening)?;
        let span = start.to(self.previous.span);
        Ok(self.nodes.methods.add(Method { access, pattern, body, span }))
    }

    /// A selector with parameters, and perhaps a return type.
    fn pattern(&mut self) -> Parsed<Pattern> {
        let start = self.current.span;
        let mut parameters = Vec::new();
        let selector = match self.current.kind {
            TokenKind::Identifier => {
                self.advance();
                self.identifier_at(start).name
            }
            TokenKind::Keyword => self.keyword_pattern(&mut parameters)?,
            kind if kind.is_operator() => {
                self.advance();
                let selector = self.identifier_at(start).name;
                parameters.push(self.parameter()?);
                selector
            }
            _ => return Err(self.expected("the pattern of a method")),
        };
        let span = start.to(self.previous.span);
        self.optional_return_type()?;
        Ok(Pattern { selector, parameters, span })
    }

    fn keyword_pattern(&mut self, parameters: &mut Vec<Identifier>) -> Parsed<Name> {
        let mark = self.keywords.len();
        while self.at(TokenKind::Keyword) {
            let keyword = self.advance().span;
            self.keywords.push(keyword);
            parameters.push(self.parameter()?);
        }
        Ok(self.take_selector(mark))
    }

    fn parameter(&mut self) -> Parsed<Identifier> {
        let name = self.expect_identifier("the name of a parameter")?;
        self.optional_type()?;
        Ok(name)
    }

    /// The access modifier that may stand here.
    fn access(&mut self) -> Access {
        match self.access_at(self.position) {
            Some(access) => {
                self.advance();
                access
            }
            None => Access::Protected,
        }
    }

    pub(super) fn access_at(&self, position: usize) -> Option<Access> {
        if self.kind_at(position) != TokenKind::Identifier {
            return None;
        }
        match self.text_at(position) {
            "private" => Some(Access::Private),
            "protected" => Some(Access::Protected),
            "public" => Some(Access::Public),
            _ => None,
        }
    }
}

/// The two sides of a class.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Instance,
    Class,
}
