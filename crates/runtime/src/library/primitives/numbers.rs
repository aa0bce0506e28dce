//! Numbers: the primitives for arithmetic, comparison, bits and text. `lib/Kernel.ns` calls them.
//!
//! Each operation tries immediate operands first, since inline caches call these functions on hot
//! paths; everything else goes through [`arithmetic`].

use std::cmp::Ordering;

use num_bigint::BigInt;
use squall_data::integers;
use squall_heap::Word;

use super::arithmetic::{self, Computed, Fault};
use super::{answer, decimal};
use crate::library::work;
use crate::model::hashing;
use crate::model::known;
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::number::{Number, make_double, make_integer, make_number};
use crate::objects::string::{make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::with_leaf(
        "number:add:",
        |_, left, right| immediate(left, right, i64::checked_add, |left, right| left + right),
        |thread, window| compute(thread, window, arithmetic::add),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "number:subtract:",
        |_, left, right| immediate(left, right, i64::checked_sub, |left, right| left - right),
        |thread, window| compute(thread, window, arithmetic::subtract),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "number:multiply:",
        |_, left, right| immediate(left, right, i64::checked_mul, |left, right| left * right),
        |thread, window| compute_long(thread, window, arithmetic::multiply, Long::Product),
    )
    .in_pieces(),
    Primitive::with_leaf(
        "number:modulo:",
        |_, left, right| {
            let integers =
                |left, right| (right != 0).then(|| arithmetic::modulo_integers(left, right));
            immediate(left, right, integers, arithmetic::modulo_doubles)
        },
        |thread, window| compute_long(thread, window, arithmetic::modulo, Long::Modulo),
    )
    .in_pieces(),
    Primitive::with_leaf(
        "number:dividedBy:",
        |_, left, right| Word::from_double(immediate_double(left)? / immediate_double(right)?),
        |thread, window| answer(divide(thread, window)),
    )
    .by_bytes(),
    Primitive::ordinary("number:raisedTo:", |thread, window| {
        answer(operands(window).and_then(|(left, right)| {
            make_double(thread, left.to_double().powf(right.to_double()))
        }))
    })
    .by_bytes(),
    Primitive::with_leaf(
        "number:equals:",
        |_, left, right| short_equality(left, right, true),
        |_, window| answer(equality(window, true)),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "number:differs:",
        |_, left, right| short_equality(left, right, false),
        |_, window| answer(equality(window, false)),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "number:lessThan:",
        |_, left, right| short_comparison(left, right, |l, r| l < r, |l, r| l < r, Ordering::is_lt),
        |_, window| answer(comparison(window, Ordering::is_lt)),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "number:greaterThan:",
        |_, left, right| short_comparison(left, right, |l, r| l > r, |l, r| l > r, Ordering::is_gt),
        |_, window| answer(comparison(window, Ordering::is_gt)),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "number:atMost:",
        |_, left, right| {
            short_comparison(left, right, |l, r| l <= r, |l, r| l <= r, Ordering::is_le)
        },
        |_, window| answer(comparison(window, Ordering::is_le)),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "number:atLeast:",
        |_, left, right| {
            short_comparison(left, right, |l, r| l >= r, |l, r| l >= r, Ordering::is_ge)
        },
        |_, window| answer(comparison(window, Ordering::is_ge)),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "numberSquareRoot:",
        |_, number, _| Word::from_double(immediate_double(number)?.sqrt()),
        |thread, window| function(thread, window, f64::sqrt),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "numberSine:",
        |_, number, _| Word::from_double(immediate_double(number)?.sin()),
        |thread, window| function(thread, window, f64::sin),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "numberCosine:",
        |_, number, _| Word::from_double(immediate_double(number)?.cos()),
        |thread, window| function(thread, window, f64::cos),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "numberExponential:",
        |_, number, _| Word::from_double(immediate_double(number)?.exp()),
        |thread, window| function(thread, window, f64::exp),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "numberLogarithm:",
        |_, number, _| Word::from_double(immediate_double(number)?.ln()),
        |thread, window| function(thread, window, f64::ln),
    )
    .by_bytes(),
    Primitive::ordinary("numberAsString:", as_string).in_pieces(),
    Primitive::ordinary("numberHash:", hash).by_bytes(),
    Primitive::with_leaf(
        "spreadHash:",
        |_, hash, _| Some(spread(hash.as_small_integer()?)),
        spread_any,
    )
    .by_bytes(),
    Primitive::with_leaf(
        "integer:quotient:",
        |_, left, right| small_integers(left, right, i64::checked_div),
        |thread, window| compute_long(thread, window, arithmetic::quotient, Long::Quotient),
    )
    .in_pieces(),
    Primitive::with_leaf(
        "integer:remainder:",
        |_, left, right| small_integers(left, right, i64::checked_rem),
        |thread, window| compute_long(thread, window, arithmetic::remainder, Long::Remainder),
    )
    .in_pieces(),
    Primitive::with_leaf(
        "integer:and:",
        |_, left, right| small_integers(left, right, |left, right| Some(left & right)),
        |thread, window| compute(thread, window, arithmetic::and),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "integer:or:",
        |_, left, right| small_integers(left, right, |left, right| Some(left | right)),
        |thread, window| compute(thread, window, arithmetic::or),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "integer:xor:",
        |_, left, right| small_integers(left, right, |left, right| Some(left ^ right)),
        |thread, window| compute(thread, window, arithmetic::xor),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "integer:shiftedLeft:",
        |_, left, right| small_integers(left, right, shift_left),
        |thread, window| compute(thread, window, arithmetic::shift_left),
    )
    .by_bytes(),
    Primitive::with_leaf(
        "integer:shiftedRight:",
        |_, left, right| small_integers(left, right, shift_right),
        |thread, window| compute(thread, window, arithmetic::shift_right),
    )
    .by_bytes(),
    Primitive::ordinary("integerSigned32:", |thread, window| {
        low_32_bits(thread, window, |low| i64::from(low as i32))
    })
    .by_bytes(),
    Primitive::ordinary("integerUnsigned32:", |thread, window| {
        low_32_bits(thread, window, i64::from)
    })
    .by_bytes(),
    Primitive::ordinary("integerFromString:", from_string).in_pieces(),
    Primitive::ordinary("doubleFromString:", |thread, window| {
        answer(text_argument(window.get(0)).and_then(|text| {
            // Many digits are compared with those of all doubles near.
            let digits = text.len().saturating_sub(17).min(1000);
            thread.charge(2 * digits * digits.min(50));
            let value = decimal::parse_double(&text).ok_or(Failure::argument(window.get(0)))?;
            make_double(thread, value)
        }))
    })
    .by_bytes(),
    Primitive::with_leaf(
        "doubleRounded:",
        |_, double, _| small_result(double, arithmetic::rounded),
        |thread, window| to_integer(thread, window, arithmetic::rounded),
    ),
    Primitive::with_leaf(
        "doubleTruncated:",
        |_, double, _| small_result(double, arithmetic::truncated),
        |thread, window| to_integer(thread, window, arithmetic::truncated),
    ),
];

/// The number in a word of the window.
fn operand(window: Window, index: usize) -> Result<Number, Failure> {
    Number::of(window.get(index)).ok_or(Failure::argument(window.get(index)))
}

fn operands(window: Window) -> Result<(Number, Number), Failure> {
    Ok((operand(window, 0)?, operand(window, 1)?))
}

/// The word for a result. *GC point.*
fn conclude(thread: &mut Thread, window: Window, result: Computed) -> Result<Word, Failure> {
    match result {
        Ok(number) => make_number(thread, &number),
        Err(fault) => Err(failure(window, fault)),
    }
}

#[cold]
fn failure(window: Window, fault: Fault) -> Failure {
    match fault {
        Fault::ZeroDivide => Failure::new(FailureReason::ZeroDivide),
        Fault::TooLarge => Failure::out_of_memory(),
        Fault::Operand(index) => Failure::argument(window.get(index)),
    }
}

/// An operation on two immediate numbers, if it has an immediate result.
#[inline(always)]
fn immediate(
    left: Word,
    right: Word,
    integers: impl FnOnce(i64, i64) -> Option<i64>,
    doubles: impl FnOnce(f64, f64) -> f64,
) -> Option<Word> {
    if left.both_small_integers(right) {
        return integers(left.small_integer_unchecked(), right.small_integer_unchecked())
            .and_then(Word::from_small_integer);
    }
    Word::from_double(doubles(immediate_double(left)?, immediate_double(right)?))
}

/// The value of an immediate number as a double.
#[inline(always)]
fn immediate_double(word: Word) -> Option<f64> {
    if word.is_double() {
        Some(word.double_unchecked())
    } else {
        word.as_small_integer().map(|value| value as f64)
    }
}

/// An operation on numbers in general.
#[inline(never)]
fn compute(
    thread: &mut Thread,
    window: Window,
    general: fn(&Number, &Number) -> Computed,
) -> Outcome {
    answer(
        operands(window).and_then(|(left, right)| conclude(thread, window, general(&left, &right))),
    )
}

/// An operation on integers that takes more than a few passes over their digits.
#[derive(Clone, Copy)]
enum Long {
    Product,
    Quotient,
    Remainder,
    Modulo,
}

/// An operation on numbers in general; if the operands are large, in pieces.
#[inline(never)]
fn compute_long(
    thread: &mut Thread,
    window: Window,
    general: fn(&Number, &Number) -> Computed,
    operation: Long,
) -> Outcome {
    match operands(window) {
        Ok((Number::Large(left), Number::Large(right))) if !integers::are_small(&left, &right) => {
            let is_product = matches!(operation, Long::Product);
            if is_product && left.bits() + right.bits() > arithmetic::MAX_INTEGER_BITS + 1 {
                return Failure::out_of_memory().into();
            }
            let size = (left.bits() + right.bits()) as usize;
            let work = async move {
                match operation {
                    Long::Product => integers::product(&left, &right).await,
                    Long::Quotient => integers::divided(&left, &right).await.0,
                    Long::Remainder => integers::divided(&left, &right).await.1,
                    Long::Modulo => integers::modulo(&left, &right).await,
                }
            };
            work::compute(thread, size, work, make_bounded)
        }
        operands => {
            let computed = operands.and_then(|(left, right)| {
                thread.charge_bytes(16 * (left.bytes() + right.bytes()));
                conclude(thread, window, general(&left, &right))
            });
            answer(computed)
        }
    }
}

/// The word for an integer, if it is not too large. *GC point.*
fn make_bounded(thread: &mut Thread, integer: BigInt) -> Result<Word, Failure> {
    match arithmetic::bounded(integer) {
        Ok(number) => make_number(thread, &number),
        Err(_) => Err(Failure::out_of_memory()),
    }
}

/// *GC point.*
fn as_string(thread: &mut Thread, window: Window) -> Outcome {
    match operand(window, 0) {
        Ok(Number::Large(integer)) if integer.bits() > LONG_INTEGER => {
            let size = integer.bits() as usize;
            let work = integers::text(integer);
            work::compute(thread, size, work, |thread, text| make_string(thread, &text))
        }
        Ok(number) => answer(make_string(thread, &decimal::format_number(&number))),
        Err(failure) => failure.into(),
    }
}

/// Integers of more bits than this are converted in pieces.
const LONG_INTEGER: u64 = 1 << 14;

/// *GC point.*
fn from_string(thread: &mut Thread, window: Window) -> Outcome {
    let text = match text_argument(window.get(0)) {
        Ok(text) => text,
        Err(failure) => return failure.into(),
    };
    // A digit has some three bits.
    if (text.len() as u64) < LONG_INTEGER / 4 {
        return answer(conclude(thread, window, decimal::parse_integer(&text)));
    }
    thread.charge_bytes(text.len());
    match decimal::check_integer(&text) {
        Ok(()) => {
            let (size, work) = (text.len(), async move { integers::number(&text).await });
            work::compute(thread, size, work, make_bounded)
        }
        Err(fault) => failure(window, fault).into(),
    }
}

/// An operation on two small integers, if it has a small result.
#[inline(always)]
fn small_integers(
    left: Word,
    right: Word,
    small: impl FnOnce(i64, i64) -> Option<i64>,
) -> Option<Word> {
    if !left.both_small_integers(right) {
        return None;
    }
    small(left.small_integer_unchecked(), right.small_integer_unchecked())
        .and_then(Word::from_small_integer)
}

fn shift_left(value: i64, count: i64) -> Option<i64> {
    let count = u32::try_from(count).ok()?;
    let shifted = value.checked_shl(count)?;
    (shifted >> count == value).then_some(shifted)
}

fn shift_right(value: i64, count: i64) -> Option<i64> {
    let shifted = (value as u64).checked_shr(u32::try_from(count).ok()?)?;
    i64::try_from(shifted).ok()
}

fn divide(thread: &mut Thread, window: Window) -> Result<Word, Failure> {
    if let (Some(left), Some(right)) =
        (immediate_double(window.get(0)), immediate_double(window.get(1)))
    {
        return make_double(thread, left / right);
    }
    let (left, right) = operands(window)?;
    make_double(thread, arithmetic::divide(&left, &right))
}

/// Whether the operands are equal, or whether they differ, as the primitive asks; none if an integer is long, or
/// the first word is no number.
#[inline(always)]
fn short_equality(left: Word, right: Word, expected: bool) -> Option<Word> {
    let equal = if left.both_small_integers(right) {
        left == right
    } else if left.is_double() && right.is_double() {
        left.double_unchecked() == right.double_unchecked()
    } else {
        return other_short_equality(left, right, expected);
    };
    Some(Word::from_bool(equal == expected))
}

/// The same for words of different kinds; only numbers equal numbers.
#[inline(never)]
fn other_short_equality(left: Word, right: Word, expected: bool) -> Option<Word> {
    let left = short_number(left)?;
    let equal = match short_number(right) {
        Some(right) => arithmetic::compare(&left, &right) == Some(Ordering::Equal),
        None if is_long(right) => return None,
        None => false,
    };
    Some(Word::from_bool(equal == expected))
}

/// Whether a word is an integer that takes longer than a call to read: leaves do not count their work.
fn is_long(word: Word) -> bool {
    const LONG: usize = 512;
    known::layout_of(word) == known::LARGE_INTEGER && word.object().length() > LONG
}

/// The number in a word, unless it is a long integer.
fn short_number(word: Word) -> Option<Number> {
    if is_long(word) { None } else { Number::of(word) }
}

/// The same for all numbers.
fn equality(window: Window, expected: bool) -> Result<Word, Failure> {
    let left = operand(window, 0)?;
    let right = Number::of(window.get(1));
    let equal =
        right.is_some_and(|right| arithmetic::compare(&left, &right) == Some(Ordering::Equal));
    Ok(Word::from_bool(equal == expected))
}

/// A comparison; none unless both words are numbers, and no long integers.
#[inline(always)]
fn short_comparison(
    left: Word,
    right: Word,
    integers: impl FnOnce(i64, i64) -> bool,
    doubles: impl FnOnce(f64, f64) -> bool,
    general: fn(Ordering) -> bool,
) -> Option<Word> {
    let result = if left.both_small_integers(right) {
        integers(left.small_integer_unchecked(), right.small_integer_unchecked())
    } else if left.is_double() && right.is_double() {
        doubles(left.double_unchecked(), right.double_unchecked())
    } else {
        let (left, right) = (short_number(left)?, short_number(right)?);
        arithmetic::compare(&left, &right).is_some_and(general)
    };
    Some(Word::from_bool(result))
}

/// A comparison of any numbers.
fn comparison(window: Window, holds: fn(Ordering) -> bool) -> Result<Word, Failure> {
    let (left, right) = operands(window)?;
    Ok(Word::from_bool(arithmetic::compare(&left, &right).is_some_and(holds)))
}

/// A function from doubles to doubles.
fn function(thread: &mut Thread, window: Window, function: fn(f64) -> f64) -> Outcome {
    answer(operand(window, 0).and_then(|number| make_double(thread, function(number.to_double()))))
}

fn hash(thread: &mut Thread, window: Window) -> Outcome {
    if window.get(0).is_small_integer() {
        return Outcome::Return(window.get(0));
    }
    answer(operand(window, 0).and_then(|number| make_number(thread, &arithmetic::hash(&number))))
}

/// The same for all hash codes that programs answer. *No GC point.*
fn spread_any(_: &mut Thread, window: Window) -> Outcome {
    answer(Number::of(window.get(0)).ok_or(Failure::argument(window.get(0))).map(
        |hash| match hash {
            Number::Small(hash) => spread(hash),
            Number::Large(hash) => spread(hashing::of_bytes(&hash.to_signed_bytes_le()) as i64),
            Number::Double(hash) => spread(hash.to_bits() as i64),
        },
    ))
}

/// A number of 32 bits that cannot be foreseen.
fn spread(hash: i64) -> Word {
    let spread = hashing::of_number(hash as u64) as u32;
    Word::from_small_integer_unchecked(i64::from(spread))
}

fn low_32_bits(thread: &mut Thread, window: Window, read: fn(u32) -> i64) -> Outcome {
    if let Some(value) = window.get(0).as_small_integer() {
        return Outcome::Return(Word::from_small_integer_unchecked(read(value as u32)));
    }
    answer(operand(window, 0).and_then(|number| {
        let low = arithmetic::low_32_bits(&number).map_err(|fault| failure(window, fault))?;
        make_integer(thread, read(low))
    }))
}

/// The result of a conversion from an immediate double, if it is a small integer.
fn small_result(double: Word, convert: fn(f64) -> Option<Number>) -> Option<Word> {
    let value = double.is_double().then(|| double.double_unchecked())?;
    match convert(value)? {
        Number::Small(value) => Word::from_small_integer(value),
        _ => None,
    }
}

/// A conversion from doubles to integers.
fn to_integer(thread: &mut Thread, window: Window, convert: fn(f64) -> Option<Number>) -> Outcome {
    let integer = match operand(window, 0) {
        Ok(Number::Double(value)) if value.is_nan() => Some(Number::Small(0)),
        Ok(Number::Double(value)) => convert(value),
        _ => None,
    };
    answer(match integer {
        Some(integer) => make_number(thread, &integer),
        None => Err(Failure::argument(window.get(0))),
    })
}
