//! Types of programs, and values of them. The other files of `programs` make, evaluate and write them.

use std::cmp::Ordering;

/// The type of a register.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// An integer: whether it is signed, and its width in bits.
    Integer(bool, u32),
    /// `bool`
    Bool,
    /// `f32` or `f64`.
    Float(u32),
    /// `tuple`
    Tuple(Vec<Type>),
    /// `list`
    List(Box<Type>),
    /// `map`
    Map(Box<Type>, Box<Type>),
}

impl Type {
    /// The text form.
    pub fn text(&self) -> String {
        match self {
            Type::Integer(signed, width) => format!("{}{width}", if *signed { 'i' } else { 'u' }),
            Type::Bool => "bool".to_owned(),
            Type::Float(width) => format!("f{width}"),
            Type::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(Type::text).collect();
                format!("tuple<{}>", parts.join(", "))
            }
            Type::List(element) => format!("list<{}>", element.text()),
            Type::Map(key, value) => format!("map<{}, {}>", key.text(), value.text()),
        }
    }

    /// Whether this is an integer or a float.
    pub fn is_number(&self) -> bool {
        matches!(self, Type::Integer(..) | Type::Float(_))
    }

    /// Whether its values are raw bits.
    pub fn is_scalar(&self) -> bool {
        self.is_number() || *self == Type::Bool
    }

    /// Whether its values are totally ordered.
    pub fn is_ordered(&self) -> bool {
        match self {
            Type::Integer(..) | Type::Float(_) => true,
            Type::Bool | Type::Map(..) => false,
            Type::Tuple(parts) => parts.iter().all(Type::is_ordered),
            Type::List(element) => element.is_ordered(),
        }
    }

    /// The initial value of registers: zero, or an empty container.
    pub fn initial(&self) -> Value {
        match self {
            Type::Tuple(parts) => Value::Tuple(parts.iter().map(Type::initial).collect()),
            Type::List(_) => Value::List(Vec::new()),
            Type::Map(..) => Value::Map(Vec::new()),
            _ => Value::Bits(0),
        }
    }

    /// Compares values as containers do: floats by IEEE 754's totalOrder. Of `bool`s and maps, only whether they
    /// are equal counts.
    pub fn compare(&self, left: &Value, right: &Value) -> Ordering {
        match (self, left, right) {
            (Type::Float(width), Value::Bits(left), Value::Bits(right)) => {
                float(*width, *left).total_cmp(&float(*width, *right))
            }
            (Type::Integer(true, _), Value::Bits(left), Value::Bits(right)) => {
                (*left as i64).cmp(&(*right as i64))
            }
            (_, Value::Bits(left), Value::Bits(right)) => left.cmp(right),
            (Type::Tuple(types), Value::Tuple(left), Value::Tuple(right)) => {
                let parts = types.iter().zip(left.iter().zip(right));
                first_difference(parts.map(|(kind, (left, right))| kind.compare(left, right)))
            }
            (Type::List(element), Value::List(left), Value::List(right)) => {
                let parts = left.iter().zip(right);
                first_difference(parts.map(|(left, right)| element.compare(left, right)))
                    .then(left.len().cmp(&right.len()))
            }
            (Type::Map(key, value), Value::Map(left), Value::Map(right)) => {
                let parts = left.iter().zip(right).map(|(left, right)| {
                    key.compare(&left.0, &right.0).then_with(|| value.compare(&left.1, &right.1))
                });
                first_difference(parts).then(left.len().cmp(&right.len()))
            }
            _ => unreachable!("{left:?} and {right:?} are no values of {self:?}"),
        }
    }
}

fn first_difference(mut all: impl Iterator<Item = Ordering>) -> Ordering {
    all.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// A float's value, exactly.
pub fn float(width: u32, bits: u64) -> f64 {
    match width {
        32 => f64::from(f32::from_bits(bits as u32)),
        _ => f64::from_bits(bits),
    }
}

/// The bits of the nearest float.
pub fn float_bits(width: u32, value: f64) -> u64 {
    match width {
        _ if value.is_nan() => not_a_number(width),
        32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    }
}

/// The one NaN of programs: the NaN that an operation makes depends on the processor.
pub fn not_a_number(width: u32) -> u64 {
    if width == 32 { 0x7fc0_0000 } else { 0x7ff8_0000_0000_0000 }
}

/// Cuts an integer to its width and extends it again.
pub fn normalize(signed: bool, width: u32, bits: u64) -> u64 {
    let unused = 64 - width;
    match signed {
        true => ((bits << unused) as i64 >> unused) as u64,
        false => bits << unused >> unused,
    }
}

/// The value of a register.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// The bits of a number or `bool`.
    Bits(u64),
    /// A tuple.
    Tuple(Vec<Value>),
    /// A list.
    List(Vec<Value>),
    /// A map: keys, ascending, and values.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// The number of numbers in it, approximately.
    pub fn weight(&self) -> usize {
        match self {
            Value::Bits(_) => 1,
            Value::Tuple(parts) | Value::List(parts) => {
                1 + parts.iter().map(Value::weight).sum::<usize>()
            }
            Value::Map(pairs) => {
                1 + pairs.iter().map(|(key, value)| key.weight() + value.weight()).sum::<usize>()
            }
        }
    }
}
