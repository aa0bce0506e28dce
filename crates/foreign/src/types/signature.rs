//! The parameters and the result of a function. Calls and callbacks are planned from them.

use std::fmt;
use std::sync::Arc;

use super::{Kind, Type, TypeError, display_function};

/// The most parameters of a function: the number that C compilers are required to accept.
pub const MOST_PARAMETERS: usize = 127;

/// The types of a function's parameters and of its result.
#[derive(Clone, PartialEq)]
pub struct Signature(Arc<Definition>);

#[derive(PartialEq)]
struct Definition {
    result: Type,
    parameters: Vec<Parameter>,
    is_variadic: bool,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name, if the declaration has one.
    pub name: Option<Arc<str>>,
    /// The type of its arguments.
    pub c_type: Type,
}

impl Signature {
    /// The signature with this result and these parameters. Arrays and functions become pointers, as in C.
    pub fn new(
        result: Type,
        parameters: Vec<Parameter>,
        is_variadic: bool,
    ) -> Result<Signature, TypeError> {
        match result.kind() {
            Kind::Array(_) => return Err(TypeError::Result("an array")),
            Kind::Function(_) => {
                return Err(TypeError::Result("a function, only a pointer to one"));
            }
            Kind::Opaque(_) => return Err(TypeError::NoValues(result.to_string())),
            _ => {}
        }
        let parameters =
            parameters.into_iter().map(Parameter::adjusted).collect::<Result<_, _>>()?;
        Ok(Signature(Arc::new(Definition { result, parameters, is_variadic })))
    }

    /// The type of the function's result; `void` if there is none.
    #[inline]
    pub fn result(&self) -> &Type {
        &self.0.result
    }

    /// The function's parameters.
    #[inline]
    pub fn parameters(&self) -> &[Parameter] {
        &self.0.parameters
    }

    /// Whether it takes more arguments than it has parameters: `...`.
    #[inline]
    pub fn is_variadic(&self) -> bool {
        self.0.is_variadic
    }

    /// Its declaration for a function of this name.
    pub fn declaring(&self, name: &str) -> String {
        display_function(self, name)
    }

    pub(crate) fn types(&self) -> impl Iterator<Item = &Type> {
        let parameters = self.parameters().iter().map(|parameter| &parameter.c_type);
        parameters.chain([self.result()])
    }
}

impl Parameter {
    /// A parameter without a name.
    pub fn of(c_type: Type) -> Parameter {
        Parameter { name: None, c_type }
    }

    /// The parameter with the type that is passed.
    pub(crate) fn adjusted(self) -> Result<Parameter, TypeError> {
        let c_type = match self.c_type.kind() {
            Kind::Array(array) => Type::pointer_to(&array.element)?,
            Kind::Function(_) => Type::pointer_to(&self.c_type)?,
            _ => self.c_type,
        };
        c_type.needed_layout()?;
        Ok(Parameter { name: self.name, c_type })
    }
}

impl PartialEq for Parameter {
    /// Names do not count.
    fn eq(&self, other: &Parameter) -> bool {
        self.c_type == other.c_type
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.declaring(""))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({self})")
    }
}
