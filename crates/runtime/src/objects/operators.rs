//! The operators on immediate numbers: the results that tiers compute without a send.
//!
//! An operator defines its result for two small integers and for two doubles; a mixed pair is converted. All other
//! cases (overflow, boxed numbers, other receivers) take the general send.

use squall_heap::{TAG_BITS, Word};

/// An operator with a number as result.
pub trait Arithmetic: Copy {
    /// The result for two small integers, or `None` if it does not fit or is not defined.
    fn integers(self, left: i64, right: i64) -> Option<Word>;

    /// The result for two doubles, or `None` if the operator is not that simple for them.
    fn doubles(self, left: f64, right: f64) -> Option<Word>;
}

/// An operator with a Boolean as result.
pub trait Comparison: Copy {
    /// The result for two small integers, by their bits: the tag is zero, so bits order as values.
    fn integers(self, left: i64, right: i64) -> bool;

    /// The result for two doubles.
    fn doubles(self, left: f64, right: f64) -> bool;
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident),*) => {
        $($(#[$doc])* #[derive(Clone, Copy)] pub struct $name;)*
    };
}

operators! {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, which truncates
    Quotient,
    /// `//`, whose result is a double
    Divide,
    /// `%`, with the sign of the divisor
    Modulo,
    /// `&`
    BitAnd,
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
    NotEqual
}

impl Arithmetic for Add {
    #[inline(always)]
    fn integers(self, left: i64, right: i64) -> Option<Word> {
        // SAFETY: the bits have the tag of small integers, as those of both operands have.
        left.checked_add(right).map(|sum| unsafe { Word::from_bits(sum as u64) })
    }

    #[inline(always)]
    fn doubles(self, left: f64, right: f64) -> Option<Word> {
        Word::from_double(left + right)
    }
}

impl Arithmetic for Subtract {
    #[inline(always)]
    fn integers(self, left: i64, right: i64) -> Option<Word> {
        // SAFETY: the bits have the tag of small integers, as those of both operands have.
        left.checked_sub(right).map(|difference| unsafe { Word::from_bits(difference as u64) })
    }

    #[inline(always)]
    fn doubles(self, left: f64, right: f64) -> Option<Word> {
        Word::from_double(left - right)
    }
}

impl Arithmetic for Multiply {
    #[inline(always)]
    fn integers(self, left: i64, right: i64) -> Option<Word> {
        let product = (left >> TAG_BITS).checked_mul(right);
        // SAFETY: a multiple of the bits of a small integer has its tag.
        product.map(|product| unsafe { Word::from_bits(product as u64) })
    }

    #[inline(always)]
    fn doubles(self, left: f64, right: f64) -> Option<Word> {
        Word::from_double(left * right)
    }
}

impl Arithmetic for Quotient {
    #[inline(always)]
    fn integers(self, left: i64, right: i64) -> Option<Word> {
        if right == 0 { None } else { Word::from_small_integer(left / right) }
    }

    #[inline(always)]
    fn doubles(self, _: f64, _: f64) -> Option<Word> {
        None
    }
}

impl Arithmetic for Divide {
    #[inline(always)]
    fn integers(self, left: i64, right: i64) -> Option<Word> {
        // The values are divided, not the shifted bits: this gives large quotients the right rounding.
        Word::from_double((left >> TAG_BITS) as f64 / (right >> TAG_BITS) as f64)
            .filter(|_| right != 0)
    }

    #[inline(always)]
    fn doubles(self, left: f64, right: f64) -> Option<Word> {
        Word::from_double(left / right).filter(|_| right != 0.0)
    }
}

impl Arithmetic for Modulo {
    #[inline(always)]
    fn integers(self, left: i64, right: i64) -> Option<Word> {
        if right == 0 {
            return None;
        }
        // The least value cannot be divided by minus one here: the bits of -1 are -8.
        let remainder = left % right;
        let adjusted =
            if remainder != 0 && (remainder ^ right) < 0 { remainder + right } else { remainder };
        // SAFETY: the bits have the tag of small integers, as those of both operands have.
        Some(unsafe { Word::from_bits(adjusted as u64) })
    }

    #[inline(always)]
    fn doubles(self, _: f64, _: f64) -> Option<Word> {
        None
    }
}

impl Arithmetic for BitAnd {
    #[inline(always)]
    fn integers(self, left: i64, right: i64) -> Option<Word> {
        // SAFETY: the bits have the tag of small integers, as those of both operands have.
        Some(unsafe { Word::from_bits((left & right) as u64) })
    }

    #[inline(always)]
    fn doubles(self, _: f64, _: f64) -> Option<Word> {
        None
    }
}

macro_rules! comparisons {
    ($($name:ident $operator:tt;)*) => {
        $(impl Comparison for $name {
            #[inline(always)]
            fn integers(self, left: i64, right: i64) -> bool {
                left $operator right
            }

            #[inline(always)]
            fn doubles(self, left: f64, right: f64) -> bool {
                left $operator right
            }
        })*
    };
}

comparisons! {
    Less <;
    LessOrEqual <=;
    Greater >;
    GreaterOrEqual >=;
    Equal ==;
    NotEqual !=;
}

/// Both operands as doubles, if both are immediate numbers.
#[inline(always)]
fn as_doubles(left: Word, right: Word) -> Option<(f64, f64)> {
    let as_double = |word: Word| {
        if word.is_double() {
            Some(word.double_unchecked())
        } else if word.is_small_integer() {
            Some(word.small_integer_unchecked() as f64)
        } else {
            None
        }
    };
    Some((as_double(left)?, as_double(right)?))
}

/// Small integers below this magnitude convert to doubles exactly, so a mixed comparison may convert them.
const EXACT: i64 = 1 << 53;

/// The result of an operator for two immediate numbers, if it is an immediate number.
#[inline(always)]
pub fn compute(operator: impl Arithmetic, left: Word, right: Word) -> Option<Word> {
    if left.both_small_integers(right) {
        return operator.integers(left.bits() as i64, right.bits() as i64);
    }
    let (left, right) = as_doubles(left, right)?;
    operator.doubles(left, right)
}

/// The result of a comparison of two immediate numbers, if it is simple.
#[inline(always)]
pub fn compare(operator: impl Comparison, left: Word, right: Word) -> Option<bool> {
    if left.both_small_integers(right) {
        return Some(operator.integers(left.bits() as i64, right.bits() as i64));
    }
    let is_exact = |word: Word| {
        word.is_double()
            || (word.is_small_integer() && word.small_integer_unchecked().abs() < EXACT)
    };
    if !is_exact(left) || !is_exact(right) {
        return None;
    }
    let (left, right) = as_doubles(left, right)?;
    Some(operator.doubles(left, right))
}
