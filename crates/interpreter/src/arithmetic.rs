//! Arithmetic and comparison of immediate numbers, without a send. The dispatch loop calls these handlers for
//! operators.
//!
//! [`squall_runtime::tiers::operators`] has the results; all other cases (overflow, boxed numbers, other receivers) take
//! the general send. A comparison that is followed by a branch on its result also does the branch.

use std::sync::atomic::Ordering;

use squall_bytecode::codes::general;
use squall_heap::Word;
use squall_runtime::tiers::known;
use squall_runtime::tiers::lookup::Action;
use squall_runtime::tiers::operators::{Arithmetic, Comparison, compare, compute};
use squall_runtime::tiers::primitive::Shape;

use crate::machine::{Machine, a, b, bc_signed, c};

impl<const MODE: u8> Machine<'_, MODE> {
    /// `send1` of an operator: the immediate result, or the general send.
    #[inline(always)]
    pub fn arithmetic(&mut self, word: u32, operator: impl Arithmetic) {
        let (left, right) = (self.get(b(word)), self.get(c(word)));
        match compute(operator, left, right) {
            Some(result) => {
                self.set(a(word), result);
                self.jump(2);
            }
            None => self.send1(word),
        }
    }

    /// `load_integer` of the right operand, and the operator's send after it.
    #[inline(always)]
    pub fn load_integer_then(&mut self, word: u32, operator: impl Arithmetic) {
        self.load_integer(word);
        let word = self.word(0);
        self.arithmetic(word, operator);
    }

    /// `send1` of a comparison.
    #[inline(always)]
    pub fn comparison(&mut self, word: u32, operator: impl Comparison) {
        let (left, right) = (self.get(b(word)), self.get(c(word)));
        self.answer_boolean(word, compare(operator, left, right));
    }

    /// `send1` of a comparison, and the branch on its result after it.
    #[inline(always)]
    pub fn comparison_branch(&mut self, word: u32, operator: impl Comparison) {
        let (left, right) = (self.get(b(word)), self.get(c(word)));
        self.answer_boolean_and_branch(word, compare(operator, left, right));
    }

    /// `send1` of `==`.
    #[inline(always)]
    pub fn identical(&mut self, word: u32) {
        let result = self.identity(word);
        self.answer_boolean(word, result);
    }

    /// `send1` of `==`, and the branch on its result after it.
    #[inline(always)]
    pub fn identical_branch(&mut self, word: u32) {
        let result = self.identity(word);
        self.answer_boolean_and_branch(word, result);
    }

    /// The result of `==`, if the receiver is immediate or its class is known to use the VM's method.
    #[inline(always)]
    fn identity(&mut self, word: u32) -> Option<bool> {
        let (left, right) = (self.get(b(word)), self.get(c(word)));
        if !left.is_pointer() {
            return Some(left == right);
        }
        let entry = self.site(self.word(1) & 0xFFFF).entry();
        // SAFETY: the word is a pointer.
        let layout = unsafe { left.object_unchecked() }.layout();
        // Boxed numbers and far references are identical by contents: for them, the primitive compares.
        let known = entry.layout == layout
            && !matches!(layout, known::LARGE_INTEGER | known::BOXED_DOUBLE | known::FAR_REFERENCE)
            && matches!(entry.action, Action::Primitive(primitive) if primitive.shape == Shape::Identical);
        known.then_some(left == right)
    }

    #[inline(always)]
    fn answer_boolean(&mut self, word: u32, result: Option<bool>) {
        match result {
            Some(result) => {
                self.set(a(word), Word::from_bool(result));
                self.jump(2);
            }
            None => self.send1(word),
        }
    }

    #[inline(always)]
    fn answer_boolean_and_branch(&mut self, word: u32, result: Option<bool>) {
        match result {
            Some(result) => {
                self.set(a(word), Word::from_bool(result));
                self.jump(2);
                let branch = self.word(0);
                let jumps_on = branch as u8 == general::BranchTrue;
                self.jump(if result == jumps_on { bc_signed(branch) } else { 2 });
            }
            None => self.send1(word),
        }
    }
}

/// Whether the word after an instruction is a branch on a Boolean in this register.
pub fn is_branch_on(word: &std::sync::atomic::AtomicU32, register: usize) -> bool {
    let word = word.load(Ordering::Relaxed);
    matches!(word as u8, general::BranchTrue | general::BranchFalse) && a(word) == register
}
