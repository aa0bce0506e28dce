//! Bodies of methods and blocks: locals, statements, `^`. `declarations` and `expressions` call it.
//!
//! ```text
//! body       = [ locals ] { expression "." } [ expression | "^" expression ["."] ]
//! locals     = "|" { name [type] [ ("=" | "::=") expression "." ] } "|"  |  "||"
//! parameters = { ":" name [type] }+ "|"
//! ```

use super::recovery::Until;
use super::{Parsed, Parser, Reported};
use crate::ast::{Body, ExpressionKind, Identifier, Local, Receiver, Return};
use crate::entities::ExpressionId;
use crate::source::Span;
use crate::token::TokenKind;

/// The `=` or `::=` part of a declaration.
pub(super) struct Initializer {
    pub(super) is_mutable: bool,
    pub(super) value: Option<ExpressionId>,
}

/// Whose body is parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Method,
    Block,
}

impl Parser<'_> {
    /// A body and the bracket that closes it. The opening one is consumed already. Boxed for
    /// the sake of small stack frames.
    pub(super) fn body(&mut self, owner: Owner, opening: Span) -> Parsed<Box<Body>> {
        let locals = self.locals();
        let mark = self.operands.len();
        let returned = self.statements();
        let value_is_last = owner == Owner::Block && returned.is_none();
        self.check_comparisons(mark, value_is_last);
        let statements = self.take_operands(mark);
        self.close()?;
        let span = opening.to(self.previous.span);
        Ok(Box::new(Body { locals, statements, returned, span }))
    }

    /// The contents of a block, up to the end of the source.
    pub(super) fn lone_statements(&mut self) {
        self.locals();
        let mark = self.operands.len();
        let returned = self.statements();
        self.check_comparisons(mark, returned.is_none());
    }

    /// The parameters of a block.
    pub(super) fn block_parameters(&mut self) -> Parsed<Vec<Identifier>> {
        let mut parameters = Vec::new();
        while self.accept(TokenKind::Colon) {
            parameters.push(self.expect_identifier("the name of a block parameter")?);
            self.optional_type()?;
        }
        match self.current.kind {
            _ if parameters.is_empty() => {}
            TokenKind::Bar => _ = self.advance(),
            // The second bar opens the locals.
            TokenKind::DoubleBar => self.split(1, TokenKind::Bar),
            _ => return Err(self.no_bar_after_parameters()),
        }
        Ok(parameters)
    }

    // Locals

    fn locals(&mut self) -> Vec<Local> {
        let mut locals = Vec::new();
        let opening = self.current.span;
        if self.accept(TokenKind::DoubleBar) || !self.accept(TokenKind::Bar) {
            return locals;
        }
        while !self.accept(TokenKind::Bar) {
            if self.at_end() || self.at_statement() {
                self.unclosed_declarations(opening);
                break;
            }
            let checkpoint = self.checkpoint();
            match self.local() {
                Ok(local) => locals.push(local),
                Err(Reported) => self.recover(&checkpoint, Until::Declaration),
            }
        }
        locals
    }

    /// Whether a statement begins here that cannot be a declaration, not even a faulty one.
    fn at_statement(&self) -> bool {
        match self.current.kind {
            TokenKind::Caret => true,
            TokenKind::Setter | TokenKind::Keyword => self.peek(1) != TokenKind::Equals,
            _ => false,
        }
    }

    fn local(&mut self) -> Parsed<Local> {
        let name = self.declared_name("the name of a local, or `|`")?;
        self.optional_type()?;
        let Initializer { is_mutable, value } = self.initializer()?;
        let span = name.span.to(self.previous.span);
        Ok(Local { name, is_mutable, initializer: value, span })
    }

    /// The initialiser that a slot or local may have, with its period.
    pub(super) fn initializer(&mut self) -> Parsed<Initializer> {
        let is_mutable = !self.at(TokenKind::Equals);
        if is_mutable && !self.at(TokenKind::MutableEquals) {
            self.check_smalltalk_declaration()?;
            return Ok(Initializer { is_mutable, value: None });
        }
        self.advance();
        let outer_depth = self.around.initializer_depth;
        self.around.initializer_depth = self.depth();
        let value = Some(self.expression()?);
        self.around.initializer_depth = outer_depth;
        if !self.accept(TokenKind::Period) {
            self.no_period_after_initializer();
        }
        Ok(Initializer { is_mutable, value })
    }

    // Statements

    /// Statements up to the end of the brackets, pushed on the operands, and the `^` one.
    fn statements(&mut self) -> Option<Return> {
        let mut returned = None;
        while self.more_items() {
            let checkpoint = self.checkpoint();
            let parsed = if self.at(TokenKind::Caret) {
                self.return_statement().map(|statement| returned = Some(statement))
            } else {
                self.item()
            };
            if parsed.is_err() {
                self.recover(&checkpoint, Until::Period);
            }
        }
        returned
    }

    fn return_statement(&mut self) -> Parsed<Return> {
        let caret = self.advance().span;
        let value = self.expression()?;
        let span = caret.to(self.previous.span);
        self.end_of_item()?;
        if !self.at_end() {
            self.text_after_return(span);
        }
        Ok(Return { value, span })
    }

    /// Expressions separated by periods up to the end of the brackets, pushed on the operands.
    pub(super) fn items(&mut self) {
        while self.more_items() {
            let checkpoint = self.checkpoint();
            if self.item().is_err() {
                self.recover(&checkpoint, Until::Period);
            }
        }
    }

    fn item(&mut self) -> Parsed<()> {
        let expression = self.expression()?;
        self.operands.push(expression);
        self.end_of_item()
    }

    fn end_of_item(&mut self) -> Parsed<()> {
        if self.accept(TokenKind::Period) || self.at_end() { Ok(()) } else { self.no_period() }
    }

    /// Whether an item begins here. Skips tokens that belong to none.
    fn more_items(&mut self) -> bool {
        loop {
            if self.at(TokenKind::Period) {
                self.empty_statement();
                self.advance();
            } else if self.skip_stray_brackets() {
                self.accept(TokenKind::Period);
            } else {
                return !self.at_end();
            }
        }
    }

    /// `x = 3` as a statement compares without effect; most often `x:: 3` was meant.
    fn check_comparisons(&mut self, mark: usize, value_is_last: bool) {
        let end = self.operands.len() - usize::from(value_is_last && self.operands.len() > mark);
        for index in mark..end {
            let expression = self.operands[index];
            if let Some(name) = self.compared_name(expression) {
                self.unused_comparison(name, self.nodes.expressions[expression].span);
            }
        }
    }

    /// The name on the left of an expression of the form `name = value`.
    fn compared_name(&self, expression: ExpressionId) -> Option<Identifier> {
        let ExpressionKind::Send { receiver: Receiver::Expression(left), message } =
            self.nodes[expression].kind
        else {
            return None;
        };
        let ExpressionKind::Send { receiver: Receiver::Implicit, message: name } =
            self.nodes[left].kind
        else {
            return None;
        };
        let name = self.nodes[name];
        let is_comparison = self.nodes.names[self.nodes[message].selector] == *"=";
        (is_comparison && name.arguments.is_empty())
            .then_some(Identifier { name: name.selector, span: name.span })
    }
}
