//! The formatter's input: tokens, and the comments and line ends between them. `mod.rs` makes them, and the marks and
//! the layout go along them.
//!
//! The lexer makes one operator of characters that the grammar takes apart: the end of a type and the bar behind it,
//! as in `<E>|`, and two bars behind the parameters of a block. Here they are tokens of their own, as in the layout.

use std::collections::HashSet;

use crate::ast::{Ast, Identifier};
use crate::comments::comments_in;
use crate::lexer::tokenize;
use crate::source::{Source, Span};
use crate::token::{Token, TokenKind};

/// The tokens of a program, the last one being [`TokenKind::EndOfFile`], and what lies before each.
pub struct Pieces {
    pub tokens: Vec<Token>,
    pub gaps: Vec<Gap>,
    /// Whether a token belongs to a type annotation.
    pub is_type: Vec<bool>,
}

/// The text before a token.
#[derive(Default)]
pub struct Gap {
    pub comments: Vec<Comment>,
    /// The number of line ends directly before the token.
    pub lines: usize,
    /// Whether there is anything at all, even a blank.
    pub is_wide: bool,
}

pub struct Comment {
    pub span: Span,
    /// The number of line ends directly before it.
    pub lines: usize,
}

impl Pieces {
    pub fn of(ast: &Ast, source: &Source) -> Pieces {
        let mut splitter = Splitter::new(tokenize(source).list);
        splitter.types(ast, source);
        splitter.bars_of_blocks(ast);
        let Splitter { tokens, is_type, .. } = splitter;
        let gaps = gaps(source, &tokens);
        Pieces { tokens, gaps, is_type }
    }

    /// The number of the token that begins at an offset, or of the next one.
    pub fn at(&self, offset: u32) -> usize {
        self.tokens.partition_point(|token| token.span.start < offset)
    }
}

fn gaps(source: &Source, tokens: &[Token]) -> Vec<Gap> {
    let mut end = 0;
    let mut gaps = Vec::with_capacity(tokens.len());
    for token in tokens {
        let span = Span { start: end, end: token.span.start };
        gaps.push(gap(source, span));
        end = token.span.end;
    }
    gaps
}

fn gap(source: &Source, span: Span) -> Gap {
    if span.start == span.end {
        return Gap::default();
    }
    let lines = |start: u32, end: u32| {
        let text = &source.text().as_bytes()[start as usize..end as usize];
        text.iter().filter(|byte| **byte == b'\n').count()
    };
    let mut start = span.start;
    let mut comments = Vec::new();
    for comment in comments_in(source, span) {
        comments.push(Comment { span: comment, lines: lines(start, comment.start) });
        start = comment.end;
    }
    Gap { comments, lines: lines(start, span.end), is_wide: true }
}

struct Splitter {
    tokens: Vec<Token>,
    is_type: Vec<bool>,
    /// Where the bar behind the parameters of a block begins, if the token has a second one.
    double_bars: HashSet<u32>,
}

impl Splitter {
    fn new(tokens: Vec<Token>) -> Splitter {
        let is_type = vec![false; tokens.len()];
        Splitter { tokens, is_type, double_bars: HashSet::new() }
    }

    /// The token that begins at an offset, or the next one.
    fn at(&self, offset: u32) -> usize {
        self.tokens.partition_point(|token| token.span.start < offset)
    }

    // Types

    fn types(&mut self, ast: &Ast, source: &Source) {
        let mut starts: Vec<u32> = declared(ast).map(|name| name.span.end).collect();
        starts.sort_unstable();
        let mut returns: Vec<u32> = patterns(ast).collect();
        returns.sort_unstable();
        // From the end, so that the numbers of the earlier tokens stay.
        let mut ranges = Vec::new();
        for offset in starts {
            let first = self.at(offset);
            if self.tokens[first].kind == TokenKind::Less {
                ranges.push(first);
            }
        }
        for offset in returns {
            let caret = self.at(offset);
            let is_type = self.tokens[caret].kind == TokenKind::Caret
                && self.tokens.get(caret + 1).is_some_and(|next| next.kind == TokenKind::Less);
            if is_type {
                ranges.push(caret + 1);
            }
        }
        ranges.sort_unstable();
        self.mark_types(&ranges, source);
    }

    /// Rebuilds the tokens with the types that begin at these.
    fn mark_types(&mut self, firsts: &[usize], source: &Source) {
        let tokens = std::mem::take(&mut self.tokens);
        self.is_type.clear();
        let mut firsts = firsts.iter().copied().peekable();
        let mut is_type = false;
        for (index, token) in tokens.into_iter().enumerate() {
            if firsts.peek() == Some(&index) {
                firsts.next();
                is_type = true;
            }
            let ends =
                is_type && token.kind.is_operator() && source.slice(token.span).starts_with('>');
            if !ends {
                self.push(token, is_type);
                continue;
            }
            let Span { start, end } = token.span;
            self.push(
                Token { kind: TokenKind::Operator, span: Span { start, end: start + 1 } },
                true,
            );
            is_type = false;
            if start + 1 < end {
                let span = Span { start: start + 1, end };
                self.push(Token { kind: TokenKind::of_operator(source.slice(span)), span }, false);
            }
        }
    }

    fn push(&mut self, token: Token, is_type: bool) {
        self.tokens.push(token);
        self.is_type.push(is_type);
    }

    // Blocks

    fn bars_of_blocks(&mut self, ast: &Ast) {
        for (_, block) in ast.nodes.blocks.iter() {
            let Some(last) = block.parameters.last() else { continue };
            let mut index = self.at(last.span.end);
            while self.is_type[index] {
                index += 1;
            }
            if self.tokens[index].kind == TokenKind::DoubleBar {
                self.double_bars.insert(self.tokens[index].span.start);
            }
        }
        let tokens = std::mem::take(&mut self.tokens);
        let is_type = std::mem::take(&mut self.is_type);
        for (token, is_type) in tokens.into_iter().zip(is_type) {
            let Span { start, end } = token.span;
            if self.double_bars.contains(&start) {
                let kind = TokenKind::Bar;
                self.push(Token { kind, span: Span { start, end: start + 1 } }, false);
                self.push(Token { kind, span: Span { start: start + 1, end } }, false);
            } else {
                self.push(token, is_type);
            }
        }
    }
}

/// All declared names that a type may follow.
fn declared(ast: &Ast) -> impl Iterator<Item = Identifier> {
    let nodes = &ast.nodes;
    let slots = nodes.slots.iter().map(|(_, slot)| slot.name);
    let factories = nodes.classes.iter().flat_map(|(_, class)| &class.factory.parameters);
    let methods = nodes.methods.iter().flat_map(|(_, method)| {
        let locals = method.body.locals.iter().map(|local| local.name);
        method.pattern.parameters.iter().copied().chain(locals)
    });
    let blocks = nodes.blocks.iter().flat_map(|(_, block)| {
        let locals = block.body.locals.iter().map(|local| local.name);
        block.parameters.iter().copied().chain(locals)
    });
    slots.chain(factories.copied()).chain(methods).chain(blocks)
}

/// The ends of all patterns, where a return type may follow.
fn patterns(ast: &Ast) -> impl Iterator<Item = u32> {
    let classes = ast.nodes.classes.iter().map(|(_, class)| class.factory.span.end);
    classes.chain(ast.nodes.methods.iter().map(|(_, method)| method.pattern.span.end))
}
