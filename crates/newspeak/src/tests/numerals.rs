//! Numerals: all combinations of their parts, and the values of many.

use num_bigint::BigInt;

use super::source;
use crate::lexer::tokenize;
use crate::numerals::{Numeral, NumeralDefect, NumeralValue};
use crate::token::TokenKind;

fn value(text: &str) -> NumeralValue {
    let numeral = Numeral::scan(text);
    assert_eq!(numeral.text(), text, "only a part was scanned");
    numeral.value()
}

fn double(text: &str) -> f64 {
    match value(text) {
        NumeralValue::Double(value) => value,
        other => panic!("{text} reads as {other:?}"),
    }
}

/// The text after a numeral that ends early.
fn rest(text: &str) -> &str {
    &text[Numeral::scan(text).text().len()..]
}

/// Every numeral is one token, an integer if and only if it has neither fraction nor exponent.
#[test]
fn all_combinations_of_parts() {
    let mut count = 0;
    let mut check = |text: String, is_double: bool| {
        let source = source(&text);
        let tokens = tokenize(&source).list;
        assert_eq!(tokens[0].kind, TokenKind::Numeral, "{text}");
        assert_eq!(source.slice(tokens[0].span), text);
        assert_eq!(tokens.len(), 2, "{text}");
        assert_eq!(matches!(value(&text), NumeralValue::Double(_)), is_double, "{text}");
        count += 1;
    };
    let signs = ["", "-"];
    let exponents = ["", "e1", "e99", "e-1", "e-99"];
    for sign in signs {
        for digits in ["1", "99"] {
            for fraction in ["", ".1", ".99"] {
                for exponent in exponents {
                    let is_double = !fraction.is_empty() || !exponent.is_empty();
                    check(format!("{sign}{digits}{fraction}{exponent}"), is_double);
                }
            }
        }
        for radix in ["1r", "99r"] {
            for digits in ["0", "04B", "CAFE", "ZZ"] {
                for fraction in ["", ".0", ".04B", ".CAFE", ".ZZ"] {
                    for exponent in exponents {
                        let is_double = !fraction.is_empty() || !exponent.is_empty();
                        check(format!("{radix}{sign}{digits}{fraction}{exponent}"), is_double);
                    }
                }
            }
        }
    }
    assert_eq!(count, 2 * (2 * 3 * 5 + 2 * 4 * 5 * 5));
}

#[test]
fn integers() {
    for (text, expected) in [
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("-42", -42),
        ("16rFF", 255),
        ("16r-FF", -255),
        ("2r1010", 10),
        ("36rZZ", 1295),
        ("60rZ0", 2100),
        ("1rZZ", 70),
        ("2r9", 9),
        ("0016r10", 16),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
        ("16r-8000000000000000", i64::MIN),
    ] {
        assert_eq!(value(text), NumeralValue::Integer(expected), "{text}");
    }
}

#[test]
fn big_integers() {
    for (text, decimal) in [
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("16rFFFFFFFFFFFFFFFFFFFF", "1208925819614629174706175"),
        ("16r-FFFFFFFFFFFFFFFFFFFF", "-1208925819614629174706175"),
        ("60r100000000000000", "7836416409600000000000000"),
    ] {
        let expected: BigInt = decimal.parse().expect("a decimal number");
        assert_eq!(value(text), NumeralValue::BigInteger(expected), "{text}");
    }
}

#[test]
fn long_integers_are_read_by_halves() {
    let text: String = (0..1000).map(|index| char::from(b'1' + (index % 9) as u8)).collect();
    let expected: BigInt = text.parse().expect("a decimal number");
    assert_eq!(value(&text), NumeralValue::BigInteger(expected));
    let ones = BigInt::from(2).pow(1000) - 1;
    assert_eq!(value(&format!("2r{}", "1".repeat(1000))), NumeralValue::BigInteger(ones));
}

#[test]
fn decimal_doubles_are_the_nearest() {
    for (text, expected) in [
        ("1e1", 10.0),
        ("1.5", 1.5),
        ("-1.5e-3", -0.0015),
        ("0.1", 0.1),
        ("123456789.123456789e-5", 1234.567891234568),
        ("9007199254740993.0", 9007199254740992.0),
        ("1.7976931348623157e308", f64::MAX),
        ("5e-324", f64::from_bits(1)),
        ("2e-324", 0.0),
        ("1e99999999999999999999", f64::INFINITY),
        ("1e-99999999999999999999", 0.0),
    ] {
        assert_eq!(double(text).to_bits(), f64::to_bits(expected), "{text}");
    }
    assert_eq!(double("-0.0").to_bits(), (-0.0f64).to_bits());
}

#[test]
fn radix_doubles_are_the_nearest() {
    for (text, expected) in [
        ("16rF.8", 15.5),
        ("16r-F.8", -15.5),
        ("2r1.1e1", 15.0),
        ("16rFe2", 1500.0),
        ("10r0.1", 0.1),
        ("10r123456789.123456789e-5", 1234.567891234568),
        ("10r9007199254740993.0", 9007199254740992.0),
        ("10r9007199254740995.0", 9007199254740996.0),
        ("2r100000000000000000000000000000000000000000000000000001.1", 9007199254740994.0),
        ("10r17976931348623157.0e292", f64::MAX),
        ("10r5e-324", f64::from_bits(1)),
        ("10r2e-324", 0.0),
        ("10r22250738585072011e-324", f64::from_bits(0x000f_ffff_ffff_ffff)),
        ("16r1e400", f64::INFINITY),
        ("16r0e99999999999", 0.0),
        ("16r1e99999999999", f64::INFINITY),
        ("16r1e-99999999999", 0.0),
        ("60rZ.Z", 35.0 + 35.0 / 60.0),
    ] {
        assert_eq!(double(text).to_bits(), f64::to_bits(expected), "{text}");
    }
}

/// The exact arithmetic for radix numerals agrees with the standard library's for decimals.
#[test]
fn radix_ten_reads_as_decimal() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 33
    };
    for _ in 0..2000 {
        let (digits, fraction) = (random(), random());
        let exponent = random() as i64 % 660 - 330;
        let decimal = format!("{digits}.{fraction}e{exponent}");
        assert_eq!(
            double(&format!("10r{decimal}")).to_bits(),
            double(&decimal).to_bits(),
            "{decimal}"
        );
    }
}

#[test]
fn what_a_numeral_ends_before() {
    for (text, expected) in [
        ("1.", "."),
        ("1.foo", ".foo"),
        ("1even", "even"),
        ("1e", "e"),
        ("1e-", "e-"),
        ("1e+5", "e+5"),
        ("1E5", "E5"),
        ("1.5.", "."),
        ("1.5.5", ".5"),
        ("-16rA", "rA"),
        ("16rFF.", "."),
        ("16rFF.x", ".x"),
        ("16rFFx", "x"),
        ("16rFF-1", "-1"),
    ] {
        assert_eq!(rest(text), expected, "{text}");
    }
}

#[test]
fn defects() {
    for (text, expected) in [
        ("16r", Some(NumeralDefect::NoDigits)),
        ("16r-", Some(NumeralDefect::NoDigits)),
        ("16rff", Some(NumeralDefect::NoDigits)),
        ("0r1", Some(NumeralDefect::ImpossibleRadix)),
        ("10000r1", Some(NumeralDefect::ImpossibleRadix)),
        ("99999999999999999999r1", Some(NumeralDefect::ImpossibleRadix)),
        ("2r12", Some(NumeralDefect::DigitBeyondRadix('2'))),
        ("16rF.G", Some(NumeralDefect::DigitBeyondRadix('G'))),
        ("1e400", Some(NumeralDefect::Infinite)),
        ("16r1e400", Some(NumeralDefect::Infinite)),
        ("9999rZ", None),
        ("1rZZ", None),
        ("16rFF", None),
        ("1", None),
    ] {
        assert_eq!(Numeral::scan(text).defect(), expected, "{text}");
    }
    let long = format!("16r{}.8", "F".repeat(5000));
    assert_eq!(Numeral::scan(&long).defect(), Some(NumeralDefect::TooLong));
    assert_eq!(Numeral::scan(&long).value(), NumeralValue::Integer(0));
}
