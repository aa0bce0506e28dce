//! Register types: each register of a function has one, declared once, for the whole function.
//!
//! An `any` register holds a tagged word, which the collector traces. The others hold raw bits,
//! which it never looks at. The verifier proves that no instruction mixes them up, so neither
//! kind carries a tag for the other's sake (Brown, "Rain: A New Concurrent Process-Oriented
//! Programming Language", CPA 2006, checked tags at run time instead).

use std::fmt;

/// The type of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum RegisterType {
    /// A tagged word: any object or immediate value.
    Any = 0,
    /// `0` or `1`.
    Bool = 1,
    /// Signed integers, sign-extended to the register's 64 bits.
    I8 = 2,
    /// See [`RegisterType::I8`].
    I16 = 3,
    /// See [`RegisterType::I8`].
    I32 = 4,
    /// See [`RegisterType::I8`].
    I64 = 5,
    /// Unsigned integers, zero-extended to the register's 64 bits.
    U8 = 6,
    /// See [`RegisterType::U8`].
    U16 = 7,
    /// See [`RegisterType::U8`].
    U32 = 8,
    /// See [`RegisterType::U8`].
    U64 = 9,
    /// IEEE 754 binary32, in the register's low half.
    F32 = 10,
    /// IEEE 754 binary64.
    F64 = 11,
}

impl RegisterType {
    /// Every register type, in the order of its code in the binary format.
    pub const ALL: [RegisterType; 12] = {
        use RegisterType::*;
        [Any, Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64]
    };

    /// The type with this code in the binary format.
    pub fn from_code(code: u8) -> Option<RegisterType> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name used in the text form.
    pub fn name(self) -> &'static str {
        const NAMES: [&str; 12] =
            ["any", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"];
        NAMES[self as usize]
    }

    /// The type with this name in the text form.
    pub fn from_name(name: &str) -> Option<RegisterType> {
        Self::ALL.into_iter().find(|candidate| candidate.name() == name)
    }

    /// Whether a register of this type holds a tagged word.
    pub fn is_tagged(self) -> bool {
        self == RegisterType::Any
    }

    /// Whether this is raw bits.
    pub fn is_scalar(self) -> bool {
        !self.is_tagged()
    }

    /// Whether this is one of the eight integer types.
    pub fn is_integer(self) -> bool {
        (RegisterType::I8..=RegisterType::U64).contains(&self)
    }

    /// Whether this is a signed integer type.
    pub fn is_signed(self) -> bool {
        (RegisterType::I8..=RegisterType::I64).contains(&self)
    }

    /// Whether this is `f32` or `f64`.
    pub fn is_float(self) -> bool {
        matches!(self, RegisterType::F32 | RegisterType::F64)
    }

    /// The width of an integer or float in bits; 64 for `any`, 1 for `bool`.
    pub fn bits(self) -> u32 {
        use RegisterType::*;
        match self {
            Bool => 1,
            I8 | U8 => 8,
            I16 | U16 => 16,
            I32 | U32 | F32 => 32,
            Any | I64 | U64 | F64 => 64,
        }
    }
}

impl fmt::Display for RegisterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an instruction's operand demands of its register's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeRule {
    /// Exactly `any`.
    Any,
    /// Exactly `bool`.
    Bool,
    /// One of the eight integer types.
    Integer,
    /// `bool` or an integer type.
    Bits,
    /// An integer or float type.
    Number,
    /// Any type but `any`.
    Scalar,
    /// Any type at all.
    Whatever,
    /// Exactly `i64`.
    I64,
    /// A channel.
    Channel,
    /// The end of a channel that reads.
    Reader,
    /// The end of a channel that writes.
    Writer,
    /// A channel, or its end that reads.
    Readable,
    /// A channel, or its end that writes.
    Writable,
    /// A channel, or one of its ends.
    Communicating,
    /// A barrier.
    Barrier,
    /// A bucket.
    Bucket,
    /// A process.
    Process,
    /// The same type as the instruction's first register operand.
    SameAsFirst,
    /// The same type as the instruction's second register operand.
    SameAsSecond,
}
