//! Numbers as decimal text, and back. The primitives for numbers and strings call it.
//!
//! Doubles are written in the form of Java: the shortest digits that read back as the same number, with at least one
//! digit after the point, and with an exponent below 0.001 and from ten million on.

use num_bigint::BigInt;

use super::arithmetic::{Fault, MAX_INTEGER_BITS, bounded};
use crate::objects::number::Number;

/// The text of a number.
pub fn format_number(number: &Number) -> String {
    match number {
        Number::Small(value) => value.to_string(),
        Number::Large(value) => value.to_string(),
        Number::Double(value) => format_double(*value),
    }
}

/// The text of a double.
pub fn format_double(value: f64) -> String {
    /// Numbers from 10 to the power of these on, and below, have no exponent.
    const PLAIN: std::ops::Range<i32> = -3..7;
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value.is_infinite() {
        return format!("{sign}Infinity");
    }
    let (digits, exponent) = shortest_digits(value.abs());
    match exponent {
        0.. if PLAIN.contains(&exponent) => {
            let (whole, fraction) = split(&digits, exponent as usize + 1);
            format!("{sign}{whole}.{fraction}")
        }
        ..0 if PLAIN.contains(&exponent) => {
            format!("{sign}0.{}{digits}", "0".repeat((-1 - exponent) as usize))
        }
        _ => {
            let (whole, fraction) = split(&digits, 1);
            format!("{sign}{whole}.{fraction}E{exponent}")
        }
    }
}

/// The shortest digits that identify a finite double that is not negative, and the power of ten of
/// the first of them.
fn shortest_digits(value: f64) -> (String, i32) {
    // The standard library writes exactly these, in scientific notation.
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    (digits.replace('.', ""), exponent.parse().unwrap_or(0))
}

/// The digits before and after a point behind `count` of them, neither of them empty.
fn split(digits: &str, count: usize) -> (String, String) {
    match digits.split_at_checked(count) {
        Some((whole, "")) => (whole.to_owned(), "0".to_owned()),
        Some((whole, fraction)) => (whole.to_owned(), fraction.to_owned()),
        None => (format!("{digits:0<count$}"), "0".to_owned()),
    }
}

/// Reads `-?[0-9]+`; the fault for any other text is that of operand 0.
pub fn parse_integer(text: &str) -> Result<Number, Fault> {
    check_integer(text)?;
    if let Ok(small) = text.parse() {
        return Ok(Number::Small(small));
    }
    text.parse::<BigInt>().map_err(|_| Fault::Operand(0)).and_then(bounded)
}

/// Whether a text is one that [`parse_integer`] reads, and its number may be small enough.
pub fn check_integer(text: &str) -> Result<(), Fault> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Operand(0));
    }
    // A digit has more than three bits, so this is refused before it takes long.
    if digits.trim_start_matches('0').len() as u64 * 3 > MAX_INTEGER_BITS {
        return Err(Fault::TooLarge);
    }
    Ok(())
}

/// Reads `-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`.
pub fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = |part: &str| is_number(part.strip_prefix(['-', '+']).unwrap_or(part));
    let well_formed =
        is_number(whole) && fraction.is_none_or(is_number) && exponent.is_none_or(is_exponent);
    if well_formed { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn doubles_are_written_as_in_java() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.5, "0.5"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (123.456, "123.456"),
            (0.1, "0.1"),
            (0.1 + 0.2, "0.30000000000000004"),
            (0.001, "0.001"),
            (0.00123, "0.00123"),
            (0.000999, "9.99E-4"),
            (1e-5, "1.0E-5"),
            (1234567.0, "1234567.0"),
            (9999999.0, "9999999.0"),
            (9999999.5, "9999999.5"),
            (1e7, "1.0E7"),
            (12345678.9, "1.23456789E7"),
            (1e10, "1.0E10"),
            (-2.5e100, "-2.5E100"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
            (5e-324, "5.0E-324"),
            (std::f64::consts::PI, "3.141592653589793"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, expected) in cases {
            assert_eq!(format_double(value), expected);
        }
    }

    #[test]
    fn integers_are_read_in_full_or_not_at_all() {
        for (text, value) in [("0", 0), ("-0", 0), ("12", 12), ("-12", -12), ("0007", 7)] {
            assert_eq!(parse_integer(text), Ok(Number::Small(value)), "{text}");
        }
        for text in ["", "-", "+1", " 1", "1 ", "1_0", "1.0", "0x10", "--1", "1e3", "١"] {
            assert_eq!(parse_integer(text), Err(Fault::Operand(0)), "{text}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes many steps on purpose")]
    fn long_integers_are_read_or_too_large() {
        let long = "9".repeat(2_000_000);
        assert_eq!(parse_integer(&long), Err(Fault::TooLarge));
        let padded = format!("{}1", "0".repeat(2_000_000));
        assert_eq!(parse_integer(&padded), Ok(Number::Small(1)));
    }

    #[test]
    fn doubles_are_read_in_full_or_not_at_all() {
        let cases = [
            ("1", 1.0),
            ("-1.5", -1.5),
            ("1e3", 1000.0),
            ("1.5E-3", 0.0015),
            ("2e+2", 200.0),
            ("1e999", f64::INFINITY),
            ("1e-999", 0.0),
        ];
        for (text, value) in cases {
            assert_eq!(parse_double(text), Some(value), "{text}");
        }
        let malformed = [
            "", "-", ".5", "5.", "1e", "1e+", "e5", "+1", " 1", "1 ", "NaN", "inf", "Infinity",
            "1.e5", "1..2", "1.5.2", "1e5e5", "0x1p3", "--1", "1e--5", "1,5",
        ];
        for text in malformed {
            assert_eq!(parse_double(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn integers_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let number = Number::from(BigInt::from_signed_bytes_le(&bytes));
            prop_assert_eq!(parse_integer(&format_number(&number)), Ok(number));
        }

        #[test]
        fn finite_doubles_round_trip(value: f64) {
            prop_assume!(value.is_finite());
            let text = format_double(value);
            prop_assert_eq!(parse_double(&text).map(f64::to_bits), Some(value.to_bits()), "{}", text);
        }

        #[test]
        #[cfg_attr(miri, ignore = "the texts are made by way of tables of all characters, which takes an hour")]
        fn parsing_never_panics(text in "\\PC*", mostly in "[-+0-9.eE]*") {
            for text in [text, mostly] {
                _ = parse_integer(&text);
                _ = parse_double(&text);
            }
        }
    }
}
