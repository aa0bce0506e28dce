//! Types at run time. The loader interns them once for the whole process, so two types are the same if their addresses
//! are, whichever modules they come from; typed instructions and boxing read them.
//!
//! A module's type table is interned row by row when the module is loaded; each row refers to
//! earlier ones, so a look-up compares addresses only and nothing here follows a type to its depth.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use parking_lot::Mutex;
use squall_bytecode::register_set::RegisterSet;
use squall_bytecode::types::{RegisterType, TypeDefinition};
use squall_heap::Word;

/// A type. Equal types are one.
#[derive(Clone, Copy)]
pub struct Type(&'static Description);

/// The description of a type.
struct Description {
    shape: Shape,
    storage: Storage,
    is_plain: bool,
    is_boxable: bool,
}

/// How a type is made of others.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `any`, `bool`, an integer or a float.
    Basic(RegisterType),
    /// See [`TypeDefinition::Tuple`].
    Tuple(Box<[Type]>),
    /// See [`TypeDefinition::List`].
    List(Type),
    /// See [`TypeDefinition::Map`].
    Map(Type, Type),
    /// See [`TypeDefinition::Channel`].
    Channel(Type),
    /// See [`TypeDefinition::Reader`].
    Reader(Type),
    /// See [`TypeDefinition::Writer`].
    Writer(Type),
    /// See [`TypeDefinition::Barrier`].
    Barrier,
    /// See [`TypeDefinition::Bucket`].
    Bucket,
    /// Parameters and result.
    Function(Box<[Type]>, Type),
    /// Parameters.
    Process(Box<[Type]>),
}

/// How the elements of a list of this type are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// Bytes with a sign.
    I8,
    /// Two bytes each, with a sign.
    I16,
    /// Four bytes each, with a sign.
    I32,
    /// Eight bytes each.
    Bits64,
    /// Bytes.
    U8,
    /// Two bytes each.
    U16,
    /// Four bytes each.
    U32,
    /// Tagged words, which the collector traces.
    Word,
}

impl Storage {
    fn of(shape: &Shape) -> Storage {
        use RegisterType::*;
        let Shape::Basic(basic) = shape else { return Storage::Word };
        match basic {
            I8 => Storage::I8,
            I16 => Storage::I16,
            I32 => Storage::I32,
            Bool | U8 => Storage::U8,
            U16 => Storage::U16,
            U32 | F32 => Storage::U32,
            I64 | U64 | F64 => Storage::Bits64,
            Any | Defined(_) => Storage::Word,
        }
    }

    /// How many bytes an element takes.
    #[inline(always)]
    pub fn width(self) -> usize {
        match self {
            Storage::I8 | Storage::U8 => 1,
            Storage::I16 | Storage::U16 => 2,
            Storage::I32 | Storage::U32 => 4,
            Storage::Bits64 | Storage::Word => 8,
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Type {}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Hash for Type {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

/// Every type there is.
fn interned() -> &'static Mutex<HashMap<Shape, Type>> {
    static TYPES: OnceLock<Mutex<HashMap<Shape, Type>>> = OnceLock::new();
    TYPES.get_or_init(Mutex::default)
}

impl Type {
    /// The type of this shape.
    pub fn of(shape: Shape) -> Type {
        *interned().lock().entry(shape).or_insert_with_key(|shape| {
            let is_plain = match shape {
                Shape::Basic(_) => true,
                Shape::Tuple(elements) => elements.iter().all(|element| element.is_plain()),
                _ => false,
            };
            let is_boxable = match shape {
                Shape::Basic(_) => true,
                Shape::Tuple(elements) => elements.iter().all(|element| element.is_boxable()),
                Shape::List(element) => element.is_boxable(),
                Shape::Map(key, value) => key.is_boxable() && value.is_boxable(),
                _ => false,
            };
            let (shape, storage) = (shape.clone(), Storage::of(shape));
            let description = Description { shape, storage, is_plain, is_boxable };
            Type(Box::leak(Box::new(description)))
        })
    }

    /// The type as a word without an object.
    pub fn to_word(self) -> Word {
        // Descriptions are aligned, so that the address is the bits of a small integer.
        Word::from_address(std::ptr::from_ref(self.0) as usize)
    }

    /// The type of which [`Type::to_word`] has made this word, which is none of the guest's.
    pub fn of_word(word: Word) -> Option<Type> {
        if !word.is_small_integer() || word.bits() == 0 {
            return None;
        }
        // SAFETY: the word is the address of a description, all of which are immortal.
        Some(Type(unsafe { &*(word.bits() as *const Description) }))
    }

    /// Whether this is `any`.
    pub fn is_any(self) -> bool {
        matches!(self.shape(), Shape::Basic(RegisterType::Any))
    }

    /// A type that needs no definition.
    pub fn basic(kind: RegisterType) -> Type {
        static BASIC: OnceLock<Vec<Type>> = OnceLock::new();
        let all = BASIC.get_or_init(|| {
            RegisterType::BASIC.into_iter().map(|kind| Type::of(Shape::Basic(kind))).collect()
        });
        all[kind.code() as usize]
    }

    /// The parts of the type.
    #[inline(always)]
    pub fn shape(self) -> &'static Shape {
        &self.0.shape
    }

    /// How the elements of a list of this type are kept.
    #[inline(always)]
    pub fn storage(self) -> Storage {
        self.0.storage
    }

    /// The type of a list's elements.
    #[inline(always)]
    pub fn element(self) -> Type {
        match self.shape() {
            Shape::List(element) => *element,
            _ => unreachable!("the verifier has shown the type to be a list"),
        }
    }

    /// Whether values of this type are objects as they are, inside of containers: numbers, booleans,
    /// and tuples of such.
    pub fn is_plain(self) -> bool {
        self.0.is_plain
    }

    /// Whether there are objects for the values of this type: they are objects, numbers or booleans, or
    /// containers of such.
    pub fn is_boxable(self) -> bool {
        self.0.is_boxable
    }

    /// The types of a map's keys and values.
    pub fn entry(self) -> (Type, Type) {
        match self.shape() {
            Shape::Map(key, value) => (*key, *value),
            _ => unreachable!("the verifier has shown the type to be a map"),
        }
    }

    /// The types of a tuple's elements.
    pub fn elements(self) -> &'static [Type] {
        match self.shape() {
            Shape::Tuple(elements) => elements,
            _ => unreachable!("the verifier has shown the type to be a tuple"),
        }
    }

    /// Whether this is a list.
    #[inline(always)]
    pub fn is_list(self) -> bool {
        matches!(self.shape(), Shape::List(_))
    }

    /// The text form, cut off where it is deep or long.
    pub fn text(self) -> String {
        const DEEPEST: usize = 5;
        const LONGEST: usize = 400;
        // Deep and broad, it could be endless: the longest text that is short enough.
        let texts = (1..=DEEPEST).rev().map(|depth| self.text_to(depth));
        let mut short = texts.filter(|text| text.len() <= LONGEST);
        short.next().unwrap_or_else(|| "…".into())
    }

    fn text_to(self, depth: usize) -> String {
        const LONGEST: usize = 12;
        let Some(depth) = depth.checked_sub(1) else { return "…".into() };
        let list = |types: &[Type]| {
            let shown = types.iter().take(LONGEST).map(|kind| kind.text_to(depth));
            let rest = (types.len() > LONGEST).then(|| "…".to_owned());
            shown.chain(rest).collect::<Vec<_>>().join(", ")
        };
        match self.shape() {
            Shape::Basic(kind) => kind.to_string(),
            Shape::Tuple(elements) => format!("tuple<{}>", list(elements)),
            Shape::List(element) => format!("list<{}>", element.text_to(depth)),
            Shape::Map(key, value) => {
                format!("map<{}, {}>", key.text_to(depth), value.text_to(depth))
            }
            Shape::Channel(element) => format!("channel<{}>", element.text_to(depth)),
            Shape::Reader(element) => format!("reader<{}>", element.text_to(depth)),
            Shape::Writer(element) => format!("writer<{}>", element.text_to(depth)),
            Shape::Barrier => "barrier".into(),
            Shape::Bucket => "bucket".into(),
            Shape::Function(parameters, result) if result.is_any() => {
                format!("function({})", list(parameters))
            }
            Shape::Function(parameters, result) => {
                format!("function({}) -> {}", list(parameters), result.text_to(depth))
            }
            Shape::Process(parameters) => format!("process({})", list(parameters)),
        }
    }
}

/// The types of a verified module's table.
pub fn intern_table(table: &[TypeDefinition]) -> Box<[Type]> {
    let mut types: Vec<Type> = Vec::with_capacity(table.len());
    for definition in table {
        let shape = shape(definition, &types);
        types.push(Type::of(shape));
    }
    types.into_boxed_slice()
}

/// The types of registers that are all `any`, as those of most functions are: all of these functions share them.
pub fn untyped(registers: usize) -> &'static [Type] {
    static UNTYPED: OnceLock<Vec<Type>> = OnceLock::new();
    let all = UNTYPED.get_or_init(|| vec![Type::basic(RegisterType::Any); RegisterSet::CAPACITY]);
    &all[..registers]
}

/// A register's type, by the types of its module.
pub fn of_register(kind: RegisterType, types: &[Type]) -> Type {
    match kind {
        RegisterType::Defined(id) => types[id.index()],
        basic => Type::basic(basic),
    }
}

fn shape(definition: &TypeDefinition, types: &[Type]) -> Shape {
    let one = |kind: &RegisterType| of_register(*kind, types);
    let all = |kinds: &[RegisterType]| kinds.iter().map(one).collect();
    match definition {
        TypeDefinition::Tuple(elements) => Shape::Tuple(all(elements)),
        TypeDefinition::List(element) => Shape::List(one(element)),
        TypeDefinition::Map(key, value) => Shape::Map(one(key), one(value)),
        TypeDefinition::Channel(element) => Shape::Channel(one(element)),
        TypeDefinition::Reader(element) => Shape::Reader(one(element)),
        TypeDefinition::Writer(element) => Shape::Writer(one(element)),
        TypeDefinition::Barrier => Shape::Barrier,
        TypeDefinition::Bucket => Shape::Bucket,
        TypeDefinition::Function { parameters, result } => {
            Shape::Function(all(parameters), one(result))
        }
        TypeDefinition::Process { parameters } => Shape::Process(all(parameters)),
    }
}
