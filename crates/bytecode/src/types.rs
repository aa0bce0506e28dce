//! Register types: each register of a function has one, declared once, for the whole function. All parts of this crate,
//! the linker and the runtime's typed code use them.
//!
//! An `any` register holds a tagged word, which the collector traces. The others hold raw bits,
//! which it never looks at. The verifier proves that no instruction mixes them up, so neither
//! kind carries a tag for the other's sake (Brown, "Rain: A New Concurrent Process-Oriented
//! Programming Language", CPA 2006, checked tags at run time instead).
//!
//! # Types that a module defines
//!
//! Tuples, lists, maps, channels and the like are rows of a module's *type table*. A row refers to
//! earlier rows only, so no type contains itself, every walk over types is a loop over the table,
//! and a type that is nested a thousand deep is a table of a thousand rows. The verifier lets no
//! two rows be equal: inside a module two types are the same if their indices are.
//!
//! | type | contents of a register |
//! |---|---|
//! | `tuple`, `list`, `map` | a value: no write to one register is seen through another |
//! | `channel`, `reader`, `writer`, `barrier`, `bucket` | a reference to a communication primitive |
//! | `function`, `process` | a function of some module |
//!
//! A register of a defined type holds a tagged word, as `any` does, and the collector traces it. The
//! address of a function is one too: it has the form of a small integer.

use std::fmt;

use crate::entities::TypeId;

/// The type of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum RegisterType {
    /// A tagged word: any object or immediate value.
    Any,
    /// `0` or `1`.
    Bool,
    /// Signed integers, sign-extended to the register's 64 bits.
    I8,
    /// See [`RegisterType::I8`].
    I16,
    /// See [`RegisterType::I8`].
    I32,
    /// See [`RegisterType::I8`].
    I64,
    /// Unsigned integers, zero-extended to the register's 64 bits.
    U8,
    /// See [`RegisterType::U8`].
    U16,
    /// See [`RegisterType::U8`].
    U32,
    /// See [`RegisterType::U8`].
    U64,
    /// IEEE 754 binary32, in the register's low half.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// A row of the module's type table.
    Defined(TypeId),
}

impl RegisterType {
    /// The types that need no definition, in the order of their codes in the binary format.
    pub const BASIC: [RegisterType; 12] = {
        use RegisterType::*;
        [Any, Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64]
    };

    /// The code in the binary format: that of a basic type, or the row of the table after them.
    pub fn code(self) -> u32 {
        match self {
            RegisterType::Defined(id) => Self::BASIC.len() as u32 + u32::from(id.0),
            basic => Self::BASIC.iter().position(|other| *other == basic).unwrap_or(0) as u32,
        }
    }

    /// The type with this code in the binary format.
    pub fn from_code(code: u32) -> Option<RegisterType> {
        let row = code.checked_sub(Self::BASIC.len() as u32);
        match row {
            None => Some(Self::BASIC[code as usize]),
            Some(row) => u16::try_from(row).ok().map(|row| RegisterType::Defined(TypeId(row))),
        }
    }

    /// The name of a basic type in the text form.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 12] =
            ["any", "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"];
        NAMES.get(self.code() as usize).copied()
    }

    /// The basic type with this name in the text form.
    pub fn from_name(name: &str) -> Option<RegisterType> {
        Self::BASIC.into_iter().find(|candidate| candidate.name() == Some(name))
    }

    /// The row of the type table, if it is one.
    pub fn defined(self) -> Option<TypeId> {
        match self {
            RegisterType::Defined(id) => Some(id),
            _ => None,
        }
    }

    /// Whether a register of this type holds a tagged word, which the collector traces.
    pub fn is_tagged(self) -> bool {
        matches!(self, RegisterType::Any | RegisterType::Defined(_))
    }

    /// Whether this is `bool`, an integer or a float: raw bits.
    pub fn is_scalar(self) -> bool {
        !self.is_tagged()
    }

    /// Whether this is an integer or a float.
    pub fn is_number(self) -> bool {
        self.is_integer() || self.is_float()
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

    /// The width of an integer or float in bits; 1 for `bool`, 64 for tagged words.
    pub fn bits(self) -> u32 {
        use RegisterType::*;
        match self {
            Bool => 1,
            I8 | U8 => 8,
            I16 | U16 => 16,
            I32 | U32 | F32 => 32,
            Any | I64 | U64 | F64 | Defined(_) => 64,
        }
    }
}

impl fmt::Display for RegisterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterType::Defined(id) => id.fmt(f),
            basic => f.write_str(basic.name().unwrap_or_default()),
        }
    }
}

/// A row of a module's type table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeDefinition {
    /// 1 to 255 values in an order.
    Tuple(Vec<RegisterType>),
    /// Values of one type, as many as one likes, counted from 0.
    List(RegisterType),
    /// Values of the second type, each at a key of the first, in the order of the keys.
    Map(RegisterType, RegisterType),
    /// A channel that carries values of this type.
    Channel(RegisterType),
    /// The end of such a channel that reads.
    Reader(RegisterType),
    /// The end of such a channel that writes.
    Writer(RegisterType),
    /// Where processes that are enrolled wait for each other.
    Barrier,
    /// A bucket, where processes wait until a process flushes it.
    Bucket,
    /// A function that takes these parameters.
    Function {
        /// The types of its parameters.
        parameters: Vec<RegisterType>,
        /// The type of its result.
        result: RegisterType,
    },
    /// A process that starts with these parameters.
    Process {
        /// The types of its parameters.
        parameters: Vec<RegisterType>,
    },
}

impl TypeDefinition {
    /// The words that start the definitions in the text form, in the order of their codes.
    pub const KEYWORDS: [&str; 10] = [
        "tuple", "list", "map", "channel", "reader", "writer", "barrier", "bucket", "function",
        "process",
    ];

    /// The code in the binary format, and the index of the keyword.
    pub fn code(&self) -> u8 {
        match self {
            TypeDefinition::Tuple(_) => 0,
            TypeDefinition::List(_) => 1,
            TypeDefinition::Map(..) => 2,
            TypeDefinition::Channel(_) => 3,
            TypeDefinition::Reader(_) => 4,
            TypeDefinition::Writer(_) => 5,
            TypeDefinition::Barrier => 6,
            TypeDefinition::Bucket => 7,
            TypeDefinition::Function { .. } => 8,
            TypeDefinition::Process { .. } => 9,
        }
    }

    /// The word that starts the definition in the text form.
    pub fn keyword(&self) -> &'static str {
        Self::KEYWORDS[usize::from(self.code())]
    }

    /// The types it is made of, in order; a function's result comes last.
    pub fn parts(&self) -> impl Iterator<Item = RegisterType> + '_ {
        let (list, others): (&[RegisterType], [Option<RegisterType>; 2]) = match self {
            TypeDefinition::Tuple(elements) => (elements, [None; 2]),
            TypeDefinition::List(element)
            | TypeDefinition::Channel(element)
            | TypeDefinition::Reader(element)
            | TypeDefinition::Writer(element) => (&[], [Some(*element), None]),
            TypeDefinition::Map(key, value) => (&[], [Some(*key), Some(*value)]),
            TypeDefinition::Barrier | TypeDefinition::Bucket => (&[], [None; 2]),
            TypeDefinition::Function { parameters, result } => (parameters, [Some(*result), None]),
            TypeDefinition::Process { parameters } => (parameters, [None; 2]),
        };
        list.iter().copied().chain(others.into_iter().flatten())
    }

    /// The definition with each of its types replaced.
    pub fn map(&self, mut replace: impl FnMut(RegisterType) -> RegisterType) -> TypeDefinition {
        use TypeDefinition::*;
        let mut all = |types: &[RegisterType]| types.iter().copied().map(&mut replace).collect();
        match self {
            Tuple(elements) => Tuple(all(elements)),
            List(element) => List(replace(*element)),
            Map(key, value) => Map(replace(*key), replace(*value)),
            Channel(element) => Channel(replace(*element)),
            Reader(element) => Reader(replace(*element)),
            Writer(element) => Writer(replace(*element)),
            Barrier => Barrier,
            Bucket => Bucket,
            Function { parameters, result } => {
                Function { parameters: all(parameters), result: replace(*result) }
            }
            Process { parameters } => Process { parameters: all(parameters) },
        }
    }

    /// Whether this is a channel, one of its ends, a barrier or a bucket.
    pub fn is_communication(&self) -> bool {
        (3..=7).contains(&self.code())
    }

    /// Whether this is a function or a process.
    pub fn is_callable(&self) -> bool {
        self.code() >= 8
    }

    /// Whether this is a tuple, a list or a map.
    pub fn is_container(&self) -> bool {
        self.code() <= 2
    }
}

/// A type in the text form, of which `part` writes the parts.
pub(crate) fn text_of(
    definition: &TypeDefinition,
    part: impl Fn(RegisterType) -> String,
) -> String {
    let list = |types: &[RegisterType]| {
        types.iter().map(|kind| part(*kind)).collect::<Vec<_>>().join(", ")
    };
    let keyword = definition.keyword();
    match definition {
        TypeDefinition::Barrier | TypeDefinition::Bucket => keyword.to_owned(),
        TypeDefinition::Function { parameters, result: RegisterType::Any } => {
            format!("{keyword}({})", list(parameters))
        }
        TypeDefinition::Function { parameters, result } => {
            format!("{keyword}({}) -> {}", list(parameters), part(*result))
        }
        TypeDefinition::Process { parameters } => format!("{keyword}({})", list(parameters)),
        others => format!("{keyword}<{}>", list(&others.parts().collect::<Vec<_>>())),
    }
}

/// Types whose text is longer are written by their number.
const LONGEST_TEXT: usize = 40;

/// For each row of a type table its text, if that is short.
pub(crate) fn short_texts(types: &[TypeDefinition]) -> Vec<Option<String>> {
    let mut texts: Vec<Option<String>> = Vec::with_capacity(types.len());
    for definition in types {
        let known = |kind: RegisterType| match kind {
            RegisterType::Defined(id) => texts.get(id.index()).cloned().flatten(),
            basic => Some(basic.to_string()),
        };
        let parts = definition.parts().take(LONGEST_TEXT).map(known).collect::<Option<Vec<_>>>();
        let text = parts.map(|_| text_of(definition, |kind| known(kind).unwrap_or_default()));
        texts.push(text.filter(|text| text.len() <= LONGEST_TEXT));
    }
    texts
}

/// For each row of a type table whether its values are totally ordered: tuples and lists of ordered
/// types are. Rows that refer to later ones, which no verified table has, are not.
pub fn ordered_rows(types: &[TypeDefinition]) -> Vec<bool> {
    let mut ordered: Vec<bool> = Vec::with_capacity(types.len());
    for definition in types {
        let suitable = |part: RegisterType| match part {
            RegisterType::Defined(id) => ordered.get(id.index()).copied().unwrap_or(false),
            basic => basic.is_number(),
        };
        let container = matches!(definition, TypeDefinition::Tuple(_) | TypeDefinition::List(_));
        let is_ordered = container && definition.parts().all(suitable);
        ordered.push(is_ordered);
    }
    ordered
}

/// For each row of a type table whether there are objects for its values: for containers of types that
/// have some. Rows that refer to later ones, which no verified table has, have none.
pub fn boxable_rows(types: &[TypeDefinition]) -> Vec<bool> {
    let mut boxable: Vec<bool> = Vec::with_capacity(types.len());
    for definition in types {
        let suitable = |part: RegisterType| match part {
            RegisterType::Defined(id) => boxable.get(id.index()).copied().unwrap_or(false),
            basic => basic.is_scalar(),
        };
        let is_boxable = definition.is_container() && definition.parts().all(suitable);
        boxable.push(is_boxable);
    }
    boxable
}

/// The demand of an instruction's operand on its register's type.
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
    /// Exactly `i64`: an index or a length.
    I64,
    /// `bool`, an integer or a float type.
    Scalar,
    /// `bool`, a number, or a tuple, list or map of boxable types.
    Boxable,
    /// Any type but `any`.
    Typed,
    /// A number, or a tuple or list of ordered types.
    Ordered,
    /// A tuple.
    Tuple,
    /// A list.
    List,
    /// A map.
    Map,
    /// A list or a map.
    Collection,
    /// A function.
    Function,
    /// A function or a process.
    Callable,
    /// Any type at all.
    Whatever,
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
