//! Guesses about the intended structure of a program with mistakes. The parser's second attempt uses them.
//!
//! A forgotten closing bracket shows only in the indentation, which has no meaning in the language. So guesses are made
//! only in the second attempt at a faulty program, and only to choose between explanations. They assume that a member
//! begins its line, that its body is indented deeper than its head, and members deeper than their class.

use super::{Guesses, Parser};
use crate::token::TokenKind;

/// The constructs around the cursor.
#[derive(Clone, Copy, Default)]
pub(super) struct Surroundings {
    /// The number of open brackets before the initialiser of the current declaration. At that depth a `|` without an
    /// operand is the end of the declarations.
    pub(super) initializer_depth: Option<u32>,
    /// The number of open brackets before the body of the current method.
    pub(super) method_depth: Option<u32>,
    /// The column of the current method.
    pub(super) method_column: Option<u32>,
    /// The column of the current class.
    pub(super) class_column: Option<u32>,
}

impl Parser<'_> {
    /// The number of open brackets.
    pub(super) fn depth(&self) -> Option<u32> {
        Some(self.brackets.depth())
    }

    /// In a method's body, puts a barrier before text that belongs to the class around it.
    pub(super) fn raise_barrier(&mut self) {
        if self.stands_outside(self.around.method_column) {
            self.current.kind = TokenKind::Barrier;
        }
    }

    /// Among a class's members, puts a barrier before text that belongs to a class further out.
    pub(super) fn raise_class_barrier(&mut self) {
        if self.guesses == Guesses::ByIndentation && self.stands_outside(self.around.class_column) {
            self.current.kind = TokenKind::Barrier;
        }
    }

    /// Stops guessing the end of the current class if its members are not indented, or if it is the module.
    pub(super) fn forget_column_unless_deeper(&mut self) {
        let members = self.column(self.current.span.start);
        if self.brackets.depth() == 1 || members <= self.around.class_column {
            self.around.class_column = None;
        }
    }

    /// Removes the barrier at the cursor, if there is one.
    pub(super) fn lift_barrier(&mut self) {
        self.current.kind = self.tokens[self.position].kind;
    }

    /// Whether the cursor's line begins with a member at most as deep as this column, or with
    /// a closing parenthesis less deep.
    fn stands_outside(&self, column: Option<u32>) -> bool {
        let (Some(limit), Some(column)) = (column, self.column(self.current.span.start)) else {
            return false;
        };
        match self.current.kind {
            TokenKind::CloseParenthesis => column < limit,
            _ => column <= limit && self.reads_as_member(self.position),
        }
    }

    /// The indentation of the token that starts here, if it is the first of its line.
    pub(super) fn column(&self, start: u32) -> Option<u32> {
        let before = &self.text.as_bytes()[..start as usize];
        let is_blank = |&&byte: &&u8| byte == b' ' || byte == b'\t';
        let indentation = before.iter().rev().take_while(is_blank).count();
        match before.len().checked_sub(indentation + 1) {
            Some(index) if before[index] != b'\n' => None,
            _ => Some(indentation as u32),
        }
    }

    /// Whether the closing bracket here is meant as the expected one, although it is of another kind. Otherwise it
    /// would end the method, but the method obviously continues.
    pub(super) fn at_mistyped_closer(&self) -> bool {
        let next = self.peek(1);
        let ends_method = self.current.kind.is_closer()
            && self.around.method_depth.is_some()
            && self.brackets.find(self.current.kind) == self.around.method_depth;
        let method_ends = next.is_closer()
            || next == TokenKind::EndOfFile
            || self.reads_as_member(self.position + 1);
        ends_method && (!method_ends || self.next_ends_method())
    }

    /// Whether the next token ends the current method by its indentation: a line begins with it below the method's
    /// head.
    fn next_ends_method(&self) -> bool {
        let next = self.tokens.get(self.position + 1);
        let next = next.filter(|next| next.kind == TokenKind::CloseParenthesis);
        let column = next.and_then(|next| self.column(next.span.start));
        column.is_some() && column == self.around.method_column
    }

    /// Whether the tokens from here on read like the head of a method or class.
    pub(super) fn reads_as_member(&self, position: usize) -> bool {
        let at = position + usize::from(self.access_at(position).is_some());
        match self.kind_at(at) {
            TokenKind::Identifier if self.text_at(at) == "class" => {
                self.kind_at(at + 1) == TokenKind::Identifier || self.reads_as_definition(at + 1)
            }
            TokenKind::Identifier => self.reads_as_definition(at + 1),
            TokenKind::Keyword => self.reads_as_keyword_pattern(at),
            kind if kind.is_operator() => {
                self.kind_at(at + 1) == TokenKind::Identifier
                    && self.reads_as_definition(self.behind_type(at + 2))
            }
            _ => false,
        }
    }

    fn reads_as_keyword_pattern(&self, mut at: usize) -> bool {
        const MOST_KEYWORDS: usize = 16;
        for _ in 0..MOST_KEYWORDS {
            if self.kind_at(at) != TokenKind::Keyword {
                return self.reads_as_definition(at);
            }
            if self.kind_at(at + 1) != TokenKind::Identifier {
                return false;
            }
            at = self.behind_type(at + 2);
        }
        false
    }

    /// Whether a definition's sign or a return type stands here.
    fn reads_as_definition(&self, at: usize) -> bool {
        matches!(
            (self.kind_at(at), self.kind_at(at + 1)),
            (TokenKind::Equals, TokenKind::OpenParenthesis) | (TokenKind::Caret, TokenKind::Less)
        )
    }

    /// The position after an optional type annotation here.
    fn behind_type(&self, at: usize) -> usize {
        const LONGEST_TYPE: usize = 32;
        if self.kind_at(at) != TokenKind::Less {
            return at;
        }
        let ends = |&position: &usize| self.text_at(position).starts_with('>');
        (at..at + LONGEST_TYPE).find(ends).map_or(at, |end| end + 1)
    }
}
