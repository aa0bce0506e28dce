//! Constants, conversions, and arithmetic that does not leave the unit. `function` calls this module for all pure
//! operations.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, I8, I16, I32, I64};
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData};

use crate::code::Reason;
use crate::facts::Symbol;
use crate::ir::entities::{Inst, Value};
use crate::ir::operations::Op;
use crate::ir::types::{Layouts, Type};
use crate::ir::values::{Condition, Width, WordBits};
use crate::lower::function::{Lowering, trusted};
use crate::passes::kinds;
use crate::words;

impl Lowering<'_, '_> {
    /// A constant, made where it is used.
    pub fn constant(&mut self, op: Op) -> ir::Value {
        match op {
            Op::Integer(value) => self.guest_constant(value),
            Op::Word(word) => self.guest_constant(word.0 as i64),
            Op::Boolean(value) => self.b.ins().iconst(I8, i64::from(value)),
            Op::Float(bits) if self.machine.hardening.is_some() => {
                let bits = self.guest_constant(bits.0 as i64);
                self.b.ins().bitcast(F64, MemFlagsData::new(), bits)
            }
            Op::Float(bits) => self.b.ins().f64const(f64::from_bits(bits.0)),
            Op::Cell(cell) => {
                let address = self.symbol(Symbol::Cell(cell));
                self.b.ins().load(I64, trusted(), address, 0)
            }
            _ => unreachable!("{op} is no constant"),
        }
    }

    /// An operation that depends on its arguments alone.
    pub fn pure(&mut self, inst: Inst) -> ir::Value {
        let data = self.unit.inst(inst);
        let op = data.op;
        match op {
            Op::Argument(place) => {
                let result = data.result.expect("an argument has a value");
                self.load_frame(place, self.unit.representation(result))
            }
            Op::FrameWord(place) => self.place_address(place),
            Op::StrandWord => self.strand_identity(),
            Op::Same => self.needs_box(inst).unwrap_or_else(|| {
                let (left, right) = (self.argument(inst, 0), self.argument(inst, 1));
                self.b.ins().icmp(IntCC::Equal, left, right)
            }),
            Op::HasLayout(layouts) => self.has_layout(inst, layouts),
            Op::TakesArguments(count) => self.takes_arguments(inst, count.0),
            Op::Identical(primitive) => self.identical(inst, primitive),
            Op::TextLength(primitive) => self.text_length(inst, primitive),
            Op::SameText(primitive) => self.same_text(inst, primitive),
            Op::TryLeaf(primitive) => self.try_leaf(inst, primitive),
            Op::ClassOf | Op::LoadPart(_) | Op::LoadCaptured(_) | Op::Length => {
                self.constant_part(inst)
            }
            Op::Compare(condition) => {
                let (left, right) = (self.argument(inst, 0), self.argument(inst, 1));
                self.b.ins().icmp(integer_condition(condition), left, right)
            }
            Op::FloatCompare(condition) => {
                let (left, right) = (self.argument(inst, 0), self.argument(inst, 1));
                self.b.ins().fcmp(float_condition(condition), left, right)
            }
            Op::TryTagDouble => self.try_tag_double(inst),
            Op::TagInteger => match self.tagged(data.arguments[0]) {
                Some(tagged) => tagged,
                None => {
                    let value = self.argument(inst, 0);
                    self.b.ins().ishl_imm_u(value, i64::from(words::TAG_BITS))
                }
            },
            _ if data.arguments.len() == 2 => self.binary(inst),
            _ => {
                let value = self.argument(inst, 0);
                self.unary(op, value)
            }
        }
    }

    fn unary(&mut self, op: Op, value: ir::Value) -> ir::Value {
        match op {
            Op::AssumeWithin(_) => value,
            Op::UntagInteger => self.b.ins().sshr_imm_u(value, i64::from(words::TAG_BITS)),
            Op::UntagDouble => self.untag_double(value),
            Op::TagDouble => self.double_word(value),
            Op::TagBoolean => {
                let wide = self.b.ins().uextend(I64, value);
                let shifted = self.b.ins().ishl_imm_u(wide, i64::from(words::TAG_BITS));
                self.b.ins().iadd_imm_s(shifted, words::FALSE as i64)
            }
            Op::UntagBoolean => self.b.ins().icmp_imm_s(IntCC::Equal, value, words::TRUE as i64),
            Op::Extend => self.b.ins().uextend(I64, value),
            Op::Test => self.b.ins().icmp_imm_s(IntCC::NotEqual, value, 0),
            Op::BitsOf => self.b.ins().bitcast(I64, MemFlagsData::new(), value),
            Op::FromBits => self.b.ins().bitcast(F64, MemFlagsData::new(), value),
            Op::Not => self.b.ins().bxor_imm_u(value, 1),
            Op::Wrap(width) => self.wrap(width, value),
            Op::ToDouble => self.b.ins().fcvt_from_sint(F64, value),
            Op::NumberToDouble => self.number_to_double(value),
            Op::FloatNegate => self.b.ins().fneg(value),
            Op::FloatSquareRoot => self.b.ins().sqrt(value),
            _ => unreachable!("{op} has no lowering"),
        }
    }

    fn wrap(&mut self, width: Width, value: ir::Value) -> ir::Value {
        let narrow = match width.bits {
            8 => I8,
            16 => I16,
            32 => I32,
            _ => return value,
        };
        let low = self.b.ins().ireduce(narrow, value);
        if width.is_signed {
            self.b.ins().sextend(I64, low)
        } else {
            self.b.ins().uextend(I64, low)
        }
    }

    fn binary(&mut self, inst: Inst) -> ir::Value {
        let (left, right) = (self.argument(inst, 0), self.argument(inst, 1));
        let op = self.unit.inst(inst).op;
        match op {
            Op::Add => self.b.ins().iadd(left, right),
            Op::Subtract => self.b.ins().isub(left, right),
            Op::Multiply => self.b.ins().imul(left, right),
            Op::Quotient => self.b.ins().sdiv(left, right),
            Op::Remainder => self.b.ins().srem(left, right),
            Op::Modulo => self.modulo(inst, left, right),
            Op::And => self.b.ins().band(left, right),
            Op::Or => self.b.ins().bor(left, right),
            Op::Xor => self.b.ins().bxor(left, right),
            Op::ShiftLeft => self.b.ins().ishl(left, right),
            Op::ShiftRight => self.b.ins().sshr(left, right),
            Op::ShiftRightUnsigned => self.b.ins().ushr(left, right),
            Op::FloatAdd => self.b.ins().fadd(left, right),
            Op::FloatSubtract => self.b.ins().fsub(left, right),
            Op::FloatMultiply => self.b.ins().fmul(left, right),
            Op::FloatDivide => self.b.ins().fdiv(left, right),
            _ => unreachable!("{op} has no lowering"),
        }
    }

    /// The remainder, moved to the divisor's side of zero. For a power of two that is a mask.
    fn modulo(&mut self, inst: Inst, left: ir::Value, right: ir::Value) -> ir::Value {
        let divisor = self.unit.integer(self.unit.inst(inst).arguments[1]);
        if let Some(divisor) =
            divisor.filter(|&divisor| divisor > 0 && divisor & (divisor - 1) == 0)
        {
            return self.b.ins().band_imm_s(left, divisor - 1);
        }
        let remainder = self.b.ins().srem(left, right);
        let signs = self.b.ins().bxor(remainder, right);
        let differ = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
        let is_some = self.b.ins().icmp_imm_s(IntCC::NotEqual, remainder, 0);
        let wrong = self.b.ins().band(differ, is_some);
        let moved = self.b.ins().iadd(remainder, right);
        self.b.ins().select(wrong, moved, remainder)
    }

    /// The double of an immediate word.
    fn untag_double(&mut self, word: ir::Value) -> ir::Value {
        let rotated = self.b.ins().iadd_imm_s(word, 1);
        let bits = self.b.ins().rotr_imm_u(rotated, i64::from(words::DOUBLE_ROTATION));
        self.b.ins().bitcast(F64, MemFlagsData::new(), bits)
    }

    /// The double of an immediate number: both conversions are made, which takes less time than to jump.
    fn number_to_double(&mut self, word: ir::Value) -> ir::Value {
        let integer = self.b.ins().sshr_imm_u(word, i64::from(words::TAG_BITS));
        let converted = self.b.ins().fcvt_from_sint(F64, integer);
        let untagged = self.untag_double(word);
        let is_double = self.is_double(word);
        self.b.ins().select(is_double, untagged, converted)
    }

    /// The word of a double that needs no box.
    fn double_word(&mut self, value: ir::Value) -> ir::Value {
        let bits = self.b.ins().bitcast(I64, MemFlagsData::new(), value);
        let rotated = self.b.ins().rotl_imm_u(bits, i64::from(words::DOUBLE_ROTATION));
        self.b.ins().iadd_imm_s(rotated, -1)
    }

    /// The word of a double, and whether it is right: otherwise the double needs a box.
    pub fn tagged_double(&mut self, value: ir::Value) -> (ir::Value, ir::Value) {
        let word = self.double_word(value);
        (word, self.is_double(word))
    }

    /// Leaves if a double needs a box.
    pub fn guard_immediate(&mut self, inst: Inst) -> ir::Value {
        let value = self.argument(inst, 0);
        let (_, fits) = self.tagged_double(value);
        self.leave_unless(inst, fits, true, Reason::Overflow);
        value
    }

    /// The word of a double, if it is immediate. Otherwise it is no word; the test that follows, for `NO_ANSWER`, asks
    /// [`Lowering::needs_box`], and nothing uses the result behind it then.
    fn try_tag_double(&mut self, inst: Inst) -> ir::Value {
        let value = self.argument(inst, 0);
        let (word, fits) = self.tagged_double(value);
        if let Some(result) = self.unit.inst(inst).result {
            self.fits.insert(result, fits);
        }
        word
    }

    /// What a comparison of a tagged double with `NO_ANSWER` asks.
    fn needs_box(&mut self, comparison: Inst) -> Option<ir::Value> {
        let arguments = &self.unit.inst(comparison).arguments;
        let none = Op::Word(WordBits(words::NO_ANSWER));
        let is_none =
            |value: &Value| self.unit.definition(*value).is_some_and(|inst| inst.op == none);
        let tagged = match (is_none(&arguments[0]), is_none(&arguments[1])) {
            (false, true) => arguments[0],
            (true, false) => arguments[1],
            _ => return None,
        };
        let fits = *self.fits.get(&self.unit.root(tagged))?;
        Some(self.complement(fits))
    }

    fn has_layout(&mut self, inst: Inst, layouts: Layouts) -> ir::Value {
        if let Some(fits) = self.differs_from_nil(inst, layouts) {
            return fits;
        }
        let word = self.argument(inst, 0);
        let kind = self.unit.kind(self.unit.inst(inst).arguments[0]);
        let list = layouts.list().expect("a test names its layouts");
        let mut result = None;
        let mut objects = Vec::new();
        for &layout in list {
            match self.has_immediate_layout(word, layout) {
                Some(test) => result = Some(self.either(result, test)),
                None => objects.push(layout),
            }
        }
        if !objects.is_empty() {
            let test = self.is_object_of(word, &objects, !kind.is(Type::OBJECT));
            result = Some(self.either(result, test));
        }
        result.expect("a test names a layout")
    }

    /// The test of a layout that all words of the argument's type have but nil.
    pub fn differs_from_nil(&mut self, test: Inst, layouts: Layouts) -> Option<ir::Value> {
        let kind = self.unit.kind(self.unit.inst(test).arguments[0]);
        let (wanted, others) = (kinds::of_layouts(layouts), kind.without_nil());
        if others == Type::NONE || wanted.may_be(Type::NIL) || !others.is(wanted) {
            return None;
        }
        let word = self.argument(test, 0);
        Some(self.b.ins().icmp_imm_s(IntCC::NotEqual, word, words::NIL as i64))
    }

    fn either(&mut self, left: Option<ir::Value>, right: ir::Value) -> ir::Value {
        match left {
            Some(left) => self.b.ins().bor(left, right),
            None => right,
        }
    }
}

fn integer_condition(condition: Condition) -> IntCC {
    match condition {
        Condition::Equal => IntCC::Equal,
        Condition::NotEqual => IntCC::NotEqual,
        Condition::Less => IntCC::SignedLessThan,
        Condition::LessOrEqual => IntCC::SignedLessThanOrEqual,
        Condition::Greater => IntCC::SignedGreaterThan,
        Condition::GreaterOrEqual => IntCC::SignedGreaterThanOrEqual,
        Condition::UnsignedLess => IntCC::UnsignedLessThan,
        Condition::UnsignedLessOrEqual => IntCC::UnsignedLessThanOrEqual,
    }
}

fn float_condition(condition: Condition) -> FloatCC {
    match condition {
        Condition::Equal => FloatCC::Equal,
        Condition::NotEqual => FloatCC::NotEqual,
        Condition::Less | Condition::UnsignedLess => FloatCC::LessThan,
        Condition::LessOrEqual | Condition::UnsignedLessOrEqual => FloatCC::LessThanOrEqual,
        Condition::Greater => FloatCC::GreaterThan,
        Condition::GreaterOrEqual => FloatCC::GreaterThanOrEqual,
    }
}
