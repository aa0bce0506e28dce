//! Calls without libffi, for functions whose arguments and result all travel in registers. `call` and `call/light` call
//! functions in this way where they can.
//!
//! On x86-64 (System V) and AArch64, integers and addresses are numbered apart from floating-point numbers: the third
//! integer is in the third integer register, independently of the numbers between. A callee reads the registers that it
//! expects, and no others. So *one* type of function pointer, six words and eight floating-point numbers, can call
//! every function that takes at most as many of each, in any order, with any widths:
//!
//! - An integer is extended to 64 bits, which satisfies callees that expect it extended to 32.
//! - A `float` is in the lower half of its register.
//! - Of a result, the bits above its width are anything; [`Primitive::decode`](crate::Primitive) drops them.
//!
//! Loading registers that the callee does not read costs half a nanosecond, so there are smaller types for functions of
//! integers only. Variadic functions are not called in this way.

use std::mem::transmute;
use std::ptr;

use super::form::Form;

/// The words for integer registers; the words for floating-point registers follow.
pub(super) const INTEGERS: usize = 6;

/// The words of all registers.
pub(super) const ALL: usize = INTEGERS + 8;

/// Whether the platform's functions can be called in this way.
const IS_SUPPORTED: bool = cfg!(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64",
    not(windows)
));

/// The registers that a call loads, and the register of its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    /// The number of integers, if there are no other arguments.
    integers: Option<u8>,
    is_result_floating: bool,
}

impl Shape {
    /// The shape of a function, and the word of each argument; `None` if the function needs more than registers.
    pub(super) fn of(result: Form, arguments: &[Form]) -> Option<(Shape, Vec<usize>)> {
        let (mut integers, mut floats) = (0, INTEGERS);
        let mut place = |form: &Form| {
            let next = if form.primitive()?.is_floating() { &mut floats } else { &mut integers };
            *next += 1;
            Some(*next - 1)
        };
        let places: Option<Vec<usize>> = arguments.iter().map(&mut place).collect();
        let has_room = IS_SUPPORTED && integers <= INTEGERS && floats <= ALL;
        let is_word = !matches!(result, Form::Record(_));
        let shape = Shape {
            integers: (floats == INTEGERS).then_some(integers as u8),
            is_result_floating: result.primitive().is_some_and(|result| result.is_floating()),
        };
        places.filter(|_| has_room && is_word).map(|places| (shape, places))
    }

    /// The number of integers, if all arguments are integers.
    pub(super) fn integers_only(self) -> Option<usize> {
        self.integers.map(usize::from)
    }

    /// Whether [`call`] reads words that are no arguments.
    #[inline]
    pub(super) fn has_gaps(self) -> bool {
        self.integers.is_none()
    }

    /// The words that [`call`] reads.
    #[inline]
    pub(super) fn words(self) -> usize {
        self.integers.map_or(ALL, usize::from)
    }
}

/// Calls a function, and answers the register with its result.
///
/// # Safety
/// The address is that of a function with this shape, and the words may be passed to it. There are as many words as the
/// shape has.
#[inline]
pub(super) unsafe fn call(address: usize, shape: Shape, words: *const u64) -> u64 {
    // SAFETY: the caller's. A result is read from the register that the shape says.
    unsafe {
        match shape.is_result_floating {
            false => load_and_jump::<u64>(address, shape.integers, words),
            true => load_and_jump::<f64>(address, shape.integers, words).to_bits(),
        }
    }
}

type With0<R> = unsafe extern "C" fn() -> R;
type With1<R> = unsafe extern "C" fn(u64) -> R;
type With2<R> = unsafe extern "C" fn(u64, u64) -> R;
type With3<R> = unsafe extern "C" fn(u64, u64, u64) -> R;
type With4<R> = unsafe extern "C" fn(u64, u64, u64, u64) -> R;
type With5<R> = unsafe extern "C" fn(u64, u64, u64, u64, u64) -> R;
type With6<R> = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64) -> R;
#[rustfmt::skip]
type WithAll<R> = unsafe extern "C" fn(
    u64, u64, u64, u64, u64, u64, f64, f64, f64, f64, f64, f64, f64, f64,
) -> R;

/// # Safety
/// As for [`call`], and the result is in the register for `R`.
#[inline(always)]
unsafe fn load_and_jump<R: Copy>(address: usize, integers: Option<u8>, words: *const u64) -> R {
    let function = ptr::with_exposed_provenance::<()>(address);
    // SAFETY: the caller's; the head of the file says why the callee accepts the type.
    unsafe {
        let w = |index: usize| words.add(index).read();
        let f = |index: usize| f64::from_bits(w(INTEGERS + index));
        match integers {
            Some(0) => transmute::<*const (), With0<R>>(function)(),
            Some(1) => transmute::<*const (), With1<R>>(function)(w(0)),
            Some(2) => transmute::<*const (), With2<R>>(function)(w(0), w(1)),
            Some(3) => transmute::<*const (), With3<R>>(function)(w(0), w(1), w(2)),
            Some(4) => transmute::<*const (), With4<R>>(function)(w(0), w(1), w(2), w(3)),
            Some(5) => transmute::<*const (), With5<R>>(function)(w(0), w(1), w(2), w(3), w(4)),
            Some(_) => {
                transmute::<*const (), With6<R>>(function)(w(0), w(1), w(2), w(3), w(4), w(5))
            }
            #[rustfmt::skip]
            None => transmute::<*const (), WithAll<R>>(function)(
                w(0), w(1), w(2), w(3), w(4), w(5), f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7),
            ),
        }
    }
}

/// Calls a function of `N` integers, at most six, whose result is in the register for `R`.
///
/// # Safety
/// The address is that of such a function, and the words may be passed to it.
#[inline(always)]
pub(super) unsafe fn call_with<R: Copy, const N: usize>(address: usize, words: [u64; N]) -> R {
    // SAFETY: the caller's. `N` is a compile-time constant, and so is the branch that is taken.
    unsafe { load_and_jump::<R>(address, Some(N as u8), words.as_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Primitive;

    #[test]
    fn registers_are_numbered_by_kind() {
        let (int, float, double) =
            (Form::Word(Primitive::I32), Form::Word(Primitive::F32), Form::Word(Primitive::F64));
        let of = |result, arguments: &[Form]| {
            Shape::of(result, arguments).map(|(shape, places)| (shape.words(), places))
        };
        if IS_SUPPORTED {
            assert_eq!(of(Form::Void, &[]), Some((0, vec![])));
            assert_eq!(of(double, &[int, Form::Text, int]), Some((3, vec![0, 1, 2])));
            assert_eq!(of(int, &[double, int, float, int]), Some((ALL, vec![6, 0, 7, 1])));
            assert_eq!(of(int, &[int; 6]).map(|(words, _)| words), Some(6));
            assert_eq!(of(int, &[double; 8]).map(|(words, _)| words), Some(ALL));
        }
        assert_eq!(of(int, &[int; 7]), None);
        assert_eq!(of(int, &[double; 9]), None);
        assert_eq!(of(int, &[Form::Record(4)]), None);
        assert_eq!(of(Form::Record(4), &[int]), None);
    }
}
