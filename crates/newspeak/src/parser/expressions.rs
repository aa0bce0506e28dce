//! Expressions: messages, literals, blocks and object literals. `bodies`, `declarations` and `imports` call this
//! module.
//!
//! ```text
//! expression = { Setter } ( message-to-nobody | primary [ messages { ";" message } ] )
//! operand    = primary { ["<-:"] name }
//! formula    = operand { ["<-:"] operator operand }
//! messages   = as in a formula, and then perhaps [ "<-:" ] { Keyword formula }+
//! primary    = name | "outer" name | "(" expression ")" | "[" parameters body "]"
//!            | "{" expressions "}" | literal | "objL" inheritance
//! ```
//!
//! Unary messages bind closer than binary ones, those closer than keyword messages, and all
//! of them group from the left. `<-:` makes the next message eventual. A cascade goes to the
//! receiver of the last message before the first semicolon.

use std::borrow::Cow;

use super::bodies::Owner;
use super::{Parsed, Parser};
use crate::ast::{Access, Block, ExpressionKind, Identifier, Literal, Message, Receiver};
use crate::entities::{ExpressionId, MessageId, Name};
use crate::literals::{character_value, string_value, symbol_value};
use crate::numerals::{Numeral, NumeralValue};
use crate::source::Span;
use crate::token::TokenKind;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parsed<ExpressionId> {
        let first = self.position;
        while self.accept(TokenKind::Setter) {}
        let last = self.position;
        let mut value = self.evaluation()?;
        for position in (first..last).rev() {
            value = self.add_setter_send(position, value);
        }
        Ok(value)
    }

    /// The setter send whose `name::` is the token at this position.
    fn add_setter_send(&mut self, position: usize, value: ExpressionId) -> ExpressionId {
        let token = self.tokens[position].span;
        let target = self.identifier_at(Span { end: token.end - 2, ..token });
        let span = token.to(self.previous.span);
        self.add(ExpressionKind::SetterSend { target, value }, span)
    }

    fn evaluation(&mut self) -> Parsed<ExpressionId> {
        let start = self.current.span;
        if self.at(TokenKind::Keyword) {
            let message = self.keyword_message(false)?;
            return Ok(self.add_send(Receiver::Implicit, message, start));
        }
        let primary = self.primary()?;
        let operand = self.unary_messages(primary, start)?;
        let formula = self.binary_messages(operand, start)?;
        let expression = self.optional_keyword_message(formula, start)?;
        if !self.at(TokenKind::Semicolon) {
            Ok(expression)
        } else if expression == primary {
            Err(self.cascade_without_message())
        } else {
            self.cascade(expression, start)
        }
    }

    // Messages

    /// The operand on either side of a binary operator.
    fn operand(&mut self) -> Parsed<ExpressionId> {
        let start = self.current.span;
        let primary = self.primary()?;
        self.unary_messages(primary, start)
    }

    /// The argument of a keyword.
    fn formula(&mut self) -> Parsed<ExpressionId> {
        let start = self.current.span;
        let operand = self.operand()?;
        self.binary_messages(operand, start)
    }

    fn unary_messages(&mut self, first: ExpressionId, start: Span) -> Parsed<ExpressionId> {
        let mut receiver = first;
        while let Some(is_eventual) = self.at_message(|kind| kind == TokenKind::Identifier) {
            self.skip_arrow(is_eventual);
            self.advance();
            let message = self.add_unary(is_eventual);
            receiver = self.add_send(self.receiver(receiver), message, start);
        }
        Ok(receiver)
    }

    fn binary_messages(&mut self, first: ExpressionId, start: Span) -> Parsed<ExpressionId> {
        let mut receiver = first;
        loop {
            let is_eventual = self.at_message(TokenKind::is_operator);
            if let Some(is_eventual) = is_eventual {
                self.skip_arrow(is_eventual);
                self.advance();
            } else if self.at(TokenKind::Numeral) && self.current_text().starts_with('-') {
                self.negative_numeral_after_operand();
                self.split(1, TokenKind::Numeral);
            } else {
                return Ok(receiver);
            }
            let message = self.binary_message(is_eventual == Some(true))?;
            receiver = self.add_send(self.receiver(receiver), message, start);
        }
    }

    /// A binary message, after its operator.
    fn binary_message(&mut self, is_eventual: bool) -> Parsed<MessageId> {
        let Identifier { name: selector, span } = self.identifier_at(self.previous.span);
        let argument = self.operand()?;
        let arguments = self.nodes.expression_lists.add(&[argument]);
        Ok(self.nodes.messages.add(Message {
            selector,
            arguments,
            is_eventual,
            selector_span: span,
            span: span.to(self.previous.span),
        }))
    }

    fn optional_keyword_message(
        &mut self,
        receiver: ExpressionId,
        start: Span,
    ) -> Parsed<ExpressionId> {
        let Some(is_eventual) = self.at_message(|kind| kind == TokenKind::Keyword) else {
            return Ok(receiver);
        };
        self.skip_arrow(is_eventual);
        let message = self.keyword_message(is_eventual)?;
        Ok(self.add_send(self.receiver(receiver), message, start))
    }

    /// A keyword message, from its first keyword on.
    pub(super) fn keyword_message(&mut self, is_eventual: bool) -> Parsed<MessageId> {
        let arguments = self.operands.len();
        let keywords = self.keywords.len();
        while self.at(TokenKind::Keyword) {
            let keyword = self.advance().span;
            self.keywords.push(keyword);
            let argument = self.formula()?;
            self.operands.push(argument);
        }
        let selector_span = self.keywords[keywords];
        let selector = self.take_selector(keywords);
        let arguments = self.take_operands(arguments);
        let span = selector_span.to(self.previous.span);
        let message = Message { selector, arguments, is_eventual, selector_span, span };
        Ok(self.nodes.messages.add(message))
    }

    /// The keywords pushed since `mark`, joined.
    pub(super) fn take_selector(&mut self, mark: usize) -> Name {
        let selector = match &self.keywords[mark..] {
            [keyword] => self.nodes.names.intern(&self.text[keyword.range()]),
            keywords => {
                self.selector.clear();
                self.selector.extend(keywords.iter().map(|keyword| &self.text[keyword.range()]));
                self.nodes.names.intern(&self.selector)
            }
        };
        self.keywords.truncate(mark);
        selector
    }

    /// The messages after the semicolons, all to the receiver of the send before them.
    fn cascade(&mut self, first: ExpressionId, start: Span) -> Parsed<ExpressionId> {
        let ExpressionKind::Send { receiver, message } = self.nodes[first].kind else {
            return Err(self.cascade_without_message());
        };
        let mark = self.messages.len();
        self.messages.push(message);
        while self.accept(TokenKind::Semicolon) {
            let message = match self.current.kind {
                TokenKind::Keyword => self.keyword_message(false)?,
                TokenKind::Identifier => {
                    self.advance();
                    self.add_unary(false)
                }
                kind if kind.is_operator() => {
                    self.advance();
                    self.binary_message(false)?
                }
                _ => return Err(self.no_message_in_cascade()),
            };
            self.messages.push(message);
        }
        let messages = self.nodes.message_lists.add(&self.messages[mark..]);
        self.messages.truncate(mark);
        let span = start.to(self.previous.span);
        Ok(self.add(ExpressionKind::Cascade { receiver, messages }, span))
    }

    /// Whether a message of some form begins here, and if so, whether an eventual one.
    fn at_message(&self, has_form: impl Fn(TokenKind) -> bool) -> Option<bool> {
        if has_form(self.current.kind) {
            Some(false)
        } else {
            (self.at(TokenKind::EventualArrow) && has_form(self.peek(1))).then_some(true)
        }
    }

    fn skip_arrow(&mut self, is_eventual: bool) {
        if is_eventual {
            self.advance();
        }
    }
}

/// Primaries.
impl Parser<'_> {
    fn primary(&mut self) -> Parsed<ExpressionId> {
        match self.current.kind {
            TokenKind::Identifier => self.word(),
            TokenKind::Numeral | TokenKind::String | TokenKind::Character | TokenKind::Symbol => {
                Ok(self.literal())
            }
            TokenKind::OpenParenthesis => self.parenthesized(),
            TokenKind::OpenBracket => self.block(),
            TokenKind::OpenBrace => self.array(),
            _ => Err(self.no_expression()),
        }
    }

    fn word(&mut self) -> Parsed<ExpressionId> {
        let span = self.advance().span;
        let kind = match &self.text[span.range()] {
            "self" => ExpressionKind::SelfObject,
            "super" => ExpressionKind::Super,
            "nil" => ExpressionKind::Literal(Literal::Nil),
            "true" => ExpressionKind::Literal(Literal::True),
            "false" => ExpressionKind::Literal(Literal::False),
            "outer" => return self.outer(span),
            "objL" => return self.object_literal(span),
            _ => ExpressionKind::Send {
                receiver: Receiver::Implicit,
                message: self.add_unary(false),
            },
        };
        Ok(self.add(kind, span))
    }

    fn outer(&mut self, start: Span) -> Parsed<ExpressionId> {
        let name = self.expect_identifier("the name of an enclosing class")?;
        Ok(self.add(ExpressionKind::Outer(name), start.to(name.span)))
    }

    fn parenthesized(&mut self) -> Parsed<ExpressionId> {
        let start = self.open(TokenKind::OpenParenthesis, "`(`")?;
        let expression = self.expression()?;
        self.close()?;
        self.nodes.expressions[expression].span = start.to(self.previous.span);
        Ok(expression)
    }

    fn array(&mut self) -> Parsed<ExpressionId> {
        let start = self.open(TokenKind::OpenBrace, "`{`")?;
        let mark = self.operands.len();
        self.items();
        let elements = self.take_operands(mark);
        self.close()?;
        Ok(self.add(ExpressionKind::Array(elements), start.to(self.previous.span)))
    }

    fn block(&mut self) -> Parsed<ExpressionId> {
        let start = self.open(TokenKind::OpenBracket, "`[`")?;
        let parameters = self.block_parameters()?;
        let body = self.body(Owner::Block, start)?;
        let span = start.to(self.previous.span);
        let block = self.nodes.blocks.add(Block { parameters, body, span });
        Ok(self.add(ExpressionKind::Block(block), span))
    }

    fn object_literal(&mut self, start: Span) -> Parsed<ExpressionId> {
        self.enter()?;
        let around = self.around;
        let class = self.class(None, Access::Public, start)?;
        self.around = around;
        self.leave();
        Ok(self.add(ExpressionKind::ObjectLiteral(class), start.to(self.previous.span)))
    }

    fn literal(&mut self) -> ExpressionId {
        let token = self.advance();
        let text = &self.text[token.span.range()];
        let literal = match token.kind {
            TokenKind::Numeral => self.numeral(text),
            TokenKind::Symbol => Literal::Symbol(self.nodes.names.intern(&symbol_value(text))),
            TokenKind::Character => self.string(character_value(text).into()),
            _ => self.string(string_value(text)),
        };
        self.add(ExpressionKind::Literal(literal), token.span)
    }

    fn string(&mut self, value: Cow<'_, str>) -> Literal {
        Literal::String(self.nodes.strings.add(value.into()))
    }

    fn numeral(&mut self, text: &str) -> Literal {
        match Numeral::scan(text).value() {
            NumeralValue::Integer(value) => Literal::Integer(value),
            NumeralValue::Double(value) => Literal::Double(value),
            NumeralValue::BigInteger(value) => {
                Literal::BigInteger(self.nodes.big_integers.add(value))
            }
        }
    }
}
