//! Shared code for operators on immediate doubles: the operands are in `rax` and `rcx`, and the answer in `rax` is the
//! word of the result, or [`Word::UNSET`] if these operands are to be handled otherwise. The templates of operators call
//! it when the operands are not both small integers.
//!
//! `squall_heap`'s words describe the encoding.

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use squall_heap::{DOUBLE_BIT, DOUBLE_ROTATION, Word};

use crate::assembler::Assembler;

/// An operator of doubles with a double as result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `//`
    Divide,
}

/// A comparison of doubles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
}

impl Comparison {
    /// All of them, in order.
    pub const ALL: [Comparison; 6] = [
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
        Comparison::Equal,
        Comparison::NotEqual,
    ];
}

/// Assembles an operator for two doubles, or a double and a small integer.
pub fn operator(ops: &mut Assembler, operator: Operator) {
    load_operands(ops);
    match operator {
        Operator::Add => dynasm!(ops ; .arch x64 ; addsd xmm0, xmm1),
        Operator::Subtract => dynasm!(ops ; .arch x64 ; subsd xmm0, xmm1),
        Operator::Multiply => dynasm!(ops ; .arch x64 ; mulsd xmm0, xmm1),
        // Dividing by zero is sent.
        Operator::Divide => dynasm!(ops
            ; .arch x64
            ; xorpd xmm2, xmm2
            ; ucomisd xmm1, xmm2
            ; je >other
            ; divsd xmm0, xmm1
        ),
    }
    answer_double(ops);
    load_integers(ops);
}

/// Loads the operands as doubles, and goes on at `compute`; goes to `other` if they are two small integers, or others.
fn load_operands(ops: &mut Assembler) {
    dynasm!(ops
        ; .arch x64
        ; mov edx, eax
        ; or edx, ecx
        ; test dl, 7
        ; jz >other
        // The left operand.
        ; test al, 7
        ; jz >left_integer
        ; test al, DOUBLE_BIT as i8
        ; jz >other
        ; inc rax
        ; ror rax, DOUBLE_ROTATION as i8
        ; movq xmm0, rax
        // The right operand.
        ; right:
        ; test cl, 7
        ; jz >right_integer
        ; test cl, DOUBLE_BIT as i8
        ; jz >other
        ; inc rcx
        ; ror rcx, DOUBLE_ROTATION as i8
        ; movq xmm1, rcx
        ; compute:
    );
}

/// The operands that are small integers.
fn load_integers(ops: &mut Assembler) {
    dynasm!(ops
        ; .arch x64
        ; left_integer:
        ; sar rax, 3
        ; cvtsi2sd xmm0, rax
        ; jmp <right
        ; right_integer:
        ; sar rcx, 3
        ; cvtsi2sd xmm1, rcx
        ; jmp <compute
    );
}

/// Answers the word of the double in `xmm0`.
fn answer_double(ops: &mut Assembler) {
    dynasm!(ops
        ; .arch x64
        ; movq rax, xmm0
        ; rol rax, DOUBLE_ROTATION as i8
        ; dec rax
        ; test al, DOUBLE_BIT as i8
        ; jz >other
        ; ret
        ; other:
        ; mov eax, Word::UNSET.bits() as i32
        ; ret
    );
}

/// Assembles a comparison of two doubles.
pub fn comparison(ops: &mut Assembler, comparison: Comparison) {
    dynasm!(ops
        ; .arch x64
        ; mov edx, eax
        ; and edx, ecx
        ; test dl, DOUBLE_BIT as i8
        ; jz >other
        ; inc rax
        ; ror rax, DOUBLE_ROTATION as i8
        ; movq xmm0, rax
        ; inc rcx
        ; ror rcx, DOUBLE_ROTATION as i8
        ; movq xmm1, rcx
        ; xor edx, edx
    );
    // NaN sets the flags of "below" and "equal", so "less" asks whether the right operand is above.
    match comparison {
        Comparison::Less => dynasm!(ops ; .arch x64 ; ucomisd xmm1, xmm0 ; seta dl),
        Comparison::LessOrEqual => dynasm!(ops ; .arch x64 ; ucomisd xmm1, xmm0 ; setae dl),
        Comparison::Greater => dynasm!(ops ; .arch x64 ; ucomisd xmm0, xmm1 ; seta dl),
        Comparison::GreaterOrEqual => dynasm!(ops ; .arch x64 ; ucomisd xmm0, xmm1 ; setae dl),
        Comparison::Equal => {
            dynasm!(ops ; .arch x64 ; ucomisd xmm0, xmm1 ; setnp al ; sete dl ; and dl, al)
        }
        Comparison::NotEqual => {
            dynasm!(ops ; .arch x64 ; ucomisd xmm0, xmm1 ; setp al ; setne dl ; or dl, al)
        }
    }
    // True comes after false in the table of specials.
    const _: () = assert!(Word::TRUE.bits() == Word::FALSE.bits() + 8);
    dynasm!(ops
        ; .arch x64
        ; lea rax, [rdx * 8 + Word::FALSE.bits() as i32]
        ; ret
        ; other:
        ; mov eax, Word::UNSET.bits() as i32
        ; ret
    );
}
