//! Numerals: their form and their value. The lexer checks the form of a numeral here, and the parser computes the
//! value.
//!
//! ```text
//! numeral  = ["-"] digits ["." digits] [exponent]
//!          | digits "r" ["-"] extended ["." extended] [exponent]
//! exponent = "e" ["-"] digits
//! extended = { "0"-"9" | "A"-"Z" }
//! ```
//!
//! A numeral with a fraction or an exponent is a double, any other an integer of any size.
//! The radix is written in decimal and may exceed 36; a digit may exceed the radix (which is
//! worth a warning) and then simply weighs more. An exponent scales by powers of ten, after
//! a radix too. Doubles are the nearest ones to the exact value, ties to even.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{ToPrimitive, Zero};

/// A numeral's parts, as slices of its text.
#[derive(Clone, Copy, Debug)]
pub struct Numeral<'s> {
    text: &'s str,
    negative: bool,
    radix: Option<&'s str>,
    digits: &'s str,
    fraction: Option<&'s str>,
    exponent: Option<&'s str>,
}

/// The value of a numeral.
#[derive(Clone, PartialEq, Debug)]
pub enum NumeralValue {
    /// An integer of at most 64 bits.
    Integer(i64),
    /// Any other integer.
    BigInteger(BigInt),
    /// A double.
    Double(f64),
}

/// The defect of a numeral.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumeralDefect {
    /// Nothing follows the radix: `16r`, `16rff`.
    NoDigits,
    /// The radix is zero or has more than four digits.
    ImpossibleRadix,
    /// A radix numeral with fraction or exponent of more than [`LONGEST_RADIX_DOUBLE`] bytes.
    TooLong,
    /// A digit is not smaller than the radix. Only a warning.
    DigitBeyondRadix(char),
    /// The value is beyond the doubles. Only a warning.
    Infinite,
}

/// Exact arithmetic on such numerals takes quadratic time, hence a limit that no sensible
/// numeral comes near.
pub const LONGEST_RADIX_DOUBLE: usize = 4096;

impl<'s> Numeral<'s> {
    /// The numeral at the beginning of a text. The text begins with a digit, or with a minus
    /// sign and a digit.
    pub fn scan(text: &'s str) -> Numeral<'s> {
        let mut scanner = Scanner { text, position: 0 };
        let signed = scanner.accept(b'-');
        let digits = scanner.take(|byte| byte.is_ascii_digit());
        let mut numeral =
            Numeral { text, negative: signed, radix: None, digits, fraction: None, exponent: None };
        let mut is_digit: fn(u8) -> bool = |byte| byte.is_ascii_digit();
        if !signed && scanner.accept(b'r') {
            is_digit = |byte| byte.is_ascii_digit() || byte.is_ascii_uppercase();
            numeral.radix = Some(digits);
            numeral.negative = scanner.next_is(0, b'-') && scanner.next(1).is_some_and(is_digit);
            scanner.position += numeral.negative as usize;
            numeral.digits = scanner.take(is_digit);
        }
        if !numeral.digits.is_empty() {
            numeral.fraction = scanner.fraction(is_digit);
            numeral.exponent = scanner.exponent();
        }
        numeral.text = &text[..scanner.position];
        numeral
    }

    /// The whole numeral.
    pub fn text(&self) -> &'s str {
        self.text
    }

    /// The numeral's defect, errors before warnings.
    pub fn defect(&self) -> Option<NumeralDefect> {
        if let Some(radix) = self.radix {
            self.radix_defect(radix)
        } else if self.is_double() && self.decimal().is_infinite() {
            Some(NumeralDefect::Infinite)
        } else {
            None
        }
    }

    fn radix_defect(&self, radix: &str) -> Option<NumeralDefect> {
        if self.digits.is_empty() {
            return Some(NumeralDefect::NoDigits);
        }
        let base = match parse_radix(radix) {
            0 => return Some(NumeralDefect::ImpossibleRadix),
            base => base,
        };
        if self.is_double() {
            if self.text.len() > LONGEST_RADIX_DOUBLE {
                return Some(NumeralDefect::TooLong);
            }
            if self.radix_double(base).is_infinite() {
                return Some(NumeralDefect::Infinite);
            }
        }
        let digits = self.digits.chars().chain(self.fraction.unwrap_or("").chars());
        let beyond = |&digit: &char| digit_value(digit as u8) >= base;
        // In radix 1, zero would be the only digit: such numerals are tallies.
        let tally = base == 1;
        digits.filter(|_| !tally).find(beyond).map(NumeralDefect::DigitBeyondRadix)
    }

    /// The numeral's value; zero if it is defective.
    pub fn value(&self) -> NumeralValue {
        let radix = match self.radix {
            None if self.is_double() => return NumeralValue::Double(self.decimal()),
            None => 10,
            Some(radix) => parse_radix(radix),
        };
        if radix == 0 || (self.is_double() && self.text.len() > LONGEST_RADIX_DOUBLE) {
            NumeralValue::Integer(0)
        } else if self.is_double() {
            NumeralValue::Double(self.radix_double(radix))
        } else {
            self.integer(radix)
        }
    }

    fn is_double(&self) -> bool {
        self.fraction.is_some() || self.exponent.is_some()
    }

    /// The standard library reads decimals correctly rounded, in the very form that was scanned.
    fn decimal(&self) -> f64 {
        self.text.parse().unwrap_or(0.0)
    }

    fn integer(&self, radix: u32) -> NumeralValue {
        if let Some(value) = small_integer(self.digits, radix, self.negative) {
            return NumeralValue::Integer(value);
        }
        let sign = if self.negative { Sign::Minus } else { Sign::Plus };
        let value = BigInt::from_biguint(sign, magnitude(self.digits.as_bytes(), radix));
        match value.to_i64() {
            Some(small) => NumeralValue::Integer(small),
            None => NumeralValue::BigInteger(value),
        }
    }

    /// `digits.fraction × 10^exponent` as an exact quotient, rounded once.
    fn radix_double(&self, radix: u32) -> f64 {
        let fraction = self.fraction.unwrap_or("");
        let digits = [self.digits, fraction].concat();
        let numerator = magnitude(digits.as_bytes(), radix);
        let denominator = BigUint::from(radix).pow(fraction.len() as u32);
        let value = match self.decimal_exponent() {
            Some(exponent) if exponent >= 0 => {
                nearest_double(&(numerator * ten_to(exponent)), &denominator)
            }
            Some(exponent) => nearest_double(&numerator, &(denominator * ten_to(exponent))),
            None if numerator.is_zero() || self.exponent_is_negative() => 0.0,
            None => f64::INFINITY,
        };
        if self.negative { -value } else { value }
    }

    /// The exponent, unless it is so far out that the value is zero or infinite anyway: a
    /// double's decimal exponent is below 330, and no digit shifts the value by more than five
    /// decimal places since a radix is below 10,000.
    fn decimal_exponent(&self) -> Option<i32> {
        let furthest = 5 * (self.text.len() as i32) + 330;
        let exponent: i32 = self.exponent.unwrap_or("0").parse().ok()?;
        (-furthest..=furthest).contains(&exponent).then_some(exponent)
    }

    fn exponent_is_negative(&self) -> bool {
        self.exponent.is_some_and(|exponent| exponent.starts_with('-'))
    }
}

fn ten_to(exponent: i32) -> BigUint {
    BigUint::from(10u32).pow(exponent.unsigned_abs())
}

struct Scanner<'s> {
    text: &'s str,
    position: usize,
}

impl<'s> Scanner<'s> {
    fn next(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.position + ahead).copied()
    }

    fn next_is(&self, ahead: usize, byte: u8) -> bool {
        self.next(ahead) == Some(byte)
    }

    fn accept(&mut self, byte: u8) -> bool {
        let accepted = self.next_is(0, byte);
        self.position += accepted as usize;
        accepted
    }

    fn take(&mut self, belongs: fn(u8) -> bool) -> &'s str {
        let start = self.position;
        while self.next(0).is_some_and(belongs) {
            self.position += 1;
        }
        &self.text[start..self.position]
    }

    /// A period is a decimal point only directly before a digit.
    fn fraction(&mut self, is_digit: fn(u8) -> bool) -> Option<&'s str> {
        if !self.next_is(0, b'.') || !self.next(1).is_some_and(is_digit) {
            return None;
        }
        self.position += 1;
        Some(self.take(is_digit))
    }

    /// An `e` that no digits follow begins a message instead, as in `1even`.
    fn exponent(&mut self) -> Option<&'s str> {
        let sign = self.next_is(1, b'-') as usize;
        if !self.next_is(0, b'e') || !self.next(1 + sign).is_some_and(|byte| byte.is_ascii_digit())
        {
            return None;
        }
        let start = self.position + 1;
        self.position = start + sign;
        self.take(|byte| byte.is_ascii_digit());
        Some(&self.text[start..self.position])
    }
}

/// The radix, or zero if it is impossible.
fn parse_radix(digits: &str) -> u32 {
    let significant = digits.trim_start_matches('0');
    if significant.len() > 4 { 0 } else { significant.parse().unwrap_or(0) }
}

fn digit_value(digit: u8) -> u32 {
    match digit {
        b'0'..=b'9' => u32::from(digit - b'0'),
        _ => u32::from(digit - b'A') + 10,
    }
}

/// The integer, unless some step towards it needs more than 64 bits.
fn small_integer(digits: &str, radix: u32, negative: bool) -> Option<i64> {
    digits.bytes().try_fold(0i64, |value, digit| {
        let shifted = value.checked_mul(i64::from(radix))?;
        let digit = i64::from(digit_value(digit));
        if negative { shifted.checked_sub(digit) } else { shifted.checked_add(digit) }
    })
}

/// Below this many digits, one multiplication per digit is fastest.
const FEW_DIGITS: usize = 64;

/// The digits' value, by halves: a numeral of a megabyte takes moments, not minutes.
fn magnitude(digits: &[u8], radix: u32) -> BigUint {
    if digits.len() <= FEW_DIGITS {
        let step = |value, &digit: &u8| value * radix + digit_value(digit);
        return digits.iter().fold(BigUint::zero(), step);
    }
    let (high, low) = digits.split_at(digits.len() / 2);
    let scale = BigUint::from(radix).pow(low.len() as u32);
    magnitude(high, radix) * scale + magnitude(low, radix)
}

/// A double has 53 significant bits, and its smallest steps are 2^-1074.
const SIGNIFICANT_BITS: i64 = 53;
const LOWEST_EXPONENT: i64 = -1074;

/// The double nearest to `numerator / denominator`, ties to even.
///
/// Scales the quotient by a power of two so that its integer part has exactly the double's
/// significant bits, divides, and rounds by the remainder.
fn nearest_double(numerator: &BigUint, denominator: &BigUint) -> f64 {
    if numerator.is_zero() {
        return 0.0;
    }
    let magnitude = numerator.bits() as i64 - denominator.bits() as i64;
    let mut exponent = (magnitude + 1 - SIGNIFICANT_BITS).max(LOWEST_EXPONENT);
    let (mut quotient, mut rest, mut divisor) = scaled_division(numerator, denominator, exponent);
    if quotient < 1 << (SIGNIFICANT_BITS - 1) && exponent > LOWEST_EXPONENT {
        exponent -= 1;
        (quotient, rest, divisor) = scaled_division(numerator, denominator, exponent);
    }
    let half = (rest << 1u32).cmp(&divisor);
    let up = half.is_gt() || half.is_eq() && quotient % 2 == 1;
    scale_double((quotient + u64::from(up)) as f64, exponent)
}

/// `numerator / (denominator × 2^exponent)` with remainder and divisor.
fn scaled_division(
    numerator: &BigUint,
    denominator: &BigUint,
    exponent: i64,
) -> (u64, BigUint, BigUint) {
    let shift = exponent.unsigned_abs();
    let (dividend, divisor) = if exponent < 0 {
        (numerator << shift, denominator.clone())
    } else {
        (numerator.clone(), denominator << shift)
    };
    let quotient = &dividend / &divisor;
    let rest = dividend - &quotient * &divisor;
    (quotient.to_u64().expect("the quotient has at most 54 bits"), rest, divisor)
}

/// `value × 2^exponent`, exact or infinite: the value has as many bits as fit there. Two
/// steps, since 2^exponent itself may lie outside the normal doubles.
fn scale_double(value: f64, exponent: i64) -> f64 {
    let exponent = exponent.min(2000) as i32;
    let half = exponent / 2;
    value * 2f64.powi(half) * 2f64.powi(exponent - half)
}
