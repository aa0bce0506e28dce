//! Values on their way into C and back. The runtime converts guest objects to them.
//!
//! A [`Value`] is the guest's form of a value. C's form is a *word*: 64 bits that hold a [`Primitive`] like a register
//! does, an integer extended to all bits, a `float` in the lower half. On the way in, nothing is lost silently: an
//! integer must be in the range of its type. The only rounding is that of a `double` to the nearest `float`.

use crate::address::Address;
use crate::memory::{Access, MemoryError, NativeMemory};
use crate::types::{Mismatch, Primitive};

/// A value that is passed to C, or comes from it.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// The result of a function without result.
    Void,
    /// A `_Bool`. Integer parameters accept it, too.
    Bool(bool),
    /// An integer, or the code of a character.
    Integer(i64),
    /// An integer beyond those; smaller ones come from C as [`Value::Integer`].
    Unsigned(u64),
    /// A `double` or a `float`.
    Double(f64),
    /// An address. The memory there is not checked.
    Pointer(Address),
    /// Memory: its address where a pointer is needed, its bytes where a structure is. It stays allocated until the call
    /// returns, even if a thread releases it meanwhile.
    Memory(&'a NativeMemory),
    /// A string for a pointer to characters: C gets a copy that ends with NUL and lives until the call returns.
    Text(&'a [u8]),
    /// The bytes of a structure or union.
    Record(&'a [u8]),
}

impl Primitive {
    /// The least and the greatest integer that it can hold.
    #[inline]
    pub(crate) const fn range(self) -> (i64, u64) {
        match self {
            Primitive::Bool => (0, 1),
            Primitive::I8 => (i8::MIN as i64, i8::MAX as u64),
            Primitive::U8 => (0, u8::MAX as u64),
            Primitive::I16 => (i16::MIN as i64, i16::MAX as u64),
            Primitive::U16 => (0, u16::MAX as u64),
            Primitive::I32 => (i32::MIN as i64, i32::MAX as u64),
            Primitive::U32 => (0, u32::MAX as u64),
            Primitive::I64 => (i64::MIN, i64::MAX as u64),
            Primitive::U64 | Primitive::Pointer => (0, u64::MAX),
            // The range in which each integer is representable.
            Primitive::F32 => (-(1 << 24), 1 << 24),
            Primitive::F64 => (-(1 << 53), 1 << 53),
        }
    }

    /// The word for `value`.
    #[inline]
    pub(crate) fn encode(self, value: Value<'_>) -> Result<u64, Mismatch> {
        match (self, value) {
            (Primitive::F64, Value::Double(number)) => Ok(number.to_bits()),
            (Primitive::F32, Value::Double(number)) => encode_float(number),
            (Primitive::F32 | Primitive::F64, _) => self.encode_as_floating(value),
            (Primitive::Pointer, Value::Pointer(address)) => Ok(address.0 as u64),
            (Primitive::Pointer, _) => Err(Mismatch::Kind(value.kind())),
            (_, Value::Integer(integer)) => self.encode_integer(integer),
            (_, Value::Unsigned(integer)) if integer <= self.range().1 => Ok(integer),
            (_, Value::Unsigned(integer)) => Err(self.out_of_range(integer.into())),
            (_, Value::Bool(bool)) => Ok(bool.into()),
            _ => Err(Mismatch::Kind(value.kind())),
        }
    }

    #[inline]
    fn encode_integer(self, integer: i64) -> Result<u64, Mismatch> {
        let (least, greatest) = self.range();
        match integer >= least && (integer < 0 || integer as u64 <= greatest) {
            true => Ok(integer as u64),
            false => Err(self.out_of_range(integer.into())),
        }
    }

    #[cold]
    fn out_of_range(self, value: i128) -> Mismatch {
        let (least, greatest) = self.range();
        Mismatch::Range { value, least, greatest }
    }

    /// An integer as a floating-point number.
    #[cold]
    fn encode_as_floating(self, value: Value<'_>) -> Result<u64, Mismatch> {
        let integer: i128 = match value {
            Value::Integer(integer) => integer.into(),
            Value::Unsigned(integer) => integer.into(),
            _ => return Err(Mismatch::Kind(value.kind())),
        };
        let bits = match self {
            Primitive::F32 => u64::from((integer as f32).to_bits()),
            _ => (integer as f64).to_bits(),
        };
        let is_exact = match self {
            Primitive::F32 => integer as f32 as i128 == integer,
            _ => integer as f64 as i128 == integer,
        };
        if is_exact { Ok(bits) } else { Err(Mismatch::Inexact(integer)) }
    }

    /// The value of a word whose bits above the primitive's size may be anything.
    #[inline]
    pub(crate) fn decode(self, word: u64) -> Value<'static> {
        match self {
            Primitive::Bool => Value::Bool(word as u8 != 0),
            Primitive::I8 => Value::Integer((word as i8).into()),
            Primitive::U8 => Value::Integer((word as u8).into()),
            Primitive::I16 => Value::Integer((word as i16).into()),
            Primitive::U16 => Value::Integer((word as u16).into()),
            Primitive::I32 => Value::Integer((word as i32).into()),
            Primitive::U32 => Value::Integer((word as u32).into()),
            Primitive::I64 => Value::Integer(word as i64),
            Primitive::U64 => Value::unsigned(word),
            Primitive::F32 => Value::Double(f32::from_bits(word as u32).into()),
            Primitive::F64 => Value::Double(f64::from_bits(word)),
            Primitive::Pointer => Value::Pointer(Address(word as usize)),
        }
    }
}

impl NativeMemory {
    /// The value at an offset.
    pub fn read(&self, offset: usize, primitive: Primitive) -> Result<Value<'static>, MemoryError> {
        self.access()?.read(offset, primitive)
    }

    /// Sets the value at an offset.
    pub fn write(
        &self,
        offset: usize,
        primitive: Primitive,
        value: Value<'_>,
    ) -> Result<(), MemoryError> {
        self.access()?.write(offset, primitive, value)
    }
}

impl Access<'_> {
    /// The value at an offset.
    #[inline]
    pub fn read(&self, offset: usize, primitive: Primitive) -> Result<Value<'static>, MemoryError> {
        Ok(primitive.decode(self.load(offset, primitive)?))
    }

    /// Sets the value at an offset. Memory as a value is written as its address, which does not keep it alive.
    #[inline]
    pub fn write(
        &self,
        offset: usize,
        primitive: Primitive,
        value: Value<'_>,
    ) -> Result<(), MemoryError> {
        self.store(offset, primitive, || {
            let value = match value {
                Value::Memory(memory) => Value::Pointer(memory.address()?),
                _ => value,
            };
            primitive.encode(value).map_err(MemoryError::Value)
        })
    }
}

/// Rounds to a `float`. A finite number must stay finite.
fn encode_float(number: f64) -> Result<u64, Mismatch> {
    let rounded = number as f32;
    match rounded.is_infinite() && number.is_finite() {
        true => Err(Mismatch::Magnitude(number)),
        false => Ok(rounded.to_bits().into()),
    }
}

impl Value<'_> {
    /// An integer in its normal form.
    #[inline]
    pub fn unsigned(integer: u64) -> Value<'static> {
        i64::try_from(integer).map_or(Value::Unsigned(integer), Value::Integer)
    }

    /// The value's kind, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Void => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Unsigned(_) => "an integer",
            Value::Double(_) => "a floating-point number",
            Value::Pointer(_) => "an address",
            Value::Memory(_) => "native memory",
            Value::Text(_) => "a string",
            Value::Record(_) => "a structure",
        }
    }
}

impl PartialEq for Value<'_> {
    /// Memory is equal if it is the same part of the same block.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Void, Value::Void) => true,
            (Value::Bool(one), Value::Bool(other)) => one == other,
            (Value::Integer(one), Value::Integer(other)) => one == other,
            (Value::Unsigned(one), Value::Unsigned(other)) => one == other,
            (Value::Double(one), Value::Double(other)) => one == other,
            (Value::Pointer(one), Value::Pointer(other)) => one == other,
            (Value::Memory(one), Value::Memory(other)) => one.is_same(other),
            (Value::Text(one), Value::Text(other)) => one == other,
            (Value::Record(one), Value::Record(other)) => one == other,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_hold_what_fits() {
        let integers = [
            (Primitive::I8, -128, 127),
            (Primitive::U8, 0, 255),
            (Primitive::I16, -32768, 32767),
            (Primitive::U16, 0, 65535),
            (Primitive::I32, i32::MIN.into(), i32::MAX.into()),
            (Primitive::U32, 0, u32::MAX.into()),
            (Primitive::Bool, 0, 1),
        ];
        for (primitive, least, greatest) in integers {
            for value in [least, greatest] {
                let word = primitive.encode(Value::Integer(value)).expect("it fits");
                let back = primitive.decode(word | 0xabcd << (primitive.size() * 8));
                let expected = if primitive == Primitive::Bool {
                    Value::Bool(value == 1)
                } else {
                    Value::Integer(value)
                };
                assert_eq!(back, expected, "{primitive:?}");
            }
            for value in [least - 1, greatest + 1] {
                let error = primitive.encode(Value::Integer(value)).expect_err("it does not fit");
                assert_eq!(
                    error,
                    Mismatch::Range { value: value.into(), least, greatest: greatest as u64 }
                );
            }
        }
        assert_eq!(Primitive::U64.decode(u64::MAX), Value::Unsigned(u64::MAX));
        assert_eq!(Primitive::U64.encode(Value::Unsigned(u64::MAX)), Ok(u64::MAX));
        assert_eq!(Primitive::I64.encode(Value::Integer(-1)), Ok(u64::MAX));
        assert!(Primitive::I64.encode(Value::Unsigned(1 << 63)).is_err());
        assert!(Primitive::U64.encode(Value::Integer(-1)).is_err());
    }

    #[test]
    fn floating_point_numbers_take_what_they_can_represent() {
        assert_eq!(Primitive::F32.encode(Value::Double(1e39)), Err(Mismatch::Magnitude(1e39)));
        assert!(Primitive::F32.encode(Value::Double(f64::INFINITY)).is_ok());
        assert!(Primitive::F32.encode(Value::Double(f64::NAN)).is_ok());
        assert_eq!(
            Primitive::F32.decode(Primitive::F32.encode(Value::Double(0.1)).expect("rounded")),
            Value::Double(0.1_f32.into())
        );
        assert_eq!(Primitive::F64.encode(Value::Integer(3)), Ok(3_f64.to_bits()));
        let odd = (1 << 53) + 1;
        assert_eq!(Primitive::F64.encode(Value::Integer(odd)), Err(Mismatch::Inexact(odd.into())));
        assert_eq!(
            Primitive::F32.encode(Value::Integer((1 << 24) + 1)),
            Err(Mismatch::Inexact((1 << 24) + 1))
        );
        assert_eq!(Primitive::F64.encode(Value::Unsigned(1 << 63)), Ok(2_f64.powi(63).to_bits()));
    }

    #[test]
    fn kinds_are_not_mixed_up() {
        let null = Value::Pointer(Address::NULL);
        for (primitive, value) in [
            (Primitive::I32, Value::Double(1.0)),
            (Primitive::I32, null),
            (Primitive::Pointer, Value::Integer(0)),
            (Primitive::F64, null),
            (Primitive::F64, Value::Bool(true)),
            (Primitive::I32, Value::Text(b"1")),
            (Primitive::I32, Value::Void),
        ] {
            assert_eq!(primitive.encode(value), Err(Mismatch::Kind(value.kind())), "{primitive:?}");
        }
    }
}
