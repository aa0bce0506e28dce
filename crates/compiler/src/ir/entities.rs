//! Typed indices of a unit's parts, printed as in the text form. All modules of the crate refer to the parts by them.
//!
//! An index is only meaningful together with the unit that made it.

use std::fmt;

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The letters before the number in the text form.
            pub const PREFIX: &str = $prefix;

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
    /// A value: the result of an instruction, or a parameter of a block.
    Value, "v"
}
entity! {
    /// An instruction.
    Inst, "i"
}
entity! {
    /// A basic block.
    Block, "b"
}
entity! {
    /// A state of the interpreter.
    StateId, "s"
}
entity! {
    /// An activation: the unit's function, or one inlined into it.
    ActivationId, "a"
}
entity! {
    /// A function, as [`Facts`](crate::facts::Facts) numbers it.
    FunctionRef, "f"
}
entity! {
    /// A primitive, as [`Facts`](crate::facts::Facts) numbers it.
    PrimitiveRef, "p"
}
