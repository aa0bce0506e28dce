//! Addresses in the process. The other modules and the runtime pass them to C and back.

use std::fmt;

/// An address in the process. The code that uses it is responsible for the memory there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Address(pub usize);

impl Address {
    /// The null address.
    pub const NULL: Address = Address(0);

    /// Whether it is the null address.
    pub fn is_null(self) -> bool {
        self == Address::NULL
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
