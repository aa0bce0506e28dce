//! Typed indices, one per kind of entity, printed as in the text form. All parts of a module refer to each other by
//! them.
//!
//! An index is only meaningful together with the table it points into: registers and
//! sites belong to a function, functions, classes and strings to a module.

use std::fmt;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident($repr:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl $name {
            /// The position in the entity's table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

entity! {
    /// A register of one function's frame. `r0` is the receiver, or in a block function the closure.
    Register(u8), "r"
}
entity! {
    /// A function of a module.
    FunctionId(u32), "fn"
}
entity! {
    /// A class definition of a module.
    ClassId(u32), "class"
}
entity! {
    /// A site of a function: a place with an inline cache, such as a send.
    SiteId(u16), "site"
}
entity! {
    /// A constant of a function.
    ConstantId(u16), "k"
}
entity! {
    /// A row of a module's type table.
    TypeId(u16), "type"
}
entity! {
    /// A string of a module: names, selectors, file paths.
    StringId(u32), "str"
}
