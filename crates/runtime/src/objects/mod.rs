//! The VM's own kinds of object: strings, numbers, closures and their contexts.

pub mod block;
pub mod number;
pub mod string;
