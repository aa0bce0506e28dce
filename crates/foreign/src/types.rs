//! C's types as values: declarations make them, and calls and memory are laid out by them.
//!
//! A [`Type`] is a tree that never changes, shared by reference count. It knows its [`Layout`] on this
//! platform, unless it has none (`void`, functions, structures that are only named).
//!
//! There are no cycles, though C has recursive structures: inside of its own definition `struct node` is
//! [`Kind::Opaque`], a mere name, and stays so in the types made from it there.
//! [`Declarations::resolved`](crate::Declarations::resolved) finds the definition of the name.
//!
//! Code that walks over a type may recurse and be exhaustive: a type is at most [`MOST_LEVELS`] levels deep and has at
//! most [`MOST_PARTS`] nodes, counted as a tree. (Texts could otherwise describe types of any depth, and of exponential
//! size, with one `typedef` per level.)

mod display;
mod layout;
mod mismatch;
mod record;
mod scalar;
mod signature;

use std::fmt;
use std::sync::Arc;

pub(crate) use display::function as display_function;
pub use layout::Layout;
pub use mismatch::Mismatch;
pub use record::{Field, Record, RecordKind};
pub use scalar::{Primitive, Scalar};
pub use signature::{MOST_PARAMETERS, Parameter, Signature};

/// The levels of the deepest type.
pub const MOST_LEVELS: u16 = 64;

/// The nodes of the largest type.
pub const MOST_PARTS: u32 = 1 << 14;

/// A type of C.
#[derive(Clone)]
pub struct Type(Arc<Node>);

struct Node {
    kind: Kind,
    /// `None` for types without values: `void`, functions, opaque names.
    layout: Option<Layout>,
    depth: u16,
    weight: u32,
}

/// The kind of a type.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// `void`: the result of functions that have none, and the target of pointers to anything.
    Void,
    /// An arithmetic type.
    Scalar(Scalar),
    /// An `enum`.
    Enumeration(Enumeration),
    /// A pointer to values of this type.
    Pointer(Type),
    /// Elements, one after the other.
    Array(Array),
    /// A `struct` or `union`.
    Record(Record),
    /// A function, the target of pointers only.
    Function(Signature),
    /// A name whose definition was not known when the type was made. The target of pointers only.
    Opaque(Tag),
}

/// An `enum`: names for integers.
#[derive(Clone, PartialEq, Debug)]
pub struct Enumeration {
    /// Its name, if it has one.
    pub tag: Option<Arc<str>>,
    /// The integer type that represents it.
    pub representation: Scalar,
    /// The names and their values, in the order of the text.
    pub enumerators: Arc<[(Arc<str>, i128)]>,
}

/// An array type.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    /// The type of each element.
    pub element: Type,
    /// The number of elements; `None` for the last field of a structure, `int data[]`, which the structure's size does
    /// not include.
    pub length: Option<usize>,
}

/// A name that may have a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tag {
    /// `struct name` or `union name`.
    Record(RecordKind, Arc<str>),
    /// A `name` without a declaration: the `sqlite3` of `sqlite3 *`.
    Alias(Arc<str>),
}

/// The reason why a type is impossible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeError {
    /// More levels than [`MOST_LEVELS`].
    TooDeep,
    /// More parts than [`MOST_PARTS`].
    TooComplex,
    /// More bytes than a process can have.
    TooBig,
    /// A field, an element or an argument of a type that has no values.
    NoValues(String),
    /// Two fields of one name.
    DuplicateField(String),
    /// A structure without fields.
    NoFields,
    /// An array without a length that is not the last field of a structure.
    NoLength,
    /// A function that answers an array or a function.
    Result(&'static str),
}

impl Type {
    /// `void`.
    pub fn void() -> Type {
        Type::make(Kind::Void, None, 1, 1)
    }

    /// An arithmetic type.
    pub fn scalar(scalar: Scalar) -> Type {
        Type::make(Kind::Scalar(scalar), Some(scalar.primitive().layout()), 1, 1)
    }

    /// An `enum`.
    pub fn enumeration(enumeration: Enumeration) -> Type {
        let layout = enumeration.representation.primitive().layout();
        Type::make(Kind::Enumeration(enumeration), Some(layout), 1, 1)
    }

    /// A name without a definition.
    pub fn opaque(tag: Tag) -> Type {
        Type::make(Kind::Opaque(tag), None, 1, 1)
    }

    /// A pointer to `target`.
    pub fn pointer_to(target: &Type) -> Result<Type, TypeError> {
        let layout = Primitive::Pointer.layout();
        Type::around([target], Kind::Pointer(target.clone()), Some(layout))
    }

    /// An array of elements.
    pub fn array_of(element: &Type, length: Option<usize>) -> Result<Type, TypeError> {
        if matches!(element.kind(), Kind::Array(Array { length: None, .. })) {
            return Err(TypeError::NoLength);
        }
        let layout = element.needed_layout()?.repeated(length.unwrap_or(0))?;
        let array = Array { element: element.clone(), length };
        Type::around([element], Kind::Array(array), Some(layout))
    }

    /// A `struct` or `union`.
    pub fn record(record: Record) -> Result<Type, TypeError> {
        let layout = Some(record.layout());
        let fields = record.clone();
        let parts = fields.fields().iter().map(|field| &field.c_type);
        Type::around(parts, Kind::Record(record), layout)
    }

    /// A function.
    pub fn function(signature: &Signature) -> Result<Type, TypeError> {
        Type::around(signature.types(), Kind::Function(signature.clone()), None)
    }

    /// A type made of others, unless it becomes too large.
    fn around<'t>(
        parts: impl IntoIterator<Item = &'t Type>,
        kind: Kind,
        layout: Option<Layout>,
    ) -> Result<Type, TypeError> {
        let (mut depth, mut weight) = (0, 1_u32);
        for part in parts {
            depth = part.0.depth.max(depth);
            weight = part.0.weight.saturating_add(weight);
        }
        if depth >= MOST_LEVELS {
            return Err(TypeError::TooDeep);
        }
        if weight > MOST_PARTS {
            return Err(TypeError::TooComplex);
        }
        Ok(Type::make(kind, layout, depth + 1, weight))
    }

    fn make(kind: Kind, layout: Option<Layout>, depth: u16, weight: u32) -> Type {
        Type(Arc::new(Node { kind, layout, depth, weight }))
    }

    /// The kind of the type.
    #[inline]
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// The memory that a value takes; `None` if the type has no values.
    #[inline]
    pub fn layout(&self) -> Option<Layout> {
        self.0.layout
    }

    /// Its layout; an error if it has no values.
    pub(crate) fn needed_layout(&self) -> Result<Layout, TypeError> {
        self.layout().ok_or_else(|| TypeError::NoValues(self.to_string()))
    }

    /// The representation of a value that is one primitive; `None` for structures and arrays.
    pub fn primitive(&self) -> Option<Primitive> {
        match self.kind() {
            Kind::Scalar(scalar) => Some(scalar.primitive()),
            Kind::Enumeration(enumeration) => Some(enumeration.representation.primitive()),
            Kind::Pointer(_) => Some(Primitive::Pointer),
            Kind::Void | Kind::Array(_) | Kind::Record(_) | Kind::Function(_) | Kind::Opaque(_) => {
                None
            }
        }
    }

    /// Whether it is the type without values.
    pub fn is_void(&self) -> bool {
        matches!(self.kind(), Kind::Void)
    }

    /// The target of a pointer.
    pub fn target(&self) -> Option<&Type> {
        match self.kind() {
            Kind::Pointer(target) => Some(target),
            _ => None,
        }
    }

    /// The structure or union that it is.
    pub fn as_record(&self) -> Option<&Record> {
        match self.kind() {
            Kind::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Whether it is the type of C's strings: a pointer to characters, or to anything.
    pub(crate) fn takes_text(&self) -> bool {
        self.target().is_some_and(|target| match target.kind() {
            Kind::Void => true,
            Kind::Scalar(scalar) => scalar.is_character(),
            _ => false,
        })
    }

    /// The name of a definition that the type has or may have.
    pub(crate) fn tag(&self) -> Option<Tag> {
        match self.kind() {
            Kind::Opaque(tag) => Some(tag.clone()),
            Kind::Record(record) => Some(Tag::Record(record.kind(), record.tag()?.clone())),
            _ => None,
        }
    }
}

impl PartialEq for Type {
    /// Whether C treats the two types as equal, as far as is known. A name equals its definition. An undeclared name
    /// may turn out to be any type, except another undeclared name.
    fn eq(&self, other: &Type) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        match (self.kind(), other.kind()) {
            (Kind::Opaque(Tag::Alias(one)), Kind::Opaque(Tag::Alias(another))) => one == another,
            (Kind::Opaque(Tag::Alias(_)), _) | (_, Kind::Opaque(Tag::Alias(_))) => true,
            (Kind::Opaque(_), _) | (_, Kind::Opaque(_)) => self.tag() == other.tag(),
            (one, another) => one == another,
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Type({self})")
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeError::TooDeep => write!(f, "this type has more than {MOST_LEVELS} levels"),
            TypeError::TooComplex => write!(f, "this type has more than {MOST_PARTS} parts"),
            TypeError::TooBig => write!(f, "this type is larger than memory can be"),
            TypeError::NoValues(name) => {
                write!(f, "there are no values of type `{name}`, only pointers to it")
            }
            TypeError::DuplicateField(name) => write!(f, "there is another field `{name}`"),
            TypeError::NoFields => write!(f, "a structure has at least one field"),
            TypeError::NoLength => {
                write!(f, "an array needs a length, except as the last field of a `struct`")
            }
            TypeError::Result(what) => write!(f, "a function cannot answer {what}"),
        }
    }
}

impl std::error::Error for TypeError {}
