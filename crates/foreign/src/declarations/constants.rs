//! Constant expressions: lengths of arrays and values of names. The declarators and definitions read them.
//!
//! They are computed as in C, in `int` where that suffices: `-1u` is 4294967295, `~0` is -1. The types are reduced to
//! two properties: 32 or 64 bits, signed or not.

use super::Meaning;
use super::error::Problem;
use super::lexer::{Literal, TokenKind};
use super::parser::{Parsed, Parser};
use crate::types::Type;

/// A value with its type.
#[derive(Clone, Copy)]
struct Constant {
    value: i128,
    is_unsigned: bool,
    is_long: bool,
}

/// The binary operators, and their precedence.
const OPERATORS: &[(&str, u8)] = &[
    ("||", 1),
    ("&&", 2),
    ("|", 3),
    ("^", 4),
    ("&", 5),
    ("==", 6),
    ("!=", 6),
    ("<", 7),
    (">", 7),
    ("<=", 7),
    (">=", 7),
    ("<<", 8),
    (">>", 8),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
];

impl Parser<'_, '_> {
    /// The value of an expression.
    pub(super) fn constant(&mut self) -> Parsed<i128> {
        self.binary(1).map(|constant| constant.value)
    }

    /// An expression of operators with at least this precedence.
    fn binary(&mut self, level: u8) -> Parsed<Constant> {
        let start = self.peek().span.start;
        let mut left = self.nested(Parser::unary)?;
        while let Some((operator, own)) = self.operator().filter(|(_, own)| *own >= level) {
            self.advance();
            let right = self.nested(|parser| parser.binary(own + 1))?;
            let result = combine(operator, left, right);
            left = result.map_err(|message| Problem::new(message, self.since(start)))?;
        }
        Ok(left)
    }

    fn operator(&self) -> Option<(&'static str, u8)> {
        let TokenKind::Symbol(symbol) = self.peek().kind else { return None };
        OPERATORS.iter().find(|(operator, _)| *operator == symbol).copied()
    }

    fn unary(&mut self) -> Parsed<Constant> {
        let token = self.advance();
        let start = token.span.start;
        match token.kind {
            TokenKind::Integer(literal) => Ok(Constant::literal(literal)),
            TokenKind::Symbol("(") => {
                let inner = self.binary(1)?;
                self.expect(")")?;
                Ok(inner)
            }
            TokenKind::Symbol(operator @ ("-" | "+" | "~" | "!")) => {
                let operand = self.nested(Parser::unary)?;
                negate(operator, operand)
                    .map_err(|message| Problem::new(message, self.since(start)))
            }
            TokenKind::Word("sizeof") => self.measure(|layout| layout.size),
            TokenKind::Word("_Alignof" | "alignof") => self.measure(|layout| layout.alignment),
            TokenKind::Word(name) => self.named_constant(name, token.span),
            _ => Err(Problem::new("a constant is expected here", token.span)),
        }
    }

    fn named_constant(&self, name: &str, span: std::ops::Range<usize>) -> Parsed<Constant> {
        match self.scope.meaning(name) {
            Some(Meaning::Constant(value)) => Ok(Constant::signed(*value)),
            _ => Err(Problem::new(format!("there is no constant `{name}`"), span)),
        }
    }

    /// `sizeof` and `_Alignof` of a type in brackets.
    fn measure(&mut self, measure: fn(crate::Layout) -> usize) -> Parsed<Constant> {
        self.expect("(")?;
        let start = self.peek().span.start;
        let c_type: Type = self.type_name()?;
        let span = self.since(start);
        self.expect(")")?;
        let layout = c_type.layout().ok_or_else(|| self.no_values(&c_type, span))?;
        Ok(Constant { value: measure(layout) as i128, is_unsigned: true, is_long: true })
    }
}

impl Constant {
    fn int(value: impl Into<i128>) -> Constant {
        Constant { value: value.into(), is_unsigned: false, is_long: false }
    }

    /// A constant with the least signed type that can hold the value, or `unsigned long`.
    fn signed(value: i128) -> Constant {
        let is_long = i32::try_from(value).is_err();
        Constant { value, is_unsigned: i64::try_from(value).is_err(), is_long }
    }

    /// A constant with the first of `int`, `unsigned int`, `long`, `unsigned long` that the literal allows and that can
    /// hold the value.
    fn literal(literal: Literal) -> Constant {
        let Literal { value, is_decimal, .. } = literal;
        let mut is_unsigned = literal.is_unsigned;
        let is_long = literal.is_long || u32::try_from(value).is_err() || {
            let needs_sign_bit = !is_unsigned && i32::try_from(value).is_err();
            is_unsigned |= needs_sign_bit && !is_decimal;
            needs_sign_bit && is_decimal
        };
        is_unsigned |= is_long && i64::try_from(value).is_err();
        Constant { value: value.into(), is_unsigned, is_long }
    }

    fn bits(self) -> u32 {
        if self.is_long { 64 } else { 32 }
    }

    /// `value` with this type: unsigned numbers wrap around, signed ones must fit.
    fn with(self, value: i128) -> Result<Constant, String> {
        let modulus = 1_i128 << self.bits();
        if self.is_unsigned {
            return Ok(Constant { value: value.rem_euclid(modulus), ..self });
        }
        match (-modulus / 2..modulus / 2).contains(&value) {
            true => Ok(Constant { value, ..self }),
            false => Err(format!("{value} does not fit in {} bits with a sign", self.bits())),
        }
    }

    /// The type in which C computes with both.
    fn common_type(self, other: Constant) -> Constant {
        let is_unsigned = match self.is_long == other.is_long {
            true => self.is_unsigned || other.is_unsigned,
            false if self.is_long => self.is_unsigned,
            false => other.is_unsigned,
        };
        Constant { value: 0, is_unsigned, is_long: self.is_long || other.is_long }
    }
}

fn negate(operator: &str, operand: Constant) -> Result<Constant, String> {
    match operator {
        "-" => operand.with(-operand.value),
        "~" => operand.with(!operand.value),
        "!" => Ok(Constant::int(operand.value == 0)),
        _ => Ok(operand),
    }
}

fn combine(operator: &str, left: Constant, right: Constant) -> Result<Constant, String> {
    if matches!(operator, "<<" | ">>") {
        return shift(operator, left, right);
    }
    if matches!(operator, "&&" | "||") {
        let (left, right) = (left.value != 0, right.value != 0);
        return Ok(Constant::int(if operator == "&&" { left && right } else { left || right }));
    }
    let common = left.common_type(right);
    let (a, b) = (converted(left, common), converted(right, common));
    match operator {
        "/" | "%" if b == 0 => Err("this divides by zero".to_owned()),
        "+" => common.with(a + b),
        "-" => common.with(a - b),
        // The product of two unsigned numbers may wrap around here, which keeps its lower bits.
        "*" => common.with(a.wrapping_mul(b)),
        "/" => common.with(a / b),
        "%" => common.with(a % b),
        "&" => common.with(a & b),
        "|" => common.with(a | b),
        "^" => common.with(a ^ b),
        _ => Ok(Constant::int(compare(operator, a, b))),
    }
}

/// The value in the common type: a negative one becomes a large unsigned one.
fn converted(constant: Constant, common: Constant) -> i128 {
    match common.is_unsigned {
        true => constant.value.rem_euclid(1 << common.bits()),
        false => constant.value,
    }
}

fn compare(operator: &str, a: i128, b: i128) -> bool {
    match operator {
        "==" => a == b,
        "!=" => a != b,
        "<" => a < b,
        ">" => a > b,
        "<=" => a <= b,
        _ => a >= b,
    }
}

/// A shift has the type of its left operand. A left shift may reach the sign bit, as compilers allow and headers do.
fn shift(operator: &str, left: Constant, right: Constant) -> Result<Constant, String> {
    let count = u32::try_from(right.value).ok().filter(|count| *count < left.bits());
    let Some(count) = count else {
        return Err(format!("{} bits cannot be shifted by {}", left.bits(), right.value));
    };
    if operator == ">>" {
        return left.with(left.value >> count);
    }
    let modulus = 1_i128 << left.bits();
    let wrapped = (left.value << count).rem_euclid(modulus);
    let is_negative = !left.is_unsigned && wrapped >= modulus / 2;
    left.with(if is_negative { wrapped - modulus } else { wrapped })
}
