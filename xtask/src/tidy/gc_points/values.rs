//! Values: what the evaluator knows about the result of an expression. [`super::evaluate()`] and its parts make and
//! combine them.

use std::rc::Rc;

use super::flow::Point;
use super::program::FunctionId;
use super::types::Type;

/// The index of a local.
pub type LocalId = usize;

/// The value of an expression.
#[derive(Clone)]
pub struct Value<'p> {
    pub ty: Type,
    /// Whether the value holds a word that may move, or was made of one.
    pub bears: bool,
    /// Whether getting an element of the value may collect.
    pub collects: bool,
    /// The function that a call of the value runs.
    pub callable: Option<Callable<'p>>,
    /// The local that the value is read from, or that it refers to.
    pub place: Option<LocalId>,
    /// Whether the value is `Err` or `None`.
    pub fails: bool,
    /// A GC point that took place only if this value is `Err` or `None`, and which counts when the value is tested.
    pub pending: Option<Point>,
}

/// A callable value.
#[derive(Clone)]
pub enum Callable<'p> {
    /// A closure, and the names in scope where it is written.
    Literal(&'p syn::ExprClosure, Rc<Vec<Vec<(String, LocalId)>>>),
    /// One of these functions.
    Functions(Rc<Vec<FunctionId>>),
    /// A parameter of the function under analysis.
    Parameter(usize),
    /// A constructor of a type.
    Constructor(Type),
}

impl<'p> Value<'p> {
    /// A value without words.
    pub fn plain(ty: Type) -> Value<'p> {
        Value {
            ty,
            bears: false,
            collects: false,
            callable: None,
            place: None,
            fails: false,
            pending: None,
        }
    }

    /// A value of unknown type without words.
    pub fn unknown() -> Value<'p> {
        Value::plain(Type::Unknown)
    }

    /// The value of the empty tuple.
    pub fn unit() -> Value<'p> {
        Value::plain(Type::Tuple(Vec::new()))
    }

    /// A value that may be either of two values.
    pub fn or(self, other: Value<'p>) -> Value<'p> {
        Value {
            ty: self.ty.or(other.ty),
            bears: self.bears || other.bears,
            collects: self.collects || other.collects,
            callable: self.callable.or(other.callable),
            place: self.place.or(other.place),
            fails: self.fails && other.fails,
            pending: self.pending.or(other.pending),
        }
    }
}
