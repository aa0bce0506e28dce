//! Types, as far as the rule needs them: which values hold words, and which methods a value has. The module
//! [`super::signatures`] makes them from syntax, and the evaluator infers them for expressions.
//!
//! A reference counts as the type that it refers to, because a reference to a local that holds a word becomes stale
//! with the word. An owning pointer counts as the type that it owns.

use super::program::TypeId;

/// The type of a value.
#[derive(Clone, PartialEq, Debug)]
pub enum Type {
    /// The type is not known.
    Unknown,
    /// A type of the program, with its arguments.
    Own(TypeId, Vec<Type>),
    /// A type of a library, by the last name of its path: `Option`, `Vec`, `u64`. Slices and arrays are `[]`.
    Foreign(String, Vec<Type>),
    Tuple(Vec<Type>),
    /// A shared reference: nothing can be changed through it.
    Shared(Box<Type>),
    /// A reference with the lifetime `'static`: the target is immortal.
    Immortal(Box<Type>),
    /// A raw pointer. Other code is responsible for the words at the target.
    Pointer(Box<Type>),
    Function(Box<FunctionType>),
    /// An iterator over elements of a type.
    Iterator(Box<Type>),
    /// A parameter of a generic function or type.
    Parameter(String),
}

/// The type of a function pointer or closure.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionType {
    pub inputs: Vec<Type>,
    pub output: Type,
    /// Whether the function is called at most once.
    pub is_once: bool,
    /// Whether a parameter gives the function the right to let the collector run.
    pub collects: bool,
    /// Whether the function may be called after the function that takes it has returned.
    pub is_deferred: bool,
}

impl Type {
    /// A type of a library without arguments.
    pub fn foreign(name: &str) -> Type {
        Type::Foreign(name.to_owned(), Vec::new())
    }

    /// A type of a library with one argument.
    pub fn of(name: &str, argument: Type) -> Type {
        Type::Foreign(name.to_owned(), vec![argument])
    }

    /// An iterator of elements of this type.
    pub fn iterator(item: Type) -> Type {
        Type::Iterator(Box::new(item))
    }

    /// The type behind references.
    pub fn peeled(&self) -> &Type {
        match self {
            Type::Shared(inner) | Type::Immortal(inner) => inner.peeled(),
            other => other,
        }
    }

    /// Whether this is the library's type of this name.
    pub fn is_foreign(&self, name: &str) -> bool {
        matches!(self.peeled(), Type::Foreign(own, _) if own == name)
    }

    /// The type argument at an index.
    pub fn argument(&self, index: usize) -> Type {
        match self.peeled() {
            Type::Foreign(_, arguments) | Type::Own(_, arguments) | Type::Tuple(arguments) => {
                arguments.get(index).cloned().unwrap_or(Type::Unknown)
            }
            _ => Type::Unknown,
        }
    }

    /// The element type of a loop over a value of this type.
    pub fn item(&self) -> Type {
        match self.peeled() {
            Type::Iterator(item) => (**item).clone(),
            Type::Foreign(name, arguments) if name == "HashMap" || name == "BTreeMap" => {
                Type::Tuple(arguments.clone())
            }
            Type::Foreign(_, arguments) => arguments.first().cloned().unwrap_or(Type::Unknown),
            _ => Type::Unknown,
        }
    }

    /// The type with its parameters replaced.
    pub fn with(&self, bindings: &[(String, Type)]) -> Type {
        let all = |types: &[Type]| types.iter().map(|ty| ty.with(bindings)).collect();
        match self {
            Type::Parameter(name) => {
                let bound = bindings.iter().find(|(parameter, _)| parameter == name);
                bound.map_or(Type::Unknown, |(_, ty)| ty.clone())
            }
            Type::Own(id, arguments) => Type::Own(*id, all(arguments)),
            Type::Foreign(name, arguments) => Type::Foreign(name.clone(), all(arguments)),
            Type::Tuple(elements) => Type::Tuple(all(elements)),
            Type::Shared(inner) => Type::Shared(Box::new(inner.with(bindings))),
            Type::Immortal(inner) => Type::Immortal(Box::new(inner.with(bindings))),
            Type::Pointer(inner) => Type::Pointer(Box::new(inner.with(bindings))),
            Type::Iterator(item) => Type::iterator(item.with(bindings)),
            Type::Function(function) => Type::Function(Box::new(FunctionType {
                inputs: all(&function.inputs),
                output: function.output.with(bindings),
                ..**function
            })),
            Type::Unknown => Type::Unknown,
        }
    }

    /// Infers the parameters in this type from the type of an argument.
    pub fn learn(&self, actual: &Type, bindings: &mut Vec<(String, Type)>) {
        let formal = self.peeled();
        if let Type::Parameter(name) = formal {
            if *actual != Type::Unknown && !bindings.iter().any(|(known, _)| known == name) {
                bindings.push((name.clone(), actual.peeled().clone()));
            }
            return;
        }
        match (formal, actual.peeled()) {
            (Type::Own(_, formal), Type::Own(_, actual))
            | (Type::Foreign(_, formal), Type::Foreign(_, actual))
            | (Type::Tuple(formal), Type::Tuple(actual)) => {
                formal
                    .iter()
                    .zip(actual)
                    .for_each(|(formal, actual)| formal.learn(actual, bindings));
            }
            (Type::Iterator(item), actual) => item.learn(&actual.item(), bindings),
            (Type::Function(formal), Type::Function(actual)) => {
                formal.output.learn(&actual.output, bindings);
            }
            _ => {}
        }
    }

    /// The more precise one of two types of the same value.
    pub fn or(self, other: Type) -> Type {
        match (self, other) {
            (Type::Unknown, other) => other,
            (Type::Foreign(name, arguments), Type::Foreign(_, others))
                if arguments.contains(&Type::Unknown) && others.len() == arguments.len() =>
            {
                let both = arguments.into_iter().zip(others);
                Type::Foreign(name, both.map(|(one, other)| one.or(other)).collect())
            }
            (known, _) => known,
        }
    }
}
