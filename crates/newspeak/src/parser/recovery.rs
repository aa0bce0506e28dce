//! Recovery: finds the place where parsing continues after a mistake. `declarations` and `bodies` call it.
//!
//! A loop over items takes a [`Checkpoint`] before each item. If the item fails, the parser
//! skips to where the next one may begin, keeping account of brackets on the way: those the
//! item had opened before it failed, and those in the skipped text. It stops early at a
//! bracket that closes something around the item, at a barrier, and at the end of the file.

use super::Parser;
use super::guesses::Surroundings;
use crate::source::Span;
use crate::token::{Token, TokenKind};

/// The state to which a failed item is rolled back, except for the cursor.
pub(super) struct Checkpoint {
    position: usize,
    brackets: u32,
    nesting: usize,
    around: Surroundings,
    operands: usize,
    messages: usize,
    keywords: usize,
}

/// The end of the skipped text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// A period, which is skipped too.
    Period,
    /// A period, or the `|` that ends declarations.
    Declaration,
    /// A text like the head of a method or class.
    Member,
    /// The parenthesis that opens a class's body; the cursor may be there already.
    Body,
}

impl Parser<'_> {
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            position: self.position,
            brackets: self.brackets.depth(),
            nesting: self.nesting,
            around: self.around,
            operands: self.operands.len(),
            messages: self.messages.len(),
            keywords: self.keywords.len(),
        }
    }

    /// After the item at a checkpoint has failed, skips to the place where parsing can continue. Makes progress unless
    /// the cursor is at a token that ends the enclosing brackets.
    pub(super) fn recover(&mut self, checkpoint: &Checkpoint, until: Until) {
        loop {
            let may_stop = until == Until::Body || self.position != checkpoint.position;
            let is_level = self.brackets.depth() == checkpoint.brackets;
            match self.current.kind {
                TokenKind::EndOfFile | TokenKind::Barrier => break,
                kind if kind.is_closer() => {
                    if !self.skip_closer(checkpoint) {
                        break;
                    }
                    continue;
                }
                _ if is_level && may_stop && self.stops(checkpoint, until) => break,
                TokenKind::Period if is_level && until.skips_period() => {
                    self.advance();
                    return self.roll_back(checkpoint);
                }
                kind if kind.closer().is_some() => self.brackets.push(self.current),
                _ => {}
            }
            self.advance();
        }
        // A part that is missing here is missing because of the reported mistake.
        if self.position != checkpoint.position && self.at_end() {
            self.last_complaint = Some(self.current.span.start);
        }
        self.roll_back(checkpoint);
    }

    fn stops(&self, checkpoint: &Checkpoint, until: Until) -> bool {
        match until {
            Until::Period => false,
            Until::Declaration => self.at(TokenKind::Bar),
            Until::Member => self.may_begin_member(checkpoint),
            Until::Body => self.at(TokenKind::OpenParenthesis),
        }
    }

    /// Whether a new line begins with what may be a pattern, even a faulty one, as far left as
    /// the failed member, or with a flawless pattern anywhere.
    fn may_begin_member(&self, failed: &Checkpoint) -> bool {
        let Some(column) = self.column(self.current.span.start) else {
            return false;
        };
        let kind = self.current.kind;
        let begins_pattern =
            kind.is_operator() || matches!(kind, TokenKind::Identifier | TokenKind::Keyword);
        let failed_column = self.column(self.tokens[failed.position].span.start);
        begins_pattern && failed_column.is_some_and(|failed| column <= failed)
            || self.reads_as_member(self.position)
    }

    /// Skips a closing bracket unless it closes a bracket around the failed item.
    fn skip_closer(&mut self, checkpoint: &Checkpoint) -> bool {
        match self.brackets.find(self.current.kind) {
            Some(depth) if depth < checkpoint.brackets => return false,
            Some(depth) => self.brackets.truncate(depth),
            None => {}
        }
        self.advance();
        true
    }

    fn roll_back(&mut self, checkpoint: &Checkpoint) {
        self.brackets.truncate(checkpoint.brackets);
        self.nesting = checkpoint.nesting;
        self.around = checkpoint.around;
        self.operands.truncate(checkpoint.operands);
        self.messages.truncate(checkpoint.messages);
        self.keywords.truncate(checkpoint.keywords);
    }
}

impl Until {
    fn skips_period(self) -> bool {
        matches!(self, Until::Period | Until::Declaration)
    }
}

/// An open bracket.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    pub(super) closer: TokenKind,
    pub(super) span: Span,
}

/// The open brackets, innermost last. Counts them by kind, so that a closing bracket without
/// an opening one is recognised without a search.
#[derive(Default)]
pub(super) struct Brackets {
    open: Vec<Opening>,
    counts: [usize; 3],
}

impl Brackets {
    pub(super) fn push(&mut self, token: Token) {
        let opening = Opening::from(token);
        self.counts[kind_index(opening.closer)] += 1;
        self.open.push(opening);
    }

    pub(super) fn pop(&mut self) {
        self.truncate(self.depth().saturating_sub(1));
    }

    pub(super) fn truncate(&mut self, depth: u32) {
        for opening in self.open.drain(self.open.len().min(depth as usize)..) {
            self.counts[kind_index(opening.closer)] -= 1;
        }
    }

    pub(super) fn depth(&self) -> u32 {
        self.open.len() as u32
    }

    pub(super) fn innermost(&self) -> Option<Opening> {
        self.open.last().copied()
    }

    /// The number of open brackets around the innermost one that this closes.
    pub(super) fn find(&self, closer: TokenKind) -> Option<u32> {
        if self.counts[kind_index(closer)] == 0 {
            return None;
        }
        let closes = |opening: &Opening| opening.closer == closer;
        let index = self.open.iter().rposition(closes);
        index.map(|index| index as u32)
    }
}

fn kind_index(closer: TokenKind) -> usize {
    match closer {
        TokenKind::CloseParenthesis => 0,
        TokenKind::CloseBracket => 1,
        _ => 2,
    }
}
