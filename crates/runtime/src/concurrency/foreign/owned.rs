//! Values from C that own their data. Requests keep the arguments of a callback in them until a strand serves it, and recordings
//! have them as bytes.
//!
//! Invariant: no bytes make [`decode`] panic.

use squall_foreign::{Address, Value};

/// A value from C that owns its data.
pub enum Owned {
    Plain(Value<'static>),
    Record(Vec<u8>),
}

/// The kinds of values in bytes.
mod kind {
    pub const VOID: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INTEGER: u8 = 3;
    pub const UNSIGNED: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const POINTER: u8 = 6;
    pub const RECORD: u8 = 7;
}

impl Owned {
    pub fn of(value: Value<'_>) -> Owned {
        match value {
            Value::Record(bytes) => Owned::Record(bytes.to_owned()),
            Value::Bool(boolean) => Owned::Plain(Value::Bool(boolean)),
            Value::Integer(integer) => Owned::Plain(Value::Integer(integer)),
            Value::Unsigned(integer) => Owned::Plain(Value::Unsigned(integer)),
            Value::Double(double) => Owned::Plain(Value::Double(double)),
            Value::Pointer(address) => Owned::Plain(Value::Pointer(address)),
            // C gives none of these.
            Value::Void | Value::Memory(_) | Value::Text(_) => Owned::Plain(Value::Void),
        }
    }

    pub fn value(&self) -> Value<'_> {
        match self {
            Owned::Plain(value) => *value,
            Owned::Record(bytes) => Value::Record(bytes),
        }
    }

    /// Adds the bytes of the value.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let (kind, content) = match self.value() {
            Value::Bool(boolean) => (if boolean { kind::TRUE } else { kind::FALSE }, None),
            Value::Integer(integer) => (kind::INTEGER, Some(integer as u64)),
            Value::Unsigned(integer) => (kind::UNSIGNED, Some(integer)),
            Value::Double(double) => (kind::DOUBLE, Some(double.to_bits())),
            Value::Pointer(address) => (kind::POINTER, Some(address.0 as u64)),
            Value::Record(record) => (kind::RECORD, Some(record.len() as u64)),
            Value::Void | Value::Memory(_) | Value::Text(_) => (kind::VOID, None),
        };
        bytes.push(kind);
        bytes.extend(content.into_iter().flat_map(u64::to_le_bytes));
        if let Owned::Record(record) = self {
            bytes.extend(record);
        }
    }
}

/// The values that these bytes are; none if they are no values.
pub fn decode(mut bytes: &[u8]) -> Option<Vec<Owned>> {
    let mut values = Vec::new();
    while let Some((&kind, rest)) = bytes.split_first() {
        let (plain, rest) = match kind {
            kind::VOID => (Some(Value::Void), rest),
            kind::FALSE | kind::TRUE => (Some(Value::Bool(kind == kind::TRUE)), rest),
            _ => {
                let (content, rest) = rest.split_first_chunk()?;
                let content = u64::from_le_bytes(*content);
                match kind {
                    kind::INTEGER => (Some(Value::Integer(content as i64)), rest),
                    kind::UNSIGNED => (Some(Value::Unsigned(content)), rest),
                    kind::DOUBLE => (Some(Value::Double(f64::from_bits(content))), rest),
                    kind::POINTER => (Some(Value::Pointer(Address(content as usize))), rest),
                    kind::RECORD => {
                        let (record, rest) = rest.split_at_checked(content as usize)?;
                        values.push(Owned::Record(record.to_owned()));
                        (None, rest)
                    }
                    _ => return None,
                }
            }
        };
        values.extend(plain.map(Owned::Plain));
        bytes = rest;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_what_they_were() {
        let record = [1, 2, 3];
        let values = [
            Value::Void,
            Value::Bool(true),
            Value::Integer(-5),
            Value::Unsigned(u64::MAX),
            Value::Double(0.5),
            Value::Pointer(Address(4096)),
            Value::Record(&record),
            Value::Bool(false),
        ];
        let mut bytes = Vec::new();
        values.iter().for_each(|value| Owned::of(*value).encode(&mut bytes));
        let decoded = decode(&bytes).expect("they are values");
        let texts = |value: Value<'_>| format!("{value:?}");
        assert_eq!(
            decoded.iter().map(|value| texts(value.value())).collect::<Vec<_>>(),
            values.map(texts)
        );
        assert!(decode(&bytes[..bytes.len() - 2]).is_none() && decode(&[9]).is_none());
    }
}
