//! Arithmetic on numbers of every kind, as pure functions. The primitives for numbers and tiers call them.
//!
//! Integers have no fixed size, but a largest one ([`MAX_INTEGER_BITS`]), so that no single
//! operation runs for long or takes the memory of the process. Mixed operands are converted to
//! doubles, except in comparisons, which are exact.

use std::borrow::Cow;
use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{FromPrimitive, Signed, ToPrimitive, Zero};

use crate::model::hashing;
use crate::objects::number::Number;

/// The most bits an integer may have: four million, some 1.2 million decimal digits.
pub const MAX_INTEGER_BITS: u64 = 1 << 22;

/// Why there is no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A division of integers by zero.
    ZeroDivide,
    /// The result has too many bits.
    TooLarge,
    /// The operand with this index has a kind or value for which there is none.
    Operand(usize),
}

/// The result of an operation.
pub type Computed = Result<Number, Fault>;

/// The integer in a number, which must be the operand with this index.
fn integer(number: &Number, index: usize) -> Result<Cow<'_, BigInt>, Fault> {
    match number {
        Number::Small(value) => Ok(Cow::Owned(BigInt::from(*value))),
        Number::Large(value) => Ok(Cow::Borrowed(value)),
        Number::Double(_) => Err(Fault::Operand(index)),
    }
}

fn is_double(number: &Number) -> bool {
    matches!(number, Number::Double(_))
}

/// The number for an integer, if that is not too large.
pub fn bounded(value: BigInt) -> Computed {
    if value.bits() > MAX_INTEGER_BITS { Err(Fault::TooLarge) } else { Ok(Number::from(value)) }
}

/// An operation on two doubles if one operand is a double, else on two integers.
fn mixed(
    left: &Number,
    right: &Number,
    integers: impl FnOnce(&BigInt, &BigInt) -> Computed,
    doubles: impl FnOnce(f64, f64) -> f64,
) -> Computed {
    if is_double(left) || is_double(right) {
        return Ok(Number::Double(doubles(left.to_double(), right.to_double())));
    }
    integers(&*integer(left, 0)?, &*integer(right, 1)?)
}

/// The sum.
pub fn add(left: &Number, right: &Number) -> Computed {
    mixed(left, right, |left, right| bounded(left + right), |left, right| left + right)
}

/// The difference.
pub fn subtract(left: &Number, right: &Number) -> Computed {
    mixed(left, right, |left, right| bounded(left - right), |left, right| left - right)
}

/// The product.
pub fn multiply(left: &Number, right: &Number) -> Computed {
    let integers = |left: &BigInt, right: &BigInt| {
        // The product has as many bits as both together, or one less.
        if left.bits() + right.bits() > MAX_INTEGER_BITS + 1 {
            return Err(Fault::TooLarge);
        }
        bounded(left * right)
    };
    mixed(left, right, integers, |left, right| left * right)
}

/// The remainder of floored division: it has the sign of the divisor.
pub fn modulo(left: &Number, right: &Number) -> Computed {
    let integers = |left: &BigInt, right: &BigInt| match right.is_zero() {
        true => Err(Fault::ZeroDivide),
        false => Ok(Number::from(left.mod_floor(right))),
    };
    mixed(left, right, integers, modulo_doubles)
}

/// The remainder of floored division.
pub fn modulo_doubles(left: f64, right: f64) -> f64 {
    let remainder = left % right;
    if remainder != 0.0 && (remainder < 0.0) != (right < 0.0) {
        remainder + right
    } else {
        remainder
    }
}

/// The remainder of floored division of small integers; the divisor is not zero.
pub fn modulo_integers(left: i64, right: i64) -> i64 {
    let remainder = left.wrapping_rem(right);
    if remainder != 0 && (remainder < 0) != (right < 0) { remainder + right } else { remainder }
}

/// The quotient as a double.
pub fn divide(left: &Number, right: &Number) -> f64 {
    let ((left, left_exponent), (right, right_exponent)) = (scaled(left), scaled(right));
    // Of the two steps at most the second can leave the range.
    let exponent = (left_exponent - right_exponent).clamp(-4096, 4096) as i32;
    let step = exponent / 2;
    left / right * 2f64.powi(step) * 2f64.powi(exponent - step)
}

/// A double and a power of two whose product is the number; the power is 1 unless the number is
/// beyond all doubles.
fn scaled(number: &Number) -> (f64, i64) {
    const DOUBLE_BITS: u64 = 1000;
    const KEPT_BITS: u64 = 64;
    match number {
        Number::Large(value) if value.bits() > DOUBLE_BITS => {
            let shift = value.bits() - KEPT_BITS;
            ((value >> shift).to_f64().unwrap_or(f64::NAN), shift as i64)
        }
        number => (number.to_double(), 0),
    }
}

/// The quotient of an integer, truncated to an integer.
pub fn quotient(left: &Number, right: &Number) -> Computed {
    let dividend = integer(left, 0)?;
    if let Number::Double(divisor) = right {
        return match *divisor {
            0.0 => Err(Fault::ZeroDivide),
            divisor => truncated(left.to_double() / divisor).ok_or(Fault::Operand(1)),
        };
    }
    let divisor = integer(right, 1)?;
    if divisor.is_zero() {
        return Err(Fault::ZeroDivide);
    }
    Ok(Number::from(&*dividend / &*divisor))
}

/// The remainder of truncated division of integers: it has the sign of the dividend.
pub fn remainder(left: &Number, right: &Number) -> Computed {
    let (dividend, divisor) = (integer(left, 0)?, integer(right, 1)?);
    if divisor.is_zero() {
        return Err(Fault::ZeroDivide);
    }
    Ok(Number::from(&*dividend % &*divisor))
}

/// Bitwise and, in two's complement of unlimited width.
pub fn and(left: &Number, right: &Number) -> Computed {
    Ok(Number::from(&*integer(left, 0)? & &*integer(right, 1)?))
}

/// Bitwise or, in two's complement of unlimited width.
pub fn or(left: &Number, right: &Number) -> Computed {
    Ok(Number::from(&*integer(left, 0)? | &*integer(right, 1)?))
}

/// Bitwise exclusive or, in two's complement of unlimited width.
pub fn xor(left: &Number, right: &Number) -> Computed {
    Ok(Number::from(&*integer(left, 0)? ^ &*integer(right, 1)?))
}

/// The integer times a power of two.
pub fn shift_left(left: &Number, right: &Number) -> Computed {
    let value = integer(left, 0)?;
    let count = shift_count(right)?;
    if value.is_zero() {
        return Ok(Number::Small(0));
    }
    match count {
        Some(count) if value.bits() + count <= MAX_INTEGER_BITS => {
            Ok(Number::from(&*value << count))
        }
        _ => Err(Fault::TooLarge),
    }
}

/// The integer shifted right: one of 64 signed bits is read as unsigned, others keep their sign.
pub fn shift_right(left: &Number, right: &Number) -> Computed {
    let value = integer(left, 0)?;
    let count = shift_count(right)?;
    if let Number::Small(value) = left {
        let count = count.and_then(|count| u32::try_from(count).ok());
        let shifted = count.and_then(|count| (*value as u64).checked_shr(count));
        return Ok(Number::from(BigInt::from(shifted.unwrap_or(0))));
    }
    // A shift by more bits than the number has leaves the sign.
    let count = count.unwrap_or(MAX_INTEGER_BITS).min(MAX_INTEGER_BITS + 1);
    Ok(Number::from(&*value >> count))
}

/// How far to shift; `None` stands for farther than any integer is long.
fn shift_count(count: &Number) -> Result<Option<u64>, Fault> {
    let count = integer(count, 1)?;
    if count.is_negative() {
        return Err(Fault::Operand(1));
    }
    Ok(count.to_u64().filter(|&count| count <= MAX_INTEGER_BITS))
}

/// The low 32 bits of an integer in two's complement.
pub fn low_32_bits(value: &Number) -> Result<u32, Fault> {
    if let Number::Small(value) = value {
        return Ok(*value as u32);
    }
    let low = &*integer(value, 0)? & BigInt::from(u32::MAX);
    low.to_u32().ok_or(Fault::Operand(0))
}

/// The exact order of two numbers; `None` if one is not-a-number.
pub fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Double(left), Number::Double(right)) => left.partial_cmp(right),
        (Number::Double(left), right) => compare_with_double(right, *left).map(Ordering::reverse),
        (left, Number::Double(right)) => compare_with_double(left, *right),
        (left, right) => Some(integer(left, 0).ok()?.cmp(&integer(right, 1).ok()?)),
    }
}

/// The order of an integer and a double.
fn compare_with_double(value: &Number, double: f64) -> Option<Ordering> {
    if double.is_infinite() {
        return 0.0.partial_cmp(&double);
    }
    let whole = BigInt::from_f64(double.trunc())?;
    let by_whole = integer(value, 0).ok()?.cmp(&Cow::Owned(whole));
    Some(by_whole.then_with(|| 0f64.total_cmp(&(double.fract() + 0.0))))
}

/// The integer toward zero; `None` if the double has none.
pub fn truncated(value: f64) -> Option<Number> {
    // In this range the conversion is exact; beyond it, every double is an integer.
    if value.abs() < (1u64 << 62) as f64 {
        return Some(Number::Small(value as i64));
    }
    BigInt::from_f64(value).map(Number::from)
}

/// The nearest integer, halves up; `None` if the double has none.
pub fn rounded(value: f64) -> Option<Number> {
    // Adding a half would round the largest number below it up.
    let floor = value.floor();
    truncated(if value - floor >= 0.5 { floor + 1.0 } else { floor })
}

/// An integer's hash is the integer; that of a double agrees with the integer it equals, if any.
pub fn hash(value: &Number) -> Number {
    match value {
        Number::Double(double) => match truncated(*double).filter(|_| double.fract() == 0.0) {
            Some(integer) => integer,
            None => Number::Small((hashing::of_number(double.to_bits()) >> 36) as i64),
        },
        integer => integer.clone(),
    }
}

/// Spreads all bits over 28, for numbers that nobody chooses.
pub fn mix(bits: u64) -> u32 {
    // The multiplier is the golden ratio's, as in Fibonacci hashing (Knuth, volume 3, section 6.4).
    ((bits ^ bits >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 36) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn big(value: &str) -> Number {
        Number::from(value.parse::<BigInt>().unwrap())
    }

    /// Integers of all sizes, the borders of the forms among them.
    fn integers() -> impl Strategy<Value = BigInt> {
        let borders = [0, 1, 31, 32, 53, 59, 60, 61, 62, 63, 64, 65, 128, 1100];
        let near_border = (0..borders.len(), -2i32..=2, any::<bool>()).prop_map(
            move |(index, offset, negative)| {
                let value: BigInt = (BigInt::from(1) << borders[index]) + offset;
                if negative { -value } else { value }
            },
        );
        let any_size = prop::collection::vec(any::<u8>(), 0..40)
            .prop_map(|bytes| BigInt::from_signed_bytes_le(&bytes));
        prop_oneof![near_border, any_size, any::<i64>().prop_map(BigInt::from)]
    }

    fn number(value: &BigInt) -> Number {
        Number::from(value.clone())
    }

    proptest! {
        #[test]
        fn integers_follow_the_big_ones(left in integers(), right in integers()) {
            let (a, b) = (number(&left), number(&right));
            prop_assert_eq!(add(&a, &b), Ok(number(&(&left + &right))));
            prop_assert_eq!(subtract(&a, &b), Ok(number(&(&left - &right))));
            prop_assert_eq!(multiply(&a, &b), Ok(number(&(&left * &right))));
            prop_assert_eq!(and(&a, &b), Ok(number(&(&left & &right))));
            prop_assert_eq!(or(&a, &b), Ok(number(&(&left | &right))));
            prop_assert_eq!(xor(&a, &b), Ok(number(&(&left ^ &right))));
            prop_assert_eq!(compare(&a, &b), Some(left.cmp(&right)));
        }

        #[test]
        fn divisions_agree_with_multiplication(left in integers(), right in integers()) {
            let (a, b) = (number(&left), number(&right));
            if right.is_zero() {
                prop_assert_eq!(quotient(&a, &b), Err(Fault::ZeroDivide));
                prop_assert_eq!(remainder(&a, &b), Err(Fault::ZeroDivide));
                prop_assert_eq!(modulo(&a, &b), Err(Fault::ZeroDivide));
                return Ok(());
            }
            let whole = quotient(&a, &b).unwrap().to_integer().unwrap();
            let rest = remainder(&a, &b).unwrap().to_integer().unwrap();
            prop_assert_eq!(&whole * &right + &rest, left.clone());
            prop_assert!(rest.abs() < right.abs());
            prop_assert!(rest.is_zero() || rest.is_negative() == left.is_negative());
            let floored = modulo(&a, &b).unwrap().to_integer().unwrap();
            prop_assert!(floored.is_zero() || floored.is_negative() == right.is_negative());
            prop_assert!(((&left - &floored) % &right).is_zero());
        }

        #[test]
        fn small_modulo_is_the_general_one(left: i64, right: i64) {
            prop_assume!(right != 0);
            let expected = modulo(&Number::Small(left), &Number::Small(right));
            prop_assert_eq!(Ok(Number::Small(modulo_integers(left, right))), expected);
        }

        #[test]
        fn shifts_are_powers_of_two(value in integers(), count in 0u32..200) {
            let shifted = BigInt::from(2).pow(count) * &value;
            let count = Number::Small(i64::from(count));
            prop_assert_eq!(shift_left(&number(&value), &count), Ok(number(&shifted)));
            let back = shift_right(&number(&shifted), &count).unwrap();
            if value.to_i64().is_none() {
                prop_assert_eq!(back, number(&value));
            }
        }

        #[test]
        fn right_shifts_of_64_bits_are_unsigned(value: i64, count in 0u32..64) {
            let shifted = shift_right(&Number::Small(value), &Number::Small(i64::from(count)));
            prop_assert_eq!(shifted, Ok(number(&BigInt::from(value as u64 >> count))));
        }

        #[test]
        fn low_bits_wrap(value in integers()) {
            let low = value.mod_floor(&BigInt::from(1u64 << 32)).to_u32().unwrap();
            prop_assert_eq!(low_32_bits(&number(&value)), Ok(low));
        }

        #[test]
        fn comparison_with_doubles_is_exact(value in integers(), double: f64) {
            let order = compare(&number(&value), &Number::Double(double));
            let reverse = compare(&Number::Double(double), &number(&value));
            prop_assert_eq!(order.map(Ordering::reverse), reverse);
            if double.is_nan() {
                prop_assert_eq!(order, None);
            } else if let Some(Number::Small(_) | Number::Large(_)) = truncated(double) {
                // Scaled until the double is an integer as well.
                let scale: BigInt = BigInt::from(1) << 1074;
                let exact = scaled_double(double);
                prop_assert_eq!(order, Some((&value * scale).cmp(&exact)));
            }
        }

        #[test]
        fn equal_numbers_have_equal_hashes(value in integers()) {
            let integer = number(&value);
            let double = Number::Double(integer.to_double());
            if compare(&integer, &double) == Some(Ordering::Equal) {
                prop_assert_eq!(hash(&integer), hash(&double));
            }
        }
    }

    /// A finite double times 2 to the power of 1074.
    fn scaled_double(value: f64) -> BigInt {
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7FF) as usize, bits & ((1 << 52) - 1));
        let magnitude = match exponent {
            0 => BigInt::from(fraction),
            _ => BigInt::from(fraction | 1 << 52) << (exponent - 1),
        };
        if value < 0.0 { -magnitude } else { magnitude }
    }

    #[test]
    fn quotients_truncate_even_for_doubles() {
        let cases = [
            (7, 2.0, Ok(3)),
            (-7, 2.0, Ok(-3)),
            (7, -0.5, Ok(-14)),
            (7, f64::INFINITY, Ok(0)),
            (7, 0.0, Err(Fault::ZeroDivide)),
            (7, -0.0, Err(Fault::ZeroDivide)),
            (7, f64::NAN, Err(Fault::Operand(1))),
            (7, 5e-324, Err(Fault::Operand(1))),
        ];
        for (left, right, expected) in cases {
            let result = quotient(&Number::Small(left), &Number::Double(right));
            assert_eq!(result, expected.map(Number::Small), "{left} / {right}");
        }
        let least = quotient(&Number::Small(i64::MIN), &Number::Small(-1));
        assert_eq!(least, Ok(big("9223372036854775808")));
        let of_double = quotient(&Number::Double(1.0), &Number::Small(1));
        assert_eq!(of_double, Err(Fault::Operand(0)));
    }

    #[test]
    fn modulo_of_doubles_has_the_divisors_sign() {
        let cases = [(5.5, 2.0, 1.5), (-5.5, 2.0, 0.5), (5.5, -2.0, -0.5), (-5.5, -2.0, -1.5)];
        for (left, right, expected) in cases {
            assert_eq!(modulo_doubles(left, right), expected, "{left} % {right}");
        }
        assert!(modulo_doubles(1.0, 0.0).is_nan());
        let mixed = modulo(&Number::Small(7), &Number::Double(2.5));
        assert_eq!(mixed, Ok(Number::Double(2.0)));
    }

    #[test]
    fn division_reaches_beyond_doubles() {
        let power = |exponent: u32| Number::from(BigInt::from(1) << exponent);
        assert_eq!(divide(&power(5000), &power(4999)), 2.0);
        assert_eq!(divide(&power(1100), &power(90)), 2f64.powi(1010));
        assert_eq!(divide(&power(90), &power(1100)), 2f64.powi(-1010));
        assert_eq!(divide(&power(5000), &Number::Small(1)), f64::INFINITY);
        assert_eq!(divide(&Number::Small(1), &power(5000)), 0.0);
        assert_eq!(divide(&Number::Small(1), &Number::Small(3)), 1.0 / 3.0);
        assert!(divide(&Number::Small(0), &Number::Small(0)).is_nan());
    }

    #[test]
    fn large_results_are_refused() {
        let one = Number::Small(1);
        let far = Number::Small(MAX_INTEGER_BITS as i64);
        assert_eq!(shift_left(&one, &far), Err(Fault::TooLarge));
        assert_eq!(shift_left(&one, &big("100000000000000000000")), Err(Fault::TooLarge));
        assert_eq!(shift_left(&Number::Small(0), &far), Ok(Number::Small(0)));
        let largest = shift_left(&one, &Number::Small(MAX_INTEGER_BITS as i64 - 1)).unwrap();
        assert_eq!(multiply(&largest, &Number::Small(2)), Err(Fault::TooLarge));
        assert_eq!(add(&largest, &largest), Err(Fault::TooLarge));
        assert_eq!(multiply(&largest, &largest), Err(Fault::TooLarge));
        assert_eq!(multiply(&largest, &one), Ok(largest.clone()));
    }

    #[test]
    fn shift_counts_are_checked() {
        let (one, minus_one) = (Number::Small(1), Number::Small(-1));
        for shift in [shift_left, shift_right] {
            assert_eq!(shift(&one, &minus_one), Err(Fault::Operand(1)));
            assert_eq!(shift(&one, &Number::Double(1.0)), Err(Fault::Operand(1)));
            assert_eq!(shift(&Number::Double(1.0), &one), Err(Fault::Operand(0)));
        }
        let far = big("100000000000000000000");
        assert_eq!(shift_right(&minus_one, &Number::Small(1)), Ok(Number::Small(i64::MAX)));
        assert_eq!(shift_right(&minus_one, &Number::Small(64)), Ok(Number::Small(0)));
        assert_eq!(shift_right(&minus_one, &far), Ok(Number::Small(0)));
        assert_eq!(shift_right(&far, &far), Ok(Number::Small(0)));
        assert_eq!(shift_right(&big("-100000000000000000000"), &far), Ok(Number::Small(-1)));
    }

    #[test]
    fn halves_round_up() {
        let cases = [
            (0.5, 1),
            (1.4, 1),
            (1.5, 2),
            (2.5, 3),
            (-0.5, 0),
            (-1.5, -1),
            (-1.6, -2),
            (-0.2, 0),
            (0.49999999999999994, 0),
            (4503599627370497.5, 4503599627370498),
            (445.34, 445),
        ];
        for (value, expected) in cases {
            assert_eq!(rounded(value), Some(Number::Small(expected)), "{value}");
        }
        assert_eq!(rounded(1e300), truncated(1e300));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!((rounded(value), truncated(value)), (None, None), "{value}");
        }
        assert_eq!(truncated(1e19), Some(big("10000000000000000000")));
        assert_eq!(truncated(-9223372036854775808.0), Some(Number::Small(i64::MIN)));
        assert_eq!(truncated(-2.9), Some(Number::Small(-2)));
    }

    #[test]
    fn comparisons_see_what_rounding_hides() {
        let exact = Number::Small((1 << 53) + 1);
        assert_eq!(compare(&exact, &Number::Double(2f64.powi(53))), Some(Ordering::Greater));
        let infinite = Number::Double(f64::INFINITY);
        assert_eq!(compare(&big("1"), &infinite), Some(Ordering::Less));
        assert_eq!(compare(&Number::Small(0), &Number::Double(-0.0)), Some(Ordering::Equal));
        assert_eq!(compare(&Number::Small(-1), &Number::Double(-1.5)), Some(Ordering::Greater));
        assert_eq!(compare(&Number::Small(0), &Number::Double(f64::NAN)), None);
    }
}
