//! The roles of tokens, as the layout needs them: the kinds of brackets and fences, the places where a line may or must
//! begin, and the messages with keywords. The syntax tree gives them; the tree itself has no types and no comments,
//! so the layout goes along the tokens.
//!
//! All nodes are visited in the order of their arenas, so chains of any length need no stack.

use std::collections::HashMap;

use super::pieces::Pieces;
use crate::ast::{Ast, Body, Class, ExpressionKind, Message, Receiver};
use crate::entities::{Entity, ExpressionId, List};
use crate::source::Span;
use crate::token::TokenKind;

/// A pair of brackets or fences, by its contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bracket {
    /// The first parentheses of a class: slots and initialising expressions.
    Header,
    /// The second or third parentheses of a class.
    Members,
    /// The parentheses of a method.
    Body,
    /// The brackets of a block.
    Block,
    /// Parentheses around an expression.
    Parentheses,
    /// The braces of an array.
    Array,
    /// The bars around slots.
    Slots,
    /// The bars around locals.
    Locals,
}

/// The role of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Plain,
    Opens(Bracket),
    Closes(Bracket),
    /// The colon before the parameter of a block.
    ParameterColon,
    /// The bar behind the parameters of a block.
    ParametersEnd,
}

/// Whether a line may begin with a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Break {
    /// Never, unless there is a comment.
    Never,
    /// If one began there.
    Kept,
    /// If the brackets around it have several lines.
    Item,
}

/// A message with keywords.
#[derive(Debug)]
pub struct KeywordMessage {
    /// The tokens of its keywords.
    pub keywords: Vec<usize>,
    /// Where a line begins if it begins with a keyword: the keyword, or the arrow before it.
    pub starts: Vec<usize>,
    /// The token behind it.
    pub end: usize,
    /// How many arguments are blocks.
    pub blocks: usize,
    /// Whether the last argument is one.
    pub ends_with_block: bool,
}

/// The declaration of a slot or local.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Its first token.
    pub start: usize,
    /// Its `=` or `::=`.
    pub sign: Option<usize>,
}

/// The roles of all tokens.
pub struct Marks {
    pub roles: Vec<Role>,
    pub breaks: Vec<Break>,
    /// Whether a bracket opens a part of a class or method that has a name.
    pub is_declared: Vec<bool>,
    /// The closing bracket of an opening one.
    pub partners: Vec<usize>,
    /// In how many arguments of keywords a token is.
    pub depths: Vec<u32>,
    /// By the first token of the line that may begin there.
    pub messages: HashMap<usize, KeywordMessage>,
    /// The declarations between bars, by the opening bar.
    pub declarations: HashMap<usize, Vec<Declaration>>,
}

impl Marks {
    pub fn of(ast: &Ast, pieces: &Pieces) -> Marks {
        let count = pieces.tokens.len();
        let marks = Marks {
            roles: vec![Role::Plain; count],
            breaks: vec![Break::Never; count],
            is_declared: vec![false; count],
            partners: partners(pieces),
            depths: vec![0; count],
            messages: HashMap::new(),
            declarations: HashMap::new(),
        };
        let mut marker = Marker { ast, pieces, marks, depth_changes: vec![0; count + 1] };
        marker.nodes();
        marker.finish()
    }
}

/// The closing brackets of opening ones; types have brackets, too.
fn partners(pieces: &Pieces) -> Vec<usize> {
    let mut partners = vec![0; pieces.tokens.len()];
    let mut open = Vec::new();
    for (index, token) in pieces.tokens.iter().enumerate() {
        if token.kind.closer().is_some() {
            open.push(index);
        } else if token.kind.is_closer()
            && let Some(opening) = open.pop()
        {
            partners[opening] = index;
        }
    }
    partners
}

struct Marker<'a> {
    ast: &'a Ast,
    pieces: &'a Pieces,
    marks: Marks,
    /// How the depth changes at each token.
    depth_changes: Vec<i32>,
}

impl Marker<'_> {
    fn nodes(&mut self) {
        let nodes = &self.ast.nodes;
        self.brackets_of_expressions();
        for (_, class) in nodes.classes.iter() {
            self.class(class);
        }
        for (_, method) in nodes.methods.iter() {
            self.item(method.span.start);
            let opening = self.pieces.at(method.body.span.start);
            self.pair(opening, Bracket::Body);
            self.marks.is_declared[opening] = true;
            self.body(&method.body, opening + 1);
        }
        for (_, block) in nodes.blocks.iter() {
            let opening = self.pieces.at(block.span.start);
            self.pair(opening, Bracket::Block);
            let first = self.parameters(opening + 1, block.parameters.len());
            self.body(&block.body, first);
        }
        for (_, expression) in nodes.expressions.iter() {
            match expression.kind {
                ExpressionKind::Array(elements) => {
                    self.elements(elements);
                }
                ExpressionKind::SetterSend { value, .. } => {
                    self.may_break(self.ast[value].span.start);
                }
                _ => {}
            }
        }
        self.messages();
        self.clauses();
    }

    fn finish(mut self) -> Marks {
        let mut depth = 0;
        for (own, change) in self.marks.depths.iter_mut().zip(&self.depth_changes) {
            depth += change;
            *own = depth.max(0) as u32;
        }
        for (index, token) in self.pieces.tokens.iter().enumerate() {
            // Sections of a module: the words before the class, and the end.
            if index > 0 && (self.is_module_class(index) || token.kind == TokenKind::EndOfFile) {
                self.marks.breaks[index] = Break::Item;
            }
        }
        self.marks
    }

    fn is_module_class(&self, index: usize) -> bool {
        self.pieces.tokens[index].span.start == self.ast[self.ast.module].span.start
    }

    fn item(&mut self, start: u32) {
        let index = self.pieces.at(start);
        self.marks.breaks[index] = Break::Item;
    }

    fn may_break(&mut self, start: u32) {
        self.break_before(self.pieces.at(start));
    }

    fn elements(&mut self, list: List<ExpressionId>) {
        let ast = self.ast;
        ast[list].iter().for_each(|&element| self.may_break(ast[element].span.start));
    }

    fn pair(&mut self, opening: usize, bracket: Bracket) {
        self.marks.roles[opening] = Role::Opens(bracket);
        self.marks.roles[self.marks.partners[opening]] = Role::Closes(bracket);
    }

    /// All parentheses and braces; those of declarations get their roles later.
    fn brackets_of_expressions(&mut self) {
        for index in 0..self.pieces.tokens.len() {
            if self.pieces.is_type[index] {
                continue;
            }
            match self.pieces.tokens[index].kind {
                TokenKind::OpenParenthesis => self.pair(index, Bracket::Parentheses),
                TokenKind::OpenBrace => self.pair(index, Bracket::Array),
                _ => {}
            }
        }
    }

    // Declarations

    fn class(&mut self, class: &Class) {
        if class.name.is_some() {
            self.item(class.span.start);
        }
        let header = self.header(class);
        if class.name.is_some() && class.superclass.is_some() {
            self.break_before(self.equals(class));
        }
        if self.kind(header) != TokenKind::OpenParenthesis {
            return;
        }
        self.pair(header, Bracket::Header);
        self.marks.is_declared[header] = class.name.is_some();
        let spans = class.slots.iter().map(|&slot| self.ast[slot].span);
        let spans: Vec<_> = spans.collect();
        let signs = class.slots.iter().map(|&slot| self.ast[slot].initializer.is_some());
        let declared: Vec<_> = spans.into_iter().zip(signs).collect();
        self.fence(header + 1, Bracket::Slots, &declared);
        for &expression in &class.initializers {
            self.item(self.ast[expression].span.start);
        }
        let members = self.marks.partners[header] + 1;
        self.pair(members, Bracket::Members);
        self.marks.is_declared[members] = class.name.is_some();
        let end = self.marks.partners[members];
        let has_class_side = self.pieces.tokens[end].span.end < class.span.end;
        if has_class_side && self.kind(end + 1) == TokenKind::Colon {
            self.pair(end + 2, Bracket::Members);
            self.marks.is_declared[end + 2] = class.name.is_some();
        }
    }

    /// The parenthesis behind the head of a class, or the period that stands for the body.
    fn header(&self, class: &Class) -> usize {
        if let Some(clause) = class.mixins.last().or(class.superclass.as_ref()) {
            return self.pieces.at(clause.span.end);
        }
        if class.name.is_none() {
            return self.pieces.at(class.span.start) + 1;
        }
        self.equals(class) + 1
    }

    /// The sign of a class with a name.
    fn equals(&self, class: &Class) -> usize {
        let ends = |kind| matches!(kind, TokenKind::Equals | TokenKind::EndOfFile);
        let first = self.pieces.at(class.factory.span.end);
        (first..).find(|&index| ends(self.kind(index))).unwrap_or(first)
    }

    fn kind(&self, index: usize) -> TokenKind {
        self.pieces.tokens.get(index).map_or(TokenKind::EndOfFile, |token| token.kind)
    }

    /// The parameters of a block; answers the token behind them.
    fn parameters(&mut self, first: usize, count: usize) -> usize {
        if count == 0 {
            return first;
        }
        let mut index = first;
        while self.kind(index) != TokenKind::Bar || self.pieces.is_type[index] {
            if self.kind(index) == TokenKind::Colon && !self.pieces.is_type[index] {
                self.marks.roles[index] = Role::ParameterColon;
            }
            index += 1;
        }
        self.marks.roles[index] = Role::ParametersEnd;
        index + 1
    }

    /// The body of a method or block; `first` is its first token.
    fn body(&mut self, body: &Body, first: usize) {
        let locals = body.locals.iter().map(|local| (local.span, local.initializer.is_some()));
        let locals: Vec<_> = locals.collect();
        self.fence(first, Bracket::Locals, &locals);
        for &statement in &self.ast[body.statements] {
            self.item(self.ast[statement].span.start);
        }
        if let Some(returned) = body.returned {
            self.item(returned.span.start);
        }
    }

    /// The bars around declarations, if there are bars.
    fn fence(&mut self, first: usize, bracket: Bracket, spans: &[(Span, bool)]) {
        match self.kind(first) {
            TokenKind::DoubleBar => self.marks.breaks[first] = Break::Item,
            TokenKind::Bar => {
                let end = spans.last().map_or(first + 1, |(span, _)| self.pieces.at(span.end));
                self.marks.roles[first] = Role::Opens(bracket);
                self.marks.breaks[first] = Break::Item;
                self.marks.partners[first] = end;
                self.marks.roles[end] = Role::Closes(bracket);
                let declarations = spans.iter().map(|&(span, has_sign)| {
                    let start = self.pieces.at(span.start);
                    Declaration { start, sign: has_sign.then(|| self.sign(start)) }
                });
                let declarations: Vec<_> = declarations.collect();
                for declaration in &declarations {
                    self.marks.breaks[declaration.start] = Break::Item;
                    if let Some(sign) = declaration.sign {
                        self.marks.breaks[sign + 1] = Break::Kept;
                    }
                }
                self.marks.declarations.insert(first, declarations);
            }
            _ => {}
        }
    }

    /// The sign of the declaration that begins at a token.
    fn sign(&self, start: usize) -> usize {
        let is_sign = |kind| matches!(kind, TokenKind::Equals | TokenKind::MutableEquals);
        (start..).find(|&index| is_sign(self.kind(index))).unwrap_or(start)
    }

    // Messages

    fn messages(&mut self) {
        let nodes = &self.ast.nodes;
        let mut has_receiver = vec![true; nodes.messages.len()];
        for (_, expression) in nodes.expressions.iter() {
            if let ExpressionKind::Send { receiver: Receiver::Implicit, message } = expression.kind
            {
                has_receiver[message.index()] = false;
            }
        }
        for (id, message) in nodes.messages.iter() {
            let selector = self.pieces.at(message.selector_span.start);
            let first = selector - usize::from(message.is_eventual);
            if has_receiver[id.index()] {
                self.break_before(first);
            }
            if self.kind(selector) == TokenKind::Keyword {
                self.keywords(message, first, selector);
            }
        }
    }

    fn break_before(&mut self, index: usize) {
        if self.marks.breaks[index] == Break::Never {
            self.marks.breaks[index] = Break::Kept;
        }
    }

    fn keywords(&mut self, message: &Message, first: usize, selector: usize) {
        let arguments = &self.ast[message.arguments];
        let (mut keywords, mut starts) = (Vec::new(), Vec::new());
        for (number, &argument) in arguments.iter().enumerate() {
            let span = self.ast[argument].span;
            let start = self.pieces.at(span.start);
            let end = self.pieces.at(span.end);
            let keyword = if number == 0 { selector } else { start - 1 };
            let begin = if number == 0 { first } else { keyword };
            keywords.push(keyword);
            starts.push(begin);
            if number > 0 {
                self.break_before(begin);
            }
            self.break_before(start);
            self.depth_changes[start] += 1;
            self.depth_changes[end] -= 1;
        }
        let is_block = |id: &&ExpressionId| matches!(self.ast[**id].kind, ExpressionKind::Block(_));
        let blocks = arguments.iter().filter(is_block).count();
        let ends_with_block = arguments.last().is_some_and(|last| is_block(&last));
        let end = self.pieces.at(message.span.end);
        let message = KeywordMessage { keywords, starts, end, blocks, ends_with_block };
        self.marks.messages.insert(first, message);
    }

    /// Mixins begin a line if they began one.
    fn clauses(&mut self) {
        for index in 0..self.pieces.tokens.len() {
            if self.kind(index) == TokenKind::MixinArrow {
                self.marks.breaks[index] = Break::Kept;
            }
        }
    }
}
