//! Addresses in the process.

use std::fmt;

/// An address in the process. Who uses it answers for what is there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Address(pub usize);

impl Address {
    /// The address of nothing.
    pub const NULL: Address = Address(0);

    /// Whether it is the address of nothing.
    pub fn is_null(self) -> bool {
        self == Address::NULL
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
