//! What is known about the value of an expression.

use std::rc::Rc;

use super::flow::Point;
use super::program::FunctionId;
use super::types::Type;

/// A local, by its index.
pub type LocalId = usize;

/// The value of an expression.
#[derive(Clone)]
pub struct Value<'p> {
    pub ty: Type,
    /// Whether it holds a word that may move, or was made of one.
    pub bears: bool,
    /// Whether getting its elements may collect.
    pub collects: bool,
    /// What is run when it is called.
    pub callable: Option<Callable<'p>>,
    /// The local that it is, or refers to.
    pub place: Option<LocalId>,
    /// Whether it is `Err` or `None`.
    pub fails: bool,
    /// The collector may have run here, but only if this is `Err` or `None`.
    pub pending: Option<Point>,
}

/// What can be called.
#[derive(Clone)]
pub enum Callable<'p> {
    /// A closure, and the names where it is written.
    Literal(&'p syn::ExprClosure, Rc<Vec<Vec<(String, LocalId)>>>),
    /// One of these functions.
    Functions(Rc<Vec<FunctionId>>),
    /// A parameter of the function that is looked at.
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

    /// A value of which nothing is known.
    pub fn unknown() -> Value<'p> {
        Value::plain(Type::Unknown)
    }

    /// The value of the empty tuple.
    pub fn unit() -> Value<'p> {
        Value::plain(Type::Tuple(Vec::new()))
    }

    /// One of two values.
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
