//! Numbers: the primitives for arithmetic, comparison, bits and text, for `lib/Kernel.ns`.
//!
//! Each operation tries immediate operands first, since inline caches call these functions on hot
//! paths; everything else goes through [`arithmetic`].

use std::cmp::Ordering;

use squall_heap::Word;

use super::arithmetic::{self, Computed, Fault};
use super::{answer, decimal};
use crate::model::outcome::{Failure, FailureReason, Outcome};
use crate::model::primitive::Primitive;
use crate::objects::number::{Number, make_double, make_integer, make_number};
use crate::objects::string::{make_string, text_argument};
use crate::state::thread::{Thread, Window};

/// The primitives of this file.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive::ordinary("number:add:", |thread, window| {
        compute(thread, window, i64::checked_add, |left, right| left + right, arithmetic::add)
    }),
    Primitive::ordinary("number:subtract:", |thread, window| {
        compute(thread, window, i64::checked_sub, |left, right| left - right, arithmetic::subtract)
    }),
    Primitive::ordinary("number:multiply:", |thread, window| {
        compute(thread, window, i64::checked_mul, |left, right| left * right, arithmetic::multiply)
    }),
    Primitive::ordinary("number:modulo:", |thread, window| {
        let integers = |left, right| (right != 0).then(|| arithmetic::modulo_integers(left, right));
        compute(thread, window, integers, arithmetic::modulo_doubles, arithmetic::modulo)
    }),
    Primitive::ordinary("number:dividedBy:", divide),
    Primitive::ordinary("number:raisedTo:", |thread, window| {
        answer(operands(window).and_then(|(left, right)| {
            make_double(thread, left.to_double().powf(right.to_double()))
        }))
    }),
    Primitive::ordinary("number:equals:", |_, window| equality(window, true)),
    Primitive::ordinary("number:differs:", |_, window| equality(window, false)),
    Primitive::ordinary("number:lessThan:", |_, window| {
        comparison(window, |left, right| left < right, |left, right| left < right, Ordering::is_lt)
    }),
    Primitive::ordinary("number:greaterThan:", |_, window| {
        comparison(window, |left, right| left > right, |left, right| left > right, Ordering::is_gt)
    }),
    Primitive::ordinary("number:atMost:", |_, window| {
        comparison(
            window,
            |left, right| left <= right,
            |left, right| left <= right,
            Ordering::is_le,
        )
    }),
    Primitive::ordinary("number:atLeast:", |_, window| {
        comparison(
            window,
            |left, right| left >= right,
            |left, right| left >= right,
            Ordering::is_ge,
        )
    }),
    Primitive::ordinary("numberSquareRoot:", |thread, window| function(thread, window, f64::sqrt)),
    Primitive::ordinary("numberSine:", |thread, window| function(thread, window, f64::sin)),
    Primitive::ordinary("numberCosine:", |thread, window| function(thread, window, f64::cos)),
    Primitive::ordinary("numberExponential:", |thread, window| function(thread, window, f64::exp)),
    Primitive::ordinary("numberLogarithm:", |thread, window| function(thread, window, f64::ln)),
    Primitive::ordinary("numberAsString:", |thread, window| {
        answer(
            operand(window, 0)
                .and_then(|number| make_string(thread, &decimal::format_number(&number))),
        )
    }),
    Primitive::ordinary("numberHash:", hash),
    Primitive::ordinary("integer:quotient:", |thread, window| {
        integers(thread, window, i64::checked_div, arithmetic::quotient)
    }),
    Primitive::ordinary("integer:remainder:", |thread, window| {
        integers(thread, window, i64::checked_rem, arithmetic::remainder)
    }),
    Primitive::ordinary("integer:and:", |thread, window| {
        integers(thread, window, |left, right| Some(left & right), arithmetic::and)
    }),
    Primitive::ordinary("integer:or:", |thread, window| {
        integers(thread, window, |left, right| Some(left | right), arithmetic::or)
    }),
    Primitive::ordinary("integer:xor:", |thread, window| {
        integers(thread, window, |left, right| Some(left ^ right), arithmetic::xor)
    }),
    Primitive::ordinary("integer:shiftedLeft:", |thread, window| {
        integers(thread, window, shift_left, arithmetic::shift_left)
    }),
    Primitive::ordinary("integer:shiftedRight:", |thread, window| {
        integers(thread, window, shift_right, arithmetic::shift_right)
    }),
    Primitive::ordinary("integerSigned32:", |thread, window| {
        low_32_bits(thread, window, |low| i64::from(low as i32))
    }),
    Primitive::ordinary("integerUnsigned32:", |thread, window| {
        low_32_bits(thread, window, i64::from)
    }),
    Primitive::ordinary("integerFromString:", |thread, window| {
        answer(
            text_argument(window.get(0))
                .and_then(|text| conclude(thread, window, decimal::parse_integer(&text))),
        )
    }),
    Primitive::ordinary("doubleFromString:", |thread, window| {
        answer(text_argument(window.get(0)).and_then(|text| {
            let value = decimal::parse_double(&text).ok_or(Failure::argument(window.get(0)))?;
            make_double(thread, value)
        }))
    }),
    Primitive::ordinary("doubleRounded:", |thread, window| {
        to_integer(thread, window, arithmetic::rounded)
    }),
    Primitive::ordinary("doubleTruncated:", |thread, window| {
        to_integer(thread, window, arithmetic::truncated)
    }),
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

/// An operation on numbers: first on two immediate ones, then in general.
#[inline(always)]
fn compute(
    thread: &mut Thread,
    window: Window,
    integers: impl FnOnce(i64, i64) -> Option<i64>,
    doubles: impl FnOnce(f64, f64) -> f64,
    general: fn(&Number, &Number) -> Computed,
) -> Outcome {
    let (left, right) = (window.get(0), window.get(1));
    let result = if left.both_small_integers(right) {
        integers(left.small_integer_unchecked(), right.small_integer_unchecked())
            .and_then(Word::from_small_integer)
    } else if let (Some(left), Some(right)) = (immediate_double(left), immediate_double(right)) {
        Word::from_double(doubles(left, right))
    } else {
        None
    };
    match result {
        Some(word) => Outcome::Return(word),
        None => compute_slowly(thread, window, general),
    }
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

#[inline(never)]
fn compute_slowly(
    thread: &mut Thread,
    window: Window,
    general: fn(&Number, &Number) -> Computed,
) -> Outcome {
    answer(
        operands(window).and_then(|(left, right)| conclude(thread, window, general(&left, &right))),
    )
}

/// An operation on integers: first on two small ones, then in general.
#[inline(always)]
fn integers(
    thread: &mut Thread,
    window: Window,
    small: impl FnOnce(i64, i64) -> Option<i64>,
    general: fn(&Number, &Number) -> Computed,
) -> Outcome {
    let (left, right) = (window.get(0), window.get(1));
    if left.both_small_integers(right) {
        let result = small(left.small_integer_unchecked(), right.small_integer_unchecked());
        if let Some(word) = result.and_then(Word::from_small_integer) {
            return Outcome::Return(word);
        }
    }
    compute_slowly(thread, window, general)
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

fn divide(thread: &mut Thread, window: Window) -> Outcome {
    let immediate = |index| immediate_double(window.get(index));
    if let (Some(left), Some(right)) = (immediate(0), immediate(1)) {
        return answer(make_double(thread, left / right));
    }
    answer(
        operands(window)
            .and_then(|(left, right)| make_double(thread, arithmetic::divide(&left, &right))),
    )
}

/// Whether the operands are equal, or whether they differ, as the primitive asks; only numbers equal numbers.
#[inline(always)]
fn equality(window: Window, expected: bool) -> Outcome {
    let (left, right) = (window.get(0), window.get(1));
    let equal = if left.both_small_integers(right) {
        left == right
    } else if left.is_double() && right.is_double() {
        left.double_unchecked() == right.double_unchecked()
    } else {
        match Number::of(left) {
            Some(left) => Number::of(right)
                .is_some_and(|right| arithmetic::compare(&left, &right) == Some(Ordering::Equal)),
            None => return Failure::argument(left).into(),
        }
    };
    Outcome::Return(Word::from_bool(equal == expected))
}

#[inline(always)]
fn comparison(
    window: Window,
    integers: impl FnOnce(i64, i64) -> bool,
    doubles: impl FnOnce(f64, f64) -> bool,
    general: fn(Ordering) -> bool,
) -> Outcome {
    let (left, right) = (window.get(0), window.get(1));
    let result =
        if left.both_small_integers(right) {
            integers(left.small_integer_unchecked(), right.small_integer_unchecked())
        } else if left.is_double() && right.is_double() {
            doubles(left.double_unchecked(), right.double_unchecked())
        } else {
            return answer(operands(window).map(|(left, right)| {
                arithmetic::compare(&left, &right).is_some_and(general).into()
            }));
        };
    Outcome::Return(Word::from_bool(result))
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

fn low_32_bits(thread: &mut Thread, window: Window, read: fn(u32) -> i64) -> Outcome {
    if let Some(value) = window.get(0).as_small_integer() {
        return Outcome::Return(Word::from_small_integer_unchecked(read(value as u32)));
    }
    answer(operand(window, 0).and_then(|number| {
        let low = arithmetic::low_32_bits(&number).map_err(|fault| failure(window, fault))?;
        make_integer(thread, read(low))
    }))
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
