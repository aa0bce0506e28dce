//! Light calls: calls of functions that take integers and addresses only, as most functions do. The runtime's callouts
//! use them where they can.
//!
//! They need no [`CallSpace`](super::CallSpace): all arguments are words, and none points to a copy or to memory that
//! may be released meanwhile. So a call is checked, made and read in a few nanoseconds, without storing its words in
//! memory twice. All other calls are [prepared](Function::prepare).

use super::form::Form;
use super::plan::Route;
use super::{Function, registers};
use crate::address::Address;
use crate::errno::Errno;
use crate::library::Library;
use crate::types::Primitive;
use crate::value::Value;

/// A light call whose arguments are being put in place, then made.
pub struct LightCall<'s, const N: usize> {
    function: &'s Function,
    narrow: Option<Narrow>,
    words: [u64; N],
}

/// A light call that has returned.
#[derive(Clone, Copy)]
pub struct LightResult {
    form: Form,
    word: u64,
    errno: i32,
}

/// A light call whose result is *narrow*: nothing, a `_Bool`, or an integer of at most 32 bits. A word of the guest holds it,
/// whatever C answers.
pub struct NarrowCall<const N: usize> {
    address: Address,
    form: Narrow,
    words: [u64; N],
}

/// A narrow call that has returned.
#[derive(Clone, Copy)]
pub struct NarrowResult {
    form: Narrow,
    word: u64,
    errno: i32,
}

/// How the calls of a function are light.
#[derive(Clone, Copy)]
pub(super) struct Light {
    arguments: usize,
    narrow: Option<Narrow>,
}

/// The form of a narrow result. The numbers are those of the bits of a word that are not the result's.
#[derive(Clone, Copy)]
enum Narrow {
    Nothing,
    Boolean,
    Signed(u32),
    Unsigned(u32),
}

impl Function {
    /// Begins a light call; its caller then puts all arguments in place. `None` if the function does not take `N`
    /// arguments, if they are not all integers and addresses, or if its library was closed.
    #[inline]
    pub fn light<const N: usize>(&self) -> Option<LightCall<'_, N>> {
        let light = self.light.filter(|light| light.arguments == N)?;
        let is_closed = self.library.as_ref().is_some_and(Library::is_closed);
        (!is_closed).then_some(LightCall { function: self, narrow: light.narrow, words: [0; N] })
    }
}

impl Light {
    /// `None` if calls of the function cannot be light.
    pub(super) fn of(route: &Route, result: Form) -> Option<Light> {
        match (route, result) {
            (_, Form::Record(_)) | (Route::Interface { .. }, _) => None,
            (Route::Registers(shape), _) => {
                Some(Light { arguments: shape.integers_only()?, narrow: Narrow::of(result) })
            }
        }
    }
}

impl Narrow {
    fn of(form: Form) -> Option<Narrow> {
        let primitive = match form {
            Form::Void => return Some(Narrow::Nothing),
            Form::Word(Primitive::Bool) => return Some(Narrow::Boolean),
            Form::Word(primitive) if !primitive.is_floating() && primitive.size() <= 4 => primitive,
            _ => return None,
        };
        let others = u64::BITS - 8 * primitive.size() as u32;
        let is_signed = primitive.range().0 < 0;
        Some(if is_signed { Narrow::Signed(others) } else { Narrow::Unsigned(others) })
    }
}

impl<'s, const N: usize> LightCall<'s, N> {
    /// Puts an integer in its place; false if it does not fit there.
    #[inline]
    pub fn put_integer(&mut self, index: usize, integer: i64) -> bool {
        let Some(slot) = self.function.plan.slots.get(index) else { return false };
        self.words[index] = integer as u64;
        slot.integers.contains(&integer)
    }

    /// Puts an address in its place; false if it does not fit there. Its memory is not released during the call.
    #[inline]
    pub fn put_address(&mut self, index: usize, address: Address) -> bool {
        let Some(slot) = self.function.plan.slots.get(index) else { return false };
        self.words[index] = address.0 as u64;
        matches!(slot.form, Form::Text | Form::Word(Primitive::Pointer))
    }

    /// The same call as a narrow one, if it is.
    #[inline]
    pub fn narrow(self) -> Result<NarrowCall<N>, LightCall<'s, N>> {
        match self.narrow {
            Some(form) => {
                Ok(NarrowCall { address: self.function.address, form, words: self.words })
            }
            None => Err(self),
        }
    }

    /// Calls the function, and waits until it returns.
    ///
    /// # Safety
    /// As for [`PreparedCall::invoke`](super::PreparedCall::invoke); and all arguments are in place.
    #[inline]
    pub unsafe fn invoke(self) -> LightResult {
        let Function { address, plan, .. } = self.function;
        let form = plan.result;
        let errno = Errno::of_this_thread();
        errno.set(0);
        // SAFETY: the caller's, and `count` has found the function to be one of `N` integers.
        let word = unsafe {
            match form {
                Form::Word(primitive) if primitive.is_floating() => {
                    registers::call_with::<f64, N>(address.0, self.words).to_bits()
                }
                _ => registers::call_with::<u64, N>(address.0, self.words),
            }
        };
        LightResult { form, word, errno: errno.get() }
    }
}

impl LightResult {
    /// The function's result.
    #[inline]
    pub fn value(&self) -> Value<'static> {
        match self.form {
            Form::Word(primitive) => primitive.decode(self.word),
            Form::Text => Primitive::Pointer.decode(self.word),
            Form::Void | Form::Record(_) => Value::Void,
        }
    }

    /// `errno` as the function left it; 0 if it set none.
    #[inline]
    pub fn errno(&self) -> i32 {
        self.errno
    }
}

impl<const N: usize> NarrowCall<N> {
    /// Calls the function, and waits until it returns.
    ///
    /// # Safety
    /// As for [`LightCall::invoke`].
    #[inline]
    pub unsafe fn invoke(self) -> NarrowResult {
        let errno = Errno::of_this_thread();
        errno.set(0);
        // SAFETY: the caller's; a narrow result is in the register for integers.
        let word = unsafe { registers::call_with::<u64, N>(self.address.0, self.words) };
        NarrowResult { form: self.form, word, errno: errno.get() }
    }
}

impl NarrowResult {
    /// The function's result: an integer, a boolean or nothing.
    #[inline]
    pub fn value(&self) -> Value<'static> {
        match self.form {
            Narrow::Nothing => Value::Void,
            Narrow::Boolean => Primitive::Bool.decode(self.word),
            Narrow::Signed(others) => Value::Integer((self.word << others) as i64 >> others),
            Narrow::Unsigned(others) => Value::Integer((self.word << others >> others) as i64),
        }
    }

    /// `errno` as the function left it; 0 if it set none.
    #[inline]
    pub fn errno(&self) -> i32 {
        self.errno
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Declarations;

    extern "C" fn weigh(a: i32, b: *const u8, c: u8) -> i32 {
        a + (b.addr() as i32) * 10 + i32::from(c) * 100
    }

    extern "C" fn half(a: i32) -> f64 {
        f64::from(a) / 2.0
    }

    fn function(declaration: &str, address: *const ()) -> Function {
        let (name, signature) =
            Declarations::new().parse_function(declaration).expect("well-formed");
        Function::new(&name, Address(address.expose_provenance()), &signature, None)
            .expect("callable")
    }

    #[test]
    fn integers_and_addresses_are_light() {
        let weigh = function("int weigh(int, const char *, unsigned char)", weigh as *const ());
        let mut call = weigh.light::<3>().expect("a light one");
        assert!(call.put_integer(0, -5));
        assert!(call.put_address(1, Address(2)));
        assert!(call.put_integer(2, 3));
        // SAFETY: it is a function with this signature, and does nothing with the address.
        let result = unsafe { call.invoke() };
        assert_eq!((result.value(), result.errno()), (Value::Integer(315), 0));
        let half = function("double half(int)", half as *const ());
        let mut call = half.light::<1>().expect("a light one");
        assert!(call.put_integer(0, 5));
        // SAFETY: as above.
        assert_eq!(unsafe { call.invoke() }.value(), Value::Double(2.5));
    }

    #[test]
    fn what_does_not_fit_is_not_put() {
        let weigh = function("int weigh(int, const char *, unsigned char)", weigh as *const ());
        assert!(weigh.light::<2>().is_none());
        let mut call = weigh.light::<3>().expect("a light one");
        assert!(!call.put_integer(0, 1 << 31));
        assert!(!call.put_integer(1, 0));
        assert!(!call.put_integer(2, -1));
        assert!(!call.put_address(2, Address(0)));
    }

    #[test]
    fn floating_point_numbers_and_surplus_arguments_are_heavy() {
        assert!(function("double cos(double)", half as *const ()).light::<1>().is_none());
        assert!(
            function("int printf(const char *, ...)", half as *const ()).light::<1>().is_none()
        );
    }
}
