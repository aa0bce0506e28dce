//! Large integers in pieces: products, quotients, and decimal text. The primitives for integers of `lib/Kernel.ns` call
//! this module.
//!
//! Two operands of at most [`SMALL`] products of digits are left to the library for integers. Larger ones are split in
//! halves, by Karatsuba's method for products, and by the recursive division of Brent and Zimmermann (*Modern Computer
//! Arithmetic*, algorithm 1.8). Conversions from and to text split the text in halves.
//!
//! Invariant: between two calls of [`spend`] there is one small operation, or a few passes over all digits.

use std::future::Future;
use std::pin::Pin;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{Signed, Zero};

use crate::pace::spend;

/// Operands whose numbers of 64-bit digits have at most this product are computed directly.
pub const SMALL: usize = 1 << 18;

/// How many products of digits are a unit of work.
const PRODUCTS_IN_UNIT: usize = 10;

/// How many digits of 64 bits a unit of work passes over.
const DIGITS_IN_UNIT: usize = 8;

/// Decimal digits of a text that is converted directly.
const LEAF: usize = 2000;

type Work<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// How many 64-bit digits a number has.
fn size(number: &BigUint) -> usize {
    (number.bits().div_ceil(64) as usize).max(1)
}

/// Whether an operation on two numbers is small enough to be done directly.
pub fn are_small(left: &BigInt, right: &BigInt) -> bool {
    let size = |number: &BigInt| number.bits().div_ceil(64) as usize;
    size(left).saturating_mul(size(right)) <= SMALL
}

/// The product.
pub async fn product(left: &BigInt, right: &BigInt) -> BigInt {
    let sign = if left.sign() == right.sign() { Sign::Plus } else { Sign::Minus };
    BigInt::from_biguint(sign, multiplied(left.magnitude(), right.magnitude()).await)
}

/// Quotient and remainder of truncated division; the divisor is not zero.
pub async fn divided(left: &BigInt, right: &BigInt) -> (BigInt, BigInt) {
    let (quotient, remainder) = divide(left.magnitude(), right.magnitude()).await;
    let sign = if left.sign() == right.sign() { Sign::Plus } else { Sign::Minus };
    (BigInt::from_biguint(sign, quotient), BigInt::from_biguint(left.sign(), remainder))
}

/// The remainder of floored division; the divisor is not zero.
pub async fn modulo(left: &BigInt, right: &BigInt) -> BigInt {
    let (_, remainder) = divided(left, right).await;
    let is_other_side = !remainder.is_zero() && remainder.sign() != right.sign();
    if is_other_side { remainder + right } else { remainder }
}

/// The decimal digits, behind a minus sign for a negative number.
pub async fn text(number: BigInt) -> String {
    let sign = if number.is_negative() { "-" } else { "" };
    let mut text = sign.to_owned();
    let number = number.into_parts().1;
    let powers = powers(|power: &BigUint| power.bits() <= number.bits()).await;
    write(&number, &powers, false, &mut text).await;
    if text.len() == sign.len() {
        text.push('0');
    }
    text
}

/// The number with these decimal digits, which may be behind a minus sign. Other characters than digits count as zero.
pub async fn number(text: &str) -> BigInt {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (Sign::Minus, digits),
        None => (Sign::Plus, text),
    };
    let mut count = LEAF;
    let powers = powers(|_| {
        count *= 2;
        count / 2 < digits.len()
    });
    let powers = powers.await;
    BigInt::from_biguint(sign, read(digits.as_bytes(), &powers).await)
}

/// The powers of ten with exponents [`LEAF`], twice and four times that and so on, as long as they are wanted.
async fn powers(mut is_wanted: impl FnMut(&BigUint) -> bool) -> Vec<BigUint> {
    let mut powers = Vec::new();
    let mut power = BigUint::from(10u32).pow(LEAF as u32);
    while is_wanted(&power) {
        let next = multiplied(&power, &power).await;
        powers.push(power);
        power = next;
    }
    powers
}

/// Appends digits; with zeros in front if the number is to be as long as the powers say.
fn write<'a>(
    number: &'a BigUint,
    powers: &'a [BigUint],
    is_padded: bool,
    into: &'a mut String,
) -> Work<'a, ()> {
    Box::pin(async move {
        let Some((power, powers)) = powers.split_last() else {
            let digits = if number.is_zero() { String::new() } else { number.to_string() };
            spend(size(number).pow(2) / PRODUCTS_IN_UNIT + digits.len() / DIGITS_IN_UNIT + 1).await;
            let zeros = if is_padded { LEAF.saturating_sub(digits.len()) } else { 0 };
            into.extend(std::iter::repeat_n('0', zeros));
            into.push_str(&digits);
            return;
        };
        let (high, low) = divide(number, power).await;
        let is_first = high.is_zero() && !is_padded;
        if !is_first {
            write(&high, powers, is_padded, into).await;
        }
        write(&low, powers, !is_first, into).await;
    })
}

fn read<'a>(digits: &'a [u8], powers: &'a [BigUint]) -> Work<'a, BigUint> {
    Box::pin(async move {
        let Some((power, powers)) = powers.split_last() else {
            spend(digits.len() / DIGITS_IN_UNIT + 1).await;
            return BigUint::parse_bytes(digits, 10).unwrap_or_default();
        };
        let length = LEAF << powers.len();
        let Some(high) = digits.len().checked_sub(length) else {
            return read(digits, powers).await;
        };
        let low = read(&digits[high..], powers).await;
        let high = read(&digits[..high], powers).await;
        multiplied(&high, power).await + low
    })
}

/// The low digits of a number, so many of 64 bits, and the others.
fn split(number: &BigUint, digits: usize) -> (BigUint, BigUint) {
    let all = number.to_u32_digits();
    let (low, high) = all.split_at((2 * digits).min(all.len()));
    (BigUint::from_slice(low), BigUint::from_slice(high))
}

fn bits(digits: usize) -> u64 {
    digits as u64 * 64
}

fn multiplied<'a>(left: &'a BigUint, right: &'a BigUint) -> Work<'a, BigUint> {
    Box::pin(async move {
        let (left, right) = if left.bits() < right.bits() { (right, left) } else { (left, right) };
        let (long, short) = (size(left), size(right));
        spend(long / DIGITS_IN_UNIT + 1).await;
        if long.saturating_mul(short) <= SMALL || short == 1 {
            spend(long * short / PRODUCTS_IN_UNIT).await;
            return left * right;
        }
        // Far from square: the longer one is cut into parts of the other's length.
        let half = if short <= long / 2 { short } else { long.div_ceil(2) };
        let (low, high) = split(left, half);
        if short <= half {
            let low = multiplied(&low, right).await;
            return (multiplied(&high, right).await << bits(half)) + low;
        }
        let (other_low, other_high) = split(right, half);
        let lows = multiplied(&low, &other_low).await;
        let highs = multiplied(&high, &other_high).await;
        let mixed = multiplied(&(low + high), &(other_low + other_high)).await - &lows - &highs;
        (highs << bits(2 * half)) + (mixed << bits(half)) + lows
    })
}

/// Quotient and remainder; the divisor is not zero.
async fn divide(dividend: &BigUint, divisor: &BigUint) -> (BigUint, BigUint) {
    let length = size(divisor);
    // The recursion needs a divisor whose first digit is at least half of the largest one.
    let shift = bits(length) - divisor.bits();
    let divisor = divisor << shift;
    let digits = (dividend << shift).to_u32_digits();
    spend(digits.len() / DIGITS_IN_UNIT + 1).await;
    let mut quotient: Vec<u32> = Vec::with_capacity(digits.len());
    let mut remainder = BigUint::default();
    for part in digits.chunks(2 * length).rev() {
        let current = (remainder << (part.len() * 32)) + BigUint::from_slice(part);
        let (digits, rest) = divide_part(&current, &divisor).await;
        remainder = rest;
        // The digits of this part come below the ones before: they are put in order at the end.
        let mut digits = digits.to_u32_digits();
        digits.resize(part.len(), 0);
        digits.reverse();
        quotient.extend(digits);
    }
    quotient.reverse();
    (BigUint::new(quotient), remainder >> shift)
}

/// Quotient and remainder. The quotient has at most as many digits as the divisor.
fn divide_part<'a>(dividend: &'a BigUint, divisor: &'a BigUint) -> Work<'a, (BigUint, BigUint)> {
    Box::pin(async move {
        let (length, all) = (size(divisor), size(dividend));
        spend(all / DIGITS_IN_UNIT + 1).await;
        // The quotient has so many digits, or one more.
        let wanted = all.saturating_sub(length);
        if wanted < 4 || length.saturating_mul(wanted) <= SMALL / 4 {
            spend(length * (wanted + 1) / PRODUCTS_IN_UNIT).await;
            let quotient = dividend / divisor;
            let remainder = dividend - &quotient * divisor;
            return (quotient, remainder);
        }
        let half = wanted / 2;
        let (divisor_low, divisor_high) = split(divisor, half);
        let (low, rest) = split(dividend, 2 * half);
        let (high_quotient, rest) = divide_part(&rest, &divisor_high).await;
        let taken = multiplied(&high_quotient, &divisor_low).await << bits(half);
        let upper = (rest << bits(2 * half)) + low;
        let whole = divisor << bits(half);
        let (high_quotient, rest) = corrected(high_quotient, upper, taken, &whole);
        let (low, rest) = split(&rest, half);
        let (low_quotient, rest) = divide_part(&rest, &divisor_high).await;
        let taken = multiplied(&low_quotient, &divisor_low).await;
        let upper = (rest << bits(half)) + low;
        let (low_quotient, rest) = corrected(low_quotient, upper, taken, divisor);
        ((high_quotient << bits(half)) + low_quotient, rest)
    })
}

/// The quotient, and what is left of `upper` without `taken`: the quotient may be too large by two at most.
fn corrected(
    mut quotient: BigUint,
    mut upper: BigUint,
    taken: BigUint,
    divisor: &BigUint,
) -> (BigUint, BigUint) {
    while upper < taken {
        upper += divisor;
        quotient -= 1u32;
    }
    (quotient, upper - taken)
}

#[cfg(test)]
mod tests {
    use num_integer::Integer;
    use proptest::prelude::*;

    use super::*;
    use crate::pace::at_once;

    /// Numbers of very different lengths, with runs of zeros and ones.
    fn numbers() -> impl Strategy<Value = BigInt> {
        let word = prop_oneof![Just(0u32), Just(u32::MAX), any::<u32>()];
        let length = prop_oneof![0..8usize, 900..1400usize, 3000..5000usize];
        (length, prop::collection::vec(word, 1..8), any::<bool>()).prop_map(
            |(length, words, is_negative)| {
                let digits: Vec<u32> = words.iter().copied().cycle().take(length).collect();
                let sign = if is_negative { Sign::Minus } else { Sign::Plus };
                BigInt::from_slice(sign, &digits)
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn operations_agree_with_direct_ones(left in numbers(), right in numbers()) {
            prop_assert_eq!(at_once(product(&left, &right)), &left * &right);
            if !right.is_zero() {
                prop_assert_eq!(at_once(divided(&left, &right)), (&left / &right, &left % &right));
                prop_assert_eq!(at_once(modulo(&left, &right)), left.mod_floor(&right));
            }
        }

        #[test]
        fn texts_agree_with_direct_ones(value in numbers()) {
            let direct = value.to_string();
            prop_assert_eq!(&at_once(text(value.clone())), &direct);
            prop_assert_eq!(at_once(number(&direct)), value);
        }
    }

    #[test]
    fn long_operations_have_many_pieces() {
        let number = BigInt::from(3).pow(300_000);
        let mut pieces = crate::pace::Pieces::of(text(number));
        let steps = std::iter::from_fn(|| pieces.step(20_000).0.is_none().then_some(())).count();
        assert!(steps > 10, "only {steps}");
    }
}
