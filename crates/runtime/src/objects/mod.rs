//! The VM's own kinds of object: arrays, strings, numbers, closures and their contexts.

pub mod array;
pub mod block;
pub mod number;
pub mod string;
